#include "engine/execute/loss_watch.hpp"

#include <gtest/gtest.h>

namespace rubato {
namespace {

/// As if another rank had lost nothing, or everything.
class fixed_sum final : public engine::loss_watch::sum {
public:
    explicit fixed_sum(engine::loss_watch::tally others) : others_(others) {}
    void begin(const engine::loss_watch::tally& mine) override {
        EXPECT_FALSE(under_way_);
        under_way_ = true;
        mine_ = mine;
    }
    engine::loss_watch::tally end() override {
        EXPECT_TRUE(under_way_);
        under_way_ = false;
        return {mine_.heard + others_.heard, mine_.missed + others_.missed};
    }
    bool under_way() const { return under_way_; }

private:
    engine::loss_watch::tally others_;
    engine::loss_watch::tally mine_{};
    bool under_way_ = false;
};

/// How many of these calls are multicast.
std::int64_t cast_of(engine::loss_watch& watch, fixed_sum& sum, std::int64_t calls, engine::loss_watch::tally each) {
    std::int64_t cast = 0;
    for (std::int64_t n = 0; n < calls; ++n)
        if (watch.casts(sum)) {
            ++cast;
            watch.add(each);
        }
    return cast;
}

TEST(loss_watch, goes_on_while_little_is_lost) {
    engine::loss_watch watch(0.5);
    fixed_sum sum({});
    EXPECT_EQ(cast_of(watch, sum, 10000, {.heard = 1, .missed = 1}), 10000);
    EXPECT_FALSE(watch.rests());
    EXPECT_DOUBLE_EQ(watch.lost(), 0.5);
    watch.finish(sum);
    EXPECT_FALSE(sum.under_way());
}

TEST(loss_watch, rests_after_two_periods_and_tries_again) {
    engine::loss_watch watch(0.5);
    fixed_sum sum({});
    EXPECT_EQ(cast_of(watch, sum, 2 * engine::loss_watch::period, {.heard = 1, .missed = 2}),
              2 * engine::loss_watch::period);
    EXPECT_FALSE(watch.rests());
    EXPECT_EQ(cast_of(watch, sum, engine::loss_watch::rest, {}), 0);
    EXPECT_TRUE(watch.rests());
    EXPECT_EQ(cast_of(watch, sum, 100, {.heard = 1}), 100);
    EXPECT_FALSE(watch.rests());
    watch.finish(sum);
}

TEST(loss_watch, what_others_lose_counts) {
    engine::loss_watch watch(0.25);
    fixed_sum sum({.heard = 0, .missed = 10});
    EXPECT_EQ(cast_of(watch, sum, 1000, {.heard = 1}), 2 * engine::loss_watch::period);
    EXPECT_TRUE(watch.rests());
}

TEST(loss_watch, a_share_of_one_is_never_exceeded) {
    engine::loss_watch watch(1);
    fixed_sum sum({});
    EXPECT_EQ(cast_of(watch, sum, 1000, {.missed = 1}), 1000);
    watch.finish(sum);
}

}  // namespace
}  // namespace rubato
