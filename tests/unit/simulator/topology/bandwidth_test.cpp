#include "simulator/topology/congestion.hpp"

#include "support/networks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace rubato::simulator {
namespace {

double mean_bandwidth(const routes& r, std::uint64_t patterns) {
    meter m(r);
    double sum = 0;
    for (std::uint64_t i = 0; i < patterns; ++i) sum += bandwidth_of(m, random_bisection(r.net().endpoints(), 1, i));
    return sum / double(patterns);
}

struct row {
    const char* network;
    double bandwidth;
    double index;  // 0: not as printed
};

// Hoefler 2008, Figure II.24, networks of depth 1.
TEST(effective_bisection_bandwidth, is_as_printed_at_depth_one) {
    for (const row& printed : {row{"crossbar=32,ports=512,oversubscription=1:1", 0.812, 496},
                               {"crossbar=24,ports=384,oversubscription=1:2", 0.581, 736},
                               {"crossbar=24,ports=432,oversubscription=1:3", 0.455, 1242},
                               {"crossbar=32,ports=768,oversubscription=1:3", 0.443, 2232},
                               {"crossbar=32,ports=672,oversubscription=11:21", 0.583, 0}}) {
        const network net = parse_network(std::string("fattree:depth=1,") + printed.network);
        const routes r = route(net, "modulo");
        EXPECT_NEAR(mean_bandwidth(r, 300), printed.bandwidth, 0.01 * printed.bandwidth) << printed.network;
        if (printed.index == 0) continue;
        const forwarding_index found = forwarding_index_of(r);
        EXPECT_EQ(found.mean, printed.index);
        EXPECT_EQ(found.sd, 0);
        EXPECT_EQ(double(found.min), printed.index);
        EXPECT_EQ(double(found.max), printed.index);
    }
}

// The source prints 1282, 63.04 and 1491 for this one, whose cables up do not divide the endpoints of a leaf.
TEST(forwarding_index, of_balanced_routing_is_as_printed) {
    const network net = parse_network("fattree:crossbar=32,ports=672,oversubscription=11:21,depth=1");
    const forwarding_index found = forwarding_index_of(route(net, "balanced"));
    EXPECT_NEAR(found.mean, 1282, 0.5);
    EXPECT_NEAR(found.sd, 63.04, 0.1);
    EXPECT_EQ(found.max, 1491U);
}

TEST(effective_bisection_bandwidth, is_full_on_a_crossbar) {
    const network net = parse_network("crossbar:ports=9");
    EXPECT_EQ(mean_bandwidth(route(net), 10), 1);
    EXPECT_EQ(forwarding_index_of(route(net)).max, 0U);
}

TEST(random_bisection, has_each_endpoint_once) {
    for (const vertex endpoints : {1U, 2U, 7U, 16U}) {
        std::vector<int> used(endpoints, 0);
        for (const connection& c : random_bisection(endpoints, 3, 5)) {
            ++used[c.from];
            ++used[c.to];
        }
        EXPECT_EQ(std::ranges::count(used, 1), endpoints / 2 * 2);
        EXPECT_EQ(std::ranges::count(used, 0), endpoints % 2);
    }
}

TEST(forwarding_index, is_what_counting_all_routes_gives) {
    for (const std::string& text : networks_to_try()) {
        const network net = parse_network(text);
        const routes r = route(net);
        std::vector<std::uint64_t> load(net.channels(), 0);
        const auto between_switches = [&](channel c) {
            return net.is_switch(net.tail(c)) && net.is_switch(net.head(c));
        };
        const auto for_all = [&](auto f) {
            for (vertex a = 0; a < net.endpoints(); ++a)
                for (vertex b = 0; b < net.endpoints(); ++b)
                    if (net.switch_of(a) != net.switch_of(b)) f(a, b);
        };
        for_all([&](vertex a, vertex b) { r.along(a, b, [&](channel c) { ++load[c]; }); });
        std::vector<double> values;
        for_all([&](vertex a, vertex b) {
            std::uint64_t most = 0;
            r.along(a, b, [&](channel c) { most = std::max(most, between_switches(c) ? load[c] : 0); });
            values.push_back(double(most));
        });
        const forwarding_index found = forwarding_index_of(r);
        if (values.empty()) {
            EXPECT_EQ(found.max, 0U);
            continue;
        }
        const double mean = std::accumulate(values.begin(), values.end(), 0.) / double(values.size());
        double squares = 0;
        for (const double v : values) squares += (v - mean) * (v - mean);
        EXPECT_NEAR(found.mean, mean, 1e-9 * mean) << text;
        EXPECT_NEAR(found.sd, std::sqrt(squares / double(values.size())), 1e-6 * mean) << text;
        EXPECT_EQ(double(found.min), std::ranges::min(values)) << text;
        EXPECT_EQ(double(found.max), std::ranges::max(values)) << text;
    }
}

}  // namespace
}  // namespace rubato::simulator
