// The common clock on simulated machines, whose true time is known.
//
// Every rank is a thread with a virtual time of its own, which only its calls and what it receives move on. A receive
// names its sender and messages of a pair keep their order, so all times are the same however the threads run.
#include "rubato/clock.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace rubato;
using namespace std::chrono_literals;

/// A clock over true time: shifted, drifting, ticking.
struct hardware_clock {
    time_ns shift{};
    std::int64_t drift_ppb = 0;
    time_ns tick{1};

    time_ns at(time_ns t) const {
        const time_ns exact = shift + t + time_ns(t.count() / 1000 * drift_ppb / 1'000'000);
        return exact - exact % tick;
    }
};

struct letter {
    time_ns arrival{};
    std::int64_t number = 0;
};

class network {
public:
    void post(std::int32_t from, std::int32_t to, letter l) {
        const std::lock_guard lock(mutex_);
        wire& w = wires_[{from, to}];
        w.letters.push_back(l);
        w.posted.notify_one();
    }
    letter take(std::int32_t from, std::int32_t to) {
        std::unique_lock lock(mutex_);
        wire& w = wires_[{from, to}];
        w.posted.wait(lock, [&] { return !w.letters.empty(); });
        const letter first = w.letters.front();
        w.letters.pop_front();
        return first;
    }

private:
    struct wire {
        std::deque<letter> letters{};
        std::condition_variable posted{};
    };
    std::mutex mutex_{};
    std::map<std::pair<std::int32_t, std::int32_t>, wire> wires_{};
};

/// One simulated rank: a clock, and an end of the network. Messages to higher ranks take ten times as long as those to
/// lower ones, which is nearly as wrong as the middle of a round trip can be; all take a bit longer, some a lot.
class machine : public ping_layer {
public:
    machine(network& wires, std::int32_t me, hardware_clock clock)
        : wires_(wires), me_(me), random_(static_cast<std::uint32_t>(me) + 1), hardware(clock) {}

    void send(rank to, std::int64_t number) override {
        time += 100ns;
        time_ns latency = to.value > me_ ? 2us : 200ns;
        latency += time_ns(random_() % 500);
        if (random_() % 4 == 0) latency += 20us;
        wires_.post(me_, to.value, {time + noise * latency, number});
    }
    std::int64_t recv(rank from) override {
        const letter l = wires_.take(from.value, me_);
        time = std::max(time + 100ns, l.arrival);
        return l.number;
    }
    time_ns read() {
        time += 25ns;
        return hardware.at(time);
    }

private:
    network& wires_;
    std::int32_t me_;
    std::mt19937 random_;

public:
    hardware_clock hardware;
    time_ns time{};  ///< the true time
    int noise = 1;   ///< makes the network slower
};

hardware_clock clock_of(std::int32_t r, std::int32_t ranks) {
    const std::int64_t drifts[] = {-100'000, 100'000, 0, 37'000, -61'000};
    return {(r * 7919 % ranks) * 1h + r * 1234567ns, drifts[r % 5], time_ns(r % 3 == 2 ? 40 : 1)};
}

/// What `program` does on each rank; it gets the true time of rank 0's clock as a function of its machine's time.
using program = std::function<void(machine&, common_clock&, const hardware_clock& common, rank me)>;

void run(std::int32_t ranks, const program& p) {
    network wires;
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    for (std::int32_t r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            machine m(wires, r, clock_of(r, ranks));
            m.time = r % 4 * 50us;
            common_clock clock([&m] { return m.read(); });
            p(m, clock, clock_of(0, ranks), rank(r));
        });
    for (auto& t : threads) t.join();
}

time_ns error_now(machine& m, const common_clock& clock, const hardware_clock& common) {
    const time_ns shown = clock.now();
    return std::chrono::abs(shown - common.at(m.time));
}

/// Looking at the clock takes time, so the error comes first and then the bound.
void expect_within_bound(machine& m, const common_clock& clock, const hardware_clock& common) {
    const time_ns error = error_now(m, clock, common);
    EXPECT_LE(error, clock.error_bound());
}

std::vector<std::int32_t> rank_counts() {
    std::vector<std::int32_t> counts{33};
    for (std::int32_t p = 1; p <= 17; ++p) counts.push_back(p);
    return counts;
}

TEST(clock, is_right_within_its_bound_on_every_rank) {
    for (const std::int32_t ranks : rank_counts())
        run(ranks, [&](machine& m, common_clock& clock, const hardware_clock& common, rank me) {
            const auto hops = std::popcount(static_cast<std::uint32_t>(me.value));
            for (int sync = 0; sync < 3; ++sync) {
                synchronise(m, me, ranks, clock);
                ASSERT_TRUE(clock.synchronised());
                // The shortest round trip takes 2.5 us.
                EXPECT_LE(clock.error_bound(), hops * 3us) << "rank " << me.value << " of " << ranks;
                for (int look = 0; look < 10; ++look, m.time += 100ms) {
                    SCOPED_TRACE(::testing::Message()
                                 << "rank " << me.value << " of " << ranks << ", sync " << sync << ", look " << look);
                    expect_within_bound(m, clock, common);
                }
            }
            if (me.value == 0) {
                EXPECT_EQ(clock.error_bound(), 0ns);
            }
        });
}

TEST(clock, corrects_drift_between_synchronisations) {
    run(5, [&](machine& m, common_clock& clock, const hardware_clock& common, rank me) {
        synchronise(m, me, 5, clock);
        m.time += 10s;
        synchronise(m, me, 5, clock);
        const auto relative = static_cast<double>(common.drift_ppb - m.hardware.drift_ppb) * 1e-9;
        EXPECT_NEAR(clock.drift(), relative, 1e-6);
        m.time += 20s;
        EXPECT_LE(error_now(m, clock, common), 20us);
        expect_within_bound(m, clock, common);
        EXPECT_LE(clock.error_bound(), 60us);
    });
}

TEST(clock, is_not_spoilt_by_synchronising_too_soon_or_in_noise) {
    run(7, [&](machine& m, common_clock& clock, const hardware_clock& common, rank me) {
        const auto check = [&](time_ns at_most) {
            expect_within_bound(m, clock, common);
            EXPECT_LE(clock.error_bound(), at_most);
        };
        for (int i = 0; i < 5; ++i) {  // too soon to tell the drift
            synchronise(m, me, 7, clock);
            EXPECT_LE(clock.drift_error(), max_drift);
            m.time += 1ms;
        }
        m.time += 10s;
        synchronise(m, me, 7, clock);
        m.time += 1s;
        check(15us);
        m.noise = 1000;
        synchronise(m, me, 7, clock);
        check(20us);
    });
}

TEST(clock, learns_again_after_a_step) {
    run(3, [&](machine& m, common_clock& clock, const hardware_clock& common, rank me) {
        for (int i = 0; i < 3; ++i, m.time += 1s) synchronise(m, me, 3, clock);
        if (me.value == 1) m.hardware.shift += 1h;
        synchronise(m, me, 3, clock);
        expect_within_bound(m, clock, common);
        EXPECT_LE(clock.error_bound(), 10us);
        m.time += 1s;
        synchronise(m, me, 3, clock);
        expect_within_bound(m, clock, common);
        EXPECT_LE(clock.drift_error(), 20e-6);
    });
}

TEST(clock, knows_that_it_knows_nothing) {
    const common_clock clock;
    EXPECT_FALSE(clock.synchronised());
    EXPECT_EQ(clock.error_bound(), time_ns::max());
}

TEST(clock, recovers_from_a_poor_first_reading) {
    common_clock clock([] { return 0ns; });
    clock.learn({0s, 5s, 10ms});
    clock.learn({1s, 6s + 50us, 1us});
    EXPECT_EQ(clock.drift(), 0);
    clock.learn({3s, 8s + 150us, 1us});
    EXPECT_NEAR(clock.drift(), 50e-6, 1e-9);
    EXPECT_EQ(clock.to_common(5s), 10s + 250us);
    EXPECT_NEAR(static_cast<double>(clock.error_bound(5s).count()), 5000, 2);  // 1 us, and 2 ppm of 2 s
}

TEST(clock, follows_a_rate_that_changes_slowly) {
    common_clock clock([] { return 0ns; });
    time_ns common{};
    for (int second = 0; second < 2000; ++second) {  // by 20 ppm in all
        clock.learn({second * 1s, common, 1us});
        common += 1s + time_ns(second * 10);
        const time_ns shown = clock.to_common((second + 1) * 1s);
        EXPECT_LE(std::chrono::abs(shown - common), clock.error_bound((second + 1) * 1s)) << second;
    }
    EXPECT_NEAR(clock.drift(), 20e-6, 1e-6);
}

TEST(clock, does_not_go_back) {
    for (const time_ns ahead : {-140us, 0us, 140us}) {
        common_clock clock([] { return 0ns; });
        clock.learn({0s, 5s, 1us});
        clock.learn({1s, 6s + ahead, 1us});
        for (time_ns own = 1s; own < 1s + 50us; ++own)
            ASSERT_LE(clock.to_common(own), clock.to_common(own + 1ns)) << own.count();
    }
    const time_ns first = own_time();
    EXPECT_LE(first, own_time());
}

}  // namespace
