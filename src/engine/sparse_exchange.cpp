#include "engine/sparse_exchange.hpp"

#include <algorithm>

namespace rubato {

std::vector<incoming> sparse_exchange::take() {
    std::ranges::stable_sort(received_, {}, [](const incoming& i) { return i.from.value; });
    return std::move(received_);
}

}  // namespace rubato
