#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace rubato {

/// A file with this text, for as long as the object lives.
class temporary_file {
public:
    explicit temporary_file(const std::string& text) {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        static int count = 0;
        path_ = ::testing::TempDir() + test->test_suite_name() + "." + test->name() + std::to_string(++count);
        std::ofstream(path_) << text;
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { std::remove(path_.c_str()); }

    const std::string& path() const { return path_; }

private:
    std::string path_{};
};

}  // namespace rubato
