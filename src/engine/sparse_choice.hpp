// Which way of a sparse exchange is the fastest is found by trying: each way twice, then the fastest. What ranks know
// of an exchange before they make it is what the last one was like, so ways are compared for exchanges that follow
// similar ones. All ranks are told the same numbers, and choose alike.
#pragma once

#include "rubato/core.hpp"

#include <array>
#include <map>
#include <optional>

namespace rubato {

class RUBATO_API sparse_choice {
public:
    static constexpr std::size_t ways = 3;

    /// The partners of the rank that has most, and the bytes that the one sends that sends most.
    struct size {
        std::int64_t partners = 0;
        std::int64_t bytes = 0;
    };

    /// The way of the exchange that begins.
    std::size_t next() const;
    /// After an exchange: its way, its size, and the time that the exchange before took.
    void ended(std::size_t way, const size& s, time_ns before);

private:
    struct experience {
        std::array<time_ns, ways> time{};
        std::array<int, ways> tried{};
    };
    /// Logarithms of a size.
    struct kind {
        int partners = -1;
        int bytes = -1;
        auto operator<=>(const kind&) const = default;
    };
    struct exchange {
        kind after;  // which it was chosen by
        kind own;
        std::size_t way;
    };

    std::map<kind, experience> known_{};  // by the exchange before
    std::optional<exchange> last_{};      // its time is not known yet
};

}  // namespace rubato
