// Roll calls between ranks of one process. One thread moves all ranks, by small steps in random order; messages take
// any time, but stay in order between two ranks. Whatever happens, all ranks get the same verdict, nobody waits for
// ever, and nothing is left in the post.
#include "engine/execute/roll_call.hpp"

#include "rubato/algorithm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>

namespace rubato {
namespace {

using order = engine::roll_call::order;
using called = engine::roll_call::called;
using text = std::vector<std::int64_t>;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

/// Between all ranks.
class wires_between {
public:
    wires_between(std::int32_t ranks, std::uint64_t seed) : ranks_(ranks), wires_(at(ranks * ranks)), random_(seed) {}

    void send(rank from, rank to, text t) { wires_[at(from.value * ranks_ + to.value)].push_back(std::move(t)); }
    /// From any rank, now or later.
    bool receive(rank to, rank& from, text& t) {
        if (!prompt && random_() % 3 == 0) return false;
        const auto start = static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(ranks_));
        for (std::int32_t i = 0; i < ranks_; ++i) {
            from = rank((start + i) % ranks_);
            auto& wire = wires_[at(from.value * ranks_ + to.value)];
            if (wire.empty()) continue;
            t = std::move(wire.front());
            wire.pop_front();
            return true;
        }
        return false;
    }
    std::size_t left() const {
        return std::accumulate(wires_.begin(), wires_.end(), std::size_t{0},
                               [](std::size_t n, const auto& w) { return n + w.size(); });
    }

    bool prompt = false;

private:
    std::int32_t ranks_;
    std::vector<std::deque<text>> wires_;
    std::mt19937_64 random_;
};

class wire_post final : public engine::roll_call::post {
public:
    wire_post(wires_between& w, rank me) : wires_(w), me_(me) {}
    void send(rank to, text t) override { wires_.send(me_, to, std::move(t)); }
    bool receive(rank& from, text& t) override { return wires_.receive(me_, from, t); }

private:
    wires_between& wires_;
    rank me_;
};

/// Ranks, each with its side of the roll calls.
struct hall {
    explicit hall(std::int32_t n, std::uint64_t seed = 1) : ranks(n), wires(n, seed) {
        for (rank r; r.value < n; ++r.value) {
            posts.push_back(std::make_unique<wire_post>(wires, r));
            sides.emplace_back(r, n, *posts.back());
        }
    }
    engine::roll_call& operator[](std::int32_t r) { return sides[at(r)]; }
    void close() {
        wires.prompt = true;
        for (engine::roll_call& side : sides) EXPECT_TRUE(side.close());
        EXPECT_EQ(wires.left(), 0U);
    }

    std::int32_t ranks;
    wires_between wires;
    std::vector<std::unique_ptr<wire_post>> posts{};
    std::vector<engine::roll_call> sides{};
};

constexpr called allreduce_of_8{collective::allreduce, rank(0), 8};

order some_order(std::span<const rank> late) { return {7, 3, time_ns(50), time_ns(1000 + std::ssize(late))}; }

engine::roll_call::invocation invoked(std::uint64_t number, rank keeper, called what = allreduce_of_8,
                                      time_ns patience = time_ns(10)) {
    return {number, keeper, what, patience, some_order, std::nullopt};
}

std::vector<std::int32_t> numbers(const std::vector<rank>& ranks) {
    std::vector<std::int32_t> all;
    for (const rank r : ranks) all.push_back(r.value);
    return all;
}

/// Ranks come in this order, `gap` after each other; those of the keeper's patience are there.
void check_order(const std::vector<std::int32_t>& line, std::int32_t keeper, time_ns gap) {
    const auto n = static_cast<std::int32_t>(line.size());
    hall h(n);
    h.wires.prompt = true;
    std::vector<std::optional<engine::roll_call::verdict>> got(line.size());
    const time_ns end = gap * n + time_ns(100);
    for (time_ns now{}; now < end; now += time_ns(1)) {
        for (std::int32_t i = 0; i < n; ++i)
            if (now == gap * i) h[line[at(i)]].begin(invoked(5, rank(keeper)), now);
        for (std::int32_t r = 0; r < n; ++r)
            if (auto v = h[r].progress(now)) got[at(r)] = v;
    }
    const auto place = std::ranges::find(line, keeper) - line.begin();
    // Those who come within the patience after the one before, and within four times that after the keeper.
    std::vector<std::int32_t> late;
    for (std::ptrdiff_t i = place + 1; i < std::ssize(line); ++i)
        if (gap > time_ns(10) || gap * (i - place) > time_ns(40)) late.push_back(line[static_cast<std::size_t>(i)]);
    std::ranges::sort(late);
    for (const auto& v : got) {
        ASSERT_TRUE(v);
        EXPECT_EQ(*v, *got.front());
        EXPECT_EQ(numbers(v->late), late);
    }
    EXPECT_EQ(got.front()->how, some_order(got.front()->late));
    EXPECT_EQ(got.front()->number, 5U);
    h.close();
}

TEST(roll_call, every_order_of_arrival_with_every_keeper) {
    for (std::int32_t n = 1; n <= 6; ++n) {
        std::vector<std::int32_t> line(at(n));
        std::iota(line.begin(), line.end(), 0);
        do
            for (std::int32_t keeper = 0; keeper < n; ++keeper)
                for (const int gap : {0, 9, 15}) check_order(line, keeper, time_ns(gap));
        while (std::ranges::next_permutation(line).found);
    }
}

TEST(roll_call, many_ranks) {
    std::mt19937_64 random(3);
    for (const std::int32_t n : {7, 8, 33, 63, 64, 65, 130}) {
        std::vector<std::int32_t> line(at(n));
        std::iota(line.begin(), line.end(), 0);
        std::ranges::shuffle(line, random);
        for (const int gap : {0, 1, 9, 15}) check_order(line, line[random() % line.size()], time_ns(gap));
    }
}

TEST(roll_call, the_keeper_waits_no_longer_than_four_times_its_patience) {
    hall h(8);
    h.wires.prompt = true;
    h[0].begin(invoked(0, rank(0)), time_ns(0));
    for (std::int32_t i = 1; i < 7; ++i) {
        const time_ns now(i * 8);
        h[i].begin(invoked(0, rank(0)), now);
        const auto v = h[0].progress(now);
        ASSERT_EQ(v.has_value(), i == 5);
        if (v) {
            EXPECT_EQ(numbers(v->late), (std::vector<std::int32_t>{6, 7}));
            break;
        }
    }
}

TEST(roll_call, a_keeper_that_fails_says_native) {
    hall h(3);
    h.wires.prompt = true;
    engine::roll_call::invocation i = invoked(0, rank(1));
    i.decide = [](auto) -> order { throw std::bad_alloc(); };
    for (std::int32_t r = 0; r < 3; ++r) h[r].begin(i, time_ns{});
    for (const std::int32_t r : {1, 0, 2}) EXPECT_TRUE(h[r].progress(time_ns{}).value().is_native());
    h.close();
}

TEST(roll_call, wrong_arguments_on_any_rank_mean_native_at_once) {
    for (std::int32_t wrong = 0; wrong < 3; ++wrong) {
        hall h(4);
        h.wires.prompt = true;
        for (std::int32_t r = 0; r < 3; ++r) {
            // Of a rank whose arguments are wrong little else is known.
            const called bad{collective::bcast, rank(77), called::unknown, true};
            h[r].begin(invoked(0, rank(1), r == wrong ? bad : allreduce_of_8), time_ns{});
        }
        for (const std::int32_t r : {1, 0, 2}) EXPECT_TRUE(h[r].progress(time_ns{}).value().is_native());
        h[3].begin(invoked(0, rank(1)), time_ns(99));
        EXPECT_TRUE(h[3].progress(time_ns(99)).value().is_native());
        h.close();
    }
}

std::string thrown_by(engine::roll_call& side, time_ns now) {
    try {
        return side.progress(now) ? "a verdict" : "nothing";
    } catch (const error& e) {
        return e.what();
    }
}

TEST(roll_call, different_calls_are_an_error_on_all_ranks) {
    const called others[] = {{collective::bcast, rank(0), 8}, {collective::allreduce, rank(0), 9}};
    for (const called& odd : others)
        for (std::int32_t who = 0; who < 4; ++who) {
            hall h(5);
            h.wires.prompt = true;
            for (std::int32_t r = 0; r < 4; ++r)
                h[r].begin(invoked(2, rank(3), r == who ? odd : allreduce_of_8), time_ns{});
            for (const std::int32_t r : {3, 0, 1, 2})
                EXPECT_NE(thrown_by(h[r], time_ns{}).find("different collectives"), std::string::npos);
            h[4].begin(invoked(2, rank(3)), time_ns(99));
            EXPECT_NE(thrown_by(h[4], time_ns(99)).find("different collectives"), std::string::npos);
            // And it goes on.
            for (std::int32_t r = 0; r < 5; ++r) h[r].begin(invoked(3, rank(4)), time_ns(100));
            for (const std::int32_t r : {4, 0, 1, 2, 3}) EXPECT_EQ(thrown_by(h[r], time_ns(100)), "a verdict");
            h.close();
        }
}

TEST(roll_call, who_comes_late_with_another_call_is_told) {
    hall h(2);
    h.wires.prompt = true;
    h[0].begin(invoked(0, rank(0)), time_ns{});
    EXPECT_EQ(thrown_by(h[0], time_ns(10)), "a verdict");
    h[1].begin(invoked(0, rank(0), {collective::barrier}), time_ns(20));
    EXPECT_NE(thrown_by(h[1], time_ns(20)).find("rank 1 calls barrier, others allreduce of 8 bytes"),
              std::string::npos);
    h.close();
}

TEST(roll_call, roots_and_sizes_count_only_where_they_are_known_alike) {
    hall h(2);
    h.wires.prompt = true;
    h[0].begin(invoked(0, rank(0), {collective::allreduce, rank(0), 8}), time_ns{});
    h[1].begin(invoked(0, rank(0), {collective::allreduce, rank(1), called::unknown}), time_ns{});
    EXPECT_EQ(thrown_by(h[0], time_ns{}), "a verdict");
    EXPECT_EQ(thrown_by(h[1], time_ns{}), "a verdict");
    h.close();
}

TEST(roll_call, a_late_keeper_is_answered_for) {
    hall h(3);
    h.wires.prompt = true;
    engine::roll_call::invocation i = invoked(4, rank(2));
    i.in_any_case = order{9, 2, time_ns(5), time_ns(600)};
    EXPECT_FALSE(h[2].stand_in(4, time_ns(0)));
    h[0].begin(i, time_ns(0));
    EXPECT_TRUE(h[2].stand_in(4, time_ns(1)));
    EXPECT_FALSE(h[2].stand_in(3, time_ns(100)));  // others are ahead: not its turn yet
    EXPECT_EQ(thrown_by(h[0], time_ns(2)), "nothing");
    EXPECT_FALSE(h[2].stand_in(4, time_ns(12)));
    const auto v = h[0].progress(time_ns(12)).value();
    EXPECT_EQ(numbers(v.late), (std::vector<std::int32_t>{1, 2}));
    EXPECT_EQ(v.how, *i.in_any_case);
    h[2].begin(i, time_ns(50));
    EXPECT_EQ(h[2].progress(time_ns(50)).value(), v);
    h[1].begin(i, time_ns(60));
    EXPECT_EQ(h[1].progress(time_ns(60)).value(), v);
    h.close();
}

TEST(roll_call, a_late_keeper_that_must_decide_itself_is_waited_for) {
    hall h(2);
    h.wires.prompt = true;
    h[0].begin(invoked(0, rank(1)), time_ns(0));
    EXPECT_TRUE(h[1].stand_in(0, time_ns(1000)));
    EXPECT_EQ(thrown_by(h[0], time_ns(1000)), "nothing");
    h[1].begin(invoked(0, rank(1)), time_ns(2000));
    EXPECT_EQ(thrown_by(h[1], time_ns(2000)), "a verdict");
    EXPECT_EQ(thrown_by(h[0], time_ns(2000)), "a verdict");
    h.close();
}

TEST(roll_call, arrivals_of_a_verdict) {
    const engine::roll_call::verdict v{0, {.lateness = time_ns(70)}, {rank(1), rank(3)}};
    EXPECT_EQ(v.arrivals(4), (std::vector<time_ns>{time_ns(0), time_ns(70), time_ns(0), time_ns(70)}));
}

/// Invocations, some with a roll call and some without, ranks that run ahead, and wrong calls.
struct random_program {
    struct todo {
        bool rolls = true;
        rank keeper{};
        time_ns patience{};
        std::optional<rank> odd{};  // calls something else
        std::optional<rank> refused{};
        bool fails = false;  // the keeper
        bool waits = false;  // for all, as an allreduce does; else ranks run ahead
        bool any = false;    // the keeper can be answered for
    };
    struct process {
        std::size_t at = 0;
        int computes = 0;
        bool arrived = false;
        bool closed = false;
    };
    struct counts {
        std::uint64_t verdicts = 0, errors = 0, natives = 0, late = 0, stood_in = 0;
    };

    explicit random_program(std::uint64_t seed) : random(seed), n(1 + draw(8)), h(n, seed), processes(at(n)) {
        todos.resize(at(1 + draw(25)));
        for (todo& t : todos) {
            t.rolls = draw(3) > 0;
            t.keeper = rank(draw(n));
            t.patience = time_ns(draw(4) * draw(60));
            if (draw(20) == 0) t.odd = rank(draw(n));
            if (draw(20) == 0) t.refused = rank(draw(n));
            t.fails = draw(20) == 0;
            t.waits = draw(3) == 0;
            t.any = draw(2) == 0;
        }
        said.resize(todos.size());
        ended.resize(todos.size());
    }

    std::int32_t draw(std::int32_t k) { return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(k)); }

    called call_of(std::int32_t r, const todo& t) const {
        if (t.refused == rank(r)) return {collective::barrier, rank(-4), called::unknown, true};
        if (t.odd == rank(r)) return {collective::gather, rank(0), 3};
        return {collective::reduce, rank(0), 64};
    }

    void move(std::int32_t r) {
        process& p = processes[at(r)];
        if (p.closed) return;
        if (p.at == todos.size()) {
            if (!h[r].close()) return;
            p.closed = true;
            ++closed;
            return;
        }
        const todo& t = todos[p.at];
        if (!p.arrived) {
            if (t.any && draw(3) == 0) (void)h[r].stand_in(p.at, time_ns(now));
            if (p.computes-- > 0) return;
            p.arrived = true;
            if (!t.rolls) return;
            engine::roll_call::invocation i{p.at, t.keeper, call_of(r, t), t.patience, {}, {}};
            if (t.keeper == rank(r))
                i.decide = [&t](std::span<const rank> late) {
                    if (t.fails) throw std::runtime_error("no memory");
                    return some_order(late);
                };
            if (t.any) i.in_any_case = order{11, 1, time_ns(1), time_ns(2)};
            h[r].begin(i, time_ns(now));
        } else if (t.rolls && !waiting(p)) {
            try {
                const auto v = h[r].progress(time_ns(now));
                if (!v) return;
                note(r, fmt::format("{} {} {}", v->number, v->how.algorithm, fmt::join(numbers(v->late), ",")));
                seen.verdicts += 1;
                seen.natives += v->is_native();
                seen.late += v->late.size();
                seen.stood_in += v->how.algorithm == 11;
            } catch (const error&) {
                ++seen.errors;
                note(r, "different calls");
            }
            leave(p, t);
        } else if (!t.rolls || ended[p.at] == n) {
            leave(p, t);
        }
    }
    /// Whether it has its verdict, and waits for the others.
    bool waiting(const process& p) const { return p.computes == -100; }
    void leave(process& p, const todo& t) {
        if (t.rolls && t.waits) {
            if (!waiting(p)) {
                ++ended[p.at];
                p.computes = -100;
            }
            if (ended[p.at] < n) return;
        }
        ++p.at;
        p.arrived = false;
        p.computes = draw(3) == 0 ? draw(300) : draw(8);
    }
    /// Who calls something else may learn it alone, if it is late, or be the only one who does not, if it is there
    /// alone.
    void note(std::int32_t r, const std::string& what) {
        const std::size_t number = processes[at(r)].at;
        const todo& t = todos[number];
        if (t.odd == rank(r) || (t.odd && t.refused == rank(r))) return;
        if (said[number].empty()) said[number] = what;
        if (said[number] != what) wrong = fmt::format("{} is said, and {}", said[number], what);
    }

    std::string run() {
        for (std::uint64_t steps = 0; closed < n && wrong.empty(); ++steps) {
            now += draw(3) == 0;
            const std::int32_t r = draw(n);
            for (std::int32_t i = draw(6); i >= 0; --i) move(r);
            if (steps > 200000) wrong = "somebody waits for ever";
        }
        if (wrong.empty() && h.wires.left() > 0) wrong = "something is left in the post";
        return wrong;
    }

    std::mt19937_64 random;
    std::int32_t n;
    hall h;
    std::vector<process> processes;
    std::vector<todo> todos{};
    std::vector<std::string> said{};
    std::vector<std::int32_t> ended{};
    std::int32_t closed = 0;
    std::int64_t now = 0;
    counts seen{};
    std::string wrong{};
};

TEST(roll_call, random_programs_agree_and_end) {
    random_program::counts sum;
    for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
        random_program p(seed);
        ASSERT_EQ(p.run(), "") << "seed " << seed;
        sum.verdicts += p.seen.verdicts;
        sum.errors += p.seen.errors;
        sum.natives += p.seen.natives;
        sum.late += p.seen.late;
        sum.stood_in += p.seen.stood_in;
    }
    EXPECT_GT(sum.verdicts, 100000U);
    EXPECT_GT(sum.errors, 2000U);
    EXPECT_GT(sum.natives, 5000U);
    EXPECT_GT(sum.late, 20000U);
    EXPECT_GT(sum.stood_in, 2000U);
}

/// So late that a plan which can treat the late ones apart does, and making them later changes nothing.
TEST(roll_call, lateness_lets_the_others_finish_first) {
    for (const algorithm& a : algorithms()) {
        if (!a.arrival_aware || !a.has(need::round_time)) continue;
        problem p;
        p.what = a.what;
        p.ranks = 8;
        p.segments = a.segmented ? 12 : 1;
        p.round_time = time_ns(1000);
        if (a.host_aware) p.hosts = parse_hosts("4", p.ranks);
        const time_ns late = engine::lateness_in(p);
        const auto plans = [&](time_ns t) {
            problem q = p;
            q.arrivals.assign(8, time_ns{});
            q.arrivals[5] = t;
            std::vector<std::string> steps;
            for (const schedule& s : build_all(a, q))
                for (const step& each : s.steps)
                    steps.push_back(fmt::format("{} {}", static_cast<int>(each.kind), each.peer));
            return steps;
        };
        EXPECT_EQ(plans(late), plans(late * 8)) << a.id;
    }
    problem huge;
    huge.what = collective::alltoall;
    huge.ranks = 1 << 20;
    huge.segments = 4096;
    huge.round_time = longest_time;
    EXPECT_LE(engine::lateness_in(huge), longest_time);
    EXPECT_GT(engine::lateness_in(huge), time_ns{});
}

}  // namespace
}  // namespace rubato
