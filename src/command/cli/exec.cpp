#include "command/cli/command.hpp"
#include "dropin/preload/settings.hpp"
#include "rubato/tuned_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include <unistd.h>
#include <csignal>

namespace rubato::command {
namespace {

using dropin::setting_row;
using dropin::variables;

struct exec_options {
    std::map<std::string, std::string, std::less<>> settings{};  ///< by variable
    bool reproducible = false;
    std::string mpi{};
    std::vector<std::string> command{};
};

/// The program that starts the ranks and passes the environment to them.
enum class launcher : std::uint8_t { open_mpi, hydra, other };

constexpr std::string_view folder_of(launcher l) { return l == launcher::hydra ? "mpich" : "openmpi"; }

/// The words after --, as they were given: the parser takes "[a,b]" for a list.
std::vector<std::string> given_command(const std::vector<std::string>& parsed) {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
    const auto mark = std::ranges::find(words, "--");
    return mark == words.end() ? parsed : std::vector<std::string>(mark + 1, words.end());
}

/// What a command prints; empty if it cannot be run.
std::string output_of(const std::string& program, const std::string& argument) {
    std::string quoted;
    for (const char c : program) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
        popen(fmt::format("'{}' {} 2>&1 </dev/null", quoted, argument).c_str(), "r"), pclose);
    std::string text;
    std::array<char, 4096> piece{};
    while (pipe && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr) text += piece.data();
    return text;
}

launcher launcher_of(const std::string& program) {
    const std::string name = std::filesystem::path(program).filename().string();
    if (!name.starts_with("mpirun") && !name.starts_with("mpiexec") && name != "orterun") return launcher::other;
    const std::string version = output_of(program, "--version");
    if (version.find("Open MPI") != std::string::npos || version.find("OpenRTE") != std::string::npos)
        return launcher::open_mpi;
    if (version.find("HYDRA") != std::string::npos) return launcher::hydra;
    throw error(fmt::format("unknown launcher '{}'", program),
                "its --version names neither Open MPI nor MPICH's Hydra, and the drop-in is built for these two",
                "use the mpirun of one of them, such as mpirun.openmpi or mpirun.mpich");
}

/// LD_PRELOAD is a list, in which names cannot contain its separators.
std::string loadable(std::string file) {
    if (file.find_first_of(" :\t") != std::string::npos)
        throw error(fmt::format("'{}' cannot be preloaded", file), "its path has a space or a colon",
                    "install rubato in a folder without");
    return file;
}

/// Beside this command: where it was built, or where it is installed.
std::string library_for(std::string_view folder) {
    const std::filesystem::path here = std::filesystem::canonical("/proc/self/exe").parent_path();
    const std::string file = fmt::format("{}/librubato_preload.so", folder);
    for (const std::filesystem::path& place : {here / "preload" / file, here / "presets/mpich/preload" / file,
                                               here / ".." / RUBATO_LIBDIR / "rubato" / file})
        if (std::filesystem::exists(place)) return loadable(std::filesystem::canonical(place).string());
    throw error(fmt::format("there is no drop-in for {}", folder == "mpich" ? "MPICH" : "Open MPI"),
                fmt::format("'{}' is not beside this command", file),
                folder == "mpich" ? "install mpicc.mpich and build again" : "build again with Open MPI");
}

/// The settings of this command's environment and, before these, of its options.
variables settings_of(const exec_options& o) {
    variables all = dropin::variables_of_environment();
    for (const auto& [name, value] : o.settings) all[name] = value;
    if (o.reproducible) all["RUBATO_REPRODUCIBLE"] = "1";
    const dropin::settings parsed = dropin::parse_settings(all);
    // Ranks may be in other folders, and on hosts that do not have the file.
    const auto network = all.find("RUBATO_MODEL");
    if (network != all.end() && network->second != "measured")
        network->second = rubato::to_string(parse_model(network->second));
    if (parsed.mode == dropin::mode::rules) {
        (void)rules::read(parsed.rules);
        all["RUBATO_MODE"] = fmt::format("rules={}", std::filesystem::absolute(parsed.rules).string());
    }
    const auto output = all.find("RUBATO_OUTPUT");
    if (output != all.end()) {
        output->second = std::filesystem::absolute(output->second).string();
        dropin::check_output(output->second, parsed.every_call.has_value());
    }
    if (!parsed.profile.empty()) {
        std::string& profile = all["RUBATO_PROFILE"];
        profile = std::filesystem::absolute(profile).string();
        if (parsed.mode == dropin::mode::automatic) dropin::check_profile(profile);
    }
    return all;
}

void refuse_other_preload(const std::vector<std::string>& command) {
    for (const std::string& word : command)
        if (word.starts_with("LD_PRELOAD"))
            throw error(fmt::format("'{}' in the command", word), "the ranks are given one LD_PRELOAD, by rubato",
                        "set LD_PRELOAD in the environment of 'rubato exec': it is kept behind rubato's");
}

/// The command with the launcher's options that pass the variables to the ranks only. Open MPI needs them for each of
/// the programs between colons, Hydra once for all.
std::vector<std::string> with_exports(launcher l, const variables& all, const std::vector<std::string>& command) {
    std::vector<std::string> words;
    for (const std::string& word : command) {
        if (l == launcher::open_mpi && (word == "--app" || word == "-app"))
            throw error(fmt::format("'{}' in the command", word),
                        "Open MPI gives programs in a file none of the variables that are set here",
                        "name the programs in the command, between colons");
        words.push_back(word);
        if (words.size() > 1 && (l != launcher::open_mpi || word != ":")) continue;
        for (const auto& [name, value] : all) {
            if (l == launcher::open_mpi)
                words.insert(words.end(), {"-x", fmt::format("{}={}", name, value)});
            else
                words.insert(words.end(), {"-genv", name, value});
        }
    }
    return words;
}

[[noreturn]] void become(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::signal(SIGPIPE, SIG_DFL);  // as the command would have it without us
    execvp(words[0], words.data());
    throw error(fmt::format("cannot run '{}'", command.front()), std::strerror(errno), "check its name");
}

void execute(const exec_options& o) {
    refuse_other_preload(o.command);
    const launcher l = launcher_of(o.command.front());
    variables all = settings_of(o);
    const std::string_view folder = !o.mpi.empty() ? std::string_view(o.mpi) : folder_of(l);
    all["LD_PRELOAD"] = library_for(folder);
    if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0')
        all["LD_PRELOAD"] += fmt::format(":{}", others);
    std::vector<std::string> command = o.command;
    if (l != launcher::other) {
        command = with_exports(l, all, command);
    } else {
        fmt::print(stderr,
                   "rubato: '{}' is no launcher that is known: the drop-in for {} is preloaded into all that it runs "
                   "(--mpi chooses)\n",
                   command.front(), folder == "mpich" ? "MPICH" : "Open MPI");
        for (const auto& [name, value] : all) setenv(name.c_str(), value.c_str(), 1);
    }
    become(command);
}

std::string settings_table() {
    table rows{{"VARIABLE", "DEFAULT", "EXAMPLE", "MEANING"}};
    for (const setting_row& r : dropin::setting_rows())
        rows.push_back(
            {std::string(r.variable), std::string(r.otherwise), std::string(r.example), std::string(r.meaning)});
    return align(rows);
}

std::string type_of(const setting_row& r) {
    if (r.option == "--output") return "FILE";
    return r.option == "--profile" ? "FILE|off" : "VALUE";
}

}  // namespace

void add_exec(CLI::App* app, int&) {
    auto o = std::make_shared<exec_options>();
    for (const setting_row& r : dropin::setting_rows()) {
        if (r.variable == "RUBATO_REPRODUCIBLE") {
            add_flag(*app, std::string(r.option), o->reproducible,
                     std::string(r.meaning.substr(r.meaning.find(' ') + 1)));
            continue;
        }
        add_parsed(*app, fmt::format("{}{}", r.option == "--output" ? "-o," : "", r.option), type_of(r),
                   fmt::format("{} (default: {})", r.meaning, r.otherwise),
                   [o, variable = std::string(r.variable)](const std::string& text) { o->settings[variable] = text; });
    }
    add_choice(*app, "--mpi", o->mpi, {"openmpi", "mpich"}, "NAME", "openmpi or mpich, if the launcher does not tell");
    require(add_value(*app, "COMMAND", o->command, "", "what to run, after --"));
    add_footer(*app, fmt::format(R"(
The mpirun of Open MPI or MPICH loads the drop-in into every rank, with its settings. At the end there is a file
for 'rubato report'; if the program is killed, FILE.parts has what was seen until then. The exit status is that
of the command.
Settings may also be environment variables. Options override them:
{}Examples:
  rubato exec -- mpirun -n 4 ./program
  rubato exec --watchdog 60s --record all -- mpirun -n 4 ./program
  rubato exec --mode auto --output run.rubato -- mpirun -n 8 ./program input
  rubato exec --mode auto --profile solver.profile -- mpirun -n 8 ./program input
  rubato exec --mode force=allreduce/ring -- mpirun -n 4 ./program
  rubato exec --mode rules=cluster.rules -- mpirun -n 16 ./program
  rubato report run.rubato)",
                                 settings_table()));
    when_called(*app, [o] {
        o->command = given_command(o->command);
        execute(*o);
    });
}

}  // namespace rubato::command
