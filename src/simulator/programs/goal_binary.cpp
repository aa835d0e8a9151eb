// The binary form, little-endian, without padding:
//   u64 4223; u32 ranks; u8 highest cpu; u8 highest nic; for each rank, where its part begins and ends (u64 each),
//   counted from behind the first number; the parts.
// A part: u32 operations; u32 how many wait for nothing; their numbers (u32 each); the operations; the numbers (u32
// each) of those that wait, to which operations point.
// An operation: u32 for how many it waits; u8 kind; u32 peer; u64 size; u32 tag; u8 cpu; u8 nic; u32 how many wait for
// its end, u32 their place; u32 how many wait for its beginning, u32 their place.
#include "simulator/programs/goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rubato::simulator {
namespace {

constexpr std::uint64_t cookie = 4223;
constexpr std::uint64_t used_up = 2342;
constexpr std::size_t op_bytes = 39;

class byte_reader {
public:
    byte_reader(std::string_view content, const std::string& name) : content_(content), name_(name) {}

    template <class T>
    T get() {
        need(sizeof(T));
        taken_ += sizeof(T);
        if (taken_ > content_.size()) wrong("ranks, or what waits for operations, share its bytes");
        T value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i)
            value = static_cast<T>(value | static_cast<T>(T{static_cast<unsigned char>(content_[at_ + i])} << (8 * i)));
        at_ += sizeof(T);
        return value;
    }
    void go_to(std::uint64_t at) {
        if (at > content_.size()) wrong(fmt::format("it points to byte {}", at));
        at_ = at;
    }
    std::size_t at() const { return at_; }
    void need(std::uint64_t bytes) const {
        if (bytes > content_.size() - at_) wrong(fmt::format("{} bytes are expected there", bytes));
    }
    [[noreturn]] void wrong(const std::string& reason) const {
        throw error(fmt::format("byte {} of {} of GOAL file '{}'", at_, content_.size(), name_),
                    reason + ", so it was cut or changed", "make it again from the text");
    }

private:
    std::string_view content_;
    const std::string& name_;
    std::size_t at_ = 0;
    std::size_t taken_ = 0;  ///< bytes, so that no more memory is needed than the file is long
};

struct waiting_ops {  // for one operation
    std::uint32_t count;
    std::uint32_t first;
};

goal_rank read_part(byte_reader& in, std::size_t rank, std::size_t ranks, const std::string& name) {
    goal_rank part;
    const auto ops = in.get<std::uint32_t>();
    const auto roots = in.get<std::uint32_t>();
    in.need(std::uint64_t{roots} * 4 + std::uint64_t{ops} * op_bytes);
    in.go_to(in.at() + std::uint64_t{roots} * 4);
    std::vector<std::array<waiting_ops, 2>> waits;
    for (std::uint32_t i = 0; i < ops; ++i) {
        goal_op op;
        in.get<std::uint32_t>();  // follows from what waits for what
        op.kind = static_cast<goal_kind>(in.get<std::uint8_t>());
        if (op.kind < goal_kind::send || op.kind > goal_kind::calc)
            in.wrong(fmt::format("an operation of kind {}", static_cast<int>(op.kind)));
        op.peer = static_cast<std::int32_t>(in.get<std::uint32_t>());
        op.size = static_cast<std::int64_t>(in.get<std::uint64_t>());
        op.tag = in.get<std::uint32_t>();
        const auto cpu = in.get<std::uint8_t>();
        const auto nic = in.get<std::uint8_t>();
        try {
            check_goal_op(op, cpu, nic, ranks);
        } catch (const error& e) {
            throw error(fmt::format("rank {}, operation {} of GOAL file '{}': {}", rank, i, name, e.what()));
        }
        part.ops.push_back(op);
        std::array<waiting_ops, 2>& w = waits.emplace_back();
        for (waiting_ops& each : w) each = {in.get<std::uint32_t>(), in.get<std::uint32_t>()};
    }
    const std::size_t appendix = in.at();
    for (std::uint32_t i = 0; i < ops; ++i)
        for (const bool begin : {false, true}) {
            const waiting_ops& w = waits[i][begin ? 1 : 0];
            if (w.count == 0) continue;
            in.go_to(appendix + std::uint64_t{w.first} * 4);
            in.need(std::uint64_t{w.count} * 4);
            for (std::uint32_t n = 0; n < w.count; ++n) {
                const auto op = in.get<std::uint32_t>();
                if (op >= ops || op == i) in.wrong(fmt::format("operation {} waits for operation {}", op, i));
                part.waits.push_back({op, i, begin});
            }
        }
    return part;
}

template <class T>
void put(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

void write_part(std::string& out, const goal_rank& part) {
    const std::size_t n = part.ops.size();
    std::vector<std::uint32_t> waits_for(n);
    std::array<std::vector<std::vector<std::uint32_t>>, 2> waiting_ops{std::vector<std::vector<std::uint32_t>>(n),
                                                                       std::vector<std::vector<std::uint32_t>>(n)};
    for (const goal_wait& w : part.waits) {
        ++waits_for[w.op];
        waiting_ops[w.begin ? 1 : 0][w.other].push_back(w.op);
    }
    put(out, static_cast<std::uint32_t>(n));
    put(out, static_cast<std::uint32_t>(std::ranges::count(waits_for, 0U)));
    for (std::uint32_t i = 0; i < n; ++i)
        if (waits_for[i] == 0) put(out, i);
    std::uint32_t place = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const goal_op& op = part.ops[i];
        put(out, waits_for[i]);
        put(out, static_cast<std::uint8_t>(op.kind));
        put(out, static_cast<std::uint32_t>(op.peer));
        put(out, static_cast<std::uint64_t>(op.size));
        put(out, op.tag);
        put(out, std::uint8_t{0});
        put(out, std::uint8_t{0});
        for (const auto& ops : waiting_ops) {
            put(out, static_cast<std::uint32_t>(ops[i].size()));
            put(out, place);
            place += static_cast<std::uint32_t>(ops[i].size());
        }
    }
    for (std::size_t i = 0; i < n; ++i)
        for (const auto& ops : waiting_ops)
            for (const std::uint32_t op : ops[i]) put(out, op);
}

}  // namespace

bool is_binary_goal(std::string_view content) {
    // Text has no zeros.
    return content.size() >= 8 && content.substr(2, 6) == std::string_view("\0\0\0\0\0\0", 6);
}

std::vector<goal_rank> parse_goal_binary(std::string_view content, const std::string& name) {
    byte_reader in(content, name);
    const auto first = in.get<std::uint64_t>();
    if (first == used_up)
        throw error(fmt::format("GOAL file '{}' was used up", name), "LogGOPSim --save-mem overwrites what it reads",
                    "make it again from the text");
    if (first != cookie)
        throw error(fmt::format("'{}' is not a GOAL file", name), "it is binary and does not begin with 4223",
                    "give GOAL text, or what txt2bin makes of it");
    const auto ranks = in.get<std::uint32_t>();
    if (ranks == 0 || ranks > most_goal_ranks) in.wrong(fmt::format("{} ranks", ranks));
    in.get<std::uint16_t>();  // cpus and nics: those that operations name count
    const std::size_t table = in.at();
    in.need(std::uint64_t{ranks} * 16);
    std::vector<goal_rank> all;
    all.reserve(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        in.go_to(table + std::uint64_t{r} * 16);
        const auto begin = in.get<std::uint64_t>();
        if (begin > content.size()) in.wrong(fmt::format("rank {} begins at byte {}", r, begin));
        in.go_to(begin + sizeof(cookie));
        all.push_back(read_part(in, r, ranks, name));
    }
    return all;
}

std::string goal_binary(std::span<const goal_rank> all) {
    std::string head;
    put(head, cookie);
    put(head, static_cast<std::uint32_t>(all.size()));
    put(head, std::uint16_t{0});
    std::string parts;
    const std::size_t behind_head = head.size() - sizeof(cookie) + all.size() * 16;
    for (const goal_rank& part : all) {
        put(head, static_cast<std::uint64_t>(behind_head + parts.size()));
        write_part(parts, part);
        put(head, static_cast<std::uint64_t>(behind_head + parts.size()));
    }
    return head + parts;
}

}  // namespace rubato::simulator
