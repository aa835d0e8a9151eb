// The figures of docs/reproduction.md: what can be computed of the figures and tables of Marendic et al. 2016, Proficz
// & Ocetkiewicz 2020, Proficz 2020, Hoefler & Moor 2014 and, of its models, Hoefler 2008.
//
//   reproduction [--full] [--page FILE | --write FILE] [--pictures FOLDER]
//
// Everything is computed or simulated, nothing is timed, so it is the same on every machine. The page names the
// sections that it shows; --write fills them in, --page fails if the page says otherwise.
#include "../page_check.hpp"
#include "page.hpp"

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
    CLI::App app(
        "Prints the figures of docs/reproduction.md: nothing is timed, so they are the same on every machine.");
    std::string page;
    std::string written;
    std::string pictures;
    bool full = false;
    app.add_flag("--full", full, "print the tables that the page leaves out, too");
    app.add_option("--page", page, "print the figures of this page that are others; fails if there are any");
    app.add_option("--write", written, "write the figures into this page");
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
        if (!page.empty()) {
            const std::string filled = with_figures(page, output);
            output = filled == text_of(page)
                         ? ""
                         : "Write the page anew with --write. It lacks:\n" + missing_in(page, filled);
        }
        if (!written.empty()) {
            const std::string filled = with_figures(written, output);
            std::ofstream(written) << filled;
            output.clear();
        }
    } catch (const rubato::error& e) {
        fmt::print(stderr, "reproduction: {}\n", e.what());
        return 2;
    }
    fmt::print("{}", output);
    return !page.empty() && !output.empty() ? 1 : 0;
}
