#include "command/experiments/contestants.hpp"

#include "command/experiments/control_variable.hpp"
#include "command/experiments/world.hpp"
#include "rubato/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rubato::command {
namespace {

/// Algorithms of coll/tuned that use a segment size.
bool cuts(const std::string& collective, const std::string& name) {
    if (collective == "allreduce") return name == "segmented_ring";
    if (collective == "reduce" || collective == "bcast")
        return name.find("chain") != std::string::npos || name.find("pipeline") != std::string::npos ||
               name.find("binary") != std::string::npos || name.find("nomial") != std::string::npos;
    return false;
}

std::string suffix(const segmentation& s, std::uint32_t pieces) {
    std::string text = s.bytes > 0 ? format_bytes(s.bytes) : std::to_string(pieces);
    std::erase(text, ' ');
    return fmt::format("@{}", text);
}

/// Collects contestants of one collective.
class list {
public:
    list(const contest& c, const contest_settings& s) : what_(c.what), how_(s), collective_(traits(c.what).name) {}

    void add_everybody() {
        if (traits(what_).in_mpi()) add_native();
        add_natives();
        for (const algorithm& a : algorithms())
            if (a.what == what_) add(a, {}, how_.segments, false);
    }

    void add_named(const std::string& text) {
        const auto at = text.find('@');
        const std::string name = text.substr(0, at);
        std::vector<segmentation> segments = how_.segments;
        if (at != std::string::npos) segments = {parse_segmentation(text.substr(at + 1))};
        if (name == "native")
            add_native();
        else if (name == "native:all")
            add_natives();
        else if (name.starts_with("native:"))
            add_native_named(name.substr(7), segments);
        else if (const auto casts = parse_multicast(name); casts && what_ == collective::bcast)
            add_multicast(name, *casts);
        else
            add_algorithm_named(name, segments);
    }

    std::vector<contestant> take() { return std::move(all_); }

private:
    void add_native() {
        if (!traits(what_).in_mpi())
            throw error(fmt::format("a native {}", collective_), "MPI has none", "leave it out");
        push({{0, "native", {}, 1, {}}});
    }

    void add_multicast(const std::string& name, const mpi::multicast_settings& how) {
        contestant c{{0, fmt::format("bcast/{}", name), "bcast/multicast", 1, {}}};
        c.casts = how;
        push(std::move(c));
    }

    void add_natives() {
        if (!algorithms_can_be_forced()) return;
        for (const native_algorithm& n : native_algorithms(collective_))
            if (how_.ranks == 2 || n.name.find("two_proc") == std::string::npos) add_native(n, how_.segments);
    }

    void add_native_named(const std::string& name, const std::vector<segmentation>& segments) {
        std::string names;
        for (const native_algorithm& n : native_algorithms(collective_)) {
            if (n.name == name) {
                check_algorithms_can_be_forced();
                return add_native(n, segments);
            }
            names += fmt::format("{}{}", names.empty() ? "" : ", ", n.name);
        }
        throw error(fmt::format("no native algorithm '{}' for {}", name, collective_),
                    names.empty() ? "this MPI library does not let one choose" : fmt::format("there are {}", names),
                    "use one of them, or 'native'");
    }

    void add_native(const native_algorithm& n, const std::vector<segmentation>& segments) {
        if (!cuts(collective_, n.name)) {
            push({{0, fmt::format("native:{}", n.name), {}, 1, {}}, nullptr, n.number});
            return;
        }
        for (const segmentation& s : segments) {
            const std::uint32_t pieces = s.of(how_.network, how_.ranks, how_.bytes);
            const std::int64_t bytes = s.bytes > 0 ? s.bytes : part_offset(how_.bytes, pieces, 1);
            push({{0, fmt::format("native:{}{}", n.name, suffix(s, pieces)), {}, pieces, {}},
                  nullptr,
                  n.number,
                  static_cast<int>(bytes)});
        }
    }

    void add_algorithm_named(const std::string& name, const std::vector<segmentation>& segments) {
        const auto colon = name.find(':');
        const algorithm& a = find_algorithm(fmt::format("{}/{}", collective_, name.substr(0, colon)));
        std::vector<std::int32_t> radix;
        if (colon != std::string::npos) {
            if (!a.takes_radix)
                throw error(fmt::format("'{}'", name), fmt::format("{} takes no radix", a.id), "leave it out");
            radix.push_back(static_cast<std::int32_t>(
                parse_integer(std::string_view(name).substr(colon + 1), "radix", 1, 1 << 20)));
        }
        add(a, radix, segments, true);
    }

    void add(const algorithm& a, const std::vector<std::int32_t>& radix, const std::vector<segmentation>& segments,
             bool must) {
        for (const segmentation& s : segments) {
            problem p{a.what, how_.ranks, rank(how_.root)};
            p.commutative = how_.commutative;
            p.radix = radix;
            if (traits(a.what).on_graph) p.neighbours = how_.neighbours;
            const std::int64_t vector = vector_bytes(a.what, how_.ranks, how_.bytes);
            p.segments = a.segmented ? s.of(how_.network, how_.ranks, vector) : 1;
            p.round_time = cautious_round_time(how_.network, part_offset(vector, p.segments, 1));
            if (!must && unmet_need(a, p)) return;
            rubato::check(a, p);
            const std::string cut = a.segmented ? suffix(s, p.segments) : "";
            const std::string ways = radix.empty() ? "" : fmt::format(":{}", radix.front());
            push({{0, fmt::format("{}{}{}", a.id, ways, cut), std::string(a.id), p.segments,
                   a.uses_round_time() ? p.round_time : time_ns{}},
                  &a,
                  0,
                  {},
                  radix});
        }
    }

    void push(contestant c) {
        if (std::ranges::none_of(all_, [&c](const contestant& o) { return o.known.name == c.known.name; }))
            all_.push_back(std::move(c));
    }

    collective what_;
    const contest_settings& how_;
    std::string collective_;
    std::vector<contestant> all_{};
};

}  // namespace

std::uint32_t segmentation::of(const model& m, std::int32_t ranks, std::int64_t vector) const {
    if (pieces > 0) return pieces;
    if (bytes > 0) return static_cast<std::uint32_t>(std::max<std::int64_t>(1, (vector + bytes - 1) / bytes));
    return optimal_segments(m, ranks, vector);
}

segmentation parse_segmentation(const std::string& text) {
    if (text == "auto") return {};
    constexpr std::int64_t most = 1 << 20;
    if (std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
        return {0, static_cast<std::uint32_t>(parse_integer(text, "number of segments", 1, most))};
    const std::int64_t bytes = parse_bytes(text);
    if (bytes < 1 || bytes > (std::int64_t{1} << 30))
        throw error(fmt::format("segments of '{}'", text), "they must have from 1 byte to 1GiB", "give a size as 8KiB");
    return {bytes};
}

std::int64_t vector_bytes(collective what, std::int32_t ranks, std::int64_t bytes) {
    return bytes / traits(what).sized_chunks(ranks);
}

mpi::selection selection_of(const contestant& c) {
    mpi::selection how;
    if (c.use == nullptr) return how;
    how = mpi::selection(*c.use);
    how.segments = c.known.segments;
    how.radix = c.radix;
    how.round_time = c.known.round_time;
    return how;
}

std::optional<mpi::multicast_settings> parse_multicast(std::string_view name) {
    mpi::multicast_settings how;
    how.insist = name == "multicast:insist";
    if (name != "multicast" && !how.insist) return {};
    return how;
}

mpi::multicast& casting_communicators::get(const mpi::multicast_settings& how) {
    auto found = made_.find(how.insist);
    if (found == made_.end()) found = made_.emplace(how.insist, mpi::multicast(on_, how)).first;
    return found->second;
}

void casting_communicators::say_why_not() {
    if (on_.rank() != 0) return;
    for (const auto& [insists, m] : made_) {
        const std::string why = m.why_not();
        const std::string advice = m.advice();
        if (!why.empty() && said_.insert(why).second)
            fmt::print(stderr, "rubato: bcast/multicast goes by a tree: {}\n", why);
        if (!advice.empty() && said_.insert(advice).second) fmt::print(stderr, "rubato: bcast/multicast: {}\n", advice);
    }
}

contest parse_contest(const std::string& text) {
    const auto slash = text.find('/');
    contest c{parse_collective(text.substr(0, slash)), {}, text};
    for (std::size_t at = slash; at != std::string::npos;) {
        const auto next = text.find(',', at + 1);
        c.names.push_back(text.substr(at + 1, next == std::string::npos ? next : next - at - 1));
        at = next;
    }
    return c;
}

std::vector<contestant> contestants_of(const contest& c, const contest_settings& s) {
    list all(c, s);
    if (c.names.empty()) all.add_everybody();
    for (const std::string& name : c.names) all.add_named(name);
    return all.take();
}

native_communicators::~native_communicators() {
    for (auto& [key, comm] : made_) MPI_Comm_free(&comm);
}

MPI_Comm native_communicators::get(collective what, const contestant& c) {
    if (c.native_number == 0) return world;
    MPI_Comm& comm =
        made_.try_emplace({what, c.native_number, c.native_segment.value_or(0)}, MPI_COMM_NULL).first->second;
    if (comm == MPI_COMM_NULL)
        comm = forced_communicator(std::string(traits(what).name), c.native_number, c.native_segment);
    return comm;
}

}  // namespace rubato::command
