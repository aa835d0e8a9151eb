#include "rubato/draw.hpp"

#include "base/core/text.hpp"
#include "schedules/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rubato {
namespace {

constexpr double top = 100;       // the first lane
constexpr double left_edge = 64;  // time 0
constexpr double margin = 28;     // right of the last moment, and below the legend

class painter : schedules::svg::page {
public:
    explicit painter(const drawing& d) : d_(d), table_(make_timetable(d.p, d.all)), real_(!d.times.empty()) {
        for (std::size_t r = 0; r < d.all.size(); ++r)
            for (std::size_t s = 0; s < d.all[r].steps.size(); ++s) end_ = std::max(end_, span(r, s).second);
        for (const time_ns a : arrivals()) end_ = std::max(end_, static_cast<double>(a.count()));
        end_ = std::max(end_, 1.);
        const auto ranks = static_cast<double>(d.p.ranks);
        lane_ = std::clamp(560 / ranks, 9., 44.);
        scale_ = (real_ ? 1000 : std::clamp(90 * end_, 420., std::max(1100., 16 * end_))) / end_;
        dense_ = static_cast<double>(table_.messages.size()) / (scale_ * end_ * lane_ * ranks) > 1. / 900;
    }

    std::string paint() {
        const double width = std::max(left_edge + scale_ * end_ + margin + 12, 560.);
        const double floor = y(static_cast<std::size_t>(d_.p.ranks) - 1);
        begin(width, floor + 56 + margin, d_.title, subtitle());
        axis(floor);
        lanes();
        messages();
        marks();
        legend(floor + 44);
        return end();
    }

private:
    std::uint32_t parts() const { return d_.all.front().parts; }
    std::span<const time_ns> arrivals() const { return real_ ? d_.arrivals : std::span<const time_ns>{}; }
    double x(double time) const { return left_edge + time * scale_; }
    double y(std::size_t r) const { return top + static_cast<double>(r) * lane_; }

    /// Begin and end of a step, in nanoseconds or in rounds.
    std::pair<double, double> span(std::size_t r, std::size_t s) const {
        if (real_) {
            const span_ns& t = d_.times[r][s];
            return {static_cast<double>(t.begin.count()), static_cast<double>(t.end.count())};
        }
        const auto end = static_cast<double>(table_.ends[r][s]);
        return {d_.all[r].steps[s].is_message() ? end - 1 : end, end};
    }

    std::string subtitle() const {
        std::string text = base::counted(d_.p.ranks, "rank");
        if (traits(d_.p.what).rooted) text += fmt::format(", root {}", d_.p.root.value);
        if (parts() > 1) text += fmt::format(", {} parts", parts());
        text += ", " + base::counted(table_.messages.size(), "message");
        text += real_ ? fmt::format(", last exit at {}", format_time(time_ns(std::llround(end_))))
                      : " in " + base::counted(table_.rounds, "round");
        return d_.note.empty() ? text : fmt::format("{}; {}", text, d_.note);
    }

    void axis(double floor) {
        const double step = real_ ? schedules::svg::nice_step(end_, 10)
                                  : schedules::svg::nice_step(end_, static_cast<int>(scale_ * end_ / 26));
        put("<g>\n");
        const double from = top - 14;
        const double to = floor + 12;
        for (int i = 0; i * step <= end_; ++i) {
            const double t = i * step;
            put("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x(t), from, to);
            if (real_)
                write("small middle", x(t), from - 6, schedules::svg::tick_label(t, step));
            else if (t > 0)
                put("<text class=\"small middle\" x=\"{:.1f}\" y=\"{:.1f}\">{:g}</text>\n", x(t - .5), from - 6, t);
        }
        if (!real_) write("small right", left_edge - 14, from - 6, "round");
        put("</g>\n");
    }

    void lanes() {
        const auto every = static_cast<std::size_t>(schedules::svg::nice_step(13 / lane_, 1));
        const bool rooted = traits(d_.p.what).rooted;
        put("<g stroke-width=\"{:.1f}\">\n", std::clamp(lane_ / 14, .8, 2.));
        for (std::size_t r = 0; r < d_.all.size(); ++r) {
            double begin = 0;
            double end = real_ ? 0 : end_;
            if (!arrivals().empty()) begin = end = static_cast<double>(arrivals()[r].count());
            for (std::size_t s = 0; real_ && s < d_.all[r].steps.size(); ++s) end = std::max(end, span(r, s).second);
            if (begin > 0) put("<path class=\"absent\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", x(0), y(r), x(begin));
            put("<path class=\"lane\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", x(begin), y(r), x(end));
            if (real_) put("<path class=\"lane\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", x(end), y(r) - lane_ * .2, lane_ * .4);
            const bool root = rooted && static_cast<std::int32_t>(r) == d_.p.root.value;
            if (r % every == 0 || root)
                put("<text class=\"right{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", root ? " strong" : " small",
                    left_edge - 14, y(r) + 4, r);
        }
        put("</g>\n");
    }

    void messages() {
        const double head = dense_ ? 4 : std::clamp(lane_ / 4, 4., 8.);
        put("<g stroke-width=\"{:.1f}\" stroke-linecap=\"round\">\n", dense_ ? .8 : 1.6);
        for (const message& m : table_.messages) {
            const auto from = static_cast<std::size_t>(m.from.value);
            const auto to = static_cast<std::size_t>(m.to.value);
            const double gap = real_ ? 0 : .06;
            const double x1 = x(span(from, m.send).first + gap);
            const double x2 = x(span(to, m.recv).second - gap);
            const double y1 = y(from);
            const double y2 = y(to);
            const double length = std::hypot(x2 - x1, y2 - y1);
            const double ux = (x2 - x1) / length;
            const double uy = (y2 - y1) / length;
            const double bx = x2 - ux * head;
            const double by = y2 - uy * head;
            const double half = head * .38;
            const std::string ink = schedules::svg::colour(m.blocks.empty() ? 0 : m.blocks.front(), table_.blocks);
            put("<path fill=\"{0}\" stroke=\"{0}\" d=\"M{1:.1f} {2:.1f}L{3:.1f} {4:.1f}M{5:.1f} {6:.1f}L{7:.1f} "
                "{8:.1f}L{9:.1f} {10:.1f}Z\"><title>{11}</title></path>\n",
                ink, x1, y1, bx, by, x2, y2, bx - uy * half, by + ux * half, bx + uy * half, by - ux * half, tip(m));
        }
        put("</g>\n");
    }

    std::string tip(const message& m) const {
        std::string text = fmt::format("{} to {}", m.from.value, m.to.value);
        if (const std::string label = block_label(table_, m); !label.empty())
            text += fmt::format(", block{} {}", m.blocks.size() == 1 ? "" : "s", label);
        if (!real_) return text + fmt::format(", round {}", m.round);
        const auto sent = d_.times[static_cast<std::size_t>(m.from.value)][m.send].begin;
        const auto received = d_.times[static_cast<std::size_t>(m.to.value)][m.recv].end;
        return text + fmt::format(", {} to {}", format_time(sent), format_time(received));
    }

    /// Draws combinations, arrivals, and the last arrival across all lanes.
    void marks() {
        const double radius = std::clamp(lane_ / 10, 1.4, 4.);
        put("<g stroke-width=\"1.2\">\n");
        for (std::size_t r = 0; r < d_.all.size(); ++r) {
            for (std::size_t s = 0; s < d_.all[r].steps.size(); ++s) {
                if (d_.all[r].steps[s].kind != step_kind::combine) continue;
                const auto [begin, end] = span(r, s);
                if (real_)
                    put("<rect class=\"work\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                        x(begin), y(r) - radius, std::max(.6, x(end) - x(begin)), 2 * radius);
                else
                    put("<circle class=\"hole\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>\n", x(end), y(r), radius);
            }
            if (!arrivals().empty()) arrival_mark(x(static_cast<double>(arrivals()[r].count())), y(r));
        }
        if (const double last = last_arrival(); last > 0)
            put("<path class=\"event\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x(last), top - 14, y(d_.all.size() - 1) + 12);
        put("</g>\n");
    }

    double last_arrival() const {
        return arrivals().empty() ? 0 : static_cast<double>(std::ranges::max(arrivals()).count());
    }

    void arrival_mark(double cx, double cy) {
        const double h = std::clamp(lane_ / 6, 2.5, 6.);
        put("<path class=\"ink\" stroke-width=\"0\" d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}v{:.1f}Z\"/>\n", cx, cy, -h * 1.3,
            -h, 2 * h);
    }

    bool combines() const {
        return std::ranges::any_of(d_.all, [](const schedule& s) {
            return std::ranges::any_of(s.steps, [](const step& t) { return t.kind == step_kind::combine; });
        });
    }

    void legend(double at) {
        double cx = left_edge;
        const auto say = [&](std::string_view text, double width) {
            write("small", cx, at + 4, text);
            cx += width;
        };
        if (table_.blocks > 1) {
            say("block", 36);
            const bool each = table_.blocks <= schedules::svg::few;
            const std::uint32_t swatches = each ? table_.blocks : 30;
            const double width = each ? 24 : 6;
            for (std::uint32_t i = 0; i < swatches; ++i) {
                put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"6\" fill=\"{}\"/>\n", cx, at - 3,
                    each ? width - 2 : width, schedules::svg::colour(i, swatches));
                if (each || i == 0 || i + 1 == swatches)
                    write("small middle", cx + width / 2 - 1, at + 17, i == 0 || each ? i : table_.blocks - 1);
                cx += width;
            }
            cx += 26;
        } else if (!table_.messages.empty()) {
            put("<path fill=\"{0}\" stroke=\"{0}\" stroke-width=\"1.6\" d=\"M{1:.1f} {2:.1f}h18M{3:.1f} {2:.1f}l-7 "
                "-3v6Z\"/>\n",
                schedules::svg::colour(0, 1), cx, at, cx + 26);
            cx += 34;
            say("message", 74);
        }
        if (combines()) {
            if (real_)
                put("<rect class=\"work\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"6\"/>\n", cx, at - 3);
            else
                put("<circle class=\"hole\" stroke-width=\"1.2\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", cx + 12,
                    at);
            cx += 24;
            say("combines", 78);
        }
        if (!arrivals().empty()) {
            put("<path class=\"ink\" stroke-width=\"0\" d=\"M{:.1f} {:.1f}l-7 -5v10Z\"/>\n", cx + 8, at);
            cx += 15;
            say("arrives", 64);
        }
        if (last_arrival() > 0) {
            put("<path class=\"event\" d=\"M{:.1f} {:.1f}v14\"/>\n", cx, at - 7);
            cx += 8;
            say("last arrival", 90);
        }
    }

    const drawing& d_;
    timetable table_;
    bool real_;
    double end_ = 0;
    double lane_ = 0;   // between two ranks
    double scale_ = 0;  // of time
    bool dense_ = false;
};

}  // namespace

std::string draw_svg(const drawing& d) { return painter(d).paint(); }

}  // namespace rubato
