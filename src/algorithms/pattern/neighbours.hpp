// What the algorithms for neighbour collectives share.
#pragma once

#include "rubato/builder.hpp"

namespace rubato {

/// Every edge by one message, or a copy. Edges are in one order for all ranks, so that ranks do not wait for each other
/// in a circle: at any time the first edge that is left is the next one for both of its ranks. `by_arrival`: those
/// whose ranks are there sooner come first.
schedule along_edges(const problem& p, rank me, bool by_arrival);

/// The same for a reduction: every rank's vector goes to each of its neighbours once. `by_arrival`: what comes is
/// combined when it comes, in the order in which its senders arrive.
schedule reduced_along_edges(const problem& p, rank me, bool by_arrival);

/// All that goes from one host to another, in one message: by way of the first of a host's ranks to come. Within a
/// host, what a rank has for another is one message.
schedule between_hosts(const problem& p, rank me);

}  // namespace rubato
