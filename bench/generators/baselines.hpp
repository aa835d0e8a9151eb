// The generators of the literature, for tests, comparisons and the benchmark. They make the same rounds as generate().
#pragma once

#include "schedules/clairvoyant/clairvoyant.hpp"

namespace rubato::schedules {

/// Looks at one process and segment after the other (Proficz & Ocetkiewicz 2020, Listing 2).
rounds generate_linear(const instance& in);
/// A heap of available senders per segment (Marendic et al. 2016, 5.4.1; Proficz & Ocetkiewicz 2020, 4.1 and 5.7).
rounds generate_pairing_heap(const instance& in);
/// Held segments as bits in a segment tree over processes (Proficz & Ocetkiewicz 2020, Listings 3 to 8).
rounds generate_segment_tree(const instance& in);

}  // namespace rubato::schedules
