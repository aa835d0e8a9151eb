#include "rubato/tuned_rules.hpp"

#include "base/core/text.hpp"
#include "rubato/arrival.hpp"
#include "simulator/choose/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rubato {
namespace {

constexpr std::string_view way_out = "make the file again with 'rubato tune', or correct the line";

auto values_of(const rule& r) { return std::tuple(r.what, r.ranks, r.bytes, r.imbalance); }

rule parse_rule(std::string_view line) {
    const std::vector<std::string_view> fields = base::split_fields(line);
    if (fields.size() < 5 || fields.size() > 6)
        throw error(fmt::format("{} words", fields.size()),
                    "a rule is COLLECTIVE RANKS BYTES IMBALANCE ALGORITHM [SEGMENT]", way_out);
    rule r;
    r.what = parse_collective(fields[0]);
    r.ranks = static_cast<std::int32_t>(parse_integer(fields[1], "number of ranks", 1, 1 << 20));
    r.bytes = parse_bytes(fields[2]);
    if (fields[3] != "any") r.imbalance = parse_time(fields[3]);
    if (fields[4] != "native") {
        r.use = &find_algorithm(fields[4]);
        if (r.use->what != r.what)
            throw error(fmt::format("{} for {}", r.use->id, fields[0]), "it is an algorithm of another collective",
                        way_out);
    }
    if (fields.size() == 5) return r;
    if (r.use == nullptr || !r.use->segmented)
        throw error(fmt::format("segments of {} for {}", fields[5], fields[4]), "it does not cut vectors", way_out);
    r.segment = parse_bytes(fields[5]);
    if (r.segment < 1) throw error("segments of no bytes", "a segment has at least one", way_out);
    return r;
}

/// "512KiB", or in bytes if that is not exact.
std::string size_text(std::int64_t bytes) {
    std::string text = format_bytes(bytes);
    std::erase(text, ' ');
    try {
        if (parse_bytes(text) == bytes) return text;
    } catch (const error&) {
        // "1.1KiB" may be no whole number of bytes
    }
    return std::to_string(bytes);
}

std::string time_text(time_ns t) {
    for (const auto& [name, of_these] : {std::pair("s", 1000000000), std::pair("ms", 1000000), std::pair("us", 1000)})
        if (t.count() >= of_these && t.count() % of_these == 0) return fmt::format("{}{}", t.count() / of_these, name);
    return t == time_ns{} ? "0" : fmt::format("{}ns", t.count());
}

}  // namespace

rules::rules(std::vector<rule> all, std::optional<model> network) : all_(std::move(all)), network_(network) {
    std::ranges::stable_sort(all_, {}, values_of);
}

rules rules::parse(std::string_view text, const std::string& file) {
    std::vector<rule> found;
    std::optional<model> network;
    for (const base::numbered_line& line : base::lines_of(text, file, "rules")) {
        try {
            constexpr std::string_view model_word = "model ";
            if (std::string_view(line.text).starts_with(model_word)) {
                if (network) throw error("a second model", "there is one network", "remove one of them");
                network = parse_model(std::string_view(line.text).substr(model_word.size()));
                continue;
            }
            rule r = parse_rule(line.text);
            r.line = line.number;
            const auto same = std::ranges::find(found, values_of(r), values_of);
            if (same != found.end())
                throw error("a second rule for the same problem", fmt::format("line {} has one", same->line),
                            "remove one of them");
            found.push_back(r);
        } catch (const error& e) {
            throw error(fmt::format("line {} of rules '{}': {}", line.number, file, e.what()));
        }
    }
    for (const rule& r : found)
        if (r.use != nullptr && r.use->uses_round_time() && !network)
            throw error(fmt::format("line {} of rules '{}': {} without a model", r.line, file, r.use->id),
                        "it plans in rounds, and a model tells how long these take", "add a line 'model MODEL'");
    return rules(std::move(found), network);
}

rules rules::read(const std::string& file) { return parse(base::read_text(file, "rules"), file); }

const rule* rules::find(const problem& p, std::int64_t chunk) const {
    const std::int64_t bytes = chunk * traits(p.what).sized_chunks(p.ranks);
    const rule* found = nullptr;
    for (const rule& r : all_) {  // the last that fits, unless it is for more ranks or bytes than an earlier one
        if (r.what != p.what || r.ranks > p.ranks) continue;
        if (found != nullptr && r.ranks > found->ranks) found = nullptr;
        if (r.bytes > bytes) continue;
        if (found != nullptr && r.bytes > found->bytes) found = nullptr;
        const bool holds = !r.imbalance || (!p.arrivals.empty() && *r.imbalance <= absolute_imbalance(p.arrivals));
        if (holds) found = &r;
    }
    if (found == nullptr || found->use == nullptr) return nullptr;
    problem prepared = p;
    prepare(*found, prepared, chunk);
    return unmet_need(*found->use, prepared) ? nullptr : found;
}

void rules::prepare(const rule& r, problem& p, std::int64_t chunk) const {
    p.segments = simulator::pieces(chunk, r.segment);
    p.round_time = {};
    if (network_) p.round_time = simulator::round_time_of(*r.use, p, chunk, *network_);
}

bool rules::concern(collective what) const {
    return std::ranges::any_of(all_, [what](const rule& r) { return r.what == what && r.use != nullptr; });
}

std::vector<std::string> cautions(const rules& r) {
    std::vector<std::string> all;
    for (const rule& one : r.all()) {
        const auto said = one.use != nullptr ? caution(*one.use) : std::nullopt;
        if (said && std::ranges::find(all, *said) == all.end()) all.push_back(*said);
    }
    return all;
}

std::string to_string(const rules& r) {
    std::string text = r.network() ? fmt::format("model {}\n", to_string(*r.network())) : "";
    for (const rule& one : r.all()) {
        text +=
            fmt::format("{} {} {} {} {}", traits(one.what).name, one.ranks, size_text(one.bytes),
                        one.imbalance ? time_text(*one.imbalance) : "any", one.use != nullptr ? one.use->id : "native");
        if (one.segment > 0) text += fmt::format(" {}", size_text(one.segment));
        text += '\n';
    }
    return text;
}

}  // namespace rubato
