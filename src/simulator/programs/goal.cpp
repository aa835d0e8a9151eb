#include "simulator/programs/goal.hpp"

#include "base/core/portable.hpp"
#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

namespace rubato::simulator {
namespace {

constexpr std::uint32_t any = UINT32_MAX;  // source or tag

std::string place_of(const goal_file& g, std::size_t rank, const goal_op& op) {
    if (op.line > 0) return fmt::format("line {} of GOAL file '{}'", op.line, g.name);
    return fmt::format("rank {}, operation {} of GOAL file '{}'", rank, &op - g.ranks[rank].ops.data(), g.name);
}

/// The operations in an order in which none comes before one for which it waits: the listed one, as far as possible.
std::vector<std::uint32_t> order_of(const goal_file& g, std::size_t rank) {
    const goal_rank& mine = g.ranks[rank];
    std::vector<std::uint32_t> order(mine.ops.size());
    std::iota(order.begin(), order.end(), 0U);
    if (std::ranges::all_of(mine.waits, [](const goal_wait& w) { return w.other < w.op; })) return order;
    std::vector<std::uint32_t> waits_for(mine.ops.size());
    std::vector<std::vector<std::uint32_t>> followers(mine.ops.size());
    for (const goal_wait& w : mine.waits) {
        ++waits_for[w.op];
        followers[w.other].push_back(w.op);
    }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> next;
    for (std::uint32_t i = 0; i < waits_for.size(); ++i)
        if (waits_for[i] == 0) next.push(i);
    order.clear();
    while (!next.empty()) {
        order.push_back(next.top());
        next.pop();
        for (const std::uint32_t f : followers[order.back()])
            if (--waits_for[f] == 0) next.push(f);
    }
    if (order.size() == mine.ops.size()) return order;
    const auto stuck = std::ranges::find_if(waits_for, [](std::uint32_t n) { return n > 0; });
    throw error(fmt::format("{}: an operation that never begins",
                            place_of(g, rank, mine.ops[static_cast<std::size_t>(stuck - waits_for.begin())])),
                "it waits for operations that wait for it", "remove one of the lines that say so");
}

/// One side of a message.
struct side {
    std::int32_t from;
    std::int32_t to;
    std::uint32_t tag;
    std::uint32_t step;
    const goal_op* op;

    std::tuple<std::int32_t, std::int32_t, std::uint32_t> key() const { return {from, to, tag}; }
};

/// Numbers messages of two ranks as they are sent, and gives receives the numbers and sizes of what they take.
class matching {
public:
    matching(const goal_file& g, std::vector<schedules::sized_schedule>& all) : g_(g), all_(all) {}

    void add(std::int32_t rank, std::uint32_t step, const goal_op& op) {
        if (op.kind == goal_kind::send) sends_.push_back({rank, op.peer, op.tag, step, &op});
        if (op.kind == goal_kind::recv) recvs_.push_back({op.peer, rank, op.tag, step, &op});
    }
    void match() {
        std::ranges::stable_sort(sends_, {}, [](const side& s) { return std::pair(s.from, s.to); });
        for (std::size_t i = 0; i < sends_.size(); ++i) {
            const bool same = i > 0 && sends_[i - 1].from == sends_[i].from && sends_[i - 1].to == sends_[i].to;
            step_of(sends_[i].from, sends_[i]).message = same ? step_of(sends_[i].from, sends_[i - 1]).message + 1 : 0;
        }
        std::ranges::stable_sort(sends_, {}, &side::key);
        std::ranges::stable_sort(recvs_, {}, &side::key);
        for (std::size_t i = 0; i < std::max(sends_.size(), recvs_.size()); ++i) {
            if (i >= recvs_.size() || (i < sends_.size() && sends_[i].key() < recvs_[i].key()))
                unmatched(sends_[i].from, *sends_[i].op, "a message that is not received");
            if (i >= sends_.size() || recvs_[i].key() < sends_[i].key())
                unmatched(recvs_[i].to, *recvs_[i].op, "a message that is not sent");
            const schedules::sized_step& sent = step_of(sends_[i].from, sends_[i]);
            schedules::sized_step& received = step_of(recvs_[i].to, recvs_[i]);
            received.message = sent.message;
            received.bytes = sent.bytes;
        }
    }

private:
    schedules::sized_step& step_of(std::int32_t rank, const side& s) {
        return all_[static_cast<std::size_t>(rank)].steps[s.step];
    }
    [[noreturn]] void unmatched(std::int32_t rank, const goal_op& op, std::string_view what) const {
        throw error(fmt::format("{}: {}", place_of(g_, static_cast<std::size_t>(rank), op), what),
                    fmt::format("rank {} has too few operations for rank {} and tag {}", op.peer, rank, op.tag),
                    "add one there, or remove this one");
    }

    const goal_file& g_;
    std::vector<schedules::sized_schedule>& all_;
    std::vector<side> sends_{};
    std::vector<side> recvs_{};
};

}  // namespace

void check_goal_op(const goal_op& op, std::int64_t cpu, std::int64_t nic, std::size_t ranks) {
    constexpr std::int64_t longest = 10'000'000'000'000;
    constexpr std::int64_t largest = std::int64_t{1} << 40;
    if (cpu != 0 || nic != 0)
        throw error(fmt::format("{} {}", cpu != 0 ? "cpu" : "nic", cpu != 0 ? cpu : nic),
                    "ranks have one processor and one network interface here",
                    "use number 0, or make a rank of each processor");
    if (op.kind == goal_kind::calc && (op.size < 0 || op.size > longest))
        throw error(fmt::format("calc {}", static_cast<std::uint64_t>(op.size)),
                    "an operation takes less than three hours", "cut it into several");
    if (op.kind == goal_kind::calc) return;
    if (op.size < 0 || op.size > largest)
        throw error(fmt::format("{} bytes", static_cast<std::uint64_t>(op.size)), "a message has 1024 GiB at most",
                    "give a smaller size");
    if (static_cast<std::uint32_t>(op.peer) == any || op.tag == any)
        throw error(op.tag == any ? "tag -1" : "rank -1", "here a receive says which message it takes",
                    "name the rank and the tag");
    if (static_cast<std::uint32_t>(op.peer) >= ranks)
        throw error(fmt::format("rank {}", static_cast<std::uint32_t>(op.peer)),
                    fmt::format("ranks are numbered 0 to {}", ranks - 1), "correct it");
}

goal_file parse_goal(std::string_view content, const std::string& name) {
    return {name, is_binary_goal(content) ? parse_goal_binary(content, name) : parse_goal_text(content, name)};
}

goal_file read_goal(const std::string& name) { return parse_goal(base::read_text(name, "GOAL file"), name); }

std::vector<schedules::sized_schedule> schedules_of(const goal_file& g) {
    std::vector<schedules::sized_schedule> all(g.ranks.size());
    matching messages(g, all);
    std::vector<std::uint32_t> step_of;
    for (std::size_t r = 0; r < g.ranks.size(); ++r) {
        const goal_rank& mine = g.ranks[r];
        const std::vector<std::uint32_t> order = order_of(g, r);
        step_of.assign(order.size(), 0);
        for (std::uint32_t i = 0; i < order.size(); ++i) step_of[order[i]] = i;
        std::vector<std::vector<std::uint32_t>> ends(order.size());
        for (const goal_wait& w : mine.waits) {
            if (w.begin)
                all[r].after.push_back({step_of[w.op], step_of[w.other]});
            else
                ends[step_of[w.op]].push_back(step_of[w.other]);
        }
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            const goal_op& op = mine.ops[order[i]];
            schedules::sized_step s;
            s.kind = op.kind == goal_kind::send   ? step_kind::send
                     : op.kind == goal_kind::recv ? step_kind::recv
                                                  : step_kind::combine;
            (op.kind == goal_kind::calc ? s.work : s.bytes) = op.size;
            if (op.kind != goal_kind::calc) s.peer = op.peer;
            all[r].add(s, ends[i]);
            messages.add(static_cast<std::int32_t>(r), i, op);
        }
    }
    messages.match();
    return all;
}

std::vector<time_ns> arrivals_of(const goal_file& g) {
    std::vector<time_ns> arrivals(g.ranks.size());
    std::vector<bool> waits;
    for (std::size_t r = 0; r < g.ranks.size(); ++r) {
        const goal_rank& mine = g.ranks[r];
        waits.assign(mine.ops.size(), false);
        for (const goal_wait& w : mine.waits) waits[w.op] = true;
        const auto first = std::ranges::find(waits, false);
        if (first == waits.end() || std::ranges::count(waits, false) != 1) continue;
        const goal_op& op = mine.ops[static_cast<std::size_t>(first - waits.begin())];
        if (op.kind == goal_kind::calc) arrivals[r] = time_ns(op.size);
    }
    return arrivals;
}

goal_rank goal_of(const schedules::sized_schedule& s, std::optional<time_ns> arrival, const model& m) {
    const double combine = linear_costs(m).gamma;
    goal_rank made;
    const std::uint32_t first = arrival ? 1 : 0;
    if (arrival) made.ops.push_back({goal_kind::calc, 0, 0, arrival->count()});
    for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
        const schedules::sized_step& t = s.steps[i];
        goal_op op;
        if (t.is_message()) {
            op.kind = t.kind == step_kind::send ? goal_kind::send : goal_kind::recv;
            op.peer = t.peer;
            op.tag = t.message;
            op.size = std::max<std::int64_t>(t.bytes, 1);
        } else if (t.kind == step_kind::combine) {
            op.size = base::nearest_time(combine * static_cast<double>(t.bytes)).count() + t.work;
        }
        made.ops.push_back(op);
        for (const std::uint32_t d : s.dependencies_of(i)) made.waits.push_back({i + first, d + first, false});
        if (arrival && s.dependencies_of(i).empty()) made.waits.push_back({i + 1, 0, false});
    }
    for (const schedules::after_begin& a : s.after) made.waits.push_back({a.step + first, a.begun + first, true});
    return made;
}

}  // namespace rubato::simulator
