// k-ary n-trees: k^n endpoints, n levels of k^(n-1) switches with k cables down and k up.
//
// A switch is a level and n - 1 digits. It is joined with the switches of the next level that differ from it in one
// digit: from level l to l + 1, in digit l (of value k^l).
// Source: Petrini and Vanneschi 1997.
#include "topology/generators.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato::topology {

network k_ary_n_tree(std::string_view text, std::string_view rest) {
    constexpr std::array<std::string_view, 2> names{"k", "n"};
    const parameters given(text, rest, names);
    const std::int64_t k = number(given, "k", 1, 4096);
    const std::int64_t n = number(given, "n", 1, 20);
    std::int64_t width = 1;  // of a level
    for (std::int64_t l = 1; l < n; ++l) {
        width *= k;
        if (width * k > most_vertices)
            throw error(fmt::format("'{}' is too large", text), fmt::format("it has {}^{} endpoints", k, n),
                        "give a smaller k or n");
    }
    wiring w;
    w.add_switches(static_cast<std::uint64_t>(width * n));
    for (std::int64_t e = 0; e < width * k; ++e) w.attach_endpoint(static_cast<vertex>(e / k));
    std::int64_t value = 1;  // of the digit that may differ
    for (std::int64_t l = 0; l + 1 < n; ++l, value *= k)
        for (std::int64_t s = 0; s < width; ++s)
            for (std::int64_t digit = 0; digit < k; ++digit) {
                const std::int64_t above = s - s / value % k * value + digit * value;
                w.join(static_cast<vertex>(l * width + s), static_cast<vertex>((l + 1) * width + above));
            }
    return std::move(w).finish(std::string(text));
}

}  // namespace rubato::topology
