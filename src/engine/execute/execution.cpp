// Why it cannot deadlock where verify found no deadlock: take the first message, in the order of verify's run, that is
// not complete. All earlier messages of its two ranks are complete. So its receive is the first that has not ended,
// which is always posted. Of the sends under way at most one, which overtook it, comes later, so there is room to send.
#include "engine/execute/engine.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <unordered_map>

namespace rubato::engine {

plan::plan(schedule s) : schedule_(std::move(s)) {
    const std::size_t n = schedule_.steps.size();
    waits_.resize(n);
    first_successor_.assign(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
        const auto on = schedule_.dependencies_of(i);
        waits_[i] = static_cast<std::uint32_t>(on.size());
        for (const std::uint32_t d : on) ++first_successor_[d + 1];
        const step_kind kind = schedule_.steps[i].kind;
        if (kind == step_kind::send) sends_.push_back(static_cast<std::uint32_t>(i));
        if (kind == step_kind::recv) recvs_.push_back(static_cast<std::uint32_t>(i));
    }
    constexpr std::size_t ahead = 4;  // receives posted at once from one peer
    struct history {
        std::array<std::uint32_t, ahead> last{none, none, none, none};
        std::size_t count = 0;
    };
    std::unordered_map<std::int32_t, history> peers;
    for (const std::uint32_t r : recvs_) {
        history& h = peers[schedule_.steps[r].peer];
        std::uint32_t& oldest = h.last[h.count++ % ahead];
        gates_.push_back(oldest);
        oldest = r;
    }
    for (std::size_t i = 0; i < n; ++i) first_successor_[i + 1] += first_successor_[i];
    successors_.resize(schedule_.dependencies.size());
    std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (std::uint32_t i = 0; i < n; ++i)
        for (const std::uint32_t d : schedule_.dependencies_of(i)) successors_[next[d]++] = i;
}

std::size_t plan::bytes() const {
    const auto of = [](const auto&... vectors) { return (... + (vectors.capacity() * sizeof(vectors[0]))); };
    return sizeof(plan) + of(schedule_.scratch, schedule_.steps, schedule_.first_dependency, schedule_.dependencies,
                             first_successor_, successors_, waits_, sends_, recvs_, gates_);
}

void execution::start(const plan& p, const layout& l, const memory& m, transport& t, bool arrived) {
    plan_ = &p;
    layout_ = &l;
    transport_ = &t;
    memory_ = m;
    arrived_ = arrived;
    const schedule& s = p.steps();
    const std::size_t n = s.steps.size();
    layout_->scratch_offsets(s, scratch_offsets_);
    waits_.assign(p.waits().begin(), p.waits().end());
    started_.assign(n, false);
    ended_.assign(n, false);
    ready_.clear();
    remaining_ = n;
    sending_ = receiving_ = next_send_ = next_recv_ = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        if (!arrived && s.steps[i].needs_arrival()) ++waits_[i];
        if (waits_[i] == 0 && !s.steps[i].is_message()) push_ready(i);
    }
    look_ = true;
    start_ready();
}

void execution::arrive(std::byte* input, std::byte* output) {
    assert(!arrived_);
    arrived_ = true;
    memory_.input = input;
    memory_.output = output;
    const auto& steps = plan_->steps().steps;
    for (std::uint32_t i = 0; i < steps.size(); ++i)
        if (steps[i].needs_arrival()) release(i);
    start_ready();
}

bool execution::progress() {
    if (!done()) advance(false);
    return done();
}

bool execution::resume() {
    while (!done()) {
        start_ready();
        completed_.clear();
        transport_->take(completed_);
        if (completed_.empty()) break;
        for (const std::uint32_t i : completed_) complete(i);
    }
    return done();
}

void execution::wait() {
    assert(arrived_ || done());
    while (!done()) advance(true);
}

std::byte* execution::address(buffer b, block first) const {
    const std::uint32_t parts = plan_->steps().parts;
    switch (b) {
        case buffer::input: return memory_.input + layout_->input.offset(parts, first) * memory_.input_stride;
        case buffer::output: return memory_.output + layout_->output.offset(parts, first) * memory_.output_stride;
        case buffer::scratch: return memory_.scratch + scratch_offsets_[first] * memory_.scratch_stride;
    }
    return nullptr;
}

/// One thing less that step s waits for.
void execution::release(std::uint32_t s) {
    if (--waits_[s] != 0) return;
    if (plan_->steps().steps[s].is_message())
        look_ = true;
    else
        push_ready(s);
}

void execution::push_ready(std::uint32_t s) {
    ready_.push_back(s);
    std::ranges::push_heap(ready_, std::greater{});
}

void execution::complete(std::uint32_t s) {
    ended_[s] = true;
    --remaining_;
    const step_kind kind = plan_->steps().steps[s].kind;
    if (kind == step_kind::send) --sending_;
    if (kind == step_kind::recv) --receiving_;
    look_ |= kind == step_kind::send || kind == step_kind::recv;  // there may be room for another
    for (const std::uint32_t next : plan_->successors(s)) release(next);
}

bool execution::start_if_ready(std::uint32_t s) {
    if (started_[s] || waits_[s] != 0) return false;
    started_[s] = true;
    const step& t = plan_->steps().steps[s];
    const std::int64_t units = layout_->length(plan_->steps(), t);
    if (units == 0 && t.count > 0 && layout_->skips_empty) {
        ++(t.kind == step_kind::send ? sending_ : receiving_);
        complete(s);
    } else if (t.kind == step_kind::send) {
        ++sending_;
        transport_->send(s, t.count ? address(t.from, t.source) : nullptr, units, rank(t.peer), t.message);
    } else {
        ++receiving_;
        transport_->recv(s, t.count ? address(t.to, t.target) : nullptr, units, rank(t.peer), t.message);
    }
    return true;
}

void execution::start_messages() {
    look_ = false;
    const auto recvs = plan_->recvs();
    while (next_recv_ < recvs.size() && ended_[recvs[next_recv_]]) ++next_recv_;
    for (std::size_t i = next_recv_; i < recvs.size(); ++i) {
        if (i > next_recv_ && (receiving_ >= recv_window || i >= next_recv_ + 2 * recv_window)) break;
        const std::uint32_t gate = plan_->gates()[i];
        if (gate == plan::none || ended_[gate]) start_if_ready(recvs[i]);
    }
    const auto sends = plan_->sends();
    while (next_send_ < sends.size()) {
        if (sending_ >= send_window) break;
        if (started_[sends[next_send_]] || start_if_ready(sends[next_send_]))
            ++next_send_;
        else if (next_send_ + 1 == sends.size() || !start_if_ready(sends[next_send_ + 1]))
            break;
    }
}

/// Starts what can be started without waiting for any message.
void execution::start_ready() {
    const schedule& s = plan_->steps();
    for (;;) {
        while (look_) start_messages();  // one that is skipped makes room for others
        if (ready_.empty()) return;
        // One local step at a time, the first in order, so that messages that waited for it leave before the next.
        std::ranges::pop_heap(ready_, std::greater{});
        const std::uint32_t i = ready_.back();
        ready_.pop_back();
        const step& t = s.steps[i];
        std::byte* const to = address(t.to, t.target);
        const std::byte* const from = address(t.from, t.source);
        const std::int64_t units = layout_->length(s, t);
        if (units > 0 && t.kind == step_kind::combine)
            transport_->combine(from, to, units);
        else if (units > 0 && from != to)
            transport_->copy(from, to, units);
        complete(i);
    }
}

void execution::advance(bool wait) {
    for (;;) {
        start_ready();
        if (done() || sending_ + receiving_ == 0) return;
        completed_.clear();
        if (wait && remaining_ == sending_ + receiving_)
            transport_->wait(completed_);
        else
            transport_->poll(completed_, wait);
        if (completed_.empty()) return;
        for (const std::uint32_t i : completed_) complete(i);
    }
}

}  // namespace rubato::engine
