#include "reports/report/diagnosis.hpp"

#include <bit>
#include <cmath>
#include <map>
#include <tuple>

namespace rubato::reports {
namespace {

/// Without a duration, of the time in the row's calls.
constexpr double worth_mending_of_calls = 0.1;
/// What a place must save at least, as a share of `worth_mending`, if it is not alone.
constexpr double worth_mending_with_others = 0.1;
/// A simulation that is wrong by more says nothing of other algorithms.
constexpr double most_wrong = 0.5;

time_ns times(time_ns t, double factor) { return time_ns(std::llround(static_cast<double>(t.count()) * factor)); }

time_ns per_rank(const observed& o, time_ns of_all) { return of_all / std::max(1, o.from.ranks); }

/// The time in its calls, until the last rank had come and after that.
struct time_in_calls {
    time_ns waiting{};
    time_ns moving{};
};
time_in_calls time_in(const observed& o, const dropin::row& r) {
    if (r.how != dropin::form::blocking) return {per_rank(o, r.waited), {}};
    const time_ns whole = per_rank(o, r.time);
    if (!r.seen) return {};
    const time_ns waiting = times(whole, r.seen->waiting);
    return {waiting, whole - waiting};
}

class diagnosis_maker {
public:
    explicit diagnosis_maker(const observed& o) : o_(o) {}

    diagnosis make() {
        for (std::size_t i = 0; i < o_.from.rows.size(); ++i) take_row(i);
        leave_what_does_not_count();
        std::ranges::stable_sort(made_.findings, [](const finding& a, const finding& b) {
            return std::pair(b.why == cause::none, a.waiting) > std::pair(a.why == cause::none, b.waiting);
        });
        add_up_places();
        add_worths();
        return std::move(made_);
    }

private:
    void take_row(std::size_t i) {
        const dropin::row& r = o_.from.rows[i];
        const time_in_calls in = time_in(o_, r);
        made_.waiting += in.waiting;
        made_.moving += in.moving;
        if (!r.seen || r.how != dropin::form::blocking) return;
        add_late(i, in.waiting);
        add_slow(i, in.moving);
    }

    /// Whether such a gain is worth a word.
    bool counts(const dropin::row& r, time_ns gain) const {
        return gain >= (o_.from.duration > time_ns{} ? times(o_.from.duration, worth_mending)
                                                     : times(per_rank(o_, r.time), worth_mending_of_calls));
    }

    void add(std::size_t row, cause why, std::vector<std::int32_t> ranks, time_ns waiting, time_ns gain) {
        finding f{row, why, std::move(ranks), waiting};
        if (o_.from.duration > time_ns{}) {
            gain = std::min(gain, o_.from.duration);
            f.share_of_run = static_cast<double>(waiting.count()) / static_cast<double>(o_.from.duration.count());
        }
        f.gain = gain;
        made_.findings.push_back(std::move(f));
    }

    void add_late(std::size_t i, time_ns waiting) {
        const dropin::row& r = o_.from.rows[i];
        const examined& e = o_.examined_rows[i];
        const time_ns gain = times(e.mended, static_cast<double>(r.calls));
        const std::vector<std::int32_t>& members = o_.from.communicators[r.communicator].members;
        std::vector<std::int32_t> ranks;
        for (const std::int32_t who : e.late.ranks) ranks.push_back(members[static_cast<std::size_t>(who)]);
        cause why = cause::chance;
        switch (e.late.how) {
            case latecomers::kind::ranks: why = cause::rank; break;
            case latecomers::kind::host: why = cause::host; break;
            case latecomers::kind::turns: why = cause::rotating; break;
            case latecomers::kind::chance: break;
        }
        add(i, why, std::move(ranks), waiting, gain);
    }

    /// Causes of lateness: who is mended at one place is mended at all.
    using blamed = std::pair<cause, std::vector<std::int32_t>>;
    static blamed whom(const finding& f) { return {f.why, f.ranks}; }
    std::map<blamed, std::pair<std::size_t, time_ns>> places_and_gains() const {
        std::map<blamed, std::pair<std::size_t, time_ns>> sums;
        for (const finding& f : made_.findings) {
            if (!traits_of(f.why).lateness) continue;
            ++sums[whom(f)].first;
            sums[whom(f)].second += f.gain;
        }
        return sums;
    }
    /// Places whose lateness costs little, alone and with the others of the same cause.
    void leave_what_does_not_count() {
        const auto sums = places_and_gains();
        const time_ns least = times(o_.from.duration, worth_mending * worth_mending_with_others);
        for (finding& f : made_.findings) {
            if (!traits_of(f.why).lateness) continue;
            const dropin::row& r = o_.from.rows[f.row];
            const bool with_others = least > time_ns{} && f.gain >= least && counts(r, sums.at(whom(f)).second);
            if (counts(r, f.gain) || with_others) continue;
            f.why = cause::none;
            f.ranks.clear();
        }
    }
    void add_up_places() {
        auto sums = places_and_gains();
        for (finding& f : made_.findings) {
            if (!traits_of(f.why).lateness) continue;
            const auto found = sums.find(whom(f));
            if (found == sums.end()) continue;
            std::tie(f.places, f.gain_at_all) = found->second;
            if (o_.from.duration > time_ns{}) f.gain_at_all = std::min(f.gain_at_all, o_.from.duration);
            sums.erase(found);
        }
    }

    void add_slow(std::size_t i, time_ns moving) {
        const dropin::row& r = o_.from.rows[i];
        const examined& e = o_.examined_rows[i];
        const what_if* const best = e.best_plan();
        if (best == nullptr || !counts(r, moving)) return;
        const time_ns by_other = times(e.tail - best->tail, static_cast<double>(r.calls));
        if (e.tail > times(best->tail, slow_call)) {
            if (counts(r, by_other)) add(i, cause::collective, {}, moving, by_other);
            return;
        }
        add(i, cause::network, {}, moving, moving);
    }

    /// Rows of one place on different communicators are called at the same time: the slowest counts.
    template <class Saving>
    time_ns sum(const Saving& of_row) const {
        std::map<std::tuple<std::string, collective, int>, std::map<std::size_t, time_ns>> places;
        for (std::size_t i = 0; i < o_.from.rows.size(); ++i) {
            const dropin::row& r = o_.from.rows[i];
            if (!r.seen || r.how != dropin::form::blocking) continue;
            const int size = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(r.bytes)));
            places[{o_.places[r.site].text(), r.what, size}][r.communicator] +=
                times(std::max(time_ns{}, of_row(i)), static_cast<double>(r.calls));
        }
        time_ns all{};
        for (const auto& [place, by_communicator] : places) {
            time_ns slowest{};
            for (const auto& [communicator, gain] : by_communicator) slowest = std::max(slowest, gain);
            all += slowest;
        }
        return o_.from.duration > time_ns{} ? std::min(all, o_.from.duration) : all;
    }

    /// The gain of each row by an algorithm, where the simulation can tell.
    template <class Best>
    worth by_algorithm(std::string_view change, const Best& best_of) const {
        worth w{change};
        if (!o_.network) {
            w.unknown = "it needs a model of the network: --model";
            return w;
        }
        bool too_wrong = false;
        double weights = 0;
        double errors = 0;
        w.gain = sum([&](std::size_t i) {
            const examined& e = o_.examined_rows[i];
            const what_if* const best = best_of(e);
            if (best == nullptr) return time_ns{};
            if (std::abs(e.error) > most_wrong) {
                too_wrong = true;
                return time_ns{};
            }
            const double weight = static_cast<double>(e.tail.count()) * static_cast<double>(o_.from.rows[i].calls);
            weights += weight;
            errors += weight * std::abs(e.error);
            return e.run_time - best->run_time;
        });
        if (weights > 0) w.error = errors / weights;
        if (weights == 0 && too_wrong) {
            w.gain.reset();
            w.unknown = "simulated calls differ by more than 50 % from what ran";
        }
        return w;
    }

    void add_worths() {
        if (o_.examined_rows.empty()) return;
        const auto& rows = o_.examined_rows;
        made_.worths.push_back({"without stragglers", sum([&](std::size_t i) { return rows[i].without_stragglers; })});
        made_.worths.push_back({"with balanced work", sum([&](std::size_t i) { return rows[i].balanced; })});
        made_.worths.push_back(by_algorithm("with the best plan by Rubato",
                                            [](const examined& e) { return e.replaceable ? e.best_plan() : nullptr; }));
        made_.worths.push_back(
            by_algorithm("with the library tuned", [](const examined& e) { return e.best_classic(); }));
    }

    const observed& o_;
    diagnosis made_{};
};

}  // namespace

diagnosis diagnose(const observed& o) { return diagnosis_maker(o).make(); }

}  // namespace rubato::reports
