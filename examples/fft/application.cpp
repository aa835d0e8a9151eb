#include "application.hpp"

#include "rubato/clock.hpp"
#include "rubato/pat.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>
#include <thread>

namespace fft {
namespace {

std::size_t size_of(MPI_Comm comm) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    return static_cast<std::size_t>(ranks);
}

}  // namespace

void check(int code, const char* call) {
    if (code != MPI_SUCCESS)
        throw rubato::error(fmt::format("{} failed", call), fmt::format("MPI's error code is {}", code),
                            "see the message above");
}

application::application(std::size_t numbers, int threads, std::uint32_t seed, MPI_Comm comm)
    : comm_(comm),
      mine_(numbers / size_of(comm), threads),
      chunk_(numbers / size_of(comm)),
      transformed_(chunk_.size()) {
    int me = 0;
    MPI_Comm_rank(comm, &me);
    if (me != 0) return;
    over_ranks_.emplace(numbers, size_of(comm), threads);
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-1, 1);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        for (std::size_t k = 0; k < numbers; ++k) {
            const float real = value(random);
            inputs_[i].emplace_back(real, value(random));
        }
        wanted_[i] = reference(inputs_[i]);
    }
    for (signal* s : {&cut_, &gathered_, &result_}) s->resize(numbers);
}

void application::use(const std::string& scatter, const std::string& gather) {
    native_scatter_ = scatter == native;
    native_gather_ = gather == native;
    if (!native_scatter_) check(PAT_UseAlg(scatter.c_str()), "PAT_UseAlg");
    if (!native_gather_) check(PAT_UseAlg(gather.c_str()), "PAT_UseAlg");
    // The gather is the first collective after each computation, so it may begin before. The promise made for the
    // previous algorithm no longer holds.
    check(PAT_Repeat(1), "PAT_Repeat");
}

visit application::iterate(rubato::time_ns delay) {
    turn_ = 1 - turn_;
    if (over_ranks_) over_ranks_->split(inputs_[turn_], cut_);
    const int floats = static_cast<int>(2 * chunk_.size());
    check((native_scatter_ ? MPI_Scatter : PAT_Scatter)(cut_.data(), floats, MPI_FLOAT, chunk_.data(), floats,
                                                        MPI_FLOAT, 0, comm_),
          "scatter");

    // The MPI library's own gather is measured as programs use it: without the calls that tell Rubato of progress.
    const bool tell = !native_gather_;
    if (tell) check(PAT_ProcessingStart(), "PAT_ProcessingStart");
    std::this_thread::sleep_for(delay / 2);
    mine_.first_half(chunk_);
    if (tell) check(PAT_Edge(0.5), "PAT_Edge");
    std::this_thread::sleep_for(delay / 2);
    mine_.second_half(transformed_);
    if (tell) check(PAT_ProcessingEnd(), "PAT_ProcessingEnd");

    visit v;
    v.arrival = rubato::own_time();
    check((native_gather_ ? MPI_Gather : PAT_Gather)(transformed_.data(), floats, MPI_FLOAT, gathered_.data(), floats,
                                                     MPI_FLOAT, 0, comm_),
          "gather");
    v.exit = rubato::own_time();
    if (over_ranks_) over_ranks_->join(gathered_, result_);
    return v;
}

void application::forget() {
    for (signal* s : {&chunk_, &transformed_, &gathered_, &result_})
        std::ranges::fill(*s, complex(std::numeric_limits<float>::quiet_NaN()));
}

double application::error() const { return relative_error(result_, wanted_[turn_]); }

}  // namespace fft
