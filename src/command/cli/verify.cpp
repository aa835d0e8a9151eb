// rubato verify: are the schedules right?
#include "rubato/verify.hpp"

#include "command/cli/command.hpp"
#include "command/cli/parallel.hpp"
#include "command/cli/show_schedules.hpp"
#include "command/cli/work_estimate.hpp"
#include "rubato/arrival.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace rubato::command {
namespace {

struct verify_options {
    std::vector<std::string> ids{};
    std::vector<std::int32_t> ranks{};
    std::int32_t root_limit = 12;
    std::vector<std::int32_t> segments{1, 2, 3, 8};
    std::string file{};
    bool force = false;
    bool json = false;
};

/// To make it and to follow what each block holds.
constexpr step_cost to_verify{1'500, 100};
constexpr double longest_verification_ns = 15 * 60e9;

/// "1-33,64"
std::vector<std::int32_t> parse_ranges(std::string_view text) {
    constexpr std::int32_t most = 4096;
    std::vector<std::int32_t> numbers;
    for (const std::string& item : split_lists({std::string(text)})) {
        const std::size_t dash = item.find('-');
        const auto low = parse_integer(item.substr(0, dash), "number of ranks", 1, most);
        const auto high =
            dash == std::string::npos ? low : parse_integer(item.substr(dash + 1), "number of ranks", low, most);
        for (std::int64_t n = low; n <= high; ++n) numbers.push_back(static_cast<std::int32_t>(n));
    }
    return each_once(numbers);
}

std::vector<std::int32_t> prime_factors(std::int32_t n) {
    std::vector<std::int32_t> factors;
    for (std::int32_t f = 2; n > 1; ++f)
        for (; n % f == 0; n /= f) factors.push_back(f);
    return factors;
}

std::vector<std::vector<std::int32_t>> radices(const algorithm& a, std::int32_t ranks) {
    if (!a.takes_radix) return {{}};
    if (!a.has(need::radix_product)) return {{}, {2}, {3}, {4}};
    const std::vector<std::int32_t> primes = prime_factors(ranks);
    const std::set<std::vector<std::int32_t>> all{{}, {ranks}, primes, {primes.rbegin(), primes.rend()}};
    return {all.begin(), all.end()};
}

std::vector<std::int32_t> roots(const algorithm& a, std::int32_t ranks, std::int32_t limit) {
    if (!traits(a.what).rooted) return {0};
    std::set<std::int32_t> all{0, ranks / 2, ranks - 1};
    for (std::int32_t r = 1; r < ranks && ranks <= limit; ++r) all.insert(r);
    return {all.begin(), all.end()};
}

/// Patterns of every kind; in the first, all ranks arrive together.
std::vector<std::string> patterns(const algorithm& a, std::int32_t ranks, std::int32_t root) {
    std::vector<std::string> all{""};
    if (a.arrival_aware) std::ranges::copy(patterns_to_try(ranks, rank(root)), std::back_inserter(all));
    return all;
}

/// From far shorter than the spread of arrivals to far longer, for algorithms that plan in rounds.
std::vector<time_ns> round_times(const algorithm& a, bool together) {
    using namespace std::chrono_literals;
    if (!a.uses_round_time() || together) return {time_ns{}};
    return {100ns, 10us, 10ms};
}

struct finding {
    std::string id{};
    std::string text{};
    std::string command{};
};

struct verify_outcome {
    std::int64_t schedules = 0;
    std::int64_t wrong = 0;
    std::vector<finding> findings{};

    void add(const problem& p, const std::vector<std::string>& found, std::string_view id, const std::string& command) {
        constexpr std::size_t most = 5;  // one mistake often shows on every rank
        schedules += p.ranks;
        if (!found.empty()) wrong += p.ranks;
        for (std::size_t i = 0; i < std::min(found.size(), most); ++i)
            findings.push_back({std::string(id), found[i], command});
    }
    void add(verify_outcome&& other) {
        schedules += other.schedules;
        wrong += other.wrong;
        std::ranges::move(other.findings, std::back_inserter(findings));
    }
};

/// What is tried, in the words of the command line.
struct circumstances {
    std::string pattern{};  ///< of arrivals
    std::string hosts{};
    std::string neighbours{};
};

std::string command_for(const algorithm& a, const problem& p, const circumstances& c) {
    std::string text = fmt::format("rubato schedule {} --ranks {}", a.id, p.ranks);
    if (traits(p.what).rooted) text += fmt::format(" --root {}", p.root.value);
    if (a.segmented) text += fmt::format(" --segments {}", p.segments);
    if (!p.radix.empty()) text += fmt::format(" --radix {}", fmt::join(p.radix, ","));
    if (!c.pattern.empty()) text += fmt::format(" --arrivals {}", c.pattern);
    if (!c.hosts.empty()) text += fmt::format(" --hosts {}", c.hosts);
    if (!c.neighbours.empty()) text += fmt::format(" --graph '{}'", c.neighbours);
    if (p.round_time > time_ns{}) text += fmt::format(" --round-time {}", p.round_time.count());
    if (!p.commutative) text += " --noncommutative";
    if (p.idempotent) text += " --idempotent";
    return text;
}

/// Calls attempt(problem, circumstances) for everything that is tried with one algorithm and one number of ranks.
template <class Attempt>
void for_each_problem(const algorithm& a, std::int32_t ranks, const verify_options& o, Attempt attempt) {
    const std::vector<std::int32_t> segment_counts = a.segmented ? o.segments : std::vector<std::int32_t>{1};
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    const auto with_operators = [&](const circumstances& c) {
        for (const auto& radix : radices(a, ranks)) {
            p.radix = radix;
            for (const bool commutative : {true, false}) {
                for (const bool idempotent : {false, true}) {
                    if (!commutative && !traits(a.what).reduces) continue;
                    if (idempotent && !a.has(need::idempotent_or_power)) continue;
                    p.commutative = commutative;
                    p.idempotent = idempotent;
                    if (!unmet_need(a, p)) attempt(p, c);
                }
            }
        }
    };
    const auto with_graphs = [&](circumstances c) {
        if (!traits(a.what).on_graph) return with_operators(c);
        for (const std::string& text : graphs_to_try(ranks)) {
            p.neighbours = parse_graph(text, ranks);
            c.neighbours = text;
            with_operators(c);
        }
    };
    for (const std::int32_t root : roots(a, ranks, o.root_limit)) {
        p.root = rank(root);
        for (const std::string& pattern : patterns(a, ranks, root)) {
            p.arrivals = pattern.empty() ? std::vector<time_ns>{} : parse_arrivals(pattern, ranks);
            for (const time_ns round_time : round_times(a, pattern.empty())) {
                p.round_time = round_time;
                for (const std::int32_t segments : segment_counts) {
                    p.segments = static_cast<std::uint32_t>(segments);
                    for (const std::string& hosts : a.host_aware ? hosts_to_try(ranks) : std::vector<std::string>{""}) {
                        p.hosts = parse_hosts(hosts, ranks);
                        with_graphs({pattern, hosts});
                    }
                }
            }
        }
    }
}

verify_outcome try_all(const algorithm& a, std::int32_t ranks, const verify_options& o) {
    verify_outcome result;
    for_each_problem(a, ranks, o, [&](const problem& p, const circumstances& c) {
        std::vector<std::string> found;
        try {
            found = verify(p, build_all(a, p), false, a.same_bits);
        } catch (const std::exception& e) {
            found.push_back(fmt::format("it cannot be built: {}", e.what()));
        }
        result.add(p, found, a.id, command_for(a, p, c));
    });
    return result;
}

/// An algorithm with a number of ranks, and the effort to try everything.
struct item {
    const algorithm* a;
    std::int32_t ranks;
    work_estimate takes{};
};

/// For work done one after the other: times add up, and memory is used again.
void add(work_estimate& sum, const work_estimate& e) {
    sum.steps += e.steps;
    sum.ns += e.ns;
    sum.bytes = std::max(sum.bytes, e.bytes);
}

/// Problems that differ only in arrivals, hosts and operators have about the same number of steps.
void look_at(item& i, const verify_options& o) {
    std::map<std::pair<std::uint32_t, std::vector<std::int32_t>>, work_estimate> known;
    for_each_problem(*i.a, i.ranks, o, [&](const problem& p, const circumstances&) {
        const auto [found, fresh] = known.try_emplace({p.segments, p.radix});
        if (fresh) found->second = work_estimate(simulator::expected_steps(*i.a, p), to_verify);
        add(i.takes, found->second);
    });
}

std::vector<const algorithm*> chosen_by(const verify_options& o) {
    std::vector<const algorithm*> chosen;
    for (const std::string& id : o.ids) {
        chosen.push_back(&find_algorithm(id));
        if (std::ranges::count(chosen, chosen.back()) > 1)
            throw error(fmt::format("{} is named twice", chosen.back()->id), "once is enough", "remove one of them");
    }
    if (o.ids.empty())
        for (const algorithm& a : algorithms()) chosen.push_back(&a);
    return chosen;
}

/// Estimates the effort of each item, in their order. Throws as soon as the sum is long or takes gigabytes, unless the
/// user wants that. Each core verifies one item at a time.
void look_at_all(std::vector<item>& items, const verify_options& o) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    std::mutex mutex;
    work_estimate all;
    std::atomic<bool> too_large = false;
    for_each_in_parallel(items.size(), "looked at", [&](std::size_t i) {
        if (too_large) return;
        look_at(items[i], o);
        const std::lock_guard lock(mutex);
        add(all, items[i].takes);
        too_large = !o.force && (all.ns / cores > longest_verification_ns || all.bytes * cores > most_memory);
    });
    if (!too_large) return;
    const item& worst = std::ranges::max(items, {}, [](const item& i) { return i.takes.ns; });
    throw error(fmt::format("to verify this takes more than {:.0f} minutes or {:.0f} GiB",
                            longest_verification_ns / 60e9, most_memory / (1 << 30)),
                fmt::format("{} with {} ranks alone takes {}", worst.a->id, worst.ranks, to_string(worst.takes)),
                "give fewer algorithms, ranks or segments, or --force");
}

verify_outcome verify_algorithms(const CLI::App& app, const verify_options& o) {
    const std::vector<const algorithm*> chosen = chosen_by(o);
    refuse_unused(app, chosen);
    std::vector<item> items;
    for (const std::int32_t n : o.ranks)
        for (const algorithm* a : chosen) items.push_back({a, n});
    std::ranges::stable_sort(items, std::ranges::greater{}, &item::ranks);
    look_at_all(items, o);
    // The longest first, so that none is left at the end.
    std::ranges::stable_sort(items, std::ranges::greater{}, [](const item& i) { return i.takes.ns; });
    std::vector<double> weights;
    weights.reserve(items.size());
    for (const item& i : items) weights.push_back(i.takes.ns);
    std::vector<verify_outcome> outcomes(items.size());
    for_each_in_parallel(weights, "verified",
                         [&](std::size_t i) { outcomes[i] = try_all(*items[i].a, items[i].ranks, o); });
    verify_outcome all;
    for (verify_outcome& one : outcomes) all.add(std::move(one));
    if (all.schedules == 0)
        throw error("nothing was verified", "these algorithms cannot be used with these numbers of ranks",
                    "give other --ranks; 'rubato algorithms' lists what algorithms need");
    return all;
}

verify_outcome verify_file(const std::string& file) {
    errno = 0;
    std::ifstream in(file);
    std::ostringstream text;
    if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
    if (errno != 0) throw error(fmt::format("cannot read '{}'", file), std::strerror(errno), "check its name");
    const named_schedules n = schedules_from_json(text.str());
    // Schedules of programs ("built") promise nothing.
    const auto named = std::ranges::find(algorithms(), n.id, &algorithm::id);
    const bool same_bits = named != algorithms().end() && named->same_bits;
    verify_outcome result;
    result.add(n.p, verify(n.p, n.all, n.equal_parts, same_bits), n.id, fmt::format("rubato verify --file {}", file));
    return result;
}

void print(const verify_outcome& result, bool json) {
    if (!json) {
        std::string text;
        for (const finding& f : result.findings) text += fmt::format("{}: {}; see {}\n", f.id, f.text, f.command);
        write_out(text + fmt::format("{} schedules verified, {} wrong\n", result.schedules, result.wrong));
        return;
    }
    auto findings = base::json::array();
    for (const finding& f : result.findings)
        findings.push_back({{"id", f.id}, {"finding", f.text}, {"command", f.command}});
    const base::json all{{"schedules", result.schedules}, {"wrong", result.wrong}, {"findings", findings}};
    write_out(pretty(all));
}

}  // namespace

void add_verify(CLI::App* app, int& status) {
    auto o = std::make_shared<verify_options>();
    o->ranks = parse_ranges("1-33");
    add_value(*app, "ID", o->ids, "", "the algorithms (default: all)");
    add_parsed(*app, "-p,--ranks", "N[-N][,N...]", "numbers of ranks (default: 1-33)",
               [o](const std::string& text) { o->ranks = parse_ranges(text); });
    add_integer(*app, "--root-limit", o->root_limit, "number of ranks", 0, 4096,
                "try every root up to so many ranks, and the first, middle and last rank above (default: 12)");
    add_parsed(
        *app, "-s,--segments", "N[,N...]", "numbers of segments, for algorithms that cut vectors (default: 1,2,3,8)",
        [o](const std::string& text) { o->segments = each_once(parse_list(text, "number of segments", 1, 1 << 20)); });
    add_value(*app, "--file", o->file, "FILE",
              "verify the schedules in this file, made by 'rubato schedule --format json' or NBC_Sched_save");
    add_flag(*app, "--force", o->force, "verify even if that takes long or gigabytes");
    add_flag(*app, "--json", o->json, "print an object with the numbers and the findings");
    add_footer(*app, R"(
Each algorithm is tried with every root, segment count, radix, kind of operator, arrival pattern, hosts and
round time that make a difference to it. Exit status 1 if anything is wrong.
Examples:
  rubato verify
  rubato verify reduce/binomial --ranks 1-16,64,127-129
  rubato verify --file mine.json)");
    when_called(*app, [o, app, &status] {
        for (const char* other : {"ID", "--ranks", "--root-limit", "--segments"})
            if (!o->file.empty() && is_given(*app, other))
                throw error(fmt::format("--file with {}", other), "the file says what there is to verify",
                            "leave one of them out");
        const verify_outcome result = o->file.empty() ? verify_algorithms(*app, *o) : verify_file(o->file);
        print(result, o->json);
        if (result.wrong > 0) status = 1;
    });
}

}  // namespace rubato::command
