// The output of rubato loggp: a table, JSON, a model file.
#pragma once

#include "network/mpi/loggp_measure.hpp"

namespace rubato::cli {

/// All that the texts are made from.
struct loggp_report {
    loggp_report(const mpi::measured_network& measured, const mpi::measure_settings& settings);

    std::string table() const;
    std::string json() const;
    /// Comments and the lines that parse_model reads.
    std::string model_file() const;

private:
    std::string goodput() const;
    std::string free_text() const;
    /// Empty if there is no reason for doubt.
    std::string doubt() const;

    const mpi::measured_network& measured_;
    const mpi::measure_settings& how_;
    network_fit fit_;
    std::optional<free_messages> free_{};
    overhead_bounds bounds_{};  ///< if there is free_
    std::string library_;
    std::string loggp_line_, logfgp_line_, hockney_line_;
};

}  // namespace rubato::cli
