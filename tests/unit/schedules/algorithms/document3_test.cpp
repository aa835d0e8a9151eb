// The run times of Proficz 2020 under its model: one rank late, the first receiver or the root; Hockney, a single port,
// free copies. Exact, in integers. Equations 5, 6 and 17 to 20 do not hold as printed, because in Fig. 9 the next
// request overlaps the second segment: r_LS is alpha + (P - 1)(2 alpha + N/P beta).
#include "rubato/arrival.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::schedules {
namespace {

constexpr std::int32_t root = 0;

/// P ranks, chunks of `chunk` bytes, a nanosecond per byte.
struct setting {
    std::int64_t P;
    std::int64_t alpha;
    std::int64_t chunk;

    std::int64_t N() const { return P * chunk; }
    std::int64_t n() const { return ceil_log2(static_cast<std::int32_t>(P)); }
    std::int64_t r_LIN() const { return (P - 1) * (alpha + chunk); }             // 3
    std::int64_t r_LS() const { return alpha + (P - 1) * (2 * alpha + chunk); }  // instead of 5
    std::int64_t r_BN() const { return n() * alpha + (P - 1) * chunk; }          // 7
    std::int64_t first_receiver() const { return P / 2; }                        // of a binomial tree
};

std::vector<time_ns> one_late(const setting& s, std::int64_t who, std::int64_t delay) {
    std::vector<time_ns> arrivals(static_cast<std::size_t>(s.P));
    arrivals[static_cast<std::size_t>(who)] = time_ns(delay);
    return arrivals;
}

std::vector<time_ns> exits(const setting& s, std::string_view id, const std::vector<time_ns>& arrivals) {
    const algorithm& a = find_algorithm(id);
    problem p = problem_for(a, static_cast<std::int32_t>(s.P), root);
    p.arrivals = arrivals;
    const hockney m{static_cast<double>(s.alpha), 1, 0};
    const std::vector<layout> sizes{layout::uniform(s.chunk)};
    return simulate({m}, build_all(a, p), sizes, arrivals, {.early = a.early}).exits;
}

/// Of P times the average elapsed time when all arrive together.
std::int64_t elapsed(const setting& s, std::string_view id) {
    std::int64_t sum = 0;
    for (const time_ns t : exits(s, id, one_late(s, root, 0))) sum += t.count();
    return sum;
}

constexpr std::initializer_list<std::int64_t> powers_of_two{2, 4, 8, 16};
constexpr std::initializer_list<std::int64_t> any_ranks{2, 4, 8, 16, 48};

void for_each_setting(std::initializer_list<std::int64_t> ranks, void (*f)(const setting&)) {
    for (const std::int64_t P : ranks)
        for (const setting& s : {setting{P, 1000, 600}, setting{P, 10, 4096}}) {
            SCOPED_TRACE(testing::Message() << P << " ranks, alpha " << s.alpha << ", chunks of " << s.chunk);
            f(s);
        }
}

/// Shorter and longer than what it takes, r.
std::vector<std::int64_t> delays(std::int64_t r) { return {0, 1, r / 7, r / 2, r - 1, r, r + 1, 3 * r}; }

void expect_run(const setting& s, std::string_view id, std::int64_t late, std::int64_t delay, std::int64_t want) {
    const std::vector<time_ns> arrivals = one_late(s, late, delay);
    EXPECT_EQ(run_time(arrivals, exits(s, id, arrivals)).count(), want)
        << id << ", rank " << late << " late by " << delay;
}

TEST(document_3, balanced_linear_3_and_4) {
    for_each_setting(any_ranks, [](const setting& s) {
        for (const std::string_view id : {"scatter/LIN", "scatter/SLN", "scatter/BSLN", "gather/LIN"}) {
            expect_run(s, id, root, 0, s.r_LIN());
            EXPECT_EQ(elapsed(s, id), (s.P + 2) * (s.P - 1) * (s.alpha + s.chunk) / 2) << id;
        }
    });
}

TEST(document_3, balanced_synchronised_instead_of_5_and_6) {
    for_each_setting(any_ranks, [](const setting& s) {
        for (const std::string_view id : {"gather/LS", "gather/SLS", "gather/BSLS"}) {
            expect_run(s, id, root, 0, s.r_LS());
            EXPECT_EQ(elapsed(s, id), s.P * s.alpha + (s.P + 2) * (s.P - 1) * (2 * s.alpha + s.chunk) / 2) << id;
        }
    });
}

TEST(document_3, balanced_binomial_7_and_8) {
    for_each_setting(powers_of_two, [](const setting& s) {
        for (const std::string_view id : {"scatter/BNOM", "scatter/SBN", "scatter/BSBN"}) {
            expect_run(s, id, root, 0, s.r_BN());
            EXPECT_EQ(elapsed(s, id), s.P * s.r_BN()) << id;
        }
        for (const std::string_view id : {"gather/BNOM", "gather/SBN", "gather/BSBN"}) {
            expect_run(s, id, root, 0, s.r_BN());
            EXPECT_EQ(elapsed(s, id), 2 * (s.P - 1) * s.alpha + s.n() * s.N()) << id;
        }
    });
}

TEST(document_3, late_in_a_linear_scatter_9_to_12) {
    for_each_setting(any_ranks, [](const setting& s) {
        const std::int64_t r = s.r_LIN();
        for (const std::int64_t d : delays(r)) {
            expect_run(s, "scatter/LIN", 1, d, d + r);
            expect_run(s, "scatter/SLN", 1, d, std::max(d + s.alpha + s.chunk, r));
            expect_run(s, "scatter/BSLN", 1, d, std::max(d, r));
            for (const std::string_view id : {"scatter/LIN", "scatter/SLN", "scatter/BSLN"})
                expect_run(s, id, root, d, d + r);
        }
    });
}

TEST(document_3, late_in_a_binomial_scatter_13_to_16) {
    for_each_setting(powers_of_two, [](const setting& s) {
        const std::int64_t r = s.r_BN();
        for (const std::int64_t d : delays(r)) {
            expect_run(s, "scatter/BNOM", s.first_receiver(), d, d + r);
            for (const std::int64_t late : {std::int64_t{1}, s.first_receiver()}) {
                expect_run(s, "scatter/SBN", late, d, std::max(d + s.alpha + s.chunk, r));
                expect_run(s, "scatter/BSBN", late, d, std::max(d, r));
            }
            for (const std::string_view id : {"scatter/BNOM", "scatter/SBN", "scatter/BSBN"})
                expect_run(s, id, root, d, d + r);
        }
    });
}

TEST(document_3, late_in_a_synchronised_gather_instead_of_17_to_20) {
    for_each_setting(any_ranks, [](const setting& s) {
        const std::int64_t r = s.r_LS();
        for (const std::int64_t d : delays(r)) {
            expect_run(s, "gather/LS", 1, d, d + r);
            expect_run(s, "gather/SLS", 1, d, std::max(d + 3 * s.alpha + s.chunk, r));
            expect_run(s, "gather/BSLS", 1, d, std::max(d + 2 * s.alpha + s.chunk, r));
            expect_run(s, "gather/LS", root, d, d + r);
            expect_run(s, "gather/SLS", root, d, d + r);
            expect_run(s, "gather/BSLS", root, d, std::max(d, r));
        }
    });
}

TEST(document_3, late_in_a_binomial_gather_21_to_24) {
    for_each_setting(powers_of_two, [](const setting& s) {
        const std::int64_t r = s.r_BN();
        for (const std::int64_t d : delays(r)) {
            for (const std::int64_t late : {std::int64_t{1}, s.first_receiver()}) {
                expect_run(s, "gather/BNOM", late, d, d + r);
                expect_run(s, "gather/SBN", late, d, d + r);
                expect_run(s, "gather/BSBN", late, d, std::max(d + s.alpha + s.N() / 2, r));  // 22, corrected
            }
            expect_run(s, "gather/BNOM", root, d, d + r);
            expect_run(s, "gather/SBN", root, d, d + r);
            expect_run(s, "gather/BSBN", root, d, std::max(d, r));
        }
    });
}

}  // namespace
}  // namespace rubato::schedules
