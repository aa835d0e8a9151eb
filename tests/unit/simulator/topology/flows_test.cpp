#include "simulator/topology/flows.hpp"

#include "base/core/splitmix.hpp"
#include "rubato/algorithm.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "support/networks.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

// No channel carries more than its rate, and every transfer has a full channel on which none is faster.
TEST(flows, share_cables_fairly) {
    for (const std::string& text : networks_to_try()) {
        const network net = parse_network(text);
        if (net.endpoints() < 2) continue;
        const routes r = route(net);
        flows f(r, 1);
        base::splitmix random(3);
        for (int i = 0; i < 60; ++i) {
            const auto from = vertex(random.below(net.endpoints()));
            const auto to = vertex(random.below(net.endpoints()));
            if (from != to) f.start(from, to, 1000, 0);
        }
        std::vector<double> sum(net.channels(), 0);
        std::vector<double> fastest(net.channels(), 0);
        for (const flows::transfer& t : f.under_way())
            for (const channel c : t.path) {
                sum[c] += t.rate;
                fastest[c] = std::max(fastest[c], t.rate);
            }
        for (const double s : sum) ASSERT_LE(s, 1 + 1e-9) << text;
        for (const flows::transfer& t : f.under_way())
            ASSERT_TRUE(std::ranges::any_of(t.path, [&](channel c) {
                return sum[c] > 1 - 1e-9 && t.rate > fastest[c] - 1e-9;
            })) << text;
    }
}

TEST(flows, end_when_their_bytes_have_passed) {
    const network net = parse_network("crossbar:ports=3");
    const routes r = route(net);
    flows f(r, 2);
    std::vector<std::uint64_t> ended;
    f.run_until(100, ended);
    EXPECT_EQ(f.next_end(), flows::never);
    f.start(0, 2, 10, 7);
    EXPECT_EQ(f.next_end(), 120);
    f.run_until(110, ended);
    EXPECT_TRUE(ended.empty());
    f.start(1, 2, 10, 8);  // both at half the rate from now on
    EXPECT_EQ(f.next_end(), 130);
    f.run_until(130, ended);
    EXPECT_EQ(ended, std::vector<std::uint64_t>{7});
    EXPECT_EQ(f.next_end(), 140);
}

// The first of each endpoint come first; what they do not need is for the next.
TEST(flows, in_turn_get_what_is_left) {
    const network net = parse_network("fattree:crossbar=5,ports=8,oversubscription=1:4");  // one cable up per leaf
    const routes r = route(net);
    flows f(r, 1);
    const auto rates = [&f] {
        std::vector<double> all;
        for (const flows::transfer& t : f.under_way()) all.push_back(t.rate);
        return all;
    };
    f.start(0, 4, 1000, 0, true);
    f.start(1, 5, 1000, 1, true);  // by the same uplink
    f.start(0, 1, 1000, 2, true);
    f.start(0, 2, 1000, 3, true);
    EXPECT_EQ(rates(), (std::vector<double>{0.5, 0.5, 0.5, 0}));
    f.start(0, 3, 1000, 4);  // does not wait for its turn
    EXPECT_EQ(rates(), (std::vector<double>{0.5, 0.5, 0, 0, 0.5}));
    std::vector<std::uint64_t> ended;
    f.run_until(f.next_end(), ended);
    EXPECT_EQ(ended, (std::vector<std::uint64_t>{0, 1, 4}));
    EXPECT_EQ(rates(), (std::vector<double>{1, 0}));
}

struct setting {
    const char* id;
    std::int32_t ranks;
};

std::vector<time_ns> exits(const setting& s, const model& m, const network* net, std::span<const time_ns> arrivals) {
    const algorithm& a = find_algorithm(s.id);
    problem p;
    p.what = a.what;
    p.ranks = s.ranks;
    p.segments = 3;
    p.arrivals.assign(arrivals.begin(), arrivals.end());
    if (!a.segmented) p.segments = 1;
    const layout sizes = layout::uniform(100000);
    schedules::shape_table shapes = shapes_of(a, p, std::span(&sizes, 1));
    if (net == nullptr) return simulate(m, shapes, arrivals).exits;
    const routes r = route(*net);
    return simulate_on(r, linear_mapping(std::uint32_t(s.ranks), net->endpoints()), m, shapes, arrivals).exits;
}

// Hockney's ports carry one message at a time, so on one switch none shares a cable.
TEST(simulate_on, a_crossbar_is_what_the_model_says) {
    const model m = parse_model("hockney:alpha=2us,beta=1ns,gamma=0.5ns");
    const network net = parse_network("crossbar:ports=9");
    for (const char* id : {"reduce/binomial", "allreduce/ring", "bcast/chain", "alltoall/pairwise",
                           "barrier/dissemination", "allgather/bruck", "gather/linear"})
        for (const std::int32_t ranks : {1, 2, 5, 9}) {
            std::vector<time_ns> arrivals(std::size_t(ranks), time_ns{});
            arrivals.back() = time_ns(70000);
            EXPECT_EQ(exits({id, ranks}, m, &net, arrivals), exits({id, ranks}, m, nullptr, arrivals))
                << id << ' ' << ranks;
        }
}

TEST(simulate_on, messages_that_share_no_cable_take_what_loggp_says) {
    const network net = parse_network("tree:k=2,n=3");
    const std::vector<time_ns> together(8);
    for (const char* text : {"loggp:L=5us,o=1us,g=1us,G=1ns", "loggp:L=5us,o=1us,g=1us,G=1ns,rendezvous=1KiB"})
        for (const char* id : {"bcast/binomial", "reduce/chain"}) {
            const model m = parse_model(text);
            const std::vector<time_ns> here = exits({id, 8}, m, &net, together);
            const std::vector<time_ns> there = exits({id, 8}, m, nullptr, together);
            for (std::size_t i = 0; i < 8; ++i)
                EXPECT_NEAR(double(here[i].count()), double(there[i].count()), 0.01 * double(there[i].count()))
                    << id << ' ' << text;
        }
}

// Where a rank has one message at a time, a switch changes nothing, whatever the model.
TEST(simulate_on, one_message_at_a_time_takes_what_each_model_says) {
    const network net = parse_network("crossbar:ports=8");
    for (const char* text :
         {"hockney:alpha=2us,beta=1ns,gamma=0.5ns", "loggp:L=5us,o=1us,g=1us,G=1ns,combine=0.1ns",
          "loggp:L=5us,o=1us,g=1us,G=1ns,rendezvous=1KiB", "logfgp:L=5us,omin=0.5us,omax=1us,g=1us,G=1ns,f=4",
          "loggp5:L=5us,o=1us,G=1ns", "loggops:L=5us,o=1us,g=1us,G=1ns", "loggops:L=500us,o=1us,g=1us,G=1ns,S=1MiB"})
        for (const char* id : {"barrier/dissemination", "bcast/linear", "reduce/binomial"}) {
            const model m = parse_model(text);
            const std::vector<time_ns> two{time_ns(), time_ns(3000)};
            EXPECT_EQ(exits({id, 2}, m, &net, two), exits({id, 2}, m, nullptr, two)) << id << ' ' << text;
        }
}

TEST(simulate_on, messages_that_share_a_cable_take_longer) {
    // Four endpoints per leaf, and one cable up.
    const network narrow = parse_network("fattree:crossbar=5,ports=8,oversubscription=1:4");
    const network wide = parse_network("crossbar:ports=8");
    const std::vector<time_ns> together(8);
    for (const char* text : {"hockney:alpha=2us,beta=1ns,gamma=0", "loggp:L=5us,o=1us,g=1us,G=1ns",
                             "logfgp:L=5us,omin=0.5us,omax=1us,g=1us,G=1ns,f=4", "loggp5:L=5us,o=1us,G=1ns"}) {
        const model m = parse_model(text);
        const auto end = [&](const network& net) {
            return std::ranges::max(exits({"alltoall/pairwise", 8}, m, &net, together));
        };
        EXPECT_GT(end(narrow), 2 * end(wide)) << text;
    }
}

TEST(simulate_on, ranks_of_an_endpoint_share_its_cable) {
    const network net = parse_network("crossbar:ports=2");
    const model m = parse_model("loggp:L=0,o=0,g=0,G=1ns");
    const std::vector<time_ns> together(4);
    // Ranks 0 and 1 on one endpoint send to 2 and 3 on the other: twice as long as one would take.
    const std::vector<time_ns> two = exits({"allreduce/recursive_doubling", 4}, m, &net, together);
    const network four = parse_network("crossbar:ports=4");
    const std::vector<time_ns> each = exits({"allreduce/recursive_doubling", 4}, m, &four, together);
    EXPECT_EQ(each[0].count(), 2 * 99999);
    EXPECT_EQ(two[0].count(), 99999 + 2 * 99999);
}

}  // namespace
}  // namespace rubato::simulator
