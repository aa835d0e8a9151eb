// rubato watch: the report of a program that is still running, again and again.
#include "command/cli/command.hpp"
#include "command/cli/report_text.hpp"

#include <fmt/format.h>

#include <memory>
#include <thread>

#include <sys/ioctl.h>
#include <unistd.h>

namespace rubato::command {
namespace {

struct watch_options {
    std::string file{};
    std::string every = "1s";
    std::int32_t times = 0;
};

constexpr std::int32_t most_times = 1'000'000'000;

/// As many lines, and as much of each, as the terminal has.
std::string fitted(const std::string& text) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col < 2) return text;
    std::string out;
    std::size_t begin = 0;
    for (int line = 1; line < size.ws_row && begin < text.size(); ++line) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        out += text.substr(begin, std::min<std::size_t>(end - begin, size.ws_col - 1U)) + '\n';
        begin = end + 1;
    }
    return out;
}

void show(const dropin::observation& seen, const std::string& file) {
    reports::observed o = reports::look_at(seen, file);
    for (std::size_t i = 0; i < o.from.rows.size(); ++i) reports::examine_row(o, i);
    const std::string text = watched_text(o);
    constexpr std::string_view clear = "\033[H\033[2J";
    write_out(isatty(STDOUT_FILENO) != 0 ? std::string(clear) + fitted(text) : text + '\n');
}

/// When a program ends, its file takes the place of its parts. Between the two there is neither.
dropin::observation look(const std::string& file, bool first) {
    using namespace std::chrono_literals;
    try {
        return dropin::read(file);
    } catch (const error&) {
        if (first) throw;
    }
    std::this_thread::sleep_for(200ms);
    return dropin::read(file);
}

/// Until the program has ended, or `times` times.
void watch(const watch_options& o) {
    const time_ns every = parse_time(o.every);
    if (every <= time_ns{})
        throw error(fmt::format("--every {}", o.every), "there is nothing between two looks", "give a time such as 1s");
    for (std::int32_t i = 1;; ++i) {
        const dropin::observation seen = look(o.file, i == 1);
        show(seen, o.file);
        if (seen.running == 0 || i == o.times) return;
        std::this_thread::sleep_for(every);
    }
}

}  // namespace

void add_watch(CLI::App* app, int&) {
    auto o = std::make_shared<watch_options>();
    require(add_value(*app, "FILE", o->file, "", "the output that the program was given, or will write"));
    add_value(*app, "--every", o->every, "TIME", "time between two looks (default: 1s)");
    add_integer(*app, "--times", o->times, "NUMBER", 0, most_times,
                "end after so many looks (default: when the program ends)");
    add_footer(*app, R"(
Shows what 'rubato report' would show of the program so far: its diagnosis and the rows in which most time was
spent. It reads FILE.parts, into which every rank writes while it runs, and does not disturb the program. It ends
when no rank on this host runs any more. On a terminal each look replaces the one before.
Examples:
  rubato watch solver.rubato
  rubato watch solver.rubato --times 1
  rubato watch solver.rubato --every 10s --times 6)");
    when_called(*app, [o] { watch(*o); });
}

}  // namespace rubato::command
