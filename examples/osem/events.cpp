#include "osem/events.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace osem {

std::int64_t voxels(int size) { return std::int64_t{size} * size * size; }

row make_row(std::int64_t event, int size) {
    std::mt19937 random(static_cast<std::uint32_t>(event));
    std::normal_distribution<double> normal;
    // The line is point + t * direction.
    std::array<double, 3> point{};
    std::array<double, 3> direction{};
    for (std::size_t d = 0; d < 3; ++d) {
        point[d] = std::clamp(size * (0.4 + 0.08 * static_cast<double>(d) + 0.05 * normal(random)), 0.1, size - 0.1);
        direction[d] = normal(random);
    }
    const double norm = std::hypot(direction[0], direction[1], direction[2]);
    // Where it crosses the planes between voxels, and enters and leaves the image.
    std::vector<double> crossings;
    double enter = -1e9;
    double leave = 1e9;
    for (std::size_t d = 0; d < 3; ++d) {
        direction[d] /= norm;
        const double first = -point[d] / direction[d];
        const double last = (size - point[d]) / direction[d];
        enter = std::max(enter, std::min(first, last));
        leave = std::min(leave, std::max(first, last));
        for (int plane = 0; plane <= size; ++plane) crossings.push_back((plane - point[d]) / direction[d]);
    }
    std::erase_if(crossings, [&](double t) { return t < enter || t > leave; });
    std::ranges::sort(crossings);
    row r;
    for (std::size_t c = 1; c < crossings.size(); ++c) {
        const double length = crossings[c] - crossings[c - 1];
        const double middle = (crossings[c] + crossings[c - 1]) / 2;
        std::int64_t voxel = 0;
        for (std::size_t d = 0; d < 3; ++d) {
            const auto at = static_cast<std::int64_t>(point[d] + middle * direction[d]);
            voxel = voxel * size + std::clamp<std::int64_t>(at, 0, size - 1);
        }
        if (length > 0) r.push_back({static_cast<std::int32_t>(voxel), length});
    }
    return r;
}

void project(const row& r, const std::vector<double>& image, std::vector<double>& correction) {
    double seen = 0;
    for (const crossing& c : r) seen += c.length * image[static_cast<std::size_t>(c.voxel)];
    if (seen <= 0) return;
    for (const crossing& c : r) correction[static_cast<std::size_t>(c.voxel)] += c.length / seen;
}

void correct(std::vector<double>& image, const std::vector<double>& correction,
             const std::vector<double>& sensitivity) {
    for (std::size_t v = 0; v < image.size(); ++v)
        image[v] = sensitivity[v] > 0 ? image[v] * correction[v] / sensitivity[v] : 0;
}

}  // namespace osem
