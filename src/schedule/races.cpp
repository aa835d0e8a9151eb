// Steps of one rank that touch the same block without an order between them, or that break when buffers coincide.
//
// For every block, walk its accesses in schedule order. An access conflicts with the last write before it, and a write
// also with the reads since that write; each such pair needs a path of dependencies. Earlier pairs follow from these.
#include "rubato/schedule.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

namespace rubato {
namespace {

/// Is there a path of dependencies from `later` back to `earlier`? Steps before `earlier` cannot lead there.
class reachability {
public:
    explicit reachability(const schedule& s) : schedule_(s), mark_(s.steps.size(), 0) {}

    bool ordered(std::uint32_t earlier, std::uint32_t later) {
        const auto direct = schedule_.dependencies_of(later);
        if (std::find(direct.begin(), direct.end(), earlier) != direct.end()) return true;
        ++round_;
        stack_.assign(1, later);
        while (!stack_.empty()) {
            const std::uint32_t s = stack_.back();
            stack_.pop_back();
            for (const std::uint32_t d : schedule_.dependencies_of(s)) {
                if (d == earlier) return true;
                if (d < earlier || mark_[d] == round_) continue;
                mark_[d] = round_;
                stack_.push_back(d);
            }
        }
        return false;
    }

private:
    const schedule& schedule_;
    std::vector<std::uint32_t> mark_;
    std::uint32_t round_ = 0;
    std::vector<std::uint32_t> stack_{};
};

struct history {
    std::int64_t writer = -1;
    std::vector<std::uint32_t> readers{};
};

struct conflicts {
    std::vector<race> races{};
    bool stale_input = false;  // the input was read after it had been overwritten under its other name
    bool overlap = false;      // a step overwrites what it reads
};

/// `output_shift`: where input and output are the same memory.
conflicts walk(const schedule& s, const std::int64_t* output_shift) {
    constexpr std::int64_t span = std::int64_t{1} << 40;
    // One number per place in memory; the two user buffers share numbers where they are the same memory.
    const auto address = [output_shift](buffer b, std::int64_t index) {
        if (b == buffer::scratch) return 2 * span + index;
        if (b == buffer::output) return span + index;
        return output_shift ? span + index + *output_shift : index;
    };
    conflicts found;
    std::unordered_map<std::int64_t, history> memory;
    reachability paths(s);
    const auto need = [&](std::uint32_t earlier, std::uint32_t later) {
        if (earlier != later && !paths.ordered(earlier, later)) found.races.push_back({earlier, later});
    };
    for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
        const step& t = s.steps[i];
        const std::int64_t apart = address(t.from, t.source) - address(t.to, t.target);
        const bool onto_itself = t.kind == step_kind::copy && apart == 0;  // does nothing
        if (t.reads() && t.writes() && !onto_itself) found.overlap |= std::abs(apart) < std::int64_t{t.count};
        for (std::uint32_t k = 0; t.reads() && k < t.count; ++k) {
            history& h = memory[address(t.from, std::int64_t{t.source} + k)];
            if (h.writer >= 0) found.stale_input |= t.from == buffer::input;
            if (onto_itself) continue;
            if (h.writer >= 0) need(static_cast<std::uint32_t>(h.writer), i);
            h.readers.push_back(i);
        }
        if (onto_itself) continue;
        for (std::uint32_t k = 0; t.writes() && k < t.count; ++k) {
            history& h = memory[address(t.to, std::int64_t{t.target} + k)];
            if (h.writer >= 0) need(static_cast<std::uint32_t>(h.writer), i);
            for (const std::uint32_t r : h.readers) need(r, i);
            h.writer = i;
            h.readers.clear();
        }
    }
    return found;
}

}  // namespace

std::vector<race> find_races(const schedule& s) { return walk(s, nullptr).races; }

bool safe_in_place(const schedule& s, std::int64_t output_shift) {
    const conflicts found = walk(s, &output_shift);
    return found.races.empty() && !found.stale_input && !found.overlap;
}

}  // namespace rubato
