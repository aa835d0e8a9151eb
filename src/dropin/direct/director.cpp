#include "dropin/direct/director.hpp"

#include "dropin/direct/comparison.hpp"
#include "simulator/choose/outcome.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace rubato::dropin {

decision decision_at(const directed_call& c, std::int32_t ranks, std::uint64_t call) {
    decision d;
    d.what = c.what;
    d.bytes = c.bytes;
    if (traits(c.what).rooted) d.root = c.root.value;
    d.ranks = ranks;
    d.call = call;
    return d;
}

struct director::state {
    state(settings how, board& others, explainer explain) : with{std::move(how), others, std::move(explain)} {
        if (!with.how.choose)
            with.how.choose = [this](const problem& p, std::int64_t bytes, const simulator::call_loop* loop) {
                const model& m = with.others.network();
                // A late root cannot begin if it alone knows the sizes: nobody can tell it.
                const collective_traits& t = traits(p.what);
                const bool early = with.how.early && !(t.irregular && t.output == holders::root);
                std::vector<candidate> all = candidates_for(p, bytes, m, early);
                std::erase_if(all, [](const candidate& c) { return c.radix > 0; });  // ranks tell each other no radix
                const model* const inside = p.hosts.empty() ? nullptr : with.others.inside();
                if (loop == nullptr) return choose(p, bytes, m, std::move(all), inside);
                // A response knows nothing of ranks that begin before they come.
                const auto begin_early =
                    std::ranges::stable_partition(all, [](const candidate& c) { return !c.use->early; });
                const std::vector<candidate> ahead(begin_early.begin(), begin_early.end());
                all.erase(begin_early.begin(), begin_early.end());
                std::vector<candidate> found = simulator::choose_for_loop(p, bytes, m, std::move(all), *loop, inside);
                const bool meet = std::ranges::all_of(loop->gaps, &simulator::call_gap::meets);
                if (ahead.empty() || !meet) return found;
                for (candidate& c : choose(p, bytes, m, ahead, inside)) found.push_back(std::move(c));
                const time_ns last = p.arrivals.empty() ? time_ns{} : std::ranges::max(p.arrivals);
                return simulator::in_order(std::move(found), last, bytes, m);
            };
    }

    std::vector<experience> learned() const {
        std::vector<experience> all;
        for (const auto& [kind, c] : comparisons)
            if (auto one = c.learned()) all.push_back(std::move(*one));
        return all;
    }

    using all_comparisons = std::map<simulator::operation, comparison>;

    all_comparisons::iterator begin(const simulator::operation& kind, const directed_call& c) {
        if (const std::optional<experience> known = nearest(kind))
            return comparisons.try_emplace(kind, with, c, *known).first;
        for (const seen_call& s : with.how.seen)
            if (s.what.kind() == kind) return comparisons.try_emplace(kind, with, c, s).first;
        return comparisons.try_emplace(kind, with, c).first;
    }
    /// What is known of this operation or, if nothing is, of one like it: of this run if it has had one.
    std::optional<experience> nearest(const simulator::operation& kind) const {
        std::vector<experience> all = learned();
        all.insert(all.end(), with.how.remembered.begin(), with.how.remembered.end());
        const experience* best = nullptr;
        int least = nearest_classes * 2 + 2;
        for (const experience& e : all) {
            if (e.kind.what != kind.what) continue;
            const int away = std::abs(int{e.kind.size_class} - int{kind.size_class});
            const int distance = 2 * away + (e.kind.root == kind.root ? 0 : 1);
            if (away > nearest_classes || distance >= least) continue;
            best = &e;
            least = distance;
        }
        return best != nullptr ? std::optional(*best) : std::nullopt;
    }

    shared with;
    all_comparisons comparisons{};
    all_comparisons::iterator current = comparisons.end();
    bool within = false;  // a call, which an error handler of the program may have left by longjmp
    int ahead = 0;        // comparisons whose last call was begun, or may be answered for, before its rank arrived
};

director::director(settings how, board& others, explainer explain)
    : state_(std::make_unique<state>(std::move(how), others, std::move(explain))) {}
director::~director() = default;

const directive& director::arrive(const directed_call& c, time_ns now) {
    state& s = *state_;
    if (std::exchange(s.within, true)) s.current->second.failed();
    const simulator::operation kind = c.kind();
    // Programs repeat themselves, so the last operation is tried first.
    if (s.current == s.comparisons.end() || s.current->first != kind)
        s.current = s.comparisons.contains(kind) ? s.comparisons.find(kind) : s.begin(kind, c);
    comparison& of = s.current->second;
    s.ahead -= of.last().works_ahead() ? 1 : 0;
    const directive& how = of.arrive(c, now);
    s.ahead += how.works_ahead() ? 1 : 0;
    return how;
}
void director::leave(time_ns now) {
    state_->within = false;
    state_->current->second.leave(now);
}
void director::failed() {
    state_->within = false;
    state_->current->second.failed();
}
void director::refused(std::string_view reason) { state_->current->second.refused(reason); }
std::vector<experience> director::learned() const { return state_->learned(); }
bool director::works_ahead() const { return state_->ahead > 0; }

}  // namespace rubato::dropin
