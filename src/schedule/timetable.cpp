// Steps in unit time. A message waits for the dependencies of both its sides, for the sender's previous send and for
// the receiver's previous receive. On the way, each place in memory remembers which block it holds.
#include "rubato/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
    clockwork(const problem& p, std::span<const schedule> all) : p_(p), all_(all), memory_(all.size()) {
        for (const schedule& s : all) {
            const std::size_t n = s.steps.size();
            table_.ends.emplace_back(n, 0);
            waits_.emplace_back(n, 0);
            followers_.emplace_back(n);
            partners_.emplace_back(n);
        }
        for (std::uint32_t r = 0; r < all.size(); ++r) {
            link_rank(r);
            fill_input(r);
        }
        const collective_traits& t = traits(p.what);
        table_.blocks = all.front().parts * (t.wide_input || t.wide_output ? static_cast<std::uint32_t>(p.ranks) : 1);
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

    std::span<block> place(std::uint32_t r, buffer where, block first, std::uint32_t count) {
        std::vector<block>& m = memory_[r][static_cast<std::size_t>(where)];
        if (m.size() < std::size_t{first} + count) m.resize(std::size_t{first} + count);
        return std::span(m).subspan(first, count);
    }

    void fill_input(std::uint32_t r) {
        const collective_traits& t = traits(p_.what);
        const std::uint32_t parts = all_[r].parts;
        const auto whole =
            place(r, buffer::input, 0, (t.wide_input ? static_cast<std::uint32_t>(p_.ranks) : 1) * parts);
        for (block b = 0; b < whole.size(); ++b) whole[b] = t.wide_output ? r * parts + b % parts : b;
    }

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
        const step& t = at(n);
        std::int64_t& end = table_.ends[n.r][n.s];
        if (!t.is_message()) {
            if (t.kind == step_kind::copy)
                std::ranges::copy(place(n.r, t.from, t.source, t.count), place(n.r, t.to, t.target, t.count).begin());
            finish(n);
            return 1;
        }
        const node other = partners_[n.r][n.s];
        if (waits_[other.r][other.s] > 0) return 0;
        std::int64_t& other_end = table_.ends[other.r][other.s];
        end = other_end = std::max(end, other_end) + 1;
        deliver(t.kind == step_kind::send ? n : other, t.kind == step_kind::send ? other : n, end);
        ++waits_[n.r][n.s];  // the partner's turn must not run them again
        finish(n);
        finish(other);
        return 2;
    }

    void deliver(node from, node to, std::int64_t round) {
        message m{rank(static_cast<std::int32_t>(from.r)), rank(static_cast<std::int32_t>(to.r)), from.s, to.s, round};
        const step& in = at(to);
        const auto data = place(from.r, at(from).from, at(from).source, std::min(at(from).count, in.count));
        m.blocks.assign(data.begin(), data.end());
        std::ranges::copy(m.blocks, place(to.r, in.to, in.target, in.count).begin());
        table_.messages.push_back(std::move(m));
    }

    void finish(node n) {
        for (const std::uint32_t f : followers_[n.r][n.s]) {
            table_.ends[n.r][f] = std::max(table_.ends[n.r][f], table_.ends[n.r][n.s]);
            if (--waits_[n.r][f] == 0) ready_.push_back({n.r, f});
        }
    }

    const problem& p_;
    std::span<const schedule> all_;
    std::vector<std::array<std::vector<block>, 3>> memory_;  // rank, buffer -> which block each place holds
    timetable table_{};
    std::vector<std::vector<std::uint32_t>> waits_{};  // how many steps each still waits for
    std::vector<std::vector<std::vector<std::uint32_t>>> followers_{};
    std::vector<std::vector<node>> partners_{};
    std::vector<node> ready_{};
};

}  // namespace

timetable make_timetable(const problem& p, std::span<const schedule> all) { return clockwork(p, all).run(); }

std::string block_label(const timetable& t, const message& m) {
    if (m.blocks.empty() || t.blocks == 1) return "";
    if (m.blocks.size() == 1) return fmt::format("{}", m.blocks.front());
    for (std::size_t i = 1; i < m.blocks.size(); ++i)
        if (m.blocks[i] != (m.blocks[i - 1] + 1) % t.blocks) return fmt::format("x{}", m.blocks.size());
    return fmt::format("{}-{}", m.blocks.front(), m.blocks.back());
}

}  // namespace rubato
