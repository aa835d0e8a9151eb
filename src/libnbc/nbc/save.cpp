// The schedules that the ranks of a communicator have built, in Rubato's symbolic form, as `rubato verify --file` reads
// them: blocks of one size, of which all data is a multiple, in the input, the output, or scratch, which is all other
// memory.
#include "base/files/output_file.hpp"
#include "engine/mpi/predefined.hpp"
#include "engine/mpi/private_communicator.hpp"
#include "libnbc/nbc/built.hpp"
#include "rubato/builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

namespace rubato::libnbc {
namespace {

using engine::check;
using engine::misuse;

constexpr std::int64_t most_blocks = std::int64_t{1} << 20;

/// A step as ranks tell it to rank 0; places and lengths are in bytes.
struct told_step {
    std::int64_t kind;
    std::int64_t peer;
    std::int64_t round;
    std::int64_t from, source;
    std::int64_t to, target;
    std::int64_t bytes;
};
constexpr int numbers_per_step = sizeof(told_step) / sizeof(std::int64_t);

/// Where the memory of one rank belongs.
class memory_map {
public:
    memory_map(const built_schedule& b, const problem& p, int me, const data& send, const data& recv) {
        const collective_traits& t = traits(p.what);
        const auto chunks = [&](bool wide) { return wide ? p.ranks : 1; };
        if (t.has_input(me, p.root.value)) input_ = whole(send, chunks(t.wide_input));
        if (t.has_output(me, p.root.value)) output_ = whole(recv, chunks(t.wide_output));
        if (input_.overlaps(output_))
            throw misuse(MPI_ERR_BUFFER, "a schedule that works in place", "verify knows two buffers",
                         "build it for two buffers to verify it");
        for (const built_step& s : b.steps) {
            if (s.kind != step_kind::recv) note(range_of(s.from));
            if (s.kind != step_kind::send) note(range_of(s.to));
        }
        std::ranges::sort(scratch_, {}, &range::begin);
        std::vector<range> merged;
        for (const range& r : scratch_) {
            if (merged.empty() || merged.back().end < r.begin)
                merged.push_back(r);
            else
                merged.back().end = std::max(merged.back().end, r.end);
        }
        scratch_ = std::move(merged);
    }

    /// Buffer and place of some data; its scratch lies piece after piece, each at a multiple of `alignment`.
    std::pair<std::int64_t, std::int64_t> place(const range& r, std::int64_t alignment) const {
        if (r.begin == r.end) return {0, 0};
        if (input_.overlaps(r)) return {static_cast<std::int64_t>(buffer::input), r.begin - input_.begin};
        if (output_.overlaps(r)) return {static_cast<std::int64_t>(buffer::output), r.begin - output_.begin};
        std::int64_t at = 0;
        for (const range& s : scratch_) {
            if (s.overlaps(r)) return {static_cast<std::int64_t>(buffer::scratch), at + (r.begin - s.begin)};
            at += (s.end - s.begin + alignment - 1) / alignment * alignment;
        }
        return {0, 0};
    }

private:
    /// The data has no gaps.
    static range whole(const data& d, std::int32_t chunks) {
        const auto* const begin = static_cast<const std::byte*>(d.address);
        return {begin, begin + d.bytes() * chunks};
    }
    void note(const range& r) {
        if (r.begin == r.end) return;
        for (const range* b : {&input_, &output_}) {
            if (!b->overlaps(r)) continue;
            if (r.begin >= b->begin && r.end <= b->end) return;
            throw misuse(MPI_ERR_BUFFER, "a step that uses memory across the edge of a buffer",
                         "that is neither the collective's data nor scratch", "check count and datatype");
        }
        scratch_.push_back(r);
    }

    range input_{}, output_{};
    std::vector<range> scratch_{};
};

void check_dense(const data& d) {
    if (d.bytes() > 0 && !engine::inspect(d.type).dense)
        throw misuse(MPI_ERR_TYPE, "data with gaps", "verify knows blocks that lie one after the other",
                     "use a datatype without gaps to verify the schedule");
}

std::vector<told_step> told_by(const built_schedule& b, const problem& p, int me, const data& send, const data& recv) {
    for (const built_step& s : b.steps)
        if (s.peer == me)
            throw misuse(MPI_ERR_RANK, "a message of a rank to itself", "verify knows none", "copy the data instead");
    std::vector<told_step> told;
    const auto tell = [&told](const built_step& s) -> told_step& {
        told.push_back({static_cast<std::int64_t>(s.kind), s.peer, static_cast<std::int64_t>(s.round)});
        return told.back();
    };
    if (!traits(p.what).moves_data()) {  // a barrier's messages say only that a rank has come
        for (const built_step& s : b.steps)
            if (s.is_message()) tell(s);
        return told;
    }
    check_dense(send);
    for (const built_step& s : b.steps) {
        if (s.kind != step_kind::recv) check_dense(s.from);
        if (s.kind != step_kind::send) check_dense(s.to);
    }
    const memory_map map(b, p, me, send, recv);
    const std::int64_t element = std::max<std::int64_t>(engine::element_bytes(send.type), 1);
    for (const built_step& s : b.steps) {
        told_step& t = tell(s);
        t.bytes = s.kind == step_kind::recv ? s.to.bytes() : s.from.bytes();
        if (s.kind != step_kind::recv) std::tie(t.from, t.source) = map.place(range_of(s.from), element);
        if (s.kind != step_kind::send) std::tie(t.to, t.target) = map.place(range_of(s.to), element);
    }
    return told;
}

schedule symbolic(std::span<const told_step> told, const problem& p, rank me, std::uint32_t parts, std::int64_t unit) {
    builder b(p, me, parts);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const slice in = b.input(0, traits(p.what).wide_input ? ranks : 1);
    const slice out = b.output(0, traits(p.what).wide_output ? ranks : 1);
    std::int64_t scratch = 0;
    for (const told_step& t : told)
        for (const auto& [where, at] : {std::pair{t.from, t.source}, std::pair{t.to, t.target}})
            if (static_cast<buffer>(where) == buffer::scratch) scratch = std::max(scratch, (at + t.bytes) / unit);
    for (std::int64_t i = 0; i < scratch; ++i) (void)b.scratch(0, 1);  // blocks have one size
    const auto slice_at = [&](std::int64_t where, std::int64_t at, std::int64_t bytes) {
        const auto first = static_cast<std::uint32_t>(at / unit);
        const auto n = static_cast<std::uint32_t>(bytes / unit);
        if (static_cast<buffer>(where) == buffer::input) return in.sub(first, n);
        if (static_cast<buffer>(where) == buffer::output) return out.sub(first, n);
        return slice{buffer::scratch, first, n, 0};
    };
    std::int64_t round = 0;
    for (const told_step& t : told) {
        if (std::exchange(round, t.round) != t.round) b.fence();
        const slice from = t.bytes > 0 ? slice_at(t.from, t.source, t.bytes) : builder::presence();
        const slice to = t.bytes > 0 ? slice_at(t.to, t.target, t.bytes) : builder::nothing();
        switch (static_cast<step_kind>(t.kind)) {
            case step_kind::send: b.send(rank(static_cast<std::int32_t>(t.peer)), from); break;
            case step_kind::recv: b.recv(rank(static_cast<std::int32_t>(t.peer)), to); break;
            case step_kind::combine: b.combine(from, to); break;
            case step_kind::copy: b.copy(from, to); break;
        }
    }
    return std::move(b).finish();
}

std::string step_text(const schedule& s, std::size_t i) {
    constexpr std::array<std::string_view, 3> buffers{"input", "output", "scratch"};
    const step& t = s.steps[i];
    std::string text = fmt::format(R"({{"kind":"{}")", step_names[static_cast<std::size_t>(t.kind)]);
    if (t.is_message()) text += fmt::format(R"(,"peer":{},"message":{})", t.peer, t.message);
    if (t.kind != step_kind::recv)
        text += fmt::format(R"(,"from":"{}","source":{})", buffers[static_cast<std::size_t>(t.from)], t.source);
    if (t.kind != step_kind::send)
        text += fmt::format(R"(,"to":"{}","target":{})", buffers[static_cast<std::size_t>(t.to)], t.target);
    return text + fmt::format(R"(,"shape":{},"count":{},"after":[{}]}})", t.shape, t.count,
                              fmt::join(s.dependencies_of(i), ","));
}

std::string file_text(const problem& p, std::span<const schedule> all) {
    std::string text =
        fmt::format(R"({{"id":"built","collective":"{}","ranks":{},"root":{},"segments":1,"radix":[],"commutative":{},)"
                    R"("idempotent":{},"equal_parts":true,"parts":{},"rounds":0,"scratch":[)",
                    traits(p.what).name, p.ranks, p.root.value, p.commutative, p.idempotent, all.front().parts);
    for (std::size_t r = 0; r < all.size(); ++r)
        text += fmt::format("{}[{}]", r == 0 ? "" : ",", fmt::join(all[r].scratch, ","));
    text += "],\"steps\":[";
    for (std::size_t r = 0; r < all.size(); ++r) {
        text += r == 0 ? "\n[" : ",\n[";
        for (std::size_t i = 0; i < all[r].steps.size(); ++i) text += (i == 0 ? "" : ",\n ") + step_text(all[r], i);
        text += "]";
    }
    return text + "]}\n";
}

/// The size of a block: all places and lengths are multiples of it.
std::int64_t block_bytes(const problem& p, std::span<const told_step> told, const data& chunk) {
    std::int64_t unit = chunk.bytes();
    for (const told_step& t : told)
        if (t.bytes > 0) unit = std::gcd(std::gcd(unit, t.bytes), std::gcd(t.source, t.target));
    if (unit == 0) return 1;
    if (traits(p.what).reduces && unit % engine::element_bytes(chunk.type) != 0)
        throw misuse(MPI_ERR_TYPE, "a step that uses a part of an element", "elements are combined whole",
                     "check count and datatype");
    return unit;
}

/// On rank 0: what all ranks have told, one after the other; `steps` of each.
void write_all(const problem& p, const std::vector<told_step>& told, const std::vector<int>& steps, const data& chunk,
               const std::string& file) {
    const std::int64_t unit = block_bytes(p, told, chunk);
    const std::int64_t parts = std::max<std::int64_t>(chunk.bytes() / unit, 1);
    std::int64_t most = parts * p.ranks;
    for (const told_step& t : told) most = std::max(most, (std::max(t.source, t.target) + t.bytes) / unit);
    if (most > most_blocks)
        throw misuse(MPI_ERR_COUNT, fmt::format("{} blocks", most), "a proof follows each of them",
                     "save the schedule of a smaller vector");
    std::vector<schedule> all;
    auto at = told.begin();
    for (rank r; r.value < p.ranks; ++r.value) {
        const auto end = at + steps[static_cast<std::size_t>(r.value)];
        all.push_back(symbolic({at, end}, p, r, static_cast<std::uint32_t>(parts), unit));
        at = end;
    }
    base::output_file(file).write(file_text(p, all));
}

/// Runs `f` on this rank; throws on all ranks if it does on one.
template <class F>
void together(MPI_Comm comm, F f) {
    std::exception_ptr trouble;
    try {
        f();
    } catch (...) {
        trouble = std::current_exception();
    }
    int good = trouble ? 0 : 1;
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    if (trouble) std::rethrow_exception(trouble);
    if (good == 0)
        throw misuse(MPI_ERR_OTHER, "the schedules are not saved", "there is an error on another rank",
                     "see what it says");
}

/// The operator of a rank's steps, as far as ranks can compare it.
struct told_operator {
    std::int64_t number = none;  ///< of a predefined one; -1: the program's own
    std::int64_t commutes = 1;

    static constexpr std::int64_t none = -2;  ///< nothing is combined
};

told_operator operator_of(const built_schedule& b, const data& vector) {
    told_operator told;
    const built_step* first = nullptr;
    for (const built_step& s : b.steps) {
        if (s.kind != step_kind::combine) continue;
        if (first == nullptr) first = &s;
        if (s.op != first->op || engine::number_of_type(s.to.type) != engine::number_of_type(vector.type))
            throw misuse(MPI_ERR_OP, "steps that combine in other ways than the collective",
                         "it has one operator and one datatype", "check the steps, and the datatype that is given");
        int yes = 1;
        engine::check(MPI_Op_commutative(s.op, &yes), "MPI_Op_commutative");
        told = {engine::number_of_op(s.op), yes};
    }
    return told;
}

/// All ranks' together. Throws on all of them if they differ.
void agree_on(const told_operator& mine, problem& p, MPI_Comm comm) {
    std::vector<told_operator> all(static_cast<std::size_t>(p.ranks));
    engine::check(PMPI_Allgather(&mine, 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, comm), "MPI_Allgather");
    std::erase_if(all, [](const told_operator& o) { return o.number == told_operator::none; });
    if (all.empty()) return;
    const std::int64_t number = all.front().number;
    if (std::ranges::any_of(all, [number](const told_operator& o) { return o.number != number; }))
        throw misuse(MPI_ERR_OP, "ranks that combine by different operators", "a collective has one",
                     "check the steps");
    p.commutative = std::ranges::all_of(all, [](const told_operator& o) { return o.commutes != 0; });
    p.idempotent = number >= 0 && engine::predefined_ops()[static_cast<std::size_t>(number)].idempotent;
}

void check_arguments(const built_schedule* mine, const char* what, const data& send, const char* file) {
    if (mine == nullptr || !mine->committed)
        throw misuse(MPI_ERR_REQUEST, "no schedule that is committed", "it is saved whole", "call NBC_Sched_commit");
    if (what == nullptr || file == nullptr)
        throw misuse(MPI_ERR_ARG, "no collective, or no file", "the call needs both", "pass their names");
    if (send.count < 0)
        throw misuse(MPI_ERR_COUNT, fmt::format("a count of {}", send.count), "it counts elements",
                     "check the arguments");
    check_data({nullptr, 0, send.type});
}

}  // namespace

void save(const built_schedule* mine, const char* what, const data& send, const data& recv, int root, MPI_Comm user,
          const char* file) {
    meet(user);
    const engine::private_communicator ours(user);
    const MPI_Comm comm = ours.get();
    const int me = engine::rank_in(comm);
    problem p;
    p.ranks = engine::size_of(comm);
    p.root = rank(root);
    std::vector<told_step> told;
    told_operator combines;
    together(comm, [&] {
        check_arguments(mine, what, send, file);
        p.what = parse_collective(what);
        rubato::check(p);
        if (traits(p.what).irregular)
            throw misuse(MPI_ERR_ARG, fmt::format("a {}", traits(p.what).name), "its chunks differ in size",
                         "save it with equal chunks, as the collective without v");
        told = told_by(*mine, p, me, send, recv);
        combines = operator_of(*mine, send);
    });
    agree_on(combines, p, comm);
    const auto ranks = static_cast<std::size_t>(p.ranks);
    const int count = static_cast<int>(told.size());
    std::vector<int> steps(ranks);
    engine::check(PMPI_Gather(&count, 1, MPI_INT, steps.data(), 1, MPI_INT, 0, comm), "MPI_Gather");
    std::vector<int> counts(ranks);
    std::vector<int> places(ranks);
    std::ranges::transform(steps, counts.begin(), [](int n) { return n * numbers_per_step; });
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    std::vector<told_step> all(me == 0 ? static_cast<std::size_t>(std::accumulate(steps.begin(), steps.end(), 0)) : 0);
    engine::check(PMPI_Gatherv(told.data(), count * numbers_per_step, MPI_INT64_T, all.data(), counts.data(),
                               places.data(), MPI_INT64_T, 0, comm),
                  "MPI_Gatherv");
    together(comm, [&] {
        if (me == 0) write_all(p, all, steps, send, file);
    });
}

}  // namespace rubato::libnbc
