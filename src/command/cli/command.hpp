// What the subcommands share: how they are added, their common options, their output.
#pragma once

#include "base/files/json.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Its header takes long to compile, so only command.cpp and main.cpp read it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rubato::command {

// One file each. They add their options to their part of the command; `status` becomes its exit status.
#define SUBCOMMAND(name, does) void add_##name(CLI::App* app, int& status);
#include "command/cli/subcommands.def"
#undef SUBCOMMAND

/// The items of lists such as "64KiB,1MiB". Nothing between two commas is an empty item.
std::vector<std::string> split_lists(const std::vector<std::string>& lists);
/// An option, or an argument, with a value; `kind` is what help says that it is, such as FILE.
CLI::Option* add_value(CLI::App& app, const std::string& flags, std::string& value, const std::string& kind,
                       const std::string& help);
CLI::Option* add_value(CLI::App& app, const std::string& flags, std::vector<std::string>& values,
                       const std::string& kind, const std::string& help);
/// An option whose value is one of these.
CLI::Option* add_choice(CLI::App& app, const std::string& flags, std::string& value,
                        const std::vector<std::string>& known, const std::string& kind, const std::string& help);
/// An option that is given or not.
CLI::Option* add_flag(CLI::App& app, const std::string& flags, bool& given, const std::string& help);
/// An option whose value `take` reads.
CLI::Option* add_parsed(CLI::App& app, const std::string& flags, const std::string& kind, const std::string& help,
                        const std::function<void(const std::string&)>& take);
void require(CLI::Option* option);
void require(CLI::App& app, const std::string& option, bool must = true);
/// An option for several values takes one each time that it is given.
void one_value_each_time(CLI::Option* option);
/// An option for several values takes one each time, and may be given several times.
void one_value(CLI::Option* option);
void needs(CLI::App& app, const std::string& option, const std::string& other);
void excludes(CLI::App& app, const std::string& option, const std::string& other);
/// A part of a subcommand, such as list of `rubato profile`.
CLI::App* add_subcommand(CLI::App& group, const std::string& name, const std::string& does);
void require_subcommand(CLI::App& group);
/// What is done when all options have been read.
void when_called(CLI::App& app, std::function<void()> action);
bool is_given(const CLI::App& app, const std::string& option);
/// Throws the parser's error about an option or argument that is missing.
[[noreturn]] void refuse_without(const std::string& name);
/// The option --bytes of one size.
void add_bytes(CLI::App& app, std::string& bytes);
/// What help says below the options. The first line of the text, which is empty, is left out.
void add_footer(CLI::App& app, std::string_view text);
/// "4,4,8"
std::vector<std::int32_t> parse_list(std::string_view text, std::string_view what, std::int32_t low, std::int32_t high);
/// An option whose value is a whole number; a wrong one is our error, not the parser's.
void add_integer(CLI::App& app, const std::string& flags, std::int32_t& value, const std::string& what,
                 std::int32_t low, std::int32_t high, const std::string& help);

/// Each number once, in their order.
std::vector<std::int32_t> each_once(const std::vector<std::int32_t>& numbers);
/// All algorithms of a collective, or those that are named: "reduce", "reduce/binomial,ring". Throws if there are none,
/// or if one is named twice.
std::vector<const algorithm*> parse_algorithms(std::string_view text);

/// Throws if one of these options was given; `when` follows its name, such as "with --program".
void refuse_given(const CLI::App& app, std::initializer_list<const char*> options, std::string_view when,
                  std::string_view why, std::string_view way_out);
/// Throws if an option was given that changes nothing for any of these algorithms, such as the root of a barrier.
void refuse_unused(const CLI::App& app, std::span<const algorithm* const> chosen);

/// The options that make a problem.
struct problem_options {
    std::int32_t ranks = 0;
    std::int32_t root = 0;
    std::int32_t segments = 0;  ///< 0: not given
    std::vector<std::int32_t> radix{};
    std::string arrivals = "balanced";
    std::string hosts{};       ///< not given: each rank has its own
    std::string neighbours{};  ///< a graph, for neighbour collectives
    std::string round_time{};  ///< not given
    bool noncommutative = false;
    bool idempotent = false;

    void add_to(CLI::App& app);
    /// Makes the problem without arrivals.
    problem make(collective what) const;
};

/// The options --format and --json. Without them, the output is text.
void add_format(CLI::App& app, std::string& format, bool& json, const std::vector<std::string>& formats);
/// Throws if they contradict each other.
std::string chosen_format(const CLI::App& app, const std::string& format, bool json);
/// The option --graph.
void add_graph(CLI::App& app, std::string& text);
/// The options --datatype and --op, for data that is really moved.
void add_data(CLI::App& app, std::string& datatype, std::string& op);
/// The options --model and --model-inside.
void add_models(CLI::App& app, std::string& model_text, std::string& inside_text);
/// What messages within hosts cost; nothing if it was not given. Throws unless it is of the same kind as the network's
/// and some ranks share a host.
std::optional<model> parse_model_inside(const std::string& text, const model& network, const problem& p);
/// Above 0.
time_ns parse_round_time(std::string_view text);
/// Bytes of the option --bytes, which only a barrier may do without.
std::int64_t size_of(const std::string& text, collective what);
/// Bytes of a chunk: of the whole vector, or of a rank's share of the buffer that has one per rank, rounded up.
std::int64_t chunk_of(std::int64_t bytes, const problem& p);
/// The problem as the algorithm plans it: those that plan in rounds get the segments, unless they were given, and the
/// time of a round that the paper's formula gives; those that do not cut vectors get one segment.
problem planned(const algorithm& a, problem p, const model& network, std::int64_t chunk, bool choose_segments);
/// Only the beginning of a list with a time for each rank.
std::string abbreviated(const std::string& arrivals);

using table = std::vector<std::vector<std::string>>;
/// Columns that line up, on the right where the first line's text begins with '>', which is left out. No line ends in
/// spaces.
std::string align(table lines);
/// "0.731", or "-" if there is nothing to divide by
std::string ratio_text(time_ns t, time_ns of);
/// "12.50 uJ"
std::string format_energy(double joules);
/// "12.5 %"
std::string percent(double share, int digits = 1);

/// As text that ends its line, with an indent if there is one.
std::string pretty(const base::json& value, int indent = 2);
/// To standard output. A reader that has closed its end is not an error.
void write_out(std::string_view text);

}  // namespace rubato::command
