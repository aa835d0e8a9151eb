// The figures of docs/reproduction.md: what can be computed of the figures and tables of Marendic et al. 2016, Proficz
// & Ocetkiewicz 2020, Proficz 2020, Hoefler & Moor 2014 and, of its models, Hoefler 2008.
//
//   reproduction [--full] [--page FILE] [--pictures FOLDER]
//
// Everything is computed or simulated, nothing is timed, so it is the same on every machine. With --page it prints
// only those lines that the page lacks, and fails if there are any.
#include "../page_check.hpp"
#include "page.hpp"

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
    CLI::App app(
        "Prints the figures of docs/reproduction.md: nothing is timed, so they are the same on every machine.");
    std::string page;
    std::string pictures;
    bool full = false;
    app.add_flag("--full", full, "print the tables that the page leaves out, too");
    app.add_option("--page", page, "print only the lines that this file lacks; fails if there are any");
    app.add_option("--pictures", pictures, "draw the pictures into this folder");
    CLI11_PARSE(app, argc, argv);
    std::string& output = reproduction::output();
    try {
        reproduction::marendic_2016();
        reproduction::marendic_2016_late(pictures, full);
        reproduction::proficz_ocetkiewicz_2020();
        reproduction::proficz_2020_equations();
        reproduction::proficz_2020_tables();
        reproduction::hoefler_2014();
        if (!page.empty()) output = missing_in(page, output);
    } catch (const rubato::error& e) {
        fmt::print(stderr, "reproduction: {}\n", e.what());
        return 2;
    }
    fmt::print("{}", output);
    return !page.empty() && !output.empty() ? 1 : 0;
}
