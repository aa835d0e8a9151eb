// Steps in unit time. A message waits for the dependencies of both its sides, for the sender's previous send and for
// the receiver's previous receive. On the way, each place in memory remembers which block it holds.
#include "rubato/draw.hpp"
#include "schedule/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace rubato {
namespace {

class clockwork {
public:
    clockwork(const problem& p, std::span<const schedule> all, const layout& sizes)
        : program_(link(all, std::span(&sizes, 1))), memory_(all.size()) {
        serve_in_order<&linked_step::after_send>(program_, [](step_kind k) { return k == step_kind::send; });
        serve_in_order<&linked_step::after_recv>(program_, [](step_kind k) { return k == step_kind::recv; });
        const collective_traits& t = traits(p.what);
        const auto ranks = static_cast<std::uint32_t>(all.size());
        const std::uint32_t parts = all.front().parts;
        table_.blocks = parts * (t.chunked() ? ranks : 1);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            const auto chunks = static_cast<std::uint32_t>(p.input_chunks(rank(static_cast<std::int32_t>(r))));
            const auto input = place(r, buffer::input, 0, parts * chunks);
            for (block b = 0; b < input.size(); ++b) input[b] = t.wide_output ? r * parts + b % parts : b;
        }
    }

    timetable run() {
        for (std::uint32_t s = 0; s < program_.size(); ++s)
            if (program_.steps[s].waits_for == 0) runnable_.push_back(s);
        while (!runnable_.empty()) {
            const std::uint32_t s = runnable_.back();
            runnable_.pop_back();
            run_if_possible(s);
        }
        program_.check_done();
        for (std::size_t r = 0; r < memory_.size(); ++r) {
            auto& ends = table_.ends.emplace_back();
            for (std::uint32_t s = program_.first_of_rank[r]; s < program_.first_of_rank[r + 1]; ++s)
                ends.push_back(program_.steps[s].ready);
        }
        std::ranges::sort(table_.messages, {}, [](const message& m) { return std::tuple(m.round, m.to, m.from); });
        if (!table_.messages.empty()) table_.rounds = table_.messages.back().round;
        return std::move(table_);
    }

private:
    std::span<block> place(std::uint32_t r, buffer where, block first, std::uint32_t count) {
        std::vector<block>& m = memory_[r][static_cast<std::size_t>(where)];
        if (m.size() < std::size_t{first} + count) m.resize(std::size_t{first} + count);
        return std::span(m).subspan(first, count);
    }

    void run_if_possible(std::uint32_t s) {
        linked_step& me = program_.steps[s];
        const step& t = program_.original(s);
        if (!t.is_message()) {
            if (t.kind == step_kind::copy) {
                const auto from = place(me.rank, t.from, t.source, t.count);
                const std::vector<block> held(from.begin(), from.end());  // the buffer may move when it grows
                std::ranges::copy(held, place(me.rank, t.to, t.target, t.count).begin());
            }
            return finish(s);
        }
        if (me.partner == program::none) return;
        linked_step& other = program_.steps[me.partner];
        if (me.waits_for != 0 || other.waits_for != 0) return;  // or both were done when it was the partner's turn
        me.ready = other.ready = std::max(me.ready, other.ready) + 1;
        deliver(t.kind == step_kind::send ? s : me.partner, t.kind == step_kind::send ? me.partner : s);
        finish(s);
        finish(me.partner);
    }

    void deliver(std::uint32_t from, std::uint32_t to) {
        const linked_step& sender = program_.steps[from];
        const linked_step& receiver = program_.steps[to];
        const step& out = program_.original(from);
        const step& in = program_.original(to);
        message m{rank(static_cast<std::int32_t>(sender.rank)), rank(static_cast<std::int32_t>(receiver.rank)),
                  from - program_.first_of_rank[sender.rank], to - program_.first_of_rank[receiver.rank], sender.ready};
        const auto data = place(sender.rank, out.from, out.source, std::min(out.count, in.count));
        m.blocks.assign(data.begin(), data.end());
        std::ranges::copy(m.blocks, place(receiver.rank, in.to, in.target, in.count).begin());
        table_.messages.push_back(std::move(m));
    }

    void finish(std::uint32_t s) {
        linked_step& me = program_.steps[s];
        me.waits_for = program::done;
        const auto release = [&](std::uint32_t follower) {
            if (follower == program::none) return;
            linked_step& f = program_.steps[follower];
            f.ready = std::max(f.ready, me.ready);
            if (--f.waits_for == 0) runnable_.push_back(follower);
        };
        for (const std::uint32_t f : program_.followers_of(s)) release(f);
        release(me.after_send);
        release(me.after_recv);
    }

    program program_;
    std::vector<std::array<std::vector<block>, 3>> memory_;  // rank, buffer -> which block each place holds
    std::vector<std::uint32_t> runnable_{};
    timetable table_{};
};

}  // namespace

timetable make_timetable(const problem& p, std::span<const schedule> all) {
    return clockwork(p, all, layout::uniform(0)).run();
}

std::string block_label(const timetable& t, const message& m) {
    if (m.blocks.empty() || t.blocks == 1) return "";
    if (m.blocks.size() == 1) return fmt::format("{}", m.blocks.front());
    for (std::size_t i = 1; i < m.blocks.size(); ++i)
        if (m.blocks[i] != (m.blocks[i - 1] + 1) % t.blocks) return fmt::format("x{}", m.blocks.size());
    return fmt::format("{}-{}", m.blocks.front(), m.blocks.back());
}

}  // namespace rubato
