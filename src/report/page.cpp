#include "report/embedded.hpp"
#include "report/observed.hpp"
#include "report/output.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>

namespace rubato::report {
namespace {

void replace(std::string& text, std::string_view what, std::string_view by) {
    const std::size_t at = text.find(what);
    text.replace(at, what.size(), by);
}

/// "</script>" in a name would end the data, "<!--" begin a comment: in JSON both can be escaped.
std::string in_script(const std::string& data) {
    std::string out;
    out.reserve(data.size());
    for (const char c : data) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

std::string assemble(std::string_view html, std::initializer_list<std::string_view> scripts,
                     const nlohmann::ordered_json& shown) {
    std::string page(html);
    replace(page, "/*style*/", page_css);
    std::string script;
    for (const std::string_view part : scripts) script += part;
    replace(page, "/*script*/", script);
    // Last, because nothing in it must be replaced.
    replace(page, "/*data*/", in_script(shown.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
    return page;
}

}  // namespace

std::string as_page(const analysis& a) {
    return assemble(page_html, {basics_js, charts_js, table_js, state_js, tables_js, page_js}, as_json(a));
}

std::string as_page(const observed& o) {
    return assemble(observed_html, {basics_js, charts_js, table_js, observed_js}, as_json(o, amount::shown));
}

}  // namespace rubato::report
