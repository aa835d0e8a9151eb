// Sparse exchanges on a communicator.
#pragma once

#include "engine/execute/sparse_exchange.hpp"
#include "engine/mpi/mpi_transport.hpp"
#include "rubato/mpi.hpp"

namespace rubato::engine {

/// What the exchanges of a communicator have in common. One at a time.
class sparse_exchanges {
public:
    /// Messages go over `comm`, a communicator of ours, by tags of no operation.
    sparse_exchanges(MPI_Comm comm, tag_layout tags) : comm_(comm), tags_(tags) {}

    /// `on` makes the collectives that are needed.
    std::vector<mpi::sparse_receipt> run(mpi::communicator& on, std::span<const mpi::sparse_send> sends,
                                         mpi::sparse_way how);

private:
    class mpi_post;

    /// Told in every exchange, as the largest of all ranks.
    struct told {
        std::int64_t partners;
        std::int64_t bytes;
        std::int64_t came;  ///< to the exchange before
        std::int64_t left;
    };
    static mpi::request start_telling(mpi::communicator& on, told& mine);

    std::vector<mpi::sparse_receipt> make(mpi::communicator& on, std::span<const mpi::sparse_send> sends,
                                          mpi::sparse_way how);
    std::vector<mpi::sparse_receipt> by_consensus(mpi::communicator& on, std::span<const mpi::sparse_send> sends,
                                                  told& mine);
    std::vector<mpi::sparse_receipt> by_counts(mpi::communicator& on, std::span<const mpi::sparse_send> sends);
    static std::vector<mpi::sparse_receipt> by_alltoall(mpi::communicator& on, std::span<const mpi::sparse_send> sends);
    /// Of this exchange: two in a row have different ones.
    int tag() const { return tags_.beside(4 + static_cast<int>(number_ % 2)); }

    MPI_Comm comm_;
    tag_layout tags_;
    std::uint64_t number_ = 0;
    sparse_choice choice_{};
    time_ns came_{};  // to the last exchange, on the common clock
    time_ns left_{};
};

}  // namespace rubato::engine
