#include "command/experiments/world.hpp"

#include "engine/mpi/datatype.hpp"
#include "engine/mpi/process_topology.hpp"
#include "rubato/clock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

namespace rubato::command {
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

std::vector<std::string> host_names() {
    constexpr int length = 64;
    std::array<char, length> mine{};
    gethostname(mine.data(), length - 1);
    std::vector<char> all(static_cast<std::size_t>(count_ranks()) * length);
    engine::check(MPI_Allgather(mine.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, world), "MPI_Allgather");
    std::vector<std::string> names;
    for (std::size_t at = 0; at < all.size(); at += length) names.emplace_back(&all[at]);
    return names;
}

}  // namespace

neighbourhood::neighbourhood(const std::string& graph_text) {
    if (graph_text.empty()) return;
    world = engine::with_neighbours(MPI_COMM_WORLD, graph_text);
    engine::check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

neighbourhood::~neighbourhood() {
    if (world != MPI_COMM_WORLD) MPI_Comm_free(&world);
    world = MPI_COMM_WORLD;
}

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    engine::check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    const std::string_view all(text.data());
    return std::string(all.substr(0, all.find('\n')));
}

reports::conditions conditions_here() {
    reports::conditions c;
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

int own_rank() {
    int me = 0;
    engine::check(MPI_Comm_rank(world, &me), "MPI_Comm_rank");
    return me;
}

int count_ranks() {
    int ranks = 1;
    engine::check(MPI_Comm_size(world, &ranks), "MPI_Comm_size");
    return ranks;
}

std::int64_t among_ranks(std::int64_t mine, MPI_Op op) {
    engine::check(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, op, world), "MPI_Allreduce");
    return mine;
}

std::string said_by_one(const std::string& mine) {
    const int none = count_ranks();
    const int first = static_cast<int>(among_ranks(mine.empty() ? none : own_rank(), MPI_MIN));
    if (first == none) return {};
    auto length = static_cast<int>(mine.size());
    engine::check(MPI_Bcast(&length, 1, MPI_INT, first, world), "MPI_Bcast");
    std::string text = mine;
    text.resize(static_cast<std::size_t>(length));
    engine::check(MPI_Bcast(text.data(), length, MPI_CHAR, first, world), "MPI_Bcast");
    return text;
}

void throw_together(const std::function<void()>& what) {
    std::string trouble;
    try {
        what();
    } catch (const error& e) {
        trouble = e.what();
    }
    trouble = said_by_one(trouble);
    if (!trouble.empty()) throw error(trouble);
}

}  // namespace rubato::command
