// Which share of a cable's rate each of several transfers gets: progressive filling. All rates grow together until a
// channel is full; the transfers on it keep their rates, and the others go on.
#pragma once

#include "topology/cabling.hpp"

namespace rubato::topology {

class RUBATO_API fair_shares {
public:
    /// Every channel has rate 1.
    explicit fair_shares(channel channels) : left_(channels, 1), count_(channels, 0), first_(channels) {}

    /// Of each path, its rate, at most 1; of one without channels 1. They share what those of earlier calls have left.
    const std::vector<double>& of(std::span<const std::span<const channel>> paths);
    /// All channels are empty again.
    void reset();

private:
    struct candidate {
        double share;
        channel c;
        bool operator>(const candidate& other) const { return share > other.share; }
    };

    std::vector<double> rates_{};
    std::vector<double> left_;          // of a channel's rate
    std::vector<std::uint32_t> count_;  // paths on it whose rate still grows
    std::vector<std::uint32_t> first_;  // of its paths in on_
    std::vector<channel> used_{};
    std::vector<channel> taken_{};  // in earlier calls, perhaps several times
    std::vector<std::uint32_t> on_{};
    std::vector<candidate> heap_{};
};

}  // namespace rubato::topology
