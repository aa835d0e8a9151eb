// The command, run as a person or a script would.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

namespace rubato {

struct outcome {
    int status = -1;
    std::string out{};
    std::string err{};
};

inline std::string slurp(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

class command : public testing::Test {
protected:
    command() { std::filesystem::create_directories(folder_); }
    ~command() override { std::filesystem::remove_all(folder_); }

    std::string path(std::string_view name) const { return (folder_ / name).string(); }
    void write(std::string_view name, std::string_view text) const { std::ofstream(folder_ / name) << text; }

    outcome shell(const std::string& line) const {
        outcome result;
        std::FILE* pipe = popen(fmt::format("{} 2>{}", line, path("stderr")).c_str(), "r");
        std::array<char, 4096> chunk{};
        for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
            result.out.append(chunk.data(), n);
        const int status = pclose(pipe);
        result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        result.err = slurp(path("stderr"));
        return result;
    }
    outcome rubato(const std::string& arguments) const {
        return shell(fmt::format("{} {}", RUBATO_COMMAND, arguments));
    }

    /// The output of a run that must go well.
    std::string good(const std::string& arguments) const {
        const outcome result = rubato(arguments);
        EXPECT_EQ(result.status, 0) << arguments << '\n' << result.err;
        EXPECT_EQ(result.err, "") << arguments;
        return result.out;
    }
    nlohmann::json good_json(const std::string& arguments) const { return nlohmann::json::parse(good(arguments)); }

    /// Status 2, one line on standard error of the form "rubato: problem: reason; way out", nothing else.
    void bad(const std::string& arguments, std::string_view says) const {
        const outcome result = rubato(arguments);
        EXPECT_EQ(result.status, 2) << arguments;
        EXPECT_EQ(result.out, "") << arguments;
        EXPECT_TRUE(result.err.starts_with("rubato: ")) << arguments << ": " << result.err;
        EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << arguments << ": " << result.err;
        EXPECT_TRUE(result.err.ends_with('\n')) << arguments << ": " << result.err;
        EXPECT_NE(result.err.find(": ", 8), std::string::npos) << arguments << ": " << result.err;
        EXPECT_NE(result.err.find("; "), std::string::npos) << arguments << ": " << result.err;
        EXPECT_NE(result.err.find(says), std::string::npos) << arguments << ": " << result.err;
    }

private:
    std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("rubato-cli-{}", getpid());
};

inline std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        all.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

/// Two spaces before each column of the header are two spaces in all rows.
inline void expect_aligned(const std::vector<std::string>& table, const std::vector<std::string>& left_columns) {
    for (const std::string& column : left_columns) {
        const std::size_t at = table.front().find(column);
        ASSERT_NE(at, std::string::npos) << column;
        for (const std::string& row : table)
            EXPECT_TRUE(row.size() <= at || row.substr(at - 2, 2) == "  ") << column << " in " << row;
    }
}

/// The option that an algorithm needs whose ranks have neighbours.
std::string neighbours_of(const auto& a) { return traits(a.what).on_graph ? " --graph ring" : ""; }

}  // namespace rubato
