// What the ranks of a random program do: which communicators they have, what they call on them, who is late, what goes
// wrong, and what they believe beforehand.
#pragma once

#include "dice.hpp"
#include "dropin/direct/learned.hpp"
#include "rubato/algorithm.hpp"

#include <array>
#include <set>

namespace rubato::testing {

/// Calls of the same kind.
struct kind_of_call {
    problem what{};
    std::int64_t bytes = 0;  ///< as directors know it
    std::int64_t units = 0;  ///< that are really moved
    time_ns native_tail{};
    bool size_changes = false;  ///< from call to call, where not all ranks know it

    /// Plans by arrivals are mostly better than the native collective, others mostly not.
    time_ns tail_of(const algorithm& a) const {
        std::int64_t quality = native_tail.count();
        for (const char letter : a.id) quality += letter;  // not its row, so that new rows change nothing here
        quality %= 13;
        return native_tail * (quality + (a.arrival_aware ? 3 : 7)) / 12;
    }
};

/// A call that all members of a communicator make, or its end.
struct scripted_call {
    std::size_t on = 0;
    bool frees = false;
    kind_of_call what{};
    std::vector<time_ns> computing{};  ///< before it, by process
    bool keeper_fails = false;
    std::set<std::int32_t> fails{};  ///< on these ranks
};

struct scripted_group {
    std::vector<std::int32_t> members{};  ///< processes, by rank
    const algorithm* force = nullptr;     ///< mode force
    double spend = 1;
    bool early = false;
    bool between_hosts = true;
    bool simulates = false;       ///< it chooses by simulation
    bool remembers_last = false;  ///< what was learned on the last communicator that was freed
    std::vector<dropin::experience> remembered{};
    std::string network{};
    std::vector<kind_of_call> kinds{};  ///< that are called on it

    std::int32_t ranks() const { return static_cast<std::int32_t>(members.size()); }
};

/// Algorithms that players can run. `any`: also those that are not for this problem.
inline std::vector<const algorithm*> playable(const problem& p, bool early, bool any = false) {
    std::vector<const algorithm*> all;
    for (const algorithm& a : algorithms())
        if (a.what == p.what && a.dynamic == nullptr && (early || !a.early) && (any || !unmet_need(a, p)))
            all.push_back(&a);
    return all;
}

class random_script {
public:
    explicit random_script(dice& random) : random_(random) {
        processes = 2 + random_.draw(random_.chance(70) ? 6 : 12);
        for (std::int32_t count = 1 + random_.draw(3); count > 0; --count) add_group();
        add_calls();
    }

    std::int32_t processes = 0;
    std::vector<scripted_group> groups{};
    std::vector<scripted_call> calls{};

private:
    using ms = std::chrono::milliseconds;
    using us = std::chrono::microseconds;

    void add_group() {
        scripted_group g;
        for (std::int32_t r = 0; r < processes; ++r)
            if (groups.empty() || random_.chance(80)) g.members.push_back(r);
        if (g.members.empty()) g.members.push_back(0);
        for (std::size_t i = g.members.size(); i > 1; --i) std::swap(g.members[i - 1], g.members[random_() % i]);
        g.spend = random_.one_of(std::vector{0.01, 0.3, 10., 1000.});
        g.early = random_.chance(30);
        g.between_hosts = random_.chance(80);
        g.simulates = random_.chance(2) && g.ranks() <= 4;
        g.remembers_last = random_.chance(40);
        g.network = "hockney:alpha=" + std::to_string(1 + random_.draw(99)) +
                    "us,beta=" + std::to_string(1 + random_.draw(200)) + "ns,gamma=0";
        groups.push_back(std::move(g));
    }

    kind_of_call some_kind(const scripted_group& g) {
        static constexpr std::array what = {
            collective::bcast,     collective::reduce,    collective::allreduce, collective::reduce,
            collective::allreduce, collective::scatter,   collective::gather,    collective::allgather,
            collective::alltoall,  collective::allreduce, collective::scan,      collective::reduce_scatter_block,
            collective::scatterv,  collective::gatherv,   collective::alltoallv};
        kind_of_call k;
        k.what.what = what[random_() % what.size()];
        k.what.ranks = g.ranks();
        if (traits(k.what.what).rooted) k.what.root = rank(random_.draw(g.ranks()));
        k.what.commutative = random_.chance(90);
        k.bytes = std::int64_t{16 << 10} << random_.draw(8);
        k.units = random_.chance(10) ? random_.draw(2) : 1 + random_.draw(12);
        k.native_tail = ms(1) + random_.up_to(ms(40));
        k.size_changes = !traits(k.what.what).sizes_known_to_all() && random_.chance(50);
        return k;
    }

    /// Mostly about as large, sometimes small or nothing at all.
    std::int64_t some_size(std::int64_t usual) {
        if (random_.chance(5)) return 0;
        if (random_.chance(70)) return usual + usual / 4 * random_.draw(3);
        return usual >> random_.draw(16) << random_.draw(6);
    }

    /// Of another machine, or of other arrivals.
    dropin::experience some_experience(const kind_of_call& like, const scripted_group& g) {
        dropin::experience e;
        e.bytes = like.bytes << (random_.chance(70) ? 0 : random_.draw(4));
        e.kind =
            simulator::operation_of(like.what.what, random_.chance(80) ? like.what.root : rank(random_.draw(g.ranks())),
                                    traits(like.what.what).sizes_known_to_all() ? e.bytes : 0);
        e.of_native = {random_.chance(50) ? like.native_tail : ms(1) + random_.up_to(ms(40)),
                       ms(10) + random_.up_to(ms(200))};
        const auto all = playable(like.what, true, random_.chance(30));
        if (random_.chance(85) && !all.empty()) {
            const algorithm& a = *random_.one_of(all);
            e.of_plan = {random_.chance(70) ? like.tail_of(a) : random_.up_to(ms(40)), e.of_native.pace};
            e.algorithm = random_.chance(3) ? "reduce/of_another_version" : a.id;
            if (a.uses_round_time() || random_.chance(5)) e.round_time = us(1) + random_.up_to(ms(5));
            e.rolls = a.arrival_aware && random_.chance(60);
        }
        e.segment = random_.chance(20) ? 0 : 1 + e.bytes / (1 + random_.draw(5));
        if (random_.chance(80)) {
            e.arrivals.resize(static_cast<std::size_t>(random_.chance(90) ? g.ranks() : 1 + random_.draw(16)));
            for (time_ns& t : e.arrivals) t = random_.chance(40) ? time_ns{} : random_.up_to(ms(80));
        }
        return e;
    }

    enum class pattern : std::uint8_t { balanced, fixed, moving, several };
    struct lateness {
        pattern is = pattern::balanced;
        std::int32_t who = 0;
        time_ns most{};
    };
    lateness some_lateness() {
        return {static_cast<pattern>(random_.draw(4)), random_.draw(processes), ms(5) + random_.up_to(ms(100))};
    }
    std::vector<time_ns> some_computing(lateness& l, time_ns usual) {
        if (l.is == pattern::moving) l.who = random_.draw(processes);
        std::vector<time_ns> all;
        for (std::int32_t r = 0; r < processes; ++r) {
            time_ns t = usual + random_.up_to(usual / 10);
            if (l.is == pattern::several && random_.chance(40)) t += random_.up_to(l.most);
            if ((l.is == pattern::fixed || l.is == pattern::moving) && r == l.who) t += l.most;
            all.push_back(t);
        }
        return all;
    }

    void add_calls() {
        for (scripted_group& g : groups) {
            for (std::int32_t k = 1 + random_.draw(3); k > 0; --k) g.kinds.push_back(some_kind(g));
            const auto all = playable(g.kinds.front().what, g.early);
            if (random_.chance(15) && !all.empty()) g.force = random_.one_of(all);
            if (random_.chance(40)) continue;
            for (const kind_of_call& k : g.kinds)
                for (std::int32_t n = random_.draw(3); n > 0; --n) g.remembered.push_back(some_experience(k, g));
        }
        const time_ns usual = ms(1) + random_.up_to(ms(20));
        lateness late = some_lateness();
        // Communicators are used one after the other, or in turn.
        const bool in_turn = random_.chance(30);
        std::vector<bool> alive(groups.size(), true);
        const std::size_t length = 30 + random_() % 120;
        for (std::size_t i = 0; i < length; ++i) {
            const std::size_t on = in_turn ? random_() % groups.size() : i * groups.size() / length;
            if (!in_turn && on > 0) free(on - 1, alive);
            if (!alive[on]) continue;
            if (random_.chance(4)) late = some_lateness();
            scripted_call c;
            c.on = on;
            c.what = random_.chance(70) ? groups[on].kinds.front() : random_.one_of(groups[on].kinds);
            c.computing = some_computing(late, usual);
            if (c.what.size_changes) c.what.bytes = some_size(c.what.bytes);
            c.keeper_fails = random_.chance(5);
            if (random_.chance(4)) c.fails.insert(random_.draw(groups[on].ranks()));
            calls.push_back(std::move(c));
            if (random_.chance(1)) free(on, alive);
        }
        for (std::size_t g = 0; g < groups.size(); ++g) free(g, alive);
    }
    void free(std::size_t on, std::vector<bool>& alive) {
        if (!alive[on]) return;
        alive[on] = false;
        scripted_call c;
        c.on = on;
        c.frees = true;
        calls.push_back(std::move(c));
    }

    dice& random_;
};

}  // namespace rubato::testing
