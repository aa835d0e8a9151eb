// Whole random programs in memory: every rank has its director, its side of the roll calls and its player, as the
// drop-in has them on MPI. Ranks come together, late, or late in turn; messages take any time; keepers are late, fail
// or leave; calls fail; profiles and models are wrong. Whatever happens, all ranks make each call in the same way,
// results are right, nobody waits for ever, and nothing is left on its way.
//
// One thread moves all ranks in random order, so that a seed repeats a failure:
//   RUBATO_PROGRAM=SEED build/tests/engine_tests --gtest_filter='*directed_programs*'
// RUBATO_PROGRAMS=N runs as many.
#include "dropin/direct/follower.hpp"
#include "dropin/direct/guided_call.hpp"
#include "dropin/direct/learned.hpp"
#include "support/memory_stage.hpp"
#include "support/random_script.hpp"
#include "support/slow_mail.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace rubato {
namespace {

using namespace std::chrono_literals;
using namespace testing;  // NOLINT(google-build-using-namespace)

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
std::size_t index(rank r) { return index(r.value); }

/// What happened, to be sure that what is tried does happen.
struct counts {
    std::uint64_t calls = 0, plans = 0, by_arrivals = 0, rolls = 0, late = 0, late_keepers = 0, failing_keepers = 0,
                  leaving_keepers = 0, refused = 0, failed = 0, early = 0, profiles = 0, synchronised = 0, unsized = 0,
                  moved = 0;
};

/// How a call is made.
struct way {
    const algorithm* use = nullptr;  // null: natively
    std::uint32_t segments = 1;
    time_ns round_time{};
    std::vector<time_ns> arrivals{};

    bool operator==(const way&) const = default;
};

/// What the first rank found of a call; the others must find the same.
struct agreed_call {
    std::optional<way> told{};
    std::optional<dropin::directive::roll> roll{};
    std::optional<engine::roll_call::verdict> said{};
    std::optional<way> made{};
    std::optional<std::vector<time_ns>> planned_by{};
    std::vector<std::optional<time_ns>> arrived{};

    bool all_are_there() const {
        return std::ranges::all_of(arrived, [](const auto& a) { return a.has_value(); });
    }
};

template <class T>
void agree(std::optional<T>& first, const T& found, const char* about) {
    if (!first) first = found;
    if (*first != found) throw std::logic_error(fmt::format("ranks disagree about {}", about));
}

/// One rank on one communicator: what an autopilot holds.
struct directed_rank {
    directed_rank(testing::wall& w, testing::slow_wires& wires, testing::hall& h, rank who, std::uint64_t seed,
                  std::function<void()> idle)
        : me(who),
          board(w, who),
          stage(h, who, seed, std::move(idle)),
          plays(who, h.ranks(), stage, {.exchange_every = 3, .from_bytes = 64}),
          post(wires, who),
          roll(who, h.ranks(), post) {}

    rank me;
    testing::slow_board board;
    testing::memory_stage stage;
    engine::player plays;
    testing::slow_post post;
    engine::roll_call roll;
    std::unique_ptr<dropin::guide> guides{};
    dropin::director* directs = nullptr;  // the guide, in mode auto
    std::vector<dropin::decision> explained{};
    bool in_call = false;
    bool rolls = false;
    bool just_kept = false;  // the roll of the last call
};

/// A communicator.
struct group {
    group(const testing::scripted_group& s, testing::fibers& world, testing::dice& random)
        : boards(s.ranks(), world, random, parse_model(s.network)),
          wires(s.ranks(), world, random),
          between(s.ranks()) {}

    testing::wall boards;
    testing::slow_wires wires;
    testing::hall between;
    std::optional<std::vector<dropin::experience>> remembered{};
    std::optional<std::vector<dropin::experience>> learned{};
    std::optional<std::vector<dropin::decision>> explained{};
    std::optional<std::size_t> exchanges{};
    std::int32_t closed = 0;
};

class program {
public:
    program(std::uint64_t seed, counts& seen) : seen_(seen), random_(seed), world_(random_()), script_(random_) {
        for (const testing::scripted_group& g : script_.groups) groups_.emplace_back(g, world_, random_);
        agreed_.resize(script_.calls.size());
        for (std::int32_t r = 0; r < script_.processes; ++r) {
            processes_.emplace_back();
            processes_.back().seats.resize(groups_.size());
            world_.add([this, r] { live(r); });
        }
        world_.between_steps([this] { look_in_background(); });
    }

    /// What went wrong, or nothing.
    std::string run() {
        const bool ended = world_.run();
        if (ended || !wrong_.empty()) return wrong_;
        std::string at;
        for (const process& p : processes_) at += fmt::format(" {}", p.at);
        return fmt::format("ranks wait for each other for ever, at calls{}", at);
    }

private:
    struct process {
        std::vector<std::unique_ptr<directed_rank>> seats{};
        dropin::directing_cost spent{};
        std::size_t at = 0;  // call
    };

    class memory_guided_call;
    class watched_guide;

    void live(std::int32_t r) {
        process& p = processes_[index(r)];
        try {
            for (p.at = 0; p.at < script_.calls.size(); ++p.at) {
                const testing::scripted_call& c = script_.calls[p.at];
                const std::vector<std::int32_t>& members = script_.groups[c.on].members;
                const auto found = std::ranges::find(members, r);
                if (found == members.end()) continue;
                std::unique_ptr<directed_rank>& s = p.seats[c.on];
                if (!s) sit_down(p, c.on, rank(static_cast<std::int32_t>(found - members.begin())));
                if (c.frees) {
                    leave(*s, c.on);
                    s.reset();
                } else {
                    world_.sleep_until(world_.now() + c.computing[index(r)]);
                    make(*s, p.at);
                }
            }
        } catch (const std::exception& e) {
            if (wrong_.empty()) wrong_ = fmt::format("rank {}, call {}: {}", r, p.at, e.what());
            world_.stop();
        }
    }

    void sit_down(process& p, std::size_t on, rank me) {
        const testing::scripted_group& g = script_.groups[on];
        group& with = groups_[on];
        p.seats[on] = std::make_unique<directed_rank>(with.boards, with.wires, with.between, me, random_(),
                                                      [this] { world_.sleep_until(world_.now() + 10us); });
        directed_rank& s = *p.seats[on];
        const auto explain = [&s](const dropin::decision& d) { s.explained.push_back(d); };
        if (g.force != nullptr) {
            s.guides = std::make_unique<dropin::follower>(
                std::span(&g.force, 1), g.ranks(), [&with] { return with.boards.network; }, explain);
            return;
        }
        if (!with.remembered) with.remembered = g.remembers_last && last_learned_ ? *last_learned_ : g.remembered;
        dropin::director::settings how;
        how.me = me;
        how.ranks = g.ranks();
        how.careful.spend = g.spend;
        how.between_hosts = g.between_hosts;
        how.early = g.early;
        how.process = &p.spent;
        how.remembered = *with.remembered;
        if (!g.simulates)
            how.choose = [this, &g](const problem& q, std::int64_t bytes, const simulator::call_loop*) {
                return chosen(g, q, bytes);
            };
        auto directs = std::make_unique<dropin::director>(how, s.board, explain);
        s.directs = directs.get();
        s.guides = std::move(directs);
        seen_.profiles += !how.remembered.empty();
    }

    /// By a model that may be wrong. It takes time.
    std::vector<candidate> chosen(const testing::scripted_group& g, const problem& p, std::int64_t bytes) {
        world_.sleep_until(world_.now() + random_.up_to(3ms));
        if (random_.chance(3)) throw error("no choice", "a test says so", "go on");
        const auto all = testing::playable(p, g.early);
        std::vector<candidate> found;
        for (std::int32_t n = all.empty() ? 0 : random_.draw(5); n > 0; --n) {
            candidate c;
            c.use = random_.one_of(all);
            if (!c.use->arrival_aware) c.use = random_.one_of(all);
            c.segment = random_.chance(20) ? 0 : 1 + bytes / (1 + random_.draw(5));
            if (c.use->uses_round_time()) c.round_time = 1us + random_.up_to(3ms);
            c.end = std::ranges::max(p.arrivals) + random_.up_to(40ms);
            for (const testing::kind_of_call& k : g.kinds)
                if (k.what.what == p.what && k.bytes == bytes && random_.chance(70))
                    c.end = std::ranges::max(p.arrivals) + k.tail_of(*c.use);
            found.push_back(c);
        }
        std::ranges::stable_sort(found, {}, &candidate::end);
        return found;
    }

    void make(directed_rank& s, std::size_t at);

    /// The communicator is freed.
    void leave(directed_rank& s, std::size_t on) {
        group& g = groups_[on];
        s.in_call = true;
        if (s.directs != nullptr) agree(g.learned, s.directs->learned(), "what they have learned");
        agree(g.explained, s.explained, "decisions");
        agree(g.exchanges, s.board.exchanges(), "exchanges");
        s.board.close();
        world_.wait_until([&] { return s.plays.close(world_.now()); });
        world_.wait_until([&] { return s.roll.close(); });
        seen_.leaving_keepers += s.just_kept;
        seen_.early += s.plays.begun_early();
        seen_.synchronised += s.board.synchronised();
        seen_.moved += static_cast<std::uint64_t>(
            std::ranges::count(s.explained, "sizes have changed", &dropin::decision::reason));
        if (++g.closed < script_.groups[on].ranks()) return;
        if (!g.wires.empty()) throw std::logic_error("a message of a roll call was left");
        if (g.between.undelivered(s.plays.number()) > 0) throw std::logic_error("a message of a plan was left");
        if (!g.between.exchanges_agree()) throw std::logic_error("not all take part in an exchange");
        if (g.learned) last_learned_ = *g.learned;
    }

    /// As Rubato's background thread does, for a rank that is not in a call.
    void look_in_background() {
        if (!random_.chance(20)) return;
        process& p = processes_[random_() % processes_.size()];
        directed_rank* const s = p.seats[random_() % groups_.size()].get();
        if (s == nullptr || s->in_call) return;
        if (s->rolls) (void)s->roll.stand_in(s->plays.number(), world_.now());
        (void)s->plays.poll();
    }

    counts& seen_;
    testing::dice random_;
    testing::fibers world_;
    testing::random_script script_;
    std::deque<group> groups_{};
    std::deque<process> processes_{};
    std::vector<agreed_call> agreed_{};
    std::optional<std::vector<dropin::experience>> last_learned_{};
    std::string wrong_{};
};

/// A guide whose directives are compared.
class program::watched_guide final : public dropin::guide {
public:
    watched_guide(dropin::guide& g, agreed_call& a, counts& seen) : guide_(g), agreed_(a), seen_(seen) {}

    const dropin::directive& arrive(const dropin::directed_call& c, time_ns now) override {
        const dropin::directive& d = guide_.arrive(c, now);
        const bool is_first = !agreed_.told;
        agree(agreed_.told, way{d.use, d.segments, d.round_time, d.arrivals}, "how to make the call");
        if (is_first) agreed_.roll = d.roll_call;
        if (agreed_.roll != d.roll_call) throw std::logic_error("ranks disagree about calling the roll");
        return d;
    }
    void leave(time_ns now) override { guide_.leave(now); }
    void failed() override {
        ++seen_.failed;
        guide_.failed();
    }
    void refused(std::string_view reason) override {
        ++seen_.refused;
        guide_.refused(reason);
    }

private:
    dropin::guide& guide_;
    agreed_call& agreed_;
    counts& seen_;
};

class program::memory_guided_call final : public dropin::guided_call {
public:
    memory_guided_call(program& p, directed_rank& s, std::size_t at)
        : in_(p),
          seat_(s),
          script_(p.script_.calls[at]),
          agreed_(p.agreed_[at]),
          data_(script_.what.what, s.me.value, script_.what.units),
          arrival_(p.world_.now()) {
        agreed_.arrived[index(s.me)] = arrival_;
    }

    /// Clocks are not quite the same.
    time_ns now() override { return in_.world_.now() + time_ns(10000 * seat_.me.value); }
    engine::intent intent_of(const dropin::directive& how) override {
        engine::intent i;
        i.use = how.use;
        i.what = script_.what.what;
        i.what.segments = how.segments;
        i.what.round_time = how.round_time;
        i.what.arrivals = how.arrivals;
        i.bytes = own_units() * static_cast<std::int64_t>(sizeof(testing::affine));
        if (is_unsized() && (!traits(i.what.what).rooted || seat_.me == i.what.root)) i.bytes = engine::intent::unknown;
        i.type = i.op = 0;
        return i;
    }
    bool is_wrong() const override { return false; }
    engine::roll_call::verdict call_roll(const dropin::directive::roll& by, const engine::roll_call::order& in_any_case,
                                         bool refused) override {
        engine::roll_call::invocation i{
            .number = seat_.plays.number(),
            .keeper = by.keeper,
            .what = {script_.what.what.what, script_.what.what.root, known().bytes, refused},
            .patience = by.patience,
            .decide = [in_any_case](auto) { return in_any_case; }};
        if (!refused && !script_.keeper_fails) i.in_any_case = in_any_case;
        if (script_.keeper_fails)
            i.decide = [](auto) -> engine::roll_call::order { throw std::runtime_error("no memory"); };
        seat_.rolls = true;
        const bool was_last = agreed_.all_are_there();
        seat_.roll.begin(std::move(i), now());
        std::optional<engine::roll_call::verdict> said;
        time_ns next_look{};
        in_.world_.wait_until([&] {
            said = seat_.roll.progress(now());
            (void)seat_.plays.poll();
            // The keeper's patience ends.
            if (by.keeper == seat_.me && now() >= next_look)
                in_.world_.expect_event(next_look = now() + by.patience / 3 + 1ns);
            return said.has_value();
        });
        agree(agreed_.said, *said, "a verdict");
        ++in_.seen_.rolls;
        in_.seen_.late += said->late.size();
        if (by.keeper == seat_.me) {
            in_.seen_.failing_keepers += script_.keeper_fails;
            in_.seen_.late_keepers += was_last;
        }
        seat_.just_kept = by.keeper == seat_.me;
        return *said;
    }
    int run(const engine::intent& what) override {
        agree(agreed_.made, way{what.use, what.what.segments, what.what.round_time, what.what.arrivals},
              "how the call was made");
        const engine::player::ticket t = seat_.plays.arrive(what, &data_, now());
        in_.world_.wait_until([this, t] { return seat_.plays.progress(t, false); });
        const auto expected = testing::expected_output(script_.what.what, seat_.me.value, script_.what.units);
        if (!expected.empty() && data_.output != expected)
            throw std::logic_error(fmt::format("{} gives a wrong result", what.use->id));
        ++in_.seen_.plans;
        in_.seen_.unsized += is_unsized();
        const std::vector<time_ns> by(seat_.plays.planned_by().begin(), seat_.plays.planned_by().end());
        agree(agreed_.planned_by, by, "who is late");
        in_.seen_.by_arrivals += !by.empty();
        return end_after(script_.what.tail_of(*what.use));
    }
    int native() override {
        agree(agreed_.made, way{}, "how the call was made");
        in_.world_.wait_until([this] {
            for (rank r; r.value < script_.what.what.ranks; ++r.value)
                if (needs(r) && !agreed_.arrived[index(r)]) return false;
            return true;
        });
        return end_after(script_.what.native_tail);
    }
    void pass() override { seat_.plays.pass(now()); }

    /// The call as a director is told of it: of sizes that not all ranks know, a rank knows its own buffers.
    dropin::directed_call known() const {
        const problem& p = script_.what.what;
        if (!is_unsized()) return {p.what, p.root, script_.what.bytes};
        const bool knows_all = !traits(p.what).rooted || p.root == seat_.me;
        const std::int64_t all = script_.what.bytes * p.ranks;
        return {p.what, p.root, 0, knows_all ? all - seat_.me.value : script_.what.bytes * seat_.me.value / p.ranks};
    }

private:
    bool is_unsized() const { return !traits(script_.what.what.what).sizes_known_to_all(); }
    /// Of this rank's chunk.
    std::int64_t own_units() const {
        if (!is_unsized()) return script_.what.units;
        const layout l = testing::layout_of(script_.what.what, seat_.me.value, script_.what.units);
        return (script_.what.what.what == collective::scatterv ? l.output : l.input).counts.front();
    }
    /// Whether a native call of this rank needs data of another.
    bool needs(rank other) const {
        const problem& p = script_.what.what;
        const collective_traits& t = traits(p.what);
        if (p.what == collective::scan || p.what == collective::exscan) return other < seat_.me;
        if (!t.rooted) return true;
        return t.input == holders::root ? other == p.root : seat_.me == p.root;
    }
    int end_after(time_ns tail) {
        time_ns last = arrival_;
        if (agreed_.all_are_there())
            for (const auto& a : agreed_.arrived) last = std::max(last, *a);
        in_.world_.sleep_until(last + tail + in_.random_.up_to(tail / 20));
        ++in_.seen_.calls;
        return script_.fails.contains(seat_.me.value) ? 15 : 0;
    }

    program& in_;
    directed_rank& seat_;
    const testing::scripted_call& script_;
    agreed_call& agreed_;
    testing::memory_call data_;
    time_ns arrival_;
};

void program::make(directed_rank& s, std::size_t at) {
    const testing::scripted_call& c = script_.calls[at];
    const problem& p = c.what.what;
    agreed_[at].arrived.resize(index(p.ranks));
    s.in_call = true;
    s.just_kept = false;
    memory_guided_call call(*this, s, at);
    const bool force = s.directs == nullptr;
    // An autopilot does not direct these.
    if (force ? script_.groups[c.on].force->what != p.what : traits(p.what).reduces && !p.commutative) {
        (void)call.native();
    } else {
        watched_guide by(*s.guides, agreed_[at], seen_);
        (void)dropin::make_call(by, call.known(), call);
    }
    s.in_call = false;
}

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

constexpr std::uint64_t parts = 8;

/// In parts, so that several processes can share them.
class directed_programs : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(directed_programs, agree_and_end) {
    const std::uint64_t alone = number_in("RUBATO_PROGRAM", 0);
    const std::uint64_t count = number_in("RUBATO_PROGRAMS", 400);
    if (alone > 0 && alone % parts != GetParam()) GTEST_SKIP();
    counts sum;
    std::uint64_t made = 0;
    for (std::uint64_t seed = alone > 0 ? alone : parts + GetParam(); seed < parts + count || seed == alone;
         seed += parts, ++made) {
        const std::string wrong = program(seed, sum).run();
        ASSERT_EQ(wrong, "") << "alone: RUBATO_PROGRAM=" << seed
                             << " build/tests/engine_tests --gtest_filter='*directed_programs*'";
        if (alone > 0) break;
    }
    if (alone > 0) return;
    // What is tried must happen.
    EXPECT_GT(sum.by_arrivals, 10 * made);
    EXPECT_GT(sum.rolls, made);
    EXPECT_GT(sum.unsized, made);
    EXPECT_GT(sum.late, made);
    EXPECT_GT(sum.failed, made / 2);
    EXPECT_GT(sum.profiles, made);
    const bool rare_happens = made >= 100;
    for (const std::uint64_t n :
         {sum.late_keepers, sum.failing_keepers, sum.leaving_keepers, sum.early, sum.synchronised, sum.moved})
        EXPECT_TRUE(n > made / 100 || !rare_happens) << n;
    if (std::getenv("RUBATO_PROGRAMS") == nullptr) return;
    fmt::print(
        "{} programs: {} calls, {} by plans, {} of them by arrivals, {} rolls with {} late,\n"
        "  {} late keepers, {} that fail, {} that leave, {} refused, {} failed, {} begun early, {} profiles, "
        "{} synchronised, {} plans of unknown sizes, {} given up as sizes changed\n",
        made, sum.calls, sum.plans, sum.by_arrivals, sum.rolls, sum.late, sum.late_keepers, sum.failing_keepers,
        sum.leaving_keepers, sum.refused, sum.failed, sum.early, sum.profiles, sum.synchronised, sum.unsized,
        sum.moved);
}

INSTANTIATE_TEST_SUITE_P(part, directed_programs, ::testing::Range(std::uint64_t{0}, parts));

}  // namespace
}  // namespace rubato
