// Collects bytes of all ranks of a communicator of ours on rank 0.
#pragma once

#include "engine/mpi/private_communicator.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <vector>

namespace rubato::dropin {

inline constexpr std::size_t piece_of_bytes = std::size_t{1} << 20;

inline void send_bytes(MPI_Comm comm, std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    engine::check(PMPI_Send(&size, 1, MPI_UINT64_T, 0, 0, comm), "MPI_Send");
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece_of_bytes, bytes.size())))
        engine::check(
            PMPI_Send(bytes.data(), static_cast<int>(std::min(piece_of_bytes, bytes.size())), MPI_BYTE, 0, 0, comm),
            "MPI_Send");
}

inline std::vector<std::byte> receive_bytes(MPI_Comm comm, int from, std::vector<std::byte>& buffer) {
    std::uint64_t left = 0;
    engine::check(PMPI_Recv(&left, 1, MPI_UINT64_T, from, 0, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    std::vector<std::byte> all;
    bool has_room = true;
    try {
        all.reserve(left);
    } catch (const std::bad_alloc&) {
        has_room = false;  // the bytes must still be received, or the sender would wait
    }
    while (left > 0) {
        const std::size_t now = std::min<std::uint64_t>(piece_of_bytes, left);
        engine::check(PMPI_Recv(buffer.data(), static_cast<int>(now), MPI_BYTE, from, 0, comm, MPI_STATUS_IGNORE),
                      "MPI_Recv");
        if (has_room) all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(now));
        left -= now;
    }
    return all;
}

/// All ranks' bytes on rank 0, nothing on others. Collective. Bytes for which rank 0 has no memory are left out.
inline std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, std::span<const std::byte> mine) {
    if (engine::rank_in(comm) != 0) {
        send_bytes(comm, mine);
        return {};
    }
    const int ranks = engine::size_of(comm);
    std::vector<std::byte> buffer(piece_of_bytes);
    std::vector<std::vector<std::byte>> all;
    all.emplace_back(mine.begin(), mine.end());
    for (int from = 1; from < ranks; ++from) all.push_back(receive_bytes(comm, from, buffer));
    return all;
}

}  // namespace rubato::dropin
