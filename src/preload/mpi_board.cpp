#include "preload/mpi_board.hpp"

#include "mpi/datatype.hpp"
#include "preload/network.hpp"

namespace rubato::preload {

using mpi::check;

std::uint64_t mpi_board::gather(std::span<const std::byte> mine) {
    exchange& e = exchanges_[++last_];
    e.mine.assign(mine.begin(), mine.end());
    e.all.resize(mine.size() * static_cast<std::size_t>(ours_.size()));
    const int n = static_cast<int>(mine.size());
    check(PMPI_Iallgather(e.mine.data(), n, MPI_BYTE, e.all.data(), n, MPI_BYTE, comm_, &e.request), "MPI_Iallgather");
    return last_;
}

std::uint64_t mpi_board::tell(rank from, std::span<const std::byte> message) {
    exchange& e = exchanges_[++last_];
    e.all.assign(message.begin(), message.end());
    check(PMPI_Ibcast(e.all.data(), static_cast<int>(e.all.size()), MPI_BYTE, from.value, comm_, &e.request),
          "MPI_Ibcast");
    return last_;
}

std::vector<std::byte> mpi_board::take(std::uint64_t ticket) {
    const auto found = exchanges_.find(ticket);
    check(PMPI_Wait(&found->second.request, MPI_STATUS_IGNORE), "MPI_Wait");
    std::vector<std::byte> all = std::move(found->second.all);
    exchanges_.erase(found);
    return all;
}

bool mpi_board::is_quiet() {
    while (!exchanges_.empty()) {
        int done = 0;
        check(PMPI_Test(&exchanges_.begin()->second.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) return false;
        exchanges_.erase(exchanges_.begin());
    }
    return true;
}

const model& mpi_board::network() {
    if (!network_) network_ = network_of(comm_, ours_.hosts());
    return *network_;
}

void mpi_board::doubt_network() {
    if (is_given_) return;
    network_.reset();
    preload::doubt_network(ours_.hosts());
}

}  // namespace rubato::preload
