// What all ranks of a communicator have lost together: sums that nobody waits for when they begin.
#pragma once

#include "core/wire.hpp"
#include "engine/loss_watch.hpp"
#include "mpi/datatype.hpp"
#include "mpi/process.hpp"

#include <thread>

namespace rubato::mpi {

/// For who waits.
inline void let_others_go_on() {
    (void)under_way_here().help(nullptr, false);  // another rank may wait for what was started before,
    std::this_thread::yield();                    // and one that this rank waits for may need this core
}

inline void wait_for(MPI_Request& request) {
    for (int done = 0;;) {
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) return;
        let_others_go_on();
    }
}

class loss_sum final : public loss_watch::sum {
public:
    /// On `comm`, which must be ours, and on which all ranks begin sums in the same order.
    explicit loss_sum(MPI_Comm comm) : comm_(comm) {}

    void begin(const loss_watch::tally& mine) override {
        mine_ = mine;
        check(PMPI_Iallreduce(&mine_, &all_, numbers_in(mine_), MPI_INT64_T, MPI_SUM, comm_, &request_),
              "MPI_Iallreduce");
    }
    loss_watch::tally end() override {
        wait_for(request_);
        return all_;
    }

private:
    MPI_Comm comm_;
    loss_watch::tally mine_{};
    loss_watch::tally all_{};
    MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Calls with messages of one kind.
struct sized_calls {
    sized_calls(double most_lost, MPI_Comm comm) : watch(most_lost), sum(comm) {}

    bool casts() { return watch.casts(sum); }
    void finish() { watch.finish(sum); }

    loss_watch watch;
    loss_sum sum;
};

}  // namespace rubato::mpi
