// What directors and roll calls send each other, in memory: it takes any time on the clock of the fibers.
#pragma once

#include "dice.hpp"
#include "dropin/direct/director.hpp"
#include "engine/execute/roll_call.hpp"
#include "fibers.hpp"

#include <algorithm>
#include <deque>

namespace rubato::testing {

/// Mostly soon.
inline time_ns some_delay(dice& random) {
    return random.up_to(random.chance(90) ? std::chrono::microseconds(100) : std::chrono::microseconds(20000));
}

/// For roll calls, between the ranks of a communicator: in order between any two.
class slow_wires {
public:
    using text = std::vector<std::int64_t>;

    slow_wires(std::int32_t ranks, fibers& world, dice& random)
        : ranks_(ranks), world_(world), random_(random), wires_(static_cast<std::size_t>(ranks * ranks)) {}

    void send(rank from, rank to, text t) {
        auto& wire = between(from, to);
        time_ns due = world_.now() + some_delay(random_);
        if (!wire.empty()) due = std::max(due, wire.back().first);
        world_.expect_event(due);
        wire.emplace_back(due, std::move(t));
    }
    bool receive(rank to, rank& from, text& t) {
        const std::int32_t start = random_.draw(ranks_);
        for (std::int32_t i = 0; i < ranks_; ++i) {
            from = rank((start + i) % ranks_);
            auto& wire = between(from, to);
            if (wire.empty() || wire.front().first > world_.now()) continue;
            t = std::move(wire.front().second);
            wire.pop_front();
            return true;
        }
        return false;
    }
    bool empty() const {
        return std::ranges::all_of(wires_, [](const auto& w) { return w.empty(); });
    }

private:
    std::deque<std::pair<time_ns, text>>& between(rank from, rank to) {
        return wires_[static_cast<std::size_t>(from.value) * static_cast<std::size_t>(ranks_) +
                      static_cast<std::size_t>(to.value)];
    }

    std::int32_t ranks_;
    fibers& world_;
    dice& random_;
    std::vector<std::deque<std::pair<time_ns, text>>> wires_;
};

class slow_post final : public engine::roll_call::post {
public:
    slow_post(slow_wires& w, rank me) : wires_(w), me_(me) {}
    void send(rank to, slow_wires::text t) override { wires_.send(me_, to, std::move(t)); }
    bool receive(rank& from, slow_wires::text& t) override { return wires_.receive(me_, from, t); }

private:
    slow_wires& wires_;
    rank me_;
};

/// What the ranks of a communicator have on their boards.
class wall {
public:
    wall(std::int32_t ranks, fibers& in, dice& by, const model& m)
        : network(m), ranks_(ranks), world_(in), random_(by) {}

    void put(std::size_t number, rank me, std::optional<rank> from, std::span<const std::byte> bytes) {
        const auto n = static_cast<std::size_t>(ranks_);
        if (number == entries_.size())
            entries_.push_back({std::vector<std::vector<std::byte>>(n), std::vector<time_ns>(n, time_ns::max()), from});
        entry& e = entries_[number];
        if (e.from != from) throw std::logic_error("ranks exchange different things");
        e.said[at(me)].assign(bytes.begin(), bytes.end());
        e.due[at(me)] = world_.now() + some_delay(random_);
        world_.expect_event(e.due[at(me)]);
    }
    std::vector<std::byte> take(std::size_t number, rank me) {
        const entry& e = entries_[number];
        const auto is_there = [&] { return e.from ? *e.from == me || has_come(e, *e.from) : is_complete(number); };
        if (!is_there()) world_.wait_until(is_there);
        if (e.from) return e.said[at(*e.from)];
        std::vector<std::byte> all;
        for (const auto& bytes : e.said) all.insert(all.end(), bytes.begin(), bytes.end());
        return all;
    }
    /// All have contributed.
    bool is_complete(std::size_t number) const { return std::ranges::max(entries_[number].due) <= world_.now(); }
    std::size_t size() const { return entries_.size(); }
    /// Waits until all ranks have come so often.
    void meet(std::size_t time) {
        if (time == met_.size()) met_.push_back(0);
        ++met_[time];
        world_.wait_until([this, time] { return met_[time] == ranks_; });
    }
    fibers& world() { return world_; }

    model network;

private:
    struct entry {
        std::vector<std::vector<std::byte>> said;
        std::vector<time_ns> due;
        std::optional<rank> from{};  // of one rank for all
    };
    static std::size_t at(rank r) { return static_cast<std::size_t>(r.value); }
    bool has_come(const entry& e, rank from) const { return e.due[at(from)] <= world_.now(); }

    std::int32_t ranks_;
    fibers& world_;
    dice& random_;
    std::deque<entry> entries_{};
    std::vector<std::int32_t> met_{};
};

class slow_board final : public dropin::board {
public:
    slow_board(wall& w, rank me) : wall_(w), me_(me) {}

    std::uint64_t gather(std::span<const std::byte> mine) override {
        wall_.put(next_, me_, std::nullopt, mine);
        return next_++;
    }
    std::uint64_t tell(rank from, std::span<const std::byte> message) override {
        wall_.put(next_, me_, from, message);
        return next_++;
    }
    std::vector<std::byte> take(std::uint64_t ticket) override { return wall_.take(ticket, me_); }
    void synchronise() override { wall_.meet(synchronised_++); }
    const model& network() override { return wall_.network; }
    void doubt_network() override {}
    time_ns now() override { return wall_.world().now(); }

    /// The rank makes no more calls: waits for what is under way.
    void close() {
        for (std::size_t i = 0; i < next_; ++i)
            if (!wall_.is_complete(i)) wall_.world().wait_until([this, i] { return wall_.is_complete(i); });
    }
    std::size_t exchanges() const { return next_; }
    std::size_t synchronised() const { return synchronised_; }

private:
    wall& wall_;
    rank me_;
    std::size_t next_ = 0;
    std::size_t synchronised_ = 0;
};

}  // namespace rubato::testing
