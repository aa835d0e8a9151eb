#include "cli/command.hpp"

#include "rubato/problem.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rubato::cli {

std::vector<std::int32_t> parse_list(std::string_view text, std::string_view what, std::int32_t low,
                                     std::int32_t high) {
    std::vector<std::int32_t> numbers;
    for (;;) {
        const std::size_t comma = text.find(',');
        numbers.push_back(static_cast<std::int32_t>(parse_integer(text.substr(0, comma), what, low, high)));
        if (comma == std::string_view::npos) return numbers;
        text.remove_prefix(comma + 1);
    }
}

void add_integer(CLI::App& app, const std::string& flags, std::int32_t& value, const std::string& what,
                 std::int32_t low, std::int32_t high, const std::string& help) {
    app.add_option_function<std::string>(
           flags,
           [&value, what, low, high](const std::string& text) {
               value = static_cast<std::int32_t>(parse_integer(text, what, low, high));
           },
           help)
        ->type_name("N");
}

void problem_options::add_to(CLI::App& app) {
    add_integer(app, "-p,--ranks", ranks, "number of ranks", 1, 1 << 20, "how many ranks");
    app.get_option("--ranks")->required();
    add_integer(app, "--root", root, "rank", 0, (1 << 20) - 1,
                "the root, of collectives that have one; 0 unless given");
    add_integer(app, "-s,--segments", segments, "number of segments", 1, 1 << 20,
                "into how many pieces a segmenting algorithm cuts the vector");
    app.add_option_function<std::string>(
           "--radix", [this](const std::string& text) { radix = parse_list(text, "radix", 1, 1 << 20); },
           "degree of a tree, ways of a dissemination, or factors such as 4,4,8")
        ->type_name("K[,K...]");
    app.add_option("--arrivals", arrivals, "when ranks arrive, for instance single:rank=3,delay=5ms")
        ->type_name("PATTERN");
    app.add_option(
           "--hosts", hosts,
           "which ranks share a host: 4 hosts (4), ranks dealt out to them (cyclic:4), or how many are on each\n"
           "(3,1,2); for algorithms that care; each rank has its own unless given")
        ->type_name("HOSTS");
    app.add_option("--round-time", round_time,
                   "how long sending and combining a segment takes, for algorithms that plan in rounds")
        ->type_name("TIME");
    app.add_flag("--noncommutative", noncommutative, "the operator does not commute");
    app.add_flag("--idempotent", idempotent, "the operator has x*x = x, as min and max have");
}

problem problem_options::make(collective what) const {
    problem p;
    p.what = what;
    p.ranks = ranks;
    p.root = rank(root);
    p.segments = static_cast<std::uint32_t>(std::max(segments, 1));
    p.radix = radix;
    p.round_time = parse_time(round_time);
    p.hosts = parse_hosts(hosts, ranks);
    p.commutative = !noncommutative;
    p.idempotent = idempotent;
    check(p);
    return p;
}

std::int64_t size_of(const std::string& text, collective what) {
    if (!traits(what).moves_data()) return 0;
    if (text.empty())
        throw error("no size", fmt::format("a {} moves data", traits(what).name), "give one, such as --bytes 4MiB");
    return parse_bytes(text);
}

std::int64_t chunk_of(std::int64_t bytes, const problem& p) {
    const bool wide = traits(p.what).chunked();
    return wide ? (bytes + p.ranks - 1) / p.ranks : bytes;
}

std::string abbreviated(const std::string& arrivals) {
    constexpr std::size_t longest = 60;
    return arrivals.size() > longest ? arrivals.substr(0, longest) + "..." : arrivals;
}

std::string align(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    std::vector<std::size_t> widths(right.size(), 0);
    for (const auto& row : rows)
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c)
            line += right[c] ? fmt::format("{:>{}}  ", row[c], widths[c]) : fmt::format("{:<{}}  ", row[c], widths[c]);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

void write_out(std::string_view text) {
    if ((std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) && errno != EPIPE)
        throw error("cannot write standard output", std::strerror(errno), "write to another place");
}

}  // namespace rubato::cli
