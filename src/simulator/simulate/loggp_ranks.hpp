// Some of the ranks of a simulation under LogGP, by the rules at the head of loggp.cpp, on a machine (equal_ranks.hpp).
//
// What a rank does takes effect on another one after o + L at the earliest. So time is cut into windows that are no
// longer, a power of two of nanoseconds: within one, ranks do not depend on each other, and each handles its events in
// the order of time, then of step. Messages that wait for their receiver have no such delay, and L and o may be 0; then
// a window is a nanosecond. Ranks that share their host's interfaces or cables depend on each other, so then the events
// of all ranks are handled in one order. A shared interface serves messages in the order in which the CPUs give them to
// it.
#pragma once

#include "simulator/simulate/equal_ranks.hpp"
#include "simulator/simulate/event_queue.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace rubato::simulator {

template <class Machine>
class loggp_ranks {
public:
    /// The i-th of so many parts of all ranks. Windows are 2^shift ns.
    loggp_ranks(const std::array<loggp_costs, 2>& c, unsigned shift, run_of_ranks& r, std::uint32_t i,
                std::uint32_t parts)
        : c_(c),
          r_(r),
          first_(r.first_of_part(i, parts)),
          end_(r.first_of_part(i + 1, parts)),
          machine_(r, first_, end_),
          hosts_(machine_.hosts()),
          queue_(shift),
          told_(parts) {
        if (machine_.cables() == nullptr) return;
        cables_.emplace(r, c[between].g);
        sends_.resize(r.ranks());
    }

    void begin() {
        states_.reserve(end_ - first_);
        for (std::uint32_t r = first_; r < end_; ++r) {
            states_.push_back({r_.of(r)});
            begin(r);
        }
    }
    std::int64_t next_window() {
        const std::int64_t mine = queue_.next_window();
        return machine_.cables() == nullptr ? mine : std::min(mine, cables_->next());
    }
    /// All events of the window that is next.
    void run(std::int64_t window) {
        queue_.take(window, batch_);
        if (in_one_order()) {  // then ranks do depend on each other within it
            if (machine_.cables() != nullptr)
                cables_->run_until(
                    window, [&](std::uint32_t rank, std::uint32_t step) { add(window, rank, event::heard(step)); });
            for (const event& e : batch_) add(e.time, e.rank, e.what);
            return handle();
        }
        next_.resize(batch_.size());
        for (std::uint32_t i = 0; i < batch_.size(); ++i) {
            std::uint32_t& first = states_[batch_[i].rank - first_].first_event;
            if (first == none) touched_.push_back(batch_[i].rank);
            next_[i] = std::exchange(first, i);
        }
        for (std::size_t t = 0; t < touched_.size(); ++t) {
            if (t + ahead < touched_.size()) fetch(states_[touched_[t + ahead] - first_]);
            enter(touched_[t]);
            for (std::uint32_t i = std::exchange(my_->first_event, none); i != none; i = next_[i])
                add(batch_[i].time, me_, batch_[i].what);
            handle();
        }
        touched_.clear();
    }
    /// Takes what another part has told the ranks of this one, the i-th.
    void hear_from(loggp_ranks& other, std::size_t i) {
        for (const event& e : other.told_[i]) queue_.push(e);
        other.told_[i].clear();
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t done = run_of_ranks::done;
    static constexpr std::uint32_t message = 1U << 31;       // in `waits`: it waits for the other side, too
    static constexpr std::uint32_t handing_over = done - 1;  // the CPU is busy with it; if all events are in one order
    static constexpr std::uint32_t on_cables = done - 2;     // its last byte has not left

    struct interfaces {
        typename Machine::port out{};
        typename Machine::port in{};
    };
    /// All that handling a rank's event takes, close together.
    struct state {
        run_of_ranks::view at;
        typename Machine::cpu cpu{};
        interfaces own{};
        std::uint32_t first_event = none;  // in the batch
    };
    /// Of the rank whose turn it is, or of all that share links: ordered by time, then rank, then step.
    struct own_event {
        std::int64_t time;
        std::uint64_t what;  // and in the upper half, the rank
        bool operator>(const own_event& other) const {
            return time != other.time ? time > other.time : what > other.what;
        }
    };

    /// Where ranks come in any order, their steps are not in the cache; so they are fetched before their turn.
    static constexpr std::size_t ahead = 8;
    void fetch(const state& s) const {
        const std::uint32_t step = event::step_of(batch_[s.first_event].what);
        __builtin_prefetch(s.at.ready + step, 1);
        __builtin_prefetch(s.at.waits + step, 1);
    }

    bool in_one_order() const { return machine_.shares_links() || machine_.cables() != nullptr; }
    void enter(std::uint32_t r) {
        me_ = r;
        my_ = &states_[r - first_];
    }
    const schedules::shape_step& step_of(std::uint32_t s) const { return my_->at.steps.steps[s]; }
    /// The rank itself if there is none.
    std::uint32_t peer_of(const schedules::shape_step& t) const {
        return t.distance == none ? me_ : r_.shapes().peer_of(me_, t);
    }
    link_kind link_to(std::uint32_t peer, const schedules::shape_step& t) const {
        return t.distance == none ? between : machine_.link(me_, peer);
    }
    bool is_synchronous(const schedules::shape_step& t) const {
        return t.distance != none && machine_.is_synchronous(t, link_to(peer_of(t), t));
    }
    /// The interfaces of the rank, or of its host, for messages along that link.
    interfaces& interfaces_to(link_kind link) {
        return link == between && machine_.shares_links() ? hosts_[machine_.host_of(me_)] : my_->own;
    }
    auto issuing() {
        return [this](std::uint32_t s) { is_issued(s); };
    }

    void begin(std::uint32_t r) {
        r_.begin(r);
        enter(r);
        const run_of_ranks::view& my = my_->at;
        for (std::uint32_t s = 0; s < my.steps.size(); ++s) {
            const schedules::shape_step& t = step_of(s);
            const bool is_message = t.kind == step_kind::send || t.kind == step_kind::recv;
            if (is_message && is_synchronous(t) == (t.kind == step_kind::send)) my.waits[s] |= message;
            if (my.is_free(s)) free_.push_back(s);
        }
        for (const std::uint32_t s : free_) is_issued(s);
        free_.clear();
    }

    void add(std::int64_t time, std::uint32_t rank, std::uint32_t what) {
        now_.push_back({time, std::uint64_t{rank} << 32 | what});
        std::ranges::push_heap(now_, std::greater<>{});
    }
    void handle() {
        while (!now_.empty()) {
            std::ranges::pop_heap(now_, std::greater<>{});
            const own_event e = now_.back();
            now_.pop_back();
            if (in_one_order()) enter(static_cast<std::uint32_t>(e.what >> 32));
            const auto what = static_cast<std::uint32_t>(e.what);
            if (event::is_heard(what))
                hear(event::step_of(what), e.time);
            else
                run_step(event::step_of(what), e.time);
        }
    }

    /// The other side of a message hears of it.
    void tell(std::uint32_t peer, const schedules::shape_step& t, std::int64_t time) {
        const std::uint32_t there = r_.shapes().partner(my_->at.steps, t, peer);
        if (there == none) return;
        const event e{time, peer, event::heard(there)};
        if (peer >= first_ && peer < end_)
            queue_.push(e);
        else
            told_[r_.part_of(peer, told_.size())].push_back(e);
    }
    /// No step of the rank holds it up; the other side of its message may.
    void is_issued(std::uint32_t s) {
        const run_of_ranks::view& my = my_->at;
        my.has_begun(s, my.ready[s], issuing());
        if (my.waits[s] != 0) return;
        const schedules::shape_step& t = step_of(s);
        if (t.kind != step_kind::recv || !is_synchronous(t)) return is_ready(s);
        my.waits[s] = message;  // the sender waits for it
        tell(peer_of(t), t, my.ready[s]);
    }
    void is_ready(std::uint32_t s) {
        const run_of_ranks::view& my = my_->at;
        my.waits[s] = done;  // it will be
        if (queue_.is_now(my.ready[s]))
            add(my.ready[s], me_, event::runs(s));
        else
            queue_.push({my.ready[s], me_, event::runs(s)});
    }

    /// The first byte of a message comes in, its receiver waits for it, or the CPU has given it away.
    void hear(std::uint32_t s, std::int64_t time) {
        const run_of_ranks::view& my = my_->at;
        if (my.waits[s] == handing_over) return hand_over(s, my.ready[s], time);
        if (machine_.cables() != nullptr && my.waits[s] == on_cables) return has_left(s, time);
        if (my.waits[s] == done || (my.waits[s] & message) == 0) return;  // the message was sent twice
        const schedules::shape_step& t = step_of(s);
        if (t.kind == step_kind::recv && machine_.cables() == nullptr)
            time = pass(t, peer_of(t), time, &interfaces::in).end;
        my.ready[s] = std::max(my.ready[s], time);
        my.waits[s] &= ~message;
        if (my.waits[s] == 0) is_ready(s);
    }

    /// Steps come here in the order in which they become ready, so each takes the CPU when those before have done.
    void run_step(std::uint32_t s, std::int64_t time) {
        const schedules::shape_step& t = step_of(s);
        if (t.kind == step_kind::copy) return finish(s, time, time);
        if (t.kind == step_kind::send && t.next[0] != none) my_->at.release(t.next[0], time, issuing());
        if (machine_.cables() != nullptr && sends_[me_].now) return sends_[me_].held.push_back(s);
        run_on_cpu(s, t, time);
    }
    void run_on_cpu(std::uint32_t s, const schedules::shape_step& t, std::int64_t time) {
        auto& cpu = my_->cpu;
        const std::int64_t begin = std::max(time, cpu.free);
        if (t.kind == step_kind::combine) {
            cpu.free = machine_.end_of_work(me_, begin, t.span[between], 0);
            return finish(s, begin, cpu.free);
        }
        const std::uint32_t peer = peer_of(t);
        const link_kind link = link_to(peer, t);
        const loggp_costs& c = c_[link];
        if (t.kind == step_kind::recv) {
            cpu.free = machine_.end_of_work(me_, begin, cpu.to_receive(begin, c), 0);
            cpu.received();
            return finish(s, begin, cpu.free);
        }
        const std::int64_t o = interfaces_to(link).out.to_send(begin, c);
        const bool moves = c.cpu_sends && !uses_cables(t, link);
        cpu.free = machine_.end_of_work(me_, begin, o, moves ? machine_.on_link(me_, peer, t.span[link]) : 0);
        if (machine_.cables() != nullptr) sends_[me_].now = c.cpu_sends && !moves;
        if (!in_one_order()) return hand_over(s, begin, cpu.free);
        my_->at.waits[s] = handing_over;
        my_->at.ready[s] = begin;
        queue_.push({cpu.free, me_, event::heard(s)});
    }
    /// The CPU has given a message to the interface.
    void hand_over(std::uint32_t s, std::int64_t begin, std::int64_t time) {
        const schedules::shape_step& t = step_of(s);
        const std::uint32_t peer = peer_of(t);
        const link_kind link = link_to(peer, t);
        const loggp_costs& c = c_[link];
        if (machine_.cables() != nullptr) {
            time = my_->own.out.pass(time, 0, c.g, c);
            if (!uses_cables(t, link)) return leave(s, t, begin, time + (c.cpu_sends ? 0 : t.span[link]));
            my_->at.waits[s] = on_cables;
            my_->at.ready[s] = begin;
            const auto bytes = static_cast<double>(t.bytes);
            const bool in_turn = c.hands_over && !machine_.is_synchronous(t, link);
            return cables_->send({time, me_, s, c.cpu_sends ? bytes : std::max(bytes - 1, 0.0), in_turn});
        }
        const span sent = pass(t, peer, time, &interfaces::out);
        if (t.distance != none) tell(peer, t, sent.begin + c.L);
        finish(s, begin, sent.end);
    }

    bool uses_cables(const schedules::shape_step& t, link_kind link) const {
        return machine_.cables() != nullptr && link == between && t.distance != none;
    }
    /// The last byte of a message has left, by cables or within the host.
    void leave(std::uint32_t s, const schedules::shape_step& t, std::int64_t begin, std::int64_t end) {
        const std::uint32_t peer = peer_of(t);
        if (t.distance != none) tell(peer, t, end + c_[link_to(peer, t)].L);
        finish(s, begin, end);
    }
    void has_left(std::uint32_t s, std::int64_t time) {
        my_->own.out.passed(time);
        leave(s, step_of(s), my_->at.ready[s], time);
        cpu_sending& mine = sends_[me_];
        if (!mine.now) return;
        mine.now = false;
        my_->cpu.free = time;
        while (!mine.now && !mine.held.empty()) {
            const std::uint32_t next = mine.held.front();
            mine.held.pop_front();
            run_on_cpu(next, step_of(next), time);
        }
    }

    struct span {
        std::int64_t begin;
        std::int64_t end;
    };
    /// A message goes through one of the interfaces, not before that time.
    span pass(const schedules::shape_step& t, std::uint32_t peer, std::int64_t time,
              typename Machine::port interfaces::*port) {
        const link_kind link = link_to(peer, t);
        const loggp_costs& c = c_[link];
        const std::int64_t transfer = c.cpu_sends ? 0 : t.span[link];
        const std::int64_t takes = machine_.on_link(me_, peer, transfer);
        const std::int64_t busy = machine_.on_link(me_, peer, c.g + transfer);
        const std::int64_t begin = (interfaces_to(link).*port).pass(time, takes, busy, c);
        return {begin, begin + takes};
    }

    void finish(std::uint32_t s, std::int64_t begin, std::int64_t end) { my_->at.finish(s, begin, end, issuing()); }

    const std::array<loggp_costs, 2>& c_;
    run_of_ranks& r_;
    std::uint32_t first_;
    std::uint32_t end_;
    Machine machine_;
    std::vector<state> states_{};
    std::vector<interfaces> hosts_;  // if their ranks share links
    event_queue queue_;
    std::vector<std::vector<event>> told_;  // to ranks of others, by part

    std::optional<messages_on_cables> cables_{};
    /// A CPU that moves a message's bytes on cables is busy until it is told that they have left.
    struct cpu_sending {
        bool now = false;
        std::deque<std::uint32_t> held{};  ///< steps that wait for the CPU
    };
    std::vector<cpu_sending> sends_{};  // of each rank, with cables

    // Of the present window.
    std::vector<event> batch_{};
    std::vector<std::uint32_t> next_{};     // of each event, that of the same rank
    std::vector<std::uint32_t> touched_{};  // ranks

    // The rank whose turn it is.
    std::uint32_t me_ = 0;
    state* my_ = nullptr;
    std::vector<own_event> now_{};       // a heap
    std::vector<std::uint32_t> free_{};  // steps, at the beginning
};

}  // namespace rubato::simulator
