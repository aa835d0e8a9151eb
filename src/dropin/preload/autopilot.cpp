#include "dropin/preload/autopilot.hpp"

#include "base/core/hosts.hpp"
#include "dropin/direct/follower.hpp"
#include "dropin/direct/guided_call.hpp"
#include "dropin/preload/mpi_board.hpp"
#include "dropin/preload/network.hpp"
#include "dropin/preload/own_requests.hpp"
#include "engine/mpi/datatype.hpp"
#include "engine/mpi/inner_communicator.hpp"
#include "engine/mpi/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace rubato::dropin {
namespace {

using engine::check;

mpi::settings settings_of(const autopilot::settings& how) {
    mpi::settings s;
    s.background = how.background;
    s.hosts = how.hosts;
    if (how.clock) {
        s.clock = how.clock;
        s.clock_is_common = true;
    }
    return s;
}

mpi::selection selection_of(const directive& how) {
    mpi::selection s(*how.use);
    s.segments = how.segments;
    s.round_time = how.round_time;
    s.arrivals = how.arrivals;
    return s;
}

bool may_begin_early() {
    int level = MPI_THREAD_SINGLE;
    engine::check(MPI_Query_thread(&level), "MPI_Query_thread");
    return level == MPI_THREAD_MULTIPLE;
}

bool on_all_ranks(bool here, MPI_Comm comm) {
    int all = here ? 1 : 0;
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    return all != 0;
}

}  // namespace

bool autopilot::settings::may_replace(collective what) const {
    if (std::ranges::find(leave, what) != leave.end()) return false;
    if (rules) return traits(what).sizes_known_to_all() && rules->concern(what);
    return force.empty() || std::ranges::find(force, what, &algorithm::what) != force.end();
}

bool autopilot::concerns(const settings& how, const engine::call_facts& c) {
    const collective_traits& t = c.traits();
    if ((t.rooted && (c.root < 0 || c.root >= c.ranks)) || !how.may_replace(c.what)) return false;
    return !how.finds_out() || auto_may_make(t, c.agreed_bytes * t.sized_chunks(c.ranks), true);
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
        // Started calls need the thread to be there. For the others it is started when a plan first needs it.
        const bool here = how.background && (how.finds_out() ? may_begin_early() : inner_.wake());
        has_thread_ = on_all_ranks(here, inner_.comm());
        if (how.finds_out()) {
            board_.emplace(inner_.comm(), ours_, network_);
            auto directs = std::make_unique<director>(told(how), *board_, std::move(explain));
            director_ = directs.get();
            guide_ = std::move(directs);
        } else if (how.rules) {
            guide_ = std::make_unique<follower>(how.rules, ours_.size(), std::move(explain));
        } else {
            guide_ = std::make_unique<follower>(
                how.force, ours_.size(), [this] { return network(); }, std::move(explain));
        }
    }

    /// While an error is thrown, other ranks may never come to its end.
    ~state() {
        if (std::uncaught_exceptions() > exceptions_) return;
        try {
            while (!end()) engine::let_others_go_on();
        } catch (const std::exception& e) {
            give_up(user_, e);
        }
    }

    bool end() { return (!board_ || board_->is_quiet()) && inner_.end(); }

    int run(const engine::call_facts& c, std::uint64_t meetings, const std::function<int()>& native) {
        if (!concerns(how_, c) || !may_replace(c)) return native();
        mpi_call call(*this, c, native);
        int code = MPI_SUCCESS;
        try {
            code = make_call(*guide_, known(c, meetings), call);
            let_thread_rest();
        } catch (const std::exception& e) {
            if (call.is_native()) throw;  // by an error handler of the program
            give_up(user_, e);
        }
        if (call.was_too_long()) PMPI_Comm_call_errhandler(user_, code);
        return code;
    }

    int start(std::shared_ptr<const engine::call_facts> c, MPI_Request* request, const std::function<int()>& native,
              std::function<void(MPI_Request)> freed) {
        // A user's own operator is not called in another thread.
        const bool usual = !c->traits().reduces || c->op_number >= 0;
        if (director_ != nullptr || !has_thread_ || !usual || !concerns(how_, *c) || !may_replace(*c)) return native();
        mpi_call call(*this, *c, native);
        try {
            const directive& how = guide_->arrive(known(*c, 0), call.now());
            if (how.use != nullptr) {
                if (const std::optional<engine::intent> plan = planned(*guide_, how, call)) {
                    *request = start_planned(*plan, std::move(c), std::move(freed));
                    return MPI_SUCCESS;
                }
                inner_.pass();
            }
        } catch (const std::exception& e) {
            give_up(user_, e);
        }
        return native();
    }

    std::vector<experience> learned() const {
        return director_ != nullptr ? director_->learned() : std::vector<experience>();
    }

private:
    director::settings told(director::settings s) const {
        s.me = rank(ours_.rank());
        s.ranks = ours_.size();
        s.between_hosts = base::on_several_hosts(ours_.hosts());
        if (s.between_hosts && base::are_shared(ours_.hosts())) s.shared = ours_.hosts();
        s.early = has_thread_;
        s.neighbours = ours_.neighbours();
        return s;
    }

    model network() const { return network_ ? *network_ : network_of(inner_.comm(), ours_.hosts()); }

    /// The background thread looks only while a plan is in use that needs it: even looking for nothing costs 0.3 % of a
    /// core.
    void let_thread_rest() {
        const bool worked_ahead = works_ahead_;
        works_ahead_ = director_ != nullptr && director_->works_ahead();
        if (worked_ahead && !works_ahead_) inner_.rest();
    }

    /// Whether the operator or the neighbours allow a plan; equal on all ranks, as these are.
    bool may_replace(const engine::call_facts& c) const {
        if (c.traits().on_graph) return has_clear_neighbours_;
        if (!c.traits().reduces) return true;
        if (how_.reproducible) return c.exact();
        return c.commutative || !how_.finds_out();
    }

    MPI_Request start_planned(const engine::intent& plan, std::shared_ptr<const engine::call_facts> c,
                              std::function<void(MPI_Request)> freed) {
        auto made = std::make_unique<started>(std::move(c), std::move(freed));
        engine::check(PMPI_Grequest_start(started::query, started::release, started::cancel, made.get(), &made->handle),
                      "MPI_Grequest_start");
        started& s = *made.release();  // MPI calls release
        const MPI_Request handle = s.handle;
        own_requests().add(handle);
        inner_.start(plan, *s.call, [&s](const std::exception_ptr& thrown) { s.end(thrown); });
        return handle;
    }

    /// A call under way, as MPI's generalised requests have it.
    struct started {
        started(std::shared_ptr<const engine::call_facts> c, std::function<void(MPI_Request)> f)
            : call(std::move(c)), freed(std::move(f)) {}

        std::shared_ptr<const engine::call_facts> call;
        std::function<void(MPI_Request)> freed;
        MPI_Request handle = MPI_REQUEST_NULL;
        std::atomic<int> code = MPI_SUCCESS;

        /// Other errors than wrong lengths are this rank's alone: the others may wait for its messages for ever.
        void end(const std::exception_ptr& thrown) noexcept {
            try {
                try {
                    if (thrown) std::rethrow_exception(thrown);
                } catch (const mpi::truncated& e) {
                    code = e.code();
                }
                own_requests().note_end(handle);
                engine::check(PMPI_Grequest_complete(handle), "MPI_Grequest_complete");
            } catch (const std::exception& e) {
                give_up(MPI_COMM_WORLD, e);
            }
        }
        static int query(void* state, MPI_Status* status) noexcept {
            PMPI_Status_set_elements(status, MPI_BYTE, 0);
            PMPI_Status_set_cancelled(status, 0);
            status->MPI_SOURCE = MPI_UNDEFINED;
            status->MPI_TAG = MPI_UNDEFINED;
            return static_cast<started*>(state)->code;
        }
        static int release(void* state) noexcept {
            const std::unique_ptr<started> ended(static_cast<started*>(state));
            own_requests().remove(ended->handle);
            if (ended->freed) ended->freed(ended->handle);
            return MPI_SUCCESS;
        }
        static int cancel(void*, int) noexcept { return MPI_SUCCESS; }
    };

    class mpi_call final : public guided_call {
    public:
        mpi_call(state& on, const engine::call_facts& c, const std::function<int()>& native)
            : on_(on), facts_(c), native_(native) {}

        time_ns now() override { return on_.ours_.clock().now(); }
        engine::intent intent_of(const directive& how) override {
            return on_.inner_.intent_of(selection_of(how), facts_);
        }
        bool is_wrong() const override { return facts_.wrong != nullptr; }
        engine::roll_call::verdict call_roll(const directive::roll& by, const engine::roll_call::order& in_any_case,
                                             bool refused) override {
            return on_.inner_.call_roll(facts_, by.keeper, by.patience, in_any_case, refused);
        }
        int run(const engine::intent& what) override {
            try {
                on_.inner_.run(what, facts_);
                return MPI_SUCCESS;
            } catch (const mpi::truncated& e) {
                too_long_ = true;
                return e.code();
            }
        }
        int native() override {
            is_native_ = true;
            const int code = native_();
            is_native_ = false;
            return code;
        }
        bool is_native() const { return is_native_; }
        void pass() override { on_.inner_.pass(); }
        /// A message for a plan: nobody has called the error handler yet.
        bool was_too_long() const { return too_long_; }

    private:
        state& on_;
        const engine::call_facts& facts_;
        const std::function<int()>& native_;
        bool too_long_ = false;
        bool is_native_ = false;  // the MPI library makes the call now
    };

    settings how_;
    MPI_Comm user_;
    mpi::communicator ours_;
    engine::inner_communicator inner_{ours_};
    std::optional<model> network_{};
    std::optional<mpi_board> board_{};  // for mode auto
    std::unique_ptr<guide> guide_{};
    const director* director_ = nullptr;  // the guide, in mode auto
    bool has_thread_ = false;             // on all ranks
    bool has_clear_neighbours_ = ours_.neighbours() && engine::libraries_agree(*ours_.neighbours());
    bool works_ahead_ = false;  // a plan that the background thread works for may be in use
    int exceptions_ = std::uncaught_exceptions();
};

autopilot::autopilot(MPI_Comm user, const settings& how, explainer explain)
    : state_(std::make_unique<state>(user, how, std::move(explain))) {}
autopilot::~autopilot() = default;

int autopilot::run(const engine::call_facts& c, std::uint64_t meetings, const std::function<int()>& native) {
    return state_->run(c, meetings, native);
}
int autopilot::start(std::shared_ptr<const engine::call_facts> c, MPI_Request* request,
                     const std::function<int()>& native, std::function<void(MPI_Request)> freed) {
    return state_->start(std::move(c), request, native, std::move(freed));
}
std::vector<experience> autopilot::learned() const { return state_->learned(); }
bool autopilot::end() { return state_->end(); }

}  // namespace rubato::dropin
