#include "reports/report/analysis.hpp"
#include "reports/report/output.hpp"
#include "support/error_text.hpp"
#include "support/temporary_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

namespace rubato::reports {
namespace {

using namespace std::chrono_literals;

constexpr const char* chain = "reduce/chain@8KiB";
constexpr const char* pipeline = "native:pipeline@8KiB";

/// Three ranks, of which rank 2 is late by 100 us; all are gone after `end`, rank 1 and 2 a little earlier.
sample late_call(std::int32_t in_case, const char* name, std::int32_t repetition, time_ns end,
                 stage s = stage::measure) {
    sample out;
    out.in_case = in_case;
    out.name = name;
    out.repetition = repetition;
    out.stage = s;
    out.arrivals = {0us, 10us, 100us};
    out.exits = {end, std::max<time_ns>(10us, end - 50us), std::max<time_ns>(100us, end - 20us)};
    out.bound = 160us;
    return out;
}

sample balanced_call(std::int32_t in_case, const char* name, std::int32_t repetition, time_ns end) {
    sample out = late_call(in_case, name, repetition, end);
    out.arrivals = {0us, 0us, 0us};
    return out;
}

class report_test : public testing::Test {
protected:
    report_test() : file_("") { start(); }

    void start(std::size_t ranks = 3, const char* how = "window") {
        conditions c;
        c.start = how;
        c.hosts.assign(ranks, "here");
        c.hosts.back() = "there";
        c.started = "2024-05-01T12:00:00Z";
        out_.add(c);
    }
    void add_case(std::int32_t number, const char* pattern, std::int64_t bytes = 1 << 20) {
        out_.add(measured_case{number, "reduce", bytes, pattern, "double", "sum", 0});
        out_.add(contestant{number, chain, "reduce/chain", 128, 0ns});
        out_.add(contestant{number, "native", "", 1, 0ns});
        out_.add(contestant{number, pipeline, "", 1, 0ns});
    }
    std::vector<run> read() const { return reports::read(std::vector{file_.path()}); }
    analysis analyse() const {
        analysis a = group(read());
        for (analysed_case& c : a.cases) evaluate(c, a.references());
        relate(a);
        return a;
    }
    std::string problem() const {
        return error_text([&] { group(read()); });
    }

    temporary_file file_;
    recorder out_{file_.path(), recorder::existing::append};
};

TEST_F(report_test, measures_of_a_call) {
    add_case(1, "single:rank=2,delay=100us");
    out_.add(late_call(1, chain, 0, 200us));
    const analysis a = analyse();
    ASSERT_EQ(a.cases.size(), 1U);
    EXPECT_EQ(a.cases[0].hosts, 2U);
    const entry& e = a.cases[0].entries.front();
    EXPECT_EQ(e.name, chain);
    EXPECT_EQ(e.run_time.value, 200e3);
    EXPECT_EQ(e.tail, 100e3);
    EXPECT_EQ(e.imbalance, 100e3);
    EXPECT_EQ(e.elapsed, (200e3 + 140e3 + 80e3) / 3);
    EXPECT_EQ(e.root_exit, 200e3);
    EXPECT_EQ(e.to_bound, 1.25);
    EXPECT_EQ(e.remarks, std::vector<std::string_view>{"few"});
    EXPECT_FALSE(e.first_call);
    EXPECT_FALSE(e.prediction_error);
}

TEST_F(report_test, only_measured_and_timely_samples_count) {
    add_case(1, "single:rank=2,delay=100us");
    out_.add(late_call(1, chain, 0, 900us, stage::warmup));
    out_.add(late_call(1, chain, 1, 700us, stage::warmup));
    out_.add(late_call(1, chain, 0, 800us, stage::screen));
    sample late = late_call(1, chain, 0, 600us);
    late.late = true;
    out_.add(late);
    out_.add(late_call(1, chain, 1, 210us));
    out_.add(late_call(1, chain, 2, 230us));
    out_.add(late_call(1, "native", 0, 300us, stage::screen));
    out_.add(late_call(1, "native", 1, 500us, stage::screen));
    late.name = pipeline;
    out_.add(late);
    const analysis a = analyse();
    const analysed_case& c = a.cases[0];
    ASSERT_EQ(c.entries.size(), 3U);
    EXPECT_EQ(c.entries[0].name, chain);
    EXPECT_EQ(c.entries[0].run_time.value, 220e3);
    EXPECT_EQ(c.entries[0].first_call, 900e3);
    EXPECT_EQ(c.entries[0].late, 1U);
    EXPECT_FALSE(c.entries[0].screened_only);
    EXPECT_EQ(c.entries[1].name, "native");
    EXPECT_TRUE(c.entries[1].screened_only);
    EXPECT_EQ(c.entries[1].run_time.value, 400e3);
    EXPECT_EQ(c.entries[2].name, pipeline);
    EXPECT_TRUE(c.entries[2].calls.empty());
    // Neither can be compared with.
    EXPECT_EQ(c.reference(best_native), nullptr);
    EXPECT_EQ(c.reference(native_default), nullptr);
    EXPECT_EQ(c.reference(best_rubato), &c.entries[0]);
    EXPECT_TRUE(c.entries[1].to_reference.empty());
}

TEST_F(report_test, calls_of_one_repetition_are_compared_as_pairs) {
    add_case(1, "balanced");
    // Every repetition is disturbed by so much that only pairs tell that the chain takes half as long.
    for (int i = 0; i < 12; ++i) {
        const time_ns disturbed = 100us * (1 << i);
        out_.add(balanced_call(1, chain, i, disturbed));
        out_.add(balanced_call(1, "native", i, 2 * disturbed));
        out_.add(balanced_call(1, pipeline, i + 100, 4 * disturbed));
    }
    const analysis a = analyse();
    const entry& ours = *a.cases[0].find(chain);
    const versus& paired = ours.to_reference.at("native");
    EXPECT_EQ(paired.pairs, 12U);
    EXPECT_EQ(paired.is.ratio.value, 0.5);
    EXPECT_LT(paired.is.p, 0.001);
    const versus& unpaired = a.cases[0].find(pipeline)->to_reference.at("native");
    EXPECT_EQ(unpaired.pairs, 0U);
    EXPECT_EQ(unpaired.is.ratio.value, 2);
    EXPECT_GT(unpaired.is.p, 0.05);
    EXPECT_EQ(a.cases[0].reference(best_native)->name, "native");
    EXPECT_EQ(ours.to_reference.count("best Rubato"), 0U) << "nobody is compared with itself";
}

TEST_F(report_test, runs_under_other_conditions_are_kept_apart) {
    add_case(1, "balanced");
    out_.add(balanced_call(1, chain, 0, 100us));
    start(3, "barrier");
    add_case(1, "balanced");
    out_.add(balanced_call(1, chain, 0, 900us));
    const analysis a = analyse();
    ASSERT_EQ(a.cases.size(), 2U);
    EXPECT_EQ(a.cases[0].in.conditions, "start=barrier");
    EXPECT_EQ(a.cases[0].entries.front().run_time.value, 900e3);
    EXPECT_EQ(a.cases[1].in.conditions, "start=window");
}

TEST_F(report_test, what_is_alike_in_several_runs_is_put_together) {
    add_case(1, "balanced");
    out_.add(balanced_call(1, chain, 0, 100us));
    start();
    add_case(7, "balanced", 4096);
    add_case(8, "balanced");
    out_.add(balanced_call(7, chain, 0, 10us));
    out_.add(balanced_call(8, chain, 0, 300us));
    const analysis a = analyse();
    ASSERT_EQ(a.cases.size(), 2U);
    EXPECT_EQ(a.cases[0].bytes, 4096);
    EXPECT_EQ(a.cases[1].find(chain)->calls.size(), 2U);
    EXPECT_EQ(a.cases[1].find(chain)->run_time.value, 200e3);
    EXPECT_EQ(summary(a), "3 ranks on 2 hosts: 2 cases of reduce, measured 2024-05-01T12:00:00Z");
}

TEST_F(report_test, other_numbers_of_ranks_are_other_cases) {
    add_case(1, "balanced");
    out_.add(balanced_call(1, chain, 0, 100us));
    start(2);
    add_case(1, "balanced");
    sample two = balanced_call(1, chain, 0, 100us);
    two.arrivals.pop_back();
    two.exits.pop_back();
    out_.add(two);
    const analysis a = analyse();
    ASSERT_EQ(a.cases.size(), 2U);
    EXPECT_EQ(a.cases[0].in.ranks, 2);
    EXPECT_EQ(a.cases[1].in.ranks, 3);
}

TEST(versus, says_only_what_test_and_interval_show) {
    const auto verdict = [](double low, double high, double p, std::size_t pairs) {
        return versus{{{(low + high) / 2, low, high}, p}, pairs}.verdict();
    };
    EXPECT_EQ(verdict(0.8, 0.9, 0.03, 6), "faster");
    EXPECT_EQ(verdict(1.1, 1.2, 0.03, 0), "slower");
    EXPECT_EQ(verdict(0.8, 1.0, 0.03, 6), "not significant");
    EXPECT_EQ(verdict(0.8, 0.9, 0.06, 6), "not significant");
    EXPECT_EQ(verdict(0.8, 0.9, 0.06, 5), "too few to say");
    EXPECT_EQ(verdict(0.8, 0.9, 0.06, 0), "not significant");
}

TEST_F(report_test, absorption_needs_the_balanced_case) {
    add_case(1, "single:rank=2,delay=100us");
    out_.add(late_call(1, chain, 0, 200us));
    EXPECT_FALSE(analyse().cases[0].find(chain)->absorption);
    add_case(2, "balanced");
    out_.add(balanced_call(2, chain, 0, 150us));
    const analysis a = analyse();
    ASSERT_EQ(a.cases.size(), 2U);
    EXPECT_EQ(a.cases[0].pattern, "balanced");
    EXPECT_FALSE(a.cases[0].find(chain)->absorption);
    // 150 alone; late by 100 it takes 200: 50 of the 100 were absorbed.
    EXPECT_DOUBLE_EQ(a.cases[1].find(chain)->absorption->value, 50. / 150);
}

TEST_F(report_test, absorption_is_that_of_each_call) {
    add_case(1, "uniform:max=100us,seed=1");
    add_case(2, "balanced");
    out_.add(balanced_call(2, chain, 0, 150us));
    // Late by 100, by 200, ...: whatever the delay, 50 of it is absorbed.
    for (int i = 1; i <= 7; ++i) {
        sample s = late_call(1, chain, i, 200us);
        for (auto* times : {&s.arrivals, &s.exits})
            for (time_ns& t : *times)
                if (t >= 100us) t += (i - 1) * 100us;
        out_.add(s);
    }
    const analysis a = analyse();
    const base::estimate& share = *a.cases[1].find(chain)->absorption;
    EXPECT_DOUBLE_EQ(share.low, 50. / 150);
    EXPECT_DOUBLE_EQ(share.high, 50. / 150);
}

TEST_F(report_test, predictions_are_compared_with_arrivals) {
    add_case(1, "single:rank=2,delay=100us");
    sample s = late_call(1, chain, 0, 200us);
    s.predicted = {0us, 0us, 80us};
    s.begun_early = 2;
    out_.add(s);
    const analysis a = analyse();
    EXPECT_EQ(a.cases[0].find(chain)->prediction_error, 10e3);
    EXPECT_EQ(a.cases[0].find(chain)->early_ranks, 2);
}

TEST_F(report_test, a_remark_tells_that_multicast_went_by_a_tree) {
    add_case(1, "balanced");
    for (int i = 1; i <= 2; ++i) {
        sample s = late_call(1, chain, i, 200us);
        s.by_tree = i == 1 ? "all ranks are on one host" : "";
        out_.add(s);
        const std::string_view expected = i == 1 ? "by a tree" : "some by a tree";
        EXPECT_EQ(analyse().cases[0].find(chain)->remarks.front(), expected);
    }
}

TEST_F(report_test, hidden_is_what_the_blocking_call_took) {
    add_case(1, "balanced");
    overlap o;
    o.in_case = 1;
    o.name = chain;
    o.method = "blocking";
    o.total = 100us;
    out_.add(o);
    o.method = "thread";
    o.total = 225us;
    o.computation = 200us;
    o.overhead = 7us;
    o.initiation = 1us;
    o.testing = 2us;
    o.waiting = 3us;
    out_.add(o);
    const analysis a = analyse();
    ASSERT_EQ(a.cases[0].overlaps.size(), 2U);
    EXPECT_FALSE(a.cases[0].overlaps[0].hidden);
    EXPECT_EQ(a.cases[0].overlaps[1].hidden, 0.75);
    EXPECT_EQ(a.cases[0].overlaps[1].overhead, 7e3);
    EXPECT_EQ(a.cases[0].overlaps[1].in_calls, 6e3);
}

TEST_F(report_test, a_model_is_asked_for_the_measured_arrivals) {
    add_case(1, "single:rank=2,delay=100us", 1000);
    // A chain of 3 in one piece: rank 2 sends at 100 us, rank 1 combines and sends. 2 (alpha + m beta).
    out_.add(contestant{1, "reduce/chain@all", "reduce/chain", 1, 0ns});
    out_.add(late_call(1, "reduce/chain@all", 0, 200us));
    out_.add(contestant{1, "reduce/unheard_of", "reduce/unheard_of", 1, 0ns});
    out_.add(late_call(1, "reduce/unheard_of", 0, 200us));
    out_.add(late_call(1, "native", 0, 200us));
    analysis a = analyse();
    check_model(a.cases[0], parse_model("hockney:alpha=10us,beta=5ns,gamma=0"));
    const entry& e = *a.cases[0].find("reduce/chain@all");
    ASSERT_TRUE(e.model);
    EXPECT_EQ(e.model->predicted, 130e3);
    EXPECT_DOUBLE_EQ(e.model->error, -0.35);
    EXPECT_FALSE(a.cases[0].find("native")->model);
    EXPECT_FALSE(a.cases[0].find("reduce/unheard_of")->model);
    const auto s = summarise_model(a);
    ASSERT_TRUE(s);
    EXPECT_EQ(s->rows, 1U);
    EXPECT_DOUBLE_EQ(s->worst, 0.35);
}

TEST_F(report_test, the_front_of_time_energy_and_memory) {
    add_case(1, "balanced", 100000);
    // 0.5 W of 3 ranks, 16.5 uJ for each message and 8.1 nJ for each byte; a descriptor of 32 bytes for each message.
    out_.add(contestant{1, "reduce/linear", "reduce/linear", 1, 0ns});
    out_.add(contestant{1, "reduce/chain@all", "reduce/chain", 1, 0ns});
    out_.add(contestant{1, "reduce/chain@4", "reduce/chain", 4, 0ns});
    out_.add(balanced_call(1, "reduce/linear", 0, 300us));
    out_.add(balanced_call(1, "reduce/chain@all", 0, 270us));
    out_.add(balanced_call(1, "reduce/chain@4", 0, 250us));
    out_.add(balanced_call(1, "native", 0, 200us));
    analysis a = analyse();
    check_model(a.cases[0], parse_model("loggp:L=90us,o=1us,g=1us,G=1ns"));
    const auto of = [&a](std::string_view name) { return a.cases[0].find(name)->model.value(); };
    const double bytes = 2 * 100000 * 8.1e-9;
    EXPECT_NEAR(of("reduce/chain@all").energy_j, 405e-6 + 2 * 16.5e-6 + bytes, 1e-12);
    EXPECT_NEAR(of("reduce/chain@4").energy_j, 375e-6 + 8 * 16.5e-6 + bytes, 1e-12);
    EXPECT_EQ(of("reduce/chain@all").memory, 32);
    EXPECT_EQ(of("reduce/chain@4").memory, 4 * 32);
    EXPECT_TRUE(of("reduce/chain@4").on_front) << "the fastest";
    EXPECT_TRUE(of("reduce/chain@all").on_front) << "less energy and memory";
    EXPECT_FALSE(of("reduce/linear").on_front) << "the same messages, but slower";
}

TEST_F(report_test, a_model_chooses_among_what_was_measured) {
    add_case(1, "balanced", 100000);
    // Two messages one after the other, or both at once through the root's link: the same time, but for the latency.
    out_.add(contestant{1, "reduce/linear", "reduce/linear", 1, 0ns});
    out_.add(contestant{1, "reduce/chain@all", "reduce/chain", 1, 0ns});
    out_.add(balanced_call(1, "reduce/linear", 0, 300us));
    out_.add(balanced_call(1, "reduce/chain@all", 0, 270us));
    out_.add(balanced_call(1, "native", 0, 200us));
    analysis a = analyse();
    check_choice(a.cases[0], parse_model("loggp:L=90us,o=1us,g=1us,G=1ns"));
    ASSERT_TRUE(a.cases[0].choice);
    EXPECT_EQ(a.cases[0].choice->picked, "reduce/linear");
    EXPECT_EQ(a.cases[0].choice->fastest, "native");
    EXPECT_DOUBLE_EQ(a.cases[0].choice->ratio, 1.5);
    EXPECT_FALSE(a.cases[0].choice->good());
}

TEST(report, names_are_enumerated) {
    EXPECT_EQ(enumerate({"a"}), "a");
    EXPECT_EQ(enumerate({"a", "b"}), "a and b");
    EXPECT_EQ(enumerate({"a", "b", "c"}, "or"), "a, b or c");
}

TEST(report_pattern, has_a_place_among_those_like_it) {
    const auto same = [](const char* pattern, const char* family, std::optional<double> delay) {
        const pattern_family p = family_of(pattern);
        EXPECT_EQ(p.name, family) << pattern;
        EXPECT_EQ(p.delay_ns, delay) << pattern;
    };
    same("balanced", "balanced", 0);
    same("single:rank=3,delay=5ms", "single:rank=3", 5e6);
    same("uniform:max=50us,seed=1", "uniform:seed=1", 50e3);
    same("uniform:max=1us", "uniform", 1e3);
    same("alternating:even=0,odd=5ms", "alternating:even=0", 5e6);
    same("trace:delay=5.txt", "trace:delay=5.txt", std::nullopt);
    same("0,0,5ms", "0,0,5ms", std::nullopt);
}

TEST_F(report_test, files_that_contradict_themselves) {
    EXPECT_EQ(problem(), "nothing to report: no file holds a sample; let 'rubato bench' measure to its end");
    add_case(1, "balanced");
    sample s = balanced_call(2, chain, 0, 1us);
    out_.add(s);
    EXPECT_NE(problem().find("there is no case 2"), std::string::npos) << problem();
}

TEST_F(report_test, samples_need_a_time_for_each_rank) {
    add_case(1, "balanced");
    sample s = balanced_call(1, chain, 0, 1us);
    s.exits.pop_back();
    out_.add(s);
    EXPECT_NE(problem().find("has not as many times as ranks"), std::string::npos) << problem();
}

TEST_F(report_test, csv_has_a_row_for_each_rank) {
    add_case(1, "single:rank=2,delay=100us");
    sample s = late_call(1, chain, 4, 200us, stage::screen);
    s.predicted = {1ns, 2ns, 3ns};
    s.by_tree = "one host";
    out_.add(s);
    std::ostringstream text;
    write_csv(text, read());
    std::istringstream lines(text.str());
    std::string line;
    std::getline(lines, line);
    EXPECT_TRUE(line.starts_with("file,run,collective,bytes,pattern")) << line;
    std::getline(lines, line);
    std::getline(lines, line);
    EXPECT_EQ(line,
              fmt::format("{},0,reduce,1048576,\"single:rank=2,delay=100us\",double,sum,0,3,reduce/chain@8KiB,128,"
                          "screen,4,0,1,here,10000,150000,2,160000,0,one host",
                          file_.path()));
    std::getline(lines, line);
    EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(report_test, repro_is_parted_by_blanks) {
    add_case(1, "trace:my file");
    out_.add(late_call(1, chain, 4, 200us, stage::warmup));
    out_.add(late_call(1, chain, 5, 200us));
    std::ostringstream text;
    write_repro(text, read());
    std::istringstream lines(text.str());
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream fields(line);
        rows.emplace_back(std::istream_iterator<std::string>(fields), std::istream_iterator<std::string>());
    }
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[0], (std::vector<std::string>{"process", "test", "nrep", "msize_bytes", "errorcode",
                                                 "loc_tstart_sec", "loc_tend_sec", "gl_tstart_sec", "gl_tend_sec"}));
    EXPECT_EQ(rows[2], (std::vector<std::string>{"1", "reduce/chain@8KiB|trace:my_file", "5", "1048576", "0",
                                                 "0.0000100000", "0.0001500000", "0.0000100000", "0.0001500000"}));
}

TEST_F(report_test, data_cannot_leave_its_script) {
    add_case(1, "trace:</script><script>alert(1)</script>");
    out_.add(balanced_call(1, chain, 0, 100us));
    const std::string page = as_page(analyse());
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    EXPECT_NE(page.find("\\u003cscript>alert"), std::string::npos);
    EXPECT_EQ(page.find("/*data*/"), std::string::npos);
}

}  // namespace
}  // namespace rubato::reports
