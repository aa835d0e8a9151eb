// The program's communicators. What is kept of each is an attribute of it; a thread's last one is found without asking
// MPI.
#pragma once

#include "preload/communicator_state.hpp"
#include "preload/fleet.hpp"
#include "preload/journal.hpp"
#include "preload/remembered_runs.hpp"

namespace rubato::preload {

/// The communicator of a thread's last call.
struct last_communicator {
    MPI_Comm comm{};
    communicator_state* state = nullptr;
    std::uint64_t freed = ~std::uint64_t{0};
};

class communicator_table {
public:
    /// Must live as long as MPI: the attributes refer to it.
    communicator_table(journal& notes, fleet& pilots, remembered_runs& runs);
    communicator_table(const communicator_table&) = delete;
    communicator_table& operator=(const communicator_table&) = delete;

    /// Made if it is new. Null for what is no communicator, and in mode observe also if something goes wrong. In other
    /// modes that ends the program: ranks decide alike only if all of them have it.
    communicator_state* find(MPI_Comm comm) noexcept {
        if (last.comm == comm && last.freed == freed.load(std::memory_order_acquire)) return last.state;
        return find_or_make(comm);
    }
    /// How many communicators this process has freed.
    static std::uint64_t frees() { return freed.load(std::memory_order_acquire); }
    /// For a new communicator; collective.
    void prepare(MPI_Comm comm) noexcept {
        pilots_.end_retired();
        communicator_state* const state = find(comm);
        if (state != nullptr && !state->left_alone && pilots_.makes_pilots_early())
            (void)make_pilot(comm, *state, {}, {});
    }
    /// Makes its autopilot, for this call, to which this rank came at `came`; false if it gets none, for now or for
    /// good. Collective.
    bool make_pilot(MPI_Comm comm, communicator_state& state, const mpi::call_facts& c, time_ns came) noexcept;
    /// An autopilot for one persistent request, until the result is destroyed; null if there are too many. Collective.
    std::shared_ptr<autopilot> borrow_pilot(MPI_Comm comm, communicator_state& state) noexcept;

private:
    /// MPI calls this when the communicator is freed.
    static int state_deleted(MPI_Comm comm, int keyval, void* value, void* table) noexcept;
    communicator_state* find_or_make(MPI_Comm comm) noexcept;
    communicator_state* attribute_of(MPI_Comm comm) const;
    std::unique_ptr<communicator_state> inspect(MPI_Comm comm);
    bool agree_on_pilot(MPI_Comm comm, const communicator_state& state, communicator_state::waiting& calls,
                        std::int64_t bytes, time_ns gain);
    struct pilot_settings {
        autopilot::settings how{};
        std::optional<profiles::group> group{};  ///< by which the pilot is remembered
    };
    pilot_settings settings_for(MPI_Comm comm, const communicator_state& state) const;
    static std::uint64_t unused_pilots(MPI_Comm comm, const communicator_state& state);
    fleet_pilot& new_pilot(MPI_Comm comm, const communicator_state& state, const pilot_settings& by);

    inline static constinit std::atomic<std::uint64_t> freed{0};  // so many: their handles may come again
    inline static constinit thread_local last_communicator last{};

    journal& notes_;
    fleet& pilots_;
    remembered_runs& runs_;
    int keyval_ = MPI_KEYVAL_INVALID;
};

}  // namespace rubato::preload
