// rubato profile, and the option of rubato exec.
#include "command.hpp"

#include "dropin/profile/profile.hpp"

#include <array>
#include <cstdlib>

namespace rubato {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class profile_command : public command {
protected:
    profile_command() { setenv("XDG_CACHE_HOME", path("cache").c_str(), 1); }
    ~profile_command() override { unsetenv("XDG_CACHE_HOME"); }

    static dropin::profile learned() {
        dropin::profile p;
        p.of = {"solver", 4, {3, 1}, "Open MPI v4.1.4, package: Debian"};
        p.models.between = "hockney:alpha=2us,beta=0.5ns,gamma=0";
        p.written = 1'700'000'000;
        p.runs = 3;
        dropin::experience e;
        e.kind = simulator::operation_of(collective::reduce, rank(1), 65536);
        e.bytes = 65536;
        e.algorithm = "reduce/chain";
        e.segment = 8192;
        e.of_native = {2ms, 10ms};
        e.of_plan = {1ms, 9ms};
        e.arrivals = {0ns, 1us, 5ms, 2us};
        p.put(dropin::group_of(std::array{0, 1, 2, 3}), e, p.written);
        dropin::experience left;
        left.kind = simulator::operation_of(collective::allreduce, rank(0), 1 << 20);
        left.bytes = 1 << 20;
        left.of_native = {500us, 3ms};
        p.put(dropin::group_of(std::array{2, 3}), left, p.written);
        return p;
    }
    /// Its name.
    std::string shelve(const dropin::profile& p) const {
        const std::filesystem::path folder = path("cache/rubato/profiles");
        std::filesystem::create_directories(folder);
        dropin::write(p, dropin::file_of(folder, dropin::name_of(p.of)).string());
        return dropin::name_of(p.of);
    }
};

TEST_F(profile_command, lists_what_is_in_the_cache) {
    EXPECT_NE(good("profile list").find("No profile is in " + path("cache/rubato/profiles")), std::string::npos);
    EXPECT_EQ(good_json("profile list --json"), json::array());
    const std::string name = shelve(learned());
    const std::vector<std::string> table = lines(good("profile list"));
    ASSERT_EQ(table.size(), 2U);
    EXPECT_TRUE(table[0].starts_with("NAME")) << table[0];
    EXPECT_TRUE(table[1].starts_with(name + "  solver       4  2 (3, 1)  Open MPI v4.1.4           2     3  2023-11-1"))
        << table[1];
    const json one = good_json("profile list --json").at(0);
    EXPECT_EQ(one.at("name"), name);
    EXPECT_EQ(one.at("hosts"), json({3, 1}));
    EXPECT_EQ(one.at("operations"), 2);
    EXPECT_EQ(one.at("written"), "2023-11-14T22:13:20Z");
}

TEST_F(profile_command, lists_those_that_are_damaged) {
    shelve(learned());
    write("cache/rubato/profiles/bad-2-1.profile", "{\"kind\":\"profile\"");
    const std::string text = good("profile list");
    EXPECT_NE(text.find("bad-2-1.profile:1 cannot be understood: "), std::string::npos) << text;
    const json all = good_json("profile list --json");
    EXPECT_EQ(all.at(0).at("name"), "bad-2-1");
    EXPECT_TRUE(all.at(0).contains("error"));
    EXPECT_FALSE(all.at(1).contains("error"));
    bad("profile show bad-2-1", "remove it, and the next run writes it anew");
    good("profile remove bad-2-1");
    EXPECT_EQ(good_json("profile list --json").size(), 1U);
}

TEST_F(profile_command, shows_each_operation) {
    const std::string name = shelve(learned());
    const std::string text = good("profile show " + name);
    EXPECT_TRUE(
        text.starts_with("solver: 4 ranks on 2 hosts (3, 1), Open MPI v4.1.4, package: Debian; 3 runs, written "))
        << text;
    EXPECT_NE(text.find("network between hosts: hockney:alpha=2us,beta=0.5ns,gamma=0\n"), std::string::npos) << text;
    EXPECT_NE(
        text.find("reduce     64 KiB     1      4  reduce/chain@8KiB     2.000 ms  1.000 ms          2  5.000 ms"),
        std::string::npos)
        << text;
    EXPECT_NE(
        text.find("allreduce   1 MiB     -      2  native               500.00 us         -          -         -"),
        std::string::npos)
        << text;
    EXPECT_EQ(good("profile show"), text) << "the latest";
    EXPECT_EQ(good("profile show " + path("cache/rubato/profiles/") + name + ".profile"), text);
    const json all = good_json("profile show --json");
    EXPECT_EQ(all.at("runs"), 3);
    EXPECT_EQ(all.at("model_within"), json());
    ASSERT_EQ(all.at("operations").size(), 2U);
    for (const json& one : all.at("operations")) {
        const bool planned = one.at("collective") == "reduce";
        EXPECT_EQ(one.at("ranks"), planned ? 4 : 2);
        EXPECT_EQ(one.contains("algorithm"), planned);
        EXPECT_EQ(one.at("late_rank"), planned ? json(2) : json());
        EXPECT_EQ(one.at("late_by_ns"), planned ? json(5000000) : json());
        EXPECT_EQ(one.at("root"), planned ? json(1) : json());
    }
}

TEST_F(profile_command, removes) {
    const std::string name = shelve(learned());
    dropin::profile other = learned();
    other.of.program = "other";
    shelve(other);
    bad("profile remove", "nothing to remove: ");
    bad("profile remove --all " + name, "--all with names");
    bad("profile remove " + name + " none", "there is no profile 'none'");
    EXPECT_EQ(good_json("profile list --json").size(), 2U) << "one that is missing, and nothing is removed";
    EXPECT_EQ(good("profile remove " + name), "removed " + name + "\n");
    EXPECT_EQ(good_json("profile remove --all --json").at("removed").size(), 1U);
    EXPECT_EQ(good("profile remove --all"), "There was no profile.\n");
}

TEST_F(profile_command, errors) {
    bad("profile", "'rubato help profile'");
    bad("profile frobnicate", "'frobnicate' was not expected; 'rubato help profile'");
    bad("profile list --frobnicate", "there is no option '--frobnicate'; 'rubato help profile'");
    bad("profile show", "there is no profile: none is in ");
    bad("profile show none", "'rubato profile list' lists them");
    bad("profile show ''", "its value is empty");
    bad("profile show " + path("none"), "No such file");
    bad("profile show .", "it is no plain file");
    bad("profile remove ../x", "there is no profile '../x'");
    unsetenv("XDG_CACHE_HOME");
    const outcome homeless = shell(fmt::format("env -u HOME {} profile list", RUBATO_COMMAND));
    EXPECT_EQ(homeless.status, 2);
    EXPECT_NE(homeless.err.find("rubato: there is no place for profiles: "), std::string::npos) << homeless.err;
}

TEST_F(profile_command, help_of_each_has_examples) {
    for (const char* name : {"profile", "profile list", "profile show", "profile remove"}) {
        const std::string text = good(fmt::format("{} --help", name));
        EXPECT_NE(text.find("Examples:\n  rubato profile "), std::string::npos) << text;
    }
    const std::string text = good("exec --help");
    EXPECT_NE(text.find("--profile FILE|off"), std::string::npos) << text;
    EXPECT_NE(text.find("RUBATO_PROFILE"), std::string::npos) << text;
    EXPECT_NE(text.find("  rubato exec --mode auto --profile solver.profile -- mpirun"), std::string::npos) << text;
}

TEST_F(profile_command, a_place_that_cannot_be_is_refused_before_anything_runs) {
    const auto refuses = [this](const std::string& place, std::string_view why) {
        bad(fmt::format("exec --mode auto --profile {} -- touch {}", place, path("it ran")), why);
        EXPECT_FALSE(std::filesystem::exists(path("it ran"))) << place;
    };
    refuses(path("none/x"), "there is no folder");
    refuses("/dev/null", "it is a device or a pipe");
    refuses(path(""), "a file needs a name");
    refuses("-", "a file needs a name");
    refuses("''", "its value is empty");
    std::filesystem::create_directory(path("folder"));
    refuses(path("folder"), "it is a folder");
}

}  // namespace
}  // namespace rubato
