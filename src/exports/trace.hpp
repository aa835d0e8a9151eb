// What a program called, call by call on one time line: from every call that was kept, or from the samples of an
// observation.
#pragma once

#include "observe/observation.hpp"

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace rubato::exports {

struct traced_communicator {
    std::vector<std::int32_t> members{};  ///< ranks in the world
    std::uint32_t ordinal = 0;            ///< among those with the same members
};

struct traced_call {
    time_ns arrival{};  ///< since the trace's beginning, on the common clock
    time_ns exit{};
    std::int64_t bytes = 0;
    std::uint64_t invocation = 0;  ///< among the calls of the communicator; or observe::no_invocation
    std::uint32_t communicator = 0;
    std::uint32_t place = 0;
    std::int32_t root = 0;
    collective what = collective::barrier;
    observe::form how = observe::form::blocking;
};

struct trace {
    std::string program{};
    std::string library{};
    std::vector<std::string> hosts{};  ///< of each rank
    std::vector<traced_communicator> communicators{};
    std::vector<std::string> places{};
    std::uint64_t calls = 0;    ///< of all ranks, that the program made
    std::uint64_t missing = 0;  ///< of these, not in the trace
    bool ended = true;          ///< false: the program was ended, or runs
    /// In the order of their arrivals. Read when they are asked for: one rank's fit into memory, all may not.
    std::function<std::vector<traced_call>(std::int32_t rank)> calls_of{};

    std::int32_t ranks() const { return static_cast<std::int32_t>(hosts.size()); }
};

/// FILE.calls of an observation, what a program that did not end has left in FILE.parts, or else what the observation
/// has of single calls. Throws if the file cannot be read.
trace read_trace(const std::filesystem::path& file);

/// "MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init" for a persistent one.
std::string function_of(collective what, observe::form how);

}  // namespace rubato::exports
