#include "on_cables.hpp"

#include "apart.hpp"

#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace rubato {
namespace {

namespace sg = simgrid::s4u;
using schedules::shape;
using schedules::shape_step;
using schedules::shape_table;

/// One run.
class network_run {
public:
    network_run(const simulator::routes& by, const simulator::mapping& where, const loggp& m, shape_table& ranks,
                std::span<const time_ns> arrivals)
        : by_(by), where_(where), m_(m), ranks_(ranks), arrivals_(arrivals) {
        ranks.serve_in_order({1, 0, 0, 0});  // sends
    }

    std::vector<double> exits() {
        xbt_log_control_set("xbt_cfg.thresh:warning");  // says what is set
        sg::Engine engine("network");
        for (const char* setting : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                                    "surf/precision:1e-12", "contexts/stack-size:256"})
            sg::Engine::set_config(setting);
        lay_cables();
        for (std::uint32_t r = 0; r < ranks_.ranks(); ++r) {
            exits_.push_back(seconds(arrivals_[r]));
            cpus_.push_back(sg::Mutex::create());
            for (std::uint32_t s = 0; s < ranks_.of(r).size(); ++s) steps_.emplace_back();
        }
        for (std::uint32_t r = 0; r < ranks_.ranks(); ++r)
            for (std::uint32_t s = 0; s < ranks_.of(r).size(); ++s) start(r, s);
        engine.run();
        return exits_;
    }

private:
    struct step_state {
        sg::SemaphorePtr ready = sg::Semaphore::create(0);
        sg::SemaphorePtr has_come = sg::Semaphore::create(0);    // of a receive
        sg::SemaphorePtr is_awaited = sg::Semaphore::create(0);  // of a send that waits for its receiver
    };
    static double seconds(time_ns t) { return static_cast<double>(t.count()) / 1e9; }
    step_state& state(std::uint32_t r, std::uint32_t s) { return steps_[ranks_.first()[r] + s]; }

    /// A link for each direction of each cable. They have no latency, by which SimGrid would weigh the shares.
    void lay_cables() {
        const simulator::network& net = by_.net();
        auto* zone = sg::create_full_zone("network");
        std::vector<const sg::Link*> links;
        for (simulator::channel c = 0; c < net.channels(); ++c)
            links.push_back(zone->create_link(fmt::format("channel {}", c), 1e9 / m_.G)->set_latency(0)->seal());
        for (std::uint32_t r = 0; r < ranks_.ranks(); ++r)
            hosts_.push_back(zone->create_host(fmt::format("rank {}", r), 1e9)->seal());
        for (std::uint32_t a = 0; a < ranks_.ranks(); ++a)
            for (std::uint32_t b = 0; b < ranks_.ranks(); ++b) {
                if (where_[a] == where_[b]) continue;
                std::vector<sg::LinkInRoute> path;
                by_.along(where_[a], where_[b], [&](simulator::channel c) { path.emplace_back(links[c]); });
                zone->add_route(hosts_[a]->get_netpoint(), hosts_[b]->get_netpoint(), nullptr, nullptr, path, false);
            }
        zone->seal();
    }

    bool waits_for_receiver(const shape_step& t) const { return t.bytes >= m_.rendezvous; }
    static sg::Mailbox* mailbox(std::uint32_t from, std::uint32_t to, std::uint32_t message) {
        return sg::Mailbox::by_name(fmt::format("{}>{}:{}", from, to, message));
    }
    void start(std::uint32_t r, std::uint32_t s) {
        if (ranks_.of(r).steps[s].kind == step_kind::recv)
            sg::Actor::create("message", hosts_[r], [this, r, s] {
                const shape_step& t = ranks_.of(r).steps[s];
                mailbox(ranks_.peer_of(r, t), r, t.message)->get<char>();
                sg::this_actor::sleep_for((m_.L + 2 * m_.o) / 1e9);
                state(r, s).has_come->release();
            });
        sg::Actor::create("step", hosts_[r], [this, r, s] { run(r, s); });
    }
    void run(std::uint32_t r, std::uint32_t s) {
        const shape& mine = ranks_.of(r);
        const shape_step& t = mine.steps[s];
        for (std::uint32_t n = t.waits_for + t.ports_before; n > 0; --n) state(r, s).ready->acquire();
        sg::this_actor::sleep_until(seconds(arrivals_[r]));
        const std::uint32_t peer = t.kind == step_kind::send || t.kind == step_kind::recv ? ranks_.peer_of(r, t) : r;
        switch (t.kind) {
            case step_kind::send:
                if (waits_for_receiver(t)) state(r, s).is_awaited->acquire();
                issue(r, peer, t);
                break;
            case step_kind::recv:
                if (waits_for_receiver(t)) state(peer, ranks_.partner(t, peer)).is_awaited->release();
                state(r, s).has_come->acquire();
                break;
            case step_kind::combine:
                cpus_[r]->lock();
                sg::this_actor::sleep_for(m_.combine * static_cast<double>(t.bytes) / 1e9);
                cpus_[r]->unlock();
                break;
            case step_kind::copy: break;
        }
        exits_[r] = std::max(exits_[r], sg::Engine::get_clock());
        for (const std::uint32_t f : mine.followers_of(s)) state(r, f).ready->release();
    }
    /// Messages from one rank to another follow each other, in the order in which they are issued.
    void issue(std::uint32_t from, std::uint32_t to, const shape_step& t) {
        static char nothing = 0;
        const sg::SemaphorePtr gone = sg::Semaphore::create(0);
        const sg::SemaphorePtr before = std::exchange(lines_[{from, to}], gone);
        if (t.next[0] != shape::none) state(from, t.next[0]).ready->release();
        if (before) before->acquire();
        mailbox(from, to, t.message)->put(&nothing, static_cast<std::uint64_t>(std::max<std::int64_t>(t.bytes - 1, 0)));
        gone->release();
    }

    const simulator::routes& by_;
    const simulator::mapping& where_;
    const loggp& m_;
    shape_table& ranks_;
    std::span<const time_ns> arrivals_;
    std::vector<sg::Host*> hosts_{};
    std::vector<sg::MutexPtr> cpus_{};
    std::vector<step_state> steps_{};
    std::map<std::pair<std::uint32_t, std::uint32_t>, sg::SemaphorePtr> lines_{};  // the last message of each
    std::vector<double> exits_{};
};

}  // namespace

std::vector<double> exits_by_simgrid(const simulator::routes& r, const simulator::mapping& where, const loggp& m,
                                     schedules::shape_table& ranks, std::span<const time_ns> arrivals) {
    return apart(ranks.ranks(), [&] { return network_run(r, where, m, ranks, arrivals).exits(); });
}

}  // namespace rubato
