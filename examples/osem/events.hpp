// Events of a scanner, and the rows of the system matrix that belong to them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace osem {

/// A voxel that a line crosses, and how long the line is within it.
struct crossing {
    std::int32_t voxel = 0;
    double length = 0;
};
using row = std::vector<crossing>;

/// The image is a cube of `size` x `size` x `size` voxels of length 1.
std::int64_t voxels(int size);

/// The row of an event: a line through a point near the source, in any direction. The same for the same number.
row make_row(std::int64_t event, int size);

/// Adds to `correction` what the event tells of an image: A_i^T / (A_i f).
void project(const row& r, const std::vector<double>& image, std::vector<double>& correction);

/// The next image, element by element; `sensitivity` is the sum of all rows.
void correct(std::vector<double>& image, const std::vector<double>& correction, const std::vector<double>& sensitivity);

}  // namespace osem
