// Steps in unit time. A message waits for the dependencies of both its sides, for the sender's previous send and for
// the receiver's previous receive. On the way, each place in memory remembers which block it holds.
#include "rubato/draw.hpp"
#include "schedules/schedule/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace rubato {
namespace {

class clockwork {
public:
    clockwork(const problem& p, std::span<const schedule> all)
        : all_(all),
          ranks_(schedules::shapes_of(all, std::array{layout::uniform(0)})),
          waits_(ranks_.first().back()),
          ends_(waits_.size()),
          memory_(all.size()) {
        ranks_.serve_in_order({1, 2, 0, 0});  // send, recv, combine, copy
        const collective_traits& t = traits(p.what);
        const std::uint32_t parts = all.front().parts;
        table_.blocks = parts * (t.chunked() ? ranks_.ranks() : 1);
        for (std::uint32_t r = 0; r < ranks_.ranks(); ++r) {
            const auto chunks = static_cast<std::uint32_t>(p.input_chunks(rank(static_cast<std::int32_t>(r))));
            const auto input = room(r, buffer::input, 0, parts * chunks);
            for (block b = 0; b < input.size(); ++b) input[b] = t.wide_output ? r * parts + b % parts : b;
        }
    }

    timetable run() {
        ranks_.each([this](const schedules::rank_step& p, const schedules::shape_step& t) {
            waits_[at(p)] = t.waits_for + t.ports_before;
            if (waits_[at(p)] == 0) runnable_.push_back(p);
        });
        while (!runnable_.empty()) {
            const schedules::rank_step p = runnable_.back();
            runnable_.pop_back();
            run_if_possible(p);
        }
        table_.ends.resize(memory_.size());
        ranks_.each([this](const schedules::rank_step& p, const schedules::shape_step&) {
            if (waits_[at(p)] != done) ranks_.deadlock(p.rank, p.step);
            table_.ends[p.rank].push_back(ends_[at(p)]);
        });
        std::ranges::sort(table_.messages, {}, [](const message& m) { return std::tuple(m.round, m.to, m.from); });
        if (!table_.messages.empty()) table_.rounds = table_.messages.back().round;
        return std::move(table_);
    }

private:
    static constexpr std::uint32_t done = UINT32_MAX;

    std::size_t at(const schedules::rank_step& p) const { return ranks_.number_of(p); }
    const step& step_of(const schedules::rank_step& p) const { return all_[p.rank].steps[p.step]; }

    std::span<block> room(std::uint32_t r, buffer where, block first, std::uint32_t count) {
        std::vector<block>& m = memory_[r][static_cast<std::size_t>(where)];
        if (m.size() < std::size_t{first} + count) m.resize(std::size_t{first} + count);
        return std::span(m).subspan(first, count);
    }

    void run_if_possible(const schedules::rank_step& p) {
        const step& t = step_of(p);
        if (!t.is_message()) {
            if (t.kind == step_kind::copy) {
                const auto from = room(p.rank, t.from, t.source, t.count);
                const std::vector<block> held(from.begin(), from.end());  // the buffer may move when it grows
                std::ranges::copy(held, room(p.rank, t.to, t.target, t.count).begin());
            }
            return finish(p);
        }
        if (ranks_.of(p).distance == schedules::shape::none) return;
        const std::uint32_t peer = ranks_.peer_of(p.rank, ranks_.of(p));
        const schedules::rank_step other{peer, ranks_.partner(ranks_.of(p), peer)};
        if (other.step == schedules::shape::none) return;
        if (waits_[at(p)] != 0 || waits_[at(other)] != 0) return;  // or both were done when it was the partner's turn
        ends_[at(p)] = ends_[at(other)] = std::max(ends_[at(p)], ends_[at(other)]) + 1;
        deliver(t.kind == step_kind::send ? p : other, t.kind == step_kind::send ? other : p);
        finish(p);
        finish(other);
    }

    void deliver(const schedules::rank_step& from, const schedules::rank_step& to) {
        const step& out = step_of(from);
        const step& in = step_of(to);
        message m{rank(static_cast<std::int32_t>(from.rank)), rank(static_cast<std::int32_t>(to.rank)), from.step,
                  to.step, ends_[at(from)]};
        const auto data = room(from.rank, out.from, out.source, std::min(out.count, in.count));
        m.blocks.assign(data.begin(), data.end());
        std::ranges::copy(m.blocks, room(to.rank, in.to, in.target, in.count).begin());
        table_.messages.push_back(std::move(m));
    }

    void finish(const schedules::rank_step& p) {
        waits_[at(p)] = done;
        const auto release = [&](std::uint32_t follower) {
            if (follower == schedules::shape::none) return;
            const schedules::rank_step f{p.rank, follower};
            ends_[at(f)] = std::max(ends_[at(f)], ends_[at(p)]);
            if (--waits_[at(f)] == 0) runnable_.push_back(f);
        };
        std::ranges::for_each(ranks_.of(p.rank).followers_of(p.step), release);
        std::ranges::for_each(ranks_.of(p).next, release);
    }

    std::span<const schedule> all_;
    schedules::shape_table ranks_;
    std::vector<std::uint32_t> waits_;  // of each step: for how many others, or `done`
    std::vector<std::int64_t> ends_;    // of each step: the latest of those before it; once it is done, its own
    std::vector<std::array<std::vector<block>, 3>> memory_;  // rank, buffer -> which block each place holds
    std::vector<schedules::rank_step> runnable_{};
    timetable table_{};
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
