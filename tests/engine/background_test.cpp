// The background thread alone, and with players. Each rank is a thread and has a background thread, which works on
// collectives before the rank arrives.
#include "engine/execute/background_thread.hpp"

#include "base/core/signals_blocked.hpp"
#include "rubato/problem.hpp"
#include "support/memory_stage.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <utility>

namespace rubato {
namespace {

using namespace std::chrono_literals;
using testing::memory_call;

/// Waits for something that another thread does soon.
template <class F>
bool comes_true(F f) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!f())
        if (std::chrono::steady_clock::now() > end) return false;
    return true;
}

TEST(background, looks_while_something_may_come_and_sleeps_else) {
    std::atomic<engine::activity> seen = engine::activity::listening;
    std::atomic<int> looks = 0;
    engine::background b;
    const auto ticket = b.watch([&] {
        ++looks;
        return seen.load();
    });
    EXPECT_TRUE(comes_true([&] { return looks > 3; }));
    seen = engine::activity::nothing;
    // It may look once more.
    EXPECT_TRUE(comes_true([&] {
        const int before = looks;
        std::this_thread::sleep_for(20ms);
        return looks == before;
    }));
    const int asleep = looks;
    b.wake();
    EXPECT_TRUE(comes_true([&] { return looks > asleep; }));
    seen = engine::activity::moving;
    b.wake();
    EXPECT_TRUE(comes_true([&] { return looks > asleep + 10; }));
    b.leave(ticket);
    const int left = looks;
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(looks, left);
    EXPECT_GT(b.looks(), 10U);
}

TEST(background, is_nice) {
    const int own = getpriority(PRIO_PROCESS, 0);
    background_settings how;
    ASSERT_TRUE(
        engine::background::read_setting(how, "RUBATO_BACKGROUND_NICE", fmt::format("{}", std::min(own + 7, 19))));
    std::promise<int> said;
    std::future<int> niceness = said.get_future();
    engine::background b(how);
    const auto ticket = b.watch([&said, asked = false]() mutable {
        if (!std::exchange(asked, true)) said.set_value(getpriority(PRIO_PROCESS, 0));
        return engine::activity::nothing;
    });
    EXPECT_EQ(niceness.get(), std::min(own + 7, 19));
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own) << "the program's own";
    b.leave(ticket);
    EXPECT_THROW(engine::background::read_setting(how, "RUBATO_BACKGROUND_NICE", "20"), error);
}

std::atomic<int> taken = 0;
std::atomic<pid_t> taken_by = 0;

/// The signals are to the process, and only its other threads could take them.
TEST(background, takes_no_signals) {
    struct sigaction handler {};
    handler.sa_handler = [](int) {
        ++taken;
        taken_by = gettid();
    };
    struct sigaction before {};
    ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);
    std::atomic<int> looks = 0;
    engine::background b;
    const auto ticket = b.watch([&] {
        ++looks;
        return engine::activity::moving;
    });
    {
        const base::signals_blocked here;
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
            const int now = looks;
            ASSERT_TRUE(comes_true([&] { return looks > now; }));
        }
        EXPECT_EQ(taken, 0) << "by the background thread";
    }
    EXPECT_EQ(taken, 1) << "they wait for a thread that takes them";
    EXPECT_EQ(taken_by, gettid());
    b.leave(ticket);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(background, refuses_a_core_that_is_not_there) {
    background_settings how;
    how.core = 1 << 20;
    engine::background b(how);
    EXPECT_THROW(b.watch([] { return engine::activity::nothing; }), error);
}

/// A rank's end of a communicator, as a process has it.
class seat {
public:
    seat(testing::hall& h, rank me, std::uint64_t seed, engine::background& b)
        : stage_(h, me, seed), player_(me, h.ranks(), stage_, settings()), background_(b) {
        ticket_ = b.watch([this] {
            const std::unique_lock lock(mutex_, std::try_to_lock);
            return lock ? player_.poll() : engine::activity::listening;
        });
    }
    ~seat() {
        background_.leave(ticket_);
        while (!player_.close(testing_time())) std::this_thread::yield();
    }

    void expect(const engine::intent& what) {
        const std::lock_guard lock(mutex_);
        player_.expect(what);
        background_.wake();
    }
    void say_when(time_ns t) {
        const std::lock_guard lock(mutex_);
        player_.edge(t);
    }
    void run(const engine::intent& what, const memory_call& c) {
        const std::lock_guard lock(mutex_);
        player_.progress(player_.arrive(what, &c, testing_time()), true);
    }
    std::uint64_t begun_early() {
        const std::lock_guard lock(mutex_);
        return player_.begun_early();
    }

    static time_ns testing_time() { return std::chrono::steady_clock::now().time_since_epoch(); }

private:
    static engine::player::settings settings() {
        engine::player::settings s;
        s.exchange_every = 2;
        s.from_bytes = 0;
        return s;
    }

    std::mutex mutex_{};
    testing::memory_stage stage_;
    engine::player player_;
    engine::background& background_;
    engine::background::ticket ticket_{};
};

/// A thousand collectives while ranks come and go. Returns how many began before their rank came.
std::uint64_t begun_early_in_a_thousand(std::uint32_t seed) {
    constexpr std::int32_t ranks = 4;
    constexpr int collectives = 1000;
    std::vector<const algorithm*> choice;
    for (const algorithm& a : algorithms())
        if ((a.early || a.arrival_aware) && !a.dynamic && !traits(a.what).on_graph) choice.push_back(&a);
    testing::hall first(ranks);
    testing::hall second(ranks);
    std::atomic<int> wrong = 0;
    std::atomic<std::uint64_t> early = 0;
    std::vector<std::thread> processes;
    for (std::int32_t me = 0; me < ranks; ++me) {
        processes.emplace_back([&, me] {
            background_settings fast;
            fast.interval = 10us;
            engine::background thread(fast);
            seat on_first(first, rank(me), 10 + static_cast<std::uint64_t>(me), thread);
            seat on_second(second, rank(me), 20 + static_cast<std::uint64_t>(me), thread);
            std::mt19937 program(seed);                                     // the same for all
            std::mt19937 own(100 * seed + static_cast<std::uint32_t>(me));  // this rank's
            for (int i = 0; i < collectives; ++i) {
                seat& s = program() % 2 ? on_first : on_second;
                engine::intent what;
                what.use = choice[program() % choice.size()];
                what.what.what = what.use->what;
                what.what.ranks = ranks;
                what.what.root = rank(static_cast<std::int32_t>(program() % ranks));
                what.what.round_time = 10us;
                if (what.use->host_aware) what.what.hosts = parse_hosts("1,3", ranks);
                const auto units = static_cast<std::int64_t>(program() % 40);
                const bool all_say_when = program() % 2 == 0;
                what.bytes = units * static_cast<std::int64_t>(sizeof(testing::affine));
                what.type = what.op = 0;
                if (traits(what.what.what).irregular) what.bytes = engine::intent::unknown;
                memory_call c(what.what, me, units);
                if (own() % 3 == 0) s.expect(what);
                if (all_say_when && own() % 16 != 0) s.say_when(seat::testing_time() + 100us);
                if (own() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 300));
                s.run(what, c);
                const auto expected = testing::expected_output(what.what, me, units);
                if (!expected.empty() && c.output != expected) ++wrong;
            }
            early += on_first.begun_early() + on_second.begun_early();
        });
    }
    for (std::thread& t : processes) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(first.undelivered(UINT64_MAX) + second.undelivered(UINT64_MAX), 0U);
    return early;
}

/// A busy machine may keep the thread from running in time, so it gets several chances.
TEST(background, begins_early_what_ranks_come_late_to) {
    std::uint64_t early = 0;
    for (std::uint32_t seed = 1; seed <= 10 && early <= 100; ++seed) early += begun_early_in_a_thousand(seed);
    EXPECT_GT(early, 100U);
}

}  // namespace
}  // namespace rubato
