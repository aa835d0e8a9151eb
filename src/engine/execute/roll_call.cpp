#include "engine/execute/roll_call.hpp"

#include "base/core/wire.hpp"
#include "rubato/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace rubato::engine {
namespace {

enum class letter : std::int64_t { here, verdict };

struct called_numbers {
    std::int64_t what;
    std::int64_t root;
    std::int64_t bytes;
    std::int64_t refused;
};
struct order_numbers {
    std::int64_t algorithm;
    std::int64_t segments;
    std::int64_t round_time;
    std::int64_t lateness;
};
struct here_numbers {
    std::int64_t kind;
    std::int64_t number;
    called_numbers what;
    std::int64_t patience;
    std::int64_t has_order;
    order_numbers in_any_case;
};
/// A bit per rank follows: who is late.
struct verdict_numbers {
    std::int64_t kind;
    std::int64_t number;
    order_numbers how;
    called_numbers what;
    std::int64_t odd;  // a rank, or -1
    called_numbers instead;
};

called_numbers in_numbers(const roll_call::called& c) {
    return {static_cast<std::int64_t>(c.what), c.root.value, c.bytes, c.refused};
}
roll_call::called read_called(const called_numbers& n) {
    return {static_cast<collective>(n.what), rank(static_cast<std::int32_t>(n.root)), n.bytes, n.refused != 0};
}
order_numbers in_numbers(const roll_call::order& o) {
    return {o.algorithm, o.segments, o.round_time.count(), o.lateness.count()};
}
roll_call::order read_order(const order_numbers& n) {
    return {n.algorithm, static_cast<std::uint32_t>(n.segments), time_ns(n.round_time), time_ns(n.lateness)};
}

template <class T>
std::vector<std::int64_t> text_of(const T& head) {
    const auto numbers = std::bit_cast<std::array<std::int64_t, base::numbers_in<T>()>>(head);
    return {numbers.begin(), numbers.end()};
}
template <class T>
T head_of(std::span<const std::int64_t> text) {
    T head{};
    std::memcpy(&head, text.data(), sizeof head);
    return head;
}

/// What somebody calls whose arguments are wrong is not known well enough.
bool fit(const roll_call::called& a, const roll_call::called& b) {
    if (a.refused || b.refused) return true;
    if (a.what != b.what || (traits(a.what).rooted && a.root != b.root)) return false;
    return a.bytes == b.bytes || a.bytes == roll_call::called::unknown || b.bytes == roll_call::called::unknown;
}

std::string described(const roll_call::called& c) {
    const collective_traits& t = traits(c.what);
    std::string text(t.name);
    if (t.moves_data() && c.bytes != roll_call::called::unknown) text += fmt::format(" of {} bytes", c.bytes);
    if (t.rooted) text += fmt::format(" with root {}", c.root.value);
    return text;
}

error different_calls(rank who, const roll_call::called& its, const roll_call::called& others) {
    return {"ranks have called different collectives",
            fmt::format("rank {} calls {}, others {}", who.value, described(its), described(others)),
            "call the same collectives in the same order on all ranks"};
}

}  // namespace

std::vector<time_ns> roll_call::verdict::arrivals(std::int32_t ranks) const {
    std::vector<time_ns> all(static_cast<std::size_t>(ranks));
    for (const rank r : late) all[static_cast<std::size_t>(r.value)] = how.lateness;
    return all;
}

void roll_call::begin(invocation i, time_ns now) {
    next_ = i.number;
    came_ = now;
    forget_before(i.number);
    if (i.keeper != me_) {
        const order any = i.in_any_case.value_or(order{});
        post_.send(i.keeper, text_of(here_numbers{static_cast<std::int64_t>(letter::here),
                                                  static_cast<std::int64_t>(i.number), in_numbers(i.what),
                                                  i.patience.count(), i.in_any_case.has_value(), in_numbers(any)}));
    }
    now_at_ = std::move(i);
}

std::optional<roll_call::verdict> roll_call::progress(time_ns now) {
    receive_all(now);
    if (!now_at_) return std::nullopt;
    if (now_at_->keeper == me_ && !verdicts_.contains(now_at_->number)) keep(now);
    const auto found = verdicts_.find(now_at_->number);
    if (found == verdicts_.end()) return std::nullopt;
    return take(found->second);
}

void roll_call::receive_all(time_ns now) {
    rank from;
    std::vector<std::int64_t> text;
    while (post_.receive(from, text)) {
        if (text.front() == static_cast<std::int64_t>(letter::here)) {
            note_here(from, text, now);
            continue;
        }
        const auto head = head_of<verdict_numbers>(text);
        received_verdict v;
        v.said.number = static_cast<std::uint64_t>(head.number);
        v.said.how = read_order(head.how);
        v.what = read_called(head.what);
        if (head.odd >= 0) v.odd = rank(static_cast<std::int32_t>(head.odd));
        v.instead = read_called(head.instead);
        for (rank r; r.value < ranks_; ++r.value) {
            const auto word = static_cast<std::size_t>(base::numbers_in<verdict_numbers>() + r.value / 64);
            if (((static_cast<std::uint64_t>(text[word]) >> (r.value % 64)) & 1U) != 0) v.said.late.push_back(r);
        }
        if (v.said.number >= next_) verdicts_.emplace(v.said.number, std::move(v));
    }
}

void roll_call::note_here(rank from, std::span<const std::int64_t> text, time_ns now) {
    --on_the_way_;
    const auto head = head_of<here_numbers>(text);
    const auto number = static_cast<std::uint64_t>(head.number);
    if (number < next_ || verdicts_.contains(number)) return;  // late
    roster& r = rosters_[number];
    if (r.here.empty()) r.first = now;
    r.last = now;
    r.patience = time_ns(head.patience);
    if (head.has_order != 0) r.in_any_case = read_order(head.in_any_case);
    r.here.emplace_back(from, read_called(head.what));
}

void roll_call::keep(time_ns now) {
    const roster& r = rosters_[now_at_->number];
    const called& mine = now_at_->what;
    const auto settles = [&](const auto& h) { return h.second.refused || !fit(h.second, mine); };
    const time_ns last = std::max(came_, r.last);
    const bool decided = mine.refused || r.here.size() + 1 == static_cast<std::size_t>(ranks_) ||
                         now - last >= now_at_->patience || (now - came_) / 4 >= now_at_->patience ||
                         std::ranges::any_of(r.here, settles);
    if (decided) announce(r, mine, false, now_at_->decide);
}

bool roll_call::stand_in(std::uint64_t number, time_ns now) {
    receive_all(now);
    const auto found = rosters_.find(number);
    if (now_at_ || found == rosters_.end()) return false;
    const roster& r = found->second;
    const bool refused = std::ranges::any_of(r.here, [](const auto& h) { return h.second.refused; });
    if (!r.in_any_case && !refused) return true;
    if (!refused && now - r.last < r.patience && (now - r.first) / 4 < r.patience) return true;
    next_ = number;
    announce(r, r.here.front().second, true, [&r](auto) { return *r.in_any_case; });
    return false;
}

/// The verdict of the invocation that is next, to everybody and to this rank itself.
void roll_call::announce(const roster& r, const called& as, bool keeper_is_late, const decision& decide) {
    received_verdict v;
    v.said.number = next_;
    v.what = as;
    std::vector<bool> here(static_cast<std::size_t>(ranks_));
    here[static_cast<std::size_t>(me_.value)] = !keeper_is_late;
    bool refused = as.refused;
    for (const auto& [who, what] : r.here) {
        here[static_cast<std::size_t>(who.value)] = true;
        refused = refused || what.refused;
        if (v.odd || fit(what, as)) continue;
        v.odd = who;
        v.instead = what;
    }
    for (rank each; each.value < ranks_; ++each.value)
        if (!here[static_cast<std::size_t>(each.value)]) v.said.late.push_back(each);
    try {
        if (!refused && !v.odd) v.said.how = decide(v.said.late);
    } catch (...) {
        v.said.how = {};  // native: the others wait for an answer
    }

    std::vector<std::int64_t> text = text_of(
        verdict_numbers{static_cast<std::int64_t>(letter::verdict), static_cast<std::int64_t>(next_),
                        in_numbers(v.said.how), in_numbers(v.what), v.odd ? v.odd->value : -1, in_numbers(v.instead)});
    const std::size_t head = text.size();
    text.resize(head + static_cast<std::size_t>(ranks_ + 63) / 64);
    for (const rank each : v.said.late) {
        std::int64_t& word = text[head + static_cast<std::size_t>(each.value / 64)];
        word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) | (std::uint64_t{1} << (each.value % 64)));
    }
    for (rank each; each.value < ranks_; ++each.value)
        if (each != me_) post_.send(each, text);
    on_the_way_ += ranks_ - 1;
    verdicts_.emplace(next_, std::move(v));
    rosters_.erase(next_);
}

roll_call::verdict roll_call::take(const received_verdict& v) {
    const received_verdict own = v;
    const called mine = now_at_->what;
    now_at_.reset();
    next_ = own.said.number + 1;
    forget_before(next_);
    if (own.odd) throw different_calls(*own.odd, own.instead, own.what);
    if (!fit(mine, own.what)) throw different_calls(me_, mine, own.what);
    return own.said;
}

void roll_call::forget_before(std::uint64_t number) {
    rosters_.erase(rosters_.begin(), rosters_.lower_bound(number));
    verdicts_.erase(verdicts_.begin(), verdicts_.lower_bound(number));
}

bool roll_call::close() {
    receive_all({});
    return on_the_way_ <= 0;
}

time_ns lateness_in(const problem& p) {
    // Far more than any plan waits for; less than what problems allow.
    constexpr time_ns most = longest_time / 2;
    if (p.round_time <= time_ns{}) return most;
    // Where ranks have chunks of their own, those of all others are moved, in segments each; else a vector, twice.
    const std::int64_t ranks = p.ranks;
    const std::int64_t segments = p.segments;
    const std::int64_t rounds = 4 * (traits(p.what).chunked() ? ranks * segments : ranks + segments);
    return p.round_time > most / rounds ? most : p.round_time * rounds;
}

roll_call::order order_for(const intent& what, time_ns quantum) {
    return {what.use - algorithms().data(), what.what.segments, what.what.round_time,
            std::max(lateness_in(what.what), std::min(quantum, longest_time / 2))};
}

intent made_by(const roll_call::verdict& said, intent what) {
    what.use = &algorithms()[static_cast<std::size_t>(said.how.algorithm)];
    what.what.segments = said.how.segments;
    what.what.round_time = said.how.round_time;
    what.what.arrivals = said.arrivals(what.what.ranks);
    what.called_roll = true;
    return what;
}

}  // namespace rubato::engine
