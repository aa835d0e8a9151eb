#include "dropin/observe/held_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace rubato::dropin {
namespace {

constexpr std::size_t most_lines = 12;
constexpr std::size_t most_runs = 8;

struct thread_at {
    const watched_process* of = nullptr;
    const part_thread* thread = nullptr;
    time_ns age{};

    const part_channel* channel() const {
        const auto& all = of->seen.channels;
        return thread->in != waiting::finalize && thread->channel < all.size() ? &all[thread->channel] : nullptr;
    }
    std::optional<call_id> call() const {
        if (thread->in == waiting::finalize) return call_id{};
        const part_channel* const c = channel();
        if (c == nullptr || c->members.empty()) return std::nullopt;
        return call_id{c->members, c->ordinal, thread->invocation};
    }
};

/// What all ranks of a call must have in common.
using signature = std::tuple<collective, std::int32_t, std::optional<std::int64_t>>;

signature signature_of(const part_thread& t) { return {t.what, traits(t.what).rooted ? t.root : 0, t.bytes}; }

/// A size that is not known differs from no other.
bool agree(const signature& a, const signature& b) {
    const auto& [what, root, bytes] = a;
    const auto& [other_what, other_root, other_bytes] = b;
    return what == other_what && root == other_root && (!bytes || !other_bytes || bytes == other_bytes);
}

std::string seconds(time_ns t) { return fmt::format("{:.1f} s", std::chrono::duration<double>(t).count()); }

class search {
public:
    search(std::span<const watched_process> all, std::int32_t ranks, time_ns limit,
           const std::function<std::string(const site&)>& place)
        : limit_(limit), place_(place), by_rank_(static_cast<std::size_t>(ranks)) {
        for (const watched_process& p : all)
            if (p.seen.who.rank >= 0 && p.seen.who.rank < ranks)
                by_rank_[static_cast<std::size_t>(p.seen.who.rank)] = &p;
    }

    std::vector<held_up_call> run() {
        std::map<call_id, time_ns> waits;
        for (std::int32_t r = 0; r < static_cast<std::int32_t>(by_rank_.size()); ++r)
            for (const thread_at& t : threads_of(r))
                if (const auto call = t.call(); call && t.thread->inside && t.age >= limit_)
                    waits[*call] = std::max(waits[*call], t.age);
        if (waits.size() > 1) waits.erase(call_id{});
        std::vector<held_up_call> found;
        found.reserve(waits.size());
        for (const auto& [which, waited] : waits) found.push_back({which, waited, describe(which, waited)});
        std::ranges::stable_sort(found, std::greater{}, &held_up_call::waited);
        return found;
    }

private:
    std::vector<thread_at> threads_of(std::int32_t rank) const {
        std::vector<thread_at> out;
        if (const watched_process* const p = by_rank_[static_cast<std::size_t>(rank)])
            for (std::size_t i = 0; i < p->seen.threads.size(); ++i)
                out.push_back({p, &p->seen.threads[i], p->ages[i]});
        return out;
    }

    /// The rank's thread in this call, or that has just left it.
    std::optional<thread_at> thread_in(const call_id& which, std::int32_t rank) const {
        for (const thread_at& t : threads_of(rank))
            if (t.call() == which) return t;
        return std::nullopt;
    }
    /// Whether the rank has been in the call, and has gone on.
    bool has_passed(const call_id& which, std::int32_t rank) const {
        const watched_process* const p = by_rank_[static_cast<std::size_t>(rank)];
        const auto persistent = persistent_start::from(which.invocation);
        return p != nullptr && std::ranges::any_of(p->seen.channels, [&](const part_channel& c) {
                   if (c.ordinal != which.ordinal || c.members != which.members) return false;
                   if (!persistent) return c.calls > which.invocation;
                   const auto found = c.starts.find(persistent->request);
                   return found != c.starts.end() && found->second > persistent->start;
               });
    }

    std::string operation(const part_thread& t) const {
        if (t.in == waiting::finalize) return "MPI_Finalize";
        const std::string_view how = t.how == form::blocking ? "" : t.how == form::persistent ? "persistent " : "i";
        std::string text = fmt::format("{}{}", how, traits(t.what).name);
        if (t.bytes && traits(t.what).moves_data()) text += fmt::format(" of {}", format_bytes(*t.bytes));
        if (traits(t.what).rooted) text += fmt::format(" with root {}", t.root);
        return text;
    }
    std::string operation_at(const part_thread& t) const {
        return t.from && t.in != waiting::finalize ? fmt::format("{} at {}", operation(t), place_(*t.from))
                                                   : operation(t);
    }
    static std::string numbered(const call_id& which) {
        const auto persistent = persistent_start::from(which.invocation);
        return persistent ? fmt::format("start {}", persistent->start + 1)
                          : fmt::format("call {}", which.invocation + 1);
    }
    std::string on(const call_id& which) const {
        if (which.members.size() == by_rank_.size())
            return fmt::format("{}all {} ranks", which.ordinal == 0 ? "" : "another communicator of ", by_rank_.size());
        return fmt::format("the communicator of {}", ranks_text(which.members));
    }

    /// Where a rank is that has not come, and since when. Ranks with the same words are named together.
    struct whereabout {
        std::string before{}, after{};
        std::optional<time_ns> age{};
    };
    whereabout absence(const call_id& which, std::int32_t rank) const {
        if (by_rank_[static_cast<std::size_t>(rank)] == nullptr) return {"nothing is known"};
        const std::vector<thread_at> all = threads_of(rank);
        if (all.empty()) return {"no collective called yet"};
        const auto within = std::ranges::find_if(all, [](const thread_at& t) { return t.thread->inside; });
        if (within != all.end()) {
            const auto call = within->call();
            const waiting in = within->thread->in;
            std::string text = in == waiting::end_of     ? "waiting for "
                               : in == waiting::tests_of ? "testing for "
                                                         : "in ";
            text += operation_at(*within->thread);
            if (call && !call->members.empty()) {
                const bool same = call->members == which.members && call->ordinal == which.ordinal;
                text += same ? fmt::format(", {} there,", numbered(*call)) : fmt::format(", on {},", on(*call));
            }
            return {text + " for ", "", within->age};
        }
        const auto last = std::ranges::min_element(all, {}, &thread_at::age);
        return {fmt::format("left {} ", operation_at(*last->thread)),
                " ago, computing or in a call that is no collective", last->age};
    }

    std::vector<std::string> describe(const call_id& which, time_ns waited) const {
        std::vector<std::int32_t> members = which.members;
        if (members.empty()) {
            members.resize(by_rank_.size());
            std::iota(members.begin(), members.end(), 0);
        }
        std::vector<std::pair<std::int32_t, thread_at>> there;  // or just left
        std::vector<std::int32_t> gone_on;
        std::vector<std::int32_t> stopped;
        struct absentees {
            std::vector<std::int32_t> ranks{};
            std::optional<time_ns> age{};
        };
        std::map<std::pair<std::string, std::string>, absentees> absent;
        for (const std::int32_t r : members) {
            if (r < 0 || static_cast<std::size_t>(r) >= by_rank_.size()) continue;
            if (const watched_process* const p = by_rank_[static_cast<std::size_t>(r)]; p != nullptr && p->stopped)
                stopped.push_back(r);
            const auto thread = thread_in(which, r);
            if (thread) there.emplace_back(r, *thread);
            const bool left = thread ? !thread->thread->inside : has_passed(which, r);
            if (left) gone_on.push_back(r);
            if (thread || left) continue;
            const whereabout where = absence(which, r);
            absentees& alike = absent[{where.before, where.after}];
            alike.ranks.push_back(r);
            alike.age = std::max(alike.age, where.age);
        }
        // What most ranks have called; of as many, what the first rank has.
        const auto agreeing = [&](const signature& s) {
            return std::ranges::count_if(there,
                                         [&](const auto& t) { return agree(s, signature_of(*t.second.thread)); });
        };
        const auto usual = std::ranges::max_element(
            there, {}, [&](const auto& t) { return agreeing(signature_of(*t.second.thread)); });
        const part_thread& what = *usual->second.thread;
        std::vector<std::string> text{fmt::format(
            "{}{}{}, has waited for {}", operation_at(what), which.members.empty() ? "" : ", " + numbered(which),
            which.members.empty() ? "" : fmt::format(" on {}", on(which)), seconds(waited))};
        std::map<std::string, std::vector<std::int32_t>> different;
        for (const auto& [r, t] : there)
            if (!agree(signature_of(what), signature_of(*t.thread))) different[operation_at(*t.thread)].push_back(r);
        for (const auto& [other, some] : different)
            text.push_back(fmt::format("{} called {} instead", named(some), other));
        for (const auto& [where, who] : absent)
            text.push_back(fmt::format("{} {} not come: {}{}{}", named(who.ranks),
                                       who.ranks.size() == 1 ? "has" : "have", where.first,
                                       who.age ? seconds(*who.age) : "", where.second));
        if (!gone_on.empty() && gone_on.size() < members.size())
            text.push_back(
                fmt::format("{} {} been there and gone on", ranks_text(gone_on), gone_on.size() == 1 ? "has" : "have"));
        if (!stopped.empty())
            text.push_back(stopped.size() == 1 ? fmt::format("the process of {} is stopped", named(stopped))
                                               : fmt::format("the processes of {} are stopped", named(stopped)));
        if (different.empty() && absent.empty() && stopped.empty())
            text.push_back(gone_on.empty() ? "all ranks are there: it is slow, or its messages do not arrive"
                                           : "nobody is missing: it is slow, or its messages do not arrive");
        if (text.size() > most_lines) {
            const std::size_t more = text.size() - most_lines;
            text.resize(most_lines);
            text.push_back(fmt::format("and {} more lines of this kind", more));
        }
        return text;
    }
    /// With their host, if it is one and the program has others.
    std::string named(const std::vector<std::int32_t>& some) const {
        const auto host = [this](std::int32_t r) {
            const watched_process* const p = by_rank_[static_cast<std::size_t>(r)];
            return p != nullptr ? std::string_view(p->seen.who.host) : std::string_view();
        };
        const std::string_view first = host(some.front());
        const bool one = std::ranges::all_of(some, [&](std::int32_t r) { return host(r) == first; });
        const bool others = std::ranges::any_of(
            by_rank_, [&](const watched_process* p) { return p != nullptr && p->seen.who.host != first; });
        return one && others && !first.empty() ? fmt::format("{} on {}", ranks_text(some), first) : ranks_text(some);
    }

    time_ns limit_;
    const std::function<std::string(const site&)>& place_;
    std::vector<const watched_process*> by_rank_;
};

}  // namespace

std::vector<held_up_call> find_held_up(std::span<const watched_process> all, std::int32_t ranks, time_ns limit,
                                       const std::function<std::string(const site&)>& place) {
    return search(all, ranks, limit, place).run();
}

std::vector<std::string> runs_of_ranks(std::span<const std::int32_t> ranks) {
    std::vector<std::string> runs;
    for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
        for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
        runs.push_back(end - i > 1 ? fmt::format("{}-{}", ranks[i], ranks[end - 1]) : fmt::format("{}", ranks[i]));
    }
    return runs;
}

std::string ranks_text(std::span<const std::int32_t> ranks) {
    std::size_t shown = 0;
    for (std::size_t runs = 0; shown < ranks.size(); ++shown)
        if ((shown == 0 || ranks[shown] != ranks[shown - 1] + 1) && ++runs > most_runs) break;
    std::string text =
        fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(runs_of_ranks(ranks.first(shown)), ", "));
    if (shown < ranks.size()) text += fmt::format(" and {} more", ranks.size() - shown);
    return text;
}

}  // namespace rubato::dropin
