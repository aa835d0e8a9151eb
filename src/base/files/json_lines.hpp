// Files of JSON objects, one per line: {"kind":"sample",...,"check":"0123456789abcdef"}. A line of one kind, the head,
// begins what belongs together. The check is a checksum of the line and of all before it, from the head on. So a line
// that was changed, lost or moved is noticed, and files can still be joined. Lines without a check, from the head on,
// are those of a version that wrote none.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace rubato::base {

class json_line_writer {
public:
    explicit json_line_writer(std::string_view head) : head_(head) {}

    /// The text of an object with at least one field, and a newline.
    std::string line(std::string_view kind, const nlohmann::json& fields);

private:
    std::string_view head_;
    std::uint64_t sum_ = 0;
};

struct json_lines {
    std::string_view head;               ///< the kind
    std::string_view not_ours;           ///< the reason why a file is refused
    std::string_view way_out;            ///< what to do about it
    bool may_be_cut = false;             ///< a last line without a newline is left out if it is not whole
    std::string_view instead = way_out;  ///< what to do about a file that cannot be opened
    bool sealed = false;                 ///< every line must have a check

    using taker = std::function<void(std::string_view kind, const nlohmann::json& fields)>;
    /// Calls `take` with every line's kind and fields. Throws, naming the file and the line, if one is not as it was
    /// written, or if `take` throws; also if the file has no head.
    void read(const std::string& file, const taker& take) const;
    /// The same of a text that was read already; `name` is its file's.
    void parse(std::string_view text, const std::string& name, const taker& take) const;
};

}  // namespace rubato::base
