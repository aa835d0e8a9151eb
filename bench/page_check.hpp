// Whether a page of the documentation says what a program computes.
#pragma once

#include "rubato/core.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

/// The computed lines, except headings, that are not in the page.
inline std::string missing_in(const std::string& page, const std::string& computed) {
    std::ifstream file(page);
    if (!file) throw rubato::error(fmt::format("cannot read '{}'", page), "there is no such file", "name the page");
    std::set<std::string> there;
    for (std::string line; std::getline(file, line);) there.insert(line);
    std::string missing;
    std::istringstream ours(computed);
    for (std::string line; std::getline(ours, line);)
        if (!line.starts_with('#') && !there.contains(line)) missing += line + '\n';
    return missing;
}
