// The machines that LogGP's ranks may be on. A simulator is made for one of them, so that what a machine does not have
// costs nothing.
#pragma once

#include "simulator/simulate/shared_cables.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rubato::simulator {

/// In ns.
struct loggp_costs {
    std::int64_t L;
    std::int64_t o;
    std::int64_t o_min;
    std::int64_t g;
    std::int64_t ahead;  ///< so many gaps' time messages may leave before they are over
    bool cpu_sends;      ///< the CPU moves the bytes, not the interface
    bool hands_over;     ///< messages that do not wait for their receiver are given to shared cables whole

    bool is_logfgp() const { return ahead > 0 || o_min != o; }
};

/// Sets what messages and combines take under LogGP and LogGOPS. `waits(model, bytes)`: a message waits for its
/// receiver. Returns whether any does.
template <class Model, class Waits>
bool set_spans(const Model& m, const Model& inside, run_of_ranks& r, Waits waits) {
    bool any_waits = false;
    for (schedules::shape& each : r.shapes().all())
        for (schedules::shape_step& s : each.steps) {
            const auto bytes = static_cast<double>(s.bytes);
            if (s.kind == step_kind::combine) s.span[between] = whole_ns(m.combine * bytes) + s.work;
            if (s.kind != step_kind::send && s.kind != step_kind::recv) continue;
            for (const link_kind link : {between, within}) {
                const Model& along = link == between ? m : inside;
                s.synchronous[link] = waits(along, s.bytes);
                s.span[link] = whole_ns(along.G * std::max(bytes - 1, 0.0));
                any_waits |= s.synchronous[link];
            }
        }
    return any_waits;
}

/// All ranks are alike, under LogGP, and no message waits for its receiver.
class equal_ranks {
public:
    equal_ranks(const run_of_ranks&, std::uint32_t, std::uint32_t) {}

    struct cpu {
        std::int64_t free = INT64_MIN;  ///< at

        static std::int64_t to_receive(std::int64_t, const loggp_costs& c) { return c.o; }
        void received() {}
    };
    /// One direction of a network interface.
    struct port {
        std::int64_t free = INT64_MIN;  ///< at

        static std::int64_t to_send(std::int64_t, const loggp_costs& c) { return c.o; }
        std::int64_t pass(std::int64_t time, std::int64_t, std::int64_t busy, const loggp_costs&) {
            const std::int64_t begin = std::max(time, free);
            free = begin + busy;
            return begin;
        }
        void passed(std::int64_t) {}
    };

    static constexpr bool shares_links() { return false; }
    static constexpr shared_cables* cables() { return nullptr; }
    static std::size_t hosts() { return 0; }
    static std::uint32_t host_of(std::uint32_t) { return 0; }
    static link_kind link(std::uint32_t, std::uint32_t) { return between; }
    static bool is_synchronous(const schedules::shape_step&, link_kind) { return false; }
    static std::int64_t on_link(std::uint32_t, std::uint32_t, std::int64_t ns) { return ns; }
    static std::int64_t end_of_work(std::uint32_t, std::int64_t begin, std::int64_t work, std::int64_t bytes) {
        return begin + work + bytes;
    }
};

/// Ranks on hosts, which may share links or cables; slow ranks and links; noise; messages that wait for their receiver;
/// LogfGP.
class unequal_ranks {
public:
    /// The ranks from `first` to before `end`.
    unequal_ranks(const run_of_ranks& r, std::uint32_t first, std::uint32_t end) : r_(r), first_(first) {
        for (std::uint32_t i = first; r.has_noise() && i < end; ++i) noise_.push_back(r.detours()->of(i));
    }

    struct cpu {
        std::int64_t free = INT64_MIN;          ///< at
        std::int64_t last_receive = INT64_MIN;  ///< its end

        /// How long a receive takes that begins then.
        std::int64_t to_receive(std::int64_t begin, const loggp_costs& c) const {
            return begin == last_receive && begin == free ? c.o_min : c.o;
        }
        void received() { last_receive = free; }
    };
    struct port {
        std::int64_t gap_end = INT64_MIN / 2;   ///< when all gaps of the row are over
        std::int64_t wire_end = INT64_MIN / 2;  ///< when the last byte has passed

        bool in_row(std::int64_t time, const loggp_costs& c) const { return time <= wire_end + c.g; }
        /// How long the CPU takes to send then.
        std::int64_t to_send(std::int64_t begin, const loggp_costs& c) const {
            return in_row(begin, c) ? c.o_min : c.o;
        }
        /// When a message begins that could begin at `time`; it is busy with it for so long, gap and all.
        std::int64_t pass(std::int64_t time, std::int64_t transfer, std::int64_t busy, const loggp_costs& c) {
            if (!in_row(time, c)) gap_end = time;
            const std::int64_t begin = std::max({time, gap_end - c.ahead, wire_end});
            gap_end = std::max(gap_end, begin) + busy;
            wire_end = begin + transfer;
            return begin;
        }
        /// The last byte of a message on shared cables has.
        void passed(std::int64_t time) { wire_end = std::max(wire_end, time); }
    };

    bool shares_links() const { return r_.shares_links(); }
    shared_cables* cables() const { return r_.cables(); }
    std::size_t hosts() const { return r_.hosts(); }
    std::uint32_t host_of(std::uint32_t rank) const { return r_.host_of(rank); }
    link_kind link(std::uint32_t a, std::uint32_t b) const { return r_.link(a, b); }
    static bool is_synchronous(const schedules::shape_step& t, link_kind link) { return t.synchronous[link]; }
    std::int64_t on_link(std::uint32_t a, std::uint32_t b, std::int64_t ns) const { return r_.on_link(a, b, ns); }
    /// When the rank's CPU is done with work that it begins then, and with bytes that it moves itself.
    std::int64_t end_of_work(std::uint32_t rank, std::int64_t begin, std::int64_t work, std::int64_t bytes) {
        work = r_.on_processor(rank, work) + bytes;
        return noise_.empty() ? begin + work : noise_[rank - first_].end_of(time_ns(begin), time_ns(work)).count();
    }

private:
    const run_of_ranks& r_;
    std::uint32_t first_;
    std::vector<noise::processor> noise_{};  // if there is any
};

}  // namespace rubato::simulator
