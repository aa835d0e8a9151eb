#include "preload/communicator_table.hpp"

#include "core/wire.hpp"
#include "mpi/datatype.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rubato::preload {
namespace {

using mpi::check;

class group {
public:
    using maker = int (*)(MPI_Comm, MPI_Group*);
    group(maker make, MPI_Comm comm) { check(make(comm, &group_), "MPI_Comm_group"); }
    ~group() { PMPI_Group_free(&group_); }
    group(const group&) = delete;
    group& operator=(const group&) = delete;
    MPI_Group get() const { return group_; }

private:
    MPI_Group group_ = MPI_GROUP_NULL;
};

/// The ranks in the world, by rank in the communicator; those of other worlds are left out.
std::vector<std::int32_t> members_of(MPI_Comm comm, int size) {
    const group mine(PMPI_Comm_group, comm);
    const group world(PMPI_Comm_group, MPI_COMM_WORLD);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int> members(ranks.size());
    check(PMPI_Group_translate_ranks(mine.get(), size, ranks.data(), world.get(), members.data()),
          "MPI_Group_translate_ranks");
    std::erase(members, MPI_UNDEFINED);
    return {members.begin(), members.end()};
}

/// What a plan has won in a call, at most.
time_ns remembered_gain(std::span<const experience> all) {
    time_ns most{};
    for (const experience& e : all)
        if (!e.algorithm.empty()) most = std::max(most, e.of_native.tail - e.of_plan.tail);
    return most;
}

}  // namespace

communicator_table::communicator_table(journal& notes, fleet& pilots, remembered_runs& runs)
    : notes_(notes), pilots_(pilots), runs_(runs) {
    check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, state_deleted, &keyval_, this), "MPI_Comm_create_keyval");
}

int communicator_table::state_deleted(MPI_Comm, int, void* value, void* table) noexcept {
    freed.fetch_add(1, std::memory_order_release);
    const std::unique_ptr<communicator_state> state(static_cast<communicator_state*>(value));
    auto& in = *static_cast<communicator_table*>(table);
    const std::lock_guard lock(in.mutex_);
    in.states_.erase(state.get());
    return MPI_SUCCESS;
}

std::unique_ptr<communicator_state> communicator_table::inspect(MPI_Comm comm) {
    auto state = std::make_unique<communicator_state>();
    int inter = 0;
    check(PMPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
    check(PMPI_Comm_rank(comm, &state->rank), "MPI_Comm_rank");
    check(PMPI_Comm_size(comm, &state->size), "MPI_Comm_size");
    state->inter = inter != 0;
    state->peers = state->size;
    if (state->inter)
        check(PMPI_Comm_remote_size(comm, &state->peers), "MPI_Comm_remote_size");
    else
        state->neighbours = mpi::degrees_of(comm);
    const std::vector<std::int32_t> members = members_of(comm, state->size);
    // Where a rank of another world takes part, every rank sees one.
    if (std::cmp_equal(members.size(), state->size)) {
        const auto host = [&](std::int32_t m) { return pilots_.how().hosts[static_cast<std::size_t>(m)]; };
        state->apart = std::ranges::any_of(members, [&](std::int32_t m) { return host(m) != host(members.front()); });
    }
    if (observe::recorder* const to = notes_.recorder_of_new()) state->channel = &to->open(members);
    return state;
}

communicator_state* communicator_table::attribute_of(MPI_Comm comm) const {
    void* value = nullptr;
    int found = 0;
    check(PMPI_Comm_get_attr(comm, keyval_, &value, &found), "MPI_Comm_get_attr");
    return found != 0 ? static_cast<communicator_state*>(value) : nullptr;
}

communicator_state* communicator_table::find_or_make(MPI_Comm comm) noexcept {
    if (comm == MPI_COMM_NULL) return nullptr;
    try {
        const std::uint64_t before = freed.load(std::memory_order_acquire);
        communicator_state* state = attribute_of(comm);
        if (state == nullptr) {
            auto made = inspect(comm);
            {
                const std::lock_guard lock(mutex_);
                states_.insert(made.get());
            }
            state = made.get();
            const int code = PMPI_Comm_set_attr(comm, keyval_, state);
            if (code != MPI_SUCCESS) {
                const std::lock_guard lock(mutex_);
                states_.erase(state);
            }
            check(code, "MPI_Comm_set_attr");
            (void)made.release();
        }
        last = {comm, state, before};
        return state;
    } catch (const mpi::mpi_error&) {
        return nullptr;  // not a valid communicator: the native call reports it
    } catch (const std::exception&) {
        notes_.record_nothing_new();
        return nullptr;
    }
}

/// A number that no other communicator has, if all ranks are for an autopilot and one has so large a buffer: rank 0's
/// count of those it has numbered, and who it is.
std::optional<std::uint64_t> communicator_table::agree_on_pilot(MPI_Comm comm, const communicator_state& state,
                                                                communicator_state::waiting& calls, std::int64_t bytes,
                                                                time_ns gain) {
    const std::uint64_t wait =
        pilots_.calls_to_wait(calls.calls, gain, state.apart ? std::nullopt : std::optional(state.in_calls));
    struct {
        std::uint64_t number;
        std::uint64_t full;
        std::uint64_t wait;
        std::uint64_t haste;
        std::uint64_t bytes;
    } said{0, pilots_.full() ? 1U : 0U, wait, fleet::longest_wait - wait, static_cast<std::uint64_t>(bytes)};
    if (state.rank == 0) {
        int in_world = 0;
        check(PMPI_Comm_rank(MPI_COMM_WORLD, &in_world), "MPI_Comm_rank");
        said.number = (static_cast<std::uint64_t>(in_world) << 32) + pilots_.next_number();
    }
    check(PMPI_Allreduce(MPI_IN_PLACE, &said, numbers_in(said), MPI_UINT64_T, MPI_MAX, comm), "MPI_Allreduce");
    // On one host it is the rank that has waited longest who decides: a late one spends little time in calls.
    calls.wait = state.apart ? said.wait : fleet::longest_wait - said.haste;
    if (said.full != 0) calls.wait = fleet::longest_wait;
    // To ask is rare where all calls are small.
    if (said.bytes < autopilot::smallest) calls.wait = std::min(calls.calls, fleet::longest_wait);
    if (calls.wait != 0) return std::nullopt;
    return said.number;
}

/// With what is known of its members: their hosts, and what is remembered of them. Of those of other worlds nothing is.
autopilot::settings communicator_table::settings_for(MPI_Comm comm, communicator_state& state) {
    autopilot::settings how = pilots_.how();
    const std::vector<std::int32_t> in_world = std::exchange(how.hosts, {});
    const std::vector<std::int32_t> members = members_of(comm, state.size);
    if (std::cmp_not_equal(members.size(), state.size)) {
        how.clock = {};  // other worlds have their own
        return how;
    }
    std::vector<int> hosts;
    hosts.reserve(members.size());
    for (const std::int32_t m : members) hosts.push_back(in_world[static_cast<std::size_t>(m)]);
    how.hosts = numbered_hosts(hosts);
    if (!runs_.active()) return how;
    state.group = profiles::group_of(members);
    how.remembered = runs_.of(*state.group);
    return how;
}

std::unique_ptr<autopilot> communicator_table::new_pilot(MPI_Comm comm, const communicator_state& state,
                                                         const autopilot::settings& how) {
    return std::make_unique<autopilot>(comm, how, [this, first = state.rank == 0](const decision& d) {
        if (first) notes_.explain(d);  // one of those who say the same
    });
}

bool communicator_table::make_pilot(MPI_Comm comm, communicator_state& state, const mpi::call_facts& c,
                                    time_ns came) noexcept {
    const bool sized = pilots_.forces() || c.traits().sizes_known_to_all();
    if (!sized) state.largest_buffer = std::max(state.largest_buffer, c.largest_buffer());
    communicator_state::waiting& calls = sized ? state.sized : state.unsized;
    ++calls.calls;
    if (calls.wait > 0) {
        --calls.wait;
        return false;
    }
    // On one host nothing is known before the first call has ended.
    if (calls.calls == 1 && !state.apart && !pilots_.forces()) return false;
    try {
        autopilot::settings how = settings_for(comm, state);
        const auto number = agree_on_pilot(comm, state, calls, sized ? autopilot::smallest : state.largest_buffer,
                                           remembered_gain(how.remembered));
        if (!number) return false;
        if (how.clock) {
            how.in_calls = state.in_calls;
            how.seen = state.seen;
            how.came = came;
        }
        const time_ns begin = own_time();  // now that all are here: waiting for late ranks costs nothing
        state.number = *number;
        state.pilot = new_pilot(comm, state, how);
        if (state.rank == 0)
            for (const experience& e : how.remembered) notes_.recall({state.size, e});
        pilots_.count(own_time() - begin);
    } catch (const mpi::mpi_error& e) {
        give_up(comm, e);
    } catch (const error& e) {  // thrown on all ranks
        state.sized.wait = state.unsized.wait = std::numeric_limits<std::uint64_t>::max();
        notes_.warn(e.what());
    } catch (const std::exception& e) {
        give_up(comm, e);
    }
    return state.pilot != nullptr;
}

/// A bit for each of the communicator's spare pilots, set if all ranks have freed the request that it was for.
/// Collective.
std::uint64_t communicator_table::unused_pilots(MPI_Comm comm, const communicator_state& state) {
    std::uint64_t unused = 0;
    for (std::size_t i = 0; i < state.spare_pilots.size(); ++i)
        unused |= std::uint64_t{!state.spare_pilots[i]->in_use} << i;
    check(PMPI_Allreduce(MPI_IN_PLACE, &unused, 1, MPI_UINT64_T, MPI_BAND, comm), "MPI_Allreduce");
    return unused;
}

std::shared_ptr<autopilot> communicator_table::borrow_pilot(MPI_Comm comm, communicator_state& state) noexcept {
    try {
        auto& spare = state.spare_pilots;
        std::uint64_t unused = unused_pilots(comm, state);
        if (unused == 0) {
            if (spare.size() == std::numeric_limits<std::uint64_t>::digits) return nullptr;
            communicator_state::waiting call{};
            const auto number = agree_on_pilot(comm, state, call, autopilot::smallest, {});
            if (!number) return nullptr;
            const time_ns begin = own_time();
            auto made = std::make_shared<spare_pilot>();
            made->pilot = new_pilot(comm, state, settings_for(comm, state));
            pilots_.count(own_time() - begin);
            unused = std::uint64_t{1} << spare.size();
            spare.push_back(made);
            const std::lock_guard lock(mutex_);
            spare_.emplace(*number, std::move(made));
        }
        const std::shared_ptr<spare_pilot>& one = spare[static_cast<std::size_t>(std::countr_zero(unused))];
        one->in_use = true;
        return {one->pilot.get(), [one](autopilot*) { one->in_use = false; }};
    } catch (const std::exception& e) {
        give_up(comm, e);
    }
}

/// Those of requests that are not freed stay until MPI_Finalize.
void communicator_table::end_unused_pilots(MPI_Comm comm, const communicator_state& state) {
    if (state.spare_pilots.empty()) return;
    const std::uint64_t unused = unused_pilots(comm, state);
    for (std::size_t i = 0; i < state.spare_pilots.size(); ++i) {
        if ((unused >> i & 1) == 0) continue;
        const std::shared_ptr<spare_pilot>& one = state.spare_pilots[i];
        one->pilot.reset();
        pilots_.forget_one();
        const std::lock_guard lock(mutex_);
        std::erase_if(spare_, [&](const auto& other) { return other.second == one; });
    }
}

void communicator_table::forget(MPI_Comm comm) noexcept {
    if (comm == MPI_COMM_NULL) return;
    try {
        communicator_state* const state = attribute_of(comm);
        if (state == nullptr) return;
        if (state->pilot) {
            end_unused_pilots(comm, *state);
            end_pilot(*state);
            pilots_.forget_one();
        }
        check(PMPI_Comm_delete_attr(comm, keyval_), "MPI_Comm_delete_attr");
    } catch (const std::exception& e) {
        notes_.warn(e.what());
    }
}

/// One rank keeps what all have learned alike.
void communicator_table::end_pilot(communicator_state& state) noexcept {
    const std::unique_ptr<autopilot> ending = std::move(state.pilot);
    if (state.rank != 0 || !state.group) return;
    try {
        runs_.keep(*state.group, ending->learned());
    } catch (const std::bad_alloc&) {
        // It is forgotten.
    }
}

/// Threads may have made autopilots in any order, so ranks end them by the numbers that they agreed on.
communicator_state* communicator_table::first_with_pilot() noexcept {
    const std::lock_guard lock(mutex_);
    communicator_state* first = nullptr;
    for (communicator_state* const s : states_)
        if (s->pilot && (first == nullptr || s->number < first->number)) first = s;
    return first;
}

void communicator_table::end_pilots() noexcept {
    for (;;) {
        communicator_state* const state = first_with_pilot();
        if (!spare_.empty() && (state == nullptr || spare_.begin()->first < state->number)) {
            spare_.begin()->second->pilot.reset();
            spare_.erase(spare_.begin());
        } else if (state != nullptr) {
            end_pilot(*state);
        } else {
            return;
        }
    }
}

}  // namespace rubato::preload
