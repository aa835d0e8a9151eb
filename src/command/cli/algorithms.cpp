// rubato algorithms: what there is.

#include "command/cli/command.hpp"
#include "rubato/cost.hpp"
#include "rubato/problem.hpp"

#include <fmt/format.h>

namespace rubato::command {
namespace {

std::string as_json(const std::vector<const algorithm*>& chosen) {
    auto rows = base::json::array();
    for (const algorithm* a : chosen)
        rows.push_back({{"id", a->id},
                        {"collective", traits(a->what).name},
                        {"name", a->name()},
                        {"summary", a->summary},
                        {"source", a->source},
                        {"needs", need_names(*a)},
                        {"segmented", a->segmented},
                        {"radix", a->takes_radix},
                        {"arrival_aware", a->arrival_aware},
                        {"host_aware", a->host_aware},
                        {"nearness", a->nearness},
                        {"same_bits", a->same_bits},
                        {"dynamic", a->dynamic != nullptr},
                        {"early", a->early},
                        {"alias", a->alias}});
    return pretty(rows);
}

/// A column that is empty for all reads better as a dash.
std::string joined(const std::vector<std::string_view>& words) {
    return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

/// Whether all ranks get the same bits; a dash where no two ranks get the same result.
std::string_view bits_text(const algorithm& a) {
    if (!traits(a.what).shares_results()) return "-";
    return a.same_bits ? "yes" : "no";
}

std::string as_text(const std::vector<const algorithm*>& chosen) {
    table rows{{"ALGORITHM", "WHAT IT DOES", "CAN USE", "NEEDS", "SAME BITS", "SOURCE"}};
    const algorithm* previous = nullptr;
    for (const algorithm* a : chosen) {
        if (!previous || previous->what != a->what) rows.emplace_back();
        previous = a;
        std::vector<std::string_view> uses;
        if (a->segmented) uses.emplace_back("segments");
        if (a->takes_radix) uses.emplace_back("radix");
        if (a->arrival_aware) uses.emplace_back("arrivals");
        if (a->host_aware) uses.emplace_back("hosts");
        if (a->nearness) uses.emplace_back("nearness");
        const std::string also = a->alias.empty() ? "" : fmt::format(" ({})", a->alias);
        rows.push_back({std::string(a->id), fmt::format("{}{}", a->summary, also), joined(uses), joined(need_names(*a)),
                        std::string(bits_text(*a)), std::string(a->source)});
    }
    return align(rows);
}

/// The problem whose costs the page shows. Every algorithm can solve it.
struct example {
    static constexpr std::int32_t ranks = 16;
    static constexpr std::int32_t hosts = 4;
    static constexpr std::uint32_t segments = 8;
    static constexpr std::int64_t bytes = 1 << 20;
    static constexpr std::string_view neighbours = "moore:4x4";

    static problem of(const algorithm& a) {
        problem p;
        p.what = a.what;
        p.ranks = ranks;
        p.segments = a.segmented ? segments : 1;
        p.idempotent = true;
        if (a.host_aware) p.hosts = parse_hosts(fmt::format("{}", hosts), ranks);
        if (traits(a.what).on_graph) p.neighbours = parse_graph(neighbours, ranks);
        return p;
    }
};

/// Escapes bars, which would end a cell.
std::string without_bars(std::string_view text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    return escaped;
}

std::string markdown_row(const algorithm& a) {
    const problem p = example::of(a);
    const layout sizes = layout::uniform(traits(a.what).moves_data() ? chunk_of(example::bytes, p) : 0);
    const cost c = count_cost(build_all(a, p), std::span(&sizes, 1));
    std::int64_t most = 0;
    for (const rank_cost& r : c.ranks) most = std::max(most, r.bytes);
    const std::string also = a.alias.empty() ? "" : fmt::format(" ({})", a.alias);
    const std::string bits = traits(a.what).shares_results() ? fmt::format(" {} |", bits_text(a)) : "";
    return fmt::format("| `{}`{} | {} | {} | {} | {} | {} | {} |{} {} |\n", a.name(), also, without_bars(a.summary),
                       c.rounds, c.messages, format_bytes(c.bytes), format_bytes(most), joined(need_names(a)), bits,
                       without_bars(a.source));
}

/// A page for people, with what each algorithm costs.
std::string as_markdown(const std::vector<const algorithm*>& chosen) {
    std::string out = fmt::format(
        "# Algorithms\n\n"
        "`rubato algorithms --format markdown` makes this page from the registry, "
        "`src/schedules/algorithms/table.def`.\n\n"
        "The costs are those of one example: {} ranks that arrive together, {} in the vector, or in the buffer that "
        "has\n"
        "a chunk for each rank, {} segments where an algorithm cuts vectors, and {} hosts where it distinguishes "
        "hosts.\n"
        "Among neighbours, that much for each; ranks have 8 around them in a torus of 4 by 4 ({}).\n"
        "Rounds: messages on the longest chain of steps that wait for each other. Messages and bytes: sent by all\n"
        "ranks. Most: bytes sent by the rank that sends most. Arrival-aware algorithms do something else if ranks are\n"
        "late; `rubato sim` shows the gain.\n\n"
        "Needs: `commutative`: the operator commutes. `power_of_two`: the number of ranks is a power of two.\n"
        "`even_ranks`: the number of ranks is even. `idempotent_or_power`: the operator has x*x = x, or the number of\n"
        "ranks is a power of the ways plus one. `radix_product`: the product of a given `--radix` is the number of "
        "ranks.\n"
        "`radix_above_one`: a given `--radix` is 2 or more. `round_time`: the time of a round is known if arrivals "
        "differ.\n"
        "`torus`: the graph looks the same from all ranks of a torus.\n\n"
        "Same bits: all ranks combine their results in the same order, so these are equal to the last bit. With \"no\","
        "\nfloating-point results may differ in the last bits, and Rubato uses the algorithm only if you name it.\n",
        example::ranks, format_bytes(example::bytes), example::segments, example::hosts, example::neighbours);
    const algorithm* previous = nullptr;
    for (const algorithm* a : chosen) {
        if (!previous || previous->what != a->what)
            out += fmt::format(
                "\n## {}\n\n| algorithm | idea | rounds | messages | bytes | most | needs |{} source |\n"
                "|---|---|--:|--:|--:|--:|---|{}---|\n",
                traits(a->what).name, traits(a->what).shares_results() ? " same bits |" : "",
                traits(a->what).shares_results() ? "---|" : "");
        previous = a;
        out += markdown_row(*a);
    }
    return out;
}

}  // namespace

void add_algorithms(CLI::App* app, int&) {
    struct options {
        std::string what{};
        std::string format{};
        bool json = false;
    };
    auto o = std::make_shared<options>();
    add_value(*app, "COLLECTIVE", o->what, "", "only the algorithms of this collective, such as reduce (default: all)");
    add_format(*app, o->format, o->json, {"text", "json", "markdown"});
    add_footer(*app, R"(
Same bits: all ranks get bit-identical results, as MPI recommends. Rubato uses an algorithm without it
only if you name it; results of integers are equal in any case.
Markdown is a page with what each algorithm costs in an example: docs/algorithms.md.
Examples:
  rubato algorithms
  rubato algorithms allreduce --json)");
    when_called(*app, [o, app] {
        std::vector<const algorithm*> chosen;
        for (const collective_traits& t : collectives()) {
            if (!o->what.empty() && parse_collective(o->what) != t.what) continue;
            for (const algorithm& a : algorithms())
                if (a.what == t.what) chosen.push_back(&a);
        }
        const std::string format = chosen_format(*app, o->format, o->json);
        write_out(format == "json" ? as_json(chosen) : format == "markdown" ? as_markdown(chosen) : as_text(chosen));
    });
}

}  // namespace rubato::command
