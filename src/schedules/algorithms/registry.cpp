#include "rubato/algorithm.hpp"

#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <numeric>
#include <unordered_map>

namespace rubato {
namespace {

constexpr std::uint8_t segments = 1;
constexpr std::uint8_t radix = 2;
constexpr std::uint8_t arrivals = 4;
constexpr std::uint8_t hosts = 8;
constexpr std::uint8_t nearness = 16;
constexpr std::uint8_t own_order = 32;

constexpr std::uint16_t bits(need n) { return static_cast<std::uint16_t>(n); }
constexpr std::uint16_t bits(int n) { return static_cast<std::uint16_t>(n); }

constexpr std::string_view early_summary = "the same, begun before the rank arrives: until then results lie in scratch";

template <schedule (*build)(const problem&, rank)>
schedule early(const problem& p, rank me) {
    return early_form(build(p, me));
}
template <std::vector<schedule> (*build)(const problem&, std::span<const rank>)>
std::vector<schedule> early(const problem& p, std::span<const rank> who) {
    std::vector<schedule> some = build(p, who);
    for (schedule& s : some) s = early_form(s);
    return some;
}

/// The short names of Proficz 2020, beside the collective.
struct short_name {
    std::string_view id;
    std::string_view alias;
};
constexpr std::array short_names{
    short_name{"scatter/binomial", "BNOM"},
    short_name{"scatter/linear", "LIN"},
    short_name{"scatter/sorted_binomial", "SBN"},
    short_name{"scatter/sorted_binomial+early", "BSBN"},
    short_name{"scatter/sorted_linear", "SLN"},
    short_name{"scatter/sorted_linear+early", "BSLN"},
    short_name{"gather/binomial", "BNOM"},
    short_name{"gather/linear", "LIN"},
    short_name{"gather/linear_sync", "LS"},
    short_name{"gather/sorted_binomial", "SBN"},
    short_name{"gather/sorted_binomial+early", "BSBN"},
    short_name{"gather/sorted_linear_sync", "SLS"},
    short_name{"gather/sorted_linear_sync+early", "BSLS"},
};

constexpr std::string_view alias_of(std::string_view id) {
    for (const short_name& s : short_names)
        if (s.id == id) return s.alias;
    return {};
}

constexpr algorithm row(std::string_view id, collective what, std::uint16_t needs, std::uint8_t uses,
                        std::string_view summary, std::string_view source, decltype(algorithm::build) build,
                        decltype(algorithm::build_some) build_some, decltype(algorithm::dynamic) dynamic = nullptr) {
    const auto has = [uses](std::uint8_t use) { return (uses & use) != 0; };
    return {id,         what,          summary,         source, needs,        has(segments), has(radix), has(arrivals),
            has(hosts), has(nearness), !has(own_order), false,  alias_of(id), build,         build_some, dynamic};
}

constexpr algorithm early_row(std::string_view id, collective what, std::string_view source,
                              decltype(algorithm::build) build, decltype(algorithm::build_some) build_some) {
    algorithm a = row(id, what, 0, 0, early_summary, source, build, build_some);
    a.early = true;
    return a;
}

/// An early form needs and uses what the row before it does.
template <std::size_t n>
constexpr std::array<algorithm, n> with_early_forms(std::array<algorithm, n> rows) {
    for (std::size_t i = 1; i < n; ++i) {
        if (!rows[i].early) continue;
        const algorithm& plain = rows[i - 1];
        rows[i].needs = plain.needs;
        rows[i].segmented = plain.segmented;
        rows[i].takes_radix = plain.takes_radix;
        rows[i].arrival_aware = plain.arrival_aware;
        rows[i].host_aware = plain.host_aware;
        rows[i].same_bits = plain.same_bits;
    }
    return rows;
}

using enum need;
constexpr auto table = with_early_forms(std::array{
#define ROW(c, n, needs, uses, summary, source) \
    row(#c "/" #n, collective::c, bits(needs), uses, summary, source, schedules::c##_##n, nullptr),
#define ROW_TOGETHER(c, n, needs, uses, summary, source) \
    row(#c "/" #n, collective::c, bits(needs), uses, summary, source, nullptr, schedules::c##_##n),
#define ROW_DYNAMIC(c, n, needs, uses, summary, source) \
    row(#c "/" #n, collective::c, bits(needs), uses, summary, source, nullptr, nullptr, schedules::c##_##n),
#define EARLY(c, n, f, source) early_row(#c "/" #n "+early", collective::c, source, early<schedules::f>, nullptr),
#define EARLY_TOGETHER(c, n, f, source) \
    early_row(#c "/" #n "+early", collective::c, source, nullptr, early<schedules::f>),
#include "schedules/algorithms/table.def"
});
static_assert(std::ranges::all_of(collectives(),
                                  [](const auto& t) {
                                      return std::ranges::count(table, t.what, &algorithm::what) > 0;
                                  }),
              "every collective has an algorithm");

struct need_name {
    need what;
    std::string_view name;
};
constexpr std::array names{
    need_name{commutative, "commutative"},     need_name{power_of_two, "power_of_two"},
    need_name{even_ranks, "even_ranks"},       need_name{idempotent_or_power, "idempotent_or_power"},
    need_name{radix_product, "radix_product"}, need_name{radix_above_one, "radix_above_one"},
    need_name{round_time, "round_time"},       need_name{torus, "torus"},
};

/// Edit distance, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row.back();
}

bool is_power_of(std::int64_t n, std::int64_t base) {
    while (n % base == 0) n /= base;
    return n == 1;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Whether this is "collective/alias" of the algorithm.
bool is_alias(const algorithm& a, std::string_view id) {
    const std::size_t slash = id.find('/');
    return !a.alias.empty() && slash != std::string_view::npos && id.substr(0, slash) == traits(a.what).name &&
           same_ignoring_case(id.substr(slash + 1), a.alias);
}

/// Whether it makes no difference which rank has which number.
bool order_is_free(const problem& p) {
    const bool any = p.what == collective::barrier || p.what == collective::bcast;
    const bool if_commutative = p.what == collective::reduce || p.what == collective::allreduce;
    return any || (if_commutative && p.commutative);
}

std::vector<schedule> build_ranks(const algorithm& a, const problem& p, std::span<const rank> who);

/// The schedules of some ranks, numbered by their places while they are built.
std::vector<schedule> build_in_places(const algorithm& a, const problem& p, std::span<const rank> who) {
    const auto place = [&p](rank r) { return rank(p.places[static_cast<std::size_t>(r.value)]); };
    std::vector<rank> at(p.places.size());
    for (rank r; r.value < p.ranks; ++r.value) at[static_cast<std::size_t>(place(r).value)] = r;
    problem placed = p;
    placed.places.clear();
    placed.root = place(p.root);
    for (std::size_t i = 0; i < at.size(); ++i) {
        const auto r = static_cast<std::size_t>(at[i].value);
        if (!p.arrivals.empty()) placed.arrivals[i] = p.arrivals[r];
        if (!p.hosts.empty()) placed.hosts[i] = p.hosts[r];
    }
    placed.hosts = numbered_hosts(placed.hosts);
    std::vector<rank> there;
    for (const rank r : who) there.push_back(place(r));
    std::vector<schedule> some = build_ranks(a, placed, there);
    for (schedule& s : some)
        for (step& t : s.steps)
            if (t.is_message()) t.peer = at[static_cast<std::size_t>(t.peer)].value;
    return some;
}

/// The schedules of some ranks.
std::vector<schedule> build_ranks(const algorithm& a, const problem& p, std::span<const rank> who) {
    check(a, p);
    if (!p.places.empty() && order_is_free(p)) return build_in_places(a, p, who);
    if (a.build_some) return a.build_some(p, who);
    std::vector<schedule> some;
    some.reserve(who.size());
    if (a.dynamic) {
        std::vector<schedule> all = schedules::record(a, p);
        for (const rank r : who) some.push_back(std::move(all[static_cast<std::size_t>(r.value)]));
        return some;
    }
    for (const rank r : who) some.push_back(a.build(p, r));
    return some;
}

}  // namespace

std::span<const algorithm> algorithms() { return table; }

const algorithm& find_algorithm(std::string_view id) {
    // Programs name an algorithm in every call.
    static const auto by_id = [] {
        std::unordered_map<std::string_view, const algorithm*> all;
        for (const algorithm& a : table) all.emplace(a.id, &a);
        return all;
    }();
    if (const auto known = by_id.find(id); known != by_id.end()) return *known->second;
    const auto found = std::ranges::find_if(table, [id](const algorithm& a) { return is_alias(a, id); });
    if (found != table.end()) return *found;
    const auto near = std::ranges::min_element(table, {}, [id](const algorithm& a) { return distance(a.id, id); });
    throw error(fmt::format("unknown algorithm '{}'", id), "no such id is registered",
                fmt::format("did you mean {}? 'rubato algorithms' lists all", near->id));
}

std::vector<std::string_view> need_names(const algorithm& a) {
    std::vector<std::string_view> result;
    for (const need_name& n : names)
        if (a.has(n.what)) result.push_back(n.name);
    return result;
}

std::optional<std::string> caution(const algorithm& a) {
    if (a.same_bits) return std::nullopt;
    return fmt::format("{}: ranks may get floating-point results that differ in the last bits", a.id);
}

std::optional<std::string> unmet_need(const algorithm& a, const problem& p) {
    if (a.has(commutative) && !p.commutative) return "it reorders the operands, and the operator does not commute";
    if (a.has(power_of_two) && !is_power_of_two(p.ranks))
        return fmt::format("it needs a power of two of ranks, and there are {}", p.ranks);
    if (a.has(even_ranks) && p.ranks % 2 != 0 && p.ranks != 1)
        return fmt::format("it needs an even number of ranks, and there are {}", p.ranks);
    if (a.has(idempotent_or_power)) {
        const std::int64_t base = std::int64_t{a.takes_radix ? p.radix_or(default_ways) : 1} + 1;
        if (!p.idempotent && !is_power_of(p.ranks, base))
            return fmt::format(
                "with {} way(s) it counts some ranks twice, so it needs an operator with x*x = x "
                "(min, max, and, or), or a power of {} of ranks, and there are {}",
                base - 1, base, p.ranks);
    }
    if (a.has(radix_product) && !p.radix.empty()) {
        const auto product = std::accumulate(p.radix.begin(), p.radix.end(), std::int64_t{1}, std::multiplies<>());
        if (product != p.ranks)
            return fmt::format("the product of its radix vector must be the number of ranks, and {} is not {}", product,
                               p.ranks);
    }
    if (a.has(radix_above_one) && p.radix_or(2) < 2)
        return "its tree cuts ranks into pieces, and a radix of 1 cuts nothing";
    if (a.has(round_time) && p.round_time == time_ns{} &&
        std::ranges::adjacent_find(p.arrivals, std::not_equal_to<>()) != p.arrivals.end())
        return "arrivals differ, so it must be told how long a round takes (--round-time)";
    if (a.has(torus) && (!p.neighbours || !p.neighbours->torus()))
        return "it needs a graph that looks the same from all ranks of a torus, and this one does not";
    return std::nullopt;
}

void check(const algorithm& a, const problem& p) {
    check(p);
    if (p.what != a.what)
        throw error(fmt::format("{} cannot do a {}", a.id, traits(p.what).name), "it is another collective",
                    "choose an algorithm of the same collective");
    if (auto why = unmet_need(a, p))
        throw error(fmt::format("{} cannot be used here", a.id), *why,
                    "meet that, or choose another algorithm ('rubato algorithms')");
}

schedule build_one(const algorithm& a, const problem& p, rank me) {
    return std::move(build_ranks(a, p, std::span(&me, 1)).front());
}

std::vector<schedule> build_all(const algorithm& a, const problem& p) {
    std::vector<rank> all;
    for (rank r; r.value < p.ranks; ++r.value) all.push_back(r);
    return build_ranks(a, p, all);
}

}  // namespace rubato
