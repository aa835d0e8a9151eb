// Which way of a sparse exchange is the fastest is found by trying: each way twice, then the fastest. What ranks know
// of an exchange before they make it is how many partners they had in the last one, so ways are compared for about the
// same number of partners. All ranks are told the same numbers, and choose alike.
#pragma once

#include "rubato/core.hpp"

#include <array>
#include <map>
#include <optional>

namespace rubato {

class RUBATO_API sparse_choice {
public:
    static constexpr std::size_t ways = 3;

    /// The way of the exchange that begins.
    std::size_t next() const;
    /// After an exchange: its way, the partners of the rank that has most, and the time that the exchange before took.
    void ended(std::size_t way, std::int64_t partners, time_ns before);

private:
    struct experience {
        std::array<time_ns, ways> time{};
        std::array<int, ways> tried{};
    };
    struct exchange {
        int partners;  // its logarithm
        std::size_t way;
    };

    std::map<int, experience> known_{};  // by the logarithm of the partners
    std::optional<exchange> last_{};     // its time is not known yet
};

}  // namespace rubato
