#include "dropin/preload/communicator_table.hpp"

#include "base/core/wire.hpp"
#include "engine/mpi/datatype.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rubato::dropin {
namespace {

using engine::check;

/// The ranks in the world, by rank in the communicator; those of other worlds are left out.
std::vector<std::int32_t> members_of(MPI_Comm comm, int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int> members(ranks.size());
    MPI_Group mine = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    engine::check(PMPI_Comm_group(comm, &mine), "MPI_Comm_group");
    engine::check(PMPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    const int code = PMPI_Group_translate_ranks(mine, size, ranks.data(), world, members.data());
    PMPI_Group_free(&mine);
    PMPI_Group_free(&world);
    engine::check(code, "MPI_Group_translate_ranks");
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

communicator_table::communicator_table(journal& notes, autopilots& pilots, remembered_runs& runs)
    : notes_(notes), pilots_(pilots), runs_(runs) {
    engine::check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, state_deleted, &keyval_, this),
                  "MPI_Comm_create_keyval");
}

/// Freeing a communicator is local: programs free it on one rank while another waits for that rank elsewhere.
int communicator_table::state_deleted(MPI_Comm, int, void* value, void* table) noexcept {
    freed.fetch_add(1, std::memory_order_release);
    const std::unique_ptr<communicator_state> state(static_cast<communicator_state*>(value));
    autopilots& pilots = static_cast<communicator_table*>(table)->pilots_;
    if (state->pilot != nullptr) pilots.retire(*state->pilot);
    for (process_pilot* const each : state->spare_pilots) pilots.retire(*each);
    return MPI_SUCCESS;
}

std::unique_ptr<communicator_state> communicator_table::inspect(MPI_Comm comm) {
    auto state = std::make_unique<communicator_state>();
    int inter = 0;
    engine::check(PMPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
    engine::check(PMPI_Comm_rank(comm, &state->rank), "MPI_Comm_rank");
    engine::check(PMPI_Comm_size(comm, &state->size), "MPI_Comm_size");
    state->inter = inter != 0;
    state->peers = state->size;
    if (state->inter)
        engine::check(PMPI_Comm_remote_size(comm, &state->peers), "MPI_Comm_remote_size");
    else
        state->neighbours = engine::degrees_of(comm);
    const std::vector<std::int32_t> members = members_of(comm, state->size);
    // Where a rank of another world takes part, every rank sees one.
    const bool of_this_world = std::cmp_equal(members.size(), state->size);
    state->left_alone = state->inter || state->size < 2 || !of_this_world;
    if (of_this_world) {
        const auto host = [&](std::int32_t m) { return pilots_.how().hosts[static_cast<std::size_t>(m)]; };
        state->whole_world = members.size() == pilots_.how().hosts.size();
        state->apart = std::ranges::any_of(members, [&](std::int32_t m) { return host(m) != host(members.front()); });
    }
    if (recorder* const to = notes_.recorder_of_new()) state->channel = &to->open(members);
    return state;
}

communicator_state* communicator_table::find_or_make(MPI_Comm comm) noexcept {
    if (comm == MPI_COMM_NULL) return nullptr;
    try {
        const std::uint64_t before = freed.load(std::memory_order_acquire);
        void* value = nullptr;
        int found = 0;
        engine::check(PMPI_Comm_get_attr(comm, keyval_, &value, &found), "MPI_Comm_get_attr");
        auto* state = static_cast<communicator_state*>(value);
        if (found == 0) {
            auto made = inspect(comm);
            engine::check(PMPI_Comm_set_attr(comm, keyval_, made.get()), "MPI_Comm_set_attr");
            state = made.release();
        }
        last = {comm, state, before};
        return state;
    } catch (const std::exception& e) {
        const auto* const of_mpi = dynamic_cast<const mpi::mpi_error*>(&e);
        if (of_mpi != nullptr && engine::blames_argument(of_mpi->code())) return nullptr;  // the native call reports it
        if (pilots_.directs()) give_up(comm, e);  // the other ranks would not wait for this one's native call
        notes_.record_nothing_new();
        return nullptr;
    }
}

/// Whether all ranks are for an autopilot, and one has so large a buffer.
bool communicator_table::agree_on_pilot(MPI_Comm comm, const communicator_state& state,
                                        communicator_state::waiting& calls, std::int64_t bytes, time_ns gain) {
    pilots_.end_retired();
    const std::uint64_t wait =
        pilots_.calls_to_wait(calls.calls, gain, state.apart ? std::nullopt : std::optional(state.in_calls));
    struct {
        std::uint64_t full;
        std::uint64_t wait;
        std::uint64_t haste;
        std::uint64_t bytes;
    } said{pilots_.full() ? 1U : 0U, wait, autopilots::longest_wait - wait, static_cast<std::uint64_t>(bytes)};
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, &said, base::numbers_in(said), MPI_UINT64_T, MPI_MAX, comm),
                  "MPI_Allreduce");
    // On one host it is the rank that has waited longest who decides: a late one spends little time in calls.
    calls.wait = state.apart ? said.wait : autopilots::longest_wait - said.haste;
    if (said.full != 0) calls.wait = autopilots::longest_wait;
    // To ask is rare where all calls are small.
    if (said.bytes < autopilot::smallest) calls.wait = std::min(calls.calls, autopilots::longest_wait);
    return calls.wait == 0;
}

/// With what is known of its members: their hosts, and what is remembered of them.
communicator_table::pilot_settings communicator_table::settings_for(MPI_Comm comm,
                                                                    const communicator_state& state) const {
    pilot_settings by{pilots_.how(), {}};
    const std::vector<std::int32_t> in_world = std::exchange(by.how.hosts, {});
    const std::vector<std::int32_t> members = members_of(comm, state.size);
    std::vector<int> hosts;
    hosts.reserve(members.size());
    for (const std::int32_t m : members) hosts.push_back(in_world[static_cast<std::size_t>(m)]);
    by.how.hosts = numbered_hosts(hosts);
    if (!runs_.active()) return by;
    by.group = group_of(members);
    by.how.remembered = runs_.of(*by.group);
    return by;
}

/// One rank explains, and keeps, what all find alike.
process_pilot& communicator_table::new_pilot(MPI_Comm comm, const communicator_state& state, const pilot_settings& by) {
    const bool first = state.rank == 0;
    process_pilot::keeper keep;
    if (first && by.group)
        keep = [this, group = *by.group](std::vector<experience> learned) { runs_.keep(group, std::move(learned)); };
    return pilots_.make(
        comm, by.how,
        [this, first](const decision& d) {
            if (first) notes_.explain(d);
        },
        std::move(keep));
}

bool communicator_table::make_pilot(MPI_Comm comm, communicator_state& state, const engine::call_facts& c,
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
        pilot_settings by = settings_for(comm, state);
        if (!agree_on_pilot(comm, state, calls, sized ? autopilot::smallest : state.largest_buffer,
                            remembered_gain(by.how.remembered)))
            return false;
        by.how.in_calls = state.in_calls;
        by.how.seen = state.seen;
        by.how.came = came;
        state.pilot = &new_pilot(comm, state, by);
        if (state.rank == 0)
            for (const experience& e : by.how.remembered) notes_.recall({state.size, e});
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

std::shared_ptr<autopilot> communicator_table::borrow_pilot(MPI_Comm comm, communicator_state& state) noexcept {
    try {
        auto& spare = state.spare_pilots;
        // A bit for each of them, set if all ranks have freed the request that it was for.
        std::uint64_t unused = 0;
        for (std::size_t i = 0; i < spare.size(); ++i) unused |= std::uint64_t{!spare[i]->in_use} << i;
        engine::check(PMPI_Allreduce(MPI_IN_PLACE, &unused, 1, MPI_UINT64_T, MPI_BAND, comm), "MPI_Allreduce");
        if (unused == 0) {
            if (spare.size() == std::numeric_limits<std::uint64_t>::digits) return nullptr;
            communicator_state::waiting call{};
            if (!agree_on_pilot(comm, state, call, autopilot::smallest, {})) return nullptr;
            unused = std::uint64_t{1} << spare.size();
            spare.push_back(&new_pilot(comm, state, {settings_for(comm, state).how, {}}));
        }
        process_pilot* const one = spare[static_cast<std::size_t>(std::countr_zero(unused))];
        one->in_use = true;
        return {&*one->pilot, [this, one](autopilot*) { pilots_.give_back(*one); }};
    } catch (const std::exception& e) {
        give_up(comm, e);
    }
}

}  // namespace rubato::dropin
