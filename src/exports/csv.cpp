#include "exports/csv.hpp"

#include "exports/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rubato::exports {

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

std::string members_field(std::span<const std::int32_t> members) {
    std::string out;
    for (std::size_t i = 0; i < members.size();) {
        std::size_t end = i + 1;
        while (end < members.size() && members[end] == members[end - 1] + 1) ++end;
        out += fmt::format("{}{}", out.empty() ? "" : " ", members[i]);
        if (end - i > 1) out += fmt::format("-{}", members[end - 1]);
        i = end;
    }
    return out;
}

std::string_view form_name(observe::form how) {
    switch (how) {
        case observe::form::nonblocking: return "nonblocking";
        case observe::form::persistent: return "persistent";
        case observe::form::blocking: break;
    }
    return "blocking";
}

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
            fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},", begin, traits(c.what).name, form_name(c.how),
                           traits(c.what).rooted ? fmt::format("{}", c.root) : "", c.bytes,
                           communicators[c.communicator]);
            if (c.invocation != observe::no_invocation) fmt::format_to(std::back_inserter(out), "{}", c.invocation);
            fmt::format_to(std::back_inserter(out), ",{},{},{}\n", c.arrival.count(), c.exit.count(), places[c.place]);
            if (out.size() < piece_size) continue;
            put(out);
            out.clear();
        }
    }
    put(out);
}

std::vector<std::uint32_t> lanes_of(std::span<const traced_call> calls) {
    std::vector<std::uint32_t> lanes;
    std::vector<time_ns> ends;
    lanes.reserve(calls.size());
    for (const traced_call& c : calls) {
        const auto free = std::ranges::find_if(ends, [&](time_ns end) { return end <= c.arrival; });
        lanes.push_back(static_cast<std::uint32_t>(free - ends.begin()));
        if (free == ends.end())
            ends.push_back(c.exit);
        else
            *free = c.exit;
    }
    return lanes;
}

std::string missing_text(const trace& t) {
    return t.missing > 0 ? fmt::format("{} of {} calls are missing", t.missing, t.calls) : "";
}

std::string rank_text(const trace& t, std::int32_t rank) {
    const std::string& host = t.hosts[static_cast<std::size_t>(rank)];
    return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} on {}", rank, host);
}

}  // namespace rubato::exports
