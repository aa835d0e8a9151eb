// The page of `rubato report` in a headless browser: it loads without a network and without an error, draws what it
// should, and shows the numbers that the command computes.
#include "dropin/observe/observation.hpp"
#include "reports/results/results.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>

#include <sys/wait.h>
#include <unistd.h>

namespace rubato::reports {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr std::int32_t ranks = 5;
constexpr std::array sizes{4096, 65536};
constexpr std::array patterns{"balanced", "single:rank=4,delay=1ms", "single:rank=4,delay=4ms",
                              "uniform:max=2ms,seed=1"};
constexpr std::array contestants{"reduce/chain@8KiB", "reduce/binomial", "native", "native:pipeline@8KiB",
                                 "reduce/<b>odd</b>"};

std::string run(const std::string& line) {
    std::string out;
    std::FILE* pipe = popen(line.c_str(), "r");
    std::array<char, 4096> chunk{};
    for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) out.append(chunk.data(), n);
    EXPECT_EQ(pclose(pipe), 0) << line;
    return out;
}

std::string browser() {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
        if (std::system(fmt::format("command -v {} >/dev/null 2>&1", name).c_str()) == 0) return name;
    return {};
}

/// Ten calls of each contestant; times follow from the contestant, the size and the repetition.
void add_samples(recorder& out, std::int32_t number, std::int64_t bytes, std::string_view pattern) {
    const time_ns delay = pattern == "balanced" ? 0ms : pattern.ends_with("1ms") ? 1ms : 2ms;
    for (std::int32_t repetition = 0; repetition < 10; ++repetition) {
        for (std::size_t who = 0; who < contestants.size(); ++who) {
            sample s;
            s.in_case = number;
            s.name = contestants[who];
            s.repetition = repetition;
            s.stage = repetition == 0 ? stage::warmup : who == 4 ? stage::screen : stage::measure;
            s.late = repetition == 7 && who == 1;
            for (std::int32_t r = 0; r < ranks; ++r) {
                s.arrivals.push_back(r == ranks - 1 ? delay : 1us * r);
                s.exits.push_back(delay + time_ns(bytes * 10) * (static_cast<int>(who) + 1) +
                                  1us * ((repetition * 7) % 5) - 100ns * r);
            }
            s.bound = delay + time_ns(bytes * 9);
            if (who == 0) s.predicted = std::vector<time_ns>(ranks, 5us);
            out.add(s);
        }
    }
}

class page : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = std::filesystem::temp_directory_path() / fmt::format("rubato-page-{}", getpid());
        std::filesystem::create_directories(folder_);
        {
            recorder out(file("measured.jsonl"), recorder::existing::refuse);
            write_measurements(out);
        }
        const std::string command = fmt::format("{} report {} --model hockney:alpha=1us,beta=1ns,gamma=0",
                                                RUBATO_COMMAND, file("measured.jsonl"));
        text_ = run(fmt::format("{} -o {}", command, file("page.html")));
        computed_ = json::parse(run(command + " --json"));
    }
    static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

    void SetUp() override {
        if (browser().empty()) GTEST_SKIP() << "no browser is installed";
    }

    static std::string file(const char* name) { return (folder_ / name).string(); }
    static std::string slurp(const std::string& name) {
        std::ifstream in(name);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    /// The page as the browser renders it, after this script has run.
    static std::string load(const std::string& script = {}, const std::string& flags = {},
                            const char* name = "page.html") {
        std::string text = slurp(file(name));
        const std::string end = "</body>";
        text.insert(text.rfind(end), fmt::format("<script>{}</script>", script));
        std::ofstream(file("driven.html")) << text;
        const std::string profile = file("profile");
        std::filesystem::remove_all(profile);
        return run(fmt::format(
            "timeout 120 {} --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
            "--disable-background-networking --disable-component-update --host-resolver-rules='MAP * ~NOTFOUND' "
            "--user-data-dir={} --virtual-time-budget=5000 {} --dump-dom file://{} 2>/dev/null",
            browser(), profile, flags, file("driven.html")));
    }

    static std::size_t count(const std::string& dom, const std::string& what) {
        std::size_t n = 0;
        for (std::size_t at = dom.find(what); at != std::string::npos; at = dom.find(what, at + 1)) ++n;
        return n;
    }
    /// From the element with this id to the end of its section.
    static std::string part(const std::string& dom, const std::string& id) {
        const std::size_t begin = dom.find(fmt::format("id=\"{}\"", id));
        EXPECT_NE(begin, std::string::npos) << id;
        return dom.substr(begin, dom.find("</section>", begin) - begin);
    }
    static std::vector<double> values(const std::string& text) {
        static const std::regex value("data-value=\"(-?[0-9.e+-]+)\"");
        std::vector<double> out;
        for (std::sregex_iterator i(text.begin(), text.end(), value), end; i != end; ++i)
            out.push_back(std::stod((*i)[1]));
        return out;
    }
    static void expect_sound(const std::string& dom) {
        EXPECT_NE(dom.find("data-ready=\"yes\""), std::string::npos);
        EXPECT_NE(dom.find("data-errors=\"\""), std::string::npos)
            << dom.substr(0, std::min<std::size_t>(dom.size(), 2000));
    }

    static inline std::filesystem::path folder_;
    static inline std::string text_;
    static inline json computed_;

private:
    static void write_measurements(recorder& out) {
        conditions c;
        c.command = "rubato bench reduce";
        c.hosts = {"a", "a", "b", "b", "b"};
        c.started = "2024-05-01T12:00:00Z";
        c.seed = UINT64_MAX;
        c.mpi_settings = {{"setting", "1"}};
        c.link = {20us, 1};
        out.add(c);
        std::int32_t number = 0;
        for (const std::int64_t bytes : sizes) {
            for (const char* pattern : patterns) {
                out.add(measured_case{++number, "reduce", bytes, pattern, "double", "sum", 0});
                for (const char* name : contestants) {
                    const std::string_view id = name;
                    const bool ours = id.starts_with("reduce/");
                    out.add(contestant{number, name, ours ? std::string(id.substr(0, id.find('@'))) : "", 1, 0ns});
                }
                add_samples(out, number, bytes, pattern);
            }
        }
        out.add(timeline{
            2, contestants[0], std::vector<time_ns>(ranks, 1us), std::vector<time_ns>(ranks, 9us),
            std::vector<std::vector<timeline_step>>(ranks, {{"send", 1, 2us, 5us}, {"combine", -1, 5us, 6us}})});
        overlap o;
        o.in_case = 1;
        o.name = "native";
        o.method = "blocking";
        o.total = 100us;
        out.add(o);
        o.method = "thread";
        o.total = 225us;
        o.computation = 200us;
        out.add(o);
    }
};

TEST_F(page, asks_for_nothing_from_outside) {
    std::string text = slurp(file("page.html"));
    const std::string name_of_svg = "http://www.w3.org/2000/svg";
    text.erase(text.find(name_of_svg), name_of_svg.size());
    for (const char* what : {"http:", "https:", " src=", " href=", "url(", "@import", "fetch(", "XMLHttpRequest"})
        EXPECT_EQ(text.find(what), std::string::npos) << what;
}

TEST_F(page, draws_everything) {
    const std::string dom = load();
    expect_sound(dom);
    EXPECT_NE(dom.find("5 ranks on 2 hosts: 8 cases of reduce"), std::string::npos);
    const std::string charts = part(dom, "charts");
    EXPECT_EQ(count(charts, "<figure"), 2U) << "against delay and against size";
    EXPECT_EQ(count(charts, "class=\"point\""), contestants.size() * (3 + 2));
    EXPECT_EQ(count(part(dom, "distributions"), "class=\"sample\""), 4 * 9U - 1 + 9);
    EXPECT_EQ(count(part(dom, "arrivals"), "class=\"cell\""), 9U * ranks);
    EXPECT_EQ(count(part(dom, "call"), "class=\"step\""), 2U * ranks) << "the recorded call comes first";
    EXPECT_EQ(count(part(dom, "call"), "class=\"arrival\""), std::size_t{ranks});
    EXPECT_EQ(count(part(dom, "overlap"), "<tr"), 3U);
    EXPECT_EQ(count(part(dom, "model"), "<tr"), 1U + 2 * sizes.size() * patterns.size());
    EXPECT_EQ(count(part(dom, "costs"), "<tr"), count(part(dom, "model"), "<tr"));
    EXPECT_NE(part(dom, "costs").find(">yes<"), std::string::npos);
    EXPECT_NE(part(dom, "all").find("screened only"), std::string::npos);
    EXPECT_NE(part(dom, "conditions").find("18446744073709551615"), std::string::npos);
    EXPECT_EQ(dom.find("<b>odd</b>"), std::string::npos) << "names are text";
}

TEST_F(page, shows_the_numbers_of_the_command) {
    const std::string dom = load();
    const std::vector<double> winners = values(part(dom, "winners"));
    const auto in_winners = [&](double v) { return std::ranges::find(winners, v) != winners.end(); };
    for (const json& c : computed_.at("cases")) {
        ASSERT_EQ(c.at("best_rubato"), contestants[0]);
        const json& best = c.at("contestants").at(0);
        EXPECT_TRUE(in_winners(best.at("run_time").at("value")));
        EXPECT_TRUE(in_winners(best.at("tail")));
        EXPECT_TRUE(in_winners(best.at("to_bound")));
        EXPECT_TRUE(in_winners(best.at("to_reference").at("best native").at("value")));
        EXPECT_TRUE(in_winners(best.at("to_reference").at("best native").at("p")));
    }
    // 4 KiB balanced: 40.96 us for the fastest, and the median of the disturbances, 2 us; first and last rank at 0.
    EXPECT_EQ(computed_.at("cases").at(0).at("contestants").at(0).at("run_time").at("value"), 42960);
    EXPECT_TRUE(in_winners(42960));
    EXPECT_NE(part(dom, "winners").find("42.96 us"), std::string::npos);
    EXPECT_NE(text_.find("42.96 us"), std::string::npos);
    // The second case is chosen at first: all its contestants are in the table and, but for the screened, in the
    // charts.
    const json& chosen = computed_.at("cases").at(1);
    const std::vector<double> all = values(part(dom, "all"));
    const std::vector<double> points = values(part(dom, "charts"));
    for (const json& e : chosen.at("contestants")) {
        for (const char* what : {"tail", "elapsed", "root_exit", "first_call", "samples", "late"})
            EXPECT_NE(std::ranges::find(all, e.at(what).get<double>()), all.end()) << what;
        EXPECT_NE(std::ranges::find(points, e.at("run_time").at("value").get<double>()), points.end());
    }
    const std::vector<double> model = values(part(dom, "model"));
    EXPECT_NE(std::ranges::find(model, chosen.at("contestants").at(0).at("model").at("error").get<double>()),
              model.end());
    const std::vector<double> costs = values(part(dom, "costs"));
    EXPECT_NE(std::ranges::find(costs, chosen.at("contestants").at(0).at("model").at("energy_j").get<double>()),
              costs.end());
}

TEST_F(page, every_choice_can_be_made) {
    // Every case, every measure and reference, every contestant on and off, every column sorted.
    const std::string dom = load(R"(
        const choose = (label, i) => {
            const box = document.querySelector(`[data-select="${label}"]`);
            box.selectedIndex = i;
            box.dispatchEvent(new Event('change'));
        };
        let drawn = 0;
        for (let row = 0; row < document.querySelectorAll('#winners tbody tr').length; ++row) {
            document.querySelectorAll('#winners tbody tr')[row].click();
            for (const measure of [0, 1, 2, 3, 4]) {
                choose('show', measure);
                for (const who of ['every', 'none', 'best']) document.getElementById(who).click();
                drawn += document.querySelectorAll('#charts .point').length;
            }
            choose('show', 3);
            for (const reference of [0, 1, 2]) choose('reference', reference);
            choose('show', 0);
        }
        for (let i = 0; i < document.querySelectorAll('th').length; ++i) {
            document.querySelectorAll('th')[i].click();
            document.querySelectorAll('th')[i].click();
        }
        for (let i = 0; i < 4; ++i) choose('arrivals', i);
        for (let i = 0; i < 4; ++i) choose('contestant', i);
        choose('size', 0);
        choose('show', 3);
        choose('reference', 1);
        document.querySelector('#contestants input').click();
        document.documentElement.dataset.drawn = drawn;
    )");
    expect_sound(dom);
    EXPECT_EQ(count(dom, "data-drawn"), 1U) << "the script came to its end";
    EXPECT_NE(part(dom, "charts").find("relative to native"), std::string::npos);
    EXPECT_EQ(part(dom, "charts").find("data-name=\"reduce/chain@8KiB\""), std::string::npos) << "was switched off";
    EXPECT_NE(part(dom, "charts").find("not significant"), std::string::npos) << "the marks are explained";
}

TEST_F(page, explains_what_is_pointed_at) {
    const std::string dom = load(R"(
        const mark = document.querySelector('#charts [data-name="native"] [data-tip]');
        mark.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: 9, clientY: 9 }));
    )");
    expect_sound(dom);
    const std::string tip = dom.substr(dom.find("id=\"tip\""), 400);
    EXPECT_NE(tip.find("class=\"shown\""), std::string::npos) << tip;
    EXPECT_NE(tip.find(">native\ndelay 0\nrun time 124.9 us ["), std::string::npos) << tip;
}

TEST_F(page, is_dark_where_that_is_preferred) {
    const std::string script =
        "document.documentElement.dataset.ground = getComputedStyle(document.body).backgroundColor;";
    const std::string light = load(script);
    const std::string dark = load(script, "--blink-settings=preferredColorScheme=0");
    expect_sound(dark);
    EXPECT_NE(light.find("data-ground=\"rgb(245, 246, 247)\""), std::string::npos);
    EXPECT_NE(dark.find("data-ground=\"rgb(19, 22, 25)\""), std::string::npos);
}

/// Texts that differ too little from their ground to be read, by the rule of WCAG 2.
const std::string contrast = R"(
    {
        const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
        const light = colour => numbers(colour).slice(0, 3).map(v => v / 255).map(
            v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        const ground = e => {
            for (; e; e = e.parentElement) {
                const colour = getComputedStyle(e).backgroundColor;
                if ((numbers(colour)[3] ?? 1) > 0) return colour;
            }
            return 'rgb(255, 255, 255)';
        };
        const faint = new Set();
        for (const e of document.querySelectorAll('h1, h2, h3, p, td, th, pre, .cause, .gain, small, td i')) {
            const [a, b] = [light(getComputedStyle(e).color), light(ground(e))];
            if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) faint.add(`${e.tagName}.${e.className}`);
        }
        document.documentElement.dataset.faint = [...faint].join(' ');
        document.documentElement.dataset.ground = getComputedStyle(document.body).backgroundColor;
    }
)";

/// The other page, of a program that was observed.
TEST_F(page, of_an_observed_program) {
    std::vector<dropin::part> parts(ranks);
    for (std::int32_t r = 0; r < ranks; ++r) {
        dropin::recorder out(file("seen.rubato"), {r, ranks, "<b>odd</b>", "here", "an MPI"});
        dropin::recorder::channel& c = out.open(std::array{0, 1, 2, 3, 4});
        for (int i = 0; i < 20; ++i) {
            c.record({collective::reduce, dropin::form::blocking, 0, 4096, nullptr,
                      1ms * i + (r == 4 ? 400us : 10us * r), 1ms * i + 410us});
            c.record({collective::barrier, dropin::form::blocking, 0, 0, nullptr, 1ms * i + 420us, 1ms * i + 421us});
        }
        out.note(R"({"decision":"withdrawn","operation":"reduce","bytes":4096,"incumbent_tail_ns":50000})");
        dropin::experience known;
        known.kind = simulator::operation_of(collective::reduce, rank(0), 4096);
        known.bytes = 4096;
        known.of_native = {77us, 1ms};
        known.arrivals = {0us, 0us, 0us, 44us, 0us};
        out.note(dropin::to_line(dropin::recalled{ranks, known}));
        parts[static_cast<std::size_t>(r)] = *dropin::decode(out.bytes());
        out.finish();
    }
    dropin::write(dropin::summarise(parts), file("seen.rubato"));
    const std::string shown = fmt::format("{} report {} --model curie", RUBATO_COMMAND, file("seen.rubato"));
    run(fmt::format("{} -o {}", shown, file("seen.html")));
    const json computed = json::parse(run(shown + " --json"));
    const std::string dom = load(R"(
        const row = i => document.querySelectorAll('#rows tbody tr')[i];
        row(1).focus();
        row(1).dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
        document.documentElement.dataset.other = document.getElementById('arrivals_note').textContent;
        document.documentElement.dataset.focused = document.activeElement === row(1) && row(1).ariaSelected;
        row(0).click();
        const which = document.getElementById('which');
        which.selectedIndex = 1;
        which.dispatchEvent(new Event('change'));
        document.documentElement.dataset.longest = document.getElementById('call_note').textContent;
        which.selectedIndex = 0;
        which.dispatchEvent(new Event('change'));
        for (const head of document.querySelectorAll('#rows th'))
            head.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true, cancelable: true }));
        for (const [id, keys] of [['arrivals', ['ArrowUp', 'ArrowDown', 'ArrowRight']], ['call', ['ArrowDown', 'ArrowDown']],
                                  ['waited', ['ArrowRight']]]) {
            const chart = document.querySelector(`#${id} svg`);
            chart.focus();
            for (const key of keys) chart.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
            const tip = document.getElementById('tip');
            document.documentElement.dataset[`tip_${id}`] =
                `${document.activeElement === chart && tip.classList.contains('shown')}: ${tip.textContent}`;
        }
        document.activeElement.blur();
        document.documentElement.dataset.tip_left = document.getElementById('tip').classList.contains('shown');
    )" + contrast,
                                 {}, "seen.html");
    expect_sound(dom);
    EXPECT_NE(dom.find("data-focused=\"true\""), std::string::npos) << "a row can be chosen without a mouse";
    EXPECT_NE(dom.find("data-longest=\"Invocation"), std::string::npos);
    EXPECT_NE(dom.find("data-tip_arrivals=\"true: rank 1, invocation 2\n10.00 us after the first\""), std::string::npos)
        << dom.substr(0, 1000);
    EXPECT_NE(dom.find("data-tip_call=\"true: rank 1\narrival 10 us"), std::string::npos) << dom.substr(0, 1000);
    EXPECT_NE(dom.find("data-tip_waited=\"true: 0 % of the calls wait"), std::string::npos) << dom.substr(0, 1000);
    EXPECT_NE(dom.find("data-tip_left=\"false\""), std::string::npos);
    EXPECT_NE(dom.find("data-faint=\"\""), std::string::npos) << dom.substr(0, 1000);
    const std::string first_screen = part(dom, "diagnosis_section");
    EXPECT_NE(first_screen.find("data-cause=\"rank\""), std::string::npos) << first_screen;
    EXPECT_NE(first_screen.find("Last is rank 4 on here"), std::string::npos) << first_screen;
    EXPECT_NE(first_screen.find("perf record -o rank4.data"), std::string::npos) << first_screen;
    EXPECT_EQ(count(part(dom, "worth"), "<tr"), 5U);
    for (const json& w : computed.at("worth"))
        EXPECT_NE(first_screen.find(w.at("change").get<std::string>()), std::string::npos);
    EXPECT_EQ(count(part(dom, "waited"), "<circle"), 21U);
    EXPECT_EQ(count(part(dom, "communicators"), "<tr"), 2U);
    EXPECT_NE(dom.find("data-other=\"How long after the first rank each came at barrier"), std::string::npos);
    EXPECT_EQ(dom.find("<b>odd</b>"), std::string::npos) << "names are text";
    EXPECT_EQ(count(part(dom, "rows"), "<tr"), 3U);
    const std::vector<double> rows = values(part(dom, "rows"));
    for (const json& r : computed.at("rows"))
        for (const char* what : {"bytes", "calls", "time", "median", "waiting", "imbalance_factor"})
            EXPECT_NE(std::ranges::find(rows, r.at(what).get<double>()), rows.end()) << what;
    EXPECT_EQ(count(part(dom, "arrivals"), "class=\"cell\""), 20U * ranks);
    EXPECT_EQ(count(part(dom, "call"), "class=\"arrival\""), std::size_t{ranks});
    EXPECT_EQ(count(part(dom, "instead"), "<tr"), 2U + computed.at("rows").at(0).at("instead").size());
    EXPECT_NE(part(dom, "decisions").find("withdrawn"), std::string::npos);
    const std::vector<double> remembered = values(part(dom, "profile"));
    for (const double value : {4096.0, 77000.0, 3.0})
        EXPECT_NE(std::ranges::find(remembered, value), remembered.end()) << value;

    const std::string dark = load(contrast, "--blink-settings=preferredColorScheme=0", "seen.html");
    expect_sound(dark);
    EXPECT_NE(dark.find("data-ground=\"rgb(19, 22, 25)\""), std::string::npos);
    EXPECT_NE(dark.find("data-faint=\"\""), std::string::npos) << dark.substr(0, 1000);

    // On paper all of it is there, on a white ground, and nothing is wider than the sheet.
    const std::string paper = load(R"(
        for (const sheet of document.styleSheets)
            for (const rule of sheet.cssRules)
                if (rule.media && rule.media.mediaText === 'print') rule.media.mediaText = 'all';
        dispatchEvent(new Event('beforeprint'));
        const root = document.documentElement;
        const shown = e => getComputedStyle(e).display !== 'none';
        root.dataset.controls = [...document.querySelectorAll('.controls')].some(shown);
        root.dataset.cut = [...document.querySelectorAll('.scroll, pre')].some(e => e.scrollWidth > e.clientWidth + 1);
        root.dataset.wider = Math.max(0, root.scrollWidth - innerWidth);
        root.dataset.small = [...document.querySelectorAll('#arrivals svg, #call svg, #waited svg')].some(
            s => s.getBoundingClientRect().width < 0.9 * s.viewBox.baseVal.width);
    )" + contrast,
                                   "--window-size=720,1000 --blink-settings=preferredColorScheme=0", "seen.html");
    expect_sound(paper);
    for (const char* what :
         {"controls=\"false", "cut=\"false", "wider=\"0", "small=\"false", "faint=\"", "ground=\"rgb(255, 255, 255)"})
        EXPECT_NE(paper.find(fmt::format("data-{}\"", what)), std::string::npos) << what << paper.substr(0, 1000);

    // On a telephone nothing but tables is wider than the page, and text can be read.
    const std::string narrow = load(R"(
        const root = document.documentElement;
        root.dataset.wider = Math.max(0, root.scrollWidth - innerWidth);
        root.dataset.small = [...document.querySelectorAll('#arrivals svg, #call svg, #waited svg')].some(
            s => s.getBoundingClientRect().width < 0.9 * s.viewBox.baseVal.width);
    )",
                                    "--window-size=400,800", "seen.html");
    expect_sound(narrow);
    EXPECT_NE(narrow.find("data-wider=\"0\""), std::string::npos) << narrow.substr(0, 300);
    EXPECT_NE(narrow.find("data-small=\"false\""), std::string::npos) << "charts are drawn for the width there is";
}

/// 1,024 ranks, of which one is late, and a million calls.
TEST_F(page, of_a_large_program_is_small) {
    constexpr std::int32_t many = 1024;
    dropin::observation o;
    o.program = "large";
    o.ranks = o.parts = many;
    o.duration = 200s;
    o.hosts.assign(many, "here");
    o.communicators.push_back({});
    for (std::int32_t r = 0; r < many; ++r) o.communicators[0].members.push_back(r);
    for (std::uint64_t k = 0; k < 30; ++k) {
        std::vector<dropin::invocation> met;
        for (std::uint64_t i = 0; i < 64; ++i) {
            dropin::invocation call{30 * i + k, std::vector<time_ns>(many, 1us), std::vector<time_ns>(many, 1001us),
                                    std::vector<time_ns>(many, 12345us)};
            for (std::size_t r = 0; r < many; ++r) call.arrivals[r] = time_ns((r * 7919 + i * 104729) % 50000);
            call.arrivals[many / 2] = 900us;
            met.push_back(std::move(call));
        }
        dropin::row r;
        r.site = o.sites.size();
        o.sites.push_back({"/nonexistent/large", 0x1000 + k, ""});
        r.what = collective::allreduce;
        r.bytes = 8;
        r.calls = 1'000'000 / 30;
        r.callers = many;
        r.time = 1000s * static_cast<int>(30 - k);
        r.seen = dropin::describe(std::move(met), r.calls);
        r.seen->waiting = 0.9;
        o.rows.push_back(std::move(r));
    }
    dropin::write(o, file("large.rubato"));
    run(fmt::format("{} report {} -o {} >/dev/null", RUBATO_COMMAND, file("large.rubato"), file("large.html")));
    EXPECT_LT(std::filesystem::file_size(file("large.html")), 5U << 20);
    const std::string dom = load({}, {}, "large.html");
    expect_sound(dom);
    EXPECT_NE(part(dom, "diagnosis_section").find("Last is rank 512 on here"), std::string::npos);
    EXPECT_EQ(count(part(dom, "arrivals"), "class=\"cell\""), 64U * 64);
}

/// The same of what recorders have seen, for the long tests.
TEST_F(page, DISABLED_of_a_million_calls_opens) {
    constexpr std::int32_t many = 1024;
    constexpr int calls = 1'000'000 / many;
    std::vector<std::int32_t> all;
    for (std::int32_t r = 0; r < many; ++r) all.push_back(r);
    std::vector<dropin::part> parts;
    for (std::int32_t r = 0; r < many; ++r) {
        dropin::recorder out(file("million.rubato"), {r, many, "large", fmt::format("n{}", r / 32), "an MPI"});
        out.common_time({}, {});
        dropin::recorder::channel& world = out.open(all);
        for (int i = 0; i < calls; ++i) {
            const time_ns at = 1ms * i;
            world.record({i % 3 == 0 ? collective::bcast : collective::allreduce, dropin::form::blocking, 0,
                          8 << (i % 8), nullptr, at + (r == 512 ? 400us : 1us * ((r * 7 + i) % 50)), at + 420us});
        }
        out.common_time(1ms * calls, 1ms * calls);
        parts.push_back(*dropin::decode(out.bytes()));
        out.finish();
    }
    dropin::write(dropin::summarise(parts), file("million.rubato"));
    run(fmt::format("{} report {} -o {} >/dev/null", RUBATO_COMMAND, file("million.rubato"), file("million.html")));
    const auto bytes = std::filesystem::file_size(file("million.html"));
    EXPECT_LT(bytes, 5U << 20);
    const std::string dom = load({}, {}, "million.html");
    expect_sound(dom);
    EXPECT_NE(part(dom, "diagnosis_section").find("Last is rank 512 on n16"), std::string::npos)
        << part(dom, "diagnosis_section");
}

}  // namespace
}  // namespace rubato::reports
