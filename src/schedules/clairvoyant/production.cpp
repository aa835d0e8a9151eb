// The generator that is used. It makes the rounds of the rule in a few dozen instructions per transfer.
//
// Members lie in slots, in the order in which they are visited, the root apart; round_state.hpp tells how a round is
// made from that. A new member takes the slot after those that precede it; later ones move up to the next gap, as
// one shift of a word of slots in every row. When there is no gap left in that word, all members are spread out again.
//
// Memory: at most 5 bits per process and segment and 64 bytes per process, beside the result (of fewer than 20
// processes, up to 16 bytes per segment).
#include "schedules/clairvoyant/clairvoyant.hpp"

#include "schedules/clairvoyant/round_state.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace rubato::schedules {
namespace {

/// Bit i of word j becomes bit j of word i.
void transpose(std::array<word, 64>& m) {
    word mask = 0x00000000ffffffff;
    for (std::size_t half = 32; half != 0; half /= 2, mask ^= mask << half)
        for (std::size_t k = 0; k < 64; k = (k + half + 1) & ~half) {
            const word swap = ((m[k] >> half) ^ m[k + half]) & mask;
            m[k] ^= swap << half;
            m[k + half] ^= swap;
        }
}

/// Ranks by (arrival, rank).
std::vector<std::int32_t> by_arrival(const instance& in) {
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(in.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    if (std::ranges::is_sorted(in.arrivals)) return ranks;
    std::vector<std::pair<std::int64_t, std::int32_t>> order;  // sorted where the times are, and not by way of ranks
    order.reserve(ranks.size());
    for (const std::int32_t r : ranks) order.emplace_back(in.arrivals[static_cast<std::size_t>(r)].count(), r);
    std::ranges::sort(order);
    std::ranges::transform(order, ranks.begin(), [](const auto& x) { return x.second; });
    return ranks;
}

/// Small: at most 64 processes and 64 segments, so that one word holds all.
template <class Keep, bool Small>
class round_generator {
public:
    round_generator(const instance& in, Keep keep)
        : in_(in),
          keep_(keep),
          d_(in.round_time.count()),
          segments_(in.segments),
          words_((in.segments + 63) / 64),
          waiting_(by_arrival(in)),
          segment_bits_(4 * words_),
          shared_(segment_bits_.data()),
          alive_(shared_ + words_),
          others_(alive_ + words_),
          root_held_(others_ + words_),
          lost_(segments_) {
        hold_all(root_held_);
        result_.transfers.reserve(keep_.expected(in));
        result_.busy.reserve(segments_ + 16);
    }

    rounds run() && {
        while (next_group()) {
            do_round();
            result_.length = ++round_;
        }
        return std::move(result_);
    }

private:
    struct member {
        std::int64_t key = 0;  // availability - round * d: never changes
        std::int32_t rank = -1;
        std::uint32_t remaining = 0;  // segments held
    };

    // The group.

    /// Finds the members of the next round. False when only the root holds segments.
    bool next_group() {
        for (;;) {
            if (next_ < waiting_.size()) {
                std::int64_t t = arrival(waiting_[next_]);
                if (members_ + root_in_ > 0) t = std::min(t, earliest() + round_ * d_);
                join(t + d_);
            }
            if (members_ + root_in_ > 1) return true;
            if (next_ == waiting_.size()) return false;
            const std::int64_t wait = arrival(waiting_[next_]) - d_ - (earliest() + round_ * d_);
            round_ += std::max<std::int64_t>(1, (wait + d_ - 1) / d_);
        }
    }

    void join(std::int64_t latest) {
        std::size_t begin = next_;
        while (next_ < waiting_.size() && arrival(waiting_[next_]) <= latest) ++next_;
        if (next_ == begin) return;
        joined_ += static_cast<std::uint32_t>(next_ - begin);
        if (joined_ > 1) hold_all(shared_);  // a new member holds all segments
        low_ = settled_ = 0;
        const auto newcomers = std::span(waiting_).subspan(begin, next_ - begin);
        members_ += static_cast<std::uint32_t>(newcomers.size());
        if (const auto root = std::ranges::find(newcomers, in_.root.value); root != newcomers.end()) {
            root_in_ = true;
            root_key_ = newcomer(in_.root.value).key;
            --members_;
            std::rotate(newcomers.begin(), root, root + 1);
            ++begin;
        }
        constexpr std::size_t few = 8;
        if (next_ - begin <= few)
            while (begin < next_ && insert(newcomer(waiting_[begin]))) ++begin;
        if (begin < next_) spread(std::span(waiting_).subspan(begin, next_ - begin));
    }

    /// Gives a newcomer a slot in its place in the order. False if the slots behind that place are full.
    bool insert(const member& m) {
        std::uint32_t slot = 0;
        for (std::uint32_t w = 0; w < slot_words(); ++w) {
            word rest = occupied_[w];
            for (; rest != 0 && before(member_in_[w * 64 + lowest(rest)], m); rest &= rest - 1)
                slot = w * 64 + lowest(rest) + 1;
            if (rest != 0) break;
        }
        if (slot >= slots_) return false;
        const std::uint32_t w = slot / 64;
        const word inside = slots_ - std::size_t{w} * 64 < 64 ? bit(static_cast<std::uint32_t>(slots_)) - 1 : ~word{0};
        const word free = inside & ~occupied_[w] & ~(bit(slot) - 1);
        if (free == 0) return false;
        // Members from the slot to the next free one move up by one.
        const std::uint32_t gap = w * 64 + lowest(free);
        const word moving = (bit(gap) - 1) & ~(bit(slot) - 1);
        for (std::uint32_t k = gap; k > slot; --k) {
            member_in_[k] = member_in_[k - 1];
            std::copy_n(held(k - 1), words(), held(k));
        }
        occupied_[w] |= bit(gap);
        can_send_[w] |= bit(gap);
        for (std::size_t j = 0, k = w; j < segments_; ++j, k += slot_words())
            rows_[k] = (rows_[k] & ~moving) | (rows_[k] & moving) << 1 | bit(slot);
        member_in_[slot] = m;
        hold_all(held(slot));
        return true;
    }

    /// Lays out all members and new ones again, with gaps for later ones.
    void spread(std::span<const std::int32_t> newcomers) {
        const std::size_t waiting = waiting_.size() - next_;
        const std::size_t gaps = waiting == 0 ? 0 : std::min<std::size_t>(members_ / 8, 2 * waiting) + 8;
        const std::size_t all = static_cast<std::size_t>(in_.ranks);
        const std::size_t slots = (std::min(all, std::max<std::size_t>(members_ + gaps, 64)) + 7) / 8 * 8;
        std::vector<member> placed(slots);
        std::vector<word> placed_held(slots * words());
        std::size_t count = 0;
        const auto place = [&](const member& m) {
            const std::size_t slot = gaps == 0 ? count : (2 * count + 1) * slots / (2 * std::size_t{members_});
            ++count;
            placed[slot] = m;
            return &placed_held[slot * words()];
        };
        auto fresh = newcomers.begin();
        const auto place_fresh = [&] { hold_all(place(newcomer(*fresh++))); };
        for (std::uint32_t w = 0; w < slot_words(); ++w)
            for (word rest = occupied_[w]; rest != 0; rest &= rest - 1) {
                const std::uint32_t slot = w * 64 + lowest(rest);
                while (fresh != newcomers.end() && before(newcomer(*fresh), member_in_[slot])) place_fresh();
                std::copy_n(held(slot), words(), place(member_in_[slot]));
            }
        while (fresh != newcomers.end()) place_fresh();

        slots_ = slots;
        slot_words_ = (slots + 63) / 64;
        member_in_ = std::move(placed);
        held_ = std::move(placed_held);
        occupied_.assign(slot_words(), 0);
        for (std::uint32_t slot = 0; slot < slots; ++slot)
            if (member_in_[slot].rank >= 0) occupied_[slot / 64] |= bit(slot);
        can_send_ = occupied_;
        receipts_.reserve(members_);
        rows_.resize(segments_ * slot_words());
        if (newcomers.size() == members_) {
            for (std::uint32_t j = 0; j < segments_; ++j) std::ranges::copy(occupied_, row(j));
            return;
        }
        std::array<word, 64> block{};
        for (std::uint32_t w = 0; w < slot_words(); ++w)
            for (std::uint32_t s = 0; s < words(); ++s) {
                for (std::uint32_t k = 0; k < 64; ++k) block[k] = w * 64 + k < slots ? held(w * 64 + k)[s] : 0;
                transpose(block);
                for (std::uint32_t k = 0; k < 64 && s * 64 + k < segments_; ++k) row(s * 64 + k)[w] = block[k];
            }
    }

    member newcomer(std::int32_t r) const { return {arrival(r) - round_ * d_, r, segments_}; }
    std::int64_t arrival(std::int32_t r) const {
        return in_.arrivals.empty() ? 0 : in_.arrivals[static_cast<std::size_t>(r)].count();
    }
    /// A process that has just arrived holds all segments.
    void hold_all(word* held) const {
        std::fill_n(held, words(), ~word{0});
        if (segments_ % 64 != 0) held[words() - 1] = bit(segments_) - 1;
    }

    /// The first slot that is taken.
    std::uint32_t head() const {
        std::uint32_t w = 0;
        while (occupied_[w] == 0) ++w;
        return w * 64 + lowest(occupied_[w]);
    }

    /// The key of the member that is available first.
    std::int64_t earliest() const {
        if (members_ == 0) return root_key_;
        const std::int64_t first = member_in_[head()].key;
        return root_in_ ? std::min(first, root_key_) : first;
    }

    static bool before(const member& a, const member& b) { return std::pair(a.key, a.rank) < std::pair(b.key, b.rank); }

    // A round.

    void do_round() {
        while (low_ < words() && shared_[low_] == 0) ++low_;
        std::copy_n(shared_ + low_, words() - low_, alive_ + low_);
        if (slot_words() > round_state<Small>::few) first_.assign(segments_, 0);
        if (receipts_.size() <= members_) receipts_.resize(members_ + 1);
        round_state<Small> now{.rows = rows_.data(),
                               .held = held_.data(),
                               .can_send = can_send_.data(),
                               .alive = alive_,
                               .others = others_,
                               .root_held = root_held_,
                               .first = first_.data(),
                               .next = receipts_.data(),
                               .words_ = words_,
                               .slot_words_ = slot_words_,
                               .low = low_,
                               .senders = members_,
                               .root_can_send = false};
        const bool regained = serve_sink(now);
        now.root_can_send = root_in_;
        for (std::uint32_t w = 0; w < slot_words(); ++w) {
            word rest = occupied_[w];
            if (!root_in_ && w == head() / 64) rest &= rest - 1;
            for (; rest != 0; rest &= rest - 1) now.serve(w * 64 + lowest(rest));
        }
        end_round(std::span(receipts_.data(), now.next), regained);
    }

    /// The sink takes the lowest segment that anybody else holds. True if it had sent it before.
    bool serve_sink(round_state<Small>& now) {
        const std::uint32_t slot = root_in_ ? none : head();
        for (;; ++settled_) {
            const std::size_t s = settled_;
            const word all = s + 1 == words() && segments_ % 64 != 0 ? bit(segments_) - 1 : ~word{0};
            const word wanted = all & (~held(slot)[s] | shared_[s]);
            if (wanted == 0) continue;
            const std::uint32_t segment = static_cast<std::uint32_t>(s) * 64 + lowest(wanted);
            const bool regained = (held(slot)[s] & bit(segment)) == 0;
            if (slot == none)
                root_held_[s] &= ~bit(segment);
            else
                now.row(segment)[slot / 64] &= ~bit(slot);
            now.take(slot, segment, now.sender_of(segment, 0));
            return regained;
        }
    }

    /// Received segments can be sent from now on, and all members that still hold a segment can send again.
    void end_round(std::span<const receipt> receipts, bool regained) {
        const receipt sink = receipts.front();
        held(sink.to)[sink.segment / 64] |= bit(sink.segment);
        if (regained) {
            --lost_[sink.segment];
            if (sink.to != none) ++member_in_[sink.to].remaining;
        }
        const auto rank_of = [this](std::uint32_t slot) {
            return slot == none ? in_.root.value : member_in_[slot].rank;
        };
        for (const receipt& x : receipts) {
            if (x.to != none) row(x.segment)[x.to / 64] |= bit(x.to);
            if (joined_ - ++lost_[x.segment] == 1) shared_[x.segment / 64] &= ~bit(x.segment);
            if (x.from != none && --member_in_[x.from].remaining == 0) {
                occupied_[x.from / 64] &= ~bit(x.from);
                --members_;
            }
            const transfer t{rank_of(x.to), rank_of(x.from), x.segment};
            if (keep_(t)) result_.transfers.push_back(t);
        }
        std::ranges::copy(occupied_, can_send_.begin());
        const std::size_t before = result_.busy.empty() ? 0 : result_.busy.back().end;
        if (result_.transfers.size() > before) result_.busy.push_back({round_, result_.transfers.size()});
    }

    word* held(std::uint32_t slot) { return slot == none ? root_held_ : &held_[slot * words()]; }
    word* row(std::uint32_t segment) { return &rows_[segment * slot_words()]; }
    std::size_t words() const { return Small ? 1 : words_; }
    std::size_t slot_words() const { return Small ? 1 : slot_words_; }

    const instance& in_;
    Keep keep_;
    std::int64_t d_;
    std::int64_t round_ = 0;
    std::uint32_t segments_;
    std::size_t words_;  // of segments

    std::vector<std::int32_t> waiting_{};  // by (arrival, rank)
    std::size_t next_ = 0;                 // in waiting_
    std::uint32_t joined_ = 0;
    std::uint32_t members_ = 0;  // without the root
    bool root_in_ = false;
    std::int64_t root_key_ = 0;

    // A bit per segment.
    std::vector<word> segment_bits_;
    word* shared_;                        // two or more hold it
    word* alive_;                         // a member may still be able to send it in this round
    word* others_;                        // a member other than the receiver can send it
    word* root_held_;                     // the root holds it and has not received it in this round
    std::vector<std::uint32_t> lost_;     // how many of the joined members do not hold it
    std::vector<std::uint32_t> first_{};  // in this round, no sender is in words of its row before this one
    std::size_t low_ = 0;                 // nothing is shared in words before this one
    std::size_t settled_ = 0;             // segments in words before this one are held by the sink only

    // By slot. There are some more than members.
    std::size_t slots_ = 0;
    std::size_t slot_words_ = 1;
    std::vector<member> member_in_{};
    std::vector<word> occupied_{0};  // a bit each
    std::vector<word> can_send_{0};
    std::vector<word> rows_{};  // by segment, a bit per slot: holds it and has not received it in this round
    std::vector<word> held_{};  // the same by slot, a bit per segment

    std::vector<receipt> receipts_{};
    rounds result_{};
};

struct keep_all {
    bool operator()(const transfer&) const { return true; }
    static std::size_t expected(const instance& in) {
        return static_cast<std::size_t>(in.ranks) * in.segments / 8 * 9 + 64;
    }
};

struct keep_of {
    std::int32_t rank;

    bool operator()(const transfer& x) const { return x.to == rank || x.from == rank; }
    static std::size_t expected(const instance& in) { return std::size_t{2} * in.segments; }
};

template <class Keep>
rounds generate_kept(const instance& in, Keep keep) {
    check(in);
    if (in.ranks <= 64 && in.segments <= 64) return round_generator<Keep, true>(in, keep).run();
    return round_generator<Keep, false>(in, keep).run();
}

}  // namespace

rounds generate(const instance& in) { return generate_kept(in, keep_all{}); }

rounds generate(const instance& in, rank only) { return generate_kept(in, keep_of{only.value}); }

}  // namespace rubato::schedules
