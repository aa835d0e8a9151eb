// A player's exchanges and announcements: what ranks tell each other of their arrivals and of invocations, and when a
// plan may use it.
#include "engine/execute/player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace rubato::engine {
namespace {

/// What is exchanged: a time, whether it was said beforehand, and the last bits of the invocation's number, which show
/// whether all ranks mean the same invocation.
constexpr int number_bits = 8;
/// Some 200 days after the communicator was made: the remaining bits hold no more.
constexpr time_ns latest{(std::int64_t{1} << (62 - number_bits)) - 1};

std::int64_t packed(time_ns t, bool said_before, std::uint64_t number) {
    const auto low = static_cast<std::int64_t>(number & ((1U << number_bits) - 1));
    return (std::clamp(t, -latest, latest).count() << (number_bits + 1)) |
           (static_cast<std::int64_t>(said_before) << number_bits) | low;
}
time_ns time_in(std::int64_t v) { return time_ns(v >> (number_bits + 1)); }
bool said_before(std::int64_t v) { return ((v >> number_bits) & 1) != 0; }
bool speaks_of(std::int64_t v, std::uint64_t number) { return ((v ^ static_cast<std::int64_t>(number)) & 255) == 0; }

/// Arrivals are exchanged only for invocations that use or observe them.
bool uses_arrivals(const intent& what) { return what.use->arrival_aware || what.observed; }

/// An announcement: the number, the algorithm and the bytes, then this, in one order for both sides. Calls `one` with
/// each number, and `many` with each list.
template <class Intent, class One, class Many>
void for_all_told(Intent& i, One one, Many many) {
    one(i.what.what);
    one(i.what.root.value);
    one(i.what.segments);
    one(i.what.commutative);
    one(i.what.idempotent);
    one(i.what.round_time);
    one(i.type);
    one(i.op);
    one(i.observed);
    many(i.what.radix);
    many(i.what.hosts);
    many(i.what.arrivals);
}

}  // namespace

void player::start_exchange(queued_call& f, time_ns arrival, bool announced) {
    exchanges_.push_back({f.number, edge_mode_});
    f.contributed = true;
    stage_.exchange(packed(arrival, announced, f.number));
}

/// Whether the exchanges of invocations up to `number` are complete.
bool player::complete_until(std::uint64_t number, bool wait) {
    for (gathering& g : exchanges_) {
        if (g.number > number) break;
        if (!g.complete) g.complete = stage_.exchanged(g.values, wait);
        if (!g.complete) return false;
        for (const std::int64_t v : g.values)
            if (!speaks_of(v, g.number)) {
                fail();
                why_ = "ranks have called different collectives";
                throw error("ranks have called different collectives",
                            fmt::format("one of them exchanges arrivals of another invocation than {}", g.number),
                            "call the same collectives in the same order on all ranks");
            }
    }
    return true;
}

void player::apply(const gathering& g) {
    edge_mode_ = std::ranges::all_of(g.values, said_before);
    first_to_come_ =
        rank(static_cast<std::int32_t>(std::ranges::min_element(g.values, {}, time_in) - g.values.begin()));
    // Predictors learn only from arrivals that were observed, of invocations that the player ran.
    if (g.estimates || g.of == nullptr) return;
    std::vector<time_ns> arrivals;
    for (const std::int64_t v : g.values) arrivals.push_back(time_in(v));
    if (!g.of->predict) g.of->predict.emplace(how_.predictor, ranks_);
    g.of->predict->observe(arrivals);
}

/// The invocations before f must have begun.
bool player::catch_up(const queued_call& f, bool wait) {
    check_usable();
    if (f.number < 2) return true;
    if (!complete_until(f.number - 2, wait)) return false;
    while (!exchanges_.empty() && exchanges_.front().number + 2 <= f.number) {
        apply(exchanges_.front());
        exchanges_.pop_front();
    }
    return true;
}

/// Whether everything that the plan of this invocation depends on is known.
bool player::agree(queued_call& f, bool wait) {
    if (!catch_up(f, wait)) return false;
    if (!edge_mode_) return true;
    if (!f.contributed) {
        if (f.edge)
            start_exchange(f, *f.edge, true);
        else if (f.arrived)
            start_exchange(f, f.arrival, false);
        else
            return false;
    }
    return !plans_by_arrivals(f) || complete_until(f.number, wait);
}

/// Whether the invocation, if known, is planned by exchanged arrivals. Equal on all ranks.
bool player::plans_by_arrivals(const queued_call& f) {
    return f.what && uses_arrivals(*f.what) && f.what->what.arrivals.empty() && f.what->use->dynamic == nullptr &&
           (!f.what->use->has(need::round_time) || f.what->what.round_time > time_ns{});
}

/// Small operations end before an announcement could help. Equal on all ranks.
bool player::worth_messages(const intent& what) const {
    return traits(what.what.what).irregular || what.bytes >= how_.from_bytes;
}

/// For the choice of later ones. Not before the rank has arrived: what it calls may still have to be chosen.
void player::keep_arrivals(const queued_call& f) {
    if (f.what->observed) f.of->planned_by = f.planned_by;
}

/// The rank has arrived, and earlier exchanges are complete: takes part in this invocation's exchange, if any.
void player::contribute(queued_call& f) {
    const std::uint64_t calls = f.of->calls++;
    const bool due = calls % static_cast<std::uint64_t>(how_.exchange_every) == 0;
    if (!f.contributed && (plans_by_arrivals(f) || f.what->called_roll) && worth_messages(*f.what) && due)
        start_exchange(f, f.arrival, f.edge.has_value());
    if (f.contributed) exchanges_.back().of = f.of;
}

problem player::planned(queued_call& f) {
    problem p = f.what->what;
    f.planned_by.clear();
    if (!uses_arrivals(*f.what)) {
        p.arrivals.clear();
        return p;
    }
    if (plans_by_arrivals(f)) {
        if (edge_mode_)
            for (const std::int64_t v : exchanges_.back().values) p.arrivals.push_back(time_in(v));
        else if (const calls_of_a_kind& r = record_of(*f.what); r.predict)
            (void)r.predict->next(p.arrivals);
    }
    f.planned_by = p.arrivals;
    return p;
}

std::vector<std::int64_t> announcement(std::uint64_t number, const intent& i, std::int64_t bytes) {
    std::vector<std::int64_t> text;
    text.reserve(16 + i.what.radix.size() + i.what.hosts.size() + i.what.arrivals.size());
    text = {static_cast<std::int64_t>(number), i.use - algorithms().data(), bytes};
    const auto one = [&text](const auto& v) {
        if constexpr (std::is_same_v<decltype(v), const time_ns&>)
            text.push_back(v.count());
        else
            text.push_back(static_cast<std::int64_t>(v));
    };
    for_all_told(i, one, [&one](const auto& list) {
        one(list.size());
        for (const auto& v : list) one(v);
    });
    return text;
}

std::pair<std::uint64_t, intent> announced(std::span<const std::int64_t> text, std::int32_t ranks) {
    intent i;
    i.what.ranks = ranks;
    i.use = &algorithms()[static_cast<std::size_t>(text[1])];
    i.bytes = text[2];
    auto at = text.begin() + 3;
    const auto one = [&at](auto& v) { v = static_cast<std::remove_reference_t<decltype(v)>>(*at++); };
    for_all_told(i, one, [&](auto& list) {
        list.resize(static_cast<std::size_t>(*at++));
        for (auto& v : list) one(v);
    });
    return {static_cast<std::uint64_t>(text[0]), std::move(i)};
}

}  // namespace rubato::engine
