// The page's sources; the build makes them texts (embed.cmake).
#pragma once

#include <string_view>

namespace rubato::report {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view basics_js;
extern const std::string_view charts_js;
extern const std::string_view table_js;
extern const std::string_view state_js;
extern const std::string_view tables_js;
extern const std::string_view page_js;
extern const std::string_view observed_html;
extern const std::string_view observed_js;

}  // namespace rubato::report
