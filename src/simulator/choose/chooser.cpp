#include "base/core/hosts.hpp"
#include "rubato/arrival.hpp"
#include "rubato/layout.hpp"
#include "simulator/choose/outcome.hpp"

#include <algorithm>
#include <bit>

namespace rubato {
namespace {

/// These take little memory; a program with more operations does not repeat itself enough to keep its choices.
constexpr std::size_t most_choices = 256;
constexpr int most_patience = 16;

std::int64_t rounded_size(std::int64_t bytes) {
    const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
    const int dropped = std::max(width - 2, 0);
    return bytes >> dropped << dropped;
}

/// Counts arrivals from the first and rounds them; empty if all arrive together.
void round_arrivals(std::vector<time_ns>& arrivals, time_ns least) {
    if (arrivals.empty()) return;
    const time_ns earliest = std::ranges::min(arrivals);
    const auto eighth = static_cast<std::uint64_t>(absolute_imbalance(arrivals).count() / 8);
    const time_ns quantum = std::max(least, time_ns(static_cast<time_ns::rep>(std::bit_floor(eighth))));
    for (time_ns& t : arrivals) t = std::min((t - earliest + quantum / 2) / quantum * quantum, longest_time);
    if (std::ranges::max(arrivals) == time_ns{}) arrivals.clear();
}

time_ns spread(const std::vector<time_ns>& arrivals) {
    return arrivals.empty() ? time_ns{} : absolute_imbalance(arrivals);
}

/// The largest change of a rank's arrival.
time_ns distance(const std::vector<time_ns>& a, const std::vector<time_ns>& b) {
    if (a.empty() || b.empty()) return spread(a.empty() ? b : a);
    time_ns most{};
    for (std::size_t r = 0; r < a.size(); ++r) most = std::max(most, std::chrono::abs(a[r] - b[r]));
    return most;
}

}  // namespace

chooser::chooser(model m, bool early, std::optional<model> inside) : model_(m), inside_(inside), early_(early) {
    simulator::check_kinds(model_, inside_ ? &*inside_ : nullptr);
}

const algorithm* chooser::best(problem& p, std::int64_t chunk) {
    problem similar = p;
    const std::int64_t size = rounded_size(chunk);
    round_arrivals(similar.arrivals, std::max(segment_time(model_, size) / 2, time_ns{1}));
    similar.segments = 1;
    similar.round_time = {};
    if (!inside_ || !base::are_shared(p.hosts)) similar.hosts.clear();
    key operation{static_cast<std::int64_t>(p.what),
                  p.ranks,
                  p.root.value,
                  p.commutative,
                  p.idempotent,
                  size,
                  static_cast<std::int64_t>(p.radix.size()),
                  static_cast<std::int64_t>(similar.hosts.size())};
    operation.insert(operation.end(), p.radix.begin(), p.radix.end());
    operation.insert(operation.end(), similar.hosts.begin(), similar.hosts.end());
    const choice& c = kept(operation, similar, size);
    if (c.use == nullptr) return nullptr;
    p.segments = simulator::pieces(chunk, c.segment);
    if (c.radix > 0) p.radix = {c.radix};
    p.round_time = simulator::round_time_of(*c.use, p, chunk, model_);
    return c.use;
}

/// The operation's last choice, or a new one if it is time for that.
const chooser::choice& chooser::kept(const key& operation, const problem& p, std::int64_t size) {
    if (habits_.size() >= most_choices) habits_.clear();
    const auto [at, is_new] = habits_.try_emplace(operation);
    habit& h = at->second;
    if (!is_new) {
        if (h.seen == p.arrivals) return h.chosen;
        h.seen = p.arrivals;
        if (distance(h.chosen_by, p.arrivals) <= h.chosen.tail / 4) {
            h.patience = std::max(1, h.patience / 2);
            return h.chosen;
        }
    }
    key with_arrivals = operation;
    for (const time_ns t : p.arrivals) with_arrivals.push_back(t.count());
    const bool known = made_.contains(with_arrivals);
    ++h.moves;
    if (!is_new && !known) {
        if (h.moves < (differs(h, p.arrivals) ? h.patience / 4 : h.patience)) return h.chosen;
        h.patience = std::min(2 * h.patience, most_patience);
    }
    h.moves = 0;
    h.seen = h.chosen_by = p.arrivals;
    h.chosen = chosen(std::move(with_arrivals), p, size);
    return h.chosen;
}

/// Whether the spread of arrivals has changed since the choice, not only which ranks are late.
bool chooser::differs(const habit& h, const std::vector<time_ns>& arrivals) {
    const time_ns before = spread(h.chosen_by);
    const time_ns now = spread(arrivals);
    return std::max(before, now) >= 2 * std::min(before, now) && std::chrono::abs(now - before) > h.chosen.tail;
}

const chooser::choice& chooser::chosen(key problem_key, const problem& p, std::int64_t size) {
    if (const auto found = made_.find(problem_key); found != made_.end()) return found->second;
    if (made_.size() >= most_choices) made_.clear();
    ++choices_;
    const bool late = !p.arrivals.empty();  // else nothing is gained by beginning early
    const std::vector<candidate> ranked =
        choose(p, size, model_, candidates_for(p, size, model_, early_ && late), inside_ ? &*inside_ : nullptr);
    choice made;
    if (!ranked.empty()) {
        const time_ns last = late ? std::ranges::max(p.arrivals) : time_ns{};
        made = {ranked.front().use, ranked.front().segment, ranked.front().radix, ranked.front().end - last};
    }
    return made_.emplace(std::move(problem_key), made).first->second;
}

}  // namespace rubato
