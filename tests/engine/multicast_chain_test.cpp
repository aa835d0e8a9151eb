// Broadcasts in memory: datagrams are lost, repeated, reordered, late, damaged and foreign, notes take any time, ranks
// come at any time, and calls with other roots and sizes follow each other without a pause.
#include "engine/execute/multicast_chain.hpp"

#include "support/dice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

namespace rubato {
namespace {

using testing::dice;

constexpr std::uint64_t key = 4711;

struct weather {
    int lost = 0;      // per cent of datagrams,
    int repeated = 0;  // and more of them
    int foreign = 0;
    int delayed = 0;  // notes and datagrams that take long
};

/// One step is one look of one rank.
class network {
public:
    network(std::int32_t ranks, dice& random, const weather& w) : random_(random), how_(w), hosts_(index(ranks)) {}

    struct letter {
        rank from;
        std::uint64_t call;
        std::uint64_t due;
        engine::chain_note what;
        bool is_long;
    };
    struct packet {
        std::uint64_t due;
        std::vector<std::byte> raw;
    };
    struct host {
        std::deque<letter> letters{};
        std::deque<packet> packets{};
        std::map<std::uint64_t, std::deque<engine::chain_note>> notes{};  // received, by call
        engine::datagram_inbox inbox{key, 64};
        std::vector<std::byte> raw{};
        std::size_t untaken = 0;  // long notes that it has sent
    };

    std::uint64_t now = 0;
    std::uint64_t pieces = 0;  // notes with data

    static std::size_t index(std::int32_t n) { return static_cast<std::size_t>(n); }
    host& at(rank r) { return hosts_[index(r.value)]; }
    bool is_congested() { return how_.delayed > 0 && random_.chance(20); }
    std::uint64_t later() {
        if (how_.delayed == 0) return now;
        return now + static_cast<std::uint64_t>(random_.draw(random_.chance(how_.delayed) ? 2000 : 20));
    }

    bool cast(const engine::datagram_head& head, std::span<const std::byte> data) {
        if (how_.delayed > 0 && random_.chance(10)) return false;
        const auto* bytes = reinterpret_cast<const std::byte*>(&head);
        std::vector<std::byte> raw(bytes, bytes + sizeof head);
        raw.insert(raw.end(), data.begin(), data.end());
        for (host& h : hosts_) {
            if (random_.chance(how_.foreign)) h.packets.push_back({later(), spoilt(head, raw)});
            if (!random_.chance(how_.lost)) h.packets.push_back({later(), raw});
            if (random_.chance(how_.repeated)) h.packets.push_back({later(), raw});
        }
        return true;
    }
    /// A long note leaves its sender when its receiver takes it.
    void send(rank from, rank to, std::uint64_t call, engine::chain_note n, bool is_long = false) {
        std::uint64_t due = later();
        for (const letter& l : at(to).letters)
            if (l.from == from) due = std::max(due, l.due);
        pieces += n.what == engine::chain_note::kind::pieces ? 1 : 0;
        if (is_long) ++at(from).untaken;
        at(to).letters.push_back({from, call, due, std::move(n), is_long});
    }

private:
    /// What a datagram of somebody else, or a damaged one, may look like.
    std::vector<std::byte> spoilt(engine::datagram_head head, std::vector<std::byte> raw) {
        std::ranges::fill(raw, std::byte{0xee});
        switch (random_.draw(6)) {
            case 0: head.key ^= 1; break;  // NOLINT(bugprone-branch-clone): each spoils another field
            case 1: head.magic ^= 1; break;
            case 2: head.fragment += 1000; break;
            case 3: raw.resize(raw.size() + 1); break;
            case 4: head.bytes += 1; break;
            default: raw.resize(sizeof head - 1); return raw;
        }
        std::memcpy(raw.data(), &head, sizeof head);
        return raw;
    }

    dice& random_;
    weather how_;
    std::vector<host> hosts_;
};

class memory_post : public engine::multicast_chain::post {
public:
    memory_post(network& n, rank me, std::uint64_t call, const engine::fragmentation& cut)
        : network_(n), me_(me), call_(call), cut_(cut) {
        n.at(me).inbox.begin(call, cut.bytes);
    }

    bool cast(const engine::multicast_chain::datagram& d) override {
        engine::datagram_head head;
        head.key = key;
        head.call = call_;
        head.bytes = static_cast<std::uint64_t>(cut_.bytes);
        head.fragment = static_cast<std::uint64_t>(d.fragment);
        return network_.cast(head, d.data);
    }
    bool hear(engine::multicast_chain::datagram& d) override {
        network::host& h = network_.at(me_);
        if (h.inbox.take_kept(d)) return true;
        for (;;) {
            const auto found =
                std::ranges::find_if(h.packets, [this](const network::packet& p) { return p.due <= network_.now; });
            if (found == h.packets.end()) return false;
            h.raw = std::move(found->raw);
            h.packets.erase(found);
            if (h.inbox.accept(h.raw, d)) return true;
        }
    }
    void send(rank to, engine::chain_note n) override {
        overfull_ |= n.what == engine::chain_note::kind::pieces && not_left() >= 16;
        left_.push_back(network_.later());
        const bool is_long = n.what == engine::chain_note::kind::pieces && !cut_.whole;
        network_.send(me_, to, call_, std::move(n), is_long);
    }
    bool receive(engine::chain_note& n) override {
        network::host& h = network_.at(me_);
        for (auto l = h.letters.begin(); l != h.letters.end();) {
            if (l->due > network_.now) {
                ++l;
                continue;
            }
            if (l->is_long) --network_.at(l->from).untaken;
            if (l->call >= call_) h.notes[l->call].push_back(std::move(l->what));
            l = h.letters.erase(l);
        }
        auto& mine = h.notes[call_];
        if (mine.empty()) return false;
        n = std::move(mine.front());
        mine.pop_front();
        return true;
    }
    std::size_t under_way() override {
        // Sometimes more than there is, which has left at the next look.
        return not_left() + (network_.is_congested() ? 16 : 0);
    }
    std::size_t not_left() {
        std::erase_if(left_, [this](std::uint64_t when) { return when <= network_.now; });
        return left_.size() + network_.at(me_).untaken;
    }
    /// Data was sent though enough was under way.
    bool overfull() const { return overfull_; }

private:
    network& network_;
    rank me_;
    std::uint64_t call_;
    engine::fragmentation cut_;
    std::vector<std::uint64_t> left_{};  // when each note has left
    bool overfull_ = false;
};

struct broadcast {
    std::int32_t root = 0;
    engine::fragmentation cut{};
    bool waits = false;
    std::int32_t awaited = 0;
    std::vector<std::byte> data{};
};

broadcast draw_broadcast(dice& random, std::int32_t ranks) {
    broadcast b;
    b.root = random.draw(ranks);
    b.cut.bytes = 1 + random.draw(random.chance(50) ? 12 : 400);
    b.cut.fragment_bytes = 1 + random.draw(9);
    b.cut.per_batch = 1 + random.draw(random.chance(20) ? 64 : 5);
    b.cut.whole = b.cut.batches() == 1 && random.chance(70);
    b.waits = ranks > 1 && random.chance(30);
    if (b.waits) b.awaited = (b.root + 1 + random.draw(ranks - 1)) % ranks;
    for (std::int64_t i = 0; i < b.cut.bytes; ++i) b.data.push_back(static_cast<std::byte>(random()));
    return b;
}

engine::multicast_chain::place place_of(const broadcast& b, std::int32_t me, std::int32_t ranks) {
    engine::multicast_chain::place p;
    if (me != b.root) p.before = rank((me + ranks - 1) % ranks);
    if ((me + 1) % ranks != b.root) p.after = rank((me + 1) % ranks);
    if (b.waits && me == b.root) p.awaited = rank(b.awaited);
    if (b.waits && me == b.awaited) p.tells = rank(b.root);
    return p;
}

struct process {
    std::size_t at = 0;
    std::uint64_t comes = 0;
    std::vector<std::byte> data{};
    std::unique_ptr<memory_post> post{};
    std::unique_ptr<engine::multicast_chain> now{};
};

/// What goes wrong, or nothing.
std::string run(dice& random, std::int32_t ranks, const weather& w, const std::vector<broadcast>& calls) {
    network between(ranks, random, w);
    std::vector<process> processes(static_cast<std::size_t>(ranks));
    for (process& p : processes) p.comes = between.later();
    std::int32_t ended = 0;
    for (std::uint64_t steps = 0; ended < ranks; ++steps) {
        if (steps > 3'000'000) return "it does not end";
        ++between.now;
        const std::int32_t me = random.draw(ranks);
        process& p = processes[static_cast<std::size_t>(me)];
        if (p.at == calls.size() || p.comes > between.now) continue;
        const broadcast& b = calls[p.at];
        if (!p.now) {
            p.data = me == b.root ? b.data : std::vector<std::byte>(b.data.size(), std::byte{0xcc});
            p.post = std::make_unique<memory_post>(between, rank(me), p.at + 1, b.cut);
            p.now = std::make_unique<engine::multicast_chain>(p.data, b.cut, place_of(b, me, ranks), *p.post);
        }
        if (!p.now->progress()) continue;
        if (p.data != b.data) return "a rank has something else";
        if (p.post->not_left() != 0) return "a rank ends before its notes have left";
        if (!b.cut.whole && p.post->overfull()) return "a rank sends without a bound";
        if (me != b.root && p.now->heard() + p.now->missed() != b.cut.fragments())
            return "fragments are counted wrongly";
        if (me != b.root && w.lost == 100 && w.repeated == 0 && p.now->heard() != 0) return "it heard what was lost";
        p.now.reset();
        p.comes = random.chance(50) ? between.now : between.later();
        ended += ++p.at == calls.size() ? 1 : 0;
    }
    return {};
}

std::string run_random(std::uint64_t seed) {
    dice random(seed);
    const std::int32_t ranks = 1 + random.draw(random.chance(80) ? 9 : 33);
    const weather w{.lost = random.one_of(std::vector<int>{0, 1, 10, 50, 90, 100, random.draw(101)}),
                    .repeated = random.chance(50) ? 0 : random.draw(30),
                    .foreign = random.draw(30),
                    .delayed = random.chance(20) ? 0 : 1 + random.draw(30)};
    std::vector<broadcast> calls;
    for (std::int32_t n = 1 + random.draw(6); n > 0; --n) calls.push_back(draw_broadcast(random, ranks));
    return run(random, ranks, w, calls);
}

TEST(multicast_chain, is_right_for_two_thousand_random_programs) {
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) ASSERT_EQ(run_random(seed), "") << "seed " << seed;
}

TEST(multicast_chain, is_right_for_every_root_and_size) {
    dice random(1);
    for (std::int32_t ranks = 1; ranks <= 33; ranks += ranks < 9 ? 1 : 8)
        for (std::int32_t root = 0; root < ranks; ++root)
            for (std::int64_t bytes = 1; bytes <= 14; ++bytes)
                for (const int lost : {0, 40, 100}) {
                    broadcast b{.root = root, .cut = {bytes, 3, 2, bytes <= 6}, .waits = ranks > 1 && bytes % 2 == 0};
                    b.awaited = (root + 1) % ranks;
                    for (std::int64_t i = 0; i < bytes; ++i) b.data.push_back(static_cast<std::byte>(i + root));
                    ASSERT_EQ(run(random, ranks, {.lost = lost, .delayed = 5}, {b, b}), "")
                        << ranks << " ranks, root " << root << ", " << bytes << " bytes, " << lost << " % lost";
                }
}

/// Looks of all ranks but one, in the order of the chain.
void look(std::vector<process>& all, std::size_t times, std::size_t without, std::vector<bool>& ended) {
    for (std::size_t n = 0; n < times; ++n)
        for (std::size_t r = 0; r < all.size(); ++r)
            if (r != without && !ended[r]) ended[r] = all[r].now->progress();
}

std::vector<process> begin(network& between, const broadcast& b, std::int32_t ranks) {
    std::vector<process> all(static_cast<std::size_t>(ranks));
    for (std::int32_t me = 0; me < ranks; ++me) {
        process& p = all[static_cast<std::size_t>(me)];
        p.data = me == b.root ? b.data : std::vector<std::byte>(b.data.size());
        p.post = std::make_unique<memory_post>(between, rank(me), 1, b.cut);
        p.now = std::make_unique<engine::multicast_chain>(p.data, b.cut, place_of(b, me, ranks), *p.post);
    }
    return all;
}

TEST(multicast_chain, of_a_large_message_nothing_that_was_heard_goes_down_the_chain) {
    dice random(1);
    network between(5, random, {});
    const broadcast b{.cut = {100, 3, 4, false}, .data = std::vector<std::byte>(100, std::byte{7})};
    std::vector<process> all = begin(between, b, 5);
    std::vector<bool> ended(5);
    look(all, 50, 5, ended);
    EXPECT_EQ(ended, std::vector<bool>(5, true));
    EXPECT_EQ(between.pieces, 0);
    for (std::size_t r = 1; r < 5; ++r) EXPECT_EQ(all[r].now->missed(), 0);
}

TEST(multicast_chain, a_late_rank_delays_nobody_in_a_small_message) {
    dice random(1);
    network between(5, random, {});
    const broadcast b{.cut = {10, 3, 4, true}, .data = std::vector<std::byte>(10, std::byte{7})};
    std::vector<process> all = begin(between, b, 5);
    std::vector<bool> ended(5);
    look(all, 10, 2, ended);
    EXPECT_EQ(ended, (std::vector<bool>{true, true, false, true, true}));
}

TEST(multicast_chain, a_late_rank_delays_only_its_predecessor_in_a_large_message) {
    dice random(1);
    network between(5, random, {});
    const broadcast b{.cut = {100, 3, 4, false}, .data = std::vector<std::byte>(100, std::byte{7})};
    std::vector<process> all = begin(between, b, 5);
    std::vector<bool> ended(5);
    look(all, 50, 2, ended);
    EXPECT_EQ(ended, (std::vector<bool>{true, false, false, true, true}));
}

TEST(multicast_chain, a_rank_that_lacks_something_serves_what_it_has) {
    dice random(1);
    network between(3, random, {});
    const broadcast b{.cut = {100, 3, 4, false}, .data = std::vector<std::byte>(100, std::byte{7})};
    std::vector<process> all = begin(between, b, 3);
    for (int n = 0; n < 10; ++n) (void)all[0].now->progress();  // casts all, and is busy from then on
    auto& first = between.at(rank(1)).packets;
    auto& second = between.at(rank(2)).packets;
    first.erase(first.begin());
    second.erase(second.begin() + 5);
    std::vector<bool> ended(3);
    look(all, 10, 0, ended);
    EXPECT_EQ(ended, (std::vector<bool>{false, false, true}));
    look(all, 10, 3, ended);
    EXPECT_EQ(ended, std::vector<bool>(3, true));
    EXPECT_EQ(between.pieces, 2);
}

TEST(multicast_chain, a_rank_asks_for_what_it_lacks_as_soon_as_something_behind_it_comes) {
    dice random(1);
    network between(3, random, {});
    const broadcast b{.cut = {100, 3, 4, false}, .data = std::vector<std::byte>(100, std::byte{7})};
    std::vector<process> all = begin(between, b, 3);
    (void)all[0].now->progress();
    auto& second = between.at(rank(2)).packets;
    second.erase(second.begin() + 5);
    (void)all[2].now->progress();
    const auto asked = std::ranges::count_if(between.at(rank(1)).letters, [](const network::letter& l) {
        return l.from == rank(2) && l.what.what == engine::chain_note::kind::lacks && l.what.batch == 1 &&
               l.what.fragments == 0b10;
    });
    EXPECT_EQ(asked, 1);
}

TEST(multicast_chain, a_rank_takes_the_pieces_that_it_asked_for_though_it_has_heard_them) {
    dice random(1);
    network between(2, random, {});
    const broadcast b{.cut = {100, 3, 4, false}, .data = std::vector<std::byte>(100, std::byte{7})};
    std::vector<process> all = begin(between, b, 2);
    (void)all[0].now->progress();
    auto late = std::exchange(between.at(rank(1)).packets, {});
    (void)all[1].now->progress();  // it is told that all is over
    (void)all[0].now->progress();
    between.at(rank(1)).packets = std::move(late);
    std::vector<bool> ended(2);
    look(all, 10, 2, ended);
    EXPECT_EQ(ended, std::vector<bool>(2, true));
    EXPECT_GT(between.pieces, 0);
}

/// The last datagrams come together with the first note.
class late_post final : public memory_post {
public:
    using memory_post::memory_post;
    void keep(network& n, std::deque<network::packet> packets) {
        of_ = &n;
        kept_ = std::move(packets);
    }
    bool receive(engine::chain_note& n) override {
        for (network::packet& p : kept_) of_->at(rank(1)).packets.push_back(std::move(p));
        kept_.clear();
        return memory_post::receive(n);
    }

private:
    network* of_ = nullptr;
    std::deque<network::packet> kept_{};
};

TEST(multicast_chain, a_rank_listens_once_more_when_it_is_told_that_a_batch_is_over) {
    dice random(1);
    network between(2, random, {});
    const broadcast b{.cut = {100, 3, 4, false}, .data = std::vector<std::byte>(100, std::byte{7})};
    std::vector<process> all = begin(between, b, 2);
    (void)all[0].now->progress();
    std::vector<std::byte> data(100);
    late_post post(between, rank(1), 1, b.cut);
    post.keep(between, std::exchange(between.at(rank(1)).packets, {}));
    engine::multicast_chain second(data, b.cut, place_of(b, 1, 2), post);
    EXPECT_TRUE(second.progress());
    EXPECT_EQ(second.missed(), 0);
    EXPECT_EQ(data, b.data);
}

TEST(multicast_chain, the_root_casts_when_the_awaited_rank_has_come) {
    dice random(1);
    network between(3, random, {});
    const broadcast b{
        .cut = {10, 3, 4, true}, .waits = true, .awaited = 2, .data = std::vector<std::byte>(10, std::byte{7})};
    process root;
    root.data = b.data;
    root.post = std::make_unique<memory_post>(between, rank(0), 1, b.cut);
    root.now = std::make_unique<engine::multicast_chain>(root.data, b.cut, place_of(b, 0, 3), *root.post);
    for (int n = 0; n < 10; ++n) EXPECT_FALSE(root.now->progress());
    EXPECT_TRUE(between.at(rank(1)).packets.empty());
    std::vector<std::byte> data(10);
    memory_post post(between, rank(2), 1, b.cut);
    const engine::multicast_chain awaited(data, b.cut, place_of(b, 2, 3), post);
    EXPECT_TRUE(root.now->progress());
    EXPECT_EQ(between.at(rank(1)).packets.size(), 4);
}

TEST(multicast_chain, different_sizes_are_an_error) {
    dice random(1);
    network between(2, random, {.lost = 100});
    for (const std::int64_t other : {9, 11, 13, 100}) {
        std::vector<std::byte> data(static_cast<std::size_t>(other));
        const engine::fragmentation cut{other, 3, 64, true};
        memory_post post(between, rank(1), 1, cut);
        engine::multicast_chain second(data, cut, {.before = rank(0)}, post);
        between.send(rank(0), rank(1), 1,
                     {engine::chain_note::kind::pieces, 0, 0b1111, std::vector<std::byte>(10, std::byte{7})});
        EXPECT_THROW((void)second.progress(), error) << other;
    }
}

}  // namespace
}  // namespace rubato
