#include "rubato/model.hpp"

#include "simulator/simulate/model_file.hpp"
#include "support/error_text.hpp"
#include "support/temporary_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace rubato::simulator {
namespace {

std::string refusal(std::string_view text) {
    return error_text([text] { parse_model(text); });
}

TEST(model, hockney) {
    const model m = parse_model("hockney:alpha=2.66us,beta=0.48179ns,gamma=0.16654ns");
    EXPECT_EQ(m.network, (decltype(model::network)(hockney{2660, 0.48179, 0.16654})));
    EXPECT_EQ(m.message_energy, 16.5e-6);
    EXPECT_EQ(m.byte_energy, 8.1e-9);
    EXPECT_EQ(m.static_power, 0.5);
    EXPECT_EQ(m.descriptor, 32);
}

TEST(model, loggp) {
    const model m = parse_model("loggp:G=0.6ns,g=1us,o=1.5us,L=2.5us");
    EXPECT_EQ(std::get<loggp>(m.network), (loggp{2500, 1500, 1000, 0.6}));
    const model full = parse_model("loggp:L=2.5us,o=1.5us,g=1us,G=0.6ns,combine=0.1ns,rendezvous=64KiB");
    EXPECT_EQ(std::get<loggp>(full.network), (loggp{2500, 1500, 1000, 0.6, 0.1, 65536}));
}

TEST(model, logfgp) {
    const model m = parse_model("logfgp:L=2.5us,omin=0.2us,omax=1.5us,g=1us,G=0.6ns,f=10,combine=0.1ns");
    EXPECT_EQ(std::get<loggp>(m.network), (loggp{2500, 1500, 1000, 0.6, 0.1, loggp{}.rendezvous, 10, 200}));
    EXPECT_EQ(network_text(m), "logfgp:L=2500ns,omin=200ns,omax=1500ns,g=1000ns,G=0.6ns,f=10,combine=0.1ns");
    const temporary_file file("loggp:L=1us,o=1us,g=1us,G=1ns\nlogfgp:L=1us,omin=1us,omax=1us,g=1us,G=1ns,f=1\n");
    EXPECT_EQ(std::get<loggp>(parse_model("file:" + file.path() + ",logfgp").network).o_min, 1000);
    EXPECT_EQ(refusal("logfgp:L=1,omin=3,omax=2,g=1,G=1,f=2"),
              "omin=3 is more than omax=2: a message right after others takes the CPU no longer than one by itself; "
              "exchange them");
    EXPECT_EQ(refusal("logfgp:L=1,omin=1,omax=2,g=1,G=1,f=0").find("'0' is not a number of free messages"), 0U);
    EXPECT_EQ(
        refusal("logfgp:L=1,omin=1,omax=2,g=1,G=1").find("'logfgp:L=1,omin=1,omax=2,g=1,G=1' lacks the parameter 'f'"),
        0U);
    EXPECT_EQ(refusal("logfgp:L=1,o=1,g=1,G=1,f=2").find("unknown parameter 'o'"), 0U);
}

TEST(model, loggp5_with_energy) {
    const model m = parse_model("loggp5:L=1,o=2,G=3,e=2mJ,E=3pJ,static=250mW,descriptor=1KiB");
    EXPECT_EQ(std::get<loggp5>(m.network), (loggp5{1, 2, 3}));
    EXPECT_EQ(m.message_energy, 2e-3);
    EXPECT_EQ(m.byte_energy, 3e-12);
    EXPECT_EQ(m.static_power, 0.25);
    EXPECT_EQ(m.descriptor, 1024);
    EXPECT_EQ(parse_model("loggp5:L=1,o=2,G=3,e=16.5uJ,E=8.1nJ,static=0.5W"), parse_model("loggp5:L=1,o=2,G=3"));
    EXPECT_EQ(parse_model("loggp5:L=1,o=2,G=3,e=2J,E=1,static=2").message_energy, 2);
}

TEST(model, text_is_read_back_as_the_same_model) {
    for (const preset& p : presets()) {
        const model m = parse_model(p.name);
        EXPECT_EQ(m, parse_model(p.text)) << p.name;
        EXPECT_EQ(m, parse_model(to_string(m))) << to_string(m);
        EXPECT_FALSE(p.source.empty()) << p.name;
    }
    model odd{loggp{1. / 3, 1e-7, 123456.789, 2. / 3, 0.1 + 0.2, 7}, 1. / 7, 1e-13 / 3, 1. / 9, 5};
    EXPECT_EQ(odd, parse_model(to_string(odd))) << to_string(odd);
    odd.message_energy = 0;
    EXPECT_EQ(odd, parse_model(to_string(odd))) << to_string(odd);
    EXPECT_EQ(to_string(parse_model("infiniband2008")),
              "loggp5:L=6000ns,o=4700ns,G=0.73ns,e=16.5uJ,E=8.1nJ,static=0.5W,descriptor=32");
}

/// Any positive number that a double can be.
double any_double(std::mt19937_64& random) {
    for (;;) {
        const auto x = std::bit_cast<double>(random() >> 1);
        if (std::isnormal(x)) return x;
    }
}

TEST(model, any_text_is_read_back_as_the_same_bits) {
    std::mt19937_64 random(18);
    const auto any = [&random] { return any_double(random); };
    const auto whole = [&random] { return static_cast<std::int64_t>(random() >> (2 + random() % 60)); };
    for (int i = 0; i < 20000; ++i) {
        model m;
        if (i % 3 == 0) m.network = hockney{any(), any(), any()};
        if (i % 3 == 1) m.network = loggp{any(), any(), any(), any(), any(), whole()};
        if (i % 3 == 2) m.network = loggp5{any(), any(), any()};
        if (auto* n = std::get_if<loggp>(&m.network); n != nullptr && i % 2 == 0) {
            n->o_min = std::min(any(), n->o);
            n->f = 1 + static_cast<std::int32_t>(random() % 1000);
        }
        m.message_energy = std::min(any(), 1e200);
        m.byte_energy = static_cast<double>(random() % 100000) / 1e13;  // a few digits, which a unit suits
        m.static_power = any();
        m.descriptor = whole();
        ASSERT_EQ(parse_model(to_string(m)), m) << to_string(m);
    }
}

TEST(model, file) {
    const temporary_file file("# measured yesterday\n\n  hockney:alpha=1us,beta=2ns,gamma=3ns \r\n");
    EXPECT_EQ(parse_model("file:" + file.path()), parse_model("hockney:alpha=1us,beta=2ns,gamma=3ns"));
    const temporary_file named("curie\n");
    EXPECT_EQ(parse_model("file:" + named.path()), parse_model("curie"));
}

TEST(model, file_of_several) {
    const temporary_file file("#\nloggp:L=1us,o=1us,g=1us,G=1ns\n# and\ncurie\nopenib\n");
    EXPECT_EQ(parse_model("file:" + file.path()), parse_model("loggp:L=1us,o=1us,g=1us,G=1ns"));
    EXPECT_EQ(parse_model("file:" + file.path() + ",loggp"), parse_model("file:" + file.path()));
    EXPECT_EQ(parse_model("file:" + file.path() + ",hockney"), parse_model("curie"));
}

/// Wherever a measured file is cut, and whichever byte of it is changed. Without its first and last line it is as if
/// written by hand.
TEST(model, a_measured_file_that_was_cut_or_changed_is_refused) {
    const std::string inside = "# between rank 0 and rank 1\nhockney:alpha=213us,beta=0.25ns,gamma=3ns\n";
    std::string text = fmt::format("{}0.1.0 loggp\n{}", measured_model_begin, inside);
    text += end_of_measured_model(text);
    const temporary_file whole(text);
    EXPECT_EQ(parse_model("file:" + whole.path()), parse_model("hockney:alpha=213us,beta=0.25ns,gamma=3ns"));
    const auto refused = [](const std::string& spoilt) {
        const temporary_file file(spoilt);
        const std::string why = refusal("file:" + file.path());
        return why.find("is not as it was measured") != std::string::npos || why.find("is empty") != std::string::npos;
    };
    for (std::size_t n = 0; n < text.size(); ++n) {
        EXPECT_TRUE(refused(text.substr(0, n))) << "cut after " << n << " bytes";
        std::string spoilt = text;
        spoilt[n] = static_cast<char>(spoilt[n] ^ 1);
        EXPECT_TRUE(refused(spoilt)) << "another byte " << n;
    }
    EXPECT_TRUE(refused(text.substr(text.find('\n') + 1))) << "without its first line";
    const temporary_file by_hand(inside);
    EXPECT_EQ(parse_model("file:" + by_hand.path()), parse_model("file:" + whole.path()));
}

TEST(model, file_errors) {
    EXPECT_EQ(refusal("file:/nonexistent/m"),
              "cannot read model '/nonexistent/m': No such file or directory; check the name of the file");
    const temporary_file empty("#\n");
    EXPECT_EQ(refusal("file:" + empty.path()).find("model '" + empty.path() + "' is empty"), 0U);
    const temporary_file binary("openib\nhock\x01ney\n");
    EXPECT_EQ(refusal("file:" + binary.path()),
              "model '" + binary.path() + "' is not a text: line 2 has a byte 0x01; check the name of the file");
    const temporary_file one("openib\n");
    EXPECT_EQ(refusal("file:" + one.path() + ",hockney"),
              "model '" + one.path() + "' has no line 'hockney:...': it holds other kinds of models; use file:" +
                  one.path() + ", its first");
    const temporary_file nested("file:other\n");
    EXPECT_EQ(refusal("file:" + nested.path()).find("line 1 of model '" + nested.path() + "': unknown model 'file'"),
              0U);
    const temporary_file second("curie\n#\nloggp:L=1us,o=1us\n");  // a mistake shows wherever it is
    EXPECT_EQ(refusal("file:" + second.path()).find("line 3 of model '" + second.path() + "': "), 0U);
}

TEST(model, errors) {
    const std::string unknown = refusal("hokney:alpha=1");
    EXPECT_EQ(unknown.find("unknown model 'hokney': rubato knows hockney:..., loggp:..., logfgp:..., loggp5:..., "
                           "loggops:..., curie, "),
              0U);
    EXPECT_NE(unknown.find("file:NAME; use one of them"), std::string::npos);
    EXPECT_EQ(refusal("").find("unknown model ''"), 0U);
    EXPECT_EQ(refusal("hockney:alpha=1,beta=2"),
              "'hockney:alpha=1,beta=2' lacks the parameter 'gamma': it has no default; add gamma=...");
    EXPECT_EQ(refusal("hockney").find("'hockney' lacks the parameter 'alpha'"), 0U);
    EXPECT_EQ(
        refusal("loggp5:L=1,o=1,g=1,G=1"),
        "unknown parameter 'g' in 'loggp5:L=1,o=1,g=1,G=1': it takes L, o, G, e, E, static, descriptor; correct or "
        "remove it");
    EXPECT_EQ(refusal("loggp5:L=1,L=1,o=1,G=1").find("parameter 'L' is given twice"), 0U);
    EXPECT_EQ(refusal("loggp5:L=1,o,G=1").find("parameter 'o' in 'loggp5:L=1,o,G=1' has no value"), 0U);
    EXPECT_EQ(refusal("loggp5:L=-1,o=1,G=1").find("'-1' is not a time"), 0U);
    EXPECT_EQ(
        refusal("loggp5:L=1,o=1,G=1,e=5ns"),
        "'5ns' is not a number of joules: expected a number and one of J, mJ, uJ, nJ, pJ; write for example 16.5uJ");
    EXPECT_EQ(refusal("loggp5:L=1,o=1,G=1,static=5J")
                  .find("'5J' is not a number of watts: expected a number and one of W, mW"),
              0U);
    EXPECT_EQ(refusal("loggp5:L=1,o=1,G=1,descriptor=x").find("'x' is not a size"), 0U);
    EXPECT_EQ(refusal("loggp:L=1,o=1,g=1,G=1,rendezvous=1s").find("'1s' is not a size"), 0U);
    EXPECT_EQ(refusal("loggp:L=1,o=1,g=1,G=1,combine=fast").find("'fast' is not a time"), 0U);
}

TEST(model, segments_follow_the_formula_of_the_paper) {
    const model curie = parse_model("curie");
    constexpr std::int64_t KiB = 1024;
    EXPECT_NEAR(ideal_segments(curie, 128, 128 * KiB), 13.8, 0.05);
    EXPECT_NEAR(ideal_segments(curie, 128, 512 * KiB), 27.7, 0.05);
    EXPECT_NEAR(ideal_segments(curie, 128, 2048 * KiB), 55.4, 0.05);
    EXPECT_NEAR(ideal_segments(curie, 128, 4096 * KiB), 78.3, 0.05);
    EXPECT_NEAR(ideal_segments(curie, 128, 40960 * KiB), 247.7, 0.05);
    EXPECT_EQ(optimal_segments(curie, 128, 128 * KiB), 14U);
    EXPECT_EQ(ideal_segments(curie, 65, 128 * KiB), ideal_segments(curie, 128, 128 * KiB)) << "as deep";
}

TEST(model, segments_are_one_to_all_bytes) {
    const model curie = parse_model("curie");
    EXPECT_EQ(optimal_segments(curie, 1, 1 << 30), 1U);
    EXPECT_EQ(optimal_segments(curie, 2, 1 << 30), 1U);
    EXPECT_EQ(optimal_segments(curie, 128, 0), 1U);
    EXPECT_EQ(optimal_segments(curie, 128, 100), 1U);
    const model without_latency = parse_model("hockney:alpha=0,beta=1ns,gamma=0");
    EXPECT_EQ(optimal_segments(without_latency, 8, 77), 77U);
    EXPECT_EQ(optimal_segments(without_latency, 8, 0), 1U);
    EXPECT_EQ(optimal_segments(without_latency, 8, std::int64_t{1} << 40), 1U << 12);
}

TEST(model, a_round_sends_and_combines_a_segment) {
    EXPECT_EQ(segment_time(parse_model("hockney:alpha=1us,beta=2ns,gamma=3ns"), 100), time_ns(1500));
    EXPECT_EQ(cautious_round_time(parse_model("hockney:alpha=1us,beta=2ns,gamma=3ns"), 100), time_ns(2250));
    EXPECT_EQ(segment_time(parse_model("hockney:alpha=1us,beta=1s,gamma=0"), INT64_MAX), time_ns(INT64_C(1) << 60));
    EXPECT_EQ(segment_time(parse_model("hockney:alpha=0,beta=0,gamma=0"), 100), time_ns(1));
    EXPECT_EQ(linear_costs(parse_model("loggp:L=5us,o=1us,g=2us,G=1ns,combine=0.5ns")), (hockney{7000, 1, 0.5}));
    EXPECT_EQ(linear_costs(parse_model("loggp:L=5us,o=1us,g=9us,G=1ns")), (hockney{9000, 1, 0}));
    EXPECT_EQ(linear_costs(parse_model("loggp5:L=5us,o=1us,G=1ns")), (hockney{7000, 1, 0}));
}

}  // namespace
}  // namespace rubato::simulator
