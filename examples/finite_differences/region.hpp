// Points of a grid within an irregular region, cut into parts of equal size, and what a part needs of others.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace finite_differences {

/// So many points in each direction are in the stencil.
inline constexpr int reach = 4;
inline constexpr std::size_t stencil_size = std::size_t{6} * reach;

struct point {
    std::array<int, 3> at{};
};

/// Another part that shares a border with this one. Both list the points that they exchange in the same order.
struct neighbour {
    int part = 0;
    std::vector<std::int32_t> sent{};  ///< places of own points
    std::int32_t first_ghost = 0;      ///< place of the first point that comes from there
    std::int32_t ghosts = 0;
};

/// Two balls that overlap, in a cube of n x n x n points. A part has places for its own points, first those whose
/// stencil is within it; then for points of others; and one for all that is outside of the region.
class region {
public:
    /// Throws if there are fewer points than parts.
    region(int n, int part, int parts);

    std::size_t own() const { return numbers_.size(); }
    std::size_t inner() const { return inner_; }
    std::size_t places() const { return places_; }
    /// The number of an own point in the whole region.
    std::int32_t number(std::size_t place) const { return numbers_[place]; }
    const point& at(std::size_t place) const { return points_[static_cast<std::size_t>(numbers_[place])]; }
    /// The places of the points in the stencil of an own point: the nearest ones in all six directions first.
    const std::array<std::int32_t, stencil_size>& around(std::size_t place) const { return around_[place]; }
    const std::vector<neighbour>& neighbours() const { return neighbours_; }

private:
    void find_points(int n);
    void cut(std::vector<std::int32_t> numbers, int first, int parts);
    std::vector<std::int32_t> stencil_of(std::int32_t number) const;
    void find_own(int part);
    void find_neighbours(int part);

    int n_;
    std::vector<point> points_{};          // of the whole region, by number
    std::vector<std::int32_t> at_{};       // numbers of the points of the cube; -1 outside
    std::vector<int> part_of_{};           // by number
    std::vector<std::int32_t> numbers_{};  // of own points
    std::size_t inner_ = 0;
    std::size_t places_ = 0;
    std::vector<std::array<std::int32_t, stencil_size>> around_{};
    std::vector<neighbour> neighbours_{};
};

}  // namespace finite_differences
