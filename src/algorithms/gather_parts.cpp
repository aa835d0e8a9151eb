#include "gather_parts.hpp"

#include "partial.hpp"

#include <utility>

namespace rubato {

gather_place binomial_gather_place(std::uint32_t positions, std::uint32_t root, std::uint32_t me) {
    gather_place place{{root, 0, positions}};
    for (gather_place::interval rest = place.mine; rest.count > 1;) {
        const auto half = std::uint32_t{1} << (ceil_log2(rest.count) - 1);
        gather_place::interval here{rest.first, rest.first, half};
        gather_place::interval other{rest.first + half, rest.first + half, rest.count - half};
        if (rest.position >= other.first) std::swap(here, other);
        here.position = rest.position;
        if (me < other.first || me >= other.first + other.count) {
            if (me == here.position) place.children.push_back(other);
            rest = here;
            continue;
        }
        if (me == other.position) {
            place.mine = other;
            place.parent = here.position;
        }
        rest = other;
    }
    return place;
}

void gather_parts(builder& b, const gather_place& place, const std::function<rank(std::uint32_t)>& rank_at,
                  slice home) {
    for (auto child = place.children.rbegin(); child != place.children.rend(); ++child)
        b.recv(rank_at(child->position), part(home, child->first, child->count));
    if (place.parent) b.send(rank_at(*place.parent), part(home, place.mine.first, place.mine.count));
}

}  // namespace rubato
