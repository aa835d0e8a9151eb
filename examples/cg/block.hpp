// One rank's block of a grid that is cut in three dimensions, with a layer of its neighbours' points around it.
#pragma once

#include "common/collectives.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace cg {

using extents = std::array<std::int64_t, 3>;
/// Points from `low` to before `high`; the block's own are counted from 1 on, 0 and size + 1 are the layer.
struct range {
    extents low;
    extents high;
};

/// Who has which block. Ranks are arranged as MPI_Dims_create has it.
class block {
public:
    /// Throws if there are fewer points than ranks in a dimension.
    block(const extents& whole, MPI_Comm world);
    ~block();
    block(const block&) = delete;
    block& operator=(const block&) = delete;

    MPI_Comm comm() const { return comm_; }
    const extents& size() const { return size_; }
    std::int64_t points() const { return size_[0] * size_[1] * size_[2]; }
    /// Of an array with a place for each point, layer included; the last dimension is contiguous.
    std::size_t places() const { return static_cast<std::size_t>(stride_[0] * (size_[0] + 2)); }
    std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k) const {
        return i * stride_[0] + j * stride_[1] + k;
    }
    const extents& stride() const { return stride_; }

    /// The points that need no neighbour's, and the others, by faces.
    range inner() const;
    std::vector<range> border() const;
    /// Faces in the order of MPI's neighbours: for each dimension the one before and the one behind.
    range own_face(std::size_t f) const { return face(f, f % 2 == 0 ? 1 : size_[f / 2]); }
    range layer(std::size_t f) const { return face(f, f % 2 == 0 ? 0 : size_[f / 2] + 1); }
    /// The rank behind a face; MPI_PROC_NULL at the border of the grid.
    int neighbour(std::size_t f) const { return neighbours_[f]; }

private:
    range face(std::size_t f, std::int64_t at) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    extents size_{};
    extents stride_{};
    std::array<int, 6> neighbours_{};
};

template <class F>
void each_row(const range& r, F&& row) {
    for (std::int64_t i = r.low[0]; i < r.high[0]; ++i)
        for (std::int64_t j = r.low[1]; j < r.high[1]; ++j) row(i, j);
}

/// The neighbour exchange: its buffers, and one call.
class halo {
public:
    explicit halo(const block& b);
    /// Begins to send the faces of `data` to the neighbours.
    void start(applications::collectives& how, const std::vector<double>& data);
    /// Waits, and stores theirs in the layer of `data`.
    void finish(std::vector<double>& data);
    /// The same by messages, to check the other.
    void exchange(std::vector<double>& data);

private:
    void pack(const std::vector<double>& data);
    void unpack(std::vector<double>& data) const;

    const block& block_;
    std::array<std::int64_t, 6> counts_{};
    std::array<std::int64_t, 6> places_{};
    std::vector<double> sent_, received_;
    applications::started under_way_{};
};

}  // namespace cg
