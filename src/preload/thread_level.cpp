#include "preload/thread_level.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace rubato::preload {
namespace {

struct launcher {
    const char* ranks;
    const char* on_this_host;
};
constexpr std::array launchers{
    launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},  // Open MPI's mpirun
    launcher{"PMI_SIZE", "MPI_LOCALNRANKS"},                         // hydra, of MPICH
};

std::optional<int> number(std::string_view text) {
    int n = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

}  // namespace

bool is_between_hosts(const environment& value_of) {
    for (const launcher& l : launchers) {
        const auto ranks = number(value_of(l.ranks));
        const auto here = number(value_of(l.on_this_host));
        if (ranks && here) return *ranks > *here;
    }
    // srun: after the others, as mpirun may have been started by it.
    return number(value_of("SLURM_STEP_NUM_NODES")).value_or(1) > 1;
}

bool raises_thread_level(const environment& value_of) {
    const std::string_view mode = value_of("RUBATO_MODE");
    const std::string_view background = value_of("RUBATO_BACKGROUND");
    if (background == "on") return !mode.empty() && mode != "observe";
    return (background.empty() || background == "auto") && mode == "auto" && is_between_hosts(value_of);
}

}  // namespace rubato::preload
