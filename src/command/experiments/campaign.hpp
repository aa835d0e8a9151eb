// What 'rubato bench' does: cases one after the other; in each, all contestants in every repetition, in random order.
#pragma once

#include "command/experiments/timed_calls.hpp"

#include <random>

namespace rubato::command {

/// An error that all ranks find together, so that one rank may report it for all.
class common_error : public error {
public:
    using error::error;
};

struct campaign_settings {
    std::vector<contest> contests{};
    std::vector<std::int64_t> bytes{};
    std::vector<std::string> patterns{"balanced"};
    std::vector<segmentation> segments{segmentation{}};
    std::vector<std::string> segments_text{"auto"};  ///< as the user gave them
    std::string datatype = "double";
    std::string op = "sum";
    std::int32_t root = 0;
    std::string graph_text{};  ///< for neighbour collectives
    std::shared_ptr<const graph> neighbours{};
    std::int32_t warmups = 1;     ///< before the first pattern of a size
    std::int32_t screenings = 0;  ///< repetitions with all contestants, before the best are measured
    std::int32_t keep = 3;        ///< contestants of Rubato, and native ones, that are measured after screening
    std::int32_t repetitions = 20;
    double seconds = 0;      ///< no repetition of a case begins later; 0: no limit
    bool timelines = false;  ///< one more call of each contestant of Rubato, with the times of steps
    std::uint64_t seed = 1;
    model network{};
    std::optional<simulator::link> speed{};  ///< for bounds

    /// The contestants that the user asked for, as one text.
    std::string asked(const contest& c) const;
    experiment::settings data_of(const contest& c, std::int64_t size) const {
        return {c.what, size, datatype, op, root, neighbours};
    }
    contest_settings contest_of(std::int32_t ranks, std::int64_t size) const {
        return {ranks, size, root, true, network, segments, neighbours};
    }
};
/// Throws the errors that would otherwise show only when a case begins.
void check(const campaign_settings& how, int me, int ranks);

constexpr int most_spoilt = 20;  ///< calls in a row
common_error not_punctual();
common_error wrong_result(const contestant& c, const std::string& wrong);

/// The same on every machine, unlike std::shuffle.
template <class T>
void shuffle(std::vector<T>& v, std::mt19937_64& random) {
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[random() % i]);
}

class case_runner {
public:
    /// `write`: on rank 0, elsewhere null. `done`: cases to leave out, the same on all ranks.
    case_runner(campaign_settings how, timed_calls& calls, reports::recorder* write,
                std::vector<reports::measured_case> done);
    virtual ~case_runner() = default;

    /// Throws if a result is wrong, or if ranks cannot be punctual. Calls `say` with what it does next.
    void run(const std::function<void(const std::string&)>& say);

protected:
    virtual void run_case(const contest& c, const reports::measured_case& what) = 0;

    /// Records what is to be measured, and the contestants. Collective.
    void begin_case(const reports::measured_case& what, std::vector<contestant>& who);
    /// Whether no more repetition of a case may begin; rank 0 decides. Collective.
    bool time_is_up(time_ns since) const;

    campaign_settings how_;
    timed_calls& calls_;
    reports::recorder* write_;
    std::vector<reports::measured_case> done_;
    int me_ = own_rank();
    int ranks_ = count_ranks();
    std::mt19937_64 random_;  // equal on all ranks
};

class campaign : public case_runner {
public:
    using case_runner::case_runner;

private:
    /// What repetitions of one kind have in common.
    struct series {
        const reports::measured_case& what;
        std::vector<contestant> who;
        experiment& data;
        reports::stage stage;
    };

    void run_case(const contest& c, const reports::measured_case& what) override;
    void repeat(series& s, std::int32_t number);
    bool call(const series& s, const contestant& c, std::int32_t number);
    void draw(const series& s);
    std::vector<time_ns> arrivals_of(const series& s, std::int32_t number) const;
    void drop_hopeless(std::vector<contestant>& who) const;
    std::vector<contestant> best(const std::vector<contestant>& all) const;

    std::optional<reports::measured_case> warm_{};       // the case whose connections are open and pages touched
    std::map<std::string, std::vector<double>> seen_{};  // run times of the current case, by contestant
};

}  // namespace rubato::command
