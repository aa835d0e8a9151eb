// What the subcommands under mpirun share: how they begin and end, and texts between ranks.
#pragma once

#include "command/experiments/world.hpp"

#include <optional>
#include <string>

namespace rubato::command {

/// Calls work(me, ranks, alone) between MPI's beginning and end; returns the exit status. All ranks find the same
/// errors, and the first reports them, until work sets `alone`: then a rank may fail alone, which ends all.
int under_mpi(int threads, const std::function<int(int, int, bool&)>& work);

void send_text(const std::string& text, int to, int tag);
struct sent_text {
    std::string text{};
    int from = 0;
};
/// Nothing if none is there.
std::optional<sent_text> take_text(int from, int tag);

}  // namespace rubato::command
