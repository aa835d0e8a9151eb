// The homogeneous simultaneous send/receive no-overlap model of Marendic et al. 2016, Definition 3.1.
//
// A rank has a port for sending and one for receiving. Each serves its steps in the schedule's order. A combine takes
// both ports, a copy none and no time. A message takes the sender's and the receiver's port at once, from the moment
// both are free and both sides have what they wait for: nothing is buffered.
//
// As every order is given, no event queue is needed: the start of a step is the latest end of those before it, and any
// order that respects them gives the same times.
#include "simulate/run.hpp"

#include <algorithm>

namespace rubato {
namespace {

class simulator {
public:
    explicit simulator(program& p) : p_(p) {
        serve_in_order<&linked_step::after_send>(
            p, [](step_kind k) { return k == step_kind::send || k == step_kind::combine; });
        serve_in_order<&linked_step::after_recv>(
            p, [](step_kind k) { return k == step_kind::recv || k == step_kind::combine; });
    }

    void run() {
        for (std::uint32_t s = 0; s < p_.size(); ++s)  // of a message, the sending side
            if (p_.steps[s].waits_for == 0 && p_.steps[s].kind != step_kind::recv) offer(s);
        while (!runnable_.empty()) {
            const std::uint32_t s = runnable_.back();
            runnable_.pop_back();
            run_step(s);
        }
    }

private:
    /// Step s waits for nothing more on its own side.
    void offer(std::uint32_t s) {
        const linked_step& me = p_.steps[s];
        const bool message = me.kind == step_kind::send || me.kind == step_kind::recv;
        if (!message || (me.partner != program::none && p_.steps[me.partner].waits_for == 0)) runnable_.push_back(s);
    }

    void run_step(std::uint32_t s) {
        const linked_step& me = p_.steps[s];
        const std::uint32_t other = me.partner;
        if (other == program::none) return finish(s, me.ready, me.ready + me.span);
        const std::int64_t begin = std::max(me.ready, p_.steps[other].ready);
        const std::int64_t end = begin + me.span;
        finish(s, begin, end);
        finish(other, begin, end);
    }

    void finish(std::uint32_t s, std::int64_t begin, std::int64_t end) {
        rubato::finish(p_, s, begin, end);
        for (const std::uint32_t f : p_.followers_of(s)) release(f, end);
        for (const std::uint32_t next : {p_.steps[s].after_send, p_.steps[s].after_recv})
            if (next != program::none) release(next, end);
    }

    void release(std::uint32_t s, std::int64_t time) {
        linked_step& me = p_.steps[s];
        me.ready = std::max(me.ready, time);
        if (--me.waits_for == 0) offer(s);
    }

    program& p_;
    std::vector<std::uint32_t> runnable_{};
};

}  // namespace

void run(const hockney& m, const hockney& inside, program& p) {
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        linked_step& me = p.steps[s];
        const auto bytes = static_cast<double>(me.span);
        switch (me.kind) {
            case step_kind::send: {
                const hockney& link = me.inside ? inside : m;
                me.span = whole_ns(link.alpha + link.beta * bytes);
                if (me.partner != program::none) p.steps[me.partner].span = me.span;
                break;
            }
            case step_kind::recv: break;  // as long as its sender says
            case step_kind::combine: me.span = whole_ns(m.gamma * bytes); break;
            case step_kind::copy: me.span = 0; break;
        }
    }
    simulator(p).run();
}

}  // namespace rubato
