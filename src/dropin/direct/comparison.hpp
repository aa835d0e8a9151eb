// The calls of one operation: who makes them, the native collective or a plan.
//
// There is an incumbent, at first the native collective, and now and then a challenger. Before a challenge some calls
// in a row measure the incumbent, then the challenger makes some calls, and the better one stays. A plan that a choice
// predicts to be better challenges; if it fails, the next one may, later. The native collective challenges a plan that
// has become slow and, from time to time, one with so small a gain that a challenge is cheap. If arrivals change, there
// is a new choice.
//
// The incumbent makes the calls, at first the native collective. A trial is four calls of the incumbent and, after
// three to warm up, four of the challenger. Better means: the tail is shorter by half of the margin, and the pace, from
// call to call, is not longer by more than 2 % and noise. The tail is what a collective can change and can be measured
// in few calls; the pace is what the program gains, that of the last rank. Where ranks may be ahead of each other, as
// in a rooted collective if nothing else brings them together, the tail of a call says little. There it is what the
// program lost in the block's calls: how much longer it took than if messages took no time. That leaves out who was
// late by chance in these calls; the pace of so few would not. Failures double the time until the next trial, also
// where a plan is adopted and withdrawn in turn; a prediction that was far off makes the next ones doubtful, by the
// root of its error. If the model leaves no doubt, between hosts, the plan makes the third or fourth call without a
// trial that must be affordable.
#pragma once

#include "dropin/direct/costs.hpp"
#include "dropin/direct/director.hpp"
#include "dropin/direct/rules.hpp"
#include "simulator/arrival/predictor.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <type_traits>

namespace rubato::dropin {

/// What the comparisons of a communicator have in common.
struct shared {
    director::settings how;
    board& others;
    guide::explainer explain;
    ledger account{how};
    int free_trials = 0;       ///< used so far
    int trials_elsewhere = 0;  ///< the same on other communicators, of the process with most
    time_ns own_exchange{};    ///< how long the last exchange kept this rank busy
    time_ns synchronised{};    ///< when clocks were synchronised last
    time_ns synchronise_after{};
};

/// The largest difference of a rank's arrival between two patterns.
time_ns farthest(std::span<const time_ns> a, std::span<const time_ns> b);

/// Of a keeper, at calls with that tail.
inline time_ns patience_of(time_ns tail) {
    return std::clamp(share_of(tail, patience_share), least_patience, most_patience);
}

// What ranks tell each other on a board. Fixed width and without padding: the bytes are what is sent.

/// Of a sampled call and of this rank's process.
struct told_sample {
    time_ns arrival{};
    time_ns exit{};
    time_ns next{};        ///< arrival at the call after it
    time_ns exchanging{};  ///< how long the last exchange kept the rank busy
    time_ns spent_elsewhere{};
    std::int64_t free_trials_elsewhere = 0;
    time_ns has_run{};
    std::int64_t largest_buffer = 0;  ///< where not all ranks know the sizes
    std::int64_t met = 0;             ///< 1: before `next` all have waited for all
};

/// What a choice found: plans, the best first.
struct told_choice {
    struct plan {
        std::int64_t algorithm = 0;  ///< number in algorithms()
        std::int64_t segment = 0;    ///< bytes
        time_ns round_time{};
        time_ns tail{};
    };
    time_ns took{};
    time_ns measured{};        ///< how long the network was measured for it
    time_ns incumbent_tail{};  ///< 0 if it cannot be simulated
    time_ns plain_tail{};      ///< of the best plan that does not begin early; 0 if there is none
    time_ns blind_tail{};      ///< likewise, of those that know nothing of arrivals
    std::int64_t count = 0;
    std::array<plan, free_trials> plans{};
};

template <class Message>
std::span<const std::byte> bytes_of(const Message& m) {
    static_assert(std::has_unique_object_representations_v<Message>);
    return std::as_bytes(std::span(&m, 1));
}

/// One from every rank, or the one that a rank told all.
template <class Message>
std::vector<Message> messages_in(std::span<const std::byte> bytes) {
    static_assert(std::is_trivially_copyable_v<Message>);
    std::vector<Message> all(bytes.size() / sizeof(Message));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Message));
    return all;
}

class comparison {
public:
    comparison(shared& with, const directed_call& first);
    /// What is known of a call like this one is the first guess.
    comparison(shared& with, const directed_call& first, const experience& known);
    /// The native collective has made a call before: that was the first one.
    comparison(shared& with, const directed_call& first, const seen_call& before);

    const directive& arrive(const directed_call& c, time_ns now);
    void leave(time_ns now) {
        exit_ = now;
        with_.account.count_call(now - arrival_);
    }
    void failed() { exit_ = no_exit; }
    void refused(std::string_view reason);
    /// How the last call was made.
    const directive& last() const { return how_; }
    /// Nothing while something is being found out.
    std::optional<experience> learned() const;

private:
    struct contender {
        const algorithm* use = nullptr;  // null: the native collective
        std::int64_t segment = 0;        // bytes
        time_ns round_time{};
        bool rolls = false;   // roll is called
        time_ns predicted{};  // tail
        std::optional<level> measured{};
        std::optional<simulator::pattern_predictor> pattern{};  // of its own calls: it influences when ranks arrive
        std::vector<time_ns> planned_by{};
        std::vector<time_ns> newest{};  // arrivals, after the first
        double missed = 0;              // share of the last predictions that were off by enough to matter
        std::uint64_t seen = 0;         // the newest call whose arrivals are known
        // Calls whose plan was made for other arrivals: from the one where ranks came otherwise to the first that knew.
        std::uint64_t changed = 0, replanned = 0;

        std::string_view name() const { return use == nullptr ? "native" : use->id; }
    };
    enum class phase : std::uint8_t { resting, measuring, choosing, trying };
    enum class next : std::uint8_t { choice, listed, native, roll_call };
    /// An exchange under way.
    struct pending {
        std::uint64_t ticket;
        std::uint64_t due;  // the call from which on it is used
        std::uint64_t call;
        std::size_t by;
        std::int64_t bytes;
        bool watched;  // not only followed
        int list;      // the list of contenders that `by` is about
    };

    static constexpr std::size_t native = 0;
    static constexpr time_ns no_exit = time_ns::min();  // of a call that failed

    std::size_t running() const { return phase_ == phase::trying ? challenger_ : incumbent_; }
    /// Whether choices are made for several calls together.
    bool plays_loops() const {
        const collective_traits& t = traits(first_.what);
        return with_.how.ranks <= most_in_loops && (t.rooted || waits_for_all(t));
    }
    /// Whether ranks may be ahead of each other, so that what a call loses is not its tail.
    bool loses() const { return plays_loops() && traits(first_.what).rooted; }
    /// Nothing has brought ranks together lately. Then waiting for what others tell would.
    bool is_uncoupled() const { return loses() && !gaps_.empty() && !gaps_.back().meets; }
    bool sizes_differ() const { return !traits(first_.what).sizes_known_to_all(); }
    /// Of the widest buffer.
    std::int32_t chunks() const {
        const collective_traits& t = traits(first_.what);
        if (!t.on_graph) return t.chunked() ? with_.how.ranks : 1;
        return with_.how.neighbours ? std::max(1, with_.how.neighbours->most_chunks()) : 1;
    }
    /// All chunks, if one has so many bytes.
    std::int64_t together(std::int64_t bytes) const { return bytes * chunks(); }
    bool is_small(std::int64_t bytes) const { return sizes_differ() && together(bytes) < smallest; }
    bool is_alike(std::int64_t bytes) const;
    bool follows() const;
    bool is_watched() const;
    void direct(const directed_call& c);

    void report(time_ns now, bool all_are_here, bool met);
    void learn(const pending& p);
    void observe(contender& by, const sample& s);
    void begin_again();
    void rest(std::uint64_t interval);
    void fail(int samples);
    void measure(next what);
    void first_call(const sample& s);
    void measured();
    void order_if_worthwhile();
    void order_choice(bool rolls = false);
    told_choice chosen(bool rolls) const;
    simulator::call_loop loop_to_come() const;
    void take_choice();
    void use_choice();
    void try_next();
    void begin_trial(std::size_t who);
    void check_trial(const sample& s);
    void end_trial();
    void settle(bool challenger_stays, std::string_view reason);
    void watch(const sample& s, bool foreseen);
    void forget();
    void meet_other_size();
    void synchronise();

    std::uint64_t longest_interval() const;
    bool beats(const level& a, const level& b) const;
    bool is_promising(const contender& c) const;
    bool is_worthwhile(time_ns tail) const;
    bool is_unforeseeable(const contender& c) const;
    bool is_foreseen(const contender& c) const;
    bool knows_enough() const;
    bool may_call_roll() const;
    void call_roll();
    double error_in_doubt(const contender& c) const;
    bool leaves_no_doubt(const contender& c) const;
    bool may_try(const contender& c) const;
    bool affords_choice() const;
    time_ns asking() const;
    bool may_choose_anew() const;
    bool has_changed() const;
    std::vector<time_ns> prediction(const contender& c) const;
    void explain(decision::verdict made, const contender& about, std::string_view reason) const;

    shared& with_;
    /// The call that others' sizes are compared with. Where not all know the sizes, its bytes are those of the first
    /// sample.
    directed_call first_;
    std::uint64_t call_ = 0;  // number of the current one; the first is 1
    directive how_{};
    std::int64_t bytes_ = 0;
    std::int64_t own_ = 0;
    bool sampled_ = false;
    bool watched_ = false;
    bool refused_ = false;
    time_ns arrival_{}, exit_{};
    std::uint64_t meetings_ = 0;  // before the current call
    std::deque<pending> pending_{};

    std::vector<contender> contenders_;  // the native one, perhaps the incumbent, and the plans of the last choice
    int list_ = 0;                       // how often there was a new one
    std::size_t incumbent_ = native;
    std::size_t challenger_ = native;
    std::size_t listed_ = 1;  // the next plan of the last choice
    phase phase_ = phase::measuring;
    next next_ = next::choice;
    std::uint64_t since_ = 0;  // the call that began the phase
    std::vector<sample> block_{};

    struct choice_under_way {
        std::uint64_t ticket;
        std::uint64_t due;
        time_ns paid;
        bool rolls;
    };
    std::optional<choice_under_way> choice_{};
    bool choice_is_here_ = false;         // and waits until the incumbent is measured
    std::vector<sample> native_block_{};  // calls of the incumbent that were still under way when a challenge began
    std::vector<time_ns> chosen_for_{};   // arrivals
    bool chosen_foreseen_ = false;
    std::size_t chosen_by_ = 0;               // so many calls
    std::deque<simulator::call_gap> gaps_{};  // after the last calls
    std::uint64_t ahead_ = 0;                 // by about so many calls, the first rank of the last one
    time_ns chosen_against_{};                // the native tail then
    time_ns plain_tail_{};                    // predicted, of the best plan that does not begin early
    time_ns blind_tail_{};                    // likewise, of those that know nothing of arrivals
    bool chosen_ = false;
    time_ns chosen_in_{};  // how long choosing took

    std::uint64_t next_sample_ = 0;
    std::uint64_t interval_ = 0;
    int wait_ = 0;      // samples before anything is tried again
    int failures_ = 0;  // challenges that failed
    double doubt_ = 1;  // factor by which plans are assumed to be slower than predicted
    int trials_ = 0;
    int rolls_ = 0;   // how often roll was called for a trial
    int rested_ = 0;  // samples since the last trial
    int slow_ = 0;    // samples in a row
    int changed_ = 0;
    int unlike_ = 0;                          // samples of another size
    int moves_ = 0;                           // how often sizes were found to have moved
    int audits_ = 0;                          // that the incumbent has won
    std::uint64_t was_slow_ = 0;              // calls
    bool remembered_ = false;                 // no call has shown yet that what was known before is right
    std::optional<time_ns> native_before_{};  // the native tail in an earlier run
};

}  // namespace rubato::dropin
