// Calls of an operation whose sizes differ, or are not known to all ranks.
#include "support/simulated_directors.hpp"

namespace rubato::direct_test {
namespace {

/// A v-form: the root alone knows how many bytes a call has.
program of_unequal_chunks(const std::function<std::int64_t(std::uint64_t call)>& bytes) {
    program p = late_rank(3);
    p.plans.front().id = "gatherv/sorted_linear_sync";
    p.what = [=](std::uint64_t call) { return dropin::directed_call{collective::gatherv, rank(0), 0, bytes(call)}; };
    // Times are in proportion to the size.
    const auto scaled = [=](std::uint64_t call, time_ns t) {
        return times(t, static_cast<double>(bytes(call)) / static_cast<double>(5 * (64 << 10)));
    };
    p.native_tail = [=](std::uint64_t call, const arrivals&) { return scaled(call, 40ms); };
    p.plans.front().tail = [=](std::uint64_t call, const arrivals& by, const arrivals& real) {
        return scaled(call, !by.empty() && last_of(by) == last_of(real) ? 10ms : 30ms);
    };
    return p;
}

constexpr std::int64_t usual_bytes = 5 * (64 << 10);

TEST(director, learns_sizes_that_not_all_know) {
    program p = of_unequal_chunks([](std::uint64_t call) { return usual_bytes + (call % 5) * (usual_bytes / 10); });
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(30), 0);
    EXPECT_LT(o.total, natively(p) - 27ms * 400);
    ASSERT_EQ(o.learned.size(), 1U);
    EXPECT_GE(o.learned.front().bytes, 64 << 10);
    EXPECT_LE(o.learned.front().bytes, 96 << 10);
    p.remembered = o.learned;
    const outcome again = directed(p);
    EXPECT_EQ(again.native_calls(0), 0);
    p.what = [](std::uint64_t) { return dropin::directed_call{collective::gatherv, rank(1), 0, usual_bytes}; };
    EXPECT_EQ(directed(p).native_calls(0), 0) << "another root";
    program larger = of_unequal_chunks([](std::uint64_t) { return 30 * usual_bytes; });
    larger.remembered = o.learned;
    EXPECT_GT(directed(larger).native_calls(0), 2) << "other sizes begin from nothing";
    EXPECT_EQ(directed(larger).native_calls(40), 0);
}

TEST(director, leaves_small_calls_alone_once_it_knows_that_they_are) {
    program p = of_unequal_chunks([](std::uint64_t call) { return call % 3 == 0 ? 0 : 1 << (call % 14); });
    p.native_tail = [](std::uint64_t, const arrivals&) { return time_ns(40ms); };
    p.calls = 5000;
    const outcome o = directed(p);
    EXPECT_EQ(o.native_calls(0), 5000);
    EXPECT_EQ(o.decisions(verdict::tried), 0U);
    EXPECT_EQ(o.chosen, 0ms);
    EXPECT_LT(o.exchanges, 20U) << "asking is rare";
}

TEST(director, follows_sizes_that_move_for_good) {
    for (const double factor : {0.1, 30.}) {
        program p = of_unequal_chunks([=](std::uint64_t call) {
            return call <= 200 ? usual_bytes : static_cast<std::int64_t>(factor * usual_bytes);
        });
        p.plans.front().promised = [](const arrivals&) { return time_ns(2ms); };
        p.calls = 600;
        const outcome o = directed(p);
        EXPECT_EQ(o.native_calls(30) - o.native_calls(200), 0) << factor;
        EXPECT_GT(o.native_calls(200), 2) << "it is measured anew";
        EXPECT_LT(o.native_calls(200), 40) << factor;
        EXPECT_EQ(o.used.back(), "gatherv/sorted_linear_sync") << factor;
        EXPECT_LT(o.total, natively(p)) << factor;
        ASSERT_EQ(o.learned.size(), 1U);
        EXPECT_EQ(o.learned.front().bytes, static_cast<std::int64_t>(factor * usual_bytes) / 5);
    }
}

/// Times of calls of other sizes are not compared, and it is not asked for sizes for ever.
TEST(director, keeps_its_promise_where_sizes_keep_changing) {
    for (const int most : {3, 6, 10}) {
        for (const time_ns real : {10ms, 60ms, 400ms}) {
            program p = of_unequal_chunks([=](std::uint64_t call) {
                return usual_bytes << base::splitmix(call).below(static_cast<std::uint64_t>(most));
            });
            p.plans.front().tail = [native = p.native_tail, real](std::uint64_t call, const arrivals&,
                                                                  const arrivals& all) {
                return native(call, all) * real.count() / time_ns(40ms).count();
            };
            p.calls = 3000;
            const outcome o = directed(p);
            EXPECT_LE(o.total, times(natively(p), 1.02)) << most << ", " << format_time(real);
            EXPECT_TRUE(o.exchanges < 250 || o.decisions(verdict::kept) > 0)
                << o.exchanges << ", " << most << ", " << format_time(real);
        }
    }
}

TEST(director, compares_like_with_like_where_sizes_change) {
    program p = late_rank(2);
    p.what = [](std::uint64_t call) {
        return dropin::directed_call{collective::reduce, rank(0), call <= 7 ? 300 << 10 : 500 << 10};
    };
    p.native_tail = [](std::uint64_t call, const arrivals&) { return time_ns(call <= 7 ? 30ms : 50ms); };
    p.plans.front().tail = [](std::uint64_t call, const arrivals&, const arrivals&) {
        return time_ns(call <= 7 ? 18ms : 30ms);
    };
    EXPECT_GE(directed(p).decisions(verdict::kept), 1U);
    EXPECT_EQ(directed(p).decisions(verdict::withdrawn), 0U);
}

}  // namespace
}  // namespace rubato::direct_test
