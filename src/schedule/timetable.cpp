// Steps in unit time. A message waits for the dependencies of both its sides, for the sender's previous send and for
// the receiver's previous receive.
#include "rubato/draw.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace rubato {
namespace {

struct node {
    std::uint32_t r = 0;
    std::uint32_t s = 0;
};

class clockwork {
public:
    explicit clockwork(std::span<const schedule> all) : all_(all) {
        for (const schedule& s : all) {
            const std::size_t n = s.steps.size();
            table_.ends.emplace_back(n, 0);
            waits_.emplace_back(n, 0);
            followers_.emplace_back(n);
            partners_.emplace_back(n);
        }
        for (std::uint32_t r = 0; r < all.size(); ++r) link_rank(r);
        match();
    }

    timetable run() {
        for (std::uint32_t r = 0; r < all_.size(); ++r)
            for (std::uint32_t s = 0; s < all_[r].steps.size(); ++s)
                if (waits_[r][s] == 0) ready_.push_back({r, s});
        std::size_t left = 0;
        for (const schedule& s : all_) left += s.steps.size();
        while (!ready_.empty()) {
            const node at = ready_.back();
            ready_.pop_back();
            left -= run_if_possible(at);
        }
        if (left > 0)
            throw error("the schedules never end", "they wait for each other in a circle", "see what verify says");
        std::ranges::sort(table_.messages, {}, [](const message& m) { return std::tuple(m.round, m.to, m.from); });
        if (!table_.messages.empty()) table_.rounds = table_.messages.back().round;
        return std::move(table_);
    }

private:
    const step& at(node n) const { return all_[n.r].steps[n.s]; }

    /// Who waits for whom within a rank: by data, and by the order of its sends and of its receives.
    void link_rank(std::uint32_t r) {
        const schedule& s = all_[r];
        const auto link = [&](std::uint32_t before, std::uint32_t after) {
            followers_[r][before].push_back(after);
            ++waits_[r][after];
        };
        std::int64_t last_send = -1;
        std::int64_t last_recv = -1;
        for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
            for (const std::uint32_t d : s.dependencies_of(i)) link(d, i);
            if (!s.steps[i].is_message()) continue;
            std::int64_t& last = s.steps[i].kind == step_kind::send ? last_send : last_recv;
            if (last >= 0) link(static_cast<std::uint32_t>(last), i);
            last = i;
        }
    }

    void match() {
        std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, node> open;
        for (std::uint32_t r = 0; r < all_.size(); ++r) {
            for (std::uint32_t i = 0; i < all_[r].steps.size(); ++i) {
                const step& t = all_[r].steps[i];
                if (!t.is_message()) continue;
                const auto peer = static_cast<std::uint32_t>(t.peer);
                const bool send = t.kind == step_kind::send;
                const auto [other, fresh] = open.try_emplace({send ? r : peer, send ? peer : r, t.message}, node{r, i});
                if (fresh) continue;
                partners_[r][i] = other->second;
                partners_[other->second.r][other->second.s] = {r, i};
                open.erase(other);
            }
        }
        if (!open.empty())
            throw error("the schedules do not fit each other", "a message is sent or received by one side only",
                        "see what verify says");
    }

    /// Returns how many steps ended.
    std::size_t run_if_possible(node n) {
        std::int64_t& end = table_.ends[n.r][n.s];
        if (!at(n).is_message()) {
            finish(n);
            return 1;
        }
        const node other = partners_[n.r][n.s];
        if (waits_[other.r][other.s] > 0) return 0;
        std::int64_t& other_end = table_.ends[other.r][other.s];
        end = other_end = std::max(end, other_end) + 1;
        const auto [from, to] = at(n).kind == step_kind::send ? std::pair(n, other) : std::pair(other, n);
        table_.messages.push_back(
            {rank(static_cast<std::int32_t>(from.r)), rank(static_cast<std::int32_t>(to.r)), from.s, to.s, end});
        ++waits_[n.r][n.s];  // the partner's turn must not run them again
        finish(n);
        finish(other);
        return 2;
    }

    void finish(node n) {
        for (const std::uint32_t f : followers_[n.r][n.s]) {
            table_.ends[n.r][f] = std::max(table_.ends[n.r][f], table_.ends[n.r][n.s]);
            if (--waits_[n.r][f] == 0) ready_.push_back({n.r, f});
        }
    }

    std::span<const schedule> all_;
    timetable table_{};
    std::vector<std::vector<std::uint32_t>> waits_{};  // how many steps each still waits for
    std::vector<std::vector<std::vector<std::uint32_t>>> followers_{};
    std::vector<std::vector<node>> partners_{};
    std::vector<node> ready_{};
};

}  // namespace

timetable make_timetable(std::span<const schedule> all) { return clockwork(all).run(); }

block_range carried_blocks(const problem& p, const step& send, const step& recv) {
    if (traits(p.what).wide_output && recv.to == buffer::output) return {recv.target, recv.count};
    if (traits(p.what).wide_input && send.from == buffer::input) return {send.source, send.count};
    return {send.shape, send.count};
}

}  // namespace rubato
