// LogGP (Hoefler 2008, II.2) and the variant of Hoefler & Moor 2014, which is the same with other costs.
//
// A rank has a CPU, and a network interface that sends and receives independently. Message of s bytes (an empty one
// counts as s = 1), with x = (s-1)G:
//   send   the CPU is busy for o, from t on. The interface takes the message over at n = t + o, or when it is done with
//          the one before, and is busy for g + x. The step ends at n + x, when the last byte has left the buffer.
//   recv   the first byte comes in at n + L. The receiver's interface serves messages in the order in which they come
//          in, and is busy with each for g + x. When the last byte is in (at n + L + x, if it had not to wait), and
//          what the receive waits for has ended, and the rank has arrived, the CPU is busy for o. The step is these o.
// So a message takes L + 2o + x, and of n messages in a row each takes max(o, g + x) more (Eqs II.5 to II.9).
// A combine takes the CPU for its time per byte and its work. Copies are free and take nothing.
// Messages of `rendezvous` bytes or more are not sent before the receive waits for nothing but the message; what the
// two sides exchange to agree is not charged.
//
// The CPU serves steps in the order in which they become ready, of several at once the first in the schedule. Sends are
// issued in the schedule's order: one is not ready before the one listed before it.
//
// LogfGP (Hoefler 2008, II.2.3): of messages in a row, the first f pay no gap, and the CPU is busy for less with those
// after the first.
//   gap    the i-th message of a row leaves when x of those before and i - f gaps have passed (Eq. II.4). A row ends
//          when no message leaves for a gap. The same holds for messages that come in.
//   o      is omin instead of omax for a send in a row, and for a receive if the CPU comes from another one. So n
//          sends at once take omax + (n-1) omin (Eq. II.2, where omax is the first one's beyond omin).
//
// Hoefler & Moor 2014: the CPU itself sends, so it is busy for o + x with x = sG; there is no interface to wait for.
//
// On shared cables, the interface gives a message to the network every g, and each takes as long there as the cables
// allow: those to different ranks are under way at once, those to one rank follow each other after g. With a rendezvous
// size, smaller ones leave their host in turn. The receiver's interface is not busy: its cable is. A CPU that sends
// itself (Hoefler & Moor 2014) is busy until the last byte has left.
//
// L, o and g are rounded to whole nanoseconds, and x once per message.
#include "simulator/simulate/event_queue.hpp"
#include "simulator/simulate/loggp_ranks.hpp"

#include <algorithm>
#include <bit>

namespace rubato::simulator {
namespace {

/// The number of a window's bits. `at_once`: ranks may have an effect on each other without delay.
unsigned shift_for(const std::array<loggp_costs, 2>& c, bool at_once) {
    const std::int64_t least = std::min(c[between].L + c[between].o_min, c[within].L + c[within].o_min);
    return at_once || least < 1 ? 0U : static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(least)) - 1);
}

template <class Machine>
void run_on(const std::array<loggp_costs, 2>& c, bool synchronous, run_of_ranks& r) {
    constexpr std::uint32_t fewest = 1U << 14;  // ranks of a core: with fewer, waiting for the others takes longer
    const bool in_one_order = r.shares_links() || r.cables() != nullptr;
    const unsigned shift = shift_for(c, synchronous || in_one_order);
    const std::uint32_t n = in_one_order ? 1 : std::clamp(r.ranks() / fewest, 1U, r.cores());
    std::vector<loggp_ranks<Machine>> parts;
    parts.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) parts.emplace_back(c, shift, r, i, n);
    if (n == 1)
        run_alone(parts.front());
    else
        run_together(parts);
}

void run_all(const loggp_costs& c, const loggp_costs& inside, bool synchronous, run_of_ranks& r) {
    r.shapes().serve_in_order({1, 0, 0, 0});  // sends
    const bool alike = r.all_alike() && !synchronous && !c.is_logfgp();
    (alike ? run_on<equal_ranks> : run_on<unequal_ranks>)({c, inside}, synchronous, r);
}

loggp_costs costs_of(const loggp& m) {
    const std::int64_t g = whole_ns(m.g);
    const std::int64_t ahead = whole_ns(static_cast<double>(m.f - 1) * static_cast<double>(g));
    return {whole_ns(m.L), whole_ns(m.o), whole_ns(m.least_o()), g, ahead, false, m.rendezvous != loggp{}.rendezvous};
}
loggp_costs costs_of(const loggp5& m) { return {whole_ns(m.L), whole_ns(m.o), whole_ns(m.o), 0, 0, true, false}; }

}  // namespace

void run(const loggp& m, const loggp& inside, run_of_ranks& r) {
    const bool synchronous =
        set_spans(m, inside, r, [](const loggp& n, std::int64_t bytes) { return bytes >= n.rendezvous; });
    run_all(costs_of(m), costs_of(inside), synchronous, r);
}

void run(const loggp5& m, const loggp5& inside, run_of_ranks& r) {
    for (schedules::shape& each : r.shapes().all())
        for (schedules::shape_step& s : each.steps) {
            if (s.kind == step_kind::combine) s.span[between] = s.work;
            if (s.kind == step_kind::send)
                s.span = {whole_ns(m.G * static_cast<double>(s.bytes)),
                          whole_ns(inside.G * static_cast<double>(s.bytes))};
        }
    run_all(costs_of(m), costs_of(inside), false, r);
}

}  // namespace rubato::simulator
