// What rubato loggp measures between two ranks, on MPI.
#pragma once

#include "simulator/network/loggp_fit.hpp"

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace rubato::engine {

struct measure_settings {
    int client = 0;  ///< whose clock is used
    int server = 1;
    std::int64_t max_bytes = 0;
    time_ns budget{};  ///< about how long it may take
};

struct measured_network {
    std::vector<simulator::round_trips> sizes{};
    std::vector<double> fan{};                 ///< RTT(P) of P = 1, 2, ... other ranks; empty if there are only two
    std::vector<double> fan_sends{};           ///< until their messages were sent, P o(P)
    std::optional<std::int64_t> rendezvous{};  ///< the smallest message that waits for its receiver
    simulator::reading combine{};              ///< ns per byte of doubles added
    double goodput_there = 0;                  ///< bytes per second of a large message to the server
    double goodput_back = 0;
    time_ns clock_error{};  ///< of the one-way times behind them
    std::string client_host{}, server_host{};
};

/// Collective. Only the client gets a result; ranks that take no part return as soon as they are not needed any more.
std::optional<measured_network> measure_network(MPI_Comm world, const measure_settings& how);

}  // namespace rubato::engine
