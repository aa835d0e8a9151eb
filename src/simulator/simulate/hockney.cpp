// The homogeneous simultaneous send/receive no-overlap model of Marendic et al. 2016, Definition 3.1.
//
// A rank has a port for sending and one for receiving. Each serves its steps in the schedule's order. A combine takes
// both ports, a copy none and no time. A message takes the sender's and the receiver's port at once, from the moment
// both are free and both sides have what they wait for: nothing is buffered.
//
// As every order is given, no event queue is needed: the start of a step is the latest end of those before it, and any
// order that respects them gives the same times. On shared cables, messages take alpha and then their bytes, in the
// order of time; all that needs no cable runs ahead.
#include "simulator/simulate/shared_cables.hpp"

#include <algorithm>
#include <optional>

namespace rubato::simulator {
namespace {

/// `on_cables`: a network without them pays nothing for those with.
template <bool on_cables>
class hockney_run {
public:
    hockney_run(const hockney& m, run_of_ranks& r) : r_(r), alpha_(whole_ns(m.alpha)) {
        if constexpr (on_cables) cables_.emplace(r, 0);
    }

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
        run_ahead();
        if constexpr (on_cables) play_on_cables();
    }

private:
    static constexpr std::uint32_t none = schedules::shape::none;

    static bool is_message(const schedules::shape_step& t) {
        return t.kind == step_kind::send || t.kind == step_kind::recv;
    }
    /// The other side of a message; no step if there is none.
    schedules::rank_step other_side(std::uint32_t r, const schedules::shape_step& t) const {
        if (t.distance == none) return {r, none};
        const std::uint32_t peer = r_.shapes().peer_of(r, t);
        return {peer, r_.shapes().partner(t, peer)};
    }

    void play_on_cables() {
        for (std::int64_t now = cables_->next(); now != INT64_MAX; now = cables_->next()) {
            cables_->run_until(now, [&](std::uint32_t rank, std::uint32_t step) { left_.push_back({rank, step}); });
            for (const schedules::rank_step& p : left_) finish_message(p, now);
            left_.clear();
            run_ahead();
        }
    }
    void run_ahead() {
        while (!runnable_.empty()) {
            const schedules::rank_step p = runnable_.back();
            runnable_.pop_back();
            run_step(p);
        }
    }
    auto offers_of(std::uint32_t r) {
        return [this, r](std::uint32_t s) { offer(r, s); };
    }
    /// Step s waits for nothing more on its own side.
    void offer(std::uint32_t r, std::uint32_t s) {
        const run_of_ranks::view v = r_.of(r);
        v.has_begun(s, v.ready[s], offers_of(r));
        const schedules::shape_step& t = v.steps.steps[s];
        if (is_message(t)) {
            const schedules::rank_step other = other_side(r, t);
            if (other.step == none || r_.of(other.rank).waits[other.step] != 0) return;
        }
        runnable_.push_back({r, s});
    }

    void run_step(const schedules::rank_step& p) {
        const run_of_ranks::view v = r_.of(p.rank);
        if (v.waits[p.step] == run_of_ranks::done) return;  // of a message that both sides offered at the beginning
        const schedules::shape_step& t = v.steps.steps[p.step];
        if (!is_message(t))
            return finish(p, v.ready[p.step], v.ready[p.step] + r_.on_processor(p.rank, t.span[between]));
        const schedules::rank_step other = other_side(p.rank, t);
        const std::int64_t begin = std::max(v.ready[p.step], r_.of(other.rank).ready[other.step]);
        const link_kind link = r_.link(p.rank, other.rank);
        r_.of(other.rank).waits[other.step] = run_of_ranks::done;  // before what it releases asks
        if (!on_cables || link == within) {
            const std::int64_t end = begin + r_.on_link(p.rank, other.rank, t.span[link]);
            finish(p, begin, end);
            finish(other, begin, end);
            return;
        }
        v.waits[p.step] = run_of_ranks::done;
        v.ready[p.step] = r_.of(other.rank).ready[other.step] = begin;
        const schedules::rank_step from = t.kind == step_kind::send ? p : other;
        cables_->send({begin + alpha_, from.rank, from.step, static_cast<double>(t.bytes), false});
    }
    void finish_message(const schedules::rank_step& p, std::int64_t end) {
        const run_of_ranks::view v = r_.of(p.rank);
        const std::int64_t begin = v.ready[p.step];
        const schedules::rank_step other = other_side(p.rank, v.steps.steps[p.step]);
        finish(p, begin, end);
        finish(other, begin, end);
    }

    void finish(const schedules::rank_step& p, std::int64_t begin, std::int64_t end) {
        const run_of_ranks::view v = r_.of(p.rank);
        v.finish(p.step, begin, end, offers_of(p.rank));
        for (const std::uint32_t next : v.steps.steps[p.step].next)
            if (next != none) v.release(next, end, offers_of(p.rank));
    }

    run_of_ranks& r_;
    std::int64_t alpha_;
    std::optional<messages_on_cables> cables_{};
    std::vector<schedules::rank_step> runnable_{};
    std::vector<schedules::rank_step> left_{};
};

}  // namespace

void run(const hockney& m, const hockney& inside, run_of_ranks& r) {
    if (r.has_noise())
        throw error("noise on a hockney network", "it has no processors that noise could delay",
                    "give a loggp model, or leave the noise out");
    for (schedules::shape& each : r.shapes().all())
        for (schedules::shape_step& s : each.steps) {
            const auto bytes = static_cast<double>(s.bytes);
            if (s.kind == step_kind::combine) s.span[between] = whole_ns(m.gamma * bytes) + s.work;
            if (s.kind == step_kind::send || s.kind == step_kind::recv)
                s.span = {whole_ns(m.alpha + m.beta * bytes), whole_ns(inside.alpha + inside.beta * bytes)};
        }
    r.shapes().serve_in_order({1, 2, 3, 0});  // send, recv, combine, copy
    if (r.cables() != nullptr)
        hockney_run<true>(m, r).run();
    else
        hockney_run<false>(m, r).run();
}

}  // namespace rubato::simulator
