#include "preload/communicator_state.hpp"

#include "core/wire.hpp"
#include "mpi/datatype.hpp"
#include "preload/lasting.hpp"
#include "preload/session.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

namespace rubato::preload {
namespace {

using mpi::check;

struct all_states {
    std::mutex mutex{};
    std::set<communicator_state*> states{};
};
all_states& all() {
    static lasting<all_states> a;
    return a.value;
}

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

std::unique_ptr<communicator_state> inspect(session& now, MPI_Comm comm) {
    auto state = std::make_unique<communicator_state>();
    int inter = 0;
    check(PMPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
    check(PMPI_Comm_rank(comm, &state->rank), "MPI_Comm_rank");
    check(PMPI_Comm_size(comm, &state->size), "MPI_Comm_size");
    state->inter = inter != 0;
    state->peers = state->size;
    if (state->inter) check(PMPI_Comm_remote_size(comm, &state->peers), "MPI_Comm_remote_size");
    if (now.records()) state->channel = &now.records()->open(members_of(comm, state->size));
    if (!now.forces()) state->wait = 1;  // many communicators are used only once
    return state;
}

/// MPI calls this when the attribute is deleted or the communicator freed.
int state_deleted(MPI_Comm, int, void* value, void*) noexcept {
    freed.fetch_add(1, std::memory_order_release);
    delete static_cast<communicator_state*>(value);
    return MPI_SUCCESS;
}

communicator_state* attribute_of(session& now, MPI_Comm comm) {
    void* value = nullptr;
    int found = 0;
    check(PMPI_Comm_get_attr(comm, now.keyval(), &value, &found), "MPI_Comm_get_attr");
    return found != 0 ? static_cast<communicator_state*>(value) : nullptr;
}

/// If all ranks can afford a pilot, a number that no other communicator has: the world rank of its rank 0, and how many
/// communicators that rank has numbered.
std::optional<std::uint64_t> agree_on_pilot(session& now, MPI_Comm comm, bool numbers) {
    struct {
        std::uint64_t number;
        std::uint64_t refused;
    } said{0, now.affords_pilot() ? 0U : 1U};
    if (numbers) said.number = (static_cast<std::uint64_t>(now.rank()) << 32) + now.next_number();
    check(PMPI_Allreduce(MPI_IN_PLACE, &said, numbers_in(said), MPI_UINT64_T, MPI_MAX, comm), "MPI_Allreduce");
    if (said.refused != 0) return std::nullopt;
    return said.number;
}

}  // namespace

communicator_state::communicator_state() {
    const std::lock_guard lock(all().mutex);
    all().states.insert(this);
}

communicator_state::~communicator_state() {
    {
        const std::lock_guard lock(all().mutex);
        all().states.erase(this);
    }
    if (channel != nullptr) channel->close();
}

int make_keyval() {
    int keyval = MPI_KEYVAL_INVALID;
    check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, state_deleted, &keyval, nullptr), "MPI_Comm_create_keyval");
    return keyval;
}

communicator_state* find_or_make(session& now, MPI_Comm comm) noexcept {
    if (comm == MPI_COMM_NULL) return nullptr;
    try {
        const std::uint64_t before = freed.load(std::memory_order_acquire);
        communicator_state* state = attribute_of(now, comm);
        if (state == nullptr) {
            auto made = inspect(now, comm);
            check(PMPI_Comm_set_attr(comm, now.keyval(), made.get()), "MPI_Comm_set_attr");
            state = made.release();
        }
        last = {comm, state, before};
        return state;
    } catch (const mpi::mpi_error&) {
        return nullptr;  // not a valid communicator: the native call reports it
    } catch (const std::exception&) {
        now.record_no_more();
        return nullptr;
    }
}

bool has_pilot(session& now, MPI_Comm comm, communicator_state& state) noexcept {
    if (state.pilot) return true;
    if (state.wait > 0) {
        --state.wait;
        return false;
    }
    try {
        const auto number = agree_on_pilot(now, comm, state.rank == 0);
        if (!number) {
            state.wait = state.waited = 2 * state.waited + 8;
            return false;
        }
        state.number = *number;
        const time_ns begin = own_time();
        state.pilot =
            std::make_unique<autopilot>(comm, now.pilots(), [&now, first = state.rank == 0](const decision& d) {
                if (first) now.explain(d);  // one rank, as all decide the same
            });
        now.count_pilot(own_time() - begin);
    } catch (const mpi::mpi_error& e) {
        give_up(comm, e);
    } catch (const error& e) {  // thrown on all ranks
        state.wait = std::numeric_limits<std::uint64_t>::max();
        now.warn(e.what());
    } catch (const std::exception& e) {
        give_up(comm, e);
    }
    return state.pilot != nullptr;
}

void forget(session& now, MPI_Comm comm) noexcept {
    if (comm == MPI_COMM_NULL) return;
    try {
        communicator_state* const state = attribute_of(now, comm);
        if (state == nullptr) return;
        if (state->pilot) {
            state->pilot.reset();
            now.forget_pilot();
        }
        check(PMPI_Comm_delete_attr(comm, now.keyval()), "MPI_Comm_delete_attr");
    } catch (const std::exception& e) {
        now.warn(e.what());
    }
}

namespace {

/// Threads may have made pilots in any order, so ranks end them by the numbers that they agreed on.
communicator_state* first_with_pilot() noexcept {
    const std::lock_guard lock(all().mutex);
    communicator_state* first = nullptr;
    for (communicator_state* const s : all().states)
        if (s->pilot && (first == nullptr || s->number < first->number)) first = s;
    return first;
}

}  // namespace

void end_pilots() noexcept {
    while (communicator_state* const state = first_with_pilot()) state->pilot.reset();
}

}  // namespace rubato::preload
