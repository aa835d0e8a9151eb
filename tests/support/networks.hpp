#pragma once

#include "simulator/topology/generators.hpp"
#include "support/temporary_file.hpp"

#include <map>
#include <string>
#include <vector>

namespace rubato::simulator {

/// One or more of each kind.
inline std::vector<std::string> networks_to_try() {
    return {"crossbar:ports=1",
            "crossbar:ports=7",
            "fattree:crossbar=8,ports=16,oversubscription=1:1,depth=1",
            "fattree:crossbar=8,ports=48,oversubscription=1:3,depth=1",
            "fattree:crossbar=8,ports=33,oversubscription=3:5,depth=1",
            "fattree:crossbar=8,ports=3",
            "fattree:crossbar=8,ports=100,oversubscription=1:1,depth=2",
            "fattree:crossbar=4,ports=60,oversubscription=1:1,depth=3",
            "directors:crossbar=8,ports=48,oversubscription=1:1,count=2",
            "tree:k=2,n=1",
            "tree:k=3,n=3",
            "tree:k=4,n=2",
            "torus:5",
            "torus:4x3x2",
            "torus:3x3,hosts=2",
            "mesh:4x4",
            "mesh:1x5",
            "hypercube:dimensions=0",
            "hypercube:dimensions=4",
            "dragonfly:groups=9,routers=4,hosts=2,global=2",
            "dragonfly:groups=3,routers=2,hosts=1,global=2",
            "dragonfly:groups=1,routers=3,hosts=2,global=1"};
}

inline network read_as_file(const std::string& content) {
    const temporary_file file(content);
    return parse_network("file:" + file.path());
}

/// How many switches have so many cables to other switches.
inline std::map<std::size_t, std::size_t> switch_degrees(const network& net) {
    std::map<std::size_t, std::size_t> found;
    for (vertex v = net.endpoints(); v < net.vertices(); ++v) {
        std::size_t degree = 0;
        for (const channel c : net.out(v)) degree += net.is_switch(net.head(c)) ? 1U : 0U;
        ++found[degree];
    }
    return found;
}

}  // namespace rubato::simulator
