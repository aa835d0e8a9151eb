// Static routing: every switch has a table that tells for each endpoint on which channel a message for it goes on.
#pragma once

#include "simulator/topology/cabling.hpp"

#include <array>
#include <cassert>
#include <optional>

namespace rubato::simulator {

/// The tables of all switches. The network must outlive them.
class RUBATO_API routes {
public:
    /// Throws unless every switch that messages for an endpoint can reach has an entry for it, and they arrive there.
    routes(const network& net, std::string_view name, std::vector<port> tables);

    const network& net() const { return *net_; }
    std::string_view name() const { return name_; }
    /// The channel on which a switch passes messages for an endpoint on.
    channel next(vertex at_switch, vertex to) const { return net_->out(at_switch)[row(to)[at_switch - endpoints_]]; }
    /// Calls f for each channel from one endpoint to another one, in order.
    template <class F>
    void along(vertex from, vertex to, F f) const {
        if (from == to) return;
        const std::span<const port> ports = row(to);
        for (channel c = net_->uplink(from);;) {
            f(c);
            const vertex v = net_->head(c);
            if (v == to) return;
            c = net_->out(v)[ports[v - endpoints_]];
        }
    }
    /// The entries of an endpoint, a switch after the other.
    std::span<const port> row(vertex to) const {
        return std::span(tables_).subspan(std::size_t{to} * switches_, switches_);
    }

private:
    const network* net_;
    std::string_view name_;
    vertex endpoints_;
    vertex switches_;
    std::vector<port> tables_;
};

/// The switches through which messages for one endpoint come, and on which channel they go on.
class RUBATO_API tree_to {
public:
    explicit tree_to(const network& net);

    /// Nothing, or a switch from where messages do not arrive.
    std::optional<vertex> read(std::span<const port> row, vertex to);

    /// Each comes after the one to which it passes messages on.
    const std::vector<vertex>& order() const { return order_; }
    channel next(vertex v) const { return next_[v]; }

private:
    const network* net_;
    std::vector<vertex> used_{};  // switches with endpoints
    std::vector<vertex> order_{};
    std::vector<vertex> path_{};
    std::vector<channel> next_{};
    std::vector<std::uint32_t> seen_{};  // in which call, and whether it is in order_ already
    std::uint32_t call_ = 0;
};

struct method {
    std::string_view name;
    std::string_view what;
    std::vector<port> (*tables)(const network&);
};
/// How tables can be made.
RUBATO_API std::span<const method> methods();
/// By its name; by the empty name the best suited: given tables, dimension order on grids, or else balanced. Throws if
/// there is no such method, if the network does not suit it, or if the tables need too much memory.
RUBATO_API routes route(const network& net, std::string_view name = {});

// A file each.
std::vector<port> given_tables(const network& net);
std::vector<port> modulo_tables(const network& net);
std::vector<port> balanced_tables(const network& net);
std::vector<port> up_down_tables(const network& net);
std::vector<port> dimension_order_tables(const network& net);

/// Channels that wait for each other in a circle: messages that fill their buffers would never move again. Empty if
/// there are none, and so no deadlock.
RUBATO_API std::vector<channel> find_deadlock(const routes& r);

/// The network as SVG: in rows by the distance from endpoints, or in a circle if all switches have endpoints. The
/// colour of a cable tells how many of the routes between all endpoints use it. Throws if it is too large to be viewed.
RUBATO_API std::string draw_svg(const routes& r);

}  // namespace rubato::simulator
