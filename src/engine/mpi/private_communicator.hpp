// A communicator of our own beside the user's, its properties, and what is agreed on over it.
//
// Made by MPI_Comm_create, which copies no attributes. Tags come from the library's real upper bound: number of the
// operation, a signature of the plan (the number of parts), number of the message. So a rank whose call has another
// size does not take messages of one plan for those of another; one that has waited for a second probes for messages
// with other signatures, and throws if it finds one.
#pragma once

#include "engine/mpi/datatype.hpp"
#include "rubato/clock.hpp"
#include "rubato/problem.hpp"

#include <string>

namespace rubato::engine {

inline int tag_upper_bound() {
    void* value = nullptr;
    int found = 0;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found), "MPI_Comm_get_attr");
    return found ? *static_cast<int*>(value) : 32767;
}

/// A communicator of the same ranks, without the user's attributes.
class private_communicator {
public:
    explicit private_communicator(MPI_Comm user) {
        int inter = 0;
        check(MPI_Comm_test_inter(user, &inter), "MPI_Comm_test_inter");
        if (inter != 0)
            throw error("an inter-communicator", "rubato's collectives work within one group",
                        "call MPI's own collectives on it");
        MPI_Group group = MPI_GROUP_NULL;
        check(MPI_Comm_group(user, &group), "MPI_Comm_group");
        const int code = MPI_Comm_create(user, group, &comm_);
        MPI_Group_free(&group);
        check(code, "MPI_Comm_create");
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    ~private_communicator() {
        int finalized = 0;
        if (!abandoned_ && MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) MPI_Comm_free(&comm_);
    }
    /// Leaves it to MPI_Finalize: other ranks may never free it, and messages may be under way on it.
    void abandon() { abandoned_ = true; }
    private_communicator(const private_communicator&) = delete;
    private_communicator& operator=(const private_communicator&) = delete;

    MPI_Comm get() const { return comm_; }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    bool abandoned_ = false;
};

inline int rank_in(MPI_Comm comm) {
    int r = 0;
    check(MPI_Comm_rank(comm, &r), "MPI_Comm_rank");
    return r;
}

inline int size_of(MPI_Comm comm) {
    int n = 0;
    check(MPI_Comm_size(comm, &n), "MPI_Comm_size");
    return n;
}

/// The host of each rank, as problem::hosts has it. Collective.
inline std::vector<std::int32_t> hosts_of(MPI_Comm comm) {
    const int me = rank_in(comm);
    MPI_Comm mine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &mine), "MPI_Comm_split_type");
    int lowest = me;
    const int code = PMPI_Bcast(&lowest, 1, MPI_INT, 0, mine);
    MPI_Comm_free(&mine);
    check(code, "MPI_Bcast");
    std::vector<int> all(static_cast<std::size_t>(size_of(comm)));
    check(PMPI_Allgather(&lowest, 1, MPI_INT, all.data(), 1, MPI_INT, comm), "MPI_Allgather");
    return numbered_hosts(all);
}

/// Collective over `comm`, which must be ours: that rank's text. By PMPI, so that other tools do not see it.
inline std::string broadcast(MPI_Comm comm, std::string text, int from = 0) {
    auto length = static_cast<std::int64_t>(text.size());
    check(PMPI_Bcast(&length, 1, MPI_INT64_T, from, comm), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(length));
    check(PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, from, comm), "MPI_Bcast");
    return text;
}

/// Synchronises the clocks of all ranks of `comm`, which must be ours: collective, with `tag` used for nothing else
/// meanwhile. The first time takes some 40 round trips per step of the tree, later ones some 10.
void synchronise(MPI_Comm comm, int tag, common_clock& clock, const sync_settings& settings = {});

}  // namespace rubato::engine
