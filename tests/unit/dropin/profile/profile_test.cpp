// Profiles: what is written is read again, and nothing else is taken for one.
#include "dropin/profile/profile.hpp"

#include "base/files/output_file.hpp"
#include "support/error_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const key solver{"solver", 4, {3, 1}, "An MPI 1.2"};
const group world = group_of(std::array{0, 1, 2, 3});

experience of_reduce(std::int64_t bytes, std::int32_t root) {
    experience e;
    e.kind = simulator::operation_of(collective::reduce, rank(root), bytes);
    e.bytes = bytes;
    e.of_native = {2ms, 10ms};
    e.arrivals = {0ns, 1us, 2us, 5ms};
    return e;
}

experience planned(std::int64_t bytes) {
    experience e;
    e.kind = simulator::operation_of(collective::allreduce, rank(0), bytes);
    e.bytes = bytes;
    e.algorithm = "allreduce/ring";
    e.segment = 8192;
    e.round_time = 7us;
    e.rolls = true;
    e.of_native = {2ms, 10ms};
    e.of_plan = {1ms, 9ms};
    return e;
}

profile some() {
    profile p;
    p.of = solver;
    p.models = {"loggp:L=1us,o=1us,g=1us,G=1ns", "hockney:alpha=2us,beta=0.5ns,gamma=0"};
    p.written = 1'700'000'000;
    p.runs = 3;
    p.put(world, planned(65536), 1'700'000'000);
    p.put(world, of_reduce(65536, 2), 1'600'000'000);
    p.put(group_of(std::array{0, 2}), planned(1 << 20), 1'700'000'000);
    return p;
}

std::string refusal(const std::string& text) {
    return error_text([&] { (void)parse(text, "x.profile"); });
}

TEST(profile, is_read_as_it_was_written) {
    const profile p = some();
    EXPECT_EQ(parse(to_text(p), "x"), p);
    profile nothing;
    nothing.of = solver;
    EXPECT_EQ(parse(to_text(nothing), "x"), nothing);
}

TEST(profile, holds_the_experiences_of_each_group) {
    const profile p = some();
    EXPECT_EQ(p.experiences_of(world).size(), 2U);
    EXPECT_EQ(p.experiences_of(group_of(std::array{0, 2})), std::vector{planned(1 << 20)});
    EXPECT_TRUE(p.experiences_of(group_of(std::array{2, 0})).empty()) << "another order is another communicator";
    EXPECT_TRUE(p.experiences_of(group_of(std::array{0, 1, 2})).empty());
}

TEST(profile, takes_the_later_of_two_experiences) {
    profile p = some();
    experience again = planned(65536 + 100);  // the same size class
    again.of_plan = {3ms, 4ms};
    p.put(world, again, 1'800'000'000);
    EXPECT_EQ(p.known.size(), 3U);
    EXPECT_EQ(p.known.at({world, again.kind}).what, again);
}

TEST(profile, that_was_cut_anywhere_is_refused) {
    const std::string text = to_text(some());
    for (std::size_t length = 0; length < text.size(); ++length)
        EXPECT_NE(refusal(text.substr(0, length)), "no error") << length;
    const std::string without_last = text.substr(0, text.rfind('\n', text.size() - 2) + 1);
    EXPECT_EQ(refusal(without_last),
              "'x.profile' is cut short: it has 3 lines of 4; remove it, and the next run writes it anew");
}

TEST(profile, that_was_changed_anywhere_is_refused) {
    const std::string text = to_text(some());
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        EXPECT_NE(refusal(changed), "no error") << i << ": " << changed.substr(i > 20 ? i - 20 : 0, 40);
        EXPECT_EQ(refusal(changed).find('\n'), std::string::npos);
    }
    EXPECT_NE(refusal(text + text), "no error");
    EXPECT_NE(refusal(text.substr(text.find('\n') + 1)), "no error");
}

TEST(profile, without_checksums_is_refused) {
    std::string text = to_text(some());
    for (std::size_t at = 0; (at = text.find(R"(,"check":")")) != std::string::npos;) text.erase(at, 27);
    ASSERT_EQ(text.find("check"), std::string::npos);
    EXPECT_NE(refusal(text).find("x.profile:1 is not as it was written"), std::string::npos) << refusal(text);
}

TEST(profile, that_makes_no_sense_is_refused) {
    const auto refuses = [](auto change) {
        profile p = some();
        change(p);
        EXPECT_NE(refusal(to_text(p)), "no error");
    };
    refuses([](profile& p) { p.of.ranks = 0; });
    refuses([](profile& p) { p.of.ranks = 3; });  // fewer than a communicator has
    refuses([](profile& p) { p.models.within = "nonsense"; });
    refuses([](profile& p) { p.models.between = "file:/etc/passwd"; });
    refuses([](profile& p) { p.put(world, of_reduce(4096, 4), 0); });
    refuses([](profile& p) {
        experience e = of_reduce(4096, 0);
        e.arrivals.pop_back();
        p.put(world, e, 0);
    });
    refuses([](profile& p) {
        experience e = of_reduce(4096, 0);
        e.arrivals[1] = -1ns;
        p.put(world, e, 0);
    });
}

TEST(profile, leaves_out_plans_that_are_unknown) {
    profile p = some();
    experience strange = planned(1 << 22);
    strange.algorithm = "allreduce/of_another_version";
    p.put(world, strange, 0);
    EXPECT_EQ(parse(to_text(p), "x"), some());
}

TEST(profile, leaves_out_plans_whose_ranks_may_round_differently) {
    profile p = some();
    experience of_an_earlier_version = planned(1 << 22);
    of_an_earlier_version.algorithm = "allreduce/dissemination";
    p.put(world, of_an_earlier_version, 0);
    EXPECT_EQ(parse(to_text(p), "x"), some());
}

TEST(profile, is_of_one_kind_of_runs) {
    const auto says = [](const key& wanted) { return error_text([&] { check_key(some(), wanted, "x.profile"); }); };
    EXPECT_EQ(says(solver), "no error");
    EXPECT_EQ(says({"other", 4, {3, 1}, "An MPI 1.2"}),
              "'x.profile' is the profile of other runs: it is of the program solver, not other; "
              "give each kind of run a file of its own");
    EXPECT_NE(says({"solver", 5, {4, 1}, "An MPI 1.2"}).find("of 4 ranks, not 5"), std::string::npos);
    EXPECT_NE(says({"solver", 4, {2, 2}, "An MPI 1.2"}).find("have 3, 1 ranks, not 2, 2"), std::string::npos);
    EXPECT_NE(says({"solver", 4, {3, 1}, "An MPI 1.3"}).find("An MPI 1.2, not An MPI 1.3"), std::string::npos);
}

TEST(profile, has_a_bound_and_the_oldest_go_first) {
    profile p = some();
    constexpr auto more = static_cast<std::int32_t>(most_experiences);
    for (std::int32_t i = 0; i < more; ++i) p.put(group_of(std::array{0, i + 1, 3}), planned(65536), 2'000'000'000);
    const profile read = parse(to_text(p), "x");
    EXPECT_EQ(read.known.size(), most_experiences);
    EXPECT_TRUE(read.experiences_of(world).empty());
    trim(p);
    EXPECT_EQ(p, read);
    trim(p, 5);
    EXPECT_EQ(p.known.size(), 5U);
}

TEST(profile, of_many_ranks_has_a_bound_of_bytes) {
    profile p;
    p.of = {"wide", 1 << 14, {1 << 14}, "An MPI"};
    experience e = planned(65536);
    e.arrivals.assign(1 << 14, 123456789ns);
    for (int i = 0; i < 200; ++i) p.put({static_cast<std::uint64_t>(i), 1 << 14}, e, i);
    const std::string text = to_text(p);
    EXPECT_LT(text.size(), most_bytes + (1 << 18));
    const profile read = parse(text, "x");
    EXPECT_GT(read.known.size(), 10U);
    EXPECT_EQ(read.known.rbegin()->first.where.members, 199U) << "the latest are kept";
}

TEST(profile, counts_ranks_per_host) {
    EXPECT_EQ(ranks_per_host(std::array{0, 1, 0, 0}), (std::vector{3, 1}));
    EXPECT_EQ(ranks_per_host(std::array{0, 0}), std::vector{2});
}

class profile_folder : public testing::Test {
protected:
    profile_folder() { fs::create_directories(folder_); }
    ~profile_folder() override {
        fs::remove_all(folder_);
        restore("XDG_CACHE_HOME", cache_);
        restore("HOME", home_);
    }

    static std::optional<std::string> value_of(const char* name) {
        const char* const text = std::getenv(name);
        return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
    }
    static void restore(const char* name, const std::optional<std::string>& value) {
        if (value)
            setenv(name, value->c_str(), 1);
        else
            unsetenv(name);
    }

    fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("rubato-profiles-{}", getpid());
    std::optional<std::string> cache_ = value_of("XDG_CACHE_HOME");
    std::optional<std::string> home_ = value_of("HOME");
};

TEST_F(profile_folder, lies_in_the_cache) {
    setenv("HOME", "/home/me", 1);
    unsetenv("XDG_CACHE_HOME");
    EXPECT_EQ(default_folder(), fs::path("/home/me/.cache/rubato/profiles"));
    setenv("XDG_CACHE_HOME", "/cache", 1);
    EXPECT_EQ(default_folder(), fs::path("/cache/rubato/profiles"));
    setenv("XDG_CACHE_HOME", "relative", 1);
    EXPECT_EQ(default_folder(), fs::path("/home/me/.cache/rubato/profiles"));
    unsetenv("HOME");
    EXPECT_EQ(default_folder(), std::nullopt);
}

TEST_F(profile_folder, names_say_the_program_and_its_ranks) {
    EXPECT_TRUE(name_of(solver).starts_with("solver-4-")) << name_of(solver);
    key other = solver;
    other.hosts = {1, 3};
    EXPECT_NE(name_of(other), name_of(solver));
    other = solver;
    other.library += "1";
    EXPECT_NE(name_of(other), name_of(solver));
    for (const char* odd : {"../up", ".hidden", "-option", "", "a b\n", "\xff\xff"}) {
        const std::string name = name_of({odd, 4, {4}, "x"});
        EXPECT_EQ(name.find_first_of("/ \n\xff"), std::string::npos) << name;
        EXPECT_NE(name.find_first_of(".-"), 0U) << name;
    }
    EXPECT_LT(name_of({std::string(5000, 'x'), 4, {4}, "x"}).size(), 200U);
}

TEST_F(profile_folder, lists_profiles_and_nothing_else) {
    EXPECT_TRUE(names_in(folder_ / "none").empty());
    for (const char* name : {"b.profile", "a.profile", "c.txt", ".rubato-12-0"}) std::ofstream(folder_ / name) << "x";
    fs::create_directory(folder_ / "d.profile");
    EXPECT_EQ(names_in(folder_), (std::vector<std::string>{"a", "b"}));
}

/// Whoever reads meanwhile finds one of them, whole.
TEST_F(profile_folder, holds_one_of_those_that_are_written_at_once) {
    const std::string file = (folder_ / "x.profile").string();
    write(some(), file);
    std::vector<std::thread> writers;
    for (int w = 0; w < 4; ++w)
        writers.emplace_back([&, w] {
            profile p = some();
            p.runs = 100 + w;
            for (int i = 0; i < w; ++i) p.put({static_cast<std::uint64_t>(i), 2}, planned(4096), 1);
            for (int i = 0; i < 50; ++i) write(p, file);
        });
    for (int i = 0; i < 200; ++i) {
        const profile p = parse(text_of(file), file);
        EXPECT_TRUE(p.runs == 3 || p.known.size() == static_cast<std::size_t>(3 + p.runs - 100));
    }
    for (std::thread& w : writers) w.join();
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(profile_folder, reads_plain_files_only) {
    const auto says = [](const std::string& file) { return error_text([&] { (void)text_of(file); }); };
    EXPECT_NE(says((folder_ / "none").string()).find("No such file"), std::string::npos);
    EXPECT_NE(says(folder_.string()).find("no plain file"), std::string::npos) << says(folder_.string());
    EXPECT_NE(says("/dev/zero").find("no plain file"), std::string::npos);
    std::ofstream(folder_ / "long") << "x";
    fs::resize_file(folder_ / "long", 100 << 20);
    EXPECT_NE(says((folder_ / "long").string()).find("longer than a profile"), std::string::npos);
    const std::string mine = (folder_ / "mine").string();
    write(some(), mine);
    fs::create_symlink("mine", folder_ / "link");
    EXPECT_EQ(text_of((folder_ / "link").string()), to_text(some()));
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    EXPECT_NE(says((folder_ / "fifo").string()).find("no plain file"), std::string::npos);
    if (chown(mine.c_str(), 1234, 1234) != 0) GTEST_SKIP() << "needs root";
    EXPECT_NE(says(mine).find("it belongs to user 1234; give a copy of it that is yours"), std::string::npos);
    EXPECT_NE(says((folder_ / "link").string()).find("it belongs to user 1234"), std::string::npos);
}

}  // namespace
}  // namespace rubato::dropin
