// Proficz 2020: Tables 3 and 4 and Figs 14 and 15, simulated. Run times are Eq. 1's, last exit minus first arrival.
#include "arrival_run.hpp"
#include "page.hpp"

#include <array>

namespace reproduction {

using namespace rubato;

namespace {

constexpr std::array delays_ms{0, 1, 5, 10, 50, 100, 500};
constexpr std::array sizes_k{128, 256, 512, 1024, 2048};
constexpr int seeds = 20;

/// Gigabit Ethernet: what a byte takes on the wire, and a usual latency of MPI over TCP.
constexpr hockney ethernet{50'000, 8, 0};

/// Mean run time in milliseconds of 48 ranks, each late by up to so many; `floats` in thousands.
double mean_run(std::string_view id, int floats, int most_ms) {
    constexpr int ranks = 48;
    const std::int64_t chunk = (std::int64_t{floats} * 4000 + ranks - 1) / ranks;
    double sum = 0;
    const int runs = most_ms == 0 ? 1 : seeds;
    for (int seed = 1; seed <= runs; ++seed) {
        const auto arrivals = parse_arrivals(fmt::format("uniform:max={}ms,seed={}", most_ms, seed), ranks);
        sum += seconds(run_time(arrivals, exits(id, ethernet, chunk, arrivals)));
    }
    return sum / runs * 1e3;
}

struct printed_cell {
    double difference;
    double quotient;
};
using printed_table = std::array<std::array<printed_cell, delays_ms.size()>, sizes_k.size()>;

constexpr printed_table table_3{{
    {{{0.0, 1.02}, {-0.1, 1.20}, {0.0, 1.01}, {-0.1, 1.01}, {-0.1, 1.00}, {-0.1, 1.00}, {0.0, 1.00}}},
    {{{0.2, 0.85}, {-0.1, 1.12}, {-0.1, 1.01}, {-0.1, 1.01}, {-0.1, 1.00}, {-0.1, 1.00}, {-0.1, 1.00}}},
    {{{-0.1, 1.06}, {0.1, 0.94}, {-0.1, 1.02}, {-0.1, 1.01}, {-0.1, 1.00}, {-0.1, 1.00}, {-0.1, 1.00}}},
    {{{0.2, 0.99}, {-0.8, 1.03}, {-0.6, 1.02}, {-2.9, 1.08}, {-15.6, 1.27}, {-15.3, 1.15}, {-16.9, 1.04}}},
    {{{-1.3, 1.02}, {-1.6, 1.03}, {-1.4, 1.02}, {-2.3, 1.03}, {-13.8, 1.15}, {-26.2, 1.21}, {-37.0, 1.08}}},
}};
constexpr printed_table table_4{{
    {{{-0.7, 1.13}, {-0.8, 1.13}, {-4.1, 1.68}, {-4.9, 1.52}, {-4.1, 1.09}, {-3.3, 1.03}, {-2.6, 1.01}}},
    {{{-1.1, 1.17}, {-0.9, 1.14}, {-4.3, 1.63}, {-5.8, 1.61}, {-4.7, 1.10}, {-4.1, 1.04}, {-3.1, 1.01}}},
    {{{-0.7, 1.12}, {-0.3, 1.05}, {-3.7, 1.57}, {-4.9, 1.51}, {-4.6, 1.10}, {-3.8, 1.04}, {-3.0, 1.01}}},
    {{{29.1, 0.79}, {-8.1, 1.07}, {16.6, 0.86}, {22.2, 0.83}, {-69.6, 2.40}, {-72.2, 1.74}, {-68.1, 1.14}}},
    {{{-25.5, 1.23}, {46.8, 0.69}, {25.9, 0.81}, {31.7, 0.78}, {-84.4, 2.52}, {-97.3, 1.98}, {-88.5, 1.18}}},
}};

std::vector<std::string> delay_head(std::string_view first) {
    std::vector<std::string> head{std::string(first)};
    for (const int d : delays_ms) head.push_back(fmt::format("{} ms", d));
    return head;
}

void compare_table(std::string_view heading, const printed_table& printed, std::string_view plain,
                   std::string_view sorted) {
    print_head(heading, delay_head("K floats"));
    for (std::size_t s = 0; s < sizes_k.size(); ++s) {
        std::vector<std::string> row{fmt::format("{}", sizes_k[s])};
        for (std::size_t d = 0; d < delays_ms.size(); ++d) {
            const double before = mean_run(plain, sizes_k[s], delays_ms[d]);
            const double after = mean_run(sorted, sizes_k[s], delays_ms[d]);
            const auto [difference, quotient] = printed[s][d];
            row.push_back(fmt::format("{:.1f}, {:.2f} / {:.1f}, {:.2f}", difference, quotient, after - before + 0.0,
                                      before / after));
        }
        print_row(row);
    }
}

void mean_runs(std::string_view heading, const std::vector<const char*>& ids) {
    print_head(heading, delay_head("algorithm"));
    for (const char* id : ids) {
        const algorithm& a = find_algorithm(id);
        std::vector<std::string> row{fmt::format("{}, {}", a.alias, a.id)};
        for (const int d : delays_ms) row.push_back(fmt::format("{:.1f}", mean_run(id, 2048, d)));
        print_row(row);
    }
}

}  // namespace

void proficz_2020_tables() {
    compare_table("Table 3: BSLN against LIN, printed / simulated", table_3, "scatter/LIN", "scatter/BSLN");
    compare_table("Table 4: BSLS against LS, printed / simulated", table_4, "gather/LS", "gather/BSLS");
    mean_runs("Fig. 14: mean run time of a scatter, ms",
              {"scatter/LIN", "scatter/BNOM", "scatter/SLN", "scatter/SBN", "scatter/BSLN", "scatter/BSBN"});
    mean_runs("Fig. 15: mean run time of a gather, ms",
              {"gather/LS", "gather/BNOM", "gather/SLS", "gather/SBN", "gather/BSLS", "gather/BSBN"});
}

}  // namespace reproduction
