#include "dropin/observe/notes.hpp"
#include "dropin/observe/observation.hpp"
#include "dropin/observe/part_layout.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace rubato::dropin {
namespace {

/// Of one communicator, so that many ranks do not take gigabytes.
constexpr std::size_t most_cells = std::size_t{1} << 20;
constexpr std::size_t fewest_invocations = 64;
/// Clocks that are farther apart were not synchronised.
constexpr time_ns longest_spread{std::int64_t{1} << 55};

std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
}

/// A communicator as its members saw it; null where nothing is known of a member.
struct view {
    std::vector<const part*> parts{};
    std::vector<const part_channel*> channels{};

    bool whole() const {
        return std::ranges::none_of(channels, [](auto* c) { return c == nullptr; });
    }
};

class summary {
public:
    explicit summary(std::span<const part> parts) {
        for (const part& p : parts)
            if (p.who.ranks == parts.front().who.ranks) parts_.emplace(p.who.rank, &p);
        const process& one = parts.front().who;
        made_.program = one.program;
        made_.library = one.library;
        made_.ranks = one.ranks;
        made_.parts = static_cast<std::int32_t>(parts_.size());
        made_.hosts.resize(static_cast<std::size_t>(one.ranks));
        for (const auto& [rank, p] : parts_) made_.hosts[static_cast<std::size_t>(rank)] = p->who.host;
        comparable_ = std::ranges::all_of(parts_, [&](const auto& p) {
            return !p.second->clock.empty() || p.second->who.host == parts_.begin()->second->who.host;
        });
    }

    observation make() {
        for (const auto& [rank, p] : parts_) {
            made_.every_call = made_.every_call || p->every_call;
            made_.missing += p->missing;
            for (const part_channel& c : p->channels) {
                made_.lost += c.lost;
                add(*p, c);
            }
            for (const std::string& n : p->notes) take_note(n);
            made_.duration = std::max(made_.duration, duration_of(*p));
        }
        for (const auto& [key, v] : views_) take(key.first, v);
        for (std::size_t i = 0; i < made_.rows.size(); ++i) finish(i);
        std::ranges::stable_sort(made_.rows, std::greater{}, &row::time);
        return std::move(made_);
    }

private:
    using members = std::vector<std::int32_t>;
    using row_key = std::tuple<std::size_t, std::size_t, collective, form, std::int32_t, std::uint8_t>;

    void add(const part& p, const part_channel& c) {
        view& v = views_[{c.members, c.ordinal}];
        v.parts.resize(c.members.size());
        v.channels.resize(c.members.size());
        const auto me = std::ranges::find(c.members, p.who.rank);
        if (me == c.members.end()) return;
        v.parts[static_cast<std::size_t>(me - c.members.begin())] = &p;
        v.channels[static_cast<std::size_t>(me - c.members.begin())] = &c;
    }

    void take_note(const std::string& text) {
        const nlohmann::json note = nlohmann::json::parse(text, nullptr, false);
        if (!note.is_object()) return;
        const auto is = [&note](const char* name) {
            return note.size() == 1 && note.contains(name) && note[name].is_string();
        };
        if (is("model"))
            made_.model = note["model"].get<std::string>();
        else if (is("mode"))
            made_.mode = note["mode"].get<std::string>();
        else if (note.contains("run"))
            note_in(note["run"], made_.begun);
        else if (note.contains("profile"))
            note_in(note["profile"], made_.profile);
        else if (recalled r; note.contains("recalled") && note_in(note["recalled"], r))
            add_once(made_.from_profile, r);
        else if (decision d; note_in(note, d))
            add_once(made_.decisions, d);
    }

    /// False if the process was ended while it wrote, or the disk is damaged.
    template <class T>
    static bool note_in(const nlohmann::json& note, T& to) {
        try {
            note.get_to(to);
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }
    /// What all ranks say is said once.
    template <class T>
    static void add_once(std::vector<T>& all, const T& one) {
        if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    }

    /// From the first time on its clock to the last.
    static time_ns duration_of(const part& p) {
        time_ns begin = longest_time;
        time_ns end = -longest_time;
        const auto include = [&](time_ns first, time_ns last) {
            begin = std::min(begin, first);
            end = std::max(end, last);
        };
        for (const clock_point& c : p.clock) include(c.own, c.own);
        for (const part_channel& c : p.channels)
            for (const part_event& e : c.events) include(e.arrival, e.exit);
        return std::max(time_ns{}, end - begin);
    }

    std::size_t communicator_of(const members& m) {
        const auto [found, added] = communicators_.emplace(m, made_.communicators.size());
        if (added)
            made_.communicators.push_back({m, 1});
        else
            ++made_.communicators[found->second].count;
        return found->second;
    }

    std::size_t row_of(std::size_t comm, const part_row& r) {
        const auto [s, new_site] = sites_.emplace(r.from, made_.sites.size());
        if (new_site) made_.sites.push_back(r.from);
        // Of v-forms each rank has its own size.
        const std::uint8_t size_class = traits(r.what).irregular ? std::uint8_t{0} : r.size_class;
        const auto [found, added] =
            rows_.emplace(row_key{comm, s->second, r.what, r.how, r.root, size_class}, made_.rows.size());
        if (added) {
            made_.rows.push_back({comm, s->second, r.what, r.how, r.root});
            collected_.emplace_back();
        }
        return found->second;
    }

    void take(const members& m, const view& v) {
        const std::size_t comm = communicator_of(m);
        std::vector<std::vector<std::size_t>> rows(m.size());  // of each member's rows, where they went
        for (std::size_t i = 0; i < m.size(); ++i) {
            if (v.channels[i] == nullptr) continue;
            for (const part_row& r : v.channels[i]->rows) {
                rows[i].push_back(r.calls == 0 ? 0 : row_of(comm, r));
                if (r.calls == 0) continue;
                row& to = made_.rows[rows[i].back()];
                auto& [calls, bytes] = collected_[rows[i].back()].by_rank[m[i]];
                calls += r.calls;
                bytes = sum(bytes, r.bytes);
                for (const auto& [total, more] :
                     {std::pair{&to.time, r.time}, std::pair{&to.apart, r.apart}, std::pair{&to.waited, r.waited}})
                    *total = time_ns(sum(total->count(), more.count()));
                to.ended += r.ended;
            }
            for (const part_event& e : v.channels[i]->events)
                collected_[rows[i][e.row]].stays.push_back(static_cast<double>((e.exit - e.arrival).count()));
        }
        if (comparable_ && !m.empty() && v.whole()) match(v, rows);
    }

    /// Invocations that all members kept.
    void match(const view& v, const std::vector<std::vector<std::size_t>>& rows) {
        const std::size_t ranks = v.channels.size();
        std::uint64_t skipped = 0;
        std::size_t fewest = v.channels.front()->events.size();
        for (; fewest > fewest_invocations && fewest * ranks > most_cells; fewest /= 2) skipped = skipped * 2 + 1;

        std::vector<std::size_t> at(ranks, 0);
        for (const part_event& e : v.channels.front()->events) {
            if (!kept(e.invocation, skipped)) continue;
            std::vector<const part_event*> all(ranks);
            for (std::size_t i = 0; i < ranks; ++i) {
                const std::vector<part_event>& events = v.channels[i]->events;
                while (at[i] < events.size() && events[at[i]].invocation < e.invocation) ++at[i];
                if (at[i] == events.size()) return;
                if (events[at[i]].invocation == e.invocation) all[i] = &events[at[i]];
            }
            if (std::ranges::none_of(all, [](auto* p) { return p == nullptr; })) take(v, rows, all);
        }
    }

    void take(const view& v, const std::vector<std::vector<std::size_t>>& rows,
              const std::vector<const part_event*>& all) {
        const std::size_t ranks = all.size();
        invocation met{all.front()->invocation};
        std::vector<std::size_t> in(ranks);
        for (std::size_t i = 0; i < ranks; ++i) {
            met.arrivals.push_back(v.parts[i]->to_common(all[i]->arrival));
            met.exits.push_back(met.arrivals.back() + (all[i]->exit - all[i]->arrival));
            if (all[i]->outside != unknown_time) met.outside.push_back(all[i]->outside);
            in[i] = rows[i][all[i]->row];
            const row& a = made_.rows[in[i]];
            const row& b = made_.rows[in.front()];
            if (a.what != b.what || a.how != b.how) return;  // not the same call: something was not seen
        }
        const auto [least, most] = std::ranges::minmax(met.arrivals);
        if (most - least > longest_spread) return;
        met.at = least;
        for (time_ns& t : met.arrivals) t -= least;
        for (time_ns& t : met.exits) t -= least;
        if (met.outside.size() < ranks) met.outside.clear();
        // Ranks may have called from several places: the invocation counts for each of them.
        std::vector<std::size_t> places = in;
        std::ranges::sort(places);
        places.erase(std::unique(places.begin(), places.end()), places.end());
        for (const std::size_t place : places) {
            collected& to = collected_[place];
            for (std::size_t i = 0; i < ranks; ++i) {
                if (in[i] != place) continue;
                const double stay = static_cast<double>((met.exits[i] - met.arrivals[i]).count());
                share_waited& shares = met.number == 0 ? to.first_call : to.others;
                shares.stayed += stay;
                shares.waited += std::min(stay, static_cast<double>((most - least - met.arrivals[i]).count()));
            }
            to.met.push_back(met);
        }
    }

    void finish(std::size_t i) {
        row& r = made_.rows[i];
        collected& from = collected_[i];
        double bytes = 0;
        double calls = 0;
        for (const auto& [rank, total] : from.by_rank) {
            r.calls = std::max(r.calls, total.first);
            bytes += static_cast<double>(total.second);
            calls += static_cast<double>(total.first);
        }
        r.callers = static_cast<std::int32_t>(from.by_rank.size());
        r.bytes = std::llround(bytes / calls);
        if (!from.stays.empty()) r.median = median_time(from.stays);
        if (from.met.empty()) return;
        r.seen = describe(std::move(from.met), r.calls);
        // The first call is always kept, and often waits long: it stands for itself.
        const double all = static_cast<double>(r.time.count());
        const double rest = from.others.stayed > 0 ? from.others.waited / from.others.stayed : 0;
        const double waited = from.first_call.waited + rest * std::max(0., all - from.first_call.stayed);
        r.seen->waiting = all > 0 ? std::min(1., waited / all) : 0;
    }

    /// Sums over invocations that all ranks kept: time in the call, and of it until the last rank was there.
    struct share_waited {
        double stayed = 0;
        double waited = 0;
    };

    struct collected {
        std::map<std::int32_t, std::pair<std::uint64_t, std::int64_t>> by_rank{};  ///< calls and bytes
        std::vector<invocation> met{};
        std::vector<double> stays{};  ///< times in the call, also of invocations that not all ranks kept
        share_waited first_call{};    ///< of the communicator
        share_waited others{};
    };

    observation made_{};
    std::map<std::int32_t, const part*> parts_{};
    bool comparable_ = false;
    std::map<std::pair<members, std::uint32_t>, view> views_{};
    std::map<members, std::size_t> communicators_{};
    std::map<site, std::size_t> sites_{};
    std::map<row_key, std::size_t> rows_{};
    std::vector<collected> collected_{};
};

}  // namespace

observation summarise(std::span<const part> parts) { return parts.empty() ? observation{} : summary(parts).make(); }

}  // namespace rubato::dropin
