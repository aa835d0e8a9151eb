// LogfGP (Hoefler 2008, II.2.3): the first f messages in a row pay no gap, and those after the first take less of the
// CPU. Times are computed by hand.
#include "rubato/algorithm.hpp"
#include "rubato/simulate.hpp"
#include "support/hand_made.hpp"
#include "support/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::simulator {
namespace {

using testing::registered;

using std::chrono_literals::operator""ns;
using times = std::vector<time_ns>;

times exits(const model& m, const std::vector<schedule>& all, std::int64_t bytes) {
    const layout sizes = layout::uniform(bytes);
    const times arrivals(all.size());
    return rubato::simulate(m, all, std::span(&sizes, 1), arrivals).exits;
}

const model three_free = parse_model("logfgp:L=1us,omin=40ns,omax=100ns,g=150ns,G=2ns,f=3");

// The CPU is done with the sends at 100, 140, 180, 220, 260. The fourth leaves a gap after the first, at 250, the fifth
// at 400 (Eq. II.4).
TEST(simulate_logfgp, the_first_messages_pay_no_gap) {
    EXPECT_EQ(exits(three_free, hand_made::flat_bcast(6), 1), (times{400ns, 1200ns, 1240ns, 1280ns, 1350ns, 1500ns}));
    // 20 ns of bytes each: 100, 140, 180, then 100 + 3 * 20 + 150 and 100 + 4 * 20 + 2 * 150.
    EXPECT_EQ(exits(three_free, hand_made::flat_bcast(6), 11), (times{500ns, 1220ns, 1260ns, 1300ns, 1430ns, 1600ns}));
    // The bytes of the messages that pay no gap do not overlap: they leave at 100, 300, 500.
    EXPECT_EQ(exits(three_free, hand_made::flat_bcast(4), 101), (times{700ns, 1400ns, 1600ns, 1800ns}));
}

// Three messages come at 1100, 1140 and 1180. The CPU receives the first until 1200 and comes from it to the others.
TEST(simulate_logfgp, receives_in_a_row_take_less_too) {
    EXPECT_EQ(exits(three_free, testing::registered("barrier/n_way_dissemination", 4, {3}), 0), times(4, 1280ns));
    // As in LogGP they would leave at 100, 250, 400 and take 100 each.
    const model plain = parse_model("loggp:L=1us,o=100ns,g=150ns,G=2ns");
    EXPECT_EQ(exits(plain, testing::registered("barrier/n_way_dissemination", 4, {3}), 0), times(4, 1500ns));
}

TEST(simulate_logfgp, a_pause_ends_a_row) {
    EXPECT_EQ(exits(three_free, testing::registered("barrier/dissemination", 4), 0), times(4, 2400ns));
    // A long gap: sent at 100, received at 250; the next send is one of a row: it leaves at 290, received at 440. The
    // third message would wait for the end of the first gap: 1100 - 1000 + 1000.
    const model slow = parse_model("logfgp:L=50ns,omin=40ns,omax=100ns,g=1us,G=0,f=2");
    EXPECT_EQ(exits(slow, testing::registered("barrier/dissemination", 4), 0), times(4, 440ns));
    EXPECT_EQ(exits(slow, testing::registered("barrier/dissemination", 8), 0), times(4 + 4, 1250ns));
}

TEST(simulate_logfgp, one_free_message_and_equal_bounds_are_loggp) {
    const model f = parse_model("logfgp:L=1us,omin=100ns,omax=100ns,g=150ns,G=2ns,f=1,combine=1ns,rendezvous=200");
    const model plain = parse_model("loggp:L=1us,o=100ns,g=150ns,G=2ns,combine=1ns,rendezvous=200");
    for (const char* id : {"bcast/binomial", "bcast/linear", "allreduce/ring", "alltoall/direct", "reduce/binary"})
        for (const std::int32_t ranks : {1, 2, 5, 16})
            for (const std::int64_t bytes : {0, 10, 1000})
                EXPECT_EQ(exits(f, testing::registered(id, ranks), bytes),
                          exits(plain, testing::registered(id, ranks), bytes))
                    << id;
}

TEST(simulate_logfgp, more_free_messages_take_no_longer) {
    for (const char* id : {"bcast/binomial", "bcast/linear", "alltoall/direct", "barrier/n_way_dissemination"}) {
        time_ns before = time_ns::max();
        for (const char* f : {"1", "2", "5", "20", "1048576"}) {
            const model m = parse_model(std::string("logfgp:L=1us,omin=40ns,omax=100ns,g=5us,G=2ns,f=") + f);
            const time_ns end = std::ranges::max(exits(m, testing::registered(id, 16), 10));
            EXPECT_LE(end, before) << id << " f=" << f;
            before = end;
        }
    }
}

}  // namespace
}  // namespace rubato::simulator
