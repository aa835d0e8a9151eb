// Files that are written as a whole, or line by line: nothing else is replaced, and nothing is left half-written.
#include "base/files/output_file.hpp"

#include "rubato/core.hpp"
#include "support/error_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato::base {
namespace {

namespace fs = std::filesystem;

class output : public testing::Test {
protected:
    output() { fs::create_directories(folder_); }
    ~output() override { fs::remove_all(folder_); }

    fs::path path(std::string_view name) const { return folder_ / name; }
    std::string name(std::string_view name) const { return path(name).string(); }
    static std::string text_of(const fs::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void write(const std::string& file, std::string_view text) { output_file(file).write(text); }
    /// How many files there are: one beside another is what a failed write left.
    std::ptrdiff_t count(const fs::path& folder) const {
        return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
    }
    /// In a process of its own; what goes wrong there is what it returns.
    static std::string in_child(const std::function<std::string()>& what) {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe(ends.data()), 0);
        const pid_t child = fork();
        if (child == 0) {
            const std::string said = what();
            _exit(::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
        }
        close(ends[1]);
        std::string said(4096, ' ');
        const ssize_t length = read(ends[0], said.data(), said.size());
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
        said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, length)));
        return said;
    }

private:
    fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("rubato-output-{}", getpid());
};

TEST_F(output, takes_the_place_of_a_plain_file) {
    write(name("a"), "first");
    EXPECT_EQ(text_of(path("a")), "first");
    ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
    write(name("a"), "second");
    EXPECT_EQ(text_of(path("a")), "second");
    EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
    const std::string longest(255, 'x');
    write(name(longest), "a name as long as is allowed");
    EXPECT_EQ(count(path("")), 2);
}

TEST_F(output, follows_links) {
    write(name("target"), "old");
    fs::create_symlink("target", path("link"));
    fs::create_symlink("link", path("second link"));
    write(name("second link"), "new");
    EXPECT_EQ(text_of(path("target")), "new");
    EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("second link")));
    fs::create_symlink("yet to be made", path("dangling"));
    write(name("dangling"), "made");
    EXPECT_EQ(text_of(path("yet to be made")), "made");
    EXPECT_TRUE(fs::is_symlink(path("dangling")));
    fs::create_symlink("round", path("round"));
    EXPECT_NE(error_text([&] { write(name("round"), "x"); }).find("cannot write"), std::string::npos);
}

TEST_F(output, refuses_what_is_no_place_for_text) {
    fs::create_directory(path("folder"));
    EXPECT_NE(error_text([&] { output_file{name("folder")}; }).find("it is a folder; name a file in it"),
              std::string::npos);
    EXPECT_NE(error_text([&] { output_file{name("none/file")}; }).find("there is no folder"), std::string::npos);
    EXPECT_FALSE(fs::exists(path("none")));
    write(name("file"), "text");
    EXPECT_NE(error_text([&] { output_file{name("file/below")}; }).find("Not a directory"), std::string::npos);

    const int end = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{AF_UNIX, {}};
    name("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(end, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_NE(error_text([&] { output_file{name("socket")}; }).find("it is a socket"), std::string::npos);
    EXPECT_TRUE(fs::is_socket(path("socket")));
    close(end);
}

TEST_F(output, never_replaces_a_device) {
    if (mknod(path("full").c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0)
        GTEST_SKIP() << "needs the right to make devices";
    ASSERT_EQ(mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
    ASSERT_EQ(mknod(path("disk").c_str(), S_IFBLK | 0600, makedev(240, 0)), 0);
    EXPECT_NE(error_text([&] { output_file{name("disk")}; }).find("block device"), std::string::npos);
    EXPECT_TRUE(fs::is_block_file(path("disk")));
    const int probe = open(path("null").c_str(), O_WRONLY);
    if (probe < 0) GTEST_SKIP() << "devices cannot be opened in " << path("");
    close(probe);
    write(name("null"), "text");
    EXPECT_NE(error_text([&] { write(name("full"), "text"); }).find("No space left"), std::string::npos);
    EXPECT_TRUE(fs::is_character_file(path("null")) && fs::is_character_file(path("full")));
    EXPECT_FALSE(find_destination(name("full")).plain);
    EXPECT_EQ(count(path("")), 3);
}

TEST_F(output, goes_into_a_fifo) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    std::string received;
    std::thread reader([&] { received = text_of(path("fifo")); });
    write(name("fifo"), "through");
    reader.join();
    EXPECT_EQ(received, "through");
    EXPECT_TRUE(fs::is_fifo(path("fifo")));
}

/// As /dev/stdout is, where a shell has sent it into a file: what comes before and after stays.
TEST_F(output, goes_on_where_an_open_file_is) {
    const int file = open(path("log").c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_EQ(::write(file, "before ", 7), 7);
    write(fmt::format("/dev/fd/{}", file), "between");
    ASSERT_EQ(::write(file, " after", 6), 6);
    close(file);
    EXPECT_EQ(text_of(path("log")), "before between after");
}

TEST_F(output, is_as_it_was_if_files_may_not_be_so_long) {
    write(name("a"), "old");
    const std::string said = in_child([&] {
        const rlimit most{1000, 1000};
        setrlimit(RLIMIT_FSIZE, &most);
        std::string all = error_text([&] { write(name("a"), std::string(2000, 'x')); });
        appended_file lines(name("lines"));
        for (int i = 0; i < 30; ++i)
            if (lines.append(fmt::format("{:y>99}\n", "")) != 0) all += " no more";
        return all;
    });
    EXPECT_NE(said.find("File too large; make room"), std::string::npos) << said;
    EXPECT_NE(said.find("no more"), std::string::npos) << said;
    EXPECT_EQ(text_of(path("a")), "old");
    EXPECT_EQ(fs::file_size(path("lines")), 1000U);
    EXPECT_EQ(count(path("")), 2);
}

/// On a disk of 64 KiB, which ends with the process.
TEST_F(output, is_as_it_was_if_the_disk_is_full) {
    const std::string disk = name("disk");
    fs::create_directory(disk);
    const std::string said = in_child([&]() -> std::string {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
            return "skip";
        write(disk + "/a", "old");
        std::string wrong;
        if (error_text([&] { write(disk + "/a", std::string(1 << 20, 'x')); }).find("No space left") ==
            std::string::npos)
            wrong += "not refused; ";
        if (error_text([&] { write(disk + "/b", std::string(1 << 20, 'x')); }).find("No space left") ==
            std::string::npos)
            wrong += "a new file not refused; ";
        if (text_of(disk + "/a") != "old") wrong += "changed; ";
        if (count(disk) != 1) wrong += "something is left; ";
        appended_file lines(disk + "/lines");
        int why = 0;
        const std::string line = fmt::format("{:y>999}\n", "");
        while (why == 0) why = lines.append(line);
        if (why != ENOSPC || fs::file_size(disk + "/lines") % 1000 != 0) wrong += "half a line; ";
        return wrong;
    });
    if (said == "skip") GTEST_SKIP() << "needs the right to mount";
    EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace rubato::base
