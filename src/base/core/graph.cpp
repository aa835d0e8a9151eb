#include "rubato/graph.hpp"

#include "base/core/splitmix.hpp"
#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

namespace rubato {
namespace {

using rank_lists = std::vector<std::vector<std::int32_t>>;

std::vector<std::int32_t> parse_sizes(std::string_view text, std::int32_t ranks) {
    std::vector<std::int32_t> sizes;
    std::int64_t product = 1;
    for (std::string_view rest = text;;) {
        const std::string_view item = rest.substr(0, rest.find('x'));
        sizes.push_back(static_cast<std::int32_t>(parse_integer(item, "size of a dimension", 1, ranks)));
        product = std::min<std::int64_t>(product * sizes.back(), std::int64_t{ranks} + 1);
        if (item.size() == rest.size()) break;
        rest.remove_prefix(item.size() + 1);
    }
    if (product != ranks)
        throw error(fmt::format("a grid of {}", text), fmt::format("there are {} ranks", ranks),
                    "give sizes whose product is the number of ranks");
    return sizes;
}

/// Every rank's place in a grid, the last dimension running first.
std::vector<std::int32_t> coordinates(std::int32_t r, const std::vector<std::int32_t>& sizes) {
    std::vector<std::int32_t> at(sizes.size());
    for (std::size_t d = sizes.size(); d-- > 0; r /= sizes[d]) at[d] = r % sizes[d];
    return at;
}

/// All ranks that differ by at most one in every dimension, around a torus; a rank may be met several times.
rank_lists moore(const std::vector<std::int32_t>& sizes, std::int32_t ranks, std::int32_t sign) {
    std::int32_t places = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) places *= 3;
    rank_lists all(static_cast<std::size_t>(ranks));
    for (std::int32_t r = 0; r < ranks; ++r) {
        const std::vector<std::int32_t> at = coordinates(r, sizes);
        for (std::int32_t place = 0; place < places; ++place) {
            std::int32_t other = 0;
            bool is_here = true;
            for (std::size_t d = 0, rest = static_cast<std::size_t>(place); d < sizes.size(); ++d, rest /= 3) {
                const std::int32_t by = sign * (static_cast<std::int32_t>(rest % 3) - 1);
                is_here &= by == 0;
                other = other * sizes[d] + (at[d] + by + sizes[d]) % sizes[d];
            }
            if (!is_here) all[static_cast<std::size_t>(r)].push_back(other);
        }
    }
    return all;
}

/// Sources in the order of ranks.
rank_lists sources_for(const rank_lists& destinations) {
    rank_lists sources(destinations.size());
    for (std::size_t r = 0; r < destinations.size(); ++r)
        for (const std::int32_t d : destinations[r])
            sources[static_cast<std::size_t>(d)].push_back(static_cast<std::int32_t>(r));
    return sources;
}

rank_lists parse_edges(std::string_view text, std::int32_t ranks) {
    rank_lists destinations(static_cast<std::size_t>(ranks));
    for (const std::string_view edge : base::split_fields(text)) {
        const std::size_t arrow = edge.find('>');
        if (arrow == std::string_view::npos)
            throw error(fmt::format("edge '{}'", edge), "it does not say from whom to whom", "write it as 0>1");
        const auto rank_in = [&](std::string_view number) { return parse_integer(number, "rank", 0, ranks - 1); };
        const std::int64_t from = rank_in(edge.substr(0, arrow));
        destinations[static_cast<std::size_t>(from)].push_back(
            static_cast<std::int32_t>(rank_in(edge.substr(arrow + 1))));
    }
    return destinations;
}

rank_lists random_edges(std::int64_t degree, std::uint64_t seed, std::int32_t ranks) {
    rank_lists destinations(static_cast<std::size_t>(ranks));
    base::splitmix random(seed);
    for (auto& mine : destinations)
        for (std::int64_t i = 0; i < degree; ++i)
            mine.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(ranks))));
    return destinations;
}

/// One side's view of an edge.
struct edge_end {
    std::pair<std::int32_t, std::int32_t> ranks;  // from, to
    std::size_t at;                               // in the list of all ranks
};

/// By the ranks; those of one pair in the order of the list.
std::vector<edge_end> ends_of(const std::vector<neighbour>& all, const std::vector<std::size_t>& first, bool sends) {
    std::vector<edge_end> ends;
    for (std::size_t r = 0; r + 1 < first.size(); ++r)
        for (std::size_t i = first[r]; i < first[r + 1]; ++i) {
            const auto me = static_cast<std::int32_t>(r);
            if (all[i].exists()) ends.push_back({sends ? std::pair(me, all[i].rank) : std::pair(all[i].rank, me), i});
        }
    std::ranges::stable_sort(ends, {}, &edge_end::ranks);
    return ends;
}

/// Whether all ranks have the same neighbours in a torus of these sizes, given those of rank 0.
bool is_same_everywhere(const graph& g, const torus_view& t) {
    for (rank r; r.value < g.ranks(); ++r.value) {
        const auto to = g.destinations(r);
        if (to.size() != t.offsets.size() || g.sources(r).size() != t.offsets.size()) return false;
        for (std::size_t i = 0; i < to.size(); ++i) {
            rank there = r;
            for (std::size_t d = 0; d < t.sizes.size(); ++d) there = t.shifted(there, d, t.offsets[i][d]);
            if (to[i].rank != there.value || static_cast<std::uint32_t>(to[i].chunk) != t.targets[i]) return false;
        }
    }
    return true;
}

/// Calls use(sizes) with every torus of so many ranks, of up to three dimensions of two ranks or more.
template <class Use>
void for_each_torus(std::int32_t ranks, std::vector<std::int32_t>& sizes, const Use& use) {
    if (ranks > 1) {
        sizes.push_back(ranks);
        use(sizes);
        sizes.pop_back();
    }
    if (sizes.size() == 2) return;
    for (std::int32_t first = 2; first <= ranks / 2; ++first) {
        if (ranks % first != 0) continue;
        sizes.push_back(first);
        for_each_torus(ranks / first, sizes, use);
        sizes.pop_back();
    }
}

}  // namespace

/// What follows from all edges.
void graph::look_at_all() {
    for (rank r; r.value < ranks(); ++r.value)
        most_chunks_ = static_cast<std::int32_t>(
            std::max({static_cast<std::size_t>(most_chunks_), sources(r).size(), destinations(r).size()}));
    torus_ = find_torus();
}

graph::graph(const rank_lists& sources, const rank_lists& destinations) {
    if (sources.size() != destinations.size())
        throw error(fmt::format("sources of {} ranks and destinations of {}", sources.size(), destinations.size()),
                    "each rank has both", "give as many lists of either kind");
    const auto ranks = static_cast<std::int32_t>(sources.size());
    const auto take = [ranks](const rank_lists& all, std::vector<neighbour>& into, std::vector<std::size_t>& first) {
        for (std::int32_t r = 0; r < ranks; ++r) {
            for (const std::int32_t other : all[static_cast<std::size_t>(r)]) {
                if (other < -1 || other >= ranks)
                    throw error(fmt::format("rank {} has the neighbour {}", r, other),
                                fmt::format("ranks are numbered 0 to {}", ranks - 1),
                                "give one of them, or -1 for none");
                into.push_back({other, 0});
            }
            first.push_back(into.size());
        }
    };
    take(sources, sources_, first_source_);
    take(destinations, destinations_, first_destination_);
    // Sorted by their ends, the edges are the same on both sides; those of one pair of ranks are in the order of the
    // lists.
    const std::vector<edge_end> sent = ends_of(destinations_, first_destination_, true);
    const std::vector<edge_end> received = ends_of(sources_, first_source_, false);
    for (std::size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
        const bool begins = i < sent.size() && (i == received.size() || sent[i].ranks <= received[i].ranks);
        const bool ends = i < received.size() && (i == sent.size() || received[i].ranks <= sent[i].ranks);
        if (!begins || !ends) {
            const auto [from, to] = begins ? sent[i].ranks : received[i].ranks;
            throw error(fmt::format("an edge from rank {} to rank {}", from, to),
                        fmt::format("only its {} knows it", begins ? "sender" : "receiver"),
                        "give every edge to both of its ranks");
        }
        const auto [from, to] = sent[i].ranks;
        const auto place = [](std::size_t at, const std::vector<std::size_t>& first, std::int32_t r) {
            return static_cast<std::int32_t>(at - first[static_cast<std::size_t>(r)]);
        };
        destinations_[sent[i].at].chunk = place(received[i].at, first_source_, to);
        sources_[received[i].at].chunk = place(sent[i].at, first_destination_, from);
    }
    look_at_all();
}

graph::graph(const std::vector<std::vector<neighbour>>& sources,
             const std::vector<std::vector<neighbour>>& destinations) {
    for (const auto& mine : sources) {
        sources_.insert(sources_.end(), mine.begin(), mine.end());
        first_source_.push_back(sources_.size());
    }
    for (const auto& mine : destinations) {
        destinations_.insert(destinations_.end(), mine.begin(), mine.end());
        first_destination_.push_back(destinations_.size());
    }
    /// Whether every edge of these lists is in the others, too.
    const auto fit = [](const auto& these, const auto& those) {
        for (std::size_t r = 0; r < these.size(); ++r)
            for (std::size_t i = 0; i < these[r].size(); ++i) {
                const neighbour& n = these[r][i];
                const neighbour back{static_cast<std::int32_t>(r), static_cast<std::int32_t>(i)};
                if (!n.exists()) continue;
                if (std::cmp_greater_equal(n.rank, those.size()) || n.chunk < 0) return false;
                const auto& other = those[static_cast<std::size_t>(n.rank)];
                if (std::cmp_greater_equal(n.chunk, other.size()) || other[static_cast<std::size_t>(n.chunk)] != back)
                    return false;
            }
        return true;
    };
    if (sources.size() != destinations.size() || !fit(sources, destinations) || !fit(destinations, sources))
        throw error("neighbours that do not fit", "an edge has two ends, and each names the other",
                    "give every edge to both of its ranks");
    look_at_all();
}

graph graph::grid(const std::vector<std::int32_t>& sizes, const std::vector<bool>& periodic) {
    graph g;
    g.sizes_ = sizes;
    g.periodic_ = periodic;
    const std::int32_t ranks = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
    for (std::int32_t r = 0; r < ranks; ++r) {
        const std::vector<std::int32_t> at = coordinates(r, sizes);
        std::int32_t stride = ranks;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            stride /= sizes[d];
            for (const std::int32_t by : {-1, 1}) {
                const std::int32_t to = (at[d] + by + sizes[d]) % sizes[d];
                const bool exists = periodic[d] || (at[d] + by >= 0 && at[d] + by < sizes[d]);
                // What goes to the rank behind is for its place of the rank before, and the reverse.
                const std::int32_t there = 2 * static_cast<std::int32_t>(d) + (by < 0 ? 1 : 0);
                const neighbour other = exists ? neighbour{r + (to - at[d]) * stride, there} : neighbour{};
                g.sources_.push_back(other);
                g.destinations_.push_back(other);
            }
        }
        g.first_source_.push_back(g.sources_.size());
        g.first_destination_.push_back(g.destinations_.size());
    }
    g.look_at_all();
    return g;
}

std::shared_ptr<const graph> parse_graph(std::string_view text, std::int32_t ranks) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    const auto of = [](const rank_lists& destinations) {
        return std::make_shared<const graph>(sources_for(destinations), destinations);
    };
    if (kind == "grid" || kind == "torus") {
        const std::vector<std::int32_t> sizes = parse_sizes(rest, ranks);
        return std::make_shared<const graph>(graph::grid(sizes, std::vector<bool>(sizes.size(), kind == "torus")));
    }
    if (kind == "moore") {
        const std::vector<std::int32_t> sizes = parse_sizes(rest, ranks);
        return std::make_shared<const graph>(moore(sizes, ranks, -1), moore(sizes, ranks, 1));
    }
    if (kind == "ring" && rest.empty()) return std::make_shared<const graph>(graph::grid({ranks}, {true}));
    if (kind == "none" && rest.empty()) return of(rank_lists(static_cast<std::size_t>(ranks)));
    if (kind == "edges") return of(parse_edges(rest, ranks));
    if (kind == "random") {
        const std::size_t comma = rest.find(',');
        const std::int64_t degree = parse_integer(rest.substr(0, comma), "number of destinations", 0, 1 << 20);
        constexpr std::array<std::string_view, 1> known{"seed"};
        const base::parameters more(text, comma == std::string_view::npos ? "" : rest.substr(comma + 1), known);
        const auto seed = more.find("seed");
        return of(random_edges(
            degree, seed ? static_cast<std::uint64_t>(parse_integer(*seed, "seed", 0, INT64_MAX)) : 1, ranks));
    }
    throw error(fmt::format("unknown graph '{}'", text),
                "rubato knows grid, torus, moore, ring, edges, random and none", "use one of them, such as torus:4x4");
}

std::vector<std::string> graphs_to_try(std::int32_t ranks) {
    std::vector<std::string> all{"none", "ring", "random:0", "random:1", "random:3", "random:5,seed=7"};
    const auto add_grids = [&](const std::string& sizes) {
        for (const char* kind : {"grid", "torus", "moore"}) all.push_back(fmt::format("{}:{}", kind, sizes));
    };
    add_grids(fmt::format("{}", ranks));
    add_grids(fmt::format("{}x1", ranks));
    for (std::int32_t a = 2; a * a <= ranks; ++a) {
        if (ranks % a != 0) continue;
        add_grids(fmt::format("{}x{}", a, ranks / a));
        for (std::int32_t b = 2; b <= ranks / a; ++b)
            if (ranks / a % b == 0) add_grids(fmt::format("{}x{}x{}", a, b, ranks / a / b));
    }
    all.push_back("edges:0>0");
    if (ranks > 1) all.insert(all.end(), {"edges:0>1", "edges:0>1,0>1,1>0", "edges:1>0,0>0,1>0,1>1"});
    if (ranks > 2) all.push_back("edges:0>2,2>0,0>2,0>0,1>1");
    return all;
}

rank torus_view::shifted(rank from, std::size_t dimension, std::int32_t by) const {
    std::int32_t stride = 1;
    for (std::size_t d = sizes.size(); --d > dimension;) stride *= sizes[d];
    const std::int32_t size = sizes[dimension];
    const std::int32_t at = from.value / stride % size;
    return rank(from.value + ((at + by % size + size) % size - at) * stride);
}

std::size_t torus_view::directions() const {
    std::set<std::pair<std::size_t, std::int32_t>> all;
    for (const auto& o : offsets)
        for (std::size_t d = 0; d < o.size(); ++d)
            if (o[d] != 0) all.emplace(d, o[d]);
    return all.size();
}

/// Which graphs look the same from all ranks of a torus.
///
/// Combining neighbour exchanges need a graph that looks the same from all ranks of a torus, and MPI's distributed
/// graphs have no dimensions. So, once for a graph, a grid's own sizes and all ways to arrange the ranks in up to three
/// dimensions are tried, and the one with the fewest directions is taken.
std::optional<torus_view> graph::find_torus() const {
    if (ranks() == 0) return std::nullopt;
    const auto first = destinations(rank(0));
    if (!std::ranges::all_of(first, &neighbour::exists)) return std::nullopt;
    std::optional<torus_view> best;
    const auto consider = [&](const std::vector<std::int32_t>& sizes) {
        torus_view t{sizes, {}, {}};
        for (const neighbour& n : first) {
            std::vector<std::int32_t> offset(sizes.size());
            for (std::int32_t d = static_cast<std::int32_t>(sizes.size()), r = n.rank; d-- > 0;) {
                const auto i = static_cast<std::size_t>(d);
                offset[i] = r % sizes[i];
                r /= sizes[i];
            }
            t.offsets.push_back(std::move(offset));
            t.targets.push_back(static_cast<std::uint32_t>(n.chunk));
        }
        if ((!best || t.directions() < best->directions()) && is_same_everywhere(*this, t)) best = std::move(t);
    };
    std::vector<std::int32_t> sizes;
    if (!sizes_.empty()) consider(sizes_);
    if (ranks() == 1)
        consider({1});
    else
        for_each_torus(ranks(), sizes, consider);
    return best;
}

}  // namespace rubato
