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

class hockney_run {
public:
    explicit hockney_run(run_of_ranks& r) : r_(r) {}

    void run() {
        for (std::uint32_t r = 0; r < r_.ranks(); ++r) r_.begin(r);
        std::vector<std::uint32_t> first;
        for (std::uint32_t r = 0; r < r_.ranks(); ++r) {
            const run_of_ranks::view v = r_.of(r);
            first.clear();
            for (std::uint32_t s = 0; s < v.steps.size(); ++s)
                if (v.is_free(s)) first.push_back(s);
            for (const std::uint32_t s : first) offer(r, s);
        }
        while (!runnable_.empty()) {
            const place p = runnable_.back();
            runnable_.pop_back();
            run_step(p);
        }
    }

private:
    static constexpr std::uint32_t none = shape::none;

    struct place {
        std::uint32_t rank;
        std::uint32_t step;
    };

    static bool is_message(const shape_step& t) { return t.kind == step_kind::send || t.kind == step_kind::recv; }
    /// The other side of a message; no step if there is none.
    place other_side(std::uint32_t r, const shape_step& t) const {
        if (t.distance == none) return {r, none};
        const std::uint32_t peer = r_.shapes().peer_of(r, t);
        return {peer, r_.shapes().partner(t, peer)};
    }

    auto offers_of(std::uint32_t r) {
        return [this, r](std::uint32_t s) { offer(r, s); };
    }
    /// Step s waits for nothing more on its own side.
    void offer(std::uint32_t r, std::uint32_t s) {
        const run_of_ranks::view v = r_.of(r);
        v.has_begun(s, v.ready[s], offers_of(r));
        const shape_step& t = v.steps.steps[s];
        if (is_message(t)) {
            const place other = other_side(r, t);
            if (other.step == none || r_.of(other.rank).waits[other.step] != 0) return;
        }
        runnable_.push_back({r, s});
    }

    void run_step(const place& p) {
        const run_of_ranks::view v = r_.of(p.rank);
        if (v.waits[p.step] == run_of_ranks::done) return;  // of a message that both sides offered at the beginning
        const shape_step& t = v.steps.steps[p.step];
        if (!is_message(t))
            return finish(p, v.ready[p.step], v.ready[p.step] + r_.on_processor(p.rank, t.span[between]));
        const place other = other_side(p.rank, t);
        const std::int64_t begin = std::max(v.ready[p.step], r_.of(other.rank).ready[other.step]);
        const std::int64_t takes = t.span[r_.link(p.rank, other.rank)];
        const std::int64_t end = begin + r_.on_link(p.rank, other.rank, takes);
        r_.of(other.rank).waits[other.step] = run_of_ranks::done;  // before what it releases asks
        finish(p, begin, end);
        finish(other, begin, end);
    }

    void finish(const place& p, std::int64_t begin, std::int64_t end) {
        const run_of_ranks::view v = r_.of(p.rank);
        v.finish(p.step, begin, end, offers_of(p.rank));
        for (const std::uint32_t next : v.steps.steps[p.step].next)
            if (next != none) v.release(next, end, offers_of(p.rank));
    }

    run_of_ranks& r_;
    std::vector<place> runnable_{};
};

}  // namespace

void run(const hockney& m, const hockney& inside, run_of_ranks& r) {
    if (r.has_noise())
        throw error("noise on a hockney network", "it has no processors that noise could delay",
                    "give a loggp model, or leave the noise out");
    for (shape& each : r.shapes().all())
        for (shape_step& s : each.steps) {
            const auto bytes = static_cast<double>(s.bytes);
            if (s.kind == step_kind::combine) s.span[between] = whole_ns(m.gamma * bytes) + s.work;
            if (s.kind == step_kind::send || s.kind == step_kind::recv)
                s.span = {whole_ns(m.alpha + m.beta * bytes), whole_ns(inside.alpha + inside.beta * bytes)};
        }
    r.shapes().serve_in_order({1, 2, 3, 0});  // send, recv, combine, copy
    hockney_run(r).run();
}

}  // namespace rubato
