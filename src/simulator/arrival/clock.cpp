// Synchronisation along a binomial tree, from rank 0 down.
//
// In step k the ranks below 2^k, which know the common clock already, answer the questions of the ranks 2^k higher. An
// answer is the common time, so one subtraction gives the sum of all offsets on the path to rank 0, and nothing has to
// be gathered and scattered as in Hoefler 2008, IV.2.4, where the same tree is walked from the leaves up. The answer
// was written at some time between question and arrival: the middle is assumed, wrong by half of the round trip at
// most. Round trips vary without a known distribution, so only the shortest one is used, and a rank asks until none was
// shorter for a while.
//
// Cost: ceil(log2 P) steps of some 2N round trips, N being the setting. Error: half of the shortest round trips, summed
// along the path. Rank counts: any.
#include "rubato/clock.hpp"

#include <cmath>

namespace rubato {
namespace {

using namespace std::chrono_literals;

/// A drift is measured over at least this long where possible, and over about twice as long at most: clocks do not keep
/// their rate for ever.
constexpr time_ns drift_window = 30s;

/// The error that each rank on a path adds to the round trip's: the asker's last tick, and its and rank 0's tick when
/// the clocks are compared later.
constexpr time_ns reading_error = 2 * own_clock_tick;

constexpr std::int64_t question = 1;
constexpr std::int64_t no_more_questions = 0;

time_ns share(time_ns t, double of) {
    return time_ns(static_cast<time_ns::rep>(std::ceil(static_cast<double>(std::chrono::abs(t).count()) * of)));
}

clock_reading ask(ping_layer& layer, rank server, const common_clock& clock, int patience) {
    clock_reading best;
    time_ns shortest = time_ns::max();
    int in_vain = 0;
    do {
        const time_ns before = clock.own();
        layer.send(server, question);
        const time_ns answer(layer.recv(server));
        const time_ns round_trip = clock.own() - before;
        ++in_vain;
        if (round_trip >= shortest) continue;
        shortest = round_trip;
        best = {before + round_trip / 2, answer, {}};
        in_vain = 0;
    } while (in_vain < patience);
    layer.send(server, no_more_questions);
    const time_ns error_of_server(layer.recv(server));
    best.error = error_of_server + share(shortest, (1 + max_drift) / 2) + reading_error;
    return best;
}

void answer(ping_layer& layer, rank client, const common_clock& clock) {
    while (layer.recv(client) == question) layer.send(client, clock.now().count());
    layer.send(client, clock.error_bound().count());
}

}  // namespace

time_ns own_time() { return std::chrono::steady_clock::now().time_since_epoch(); }

time_ns common_clock::error_bound(time_ns own) const {
    if (!synchronised_) return time_ns::max();
    return anchor_.error + share(own - anchor_.own, drift_error_);
}

void common_clock::lead() {
    restart({});
    drift_error_ = 0;
}

void common_clock::restart(const clock_reading& seen) {
    anchor_ = oldest_ = older_ = seen;
    drift_ = 0;
    drift_error_ = max_drift;
    synchronised_ = true;
}

void common_clock::learn(const clock_reading& seen) {
    if (!synchronised_) return restart(seen);
    const time_ns known = error_bound(seen.own);
    if (std::chrono::abs(seen.common - to_common(seen.own)) > known + seen.error) return restart(seen);
    if (known < seen.error) return;

    anchor_ = seen;
    drift_ = 0;
    drift_error_ = max_drift;
    for (const clock_reading& then : {oldest_, older_}) {
        const auto own = static_cast<double>((seen.own - then.own).count());
        const auto common = static_cast<double>((seen.common - then.common).count());
        const double error = static_cast<double>((seen.error + then.error).count()) / own + drift_wander;
        if (own <= 0 || error >= drift_error_) continue;
        drift_ = common / own - 1;
        drift_error_ = error;
    }
    if (seen.own - older_.own > drift_window) {
        oldest_ = older_;
        older_ = seen;
    } else if (seen.error < older_.error / 2) {
        older_ = seen;  // after a first reading that was bad, the drift need not wait for a whole window
    }
}

void synchronise(ping_layer& layer, rank me, std::int32_t ranks, common_clock& clock, const sync_settings& settings) {
    std::int64_t step = 1;  // ranks below it know the common clock
    if (me.value == 0) {
        clock.lead();
    } else {
        const auto server = static_cast<std::int32_t>(me.value - floor_power_of_two(me.value));
        const int patience = clock.synchronised() ? settings.again : settings.first;
        clock.learn(ask(layer, rank(server), clock, patience));
        step = 2 * floor_power_of_two(me.value);
    }
    for (; me.value + step < ranks; step *= 2) answer(layer, rank(static_cast<std::int32_t>(me.value + step)), clock);
}

}  // namespace rubato
