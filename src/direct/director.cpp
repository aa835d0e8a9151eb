#include "direct/director.hpp"

#include "direct/contest.hpp"

#include <cstdlib>
#include <map>
#include <utility>

namespace rubato {

class director::state {
public:
    state(settings how, board& others, explainer explain) : shared_{std::move(how), others, std::move(explain)} {
        if (!shared_.how.choose)
            shared_.how.choose = [this](const problem& p, std::int64_t bytes) {
                const model& m = shared_.others.network();
                // A late root cannot begin if it alone knows the sizes: nobody can tell it.
                const collective_traits& t = traits(p.what);
                const bool early = shared_.how.early && !(t.irregular && t.output == holders::root);
                std::vector<candidate> all = candidates_for(p, bytes, m, early);
                std::erase_if(all, [](const candidate& c) { return c.radix > 0; });  // ranks tell each other no radix
                return choose(p, bytes, m, std::move(all));
            };
    }

    const directive& arrive(const directed_call& c, time_ns now) {
        if (std::exchange(within_, true)) current_->second.failed();
        const operation kind = c.kind();
        // Programs repeat themselves, so the last operation is tried first.
        if (current_ == contests_.end() || current_->first != kind)
            current_ = contests_.contains(kind) ? contests_.find(kind) : begin(kind, c);
        direct::contest& of = current_->second;
        ahead_ -= of.last().works_ahead() ? 1 : 0;
        const directive& how = of.arrive(c, now);
        ahead_ += how.works_ahead() ? 1 : 0;
        return how;
    }
    void leave(time_ns now) {
        within_ = false;
        current_->second.leave(now);
    }
    void failed() {
        within_ = false;
        current_->second.failed();
    }
    void refused(std::string_view reason) { current_->second.refused(reason); }
    std::vector<experience> learned() const {
        std::vector<experience> all;
        for (const auto& [kind, c] : contests_)
            if (auto one = c.learned()) all.push_back(std::move(*one));
        return all;
    }
    bool works_ahead() const { return ahead_ > 0; }

private:
    using all_contests = std::map<operation, direct::contest>;

    all_contests::iterator begin(const operation& kind, const directed_call& c) {
        if (const std::optional<experience> known = nearest(kind))
            return contests_.try_emplace(kind, shared_, c, *known).first;
        for (const seen_call& s : shared_.how.seen)
            if (s.what.kind() == kind) return contests_.try_emplace(kind, shared_, c, s).first;
        return contests_.try_emplace(kind, shared_, c).first;
    }
    /// What is known of this operation or, if nothing is, of one like it: of this run if it has had one.
    std::optional<experience> nearest(const operation& kind) const {
        std::vector<experience> all = learned();
        all.insert(all.end(), shared_.how.remembered.begin(), shared_.how.remembered.end());
        const experience* best = nullptr;
        int least = direct::nearest_classes * 2 + 2;
        for (const experience& e : all) {
            if (e.kind.what != kind.what) continue;
            const int away = std::abs(int{e.kind.size_class} - int{kind.size_class});
            const int distance = 2 * away + (e.kind.root == kind.root ? 0 : 1);
            if (away > direct::nearest_classes || distance >= least) continue;
            best = &e;
            least = distance;
        }
        return best != nullptr ? std::optional(*best) : std::nullopt;
    }

    direct::shared shared_;
    std::map<operation, direct::contest> contests_{};
    std::map<operation, direct::contest>::iterator current_ = contests_.end();
    bool within_ = false;  // a call, which an error handler of the program may have left by longjmp
    int ahead_ = 0;        // contests whose last call was begun, or may be answered for, before its rank arrived
};

director::director(settings how, board& others, explainer explain)
    : state_(std::make_unique<state>(std::move(how), others, std::move(explain))) {}
director::~director() = default;

const directive& director::arrive(const directed_call& c, time_ns now) { return state_->arrive(c, now); }
void director::leave(time_ns now) { state_->leave(now); }
void director::failed() { state_->failed(); }
void director::refused(std::string_view reason) { state_->refused(reason); }
std::vector<experience> director::learned() const { return state_->learned(); }
bool director::works_ahead() const { return state_->works_ahead(); }

}  // namespace rubato
