#include "cli/mpi/loggp_report.hpp"

#include "cli/command.hpp"
#include "mpi/datatype.hpp"
#include "network/mpi/measured_link.hpp"
#include "simulate/model_file.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

namespace rubato::cli {
namespace {

using nlohmann::ordered_json;

std::string measured_time_text(double ns) { return format_time(time_ns(std::llround(ns))); }
std::string rate_text(double ns) { return fmt::format("{:.4g} ns/B", ns); }
std::string speed_text(double bytes_per_second) { return fmt::format("{:.4g} MB/s", bytes_per_second / 1e6); }

std::string library_name() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    mpi::check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    std::string name(text.data());
    name.resize(std::min(name.find_first_of(",\n"), name.size()));
    std::ranges::replace(name, '\t', ' ');
    return name;
}

std::vector<std::string> range_row(const protocol_range& r) {
    const auto both = [](const reading& e, auto text) {
        return fmt::format("{} +- {}", text(e.value), text(e.spread));
    };
    return {format_bytes(r.begin),
            format_bytes(r.end),
            r.overhead ? both(r.overhead->first, measured_time_text) : "-",
            r.overhead ? rate_text(r.overhead->slope.value) : "-",
            both(r.gap.first, measured_time_text),
            both(r.gap.slope, rate_text),
            fmt::format("{:.1f} %", 100 * r.gap.residual)};
}

ordered_json to_json(const reading& e) { return {{"value", e.value}, {"spread", e.spread}}; }

ordered_json to_json(const protocol_range& r) {
    ordered_json j{{"begin", r.begin},
                   {"end", r.end},
                   {"g_ns", to_json(r.gap.first)},
                   {"G_ns", to_json(r.gap.slope)},
                   {"residual", r.gap.residual}};
    if (r.overhead) {
        j["o_ns"] = to_json(r.overhead->first);
        j["o_per_byte_ns"] = to_json(r.overhead->slope);
    }
    return j;
}

}  // namespace

loggp_report::loggp_report(const mpi::measured_network& measured, const mpi::measure_settings& settings)
    : measured_(measured), how_(settings), fit_(fit_network(measured.sizes)), library_(library_name()) {
    model m;
    const loggp plain = loggp_of(fit_, measured.combine.value, measured.rendezvous);
    m.network = plain;
    loggp_line_ = network_text(m);
    if (!measured.fan.empty()) {
        free_ = fit_free_messages(measured.fan);
        bounds_ = fit_overhead_bounds(measured.fan_sends);
        m.network = logfgp_of(fit_, plain, *free_, bounds_);
        logfgp_line_ = network_text(m);
    }
    m.network = hockney_of(fit_, measured.combine.value);
    hockney_line_ = network_text(m);
}

std::string loggp_report::goodput() const {
    return fmt::format("a message of {}: {} from rank {} to {}, {} back (clocks agree within {})",
                       format_bytes(mpi::large_message), speed_text(measured_.goodput_there), how_.client, how_.server,
                       speed_text(measured_.goodput_back), format_time(measured_.clock_error));
}

std::string loggp_report::free_text() const {
    if (!free_) return "f and the bounds of o are not measured: it takes three ranks or more";
    return fmt::format("f = {}{}: messages that go out before the gap counts, among {} ranks; o from {} to {}",
                       free_->count, free_->at_least ? " or more" : "", measured_.fan.size() + 1,
                       measured_time_text(bounds_.least), measured_time_text(bounds_.most));
}

std::string loggp_report::doubt() const {
    const double residual = fit_.ranges[fit_.segments].gap.residual;
    if (residual < 0.5 && fit_.latency.spread < 2 * fit_.latency.value) return {};
    return "these numbers are not to be relied on: ranks were disturbed; repeat it on idle hosts or with more "
           "--seconds";
}

std::string loggp_report::table() const {
    const protocol_range& segments = fit_.ranges[fit_.segments];
    std::vector<std::vector<std::string>> rows{{"PARAMETER", "VALUE", "SPREAD", ""}};
    const auto add = [&](std::string name, const reading& e, auto text, std::string what) {
        rows.push_back({std::move(name), text(e.value), text(e.spread), std::move(what)});
    };
    add("latency", fit_.latency, measured_time_text, "half a round trip of 1 byte");
    add("L", fit_.L, measured_time_text, "latency - 2o");
    add("o", fit_.o, measured_time_text, "of small messages");
    const std::string which = fmt::format("{} to {}", format_bytes(segments.begin), format_bytes(segments.end));
    add("g", segments.gap.first, measured_time_text, which);
    add("G", segments.gap.slope, rate_text, which);
    add("combine", measured_.combine, rate_text, "doubles, sum");
    add("alpha", fit_.one_way.first, measured_time_text,
        fmt::format("alpha + s beta of 4 KiB to 64 KiB, residual {:.1f} %", 100 * fit_.one_way.residual));
    add("beta", fit_.one_way.slope, rate_text, "");
    std::vector<std::vector<std::string>> ranges{{"FROM", "TO", "o", "o PER BYTE", "g", "G", "RESIDUAL"}};
    for (const protocol_range& r : fit_.ranges) ranges.push_back(range_row(r));
    const auto fewest = std::ranges::min(measured_.sizes, {}, [](const round_trips& r) { return r.single.size(); });
    const auto most = std::ranges::max(measured_.sizes, {}, [](const round_trips& r) { return r.single.size(); });
    return fmt::format(
        "rank {} on {}, rank {} on {}; {}; {} message sizes, each {} to {} times\n\n{}\n"
        "{} by the gap between messages:\n{}\n{}\n{}\n{}\n{}",
        how_.client, measured_.client_host, how_.server, measured_.server_host, library_, measured_.sizes.size(),
        fewest.single.size(), most.single.size(), align(rows, {false, true, true, false}),
        fit_.ranges.size() == 1 ? "One protocol" : fmt::format("{} protocols", fit_.ranges.size()),
        align(ranges, {true, true, true, true, true, true, true}),
        measured_.rendezvous
            ? fmt::format("messages of {} bytes and more wait for their receiver", *measured_.rendezvous)
            : fmt::format("no message up to {} waits for its receiver", format_bytes(how_.max_bytes)),
        free_text(), goodput(), doubt().empty() ? "" : doubt() + "\n");
}

std::string loggp_report::json() const {
    ordered_json j{{"ranks", {how_.client, how_.server}},
                   {"hosts", {measured_.client_host, measured_.server_host}},
                   {"library", library_},
                   {"latency_ns", to_json(fit_.latency)},
                   {"L_ns", to_json(fit_.L)},
                   {"o_ns", to_json(fit_.o)},
                   {"g_ns", to_json(fit_.ranges[fit_.segments].gap.first)},
                   {"G_ns", to_json(fit_.ranges[fit_.segments].gap.slope)},
                   {"combine_ns", to_json(measured_.combine)},
                   {"alpha_ns", to_json(fit_.one_way.first)},
                   {"beta_ns", to_json(fit_.one_way.slope)},
                   {"goodput_there", measured_.goodput_there},
                   {"goodput_back", measured_.goodput_back},
                   {"clock_error_ns", measured_.clock_error.count()}};
    if (!doubt().empty()) j["doubt"] = doubt();
    if (measured_.rendezvous) j["rendezvous"] = *measured_.rendezvous;
    if (free_) {
        j["f"] = {{"value", free_->count}, {"at_least", free_->at_least}, {"times_ns", measured_.fan}};
        j["o_bounds_ns"] = {{"min", bounds_.least}, {"max", bounds_.most}, {"times_ns", measured_.fan_sends}};
    }
    for (const protocol_range& r : fit_.ranges) j["ranges"].push_back(to_json(r));
    for (std::size_t i = 0; i < fit_.sizes.size(); ++i) {
        const size_costs& s = fit_.sizes[i];
        ordered_json size{{"bytes", s.bytes},
                          {"repetitions", measured_.sizes[i].single.size()},
                          {"messages", measured_.sizes[i].messages},
                          {"one_way_ns", s.one_way.value},
                          {"gap_ns", s.gap.value}};
        if (s.overhead) size["o_ns"] = s.overhead->value;
        j["sizes"].push_back(std::move(size));
    }
    j["loggp"] = loggp_line_;
    if (free_) j["logfgp"] = logfgp_line_;
    j["hockney"] = hockney_line_;
    return j.dump() + "\n";
}

std::string loggp_report::model_file() const {
    const std::string when = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
    std::string text = fmt::format(
        "{}" RUBATO_VERSION
        " loggp on {}\n"
        "# between rank {} on {} and rank {} on {}; {}\n"
        "# by round trips of blocking messages up to {} (Hoefler 2008, II.2.4), in {}; latency {}\n# {}\n# {}\n",
        measured_model_begin, when, how_.client, measured_.client_host, how_.server, measured_.server_host, library_,
        format_bytes(how_.max_bytes), format_time(how_.budget), measured_time_text(fit_.latency.value), goodput(),
        free_text());
    for (const protocol_range& r : fit_.ranges) {
        const std::vector<std::string> row = range_row(r);
        text += fmt::format("# {} to {}: o {} and {}; g {}; G {}; residual {}\n", row[0], row[1], row[2], row[3],
                            row[4], row[5], row[6]);
    }
    if (!doubt().empty()) text += fmt::format("# {}\n", doubt());
    const protocol_range& segments = fit_.ranges[fit_.segments];
    text += fmt::format("# LogGP, g and G of {} to {}:\n{}\n", format_bytes(segments.begin), format_bytes(segments.end),
                        loggp_line_);
    if (free_)
        text += fmt::format(
            "# LogfGP, f and the bounds of o of messages to several ranks, g of small ones (file:NAME,logfgp):\n{}\n",
            logfgp_line_);
    text +=
        fmt::format("# the linear model, alpha + s beta of 4 KiB to 64 KiB (file:NAME,hockney):\n{}\n", hockney_line_);
    return text + end_of_measured_model(text);
}

}  // namespace rubato::cli
