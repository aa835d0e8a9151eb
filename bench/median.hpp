#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// Of at least one number.
inline double median(std::vector<double> v) {
    const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
    std::nth_element(v.begin(), middle, v.end());
    return v.size() % 2 == 1 ? *middle : (*middle + *std::max_element(v.begin(), middle)) / 2;
}

struct estimate {
    double value = 0;
    double low = 0;
    double high = 0;
};

/// The median and, from the ordered samples, the narrowest interval around it that holds with 95 %, whatever the
/// distribution; with fewer than 6 samples, all of them. At most 1000 samples.
inline estimate estimate_median(std::vector<double> v) {
    std::ranges::sort(v);
    const std::size_t n = v.size();
    // How many of n samples are below the true median is like heads of n coins.
    double chance = 1;
    for (std::size_t i = 0; i < n; ++i) chance /= 2;
    double below = chance;  // at most `outside` heads
    std::size_t outside = 0;
    while (below <= 0.025 && outside < n / 2) {
        chance *= static_cast<double>(n - outside) / static_cast<double>(outside + 1);
        below += chance;
        if (below <= 0.025) ++outside;
    }
    return {median(v), v[outside], v[n - 1 - outside]};
}
