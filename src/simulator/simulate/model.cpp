#include "rubato/model.hpp"

#include "base/core/overloaded.hpp"
#include "base/core/portable.hpp"
#include "base/core/text.hpp"
#include "simulator/simulate/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace rubato {
namespace {

constexpr std::array energy_units{
    base::unit{"", 1.},        base::unit{"J", 1.},       base::unit{"mJ", 1., 1e3},
    base::unit{"uJ", 1., 1e6}, base::unit{"nJ", 1., 1e9}, base::unit{"pJ", 1., 1e12},
};
constexpr std::array power_units{base::unit{"", 1.}, base::unit{"W", 1.}, base::unit{"mW", 1., 1e3}};

double parse_power(std::string_view text) {
    return base::parse_with_unit(text, power_units, "number of watts", "0.5W");
}

/// In a suitable unit, if it reads back as the same number.
std::string format_energy(double joules) {
    for (const base::unit& u : energy_units) {
        if (u.name.empty() || joules * u.divisor < 1) continue;
        std::string text = fmt::format("{:.6g}{}", joules * u.divisor, u.name);
        if (parse_energy(text) == joules) return text;
    }
    return fmt::format("{}J", joules);
}

// Table II.2 gives L as half the time of a round trip, so these charge the overhead o once more on each side.
constexpr std::array table{
    preset{"curie", "hockney:alpha=2.66us,beta=0.48179ns,gamma=0.16654ns",
           "Marendic et al. 2016, Fig. 6: measured on PRACE CURIE"},
    preset{"infiniband2008", "loggp5:L=6us,o=4.7us,G=0.73ns,e=16.5uJ,E=8.1nJ,static=0.5W,descriptor=32",
           "Hoefler & Moor 2014, 4.2: InfiniBand with MPI"},
    preset{"gige", "loggp:L=45.74us,o=3.46us,g=0.915us,G=8.49ns",
           "Hoefler 2008, Table II.2: MPICH2 on TCP, Gigabit Ethernet"},
    preset{"openib", "loggp:L=5.96us,o=4.72us,g=5.14us,G=0.73ns,rendezvous=12289",
           "Hoefler 2008, Table II.2: Open MPI on InfiniBand (MT25208), messages below 12289 bytes"},
    preset{"connectx", "loggp:L=2.98us,o=2.01us,g=2.88us,G=3.1ns,rendezvous=12289",
           "Hoefler 2008, Table II.2: Open MPI on InfiniBand (ConnectX), messages below 12289 bytes"},
    preset{"connectx_large", "loggp:L=2.98us,o=2.01us,g=11.6us,G=1.01ns,rendezvous=12289",
           "Hoefler 2008, Table II.2: Open MPI on InfiniBand (ConnectX), messages of 12289 bytes and more"},
    preset{"ethernet100g", "hockney:alpha=2us,beta=0.08ns,gamma=0.1ns",
           "nominal, not measured: 100 Gb/s are 12.5 GB/s; 2 us is usual for MPI over RDMA Ethernet; one core sums "
           "10 GB/s"},
    preset{"loggopsim", "loggops:L=2.5us,o=1.5us,g=1us,G=6ns,S=65535", "what LogGOPSim takes if it is told nothing"},
};

double time(const base::parameters& given, std::string_view name) { return parse_time_exact(given.get(name)); }

using any_network = decltype(model::network);

any_network parse_hockney(const base::parameters& given) {
    return hockney{time(given, "alpha"), time(given, "beta"), time(given, "gamma")};
}
any_network parse_loggp5(const base::parameters& given) {
    return loggp5{time(given, "L"), time(given, "o"), time(given, "G")};
}
any_network parse_loggops(const base::parameters& given) {
    loggops m{time(given, "L"), time(given, "o"), time(given, "g"), time(given, "G")};
    if (const auto text = given.find("S")) m.S = parse_bytes(*text);
    if (const auto text = given.find("combine")) m.combine = parse_time_exact(*text);
    return m;
}
loggp parse_loggp_with(const base::parameters& given, std::string_view o) {
    loggp m{time(given, "L"), time(given, o), time(given, "g"), time(given, "G")};
    if (const auto text = given.find("combine")) m.combine = parse_time_exact(*text);
    if (const auto text = given.find("rendezvous")) m.rendezvous = parse_bytes(*text);
    return m;
}
any_network parse_loggp(const base::parameters& given) { return parse_loggp_with(given, "o"); }
any_network parse_logfgp(const base::parameters& given) {
    loggp m = parse_loggp_with(given, "omax");
    m.o_min = time(given, "omin");
    if (m.o_min > m.o)
        throw error(fmt::format("omin={} is more than omax={}", given.get("omin"), given.get("omax")),
                    "a message right after others takes the CPU no longer than one by itself", "exchange them");
    m.f = static_cast<std::int32_t>(parse_integer(given.get("f"), "number of free messages", 1, 1 << 20));
    return m;
}

struct model_kind {
    std::string_view name;
    any_network (*parse)(const base::parameters& given);
    std::array<std::string_view, 12> takes;  // empty ones are none
};
constexpr std::array kinds{
    model_kind{"hockney", parse_hockney, {"alpha", "beta", "gamma", "e", "E", "static", "descriptor"}},
    model_kind{"loggp", parse_loggp, {"L", "o", "g", "G", "combine", "rendezvous", "e", "E", "static", "descriptor"}},
    model_kind{"logfgp",
               parse_logfgp,
               {"L", "omin", "omax", "g", "G", "f", "combine", "rendezvous", "e", "E", "static", "descriptor"}},
    model_kind{"loggp5", parse_loggp5, {"L", "o", "G", "e", "E", "static", "descriptor"}},
    model_kind{"loggops", parse_loggops, {"L", "o", "g", "G", "S", "combine", "e", "E", "static", "descriptor"}},
};

model parse_line(std::string_view text) {
    const auto named = std::ranges::find(table, text, &preset::name);
    if (named != table.end()) text = named->text;
    const auto [name, rest] = base::named_text(text);
    const auto k = std::ranges::find(kinds, name, &model_kind::name);
    if (k == kinds.end()) {
        std::string forms;
        for (const model_kind& known : kinds) forms += fmt::format("{}:..., ", known.name);
        throw error(fmt::format("unknown model '{}'", name),
                    fmt::format("rubato knows {}{}, file:NAME", forms, base::names_of(table)), "use one of them");
    }
    const auto end = std::ranges::find(k->takes, "");
    const base::parameters given(text, rest, {k->takes.begin(), end});
    model m;
    m.network = k->parse(given);
    if (const auto value = given.find("e")) m.message_energy = parse_energy(*value);
    if (const auto value = given.find("E")) m.byte_energy = parse_energy(*value);
    if (const auto value = given.find("static")) m.static_power = parse_power(*value);
    if (const auto value = given.find("descriptor")) m.descriptor = parse_bytes(*value);
    return m;
}

std::string format_network(const hockney& m) {
    return fmt::format("hockney:alpha={}ns,beta={}ns,gamma={}ns", m.alpha, m.beta, m.gamma);
}

std::string format_network(const loggp& m) {
    std::string text =
        m.is_logfgp() ? fmt::format("logfgp:L={}ns,omin={}ns,omax={}ns,g={}ns,G={}ns,f={},combine={}ns", m.L,
                                    m.least_o(), m.o, m.g, m.G, m.f, m.combine)
                      : fmt::format("loggp:L={}ns,o={}ns,g={}ns,G={}ns,combine={}ns", m.L, m.o, m.g, m.G, m.combine);
    if (m.rendezvous != loggp{}.rendezvous) text += fmt::format(",rendezvous={}", m.rendezvous);
    return text;
}

std::string format_network(const loggp5& m) { return fmt::format("loggp5:L={}ns,o={}ns,G={}ns", m.L, m.o, m.G); }

std::string format_network(const loggops& m) {
    std::string text = fmt::format("loggops:L={}ns,o={}ns,g={}ns,G={}ns,combine={}ns", m.L, m.o, m.g, m.G, m.combine);
    if (m.S != loggops{}.S) text += fmt::format(",S={}", m.S);
    return text;
}

/// The first model of the file, or the first of that kind. All its lines are read, so that a mistake shows at once.
model read_model(const std::string& file, const model_kind* wanted) {
    const std::string text = base::read_text(file, "model");
    if (!simulator::intact_model(text))
        throw error(fmt::format("model '{}' is not as it was measured", file),
                    "its last line, a checksum, is missing or does not fit: the file was cut or changed",
                    "measure it again; to keep your changes, remove its first and its last line");
    std::optional<model> found;
    for (const base::numbered_line& line : base::lines_of(text, file, "model")) {
        try {
            const model m = parse_line(line.text);
            const bool fits = wanted == nullptr || network_text(m).starts_with(fmt::format("{}:", wanted->name));
            if (fits && !found) found = m;
        } catch (const error& e) {
            throw error(fmt::format("line {} of model '{}': {}", line.number, file, e.what()));
        }
    }
    if (!found)
        throw error(fmt::format("model '{}' has no line '{}:...'", file, wanted->name),
                    "it holds other kinds of models", fmt::format("use file:{}, its first", file));
    return *found;
}

}  // namespace

double parse_energy(std::string_view text) {
    return base::parse_with_unit(text, energy_units, "number of joules", "16.5uJ");
}

model parse_model(std::string_view text) {
    constexpr std::string_view prefix = "file:";
    if (!text.starts_with(prefix)) return parse_line(text);
    text.remove_prefix(prefix.size());
    // A comma may also be part of the file's name, so the text after it counts only if it names a kind of model.
    const std::size_t comma = text.rfind(',');
    const auto wanted = std::ranges::find(kinds, comma == text.npos ? "" : text.substr(comma + 1), &model_kind::name);
    if (wanted == kinds.end()) return read_model(std::string(text), nullptr);
    return read_model(std::string(text.substr(0, comma)), &*wanted);
}

std::string network_text(const model& m) {
    return std::visit([](const auto& network) { return format_network(network); }, m.network);
}

std::string to_string(const model& m) {
    return fmt::format("{},e={},E={},static={}W,descriptor={}", network_text(m), format_energy(m.message_energy),
                       format_energy(m.byte_energy), m.static_power, m.descriptor);
}

std::span<const preset> presets() { return table; }

hockney linear_costs(const model& m) {
    const auto with_gap = [](const auto& n) { return hockney{std::max(n.L + 2 * n.o, n.g), n.G, n.combine}; };
    return std::visit(base::overloaded{[](const hockney& n) { return n; }, [&](const loggp& n) { return with_gap(n); },
                                       [](const loggp5& n) {
                                           return hockney{n.L + 2 * n.o, n.G, 0};
                                       },
                                       [&](const loggops& n) { return with_gap(n); }},
                      m.network);
}

double ideal_segments(const model& m, std::int32_t ranks, std::int64_t bytes) {
    const auto [alpha, beta, gamma] = linear_costs(m);
    const int rounds_of_one = std::max(ceil_log2(ranks) - 1, 0);
    return std::sqrt(rounds_of_one * static_cast<double>(bytes) * (beta + gamma) / alpha);
}

std::uint32_t optimal_segments(const model& m, std::int32_t ranks, std::int64_t bytes) {
    constexpr std::int64_t most = 1 << 12;  // where messages cost next to nothing, more would only make planning slower
    const double ideal = ideal_segments(m, ranks, bytes);
    if (!(ideal >= 1)) return 1;  // also if nothing costs anything
    return static_cast<std::uint32_t>(
        std::min(std::round(ideal), static_cast<double>(std::clamp<std::int64_t>(bytes, 1, most))));
}

time_ns segment_time(const model& m, std::int64_t bytes) {
    const auto [alpha, beta, gamma] = linear_costs(m);
    return std::max(time_ns{1}, base::nearest_time(alpha + static_cast<double>(bytes) * (beta + gamma)));
}

time_ns cautious_round_time(const model& m, std::int64_t bytes) { return segment_time(m, bytes) * 3 / 2; }

}  // namespace rubato
