// Mode auto for non-blocking calls: which of them a plan of Rubato makes, with the background thread, and which the MPI
// library. How long such a call takes matters little if the program computes meanwhile. So what is compared is the
// program's pace: the time from one call of an operation to the next.
//
// One per rank and communicator. All must decide the same, so decisions depend only on the calls, in their order, and on
// numbers that all ranks have gathered. A started call waits for nobody: a decision that is not known yet comes later.
#pragma once

#include "direct/director.hpp"

#include <map>

namespace rubato {

class RUBATO_API pacer {
public:
    struct settings {
        std::int32_t ranks = 1;
        double spend = 0.01;        ///< share of the run time that finding out may take
        effort* process = nullptr;  ///< of this rank's; null: nothing else is directed
    };
    /// A call as this rank sees it.
    struct started_call {
        directed_call what{};
        std::string_view algorithm{};  ///< of the plan that would make it; equal on all ranks
        time_ns now{};                 ///< when the program started it, on the clock of `effort`
        time_ns waited{};              ///< how long the program has waited for started calls so far
    };

    pacer(settings how, board& others, guide::explainer explain)
        : how_(how), others_(others), explain_(std::move(explain)) {}

    /// Whether a plan makes the call. Asked for every call in the order of the starts, and again for the same one while
    /// nothing is known yet.
    std::optional<bool> plans(const started_call& c);

private:
    /// Of calls in a row. In a trial they are made by the other of the two.
    enum class phase : std::uint8_t { rest, look, after_look, trial, after_trial };
    struct record {
        phase now = phase::rest;
        bool plan = false;       // makes the calls
        std::uint64_t calls = 0;
        std::uint64_t left = 1;  // calls of this phase; the first call is always slow
        std::uint64_t patience = 0;  // calls of the last rest
        bool tried = false;
        time_ns begun{};         // this phase, on this rank
        time_ns waited{};        // before it
        std::uint64_t asked = 0;
        time_ns pace{};          // of the last look
        time_ns gap{};           // between the two, when last compared
    };

    void enter(record& r, phase next, std::uint64_t calls, const started_call& c) const;
    void ask(record& r, const started_call& c) const;
    bool go_on(record& r, const started_call& c);
    void judge_look(record& r, const started_call& c);
    void judge_trial(record& r, const started_call& c);
    void explain(const record& r, const started_call& c, decision::verdict made, std::string_view reason,
                 std::optional<time_ns> pace = {}) const;

    settings how_;
    board& others_;
    guide::explainer explain_;
    std::map<operation, record> records_{};
    time_ns spent_{};  // all ranks say so
};

}  // namespace rubato
