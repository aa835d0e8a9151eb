// Proficz & Ocetkiewicz 2020: examples of Clairvoyant's rounds.
#include "page.hpp"

namespace reproduction {

using namespace rubato;

namespace {

void extra_state() {
    print_head("Sec. 4.2: P = N = 4, a = (0, 0, 0, 1.1), d = 1", {"rank", "queue", "R1", "R2", "R3", "R4", "R5", "R6"});
    print_queues(schedules::generate({4, 4, rank(0), time_ns(10), {time_ns(0), time_ns(0), time_ns(0), time_ns(11)}}),
                 4);
}

void one_per_round() {
    constexpr std::int32_t p = 64;
    constexpr std::int32_t shown = 13;
    constexpr std::int64_t rounds = 11;
    schedules::instance in{p, 6, rank(0), time_ns(1), {}};
    for (std::int32_t r = 0; r < p; ++r) in.arrivals.emplace_back(r);
    const schedules::rounds made = schedules::generate(in);
    std::vector<std::string> head{""};
    for (std::int32_t r = 0; r < shown; ++r) head.push_back(fmt::format("p{}", r));
    print_head("Fig. 1: the round in which a process sends a segment, one arriving per round, N = 6", head);
    for (std::uint32_t s = 0; s < in.segments; ++s) {
        std::vector<std::string> row(shown + 1);
        row[0] = fmt::format("s{}", s);
        for (std::size_t k = 0; k < made.busy.size() && made.busy[k].number < rounds; ++k)
            for (const schedules::transfer& t : made.transfers_of(k))
                if (t.segment == s && t.from < shown)
                    row[static_cast<std::size_t>(t.from) + 1] = fmt::format("{}", made.busy[k].number + 1);
        print_row(row);
    }
}

}  // namespace

void proficz_ocetkiewicz_2020() {
    extra_state();
    one_per_round();
}

}  // namespace reproduction
