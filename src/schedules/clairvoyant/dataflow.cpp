// Turns rounds into dataflow: rounds only give the order of steps, and a step waits only for the steps it needs, so a
// rank that is ahead of its round need not wait for the others.
//
// In a round a rank sends before it receives. Nothing it sends was received in the same round, and a place that the
// send frees is not received into in the same round: else two ranks that exchange segments would wait for each other.
#include "rubato/builder.hpp"
#include "schedules/clairvoyant/clairvoyant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

namespace rubato::schedules {
namespace {

/// Scratch places of one block. The one that has been free the longest is used again, but not before there are a few:
/// then receives can be posted ahead of the sends and combinations that free their places.
class place_pool {
public:
    explicit place_pool(builder& b) : b_(b) {}

    slice take(block shape) {
        if (free_.size() < few) return b_.scratch(0, 1).holding(shape, 1);
        const slice place = free_.front();
        free_.pop_front();
        return place.holding(shape, 1);
    }
    void give_back(slice place) {
        if (place.where == buffer::scratch) free_.push_back(place);
    }

private:
    static constexpr std::size_t few = 4;  // at least 2: one may have been freed in the same round

    builder& b_;
    std::deque<slice> free_{};
};

/// One rank. Its value of a segment is its input, which is only read, until the first operand comes. From then on the
/// value is where that operand was received; later operands are received elsewhere and combined into it. A root that
/// adds its own data at the end holds only what it has received.
class writer {
public:
    writer(const problem& p, rank me, bool own_last)
        : root_(me == p.root), own_last_(own_last), b_(p, me, p.segments), pool_(b_) {
        for (std::uint32_t s = 0; s < p.segments; ++s) held_.emplace_back(b_.input().sub(s));
    }

    void send(rank to, std::uint32_t segment) {
        std::optional<slice>& mine = held_[segment];
        assert(mine);
        b_.send(to, *mine);
        pool_.give_back(*mine);
        mine.reset();
    }

    void receive(rank from, std::uint32_t segment) {
        std::optional<slice>& mine = held_[segment];
        const bool adds_to_it = mine && mine->where != buffer::input;
        const slice received = root_ && !adds_to_it ? b_.output().sub(segment) : pool_.take(segment);
        b_.recv(from, received);
        if (adds_to_it) {
            b_.combine(received, *mine);
            pool_.give_back(received);
            return;
        }
        // A sink may get back a segment that it has sent away; its own share is already in it.
        if (mine && !own_last_) b_.combine(*mine, received);
        mine = received;
    }

    void send_total(rank to, std::uint32_t segment) { b_.send(to, b_.output().sub(segment)); }
    void receive_total(rank from, std::uint32_t segment) { b_.recv(from, b_.output().sub(segment)); }

    schedule finish() && {
        for (std::uint32_t s = 0; root_ && s < held_.size(); ++s) {
            if (held_[s] && held_[s]->where == buffer::input)
                b_.copy(*held_[s], b_.output().sub(s));
            else if (own_last_)
                b_.combine(b_.input().sub(s), *held_[s]);
        }
        return std::move(b_).finish();
    }

private:
    bool root_;
    bool own_last_;
    builder b_;
    place_pool pool_;
    std::vector<std::optional<slice>> held_{};
};

/// With the root's own data last, the root does not send. The rank that would have received a segment from it holds
/// that segment too and passes it on, so in the end the others' share of every segment reaches the root.
std::vector<schedule> write(const problem& p, const rounds& r, std::span<const rank> who, bool root_last,
                            std::span<const relay> relays = {}) {
    std::vector<std::unique_ptr<writer>> writers(static_cast<std::size_t>(p.ranks));
    for (const rank me : who)
        writers[static_cast<std::size_t>(me.value)] = std::make_unique<writer>(p, me, root_last && me == p.root);
    const auto kept = [&](const transfer& t) { return root_last && t.from == p.root.value; };
    const auto writer_of = [&](rank one) -> auto& { return writers[static_cast<std::size_t>(one.value)]; };
    auto next = relays.begin();
    const auto relay_before = [&](std::int64_t round) {
        for (; next != relays.end() && next->round < round; ++next) {
            if (const auto& from = writer_of(next->from)) from->send_total(next->to, next->segment);
            if (const auto& to = writer_of(next->to)) to->receive_total(next->from, next->segment);
        }
    };
    for (std::size_t k = 0; k < r.busy.size(); ++k) {
        relay_before(r.busy[k].number);
        for (const transfer& t : r.transfers_of(k)) {
            const auto& from = writers[static_cast<std::size_t>(t.from)];
            if (from && !kept(t)) from->send(rank(t.to), t.segment);
        }
        for (const transfer& t : r.transfers_of(k)) {
            const auto& to = writers[static_cast<std::size_t>(t.to)];
            if (to && !kept(t)) to->receive(rank(t.from), t.segment);
        }
    }
    relay_before(std::numeric_limits<std::int64_t>::max());
    std::vector<schedule> some;
    some.reserve(who.size());
    for (const rank me : who) some.push_back(std::move(*writers[static_cast<std::size_t>(me.value)]).finish());
    return some;
}

}  // namespace

void check(const instance& in) {
    problem p;
    p.what = collective::reduce;
    p.ranks = in.ranks;
    p.root = in.root;
    p.segments = in.segments;
    p.arrivals = in.arrivals;
    p.round_time = std::max(in.round_time, time_ns{});
    rubato::check(p);
    if (in.round_time < time_ns{1})
        throw error(fmt::format("round time {}", format_time(in.round_time)), "a round takes time",
                    "give at least 1ns: what it takes to send and combine one segment");
}

instance instance_of(const problem& p) {
    return {p.ranks, p.segments, p.root, std::max(p.round_time, time_ns{1}), p.arrivals};
}

std::vector<schedule> schedules_of(const problem& p, const rounds& r, std::span<const rank> who,
                                   std::span<const relay> relays) {
    return write(p, r, who, false, relays);
}

problem with_root_there(problem p) {
    if (!p.arrivals.empty()) p.arrivals[static_cast<std::size_t>(p.root.value)] = std::ranges::min(p.arrivals);
    return p;
}

std::vector<schedule> schedules_for_late_root(const problem& p, const rounds& r, std::span<const rank> who) {
    return write(p, r, who, p.arrivals.empty() || p != with_root_there(p));
}

}  // namespace rubato::schedules
