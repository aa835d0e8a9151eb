// What 'rubato bench --overlap' does: how much of a collective can be hidden behind computation, and how much processor
// time that takes. Each contestant is called in four ways: blocking; blocking in a second thread beside a computation;
// non-blocking; and non-blocking beside a computation with some tests in between. Rubato's are also started with its
// background thread at work. The computation takes as long as the blocking call.
#pragma once

#include "command/experiments/campaign.hpp"
#include "command/experiments/workload.hpp"

namespace rubato::command {

class overlap_campaign : public case_runner {
public:
    /// As for case_runner. `tests`: numbers of tests during the computation, all of which are measured.
    overlap_campaign(campaign_settings how, const workload& work, std::vector<std::int32_t> tests, timed_calls& calls,
                     reports::recorder* write, std::vector<reports::measured_case> done);

private:
    enum class way { blocking, thread, nonblocking, background, computation };
    struct entry {
        const contestant* who;
        way how;
        std::int32_t tests = 0;
        std::int64_t units = 0;  // of computation
    };
    struct spent;
    struct request;

    bool has_background(const contestant& c) const { return watched_ && c.use != nullptr && !c.use->early; }
    void run_case(const contest& c, const reports::measured_case& what) override;
    std::vector<entry> entries_of(const contestant& c, experiment& data);
    std::vector<reports::overlap> repeat(const std::vector<entry>& all, experiment& data);
    reports::overlap measure(const entry& e, experiment& data);
    std::optional<reports::overlap> attempt(const entry& e, experiment& data);
    spent run_beside(const request& r, const entry& e) const;
    reports::overlap over_ranks(const entry& e, const spent& mine) const;

    workload work_;
    std::vector<std::int32_t> tests_;
    bool threads_ = false;                        // MPI allows several threads to call it
    mpi::communicator ours_;                      // without a background thread
    std::optional<mpi::communicator> watched_{};  // with one
    second_thread other_{};
    std::uint64_t number_ = 0;  // of the call, and in its data
};

}  // namespace rubato::command
