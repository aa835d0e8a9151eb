// What the algorithms for neighbour collectives share.
#pragma once

#include "rubato/builder.hpp"

namespace rubato::schedules {

/// Every edge by one message, or a copy. Edges are in one order for all ranks, so that ranks do not wait for each other
/// in a circle: at any time the first edge that is left is the next one for both of its ranks. `by_arrival`: those
/// whose ranks are there sooner come first, and a link is free for the last neighbour when it comes.
/// Cost: L + d (o + m G), d = neighbours, m = one chunk.
schedule along_edges(const problem& p, rank me, bool by_arrival);

/// The same for a reduction: every rank's vector goes to each of its neighbours once. `by_arrival`: what comes is
/// combined when it comes, in the order in which its senders arrive. A rank that is a source several times counts once.
/// Cost: L + d (o + m G + m gamma).
schedule reduced_along_edges(const problem& p, rank me, bool by_arrival);

/// All that goes from one host to another, in one message: by way of the first of a host's ranks to come. Within a
/// host, what a rank has for another is one message. A rank's chunk goes to a host once, as in Collom et al. 2023.
/// Cost: h alpha + c m beta at a leader, h = hosts with neighbours, c = chunks that go there, and what passes within
/// the host before and after.
schedule between_hosts(const problem& p, rank me);

}  // namespace rubato::schedules
