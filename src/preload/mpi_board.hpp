// A director's board on MPI.
#pragma once

#include "direct/director.hpp"
#include "rubato/mpi.hpp"

#include <map>
#include <optional>

namespace rubato::preload {

class mpi_board final : public board {
public:
    /// On the private communicator of `ours`. All ranks make its calls and the board's exchanges in the same order.
    /// Without `network`, it is measured when first needed.
    mpi_board(MPI_Comm comm, mpi::communicator& ours, std::optional<model> network)
        : comm_(comm), ours_(ours), is_given_(network.has_value()), network_(network) {}
    mpi_board(const mpi_board&) = delete;
    mpi_board& operator=(const mpi_board&) = delete;

    std::uint64_t gather(std::span<const std::byte> mine) override;
    std::uint64_t tell(rank from, std::span<const std::byte> message) override;
    std::vector<std::byte> take(std::uint64_t ticket) override;
    void synchronise() override { ours_.synchronise(); }
    const model& network() override;
    void doubt_network() override;
    /// Whether nothing is under way any more.
    bool is_quiet();
    time_ns now() override { return own_time(); }

private:
    struct exchange {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> mine{};
        std::vector<std::byte> all{};
    };

    MPI_Comm comm_;
    mpi::communicator& ours_;
    bool is_given_;
    std::optional<model> network_;
    std::map<std::uint64_t, exchange> exchanges_{};
    std::uint64_t last_ = 0;
};

}  // namespace rubato::preload
