#include "cli/schedule_json.hpp"

#include "cli/show_rounds.hpp"
#include "rubato/draw.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace rubato::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> buffers{"input", "output", "scratch"};

template <class Enum, std::size_t N>
std::string_view name(const std::array<std::string_view, N>& names, Enum e) {
    return names[static_cast<std::size_t>(e)];
}

template <class Enum, std::size_t N>
Enum named(const std::array<std::string_view, N>& names, const ordered_json& value) {
    const auto text = value.get<std::string>();
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
        throw error(fmt::format("'{}' in a schedule", text), fmt::format("expected one of {}", fmt::join(names, ", ")),
                    "correct it");
    return static_cast<Enum>(found - names.begin());
}

/// Only what this kind of step has.
ordered_json step_to_json(const schedule& s, std::size_t i) {
    const step& t = s.steps[i];
    ordered_json j{{"kind", name(step_names, t.kind)}};
    if (t.is_message()) j.update({{"peer", t.peer}, {"message", t.message}});
    if (t.kind != step_kind::recv) j.update({{"from", name(buffers, t.from)}, {"source", t.source}});
    if (t.kind != step_kind::send) j.update({{"to", name(buffers, t.to)}, {"target", t.target}});
    j.update({{"shape", t.shape}, {"count", t.count}, {"after", s.dependencies_of(i)}});
    return j;
}

step step_from_json(const ordered_json& j) {
    step t;
    t.kind = named<step_kind>(step_names, j.at("kind"));
    if (t.is_message()) {
        j.at("peer").get_to(t.peer);
        j.at("message").get_to(t.message);
    }
    if (t.kind != step_kind::recv) {
        t.from = named<buffer>(buffers, j.at("from"));
        j.at("source").get_to(t.source);
    }
    if (t.kind != step_kind::send) {
        t.to = named<buffer>(buffers, j.at("to"));
        j.at("target").get_to(t.target);
    }
    j.at("shape").get_to(t.shape);
    j.at("count").get_to(t.count);
    return t;
}

std::vector<std::vector<neighbour>> ends_from_json(const ordered_json& lists) {
    std::vector<std::vector<neighbour>> all;
    for (const ordered_json& list : lists) {
        auto& mine = all.emplace_back();
        for (const ordered_json& end : list)
            mine.push_back({end.at(0).get<std::int32_t>(), end.at(1).get<std::int32_t>()});
    }
    return all;
}

/// The schedules follow from the rounds.
named_schedules complete_from_rounds(named_schedules n, const ordered_json& j) {
    n.p.what = find_algorithm(n.id).what;
    check(n.p);
    std::vector<rank> all;
    for (rank r; r.value < n.p.ranks; ++r.value) all.push_back(r);
    n.all = clairvoyant::schedules_of(n.p, rounds_from_json(n.p, j), all);
    return n;
}

}  // namespace

ordered_json schedules_to_json(std::string_view id, const problem& p, std::span<const schedule> all) {
    const timetable times = make_timetable(p, all);
    ordered_json j{{"id", id},
                   {"collective", traits(p.what).name},
                   {"ranks", p.ranks},
                   {"root", p.root.value},
                   {"segments", p.segments},
                   {"radix", p.radix},
                   {"commutative", p.commutative},
                   {"idempotent", p.idempotent},
                   {"parts", all.front().parts},
                   {"scratch", ordered_json::array()},
                   {"steps", ordered_json::array()},
                   {"rounds", times.rounds},
                   {"messages", ordered_json::array()}};
    if (p.neighbours) {
        // For each chunk the rank and chunk at the other end of its edge.
        const auto ends = [](std::span<const neighbour> some) {
            ordered_json list = ordered_json::array();
            for (const neighbour& n : some) list.push_back({n.rank, n.chunk});
            return list;
        };
        for (rank r; r.value < p.ranks; ++r.value) {
            j["sources"].push_back(ends(p.neighbours->sources(r)));
            j["destinations"].push_back(ends(p.neighbours->destinations(r)));
        }
    }
    for (const schedule& s : all) {
        j["scratch"].push_back(s.scratch);
        ordered_json steps = ordered_json::array();
        for (std::size_t i = 0; i < s.steps.size(); ++i) steps.push_back(step_to_json(s, i));
        j["steps"].push_back(std::move(steps));
    }
    for (const message& m : times.messages)
        j["messages"].push_back({{"round", m.round},
                                 {"from", m.from.value},
                                 {"to", m.to.value},
                                 {"send", m.send},
                                 {"recv", m.recv},
                                 {"blocks", m.blocks}});
    return j;
}

named_schedules schedules_from_json(std::string_view text) {
    try {
        const ordered_json j = ordered_json::parse(text);
        named_schedules n;
        j.at("id").get_to(n.id);
        j.at("ranks").get_to(n.p.ranks);
        j.at("root").get_to(n.p.root.value);
        j.at("segments").get_to(n.p.segments);
        if (j.at("rounds").is_array()) return complete_from_rounds(std::move(n), j);
        n.p.what = parse_collective(j.at("collective").get<std::string>());
        j.at("radix").get_to(n.p.radix);
        j.at("commutative").get_to(n.p.commutative);
        j.at("idempotent").get_to(n.p.idempotent);
        n.equal_parts = j.value("equal_parts", false);
        if (j.contains("sources"))
            n.p.neighbours =
                std::make_shared<const graph>(ends_from_json(j.at("sources")), ends_from_json(j.at("destinations")));
        check(n.p);
        for (const ordered_json& steps : j.at("steps")) {
            schedule s;
            j.at("parts").get_to(s.parts);
            j.at("scratch").at(n.all.size()).get_to(s.scratch);
            for (const ordered_json& t : steps) {
                s.steps.push_back(step_from_json(t));
                for (const ordered_json& d : t.at("after")) s.dependencies.push_back(d.get<std::uint32_t>());
                s.first_dependency.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
            }
            n.all.push_back(std::move(s));
        }
        return n;
    } catch (const nlohmann::json::exception& e) {
        throw error("not the schedules of a problem", e.what(), "make them with 'rubato schedule ID --format json'");
    }
}

}  // namespace rubato::cli
