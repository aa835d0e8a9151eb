// rubato algorithms: what there is.
#include "rubato/algorithm.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rubato::cli {
namespace {

std::string as_json(const std::vector<const algorithm*>& chosen) {
    auto rows = nlohmann::ordered_json::array();
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
                        {"dynamic", a->dynamic != nullptr},
                        {"early", a->early},
                        {"alias", a->alias}});
    return rows.dump(2) + '\n';
}

/// A column that is empty for all reads better as a dash.
std::string joined(const std::vector<std::string_view>& words) {
    return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

std::string as_text(const std::vector<const algorithm*>& chosen) {
    std::vector<std::vector<std::string>> rows{{"ALGORITHM", "WHAT IT DOES", "CAN USE", "NEEDS", "SOURCE"}};
    const algorithm* previous = nullptr;
    for (const algorithm* a : chosen) {
        if (!previous || previous->what != a->what) rows.emplace_back();
        previous = a;
        std::vector<std::string_view> uses;
        if (a->segmented) uses.emplace_back("segments");
        if (a->takes_radix) uses.emplace_back("radix");
        if (a->arrival_aware) uses.emplace_back("arrivals");
        if (a->host_aware) uses.emplace_back("hosts");
        const std::string also = a->alias.empty() ? "" : fmt::format(" ({})", a->alias);
        rows.push_back({std::string(a->id), fmt::format("{}{}", a->summary, also), joined(uses), joined(need_names(*a)),
                        std::string(a->source)});
    }
    return align(rows, {false, false, false, false, false});
}

}  // namespace

void add_algorithms(CLI::App& command, int&) {
    struct options {
        std::string what{};
        bool json = false;
    };
    auto o = std::make_shared<options>();
    CLI::App* app = command.add_subcommand("algorithms", "list the algorithms, by collective");
    app->add_option("COLLECTIVE", o->what, "only those of this collective, such as reduce");
    app->add_flag("--json", o->json, "print an array of objects");
    app->footer(
        "Examples:\n"
        "  rubato algorithms\n"
        "  rubato algorithms allreduce --json");
    app->callback([o] {
        std::vector<const algorithm*> chosen;
        for (const collective_traits& t : collectives()) {
            if (!o->what.empty() && parse_collective(o->what) != t.what) continue;
            for (const algorithm& a : algorithms())
                if (a.what == t.what) chosen.push_back(&a);
        }
        write_out(o->json ? as_json(chosen) : as_text(chosen));
    });
}

}  // namespace rubato::cli
