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
    result.reserve(counts.size() + 1);  // see copy_of
    for (const std::int64_t n : counts) result.push_back(narrow(n));
    return result;
}

/// Never at a null pointer: Open MPI refuses one even if there are no neighbours.
template <class To, class From>
std::vector<To> copy_of(std::span<const From> values) {
    std::vector<To> result;
    result.reserve(values.size() + 1);
    result.assign(values.begin(), values.end());
    return result;
}

struct narrow_counts {
    explicit narrow_counts(const call& c)
        : sends(narrow(c.send_count)),
          recvs(narrow(c.recv_count)),
          typed(!c.send_chunks.types.empty() || !c.recv_chunks.types.empty()),
          send_counts(narrow(c.send_chunks.counts)),
          recv_counts(narrow(c.recv_chunks.counts)) {
        if (typed) {
            send_types = copy_of<MPI_Datatype>(c.send_chunks.types);
            recv_types = copy_of<MPI_Datatype>(c.recv_chunks.types);
        }
        if (typed && traits(c.what).on_graph) {
            send_bytes = copy_of<MPI_Aint>(c.send_chunks.displacements);
            recv_bytes = copy_of<MPI_Aint>(c.recv_chunks.displacements);
        } else {
            send_places = narrow(c.send_chunks.displacements);
            recv_places = narrow(c.recv_chunks.displacements);
        }
    }

    int sends, recvs;
    bool typed;  ///< a w-form
    std::vector<int> send_counts, recv_counts;
    std::vector<int> send_places{}, recv_places{};
    std::vector<MPI_Aint> send_bytes{}, recv_bytes{};  ///< instead of these, of a w-form among neighbours
    std::vector<MPI_Datatype> send_types{}, recv_types{};
};

}  // namespace rubato::mpi
