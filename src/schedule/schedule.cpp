#include "rubato/schedule.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato {
namespace {

std::string place(buffer b, block first, std::uint32_t count) {
    if (count == 0) return "nothing";
    static constexpr std::array names{"input", "output", "scratch"};
    const char* name = names[static_cast<std::size_t>(b)];
    if (count == 1) return fmt::format("{}[{}]", name, first);
    return fmt::format("{}[{}..{}]", name, first, first + count - 1);
}

}  // namespace

std::size_t hash(const schedule& s) {
    std::uint64_t h = 0xcbf29ce484222325U;
    const auto mix = [&h](std::uint64_t v) {
        h = (h ^ v) * 0x100000001b3U;
        h ^= h >> 29;
    };
    mix(s.parts);
    for (const block b : s.scratch) mix(b);
    for (const step& t : s.steps) {
        mix(static_cast<std::uint64_t>(t.kind) << 16 | static_cast<std::uint64_t>(t.from) << 8 |
            static_cast<std::uint64_t>(t.to));
        mix(std::uint64_t{t.source} << 32 | t.target);
        mix(std::uint64_t{t.shape} << 32 | t.count);
        mix(std::uint64_t{static_cast<std::uint32_t>(t.peer)} << 32 | t.message);
    }
    for (const std::uint32_t o : s.first_dependency) mix(o);
    for (const std::uint32_t d : s.dependencies) mix(d);
    return h;
}

std::string to_string(const step& s) {
    switch (s.kind) {
        case step_kind::send:
            return fmt::format("send {} to {} (message {})", place(s.from, s.source, s.count), s.peer, s.message);
        case step_kind::recv:
            return fmt::format("recv {} from {} (message {})", place(s.to, s.target, s.count), s.peer, s.message);
        case step_kind::combine:
            return fmt::format("combine {} into {}", place(s.from, s.source, s.count), place(s.to, s.target, s.count));
        case step_kind::copy:
            return fmt::format("copy {} to {}", place(s.from, s.source, s.count), place(s.to, s.target, s.count));
    }
    return "?";
}

std::string to_string(const schedule& s) {
    std::string out;
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
        const auto waits = s.dependencies_of(i);
        out += fmt::format("{:>4}  {}", i, to_string(s.steps[i]));
        if (!waits.empty()) out += fmt::format("  after {}", fmt::join(waits, ", "));
        out += '\n';
    }
    return out;
}

}  // namespace rubato
