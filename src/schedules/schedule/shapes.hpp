// The schedules of many ranks in little memory.
//
// In most algorithms ranks do the same at different places: seen from each, the peers are as far away and the messages
// as long. Such ranks share a *shape*, so that a million of them need no more than their own state. Schedules are made,
// added and dropped rank by rank.
//
// What simulators read: peers as distances, lengths as bytes. Ranks that do the same from where they stand share a
// shape, so a schedule is made, compared and dropped, and a rank keeps 12 bytes of state per step. A dissemination
// among 2^20 ranks has one shape, a binomial tree 21, plans by arrival as many as ranks.
#pragma once

#include "rubato/layout.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace rubato::schedules {

// One rank's steps with their sizes: what an interpreter needs that moves no data. A schedule and its layout make one,
// and so does a program that names no buffers.

struct sized_step {
    step_kind kind = step_kind::copy;
    bool needs_arrival = true;
    std::int32_t peer = -1;     ///< of send and recv
    std::uint32_t message = 0;  ///< as step::message
    std::int64_t bytes = 0;
    std::int64_t work = 0;  ///< ns that a combine computes, beside what its bytes cost

    bool operator==(const sized_step&) const = default;
    bool is_message() const { return kind == step_kind::send || kind == step_kind::recv; }
};

/// A step that waits until another one has begun: a send, when its rank's processor has begun it; a receive, when it
/// waits for nothing but its message.
struct after_begin {
    std::uint32_t step;
    std::uint32_t begun;

    bool operator==(const after_begin&) const = default;
};

struct sized_schedule {
    std::int64_t scratch = 0;  ///< bytes
    std::vector<sized_step> steps{};
    std::vector<std::uint32_t> first_dependency{0};  ///< steps.size() + 1 offsets into `dependencies`
    std::vector<std::uint32_t> dependencies{};
    std::vector<after_begin> after{};

    bool operator==(const sized_schedule&) const = default;

    std::span<const std::uint32_t> dependencies_of(std::size_t s) const {
        return std::span(dependencies).subspan(first_dependency[s], first_dependency[s + 1] - first_dependency[s]);
    }
    /// The next step, which waits for the end of these.
    void add(const sized_step& s, std::span<const std::uint32_t> waits_for) {
        steps.push_back(s);
        dependencies.insert(dependencies.end(), waits_for.begin(), waits_for.end());
        first_dependency.push_back(static_cast<std::uint32_t>(dependencies.size()));
    }
};

/// The layout's units are bytes.
inline sized_step size_step(const schedule& s, const step& t, const layout& sizes) {
    return {t.kind, t.needs_arrival(), t.peer, t.is_message() ? t.message : 0, sizes.length(s, t)};
}
/// Overwrites what `made` was.
inline void size_schedule(const schedule& s, const layout& sizes, sized_schedule& made) {
    made.scratch = sizes.scratch_units(s);
    made.steps.clear();
    for (const step& t : s.steps) made.steps.push_back(size_step(s, t, sizes));
    made.first_dependency = s.first_dependency;
    made.dependencies = s.dependencies;
    made.after.clear();
}

struct shape_step {
    std::int64_t bytes = 0;
    std::int64_t work = 0;       ///< ns, as sized_step has it
    std::uint32_t distance = 0;  ///< the peer of rank r is (r + distance) % ranks; `none`: there is no such rank
    std::uint32_t message = 0;
    std::uint32_t waits_for = 0;  ///< steps
    std::uint32_t followers = 0;  ///< the first in shape::followers; they end where the next's begin
    step_kind kind = step_kind::copy;
    bool needs_arrival = false;
    bool is_awaited = false;             ///< some steps wait for its beginning
    std::uint32_t partner = UINT32_MAX;  ///< the other side of a message to a rank of the same shape, or `none`
    // By shape_table::serve_in_order:
    std::array<std::uint32_t, 2> next{UINT32_MAX, UINT32_MAX};  ///< the next step at the same port, or `none`
    std::uint32_t ports_before = 0;                             ///< at how many ports there is a step before it
    // What a model makes of it; of messages, between hosts and within one:
    std::array<bool, 2> synchronous{};   ///< not sent before its receiver waits for nothing else
    std::array<std::int64_t, 2> span{};  ///< ns
};

struct RUBATO_API shape {
    static constexpr std::uint32_t none = UINT32_MAX;

    struct end {  ///< of a message
        std::uint32_t distance;
        std::uint32_t message;
        std::uint32_t step;
    };

    std::int64_t scratch = 0;                ///< bytes
    std::vector<shape_step> steps{};         ///< and one more at the end
    std::vector<std::uint32_t> followers{};  ///< the steps that wait for a step
    std::vector<end> sends{};                ///< in the order of distance, then of message
    std::vector<end> recvs{};
    std::vector<after_begin> after{};  ///< in the order of what has begun, then of what waits for it

    std::uint32_t size() const { return static_cast<std::uint32_t>(steps.size()) - 1; }
    std::span<const std::uint32_t> followers_of(std::uint32_t s) const {
        return std::span(followers).subspan(steps[s].followers, steps[s + 1].followers - steps[s].followers);
    }
    /// Calls f with each step that waits for the beginning of this one.
    template <class F>
    void each_after(std::uint32_t s, F f) const {
        for (auto a = std::ranges::lower_bound(after, s, {}, &after_begin::begun); a != after.end() && a->begun == s;
             ++a)
            f(a->step);
    }
    /// The other side of a message, which a rank of this shape has; or `none`.
    std::uint32_t partner_of(const shape_step& s, std::uint32_t ranks) const {
        const std::uint32_t back = s.distance == 0 ? 0 : ranks - s.distance;
        return find(s.kind == step_kind::send ? recvs : sends, back, s.message);
    }
    /// The step that sends this message, or receives it; or `none`.
    static std::uint32_t find(const std::vector<end>& ends, std::uint32_t distance, std::uint32_t message);
};

/// A step of a rank.
struct rank_step {
    std::uint32_t rank;
    std::uint32_t step;
};

/// The schedules of all ranks.
class RUBATO_API shape_table {
public:
    explicit shape_table(std::int32_t ranks) : ranks_(static_cast<std::uint32_t>(ranks)) {}

    /// Of the next rank.
    void add(const sized_schedule& s);
    /// The layout's units are bytes.
    void add(const schedule& s, const layout& sizes);

    /// Which ports a kind of step takes, as bits. Of all steps of a rank that take a port, each waits for the one
    /// before.
    void serve_in_order(const std::array<std::uint8_t, step_names.size()>& ports);

    std::uint32_t ranks() const { return ranks_; }
    std::deque<shape>& all() { return shapes_; }
    const shape& of(std::uint32_t rank) const { return *of_rank_[rank]; }
    /// Where the rank's steps begin, if all ranks' steps are numbered; and of the rank behind the last, the end.
    const std::vector<std::uint64_t>& first() const { return first_; }

    const shape_step& of(const rank_step& s) const { return of(s.rank).steps[s.step]; }
    /// If all ranks' steps are numbered.
    std::uint64_t number_of(const rank_step& s) const { return first_[s.rank] + s.step; }
    /// Calls f(rank_step, shape_step) for each step of each rank.
    template <class F>
    void each(F f) const {
        for (std::uint32_t r = 0; r < ranks_; ++r)
            for (std::uint32_t s = 0; s < of(r).size(); ++s) f(rank_step{r, s}, of(r).steps[s]);
    }

    /// Throws: the rank never runs that step.
    [[noreturn]] void deadlock(std::uint32_t rank, std::uint32_t step) const;
    /// The peer of a rank's step, which must have one.
    std::uint32_t peer_of(std::uint32_t rank, const shape_step& s) const {
        const std::uint64_t peer = std::uint64_t{rank} + s.distance;
        return static_cast<std::uint32_t>(peer < ranks_ ? peer : peer - ranks_);
    }
    /// The other side of a message, among the steps of the peer, or shape::none. `mine` is the shape of this side.
    std::uint32_t partner(const shape& mine, const shape_step& s, std::uint32_t peer) const {
        return of_rank_[peer] == &mine ? s.partner : partner(s, peer);
    }
    std::uint32_t partner(const shape_step& s, std::uint32_t peer) const {
        const shape& other = *of_rank_[peer];
        return other.partner_of(s, ranks_);
    }

private:
    // All that tells shapes apart, and so short that most ranks' can be compared with the one before.
    using shape_key = std::vector<std::uint64_t>;
    using key_view = std::span<const std::uint64_t>;
    struct hashed {
        using is_transparent = void;
        std::size_t operator()(key_view k) const;
    };
    struct same {
        using is_transparent = void;
        bool operator()(key_view a, key_view b) const { return std::ranges::equal(a, b); }
    };

    std::uint32_t distance_of(std::int32_t peer) const;
    template <class Schedule, class Sized>
    key_view key_of(const Schedule& s, std::int64_t scratch, std::span<const after_begin> after, Sized sized);
    template <class Sized>
    void add_of(key_view k, Sized sized);
    shape* make(const sized_schedule& s);

    std::uint32_t ranks_;
    std::deque<shape> shapes_{};
    std::unordered_map<shape_key, shape*, hashed, same> known_{};
    shape_key key_{};         // of the schedule being added, and room
    key_view last_key_{};     // of the one before
    sized_schedule sized_{};  // one that was sized
    std::vector<shape*> of_rank_{};
    std::vector<std::uint64_t> first_{0};
};

/// `layouts`: one for all ranks, or one per rank; their units are bytes.
RUBATO_API shape_table shapes_of(std::span<const schedule> all, std::span<const layout> layouts);

}  // namespace rubato::schedules
