#include "bench/conditions.hpp"

#include "bench/world.hpp"
#include "mpi/datatype.hpp"
#include "rubato/clock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <mpi.h>

#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

namespace rubato::bench {
namespace {

std::string own_command() {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    if (!text.empty()) text.pop_back();
    std::ranges::replace(text, '\0', ' ');
    return text;
}

std::string cpu_name() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        for (const std::string_view key : {"model name", "CPU part"})
            if (line.starts_with(key)) {
                const auto at = line.find(':');
                return fmt::format("{}{}", key == "CPU part" ? "Arm part " : "", line.substr(at + 2));
            }
    return "unknown";
}

std::map<std::string, std::string> settings_of_mpi() {
    constexpr std::array<std::string_view, 5> prefixes{"OMPI_MCA_", "MPIR_CVAR_", "UCX_", "FI_", "RUBATO_"};
    // Variables that mpirun sets so that its processes find each other are not settings.
    constexpr std::array<std::string_view, 7> plumbing{"orte_", "ess",           "pmix",        "plm",
                                                       "oob",   "shmem_RUNTIME", "initial_wdir"};
    std::map<std::string, std::string> found;
    for (char** e = environ; *e != nullptr; ++e) {
        const std::string_view text(*e);
        const auto equals = text.find('=');
        for (const std::string_view prefix : prefixes) {
            if (!text.starts_with(prefix) || equals == std::string_view::npos) continue;
            const std::string_view rest = text.substr(prefix.size());
            if (std::ranges::none_of(plumbing, [rest](std::string_view p) { return rest.starts_with(p); }))
                found.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    return found;
}

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    mpi::check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    const std::string_view all(text.data());
    return std::string(all.substr(0, all.find('\n')));
}

std::vector<std::string> host_names() {
    constexpr int length = 64;
    std::array<char, length> mine{};
    gethostname(mine.data(), length - 1);
    int ranks = 1;
    mpi::check(MPI_Comm_size(world, &ranks), "MPI_Comm_size");
    std::vector<char> all(static_cast<std::size_t>(ranks) * length);
    mpi::check(MPI_Allgather(mine.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, world), "MPI_Allgather");
    std::vector<std::string> names;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) names.emplace_back(&all[r * length]);
    return names;
}

}  // namespace

results::conditions conditions_here() {
    results::conditions c;
    c.command = own_command();
    c.rubato = RUBATO_VERSION;
    c.compiler = __VERSION__;
    c.mpi = library_version();
    c.mpi_settings = settings_of_mpi();
    utsname system{};
    uname(&system);
    c.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
    c.cpu = cpu_name();
    c.cores = static_cast<std::int32_t>(std::thread::hardware_concurrency());
    c.hosts = host_names();
    c.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    return c;
}

}  // namespace rubato::bench
