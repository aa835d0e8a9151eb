#include "reports/report/diagnosis.hpp"
#include "reports/report/output.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>

namespace rubato::reports {

// The page's sources; the build makes them texts (embed.cmake).
extern const std::string_view page_html, measured_html, observed_html, page_css;
extern const std::string_view basics_js, charts_js, table_js, tables_js, page_js, observed_js;

namespace {

void replace(std::string& text, std::string_view what, std::string_view by) {
    const std::size_t at = text.find(what);
    text.replace(at, what.size(), by);
}

/// "</script>" in a name would end the data, "<!--" begin a comment: in JSON both can be escaped.
std::string in_script(const std::string& data) {
    std::string out;
    out.reserve(data.size());
    for (const char c : data) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
    return out;
}

std::string assemble(std::string_view subject, std::string_view body, std::initializer_list<std::string_view> scripts,
                     const nlohmann::ordered_json& shown) {
    std::string page(page_html);
    replace(page, "<!--subject-->", subject);  // the title
    replace(page, "<!--subject-->", subject);  // the heading
    replace(page, "<!--main-->\n", body);
    replace(page, "/*style*/", page_css);
    std::string script;
    for (const std::string_view each : {basics_js, charts_js, table_js}) script += each;
    for (const std::string_view each : scripts) script += each;
    replace(page, "/*script*/", script);
    // Last, because nothing in it must be replaced.
    replace(page, "/*data*/", in_script(shown.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
    return page;
}

}  // namespace

std::string as_page(const analysis& a) {
    return assemble("measured collectives", measured_html, {tables_js, page_js}, as_json(a));
}

std::string as_page(const observed& o) {
    nlohmann::ordered_json shown = as_json(o, amount::shown);
    for (const cause_traits& c : causes) shown["causes"][std::string(c.name)] = c.heading;
    return assemble("an observed program", observed_html, {observed_js}, shown);
}

}  // namespace rubato::reports
