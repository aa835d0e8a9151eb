// Several ranks per host: proven for every order of arrival, with hosts of every kind; and who speaks to other hosts.
#include "rubato/problem.hpp"

#include "engine/execute/plan_cache.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "support/error_text.hpp"
#include "support/problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace rubato::base {
namespace {

std::vector<const algorithm*> host_aware() {
    std::vector<const algorithm*> all;
    for (const algorithm& a : algorithms())
        if (a.host_aware) all.push_back(&a);
    return all;
}

class host_drawer {
public:
    explicit host_drawer(unsigned seed) : random_(seed) {}

    std::int32_t below(std::int32_t n) { return static_cast<std::int32_t>(random_() % static_cast<unsigned>(n)); }
    std::vector<std::int32_t> hosts(std::int32_t ranks) {
        const std::int32_t most = 1 + below(ranks);
        std::vector<std::int32_t> any;
        for (std::int32_t r = 0; r < ranks; ++r) any.push_back(below(most));
        return numbered_hosts(any);
    }

private:
    std::mt19937 random_;
};

void expect_right(const algorithm& a, const problem& p) {
    const auto findings = verify(p, build_all(a, p), false, a.same_bits);
    std::vector<std::int64_t> arrivals;
    for (const time_ns t : p.arrivals) arrivals.push_back(t.count());
    ASSERT_TRUE(findings.empty()) << fmt::format("{}: root {}, {} segments, hosts {}, arrivals {}, rounds of {}: {}",
                                                 a.id, p.root.value, p.segments, fmt::join(p.hosts, ","),
                                                 fmt::join(arrivals, ","), p.round_time.count(), findings.front());
}

TEST(two_level, is_right_in_every_order_of_a_few_ranks) {
    EXPECT_EQ(host_aware().size(), 10);
    host_drawer draw(1);
    for (const algorithm* a : host_aware()) {
        for (std::int32_t ranks = 1; ranks <= 6; ++ranks) {
            problem p = problem_for(*a, ranks);
            for (std::int32_t r = 0; r < ranks; ++r) p.arrivals.emplace_back(r);
            do {
                p.root = rank(draw.below(traits(a->what).rooted ? ranks : 1));
                p.hosts = draw.hosts(ranks);
                p.segments = static_cast<std::uint32_t>(a->segmented ? 1 + draw.below(2 * ranks) : 1);
                p.round_time = time_ns(1 + draw.below(3));
                expect_right(*a, p);
                if (HasFatalFailure()) return;
            } while (std::ranges::next_permutation(p.arrivals).found);
        }
    }
}

TEST(two_level, is_right_with_random_hosts_of_many_ranks) {
    host_drawer draw(2);
    for (const algorithm* a : host_aware()) {
        for (std::int32_t ranks = 2; ranks <= 33; ++ranks) {
            for (int i = 0; i < 4; ++i) {
                problem p = problem_for(*a, ranks, traits(a->what).rooted ? draw.below(ranks) : 0);
                for (std::int32_t r = 0; r < ranks && i > 0; ++r) p.arrivals.emplace_back(draw.below(20));
                p.hosts = draw.hosts(ranks);
                p.segments = static_cast<std::uint32_t>(a->segmented ? 1 + draw.below(9) : 1);
                p.round_time = time_ns(1 + draw.below(10));
                expect_right(*a, p);
                if (HasFatalFailure()) return;
            }
        }
    }
}

struct crossing {
    std::set<std::int32_t> ranks;  // that send to another host
    std::int64_t bytes = 0;
    std::int64_t messages = 0;
};

crossing between_hosts(const algorithm& a, const problem& p, std::int64_t chunk) {
    const layout sizes = layout::uniform(chunk);
    const std::vector<schedule> all = build_all(a, p);
    crossing c;
    for (std::int32_t r = 0; r < p.ranks; ++r)
        for (const step& s : all[static_cast<std::size_t>(r)].steps) {
            if (s.kind != step_kind::send) continue;
            if (p.hosts[static_cast<std::size_t>(s.peer)] == p.hosts[static_cast<std::size_t>(r)]) continue;
            c.ranks.insert(r);
            c.bytes += sizes.length(all[static_cast<std::size_t>(r)], s);
            ++c.messages;
        }
    return c;
}

bool is_first_of_host(const problem& p, std::int32_t me) {
    const auto mine = static_cast<std::size_t>(me);
    for (std::size_t r = 0; r < p.arrivals.size(); ++r)
        if (p.hosts[r] == p.hosts[mine] && p.arrivals[r] < p.arrivals[mine]) return false;
    return true;
}

/// Edges from one host to another, and how many different ends they have.
struct crossing_edges {
    std::int64_t edges = 0;
    std::int64_t ranks_to_hosts = 0;
    std::int64_t pairs_of_hosts = 0;
};
crossing_edges edges_between_hosts(const problem& p) {
    crossing_edges all;
    std::set<std::pair<std::int32_t, std::int32_t>> ranks_to_hosts;
    std::set<std::pair<std::int32_t, std::int32_t>> pairs_of_hosts;
    for (std::int32_t r = 0; r < p.ranks; ++r) {
        for (const neighbour& n : p.neighbours->destinations(rank(r))) {
            if (!n.exists()) continue;
            const std::int32_t here = p.hosts[static_cast<std::size_t>(r)];
            const std::int32_t there = p.hosts[static_cast<std::size_t>(n.rank)];
            if (here == there) continue;
            ++all.edges;
            ranks_to_hosts.emplace(r, there);
            pairs_of_hosts.emplace(here, there);
        }
    }
    all.ranks_to_hosts = std::ssize(ranks_to_hosts);
    all.pairs_of_hosts = std::ssize(pairs_of_hosts);
    return all;
}

/// Hosts of 3, 1, 4 and 2 ranks, dealt or one after the other; rank 5 is the root.
problem uneven(const algorithm& a, const std::vector<std::int32_t>& hosts, host_drawer& draw) {
    problem p = problem_for(a, 10, traits(a.what).rooted ? 5 : 0);
    p.hosts = hosts;
    for (std::int32_t r = 0; r < p.ranks; ++r) p.arrivals.emplace_back(draw.below(1000) * 1000);
    p.round_time = time_ns(10);
    return p;
}

TEST(two_level, has_one_rank_of_a_host_speak_to_others_and_sends_no_more_than_it_must) {
    constexpr std::int64_t chunk = 1200;
    host_drawer draw(3);
    for (const algorithm* a : host_aware()) {
        for (const auto& hosts :
             {parse_hosts("3,1,4,2", 10), std::vector<std::int32_t>{0, 1, 2, 2, 0, 3, 2, 0, 3, 2}}) {
            const problem p = uneven(*a, hosts, draw);
            const crossing c = between_hosts(*a, p, chunk);
            std::set<std::int32_t> speaking;
            for (const std::int32_t r : c.ranks) speaking.insert(hosts[static_cast<std::size_t>(r)]);
            EXPECT_EQ(c.ranks.size(), speaking.size()) << a->id << ": two ranks of a host speak to others";
            for (const std::int32_t r : c.ranks)
                EXPECT_TRUE((traits(a->what).rooted && r == 5) || is_first_of_host(p, r)) << a->id << ": rank " << r;
            const auto with_root = std::ranges::count(hosts, hosts[5]);
            switch (a->what) {
                case collective::bcast:
                case collective::reduce: EXPECT_EQ(c.bytes, 3 * chunk) << a->id; break;
                case collective::allreduce: EXPECT_LE(c.bytes, 8 * chunk) << a->id; break;
                case collective::scatter:
                case collective::gather: EXPECT_EQ(c.bytes, (10 - with_root) * chunk) << a->id; break;
                case collective::allgather: EXPECT_EQ(c.bytes, 3 * 10 * chunk) << a->id; break;
                case collective::neighbor_alltoall:
                case collective::neighbor_allgather: {
                    const crossing_edges all = edges_between_hosts(p);
                    EXPECT_EQ(c.messages, all.pairs_of_hosts) << a->id;
                    const bool alltoall = a->what == collective::neighbor_alltoall;
                    EXPECT_EQ(c.bytes, (alltoall ? all.edges : all.ranks_to_hosts) * chunk) << a->id;
                    break;
                }
                default: FAIL() << a->id << " is new here: say what it sends";
            }
        }
    }
}

TEST(two_level, sends_a_host_one_message_if_its_ranks_come_together) {
    for (const std::string_view id : {"scatter/two_level", "gather/two_level"}) {
        const algorithm& a = find_algorithm(id);
        problem p = problem_for(a, 12, 4);
        p.hosts = parse_hosts("cyclic:4", 12);
        EXPECT_EQ(between_hosts(a, p, 8).messages, 3) << id;
    }
}

TEST(two_level, packs_nothing_that_lies_in_line) {
    for (const std::string_view id : {"scatter/two_level", "gather/two_level"}) {
        const algorithm& a = find_algorithm(id);
        problem p = problem_for(a, 12, 4);
        p.hosts = parse_hosts("4", 12);
        p.arrivals = {time_ns(2), time_ns(1), time_ns(0)};
        p.arrivals.resize(12);
        p.round_time = time_ns(10);
        EXPECT_TRUE(build_one(a, p, p.root).scratch.empty()) << id;
    }
}

TEST(two_level, gathers_what_comes_late_in_a_message_of_its_own) {
    const algorithm& a = find_algorithm("gather/two_level");
    problem p = problem_for(a, 8);
    p.hosts = parse_hosts("2", 8);
    p.arrivals.assign(8, time_ns{});
    p.arrivals[6] = time_ns(500);
    p.round_time = time_ns(100);
    EXPECT_EQ(between_hosts(a, p, 8).messages, 2);
    p.round_time = time_ns(500);
    EXPECT_EQ(between_hosts(a, p, 8).messages, 1);
}

TEST(hosts, are_read_in_three_forms) {
    using list = std::vector<std::int32_t>;
    EXPECT_EQ(parse_hosts("", 3), list());
    EXPECT_EQ(parse_hosts("1", 3), (list{0, 0, 0}));
    EXPECT_EQ(parse_hosts("2", 5), (list{0, 0, 0, 1, 1}));
    EXPECT_EQ(parse_hosts("cyclic:2", 5), (list{0, 1, 0, 1, 0}));
    EXPECT_EQ(parse_hosts("3,1,2", 6), (list{0, 0, 0, 1, 2, 2}));
    for (const char* wrong : {"0", "4", "x", "cyclic:0", "cyclic:", "cyclic:4", "1,1", "1,,1", "2,2", "-1,4"})
        EXPECT_THROW((void)parse_hosts(wrong, 3), error) << wrong;
    EXPECT_EQ(numbered_hosts(std::vector<std::string>{"b", "a", "b", "c"}), (list{0, 1, 0, 2}));
    for (std::int32_t ranks = 1; ranks <= 9; ++ranks)
        for (const std::string& text : hosts_to_try(ranks)) {
            problem p = problem_for(find_algorithm("bcast/two_level"), ranks);
            p.hosts = parse_hosts(text, ranks);
            EXPECT_NO_THROW(check(p)) << text;
        }
}

TEST(hosts, that_make_no_sense_are_refused) {
    problem p = problem_for(find_algorithm("bcast/two_level"), 3);
    const auto refusal = [&p](std::vector<std::int32_t> hosts) {
        p.hosts = std::move(hosts);
        return error_text([&p] { check(p); });
    };
    EXPECT_NE(refusal({0, 1}).find("hosts of 2 ranks, and there are 3"), std::string::npos);
    EXPECT_NE(refusal({0, 2, 1}).find("host 2 where 1 is the next new one"), std::string::npos);
    EXPECT_NE(refusal({1, 0, 0}).find("host 1 where 0"), std::string::npos);
    EXPECT_NE(refusal({0, -1, 1}).find("host -1"), std::string::npos);
    EXPECT_EQ(refusal({0, 1, 0}), "no error");
}

TEST(hosts, are_part_of_plans_that_use_them_and_of_no_others) {
    const algorithm& two_level = find_algorithm("bcast/two_level");
    const algorithm& chain = find_algorithm("bcast/chain");
    problem p = problem_for(two_level, 6);
    p.hosts = parse_hosts("2", 6);
    problem other = p;
    other.hosts = parse_hosts("3", 6);
    engine::plan_cache plans(rank(0));
    EXPECT_NE(plans.get(two_level, p), plans.get(two_level, other));
    EXPECT_EQ(plans.get(two_level, p), plans.get(two_level, p));
    EXPECT_EQ(plans.get(chain, p), plans.get(chain, other));
}

TEST(hosts, have_links_of_their_own_in_a_simulation) {
    const auto exits = [](const model& network, const model& inside) {
        const std::vector<layout> sizes{layout::uniform(5)};
        const std::vector<time_ns> together(3);
        const std::vector<std::int32_t> hosts{0, 0, 1};
        const algorithm& a = find_algorithm("bcast/linear");
        const simulation s =
            simulate(network, build_all(a, problem_for(a, 3)), sizes, together, {false, false, hosts, &inside});
        return std::vector<std::int64_t>{s.exits[0].count(), s.exits[1].count(), s.exits[2].count()};
    };
    using times = std::vector<std::int64_t>;
    EXPECT_EQ(exits({hockney{100, 1, 0}}, {hockney{10, 2, 0}}), (times{125, 20, 125}));
    EXPECT_EQ(exits({loggp{100, 10, 0, 1}}, {loggp{1, 2, 0, 0}}), (times{16, 5, 126}));
    EXPECT_EQ(exits({loggp5{100, 10, 1}}, {loggp5{1, 2, 0}}), (times{17, 5, 127}));
    EXPECT_THROW(exits({hockney{100, 1, 0}}, {loggp5{1, 2, 0}}), error);
}

/// What hosts are worth: within them messages are cheap, so what matters is how many cross between them.
TEST(two_level, ends_sooner_than_without_hosts_where_messages_within_are_cheap) {
    const model network{hockney{20'000, 160, 0}};
    const model inside{hockney{500, 1, 0}};
    const std::vector<layout> sizes{layout::uniform(64 << 10)};
    const auto end = [&](std::string_view id, bool late) {
        const algorithm& a = find_algorithm(id);
        problem p = problem_for(a, 16);
        p.hosts = parse_hosts("cyclic:4", 16);
        p.segments = a.segmented ? 16 : 1;
        p.round_time = time_ns(20'000 + 160 * (64 << 10) / 16);
        p.arrivals.resize(16);
        if (late) p.arrivals[6] = time_ns(100'000'000);
        return std::ranges::max(
            simulate(network, build_all(a, p), sizes, p.arrivals, {false, false, p.hosts, &inside}).exits);
    };
    for (const bool late : {false, true}) {
        EXPECT_LT(end("reduce/two_level", late), end("reduce/binomial", late));
        EXPECT_LT(end("bcast/two_level", late), end("bcast/sorted_chain", late));
        EXPECT_LT(end("allgather/two_level", late), end("allgather/ring", late));
        EXPECT_LT(end("scatter/two_level", late), end("scatter/sorted_linear", late));
        EXPECT_LT(end("gather/two_level", late), end("gather/sorted_linear_sync", late));
    }
    EXPECT_LT(end("allreduce/two_level", false), end("allreduce/ring", false));
}

}  // namespace
}  // namespace rubato::base
