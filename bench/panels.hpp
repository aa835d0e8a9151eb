// A picture of several line charts that share their axes and legend.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct curve {
    std::string name{};
    std::vector<std::pair<double, double>> points{};
};

struct panel {
    std::string title{};
    std::vector<curve> curves{};  ///< the same names in every panel
};

struct axis {
    std::string label{};
    std::vector<double> marks{};  ///< the first and the last are its ends
    bool logarithmic = false;
};

/// Two panels beside each other, the legend in the next free place. Points beyond an axis are cut off.
std::string draw_panels(std::string_view title, std::string_view subtitle, const axis& x, const axis& y,
                        const std::vector<panel>& panels);
