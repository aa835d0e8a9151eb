// A file that a subcommand writes beside what it prints.
#pragma once

#include "rubato/core.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace rubato::cli {

/// An output that was asked for, opened before anything is computed. Its name is for errors.
class output_file {
public:
    output_file(std::string file, const std::vector<std::string>& inputs) : file_(std::move(file)) {
        if (file_.empty()) return;
        std::error_code none;
        for (const std::string& in : inputs)
            if (std::filesystem::equivalent(in, file_, none))
                throw error(fmt::format("'{}' is to be read and written", file_), "the measurements would be lost",
                            "write to another file");
        out_.open(file_, std::ios::trunc | std::ios::binary);
        if (!out_) fail();
    }

    template <class Write>
    void write(Write write) {
        if (file_.empty()) return;
        write(static_cast<std::ostream&>(out_));
        out_.flush();
        if (!out_) fail();
    }

private:
    [[noreturn]] void fail() const {
        throw error(fmt::format("cannot write '{}'", file_), std::strerror(errno), "write to another place");
    }

    std::string file_;
    std::ofstream out_{};
};

}  // namespace rubato::cli
