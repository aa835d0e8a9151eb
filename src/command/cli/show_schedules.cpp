#include "command/cli/show_schedules.hpp"

#include "base/core/text.hpp"
#include "rubato/draw.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace rubato::command {
namespace {

using nlohmann::ordered_json;
using schedules::rounds;
using schedules::transfer;

/// Calls idle(first, count) and busy(number, transfers) in the order of rounds.
template <class Idle, class Busy>
void for_each_round(const rounds& r, Idle idle, Busy busy) {
    std::int64_t next = 0;
    for (std::size_t k = 0; k < r.busy.size(); ++k) {
        const std::int64_t number = r.busy[k].number;
        if (number > next) idle(next, number - next);
        busy(number, r.transfers_of(k));
        next = number + 1;
    }
    if (r.length > next) idle(next, r.length - next);
}

constexpr std::int64_t most_rounds = std::int64_t{1} << 61;

/// A whole number of a file, within these limits.
std::int64_t integer(const ordered_json& value, std::string_view what, std::int64_t low, std::int64_t high) {
    if (!value.is_number_integer() || value.get<double>() > static_cast<double>(high) || value < low || value > high)
        throw error(fmt::format("{} {} in a file of rounds", what, value.dump()),
                    low == high ? fmt::format("there are {} rounds", low)
                                : fmt::format("it is a whole number from {} to {}", low, high),
                    "correct it");
    return value.get<std::int64_t>();
}

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
base::json step_to_json(const schedule& s, std::size_t i) {
    const step& t = s.steps[i];
    base::json j{{"kind", name(step_names, t.kind)}};
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
    rubato::check(n.p);
    std::vector<rank> all;
    for (rank r; r.value < n.p.ranks; ++r.value) all.push_back(r);
    n.all = schedules::schedules_of(n.p, rounds_from_json(n.p, j), all);
    return n;
}

}  // namespace

round_maker rounds_of(const algorithm& a) {
    if (a.id == "reduce/clairvoyant") return schedules::generate;
    if (a.id == "reduce/clairvoyant_plus") return schedules::generate_plus;
    return nullptr;
}

std::string rounds_heading(const algorithm& a, const problem& p) {
    std::string text = fmt::format("{}: {}, root {}, {}", a.id, base::counted(p.ranks, "rank"), p.root.value,
                                   base::counted(p.segments, "segment"));
    if (p.round_time > time_ns{}) text += fmt::format(", rounds of {}", format_time(p.round_time));
    return text;
}

std::string rounds_to_json(const algorithm& a, const problem& p, const rounds& r) {
    constexpr std::int64_t most_empty = 64;
    std::string out =
        fmt::format(R"({{"id":"{}","ranks":{},"segments":{},"root":{},"round_time_ns":{},"length":{},"rounds":[)", a.id,
                    p.ranks, p.segments, p.root.value, p.round_time.count(), r.length);
    for_each_round(
        r,
        [&](std::int64_t, std::int64_t count) {
            if (count > most_empty)
                out += fmt::format(R"({{"skip":{}}},)", count);
            else
                for (; count > 0; --count) out += "[],";
        },
        [&](std::int64_t, std::span<const transfer> now) {
            for (std::size_t i = 0; i < now.size(); ++i)
                fmt::format_to(std::back_inserter(out), R"({}{{"to":{},"from":{},"segment":{}}})", i == 0 ? '[' : ',',
                               now[i].to, now[i].from, now[i].segment);
            out += "],";
        });
    if (out.back() == ',') out.pop_back();
    return out + "]}\n";
}

rounds rounds_from_json(const problem& p, const ordered_json& j) {
    rounds r;
    const auto ranks = static_cast<std::size_t>(p.ranks);
    std::vector<bool> held(ranks * p.segments, true);
    const auto at = [&](std::int32_t who, std::uint32_t segment) {
        return held[static_cast<std::size_t>(who) * p.segments + segment];
    };
    std::vector<std::int64_t> sent(ranks, -1), received(ranks, -1);  // in which round last
    const auto once = [&r](std::vector<std::int64_t>& last, std::int32_t who) {
        return std::exchange(last[static_cast<std::size_t>(who)], r.length) != r.length;
    };
    for (const ordered_json& round : j.at("rounds")) {
        if (round.is_object()) {
            r.length += integer(round.at("skip"), "skip", 1, most_rounds - r.length);
            continue;
        }
        const auto complain = [&](const transfer& t, std::string_view why) {
            throw error(fmt::format("{}<-{}:{} in round {}", t.to, t.from, t.segment, r.length), why, "correct it");
        };
        const std::size_t begin = r.transfers.size();
        for (const ordered_json& item : round) {
            const auto who = [&](const char* name) {
                return static_cast<std::int32_t>(integer(item.at(name), name, 0, p.ranks - 1));
            };
            const transfer t{who("to"), who("from"),
                             static_cast<std::uint32_t>(integer(item.at("segment"), "segment", 0, p.segments - 1))};
            if (t.to == t.from) complain(t, "nobody sends to itself");
            if (!once(sent, t.from) || !once(received, t.to))
                complain(t, "in a round, a rank sends one segment and receives one");
            if (!at(t.from, t.segment)) complain(t, "the sender does not hold that segment");
            at(t.from, t.segment) = false;
            r.transfers.push_back(t);
        }
        for (std::size_t k = begin; k < r.transfers.size(); ++k) at(r.transfers[k].to, r.transfers[k].segment) = true;
        if (r.transfers.size() > begin) r.busy.push_back({r.length, r.transfers.size()});
        ++r.length;
    }
    integer(j.at("length"), "length", r.length, r.length);
    return r;
}

std::string rounds_to_text(const algorithm& a, const problem& p, const rounds& r) {
    std::string out =
        fmt::format("{}; {} transfers in {} rounds\n\n", rounds_heading(a, p), r.transfers.size(), r.length);
    const std::size_t width = fmt::formatted_size("{}", std::max<std::int64_t>(r.length - 1, 0));
    for_each_round(
        r,
        [&](std::int64_t first, std::int64_t count) {
            out += count == 1 ? fmt::format("round {:<{}}   idle\n", first, width)
                              : fmt::format("rounds {} to {}   idle\n", first, first + count - 1);
        },
        [&](std::int64_t number, std::span<const transfer> now) {
            fmt::format_to(std::back_inserter(out), "round {:<{}} ", number, width);
            for (const transfer& t : now)
                fmt::format_to(std::back_inserter(out), "  {}<-{}:{}", t.to, t.from, t.segment);
            out += '\n';
        });
    return out;
}

base::json schedules_to_json(std::string_view id, const problem& p, std::span<const schedule> all) {
    const timetable times = make_timetable(p, all);
    base::json j{{"id", id},
                 {"collective", traits(p.what).name},
                 {"ranks", p.ranks},
                 {"root", p.root.value},
                 {"segments", p.segments},
                 {"radix", p.radix},
                 {"commutative", p.commutative},
                 {"idempotent", p.idempotent},
                 {"parts", all.front().parts},
                 {"scratch", base::json::array()},
                 {"steps", base::json::array()},
                 {"rounds", times.rounds},
                 {"messages", base::json::array()}};
    if (p.neighbours) {
        // For each chunk the rank and chunk at the other end of its edge.
        const auto ends = [](std::span<const neighbour> some) {
            base::json list = base::json::array();
            for (const neighbour& n : some) list.push_back(base::json::array({n.rank, n.chunk}));
            return list;
        };
        for (rank r; r.value < p.ranks; ++r.value) {
            j["sources"].push_back(ends(p.neighbours->sources(r)));
            j["destinations"].push_back(ends(p.neighbours->destinations(r)));
        }
    }
    for (const schedule& s : all) {
        j["scratch"].push_back(s.scratch);
        base::json steps = base::json::array();
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
        rubato::check(n.p);
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

}  // namespace rubato::command
