#include "embedded.hpp"
#include "output.hpp"

#include <nlohmann/json.hpp>

namespace rubato::report {
namespace {

void replace(std::string& text, std::string_view what, std::string_view by) {
    const std::size_t at = text.find(what);
    text.replace(at, what.size(), by);
}

/// "</script>" in a name would end the data, "<!--" begin a comment: in JSON both can be written otherwise.
std::string in_script(const std::string& json) {
    std::string out;
    out.reserve(json.size());
    for (const char c : json) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

}  // namespace

std::string as_page(const analysis& a) {
    const std::string data =
        in_script(as_json(a).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    std::string page(page_html);
    replace(page, "/*style*/", page_css);
    std::string script;
    for (const std::string_view part : {basics_js, charts_js, state_js, tables_js, page_js}) script += part;
    replace(page, "/*script*/", script);
    replace(page, "/*data*/", data);  // last: nothing is looked for in it
    return page;
}

}  // namespace rubato::report
