// Clairvoyant, the latest first.
//
// A late process has the least time left to send all its segments. The rule visits the earliest first: they have sent
// all their segments early, and at the end the latest have no partners left to work with in parallel. Here the root,
// which never sends, is followed by the others from the latest to the earliest, both as receivers and as senders. Each
// takes the lowest segment it still holds, as in the rule; the root takes one that only one process still holds, if
// there is one. Every process still acts as soon as it can: nothing is delayed to the end.
//
// Cost: equal arrivals take ceil(log2 P) + N - 1 rounds, the optimum (tried for all P up to 1100). With other arrivals
// it met the lower bound, which allows ranks up to a round earlier than is done here, in 3 of 4 random cases, and in
// nearly all others it took 1 round more. It takes O(1) steps per transfer on words of 64 processes in practice;
// a plan that takes much more is dropped for the rule's.
#include "schedules/clairvoyant/clairvoyant.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace rubato::schedules {
namespace {

constexpr std::size_t most_work_per_transfer = 8;

/// Processes other than the root are known by their position from the latest to the earliest, and the root is behind
/// them: it is first as a receiver, and never a sender.
class latest_first {
public:
    /// At most `work` words of bits are read, so that the time stays in proportion to the rule's.
    latest_first(const instance& in, std::span<const std::int64_t> joins, std::size_t work)
        : most_work_(work),
          others_(joins.size() - 1),
          segments_(in.segments),
          segment_words_((segments_ + 63) / 64),
          process_words_(others_ / 64 + 1),
          rank_(joins.size()),
          joins_(joins.size()) {
        std::iota(rank_.begin(), rank_.end(), 0);
        std::swap(rank_[static_cast<std::size_t>(in.root.value)], rank_.back());
        const auto join_of = [&](std::int32_t r) { return joins[static_cast<std::size_t>(r)]; };
        std::ranges::sort(rank_.begin(), rank_.end() - 1, [&](std::int32_t a, std::int32_t b) {
            return std::pair(-join_of(a), a) < std::pair(-join_of(b), b);
        });
        std::ranges::transform(rank_, joins_.begin(), join_of);
    }

    /// False, and the result is of no use, if it takes `limit` rounds or more, or too much work.
    bool run(std::int64_t limit, rounds& result) {
        reset(result);
        const std::size_t all = others_ * segments_;
        std::int64_t round = 0;
        while (result.transfers.size() < all) {
            admit(round);
            if (!members_.empty() && round + left_[members_.front()] >= limit) return false;
            if (work_ > most_work_) return false;
            const std::size_t begin = result.transfers.size();
            free_ = present_;
            first_free_ = 0;
            free_count_ = members_.size();
            if (joins_[others_] <= round && !find_sender(others_, ~word{0}, false, result))
                find_sender(others_, 0, false, result);
            for (const std::uint32_t p : members_) receive(p, result);
            end_round(std::span(result.transfers).subspan(begin));
            if (result.transfers.size() > begin)
                result.busy.push_back({round++, result.transfers.size()});
            else
                round = next_join(round);
        }
        result.length = round;
        return round < limit;
    }

private:
    using word = std::uint64_t;
    static constexpr word bit(std::size_t i) { return word{1} << i % 64; }
    static void set_all(std::span<word> bits, std::size_t count) {
        std::ranges::fill(bits, ~word{0});
        if (count < 64 * bits.size()) bits.back() = bit(count) - 1;
    }

    void reset(rounds& result) {
        result.busy.clear();
        result.transfers.clear();
        result.transfers.reserve(others_ * segments_);
        held_.resize((others_ + 1) * segment_words_);
        for (std::size_t p = 0; p <= others_; ++p)
            set_all(std::span(held_).subspan(p * segment_words_, segment_words_), segments_);
        holders_.resize(segments_ * process_words_);
        for (std::size_t s = 0; s < segments_; ++s)
            set_all(std::span(holders_).subspan(s * process_words_, process_words_), others_);
        lowest_.assign(others_ + 1, 0);
        left_.assign(others_, static_cast<std::uint32_t>(segments_));
        holder_count_.assign(segments_, 0);
        shared_.assign(segment_words_, 0);
        exhausted_.assign(segment_words_, 0);
        present_.assign(process_words_, 0);
        members_.clear();
        not_joined_ = others_;
    }

    /// New processes are later than all present ones, and so come first.
    void admit(std::int64_t round) {
        const std::size_t before = not_joined_;
        while (not_joined_ > 0 && joins_[not_joined_ - 1] <= round) --not_joined_;
        const std::size_t newcomers = before - not_joined_;
        if (newcomers == 0) return;
        for (std::size_t p = not_joined_; p < before; ++p) present_[p / 64] |= bit(p);
        members_.insert(members_.begin(), newcomers, 0);
        std::iota(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(newcomers),
                  static_cast<std::uint32_t>(not_joined_));
        for (std::size_t s = 0; s < segments_; ++s) {
            holder_count_[s] += static_cast<std::uint32_t>(newcomers);
            shared_[s / 64] |= word{holder_count_[s] > 1} << s % 64;
        }
        set_all(std::span(held_).last(segment_words_), segments_);
        lowest_[others_] = 0;
    }

    /// Without a new process, later rounds cannot send anything that this one cannot.
    std::int64_t next_join(std::int64_t round) const {
        const std::int64_t root = joins_[others_];
        if (not_joined_ == 0) return root;
        const std::int64_t other = joins_[not_joined_ - 1];
        return root <= round ? other : std::min(root, other);
    }

    void receive(std::size_t to, rounds& result) {
        const word own = free_[to / 64] & bit(to);  // it does not receive from itself
        free_[to / 64] ^= own;
        free_count_ -= own != 0;
        if (free_count_ > 0) find_sender(to, 0, own != 0, result);
        free_[to / 64] ^= own;
        free_count_ += own != 0;
        first_free_ = own != 0 ? std::min(first_free_, to / 64) : first_free_;
    }

    /// Takes the lowest segment that the receiver and a free process hold, from the first such process. Looks only at
    /// segments that more than one process holds or, with `unshared` all ones, only at the others. If the receiver
    /// itself can still send a segment, the segment is not exhausted, even if no other process can.
    bool find_sender(std::size_t to, word unshared, bool can_send, rounds& result) {
        const word* const held = &held_[to * segment_words_];
        std::uint32_t& lowest = lowest_[to];
        while (lowest + 1 < segment_words_ && held[lowest] == 0) ++lowest;
        for (std::size_t w = lowest; w < segment_words_; ++w) {
            ++work_;
            word candidates = held[w] & (shared_[w] ^ unshared) & ~exhausted_[w];
            for (std::size_t failed = 0; candidates != 0; candidates &= candidates - 1) {
                const std::size_t segment = w * 64 + static_cast<std::size_t>(std::countr_zero(candidates));
                const word* const holders = &holders_[segment * process_words_];
                ++work_;
                for (std::size_t v = first_free_; v < process_words_; ++v) {
                    const word senders = holders[v] & free_[v];
                    if (senders == 0) continue;
                    move(to, v * 64 + static_cast<std::size_t>(std::countr_zero(senders)), segment, result);
                    return true;
                }
                if (!can_send) {
                    exhausted_[w] |= bit(segment);
                    exhausted_end_ = std::max(exhausted_end_, w + 1);
                }
                if (++failed == free_count_) {
                    candidates &= bit(segment) | offered(w);
                    work_ += free_count_;
                }
            }
        }
        return false;
    }

    /// The segments that free processes hold, or have just received.
    word offered(std::size_t w) const {
        word all = 0;
        for (std::size_t v = first_free_; v < process_words_; ++v)
            for (word senders = free_[v]; senders != 0; senders &= senders - 1)
                all |= held_[(v * 64 + static_cast<std::size_t>(std::countr_zero(senders))) * segment_words_ + w];
        return all;
    }

    /// Until the round ends, the receiver cannot pass on what it received: it does not count as a holder.
    void move(std::size_t to, std::size_t from, std::size_t segment, rounds& result) {
        word* const holders = &holders_[segment * process_words_];
        holders[from / 64] &= ~bit(from);
        holders[to / 64] &= ~bit(to);
        held_[from * segment_words_ + segment / 64] &= ~bit(segment);
        free_[from / 64] &= ~bit(from);
        --free_count_;
        while (first_free_ < process_words_ && free_[first_free_] == 0) ++first_free_;
        if (--left_[from] == 0) present_[from / 64] &= ~bit(from);
        const std::uint32_t others = --holder_count_[segment];
        shared_[segment / 64] &= ~(word{others == 1} << segment % 64);
        held_[others_ * segment_words_ + segment / 64] &= ~(word{others == 0} << segment % 64);
        result.transfers.push_back(
            {static_cast<std::int32_t>(to), static_cast<std::int32_t>(from), static_cast<std::uint32_t>(segment)});
    }

    void end_round(std::span<transfer> transfers) {
        for (transfer& x : transfers) {
            const auto to = static_cast<std::size_t>(x.to);
            if (to < others_) holders_[x.segment * process_words_ + to / 64] |= bit(to);
            x.to = rank_[to];
            x.from = rank_[static_cast<std::size_t>(x.from)];
        }
        std::fill_n(exhausted_.begin(), exhausted_end_, word{0});
        exhausted_end_ = 0;
        std::erase_if(members_, [&](std::uint32_t p) { return left_[p] == 0; });
    }

    std::size_t most_work_;
    std::size_t work_ = 0;
    std::size_t others_;  // all but the root
    std::size_t segments_;
    std::size_t segment_words_;
    std::size_t process_words_;
    std::vector<std::int32_t> rank_;             // of a position
    std::vector<std::int64_t> joins_;            // of a position
    std::vector<word> held_{};                   // segments of a position; the root's: those which others hold
    std::vector<word> holders_{};                // positions which hold a segment
    std::vector<std::uint32_t> lowest_{};        // no segment is held in words before this one
    std::vector<std::uint32_t> left_{};          // how many segments a position holds
    std::vector<std::uint32_t> holder_count_{};  // how many who joined hold a segment
    std::vector<word> shared_{};                 // segments which more than one of them hold
    std::vector<word> exhausted_{};              // segments that no free process holds in this round
    std::size_t exhausted_end_ = 0;              // words of it that are in use
    std::vector<word> present_{};                // positions that joined and hold something
    std::vector<word> free_{};                   // those of them which have not sent in this round
    std::size_t free_count_ = 0;
    std::size_t first_free_ = 0;            // the first word of it that is not 0
    std::vector<std::uint32_t> members_{};  // those present, in the order in which they receive
    std::size_t not_joined_ = 0;            // positions before this one
};

}  // namespace

rounds generate_latest_first(const instance& in) {
    rounds all;
    if (in.ranks == 1) return all;
    const std::size_t transfers = static_cast<std::size_t>(in.ranks - 1) * in.segments;
    latest_first generator(in, join_rounds(in, false), most_work_per_transfer * transfers);
    if (generator.run(std::numeric_limits<std::int64_t>::max(), all)) return all;
    return generate(in);
}

// Where the rule reaches the bound its rounds are used: ranks do not wait for rounds to end, and the rule's rounds let
// them run ahead further.
rounds generate_plus(const instance& in) {
    rounds best = generate(in);
    if (in.ranks == 1) return best;
    const std::int64_t bound = lower_bound(in, join_rounds(in, true));
    if (best.length <= bound) return best;
    latest_first generator(in, join_rounds(in, false), most_work_per_transfer * best.transfers.size());
    rounds other;
    if (generator.run(best.length, other)) std::swap(best, other);
    return best;
}

// How many rounds any reduction needs at least.
//
// One segment: a process receives one partial result per round, so partial results merge in pairs, and a round leaves
// at least half of them. Counting gives the number of rounds. N segments: the root receives one per round, so one of
// them is complete at the root by N - 1 rounds before the last; until then it needed as many rounds as if it were
// alone. For equal arrivals this is ceil(log2 P) + N - 1, and it is never less than the last join + N.
//
// Cost: O(P log P). It is the optimum in all cases tried by exhaustive search.

std::vector<std::int64_t> join_rounds(const instance& in, bool with_drift) {
    std::vector<std::int64_t> joins(static_cast<std::size_t>(in.ranks));
    if (in.arrivals.empty()) return joins;
    const std::int64_t d = in.round_time.count();
    const std::int64_t earliest = std::ranges::min(in.arrivals).count();
    const auto first = [d](std::int64_t delay) { return delay <= d ? 0 : (delay - 1) / d; };
    const std::int64_t root_delay = in.arrivals[static_cast<std::size_t>(in.root.value)].count() - earliest;
    const std::int64_t drift = root_delay - first(root_delay) * d;
    const std::int64_t segments = in.segments;
    for (std::size_t i = 0; i < joins.size(); ++i) {
        const std::int64_t delay = in.arrivals[i].count() - earliest;
        joins[i] = first(delay);
        if (with_drift && joins[i] > segments) joins[i] = std::max(segments, first(delay - drift));
    }
    return joins;
}

std::int64_t lower_bound(const instance& in, std::span<const std::int64_t> joins) {
    if (in.ranks == 1) return 0;
    std::vector<std::int64_t> sorted(joins.begin(), joins.end());
    if (!in.arrivals.empty()) std::ranges::sort(sorted);
    std::int64_t round = 0;
    std::size_t joined = 0;
    std::size_t partial_results = 0;
    while (joined < sorted.size() || partial_results > 1) {
        if (partial_results < 2 && joined < sorted.size()) round = std::max(round, sorted[joined]);
        for (; joined < sorted.size() && sorted[joined] <= round; ++joined) ++partial_results;
        if (partial_results < 2) continue;
        partial_results -= partial_results / 2;
        ++round;
    }
    return round + in.segments - 1;
}

std::int64_t lower_bound(const instance& in) {
    check(in);
    return lower_bound(in, join_rounds(in, true));
}

}  // namespace rubato::schedules
