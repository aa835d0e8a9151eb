// Scatter and gather in an order of our choice: one rank after the other, or along a binomial tree that is set up by
// when ranks arrive.
#pragma once

#include "movement.hpp"

#include <functional>
#include <span>
#include <vector>

namespace rubato {

/// One schedule for each of these ranks. What is the same for all, above all their order, is computed once before: with
/// thousands of ranks, to sort them anew for each would take longer than all else.
template <class Build>
std::vector<schedule> build_each(std::span<const rank> who, Build build) {
    std::vector<schedule> some;
    some.reserve(who.size());
    for (const rank me : who) some.push_back(build(me));
    return some;
}

time_ns arrival(const problem& p, rank r);
/// All ranks but the root, in the order of ranks.
std::vector<rank> others(const problem& p);
/// The same, earliest first; those who arrive together in the order of ranks.
std::vector<rank> by_arrival(const problem& p);
/// All ranks, earliest first; those who arrive together in the order of ranks.
std::vector<rank> line_up(const problem& p);
/// Whether the last one comes so many rounds after all others.
bool comes_alone(const problem& p, const std::vector<rank>& line, std::int64_t rounds);
/// Whether it comes so long after them that they can be done with all they can do: tell each other, up a tree and down
/// it.
bool has_straggler(const problem& p, const std::vector<rank>& line);
/// All ranks but one, in the order of ranks, and what they do among themselves before that one comes.
struct all_but_one {
    std::vector<rank> who{};

    all_but_one(const problem& p, rank one);

    /// A rank's number among them.
    rank place(rank r) const;
    /// Their problem. The last of them is the root: in a binomial tree of another root it is a leaf, and free to serve
    /// that one.
    problem among(const problem& p, collective what) const;
};
/// Ranks of a line that join an exchange of each with each together: [old, end).
struct joining {
    std::size_t old;
    std::size_t end;
};
/// The line cut where a rank comes so many rounds after the one before as those before it need to be done. Cut closer,
/// the exchange of those who are there would only be in the way of the next one.
std::vector<joining> joining_groups(const problem& p, const std::vector<rank>& line,
                                    const std::function<std::int64_t(std::size_t)>& rounds);
/// When each of the line arrives, in ns after the first; all together without predicted arrivals.
std::vector<double> since_first(const problem& p, const std::vector<rank>& line);
/// Whether all but the root are predicted to arrive together, so that there is nothing to sort.
bool others_together(const problem& p);

/// Appends a scatter in which the root sends these ranks their chunks, one after the other.
void scatter_in_order(builder& b, const problem& p, rank me, std::span<const rank> order);
/// Appends a gather in which the root asks these ranks for their chunks, one after the other. A chunk comes in two
/// segments, and the next rank is asked when the first is there. The builder has two parts.
void gather_in_order(builder& b, const problem& p, rank me, std::span<const rank> order);

/// Whose chunks travel to or from one rank in one message, in their order.
struct parcel {
    rank peer;
    std::vector<rank> ranks;
};

/// A binomial tree over a line of ranks whose first is the root. Going down it, twice as many ranks take part in each
/// round, as they stand in the line; going up it, they hand over in the reverse order. The last half are leaves.
class lined_up_tree {
public:
    lined_up_tree(rank root, rank me, const std::vector<rank>& after_root);

    std::optional<rank> parent() const;
    /// For what is the same for all.
    tree shape() const;
    /// In the order in which they are sent to; of each, the child's own chunk travels first.
    std::vector<parcel> branches() const;

private:
    std::size_t size() const { return line_.size(); }
    /// The positions right below one, in the order in which they are sent to.
    std::vector<std::size_t> children(std::size_t at) const;
    void collect(std::size_t at, std::vector<rank>& ranks) const;

    std::vector<rank> line_;
    std::size_t mine_;
};

/// Appends a gather up the tree, in which a subtree's chunks travel in the order in which they were handed over. The
/// root unpacks them to `output`, which has one for each rank, where they are not consecutive anyway.
void gather_lined_up(builder& b, rank me, const lined_up_tree& t, slice output);

/// Chunks of these ranks in a buffer that has one for each rank, as runs of consecutive chunks.
std::vector<slice> chunk_runs(slice all, std::span<const rank> ranks);
/// These chunks of a buffer one after the other: where they are, if they are consecutive, else packed.
slice in_line(builder& b, slice input, std::span<const rank> ranks);
/// Room for these chunks in a line: where they belong in the output, if they are consecutive there, else scratch.
slice line_for(builder& b, slice output, std::span<const rank> ranks);
/// Copies them from that line to where they belong.
void unpack_line(builder& b, slice line, slice output, std::span<const rank> ranks);
/// Appends that the root receives these, one after the other, each to its place.
void take_parcels(builder& b, slice output, std::span<const parcel> parcels);

}  // namespace rubato
