#include "exports/csv.hpp"
#include "exports/imports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>

namespace rubato::exports {
namespace {

constexpr std::int32_t most_ranks = 1 << 22;
constexpr std::int64_t most_members = 1 << 24;  ///< of all communicators
/// Of a time, so that differences of two stay within 64 bits.
constexpr double longest = 9e17;

enum class column : std::uint8_t {
    rank,
    host,
    what,
    form,
    root,
    bytes,
    communicator,
    members,
    call,
    arrival,
    exit,
    place,
    other
};

struct column_name {
    std::string_view name;
    column is;
};
constexpr std::array column_names{column_name{"rank", column::rank},
                                  column_name{"host", column::host},
                                  column_name{"collective", column::what},
                                  column_name{"operation", column::what},
                                  column_name{"form", column::form},
                                  column_name{"root", column::root},
                                  column_name{"bytes", column::bytes},
                                  column_name{"size", column::bytes},
                                  column_name{"communicator", column::communicator},
                                  column_name{"comm", column::communicator},
                                  column_name{"members", column::members},
                                  column_name{"call", column::call},
                                  column_name{"arrival", column::arrival},
                                  column_name{"enter", column::arrival},
                                  column_name{"exit", column::exit},
                                  column_name{"leave", column::exit},
                                  column_name{"place", column::place},
                                  column_name{"site", column::place}};

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
        std::set<column> there;
        for (const std::string& field : fields_) {
            std::string_view name = field;
            double factor = 1;
            for (const time_unit& u : time_units)
                if (name.ends_with(u.suffix)) {
                    factor = u.ns;
                    name.remove_suffix(u.suffix.size());
                    break;
                }
            const auto found = std::ranges::find(column_names, name, &column_name::name);
            const column is = found != column_names.end() ? found->is : column::other;
            if (is != column::other && !there.insert(is).second) fail(fmt::format("there are two columns '{}'", field));
            columns_.push_back({is, factor});
        }
        for (const auto& [is, name] : {std::pair{column::rank, "rank"}, std::pair{column::what, "collective"},
                                       std::pair{column::arrival, "arrival_ns"}, std::pair{column::exit, "exit_ns"}})
            if (!there.contains(is)) fail(fmt::format("it has no column '{}'", name));
        has_call_ = there.contains(column::call);
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
    collective operation(const std::string& text, observe::form& how) const {
        std::string name = text;
        std::ranges::transform(name, name.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        if (name.starts_with("mpi_")) name.erase(0, 4);
        for (const collective_traits& t : collectives()) {
            if (name == t.name) return t.what;
            if (name == fmt::format("i{}", t.name)) {
                how = observe::form::nonblocking;
                return t.what;
            }
        }
        fail(fmt::format("there is no collective '{}'", text));
    }
    observe::form form_of(const std::string& text) const {
        for (const observe::form f : {observe::form::blocking, observe::form::nonblocking, observe::form::persistent})
            if (text == form_name(f)) return f;
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

    void take_call() {
        if (fields_.size() != columns_.size())
            fail(fmt::format("it has {} fields, and there are {} columns", fields_.size(), columns_.size()));
        traced_call c;
        c.invocation = observe::no_invocation;
        std::int64_t rank = 0;
        std::string host;
        std::string place = "unknown";
        std::string communicator;
        std::string members;
        observe::form spoken = observe::form::blocking;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::string& text = fields_[i];
            switch (columns_[i].is) {
                case column::rank: rank = whole(text, "rank", most_ranks - 1); break;
                case column::host: host = text; break;
                case column::what: c.what = operation(text, spoken); break;
                case column::form: c.how = form_of(text); break;
                case column::root:
                    if (!text.empty()) c.root = static_cast<std::int32_t>(whole(text, "root", most_ranks - 1));
                    break;
                case column::bytes: c.bytes = whole(text, "size", std::int64_t{1} << 50); break;
                case column::communicator: communicator = text; break;
                case column::members: members = text; break;
                case column::call:
                    if (!text.empty())
                        c.invocation = static_cast<std::uint64_t>(whole(text, "call", std::int64_t{1} << 40));
                    break;
                case column::arrival: c.arrival = time(text, columns_[i].factor, "arrival"); break;
                case column::exit: c.exit = time(text, columns_[i].factor, "exit"); break;
                case column::place: place = text; break;
                case column::other: break;
            }
        }
        if (c.how == observe::form::blocking) c.how = spoken;
        if (c.exit < c.arrival) fail("it ends before it begins");
        if (!traits(c.what).rooted) c.root = 0;
        c.place = number(places_, place);
        c.communicator = number(communicators_, communicator);
        members_.resize(communicators_.size());
        named_.resize(communicators_.size());
        if (!members.empty() && named_[c.communicator].empty()) named_[c.communicator] = members_of(members);
        members_[c.communicator].insert(static_cast<std::int32_t>(rank));
        const auto at = static_cast<std::size_t>(rank);
        if (by_rank_->size() <= at) by_rank_->resize(at + 1);
        if (made_.hosts.size() <= at) made_.hosts.resize(at + 1);
        if (!host.empty()) made_.hosts[at] = host;
        (*by_rank_)[at].push_back(c);
        ++calls_;
    }
    static std::uint32_t number(std::map<std::string, std::uint32_t>& of, const std::string& text) {
        return of.emplace(text, static_cast<std::uint32_t>(of.size())).first->second;
    }

    void finish() {
        made_.program = std::filesystem::path(file_).filename().string();
        made_.library = "imported from CSV";
        made_.calls = calls_;
        made_.places.resize(places_.size());
        for (const auto& [text, n] : places_) made_.places[n] = text;
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
        by_rank_->resize(made_.hosts.size());
        for (auto& calls : *by_rank_) {
            std::ranges::stable_sort(calls, {}, &traced_call::arrival);
            // Calls without a number are counted in their order.
            std::map<std::uint32_t, std::uint64_t> next;
            for (traced_call& c : calls)
                if (!has_call_ && c.how != observe::form::persistent) c.invocation = next[c.communicator]++;
        }
        check_roots();
        made_.calls_of = [all = by_rank_](std::int32_t rank) { return (*all)[static_cast<std::size_t>(rank)]; };
    }
    void check_roots() const {
        for (const auto& calls : *by_rank_)
            for (const traced_call& c : calls)
                if (static_cast<std::size_t>(c.root) >= made_.communicators[c.communicator].members.size())
                    fail(fmt::format("a root, {}, is no rank of its communicator", c.root));
    }

    struct given_column {
        column is;
        double factor;
    };

    std::string file_;
    std::string_view text_;
    std::size_t number_ = 0;  ///< of the line
    std::vector<std::string> fields_{};
    std::vector<given_column> columns_{};
    bool has_call_ = false;
    std::uint64_t calls_ = 0;
    std::map<std::string, std::uint32_t> places_{};
    std::map<std::string, std::uint32_t> communicators_{};
    std::vector<std::set<std::int32_t>> members_{};
    std::vector<std::vector<std::int32_t>> named_{};
    std::int64_t all_named_ = 0;
    std::shared_ptr<std::vector<std::vector<traced_call>>> by_rank_ =
        std::make_shared<std::vector<std::vector<traced_call>>>();
    trace made_{};
};

}  // namespace

trace read_csv(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::error_code none;
    if (!in || std::filesystem::is_directory(file, none))
        throw error(fmt::format("cannot read '{}'", file.string()), "it is no file that can be opened",
                    "give a CSV file");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    return reader(file.string(), text).read();
}

}  // namespace rubato::exports
