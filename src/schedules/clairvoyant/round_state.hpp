// A round as the generator makes it: who takes what from whom, on bits.
//
// Which member holds which segment is stored twice: by slot, a bit per segment, so that a receiver's candidates are
// found 64 at a time; and by segment, a bit per slot, so that a segment's sender is the first bit set in both its row
// and the set of members that can still send. A candidate is a segment that the receiver holds and that another member
// may be able to send. When a round begins these are the segments held by two or more. Later fewer members can send.
// Whether a segment still has a sender is checked only when it is needed or, after many failures, for all at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rubato::schedules {

using word = std::uint64_t;
constexpr std::uint32_t none = ~std::uint32_t{0};

constexpr word bit(std::uint32_t i) { return word{1} << i % 64; }
inline std::uint32_t lowest(word w) { return static_cast<std::uint32_t>(std::countr_zero(w)); }

/// The first bit from word k on that is set in both, or none.
inline std::uint32_t first_common(const word* a, const word* b, std::size_t k, std::size_t words) {
    for (; k < words; ++k)
        if (const word both = a[k] & b[k]; both != 0) return static_cast<std::uint32_t>(k) * 64 + lowest(both);
    return none;
}

/// A transfer of the round that is being made.
struct receipt {
    std::uint32_t segment;
    std::uint32_t to;  // slots; none is the root
    std::uint32_t from;
};

/// State that is used all the time during a round. It is on the stack of one function, so that it is kept in
/// registers.
template <bool Small>
struct round_state {
    static constexpr std::size_t few = 8;

    word* rows;
    word* held;
    word* can_send;
    word* alive;
    word* others;
    word* root_held;
    std::uint32_t* first;
    receipt* next;
    std::size_t words_;
    std::size_t slot_words_;
    std::size_t low;  // nothing is alive in words before this one
    std::uint32_t senders;
    bool root_can_send;

    std::size_t words() const { return Small ? 1 : words_; }
    std::size_t slot_words() const { return Small ? 1 : slot_words_; }
    word* row(std::uint32_t segment) const { return rows + segment * slot_words(); }

    /// A member takes the lowest segment it holds that another member can send.
    [[gnu::always_inline]] void serve(std::uint32_t slot) {
        const word itself = can_send[slot / 64] & bit(slot);
        can_send[slot / 64] ^= itself;  // not from itself
        const word* const mine = held + slot * words();
        std::uint32_t failures = 0;
        std::size_t known = 0;  // words before this one are known in `others`
        for (std::size_t s = low; s < words(); ++s) {
            for (word wanted = mine[s] & (s < known ? others[s] : alive[s]); wanted != 0; wanted &= wanted - 1) {
                const std::uint32_t segment = static_cast<std::uint32_t>(s) * 64 + lowest(wanted);
                const bool from_root = root_can_send && (root_held[s] & bit(segment)) != 0;
                const std::uint32_t from = from_root ? none : sender_of(segment, itself == 0 ? none : slot);
                if (from_root || from != none) {
                    row(segment)[slot / 64] &= ~bit(slot);  // it cannot be sent on in this round
                    can_send[slot / 64] |= itself;
                    take(slot, segment, from);
                    return;
                }
                if (itself == 0) alive[s] &= ~bit(segment);
                if (++failures > senders && s >= known) {
                    // Checking all possible senders is now cheaper than more tries.
                    known = find_others(*this, s, itself == 0 ? nullptr : mine);
                    failures = 0;
                    wanted &= others[s] | (wanted & -wanted);
                }
            }
        }
        can_send[slot / 64] |= itself;
    }

    [[gnu::always_inline]] void take(std::uint32_t to, std::uint32_t segment, std::uint32_t from) {
        *next++ = {segment, to, from};
        if (from == none) {
            root_can_send = false;
            root_held[segment / 64] &= ~bit(segment);
            return;
        }
        --senders;
        can_send[from / 64] &= ~bit(from);
        row(segment)[from / 64] &= ~bit(from);
        held[from * words() + segment / 64] &= ~bit(segment);
    }

    /// The first member in order that can send it, or none; `self` cannot send now, but will be able to.
    [[gnu::always_inline]] std::uint32_t sender_of(std::uint32_t segment, std::uint32_t self) const {
        if (slot_words() <= few) return first_common(row(segment), can_send, 0, slot_words());
        const std::uint32_t from = first_common(row(segment), can_send, first[segment], slot_words());
        const std::uint32_t w = from == none ? static_cast<std::uint32_t>(slot_words()) : from / 64;
        first[segment] = std::max(first[segment], std::min(w, self / 64));
        return from;
    }

    /// The segments that possible senders hold, in at most eight words around s; returns where these end. `self` are
    /// the segments of one more member, which will be able to send again.
    [[gnu::noinline]] static std::size_t find_others(round_state now, std::size_t s, const word* self) {
        const auto collect = [&]<std::size_t Words>(std::array<word, Words> all, std::size_t begin) {
            const auto add = [&](const word* from) {
                for (std::size_t i = 0; i < Words; ++i) all[i] |= from[begin + i];
            };
            for (std::uint32_t w = 0; w < now.slot_words(); ++w)
                for (word rest = now.can_send[w]; rest != 0; rest &= rest - 1)
                    add(now.held + (w * 64 + lowest(rest)) * now.words());
            if (now.root_can_send) add(now.root_held);
            for (std::size_t i = 0; i < Words; ++i) {
                now.others[begin + i] = all[i];
                now.alive[begin + i] &= all[i] | (self != nullptr ? self[begin + i] : 0);
            }
            return begin + Words;
        };
        if (s / 8 * 8 + 8 <= now.words()) return collect(std::array<word, 8>{}, s / 8 * 8);
        if (s / 2 * 2 + 2 <= now.words()) return collect(std::array<word, 2>{}, s / 2 * 2);
        return collect(std::array<word, 1>{}, s);
    }
};

}  // namespace rubato::schedules
