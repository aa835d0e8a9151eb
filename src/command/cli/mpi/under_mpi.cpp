#include "command/cli/mpi/under_mpi.hpp"

#include "command/experiments/campaign.hpp"
#include "engine/mpi/datatype.hpp"

#include <fmt/format.h>

namespace rubato::command {

int under_mpi(int threads, const std::function<int(int, int, bool&)>& work) {
    int level = 0;
    engine::check(MPI_Init_thread(nullptr, nullptr, threads, &level), "MPI_Init_thread");
    engine::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    const int me = own_rank();
    bool alone = false;
    int status = 0;
    try {
        status = work(me, count_ranks(), alone);
    } catch (const std::exception& e) {
        alone = alone || dynamic_cast<const error*>(&e) == nullptr;  // such as too little memory
        if (me == 0 || (alone && dynamic_cast<const common_error*>(&e) == nullptr))
            fmt::print(stderr, "rubato: {}\n", e.what());
        status = 2;
        if (alone) MPI_Abort(MPI_COMM_WORLD, status);
    }
    engine::check(MPI_Finalize(), "MPI_Finalize");
    return status;
}

void send_text(const std::string& text, int to, int tag) {
    engine::check(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD), "MPI_Send");
}

std::optional<sent_text> take_text(int from, int tag) {
    MPI_Status status{};
    int there = 0;
    engine::check(MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
    if (there == 0) return std::nullopt;
    int length = 0;
    engine::check(MPI_Get_count(&status, MPI_CHAR, &length), "MPI_Get_count");
    sent_text taken{std::string(static_cast<std::size_t>(length), ' '), status.MPI_SOURCE};
    engine::check(MPI_Recv(taken.text.data(), length, MPI_CHAR, taken.from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  "MPI_Recv");
    return taken;
}

}  // namespace rubato::command
