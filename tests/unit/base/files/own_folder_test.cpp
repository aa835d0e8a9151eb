// What other users, or links, lie in the way of files that are made, read and removed.
#include "base/files/own_folder.hpp"

#include "base/files/output_file.hpp"
#include "rubato/core.hpp"
#include "support/error_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rubato::base {
namespace {

constexpr uid_t another_user = 1234;

class own : public testing::Test {
protected:
    own() {
        std::filesystem::create_directories(root_);
        std::ofstream(path("precious")) << "precious";
    }
    ~own() override { std::filesystem::remove_all(root_); }

    std::filesystem::path path(std::string_view name) const { return root_ / name; }
    std::string text_in(std::string_view name) const {
        std::ifstream in(path(name));
        return {std::istreambuf_iterator<char>(in), {}};
    }
    /// Only root may.
    static bool give_away(const std::filesystem::path& file) {
        return lchown(file.c_str(), another_user, another_user) == 0;
    }

private:
    std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / fmt::format("rubato-own-{}", getpid());
};

TEST_F(own, a_folder_is_made_and_its_files_are_new_ones) {
    const own_folder folder = own_folder::at(path("above/parts"));
    std::ofstream(path("above/parts/0")) << "of an earlier run";
    std::filesystem::create_symlink(path("precious"), path("above/parts/1"));
    std::filesystem::create_hard_link(path("precious"), path("above/parts/2"));
    for (const char* const name : {"0", "1", "2", "3"}) {
        const int file = folder.make(name);
        ASSERT_GE(file, 0) << name;
        struct stat made {};
        ASSERT_EQ(fstat(file, &made), 0);
        EXPECT_TRUE(S_ISREG(made.st_mode) && made.st_size == 0 && made.st_nlink == 1) << name;
        EXPECT_EQ(write(file, "new", 3), 3);
        close(file);
        EXPECT_FALSE(std::filesystem::is_symlink(path("above/parts") / name));
    }
    EXPECT_EQ(text_in("precious"), "precious");
    EXPECT_EQ(folder.names().size(), 4U);
    const own_folder calls = own_folder::at(path("above/calls"));
    std::filesystem::create_symlink(path("precious"), path("above/calls/0"));
    folder.move("0", calls);
    EXPECT_EQ(text_in("above/calls/0"), "new");
    folder.remove_if_empty();
    EXPECT_TRUE(std::filesystem::exists(path("above/parts")));
    for (const std::string& name : folder.names()) folder.remove(name);
    folder.remove_if_empty();
    EXPECT_FALSE(std::filesystem::exists(path("above/parts")));
    EXPECT_EQ(text_in("precious"), "precious");
}

TEST_F(own, a_link_is_no_folder_of_ours) {
    std::filesystem::create_directory(path("important"));
    std::ofstream(path("important/0")) << "precious";
    std::filesystem::create_symlink(path("important"), path("parts"));
    const std::string said = error_text([&] { own_folder::at(path("parts")); });
    EXPECT_NE(said.find("it is a symbolic link; remove it"), std::string::npos) << said;
    EXPECT_THROW((void)own_folder::find(path("parts")), error);
    EXPECT_THROW((void)own_folder::find(path("precious")), error);
    EXPECT_EQ(text_in("important/0"), "precious");
    EXPECT_FALSE(own_folder::find(path("none")));
}

TEST_F(own, a_folder_stays_the_one_that_was_opened) {
    const own_folder folder = own_folder::at(path("parts"));
    std::filesystem::rename(path("parts"), path("moved"));
    std::filesystem::create_directory(path("important"));
    std::ofstream(path("important/0")) << "precious";
    std::filesystem::create_symlink(path("important"), path("parts"));
    folder.remove("0");
    close(folder.make("0"));
    EXPECT_EQ(text_in("important/0"), "precious");
    EXPECT_TRUE(std::filesystem::exists(path("moved/0")));
    folder.remove_if_empty();
    EXPECT_TRUE(std::filesystem::is_symlink(path("parts")));
}

TEST_F(own, others_may_not_write_into_a_folder_of_ours) {
    std::filesystem::create_directory(path("parts"));
    ASSERT_EQ(chmod(path("parts").c_str(), 0777), 0);
    (void)own_folder::at(path("parts"));
    EXPECT_EQ(std::filesystem::status(path("parts")).permissions(), std::filesystem::perms(0755));
}

/// Where groups work together, a process may make its files so that all of them can write.
TEST_F(own, others_may_not_write_into_a_file_of_ours) {
    const own_folder folder = own_folder::at(path("parts"));
    const mode_t before = umask(0);
    close(folder.make("0"));
    umask(before);
    EXPECT_EQ(std::filesystem::status(path("parts/0")).permissions(), std::filesystem::perms(0644));
}

TEST_F(own, a_folder_is_not_made_behind_another_users_link) {
    std::filesystem::create_directory(path("all"));
    std::filesystem::create_directory(path("important"));
    ASSERT_EQ(chmod(path("all").c_str(), 01777), 0);
    std::filesystem::create_symlink(path("important"), path("all/link"));
    if (!give_away(path("all/link"))) GTEST_SKIP() << "needs root";
    const std::string said = error_text([&] { own_folder::at(path("all/link/run.rubato.parts")); });
    EXPECT_NE(said.find("/all/link' is another user's link"), std::string::npos) << said;
    EXPECT_TRUE(std::filesystem::is_empty(path("important")));
}

TEST_F(own, a_folder_of_another_user_is_refused) {
    std::filesystem::create_directory(path("parts"));
    if (!give_away(path("parts"))) GTEST_SKIP() << "needs root";
    const std::string said = error_text([&] { own_folder::at(path("parts")); });
    EXPECT_NE(said.find("it belongs to user 1234; remove it, or write"), std::string::npos) << said;
}

TEST_F(own, a_plain_file_is_read_and_nothing_else) {
    const plain_file there(path("precious"));
    std::string text(100, ' ');
    text.resize(there.read(0, text.data(), text.size()));
    EXPECT_EQ(text, "precious");
    EXPECT_EQ(there.size(), 8U);
    EXPECT_EQ(there.owner(), geteuid());
    std::filesystem::create_symlink(path("precious"), path("link"));
    EXPECT_FALSE(plain_file(path("link")).is_open());
    EXPECT_TRUE(plain_file(path("link"), plain_file::links::followed).is_open());
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    EXPECT_FALSE(plain_file(path("fifo")).is_open()) << "nor is it waited for";
    EXPECT_FALSE(plain_file(path("")).is_open());
    EXPECT_FALSE(plain_file(path("none")).is_open());
}

/// As a user would in /tmp, before somebody else writes there.
TEST_F(own, what_others_have_planted_is_not_written) {
    std::filesystem::create_directory(path("all"));
    ASSERT_EQ(chmod(path("all").c_str(), 01777), 0);
    const auto in_all = [&](std::string_view name) { return (path("all") / name).string(); };
    const auto write = [&](std::string_view name) {
        return error_text([&] { output_file(in_all(name)).write("new"); });
    };
    std::filesystem::create_directory(path("important"));
    std::filesystem::create_symlink(path("precious"), in_all("mine"));
    EXPECT_EQ(write("mine"), "no error") << "a link of one's own";
    EXPECT_EQ(text_in("precious"), "new");
    for (const char* const name : {"link", "dangling", "folder", "file"}) {
        if (std::string_view(name) == "file")
            std::ofstream(in_all(name)) << "theirs";
        else
            std::filesystem::create_symlink(path(name[0] == 'l'   ? "precious"
                                                 : name[0] == 'd' ? "important/new"
                                                                  : "important"),
                                            in_all(name));
        if (!give_away(in_all(name))) GTEST_SKIP() << "needs root";
    }
    std::ofstream(path("precious")) << "precious";
    for (const char* const name : {"link", "dangling", "folder/new", "file"}) {
        EXPECT_NE(write(name).find("is another user's, in a folder into which all may write"), std::string::npos)
            << name << ": " << write(name);
        EXPECT_THROW(appended_file{in_all(name)}, error);
    }
    EXPECT_EQ(text_in("precious"), "precious");
    EXPECT_TRUE(std::filesystem::is_empty(path("important")));
    // Where not all may write, others' links lead to folders, or to files of theirs.
    ASSERT_EQ(chmod(path("all").c_str(), 0755), 0);
    EXPECT_NE(write("link").find("is another user's link"), std::string::npos) << write("link");
    EXPECT_EQ(text_in("precious"), "precious");
    EXPECT_EQ(write("folder/new"), "no error");
    ASSERT_TRUE(give_away(path("precious")));
    EXPECT_EQ(write("link"), "no error");
}

TEST_F(own, half_a_line_is_dropped) {
    for (const auto& [before, after] : {std::pair{"one\ntwo\nthr", "one\ntwo\nnext\n"}, std::pair{"on", "next\n"},
                                        std::pair{"one\n", "one\nnext\n"}, std::pair{"", "next\n"}}) {
        std::ofstream(path("lines")) << before;
        appended_file lines(path("lines"));
        lines.drop_cut_line();
        EXPECT_EQ(lines.append("next\n"), 0);
        EXPECT_EQ(text_in("lines"), after);
    }
}

}  // namespace
}  // namespace rubato::base
