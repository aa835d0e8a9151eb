// Who holds what when. A strip of cells, one per segment, shows what a rank holds before each round and at the end; a
// transfer runs from the sender's cell before the round to the receiver's cell after it. If that would be too much, the
// picture shows only how much of its vector a rank holds, averaged over some ranks and rounds.
#include "base/core/text.hpp"
#include "schedules/clairvoyant/clairvoyant.hpp"
#include "schedules/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rubato::schedules {
namespace {

constexpr double left = 92;
constexpr double top = 104;
constexpr double margin = 30;
constexpr double mark = 10;  // room for the mark of an arrival

/// A round, or a run of idle ones that is broken off.
struct column {
    std::int64_t first = 0;
    std::int64_t count = 1;
    std::span<const transfer> transfers{};
};

std::vector<column> columns_of(const rounds& r) {
    constexpr std::int64_t most_idle = 3;  // idle rounds that get a column each
    std::vector<column> all;
    std::int64_t next = 0;
    const auto idle_until = [&](std::int64_t end) {
        if (end - next > most_idle) all.push_back({next, end - next});
        for (; end - next <= most_idle && next < end; ++next) all.push_back({next});
        next = end;
    };
    for (std::size_t k = 0; k < r.busy.size(); ++k) {
        idle_until(r.busy[k].number);
        all.push_back({next++, 1, r.transfers_of(k)});
    }
    idle_until(r.length);
    return all;
}

class rounds_picture : svg::page {
public:
    rounds_picture(std::string_view title, const instance& in, const rounds& r)
        : title_(title), in_(in), length_(r.length), columns_(columns_of(r)), present_from_(ranks()) {
        arrivals_.resize(ranks());
        if (!in.arrivals.empty()) earliest_ = std::ranges::min(in.arrivals);
        for (std::size_t i = 0; i < in.arrivals.size(); ++i)
            arrivals_[i] =
                static_cast<double>((in.arrivals[i] - earliest_).count()) / static_cast<double>(in.round_time.count());
        // A rank that arrives during a round can take part in it.
        for (std::size_t i = 0; i < ranks(); ++i) present_from_[i] = static_cast<std::int64_t>(std::ceil(arrivals_[i]));
        for (const column& c : columns_)
            for (const transfer& t : c.transfers)
                for (const std::int32_t who : {t.to, t.from})
                    present_from_[index(who)] = std::min(present_from_[index(who)], c.first);
        held_.assign(ranks() * in.segments, 1);
    }

    std::string paint() {
        constexpr double widest = 8000;
        constexpr std::size_t most_cells = 30000;
        cell_ = std::clamp(128. / in_.segments, 6., 17.);
        step_ = strip() + std::clamp(strip() * .5, 34., 60.);
        const bool cells = in_.segments <= 40 && in_.ranks <= 40 && width() <= widest &&
                           ranks() * in_.segments * (columns_.size() + 1) <= most_cells;
        cells ? paint_cells() : paint_shares();
        return end();
    }

private:
    static std::size_t index(std::int32_t r) { return static_cast<std::size_t>(r); }
    std::size_t ranks() const { return index(in_.ranks); }
    std::int32_t& held(std::size_t r, std::uint32_t s) { return held_[r * in_.segments + s]; }
    double strip() const { return cell_ * in_.segments; }
    double width() const { return left + step_ * static_cast<double>(columns_.size()) + strip() + margin; }
    double x(std::size_t column) const { return left + step_ * static_cast<double>(column); }
    double y(std::size_t r) const { return top + lane_ * static_cast<double>(r); }
    bool is_root(std::size_t r) const { return r == index(in_.root.value); }

    /// The place of a moment, counted in rounds. The space between two strips is the round.
    double place(double time) const {
        for (std::size_t k = 0; k < columns_.size(); ++k) {
            const double passed = time - static_cast<double>(columns_[k].first);
            const auto count = static_cast<double>(columns_[k].count);
            if (passed <= 0) return x(k);
            if (passed < count) return x(k) + strip() + mark + (step_ - strip() - mark) * passed / count;
        }
        return x(columns_.size());
    }

    std::string subtitle(std::string_view more) const {
        std::string text = fmt::format("{}, root {}, {}, {}", base::counted(in_.ranks, "rank"), in_.root.value,
                                       base::counted(in_.segments, "segment"), base::counted(length_, "round"));
        if (std::ranges::any_of(arrivals_, [](double a) { return a > 0; }))
            text += fmt::format(" of {}", format_time(in_.round_time));
        return fmt::format("{}; {}", text, more);
    }

    /// What is left after the round: a count of contributions for each segment, 0 if it was sent away.
    void pass(const column& c) {
        std::vector<std::int32_t> sent;
        for (const transfer& t : c.transfers) sent.push_back(std::exchange(held(index(t.from), t.segment), 0));
        for (std::size_t i = 0; i < sent.size(); ++i) held(index(c.transfers[i].to), c.transfers[i].segment) += sent[i];
    }

    void paint_cells() {
        lane_ = std::clamp(900. / in_.ranks, 34., 66.);
        height_ = std::min(26., lane_ * .5);
        const double floor = y(ranks() - 1) + height_;
        begin(std::max(width(), 660.), floor + 62 + margin, title_,
              subtitle("a cell is a segment, filled as far as it is combined"));
        put("<defs><pattern id=\"away\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\"><path class=\"lane\" stroke-width=\"2\" d=\"M0 "
            "0V5\"/></pattern></defs>\n");
        for (std::size_t r = 0; r < ranks(); ++r) {
            put("<text class=\"right{}\" x=\"{:.1f}\" y=\"{:.1f}\">rank {}</text>\n", is_root(r) ? " strong" : "",
                left - 16, y(r) + height_ / 2 + (is_root(r) ? 0 : 4), r);
            if (is_root(r)) write("small right", left - 16, y(r) + height_ / 2 + 13, "root");
            put("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, y(r) + height_ / 2, x(columns_.size()));
        }
        for (std::size_t k = 0; k < columns_.size(); ++k) column_head(k, floor);
        write("small middle", x(columns_.size()) + strip() / 2, top - 22, "end");
        for (std::size_t k = 0; k < columns_.size(); ++k)
            for (const transfer& t : columns_[k].transfers) ribbon(k, t);
        std::vector<bool> fresh(held_.size());
        for (std::size_t k = 0; k <= columns_.size(); ++k) {
            for (std::size_t r = 0; r < ranks(); ++r) strip_of(k, r, fresh);
            if (k == columns_.size()) break;
            pass(columns_[k]);
            fresh.assign(held_.size(), false);
            for (const transfer& t : columns_[k].transfers) fresh[index(t.to) * in_.segments + t.segment] = true;
        }
        for (std::size_t r = 0; r < ranks(); ++r) arrival_mark(r);
        legend(floor + 48);
    }

    void column_head(std::size_t k, double floor) {
        const column& c = columns_[k];
        const double middle = x(k) + strip() + (step_ - strip()) / 2;
        if (c.count == 1) {
            put("<text class=\"small middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>\n", middle, top - 22,
                k == 0 ? "round " : "", c.first);
            return;
        }
        put("<text class=\"small middle\" x=\"{0:.1f}\" y=\"{1:.1f}\">{2}</text><text class=\"small middle\" "
            "x=\"{0:.1f}\" y=\"{3:.1f}\">idle</text>\n",
            middle, top - 34, c.count, top - 22);
        std::string zigzag = fmt::format("M{:.1f} {:.1f}", middle - 4, top - 12);
        const auto teeth = static_cast<int>((floor + 20 - top) / 8);
        for (int i = 0; i < teeth; ++i) zigzag += i % 2 == 0 ? "l8 8" : "l-8 8";
        put("<path class=\"event\" style=\"stroke-dasharray:none\" fill=\"none\" d=\"{}\"/>\n", zigzag);
    }

    /// From the sender's cell before the round to the receiver's after it.
    void ribbon(std::size_t k, const transfer& t) {
        const bool down = t.to > t.from;
        const double sign = down ? 1 : -1;
        const double offset = cell_ * (t.segment + .5);
        const double x1 = x(k) + offset;
        const double x2 = x(k + 1) + offset;
        const double y1 = y(index(t.from)) + (down ? height_ : 0);
        const double y2 = y(index(t.to)) + (down ? 0 : height_) - sign * 2;
        const double bend = sign * std::min(lane_ * .9, std::abs(y2 - y1) * .75 + 10);
        const double half = std::min(4., cell_ * .45);
        const double head = 6 * sign;
        put("<path stroke=\"{0}\" stroke-width=\"{1:.1f}\" fill=\"none\" d=\"M{2:.1f} {3:.1f}C{2:.1f} {4:.1f} {5:.1f} "
            "{6:.1f} {5:.1f} {7:.1f}\"><title>{8} to {9}, segment {10}, round {11}</title></path><path fill=\"{0}\" "
            "d=\"M{5:.1f} {12:.1f}l{13:.1f} {14:.1f}h{15:.1f}Z\"/>\n",
            svg::colour(t.segment, in_.segments), std::min(2.2, cell_ * .3), x1, y1, y1 + bend, x2, y2 - bend,
            y2 - head, t.from, t.to, t.segment, columns_[k].first, y2, -half, -head, 2 * half);
    }

    void strip_of(std::size_t k, std::size_t r, const std::vector<bool>& fresh) {
        const std::int64_t now = k < columns_.size() ? columns_[k].first : length_;
        if (now < present_from_[r]) {
            put("<rect class=\"absent\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" "
                "fill=\"url(#away)\"/>\n",
                x(k), y(r), strip(), height_);
            return;
        }
        for (std::uint32_t s = 0; s < in_.segments; ++s)
            cell({x(k) + cell_ * s, y(r), cell_, height_}, s, held(r, s), fresh[r * in_.segments + s]);
    }

    struct box {
        double x, y, width, height;
    };

    void cell(const box& b, std::uint32_t segment, std::int32_t contributions, bool fresh) {
        const double w = b.width - (b.width > 8 ? 2 : 1);
        const double at = b.x + (b.width - w) / 2;
        const std::string ink = svg::colour(segment, in_.segments);
        if (contributions == 0) {
            put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"1.5\" fill=\"none\" "
                "stroke=\"{}\" stroke-opacity=\".35\" stroke-dasharray=\"2 2\"/>\n",
                at, b.y, w, b.height, ink);
            return;
        }
        const bool complete = contributions == in_.ranks;
        put("<rect class=\"paper\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", at, b.y, w,
            b.height);
        const double full = b.height * contributions / in_.ranks;
        put("<rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" height=\"{3:.1f}\" rx=\"1.5\" fill=\"{4}\" "
            "fill-opacity=\".14\" stroke=\"{4}\" stroke-width=\"{5}\"/><rect x=\"{0:.1f}\" y=\"{6:.1f}\" "
            "width=\"{2:.1f}\" height=\"{7:.1f}\" rx=\"1.5\" fill=\"{4}\" fill-opacity=\"{8}\"/>",
            at, b.y, w, b.height, ink, fresh ? 1.8 : .7, b.y + b.height - full, full, complete ? 1. : .55);
        if (b.width >= 13 && in_.ranks < 100)
            put("<text class=\"middle\" style=\"font-size:10px{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                complete ? ";fill:#fff;font-weight:700" : "", at + w / 2, b.y + b.height / 2 + 3.6, contributions);
        put("\n");
    }

    void arrival_mark(std::size_t r) {
        if (!(arrivals_[r] > 0)) return;
        const double at = place(arrivals_[r]);
        put("<path class=\"ink\" stroke-width=\"0\" d=\"M{0:.1f} {1:.1f}l-8 -5v10Z\"><title>rank {2} arrives after "
            "{3}</title></path>\n",
            at - 2, y(r) + height_ / 2, r, format_time(in_.arrivals[r] - earliest_));
    }

    void legend(double at) {
        double cx = left;
        const auto say = [&](std::string_view text, double room) {
            write("small", cx, at + 4, text);
            cx += room;
        };
        const auto sample = [&](std::int32_t contributions, std::string_view text, double room) {
            cell({cx, at - 10, 15, 20}, 0, contributions, false);
            cx += 21;
            say(text, room);
        };
        sample(1, "own alone", 68);
        if (in_.ranks > 2) sample(std::max(2, in_.ranks / 2), "partly combined", 98);
        if (in_.ranks > 1) sample(in_.ranks, "complete", 62);
        sample(0, "sent away", 68);
        if (std::ranges::any_of(arrivals_, [](double a) { return a > 0; })) {
            put("<rect class=\"absent\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"26\" height=\"20\" rx=\"2\" "
                "fill=\"url(#away)\"/>\n",
                cx, at - 10);
            cx += 32;
            say("not there yet", 84);
            put("<path class=\"ink\" stroke-width=\"0\" d=\"M{:.1f} {:.1f}l-8 -5v10Z\"/>\n", cx + 8, at);
            cx += 14;
            say("arrives", 60);
        }
    }

    /// Bars: how much of its vector a rank still holds, on average over the ranks and rounds that share a bar.
    void paint_shares() {
        constexpr std::size_t most_lanes = 128;
        constexpr std::size_t most_bars = 240;
        const std::size_t together = (ranks() + most_lanes - 1) / most_lanes;
        const std::size_t lanes = (ranks() + together - 1) / together;
        const std::size_t pass_over = (columns_.size() + most_bars - 1) / most_bars;
        const std::size_t bars = (columns_.size() + pass_over - 1) / pass_over + 1;
        lane_ = std::clamp(700. / static_cast<double>(lanes), 7., 30.);
        const double wide = std::clamp(900. / static_cast<double>(bars), 4., 24.);
        const double floor = y(lanes - 1) + lane_;
        std::string note = "too much for a cell per segment: a bar shows how much of its vector a rank holds";
        if (together > 1) note += fmt::format(", {} ranks together", together);
        if (pass_over > 1) note += fmt::format(", {} rounds a bar", pass_over);
        begin(std::max(left + wide * static_cast<double>(bars) + margin, 760.), floor + 40 + margin, title_,
              subtitle(note));
        const auto every = static_cast<std::size_t>(svg::nice_step(13 / lane_, 1));
        for (std::size_t lane = 0; lane < lanes; lane += every)
            write("small right", left - 12, y(lane) + lane_ / 2 + 4, lane * together);
        double labelled = 0;
        for (std::size_t k = 0; k <= columns_.size(); ++k) {
            const std::size_t bar = k / pass_over;
            const double at = left + wide * static_cast<double>(bar);
            if (k % pass_over == 0 || k == columns_.size()) {
                for (std::size_t lane = 0; lane < lanes; ++lane) share(k, lane, together, at, wide);
                if (k < columns_.size() && at >= labelled) {
                    write("small", at, top - 12, columns_[k].first);
                    labelled = at + 60;
                }
            }
            if (k == columns_.size()) break;
            if (columns_[k].count > 1)
                put("<path class=\"event\" d=\"M{:.1f} {:.1f}V{:.1f}\"><title>{} idle rounds</title></path>\n",
                    at + wide / 2, top - 8, floor + 4, columns_[k].count);
            pass(columns_[k]);
        }
        write("small right", left - 12, top - 12, "round");
        put("<rect class=\"tail\" x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"18\" height=\"10\"/><text class=\"small\" "
            "x=\"{2:.1f}\" y=\"{3:.1f}\">still held</text><rect class=\"wait\" x=\"{4:.1f}\" y=\"{1:.1f}\" "
            "width=\"18\" height=\"10\"/><text class=\"small\" x=\"{5:.1f}\" y=\"{3:.1f}\">not there yet</text>\n",
            left, floor + 22, left + 24, floor + 31, left + 110, left + 134);
    }

    void share(std::size_t k, std::size_t lane, std::size_t together, double at, double wide) {
        const std::int64_t now = k < columns_.size() ? columns_[k].first : length_;
        std::size_t some = 0;
        std::size_t absent = 0;
        const std::size_t end = std::min(ranks(), (lane + 1) * together);
        for (std::size_t r = lane * together; r < end; ++r) {
            if (now < present_from_[r]) {
                absent += in_.segments;
                continue;
            }
            for (std::uint32_t s = 0; s < in_.segments; ++s) some += held(r, s) > 0;
        }
        const auto all = static_cast<double>((end - lane * together) * in_.segments);
        const double h = lane_ - (lane_ > 9 ? 2 : 1);
        double down = y(lane) + h;
        for (const auto& [what, count] : {std::pair("tail", some), std::pair("wait", absent)}) {
            const double part = h * static_cast<double>(count) / all;
            if (count == 0) continue;
            down -= part;
            put("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", what, at, down,
                wide - .6, part);
        }
    }

    std::string_view title_;
    const instance& in_;
    std::int64_t length_;
    std::vector<column> columns_;
    time_ns earliest_{};
    std::vector<double> arrivals_{};          // in rounds after the first
    std::vector<std::int64_t> present_from_;  // rank -> round
    std::vector<std::int32_t> held_{};        // rank, segment -> contributions
    double cell_ = 0;                         // width of a cell
    double step_ = 0;                         // from one round to the next
    double lane_ = 0;                         // from one rank to the next
    double height_ = 0;                       // of a cell
};

}  // namespace

std::string draw(std::string_view title, const instance& in, const rounds& r) {
    return rounds_picture(title, in, r).paint();
}

}  // namespace rubato::schedules
