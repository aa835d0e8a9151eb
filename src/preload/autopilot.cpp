#include "preload/autopilot.hpp"

#include "mpi/broadcast.hpp"
#include "preload/mpi_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rubato::preload {
namespace {

using mpi::check;

constexpr std::int64_t smallest = 16 << 10;
constexpr std::int64_t unknown = -1;

std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
    MPI_Count size = 0;
    if (count < 0 || type == MPI_DATATYPE_NULL || MPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return unknown;
    return count * size;
}

std::int64_t mean_bytes(std::span<const std::int64_t> counts, MPI_Datatype type) {
    std::int64_t sum = 0;
    for (const std::int64_t n : counts) {
        if (n < 0) return unknown;
        sum += n;
    }
    return counts.empty() ? unknown : bytes_of(sum, type) / static_cast<std::int64_t>(counts.size());
}

/// Of the vector, or of a chunk, as all ranks know them. Which side of a call they can be read off differs: what is
/// MPI_IN_PLACE or not significant is not looked at.
std::int64_t agreed_bytes(const mpi::call& c, int me) {
    switch (c.what) {
        case collective::barrier: return 0;
        case collective::gather:
            return me == c.root ? bytes_of(c.recv_count, c.recv_type) : bytes_of(c.send_count, c.send_type);
        case collective::scatter:
            return me == c.root ? bytes_of(c.send_count, c.send_type) : bytes_of(c.recv_count, c.recv_type);
        case collective::scatterv:
        case collective::gatherv:
        case collective::alltoallv: return unknown;
        case collective::allgatherv:
        case collective::reduce_scatter: return mean_bytes(c.recv_chunks.counts, c.recv_type);
        default: return bytes_of(c.recv_count, c.recv_type);
    }
}

bool is_of(std::string_view id, collective what) {
    const std::string_view name = traits(what).name;
    return id.size() > name.size() && id.starts_with(name) && id[name.size()] == '/';
}

/// Sums of these do not depend on their order.
bool is_exact(MPI_Datatype type) {
    const std::array types{
        MPI_CHAR,     MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE,          MPI_SHORT,     MPI_UNSIGNED_SHORT,
        MPI_INT,      MPI_UNSIGNED,    MPI_LONG,          MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG,
        MPI_C_BOOL,   MPI_INT8_T,      MPI_INT16_T,       MPI_INT32_T,       MPI_INT64_T,   MPI_UINT8_T,
        MPI_UINT16_T, MPI_UINT32_T,    MPI_UINT64_T,      MPI_AINT,          MPI_COUNT,     MPI_OFFSET,
        MPI_2INT,     MPI_LONG_INT,    MPI_SHORT_INT,     MPI_INTEGER,       MPI_LOGICAL};
    return std::ranges::find(types, type) != types.end();
}

bool is_predefined(MPI_Op op) {
    const std::array ops{MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                         MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    return std::ranges::find(ops, op) != ops.end();
}

bool commutes(MPI_Op op) {
    int yes = 0;
    return MPI_Op_commutative(op, &yes) == MPI_SUCCESS && yes != 0;
}

mpi::settings quiet_unless(bool background) {
    mpi::settings s;
    s.background = background;
    return s;
}

/// Rank 0's, as it may be the only one that can read the file.
std::optional<model> agreed_model(MPI_Comm comm, int me, const std::string& text) {
    if (text.empty()) return std::nullopt;
    std::string said;
    try {
        if (me == 0) said = fmt::format("+{}", to_string(parse_model(text)));
    } catch (const error& e) {
        said = fmt::format("-{}", e.what());
    }
    said = mpi::broadcast(comm, std::move(said));
    if (said.front() == '-') throw error(said.substr(1));
    return parse_model(std::string_view(said).substr(1));
}

bool all_may_begin_early(MPI_Comm comm, bool wanted) {
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    int early = wanted && level == MPI_THREAD_MULTIPLE ? 1 : 0;
    check(PMPI_Allreduce(MPI_IN_PLACE, &early, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    return early != 0;
}

}  // namespace

bool autopilot::concerns(const settings& how, const mpi::call& c, int me, int ranks) {
    const collective_traits& t = traits(c.what);
    if (t.rooted && (c.root < 0 || c.root >= ranks)) return false;
    if (std::ranges::find(how.leave, c.what) != how.leave.end()) return false;
    if (!how.force.empty()) return is_of(how.force, c.what);
    const std::int64_t bytes = agreed_bytes(c, me);
    return bytes > 0 && (t.wide_input || t.wide_output ? bytes * ranks : bytes) >= smallest;
}

void give_up(MPI_Comm comm, const std::exception& e) {
    fmt::print(stderr, "rubato: {}\n", e.what());
    MPI_Abort(comm, 1);
    std::abort();
}

class autopilot::state {
public:
    state(MPI_Comm user, const settings& how, explainer explain)
        : how_(how),
          user_(user),
          ours_(user, quiet_unless(how.background)),
          board_(user, ours_),
          director_(told(how), board_, std::move(explain)) {
        board_.use(agreed_model(board_.comm(), ours_.rank(), how.model));
    }

    int run(const mpi::call& c, const std::function<int()>& native) noexcept {
        try {
            if (!concerns(how_, c, ours_.rank(), ours_.size()) || !may_replace(c) || is_aliased(c)) return native();
            const directed_call d{c.what, rank(traits(c.what).rooted ? c.root : 0),
                                  std::max<std::int64_t>(0, agreed_bytes(c, ours_.rank()))};
            const directive& what = director_.arrive(d, ours_.clock().now());
            const int code = what.use == nullptr || !run_plan(what, c) ? native() : MPI_SUCCESS;
            director_.leave(ours_.clock().now());
            return code;
        } catch (const std::exception& e) {
            give_up(user_, e);
        }
    }

private:
    director::settings told(const settings& how) {
        director::settings s;
        s.me = rank(ours_.rank());
        s.ranks = ours_.size();
        s.margin = how.margin;
        s.early = all_may_begin_early(board_.comm(), how.background);
        if (!how.force.empty()) s.force = &find_algorithm(how.force);
        s.process = how.process;
        return s;
    }

    /// A reduction onto itself, which MPI forbids; its own call says so.
    bool is_aliased(const mpi::call& c) const {
        const bool has_both = traits(c.what).reduces && (!traits(c.what).rooted || c.root == ours_.rank());
        return has_both && c.send == c.recv && agreed_bytes(c, ours_.rank()) > 0;
    }

    /// Whether the operator allows it; equal on all ranks, as it is.
    bool may_replace(const mpi::call& c) const {
        if (!traits(c.what).reduces) return true;
        if (c.op == MPI_OP_NULL || c.recv_type == MPI_DATATYPE_NULL) return false;
        if (is_predefined(c.op)) return !how_.reproducible || is_exact(c.recv_type);
        return !how_.reproducible && (!how_.force.empty() || commutes(c.op));
    }

    /// False if the algorithm is not for this problem, which all ranks find alike, or if the arguments are wrong, which
    /// the native call says as ever. What fails later fails here alone.
    bool run_plan(const directive& what, const mpi::call& c) {
        mpi::selection s(*what.use);
        s.segments = what.segments;
        s.round_time = what.round_time;
        s.arrivals = what.arrivals;
        // What is given is not exchanged once more.
        if (what.use->arrival_aware && s.arrivals.empty()) s.arrivals.resize(static_cast<std::size_t>(ours_.size()));
        try {
            rubato::check(*what.use, ours_.outline_of(s, c).what.what);
        } catch (const error& e) {
            director_.refused(e.what());
            return false;
        }
        ours_.run(s, c);
        return true;
    }

    settings how_;
    MPI_Comm user_;
    mpi::communicator ours_;
    mpi_board board_;
    director director_;
};

autopilot::autopilot(MPI_Comm user, const settings& how, explainer explain)
    : state_(std::make_unique<state>(user, how, std::move(explain))) {}
autopilot::~autopilot() = default;

int autopilot::run(const mpi::call& c, const std::function<int()>& native) { return state_->run(c, native); }

}  // namespace rubato::preload
