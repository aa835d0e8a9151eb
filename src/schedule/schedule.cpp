#include "rubato/schedule.hpp"

#include <fmt/format.h>

#include <array>

namespace rubato {
namespace {

constexpr std::array<std::byte, 4> magic{std::byte{'r'}, std::byte{'b'}, std::byte{'s'}, std::byte{1}};

/// Seven bits a byte, least significant first.
void put(std::vector<std::byte>& out, std::uint64_t value) {
    while (value >= 0x80) {
        out.push_back(static_cast<std::byte>(value | 0x80));
        value >>= 7;
    }
    out.push_back(static_cast<std::byte>(value));
}

class reader {
public:
    explicit reader(std::span<const std::byte> bytes) : rest_(bytes) {}

    std::uint32_t get() {
        std::uint64_t value = 0;
        for (int shift = 0; shift <= 28; shift += 7) {
            const auto b = static_cast<std::uint64_t>(take());
            value |= (b & 0x7f) << shift;
            if (b < 0x80) {
                if (value > UINT32_MAX) break;
                return static_cast<std::uint32_t>(value);
            }
        }
        bad("a number is too long");
    }
    /// A number of things that take at least a byte each, so that a broken count cannot ask for endless memory.
    std::uint32_t get_count() {
        const std::uint32_t n = get();
        if (n > rest_.size()) bad("it is cut short");
        return n;
    }
    std::byte take() {
        if (rest_.empty()) bad("it is cut short");
        const std::byte b = rest_.front();
        rest_ = rest_.subspan(1);
        return b;
    }
    bool empty() const { return rest_.empty(); }
    [[noreturn]] static void bad(std::string_view reason) {
        throw error("not a schedule", reason, "make it again with to_bytes");
    }

private:
    std::span<const std::byte> rest_;
};

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

std::vector<std::byte> to_bytes(const schedule& s) {
    std::vector<std::byte> out(magic.begin(), magic.end());
    put(out, s.parts);
    put(out, s.scratch.size());
    for (const block b : s.scratch) put(out, b);
    put(out, s.steps.size());
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
        const step& t = s.steps[i];
        out.push_back(static_cast<std::byte>(static_cast<unsigned>(t.kind) | static_cast<unsigned>(t.from) << 2 |
                                             static_cast<unsigned>(t.to) << 4));
        for (const std::uint32_t v :
             {t.source, t.target, t.shape, t.count, static_cast<std::uint32_t>(t.peer) + 1, t.message})
            put(out, v);
        const auto waits = s.dependencies_of(i);
        put(out, waits.size());
        for (const std::uint32_t d : waits) put(out, i - d);  // near ones are short
    }
    return out;
}

schedule schedule_from_bytes(std::span<const std::byte> bytes) {
    reader in(bytes);
    for (const std::byte m : magic)
        if (in.take() != m) reader::bad("it does not begin as one");
    schedule s;
    s.parts = in.get();
    if (s.parts == 0) reader::bad("it has no parts");
    s.scratch.resize(in.get_count());
    for (block& b : s.scratch) b = in.get();
    const std::uint32_t n = in.get_count();
    s.steps.resize(n);
    s.first_dependency.reserve(n + 1);
    for (std::uint32_t i = 0; i < n; ++i) {
        step& t = s.steps[i];
        const auto head = static_cast<unsigned>(in.take());
        if ((head >> 2 & 3) > 2 || head >> 4 > 2) reader::bad(fmt::format("step {} names no buffer", i));
        t.kind = static_cast<step_kind>(head & 3);
        t.from = static_cast<buffer>(head >> 2 & 3);
        t.to = static_cast<buffer>(head >> 4);
        t.source = in.get();
        t.target = in.get();
        t.shape = in.get();
        t.count = in.get();
        t.peer = static_cast<std::int32_t>(in.get() - 1);
        t.message = in.get();
        for (std::uint32_t k = in.get_count(); k > 0; --k) {
            const std::uint32_t back = in.get();
            if (back == 0 || back > i)
                reader::bad(fmt::format("step {} waits for one that does not come before it", i));
            s.dependencies.push_back(i - back);
        }
        s.first_dependency.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
    }
    if (!in.empty()) reader::bad("something follows its end");
    return s;
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
