// SimGrid as a referee of the simulator: the same schedules and arrivals on a star of equal links, played by a
// simulator that others wrote. Prints a table, and fails if the two differ by more than their rules explain.
//
// Each step is an actor. It waits for the steps that it depends on and for its rank's arrival, and then sends, receives
// or sleeps for as long as it computes. A message takes latency + bytes/bandwidth, and messages that share a link at
// the same time share its bandwidth.
//   ports   as under hockney: a rank's sends follow each other, and so do its receives. Then no messages share a link.
//   free    as under loggp without o and g: a rank sends what is ready, and messages are received before the rank asks
//           for them. In LogGP an interface serves one message after the other, in SimGrid all at once.
#include "apart.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace rubato {
namespace {

namespace sg = simgrid::s4u;
using schedules::shape;
using schedules::shape_step;
using schedules::shape_table;

constexpr double latency = 20e-6;  // s
constexpr double per_byte = 8e-9;  // s per byte
constexpr double per_combined_byte = 1e-9;

enum class play : std::uint8_t { ports, free };

/// One run.
class star {
public:
    star(shape_table& ranks, std::span<const time_ns> arrivals, play how)
        : ranks_(ranks), arrivals_(arrivals), how_(how) {
        if (how == play::ports)
            ranks.serve_in_order({1, 2, 3, 0});  // send, recv, combine, copy
        else
            ranks.serve_in_order({0, 0, 1, 0});  // one processor
    }

    std::vector<double> exits() {
        xbt_log_control_set("xbt_cfg.thresh:warning");  // says what is set
        sg::Engine engine("referee");
        sg::Engine::set_config("network/model:CM02");
        sg::Engine::set_config("network/TCP-gamma:0");
        sg::Engine::set_config("network/crosstraffic:0");
        sg::Engine::set_config("surf/precision:1e-12");
        sg::Engine::set_config("contexts/stack-size:256");
        auto* zone = sg::create_star_zone("star");
        for (std::uint32_t r = 0; r < ranks_.ranks(); ++r) {
            const std::string name = fmt::format("rank {}", r);
            hosts_.push_back(zone->create_host(name, 1e9));
            const sg::Link* link = zone->create_split_duplex_link(name, 1 / per_byte)->set_latency(latency / 2)->seal();
            zone->add_route(hosts_.back()->get_netpoint(), nullptr, nullptr, nullptr,
                            {{link, sg::LinkInRoute::Direction::UP}}, true);
        }
        zone->seal();
        for (std::uint32_t r = 0; r < ranks_.ranks(); ++r) {
            exits_.push_back(seconds(arrivals_[r]));
            for (std::uint32_t s = 0; s < ranks_.of(r).size(); ++s) steps_.push_back({sg::Semaphore::create(0), {}});
        }
        for (std::uint32_t r = 0; r < ranks_.ranks(); ++r)
            for (std::uint32_t s = 0; s < ranks_.of(r).size(); ++s) start(r, s);
        engine.run();
        return exits_;
    }

private:
    struct step_state {
        sg::SemaphorePtr ready;
        sg::SemaphorePtr has_come;  // of a receive, if it is played freely
    };
    static double seconds(time_ns t) { return static_cast<double>(t.count()) / 1e9; }
    step_state& state(std::uint32_t r, std::uint32_t s) { return steps_[ranks_.first()[r] + s]; }

    sg::Mailbox* mailbox(std::uint32_t from, std::uint32_t to, std::uint32_t message) {
        return sg::Mailbox::by_name(fmt::format("{}>{}:{}", from, to, message));
    }
    void start(std::uint32_t r, std::uint32_t s) {
        const shape_step& t = ranks_.of(r).steps[s];
        if (how_ == play::free && t.kind == step_kind::recv) {
            state(r, s).has_come = sg::Semaphore::create(0);
            sg::Actor::create("message", hosts_[r], [this, r, s] {
                mailbox(ranks_.peer_of(r, ranks_.of(r).steps[s]), r, ranks_.of(r).steps[s].message)->get<char>();
                state(r, s).has_come->release();
            });
        }
        sg::Actor::create("step", hosts_[r], [this, r, s] { run(r, s); });
    }
    void run(std::uint32_t r, std::uint32_t s) {
        static char nothing = 0;
        const shape& mine = ranks_.of(r);
        const shape_step& t = mine.steps[s];
        for (std::uint32_t n = t.waits_for + t.ports_before; n > 0; --n) state(r, s).ready->acquire();
        sg::this_actor::sleep_until(seconds(arrivals_[r]));
        const auto bytes = static_cast<std::uint64_t>(t.bytes);
        switch (t.kind) {
            case step_kind::send: {
                sg::Mailbox* to = mailbox(r, ranks_.peer_of(r, t), t.message);
                if (how_ == play::ports)
                    to->put(&nothing, bytes);
                else
                    to->put_init(&nothing, bytes)->detach();
                break;
            }
            case step_kind::recv:
                if (how_ == play::ports)
                    mailbox(ranks_.peer_of(r, t), r, t.message)->get<char>();
                else
                    state(r, s).has_come->acquire();
                break;
            case step_kind::combine: sg::this_actor::sleep_for(per_combined_byte * static_cast<double>(t.bytes)); break;
            case step_kind::copy: break;
        }
        exits_[r] = std::max(exits_[r], sg::Engine::get_clock());
        for (const std::uint32_t f : mine.followers_of(s)) state(r, f).ready->release();
        for (const std::uint32_t next : t.next)
            if (next != shape::none) state(r, next).ready->release();
    }

    shape_table& ranks_;
    std::span<const time_ns> arrivals_;
    play how_;
    std::vector<sg::Host*> hosts_{};
    std::vector<step_state> steps_{};
    std::vector<double> exits_{};
};

struct comparison {
    double ours = 0;  ///< the last exit, s
    double theirs = 0;
    double furthest = 0;  ///< of a rank's exit, as a share of the last
};

comparison compare(const model& m, shape_table& ranks, std::span<const time_ns> arrivals, play how) {
    comparison c;
    const std::vector<double> theirs = apart(ranks.ranks(), [&] { return star(ranks, arrivals, how).exits(); });
    const std::vector<time_ns> ours = simulator::simulate(m, ranks, arrivals).exits;
    c.theirs = std::ranges::max(theirs);
    c.ours = static_cast<double>(std::ranges::max(ours).count()) / 1e9;
    for (std::size_t r = 0; r < ours.size(); ++r)
        c.furthest = std::max(c.furthest, std::abs(static_cast<double>(ours[r].count()) / 1e9 - theirs[r]) / c.theirs);
    return c;
}

struct refereed {
    const char* id;
    std::int64_t chunk;
    std::uint32_t segments;
    bool
        alone;  ///< if all arrive together, links carry one message at a time, or order makes no difference to the last
};
constexpr std::array cases{
    refereed{"bcast/binomial", 65536, 1, false},
    refereed{"bcast/chain", 65536, 8, false},
    refereed{"bcast/scatter_ring", 65536, 1, false},
    refereed{"reduce/binomial", 65536, 1, true},
    refereed{"reduce/clairvoyant", 65536, 16, false},
    refereed{"allreduce/ring", 65536, 1, true},
    refereed{"allreduce/recursive_doubling", 65536, 1, true},
    refereed{"allreduce/rabenseifner", 65536, 1, true},
    refereed{"allgather/ring", 16384, 1, true},
    refereed{"allgather/bruck", 16384, 1, true},
    refereed{"alltoall/pairwise", 16384, 1, true},
    refereed{"scatter/linear", 16384, 1, true},
    refereed{"gather/binomial", 16384, 1, true},
    refereed{"barrier/dissemination", 0, 1, true},
};
constexpr std::array patterns{"balanced", "single:rank=5,delay=1ms", "uniform:max=2ms,seed=7"};

}  // namespace
}  // namespace rubato

int main() {
    using namespace rubato;
    const model ports{hockney{latency * 1e9, per_byte * 1e9, per_combined_byte * 1e9}};
    const model free{loggp{latency * 1e9, 0, 0, per_byte * 1e9, per_combined_byte * 1e9}};
    bool good = true;
    fmt::print("{:<30}{:<26}{:>12}{:>12}{:>9}{:>12}{:>12}{:>9}\n", "algorithm", "arrivals", "hockney", "SimGrid", "",
               "loggp", "SimGrid", "");
    for (const refereed& c : cases)
        for (const char* pattern : patterns) {
            const algorithm& a = find_algorithm(c.id);
            problem p;
            p.what = a.what;
            p.ranks = 16;
            p.segments = c.segments;
            p.arrivals = parse_arrivals(pattern, p.ranks);
            p.round_time = time_ns(100000);
            const layout sizes = layout::uniform(c.chunk);
            const std::vector<schedule> all = build_all(a, p);
            shape_table ranks = schedules::shapes_of(all, std::span(&sizes, 1));
            const comparison exact = compare(ports, ranks, p.arrivals, play::ports);
            const comparison shared = compare(free, ranks, p.arrivals, play::free);
            const double more = shared.ours / shared.theirs - 1;
            fmt::print("{:<30}{:<26}{:>9.2f} us{:>9.2f} us{:>8.4f}%{:>9.2f} us{:>9.2f} us{:>+8.1f}%\n", c.id, pattern,
                       exact.ours * 1e6, exact.theirs * 1e6, 100 * exact.furthest, shared.ours * 1e6,
                       shared.theirs * 1e6, 100 * more);
            // Times are whole nanoseconds here.
            const bool is_alone = c.alone && pattern == std::string_view("balanced");
            if (exact.furthest > 1e-5 || (is_alone && std::abs(more) > 1e-3)) good = false;
        }
    if (!good) fmt::print("some differ by more than the rules explain\n");
    return good ? 0 : 1;
}
