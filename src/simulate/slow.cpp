#include "core/text.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato {

slow_ranks parse_slow(std::span<const std::string> texts, std::int32_t ranks) {
    constexpr std::string_view prefix = "slow:";
    constexpr std::array<std::string_view, 3> known{"rank", "link", "factor"};
    slow_ranks slow;
    for (const std::string& whole : texts) {
        std::string_view list = whole;
        if (list.starts_with(prefix)) list.remove_prefix(prefix.size());
        const parameters given(whole, list, known);
        const auto of_rank = given.find("rank");
        const auto of_link = given.find("link");
        if (of_rank.has_value() == of_link.has_value())
            throw error(fmt::format("'{}'", whole), "either a rank or its link is slow",
                        "give one of them, such as rank=3,factor=2");
        const auto r = static_cast<std::size_t>(parse_integer(of_rank ? *of_rank : *of_link, "rank", 0, ranks - 1));
        const double factor = parse_real(given.get("factor"), "factor", 1, 1e6);
        std::vector<double>& factors = of_rank ? slow.processors : slow.links;
        factors.resize(static_cast<std::size_t>(ranks), 1);
        factors[r] *= factor;
    }
    return slow;
}

}  // namespace rubato
