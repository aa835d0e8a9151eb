// An InfiniBand network: what ibnetdiscover prints, and after it, if it is there, what dump_fts prints, the forwarding
// tables. Each connected port of a channel adapter is an endpoint; they are in the order of their names.
#include "simulator/topology/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

namespace rubato::simulator {
namespace {

class ib_reader {
public:
    ib_reader(std::string_view content, const std::string& file)
        : file_(file), lines_(base::lines_of(content, file, "network")) {}

    network read() {
        for (const base::numbered_line& l : lines_) line(l);
        return build();
    }

private:
    /// A port, by the name of its device: "S-0002c9...", 3
    using device_port = std::pair<std::string, std::uint32_t>;
    struct entry {
        std::string at_switch;
        std::uint32_t lid;
        std::uint32_t out;
        std::size_t line;
    };

    [[noreturn]] void fail(std::size_t line, std::string_view reason) const {
        throw error(fmt::format("network '{}', line {}", file_, line), reason,
                    "give what ibnetdiscover and dump_fts print");
    }

    /// What stands in quotes next, which is taken off; nothing if there is none.
    static std::string quoted(std::string_view& rest) {
        const std::size_t begin = rest.find('"');
        const std::size_t end = begin == std::string_view::npos ? begin : rest.find('"', begin + 1);
        if (end == std::string_view::npos) return "";
        std::string text(rest.substr(begin + 1, end - begin - 1));
        rest.remove_prefix(end + 1);
        return text;
    }
    /// The number after a mark; nothing if there is none.
    static std::optional<std::uint32_t> number_after(std::string_view text, std::string_view mark, int base = 10) {
        const std::size_t at = text.find(mark);
        if (at == std::string_view::npos) return std::nullopt;
        const char* const begin = text.data() + at + mark.size();
        std::uint32_t number = 0;
        if (std::from_chars(begin, text.data() + text.size(), number, base).ec != std::errc{}) return std::nullopt;
        return number;
    }

    void line(const base::numbered_line& l) {
        const std::string_view text = l.text;
        if (text.starts_with("Switch") || text.starts_with("Ca")) return device(l);
        if (text.starts_with("[")) return port_line(l);
        if (text.starts_with("Unicast lids")) return table(l);
        if (text.starts_with("0x")) return table_line(l);
        const bool known = text.find('=') != std::string_view::npos || text.starts_with("DumpFT") ||
                           text.starts_with("Lid") || text.starts_with("Port") || text.find("dumped") < text.size();
        if (!known) fail(l.number, fmt::format("'{}' is not of a network", text.substr(0, 40)));
    }

    /// Switch 8 "S-0000000000200000" # "leaf0" base port 0 lid 1 lmc 0
    void device(const base::numbered_line& l) {
        std::string_view rest = l.text;
        device_ = quoted(rest);
        if (device_.empty()) fail(l.number, "a device has no name in quotes");
        const std::string called = quoted(rest);
        (l.text.starts_with("Switch") ? switches_ : adapters_).push_back(device_);
        called_[device_] = called.empty() ? device_ : called.substr(0, called.find(' '));
    }

    /// [1](100001) "S-0000000000200000"[1] # lid 2 lmc 0 "leaf0" lid 1 4xSDR
    void port_line(const base::numbered_line& l) {
        std::string_view rest = l.text;
        const std::optional<std::uint32_t> mine = number_after(rest, "[");
        const std::string other = quoted(rest);
        const std::optional<std::uint32_t> its = number_after(rest, "[");
        if (device_.empty() || !mine || other.empty() || !its)
            fail(l.number, "a port is written [1] \"device\"[2], below its device");
        const device_port here{device_, *mine};
        const device_port there{other, *its};
        for (const auto& [one, other_end] : {std::pair(here, there), std::pair(there, here)})
            if (const auto known = joined_.find(one); known != joined_.end() && known->second != other_end)
                fail(l.number, fmt::format("port {} of {} has two cables", one.second, one.first));
        joined_[here] = there;
        joined_.try_emplace(there, here);
        if (device_.starts_with("H-"))
            if (const auto lid = number_after(rest, "# lid ")) lids_[*lid] = here;
    }

    /// Unicast lids [0x0-0x16] of switch Lid 7 guid 0x0000000000200000 (leaf0):
    void table(const base::numbered_line& l) {
        const std::size_t at = l.text.find("guid 0x");
        if (at == std::string::npos) fail(l.number, "a table names no switch");
        const std::size_t begin = at + 7;
        table_of_ = "S-" + l.text.substr(begin, l.text.find_first_not_of("0123456789abcdef", begin) - begin);
    }

    /// 0x0001 005 : (Channel Adapter portguid 0x0000000000100001: 'node1')
    void table_line(const base::numbered_line& l) {
        const std::optional<std::uint32_t> lid = number_after(l.text, "0x", 16);
        const std::optional<std::uint32_t> out = number_after(l.text, " ");
        if (table_of_.empty() || !lid || !out)
            fail(l.number, "an entry of a table is a lid and a port, below its switch");
        entries_.push_back({table_of_, *lid, *out, l.number});
    }

    network build() {
        // node2 before node10.
        std::ranges::sort(adapters_, {},
                          [this](const std::string& a) { return std::tuple(called_[a].size(), called_[a], a); });
        std::map<std::string, vertex> switch_numbers;
        std::map<device_port, vertex> endpoints;
        std::vector<std::string> names;
        for (const std::string& a : adapters_) {
            const auto ports = std::ranges::count_if(joined_, [&](const auto& j) { return j.first.first == a; });
            for (const auto& [here, there] : joined_) {
                if (here.first != a) continue;
                endpoints[here] = static_cast<vertex>(names.size());
                names.push_back(ports == 1 ? called_[a] : fmt::format("{}/{}", called_[a], here.second));
            }
        }
        const auto count = static_cast<vertex>(names.size());
        for (const std::string& s : switches_) {
            switch_numbers[s] = static_cast<vertex>(names.size());
            names.push_back(called_[s]);
        }
        const auto vertex_of = [&](const device_port& p) {
            if (const auto e = endpoints.find(p); e != endpoints.end()) return e->second;
            if (const auto s = switch_numbers.find(p.first); s != switch_numbers.end()) return s->second;
            throw error(fmt::format("network '{}'", file_),
                        fmt::format("a cable leads to {}, which is not listed", p.first),
                        "give the whole output of ibnetdiscover");
        };
        std::vector<cable> cables;
        std::map<device_port, channel> leaving;
        for (const auto& [here, there] : joined_) {
            if (there < here) continue;
            leaving[here] = static_cast<channel>(2 * cables.size());
            leaving[there] = leaving[here] + 1;
            cables.push_back({vertex_of(here), vertex_of(there)});
        }
        const vertex switches = static_cast<vertex>(names.size()) - count;
        network net(fmt::format("file:{}", file_), count, switches, std::move(cables), std::move(names));
        if (entries_.empty()) return net;
        net.tables.assign(std::size_t{net.endpoints()} * net.switches(), no_port);
        for (const entry& e : entries_) {
            const auto to = lids_.find(e.lid);
            if (to == lids_.end() || e.out == 0) continue;  // of a switch
            const auto at = switch_numbers.find(e.at_switch);
            if (at == switch_numbers.end()) fail(e.line, fmt::format("there is no switch {}", e.at_switch));
            const auto c = leaving.find({e.at_switch, e.out});
            if (c == leaving.end()) fail(e.line, fmt::format("no cable at port {} of {}", e.out, e.at_switch));
            net.tables[net.entry(endpoints.at(to->second), at->second)] = net.port_of(c->second);
        }
        return net;
    }

    const std::string& file_;
    std::vector<base::numbered_line> lines_;
    std::string device_{};    // whose ports are being read
    std::string table_of_{};  // the switch whose table is being read
    std::vector<std::string> switches_{};
    std::vector<std::string> adapters_{};
    std::map<std::string, std::string> called_{};
    std::map<device_port, device_port> joined_{};
    std::map<std::uint32_t, device_port> lids_{};
    std::vector<entry> entries_{};
};

}  // namespace

network read_ibnetdiscover(std::string_view content, const std::string& file) {
    return ib_reader(content, file).read();
}

}  // namespace rubato::simulator
