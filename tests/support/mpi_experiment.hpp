// Collective calls of every kind on MPI, compared with the native ones: same bytes in the whole buffer, gaps included.
#pragma once

#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rubato::testing {

[[noreturn]] inline void fail(const std::string& what) {
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fmt::print(stderr, "rank {} of {}: {}\n", me, ranks, what);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

/// The message of the error that this call must throw.
inline std::string refusal(const char* what, const std::function<void()>& f) {
    try {
        f();
    } catch (const error& e) {
        return e.what();
    }
    fail(fmt::format("{} was accepted", what));
}

/// x -> slope*x + shift: composing does not commute. With a gap after the slope and one at the end.
struct affine {
    std::int32_t slope;
    std::int32_t gap;
    std::int64_t shift;
    std::int64_t end;
};

inline void compose(void* left, void* into, int* n, MPI_Datatype* /*type*/) {
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

inline std::vector<kind> kinds() {
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

inline std::int64_t uneven(std::int64_t units, std::int64_t from, std::int64_t to) {
    return units * ((from * 3 + to * 5 + 1) % 4) / 2;
}

struct table {
    std::vector<std::int64_t> counts{};
    std::vector<std::int64_t> places{};
    std::int64_t all = 0;

    void add(std::int64_t n, std::int64_t gap = 1) {
        counts.push_back(n);
        places.push_back(all);
        all += n + gap;
    }
    mpi::chunks chunks() const { return {counts, places}; }
};

/// One rank's part of a collective call, to be made by the native collective and by ours.
class experiment {
public:
    experiment(MPI_Comm comm, collective what, const kind& k, MPI_Op op, std::int64_t count, int root, bool in_place)
        : comm_(comm), in_place_(in_place), traits_(traits(what)) {
        MPI_Comm_rank(comm, &me_);
        MPI_Comm_size(comm, &ranks_);
        call_.what = what;
        call_.op = op;
        call_.root = root;
        call_.send_type = call_.recv_type = k.type;
        if (traits_.measured_by_input()) {
            for (int c = 0; c < ranks_; ++c) in_.add(uneven(count, c, 0), 0);
            call_.recv_chunks = {in_.counts, {}};
            sent_ = in_.all;
            received_ = own_ = in_.counts[static_cast<std::size_t>(me_)];
            before_own_ = in_.places[static_cast<std::size_t>(me_)];
        } else if (traits_.irregular) {
            for (int c = 0; c < ranks_; ++c) {
                in_.add(traits_.spreads() ? uneven(count, 0, c) : uneven(count, me_, c));
                out_.add(traits_.wide_input && traits_.wide_output ? uneven(count, c, me_) : uneven(count, c, 0));
            }
            const auto self = static_cast<std::size_t>(me_);
            call_.send_count = traits_.wide_input ? 0 : out_.counts[self];
            call_.recv_count = traits_.wide_output ? 0 : in_.counts[self];
            if (traits_.wide_input) call_.send_chunks = in_.chunks();
            if (traits_.wide_output) call_.recv_chunks = out_.chunks();
            sent_ = traits_.wide_input ? in_.all : call_.send_count;
            received_ = traits_.wide_output ? out_.all : call_.recv_count;
        } else {
            call_.send_count = call_.recv_count = count;
            sent_ = count * (traits_.wide_input ? ranks_ : 1);
            received_ = count * (traits_.wide_output ? ranks_ : 1);
            own_ = count;
            before_own_ = me_ * count;
        }
        if (traits_.one_buffer()) in_place_ = true;
        if (!traits_.moves_data()) sent_ = received_ = 0;
        // In place, the larger buffer holds both.
        if (in_place_ && scatters_sums()) received_ = sent_;
        input_ = data(k, sent_);
        input_.fill(sent_, static_cast<std::uint64_t>(me_) + 1);
        output_ = data(k, received_);
        output_.fill(received_, 77 + static_cast<std::uint64_t>(me_));
    }

    /// An in-place alltoallv needs symmetric sizes; these are not.
    bool makes_sense() const { return !(in_place_ && call_.what == collective::alltoallv); }

    /// What the native collective gives.
    data native() const {
        made m = make(false);
        run_reference(m.c, m.in, m.out);
        // In place, MPICH overwrites the rest of the buffer; Rubato must not.
        if (in_place_ && scatters_sums() && own_ < received_)
            std::memcpy(m.out.at(own_), output_.at(own_),
                        static_cast<std::size_t>((received_ - own_) * m.out.extent()));
        return result(m);
    }

    /// A call with buffers of its own.
    struct made {
        data in{};
        data out{};
        mpi::call c{};
    };
    /// Insignificant arguments are garbage. Only Rubato gets them: Open MPI checks more arguments than it may.
    made call() const { return make(true); }
    /// The call's output; its input must be unchanged.
    data result(const made& m) const {
        if (!(m.in == input_)) fail(fmt::format("the input was changed: {}", m.in.difference(input_)));
        return m.out;
    }
    bool promises_nothing_here() const { return call_.what == collective::exscan && me_ == 0; }

private:
    bool scatters_sums() const { return traits_.reduces && traits_.wide_input; }

    made make(bool ours) const {
        made m{input_, output_, call_};
        mpi::call& c = m.c;
        c.send = m.in.at(0);
        c.recv = m.out.at(0);
        const bool at_root = me_ == call_.root;
        const bool scatters = traits_.spreads() && !traits_.one_buffer();
        const bool to_root = traits_.output == holders::root;
        const bool reduces_to_root = to_root && traits_.reduces;
        const bool gathers = to_root && !traits_.reduces;
        if (in_place_) {
            if (scatters) {
                if (at_root) c.recv = MPI_IN_PLACE;
            } else if (to_root) {
                if (at_root) c.send = MPI_IN_PLACE;
            } else if (!traits_.one_buffer()) {
                c.send = MPI_IN_PLACE;
            }
        }
        if (traits_.one_buffer()) c.send = c.recv;
        if (scatters && !at_root) c.send = nullptr;
        if (to_root && !at_root) c.recv = nullptr;
        if (!ours) return m;
        static constexpr std::int64_t garbage[] = {-7};
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
        if (scatters && !at_root) spoil_send();
        if (gathers && !at_root) spoil_recv();
        if (c.send == MPI_IN_PLACE && !traits_.reduces) spoil_send();
        if (c.recv == MPI_IN_PLACE) spoil_recv();
        if (reduces_to_root && !at_root) c.recv = reinterpret_cast<void*>(8);
        if (!traits_.rooted) c.root = -5;
        return m;
    }

    /// The native collective, in a form that the library gets right.
    void run_reference(mpi::call c, data& in, data& out) const {
        // MPICH 4.0.2 crashes in a reduction in place to another root than 0 if the operator does not commute.
        std::optional<data> copy;
        if (c.what == collective::reduce && c.send == MPI_IN_PLACE) c.send = copy.emplace(out).at(0);
#ifdef MPICH_VERSION
        // Its reduce_scatter_block of a user's operator on derived types is wrong, and in place a reduce_scatter ends
        // the program where the rank's chunk is longer than what lies before it: so take a part of an allreduce.
        if (scatters_sums() && (c.send == MPI_IN_PLACE || (c.op != MPI_SUM && c.op != MPI_MAX))) {
            data whole = c.send == MPI_IN_PLACE ? out : in;
            mpi::call reduced = c;
            reduced.what = collective::allreduce;
            reduced.send = MPI_IN_PLACE;
            reduced.recv = whole.at(0);
            reduced.recv_count = sent_;
            mpi::run_native(comm_, reduced);
            const int n = static_cast<int>(own_);
            MPI_Sendrecv(whole.at(before_own_), n, c.recv_type, 0, 0, out.at(0), n, c.recv_type, 0, 0, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE);
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
                         comm_);
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
            mpi::call bytes = c;
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
            mpi::run_native(comm_, bytes);
            int at = 0;
            MPI_Unpack(received.data(), static_cast<int>(received.size()), &at, out.at(0), static_cast<int>(received_),
                       c.recv_type, comm_);
            return;
        }
#else
        (void)in;
#endif
        mpi::run_native(comm_, c);
    }

    MPI_Comm comm_;
    int me_ = 0;
    int ranks_ = 1;
    bool in_place_;
    const collective_traits& traits_;
    mpi::call call_{};
    table in_{}, out_{};
    std::int64_t sent_ = 0, received_ = 0;
    std::int64_t own_ = 0, before_own_ = 0;  // of a reduction's chunk
    data input_{}, output_{};
};

}  // namespace rubato::testing
