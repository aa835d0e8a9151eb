// What all ranks of a communicator have lost together: sums that nobody waits for when they begin.
#pragma once

#include "core/wire.hpp"
#include "engine/loss_watch.hpp"
#include "mpi/datatype.hpp"
#include "mpi/process.hpp"

#include <memory>

namespace rubato::mpi {

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
    /// After an error the sum may never end, and MPI may use its memory until the process ends.
    ~loss_sum() override {
        if (now_->request != MPI_REQUEST_NULL) (void)now_.release();
    }
    loss_sum(const loss_sum&) = delete;
    loss_sum& operator=(const loss_sum&) = delete;

    void begin(const loss_watch::tally& mine) override {
        now_->mine = mine;
        check(PMPI_Iallreduce(&now_->mine, &now_->all, numbers_in(mine), MPI_INT64_T, MPI_SUM, comm_, &now_->request),
              "MPI_Iallreduce");
    }
    loss_watch::tally end() override {
        wait_for(now_->request);
        return now_->all;
    }

private:
    struct under_way {
        loss_watch::tally mine{}, all{};
        MPI_Request request = MPI_REQUEST_NULL;
    };
    MPI_Comm comm_;
    std::unique_ptr<under_way> now_ = std::make_unique<under_way>();
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
