// Every registered algorithm against the MPI library's own collective: same bytes in the whole buffer, gaps included.
//
//   mpirun -n P conformance [--filter TEXT] [--sample K] [--sample-large K]
//
// With --sample K, only every K-th case is tried, another K-th for each rank count; --sample-large is for those with a
// million elements.
// Exits with 1 and the first difference if there is one.
#include "rubato/mpi.hpp"

#include "../support/timings.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace rubato;
using mpi::call;

int me = 0;
int ranks = 1;
long checked = 0;

[[noreturn]] void fail(const std::string& what) {
    fmt::print(stderr, "conformance: rank {} of {}: {}\n", me, ranks, what);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

/// x -> slope*x + shift: composing does not commute. With a gap after the slope and one at the end.
struct affine {
    std::int32_t slope;
    std::int32_t gap;
    std::int64_t shift;
    std::int64_t end;
};

void compose(void* left, void* into, int* n, MPI_Datatype* /*type*/) {
    const auto* x = static_cast<affine*>(left);
    auto* y = static_cast<affine*>(into);
    for (int i = 0; i < *n; ++i) {
        constexpr std::int64_t prime = 30011;
        const std::int64_t shift = (std::int64_t{x[i].slope} * y[i].shift + x[i].shift) % prime;
        y[i].slope = static_cast<std::int32_t>(std::int64_t{x[i].slope} * y[i].slope % prime);
        y[i].shift = shift;
    }
}

/// A datatype, how to fill its elements, and operators for it.
struct kind {
    std::string name;
    MPI_Datatype type = MPI_BYTE;
    std::ptrdiff_t extent = 1;
    std::function<void(std::byte*, std::uint64_t)> fill{};
    std::vector<MPI_Op> ops{};
};

template <class T>
kind plain(const std::string& name, MPI_Datatype type) {
    return {name,
            type,
            sizeof(T),
            [](std::byte* at, std::uint64_t x) {
                const T value = static_cast<T>(x % 1000);
                std::memcpy(at, &value, sizeof value);
            },
            {MPI_SUM, MPI_MAX}};
}

std::vector<kind> kinds() {
    std::vector<kind> all{plain<int>("int", MPI_INT), plain<double>("double", MPI_DOUBLE)};

    kind gaps{"affine with gaps",
              MPI_DATATYPE_NULL,
              sizeof(affine),
              [](std::byte* at, std::uint64_t x) {
                  auto* a = reinterpret_cast<affine*>(at);
                  a->slope = static_cast<std::int32_t>(x % 97 + 2);
                  a->shift = static_cast<std::int64_t>(x % 1009);
              },
              {}};
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype types[2] = {MPI_INT32_T, MPI_INT64_T};
    MPI_Datatype open = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, places, types, &open);
    MPI_Type_create_resized(open, 0, sizeof(affine), &gaps.type);
    MPI_Type_commit(&gaps.type);
    MPI_Type_free(&open);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(compose, 0, &op);
    gaps.ops.push_back(op);
    all.push_back(gaps);

    kind negative{"short with negative lower bound",
                  MPI_DATATYPE_NULL,
                  12,
                  [](std::byte* at, std::uint64_t x) {
                      const auto a = static_cast<std::int16_t>(x);
                      const auto b = static_cast<std::int16_t>(x >> 16);
                      std::memcpy(at - 8, &a, 2);
                      std::memcpy(at + 2, &b, 2);
                  },
                  {}};
    const MPI_Aint spread[2] = {-8, 2};
    const MPI_Datatype shorts[2] = {MPI_INT16_T, MPI_INT16_T};
    MPI_Type_create_struct(2, lengths, spread, shorts, &open);
    MPI_Type_create_resized(open, -8, 12, &negative.type);
    MPI_Type_commit(&negative.type);
    MPI_Type_free(&open);
    all.push_back(negative);
    return all;
}

/// Elements with a margin on both sides, so that writing outside is seen.
class data {
public:
    data() = default;
    data(const kind& k, std::int64_t n)
        : kind_(&k), bytes_(static_cast<std::size_t>(n * k.extent) + 2 * margin, std::byte{0xa5}) {}

    void fill(std::int64_t n, std::uint64_t seed) {
        for (std::int64_t i = 0; i < n; ++i)
            kind_->fill(at(i), (seed * 1000003 + static_cast<std::uint64_t>(i)) * 2654435761U >> 7);
    }
    std::byte* at(std::int64_t i) { return bytes_.data() + margin + i * kind_->extent; }
    const std::byte* at(std::int64_t i) const { return bytes_.data() + margin + i * kind_->extent; }
    std::ptrdiff_t extent() const { return kind_->extent; }
    bool operator==(const data& other) const { return bytes_ == other.bytes_; }
    std::string difference(const data& other) const {
        for (std::size_t i = 0; i < bytes_.size(); ++i)
            if (bytes_[i] != other.bytes_[i]) {
                const std::ptrdiff_t from_first = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(margin);
                return fmt::format("element {} (byte {}): {:#04x} instead of {:#04x}", from_first / kind_->extent,
                                   from_first % kind_->extent, static_cast<int>(bytes_[i]),
                                   static_cast<int>(other.bytes_[i]));
            }
        return "nothing";
    }

private:
    static constexpr std::size_t margin = 64;
    const kind* kind_ = nullptr;
    std::vector<std::byte> bytes_{};
};

std::int64_t uneven(std::int64_t units, std::int64_t from, std::int64_t to) {
    return units * ((from * 3 + to * 5 + 1) % 4) / 2;
}

struct table {
    std::vector<std::int64_t> counts{};
    std::vector<std::int64_t> places{};
    std::int64_t all = 0;

    void add(std::int64_t n) {
        counts.push_back(n);
        places.push_back(all);
        all += n + 1;  // a gap between chunks
    }
    mpi::chunks chunks() const { return {counts, places}; }
};

/// One collective call in all its variants, native and ours.
class experiment {
public:
    experiment(mpi::communicator& ours, collective what, const kind& k, MPI_Op op, std::int64_t count, int root,
               bool in_place)
        : ours_(ours), in_place_(in_place), traits_(traits(what)) {
        call_.what = what;
        call_.op = op;
        call_.root = root;
        call_.send_type = call_.recv_type = k.type;
        if (traits_.irregular) {
            for (int c = 0; c < ranks; ++c) {
                const bool scatters = what == collective::scatterv;
                in_.add(scatters ? uneven(count, 0, c) : uneven(count, me, c));
                out_.add(what == collective::alltoallv ? uneven(count, c, me) : uneven(count, c, 0));
            }
            const auto self = static_cast<std::size_t>(me);
            call_.send_count = traits_.wide_input ? 0 : out_.counts[self];
            call_.recv_count = traits_.wide_output ? 0 : in_.counts[self];
            if (traits_.wide_input) call_.send_chunks = in_.chunks();
            if (traits_.wide_output) call_.recv_chunks = out_.chunks();
            sent_ = traits_.wide_input ? in_.all : call_.send_count;
            received_ = traits_.wide_output ? out_.all : call_.recv_count;
        } else {
            call_.send_count = call_.recv_count = count;
            sent_ = count * (traits_.wide_input ? ranks : 1);
            received_ = count * (traits_.wide_output ? ranks : 1);
        }
        if (what == collective::bcast) in_place_ = true;
        if (what == collective::barrier) sent_ = received_ = 0;
        // In place, the larger buffer holds both.
        if (in_place_ && what == collective::reduce_scatter_block) received_ = sent_;
        input_ = data(k, sent_);
        input_.fill(sent_, static_cast<std::uint64_t>(me) + 1);
        output_ = data(k, received_);
        output_.fill(received_, 77 + static_cast<std::uint64_t>(me));
    }

    /// MPI wants the sizes of an in-place alltoallv to be symmetric; these are not.
    bool makes_sense() const { return !(in_place_ && call_.what == collective::alltoallv); }

    data run(const mpi::selection* how) {
        data in = input_;
        data out = output_;
        call c = call_;
        c.send = in.at(0);
        c.recv = out.at(0);
        const bool at_root = me == call_.root;
        const bool scatters = call_.what == collective::scatter || call_.what == collective::scatterv;
        const bool gathers = call_.what == collective::gather || call_.what == collective::gatherv;
        const bool reduces_to_root = call_.what == collective::reduce;
        if (in_place_) {
            if (scatters) {
                if (at_root) c.recv = MPI_IN_PLACE;
            } else if (gathers || reduces_to_root) {
                if (at_root) c.send = MPI_IN_PLACE;
            } else if (call_.what != collective::bcast) {
                c.send = MPI_IN_PLACE;
            }
        }
        if (call_.what == collective::bcast) c.send = c.recv;
        // What is not significant may be anything. (Open MPI itself checks more than it may, so only ours gets it.)
        const std::int64_t garbage[] = {-7};
        const auto spoil_send = [&] {
            c.send_count = -3;
            c.send_type = MPI_DATATYPE_NULL;
            c.send_chunks = {garbage, garbage};
        };
        const auto spoil_recv = [&] {
            c.recv_count = -3;
            c.recv_type = MPI_DATATYPE_NULL;
            c.recv_chunks = {garbage, garbage};
        };
        if (scatters && !at_root) c.send = nullptr;
        if ((gathers || reduces_to_root) && !at_root) c.recv = nullptr;
        if (how && scatters && !at_root) spoil_send();
        if (how && gathers && !at_root) spoil_recv();
        if (how && c.send == MPI_IN_PLACE && !traits_.reduces) spoil_send();
        if (how && c.recv == MPI_IN_PLACE) spoil_recv();
        if (how && reduces_to_root && !at_root) c.recv = reinterpret_cast<void*>(8);
        if (how && !traits_.rooted) c.root = -5;
        if (how) {
            ours_.run(*how, c);
        } else {
            run_reference(c, in, out);
        }
        if (!(in == input_)) fail(fmt::format("the input was changed: {}", in.difference(input_)));
        return out;
    }

    /// The native collective, in a form that the library gets right.
    void run_reference(call c, data& in, data& out) {
        // MPICH 4.0.2 crashes in a reduction in place to another root than 0 if the operator does not commute.
        const data copy = out;
        if (c.what == collective::reduce && c.send == MPI_IN_PLACE) c.send = copy.at(0);
#ifdef MPICH_VERSION
        // Its reduce_scatter_block of a user's operator on derived types is wrong: so take a part of an allreduce.
        if (c.what == collective::reduce_scatter_block && c.op != MPI_SUM && c.op != MPI_MAX) {
            const std::int64_t all = c.recv_count * ranks;
            data whole = c.send == MPI_IN_PLACE ? out : in;
            call reduced = c;
            reduced.what = collective::allreduce;
            reduced.send = MPI_IN_PLACE;
            reduced.recv = whole.at(0);
            reduced.recv_count = all;
            mpi::run_native(MPI_COMM_WORLD, reduced);
            const int n = static_cast<int>(c.recv_count);
            MPI_Sendrecv(whole.at(me * c.recv_count), n, c.recv_type, 0, 0, out.at(0), n, c.recv_type, 0, 0,
                         MPI_COMM_SELF, MPI_STATUS_IGNORE);
            return;
        }
        // And where it forwards derived types as bytes it ends with "message truncated": so move bytes.
        int size = 0;
        MPI_Type_size(c.recv_type, &size);
        if (!traits_.reduces && size != out.extent()) {
            std::vector<char> sent(static_cast<std::size_t>(sent_ * size));
            std::vector<char> received(static_cast<std::size_t>(received_ * size));
            const auto pack = [&](const std::byte* elements, std::int64_t n, std::vector<char>& bytes) {
                int at = 0;
                MPI_Pack(elements, static_cast<int>(n), c.recv_type, bytes.data(), static_cast<int>(bytes.size()), &at,
                         MPI_COMM_WORLD);
            };
            pack(in.at(0), sent_, sent);
            pack(out.at(0), received_, received);
            const auto times_size = [size](std::span<const std::int64_t> counts) {
                std::vector<std::int64_t> bytes(counts.begin(), counts.end());
                for (std::int64_t& n : bytes) n *= size;
                return bytes;
            };
            const auto sends = times_size(c.send_chunks.counts);
            const auto send_places = times_size(c.send_chunks.displacements);
            const auto recvs = times_size(c.recv_chunks.counts);
            const auto recv_places = times_size(c.recv_chunks.displacements);
            call bytes = c;
            if (c.send == c.recv)
                bytes.send = received.data();
            else if (c.send && c.send != MPI_IN_PLACE)
                bytes.send = sent.data();
            if (c.recv && c.recv != MPI_IN_PLACE) bytes.recv = received.data();
            bytes.send_type = bytes.recv_type = MPI_BYTE;
            bytes.send_count *= size;
            bytes.recv_count *= size;
            bytes.send_chunks = {sends, send_places};
            bytes.recv_chunks = {recvs, recv_places};
            mpi::run_native(MPI_COMM_WORLD, bytes);
            int at = 0;
            MPI_Unpack(received.data(), static_cast<int>(received.size()), &at, out.at(0), static_cast<int>(received_),
                       c.recv_type, MPI_COMM_WORLD);
            return;
        }
#else
        (void)in;
#endif
        mpi::run_native(MPI_COMM_WORLD, c);
    }

    bool promises_nothing_here() const { return call_.what == collective::exscan && me == 0; }

private:
    mpi::communicator& ours_;
    bool in_place_;
    const collective_traits& traits_;
    call call_{};
    table in_{}, out_{};
    std::int64_t sent_ = 0, received_ = 0;
    data input_{}, output_{};
};

void check_all(mpi::communicator& ours, const std::string& filter, std::int64_t sample, std::int64_t sample_large) {
    constexpr std::int64_t large = 1000003;
    std::int64_t cases = ranks;
    const std::vector<kind> all = kinds();
    std::mt19937 random(42);  // the same on all ranks
    std::mt19937 own(static_cast<unsigned>(me));
    for (const collective_traits& t : collectives()) {
        std::vector<const algorithm*> candidates;
        for (const algorithm& a : algorithms())
            if (a.what == t.what && a.id.find(filter) != std::string_view::npos) candidates.push_back(&a);
        if (candidates.empty()) continue;
        for (const kind& k : all) {
            std::vector<MPI_Op> ops{MPI_OP_NULL};
            if (t.reduces) ops = k.ops;
            for (const MPI_Op op : ops) {
                for (std::int64_t count : std::vector<std::int64_t>{0, 1, ranks - 1, ranks + 1, 1000, large}) {
                    const bool is_large = count == large;
                    if (is_large && (t.wide_input || t.wide_output)) count /= ranks;  // in all
                    std::vector<int> roots{0};
                    if (t.rooted) roots = is_large ? std::vector{ranks / 2} : std::vector{0, ranks / 2, ranks - 1};
                    for (const int root : roots) {
                        for (const bool in_place : {false, true}) {
                            experiment e(ours, t.what, k, op, count, root, in_place);
                            if (!e.makes_sense()) continue;
                            std::optional<data> want;
                            for (const algorithm* a : candidates) {
                                if (++cases % (is_large ? sample_large : sample) != 0) continue;
                                mpi::selection how(*a);
                                if (a->segmented)
                                    how.segments = count > 100 ? 7 : 1 + static_cast<unsigned>(random() % 3);
                                problem p;
                                p.what = t.what;
                                p.ranks = ranks;
                                p.commutative = op == MPI_OP_NULL || op == MPI_SUM || op == MPI_MAX;
                                p.idempotent = op == MPI_MAX;
                                if (unmet_need(*a, p)) continue;
                                const auto timings = rubato::testing::timings(*a, ranks, root);
                                const auto& when = timings[static_cast<std::size_t>(cases) % timings.size()];
                                how.arrivals = when.arrivals;
                                how.round_time = when.round_time;
                                if (random() % 8 == 0 && own() % 3 == 0)
                                    std::this_thread::sleep_for(std::chrono::microseconds(own() % 500));
                                if (!want) want = e.run(nullptr);
                                const data got = e.run(&how);
                                ++checked;
                                if (!e.promises_nothing_here() && !(got == *want))
                                    fail(fmt::format("{} of {} {} (root {}, in place {}, {} segments, arrivals {}): {}",
                                                     a->id, count, k.name, root, in_place, how.segments, when.pattern,
                                                     got.difference(*want)));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One signature, another type map on the root; and a type whose elements are permuted in memory.
void check_type_maps(mpi::communicator& ours, const std::string& filter) {
    constexpr int n = 60;
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Type_vector(n, 1, 3, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    const int places[2] = {1, 0};
    MPI_Datatype swapped = MPI_DATATYPE_NULL;
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &swapped);
    MPI_Type_commit(&swapped);
    for (const algorithm& a : algorithms()) {
        if (a.what != collective::bcast || a.id.find(filter) == std::string_view::npos) continue;
        for (int root = 0; root < ranks; ++root) {
            mpi::selection how(a);
            how.segments = a.segmented ? 7 : 1;
            std::vector<int> buffer(3 * n, -1);
            const bool at_root = me == root;
            const bool uses_swapped = !at_root && me % 2 == 0;
            if (at_root)
                for (int i = 0; i < n; ++i) buffer[static_cast<std::size_t>(3 * i)] = i;
            if (at_root)
                ours.bcast(how, buffer.data(), 1, spread, root);
            else if (uses_swapped)
                ours.bcast(how, buffer.data(), n / 2, swapped, root);
            else
                ours.bcast(how, buffer.data(), n, MPI_INT, root);
            ++checked;
            for (int i = 0; i < n; ++i) {
                const int place = at_root ? 3 * i : uses_swapped ? (i ^ 1) : i;
                if (buffer[static_cast<std::size_t>(place)] != i)
                    fail(fmt::format("{} with different type maps, root {}: item {} is {}", a.id, root, i,
                                     buffer[static_cast<std::size_t>(place)]));
            }
        }
    }
    MPI_Type_free(&spread);
    MPI_Type_free(&swapped);
}

/// Elements of no size; a receive of the user's that would take any message of this process to itself; a Fortran type.
void check_odd_types(mpi::communicator& ours) {
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    MPI_Type_vector(0, 1, 1, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    int x = 5;
    ours.bcast("bcast/binomial", &x, 3, empty, 0);
    ours.gather("gather/linear", &x, 2, empty, &x, 2, empty, 0);
    MPI_Type_free(&empty);

    int taken = 0;
    MPI_Request any = MPI_REQUEST_NULL;
    MPI_Irecv(&taken, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any);
    MPI_Datatype gap = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 8, &gap);
    MPI_Type_commit(&gap);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(
        [](void* a, void* b, int* n, MPI_Datatype*) {
            for (int i = 0; i < *n; ++i) static_cast<int*>(b)[2 * i] += static_cast<int*>(a)[2 * i];
        },
        1, &op);
    const int in[4] = {1, -1, 2, -1};
    int out[4] = {0, -2, 0, -2};
    ours.scan("scan/recursive_doubling", in, out, 2, gap, op);
    if (out[0] != me + 1 || out[1] != -2 || out[2] != 2 * (me + 1)) fail("a scan beside a greedy receive is wrong");
    MPI_Op_free(&op);
    MPI_Type_free(&gap);
    MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&any, MPI_STATUS_IGNORE);
    if (taken != 5) fail("a message of ours was taken by the user's receive");

    MPI_Datatype real = MPI_DATATYPE_NULL;
    if (MPI_Type_create_f90_real(6, MPI_UNDEFINED, &real) == MPI_SUCCESS) {
        MPI_Datatype two = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, real, &two);
        MPI_Type_commit(&two);
        float y[2] = {static_cast<float>(me), 1};
        ours.bcast("bcast/binomial", y, 1, two, 0);
        if (y[0] != 0) fail("a broadcast of a Fortran type is wrong");
        MPI_Type_free(&two);
    }
    checked += 4;
}

/// Wrong calls are refused, on all ranks alike, and the communicator can be used afterwards.
void check_errors(mpi::communicator& ours) {
    const auto expect_error = [](const char* what, const std::function<void()>& f) {
        try {
            f();
        } catch (const error&) {
            return;
        }
        fail(fmt::format("{} was accepted", what));
    };
    int x = 1;
    int y = 0;
    expect_error("a root outside", [&] { ours.bcast("bcast/binomial", &x, 1, MPI_INT, ranks); });
    expect_error("a negative count", [&] { ours.bcast("bcast/binomial", &x, -1, MPI_INT, 0); });
    expect_error("an unknown algorithm", [&] { ours.bcast("bcast/nothing", &x, 1, MPI_INT, 0); });
    expect_error("no datatype", [&] { ours.bcast("bcast/binomial", &x, 1, MPI_DATATYPE_NULL, 0); });
    expect_error("no operator", [&] { ours.allreduce("allreduce/ring", &x, &y, 1, MPI_INT, MPI_OP_NULL); });
    expect_error("an algorithm of another collective",
                 [&] { ours.allreduce("bcast/binomial", &x, &y, 1, MPI_INT, MPI_SUM); });
    ours.reduce("reduce/binomial", &x, &y, 1, MPI_INT, MPI_SUM, 0);
    if (me == 0 && y != ranks) fail("a reduction after refused calls is wrong");

    // Refused by the root alone: what the others sent for that call must not turn up in the next one.
    mpi::communicator other(MPI_COMM_WORLD);
    const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 1);
    std::vector<std::int64_t> places;
    for (int r = 0; r < ranks; ++r) places.push_back(r);
    std::vector<int> all(static_cast<std::size_t>(ranks));
    const int stale = -1;
    if (me == 0)
        expect_error("too few displacements", [&] {
            other.gatherv("gatherv/linear", &stale, 1, MPI_INT, all.data(), {counts, {}}, MPI_INT, 0);
        });
    else
        other.gatherv("gatherv/linear", &stale, 1, MPI_INT, nullptr, {}, MPI_INT, 0);
    other.gatherv("gatherv/linear", &me, 1, MPI_INT, all.data(), {counts, places}, MPI_INT, 0);
    for (int r = 0; me == 0 && r < ranks; ++r)
        if (all[static_cast<std::size_t>(r)] != r) fail("a gather took what was sent for a refused one");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::string filter;
    std::int64_t sample = 1;
    std::int64_t sample_large = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::string(argv[i]) == "--filter") filter = argv[i + 1];
        if (std::string(argv[i]) == "--sample") sample = parse_integer(argv[i + 1], "step", 1, 1 << 30);
        if (std::string(argv[i]) == "--sample-large") sample_large = parse_integer(argv[i + 1], "step", 1, 1 << 30);
    }
    try {
        mpi::communicator ours(MPI_COMM_WORLD);
        check_all(ours, filter, sample, sample_large);
        check_type_maps(ours, filter);
        check_odd_types(ours);
        check_errors(ours);
    } catch (const std::exception& e) {
        fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: {} collectives equal the native ones\n", ranks, checked);
    MPI_Finalize();
    return checked > 0 ? 0 : 1;
}
