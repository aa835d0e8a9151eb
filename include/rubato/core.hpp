// The vocabulary of everything else: ranks, blocks, time, errors, and the text forms of sizes and times.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#if defined(_WIN32)
#error "rubato is for POSIX systems"
#endif
#define RUBATO_API __attribute__((visibility("default")))

namespace rubato {

/// A process in a communicator. Not a count, not a block.
struct rank {
    std::int32_t value = 0;

    constexpr rank() = default;
    constexpr explicit rank(std::int32_t v) : value(v) {}
    constexpr auto operator<=>(const rank&) const = default;
};

/// Index of a block within one of a schedule's buffers.
using block = std::uint32_t;

/// All time is integer nanoseconds, so that every rank on every machine computes the same.
using time_ns = std::chrono::nanoseconds;

struct span_ns {
    time_ns begin{};
    time_ns end{};
};

/// Wrong input. Its message names the problem, the reason and the way out, on one line.
class RUBATO_API error : public std::runtime_error {
public:
    error(std::string_view problem, std::string_view reason, std::string_view way_out);
    /// With the message of another error.
    explicit error(const std::string& message) : std::runtime_error(message) {}
};

/// "4MiB", "64k", "1000" (bytes). Units: B, k/kB/KB, M/MB, G/GB (1000) and Ki/KiB, Mi/MiB, Gi/GiB (1024).
RUBATO_API std::int64_t parse_bytes(std::string_view text);
/// "50us", "1.5ms", "0", "1100" (nanoseconds unless a unit is given). Units: ns, us, ms, s.
RUBATO_API time_ns parse_time(std::string_view text);
/// The same as a real number of nanoseconds, for rates such as "0.48179ns".
RUBATO_API double parse_time_exact(std::string_view text);
/// A whole number between low and high, both allowed; `what` names it in the error.
RUBATO_API std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t low,
                                      std::int64_t high);

RUBATO_API std::string format_bytes(std::int64_t bytes);
RUBATO_API std::string format_time(time_ns t);

/// ceil(log2(n)) for n >= 1: the rounds in which one can reach n.
constexpr int ceil_log2(std::int64_t n) {
    int rounds = 0;
    while ((std::int64_t{1} << rounds) < n) ++rounds;
    return rounds;
}
/// The largest power of two that is not above n, n >= 1.
constexpr std::int64_t floor_power_of_two(std::int64_t n) {
    std::int64_t power = 1;
    while (power * 2 <= n) power *= 2;
    return power;
}
constexpr bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace rubato
