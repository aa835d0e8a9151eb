#include "topology/simulate_on.hpp"

#include "simulate/run.hpp"
#include "topology/flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <tuple>

namespace rubato::topology {
namespace {

struct happening {
    /// A message is given to the network, its turn comes, it has left, it comes in at the step that receives it; a step
    /// can run.
    enum kind_of : std::uint8_t { begins, starts, left, arrives, runs };
    std::int64_t time;
    std::uint32_t rank;
    std::uint32_t step;
    kind_of kind;

    bool operator>(const happening& other) const {
        return std::tie(time, rank, step, kind) > std::tie(other.time, other.rank, other.step, other.kind);
    }
};

/// What both models share: events in the order of time, transfers, and which step waits for which.
class flow_run {
public:
    /// `gap`: between two messages from one rank to another.
    flow_run(run_of_ranks& r, const routes& by, const mapping& where, double ns_per_byte, double inside,
             std::int64_t gap)
        : r_(r), where_(where), ns_per_byte_(ns_per_byte), inside_(inside), gap_(gap), flows_(by, ns_per_byte) {}
    virtual ~flow_run() = default;
    flow_run(const flow_run&) = delete;
    flow_run& operator=(const flow_run&) = delete;

    void run() {
        for (std::uint32_t r = 0; r < r_.ranks(); ++r) r_.begin(r);
        for (std::uint32_t r = 0; r < r_.ranks(); ++r) begin(r);
        std::vector<std::uint64_t> ended;
        for (;;) {
            const std::int64_t event = heap_.empty() ? flows::never : heap_.front().time;
            const std::int64_t now = std::min(event, flows_.next_end());
            if (now == flows::never) return;
            flows_.run_until(now, ended);
            for (const std::uint64_t id : ended) {
                const auto rank = static_cast<std::uint32_t>(id >> 32);
                const auto step = static_cast<std::uint32_t>(id);
                push({now, rank, step, happening::left});
                if (!in_turn(rank, at(rank, step))) go_on(lines_[{rank, peer_of(rank, step)}], rank, now);
            }
            while (!heap_.empty() && heap_.front().time == now) {
                std::ranges::pop_heap(heap_, std::greater{});
                const happening next = heap_.back();
                heap_.pop_back();
                if (next.kind == happening::begins)
                    send(next);
                else if (next.kind == happening::starts)
                    start(lines_[{next.rank, peer_of(next.rank, next.step)}], next.rank, now);
                else
                    handle(next);
            }
        }
    }

protected:
    static constexpr std::uint32_t none = shape::none;

    virtual void begin(std::uint32_t rank) = 0;
    virtual void handle(const happening& h) = 0;
    /// A step waits for no other step of its rank.
    virtual void is_free(std::uint32_t rank, std::uint32_t step) = 0;
    /// Whether a message waits for those that its endpoint sends before it.
    virtual bool in_turn(std::uint32_t rank, const shape_step& t) const = 0;
    /// Bytes of a message that take time.
    virtual double timed_bytes(const shape_step& t) const = 0;

    const shape_step& at(std::uint32_t rank, std::uint32_t step) const { return r_.shapes().of(rank).steps[step]; }
    static bool is_message(const shape_step& t) { return t.kind == step_kind::send || t.kind == step_kind::recv; }
    std::uint32_t peer_of(std::uint32_t rank, std::uint32_t step) const {
        return r_.shapes().peer_of(rank, at(rank, step));
    }
    /// The step at the other side of a message, or `none`.
    std::uint32_t partner_of(std::uint32_t rank, std::uint32_t step) const {
        const shape_step& t = at(rank, step);
        return t.distance == none ? none : r_.shapes().partner(t, r_.shapes().peer_of(rank, t));
    }
    bool inside(std::uint32_t a, std::uint32_t b) const { return where_[a] == where_[b]; }

    void push(const happening& h) {
        heap_.push_back(h);
        std::ranges::push_heap(heap_, std::greater{});
    }
    auto freed(std::uint32_t rank) {
        return [this, rank](std::uint32_t step) {
            if (r_.of(rank).waits[step] == 0) is_free(rank, step);
        };
    }
    void release(std::uint32_t rank, std::uint32_t step, std::int64_t time) {
        r_.of(rank).release(step, time, freed(rank));
    }
    void finish(std::uint32_t rank, std::uint32_t step, std::int64_t begin, std::int64_t end) {
        r_.of(rank).finish(step, begin, end, freed(rank));
    }

    run_of_ranks& r_;

private:
    void send(const happening& h) {
        const std::uint32_t peer = peer_of(h.rank, h.step);
        if (inside(h.rank, peer)) {
            const std::int64_t takes = whole_ns(timed_bytes(at(h.rank, h.step)) * inside_);
            return push({h.time + takes, h.rank, h.step, happening::left});
        }
        if (in_turn(h.rank, at(h.rank, h.step))) {
            if (!transfers(h.rank, h.step, true)) push({h.time, h.rank, h.step, happening::left});
            return;
        }
        std::deque<std::uint32_t>& line = lines_[{h.rank, peer}];
        line.push_back(h.step);
        if (line.size() == 1) start(line, h.rank, h.time);
    }
    /// False if it takes no time.
    bool transfers(std::uint32_t rank, std::uint32_t step, bool in_turn) {
        const double bytes = timed_bytes(at(rank, step));
        if (bytes * ns_per_byte_ < 0.5) return false;
        flows_.start(where_[rank], where_[peer_of(rank, step)], bytes, (std::uint64_t{rank} << 32) | step, in_turn);
        return true;
    }
    /// The first of the messages from one rank to another, which follow each other.
    void start(std::deque<std::uint32_t>& line, std::uint32_t rank, std::int64_t now) {
        const std::uint32_t step = line.front();
        if (transfers(rank, step, false)) return;
        push({now, rank, step, happening::left});
        go_on(line, rank, now);
    }
    void go_on(std::deque<std::uint32_t>& line, std::uint32_t rank, std::int64_t now) {
        line.pop_front();
        if (!line.empty()) push({now + gap_, rank, line.front(), happening::starts});
    }

    const mapping& where_;
    double ns_per_byte_;
    double inside_;
    std::int64_t gap_;
    flows flows_;
    std::vector<happening> heap_{};
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::uint32_t>> lines_{};
};

/// One send and one receive at a time, in the schedule's order; a message takes both ports from its beginning to its
/// end.
class hockney_on final : public flow_run {
public:
    hockney_on(run_of_ranks& r, const routes& by, const mapping& where, const hockney& m, const hockney& inside)
        : flow_run(r, by, where, m.beta, inside.beta, 0),
          m_(m),
          alpha_(whole_ns(m.alpha)),
          inside_alpha_(whole_ns(inside.alpha)) {
        r.shapes().serve_in_order({1, 2, 3, 0});  // send, recv, combine, copy
    }

private:
    void begin(std::uint32_t rank) override {
        const run_of_ranks::view v = r_.of(rank);
        for (std::uint32_t s = 0; s < v.steps.size(); ++s)  // of a message, the sending side
            if (v.waits[s] == 0 && v.steps.steps[s].kind != step_kind::recv) is_free(rank, s);
    }
    void is_free(std::uint32_t rank, std::uint32_t step) override {
        const run_of_ranks::view v = r_.of(rank);
        const shape_step& t = v.steps.steps[step];
        if (!is_message(t)) return push({v.ready[step], rank, step, happening::runs});
        const std::uint32_t there = partner_of(rank, step);
        const std::uint32_t peer = t.distance == none ? rank : peer_of(rank, step);
        if (there == none || r_.of(peer).waits[there] != 0) return;
        const std::int64_t start = std::max(v.ready[step], r_.of(peer).ready[there]);
        const bool sends = t.kind == step_kind::send;
        v.ready[step] = r_.of(peer).ready[there] = start;
        push({start + (inside(rank, peer) ? inside_alpha_ : alpha_), sends ? rank : peer, sends ? step : there,
              happening::begins});
    }
    void handle(const happening& h) override {
        const std::int64_t start = r_.of(h.rank).ready[h.step];
        if (h.kind == happening::runs) {
            const shape_step& t = at(h.rank, h.step);
            const bool combines = t.kind == step_kind::combine;
            return done(h.rank, h.step, start,
                        start + (combines ? whole_ns(m_.gamma * static_cast<double>(t.bytes)) + t.work : 0));
        }
        const std::uint32_t peer = peer_of(h.rank, h.step);
        const std::uint32_t there = partner_of(h.rank, h.step);
        done(h.rank, h.step, start, h.time);
        done(peer, there, start, h.time);
    }
    bool in_turn(std::uint32_t, const shape_step&) const override { return false; }
    double timed_bytes(const shape_step& t) const override { return static_cast<double>(t.bytes); }

    void done(std::uint32_t rank, std::uint32_t step, std::int64_t start, std::int64_t end) {
        finish(rank, step, start, end);
        for (const std::uint32_t next : at(rank, step).next)
            if (next != none) release(rank, next, end);
    }

    hockney m_;
    std::int64_t alpha_;
    std::int64_t inside_alpha_;
};

/// The processor takes o for a message it sends or receives; then the interface has it.
class loggp_on final : public flow_run {
public:
    loggp_on(run_of_ranks& r, const routes& by, const mapping& where, const loggp& m, const loggp& inside)
        : flow_run(r, by, where, m.G, inside.G, whole_ns(m.g)),
          models_{m, inside},
          cpu_(r.ranks(), INT64_MIN),
          interface_(r.ranks(), INT64_MIN) {
        r.shapes().serve_in_order({1, 0, 0, 0});  // sends
        if (const noise* n = r.detours(); n != nullptr && n->any())
            for (std::uint32_t i = 0; i < r.ranks(); ++i) detours_.push_back(n->of(i));
    }

private:
    static constexpr std::uint32_t message = 1U << 31;  // in `waits`: it waits for the other side, too

    const loggp& model_of(std::uint32_t rank, const shape_step& t) const {
        return models_[t.distance != none && inside(rank, r_.shapes().peer_of(rank, t)) ? 1 : 0];
    }
    bool waits_for_receiver(std::uint32_t rank, const shape_step& t) const {
        return t.bytes >= model_of(rank, t).rendezvous;
    }
    std::int64_t cpu_end(std::uint32_t rank, std::int64_t start, std::int64_t work) {
        return detours_.empty() ? start + work : detours_[rank].end_of(time_ns(start), time_ns(work)).count();
    }

    void begin(std::uint32_t rank) override {
        const run_of_ranks::view v = r_.of(rank);
        for (std::uint32_t s = 0; s < v.steps.size(); ++s) {
            const shape_step& t = v.steps.steps[s];
            if (is_message(t) && waits_for_receiver(rank, t) == (t.kind == step_kind::send)) v.waits[s] |= message;
            if (v.waits[s] == 0) is_free(rank, s);
        }
    }
    void is_free(std::uint32_t rank, std::uint32_t step) override {
        const run_of_ranks::view v = r_.of(rank);
        const shape_step& t = v.steps.steps[step];
        if (t.kind != step_kind::recv || !waits_for_receiver(rank, t))
            return push({v.ready[step], rank, step, happening::runs});
        // Its sender waits for it.
        v.waits[step] = message;
        if (const std::uint32_t there = partner_of(rank, step); there != none)
            push({v.ready[step], peer_of(rank, step), there, happening::arrives});
    }
    void handle(const happening& h) override {
        const run_of_ranks::view v = r_.of(h.rank);
        const shape_step& t = v.steps.steps[h.step];
        const loggp& m = model_of(h.rank, t);
        if (h.kind == happening::arrives) {  // the message, or its receiver's word
            if (v.waits[h.step] == run_of_ranks::done || (v.waits[h.step] & message) == 0) return;
            v.ready[h.step] = std::max(v.ready[h.step], h.time);
            v.waits[h.step] &= ~message;
            if (v.waits[h.step] == 0) push({v.ready[h.step], h.rank, h.step, happening::runs});
        } else if (h.kind == happening::left) {
            finish(h.rank, h.step, v.ready[h.step], h.time);
            if (const std::uint32_t there = partner_of(h.rank, h.step); there != none)
                push({h.time + whole_ns(m.L), peer_of(h.rank, h.step), there, happening::arrives});
        } else if (t.kind == step_kind::copy) {
            finish(h.rank, h.step, h.time, h.time);
        } else {
            const std::int64_t start = std::max(h.time, cpu_[h.rank]);
            const bool combines = t.kind == step_kind::combine;
            cpu_[h.rank] = cpu_end(
                h.rank, start, combines ? whole_ns(m.combine * static_cast<double>(t.bytes)) + t.work : whole_ns(m.o));
            if (t.kind != step_kind::send) return finish(h.rank, h.step, start, cpu_[h.rank]);
            v.waits[h.step] = run_of_ranks::done;  // it will be
            v.ready[h.step] = start;
            const std::int64_t taken_over = std::max(cpu_[h.rank], interface_[h.rank]);
            interface_[h.rank] = taken_over + whole_ns(m.g);
            if (t.next[0] != none) release(h.rank, t.next[0], h.time);
            if (t.distance != none) push({taken_over, h.rank, h.step, happening::begins});
        }
    }
    /// A library that asks the receivers of large messages gives the others to the interface whole.
    bool in_turn(std::uint32_t rank, const shape_step& t) const override {
        return model_of(rank, t).rendezvous != loggp{}.rendezvous && !waits_for_receiver(rank, t);
    }
    double timed_bytes(const shape_step& t) const override { return std::max(static_cast<double>(t.bytes) - 1, 0.); }

    std::array<loggp, 2> models_;
    std::vector<std::int64_t> cpu_;  // free again at
    std::vector<std::int64_t> interface_;
    std::vector<noise::processor> detours_{};
};

}  // namespace

void check_for_cables(const model& m) {
    const auto* const l = std::get_if<loggp>(&m.network);
    if (l != nullptr ? l->is_logfgp() : !std::holds_alternative<hockney>(m.network))
        throw error(fmt::format("{} on a network of cables", to_string(m)),
                    "messages meet on cables under loggp and hockney alone", "give such a model");
}

simulation simulate_on(const routes& r, const mapping& where, const model& m, shape_table& ranks,
                       std::span<const time_ns> arrivals, const simulation_options& options) {
    check_for_cables(m);
    simulation result;
    if (arrivals.empty()) return result;
    run_of_ranks all(ranks, arrivals, options, result);
    const model& inside = options.inside != nullptr ? *options.inside : m;
    if (const auto* h = std::get_if<hockney>(&m.network)) {
        if (options.detours != nullptr && options.detours->any())
            throw error("noise on a hockney network", "it has no processors that noise could delay",
                        "give a loggp model, or leave the noise out");
        hockney_on(all, r, where, *h, std::get<hockney>(inside.network)).run();
    } else {
        loggp_on(all, r, where, std::get<loggp>(m.network), std::get<loggp>(inside.network)).run();
    }
    all.end();
    return result;
}

}  // namespace rubato::topology
