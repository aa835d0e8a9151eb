// The command. Wrong input is one line on standard error and exit status 2.
#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>

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

/// Names the words that nobody expected, or the first that looks like an option.
std::string unexpected(const CLI::App& command, const CLI::App* chosen, bool marked) {
    std::vector<std::string> words = chosen != nullptr ? chosen->remaining() : std::vector<std::string>();
    std::ranges::copy(command.remaining(), std::back_inserter(words));  // those after -- at the end
    const auto option = std::ranges::find_if(words, [](const auto& w) { return w.starts_with('-') && w != "--"; });
    if (option == words.end()) return fmt::format("'{}' was not expected", fmt::join(words, " "));
    const bool runs = chosen != nullptr && chosen->get_option_no_throw("COMMAND") != nullptr;
    return fmt::format("there is no option '{}'{}", option->substr(0, option->find('=')),
                       runs && !marked ? ", and what is to be run comes after --" : "");
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
        const bool marked = std::find(argv, argv + argc, std::string_view("--")) != argv + argc;
        if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr)
            reason = unexpected(command, chosen.empty() ? nullptr : chosen.front(), marked);
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
