// LogGOPS with O = 0 (Hoefler, Schneider & Lumsdaine 2010), as LogGOPSim plays it, so that the same steps end at the
// same times. Message of s bytes (an empty one counts as s = 1), with x = (s-1)G:
//   send   begins when both the processor and the sending interface are free, at t. The processor is busy until t + o,
//          the interface until t + g + x. The step ends at t + o, when the next can begin; of a message larger than S,
//          when the receiver takes it.
//   recv   the first byte comes in at t + o + L. When both the processor and the receiving interface are free, at u,
//   the
//          processor is busy until u + o + x, the interface until u + g + x, whether or not a receive waits for the
//          message. The step ends at u + o + x; if it was not ready at u, when it is. At the later of u and the time
//          when the receive is ready, the receiver takes the message.
//   combine takes the processor for its time per byte and its work, copy for no time.
// A step is ready when what it waits for has ended and its rank's processor is free.
//
// The processor serves what has waited longest: a step since it was ready, a message since it was sent. Of steps that
// one event makes ready, sends come first, then receives, then what computes; of these, the first in the schedule.
//
// On shared cables, the sending interface is busy for g alone, and a message takes as long on the cables as they allow,
// as under LogGP; that with S, smaller ones leave in turn, too. Its first byte comes in x before the last one, whenever
// that is: congestion makes it late as a whole. A processor that was idle then has been busy with it since.
//
// That order is one of all ranks, so their events are handled one by one, on one core.
#include "simulator/simulate/equal_ranks.hpp"
#include "simulator/simulate/event_queue.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace rubato::simulator {
namespace {

/// Which of several events at one time comes first does not change while they wait.
struct ordered_event {
    std::int64_t time;
    std::uint64_t order;
    std::uint32_t rank;
    std::uint32_t what;
};

class loggops_run {
public:
    loggops_run(const std::array<loggops, 2>& costs, run_of_ranks& r)
        : r_(r), machine_(r, 0, r.ranks()), busy_(r.ranks()), hosts_(r.hosts()) {
        for (const link_kind link : {between, within}) {
            L_[link] = whole_ns(costs[link].L);
            o_[link] = whole_ns(costs[link].o);
            g_[link] = whole_ns(costs[link].g);
        }
        in_turn_ = costs[between].S != loggops{}.S;
        if (r.cables() != nullptr) cables_.emplace(r, g_[between]);
    }

    void run() {
        begin();
        for (;;) {
            std::int64_t now = queue_.next_window();
            if (cables_) now = std::min(now, cables_->next());
            if (now == radix_heap<ordered_event>::never) return;
            if (cables_)
                cables_->run_until(now, [&](std::uint32_t rank, std::uint32_t step) { has_left({rank, step}, now); });
            queue_.take(now, batch_);
            std::ranges::sort(batch_, {}, &ordered_event::order);
            for (const ordered_event& e : batch_) handle(e);
        }
    }

private:
    static constexpr std::uint32_t none = schedules::shape::none;
    static constexpr std::uint32_t done = run_of_ranks::done;
    // In `waits`, of a receive: its message has come, or it waits for nothing else. Of a send: it waits to be taken.
    static constexpr std::uint32_t has_come = 1U << 31;
    static constexpr std::uint32_t is_open = 1U << 30;

    struct resources {  // free again at
        std::int64_t cpu = INT64_MIN;
        std::int64_t out = INT64_MIN;
        std::int64_t in = INT64_MIN;
    };
    void begin() {
        for (std::uint32_t r = 0; r < r_.ranks(); ++r) {
            r_.begin(r);
            busy_[r].cpu = r_.begin_of(r);
            const run_of_ranks::view v = r_.of(r);
            for (std::uint32_t s = 0; s < v.steps.size(); ++s)
                if (v.is_free(s)) freed_.push_back({r, s});
            queue_freed();
        }
    }

    const schedules::shape_step& step_of(const schedules::rank_step& p) const { return r_.shapes().of(p); }
    /// The interfaces of a rank, or of its host, for messages along that link.
    resources& interfaces(std::uint32_t rank, link_kind link) {
        return link == between && r_.shares_links() ? hosts_[r_.host_of(rank)] : busy_[rank];
    }
    link_kind link_of(std::uint32_t rank, const schedules::shape_step& t) const {
        return t.distance == none ? between : r_.link(rank, r_.shapes().peer_of(rank, t));
    }
    void handle(const ordered_event& e) {
        const schedules::rank_step p{e.rank, event::step_of(e.what)};
        const std::int64_t free = event::is_heard(e.what) ? when_taken(p) : when_run(p);
        if (free > e.time) return queue_.push({free, e.order, e.rank, e.what});
        if (event::is_heard(e.what))
            take_in(p, e.time);
        else
            run_step(p, e.time);
        queue_freed();
    }

    std::int64_t when_taken(const schedules::rank_step& p) {
        return std::max(busy_[p.rank].cpu, interfaces(p.rank, link_of(p.rank, step_of(p))).in);
    }
    std::int64_t when_run(const schedules::rank_step& p) {
        const schedules::shape_step& t = step_of(p);
        if (t.kind == step_kind::recv) return INT64_MIN;
        const std::int64_t cpu = busy_[p.rank].cpu;
        return t.kind == step_kind::send ? std::max(cpu, interfaces(p.rank, link_of(p.rank, t)).out) : cpu;
    }

    void run_step(const schedules::rank_step& p, std::int64_t time) {
        const schedules::shape_step& t = step_of(p);
        resources& busy = busy_[p.rank];
        switch (t.kind) {
            case step_kind::send: send(p, t, time); break;
            case step_kind::recv: open(p, t, time); break;
            case step_kind::combine:
            case step_kind::copy:
                busy.cpu = machine_.end_of_work(p.rank, time, t.span[between], 0);
                has_begun(p, busy.cpu);
                finish(p, time, busy.cpu);
                break;
        }
    }

    void send(const schedules::rank_step& p, const schedules::shape_step& t, std::int64_t time) {
        const std::uint32_t peer = t.distance == none ? none : r_.shapes().peer_of(p.rank, t);
        const link_kind link = peer == none ? between : r_.link(p.rank, peer);
        resources& busy = busy_[p.rank];
        busy.cpu = machine_.end_of_work(p.rank, time, o_[link], 0);
        const bool by_cables = cables_ && link == between && peer != none;
        const std::int64_t bytes_take = by_cables ? 0 : t.span[link];
        interfaces(p.rank, link).out = time + r_.on_link(p.rank, peer == none ? p.rank : peer, g_[link] + bytes_take);
        const std::uint32_t there = peer == none ? none : r_.shapes().partner(t, peer);
        if (by_cables)
            cables_->send({busy.cpu, p.rank, p.step, std::max(static_cast<double>(t.bytes) - 1, 0.0),
                           in_turn_ && !t.synchronous[link]});
        else if (there != none)
            queue_.push({busy.cpu + L_[link], orders_++, peer, event::heard(there)});
        has_begun(p, busy.cpu);
        if (t.synchronous[link]) {
            const run_of_ranks::view v = r_.of(p.rank);
            v.waits[p.step] = is_open;
            v.ready[p.step] = time;
        } else {
            finish(p, time, busy.cpu);
        }
    }

    /// By cables. The receiver hears of it when it is known when the first byte comes in, which may have come since.
    void has_left(const schedules::rank_step& p, std::int64_t now) {
        const schedules::shape_step& t = step_of(p);
        const std::uint32_t peer = r_.shapes().peer_of(p.rank, t);
        const std::uint32_t there = r_.shapes().partner(t, peer);
        if (there == none) return;
        const std::int64_t first_byte = now + L_[between] - t.span[between];
        queue_.push({std::max(first_byte, now), orders_++, peer, event::heard(there)});
    }

    /// A receive waits for its message, unless that has come.
    void open(const schedules::rank_step& p, const schedules::shape_step& t, std::int64_t time) {
        const run_of_ranks::view v = r_.of(p.rank);
        has_begun(p, time);
        if ((v.waits[p.step] & has_come) == 0) {
            v.waits[p.step] = is_open;
            return;
        }
        release_sender(p, t, time);
        finish(p, time, std::max(time, v.ready[p.step]));
    }

    /// The processor takes a message in.
    void take_in(const schedules::rank_step& p, std::int64_t time) {
        const run_of_ranks::view v = r_.of(p.rank);
        std::uint32_t& waits = v.waits[p.step];
        if (waits == done || (waits & has_come) != 0) return;  // the message was sent twice
        const schedules::shape_step& t = step_of(p);
        const std::uint32_t peer = r_.shapes().peer_of(p.rank, t);
        const link_kind link = r_.link(p.rank, peer);
        resources& busy = busy_[p.rank];
        resources& at = interfaces(p.rank, link);
        const std::int64_t since = cables_ && link == between ? std::max(t.span[link] - L_[link], std::int64_t{0}) : 0;
        const std::int64_t begin = since == 0 ? time : std::max({busy.cpu, at.in, time - since});
        // Bytes come in as fast as the link carries them, however slow the processor is.
        busy.cpu = machine_.end_of_work(p.rank, begin, o_[link], r_.on_link(p.rank, peer, t.span[link]));
        at.in = begin + r_.on_link(p.rank, peer, g_[link] + t.span[link]);
        v.ready[p.step] = std::max(v.ready[p.step], busy.cpu);
        if (waits == is_open) {
            release_sender(p, t, time);
            finish(p, time, v.ready[p.step]);
        } else {
            waits |= has_come;
        }
    }

    /// The send of a message that was taken, if it waits for that.
    void release_sender(const schedules::rank_step& p, const schedules::shape_step& t, std::int64_t time) {
        const std::uint32_t peer = r_.shapes().peer_of(p.rank, t);
        if (!t.synchronous[r_.link(p.rank, peer)]) return;
        const schedules::rank_step sender{peer, r_.shapes().partner(t, peer)};
        const run_of_ranks::view v = r_.of(peer);
        if (sender.step != none && v.waits[sender.step] == is_open) finish(sender, v.ready[sender.step], time);
    }

    auto freeing(std::uint32_t rank) {
        return [this, rank](std::uint32_t s) { freed_.push_back({rank, s}); };
    }
    void has_begun(const schedules::rank_step& p, std::int64_t time) {
        r_.of(p.rank).has_begun(p.step, time, freeing(p.rank));
    }
    void finish(const schedules::rank_step& p, std::int64_t begin, std::int64_t end) {
        r_.of(p.rank).finish(p.step, begin, end, freeing(p.rank));
    }

    /// What the present event has made ready.
    void queue_freed() {
        if (freed_.size() > 1)
            std::ranges::stable_sort(freed_, {},
                                     [&](const schedules::rank_step& p) { return std::pair(p.rank, step_of(p).kind); });
        for (const schedules::rank_step& p : freed_) {
            const std::int64_t ready = std::max(r_.of(p.rank).ready[p.step], busy_[p.rank].cpu);
            queue_.push({std::max(ready, when_run(p)), orders_++, p.rank, event::runs(p.step)});
        }
        freed_.clear();
    }

    run_of_ranks& r_;
    unequal_ranks machine_;
    std::array<std::int64_t, 2> L_{};
    std::array<std::int64_t, 2> o_{};
    std::array<std::int64_t, 2> g_{};
    std::vector<resources> busy_;
    std::vector<resources> hosts_;  // if their ranks share links
    std::optional<messages_on_cables> cables_{};
    bool in_turn_ = false;  // of messages on cables, those that do not wait for their receiver
    radix_heap<ordered_event> queue_{0};
    std::vector<ordered_event> batch_{};
    std::vector<schedules::rank_step> freed_{};
    std::uint64_t orders_ = 0;
};

}  // namespace

void run(const loggops& m, const loggops& inside, run_of_ranks& r) {
    set_spans(m, inside, r, [](const loggops& n, std::int64_t bytes) { return bytes > n.S; });
    r.shapes().serve_in_order({0, 0, 0, 0});
    loggops_run({m, inside}, r).run();
}

}  // namespace rubato::simulator
