// How a comparison gets a list of plans.
#include "dropin/direct/comparison.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace rubato::dropin {
namespace {

/// The best candidate of each algorithm, as many as a told_choice holds.
std::vector<candidate> best_of_each(std::vector<candidate> ranked) {
    std::vector<candidate> best;
    for (candidate& c : ranked) {
        const bool known = std::ranges::any_of(best, [&](const candidate& b) { return b.use == c.use; });
        if (c.use != nullptr && !known) best.push_back(std::move(c));
    }
    return best;
}

}  // namespace

/// The first rank to arrive chooses, as it would have to wait anyway, and tells the others.
void comparison::order_choice(bool rolls) {
    const time_ns came = with_.others.now();
    const auto before = std::exchange(native_before_, std::nullopt);
    if (before && contenders_[native].measured && is_stale(*before, contenders_[native].measured->tail))
        with_.others.doubt_network();
    (void)with_.others.network();
    (void)with_.others.inside();
    chosen_ = true;
    chosen_foreseen_ = is_foreseen(contenders_[incumbent_]);
    chosen_by_ = gaps_.size();
    chosen_for_ = rolls ? contenders_[incumbent_].newest : prediction(contenders_[incumbent_]);
    const auto first = std::ranges::min_element(chosen_for_) - chosen_for_.begin();
    told_choice told;
    if (with_.how.me.value == first) {
        const time_ns begin = with_.others.now();
        told = chosen(rolls);
        told.took = with_.others.now() - begin;
        told.measured = begin - came;
    }
    choice_ = {with_.others.tell(rank(static_cast<std::int32_t>(first)), bytes_of(told)),
               call_ + (waits_for_all(traits(first_.what)) || contenders_.size() == 1 ? 1 : lag),
               with_.account.pay_choice(), rolls};
}

told_choice comparison::chosen(bool rolls) const {
    problem p{.what = first_.what, .ranks = with_.how.ranks, .root = first_.root};
    if (traits(p.what).on_graph) p.neighbours = with_.how.neighbours;
    p.arrivals = chosen_for_;
    p.hosts = with_.how.shared;
    const time_ns last = std::ranges::max(p.arrivals);
    told_choice told;
    std::vector<candidate> ranked;
    try {
        const simulator::call_loop loop = loop_to_come();
        ranked = best_of_each(with_.how.choose(p, first_.bytes, rolls || loop.gaps.empty() ? nullptr : &loop));
    } catch (const error&) {
        // A problem that cannot be simulated gets no plan.
    } catch (const std::bad_alloc&) {
        // Nor does one that is too large.
    }
    for (const candidate& c : ranked) {
        const time_ns tail = std::max(c.end - last, time_ns{1});  // 0 means that there is none
        const auto least = [&](time_ns& t) { t = t == time_ns{} ? tail : std::min(t, tail); };
        if (!c.use->early) least(told.plain_tail);
        if (!c.use->early && !c.use->arrival_aware) least(told.blind_tail);
        if (rolls && !c.use->arrival_aware) continue;
        if (!rolls && c.use == contenders_[incumbent_].use)
            told.incumbent_tail = tail;
        else if (told.count < std::ssize(told.plans))
            told.plans[static_cast<std::size_t>(told.count++)] = {c.use - algorithms().data(), c.segment, c.round_time,
                                                                  tail};
    }
    return told;
}

simulator::call_loop comparison::loop_to_come() const {
    return {{gaps_.begin(), gaps_.end()}, is_foreseen(contenders_[incumbent_])};
}

void comparison::take_choice() {
    const told_choice told = messages_in<told_choice>(with_.others.take(choice_->ticket)).front();
    chosen_in_ = told.took;
    const time_ns waited = std::ranges::max(chosen_for_);
    with_.account.settle_choice(choice_->paid, std::max(told.measured + told.took - waited, time_ns{}), told.took);
    const bool rolls = choice_->rolls;
    choice_.reset();
    chosen_against_ = contenders_[native].measured->tail;
    plain_tail_ = told.plain_tail;
    blind_tail_ = told.blind_tail;
    std::vector<contender> anew;
    anew.push_back(std::move(contenders_[native]));
    if (incumbent_ != native) {
        anew.push_back(std::move(contenders_[incumbent_]));
        if (!rolls) anew.back().predicted = told.incumbent_tail;
        for (pending& p : pending_)
            if (p.by == incumbent_ && p.list == list_) p.by = 1, p.list = list_ + 1;
        incumbent_ = 1;
    }
    contenders_ = std::move(anew);
    ++list_;
    listed_ = contenders_.size();
    for (const told_choice::plan& p : std::span(told.plans).first(static_cast<std::size_t>(told.count))) {
        contenders_.push_back({.use = &algorithms()[static_cast<std::size_t>(p.algorithm)],
                               .segment = p.segment,
                               .round_time = p.round_time,
                               .rolls = rolls,
                               .predicted = p.tail + (rolls ? 2 * patience_of(p.tail) : time_ns{})});
    }
    choice_is_here_ = true;
    const bool sure = listed_ < contenders_.size() && leaves_no_doubt(contenders_[listed_]);
    if (phase_ == phase::choosing || (sure && may_try(contenders_[listed_]))) use_choice();
}

void comparison::use_choice() {
    choice_is_here_ = false;
    if (listed_ == contenders_.size() || !is_promising(contenders_[listed_])) {
        explain(decision::verdict::left, listed_ == contenders_.size() ? contenders_[incumbent_] : contenders_[listed_],
                "no plan promises to be better by the margin");
        contenders_.resize(listed_);
        return failures_ > 0 ? fail(1) : rest(usual_interval);
    }
    if (!may_try(contenders_[listed_])) return rest(usual_interval);
    try_next();
}

}  // namespace rubato::dropin
