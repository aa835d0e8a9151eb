#include "dropin/preload/session.hpp"

#include "base/core/build.hpp"
#include "base/core/hosts.hpp"
#include "dropin/observe/notes.hpp"
#include "dropin/observe/observation.hpp"
#include "dropin/preload/gateway.hpp"
#include "dropin/preload/gather_bytes.hpp"
#include "dropin/preload/native_requests.hpp"
#include "dropin/preload/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <unistd.h>

namespace rubato::dropin {
namespace {

using engine::check;

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::string library_line() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    engine::check(PMPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    const std::string_view all(text.data());
    return std::string(all.substr(0, all.find('\n')));
}

/// By a program that has the same settings.
bool was_spawned() {
    MPI_Comm parent = MPI_COMM_NULL;
    return PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

/// An absolute path, which stays right if the program changes its working folder.
std::string absolute_output(const std::string& said) {
    std::string name = said;
    if (name.empty()) name = fmt::format("rubato-{}-{}.rubato", program_invocation_short_name, getpid());
    if (!said.empty() && was_spawned()) name += fmt::format(".spawned-{}", getpid());
    return std::filesystem::absolute(name).string();
}

std::string absolute_profile(std::string name) {
    if (was_spawned()) name += fmt::format(".spawned-{}", program_invocation_short_name);
    return std::filesystem::absolute(name).string();
}

/// A file in the working folder is shown without the folder, as people type it.
std::string shown(const std::filesystem::path& file) {
    std::error_code none;
    return file.parent_path() == std::filesystem::current_path(none) ? file.filename().string() : file.string();
}

/// Checked on rank 0's host, which stands for all.
void check_core(const std::optional<int>& core) {
    const long cores = sysconf(_SC_NPROCESSORS_CONF);
    if (core && *core >= cores)
        throw error(fmt::format("RUBATO_BACKGROUND_CORE={}", *core), fmt::format("{} cores are here", cores),
                    "give one of 0 and up, below that");
}

/// A mistyped variable would otherwise be ignored without notice.
void warn_of_unknown(const variables& said) {
    for (const auto& [name, value] : said)
        if (std::ranges::find(setting_rows(), name, &setting_row::variable) == setting_rows().end())
            std::fprintf(stderr, "rubato: %s is no setting, and is ignored; 'rubato exec --help' lists them\n",
                         name.c_str());
}

/// What a user names is used, even if Rubato itself would not.
void warn_of_differing_bits(const settings& how, const std::optional<rules>& by) {
    if (how.reproducible) return;  // floating-point numbers are left to the MPI library
    std::vector<std::string> warnings;
    if (by) warnings = cautions(*by);
    for (const algorithm* const a : how.force)
        if (const auto said = caution(*a)) warnings.push_back(*said);
    for (const std::string& w : warnings) std::fprintf(stderr, "rubato: %s\n", w.c_str());
}

/// What ranks do together has failed on this one: the others wait for it.
[[noreturn]] void end_all(const std::exception& e) noexcept {
    std::fprintf(stderr, "rubato: %s\n", e.what());
    PMPI_Abort(MPI_COMM_WORLD, 2);
    std::abort();
}

/// What all ranks have found alike.
void say_once(const std::exception& e) noexcept {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::fprintf(stderr, "rubato: %s\n", e.what());
}

std::terminate_handler programs_handler = nullptr;

/// Some destructors need memory, such as those of JSON's objects. Where that fails there is nothing to catch; but who
/// reads the error should know that it is ours.
[[noreturn]] void end_or_terminate() {
    try {
        if (inside && std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::exception& e) {
        end_all(e);
    } catch (...) {
        // It is none of ours.
    }
    programs_handler();
    std::abort();
}

/// Thrown on all ranks.
struct wrong_settings : error {
    using error::error;
};

}  // namespace

session::session(time_ns begin) : begin_(begin), comm_(std::make_unique<engine::private_communicator>(MPI_COMM_WORLD)) {
    compare_builds();
    pass_graph_tags(MPI_COMM_WORLD);
    rank_ = engine::rank_in(comm_->get());
    ranks_ = engine::size_of(comm_->get());
    own_ = address_range::of(reinterpret_cast<const void*>(&mpi::run_native));
    agree_on_settings();
    const time_ns together = own_time();
    hosts_ = engine::hosts_of(comm_->get());
    pilots_.know_hosts(hosts_);
    help_started();
    // Both make a communicator and talk to all ranks. The rank that was last to come has not waited.
    std::int64_t took = (own_time() - together).count();
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_INT64_T, MPI_MIN, comm_->get()), "MPI_Allreduce");
    pilots_.expect(time_ns(took));
    // Before anything is measured.
    runs_.begin(comm_->get(), settings_,
                {program_invocation_short_name, ranks_, dropin::ranks_per_host(hosts_), library_line()});
    if (!runs_.from().file.empty() && notes_.recorder() != nullptr) notes_.recorder()->note(to_line(runs_.from()));
    if (rank_ != 0) {
        try {
            start_recording();
        } catch (const std::exception& e) {
            notes_.warn(fmt::format("rank {} records nothing: {}", rank_, e.what()));
        }
    }
    add_common_time();
    if (settings_.watchdog.limit > time_ns{}) start_watching();
}

session::~session() = default;

/// The first that ranks say to each other. It must never change: later and earlier builds say it, too.
void session::compare_builds() const {
    std::array<std::int64_t, 2> least{base::source_hash(), -base::source_hash()};
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, least.data(), 2, MPI_INT64_T, MPI_MIN, comm_->get()), "MPI_Allreduce");
    if (least[0] != -least[1]) throw different_builds();
}

/// Rank 0 says what its settings are, or what is wrong with them.
void session::agree_on_settings() {
    variables said;
    std::string wrong;
    std::string rules_text;
    if (rank_ == 0) {
        run_ = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
        try {
            said = variables_of_environment();
            settings_ = parse_settings(said);
            check_core(settings_.background.core);
            warn_of_unknown(said);
            const bool named = !settings_.output.empty();
            settings_.output = said["RUBATO_OUTPUT"] = absolute_output(settings_.output);
            if (!settings_.model.empty()) said["RUBATO_MODEL"] = settings_.model;
            std::optional<rules> by;
            if (settings_.mode == mode::rules) by = rules::read(settings_.rules);
            if (by) rules_text = to_string(*by);
            warn_of_differing_bits(settings_, by);
            if (!settings_.profile.empty()) {
                settings_.profile = said["RUBATO_PROFILE"] = absolute_profile(settings_.profile);
                if (settings_.mode == mode::automatic) check_profile(settings_.profile);
            }
            try {
                check_output(settings_.output, settings_.every_call.has_value());
                start_recording();
                const auto said_mode = said.find("RUBATO_MODE");
                const std::string_view name = said_mode == said.end() ? "observe" : std::string_view(said_mode->second);
                const bool by_rules = settings_.mode == mode::rules;  // a file's name may need quotes
                notes_.recorder()->note(fmt::format(R"({{"mode":"{}"}})", by_rules ? "rules" : name));
                notes_.recorder()->note(to_line(dropin::begin_of_this()));
            } catch (const std::exception& e) {
                if (named) throw;
                notes_.warn(fmt::format("nothing is recorded: {}", e.what()));
            }
        } catch (const std::exception& e) {
            wrong = e.what();
        }
    }
    wrong = engine::broadcast(comm_->get(), std::move(wrong));
    if (!wrong.empty()) throw wrong_settings(wrong);
    engine::check(PMPI_Bcast(&run_, 1, MPI_UINT64_T, 0, comm_->get()), "MPI_Bcast");
    std::string text;
    for (const auto& [name, value] : said) text += fmt::format("{}={}{}", name, value, '\0');
    text = engine::broadcast(comm_->get(), std::move(text));
    if (rank_ != 0) {
        for (std::string_view left = text; !left.empty(); left.remove_prefix(left.find('\0') + 1)) {
            const std::string_view one = left.substr(0, left.find('\0'));
            said.emplace(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
        }
        settings_ = parse_settings(said);
    }
    if (settings_.mode != mode::observe) mpi::set_background(settings_.background);
    std::shared_ptr<const rules> by;
    if (settings_.mode == mode::rules)
        by = std::make_shared<rules>(
            rules::parse(engine::broadcast(comm_->get(), std::move(rules_text)), settings_.rules));
    pilots_.prepare(
        settings_, std::move(by), [this] { return clock_.now(); }, begin_);
}

/// On one host ranks need their cores. Each rank decides alone: the calls stay native.
void session::help_started() {
    int level = MPI_THREAD_SINGLE;
    engine::check(PMPI_Query_thread(&level), "MPI_Query_thread");
    const bool has_thread = pilots_.how().background && level == MPI_THREAD_MULTIPLE;
    if (settings_.mode != mode::automatic || !has_thread || !base::on_several_hosts(hosts_)) return;
    started_natively().help_on(comm_->get());
    pilots_.help_started(true);
}

void session::start_recording() {
    notes_.start(settings_.output, {rank_, ranks_, program_invocation_short_name, host_name(), library_line()},
                 {.watched = settings_.watchdog.limit > time_ns{}, .run = run_, .every_call = settings_.every_call});
}

void session::start_watching() {
    if (notes_.recorder() == nullptr) return;  // which was said
    try {
        dog_ = std::make_unique<watchdog>(
            *notes_.recorder(), watched_run{settings_.output, rank_, ranks_, base::on_several_hosts(hosts_), run_},
            settings_.watchdog);
    } catch (const std::exception& e) {
        notes_.warn(fmt::format("rank {} has no watchdog: {}", rank_, e.what()));
    }
}

void session::add_common_time() {
    engine::synchronise(comm_->get(), 0, clock_, {.first = 10, .again = 5});
    notes_.alone([&](dropin::recorder& to) {
        const time_ns own = clock_.own();
        to.common_time(own, clock_.to_common(own));
    });
}

/// The report needs a model to estimate the times of other algorithms.
void session::note_network() {
    if (ranks_ < 2) return;
    std::optional<model> network;
    if (settings_.model.empty()) network = network_of(comm_->get(), hosts_);
    if (rank_ != 0) return;
    notes_.alone([&](dropin::recorder& to) {
        to.note(fmt::format(R"({{"model":"{}"}})", network ? to_string(*network) : settings_.model));
    });
}

/// On rank 0; false if there is nothing to write.
bool session::write_parts(const std::vector<std::vector<std::byte>>& received) const {
    const std::filesystem::path file = settings_.output;
    std::vector<dropin::part> parts;
    for (const auto& bytes : received)
        if (auto one = dropin::decode(bytes)) parts.push_back(std::move(*one));
    if (parts.empty()) return false;
    const dropin::observation all = dropin::summarise(parts);
    dropin::remove_calls(file);
    dropin::write(all, file);
    std::uint64_t calls = all.lost;
    for (const dropin::row& r : all.rows) calls += r.calls;
    std::fputs(fmt::format("rubato: {} call sites, {} calls: rubato report {}\n", all.sites.size(), calls, shown(file))
                   .c_str(),
               stderr);
    return true;
}

void session::write_file() {
    std::vector<std::byte> mine;
    notes_.alone([&](const dropin::recorder& from) { mine = from.bytes(); });
    const std::vector<std::vector<std::byte>> received = gather_bytes(comm_->get(), mine);
    int written = 0;
    if (rank_ == 0) {
        dog_.reset();  // all ranks have come
        try {
            written = write_parts(received) ? 1 : 0;
        } catch (const std::exception& e) {
            std::fprintf(stderr, "rubato: %s; what each rank saw is in %s.parts\n", e.what(), settings_.output.c_str());
        }
    }
    engine::check(PMPI_Bcast(&written, 1, MPI_INT, 0, comm_->get()), "MPI_Bcast");
    dog_.reset();  // it writes into the part
    if (written != 0) notes_.alone([](dropin::recorder& to) { to.finish(); });
}

/// All ranks take part in each step, so an error of one of them must not make it leave some out.
void session::end() noexcept {
    if (dog_) dog_->enter({.in = dropin::waiting::finalize}, own_time());
    started_natively().end();
    try {
        pilots_.end_all();
        add_common_time();
        note_network();
        runs_.end(comm_->get());
        write_file();
        comm_.reset();
    } catch (const std::exception& e) {
        end_all(e);
    }
    dog_.reset();
}

void begin_session(time_ns begin) noexcept {
    programs_handler = std::set_terminate(end_or_terminate);
    try {
        auto* const made = new session(begin);  // never deleted: its communicators' attributes outlive MPI_Finalize
        running = made;
        made->communicators().prepare(MPI_COMM_WORLD);
    } catch (const different_builds& e) {
        say_once(e);
    } catch (const wrong_settings& e) {
        say_once(e);
        PMPI_Finalize();
        std::fflush(nullptr);
        _exit(2);
    } catch (const std::exception& e) {
        end_all(e);
    }
}

void end_session() noexcept {
    if (session* const s = running.exchange(nullptr)) s->end();
}

}  // namespace rubato::dropin
