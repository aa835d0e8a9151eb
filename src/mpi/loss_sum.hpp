// What all ranks of a communicator have lost together: sums that nobody waits for when they begin.
#pragma once

#include "core/wire.hpp"
#include "engine/loss_watch.hpp"
#include "mpi/datatype.hpp"
#include "rubato/mpi.hpp"

#include <thread>

namespace rubato::mpi {

/// While it waits, other calls of the communicator go on.
inline void wait_for(MPI_Request& request, communicator& on) {
    for (int done = 0;;) {
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) return;
        on.progress();
        std::this_thread::yield();
    }
}

class loss_sum final : public loss_watch::sum {
public:
    /// On `comm`, which must be ours, and on which all ranks begin sums in the same order.
    loss_sum(MPI_Comm comm, communicator& on) : comm_(comm), on_(on) {}

    void begin(const loss_watch::tally& mine) override {
        mine_ = mine;
        check(PMPI_Iallreduce(&mine_, &all_, numbers_in(mine_), MPI_INT64_T, MPI_SUM, comm_, &request_),
              "MPI_Iallreduce");
    }
    loss_watch::tally end() override {
        wait_for(request_, on_);
        return all_;
    }

private:
    MPI_Comm comm_;
    communicator& on_;
    loss_watch::tally mine_{};
    loss_watch::tally all_{};
    MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Calls with messages of one kind.
struct sized_calls {
    sized_calls(double most_lost, MPI_Comm comm, communicator& on) : watch(most_lost), sum(comm, on) {}

    bool casts() { return watch.casts(sum); }
    void finish() { watch.finish(sum); }

    loss_watch watch;
    loss_sum sum;
};

}  // namespace rubato::mpi
