#include "schedules/draw/svg.hpp"
#include "simulator/topology/congestion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>

namespace rubato::simulator {
namespace {

constexpr std::size_t most_cables = 20000;

struct point {
    double x;
    double y;
};

struct drawn_network {
    std::vector<point> at{};
    double width = 0;
    double height = 0;
};

constexpr double margin = 40;
constexpr double head = 80;

drawn_network in_rows(const network& net, const std::vector<std::uint32_t>& stages) {
    const std::uint32_t top = *std::ranges::max_element(stages);
    std::vector<std::vector<vertex>> rows(top + 1);
    for (vertex v = 0; v < net.vertices(); ++v) rows[top - stages[v]].push_back(v);
    std::size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, row.size());
    const double length = std::clamp(16. * static_cast<double>(widest), 560., 4000.);
    drawn_network p{std::vector<point>(net.vertices()), length + 2 * margin, head + margin};
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            p.at[row[i]] = {margin + length * (static_cast<double>(i) + 0.5) / static_cast<double>(row.size()),
                            p.height};
        p.height += 110;
    }
    return p;
}

drawn_network in_a_circle(const network& net) {
    const auto count = static_cast<double>(net.switches());
    const double radius = std::clamp(3.5 * count, 180., 1600.);
    const double centre_x = radius + 60 + margin;
    const double centre_y = radius + 60 + head;
    drawn_network p{std::vector<point>(net.vertices()), 2 * centre_x, centre_y + radius + 60 + margin};
    const auto put = [&](vertex v, double turn, double away) {
        const double angle = 2 * std::numbers::pi * turn;
        p.at[v] = {centre_x + away * std::sin(angle), centre_y - away * std::cos(angle)};
    };
    for (vertex v = net.endpoints(); v < net.vertices(); ++v) {
        const double turn = (v - net.endpoints()) / count;
        put(v, turn, radius);
        std::vector<vertex> hosts;
        for (const channel c : net.out(v))
            if (!net.is_switch(net.head(c))) hosts.push_back(net.head(c));
        for (std::size_t i = 0; i < hosts.size(); ++i)
            put(hosts[i],
                turn + (static_cast<double>(i) + 0.5) / static_cast<double>(hosts.size()) / count - 0.5 / count,
                radius + 40);
    }
    return p;
}

}  // namespace

std::string draw_svg(const routes& r) {
    const network& net = r.net();
    if (net.cables().size() > most_cables)
        throw error(fmt::format("'{}' is too large to be drawn", net.name()),
                    fmt::format("it has {} cables, and {} can be drawn", net.cables().size(), most_cables),
                    "give a smaller network, or leave --svg out");
    const std::vector<std::uint32_t> stages = stages_of(net);
    const bool direct = net.switches() > 1 && *std::ranges::max_element(stages) == 1;
    const drawn_network p = direct ? in_a_circle(net) : in_rows(net, stages);
    const std::vector<std::uint64_t> load = routes_on_channels(r);
    const auto of_cable = [&](std::size_t c) { return std::max(load[2 * c], load[2 * c + 1]); };
    std::uint64_t most = 1;
    for (std::size_t c = 0; c < net.cables().size(); ++c) most = std::max(most, of_cable(c));

    std::string out =
        schedules::svg::open(p.width, p.height, net.name(),
                             fmt::format("{} endpoints, {} switches, {} cables; routing {}; colours: routes on a "
                                         "cable, blue few, violet up to {}",
                                         net.endpoints(), net.switches(), net.cables().size(), r.name(), most));
    constexpr std::size_t steps = 32;
    // Cables between the same two vertices are drawn side by side.
    std::map<std::pair<vertex, vertex>, int> drawn;
    for (std::size_t c = 0; c < net.cables().size(); ++c) {
        const cable& ends = net.cables()[c];
        const int beside = drawn[std::minmax(ends.a, ends.b)]++;
        const double bend = 3. * (beside % 2 == 0 ? beside / 2 : -(beside / 2 + 1));
        const point a = p.at[ends.a];
        const point b = p.at[ends.b];
        fmt::format_to(
            std::back_inserter(out),
            "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"1.2\" opacity=\"0.8\">"
            "<title>{} - {}: {} routes</title></path>\n",
            a.x + bend, a.y, b.x + bend, b.y, schedules::svg::colour(of_cable(c) * (steps - 1) / most, steps),
            schedules::svg::escape(net.name_of(ends.a)), schedules::svg::escape(net.name_of(ends.b)), of_cable(c));
    }
    for (vertex v = 0; v < net.vertices(); ++v) {
        const std::string name = schedules::svg::escape(net.name_of(v));
        if (net.is_switch(v))
            fmt::format_to(std::back_inserter(out),
                           "<rect class=\"ink\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\"><title>{}</title>"
                           "</rect>\n",
                           p.at[v].x - 5, p.at[v].y - 5, name);
        else
            fmt::format_to(std::back_inserter(out),
                           "<circle class=\"hole\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}</title></circle>\n",
                           p.at[v].x, p.at[v].y, name);
    }
    return out + schedules::svg::close();
}

}  // namespace rubato::simulator
