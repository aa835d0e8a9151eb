// Can verify fail? Correct schedules are damaged in many ways. An executor that shares no code with verify runs them on
// concrete data in many random orders. Verify must find every schedule that the executor finds wrong.
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/layout.hpp"
#include "rubato/problem.hpp"
#include "rubato/verify.hpp"
#include "support/extent.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

namespace rubato::schedules {
namespace {

/// An element: the inputs it was made of, in the order in which they were combined. Nothing: never written.
using element = std::optional<std::vector<std::int32_t>>;

/// Runs all ranks' schedules on elements, each step when its dependencies have ended, a message as soon as both sides
/// are ready or, if `eager`, as soon as it was sent. Every run draws a new order of ranks.
class executor {
public:
    executor(const problem& p, const std::vector<schedule>& all, std::int64_t units) : p_(p), all_(all) {
        const collective_traits& t = traits(p.what);
        for (std::int32_t r = 0; r < p.ranks; ++r) {
            layout l = layout::uniform(units);
            if (t.measured_by_input()) {
                std::vector<std::int64_t> counts;
                for (std::int32_t c = 0; c < p.ranks; ++c) counts.push_back(units + c);
                l = layout::reduce_scatter(std::move(counts), r);
            } else if (t.irregular) {
                std::vector<std::int64_t> in(static_cast<std::size_t>(p.input_chunks(rank(r))));
                std::vector<std::int64_t> out(static_cast<std::size_t>(p.output_chunks(rank(r))));
                for (std::int32_t c = 0; c < std::ssize(in); ++c)
                    in[static_cast<std::size_t>(c)] = chunk(units, r, c, true);
                for (std::int32_t c = 0; c < std::ssize(out); ++c)
                    out[static_cast<std::size_t>(c)] = chunk(units, r, c, false);
                l = {chunk_table::packed(std::move(in)), chunk_table::packed(std::move(out))};
            }
            layouts_.push_back(std::move(l));
        }
    }

    /// Why it is wrong, or nothing. The `absent` rank never arrives.
    std::optional<std::string> run(std::mt19937& random, bool eager, std::int32_t absent = -1) {
        try {
            eager_ = eager;
            start(random, absent);
            while (step_once()) {
            }
            if (p_.what == collective::barrier && absent >= 0) {
                for (std::size_t r = 0; r < all_.size(); ++r)
                    if (static_cast<std::int32_t>(r) != absent && left_[r] == 0) return "left a barrier too early";
                return std::nullopt;
            }
            for (std::size_t r = 0; r < all_.size(); ++r)
                if (left_[r] > 0) return "hangs";
            for (const auto& [id, payloads] : mail_)
                if (!payloads.empty()) return "a message was never received";
            return compare();
        } catch (const std::string& why) {
            return why;
        }
    }

private:
    struct ready_step {
        std::size_t r;
        std::uint32_t s;
        std::uint32_t priority;
    };
    using message_id = std::tuple<std::int32_t, std::int32_t, std::uint32_t>;

    /// Sizes of irregular chunks: all different, so that no mistake in them goes unseen.
    std::int64_t chunk(std::int64_t units, std::int32_t r, std::int32_t c, bool input) const {
        switch (p_.what) {
            case collective::scatterv: return units + (input ? c : r);
            case collective::alltoallv: return units + (input ? r * p_.ranks + c : c * p_.ranks + r);
            case collective::neighbor_alltoallv:
            case collective::neighbor_allgatherv: {
                const bool wide = traits(p_.what).wide_input;
                const neighbour n =
                    input ? neighbour{r, c} : p_.neighbours->sources(rank(r))[static_cast<std::size_t>(c)];
                return n.exists() ? units + n.rank * 100 + (wide ? n.chunk : 0) : units;
            }
            default: return units + (input ? r : c);
        }
    }

    std::int64_t blocks(std::size_t r, buffer b) const {
        if (b == buffer::scratch) return std::ssize(all_[r].scratch);
        const rank who(static_cast<std::int32_t>(r));
        return (b == buffer::input ? p_.input_chunks(who) : p_.output_chunks(who)) * std::int64_t{all_[r].parts};
    }

    static void insist(bool good, const char* why) {
        if (!good) throw std::string(why);
    }

    void start(std::mt19937& random, std::int32_t absent) {
        memory_.assign(all_.size(), {});
        scratch_.clear();
        waits_.clear();
        left_.clear();
        followers_.assign(all_.size(), {});
        priorities_.assign(all_.size(), {});
        ready_.clear();
        mail_.clear();
        for (std::size_t r = 0; r < all_.size(); ++r) {
            const schedule& s = all_[r];
            const layout& l = layouts_[r];
            l.scratch_offsets(s, scratch_.emplace_back());
            memory_[r][2].resize(static_cast<std::size_t>(scratch_[r].back()));
            for (const buffer b : {buffer::input, buffer::output}) {
                auto& m = memory_[r][static_cast<std::size_t>(b)];
                m.resize(
                    static_cast<std::size_t>(l.table(b).length(s.parts, 0, static_cast<std::uint32_t>(blocks(r, b)))));
                if (b == buffer::input && owns_input(static_cast<std::int32_t>(r)))
                    for (std::size_t i = 0; i < m.size(); ++i) m[i] = {{token(static_cast<std::int32_t>(r), i)}};
            }
            waits_.emplace_back();
            followers_[r].resize(s.steps.size());
            left_.push_back(s.steps.size());
            for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
                const auto d = s.dependencies_of(i);
                for (const std::uint32_t before : d) {
                    insist(before < i, "a dependency points forward");
                    followers_[r][before].push_back(i);
                }
                waits_[r].push_back(d.size());
                priorities_[r].push_back(static_cast<std::uint32_t>(random()));
                if (absent == static_cast<std::int32_t>(r) && s.steps[i].needs_arrival()) ++waits_[r][i];
                if (waits_[r][i] == 0) add_ready(r, i);
            }
        }
    }

    void add_ready(std::size_t r, std::uint32_t s) { ready_.push_back({r, s, priorities_[r][s]}); }

    bool owns_input(std::int32_t r) const {
        switch (p_.what) {
            case collective::barrier: return false;
            case collective::bcast:
            case collective::scatter:
            case collective::scatterv: return r == p_.root.value;
            default: return true;
        }
    }
    static std::int32_t token(std::int32_t r, std::size_t i) { return r * 10000 + static_cast<std::int32_t>(i); }

    /// Runs the step of highest priority that can run.
    bool step_once() {
        std::ranges::sort(ready_, std::greater{}, &ready_step::priority);
        for (std::size_t i = 0; i < ready_.size(); ++i) {
            const ready_step now = ready_[i];
            const step& t = all_[now.r].steps[now.s];
            const auto me = static_cast<std::int32_t>(now.r);
            if (t.kind == step_kind::send) {
                insist(t.peer >= 0 && t.peer < p_.ranks, "no such peer");
                const message_id id{me, t.peer, t.message};
                const auto other = std::ranges::find_if(ready_, [&](const ready_step& o) {
                    const step& in = all_[o.r].steps[o.s];
                    return in.kind == step_kind::recv && static_cast<std::int32_t>(o.r) == t.peer && in.peer == me &&
                           in.message == t.message;
                });
                if (!eager_ && other == ready_.end()) continue;
                mail_[id].push_back(read(now.r, t, t.from, t.source));
                if (!eager_) {
                    const ready_step partner = *other;
                    receive(partner);
                    end(partner);
                }
            } else if (t.kind == step_kind::recv) {
                const auto found = mail_.find({t.peer, me, t.message});
                if (found == mail_.end() || found->second.empty()) continue;
                receive(now);
            } else {
                run_local(now.r, t);
            }
            end(now);
            return true;
        }
        return false;
    }

    void end(const ready_step& done) {
        std::erase_if(ready_, [&](const ready_step& o) { return o.r == done.r && o.s == done.s; });
        --left_[done.r];
        for (const std::uint32_t f : followers_[done.r][done.s])
            if (--waits_[done.r][f] == 0) add_ready(done.r, f);
    }

    /// The memory that a step touches: `count` blocks, as large as its shape says, from `first` on.
    std::span<element> place(std::size_t r, const step& t, buffer where, block first) {
        const layout& l = layouts_[r];
        const buffer shaped = t.kind == step_kind::send ? t.from : t.to;
        const std::int64_t known = std::ssize(l.sizes(shaped).counts) * std::int64_t{all_[r].parts};
        insist(known == 0 || std::int64_t{t.shape} + t.count <= known, "no such shape");
        insist(first < blocks(r, where), "no such block");
        const std::int64_t at =
            where == buffer::scratch ? scratch_[r][first] : l.table(where).offset(all_[r].parts, first);
        const std::int64_t n = l.length(all_[r], t);
        auto& m = memory_[r][static_cast<std::size_t>(where)];
        insist(at + n <= std::ssize(m), "outside of the buffer");
        return std::span(m).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n));
    }

    std::vector<element> read(std::size_t r, const step& t, buffer where, block first) {
        if (t.count == 0) return {};
        const auto from = place(r, t, where, first);
        for (const element& e : from) insist(e.has_value(), "reads what was never written");
        return {from.begin(), from.end()};
    }

    void receive(const ready_step& at) {
        const step& t = all_[at.r].steps[at.s];
        auto& payloads = mail_[{t.peer, static_cast<std::int32_t>(at.r), t.message}];
        const std::vector<element> data = std::move(payloads.front());
        payloads.erase(payloads.begin());
        if (t.count == 0) return insist(data.empty(), "message of another size");
        insist(t.to != buffer::input, "writes the input");
        const auto to = place(at.r, t, t.to, t.target);
        insist(to.size() == data.size(), "message of another size");
        std::ranges::copy(data, to.begin());
    }

    void run_local(std::size_t r, const step& t) {
        insist(t.to != buffer::input, "writes the input");
        const std::vector<element> left = read(r, t, t.from, t.source);
        if (t.kind == step_kind::combine) read(r, t, t.to, t.target);
        const auto to = place(r, t, t.to, t.target);
        for (std::size_t i = 0; i < to.size(); ++i) {
            element result = left[i];
            if (t.kind == step_kind::combine) result->insert(result->end(), to[i]->begin(), to[i]->end());
            to[i] = std::move(result);
        }
    }

    /// What the collective promises, in the words of the MPI standard: element i of chunk c of rank r's output.
    std::optional<std::vector<std::int32_t>> promised(std::int32_t r, std::int32_t c, std::size_t i) const {
        const auto input_of = [this](std::int32_t from, std::int32_t chunk_number, std::size_t at) {
            std::size_t before = 0;
            const layout& l = layouts_[static_cast<std::size_t>(from)];
            for (std::int32_t k = 0; k < chunk_number; ++k)
                before += static_cast<std::size_t>(l.input.length(1, static_cast<block>(k), 1));
            return token(from, before + at);
        };
        const auto over = [&](std::int32_t first, std::int32_t last, std::int32_t chunk_number) {
            std::vector<std::int32_t> all;
            for (std::int32_t k = first; k <= last; ++k) all.push_back(input_of(k, chunk_number, i));
            return all;
        };
        const std::int32_t root = p_.root.value;
        const std::int32_t last = p_.ranks - 1;
        switch (p_.what) {
            case collective::barrier: return std::nullopt;
            case collective::bcast:
                if (r == root) return std::nullopt;
                return over(root, root, 0);
            case collective::reduce:
                if (r != root) return std::nullopt;
                return over(0, last, 0);
            case collective::allreduce: return over(0, last, 0);
            case collective::scatter:
            case collective::scatterv: return over(root, root, r);
            case collective::gather:
            case collective::gatherv:
                if (r != root) return std::nullopt;
                return over(c, c, 0);
            case collective::allgather:
            case collective::allgatherv: return over(c, c, 0);
            case collective::alltoall:
            case collective::alltoallv: return over(c, c, r);
            case collective::reduce_scatter_block:
            case collective::reduce_scatter: return over(0, last, r);
            case collective::neighbor_allgather:
            case collective::neighbor_allgatherv:
            case collective::neighbor_alltoall:
            case collective::neighbor_alltoallv: {
                const neighbour& from = p_.neighbours->sources(rank(r))[static_cast<std::size_t>(c)];
                if (!from.exists()) return std::nullopt;
                return over(from.rank, from.rank, traits(p_.what).wide_input ? from.chunk : 0);
            }
            case collective::neighbor_reduce: {
                std::set<std::int32_t> sources;
                for (const neighbour& n : p_.neighbours->sources(rank(r)))
                    if (n.exists()) sources.insert(n.rank);
                if (sources.empty()) return std::nullopt;
                std::vector<std::int32_t> all;
                for (const std::int32_t s : sources) all.push_back(input_of(s, 0, i));
                return all;
            }
            case collective::scan: return over(0, r, 0);
            case collective::exscan:
                if (r == 0) return std::nullopt;
                return over(0, r - 1, 0);
        }
        return std::nullopt;
    }

    std::optional<std::string> compare() {
        for (std::int32_t r = 0; r < p_.ranks; ++r) {
            const std::int32_t chunks = p_.output_chunks(rank(r));
            const auto& out = memory_[static_cast<std::size_t>(r)][1];
            const chunk_table& table = layouts_[static_cast<std::size_t>(r)].output;
            for (std::int32_t c = 0; c < chunks; ++c) {
                const auto at = static_cast<std::size_t>(table.offset(1, static_cast<block>(c)));
                const auto n = static_cast<std::size_t>(table.length(1, static_cast<block>(c), 1));
                for (std::size_t i = 0; i < n; ++i) {
                    std::optional<std::vector<std::int32_t>> want = promised(r, c, i);
                    if (!want) continue;
                    if (!out[at + i]) return "a result is missing";
                    std::vector<std::int32_t> have = *out[at + i];
                    if (p_.commutative) std::ranges::sort(have);
                    if (p_.idempotent) have.erase(std::unique(have.begin(), have.end()), have.end());
                    if (have != *want) return "a result is wrong";
                }
            }
        }
        return std::nullopt;
    }

    const problem& p_;
    const std::vector<schedule>& all_;
    std::vector<layout> layouts_{};
    bool eager_ = false;
    std::vector<std::array<std::vector<element>, 3>> memory_{};
    std::vector<std::vector<std::int64_t>> scratch_{};  // where each scratch block begins
    std::vector<std::vector<std::size_t>> waits_{};
    std::vector<std::vector<std::vector<std::uint32_t>>> followers_{};
    std::vector<std::size_t> left_{};  // steps of each rank that have not run
    std::vector<std::vector<std::uint32_t>> priorities_{};
    std::vector<ready_step> ready_{};
    std::map<message_id, std::vector<std::vector<element>>> mail_{};
};

std::optional<std::string> oracle(const problem& p, const std::vector<schedule>& all, std::mt19937& random, int runs) {
    const std::int64_t parts = all.front().parts;
    for (const std::int64_t units : {parts + 1, 2 * parts - 1}) {
        executor e(p, all, units);
        for (int i = 0; i < runs; ++i)
            if (auto why = e.run(random, i % 2 == 0)) return why;
        for (std::int32_t r = 0; p.what == collective::barrier && r < p.ranks; ++r)
            if (auto why = e.run(random, true, r)) return why;
    }
    return std::nullopt;
}

/// A schedule with its dependencies in lists, which are easier to damage.
struct loose {
    schedule s{};
    std::vector<std::vector<std::uint32_t>> after{};

    explicit loose(const schedule& from) : s(from) {
        for (std::size_t i = 0; i < s.steps.size(); ++i) {
            const auto d = s.dependencies_of(i);
            after.emplace_back(d.begin(), d.end());
        }
    }
    schedule tie() && {
        s.dependencies.clear();
        s.first_dependency.assign(1, 0);
        for (const auto& list : after) {
            s.dependencies.insert(s.dependencies.end(), list.begin(), list.end());
            s.first_dependency.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
        }
        return std::move(s);
    }
};

/// Removes a step's work: steps that waited for it now wait for its dependencies.
void drop_step(loose& l, std::uint32_t i) {
    for (auto& list : l.after) {
        const bool waited = std::erase(list, i) > 0;
        if (waited) list.insert(list.end(), l.after[i].begin(), l.after[i].end());
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
        for (std::uint32_t& d : list)
            if (d > i) --d;
    }
    l.s.steps.erase(l.s.steps.begin() + i);
    l.after.erase(l.after.begin() + i);
}

void duplicate_step(loose& l, std::uint32_t i) {
    for (auto& list : l.after)
        for (std::uint32_t& d : list)
            if (d > i) ++d;
    l.s.steps.insert(l.s.steps.begin() + i + 1, l.s.steps[i]);
    l.after.insert(l.after.begin() + i + 1, {i});
}

constexpr std::array<const char*, 14> damages{"drop step",  "duplicate step", "swap steps",    "drop dependency",
                                              "peer",       "message number", "source block",  "target block",
                                              "shape",      "count",          "source buffer", "target buffer",
                                              "other kind", "swap operands"};

/// False: this cannot be done to this step.
bool damage(loose& l, std::uint32_t i, std::size_t how, const problem& p, std::mt19937& random) {
    step& t = l.s.steps[i];
    const auto off_by_one = [&random](std::uint32_t& v) { random() % 2 == 0 && v > 0 ? --v : ++v; };
    switch (how) {
        case 0: drop_step(l, i); return true;
        case 1: duplicate_step(l, i); return true;
        case 2: {
            const auto k = static_cast<std::uint32_t>(random() % l.s.steps.size());
            if (t == l.s.steps[k]) return false;
            std::swap(t, l.s.steps[k]);
            return true;
        }
        case 3:
            if (l.after[i].empty()) return false;
            l.after[i].erase(l.after[i].begin() + static_cast<std::ptrdiff_t>(random() % l.after[i].size()));
            return true;
        case 4:
            if (!t.is_message()) return false;
            t.peer =
                (t.peer + 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(p.ranks))) % (p.ranks + 1);
            return true;
        case 5:
            if (!t.is_message()) return false;
            off_by_one(t.message);
            return true;
        case 6:
            if (!t.reads()) return false;
            off_by_one(t.source);
            return true;
        case 7:
            if (!t.writes()) return false;
            off_by_one(t.target);
            return true;
        case 8: off_by_one(t.shape); return true;
        case 9: off_by_one(t.count); return true;
        case 10:
            if (t.kind == step_kind::recv) return false;
            t.from = static_cast<buffer>((static_cast<unsigned>(t.from) + 1 + random() % 2) % 3);
            return true;
        case 11:
            if (!t.writes()) return false;
            t.to = static_cast<buffer>((static_cast<unsigned>(t.to) + 1 + random() % 2) % 3);
            return true;
        case 12:
            if (t.is_message()) {
                t.kind = t.kind == step_kind::send ? step_kind::recv : step_kind::send;
                std::swap(t.from, t.to);
                std::swap(t.source, t.target);
            } else {
                t.kind = t.kind == step_kind::copy ? step_kind::combine : step_kind::copy;
            }
            return true;
        default:
            if (t.kind != step_kind::combine) return false;
            std::swap(t.from, t.to);
            std::swap(t.source, t.target);
            return true;
    }
}

std::vector<problem> problems(const algorithm& a) {
    std::vector<problem> all;
    for (const std::int32_t ranks : {2, 3, 4, 5, 8}) {
        for (const bool plain : {true, false}) {  // plain: root 0, commutative, unless the collective has no such thing
            problem p;
            p.what = a.what;
            p.ranks = ranks;
            p.segments = a.segmented ? 3 : 1;
            p.root = rank(!plain && traits(a.what).rooted ? ranks - 1 : 0);
            p.commutative = plain || !traits(a.what).reduces || a.has(need::commutative);
            p.idempotent = a.has(need::idempotent_or_power) && !plain;
            if (a.arrival_aware && !plain) {
                p.arrivals = parse_arrivals("uniform:max=40us,seed=3", ranks);
                p.round_time = time_ns(5000);
            }
            if (a.host_aware) p.hosts = parse_hosts("2", ranks);
            if (traits(a.what).on_graph) p.neighbours = parse_graph(plain ? "ring" : "random:3", ranks);
            if (!unmet_need(a, p)) all.push_back(p);
        }
    }
    return all;
}

TEST(mutation, the_oracle_finds_nothing_wrong_with_correct_schedules) {
    std::mt19937 random(4);
    for (const algorithm& a : algorithms()) {
        for (const problem& p : problems(a)) {
            const std::vector<schedule> all = build_all(a, p);
            const auto why = oracle(p, all, random, 10);
            EXPECT_FALSE(why) << a.id << ", " << p.ranks << " ranks: " << *why;
        }
    }
}

TEST(mutation, verify_finds_every_mutation_that_changes_the_meaning) {
    const int per_algorithm = some_or_all(130, 400);
    std::mt19937 random(5);
    struct tally {
        int mutants = 0;
        int wrong = 0;   // the oracle found something
        int strict = 0;  // only verify did: right in all runs, but for instance an order that could deadlock
    };
    std::array<tally, damages.size()> tallies{};
    for (const algorithm& a : algorithms()) {
        const std::vector<problem> tried = problems(a);
        for (const problem& p : tried) {
            const std::vector<schedule> all = build_all(a, p);
            for (int i = 0; i < per_algorithm / static_cast<int>(tried.size()); ++i) {
                const std::size_t r = random() % all.size();
                if (all[r].steps.empty()) continue;
                loose l(all[r]);
                const auto s = static_cast<std::uint32_t>(random() % all[r].steps.size());
                const std::size_t how = random() % damages.size();
                if (!damage(l, s, how, p, random)) continue;
                std::vector<schedule> mutant = all;
                mutant[r] = std::move(l).tie();
                if (mutant[r] == all[r]) continue;
                const auto found = verify(p, mutant);
                const auto why = oracle(p, mutant, random, found.empty() ? 20 : 4);
                ++tallies[how].mutants;
                tallies[how].wrong += why.has_value();
                tallies[how].strict += !why && !found.empty();
                ASSERT_FALSE(why && found.empty())
                    << a.id << ", " << p.ranks << " ranks, root " << p.root.value << ", commutative " << p.commutative
                    << ", rank " << r << ", " << damages[how] << " at step " << s << ": " << *why
                    << ", but verify is content\n"
                    << rubato::to_string(all[r]) << "became\n"
                    << rubato::to_string(mutant[r]);
            }
        }
    }
    tally sum;
    fmt::print("{:<16} {:>8} {:>14} {:>18} {:>12}\n", "damage", "mutants", "wrong, caught", "right, but caught",
               "equivalent");
    const auto row = [](const char* name, const tally& t) {
        fmt::print("{:<16} {:>8} {:>14} {:>18} {:>12}\n", name, t.mutants, t.wrong, t.strict,
                   t.mutants - t.wrong - t.strict);
    };
    for (std::size_t how = 0; how < damages.size(); ++how) {
        const tally& t = tallies[how];
        row(damages[how], t);
        EXPECT_GT(t.wrong, 0) << damages[how] << " never did any harm";
        sum.mutants += t.mutants;
        sum.wrong += t.wrong;
        sum.strict += t.strict;
    }
    row("all", sum);
}

}  // namespace
}  // namespace rubato::schedules
