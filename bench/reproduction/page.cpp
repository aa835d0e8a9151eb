#include "page.hpp"

namespace reproduction {

using namespace rubato;

std::string& output() {
    static std::string all;
    return all;
}

void print_row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) print("| {} ", cell);
    print("|\n");
}

void print_head(std::string_view heading, const std::vector<std::string>& cells) {
    print("\n## {}\n\n", heading);
    print_row(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) print("|---");
    print("|\n");
}

void print_queues(const schedules::rounds& r, std::int32_t p) {
    for (std::int32_t who = 0; who < p; ++who) {
        std::vector<std::string> in{fmt::format("{}", who), "I"};
        std::vector<std::string> out{"", "O"};
        for (std::size_t k = 0; k < r.busy.size(); ++k) {
            in.emplace_back();
            out.emplace_back();
            for (const schedules::transfer& t : r.transfers_of(k)) {
                if (t.to == who) in.back() = fmt::format("({},{})", t.from, t.segment);
                if (t.from == who) out.back() = fmt::format("({},{})", t.to, t.segment);
            }
        }
        print_row(in);
        print_row(out);
    }
}

}  // namespace reproduction
