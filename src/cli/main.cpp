// The command. Wrong input is one line on standard error and exit status 2.
#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <ranges>
#include <span>

namespace rubato::cli {
namespace {

constexpr std::array subcommands{
    add_algorithms, add_schedule, add_verify, add_sim, add_choose, add_predict, add_report, add_exec,
#ifdef RUBATO_CLI_MPI
    add_run,        add_bench,    add_loggp,
#endif
};

/// Under mpirun all ranks find the same mistake; the first says it for all.
bool speaks() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
    return true;
}

int fail(std::string message) {
    std::ranges::replace(message, '\n', ' ');
    if (speaks()) fmt::print(stderr, "rubato: {}\n", message);
    return 2;
}

/// What is wrong with words that nobody expected: of those before "--", the first that looks like an option and is
/// none.
std::string unexpected(int argc, char** argv, const CLI::App& command) {
    const std::span words(argv + 1, static_cast<std::size_t>(argc - 1));
    const auto mark = std::ranges::find(words, std::string_view("--"));
    for (const std::string_view word : std::ranges::subrange(words.begin(), mark)) {
        const std::string name(word.substr(0, word.find('=')));
        const bool looks = name.size() > 1 && name[0] == '-' && std::isdigit(static_cast<unsigned char>(name[1])) == 0;
        if (looks && command.get_option_no_throw(name) == nullptr)
            return fmt::format("there is no option '{}'{}", name,
                               mark == words.end() && command.get_option_no_throw("COMMAND") != nullptr
                                   ? ", and what is to be run comes after --"
                                   : "");
    }
    return fmt::format("'{}' was not expected", fmt::join(command.remaining(true), " "));
}

int run(int argc, char** argv) {
    CLI::App command(
        "Collectives that do not wait for latecomers: list, draw, verify, simulate and run their algorithms.");
    command.name("rubato");
    command.set_help_flag("-h,--help", "print this help");
    command.set_version_flag("--version", "rubato " RUBATO_VERSION, "print the version");
    command.require_subcommand(0, 1);
    command.footer(
        "Examples:\n"
        "  rubato algorithms reduce\n"
        "  rubato schedule reduce/binomial --ranks 8\n"
        "  rubato verify reduce/binomial\n"
        "  rubato sim reduce --ranks 16 --bytes 4MiB --arrivals single:rank=5,delay=10ms\n"
        "  rubato choose reduce --ranks 16 --bytes 4MiB --arrivals single:rank=5,delay=10ms\n"
        "  rubato report measured.jsonl -o report.html\n"
        "'rubato SUBCOMMAND --help' tells more.");
    int status = 0;
    for (const auto add : subcommands) add(command, status);
    try {
        command.parse(argc, argv);
        if (command.get_subcommands().empty()) write_out(command.help());
        return status;
    } catch (const CLI::Success& wanted) {
        return command.exit(wanted);  // help or version
    } catch (const CLI::ParseError& e) {
        std::string reason = e.what();
        if (reason.starts_with("The ")) reason[0] = 't';
        const auto chosen = command.get_subcommands();
        if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr)
            reason = unexpected(argc, argv, chosen.empty() ? command : *chosen.front());
        return fail(fmt::format("bad command line: {}; 'rubato{}{} --help' tells what is possible", reason,
                                chosen.empty() ? "" : " ", chosen.empty() ? "" : chosen.front()->get_name()));
    }
}

}  // namespace
}  // namespace rubato::cli

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // who reads us may stop at any time
    try {
        return rubato::cli::run(argc, argv);
    } catch (const std::bad_alloc&) {
        return rubato::cli::fail("not enough memory: the problem is too large; give fewer ranks or segments");
    } catch (const std::exception& e) {
        return rubato::cli::fail(e.what());
    }
}
