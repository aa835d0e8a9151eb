// Proficz 2020: the run times of its equations, as printed and as they hold. Its model is Hockney's with a single port,
// nothing buffered and copies free.
#include "arrival_run.hpp"
#include "page.hpp"

#include <algorithm>
#include <functional>

namespace reproduction {

using namespace rubato;

namespace {

/// The variables of the equations. Rank 0 is the root; a nanosecond per byte, so that all are whole numbers.
struct instance {
    std::int64_t P;
    std::int64_t alpha;
    std::int64_t chunk;  // N / P beta
    std::int64_t delay = 0;

    std::int64_t N() const { return P * chunk; }
    std::int64_t n() const { return ceil_log2(static_cast<std::int32_t>(P)); }
    std::int64_t r_lin() const { return (P - 1) * (alpha + chunk); }
    std::int64_t r_bn() const { return n() * alpha + (P - 1) * chunk; }
    std::int64_t printed_r_ls() const { return (P - 1) * (3 * alpha + chunk); }
    std::int64_t r_ls() const { return alpha + (P - 1) * (2 * alpha + chunk); }
};

using formula = std::function<std::int64_t(const instance&)>;

enum class late { nobody, first_receiver, root };

struct equation {
    const char* number;
    const char* algorithms;
    std::vector<const char*> ids;
    late who;
    const char* holds;
    formula value;
    formula printed{};     // if another
    bool elapsed = false;  // P times the average elapsed time, else run time
    bool any_ranks = true;
};

std::vector<equation> equations() {
    using i = const instance&;
    const auto max = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
    const auto lin = {"scatter/LIN", "scatter/SLN", "scatter/BSLN"};
    const auto scatter_bn = {"scatter/BNOM", "scatter/SBN", "scatter/BSBN"};
    const auto gather_bn = {"gather/BNOM", "gather/SBN", "gather/BSBN"};
    return {
        {"3", "LIN, SLN, BSLN", lin, late::nobody, "r_LIN = (P-1) c, c = alpha + N/P beta", &instance::r_lin},
        {"4",
         "LIN, SLN, BSLN",
         lin,
         late::nobody,
         "e = (P+2)(P-1) c / 2P",
         [](i s) { return (s.P + 2) * (s.P - 1) * (s.alpha + s.chunk) / 2; },
         {},
         true},
        {"5",
         "LS, SLS, BSLS",
         {"gather/LS", "gather/SLS", "gather/BSLS"},
         late::nobody,
         "r_LS = alpha + (P-1)(2 alpha + N/P beta)",
         &instance::r_ls,
         &instance::printed_r_ls},
        {"6",
         "LS, SLS, BSLS",
         {"gather/LS", "gather/SLS", "gather/BSLS"},
         late::nobody,
         "e = alpha + (P+2)(P-1)(2 alpha + N/P beta) / 2P",
         [](i s) { return s.P * s.alpha + (s.P + 2) * (s.P - 1) * (2 * s.alpha + s.chunk) / 2; },
         [](i s) { return (s.P + 2) * (s.P - 1) * (3 * s.alpha + s.chunk) / 2; },
         true},
        {"7",
         "BNOM, SBN, BSBN",
         scatter_bn,
         late::nobody,
         "r_BN = log2(P) alpha + (P-1) N/P beta",
         &instance::r_bn,
         {},
         false,
         false},
        {"7",
         "BNOM, SBN, BSBN",
         scatter_bn,
         late::nobody,
         "e = r_BN",
         [](i s) { return s.P * s.r_bn(); },
         {},
         true,
         false},
        {"8",
         "BNOM, SBN, BSBN",
         gather_bn,
         late::nobody,
         "e = (2 (P-1) alpha + log2(P) N beta) / P",
         [](i s) { return 2 * (s.P - 1) * s.alpha + s.n() * s.N(); },
         {},
         true,
         false},
        {"9", "LIN", {"scatter/LIN"}, late::first_receiver, "d + r_LIN", [](i s) { return s.delay + s.r_lin(); }},
        {"10",
         "SLN",
         {"scatter/SLN"},
         late::first_receiver,
         "max(d + alpha + N/P beta, r_LIN)",
         [max](i s) { return max(s.delay + s.alpha + s.chunk, s.r_lin()); }},
        {"11",
         "BSLN",
         {"scatter/BSLN"},
         late::first_receiver,
         "max(d, r_LIN)",
         [max](i s) { return max(s.delay, s.r_lin()); }},
        {"12", "LIN, SLN, BSLN", lin, late::root, "d + r_LIN", [](i s) { return s.delay + s.r_lin(); }},
        {"13",
         "BNOM",
         {"scatter/BNOM"},
         late::first_receiver,
         "d + r_BN",
         [](i s) { return s.delay + s.r_bn(); },
         {},
         false,
         false},
        {"14",
         "SBN",
         {"scatter/SBN"},
         late::first_receiver,
         "max(d + alpha + N/P beta, r_BN)",
         [max](i s) { return max(s.delay + s.alpha + s.chunk, s.r_bn()); },
         {},
         false,
         false},
        {"15",
         "BSBN",
         {"scatter/BSBN"},
         late::first_receiver,
         "max(d, r_BN)",
         [max](i s) { return max(s.delay, s.r_bn()); },
         {},
         false,
         false},
        {"16",
         "BNOM, SBN, BSBN",
         scatter_bn,
         late::root,
         "d + r_BN",
         [](i s) { return s.delay + s.r_bn(); },
         {},
         false,
         false},
        {"17",
         "LS",
         {"gather/LS"},
         late::first_receiver,
         "d + r_LS",
         [](i s) { return s.delay + s.r_ls(); },
         [](i s) { return s.delay + s.printed_r_ls(); }},
        {"18",
         "SLS",
         {"gather/SLS"},
         late::first_receiver,
         "max(d + 3 alpha + N/P beta, r_LS)",
         [max](i s) { return max(s.delay + 3 * s.alpha + s.chunk, s.r_ls()); },
         [max](i s) { return max(s.delay + 3 * s.alpha + s.chunk, s.printed_r_ls()); }},
        {"18",
         "BSLS",
         {"gather/BSLS"},
         late::first_receiver,
         "max(d + 2 alpha + N/P beta, r_LS)",
         [max](i s) { return max(s.delay + 2 * s.alpha + s.chunk, s.r_ls()); },
         [max](i s) { return max(s.delay + 3 * s.alpha + s.chunk, s.printed_r_ls()); }},
        {"19",
         "LS, SLS",
         {"gather/LS", "gather/SLS"},
         late::root,
         "d + r_LS",
         [](i s) { return s.delay + s.r_ls(); },
         [](i s) { return s.delay + s.printed_r_ls(); }},
        {"20",
         "BSLS",
         {"gather/BSLS"},
         late::root,
         "max(d, r_LS)",
         [max](i s) { return max(s.delay, s.r_ls()); },
         [max](i s) { return max(s.delay, s.printed_r_ls()); }},
        {"21",
         "BNOM, SBN",
         {"gather/BNOM", "gather/SBN"},
         late::first_receiver,
         "d + r_BN",
         [](i s) { return s.delay + s.r_bn(); },
         {},
         false,
         false},
        {"22",
         "BSBN",
         {"gather/BSBN"},
         late::first_receiver,
         "max(d + alpha + N/2 beta, r_BN)",
         [max](i s) { return max(s.delay + s.alpha + s.N() / 2, s.r_bn()); },
         [max](i s) { return max(s.delay + s.alpha + (s.P - 1) * s.chunk / 2, s.r_bn()); },
         false,
         false},
        {"23",
         "BNOM, SBN",
         {"gather/BNOM", "gather/SBN"},
         late::root,
         "d + r_BN",
         [](i s) { return s.delay + s.r_bn(); },
         {},
         false,
         false},
        {"24",
         "BSBN",
         {"gather/BSBN"},
         late::root,
         "max(d, r_BN)",
         [max](i s) { return max(s.delay, s.r_bn()); },
         {},
         false,
         false},
    };
}

std::int64_t simulated(const equation& e, const char* id, const instance& s) {
    std::vector<time_ns> arrivals(static_cast<std::size_t>(s.P));
    const bool linear = e.any_ranks;
    const std::int64_t who = e.who == late::root ? 0 : linear ? 1 : s.P / 2;
    arrivals[static_cast<std::size_t>(who)] = time_ns(s.delay);
    const auto left = exits(id, {static_cast<double>(s.alpha), 1, 0}, s.chunk, arrivals);
    if (!e.elapsed) return run_time(arrivals, left).count();
    std::int64_t sum = 0;
    for (const time_ns t : left) sum += t.count();
    return sum;
}

void compare_equations() {
    print_head("Eqs 3 to 24: simulated run times that are equal, to the nanosecond",
               {"Eq.", "algorithm", "late by d", "what holds", "equal", "as printed"});
    for (const equation& e : equations()) {
        int all = 0;
        int equal = 0;
        int as_printed = 0;
        for (const std::int64_t P : {2, 3, 4, 8, 16, 48}) {
            if (!e.any_ranks && !is_power_of_two(static_cast<std::int32_t>(P))) continue;
            for (const std::int64_t eighths : {0, 1, 4, 7, 8, 9, 30}) {
                instance s{P, 1000, 600};
                s.delay = e.who == late::nobody ? 0 : s.r_lin() * eighths / 8;
                if (e.who == late::nobody && eighths > 0) continue;
                for (const char* id : e.ids) {
                    ++all;
                    const std::int64_t have = simulated(e, id, s);
                    equal += have == e.value(s) ? 1 : 0;
                    as_printed += have == (e.printed ? e.printed(s) : e.value(s)) ? 1 : 0;
                }
            }
        }
        print_row({e.number, e.algorithms,
                   e.who == late::nobody ? "nobody"
                   : e.who == late::root ? "the root"
                                         : "the first receiver",
                   e.holds, fmt::format("{} of {}", equal, all), fmt::format("{} of {}", as_printed, all)});
    }
}

}  // namespace

void proficz_2020_equations() { compare_equations(); }

}  // namespace reproduction
