// Marendic et al. 2016: one late rank, Figs 12 and 13 and what follows from them.
#include "../panels.hpp"
#include "contender.hpp"
#include "page.hpp"
#include "rubato/arrival.hpp"

#include <algorithm>
#include <fstream>

namespace reproduction {

using namespace rubato;

namespace {

constexpr std::array contenders{"clairvoyant", "clairvoyant_plus", "butterfly", "radix_k",
                                "ring",        "binomial",         "two_tree",  "chain",
                                "binary",      "knomial",          "linear"};
constexpr std::size_t drawn = 8;  // the others are far off

/// Rank 127 is late by 0 to 5 times Clairvoyant's time without late ranks.
void late_rank(const std::string& pictures, bool full) {
    constexpr int steps = 40;
    constexpr double steps_per_unit = 8;
    constexpr std::array shown{0, 1, 2, 4, 8, 16, 40};
    constexpr std::string_view shown_size = "4 MiB";
    std::vector<panel> run_times;
    std::vector<panel> absorptions;
    int faster = 0;
    int measured = 0;
    for (const auto& [name, bytes] : sizes) {
        contender reference("clairvoyant", bytes);
        const auto delay = [&](int k) { return reference.balanced() * k / static_cast<int>(steps_per_unit); };
        std::vector<time_ns> compared;
        for (int k = 0; k <= steps; ++k) compared.push_back(reference.run(delay(k)));
        std::vector<std::string> head{"algorithm", "N"};
        for (const char* text : {"0", "1/8", "1/4", "1/2", "1", "2", "5", "absorbed, %"}) head.emplace_back(text);
        const bool shown_on_page = full || name == shown_size;
        if (shown_on_page)
            print_head(fmt::format("Figs 12 and 13, {}: t = {}", name, format_time(reference.balanced())), head);
        run_times.push_back({name, {}});
        absorptions.push_back({name, {}});
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            contender c(contenders[i], bytes);
            std::vector<std::string> row{contenders[i], fmt::format("{}", c.segments())};
            curve relative{contenders[i], {}};
            curve absorbed{contenders[i], {}};
            for (int k = 0; k <= steps; ++k) {
                const time_ns t = c.run(delay(k));
                const time_ns other = compared[static_cast<std::size_t>(k)];
                if (i > 0) ++measured;
                if (t < other) ++faster;
                relative.points.emplace_back(k / steps_per_unit, seconds(t) / seconds(other));
                absorbed.points.emplace_back(k / steps_per_unit,
                                             normalised(absorption(c.balanced(), t, delay(k)), c.balanced()));
            }
            for (const int k : shown)
                row.push_back(fmt::format("{:.3f}", relative.points[static_cast<std::size_t>(k)].second));
            row.push_back(fmt::format("{:.1f}", 100 * absorbed.points.back().second));
            if (shown_on_page) print_row(row);
            if (i >= drawn) continue;
            run_times.back().curves.push_back(std::move(relative));
            absorptions.back().curves.push_back(std::move(absorbed));
        }
    }
    print("\nOf {} such runs of the others, {} are faster than Clairvoyant.\n", measured, faster);
    if (pictures.empty()) return;
    const axis delays{"delay of rank 127, in t", {0, 1, 2, 3, 4, 5}};
    const std::string setting = "128 ranks, model curie, simulated; t: Clairvoyant's run time when all arrive together";
    std::ofstream(pictures + "/reproduction-run-time.svg")
        << draw_panels("Run time with one late rank, relative to Clairvoyant's", setting, delays,
                       {"relative run time", {0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8}, true}, run_times);
    std::ofstream(pictures + "/reproduction-absorption.svg")
        << draw_panels("How much of one rank's delay is absorbed", setting, delays,
                       {"normalised absorption", {0, 0.1, 0.2, 0.3, 0.4}}, absorptions);
}

void late_root() {
    std::vector<std::string> head{"algorithm"};
    for (const named_size& s : sizes) head.emplace_back(s.name);
    print_head("The root late by t/2: run time relative to Clairvoyant's", head);
    for (const char* name : {"clairvoyant_plus", "two_tree", "chain", "butterfly"}) {
        std::vector<std::string> row{name};
        for (const auto& [size, bytes] : sizes) {
            contender reference("clairvoyant", bytes);
            const time_ns delay = reference.balanced() / 2;
            row.push_back(fmt::format("{:.3f}", seconds(contender(name, bytes).run(delay, rank(0))) /
                                                    seconds(reference.run(delay, rank(0)))));
        }
        print_row(row);
    }
}

/// The formula's number of segments is for ranks that arrive together.
void segments_when_late() {
    constexpr std::array delays{1, 2, 4, 8, 20};  // quarters of t
    print_head(
        "Clairvoyant with the power of two of segments that suits the delay: N, run time relative to formula's N",
        {"size", "formula's N", "1/4", "1/2", "1", "2", "5"});
    for (const auto& [name, bytes] : sizes) {
        contender reference("clairvoyant", bytes);
        std::vector<contender> others;
        for (std::uint32_t k = 1; k <= 2 * reference.segments(); k *= 2) others.emplace_back("clairvoyant", bytes, k);
        std::vector<std::string> row{name, fmt::format("{}", reference.segments())};
        for (const int quarters : delays) {
            const time_ns delay = reference.balanced() * quarters / 4;
            std::pair<time_ns, std::uint32_t> best{time_ns::max(), 0};
            for (contender& c : others) best = std::min(best, {c.run(delay), c.segments()});
            row.push_back(fmt::format("{}: {:.3f}", best.second, seconds(best.first) / seconds(reference.run(delay))));
        }
        print_row(row);
    }
}

/// The time that is left when everything but the late rank's part is done.
void very_late() {
    std::vector<std::string> head{"algorithm"};
    for (const named_size& s : sizes) head.emplace_back(s.name);
    print_head("After a very late rank (200 t): microseconds from its arrival to the end", head);
    const auto row = [](std::string_view label, std::string_view name, std::uint32_t fixed) {
        std::vector<std::string> cells{std::string(label)};
        for (const auto& [size, bytes] : sizes) {
            const time_ns delay = 200 * contender("clairvoyant", bytes).balanced();
            cells.push_back(fmt::format("{:.1f}", seconds(contender(name, bytes, fixed).run(delay) - delay) * 1e6));
        }
        print_row(cells);
    };
    for (const char* name : contenders) row(name, name, 0);
    row("clairvoyant, N = 1", "clairvoyant", 1);
    row("clairvoyant, N = 2", "clairvoyant", 2);
}

}  // namespace

void marendic_2016_late(const std::string& pictures, bool full) {
    late_rank(pictures, full);
    late_root();
    segments_when_late();
    very_late();
}

}  // namespace reproduction
