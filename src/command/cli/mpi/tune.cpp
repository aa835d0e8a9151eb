// rubato tune under mpirun: rank 0 hands out the pieces of work, one to whoever asks, and does some itself.
#include "command/cli/tune.hpp"

#include "command/cli/mpi/under_mpi.hpp"
#include "command/cli/parallel.hpp"
#include "engine/mpi/datatype.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <thread>

namespace rubato::command {
namespace {

using namespace std::chrono_literals;

constexpr int asks_tag = 1;    // to rank 0: number and result of the piece that was done, or -1
constexpr int answer_tag = 2;  // from rank 0: number of the next piece, or -1

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

/// Sleeps until somebody asks, so that the thread that works has the core.
bool serve_one(desk& work, int& helpers) {
    const std::optional<sent_text> asked = take_text(MPI_ANY_SOURCE, asks_tag);
    if (!asked) return false;
    const std::size_t space = asked->text.find(' ');
    const std::int64_t finished = std::stoll(asked->text.substr(0, space));
    if (finished >= 0) work.take(finished, asked->text.substr(space + 1));
    const std::int64_t next = work.next();
    engine::check(MPI_Send(&next, 1, MPI_INT64_T, asked->from, answer_tag, MPI_COMM_WORLD), "MPI_Send");
    if (next < 0) --helpers;
    return true;
}

std::vector<std::string> lead(std::size_t count, const std::function<std::string(std::size_t)>& work) {
    desk pieces(count);
    progress_line shown;
    int helpers = count_ranks() - 1;
    {
        const std::jthread own([&] {
            for (std::int64_t i = pieces.next(); i >= 0; i = pieces.next())
                pieces.take(i, done(static_cast<std::size_t>(i), work));
        });
        while (helpers > 0 || pieces.done_so_far() < count) {
            if (!serve_one(pieces, helpers)) std::this_thread::sleep_for(200us);
            shown.say(static_cast<double>(pieces.done_so_far()), static_cast<double>(count), "tuned");
        }
    }
    return pieces.results();
}

void help(const std::function<std::string(std::size_t)>& work) {
    std::string text = "-1 ";
    for (;;) {
        send_text(text, 0, asks_tag);
        std::int64_t next = -1;
        engine::check(MPI_Recv(&next, 1, MPI_INT64_T, 0, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
        if (next < 0) return;
        text = fmt::format("{} {}", next, done(static_cast<std::size_t>(next), work));
    }
}

/// Collective: the first rank on which something is wrong; the number of ranks if there is none.
std::int64_t first_wrong(bool here) { return among_ranks(here ? own_rank() : count_ranks(), MPI_MIN); }

}  // namespace

std::optional<int> tune_on_ranks(const std::function<void(const work_sharing&)>& tune) {
    if (started_ranks() == 1) return std::nullopt;
    int level = MPI_THREAD_SINGLE;
    engine::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    bool met = false;  // all ranks have something to do
    int status = 0;
    try {
        tune([&met](std::size_t count,
                    const std::function<std::string(std::size_t)>& work) -> std::optional<std::vector<std::string>> {
            met = true;
            if (first_wrong(false) < count_ranks()) throw error("");  // a rank says what it is
            if (own_rank() == 0) return lead(count, work);
            help(work);
            return std::nullopt;
        });
    } catch (const std::exception& e) {
        const bool speaks = met ? *e.what() != '\0' : first_wrong(true) == own_rank();
        if (speaks) fmt::print(stderr, "rubato: {}\n", e.what());
        status = 2;
    }
    engine::check(MPI_Finalize(), "MPI_Finalize");
    return status;
}

}  // namespace rubato::command
