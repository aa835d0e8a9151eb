// A call's counts as MPI's collectives take them.
#pragma once

#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <climits>

namespace rubato::mpi {

inline int narrow(std::int64_t count) {
    if (count < INT_MIN || count > INT_MAX)
        throw error(fmt::format("a count of {}", count), "the MPI library's collectives take 32 bits",
                    "use a larger datatype, or one of rubato's algorithms");
    return static_cast<int>(count);
}

inline std::vector<int> narrow(std::span<const std::int64_t> counts) {
    std::vector<int> result;
    result.reserve(counts.size() + 1);  // Open MPI refuses a null pointer even if there are no neighbours
    for (const std::int64_t n : counts) result.push_back(narrow(n));
    return result;
}

struct narrow_counts {
    explicit narrow_counts(const call& c)
        : sends(narrow(c.send_count)),
          recvs(narrow(c.recv_count)),
          send_counts(narrow(c.send_chunks.counts)),
          send_places(is_far(c) ? std::vector<int>{} : narrow(c.send_chunks.displacements)),
          recv_counts(narrow(c.recv_chunks.counts)),
          recv_places(is_far(c) ? std::vector<int>{} : narrow(c.recv_chunks.displacements)) {
        if (!is_far(c)) return;
        send_bytes.assign(c.send_chunks.displacements.begin(), c.send_chunks.displacements.end());
        recv_bytes.assign(c.recv_chunks.displacements.begin(), c.recv_chunks.displacements.end());
    }
    /// Of a w-form among neighbours MPI has wide displacements.
    static bool is_far(const call& c) { return traits(c.what).on_graph && !c.recv_chunks.types.empty(); }

    int sends, recvs;
    std::vector<int> send_counts, send_places, recv_counts, recv_places;
    std::vector<MPI_Aint> send_bytes{}, recv_bytes{};
};

}  // namespace rubato::mpi
