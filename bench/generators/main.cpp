// The rounds of Clairvoyant, made by Rubato's generator or by one of the literature, and their time and memory.
//
//   generators [ID] --ranks P [--segments N] [--root R] [--arrivals PATTERN] [--round-time TIME]
//              [--generator NAME] [--stats] [--json]
//
// Rounds are printed as `rubato schedule ID` prints them.
#include "base/files/output_file.hpp"
#include "command/cli/command.hpp"
#include "command/cli/show_schedules.hpp"
#include "generators/baselines.hpp"
#include "generators/heap.hpp"
#include "rubato/arrival.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace {

using namespace rubato;
using schedules::instance;
using schedules::rounds;
using json = nlohmann::ordered_json;

struct generator {
    std::string_view id;
    std::string_view name;
    rounds (*make)(const instance&);
    rounds (*make_one)(const instance&, rank);  // of one rank, or null
};
constexpr std::array generators{
    generator{"reduce/clairvoyant", "production", schedules::generate, schedules::generate},
    generator{"reduce/clairvoyant", "linear", schedules::generate_linear, nullptr},
    generator{"reduce/clairvoyant", "pairing_heap", schedules::generate_pairing_heap, nullptr},
    generator{"reduce/clairvoyant", "segment_tree", schedules::generate_segment_tree, nullptr},
    generator{"reduce/clairvoyant_plus", "production", schedules::generate_plus, nullptr},
};

struct options {
    std::string id = "reduce/clairvoyant";
    std::int32_t ranks = 0;
    std::int32_t segments = 1;
    std::int32_t root = 0;
    std::string arrivals = "balanced";
    std::string round_time = "0";
    std::string generator = "production";
    bool stats = false;
    std::string format = "text";
    std::string file{};
};

const generator& find_generator(std::string_view id, std::string_view name) {
    std::string names;
    for (const generator& g : generators) {
        if (g.id != id) continue;
        if (g.name == name) return g;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", g.name);
    }
    if (names.empty())
        throw error(fmt::format("no generator '{}' for {}", name, id), "this algorithm does not plan in rounds",
                    fmt::format("use {}", generators.front().id));
    throw error(fmt::format("unknown generator '{}'", name), fmt::format("{} can be made by {}", id, names),
                "use one of them");
}

struct measurements {
    rounds made{};
    std::vector<time_ns> took{};  // sorted
    std::int64_t memory = 0;      // at the peak, with the result
    rounds one{};                 // of the rank after the root
    std::int64_t one_memory = 0;
};

measurements measure(const generator& g, const instance& in) {
    using clock = std::chrono::steady_clock;
    constexpr std::size_t most = 101;
    const clock::time_point enough = clock::now() + std::chrono::milliseconds(500);
    measurements m;
    do {
        const clock::time_point begin = clock::now();
        m.made = g.make(in);
        m.took.push_back(clock::now() - begin);
    } while (m.took.size() < 3 || (m.took.size() < most && clock::now() < enough));
    std::ranges::sort(m.took);
    // The last result is kept, so that the next one does not reuse its memory.
    const rounds kept = std::exchange(m.made, {});
    m.memory = heap::peak_heap([&] { m.made = g.make(in); });
    if (g.make_one != nullptr)
        m.one_memory = heap::peak_heap([&] { m.one = g.make_one(in, rank((in.root.value + 1) % in.ranks)); });
    return m;
}

std::int64_t bytes_of(const rounds& r) {
    return static_cast<std::int64_t>(r.busy.capacity() * sizeof(r.busy.front()) +
                                     r.transfers.capacity() * sizeof(r.transfers.front()));
}

std::string statistics(const generator& g, const problem& p, bool as_json) {
    const instance in = schedules::instance_of(p);
    const measurements m = measure(g, in);
    const std::int64_t bound = schedules::lower_bound(in);
    const time_ns best = m.took.front();
    const time_ns median = m.took[m.took.size() / 2];
    const std::size_t transfers = m.made.transfers.size();
    const double each = static_cast<double>(best.count()) / static_cast<double>(std::max<std::size_t>(transfers, 1));
    if (as_json) {
        json j{{"id", g.id},
               {"generator", g.name},
               {"ranks", p.ranks},
               {"segments", p.segments},
               {"root", p.root.value},
               {"round_time_ns", p.round_time.count()},
               {"length", m.made.length},
               {"lower_bound", bound},
               {"busy_rounds", m.made.busy.size()},
               {"transfers", transfers},
               {"repetitions", m.took.size()},
               {"generation_best_ns", best.count()},
               {"generation_median_ns", median.count()},
               {"ns_per_transfer", each},
               {"result_bytes", bytes_of(m.made)},
               {"memory_bytes", m.memory}};
        if (g.make_one != nullptr)
            j.update({{"one_rank_result_bytes", bytes_of(m.one)}, {"one_rank_memory_bytes", m.one_memory}});
        return j.dump() + '\n';
    }
    const auto memory = [](std::int64_t peak, const rounds& result) {
        return fmt::format("{}, of which the result is {}", format_bytes(peak), format_bytes(bytes_of(result)));
    };
    std::vector<std::vector<std::string>> rows{
        {"length",
         fmt::format("{} rounds, {} of them busy; {} or more are needed", m.made.length, m.made.busy.size(), bound)},
        {"transfers", fmt::format("{}", transfers)},
        {"generation", fmt::format("{}, median {} of {}", format_time(best), format_time(median), m.took.size())},
        {"per transfer", fmt::format("{:.1f} ns", each)},
        {"memory", memory(m.memory, m.made)}};
    if (g.make_one != nullptr) rows.push_back({"for one rank", memory(m.one_memory, m.one)});
    return fmt::format("{}; made by {}\n{}", command::rounds_heading(find_algorithm(g.id), p), g.name,
                       command::align(rows));
}

std::string show(const options& o) {
    const algorithm& a = find_algorithm(o.id);
    const generator& g = find_generator(a.id, o.generator);
    problem p;
    p.what = a.what;
    p.ranks = o.ranks;
    p.root = rank(o.root);
    p.segments = static_cast<std::uint32_t>(o.segments);
    p.round_time = parse_time(o.round_time);
    check(p);
    p.arrivals = parse_arrivals(o.arrivals, p.ranks);
    check(a, p);
    if (o.stats) return statistics(g, p, o.format == "json");
    const rounds r = g.make(schedules::instance_of(p));
    return o.format == "json" ? command::rounds_to_json(a, p, r) : command::rounds_to_text(a, p, r);
}

void add_options(CLI::App& app, options& o) {
    app.add_option("ID", o.id, "reduce/clairvoyant (unless given), or reduce/clairvoyant_plus");
    command::add_integer(app, "-p,--ranks", o.ranks, "number of ranks", 1, 1 << 20, "how many ranks");
    app.get_option("--ranks")->required();
    command::add_integer(app, "-s,--segments", o.segments, "number of segments", 1, 1 << 20,
                         "how many pieces the vector has; 1 unless given");
    command::add_integer(app, "--root", o.root, "rank", 0, (1 << 20) - 1, "the root; 0 unless given");
    app.add_option("--arrivals", o.arrivals,
                   "when ranks arrive, as 'rubato sim --help' lists it; all at once unless given")
        ->type_name("PATTERN");
    app.add_option("--round-time", o.round_time, "how long a round takes; needed if arrivals differ")
        ->type_name("TIME");
    app.add_option("--generator", o.generator,
                   "production (unless given), which Rubato uses, or linear, pairing_heap or segment_tree of the\n"
                   "literature; all make the same rounds")
        ->type_name("NAME");
    app.add_flag("--stats", o.stats, "instead of the rounds, how many there are and what it takes to make them");
    app.add_option("--format", o.format, "text (unless given) or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT");
    app.add_flag_callback(
        "--json", [&o] { o.format = "json"; }, "the same as --format json");
    app.add_option("-o,--output", o.file, "write to this file")->type_name("FILE");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("The generators of Clairvoyant's rounds");
    options o;
    add_options(app, o);
    try {
        app.parse(argc, argv);
        if (o.file.empty())
            command::write_out(show(o));
        else
            base::output_file(o.file).write(show(o));
    } catch (const CLI::Success& wanted) {
        return app.exit(wanted);
    } catch (const CLI::ParseError& e) {
        fmt::print(stderr, "generators: bad command line: {}; 'generators --help' tells what is possible\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        fmt::print(stderr, "generators: {}\n", e.what());
        return 2;
    }
}
