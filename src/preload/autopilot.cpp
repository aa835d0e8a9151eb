#include "preload/autopilot.hpp"

#include "direct/enforcer.hpp"
#include "mpi/looked_at_calls.hpp"
#include "mpi/roll.hpp"
#include "preload/mpi_board.hpp"
#include "preload/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace rubato::preload {
namespace {

using mpi::check;

bool is_of(std::string_view id, collective what) {
    const std::string_view name = traits(what).name;
    return id.size() > name.size() && id.starts_with(name) && id[name.size()] == '/';
}

mpi::settings settings_of(const autopilot::settings& how) {
    mpi::settings s;
    s.background = how.background;
    if (how.clock) {
        s.clock = how.clock;
        s.clock_is_common = true;
    }
    return s;
}

bool all_may_begin_early(MPI_Comm comm, bool wanted) {
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    int early = wanted && level == MPI_THREAD_MULTIPLE ? 1 : 0;
    check(PMPI_Allreduce(MPI_IN_PLACE, &early, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    return early != 0;
}

}  // namespace

bool autopilot::concerns(const settings& how, const mpi::call_facts& c) {
    const collective_traits& t = c.traits();
    if (t.rooted && (c.root < 0 || c.root >= c.ranks)) return false;
    if (std::ranges::find(how.leave, c.what) != how.leave.end()) return false;
    if (!how.force.empty()) return is_of(how.force, c.what);
    return (t.chunked() ? c.agreed_bytes * c.ranks : c.agreed_bytes) >= smallest;
}

void give_up(MPI_Comm comm, const std::exception& e) {
    std::fprintf(stderr, "rubato: %s\n", e.what());
    MPI_Abort(comm, 1);
    std::abort();
}

class autopilot::state {
public:
    state(MPI_Comm user, const settings& how, explainer explain)
        : how_(how), user_(user), ours_(user, settings_of(how)) {
        if (!how.model.empty()) network_ = parse_model(how.model);
        if (how.force.empty()) {
            board_.emplace(user, ours_, network_);
            auto directs = std::make_unique<director>(told(how), *board_, std::move(explain));
            director_ = directs.get();
            guide_ = std::move(directs);
        } else {
            guide_ = std::make_unique<enforcer>(
                find_algorithm(how.force), ours_.size(), [this] { return network(); }, std::move(explain));
        }
    }

    int run(const mpi::call_facts& c, const std::function<int()>& native) noexcept {
        try {
            if (!concerns(how_, c) || !may_replace(c)) return native();
            const directed_call d{c.what, rank(c.traits().rooted ? c.root : 0),
                                  std::max<std::int64_t>(0, c.agreed_bytes)};
            const directive& what = guide_->arrive(d, ours_.clock().now());
            watch_for(what);
            const int code = what.use == nullptr || !run_plan(what, c) ? native() : MPI_SUCCESS;
            if (code == MPI_SUCCESS)
                guide_->leave(ours_.clock().now());
            else
                guide_->failed();
            return code;
        } catch (const mpi::truncated& e) {
            guide_->failed();
            PMPI_Comm_call_errhandler(user_, e.code());
            return e.code();
        } catch (const std::exception& e) {
            give_up(user_, e);
        }
    }

    std::vector<experience> learned() const {
        return director_ != nullptr ? director_->learned() : std::vector<experience>();
    }

private:
    director::settings told(const settings& how) {
        director::settings s;
        s.me = rank(ours_.rank());
        s.ranks = ours_.size();
        s.margin = how.margin;
        s.spend = how.spend;
        const std::vector<std::int32_t>& hosts = ours_.hosts();
        s.between_hosts = std::ranges::any_of(hosts, [&](std::int32_t h) { return h != hosts.front(); });
        s.early = all_may_begin_early(board_->comm(), how.background);
        s.process = how.process;
        s.remembered = how.remembered;
        return s;
    }

    /// The given model, or one measured on a communicator of our own.
    model network() const {
        return network_ ? *network_ : network_of(mpi::private_communicator(user_).get(), ours_.hosts());
    }

    /// The background thread looks only while a plan is in use that needs it: even looking for nothing costs 0.3 % of a
    /// core.
    void watch_for(const directive& what) {
        if (what.works_ahead())
            works_ahead_ = true;
        else if (works_ahead_ && director_ != nullptr && !director_->works_ahead()) {
            works_ahead_ = false;
            looked_at_.rest();
        }
    }

    /// Whether the operator allows a plan; equal on all ranks, as the operator is.
    bool may_replace(const mpi::call_facts& c) const {
        if (!c.traits().reduces) return true;
        if (how_.reproducible) return c.exact();
        return c.commutative || !how_.force.empty();
    }

    /// False if the algorithm cannot solve this problem, which is so on all ranks, or if this rank's arguments are
    /// wrong: then the native call reports them as usual, while ranks with right arguments make the call. Later
    /// failures concern this rank alone.
    bool run_plan(const directive& what, const mpi::call_facts& c) {
        mpi::selection s(*what.use);
        s.segments = what.segments;
        s.round_time = what.round_time;
        s.arrivals = what.arrivals;
        intent known;
        bool refused = false;
        try {
            known = looked_at_.intent_of(s, c);
            rubato::check(*known.use, known.what);
        } catch (const error& e) {
            if (!c.wrong) guide_->refused(e.what());
            refused = true;
        }
        if (what.roll_call) {
            const auto [keeper, patience] = *what.roll_call;
            const roll_call::order in_any_case = refused ? roll_call::order{} : mpi::order_for(known, {});
            const roll_call::verdict said = looked_at_.call_roll(c, keeper, patience, in_any_case, refused);
            refused |= said.is_native();
            if (!refused) known = mpi::made_by(said, std::move(known));
        }
        if (refused) {
            looked_at_.pass();
            return false;
        }
        looked_at_.run(known, c);
        return true;
    }

    settings how_;
    MPI_Comm user_;
    mpi::communicator ours_;
    mpi::looked_at_calls looked_at_{ours_};
    std::optional<model> network_{};
    std::optional<mpi_board> board_{};  // for mode auto
    std::unique_ptr<guide> guide_{};
    const director* director_ = nullptr;  // the guide, in mode auto
    bool works_ahead_ = false;            // a plan that the background thread works for may be in use
};

autopilot::autopilot(MPI_Comm user, const settings& how, explainer explain)
    : state_(std::make_unique<state>(user, how, std::move(explain))) {}
autopilot::~autopilot() = default;

int autopilot::run(const mpi::call_facts& c, const std::function<int()>& native) { return state_->run(c, native); }
std::vector<experience> autopilot::learned() const { return state_->learned(); }

}  // namespace rubato::preload
