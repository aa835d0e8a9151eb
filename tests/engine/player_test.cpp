// Random programs on several communicators. Ranks run ahead or come late. Some name the next collective, others hear of
// it; some announce their arrival; some go on while collectives are under way, and ask for them in any order.
// Communicators are freed in between. Whatever the timing, no rank may hang, all ranks
// must use the same plan, and results must be right.
//
// One thread moves all ranks, by small steps in random order, so that a seed repeats a failure.
#include "engine/execute/player.hpp"

#include "rubato/problem.hpp"
#include "support/memory_stage.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rubato {
namespace {

using testing::memory_call;

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// A collective on one communicator, or its end.
struct operation_to_do {
    std::size_t on = 0;
    bool frees = false;
    problem what{};  // with arrivals: given by the program
    const algorithm* use = nullptr;
    std::int64_t units = 0;
    bool all_say_when = false;  // they will come
    bool observed = false;
};

struct group {
    std::vector<std::int32_t> members{};  // by rank in the group
    std::unique_ptr<testing::hall> between{};
    std::int32_t closed = 0;
    std::uint64_t room = UINT64_MAX;  // for operations under way
};

/// How one rank plays in one of its groups.
struct seat {
    std::unique_ptr<testing::memory_stage> stage{};
    std::unique_ptr<engine::player> plays{};
};

struct totals {
    std::uint64_t collectives = 0;
    std::uint64_t planned = 0;  // by arrivals that were agreed on
    std::size_t most_under_way = 0;
};

class random_program {
public:
    random_program(std::uint64_t seed, const std::vector<const algorithm*>& choice) : random_(seed) {
        ranks_ = 2 + draw(5);
        make_groups();
        make_operations(choice);
        processes_.resize(index(ranks_));
        for (std::int32_t r = 0; r < ranks_; ++r) {
            process& p = processes_[index(r)];
            p.speed = 1 + draw(8);
            p.most = chance(50) ? 1 : 2 + index(draw(40));
            p.seats.resize(groups_.size());
            for (std::size_t g = 0; g < groups_.size(); ++g) {
                const auto me = std::ranges::find(groups_[g].members, r);
                if (me == groups_[g].members.end()) continue;
                const rank mine(static_cast<std::int32_t>(me - groups_[g].members.begin()));
                seat& s = p.seats[g];
                s.stage = std::make_unique<testing::memory_stage>(*groups_[g].between, mine, random_());
                s.stage->room = groups_[g].room;
                engine::player::settings how;
                how.exchange_every = 3;
                how.from_bytes = 64;
                s.plays = std::make_unique<engine::player>(mine, groups_[g].between->ranks(), *s.stage, how);
            }
            go_on(p);
        }
    }

    /// What went wrong, or nothing.
    std::string run(totals& sum) {
        std::uint64_t quiet = 0;
        while (problem_.empty() && finished_ < ranks_) {
            const std::int32_t r = draw(ranks_);
            const std::size_t before = moves_;
            for (int i = 0; i < processes_[index(r)].speed; ++i) move(r);
            quiet = moves_ == before ? quiet + 1 : 0;
            if (quiet > 20000) problem_ = "nobody moves any more";
        }
        sum.collectives += collectives_;
        sum.planned += planned_;
        sum.most_under_way = std::max(sum.most_under_way, most_under_way_);
        return problem_;
    }

private:
    struct process {
        std::vector<seat> seats{};
        std::size_t at = 0;  // operation
        int computes = 0;    // steps until it arrives
        int speed = 1;
        bool closes = false;
        bool names = false;
        bool says_when = false;
        std::unique_ptr<memory_call> call{};
        std::size_t most = 1;  // collectives under way
        struct started {
            std::size_t at;
            std::uint64_t number;
            engine::player::ticket ticket;
            std::unique_ptr<memory_call> call;
        };
        std::vector<started> under_way{};
    };

    std::int32_t draw(std::int32_t n) { return static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return draw(100) < percent; }

    void make_groups() {
        const std::int32_t count = 1 + draw(3);
        for (std::int32_t g = 0; g < count; ++g) {
            group one;
            for (std::int32_t r = 0; r < ranks_; ++r)
                if (g == 0 || chance(70)) one.members.push_back(r);
            if (one.members.empty()) one.members.push_back(0);
            std::ranges::shuffle(one.members, random_);
            one.between = std::make_unique<testing::hall>(static_cast<std::int32_t>(one.members.size()));
            if (chance(20)) one.room = 1 + static_cast<std::uint64_t>(draw(4));
            groups_.push_back(std::move(one));
        }
    }

    void make_operations(const std::vector<const algorithm*>& choice) {
        std::vector<bool> alive(groups_.size(), true);
        const std::int32_t count = 4 + draw(12);
        // Programs repeat themselves: few different operations, many times.
        std::vector<operation_to_do> kinds;
        for (int k = 0; k < 3; ++k) {
            operation_to_do o;
            o.on = index(draw(static_cast<std::int32_t>(groups_.size())));
            o.use = choice[index(draw(static_cast<std::int32_t>(choice.size())))];
            o.what.what = o.use->what;
            o.what.ranks = groups_[o.on].between->ranks();
            if (traits(o.what.what).rooted) o.what.root = rank(draw(o.what.ranks));
            o.what.segments = static_cast<std::uint32_t>(1 + draw(3));
            o.what.commutative = o.use->has(need::commutative) || chance(50);
            o.units = draw(4) == 0 ? draw(3) : 8 + draw(20);
            if (o.use->arrival_aware && chance(20))
                for (std::int32_t r = 0; r < o.what.ranks; ++r) o.what.arrivals.emplace_back(draw(1000));
            if (o.use->has(need::round_time) && chance(70)) o.what.round_time = time_ns(1 + draw(200));
            if (o.use->host_aware) o.what.hosts = parse_hosts(fmt::format("{}", 1 + draw(o.what.ranks)), o.what.ranks);
            if (unmet_need(*o.use, o.what)) o.what.arrivals.clear();
            o.observed = chance(20);
            kinds.push_back(o);
        }
        const bool says_when = chance(40);
        for (std::int32_t i = 0; i < count; ++i) {
            operation_to_do o = kinds[index(draw(3))];
            if (!alive[o.on]) continue;
            o.all_say_when = says_when && chance(85);
            operations_.push_back(o);
            if (chance(4)) {
                alive[o.on] = false;
                operations_.push_back({o.on, true});
            }
        }
        for (std::size_t g = 0; g < groups_.size(); ++g)
            if (alive[g]) operations_.push_back({g, true});
    }

    /// To the next operation that this process takes part in.
    void go_on(process& p) {
        while (p.at < operations_.size() && !p.seats[operations_[p.at].on].plays) ++p.at;
        p.closes = false;
        p.call.reset();
        p.computes = chance(30) ? draw(200) : draw(10);
        if (p.at == operations_.size()) {
            ++finished_;
            return;
        }
        const operation_to_do& o = operations_[p.at];
        p.says_when = o.all_say_when ? !chance(5) : chance(5);
        p.names = chance(30);
    }

    engine::intent intent_of(const operation_to_do& o, std::int32_t me) const {
        engine::intent i;
        i.use = o.use;
        i.what = o.what;
        std::int64_t units = o.units;
        if (traits(o.what.what).irregular) {
            const layout l = testing::layout_of(o.what, me, o.units);
            const chunk_table& own = o.what.what == collective::scatterv ? l.output : l.input;
            units = own.counts.front();
        }
        i.bytes = units * static_cast<std::int64_t>(sizeof(testing::affine));
        // The stage of these tests knows one size per call. In a v-form the root has many sizes; without a root, every
        // rank.
        const collective_traits& t = traits(o.what.what);
        if (t.irregular && (!t.rooted || me == o.what.root.value)) i.bytes = engine::intent::unknown;
        i.type = i.op = 0;
        i.observed = o.observed;
        return i;
    }

    void move(std::int32_t r) {
        process& p = processes_[index(r)];
        const bool ended = p.at == operations_.size() && p.under_way.empty();
        if (ended || !problem_.empty()) return;
        ++clock_;
        // The background thread looks at any of the communicators.
        seat& any = p.seats[index(draw(static_cast<std::int32_t>(p.seats.size())))];
        if (any.plays && chance(70) && any.plays->poll() == engine::activity::moving) ++moves_;
        try {
            const operation_to_do& o = operations_[p.at];
            const bool waits = p.under_way.size() >= p.most || (o.frees && !p.under_way.empty());
            if (!p.under_way.empty() && (waits || chance(30)))
                test(p, r);
            else if (o.frees)
                close(p, o, p.seats[o.on]);
            else
                compute(p, o, p.seats[o.on], member(o, r));
        } catch (const std::exception& e) {
            problem_ = e.what();
        }
    }

    std::int32_t member(const operation_to_do& o, std::int32_t r) const {
        const auto& m = groups_[o.on].members;
        return static_cast<std::int32_t>(std::ranges::find(m, r) - m.begin());
    }

    void compute(process& p, const operation_to_do& o, seat& s, std::int32_t me) {
        if (!p.call) {
            p.call = std::make_unique<memory_call>(o.what, me, o.units);
            if (p.names) s.plays->expect(intent_of(o, me));
        }
        if (p.says_when && p.computes < 5) {
            s.plays->edge(time_ns(clock_ + p.computes));
            p.says_when = false;
        }
        ++moves_;
        if (p.computes-- > 0) return;
        const std::uint64_t number = s.plays->number();
        const engine::player::ticket t = s.plays->arrive(intent_of(o, me), p.call.get(), time_ns(clock_));
        p.under_way.push_back({p.at, number, t, std::move(p.call)});
        most_under_way_ = std::max(most_under_way_, p.under_way.size());
        ++p.at;
        go_on(p);
    }

    /// Any of those under way.
    void test(process& p, std::int32_t r) {
        const auto it = p.under_way.begin() + draw(static_cast<std::int32_t>(p.under_way.size()));
        const operation_to_do& o = operations_[it->at];
        seat& s = p.seats[o.on];
        if (!s.plays->progress(it->ticket, false)) return;
        leave(*it, o, s, member(o, r));
        p.under_way.erase(it);
    }

    void leave(const process::started& p, const operation_to_do& o, seat& s, std::int32_t me) {
        ++moves_;
        ++collectives_;
        const auto expected = testing::expected_output(o.what, me, o.units);
        if (!expected.empty() && p.call->output != expected)
            problem_ = fmt::format("{} gives a wrong result", o.use->id);
        const std::vector<time_ns> by(s.plays->planned_by().begin(), s.plays->planned_by().end());
        const auto [first, is_first] = plans_.emplace(std::pair(o.on, p.number), by);
        if (first->second != by) problem_ = "ranks have planned by different arrivals";
        planned_ += !by.empty() && o.what.arrivals.empty();
    }

    /// Sometimes the rank has named a collective that never comes.
    void close(process& p, const operation_to_do& o, seat& s) {
        const std::int32_t me = member(o, static_cast<std::int32_t>(&p - processes_.data()));
        if (!p.closes && p.names && p.at > 0 && operations_[p.at - 1].on == o.on && !operations_[p.at - 1].frees) {
            p.names = false;
            s.plays->expect(intent_of(operations_[p.at - 1], me));
            return;
        }
        p.closes = true;
        if (!s.plays->close(time_ns(clock_))) return;
        ++moves_;
        group& g = groups_[o.on];
        if (++g.closed == g.between->ranks()) {
            if (g.between->undelivered(s.plays->number()) > 0) problem_ = "a message was sent that nobody received";
            if (!g.between->exchanges_agree()) problem_ = "not all take part in an exchange";
        }
        early_before_ += s.plays->begun_early();
        s.plays.reset();
        ++p.at;
        go_on(p);
    }

    std::mt19937_64 random_;
    std::int32_t ranks_ = 0;
    std::int64_t clock_ = 0;
    std::vector<group> groups_{};
    std::vector<operation_to_do> operations_{};
    std::vector<process> processes_{};
    std::map<std::pair<std::size_t, std::uint64_t>, std::vector<time_ns>> plans_{};
    std::int32_t finished_ = 0;
    std::size_t moves_ = 0;
    std::uint64_t collectives_ = 0;
    std::uint64_t planned_ = 0;
    std::size_t most_under_way_ = 0;
    std::string problem_{};

public:
    std::uint64_t early_before_ = 0;
};

std::vector<const algorithm*> what_players_use() {
    std::vector<const algorithm*> choice;
    for (const algorithm& a : algorithms())
        if ((a.arrival_aware && !a.dynamic && !traits(a.what).on_graph) || a.early ||
            a.id == "allreduce/recursive_doubling" || a.id == "bcast/chain")
            choice.push_back(&a);
    return choice;
}

TEST(player, ten_thousand_random_programs_agree_and_end) {
    const auto choice = what_players_use();
    totals sum;
    std::uint64_t early = 0;
    for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
        random_program p(seed, choice);
        const std::string wrong = p.run(sum);
        ASSERT_EQ(wrong, "") << "seed " << seed;
        early += p.early_before_;
    }
    // What is tried must happen.
    EXPECT_GT(sum.collectives, 100000U);
    EXPECT_GT(early, 20000U);
    EXPECT_GT(sum.planned, 20000U);
    EXPECT_GT(sum.most_under_way, 10U);
}

}  // namespace
}  // namespace rubato
