#include "command/cli/command.hpp"

#include "rubato/layout.hpp"
#include "rubato/problem.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rubato::command {
namespace {

/// An option, and what an algorithm must do for it to change anything.
struct purpose {
    const char* option;
    const char* does;
    bool (*serves)(const algorithm&);
};

constexpr std::array purposes{
    purpose{"--root", "have a root", [](const algorithm& a) { return traits(a.what).rooted; }},
    purpose{"--segments", "cut vectors", [](const algorithm& a) { return a.segmented; }},
    purpose{"--radix", "take a radix", [](const algorithm& a) { return a.takes_radix; }},
    purpose{"--round-time", "plan in rounds", [](const algorithm& a) { return a.uses_round_time(); }},
    purpose{"--hosts", "distinguish hosts", [](const algorithm& a) { return a.host_aware; }},
    purpose{"--graph", "distinguish neighbours", [](const algorithm& a) { return traits(a.what).on_graph; }},
    purpose{"--noncommutative", "combine data", [](const algorithm& a) { return traits(a.what).reduces; }},
    purpose{"--idempotent", "combine data", [](const algorithm& a) { return traits(a.what).reduces; }},
    purpose{"--op", "combine data", [](const algorithm& a) { return traits(a.what).reduces; }},
    purpose{"--bytes", "move data", [](const algorithm& a) { return traits(a.what).moves_data(); }},
    purpose{"--datatype", "move data", [](const algorithm& a) { return traits(a.what).moves_data(); }},
};

constexpr std::int64_t most_bytes = std::int64_t{1} << 40;

}  // namespace

std::vector<std::int32_t> each_once(const std::vector<std::int32_t>& numbers) {
    std::vector<std::int32_t> some;
    for (const std::int32_t n : numbers)
        if (std::ranges::find(some, n) == some.end()) some.push_back(n);
    return some;
}

std::vector<const algorithm*> parse_algorithms(std::string_view text) {
    const std::size_t slash = text.find('/');
    std::vector<const algorithm*> chosen;
    if (slash == std::string_view::npos) {
        const collective c = parse_collective(text);
        for (const algorithm& a : algorithms())
            if (a.what == c) chosen.push_back(&a);
        if (chosen.empty())
            throw error(fmt::format("nothing to do for {}", text), "no algorithm is registered for it",
                        "'rubato algorithms' lists what there is");
        return chosen;
    }
    for (const std::string& name : split_lists({std::string(text.substr(slash + 1))})) {
        const algorithm& a = find_algorithm(fmt::format("{}/{}", text.substr(0, slash), name));
        if (std::ranges::find(chosen, &a) != chosen.end())
            throw error(fmt::format("{} is named twice", a.id), "once is enough", "remove one of them");
        chosen.push_back(&a);
    }
    return chosen;
}

void refuse_given(const CLI::App& app, std::initializer_list<const char*> options, std::string_view when,
                  std::string_view why, std::string_view way_out) {
    for (const char* option : options)
        if (is_given(app, option)) throw error(fmt::format("{} {}", option, when), why, way_out);
}

void refuse_unused(const CLI::App& app, std::span<const algorithm* const> chosen) {
    for (const purpose& p : purposes) {
        const auto serves = [&p](const algorithm* a) { return p.serves(*a); };
        if (!is_given(app, p.option) || std::ranges::any_of(chosen, serves)) continue;
        if (std::string_view(p.option) == "--hosts" && (is_given(app, "--model-inside") || is_given(app, "--network")))
            continue;  // which tell hosts apart
        const std::string who = chosen.size() == 1 ? std::string(chosen.front()->id) + " does" : "these algorithms do";
        throw error(fmt::format("{} has no effect", p.option), fmt::format("{} not {}", who, p.does), "leave it out");
    }
}

std::vector<std::string> split_lists(const std::vector<std::string>& lists) {
    std::vector<std::string> items;
    for (std::string_view rest : lists) {
        for (;;) {
            const std::size_t comma = rest.find(',');
            items.emplace_back(rest.substr(0, comma));
            if (comma == std::string_view::npos) break;
            rest.remove_prefix(comma + 1);
        }
    }
    return items;
}

std::vector<std::int32_t> parse_list(std::string_view text, std::string_view what, std::int32_t low,
                                     std::int32_t high) {
    std::vector<std::int32_t> numbers;
    for (const std::string& item : split_lists({std::string(text)}))
        numbers.push_back(static_cast<std::int32_t>(parse_integer(item, what, low, high)));
    return numbers;
}

CLI::Option* add_value(CLI::App& app, const std::string& flags, std::string& value, const std::string& kind,
                       const std::string& help) {
    return app.add_option(flags, value, help)->type_name(kind);
}

CLI::Option* add_value(CLI::App& app, const std::string& flags, std::vector<std::string>& values,
                       const std::string& kind, const std::string& help) {
    return app.add_option(flags, values, help)->type_name(kind);
}

CLI::Option* add_choice(CLI::App& app, const std::string& flags, std::string& value,
                        const std::vector<std::string>& known, const std::string& kind, const std::string& help) {
    return add_value(app, flags, value, kind, help)->check(CLI::IsMember(known).description(""));
}

CLI::Option* add_flag(CLI::App& app, const std::string& flags, bool& given, const std::string& help) {
    return app.add_flag(flags, given, help);
}

CLI::Option* add_parsed(CLI::App& app, const std::string& flags, const std::string& kind, const std::string& help,
                        const std::function<void(const std::string&)>& take) {
    return app.add_option_function<std::string>(flags, take, help)->type_name(kind);
}

void require(CLI::Option* option) { option->required(); }
void require(CLI::App& app, const std::string& option, bool must) { app.get_option(option)->required(must); }
void one_value_each_time(CLI::Option* option) { option->allow_extra_args(false); }
void one_value(CLI::Option* option) { option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll); }
void needs(CLI::App& app, const std::string& option, const std::string& other) {
    app.get_option(option)->needs(app.get_option(other));
}
void excludes(CLI::App& app, const std::string& option, const std::string& other) {
    app.get_option(option)->excludes(app.get_option(other));
}
CLI::App* add_subcommand(CLI::App& group, const std::string& name, const std::string& does) {
    return group.add_subcommand(name, does);
}
void require_subcommand(CLI::App& group) { group.require_subcommand(1); }
void when_called(CLI::App& app, std::function<void()> action) { app.callback(std::move(action)); }

bool is_given(const CLI::App& app, const std::string& option) {
    const CLI::Option* const found = app.get_option_no_throw(option);
    return found != nullptr && found->count() > 0;
}

void refuse_without(const std::string& name) { throw CLI::RequiredError(name); }

void add_bytes(CLI::App& app, std::string& bytes) {
    add_value(app, "-b,--bytes", bytes, "SIZE", "size of the vector, or of the buffer that has a chunk for each rank");
}

void add_footer(CLI::App& app, std::string_view text) { app.footer(std::string(text.substr(1))); }

void add_integer(CLI::App& app, const std::string& flags, std::int32_t& value, const std::string& what,
                 std::int32_t low, std::int32_t high, const std::string& help) {
    add_parsed(app, flags, "N", help, [&value, what, low, high](const std::string& text) {
        value = static_cast<std::int32_t>(parse_integer(text, what, low, high));
    });
}

void add_graph(CLI::App& app, std::string& text) {
    add_value(app, "--graph", text, "GRAPH",
              "who has neighbours, for neighbour collectives: grid:4x4, torus:4x4 (periodic), moore:4x4 (a torus with\n"
              "all 8 ranks around), ring, random:5, edges:0>1,1>2, none");
}

void problem_options::add_to(CLI::App& app) {
    add_integer(app, "-p,--ranks", ranks, "number of ranks", 1, 1 << 20, "how many ranks there are");
    require(app, "--ranks");
    add_integer(app, "--root", root, "rank", 0, (1 << 20) - 1, "the root (default: 0)");
    add_integer(app, "-s,--segments", segments, "number of segments", 1, 1 << 20,
                "how many pieces a vector is cut into, by algorithms that cut vectors");
    add_parsed(app, "--radix", "N[,N...]", "degree of a tree, ways of a dissemination, or factors such as 4,4,8",
               [this](const std::string& text) { radix = parse_list(text, "radix", 1, 1 << 20); });
    add_value(app, "--arrivals", arrivals, "PATTERN",
              "when ranks arrive, such as single:rank=3,delay=5ms (default: balanced)");
    add_value(app, "--hosts", hosts, "HOSTS",
              "which ranks share a host: 4 hosts (4), ranks dealt out to 4 hosts (cyclic:4), or the number of\n"
              "ranks on each (3,1,2) (default: each rank has its own host)");
    add_graph(app, neighbours);
    add_value(app, "--round-time", round_time, "TIME",
              "how long it takes to send and combine a segment, for algorithms that plan in rounds");
    add_flag(app, "--noncommutative", noncommutative, "the operator does not commute");
    add_flag(app, "--idempotent", idempotent, "the operator has x*x = x, as min and max do");
}

problem problem_options::make(collective what) const {
    problem p;
    p.what = what;
    p.ranks = ranks;
    p.root = rank(root);
    p.segments = static_cast<std::uint32_t>(std::max(segments, 1));
    p.radix = radix;
    if (!round_time.empty()) p.round_time = parse_round_time(round_time);
    p.hosts = parse_hosts(hosts, ranks);
    if (!neighbours.empty()) p.neighbours = parse_graph(neighbours, ranks);
    p.commutative = !noncommutative;
    p.idempotent = idempotent;
    rubato::check(p);
    return p;
}

void add_format(CLI::App& app, std::string& format, bool& json, const std::vector<std::string>& formats) {
    format = "text";
    add_choice(app, "--format", format, formats, "FORMAT", fmt::format("{} (default: text)", fmt::join(formats, ", ")));
    add_flag(app, "--json", json, "the same as --format json");
}

std::string chosen_format(const CLI::App& app, const std::string& format, bool json) {
    if (json && is_given(app, "--format") && format != "json")
        throw error(fmt::format("--json with --format {}", format), "there is one output", "leave one of them out");
    return json ? "json" : format;
}

void add_data(CLI::App& app, std::string& datatype, std::string& op) {
    add_value(app, "--datatype", datatype, "NAME",
              "int8, int16, int, int64, unsigned, float or double (default: double)");
    add_value(app, "--op", op, "NAME", "sum, prod, min, max, land, lor, lxor, band, bor or bxor (default: sum)");
}

void add_models(CLI::App& app, std::string& model_text, std::string& inside_text) {
    add_value(app, "--model", model_text, "MODEL",
              "cost model: a preset, file:FILE, or such as hockney:alpha=2us,beta=0.5ns,gamma=0 (default: curie)");
    add_value(app, "--model-inside", inside_text, "MODEL",
              "cost model of messages within a host, of the same kind (default: the same as --model)");
}

std::optional<model> parse_model_inside(const std::string& text, const model& network, const problem& p) {
    if (text.empty()) return std::nullopt;
    if (p.hosts.empty())
        throw error("--model-inside without --hosts", "each rank has a host of its own", "say which ranks share one");
    model inside = parse_model(text);
    if (inside.network.index() != network.network.index())
        throw error("--model-inside is of another kind than --model", "messages cost the same kind of things",
                    "give two of the same kind, such as hockney:...");
    return inside;
}

time_ns parse_round_time(std::string_view text) {
    const time_ns t = parse_time(text);
    if (t == time_ns{})
        throw error(fmt::format("--round-time {}", text), "a round takes a nanosecond or longer",
                    "give a longer time, or leave it out");
    return t;
}

std::int64_t size_of(const std::string& text, collective what) {
    if (!traits(what).moves_data()) return 0;
    if (text.empty())
        throw error("no size", fmt::format("a {} moves data", traits(what).name), "give one, such as --bytes 4MiB");
    const std::int64_t bytes = parse_bytes(text);
    if (bytes > most_bytes)
        throw error(fmt::format("--bytes {}", text), "sizes of up to 1024 GiB can be simulated", "give a smaller size");
    return bytes;
}

std::int64_t chunk_of(std::int64_t bytes, const problem& p) {
    const std::int32_t chunks = traits(p.what).sized_chunks(p.ranks);
    return (bytes + chunks - 1) / chunks;
}

problem planned(const algorithm& a, problem p, const model& network, std::int64_t chunk, bool choose_segments) {
    if (!a.segmented) p.segments = 1;
    if (!a.uses_round_time()) return p;
    if (a.segmented && choose_segments) p.segments = optimal_segments(network, p.ranks, chunk);
    if (p.round_time == time_ns{}) p.round_time = segment_time(network, part_offset(chunk, p.segments, 1));
    return p;
}

std::string abbreviated(const std::string& arrivals) {
    constexpr std::size_t longest = 60;
    return arrivals.size() > longest ? arrivals.substr(0, longest) + "..." : arrivals;
}

std::string ratio_text(time_ns t, time_ns of) {
    return of > time_ns{} ? fmt::format("{:.3f}", static_cast<double>(t.count()) / static_cast<double>(of.count()))
                          : "-";
}

std::string format_energy(double joules) {
    if (joules < 1e-3) return fmt::format("{:.2f} uJ", joules * 1e6);
    if (joules < 1) return fmt::format("{:.2f} mJ", joules * 1e3);
    return fmt::format("{:.2f} J", joules);
}

std::string percent(double share, int digits) { return fmt::format("{:.{}f} %", 100 * share, digits); }

std::string align(table lines) {
    std::vector<bool> right;
    for (std::string& title : lines.front()) {
        right.push_back(title.starts_with('>'));
        if (right.back()) title.erase(0, 1);
    }
    std::vector<std::size_t> widths(right.size(), 0);
    for (const auto& row : lines)
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    std::string out;
    for (const auto& row : lines) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c)
            line += right[c] ? fmt::format("{:>{}}  ", row[c], widths[c]) : fmt::format("{:<{}}  ", row[c], widths[c]);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

std::string pretty(const base::json& value, int indent) { return value.dump(indent) + '\n'; }

void write_out(std::string_view text) {
    if ((std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) && errno != EPIPE)
        throw error("cannot write standard output", std::strerror(errno), "write to another place");
}

}  // namespace rubato::command
