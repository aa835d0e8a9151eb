#include "cli/show_rounds.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rubato::cli {
namespace {

using clairvoyant::rounds;
using clairvoyant::transfer;
using nlohmann::ordered_json;

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

}  // namespace

round_maker rounds_of(const algorithm& a) {
    if (a.id == "reduce/clairvoyant") return clairvoyant::generate;
    if (a.id == "reduce/clairvoyant_plus") return clairvoyant::generate_plus;
    return nullptr;
}

std::string rounds_heading(const algorithm& a, const problem& p) {
    std::string text = fmt::format("{}: {}, root {}, {}", a.id, counted(p.ranks, "rank"), p.root.value,
                                   counted(p.segments, "segment"));
    if (p.round_time > time_ns{}) text += fmt::format(", rounds of {}", format_time(p.round_time));
    return text;
}

std::string rounds_to_json(const algorithm& a, const problem& p, const rounds& r) {
    constexpr std::int64_t most_empty = 64;
    std::string out =
        fmt::format(R"({{"id":"{}","ranks":{},"segments":{},"root":{},"round_time_ns":{},"length":{},"rounds":[)", a.id,
                    p.ranks, p.segments, p.root.value, p.round_time.count(), r.length);
    const auto end_item = [&out] { out += ','; };
    for_each_round(
        r,
        [&](std::int64_t, std::int64_t count) {
            if (count > most_empty) {
                out += fmt::format(R"({{"skip":{}}})", count);
                return end_item();
            }
            for (; count > 0; --count) {
                out += "[]";
                end_item();
            }
        },
        [&](std::int64_t, std::span<const transfer> now) {
            for (std::size_t i = 0; i < now.size(); ++i)
                fmt::format_to(std::back_inserter(out), R"({}{{"to":{},"from":{},"segment":{}}})", i == 0 ? '[' : ',',
                               now[i].to, now[i].from, now[i].segment);
            out += ']';
            end_item();
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

}  // namespace rubato::cli
