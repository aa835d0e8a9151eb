#include "simulator/programs/plan_choice.hpp"

#include "simulator/choose/response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rubato::simulator {
namespace {

/// A candidate that ends later than the best by less is as good: then what is best by itself stays.
constexpr double worthwhile = 0.002;
constexpr int most_passes = 6;

struct option {
    candidate how{};
    response passes;
};

/// How calls that are alike can be made. None if there is one like it before.
struct choice {
    std::vector<option> options{};
    std::size_t taken = 0;
};

problem problem_of(const program& p, const program_call& c) {
    problem made;
    made.what = c.what;
    made.ranks = c.members.empty() ? p.ranks : static_cast<std::int32_t>(c.members.size());
    made.root = c.root;
    made.neighbours = c.neighbours;
    return made;
}

bool are_alike(const program_call& a, const program_call& b) {
    return a.what == b.what && a.use == b.use && a.chunk == b.chunk && a.root == b.root && a.segments == b.segments &&
           a.neighbours == b.neighbours && a.members == b.members;
}

/// For each call, the first one like it.
std::vector<std::size_t> first_alike(const program& p) {
    std::vector<std::size_t> first;
    for (std::size_t c = 0; c < p.calls.size(); ++c) {
        first.push_back(0);
        while (!are_alike(p.calls[first.back()], p.calls[c])) ++first.back();
    }
    return first;
}

/// The mean of each rank's times before calls like this one, from the least on.
std::vector<time_ns> usual_arrivals(const program& p, std::size_t call, std::span<const std::size_t> first,
                                    std::int32_t ranks) {
    std::vector<time_ns> mean(static_cast<std::size_t>(ranks));
    std::int64_t events = 0;
    for (const program_event& e : p.events) {
        if (e.call == p.calls.size() || first[e.call] != call) continue;
        ++events;
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += e.computing[i];
    }
    const time_ns least = std::ranges::min(mean);
    for (time_ns& t : mean) t = (t - least) / std::max<std::int64_t>(events, 1);
    return mean;
}

std::optional<option> option_of(const candidate& c, problem asked, const layout& sizes, const model& network) {
    asked.segments = c.segments;
    asked.round_time = c.round_time;
    std::optional<response> passes = response_of(build_all(*c.use, asked), sizes, network);
    if (!passes) return std::nullopt;
    return option{c, std::move(*passes)};
}

class loop_of_calls {
public:
    loop_of_calls(const program& p, const model& network) : p_(p), first_(first_alike(p)), choices_(p.calls.size()) {
        for (std::size_t c = 0; c < p.calls.size(); ++c)
            if (first_[c] == c) choices_[c] = choice_of(c, network);
    }

    plan_choice choose() {
        plan_choice made{.alike = first_};
        made.call_by_call = time_ns(end());
        for (int pass = 0; pass < most_passes && improve(); ++pass) {
        }
        for (std::size_t number = 0; number < choices_.size(); ++number) {
            std::vector<candidate>& all = made.calls.emplace_back();
            if (first_[number] != number) {
                all = made.calls[first_[number]];
                continue;
            }
            choice& c = choices_[number];
            const std::size_t taken = c.taken;
            for (c.taken = 0; c.taken < c.options.size(); ++c.taken) {
                all.push_back(c.options[c.taken].how);
                all.back().end = time_ns(end());
            }
            c.taken = taken;
            std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(taken),
                        all.begin() + static_cast<std::ptrdiff_t>(taken) + 1);
            std::ranges::stable_sort(all.begin() + 1, all.end(), {}, &candidate::end);
        }
        made.end = time_ns(end());
        return made;
    }

private:
    choice choice_of(std::size_t call, const model& network) const {
        const program_call& c = p_.calls[call];
        problem asked = problem_of(p_, c);
        asked.arrivals = usual_arrivals(p_, call, first_, asked.ranks);
        const std::optional<std::uint32_t> cut = c.segments > 0 ? std::optional(c.segments) : std::nullopt;
        std::vector<candidate> among = c.use != nullptr ? candidates_of(*c.use, asked, c.chunk, network, cut)
                                                        : candidates_for(asked, c.chunk, network, false, cut);
        std::erase_if(among, [](const candidate& one) { return one.radix > 0; });  // a program's call cannot say it
        choice made;
        for (const candidate& one : among)
            if (std::optional<option> o = option_of(one, asked, layout::uniform(c.chunk), network))
                made.options.push_back(std::move(*o));
        if (made.options.empty())
            throw error(
                fmt::format("{}: nothing to choose for a {} of {} ranks", c.place, traits(c.what).name, asked.ranks),
                "no algorithm can do it, or all are too large", "name an algorithm and its segments");
        std::vector<std::int64_t> arrivals;
        for (const time_ns t : asked.arrivals) arrivals.push_back(t.count());
        std::vector<std::int64_t> exits(arrivals.size());
        std::ranges::stable_sort(made.options, {}, [&](const option& o) {
            o.passes.leave(arrivals, exits);
            return std::ranges::max(exits);
        });
        return made;
    }

    /// Whether a call is made in another way from now on.
    bool improve() {
        bool better = false;
        for (choice& c : choices_) {
            const std::size_t before = c.taken;
            std::size_t best = before;
            std::int64_t least = end();
            for (c.taken = 0; c.taken < c.options.size(); ++c.taken) {
                const std::int64_t ends = end();
                if (static_cast<double>(ends) >= static_cast<double>(least) * (1 - worthwhile)) continue;
                best = c.taken;
                least = ends;
            }
            c.taken = best;
            better |= best != before;
        }
        return better;
    }

    /// Of the whole program.
    std::int64_t end() {
        const auto ranks = static_cast<std::size_t>(p_.ranks);
        free_.assign(3 * ranks, 0);
        std::int64_t last = 0;
        for (const program_event& e : p_.events) {
            const bool calls = e.call < p_.calls.size();
            const std::vector<std::int32_t>* const members = calls ? &p_.calls[e.call].members : nullptr;
            const std::size_t n = e.computing.size();
            // The three states of each rank that takes part.
            const auto state_of = [&](std::size_t i) {
                const std::size_t r =
                    members == nullptr || members->empty() ? i % n : static_cast<std::size_t>((*members)[i % n]);
                return i / n * ranks + r;
            };
            at_.resize(3 * n);
            for (std::size_t i = 0; i < 3 * n; ++i)
                at_[i] = free_[state_of(i)] + (i < n ? e.computing[i].count() : std::int64_t{0});
            left_ = at_;
            if (calls) {
                const choice& made = choices_[first_[e.call]];
                made.options[made.taken].passes.pass(at_, left_);
                last = std::max(last, std::ranges::max(std::span(left_).first(n)));
                if (!p_.calls[e.call].blocking) std::ranges::copy(std::span(at_).first(n), left_.begin());
            }
            for (std::size_t i = 0; i < 3 * n; ++i) free_[state_of(i)] = left_[i];
        }
        return std::max(last, std::ranges::max(std::span(free_).first(ranks)));
    }

    const program& p_;
    std::vector<std::size_t> first_;
    std::vector<choice> choices_;
    std::vector<std::int64_t> free_{}, at_{}, left_{};  // states of all ranks, and of those of a call
};

}  // namespace

plan_choice choose_plan(const program& p, const model& network) { return loop_of_calls(p, network).choose(); }

program planned(program p, const plan_choice& by) {
    for (std::size_t c = 0; c < p.calls.size(); ++c) {
        p.calls[c].use = by.calls[c].front().use;
        p.calls[c].segments = by.calls[c].front().segments;
    }
    return p;
}

}  // namespace rubato::simulator
