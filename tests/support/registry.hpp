// Rows of the registry as parameters of tests.
#pragma once

#include "rubato/algorithm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rubato::testing {

/// The ids of the algorithms that a test applies to.
inline std::vector<std::string_view> ids_of(bool (*applies)(const algorithm&)) {
    std::vector<std::string_view> ids;
    for (const algorithm& a : algorithms())
        if (applies(a)) ids.push_back(a.id);
    return ids;
}

/// A name that GoogleTest accepts.
inline std::string name_of_id(const ::testing::TestParamInfo<std::string_view>& row) {
    std::string name(row.param);
    std::ranges::replace_if(
        name, [](char c) { return c == '/' || c == '+'; }, '_');
    return name;
}

/// The schedules of an algorithm.
inline std::vector<schedule> registered(std::string_view id, std::int32_t ranks, std::vector<std::int32_t> radix = {}) {
    const algorithm& a = find_algorithm(id);
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    p.radix = std::move(radix);
    return build_all(a, p);
}

}  // namespace rubato::testing
