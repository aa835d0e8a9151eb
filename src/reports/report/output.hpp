// The analysis as an object for machines and the page, as the page itself, and samples as tables for other tools.
#pragma once

#include "reports/report/analysis.hpp"

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <span>

namespace rubato::reports {

/// Times are in nanoseconds. What only pictures need (samples, arrivals, timelines) is in it too.
nlohmann::ordered_json as_json(const analysis& a);

/// "4 ranks on 2 hosts, reduce and bcast, measured 2024-05-01 12:00 UTC"
std::string summary(const analysis& a);

/// "a", "a and b", "a, b and c", where `last` is "and"
std::string enumerate(const std::vector<std::string>& names, std::string_view last = "and");

/// One page that needs nothing else.
std::string as_page(const analysis& a);

/// A field of a CSV file, in quotes where it needs them: arrival patterns have commas, host names may have anything.
std::string csv_field(std::string_view text);
/// A row per sample and rank, of every stage, with a line of column names.
void write_csv(std::ostream& out, std::span<const run> runs);

/// The verbose table of ReproMPI, measured samples only: process, test, nrep, msize_bytes, errorcode (1: the sample is
/// late), and start and end on the local and on the common clock; we only have the latter.
void write_repro(std::ostream& out, std::span<const run> runs);

}  // namespace rubato::reports
