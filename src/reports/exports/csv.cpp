#include "reports/exports/formats.hpp"
#include "reports/report/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace rubato::reports {
namespace {

constexpr std::int32_t most_ranks = 1 << 22;
constexpr std::int64_t most_members = 1 << 24;  ///< of all communicators
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr std::int64_t most_calls = std::int64_t{1} << 40;
/// Of a time, so that differences of two stay within 64 bits.
constexpr double longest = 9e17;

struct time_unit {
    std::string_view suffix;
    double ns;
};
constexpr std::array time_units{time_unit{"_ns", 1}, time_unit{"_us", 1e3}, time_unit{"_ms", 1e6},
                                time_unit{"_s", 1e9}};

/// Fields in quotes may hold commas, and quotes twice.
std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> out(1);
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '"' && inside && i + 1 < line.size() && line[i + 1] == '"')
            out.back() += line[++i];
        else if (c == '"')
            inside = !inside;
        else if (c == ',' && !inside)
            out.emplace_back();
        else
            out.back() += c;
    }
    return out;
}

class reader {
public:
    reader(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

    trace read() {
        read_head();
        while (next_line()) take_call();
        if (calls_ == 0) fail("there is no call in it");
        finish();
        return std::move(made_);
    }

private:
    [[noreturn]] void fail(std::string_view reason) const {
        throw error(fmt::format("'{}', line {}", file_, number_), reason,
                    "give a line of column names, then a line per call; 'rubato help import' has the columns");
    }

    /// A line with something in it.
    bool next_line() {
        while (!text_.empty()) {
            const std::size_t end = std::min(text_.find('\n'), text_.size());
            std::string_view line = text_.substr(0, end);
            text_.remove_prefix(std::min(end + 1, text_.size()));
            ++number_;
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (line.empty() || line.starts_with('#')) continue;
            fields_ = fields_of(line);
            return true;
        }
        return false;
    }

    void read_head() {
        if (!next_line()) fail("it is empty");
        std::set<const column*> there;
        for (const std::string& field : fields_) {
            std::string_view name = field;
            double factor = 1;
            for (const time_unit& u : time_units)
                if (name.ends_with(u.suffix)) {
                    factor = u.ns;
                    name.remove_suffix(u.suffix.size());
                    break;
                }
            const auto found = std::ranges::find_if(
                columns(), [&](const column& c) { return !name.empty() && (c.name == name || c.other_name == name); });
            const column* const is = found != columns().end() ? &*found : nullptr;
            if (is != nullptr && !there.insert(is).second) fail(fmt::format("there are two columns '{}'", field));
            columns_.push_back({is, factor});
        }
        for (const column& c : columns())
            if (!c.needed_as.empty() && !there.contains(&c)) fail(fmt::format("it has no column '{}'", c.needed_as));
        has_call_ = std::ranges::any_of(there, [](const column* c) { return c->name == "call"; });
    }

    std::int64_t whole(const std::string& text, std::string_view what, std::int64_t most) const {
        std::int64_t value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failure != std::errc{} || end != text.data() + text.size() || value < 0 || value > most)
            fail(fmt::format("its {}, '{}', is no whole number from 0 to {}", what, text, most));
        return value;
    }
    time_ns time(const std::string& text, double factor, std::string_view what) const {
        const char* const end = text.data() + text.size();
        std::int64_t ns = 0;
        if (const auto [stop, failure] = std::from_chars(text.data(), end, ns);
            factor == 1 && failure == std::errc{} && stop == end && ns > -static_cast<std::int64_t>(longest) &&
            ns < static_cast<std::int64_t>(longest))
            return time_ns(ns);
        double value = 0;
        const auto [stop, failure] = std::from_chars(text.data(), end, value);
        if (failure != std::errc{} || stop != end || !(value * factor > -longest && value * factor < longest))
            fail(fmt::format("its {}, '{}', is no time", what, text));
        return time_ns(static_cast<std::int64_t>(value * factor));
    }
    collective operation(const std::string& text, dropin::form& how) const {
        std::string name = text;
        std::ranges::transform(name, name.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        if (name.starts_with("mpi_")) name.erase(0, 4);
        for (const collective_traits& t : collectives()) {
            if (name == t.name) return t.what;
            if (name == fmt::format("i{}", t.name)) {
                how = dropin::form::nonblocking;
                return t.what;
            }
        }
        fail(fmt::format("there is no collective '{}'", text));
    }
    dropin::form form_of(const std::string& text) const {
        const auto found = std::ranges::find(dropin::form_names, text);
        if (found != dropin::form_names.end()) return static_cast<dropin::form>(found - dropin::form_names.begin());
        fail(fmt::format("its form, '{}', is none of blocking, nonblocking and persistent", text));
    }
    std::vector<std::int32_t> members_of(const std::string& text) {
        std::vector<std::int32_t> out;
        std::istringstream runs(text);
        for (std::string run; runs >> run;) {
            const std::size_t dash = run.find('-');
            const std::int64_t first = whole(run.substr(0, dash), "member", most_ranks - 1);
            const std::int64_t last =
                dash == std::string::npos ? first : whole(run.substr(dash + 1), "member", most_ranks - 1);
            if (last - first >= most_members - all_named_) fail("its communicators have too many members in all");
            all_named_ += std::max<std::int64_t>(0, last - first + 1);
            for (std::int64_t r = first; r <= last; ++r) out.push_back(static_cast<std::int32_t>(r));
        }
        return out;
    }

    /// What a line says of a call.
    struct read_call {
        traced_call call{.invocation = dropin::no_invocation};
        std::int64_t rank = 0;
        std::string host{};
        std::string place = "unknown";
        std::string communicator{};
        std::string members{};
        dropin::form spoken = dropin::form::blocking;  ///< as the name of the operation has it
    };
    struct column {
        std::string_view name;
        std::string_view other_name;
        std::string_view needed_as;  ///< empty: it may be missing
        void (*take)(const reader& r, read_call& to, const std::string& text, double factor);
    };
    static std::span<const column> columns() {
        static constexpr std::array all{
            column{"rank", "", "rank",
                   [](auto& r, auto& to, auto& t, auto) { to.rank = r.whole(t, "rank", most_ranks - 1); }},
            column{"collective", "operation", "collective",
                   [](auto& r, auto& to, auto& t, auto) { to.call.what = r.operation(t, to.spoken); }},
            column{"arrival", "enter", "arrival_ns",
                   [](auto& r, auto& to, auto& t, auto f) { to.call.arrival = r.time(t, f, "arrival"); }},
            column{"exit", "leave", "exit_ns",
                   [](auto& r, auto& to, auto& t, auto f) { to.call.exit = r.time(t, f, "exit"); }},
            column{"host", "", "", [](auto&, auto& to, auto& t, auto) { to.host = t; }},
            column{"form", "", "", [](auto& r, auto& to, auto& t, auto) { to.call.how = r.form_of(t); }},
            column{"root", "", "",
                   [](auto& r, auto& to, auto& t, auto) {
                       if (!t.empty()) to.call.root = static_cast<std::int32_t>(r.whole(t, "root", most_ranks - 1));
                   }},
            column{"bytes", "size", "",
                   [](auto& r, auto& to, auto& t, auto) { to.call.bytes = r.whole(t, "size", most_bytes); }},
            column{"communicator", "comm", "", [](auto&, auto& to, auto& t, auto) { to.communicator = t; }},
            column{"members", "", "", [](auto&, auto& to, auto& t, auto) { to.members = t; }},
            column{"call", "", "",
                   [](auto& r, auto& to, auto& t, auto) {
                       if (!t.empty()) to.call.invocation = static_cast<std::uint64_t>(r.whole(t, "call", most_calls));
                   }},
            column{"place", "site", "", [](auto&, auto& to, auto& t, auto) { to.place = t; }}};
        return all;
    }

    void take_call() {
        if (fields_.size() != columns_.size())
            fail(fmt::format("it has {} fields, and there are {} columns", fields_.size(), columns_.size()));
        read_call one;
        for (std::size_t i = 0; i < columns_.size(); ++i)
            if (columns_[i].is != nullptr) columns_[i].is->take(*this, one, fields_[i], columns_[i].factor);
        traced_call& c = one.call;
        if (c.how == dropin::form::blocking) c.how = one.spoken;
        if (c.exit < c.arrival) fail("it ends before it begins");
        if (!traits(c.what).rooted) c.root = 0;
        c.place = places_.number(one.place);
        c.communicator = communicators_.number(one.communicator);
        members_.resize(communicators_.all().size());
        named_.resize(communicators_.all().size());
        if (!one.members.empty() && named_[c.communicator].empty()) named_[c.communicator] = members_of(one.members);
        members_[c.communicator].insert(static_cast<std::int32_t>(one.rank));
        const auto at = static_cast<std::size_t>(one.rank);
        if (by_rank_.size() <= at) by_rank_.resize(at + 1);
        if (made_.hosts.size() <= at) made_.hosts.resize(at + 1);
        if (!one.host.empty()) made_.hosts[at] = one.host;
        by_rank_[at].push_back(c);
        ++calls_;
    }

    void finish() {
        made_.program = std::filesystem::path(file_).filename().string();
        made_.library = "imported from CSV";
        made_.calls = calls_;
        made_.places = places_.all();
        std::map<std::vector<std::int32_t>, std::uint32_t> alike;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            std::vector<std::int32_t> who = named_[i];
            if (who.empty()) who.assign(members_[i].begin(), members_[i].end());
            for (const std::int32_t r : members_[i])
                if (std::ranges::find(who, r) == who.end())
                    fail(fmt::format("rank {} calls on a communicator of which it is no member", r));
            made_.hosts.resize(
                std::max<std::size_t>(made_.hosts.size(), static_cast<std::size_t>(std::ranges::max(who)) + 1));
            made_.communicators.push_back({who, alike[who]++});
        }
        by_rank_.resize(made_.hosts.size());
        for (auto& calls : by_rank_) {
            std::ranges::stable_sort(calls, {}, &traced_call::arrival);
            // Calls without a number are counted in their order.
            std::map<std::uint32_t, std::uint64_t> next;
            for (traced_call& c : calls) {
                if (!has_call_ && c.how != dropin::form::persistent) c.invocation = next[c.communicator]++;
                if (static_cast<std::size_t>(c.root) >= made_.communicators[c.communicator].members.size())
                    fail(fmt::format("a root, {}, is no rank of its communicator", c.root));
            }
        }
        made_.keep(std::move(by_rank_));
    }

    struct given_column {
        const column* is;  ///< null: of no interest
        double factor;
    };

    std::string file_;
    std::string_view text_;
    std::size_t number_ = 0;  ///< of the line
    std::vector<std::string> fields_{};
    std::vector<given_column> columns_{};
    bool has_call_ = false;
    std::uint64_t calls_ = 0;
    numbered<std::string> places_{};
    numbered<std::string> communicators_{};
    std::vector<std::set<std::int32_t>> members_{};
    std::vector<std::vector<std::int32_t>> named_{};
    std::int64_t all_named_ = 0;
    std::vector<std::vector<traced_call>> by_rank_{};
    trace made_{};
};

}  // namespace

void write_csv(const trace& t, const piece_taker& put) {
    std::string out = "rank,host,collective,form,root,bytes,communicator,members,call,arrival_ns,exit_ns,place\n";
    std::vector<std::string> communicators;
    for (std::size_t i = 0; i < t.communicators.size(); ++i)
        communicators.push_back(fmt::format("{},{}", i, members_field(t.communicators[i].members)));
    std::vector<std::string> places;
    for (const std::string& p : t.places) places.push_back(csv_field(p));
    for (std::int32_t r = 0; r < t.ranks(); ++r) {
        const std::string begin = fmt::format("{},{}", r, csv_field(t.hosts[static_cast<std::size_t>(r)]));
        for (const traced_call& c : t.calls_of(r)) {
            fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},", begin, traits(c.what).name,
                           dropin::name_of(c.how), traits(c.what).rooted ? fmt::format("{}", c.root) : "", c.bytes,
                           communicators[c.communicator]);
            if (c.invocation != dropin::no_invocation) fmt::format_to(std::back_inserter(out), "{}", c.invocation);
            fmt::format_to(std::back_inserter(out), ",{},{},{}\n", c.arrival.count(), c.exit.count(), places[c.place]);
            if (out.size() < piece_size) continue;
            put(out);
            out.clear();
        }
    }
    put(out);
}

trace read_csv(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::error_code none;
    if (!in || std::filesystem::is_directory(file, none))
        throw error(fmt::format("cannot read '{}'", file.string()), "it is no file that can be opened",
                    "give a CSV file");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    return reader(file.string(), text).read();
}

}  // namespace rubato::reports
