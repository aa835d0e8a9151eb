#include "observe/run_begun.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>

namespace rubato::observe {
namespace {

using nlohmann::json;

/// Longer ones are of interest to machines only.
constexpr std::size_t longest_command = 2000;

}  // namespace

void to_json(json& j, const run_begun& r) { j = {{"when", r.when}, {"command", r.command}}; }

void from_json(const json& j, run_begun& r) {
    j.at("when").get_to(r.when);
    j.at("command").get_to(r.command);
}

std::string to_line(const run_begun& r) {
    return json{{"run", r}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

run_begun begin_of_this() {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    std::string words(std::istreambuf_iterator<char>(in), {});
    while (!words.empty() && words.back() == '\0') words.pop_back();
    std::ranges::replace(words, '\0', ' ');
    if (words.size() > longest_command) words.replace(longest_command, std::string::npos, "...");
    return {std::time(nullptr), words};
}

}  // namespace rubato::observe
