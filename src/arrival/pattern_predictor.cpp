#include "arrival/compared.hpp"
#include "rubato/arrival.hpp"

#include <cassert>

namespace rubato {
namespace {

/// A series that is known beforehand.
class given final : public compared {
public:
    given(std::vector<time_ns> times, std::int32_t ahead)
        : compared(ahead), times_(std::move(times)), next_(static_cast<std::size_t>(ahead - 1) % times_.size()) {}

private:
    void take(time_ns) override { miss(); }
    void miss() override { next_ = (next_ + 1) % times_.size(); }
    time_ns guess() const override { return times_[next_]; }

    std::vector<time_ns> times_;
    std::size_t next_;  // before anything was observed: the line before the one to predict
};

/// How long after the earliest each rank arrives.
void count_from_earliest(std::span<time_ns> arrivals) {
    time_ns earliest = time_ns::max();
    for (const time_ns t : arrivals)
        if (t != no_arrival) earliest = std::min(earliest, t);
    for (time_ns& t : arrivals)
        if (t != no_arrival) t = limited(static_cast<wide>(t.count()) - earliest.count());
}

}  // namespace

pattern_predictor::pattern_predictor(std::string_view text, std::int32_t ranks, std::int32_t ahead)
    : observed_(static_cast<std::size_t>(ranks)) {
    constexpr std::string_view known = "given:";
    if (!text.starts_with(known)) {
        for (std::int32_t r = 0; r < ranks; ++r) ranks_.push_back(make_predictor(text, ahead));
        return;
    }
    std::vector<std::vector<time_ns>> lines = read_trace(std::string(text.substr(known.size())), ranks);
    for (std::vector<time_ns>& line : lines) count_from_earliest(line);
    for (std::size_t r = 0; r < observed_.size(); ++r) {
        std::vector<time_ns> column;
        column.reserve(lines.size());
        for (const std::vector<time_ns>& line : lines) column.push_back(line[r]);
        ranks_.push_back(std::make_unique<given>(std::move(column), ahead));
    }
}

void pattern_predictor::observe(std::span<const time_ns> arrivals) {
    assert(arrivals.size() == ranks_.size());
    std::vector<time_ns> late(arrivals.begin(), arrivals.end());
    count_from_earliest(late);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r]->observe(late[r]);
        if (late[r] != no_arrival) observed_[r] = true;
    }
}

bool pattern_predictor::next(std::vector<time_ns>& arrivals) const {
    arrivals.assign(ranks_.size(), no_arrival);
    bool any = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!observed_[r]) continue;
        arrivals[r] = std::max(ranks_[r]->next().value, time_ns{});  // no rank is earlier than the earliest
        any = true;
    }
    count_from_earliest(arrivals);
    std::ranges::replace(arrivals, no_arrival, time_ns{});
    return any;
}

time_ns pattern_predictor::uncertainty() const {
    wide sum = 0;
    wide sure = 0;
    for (const auto& r : ranks_) {
        const time_ns u = r->next().uncertainty;
        if (u == unsure) continue;
        sum += u.count();
        ++sure;
    }
    return sure == 0 ? unsure : divided(sum, sure);
}

time_ns pattern_predictor::worst_uncertainty() const {
    time_ns worst{};
    for (const auto& r : ranks_) worst = std::max(worst, r->next().uncertainty);
    return worst;
}

}  // namespace rubato
