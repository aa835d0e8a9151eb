// The command. Wrong input is one line on standard error and exit status 2.
#include "command/cli/command.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>

namespace rubato::command {
namespace {

struct subcommand {
    const char* name;
    const char* does;
    void (*add)(CLI::App*, int&);
};

constexpr std::array subcommands{
#define SUBCOMMAND(name, does) subcommand{#name, does, add_##name},
#include "command/cli/subcommands.def"
#undef SUBCOMMAND
};

/// Under mpirun all ranks find the same mistake; the first reports it for all.
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

/// Names the unexpected words, or the first that looks like an option.
std::string unexpected(const CLI::App& command, const CLI::App* chosen, bool marked) {
    std::vector<std::string> words = chosen != nullptr ? chosen->remaining(true) : std::vector<std::string>();
    std::ranges::copy(command.remaining(), std::back_inserter(words));  // those after -- at the end
    const auto option = std::ranges::find_if(words, [](const auto& w) { return w.starts_with('-') && w != "--"; });
    if (option == words.end()) return fmt::format("'{}' was not expected", fmt::join(words, " "));
    const bool runs = chosen != nullptr && chosen->get_option_no_throw("COMMAND") != nullptr;
    return fmt::format("there is no option '{}'{}", option->substr(0, option->find('=')),
                       runs && !marked ? ", and what is to be run comes after --" : "");
}

/// The words of the command line in the parser's terms: --arrivals was --pattern in some subcommands once, and
/// 'rubato help sim' is 'rubato sim --help'. What stands after -- belongs to another command.
std::vector<std::string> in_our_words(const CLI::App& command, std::vector<std::string> words) {
    constexpr std::string_view once = "--pattern";
    for (std::string& word : words) {
        if (word == "--") break;
        if (word == once || word.starts_with("--pattern=")) word.replace(0, once.size(), "--arrivals");
    }
    if (words.empty() || words.front() != "help") return words;
    if (words.size() > 2)
        throw error("help on more than one subcommand", "'rubato help' takes one", "give the name of one, such as sim");
    if (words.size() == 1 || words.back() == "help") return {"--help"};
    for (const CLI::App* sub : command.get_subcommands(nullptr))
        if (sub->get_name() == words.back()) return {words.back(), "--help"};
    throw error(fmt::format("no help on '{}'", words.back()), "there is no such subcommand", "'rubato help' lists all");
}

/// Refuses empty values, which are mistakes, most often of a script, except in the words of another command. The name
/// of a positional says what it is, so help shows no type.
void finish_options(CLI::App& command) {
    const CLI::Validator not_empty(
        [](const std::string& value) { return std::string(value.empty() ? "its value is empty" : ""); }, "");
    for (CLI::App* sub : command.get_subcommands(nullptr)) {
        finish_options(*sub);
        for (CLI::Option* option : sub->get_options()) {
            if (option->get_items_expected_max() > 0 && option->get_name() != "COMMAND") option->check(not_empty);
            if (option->get_positional()) option->type_name("");
        }
    }
}

/// What the parser says, in our words.
std::string reason_of(const CLI::ParseError& e, const CLI::App& command, const CLI::App* chosen, bool marked) {
    const bool has_more = chosen != nullptr && !chosen->remaining().empty();
    if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr ||
        (has_more && dynamic_cast<const CLI::RequiredError*>(&e) != nullptr &&
         !chosen->get_subcommands(nullptr).empty()))
        return unexpected(command, chosen, marked);
    std::string reason = e.what();
    if (const std::size_t at = reason.find(": At Most 1 required"); at != std::string::npos)
        return reason.substr(0, at) + " was given more than once";
    if (reason.starts_with("The ")) reason[0] = 't';
    return reason;
}

int run(int argc, char** argv) {
    CLI::App command(
        "Collectives that do not wait for latecomers: list, draw, verify, simulate and run their algorithms.");
    command.name("rubato");
    command.set_help_flag("-h,--help", "print this help");
    command.set_version_flag("--version", "rubato " RUBATO_VERSION, "print the version");
    command.require_subcommand(0, 1);
    add_footer(command, R"(
Examples:
  rubato exec --output run.rubato -- mpirun -n 4 ./program
  rubato report run.rubato -o report.html
  rubato exec --mode auto -- mpirun -n 4 ./program
  rubato choose reduce --ranks 16 --bytes 4MiB --arrivals single:rank=5,delay=10ms
  rubato sim reduce --ranks 16 --bytes 4MiB --arrivals single:rank=5,delay=10ms
  rubato algorithms reduce
  rubato schedule reduce/binomial --ranks 8
  rubato verify reduce/binomial
'rubato help SUBCOMMAND' tells more.)");
    int status = 0;
    for (const subcommand& s : subcommands) s.add(command.add_subcommand(s.name, s.does), status);
    finish_options(command);
    std::vector<std::string> words = in_our_words(command, {argv + 1, argv + argc});
    const bool marked = std::ranges::find(words, "--") != words.end();
    std::ranges::reverse(words);  // as the parser takes them
    try {
        command.parse(words);
        if (command.get_subcommands().empty()) write_out(command.help());
        return status;
    } catch (const CLI::Success& wanted) {
        return command.exit(wanted);  // help or version
    } catch (const CLI::ParseError& e) {
        const auto subcommands_given = command.get_subcommands();
        const CLI::App* const chosen = subcommands_given.empty() ? nullptr : subcommands_given.front();
        const std::string name = chosen == nullptr ? "" : " " + chosen->get_name();
        return fail(fmt::format("bad command line: {}; 'rubato help{}' tells what is possible",
                                reason_of(e, command, chosen, marked), name));
    }
}

}  // namespace
}  // namespace rubato::command

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a reader of our output may stop at any time
    try {
        return rubato::command::run(argc, argv);
    } catch (const std::bad_alloc&) {
        return rubato::command::fail("not enough memory: the problem is too large; give fewer ranks or segments");
    } catch (const std::exception& e) {
        return rubato::command::fail(e.what());
    }
}
