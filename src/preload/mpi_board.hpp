// A director's board on MPI, with its own private communicator, so that its messages meet no others.
#pragma once

#include "direct/director.hpp"
#include "mpi/private_communicator.hpp"
#include "rubato/mpi.hpp"

#include <map>
#include <optional>

namespace rubato::preload {

class mpi_board final : public board {
public:
    /// Collective over `user`, for which `ours` was made. Without `network`, it is measured when first needed.
    mpi_board(MPI_Comm user, mpi::communicator& ours, std::optional<model> network)
        : comm_(user), ours_(ours), network_(network) {}
    /// Collective: completes what is under way.
    ~mpi_board() override;
    mpi_board(const mpi_board&) = delete;
    mpi_board& operator=(const mpi_board&) = delete;

    MPI_Comm comm() const { return comm_.get(); }

    std::uint64_t gather(std::span<const std::byte> mine) override;
    std::uint64_t tell(rank from, std::span<const std::byte> message) override;
    std::vector<std::byte> take(std::uint64_t ticket) override;
    void synchronise() override { ours_.synchronise(); }
    const model& network() override;
    time_ns now() override { return own_time(); }

private:
    struct exchange {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> mine{};
        std::vector<std::byte> all{};
    };

    mpi::private_communicator comm_;
    mpi::communicator& ours_;
    std::optional<model> network_;
    std::map<std::uint64_t, exchange> exchanges_{};
    std::uint64_t last_ = 0;
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace rubato::preload
