#include "finite_differences/region.hpp"

#include "rubato/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace finite_differences {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

region::region(int n, int part, int parts) : n_(n) {
    find_points(n);
    if (points_.size() < index(parts))
        throw rubato::error(fmt::format("{} points for {} ranks", points_.size(), parts), "each rank needs one",
                            "give a larger --size, or use fewer ranks");
    std::vector<std::int32_t> all(points_.size());
    std::iota(all.begin(), all.end(), 0);
    part_of_.resize(all.size());
    cut(std::move(all), 0, parts);
    find_own(part);
    find_neighbours(part);
}

void region::find_points(int n) {
    at_.assign(index(n) * index(n) * index(n), -1);
    const double radius = 0.35 * n;
    const auto within = [&](const point& p, double center) {
        double square = 0;
        for (const int c : p.at) square += (c + 0.5 - center) * (c + 0.5 - center);
        return square <= radius * radius;
    };
    std::size_t place = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int k = 0; k < n; ++k, ++place) {
                const point p{{i, j, k}};
                if (!within(p, 0.36 * n) && !within(p, 0.64 * n)) continue;
                at_[place] = static_cast<std::int32_t>(points_.size());
                points_.push_back(p);
            }
}

/// Recursive bisection: across the dimension in which the points extend farthest.
void region::cut(std::vector<std::int32_t> numbers, int first, int parts) {
    if (parts == 1) {
        for (const std::int32_t number : numbers) part_of_[index(number)] = first;
        return;
    }
    std::size_t longest = 0;
    int most = -1;
    for (std::size_t d = 0; d < 3; ++d) {
        const auto [low, high] =
            std::ranges::minmax(numbers, {}, [&](std::int32_t number) { return points_[index(number)].at[d]; });
        const int extent = points_[index(high)].at[d] - points_[index(low)].at[d];
        if (extent <= most) continue;
        most = extent;
        longest = d;
    }
    std::ranges::sort(numbers, {},
                      [&](std::int32_t number) { return std::pair(points_[index(number)].at[longest], number); });
    const int half = parts / 2;
    const auto middle = numbers.begin() + std::ssize(numbers) * half / parts;
    cut({numbers.begin(), middle}, first, half);
    cut({middle, numbers.end()}, first + half, parts - half);
}

/// Numbers, -1 outside.
std::vector<std::int32_t> region::stencil_of(std::int32_t number) const {
    std::vector<std::int32_t> numbers;
    for (int distance = 1; distance <= reach; ++distance)
        for (std::size_t d = 0; d < 3; ++d)
            for (const int to : {-distance, distance}) {
                point p = points_[index(number)];
                p.at[d] += to;
                const bool inside = p.at[d] >= 0 && p.at[d] < n_;
                numbers.push_back(inside ? at_[index((p.at[0] * n_ + p.at[1]) * n_ + p.at[2])] : -1);
            }
    return numbers;
}

void region::find_own(int part) {
    std::vector<std::int32_t> border;
    for (std::int32_t number = 0; number < std::ssize(points_); ++number) {
        if (part_of_[index(number)] != part) continue;
        const bool is_inner = std::ranges::all_of(
            stencil_of(number), [&](std::int32_t other) { return other < 0 || part_of_[index(other)] == part; });
        (is_inner ? numbers_ : border).push_back(number);
    }
    inner_ = numbers_.size();
    numbers_.insert(numbers_.end(), border.begin(), border.end());
}

/// Stencils are symmetric: a part sends the points that have a point of the other part in their stencil. Both sides
/// sort them by number.
void region::find_neighbours(int part) {
    std::map<std::int32_t, std::int32_t> place_of;  // by number
    for (std::size_t place = 0; place < own(); ++place) place_of[numbers_[place]] = static_cast<std::int32_t>(place);
    std::map<int, std::set<std::int32_t>> sent;
    std::map<int, std::set<std::int32_t>> ghosts;
    for (std::size_t place = inner_; place < own(); ++place)
        for (const std::int32_t other : stencil_of(numbers_[place])) {
            if (other < 0 || part_of_[index(other)] == part) continue;
            sent[part_of_[index(other)]].insert(numbers_[place]);
            ghosts[part_of_[index(other)]].insert(other);
        }
    auto next = static_cast<std::int32_t>(own());
    for (const auto& [other, numbers] : ghosts) {
        neighbour n{.part = other, .first_ghost = next, .ghosts = static_cast<std::int32_t>(numbers.size())};
        for (const std::int32_t number : sent[other]) n.sent.push_back(place_of[number]);
        for (const std::int32_t number : numbers) place_of[number] = next++;
        neighbours_.push_back(std::move(n));
    }
    const std::int32_t outside = next;
    places_ = index(outside) + 1;
    for (const std::int32_t number : numbers_) {
        auto& around = around_.emplace_back();
        std::ranges::transform(stencil_of(number), around.begin(),
                               [&](std::int32_t other) { return other < 0 ? outside : place_of[other]; });
    }
}

}  // namespace finite_differences
