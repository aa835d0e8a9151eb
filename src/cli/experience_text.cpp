#include "cli/experience_text.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>

namespace rubato::cli {
namespace {

std::string plan_text(const experience& e) {
    if (e.algorithm.empty()) return "native";
    if (e.segment == 0) return e.algorithm;
    std::string size = format_bytes(e.segment);
    std::erase(size, ' ');  // as algorithms are named elsewhere
    return fmt::format("{}@{}", e.algorithm, size);
}

std::vector<std::string> line_of(const profiled& p) {
    const experience& e = p.what;
    const std::optional<late_rank> late = latest(e);
    return {std::string(traits(e.kind.what).name),
            format_bytes(e.bytes),
            traits(e.kind.what).rooted ? fmt::format("{}", e.kind.root.value) : "-",
            fmt::format("{}", p.ranks),
            plan_text(e),
            format_time(e.of_native.tail),
            e.algorithm.empty() ? "-" : format_time(e.of_plan.tail),
            late ? fmt::format("{}", late->who.value) : "-",
            late ? format_time(late->by) : "-"};
}

}  // namespace

std::string experiences_text(const std::vector<profiled>& all) {
    std::vector<std::vector<std::string>> lines{
        {"OPERATION", "BYTES", "ROOT", "RANKS", "PLAN", "NATIVE TAIL", "ITS TAIL", "LATE RANK", "LATE BY"}};
    for (const profiled& p : all) lines.push_back(line_of(p));
    return align(lines, {false, true, true, true, false, true, true, true, true});
}

}  // namespace rubato::cli
