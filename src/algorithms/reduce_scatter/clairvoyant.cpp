// Clairvoyant reduce-scatter. As the reduce_scatter_block, whose messages are single chunks, so that these may differ
// in size.
//
// Cost: as the reduce_scatter_block's, each message as long as its chunk. A late rank sends every other rank's chunk
// once. Rank counts: any. Source: ours, after Marendic et al. 2016, 5.4.
#include "algorithms/builders.hpp"

namespace rubato {

std::vector<schedule> reduce_scatter_clairvoyant(const problem& p, std::span<const rank> who) {
    return reduce_scatter_block_clairvoyant(p, who);
}

}  // namespace rubato
