#include "command/experiments/campaign.hpp"

#include "base/statistics/statistics.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/arrival.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace rubato::command {
namespace {

/// A case and its contestants.
struct planned_case {
    const contest* who;
    reports::measured_case what;
};

/// All cases without those that are done.
std::vector<planned_case> cases_of(const campaign_settings& how, const std::vector<reports::measured_case>& done) {
    std::vector<planned_case> all;
    for (const contest& c : how.contests)
        for (const std::int64_t bytes : how.bytes)
            for (const std::string& pattern : how.patterns) {
                const collective_traits& t = traits(c.what);
                all.push_back({&c,
                               {static_cast<std::int32_t>(all.size()), std::string(t.name), bytes, pattern,
                                how.datatype, t.reduces ? how.op : "", t.rooted ? how.root : 0,
                                t.on_graph ? how.graph_text : "", how.asked(c)}});
            }
    // Only rank 0 knows which cases are done: other ranks may not see its files.
    std::vector<int> skip;
    skip.reserve(all.size());
    for (const planned_case& p : all)
        skip.push_back(std::ranges::any_of(done, [&p](const auto& d) { return reports::same(d, p.what); }));
    engine::check(MPI_Bcast(skip.data(), static_cast<int>(skip.size()), MPI_INT, 0, world), "MPI_Bcast");
    std::vector<planned_case> left;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (skip[i] != 0) continue;
        left.push_back(all[i]);
        left.back().what.number = static_cast<std::int32_t>(left.size()) - 1;
    }
    return left;
}

}  // namespace

std::string campaign_settings::asked(const contest& c) const {
    return fmt::format("{} in segments of {}", c.text, fmt::join(segments_text, ","));
}

void check(const campaign_settings& how, int me, int ranks) {
    for (const contest& c : how.contests) {
        const experiment data(how.data_of(c, 0), me, ranks);
        for (const std::int64_t bytes : how.bytes) {
            contest_settings some = how.contest_of(ranks, bytes);
            some.network = {hockney{1, 1, 0}};
            contestants_of(c, some);
        }
    }
    for (const std::string& p : how.patterns) parse_arrivals(p, ranks);
}

common_error not_punctual() {
    return {"ranks do not arrive when they should", "the machine is too busy, or the delays are too short",
            "wait until it is quiet, allow more by --tolerance, or use --start barrier"};
}

common_error wrong_result(const contestant& c, const std::string& wrong) {
    return {fmt::format("{} gives a wrong result", c.known.name), wrong,
            "this is an error in it; please report it with the command"};
}

case_runner::case_runner(campaign_settings how, timed_calls& calls, reports::recorder* write,
                         std::vector<reports::measured_case> done)
    : how_(std::move(how)), calls_(calls), write_(write), done_(std::move(done)), random_(how_.seed) {}

void case_runner::run(const std::function<void(const std::string&)>& say) {
    const std::vector<planned_case> all = cases_of(how_, done_);
    for (const planned_case& e : all) {
        say(fmt::format("case {} of {}: {} {}, {}", e.what.number + 1, all.size(), e.what.collective,
                        format_bytes(e.what.bytes), e.what.pattern));
        run_case(*e.who, e.what);
        if (write_ != nullptr) write_->add_done(e.what.number);
    }
}

void case_runner::begin_case(const reports::measured_case& what, std::vector<contestant>& who) {
    const time_ns error = calls_.clock_error();
    for (contestant& k : who) k.known.in_case = what.number;
    if (write_ == nullptr) return;
    write_->add_clock(error);
    write_->add(what);
    for (const contestant& k : who) write_->add(k.known);
}

bool case_runner::time_is_up(time_ns since) const {
    if (how_.seconds <= 0) return false;
    int up = std::chrono::duration<double>(own_time() - since).count() > how_.seconds ? 1 : 0;
    engine::check(MPI_Bcast(&up, 1, MPI_INT, 0, world), "MPI_Bcast");
    return up != 0;
}

void campaign::run_case(const contest& c, const reports::measured_case& what) {
    calls_.synchronise();
    calls_.forget();
    seen_.clear();
    experiment data(how_.data_of(c, what.bytes), me_, ranks_);
    std::vector<contestant> who = contestants_of(c, how_.contest_of(ranks_, what.bytes));
    begin_case(what, who);
    series warm{what, who, data, reports::stage::warmup};
    const bool cold = !warm_ || warm_->collective != what.collective || warm_->bytes != what.bytes;
    for (std::int32_t i = 0; i < how_.warmups && cold; ++i) repeat(warm, i);
    warm_ = what;

    series screen{what, who, data, reports::stage::screen};
    for (std::int32_t i = 0; i < how_.screenings; ++i) {
        repeat(screen, i);
        drop_hopeless(screen.who);
    }
    series measure{what, how_.screenings > 0 ? best(screen.who) : who, data, reports::stage::measure};
    const time_ns begin = own_time();
    for (std::int32_t i = 0; i < how_.repetitions && (i == 0 || !time_is_up(begin)); ++i) repeat(measure, i);
    if (how_.timelines) draw(measure);
}

/// Calls all contestants once, under the same arrivals. A contestant that keeps ranks from arriving in time, because it
/// leaves them work or uses their processors, is left out from then on; the others continue.
void campaign::repeat(series& s, std::int32_t number) {
    shuffle(s.who, random_);
    std::vector<contestant> left;
    for (const contestant& c : s.who)
        if (call(s, c, number)) left.push_back(c);
    s.who = std::move(left);
    if (s.who.empty()) throw not_punctual();
}

/// Each repetition has its own arrivals: those of the screening are not used again, and another seed draws others.
std::vector<time_ns> campaign::arrivals_of(const series& s, std::int32_t number) const {
    const std::int64_t before = s.stage == reports::stage::measure ? 0 : how_.repetitions;
    const std::int64_t draws = std::int64_t{how_.repetitions} + std::max(how_.screenings, how_.warmups);
    const auto seed = static_cast<std::int64_t>(how_.seed % (1 << 30));
    return parse_arrivals(s.what.pattern, ranks_, seed * draws + before + number);
}

/// Whether all ranks arrived in time, after some attempts.
bool campaign::call(const series& s, const contestant& c, std::int32_t number) {
    const std::vector<time_ns> arrivals = arrivals_of(s, number);
    for (int spoilt = 0; spoilt < most_spoilt; ++spoilt) {
        timed_calls::outcome o = calls_.run(c, s.data, arrivals);
        if (!o.wrong.empty()) throw wrong_result(c, o.wrong);
        reports::sample& seen = o.seen;
        seen.in_case = s.what.number;
        seen.repetition = number;
        seen.stage = s.stage;
        if (how_.speed)
            seen.bound =
                simulator::earliest_end(s.data.what(), seen.arrivals, rank(s.what.root), s.data.bytes(), *how_.speed);
        if (write_ != nullptr) write_->add(seen);
        if (seen.late) continue;
        if (s.stage == reports::stage::screen)
            seen_[seen.name].push_back(static_cast<double>(run_time(seen.arrivals, seen.exits).count()));
        return true;
    }
    return false;
}

/// Records the times of steps, in an extra call that is not measured, because recording takes time.
void campaign::draw(const series& s) {
    for (const contestant& c : s.who) {
        if (c.use == nullptr) continue;
        const timed_calls::outcome o = calls_.run(c, s.data, arrivals_of(s, 0), true);
        if (!o.wrong.empty()) throw wrong_result(c, o.wrong);
        if (write_ != nullptr)
            write_->add(reports::timeline{s.what.number, c.known.name, o.seen.arrivals, o.seen.exits, o.steps});
    }
}

/// A contestant that takes more than twice as long as the fastest of its side is not screened again; the library's own
/// choice always is.
void campaign::drop_hopeless(std::vector<contestant>& who) const {
    std::array<double, 2> quickest{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    const auto side = [](const contestant& c) { return c.is_ours() ? 0U : 1U; };
    for (const contestant& c : who)
        quickest[side(c)] = std::min(quickest[side(c)], base::median(seen_.at(c.known.name)));
    std::erase_if(who, [&](const contestant& c) {
        return !c.is_native_default() && base::median(seen_.at(c.known.name)) > 2 * quickest[side(c)];
    });
}

/// Of the screened contestants: the fastest of Rubato, the fastest native ones, and the library's own choice.
std::vector<contestant> campaign::best(const std::vector<contestant>& all) const {
    std::vector<contestant> order = all;
    std::ranges::stable_sort(order, {}, [this](const contestant& c) { return base::median(seen_.at(c.known.name)); });
    std::int32_t ours = 0;
    std::int32_t native = 0;
    std::erase_if(order, [&](const contestant& c) {
        if (c.is_native_default()) return false;
        return ++(c.is_ours() ? ours : native) > how_.keep;
    });
    return order;
}

}  // namespace rubato::command
