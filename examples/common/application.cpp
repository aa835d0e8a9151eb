#include "common/application.hpp"

#include "base/statistics/statistics.hpp"
#include "common/measure.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace applications {

int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

int size_of(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return size;
}

namespace {

/// As they were given: errors in their values are told as all of Rubato's are.
struct texts {
    std::vector<std::string> own{};  // of the application
    std::string how = "all";
    std::string algorithm{};  // none
    std::string repetitions = "5";
    std::string compute = "0s";
    std::string slow_rank = "0";
    std::string slow_by = "0s";
    bool json = false;
};

std::vector<form> parse_forms(const std::string& how) {
    std::vector<form> every{form::blocking, form::native, form::rubato};
    if (how == "all") return every;
    std::vector<form> forms;
    for (std::size_t begin = 0; begin <= how.size();) {
        const std::size_t end = std::min(how.find(',', begin), how.size());
        const std::string name = how.substr(begin, end - begin);
        const auto found = std::ranges::find(every, name, name_of);
        if (found == every.end())
            throw rubato::error(fmt::format("there is no form '{}'", name),
                                "a program communicates in one of three ways",
                                "give --how blocking, native, rubato, several of them with commas, or all");
        forms.push_back(*found);
        begin = end + 1;
    }
    return forms;
}

const rubato::algorithm& algorithm_for(const description& what, const std::string& id, const std::vector<form>& forms) {
    const rubato::algorithm& found = rubato::find_algorithm(id);
    std::vector<std::string_view> calls;
    for (const rubato::collective c : what.calls) calls.push_back(rubato::traits(c).name);
    if (std::ranges::find(what.calls, found.what) == what.calls.end())
        throw rubato::error(fmt::format("--algorithm {} has no effect", id),
                            fmt::format("{} overlaps {}", what.name, fmt::join(calls, " and ")),
                            "give an algorithm of that, or leave it out");
    if (std::ranges::find(forms, form::rubato) == forms.end())
        throw rubato::error(fmt::format("--algorithm {} has no effect", id), "only form rubato uses it",
                            "add rubato to --how, or leave it out");
    return found;
}

plan parse(const texts& t, const description& what) {
    for (std::size_t i = 0; i < what.options.size(); ++i) {
        const integer_option& o = what.options[i];
        *o.value = rubato::parse_integer(t.own[i], o.name, o.low, o.high);
    }
    plan p;
    p.forms = parse_forms(t.how);
    if (!t.algorithm.empty()) p.algorithm = &algorithm_for(what, t.algorithm, p.forms);
    p.repetitions = rubato::parse_integer(t.repetitions, "number of repetitions", 1, 1 << 20);
    p.step = rubato::parse_time(t.compute);
    p.slow_rank = rubato::parse_integer(t.slow_rank, "slow rank", 0, size_of(MPI_COMM_WORLD) - 1);
    p.slow_by = rubato::parse_time(t.slow_by);
    return p;
}

rubato::time_ns whole(double t) { return rubato::time_ns(static_cast<std::int64_t>(t)); }

void print_table(const description& what, const std::vector<outcome>& all, const std::string& found) {
    fmt::print("{}: {} ranks;", what.name, size_of(MPI_COMM_WORLD));
    for (const integer_option& o : what.options) fmt::print(" {} {}", o.name, *o.value);
    fmt::print("; {} repetitions by turns, results are right\n", all.front().times.size());
    fmt::print("{:<10}{:>14}   {}\n", "FORM", "MEDIAN", fmt::format("OF {}, 95 %", name_of(all.front().how)));
    for (const outcome& o : all) {
        const rubato::base::estimate ratio = rubato::base::compare_paired(o.times, all.front().times).ratio;
        fmt::print("{:<10}{:>14}   {:.3f}, {:.3f} to {:.3f}\n", name_of(o.how),
                   rubato::format_time(whole(rubato::base::median(o.times))), ratio.value, ratio.low, ratio.high);
    }
    if (!found.empty()) fmt::print("found: {}\n", found);
}

void print_json(const description& what, const plan& p, const std::vector<outcome>& all, const std::string& found) {
    nlohmann::ordered_json options;
    for (const integer_option& o : what.options) options[o.name] = *o.value;
    nlohmann::ordered_json forms = nlohmann::ordered_json::array();
    for (const outcome& o : all) {
        const rubato::base::comparison against = rubato::base::compare_paired(o.times, all.front().times);
        forms.push_back({{"form", name_of(o.how)},
                         {"median_ns", whole(rubato::base::median(o.times)).count()},
                         {"ratio", against.ratio.value},
                         {"low", against.ratio.low},
                         {"high", against.ratio.high},
                         {"times_ns", o.times}});
    }
    const nlohmann::ordered_json object{{"application", what.name},
                                        {"algorithm", p.algorithm == nullptr ? "" : p.algorithm->id},
                                        {"ranks", size_of(MPI_COMM_WORLD)},
                                        {"options", options},
                                        {"found", found},
                                        {"compute_ns", p.step.count()},
                                        {"slow_rank", p.slow_rank},
                                        {"slow_by_ns", p.slow_by.count()},
                                        {"repetitions", p.repetitions},
                                        {"forms", forms}};
    fmt::print("{}\n", object.dump());
}

/// Before ranks communicate, all find the same errors; afterwards the other ranks may be waiting.
int run(const texts& t, const description& what) {
    const int me = rank_in(MPI_COMM_WORLD);
    plan p;
    std::unique_ptr<application> it;
    try {
        p = parse(t, what);
        it = what.make();
    } catch (const std::exception& e) {
        if (me == 0) fmt::print(stderr, "{}: {}\n", what.name, e.what());
        return 2;
    }
    try {
        const std::vector<outcome> all = measure(*it, p);
        if (me == 0 && t.json) print_json(what, p, all, it->found());
        if (me == 0 && !t.json) print_table(what, all, it->found());
    } catch (const wrong_result& w) {
        if (!w.fault.empty()) fmt::print(stderr, "{}: {}, rank {}: {}\n", what.name, name_of(w.how), me, w.fault);
        return 1;
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}: rank {}: {}\n", what.name, me, e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return 0;
}

void add_options(CLI::App& app, const description& what, texts& t) {
    for (const integer_option& o : what.options) t.own.push_back(std::to_string(*o.value));
    for (std::size_t i = 0; i < what.options.size(); ++i) {
        const integer_option& o = what.options[i];
        app.add_option(fmt::format("--{}", o.name), t.own[i], fmt::format("{} (default: {})", o.about, t.own[i]))
            ->type_name("N");
    }
    app.add_option("--how", t.how, "blocking, native, rubato, several of them with commas, or all (default: all)")
        ->type_name("FORMS");
    app.add_option("--algorithm", t.algorithm, "that Rubato's form uses (default: Rubato chooses)")->type_name("ID");
    app.add_option("--repetitions", t.repetitions, "of each form that are timed (default: 5)")->type_name("N");
    app.add_option("--compute", t.compute, "how long a step's computing takes at least; a rank sleeps until then")
        ->type_name("TIME");
    app.add_option("--slow-rank", t.slow_rank, "a rank that takes longer (default: 0)")->type_name("RANK");
    app.add_option("--slow-by", t.slow_by, "how much longer it takes for each step (default: 0s)")->type_name("TIME");
    app.add_flag("--json", t.json, "one JSON object");
    app.footer(
        std::string(what.footer) +
        "\nForms: MPI's blocking calls, its non-blocking calls, and Rubato's. They run by turns. Ratios are those of "
        "times in\nthe same repetition, to the first form. Exit status 1 if a result is wrong.");
}

}  // namespace

int run(int argc, char** argv, const description& what) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    texts t;
    CLI::App app(what.about);
    app.name(what.name);
    add_options(app, what, t);
    int status = 0;
    try {
        app.parse(argc, argv);
        status = run(t, what);
    } catch (const CLI::ParseError& e) {
        if (rank_in(MPI_COMM_WORLD) == 0) app.exit(e);
        status = e.get_exit_code() == 0 ? 0 : 2;
    }
    MPI_Finalize();
    return status;
}

}  // namespace applications
