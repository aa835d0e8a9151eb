// rubato goal: schedules as LogGOPSim takes them.
#include "simulator/programs/goal.hpp"

#include "base/core/text.hpp"
#include "base/files/output_file.hpp"
#include "command/cli/machine.hpp"
#include "command/cli/work_estimate.hpp"
#include "rubato/arrival.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace rubato::command {
namespace {

constexpr step_cost to_write_goal{500, 200};
constexpr std::size_t most_listed = 32;  // ranks

struct read_options {
    std::string file{};
    std::string model_text = "loggopsim";
    std::string hosts{};
    machine_options machine_texts{};
    bool json = false;
};

struct played_goal {
    std::vector<time_ns> arrivals{};
    std::vector<time_ns> exits{};
    cost counted{};
};

played_goal simulate_file(const read_options& o) {
    const simulator::goal_file g = simulator::read_goal(o.file);
    schedules::shape_table ranks(static_cast<std::int32_t>(g.ranks.size()));
    for (const schedules::sized_schedule& s : simulator::schedules_of(g)) ranks.add(s);
    if (!o.hosts.empty() && !o.machine_texts.share_links)
        throw error("--hosts without --share-links", "otherwise hosts change nothing here", "give both or none");
    const auto count = static_cast<std::int32_t>(g.ranks.size());
    const std::vector<std::int32_t> hosts = parse_hosts(o.hosts, count);
    const machine on = o.machine_texts.make(count);
    simulation_options how;
    how.hosts = hosts;
    on.set(how);
    how.cores = std::max(1U, std::thread::hardware_concurrency());
    const std::vector<time_ns> together(g.ranks.size());  // arrivals are steps of the file
    played_goal p;
    p.exits = simulator::simulate(parse_model(o.model_text), ranks, together, how).exits;
    p.arrivals = simulator::arrivals_of(g);
    p.counted = simulator::count_cost(ranks);
    return p;
}

std::string as_text(const read_options& o, const played_goal& p) {
    const auto last = std::ranges::max_element(p.exits);
    std::string out = fmt::format("{}: {}, {}, {}, model {}{}\n\nlast exit: {}, rank {}\n", o.file,
                                  base::counted(p.exits.size(), "rank"), base::counted(p.counted.messages, "message"),
                                  format_bytes(p.counted.bytes), o.model_text, o.machine_texts.describe(),
                                  format_time(*last), last - p.exits.begin());
    if (p.exits.size() > most_listed) return out;
    table lines{{">RANK", ">ARRIVAL", ">EXIT"}};
    for (std::size_t r = 0; r < p.exits.size(); ++r)
        lines.push_back({fmt::format("{}", r), format_time(p.arrivals[r]), format_time(p.exits[r])});
    return out + '\n' + align(lines);
}

std::string as_json(const read_options& o, const played_goal& p) {
    return pretty({{"file", o.file},
                   {"model", o.model_text},
                   {"ranks", p.exits.size()},
                   {"messages", p.counted.messages},
                   {"bytes", p.counted.bytes},
                   {"arrival_ns", p.arrivals},
                   {"exit_ns", p.exits}},
                  -1);
}

void add_read(CLI::App& goal) {
    auto o = std::make_shared<read_options>();
    CLI::App* const app = add_subcommand(goal, "read", "simulate a GOAL file, text or binary");
    require(add_value(*app, "FILE", o->file, "", "the file"));
    add_value(*app, "--model", o->model_text, "MODEL", "cost model, as 'rubato sim' takes it (default: loggopsim)");
    add_value(*app, "--hosts", o->hosts, "HOSTS", "which ranks share a host, as 'rubato sim' takes it");
    o->machine_texts.add_to(*app);
    add_flag(*app, "--json", o->json, "print an object with when each rank ends");
    add_footer(*app, R"(
A rank's arrival is the calc for which all its other operations wait. Receives take messages of their rank
and tag in the order of the lists. Each rank has one cpu and one nic.
Examples:
  rubato goal read dissemination.goal --json
  rubato goal read dissemination.goal --model loggops:L=5us,o=2us,g=1us,G=1ns,S=8KiB)");
    when_called(*app, [o] {
        const played_goal p = simulate_file(*o);
        write_out(o->json ? as_json(*o, p) : as_text(*o, p));
    });
}

struct write_options {
    std::string id{};
    problem_options problem{};
    std::string bytes{};
    std::string model_text = "loggopsim";
    std::string format = "text";
    bool force = false;
    std::string file{};
};

std::string written(const CLI::App& app, const write_options& o) {
    const algorithm& a = find_algorithm(o.id);
    const algorithm* const chosen = &a;
    refuse_unused(app, std::span(&chosen, 1));
    if (a.early)
        throw error(fmt::format("{} as GOAL", a.id),
                    "its steps begin before the rank arrives, and GOAL knows no arrivals",
                    fmt::format("give {}", a.id.substr(0, a.id.find('+'))));
    const model m = parse_model(o.model_text);
    problem p = o.problem.make(a.what);
    p.arrivals = parse_arrivals(o.problem.arrivals, p.ranks);
    const std::int64_t chunk = chunk_of(size_of(o.bytes, a.what), p);
    p = planned(a, p, m, chunk, o.problem.segments == 0);
    if (!o.force)
        refuse_large(fmt::format("{} with {} ranks", a.id, p.ranks),
                     work_estimate(simulator::expected_steps(a, p), to_write_goal),
                     "give fewer ranks or segments, or --force");
    const layout sizes = layout::uniform(chunk);
    const bool late = std::ranges::any_of(p.arrivals, [](time_ns t) { return t > time_ns{}; });
    std::vector<simulator::goal_rank> ranks;
    schedules::sized_schedule sized;
    for (const schedule& s : build_all(a, p)) {
        schedules::size_schedule(s, sizes, sized);
        const std::optional<time_ns> arrival = late ? std::optional(p.arrivals[ranks.size()]) : std::nullopt;
        ranks.push_back(simulator::goal_of(sized, arrival, m));
    }
    return o.format == "binary" ? simulator::goal_binary(ranks) : simulator::goal_text(ranks);
}

void add_write(CLI::App& goal) {
    auto o = std::make_shared<write_options>();
    CLI::App* const app = add_subcommand(goal, "write", "write an algorithm's schedules as GOAL");
    require(add_value(*app, "ID", o->id, "", "the algorithm, such as reduce/binomial"));
    o->problem.add_to(*app);
    add_value(*app, "-b,--bytes", o->bytes, "SIZE", "size, as 'rubato sim' takes it");
    add_value(*app, "--model", o->model_text, "MODEL",
              "cost model: how long combining takes, which is calc (default: loggopsim, in which it is free)");
    add_choice(*app, "--format", o->format, {"text", "binary"}, "FORMAT", "text or binary (default: text)");
    add_flag(*app, "--force", o->force, "write it even if that takes minutes or gigabytes");
    add_value(*app, "-o,--output", o->file, "FILE", "write to this file (default: standard output)");
    add_footer(*app, R"(
Each rank begins with a calc that lasts until its arrival, if any rank is late. An empty message has 1 byte.
Examples:
  rubato goal write barrier/dissemination --ranks 16 -o dissemination.goal
  rubato goal write bcast/binomial --ranks 8 --bytes 1KiB --arrivals single:rank=3,delay=50us
  rubato goal write alltoall/pairwise --ranks 64 --bytes 1MiB --format binary -o alltoall.bin)");
    when_called(*app, [o, app] {
        if (o->file.empty()) return write_out(written(*app, *o));
        const base::output_file out(o->file);
        out.write(written(*app, *o));
    });
}

}  // namespace

void add_goal(CLI::App* app, int&) {
    require_subcommand(*app);
    add_read(*app);
    add_write(*app);
    add_footer(*app, R"(
Examples:
  rubato goal write barrier/dissemination --ranks 16 -o dissemination.goal
  rubato goal read dissemination.goal --json)");
}

}  // namespace rubato::command
