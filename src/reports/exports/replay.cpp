#include "dropin/observe/part_layout.hpp"
#include "reports/exports/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace rubato::reports {
namespace {

struct stay {
    time_ns arrival{};
    time_ns exit{};
};

/// A call, with what all its ranks say of it.
struct joint_call {
    traced_call what{};  // the first rank's
    std::int64_t bytes = 0;
    std::vector<stay> stays{};  // by member
    std::size_t seen = 0;
    bool agreed = true;
    time_ns first{};

    bool complete() const { return agreed && seen == stays.size(); }
};

class joint_calls {
public:
    explicit joint_calls(const trace& t) : t_(t) {
        std::vector<std::unordered_map<std::uint32_t, std::size_t>> places(
            t.hosts.size());  // by rank: of communicators
        for (std::uint32_t c = 0; c < t.communicators.size(); ++c)
            for (std::size_t i = 0; i < t.communicators[c].members.size(); ++i) {
                const std::int32_t r = t.communicators[c].members[i];
                if (r >= 0 && r < t.ranks()) places[static_cast<std::size_t>(r)].emplace(c, i);
            }
        of_rank_.resize(t.hosts.size());
        for (std::int32_t r = 0; r < t.ranks(); ++r)
            for (const traced_call& c : t.calls_of(r)) {
                const auto& mine = places[static_cast<std::size_t>(r)];
                const auto place = mine.find(c.communicator);
                if (place == mine.end() || c.invocation == dropin::no_invocation || traits(c.what).on_graph) continue;
                const auto [found, added] = index_.try_emplace({c.communicator, c.invocation}, all_.size());
                if (added) begin(c);
                join(all_[found->second], c, place->second);
                of_rank_[static_cast<std::size_t>(r)].push_back(found->second);
            }
        for (auto& mine : of_rank_) std::erase_if(mine, [this](std::size_t i) { return !all_[i].complete(); });
    }

    /// Complete ones, in an order that is that of each rank: the earliest that is the next of all its ranks. Where
    /// several threads of a rank call, ranks may differ: then the earliest that is next of any.
    std::vector<const joint_call*> in_order() const {
        std::vector<std::size_t> next(of_rank_.size());
        std::vector<std::size_t> reached(all_.size());
        std::vector<bool> taken(all_.size());
        const auto later = [this](std::size_t a, std::size_t b) { return all_[a].first > all_[b].first; };
        std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> ready(later);
        const auto reach = [&](std::size_t rank) {
            const std::vector<std::size_t>& mine = of_rank_[rank];
            while (next[rank] < mine.size() && taken[mine[next[rank]]]) ++next[rank];
            if (next[rank] < mine.size() && ++reached[mine[next[rank]]] == all_[mine[next[rank]]].stays.size())
                ready.push(mine[next[rank]]);
        };
        const auto reach_any = [&] {
            std::optional<std::size_t> earliest;
            for (std::size_t r = 0; r < next.size(); ++r)
                if (next[r] < of_rank_[r].size() && (!earliest || later(*earliest, of_rank_[r][next[r]])))
                    earliest = of_rank_[r][next[r]];
            if (earliest) ready.push(*earliest);
            return earliest.has_value();
        };
        for (std::size_t r = 0; r < of_rank_.size(); ++r) reach(r);
        std::vector<const joint_call*> out;
        while (!ready.empty() || reach_any()) {
            const std::size_t now = ready.top();
            ready.pop();
            taken[now] = true;
            out.push_back(&all_[now]);
            for (const std::int32_t m : members(all_[now])) {
                const auto r = static_cast<std::size_t>(m);
                if (next[r] < of_rank_[r].size() && of_rank_[r][next[r]] == now) reach(r);
            }
        }
        return out;
    }
    const std::vector<std::int32_t>& members(const joint_call& c) const {
        return t_.communicators[c.what.communicator].members;
    }

private:
    void begin(const traced_call& c) {
        joint_call& made = all_.emplace_back();
        made.what = c;
        made.first = c.arrival;
        made.stays.resize(t_.communicators[c.communicator].members.size(), {time_ns::min(), {}});
    }
    static void join(joint_call& to, const traced_call& c, std::size_t member) {
        stay& mine = to.stays[member];
        to.agreed = to.agreed && mine.arrival == time_ns::min() && c.what == to.what.what && c.root == to.what.root &&
                    c.how == to.what.how;
        mine = {c.arrival, c.exit};
        to.bytes += c.bytes;
        to.first = std::min(to.first, c.arrival);
        ++to.seen;
    }

    const trace& t_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> index_{};
    std::vector<joint_call> all_{};
    std::vector<std::vector<std::size_t>> of_rank_{};
};

/// Calls that become one of the program's, with their mean size.
class program_calls {
public:
    explicit program_calls(const trace& t) : t_(t) {}

    std::size_t number(const joint_call& c) {
        const auto ranks = static_cast<std::int64_t>(c.stays.size());
        const auto& w = c.what;
        const auto [found, added] = index_.try_emplace(
            {w.communicator, w.place, w.what, w.how, w.root, dropin::size_class_of(c.bytes / ranks)}, all_.size());
        if (added) {
            simulator::program_call& made = all_.emplace_back();
            made.what = w.what;
            made.blocking = w.how == dropin::form::blocking;
            if (traits(w.what).rooted) made.root = rank(w.root);
            if (ranks < t_.ranks()) made.members = t_.communicators[w.communicator].members;
            sums_.emplace_back();
        }
        sums_[found->second].first += static_cast<double>(c.bytes);
        sums_[found->second].second += static_cast<double>(ranks);
        return found->second;
    }
    std::vector<simulator::program_call> made() && {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            const auto mean = static_cast<std::int64_t>(sums_[i].first / sums_[i].second);
            simulator::program_call& c = all_[i];
            const auto ranks = static_cast<std::int64_t>(c.members.empty() ? t_.hosts.size() : c.members.size());
            c.place = fmt::format("{}, {}", traits(c.what).name, format_bytes(mean));
            // A v-form's chunks are taken to be alike.
            c.chunk = traits(c.what).irregular ? mean / ranks : mean;
        }
        return std::move(all_);
    }

private:
    const trace& t_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, collective, dropin::form, std::int32_t, std::uint8_t>,
             std::size_t>
        index_{};
    std::vector<simulator::program_call> all_{};
    std::vector<std::pair<double, double>> sums_{};  // bytes, and of how many ranks' calls
};

}  // namespace

replay replay_of(const trace& t, const std::string& file) {
    const joint_calls all(t);
    const std::vector<const joint_call*> kept = all.in_order();
    if (kept.empty())
        throw error(fmt::format("'{}' has no call to replay", file), "no call was kept by all its ranks",
                    "observe a longer run, or observe it with 'rubato exec --record all'");
    const auto [first, last] = std::ranges::minmax(kept, {}, &joint_call::first);
    if (kept.size() > 1 && first->first == last->first)
        throw error(fmt::format("'{}' does not say when calls were made", file), "another version of rubato wrote it",
                    "observe the program again");
    replay made;
    made.what.ranks = t.ranks();
    program_calls calls(t);
    std::vector<time_ns> left(t.hosts.size(), first->first);  // the call before
    time_ns end = first->first;
    for (const joint_call* c : kept) {
        simulator::program_event& e = made.what.events.emplace_back();
        e.call = calls.number(*c);
        const std::vector<std::int32_t>& members = all.members(*c);
        made.of_ranks += members.size();
        for (std::size_t i = 0; i < members.size(); ++i) {
            time_ns& mine = left[static_cast<std::size_t>(members[i])];
            e.computing.push_back(std::max(time_ns{}, c->stays[i].arrival - mine));
            mine = std::max(mine, c->stays[i].exit);
            end = std::max(end, mine);
        }
    }
    made.what.calls = std::move(calls).made();
    made.took = end - first->first;
    return made;
}

void set_algorithms(simulator::program& p, std::span<const dropin::decision> decisions) {
    for (simulator::program_call& c : p.calls) {
        const auto ranks = c.members.empty() ? p.ranks : static_cast<std::int32_t>(c.members.size());
        for (const dropin::decision& d : decisions) {
            const bool same = d.what == c.what && d.ranks == ranks && (!d.root || *d.root == c.root.value) &&
                              dropin::size_class_of(d.bytes) == dropin::size_class_of(c.chunk);
            if (!same) continue;
            const bool used = d.made == dropin::decision::verdict::forced || d.made == dropin::decision::verdict::kept;
            c.use = nullptr;
            if (!used) continue;
            // GOAL and programs know nothing of what happens before a rank arrives.
            const std::string id = d.algorithm.substr(0, d.algorithm.find_first_of("@+"));
            const auto known = std::ranges::find(algorithms(), id, &algorithm::id);
            if (known != algorithms().end() && known->dynamic == nullptr) c.use = &*known;
        }
    }
}

std::uint64_t write_goal(const trace& t, const dropin::observation& of, const std::string& file,
                         const piece_taker& put) {
    replay seen = replay_of(t, file);
    set_algorithms(seen.what, of.decisions);
    simulator::write_goal(seen.what, parse_model(of.model.empty() ? "loggopsim" : of.model), {}, put);
    return seen.of_ranks;
}

}  // namespace rubato::reports
