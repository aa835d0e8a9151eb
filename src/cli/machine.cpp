#include "cli/machine.hpp"

#include <fmt/format.h>

namespace rubato::cli {

void machine::refuse_on_cables() const {
    if (shared_links || !slow.processors.empty() || !slow.links.empty())
        throw error("--network with --slow or --share-links", "a network's cables are all alike and shared as they are",
                    "leave out one of them");
}

void machine_options::add_to(CLI::App& app) {
    app.add_option("--noise", noise_text,
                   "the processors' detours: fixed:period=1ms,duration=10us,seed=1, random:... (exponential), or "
                   "file:NAME[,seed=1] (lines: begin, duration)")
        ->type_name("NOISE");
    app.add_option(
           "--slow", slow,
           "a rank that takes longer to compute, or whose link takes longer: rank=3,factor=2, link=3,factor=2;\n"
           "may be given several times")
        ->allow_extra_args(false)
        ->type_name("SLOW");
    app.add_flag("--share-links", share_links,
                 "the ranks of a host (--hosts) share its link to other hosts; loggp and loggops models");
}

machine machine_options::make(std::int32_t ranks) const {
    return {noise_text.empty() ? noise{} : parse_noise(noise_text), parse_slow(slow, ranks), share_links};
}

std::string machine_options::describe() const {
    std::string text = noise_text.empty() ? "" : fmt::format(", noise {}", noise_text);
    for (const std::string& s : slow) text += fmt::format(", slow {}", s);
    if (share_links) text += ", shared links";
    return text;
}

}  // namespace rubato::cli
