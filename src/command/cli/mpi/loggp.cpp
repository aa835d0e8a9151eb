// rubato loggp: the parameters of the network between two ranks, as a model that simulations read.
#include "base/files/output_file.hpp"
#include "command/cli/columns.hpp"
#include "command/cli/mpi/under_mpi.hpp"
#include "engine/measure/loggp_measure.hpp"
#include "engine/measure/measured_link.hpp"
#include "engine/mpi/datatype.hpp"
#include "simulator/simulate/model_file.hpp"

#include <fmt/chrono.h>

#include <array>
#include <cmath>
#include <thread>

namespace rubato::command {
namespace {

std::string measured_time_text(double ns) { return format_time(time_ns(std::llround(ns))); }
std::string rate_text(double ns) { return fmt::format("{:.4g} ns/B", ns); }
std::string speed_text(double bytes_per_second) { return fmt::format("{:.4g} MB/s", bytes_per_second / 1e6); }

std::string library_name() {
    std::string name = library_version();
    name.resize(std::min(name.find(','), name.size()));
    std::ranges::replace(name, '\t', ' ');
    return name;
}

base::json to_json(const simulator::reading& e) { return {{"value", e.value}, {"spread", e.spread}}; }

columns<simulator::protocol_range> columns_of_ranges() {
    const auto both = [](const simulator::reading& e, auto text) {
        return cell(fmt::format("{} +- {}", text(e.value), text(e.spread)), to_json(e));
    };
    return {
        {">FROM", "begin", [](const simulator::protocol_range& r) { return bytes_cell(r.begin); }},
        {">TO", "end", [](const simulator::protocol_range& r) { return bytes_cell(r.end); }},
        {">o", "",
         [=](const simulator::protocol_range& r) {
             return r.overhead ? both(r.overhead->first, measured_time_text) : cell();
         }},
        {">o PER BYTE", "",
         [](const simulator::protocol_range& r) {
             return r.overhead ? only_text(rate_text(r.overhead->slope.value)) : cell();
         }},
        {">g", "g_ns", [=](const simulator::protocol_range& r) { return both(r.gap.first, measured_time_text); }},
        {">G", "G_ns", [=](const simulator::protocol_range& r) { return both(r.gap.slope, rate_text); }},
        {">RESIDUAL", "residual",
         [](const simulator::protocol_range& r) { return cell(percent(r.gap.residual), r.gap.residual); }},
        {"", "o_ns",
         [](const simulator::protocol_range& r) { return r.overhead ? cell("", to_json(r.overhead->first)) : cell(); }},
        {"", "o_per_byte_ns",
         [](const simulator::protocol_range& r) { return r.overhead ? cell("", to_json(r.overhead->slope)) : cell(); }},
    };
}

/// A parameter, in the table and, as NAME_ns, in JSON.
struct network_parameter {
    std::string name;
    simulator::reading value;
    std::string (*text)(double);
    std::string what;
};

/// All that the texts are made from.
class loggp_report {
public:
    loggp_report(const engine::measured_network& measured, const engine::measure_settings& settings)
        : measured_(measured), how_(settings), fit_(simulator::fit_network(measured.sizes)), library_(library_name()) {
        model m;
        const loggp plain = simulator::loggp_of(fit_, measured.combine.value, measured.rendezvous);
        m.network = plain;
        loggp_line_ = network_text(m);
        if (!measured.fan.empty()) {
            free_ = simulator::fit_free_messages(measured.fan);
            bounds_ = simulator::fit_overhead_bounds(measured.fan_sends);
            m.network = simulator::logfgp_of(fit_, plain, *free_, bounds_);
            logfgp_line_ = network_text(m);
        }
        m.network = simulator::hockney_of(fit_, measured.combine.value);
        hockney_line_ = network_text(m);
    }

    std::string goodput() const {
        return fmt::format("a message of {}: {} from rank {} to {}, {} back (clocks agree within {})",
                           format_bytes(engine::large_message), speed_text(measured_.goodput_there), how_.client,
                           how_.server, speed_text(measured_.goodput_back), format_time(measured_.clock_error));
    }

    std::string free_text() const {
        if (!free_) return "f and the bounds of o are not measured: it takes three ranks or more";
        return fmt::format("f = {}{}: messages that go out before the gap counts, among {} ranks; o from {} to {}",
                           free_->count, free_->at_least ? " or more" : "", measured_.fan.size() + 1,
                           measured_time_text(bounds_.least), measured_time_text(bounds_.most));
    }

    /// Empty if there is no reason for doubt.
    std::string doubt() const {
        const double residual = fit_.ranges[fit_.segments].gap.residual;
        if (residual < 0.5 && fit_.latency.spread < 2 * fit_.latency.value) return {};
        return "these numbers are not to be relied on: ranks were disturbed; repeat it on idle hosts or with more "
               "--seconds";
    }

    std::string text() const {
        table rows{{"PARAMETER", ">VALUE", ">SPREAD", ""}};
        for (const network_parameter& p : parameters())
            rows.push_back({p.name, p.text(p.value.value), p.text(p.value.spread), p.what});
        const auto fewest =
            std::ranges::min(measured_.sizes, {}, [](const simulator::round_trips& r) { return r.single.size(); });
        const auto most =
            std::ranges::max(measured_.sizes, {}, [](const simulator::round_trips& r) { return r.single.size(); });
        return fmt::format(
            "rank {} on {}, rank {} on {}; {}; {} message sizes, each {} to {} times\n\n{}\n"
            "{} by the gap between messages:\n{}\n{}\n{}\n{}\n{}",
            how_.client, measured_.client_host, how_.server, measured_.server_host, library_, measured_.sizes.size(),
            fewest.single.size(), most.single.size(), align(rows),
            fit_.ranges.size() == 1 ? "One protocol" : fmt::format("{} protocols", fit_.ranges.size()),
            as_table(columns_of_ranges(), fit_.ranges),
            measured_.rendezvous
                ? fmt::format("messages of {} bytes and more wait for their receiver", *measured_.rendezvous)
                : fmt::format("no message up to {} waits for its receiver", format_bytes(how_.max_bytes)),
            free_text(), goodput(), doubt().empty() ? "" : doubt() + "\n");
    }

    std::string json() const {
        base::json j{{"ranks", base::json::array({how_.client, how_.server})},
                     {"hosts", base::json::array({measured_.client_host, measured_.server_host})},
                     {"library", library_}};
        for (const network_parameter& p : parameters()) j[p.name + "_ns"] = to_json(p.value);
        j.update({{"goodput_there", measured_.goodput_there},
                  {"goodput_back", measured_.goodput_back},
                  {"clock_error_ns", measured_.clock_error}});
        if (!doubt().empty()) j["doubt"] = doubt();
        if (measured_.rendezvous) j["rendezvous"] = *measured_.rendezvous;
        if (free_) {
            j["f"] = {{"value", free_->count}, {"at_least", free_->at_least}, {"times_ns", measured_.fan}};
            j["o_bounds_ns"] = {{"min", bounds_.least}, {"max", bounds_.most}, {"times_ns", measured_.fan_sends}};
        }
        j["ranges"] = as_array(columns_of_ranges(), fit_.ranges);
        for (std::size_t i = 0; i < fit_.sizes.size(); ++i) {
            const simulator::size_costs& s = fit_.sizes[i];
            base::json size{{"bytes", s.bytes},
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

    /// Comments and the lines that parse_model reads.
    std::string model_file() const {
        const std::string when = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
        std::string all = fmt::format(
            "{}" RUBATO_VERSION
            " loggp on {}\n"
            "# between rank {} on {} and rank {} on {}; {}\n"
            "# by round trips of blocking messages up to {} (Hoefler 2008, II.2.4), in {}; latency {}\n# {}\n# {}\n",
            simulator::measured_model_begin, when, how_.client, measured_.client_host, how_.server,
            measured_.server_host, library_, format_bytes(how_.max_bytes), format_time(how_.budget),
            measured_time_text(fit_.latency.value), goodput(), free_text());
        for (const simulator::protocol_range& r : fit_.ranges) {
            std::vector<std::string> row;
            for (const column<simulator::protocol_range>& c : columns_of_ranges()) row.push_back(c.of(r).text);
            all += fmt::format("# {} to {}: o {} and {}; g {}; G {}; residual {}\n", row[0], row[1], row[2], row[3],
                               row[4], row[5], row[6]);
        }
        if (!doubt().empty()) all += fmt::format("# {}\n", doubt());
        const simulator::protocol_range& segments = fit_.ranges[fit_.segments];
        all += fmt::format("# LogGP, g and G of {} to {}:\n{}\n", format_bytes(segments.begin),
                           format_bytes(segments.end), loggp_line_);
        if (free_)
            all += fmt::format(
                "# LogfGP, f and the bounds of o of messages to several ranks, g of small ones "
                "(file:NAME,logfgp):\n{}\n",
                logfgp_line_);
        all += fmt::format("# the linear model, alpha + s beta of 4 KiB to 64 KiB (file:NAME,hockney):\n{}\n",
                           hockney_line_);
        return all + simulator::end_of_measured_model(all);
    }

private:
    std::vector<network_parameter> parameters() const {
        const simulator::protocol_range& segments = fit_.ranges[fit_.segments];
        const std::string which = fmt::format("{} to {}", format_bytes(segments.begin), format_bytes(segments.end));
        return {{"latency", fit_.latency, measured_time_text, "half a round trip of 1 byte"},
                {"L", fit_.L, measured_time_text, "latency - 2o"},
                {"o", fit_.o, measured_time_text, "of small messages"},
                {"g", segments.gap.first, measured_time_text, which},
                {"G", segments.gap.slope, rate_text, which},
                {"combine", measured_.combine, rate_text, "doubles, sum"},
                {"alpha", fit_.one_way.first, measured_time_text,
                 fmt::format("alpha + s beta of 4 KiB to 64 KiB, residual {:.1f} %", 100 * fit_.one_way.residual)},
                {"beta", fit_.one_way.slope, rate_text, ""}};
    }

    const engine::measured_network& measured_;
    const engine::measure_settings& how_;
    simulator::network_fit fit_;
    std::optional<simulator::free_messages> free_{};
    simulator::overhead_bounds bounds_{};  ///< if there is free_
    std::string library_;
    std::string loggp_line_, logfgp_line_, hockney_line_;
};

struct loggp_options {
    std::string ranks = "0,1";
    std::string max_bytes = "1MiB";
    std::string seconds = "10s";
    std::string file{};
    bool json = false;
};

engine::measure_settings settings_of(const loggp_options& o, int ranks) {
    if (ranks < 2)
        throw error("there is nothing to measure", "a network is between two ranks or more",
                    "start it with 'mpirun -n 2 rubato loggp'");
    const std::vector<std::int32_t> pair = parse_list(o.ranks, "rank", 0, ranks - 1);
    if (pair.size() != 2 || pair[0] == pair[1])
        throw error(fmt::format("cannot measure between ranks '{}'", o.ranks), "it takes two different ones",
                    "write them as --ranks 0,1");
    const bool plain = o.seconds.find_first_not_of("0123456789") == std::string::npos;
    const time_ns budget = parse_time(plain ? o.seconds + "s" : o.seconds);
    if (budget < std::chrono::seconds(1) || budget > std::chrono::hours(1))
        throw error(fmt::format("cannot measure for {}", o.seconds), "it takes from a second to an hour",
                    "use --seconds 10");
    engine::measure_settings s{pair[0], pair[1], parse_bytes(o.max_bytes), budget};
    if (s.max_bytes < 1 << 10 || s.max_bytes > 1 << 30)
        throw error(fmt::format("cannot measure messages up to {}", o.max_bytes),
                    "fewer than 1 KiB show no rate, and more than 1 GiB do not fit", "use --max-bytes 1MiB");
    return s;
}

/// Sleeps until the text is sent, so that the measuring ranks are not disturbed.
std::string receive_text(int from) {
    for (;;) {
        if (const std::optional<sent_text> sent = take_text(from, 0)) return sent->text;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// The client has the results, rank 0 prints and writes them, the other ranks wait until all is done.
void measure(const loggp_options& o, const engine::measure_settings& how, int me, int ranks) {
    std::array<std::string, 2> texts;  // to be printed, to be written
    if (const std::optional<engine::measured_network> measured = engine::measure_network(MPI_COMM_WORLD, how)) {
        const loggp_report report(*measured, how);
        texts = {o.json ? report.json() : report.text(), report.model_file()};
        for (int r = 0; r < ranks; ++r)
            for (const std::string& t : texts)
                if (r != me) send_text(r == 0 ? t : "", r, 0);
    } else {
        for (std::string& t : texts) t = receive_text(how.client);
    }
    if (me != 0) return;
    base::output_file(o.file).write(texts[1]);
    if (!o.json)
        texts[0] +=
            o.file.empty() ? "\n" + texts[1] : fmt::format("written to {}: use --model file:{}\n", o.file, o.file);
    write_out(texts[0]);
}

}  // namespace

void add_loggp(CLI::App* app, int& status) {
    auto o = std::make_shared<loggp_options>();
    add_value(*app, "--ranks", o->ranks, "N,N", "the two ranks; the clock is the first one's (default: 0,1)");
    add_value(*app, "--max-bytes", o->max_bytes, "SIZE", "the largest message (default: 1MiB)");
    add_value(*app, "--seconds", o->seconds, "TIME", "about how long it may take (default: 10)");
    add_value(*app, "-o,--output", o->file, "FILE", "write the model to a file, for --model file:FILE");
    add_flag(*app, "--json", o->json, "print an object with all message sizes");
    add_footer(*app, R"(
Start it with mpirun, on two hosts or more. With three ranks or more it also measures f, the number of small
messages that leave before the gap counts, and o of one message and of each of several, by messages to 1, 2,
... ranks and back (II.2.3); then the other ranks sleep.
L, o, g and G come from round trips PRTT(n,d,s) of n <= 16 messages (Hoefler 2008, II.2.4). If one line does
not fit all sizes, ranges of sizes have their own o, g and G. The model takes g and G of the range that holds
4 KiB to 64 KiB, the size of segments. Spread: for measured times, from the 10 % quantile (the value) to the
median; for fitted times, the standard error.
The file has several models: file:FILE is LogGP, file:FILE,logfgp has f and the bounds of o, file:FILE,hockney
is the linear one (alpha, beta, gamma).
Its last line is a checksum: a file that was cut or changed is refused. To edit it, remove its first and last
line.
Examples:
  mpirun -n 2 rubato loggp
  mpirun -n 2 --host a,b rubato loggp -o cluster.model
  rubato sim reduce --ranks 16 --bytes 1MiB --model file:cluster.model
  mpirun -n 4 rubato loggp --ranks 0,3 --max-bytes 4MiB --seconds 20 --json)");
    when_called(*app, [o, &status] {
        status = under_mpi(MPI_THREAD_SINGLE, [&o](int me, int ranks, bool& alone) {
            const engine::measure_settings how = settings_of(*o, ranks);
            // Before a measurement of minutes. Only rank 0 writes, so only rank 0 checks.
            throw_together([&] {
                if (me == 0) base::output_file{o->file};
            });
            alone = true;
            measure(*o, how, me, ranks);
            return 0;
        });
    });
}

}  // namespace rubato::command
