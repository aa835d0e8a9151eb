// What a program did, as observed, and how long it would have taken with other algorithms.
#pragma once

#include "reports/report/examine.hpp"
#include "reports/report/symbols.hpp"

#include <nlohmann/json_fwd.hpp>

#include <algorithm>

namespace rubato::reports {

/// What a call that does not block cost the program, and what it need not have: means over calls whose end was seen.
struct overlap_seen {
    time_ns start{};                 ///< in the call that started it, median
    time_ns apart{};                 ///< from then on to the call that ended it: the program did something else
    time_ns waited{};                ///< in that call
    std::optional<time_ns> alone{};  ///< by the best of our algorithms, simulated; if there is a model

    /// Of what was waited for: there was something to hide it behind.
    time_ns could_be_hidden() const { return std::min(waited, apart); }
    /// The share of `alone` that the program did not pay.
    std::optional<double> hidden() const;
};

struct observed {
    dropin::observation from{};
    std::string file{};
    std::vector<code_place> places{};  ///< of the observation's sites
    std::string model{};               ///< as it was given; empty if none
    std::optional<rubato::model> network{};
    std::vector<examined> examined_rows{};  ///< of each row; empty ones where arrivals were not seen
};

/// Reads a file, or the parts of a program that did not end, and finds the places. Rows of one line of the source
/// become one: compilers make several calls of it. An empty model: the file's, if it has one. Throws as dropin::read
/// and parse_model do.
observed look_at(const std::string& file, const std::string& model);
/// The same of what was read already, by its own model.
observed look_at(dropin::observation from, const std::string& file);
/// One line of the source is one place: joins rows of equal calls from one line, as a compiler may have made several
/// calls of it. Then sorts them, most time first.
void join_lines(dropin::observation& o, std::span<const code_place> places);
/// Fills in what was examined. Rows are independent.
void examine_row(observed& o, std::size_t row);

/// Nothing if the row's calls block, or no end of one was seen.
std::optional<overlap_seen> overlap_of(const observed& o, std::size_t row);

/// Of a row: the mean spread of arrivals as a multiple of the time that a message of its size takes (Faraj et al. 2008:
/// above 1, arrivals are imbalanced). Without a model, as a multiple of the tail.
double imbalance_factor(const observed& o, const dropin::row& r);

/// "solver: 16 ranks on 4 hosts, Open MPI 4.1.4"; lines more for when and how it ran, for a profile, and if the program
/// did not end.
std::string summary(const observed& o);
/// The rank in the world of a communicator's rank.
std::int32_t world_rank(const observed& o, const dropin::row& r, std::int32_t who);
/// "4 to 7", or at most so many of them: "0, 2, 4, ..."
std::string rank_list(std::span<const std::int32_t> ranks, std::size_t most);
/// "all 16 ranks", "4 ranks: 0, 2, 4, 6"
std::string members_text(const observed& o, const dropin::communicator& c);

/// What pictures do not need may be left out.
enum class amount : std::uint8_t { everything, shown };
nlohmann::ordered_json as_json(const observed& o, amount examples = amount::everything);
/// One page that needs nothing else.
std::string as_page(const observed& o);

}  // namespace rubato::reports
