// How long it takes to export a long trace, and how much memory: a million calls that a recorder has kept.
//
//     build/bench/export_trace build/rubato FOLDER
#include "dropin/observe/observation.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::int32_t ranks = 16;
constexpr std::int64_t calls = 1'000'000;
constexpr double longest_seconds = 10;
constexpr double most_mebibytes = 1024;

void record(const fs::path& file) {
    std::vector<dropin::part> parts;
    std::vector<std::int32_t> all;
    for (std::int32_t r = 0; r < ranks; ++r) all.push_back(r);
    for (std::int32_t r = 0; r < ranks; ++r) {
        dropin::recorder to(file, {r, ranks, "solver", fmt::format("n{}", r / 4), "an MPI"},
                            {.every_call = std::size_t{1} << 30});
        to.common_time({}, {});
        dropin::recorder::channel& world = to.open(all);
        for (std::int64_t i = 0; i < calls / ranks; ++i) {
            const time_ns at = 20us * i + 100ns * ((r + i) % ranks);
            world.record({i % 3 == 0 ? collective::bcast : collective::allreduce, dropin::form::blocking, 0,
                          8 << (i % 8), reinterpret_cast<const void*>(&record), at, at + 5us});
        }
        parts.push_back(dropin::decode(to.bytes()).value());
        to.finish();
    }
    dropin::write(dropin::summarise(parts), file);
}

struct took {
    double seconds;
    double mebibytes;  ///< at most, of memory
    int status;
};

took run(const std::vector<std::string>& command) {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) {
        std::vector<char*> words;
        for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
        words.push_back(nullptr);
        execv(words[0], words.data());
        _exit(127);
    }
    int status = -1;
    rusage used{};
    wait4(child, &status, 0, &used);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return {time.count(), static_cast<double>(used.ru_maxrss) / 1024, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

double mebibytes_in(const fs::path& place) {
    if (!fs::is_directory(place)) return static_cast<double>(fs::file_size(place)) / (1 << 20);
    double sum = 0;
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(place))
        if (e.is_regular_file()) sum += static_cast<double>(e.file_size()) / (1 << 20);
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "export_trace: give the command rubato, and a folder\n");
        return 2;
    }
    const fs::path folder = fs::path(argv[2]) / "export_trace";
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string file = folder / "run.rubato";
    record(file);
    bool good = true;
    fmt::print("{} calls of {} ranks\n{:<12} {:>8} {:>12} {:>10}\n", calls, ranks, "format", "s", "memory, MiB", "MiB");
    for (const std::string format : {"otf2", "perfetto", "csv", "prometheus", "goal"}) {
        const std::string output = folder / format;
        const took t = run({argv[1], "export", file, "--format", format, "-o", output});
        fmt::print("{:<12} {:>8.2f} {:>12.0f} {:>10.1f}\n", format, t.seconds, t.mebibytes, mebibytes_in(output));
        good = good && t.status == 0 && t.seconds < longest_seconds && t.mebibytes < most_mebibytes;
    }
    for (const auto& [from, name] : {std::pair{"otf2", "otf2"}, std::pair{"csv", "csv"}}) {
        const took t = run({argv[1], "import", folder / from, "--format", name, "-o", folder / "back.rubato"});
        fmt::print("{:<12} {:>8.2f} {:>12.0f}\n", fmt::format("{}, read", name), t.seconds, t.mebibytes);
        good = good && t.status == 0;
    }
    fs::remove_all(folder);
    return good ? 0 : 1;
}
