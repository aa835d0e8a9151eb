#include "common/measure.hpp"

#include <chrono>

namespace applications {
namespace {

double run_once(application& what, collectives& how, const pace& computing) {
    what.reset();
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    what.run(how, computing);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    double most = took.count();
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/// The first rank with a fault tells it.
void check(application& what, form how) {
    const std::string fault = what.fault();
    const int me = rank_in(MPI_COMM_WORLD);
    int first = fault.empty() ? size_of(MPI_COMM_WORLD) : me;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first < size_of(MPI_COMM_WORLD)) throw wrong_result{how, first == me ? fault : ""};
}

}  // namespace

std::vector<outcome> measure(application& what, const plan& p) {
    const pace computing(p.step, rank_in(MPI_COMM_WORLD) == p.slow_rank ? p.slow_by : rubato::time_ns{});
    std::vector<collectives> ways;
    std::vector<outcome> all;
    for (const form how : p.forms) {
        ways.emplace_back(what.comm(), how, p.algorithm);
        all.push_back({how});
    }
    for (std::int64_t repetition = -1; repetition < p.repetitions; ++repetition)
        for (std::size_t turn = 0; turn < ways.size(); ++turn) {
            const std::size_t f = (turn + static_cast<std::size_t>(repetition + 1)) % ways.size();
            const double took = run_once(what, ways[f], computing);
            check(what, p.forms[f]);
            if (repetition >= 0) all[f].times.push_back(took);
        }
    return all;
}

}  // namespace applications
