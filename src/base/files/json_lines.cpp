#include "base/files/json_lines.hpp"

#include "base/core/text.hpp"
#include "rubato/core.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace rubato::base {
namespace {

constexpr std::string_view mark = R"(,"check":")";

std::string check_text(std::uint64_t sum) { return fmt::format(R"({}{:016x}"}})", mark, sum); }

/// Of one file, line by line.
class line_reader {
public:
    line_reader(const json_lines& how, const std::string& file) : how_(how), file_(file) {}

    void take(std::string_view line, std::size_t number, const auto& to) {
        nlohmann::json fields;
        std::string kind;
        try {
            fields = nlohmann::json::parse(line);
            kind = fields.at("kind").get<std::string>();
        } catch (const nlohmann::json::exception&) {
            refuse(number, " cannot be understood", how_.not_ours);
        }
        if (!begun_ && kind != how_.head)
            refuse(number, fmt::format(": a '{}' without a {}", kind, how_.head), how_.not_ours);
        verify(line, number, kind == how_.head);
        try {
            to(kind, fields);
        } catch (const std::exception&) {
            refuse(number, " cannot be understood", how_.not_ours);
        }
    }

    /// Throws if there was no head.
    void end() const {
        if (!begun_) throw error(fmt::format("'{}' holds no {}", file_, how_.head), how_.not_ours, how_.way_out);
    }

private:
    [[noreturn]] void refuse(std::size_t number, std::string_view problem, std::string_view reason) const {
        throw error(fmt::format("{}:{}{}", file_, number, problem), reason, how_.way_out);
    }

    void verify(std::string_view line, std::size_t number, bool head) {
        const std::size_t end = line.rfind(mark);
        const bool has_check = end != std::string_view::npos;
        if (head) sealed_ = has_check || how_.sealed;
        begun_ = true;
        const std::string_view text = line.substr(0, end);
        sum_ = head ? checksum(text) : checksum(text, sum_);
        if (has_check != sealed_ || (sealed_ && line.substr(end) != check_text(sum_)))
            refuse(number, " is not as it was written",
                   "its checksum says that it was changed, or that a line before it is missing");
    }

    const json_lines& how_;
    const std::string& file_;
    bool begun_ = false;
    bool sealed_ = false;  ///< lines have a check
    std::uint64_t sum_ = 0;
};

}  // namespace

std::string json_line_writer::line(std::string_view kind, const nlohmann::json& fields) {
    const std::string all = fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    // The kind comes first, for people.
    std::string text = fmt::format(R"({{"kind":"{}",{})", kind, std::string_view(all).substr(1, all.size() - 2));
    sum_ = kind == head_ ? checksum(text) : checksum(text, sum_);
    return text + check_text(sum_) + '\n';
}

void json_lines::read(const std::string& file, const taker& take) const {
    if (std::error_code none; std::filesystem::is_directory(file, none))
        throw error(fmt::format("cannot read '{}'", file), "it is a folder", instead);
    std::ifstream in(file);
    if (!in) throw error(fmt::format("cannot read '{}'", file), std::strerror(errno), instead);
    line_reader reader(*this, file);
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        const bool cut = in.eof();  // no newline
        try {
            reader.take(line, number, take);
        } catch (const error&) {
            if (!cut || !may_be_cut) throw;
        }
    }
    reader.end();
}

void json_lines::parse(std::string_view text, const std::string& name, const taker& take) const {
    line_reader reader(*this, name);
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t length = text.find('\n');
        reader.take(text.substr(0, length), number, take);
        text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    }
    reader.end();
}

}  // namespace rubato::base
