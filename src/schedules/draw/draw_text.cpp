#include "base/core/text.hpp"
#include "rubato/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace rubato {
namespace {

constexpr std::int32_t most_ranks = 32;
constexpr std::int64_t most_rounds = 40;
constexpr std::size_t most_lines = 200;
constexpr std::size_t widest = 132;  // characters

/// One message, or two that are exchanged, as a line between two lanes.
struct arrow {
    std::int32_t low;
    std::int32_t high;
    std::optional<std::string> down{};  // the label of what goes from high to low
    std::optional<std::string> up{};

    bool crosses(const arrow& other) const { return low < other.high && other.low < high; }
};

class text_picture {
public:
    text_picture(std::int32_t ranks, const timetable& times) : ranks_(ranks) {
        std::size_t longest = 0;
        for (const message& m : times.messages) longest = std::max(longest, block_label(times, m).size());
        const std::size_t wanted = longest > 0 ? longest + 3 : ranks_ > 20 ? 3 : 4;
        pitch_ =
            std::clamp(wanted, std::size_t{3}, std::max(std::size_t{4}, widest / static_cast<std::size_t>(ranks_)));

        out_ = std::string(gutter, ' ');
        for (std::int32_t r = 0; r < ranks_; ++r) out_ += fmt::format("{:<{}}", r, pitch_);
        end_line();
        for (std::size_t i = 0; i < times.messages.size();) {
            std::size_t end = i;
            while (end < times.messages.size() && times.messages[end].round == times.messages[i].round) ++end;
            draw_round(times, std::span(times.messages).subspan(i, end - i));
            i = end;
        }
    }

    std::size_t lines() const { return lines_; }
    const std::string& text() const { return out_; }

private:
    static constexpr std::size_t gutter = 11;

    void end_line() {
        out_.erase(out_.find_last_not_of(' ') + 1);
        out_ += '\n';
        ++lines_;
    }

    std::size_t room(const arrow& a) const { return static_cast<std::size_t>(a.high - a.low) * pitch_ - 1; }

    /// Short ones first, so that lines fill up.
    void draw_round(const timetable& times, std::span<const message> messages) {
        std::vector<arrow> arrows;
        for (const message& m : messages) {
            arrow a{std::min(m.from, m.to).value, std::max(m.from, m.to).value};
            (m.from > m.to ? a.down : a.up) = block_label(times, m);
            const auto back =
                std::ranges::find_if(arrows, [&a](const arrow& o) { return o.low == a.low && o.high == a.high; });
            if (back == arrows.end()) {
                arrows.push_back(a);
                continue;
            }
            arrow both = *back;
            (m.from > m.to ? both.down : both.up) = block_label(times, m);
            if (both.down->size() + both.up->size() + 3 <= room(a))
                *back = both;
            else
                arrows.push_back(a);
        }
        std::ranges::stable_sort(arrows, {}, [](const arrow& a) { return a.high - a.low; });
        std::vector<std::vector<arrow>> lines;
        for (const arrow& a : arrows) {
            const auto free = std::ranges::find_if(lines, [&a](const std::vector<arrow>& line) {
                return std::ranges::none_of(line, [&a](const arrow& o) { return a.crosses(o); });
            });
            if (free == lines.end())
                lines.push_back({a});
            else
                free->push_back(a);
        }
        for (const std::vector<arrow>& line : lines) {
            out_ += &line == &lines.front()
                        ? fmt::format("{:<{}}", fmt::format("round {}", messages.front().round), gutter)
                        : std::string(gutter, ' ');
            draw_line(line);
        }
    }

    void draw_line(const std::vector<arrow>& arrows) {
        std::string lanes;
        for (std::int32_t r = 0; r < ranks_; ++r) lanes += fmt::format("{:<{}}", '|', pitch_);
        for (const arrow& a : arrows) {
            std::string shaft(room(a), '-');
            const std::string down = a.down.value_or("");
            const std::string up = a.up.value_or("");
            if (a.down) shaft.front() = '<';
            if (a.up) shaft.back() = '>';
            if (a.down && a.up) {
                shaft.replace(1, down.size(), down);
                shaft.replace(shaft.size() - 1 - up.size(), up.size(), up);
            } else if (const std::string& label = a.down ? down : up; label.size() + 2 <= shaft.size()) {
                shaft.replace((shaft.size() - label.size() + 1) / 2, label.size(), label);
            }
            lanes.replace(static_cast<std::size_t>(a.low) * pitch_ + 1, shaft.size(), shaft);
        }
        out_ += lanes;
        end_line();
    }

    std::int32_t ranks_;
    std::size_t pitch_ = 4;
    std::size_t lines_ = 0;
    std::string out_{};
};

}  // namespace

std::string draw_text(const drawing& d) {
    const timetable times = make_timetable(d.p, d.all);
    std::map<step_kind, std::int64_t> steps;
    for (const schedule& s : d.all)
        for (const step& t : s.steps) ++steps[t.kind];

    std::string out = fmt::format("{}: {}", d.title, base::counted(d.p.ranks, "rank"));
    if (traits(d.p.what).rooted) out += fmt::format(", root {}", d.p.root.value);
    if (d.all.front().parts > 1) out += fmt::format(", {} parts", d.all.front().parts);
    out += fmt::format("; {} in {}", base::counted(steps[step_kind::send], "message"),
                       base::counted(times.rounds, "round"));
    if (steps[step_kind::combine] > 0)
        out += fmt::format(", {}", base::counted(steps[step_kind::combine], "combination"));
    if (steps[step_kind::copy] > 0)
        out += fmt::format(", {} cop{}", steps[step_kind::copy], steps[step_kind::copy] == 1 ? "y" : "ies");
    out += '\n';

    std::int64_t round = 0;
    for (const message& m : times.messages) {
        if (m.round != round) out += fmt::format("\n{:<8}", fmt::format("round {}", m.round));
        round = m.round;
        const std::string label = block_label(times, m);
        out += fmt::format("  {}<-{}{}{}", m.to.value, m.from.value, label.empty() ? "" : ":", label);
    }
    if (times.messages.empty()) return out;
    out += "\n\n";
    if (d.p.ranks <= most_ranks && times.rounds <= most_rounds) {
        const text_picture lanes(d.p.ranks, times);
        if (lanes.lines() <= most_lines) return out + lanes.text();
    }
    return out + "(too large to be drawn with characters)\n";
}

}  // namespace rubato
