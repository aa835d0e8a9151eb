#include "arrival/operation.hpp"

#include <bit>
#include <cassert>

namespace rubato {

operation operation_of(collective what, rank root, std::int64_t bytes) {
    assert(bytes >= 0);
    return {what, static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(bytes))), root};
}

}  // namespace rubato
