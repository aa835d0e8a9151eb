// rubato tune under mpirun: rank 0 hands out the pieces of work, one to whoever asks, and does some itself.
#include "cli/tune.hpp"

#include "cli/command.hpp"
#include "mpi/datatype.hpp"

#include <fmt/format.h>

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace rubato::cli {
namespace {

using namespace std::chrono_literals;

constexpr int asks = 1;    // to rank 0: number and result of the piece that was done, or -1
constexpr int answer = 2;  // from rank 0: number of the next piece, or -1

/// So many ranks were started by mpirun; 1 without it.
int started_ranks() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
        if (const char* text = std::getenv(name)) return std::atoi(text);
    return 1;
}

/// A piece that could not be done is its number and a text that begins so.
constexpr char failed = '!';

std::string done(std::size_t i, const std::function<std::string(std::size_t)>& work) {
    try {
        return work(i);
    } catch (const std::exception& e) {
        return failed + std::string(e.what());
    }
}

/// The pieces that are left and those that are done. For two threads.
class desk {
public:
    explicit desk(std::size_t count) : results_(count) {}

    std::int64_t next() {
        const std::lock_guard lock(mutex_);
        return next_ < results_.size() ? static_cast<std::int64_t>(next_++) : -1;
    }
    void take(std::int64_t i, std::string result) {
        const std::lock_guard lock(mutex_);
        results_[static_cast<std::size_t>(i)] = std::move(result);
        ++done_;
    }
    std::size_t done_so_far() {
        const std::lock_guard lock(mutex_);
        return done_;
    }
    /// Throws if a piece could not be done.
    std::vector<std::string> results() {
        for (const std::string& r : results_)
            if (r.starts_with(failed)) throw error(r.substr(1));
        return std::move(results_);
    }

private:
    std::mutex mutex_{};
    std::size_t next_ = 0;
    std::size_t done_ = 0;
    std::vector<std::string> results_;
};

/// Shows the progress on a terminal after two seconds.
class progress {
public:
    explicit progress(std::size_t count) : count_(count) {}
    ~progress() {
        if (shown_) fmt::print(stderr, "\r\033[K");
    }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void show(std::size_t done) {
        const auto passed = std::chrono::steady_clock::now() - start_;
        if (isatty(STDERR_FILENO) == 0 || passed < 2s || passed - last_ < 200ms) return;
        last_ = passed;
        shown_ = true;
        fmt::print(stderr, "\r\033[K{} % tuned, {} s", 100 * done / std::max<std::size_t>(1, count_), passed / 1s);
    }

private:
    std::size_t count_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration last_{};
    bool shown_ = false;
};

/// Sleeps until somebody asks, so that the thread that works has the core.
bool serve_one(desk& work, int& helpers) {
    MPI_Status status{};
    int there = 0;
    mpi::check(MPI_Iprobe(MPI_ANY_SOURCE, asks, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
    if (there == 0) return false;
    int length = 0;
    mpi::check(MPI_Get_count(&status, MPI_CHAR, &length), "MPI_Get_count");
    std::string text(static_cast<std::size_t>(length), ' ');
    mpi::check(MPI_Recv(text.data(), length, MPI_CHAR, status.MPI_SOURCE, asks, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
               "MPI_Recv");
    const std::size_t space = text.find(' ');
    const std::int64_t finished = std::stoll(text.substr(0, space));
    if (finished >= 0) work.take(finished, text.substr(space + 1));
    const std::int64_t next = work.next();
    mpi::check(MPI_Send(&next, 1, MPI_INT64_T, status.MPI_SOURCE, answer, MPI_COMM_WORLD), "MPI_Send");
    if (next < 0) --helpers;
    return true;
}

std::vector<std::string> lead(std::size_t count, const std::function<std::string(std::size_t)>& work) {
    desk pieces(count);
    progress shown(count);
    int helpers = 0;
    mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &helpers), "MPI_Comm_size");
    --helpers;
    {
        const std::jthread own([&] {
            for (std::int64_t i = pieces.next(); i >= 0; i = pieces.next())
                pieces.take(i, done(static_cast<std::size_t>(i), work));
        });
        while (helpers > 0 || pieces.done_so_far() < count) {
            if (!serve_one(pieces, helpers)) std::this_thread::sleep_for(200us);
            shown.show(pieces.done_so_far());
        }
    }
    return pieces.results();
}

void help(const std::function<std::string(std::size_t)>& work) {
    std::string text = "-1 ";
    for (;;) {
        mpi::check(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, asks, MPI_COMM_WORLD), "MPI_Send");
        std::int64_t next = -1;
        mpi::check(MPI_Recv(&next, 1, MPI_INT64_T, 0, answer, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
        if (next < 0) return;
        text = fmt::format("{} {}", next, done(static_cast<std::size_t>(next), work));
    }
}

int own_rank() {
    int me = 0;
    mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &me), "MPI_Comm_rank");
    return me;
}

/// Collective: the first rank on which something is wrong; nothing if there is none.
std::optional<int> first_wrong(bool here) {
    int first = here ? own_rank() : std::numeric_limits<int>::max();
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
    return first == std::numeric_limits<int>::max() ? std::nullopt : std::optional(first);
}

/// Returns the exit status.
int run_on_ranks(const std::function<void(const work_sharing&)>& tune) {
    bool met = false;  // all ranks have something to do
    try {
        tune([&met](std::size_t count,
                    const std::function<std::string(std::size_t)>& work) -> std::optional<std::vector<std::string>> {
            met = true;
            if (first_wrong(false)) throw error("");  // a rank says what it is
            if (own_rank() == 0) return lead(count, work);
            help(work);
            return std::nullopt;
        });
        return 0;
    } catch (const std::exception& e) {
        const bool speaks = met ? *e.what() != '\0' : first_wrong(true) == own_rank();
        if (speaks) fmt::print(stderr, "rubato: {}\n", e.what());
        return 2;
    }
}

}  // namespace

void add_tune(CLI::App& command, int& status) {
    add_tune_command(command, [&status](const std::function<void(const work_sharing&)>& tune) {
        if (started_ranks() == 1) return tune(share_among_cores);
        int level = MPI_THREAD_SINGLE;
        mpi::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
        status = run_on_ranks(tune);
        mpi::check(MPI_Finalize(), "MPI_Finalize");
    });
}

}  // namespace rubato::cli
