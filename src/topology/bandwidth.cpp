#include "topology/bandwidth.hpp"

#include "core/splitmix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rubato::topology {

void meter::read(std::span<const connection> at_once) {
    for (const channel c : paths_) load_[c] = 0;
    paths_.clear();
    first_.resize(1);
    for (const connection& each : at_once) {
        routes_->along(each.from, each.to, [this](channel c) {
            ++load_[c];
            paths_.push_back(c);
        });
        first_.push_back(paths_.size());
    }
}

std::uint32_t meter::of(std::size_t i) const {
    std::uint32_t most = 0;
    for (const channel c : path(i)) most = std::max(most, load_[c]);
    return most;
}

std::vector<connection> random_bisection(vertex endpoints, std::uint64_t seed, std::uint64_t number) {
    splitmix random(splitmix(seed).next() ^ number);
    std::vector<vertex> order(endpoints);
    std::iota(order.begin(), order.end(), 0);
    for (vertex i = endpoints; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::vector<connection> pairs(endpoints / 2);
    for (vertex i = 0; i < endpoints / 2; ++i) pairs[i] = {order[i], order[i + endpoints / 2]};
    return pairs;
}

double bandwidth_of(meter& m, std::span<const connection> pattern) {
    if (pattern.empty()) return 1;
    m.read(pattern);
    double sum = 0;
    for (std::size_t i = 0; i < m.size(); ++i) sum += 1. / std::max(m.of(i), 1U);
    return sum / static_cast<double>(m.size());
}

namespace {

std::vector<std::uint32_t> endpoints_at(const network& net) {
    std::vector<std::uint32_t> attached(net.vertices(), 0);
    for (vertex e = 0; e < net.endpoints(); ++e) ++attached[net.switch_of(e)];
    return attached;
}

}  // namespace

std::vector<std::uint64_t> routes_on_channels(const routes& r) {
    const network& net = r.net();
    const std::vector<std::uint32_t> attached = endpoints_at(net);
    std::vector<std::uint64_t> load(net.channels(), 0);
    std::vector<std::uint64_t> through(net.vertices());
    tree_to tree(net);
    for (vertex to = 0; to < net.endpoints(); ++to) {
        tree.read(r.row(to), to);
        for (const vertex v : tree.order()) through[v] = attached[v];
        --through[net.switch_of(to)];
        for (auto v = tree.order().rbegin(); v != tree.order().rend(); ++v) {
            load[tree.next(*v)] += through[*v];
            through[net.head(tree.next(*v))] += through[*v];
        }
    }
    for (vertex e = 0; e < net.endpoints(); ++e) load[net.uplink(e)] = net.endpoints() - 1;
    return load;
}

forwarding_index forwarding_index_of(const routes& r) {
    const network& net = r.net();
    const std::vector<std::uint32_t> attached = endpoints_at(net);
    const std::vector<std::uint64_t> load = routes_on_channels(r);
    std::vector<std::uint64_t> at(net.vertices());  // the most on the way from there
    tree_to tree(net);
    forwarding_index found;
    std::uint64_t routes = 0;
    double sum = 0;  // of differences to the first, as are their squares
    double squares = 0;
    std::uint64_t first = 0;
    for (vertex to = 0; to < net.endpoints(); ++to) {
        tree.read(r.row(to), to);
        const vertex last = net.switch_of(to);
        at[last] = 0;
        for (const vertex v : tree.order()) {
            if (v == last) continue;
            at[v] = std::max(at[net.head(tree.next(v))], load[tree.next(v)]);
            if (attached[v] == 0) continue;
            if (routes == 0) first = found.min = at[v];
            const double difference = static_cast<double>(at[v]) - static_cast<double>(first);
            sum += attached[v] * difference;
            squares += attached[v] * difference * difference;
            routes += attached[v];
            found.min = std::min(found.min, at[v]);
            found.max = std::max(found.max, at[v]);
        }
    }
    if (routes == 0) return found;
    const auto count = static_cast<double>(routes);
    found.mean = static_cast<double>(first) + sum / count;
    found.sd = std::sqrt(std::max(squares / count - sum / count * (sum / count), 0.));
    return found;
}

}  // namespace rubato::topology
