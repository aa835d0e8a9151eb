#include "topology/generators.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato::topology {
namespace {

struct form {
    std::string_view name;
    std::string_view example;
    std::string_view what;
    network (*make)(std::string_view text, std::string_view rest);
};

constexpr std::array forms{
    form{"crossbar", "crossbar:ports=16", "one switch", crossbar},
    form{"fattree", "fattree:crossbar=24,ports=384,oversubscription=1:2,depth=1",
         "leaves and tops of crossbars; with depth=2, of such fat trees", fat_tree},
    form{"directors", "directors:crossbar=24,ports=528,oversubscription=1:1,count=2",
         "leaf crossbars below switches that are Clos networks inside", directors},
    form{"tree", "tree:k=4,n=3", "a k-ary n-tree: k^n endpoints, n levels of switches", k_ary_n_tree},
    form{"torus", "torus:8x8x8,hosts=2", "a grid of switches, closed in all dimensions; endpoints per switch", torus},
    form{"mesh", "mesh:4x4", "an open grid of switches", mesh},
    form{"hypercube", "hypercube:dimensions=6", "2^dimensions switches", hypercube},
    form{"dragonfly", "dragonfly:groups=9,routers=4,hosts=2,global=2",
         "groups of fully connected switches, with global cables from each", dragonfly},
    form{"file", "file:NAME,tables=NAME", "a graph in dot, or what ibnetdiscover and dump_fts print", from_file},
};

}  // namespace

network parse_network(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    for (const form& f : forms)
        if (f.name == name) return f.make(text, colon == std::string_view::npos ? "" : text.substr(colon + 1));
    std::string names;
    for (const form& f : forms) names += fmt::format("{}{}", names.empty() ? "" : ", ", f.name);
    throw error(fmt::format("unknown network '{}'", text), fmt::format("known are {}", names),
                fmt::format("write it like {}", forms[1].example));
}

std::string network_forms() {
    std::string all;
    for (const form& f : forms) all += fmt::format("  {}\n      {}\n", f.example, f.what);
    return all;
}

std::int64_t number(const parameters& given, std::string_view name, std::int64_t low, std::int64_t high,
                    std::optional<std::int64_t> otherwise) {
    if (otherwise && !given.find(name)) return *otherwise;
    return parse_integer(given.get(name), name, low, high);
}

leaf_ports split_ports(std::string_view text, std::string_view oversubscription, std::int64_t crossbar) {
    const std::size_t colon = oversubscription.find(':');
    const auto part = [](std::string_view p) { return parse_integer(p, "oversubscription", 1, 1 << 16); };
    if (colon == std::string_view::npos)
        throw error(fmt::format("oversubscription '{}' in '{}'", oversubscription, text), "it is a ratio, up to down",
                    "write it like 1:2");
    const std::int64_t up = part(oversubscription.substr(0, colon));
    const std::int64_t down = part(oversubscription.substr(colon + 1));
    if (crossbar % (up + down) != 0)
        throw error(fmt::format("oversubscription {} in '{}'", oversubscription, text),
                    fmt::format("a crossbar of {} ports cannot be split {}:{}", crossbar, up, down),
                    fmt::format("give numbers whose sum divides {}", crossbar));
    return {crossbar / (up + down) * down, crossbar / (up + down) * up};
}

}  // namespace rubato::topology
