// Writing a schedule: list the steps as if they ran one after the other; the builder finds what each must wait for.
//
// A step waits for the last writer of what it reads, and for the readers and the last writer of what it overwrites,
// block by block, and for nothing else. So an algorithm is written in its natural order and comes out as dataflow.
// Where steps carry no data (a barrier's messages), fence() or `after` says what waits for what.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <array>
#include <initializer_list>
#include <map>
#include <memory_resource>
#include <utility>

namespace rubato {

/// A run of blocks in one of the buffers, and the blocks whose sizes it has.
struct slice {
    buffer where = buffer::scratch;
    block first = 0;
    std::uint32_t count = 0;
    block shape = 0;

    /// Blocks [offset, offset + n) of this slice.
    slice sub(std::uint32_t offset, std::uint32_t n = 1) const { return {where, first + offset, n, shape + offset}; }
    /// The same place holding data of another shape (a slot that is used for one part after the other).
    slice holding(block other_shape, std::uint32_t n) const { return {where, first, n, other_shape}; }
};

class RUBATO_API builder {
public:
    using step_id = std::uint32_t;

    /// `parts`: into how many blocks each chunk is cut.
    builder(const problem& p, rank me, std::uint32_t parts);

    std::uint32_t parts() const { return result_.parts; }

    /// The whole of a buffer that has one chunk, or chunks [chunk, chunk + n) of one that has one per rank.
    slice input(std::uint32_t chunk = 0, std::uint32_t n = 1) const;
    slice output(std::uint32_t chunk = 0, std::uint32_t n = 1) const;
    /// New scratch blocks, as large as blocks [shape, shape + count).
    slice scratch(block shape, std::uint32_t count);
    /// New scratch of n chunks, the first as large as chunk `chunk`.
    slice scratch_chunks(std::uint32_t n = 1, std::uint32_t chunk = 0) { return scratch(chunk * parts(), n * parts()); }
    /// Empty messages: a plain signal, and one that says that this rank has arrived.
    static slice nothing() { return {}; }
    static slice presence() { return {buffer::input, 0, 0, 0}; }

    // The n-th send from a to b is received by the n-th recv at b from a, in the order of these calls.
    step_id send(rank to, slice data, std::initializer_list<step_id> after = {});
    step_id recv(rank from, slice data, std::initializer_list<step_id> after = {});
    /// into = left * into
    step_id combine(slice left, slice into);
    /// A copy onto itself is no step.
    void copy(slice from, slice to);

    /// Steps after the fence wait for all before it.
    void fence();

    /// Adds the steps of a schedule of a smaller problem: its rank i is who[i], its input and output are these slices.
    /// It must have as many parts as this one, and one chunk on either side.
    void embed(const schedule& inner, std::span<const rank> who, slice input, slice output);

    schedule finish() &&;

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    /// The steps that touched the blocks of a run last.
    struct access {
        step_id writer = none;
        std::uint32_t readers = none;  // since then: the last of them in readers_
    };
    struct reader {
        step_id step;
        std::uint32_t before;  // in readers_, or none
    };
    /// Runs of blocks by their first one; each ends where the next begins.
    using history = std::pmr::map<block, access>;

    /// How many messages a peer was sent, and has sent.
    struct numbers {
        std::int32_t peer = -1;
        std::uint32_t sent = 0;
        std::uint32_t received = 0;
    };

    step_id add(const step& s, std::span<const step_id> after);
    numbers& numbers_of(std::int32_t peer);
    std::size_t& blocks(buffer b) { return blocks_[static_cast<std::size_t>(b)]; }
    history& history_of(buffer b) { return histories_[static_cast<std::size_t>(b)]; }
    history::iterator cut(buffer b, block at);
    block add_scratch(std::size_t count);

    schedule result_;
    std::size_t blocks_[3] = {};
    block output_shape_ = 0;  // of its first block
    // Schedules are made by the million, and most are small: what they are made with needs no memory of its own.
    std::array<std::byte, 4096> room_;  // uninitialised
    std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
    std::array<history, 3> histories_{history{&memory_}, history{&memory_}, history{&memory_}};
    std::pmr::vector<reader> readers_{&memory_};
    step_id fence_ = 0;                            // steps wait for those from this one on
    step_id fenced_ = 0;                           // and before this one
    std::pmr::vector<numbers> numbers_{&memory_};  // a hash table of peers; its size is a power of two
    std::size_t peers_ = 0;                        // in it
};

}  // namespace rubato
