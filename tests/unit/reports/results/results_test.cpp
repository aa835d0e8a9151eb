#include "reports/results/results.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace rubato::reports {
namespace {

class results_file : public testing::Test {
protected:
    results_file()
        : name_((std::filesystem::temp_directory_path() / fmt::format("rubato-results-{}", getpid())).string()) {
        std::filesystem::remove(name_);
    }
    ~results_file() override { std::filesystem::remove(name_); }

    std::vector<run> read_back() const { return read(std::vector{name_}); }
    void append(std::string_view text) const { std::ofstream(name_, std::ios::app) << text; }
    std::string problem_of_reading() const {
        try {
            read_back();
        } catch (const error& e) {
            return e.what();
        }
        return "none";
    }

    std::string name_;
};

TEST_F(results_file, gives_back_what_was_written) {
    using namespace std::chrono_literals;
    {
        recorder w(name_, recorder::existing::refuse);
        conditions c;
        c.command = "rubato bench reduce";
        c.mpi_settings = {{"a", "1"}};
        c.hosts = {"x", "y", "z"};
        c.seed = UINT64_MAX;
        c.link = {5us, 0.25};
        w.add(c);
        w.add(measured_case{4, "reduce", 1 << 20, "balanced", "double", "sum", 2});
        w.add(contestant{4, "reduce/chain@8KiB", "reduce/chain", 128, 3us});
        sample s{4, "reduce/chain@8KiB", 7, stage::warmup, true, {1ns, 2ns}, {3ns, 4ns}, {5ns}, 6ns, 1};
        w.add(s);
        w.add(timeline{4, "native", {1ns}, {9ns}, {{{"send", 3, 2ns, 5ns}}}});
        w.add(overlap{4, "native", 1, "thread", 9, 5ns, 4ns, 3ns, 2ns, 1ns, 8ns});
        w.add_clock(77ns);
        EXPECT_FALSE(w.recorded().cases[0].done);
        w.add_done(4);
        EXPECT_TRUE(w.recorded().cases[0].done);
    }
    const std::vector<run> runs = read_back();
    ASSERT_EQ(runs.size(), 1U);
    const run& r = runs[0];
    EXPECT_EQ(r.file, name_);
    EXPECT_EQ(r.how.ranks(), 3);
    EXPECT_EQ(r.how.seed, UINT64_MAX);
    EXPECT_EQ(r.how.mpi_settings.at("a"), "1");
    EXPECT_EQ(r.how.link.latency, 5us);
    EXPECT_EQ(r.how.link.ns_per_byte, 0.25);
    EXPECT_EQ(r.how.clock_error, 77ns);
    ASSERT_EQ(r.cases.size(), 1U);
    EXPECT_EQ(r.cases[0].root, 2);
    EXPECT_TRUE(r.cases[0].done);
    ASSERT_EQ(r.contestants.size(), 1U);
    EXPECT_EQ(r.contestants[0].segments, 128U);
    EXPECT_EQ(r.contestants[0].round_time, 3us);
    ASSERT_EQ(r.samples.size(), 1U);
    EXPECT_EQ(r.samples[0].stage, stage::warmup);
    EXPECT_TRUE(r.samples[0].late);
    EXPECT_EQ(r.samples[0].exits, (std::vector<time_ns>{3ns, 4ns}));
    EXPECT_EQ(r.samples[0].predicted, (std::vector<time_ns>{5ns}));
    ASSERT_EQ(r.timelines.size(), 1U);
    EXPECT_EQ(r.timelines[0].steps[0][0].end, 5ns);
    ASSERT_EQ(r.overlaps.size(), 1U);
    EXPECT_EQ(r.overlaps[0].overhead, 8ns);
}

TEST_F(results_file, leaves_out_a_line_that_was_cut) {
    recorder(name_, recorder::existing::refuse).add(conditions{});
    append(R"({"kind":"sample","name":"na)");
    EXPECT_TRUE(read_back().at(0).samples.empty());
    append("\n");
    EXPECT_NE(problem_of_reading().find(":2 cannot be understood"), std::string::npos) << problem_of_reading();
}

/// Whichever byte is changed, and whichever line is missing. What a cut leaves is read up to the cut.
TEST_F(results_file, that_was_changed_is_refused) {
    using namespace std::chrono_literals;
    {
        recorder w(name_);
        w.add(conditions{});
        for (int i = 0; i < 3; ++i) w.add(sample{1, "native", i, stage::measure, false, {1ns, 20ns}, {300ns, 4000ns}});
    }
    std::ifstream in(name_);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto change = [this](const std::string& to) { std::ofstream(name_, std::ios::trunc) << to; };
    for (std::size_t n = 0; n + 1 < text.size(); ++n) {
        std::string spoilt = text;
        spoilt[n] = static_cast<char>(spoilt[n] ^ 1);
        change(spoilt);
        EXPECT_NE(problem_of_reading(), "none") << "another byte " << n << ": " << spoilt;
    }
    const std::size_t second = text.find('\n') + 1;
    const std::size_t third = text.find('\n', second) + 1;
    change(text.substr(0, second) + text.substr(third));
    EXPECT_NE(problem_of_reading().find(":2 is not as it was written"), std::string::npos) << problem_of_reading();
    change(text.substr(0, third) + text.substr(second));
    EXPECT_NE(problem_of_reading().find(":3 is not as it was written"), std::string::npos) << problem_of_reading();
    for (std::size_t n = second; n < text.size(); ++n) {
        change(text.substr(0, n));
        const auto whole = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n), '\n');
        const auto read = static_cast<std::ptrdiff_t>(read_back().at(0).samples.size());
        EXPECT_TRUE(read == whole - 1 || (text[n] == '\n' && read == whole)) << n;
    }
}

TEST_F(results_file, of_several_runs_can_be_joined) {
    {
        recorder w(name_);
        w.add(conditions{});
        w.add(sample{1, "native"});
    }
    std::ifstream in(name_);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    append(text);
    EXPECT_EQ(read_back().size(), 2U);
    append(R"({"kind":"run","started":"by a version without checksums"})"
           "\n"
           R"({"kind":"sample","name":"native"})"
           "\n");
    EXPECT_EQ(read_back().size(), 3U);
    EXPECT_EQ(read_back()[2].samples.size(), 1U);
}

TEST_F(results_file, goes_on_after_a_line_that_was_cut) {
    recorder(name_, recorder::existing::refuse).add(conditions{});
    append(R"({"kind":"sample","name":"na)");
    recorder(name_, recorder::existing::append).add(conditions{});
    EXPECT_EQ(read_back().size(), 2U);
}

TEST_F(results_file, is_not_overwritten) {
    recorder(name_, recorder::existing::refuse).add(conditions{});
    EXPECT_THROW(recorder(name_, recorder::existing::refuse), error);
    recorder(name_, recorder::existing::append).add(conditions{});
    EXPECT_EQ(read_back().size(), 2U);
}

TEST_F(results_file, of_another_kind_is_refused) {
    EXPECT_NE(problem_of_reading().find("cannot read"), std::string::npos);
    append("");
    EXPECT_NE(problem_of_reading().find("holds no run"), std::string::npos);
    append("{\"kind\":\"case\"}\n");
    EXPECT_NE(problem_of_reading().find("without a run"), std::string::npos);
    EXPECT_THROW(recorder("/no/such/folder/file", recorder::existing::refuse), error);
}

}  // namespace
}  // namespace rubato::reports
