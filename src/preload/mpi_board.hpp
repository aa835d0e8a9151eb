// A director's board on MPI: a private communicator of its own, so that what is exchanged meets nothing else.
#pragma once

#include "direct/director.hpp"
#include "mpi/private_communicator.hpp"
#include "rubato/mpi.hpp"

#include <map>
#include <optional>

namespace rubato::preload {

class mpi_board final : public board {
public:
    /// Collective over `user`, for which `ours` was made.
    mpi_board(MPI_Comm user, mpi::communicator& ours) : comm_(user), ours_(ours) {}
    /// Collective: completes what is under way.
    ~mpi_board() override;
    mpi_board(const mpi_board&) = delete;
    mpi_board& operator=(const mpi_board&) = delete;

    MPI_Comm comm() const { return comm_.get(); }
    /// The network, where it need not be measured.
    void use(const std::optional<model>& network) { network_ = network; }

    std::uint64_t gather(std::span<const std::int64_t> mine) override;
    std::uint64_t tell(rank from, std::span<const std::int64_t> numbers) override;
    std::vector<std::int64_t> take(std::uint64_t ticket) override;
    void synchronise() override { ours_.synchronise(); }
    const model& network() override;
    time_ns now() override { return own_time(); }

private:
    struct exchange {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::int64_t> mine{};
        std::vector<std::int64_t> all{};
    };

    mpi::private_communicator comm_;
    mpi::communicator& ours_;
    std::optional<model> network_{};
    std::map<std::uint64_t, exchange> exchanges_{};
    std::uint64_t last_ = 0;
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace rubato::preload
