// Hoefler & Moor 2014: its Tables 1 and 2 and Fig. 5 with the parameters of its sec. 4.2; and Eqs III.1 to III.7 of
// Hoefler 2008. What is printed, what holds, what the simulation gives.
#include "page.hpp"
#include "rubato/cost.hpp"
#include "rubato/simulate.hpp"
#include "simulator/formulas/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace reproduction {

using namespace rubato;

namespace {

/// As the papers write them.
struct variables {
    double L, o, g, G, P, s, N, n;
    double gamma = 0;
    double f = 0;  // messages beside the first that pay no gap
};

struct triple {
    double time;      // ns
    double messages;  // of energy e
    double bytes;     // of energy E
    double memory;    // descriptors
};

variables variables_of(const model& m, const simulator::formula_problem& q) {
    variables v{};
    if (const auto* five = std::get_if<loggp5>(&m.network)) {
        v.L = five->L;
        v.o = five->o;
        v.G = five->G;
    } else {
        const auto& four = std::get<loggp>(m.network);
        v.L = four.L;
        v.o = four.o;
        v.g = four.g;
        v.G = four.G;
        v.gamma = four.combine;
        v.f = four.f - 1;
    }
    v.P = q.ranks;
    v.s = static_cast<double>(q.bytes);
    v.N = q.segments;
    v.n = std::log2(v.P);
    return v;
}

struct skeleton {
    const char* name;
    const char* id;
    std::uint32_t segments;               // that the algorithm gets; N is the paper's
    triple (*printed)(const variables&);  // null: nothing is
    std::int32_t radix = 0;               // 0: the algorithm's own
    std::int32_t ranks = 64;
};

using v = const variables&;

double pipelined(v a, double s) {
    return 2 * (a.o + s / a.N * a.G) * a.N + a.L + a.o +
           (a.o + 2 * (a.o + s / a.N * a.G) + a.L) * (std::floor(a.n) - 1);
}

/// Of a full binary tree whose messages carry a chunk for each rank below.
triple pipelined_chunks(v a) {
    const double h = std::floor(a.n);
    const double levels = std::exp2(h);  // ranks on the lowest one
    const double x = a.s / a.N * a.G;
    const double time = a.o + (a.o + (levels - 1) * x) * 2 * a.N + a.L + (a.o + a.L) * (h - 1) +
                        2 * (a.o * (h - 1) + x * (2 * (levels / 2 - 1) - (h - 1)));
    return {time, a.N * 2 * (levels - 1), a.s * levels * (1 + 2 * (h - 1) + (2 / levels - 1)), 2 * a.N};
}

constexpr std::uint32_t pieces = 8;

// Sec. 3.1, before minor terms are dropped.
constexpr std::array skeletons{
    skeleton{"FT", "bcast/linear", 1,
             [](v a) {
                 return triple{a.L + a.o * a.P + a.s * a.G * (a.P - 1), a.P - 1, (a.P - 1) * a.s, a.P - 1};
             }},
    skeleton{"KT, k = 2", "bcast/binary", 1,
             [](v a) {
                 return triple{(a.L + 2 * (a.o + a.s * a.G) + a.o) * std::floor(a.n), a.P - 1, (a.P - 1) * a.s, 2};
             }},
    skeleton{"SB", "bcast/split_binary", 1,
             [](v a) {
                 return triple{
                     (a.L + 2 * (a.o + a.s / 2 * a.G) + a.o) * std::floor(a.n) + 2 * a.o + a.L + a.s / 2 * a.G,
                     2 * (a.P - 1), (a.P - 1) * a.s, 3};
             }},
    skeleton{"KT, k = 2, personalised, P = 63", "scatter/binary", 1,
             [](v a) {
                 triple t = pipelined_chunks(a);
                 const double h = std::floor(a.n);
                 t.time = h * (a.L + 3 * a.o) + a.s * a.G * (2 * std::exp2(h + 1) - 2 * h - 4);
                 return t;
             },
             0, 63},
    skeleton{"optimal, k = 3", "bcast/fibonacci", 1, nullptr, 3},
    skeleton{"BT", "bcast/binomial", 1,
             [](v a) {
                 return triple{(a.L + 2 * a.o + a.s * a.G) * a.n, a.P - 1, (a.P - 1) * a.s, a.n};
             }},
    skeleton{"BT, personalised", "scatter/binomial", 1,
             [](v a) {
                 return triple{(2 * a.o + a.L) * a.n + a.s * a.G * (a.P - 1), a.P - 1, a.s * a.P / 2 * a.n, a.n};
             }},
    skeleton{"PBT, N = 8", "bcast/binary", pieces,
             [](v a) {
                 return triple{pipelined(a, a.s), (a.P - 1) * a.N, (a.P - 1) * a.s, 2 * a.N};
             }},
    skeleton{"PBT, N = 8, personalised, P = 63", "scatter/binary", pieces, pipelined_chunks, 0, 63},
    skeleton{"DT, N = 8 in each tree", "bcast/two_tree", 2 * pieces,
             [](v a) {
                 return triple{a.L + 3 * a.o + a.s * a.G + pipelined(a, a.s / 2), 2 + 2 * (a.P - 1) * a.N,
                               a.s + (a.P - 1) * a.s, 2 * a.N};
             }},
    skeleton{"DS", "alltoall/direct", 1,
             [](v a) {
                 return triple{a.L + (a.P - 1) * (a.o + a.s * a.G), a.P * (a.P - 1), a.P * (a.P - 1) * a.s, a.P - 1};
             }},
    skeleton{"BF", "allreduce/recursive_doubling", 1,
             [](v a) {
                 return triple{(2 * a.o + a.s * a.G + a.L) * a.n, a.P * a.n, a.P * a.n * a.s, a.n};
             }},
    skeleton{"BF, personalised", "allgather/recursive_doubling", 1,
             [](v a) {
                 return triple{(2 * a.o + a.L) * a.n + a.G * a.s * (a.P - 1), a.P * a.n, (a.P - 1) * a.P * a.s, a.n};
             }},
    skeleton{"2xKT, k = 2", "allreduce/binary", 1,
             [](v a) {
                 return triple{2 * (a.L + 2 * (a.o + a.s * a.G) + a.o) * std::floor(a.n), 2 * (a.P - 1),
                               2 * (a.P - 1) * a.s, 4};
             }},
};

struct counted_run {
    double time;  // ns
    cost counted;
};

counted_run run(const model& m, const char* id, const simulator::formula_problem& q) {
    const algorithm& a = find_algorithm(id);
    problem p;
    p.what = a.what;
    p.ranks = q.ranks;
    p.segments = q.segments;
    p.idempotent = true;
    if (q.radix > 0) p.radix = {q.radix};
    const std::vector<schedule> all = build_all(a, p);
    const layout sizes = layout::uniform(q.bytes);
    const std::vector<time_ns> arrivals(all.size());
    const simulation s = simulate(m, all, std::span(&sizes, 1), arrivals);
    return {static_cast<double>(std::ranges::max(s.exits).count()), count_cost(all, std::span(&sizes, 1))};
}

std::string us(double ns) { return fmt::format("{:.1f}", ns / 1e3); }
std::string millijoules(double joules) { return fmt::format("{:.2f}", joules * 1e3); }

void tables_1_and_2() {
    const model m = parse_model("infiniband2008");
    for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{1} << 16}) {
        print_head(fmt::format("Tables 1 and 2: 64 ranks, s = {}", format_bytes(bytes)),
                   {"skeleton", "algorithm", "time, us: printed", "formula", "simulated", "dynamic energy, mJ: printed",
                    "counted", "memory, B: printed", "counted"});
        for (const skeleton& k : skeletons) {
            const simulator::formula_problem q{k.ranks, bytes, k.segments, k.radix};
            simulator::formula_problem as_printed = q;
            as_printed.segments = k.segments > 1 ? pieces : 1;
            const bool known = k.printed != nullptr;
            const triple printed = known ? k.printed(variables_of(m, as_printed)) : triple{};
            const auto if_known = [known](std::string text) { return known ? std::move(text) : std::string("-"); };
            const simulator::closed_form c = simulator::evaluate(*simulator::find_formula(m, k.id), m, q);
            const counted_run real = run(m, k.id, q);
            print_row({k.name, k.id, if_known(us(printed.time)), us(c.time_ns), us(real.time),
                       if_known(millijoules(printed.messages * m.message_energy + printed.bytes * m.byte_energy)),
                       millijoules(energy(m, real.counted, time_ns{})),
                       if_known(fmt::format("{:.0f}", printed.memory * static_cast<double>(m.descriptor))),
                       fmt::format("{}", descriptor_memory(m, real.counted))});
        }
    }
}

void figure_5() {
    const model m = parse_model("infiniband2008");
    print_head("Fig. 5: allreduce of 8 bytes, by formula",
               {"P", "time, us: RT", "BT", "BF", "energy, mJ: RT", "BT", "BF", "memory, B: RT", "BT", "BF"});
    std::vector<std::string> fastest, frugal, small;
    for (std::int32_t ranks = 2; ranks <= 4096; ranks *= 2) {
        const simulator::formula_problem q{ranks, 8};
        const std::array all{simulator::evaluate(*simulator::find_formula(m, "allreduce/binary"), m, q),
                             simulator::evaluate(*simulator::find_formula(m, "allreduce/reduce_bcast"), m, q),
                             simulator::evaluate(*simulator::find_formula(m, "allreduce/recursive_doubling"), m, q)};
        std::vector<std::string> cells{fmt::format("{}", ranks)};
        for (const simulator::closed_form& c : all) cells.push_back(us(c.time_ns));
        for (const simulator::closed_form& c : all) cells.push_back(millijoules(simulator::energy(m, c, ranks)));
        for (const simulator::closed_form& c : all)
            cells.push_back(fmt::format("{:.0f}", simulator::descriptor_memory(m, c)));
        print_row(cells);
        const auto joules = [&](std::size_t i) { return simulator::energy(m, all[i], ranks); };
        if (all[2].time_ns < std::min(all[0].time_ns, all[1].time_ns)) fastest.push_back(cells.front());
        if (joules(1) < std::min(joules(0), joules(2))) frugal.push_back(cells.front());
        if (all[0].most_sent < std::min(all[1].most_sent, all[2].most_sent)) small.push_back(cells.front());
    }
    reproduction::print("\nBF alone is fastest with {} ranks.\n", fmt::join(fastest, ", "));
    reproduction::print("BT alone needs the least energy with {} ranks.\n", fmt::join(frugal, ", "));
    reproduction::print("RT alone needs the least memory with {} ranks.\n", fmt::join(small, ", "));
}

struct equation {
    const char* number;
    const char* id;
    std::uint32_t segments;
    double (*printed)(const variables&);  // m is a segment
};

double zeta(double x) { return std::max(x, 0.); }
double bytes_of(v a, double m) { return (m - 1) * a.G; }
double rounds_by(double ranks, double base) { return std::ceil(std::log(ranks) / std::log(base) - 1e-9); }

constexpr std::array equations{
    equation{
        "III.1", "bcast/linear", 1,
        [](v a) { return std::max((a.P - 2) * a.o, zeta(a.P - a.f - 2) * a.g) + bytes_of(a, a.s) + a.L + 2 * a.o; }},
    equation{"III.2", "bcast/chain", pieces,
             [](v a) {
                 return std::max((a.N - 1) * a.o, zeta(a.N - a.f - 1) * a.g) +
                        (a.P - 1) * (2 * a.o + a.L + bytes_of(a, a.s / a.N));
             }},
    equation{"III.3", "bcast/binomial", 1, [](v a) { return std::ceil(a.n) * (2 * a.o + a.L + bytes_of(a, a.s)); }},
    // Its n messages of a round are k - 1 of ours.
    equation{"III.4", "bcast/knomial", 1,
             [](v a) { return rounds_by(a.P, 4) * (zeta(3 - a.f - 1) * a.g + 4 * a.o + a.L + 3 * bytes_of(a, a.s)); }},
    equation{"III.5", "allreduce/dissemination", 1,
             [](v a) {
                 return std::ceil(a.n) * (2 * a.o + a.L + bytes_of(a, a.s) + a.s * a.gamma) +
                        zeta(std::ceil(a.n) - a.f - 1) * a.g;
             }},
    equation{"III.6", "allreduce/n_way_dissemination", 1,
             [](v a) {
                 const double rounds = rounds_by(a.P, 3);
                 return rounds * (3 * a.o + a.L + 2 * bytes_of(a, a.s) + 2 * a.s * a.gamma) +
                        zeta(rounds - a.f - 1) * a.g;
             }},
    equation{"III.7", "allreduce/ring", 1,
             [](v a) {
                 return (2 * a.P - 2) * (2 * a.o + a.L + bytes_of(a, a.s / a.P)) + zeta(2 * a.P - 2 - a.f) * a.g +
                        (a.P - 1) * a.s / a.P * a.gamma;
             }},
};

void thesis_equations(const char* model_text, const char* title) {
    const model m = parse_model(model_text);
    print_head(
        fmt::format("Hoefler 2008, Eqs III.1 to III.7, {}: 64 ranks, us", title),
        {"Eq.", "algorithm", "64 B: printed", "formula", "simulated", "64 KiB: printed", "formula", "simulated"});
    for (const equation& e : equations) {
        std::vector<std::string> cells{e.number, e.id};
        for (const std::int64_t bytes : {std::int64_t{64}, std::int64_t{1} << 16}) {
            const simulator::formula_problem q{64, bytes, e.segments};
            cells.push_back(us(e.printed(variables_of(m, q))));
            cells.push_back(us(simulator::evaluate(*simulator::find_formula(m, e.id), m, q).time_ns));
            cells.push_back(us(run(m, e.id, q).time));
        }
        print_row(cells);
    }
}

/// The ways of the n-way dissemination barrier.
void n_way_barriers() {
    const std::array ways{1, 2, 3, 4, 6, 8, 12, 16};
    std::vector<std::string> head{"f"};
    for (const std::int32_t n : ways) head.push_back(fmt::format("n = {}", n));
    print_head("Hoefler 2008, II.3.1: the n-way dissemination barrier, 64 ranks, us", head);
    for (const int f : {1, 2, 4, 8, 12}) {
        const model m = parse_model(fmt::format("logfgp:L=5.96us,omin=0.18us,omax=1.6us,g=5.14us,G=0.73ns,f={}", f));
        std::vector<std::string> cells{fmt::format("{}", f)};
        for (const std::int32_t n : ways)
            cells.push_back(us(run(m, "barrier/n_way_dissemination", {64, 0, 1, n}).time));
        print_row(cells);
    }
}

}  // namespace

void hoefler_2014() {
    tables_1_and_2();
    figure_5();
    thesis_equations("loggp:L=5.96us,o=4.72us,g=5.14us,G=0.73ns,combine=0.5ns", "LogGP");
    thesis_equations("logfgp:L=5.96us,omin=0.18us,omax=1.6us,g=5.14us,G=0.73ns,f=10,combine=0.5ns", "LogfGP");
    n_way_barriers();
}

}  // namespace reproduction
