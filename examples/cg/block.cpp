#include "cg/block.hpp"

#include "common/application.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cg {

block::block(const extents& whole, MPI_Comm world) {
    std::array<int, 3> ranks{};
    const std::array<int, 3> periods{};
    MPI_Dims_create(applications::size_of(world), 3, ranks.data());
    for (std::size_t d = 0; d < 3; ++d)
        if (whole[d] < ranks[d])
            throw rubato::error(fmt::format("a grid of {} x {} x {} points", whole[0], whole[1], whole[2]),
                                fmt::format("{} x {} x {} ranks each need a point", ranks[0], ranks[1], ranks[2]),
                                "give a larger --nx, --ny or --nz, or use fewer ranks");
    MPI_Cart_create(world, 3, ranks.data(), periods.data(), 0, &comm_);
    std::array<int, 3> mine{};
    MPI_Cart_coords(comm_, applications::rank_in(comm_), 3, mine.data());
    for (std::size_t d = 0; d < 3; ++d) {
        size_[d] = applications::share_of(whole[d], mine[d], ranks[d]).size();
        MPI_Cart_shift(comm_, static_cast<int>(d), 1, &neighbours_[2 * d], &neighbours_[2 * d + 1]);
    }
    stride_ = {(size_[1] + 2) * (size_[2] + 2), size_[2] + 2, 1};
}

block::~block() { MPI_Comm_free(&comm_); }

range block::inner() const { return {{2, 2, 2}, size_}; }

std::vector<range> block::border() const {
    // A face leaves out what is part of the faces of earlier dimensions.
    std::vector<range> all;
    range rest{{1, 1, 1}, {size_[0] + 1, size_[1] + 1, size_[2] + 1}};
    for (std::size_t d = 0; d < 3; ++d) {
        range first = rest;
        first.high[d] = 2;
        all.push_back(first);
        if (size_[d] == 1) return all;
        range last = rest;
        last.low[d] = size_[d];
        all.push_back(last);
        rest.low[d] = 2;
        rest.high[d] = size_[d];
    }
    return all;
}

range block::face(std::size_t f, std::int64_t at) const {
    range r{{1, 1, 1}, {size_[0] + 1, size_[1] + 1, size_[2] + 1}};
    r.low[f / 2] = at;
    r.high[f / 2] = at + 1;
    return r;
}

halo::halo(const block& b) : block_(b) {
    std::int64_t all = 0;
    for (std::size_t f = 0; f < 6; ++f) {
        counts_[f] = b.neighbour(f) == MPI_PROC_NULL ? 0 : b.points() / b.size()[f / 2];
        places_[f] = all;
        all += counts_[f];
    }
    sent_.resize(static_cast<std::size_t>(all));
    received_.resize(static_cast<std::size_t>(all));
}

void halo::pack(const std::vector<double>& data) {
    double* to = sent_.data();
    for (std::size_t f = 0; f < 6; ++f) {
        if (counts_[f] == 0) continue;
        const range r = block_.own_face(f);
        each_row(r, [&](std::int64_t i, std::int64_t j) {
            to = std::copy_n(&data[static_cast<std::size_t>(block_.at(i, j, r.low[2]))], r.high[2] - r.low[2], to);
        });
    }
}

void halo::unpack(std::vector<double>& data) const {
    const double* from = received_.data();
    for (std::size_t f = 0; f < 6; ++f) {
        if (counts_[f] == 0) continue;
        const range r = block_.layer(f);
        each_row(r, [&](std::int64_t i, std::int64_t j) {
            std::copy_n(from, r.high[2] - r.low[2], &data[static_cast<std::size_t>(block_.at(i, j, r.low[2]))]);
            from += r.high[2] - r.low[2];
        });
    }
}

void halo::start(applications::collectives& how, const std::vector<double>& data) {
    pack(data);
    const rubato::mpi::chunks faces{counts_, places_};
    under_way_ = how.start(
        rubato::mpi::call::neighbor_alltoallv(sent_.data(), faces, MPI_DOUBLE, received_.data(), faces, MPI_DOUBLE));
}

void halo::finish(std::vector<double>& data) {
    under_way_.wait();
    unpack(data);
}

void halo::exchange(std::vector<double>& data) {
    pack(data);
    // What goes to the rank before comes from the rank behind, and the other way round.
    for (std::size_t f = 0; f < 6; ++f) {
        const std::size_t from = f ^ 1U;
        MPI_Sendrecv(sent_.data() + places_[f], static_cast<int>(counts_[f]), MPI_DOUBLE, block_.neighbour(f), 0,
                     received_.data() + places_[from], static_cast<int>(counts_[from]), MPI_DOUBLE,
                     block_.neighbour(from), 0, block_.comm(), MPI_STATUS_IGNORE);
    }
    unpack(data);
}

}  // namespace cg
