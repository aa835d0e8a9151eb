#include "files/output_file.hpp"

#include "rubato/core.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rubato::files {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& name, std::string_view reason,
                         std::string_view way_out = "write to another place") {
    throw error(fmt::format("cannot write '{}'", name), reason, way_out);
}

[[noreturn]] void refuse(const std::string& name, int why) {
    refuse(name, std::strerror(why),
           why == ENOSPC || why == EFBIG || why == EDQUOT ? "make room, or write to another place"
                                                          : "write to another place");
}

/// The folder of a file, without links.
fs::path folder_of(const std::string& name, const fs::path& file) {
    const fs::path given = file.has_parent_path() ? file.parent_path() : fs::path(".");
    std::error_code failed;
    fs::path folder = fs::canonical(given, failed);
    if (failed == std::errc::no_such_file_or_directory)
        refuse(name, fmt::format("there is no folder '{}'", given.string()), "make it, or write to another place");
    if (failed) refuse(name, failed.value());
    if (!fs::is_directory(folder, failed)) refuse(name, ENOTDIR);
    return folder;
}

/// Nothing if the file is no descriptor of this process.
std::optional<int> descriptor_of(const fs::path& file) {
    std::error_code none;
    const fs::path descriptors = fs::canonical("/proc/self/fd", none);
    if (none || file.parent_path() != descriptors) return std::nullopt;
    const std::string text = file.filename().string();
    int number = -1;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size() || fcntl(number, F_GETFD) < 0) return std::nullopt;
    return number;
}

/// 0 or the error's number.
int write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written < 0 && errno != EINTR) return errno;
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

int open_stream(const destination& to) {
    return to.descriptor >= 0 ? fcntl(to.descriptor, F_DUPFD_CLOEXEC, 0)
                              : open(to.file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

/// A new file in a folder. Its name is short, as the one that it gets may be as long as is allowed.
int open_beside(const fs::path& folder, mode_t mode, fs::path& made) {
    for (int number = 0;; ++number) {
        made = folder / fmt::format(".rubato-{}-{}", getpid(), number);
        const int file = open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST) return file;
    }
}

using maker = std::function<void(const output_file::piece_taker&)>;

struct not_written {
    int why;
};

/// 0 or the error's number.
int write_pieces(int file, bool plain, const maker& make) {
    std::uintmax_t size = 0;
    try {
        make([&](std::string_view piece) {
            size += piece.size();
            if (plain && !allowed_size(size)) throw not_written{EFBIG};
            if (const int why = write_all(file, piece); why != 0) throw not_written{why};
        });
    } catch (const not_written& e) {
        return e.why;
    }
    return 0;
}

/// 0 or the error's number. Nothing is left behind if `make` throws.
int replace(const fs::path& target, const maker& make) {
    struct stat old {};
    const bool there = stat(target.c_str(), &old) == 0;
    fs::path beside;
    const int file = open_beside(target.parent_path(), there ? 0600 : 0666, beside);
    if (file < 0) return errno;
    // Only root may keep another owner.
    if (there && fchown(file, old.st_uid, old.st_gid) != 0) errno = 0;
    int why = 0;
    try {
        why = there && fchmod(file, old.st_mode & 0777) != 0 ? errno : write_pieces(file, true, make);
    } catch (...) {
        close(file);
        unlink(beside.c_str());
        throw;
    }
    if (close(file) != 0 && why == 0) why = errno;
    if (why == 0 && rename(beside.c_str(), target.c_str()) != 0) why = errno;
    if (why != 0) unlink(beside.c_str());
    return why;
}

/// A reader that has closed its end is not an error.
int write_stream(const destination& to, const maker& make) {
    const int file = open_stream(to);
    if (file < 0) return errno;
    int why = 0;
    try {
        why = write_pieces(file, false, make);
    } catch (...) {
        close(file);
        throw;
    }
    close(file);
    return why == EPIPE ? 0 : why;
}

}  // namespace

destination find_destination(const std::string& name) {
    constexpr int most_links = 40;  // as the kernel has it
    if (name == "-") return {name, STDOUT_FILENO, false};
    fs::path file = name;
    for (int links = 0; links <= most_links; ++links) {
        const fs::path folder = folder_of(name, file);
        file = folder / file.filename();
        if (const auto number = descriptor_of(file)) return {file.string(), *number, false};
        struct stat found {};
        if (lstat(file.c_str(), &found) != 0) {
            if (errno != ENOENT) refuse(name, errno);
            if (access(folder.c_str(), W_OK | X_OK) != 0) refuse(name, errno);
            return {file.string()};
        }
        if (S_ISLNK(found.st_mode)) {
            file = folder / fs::read_symlink(file);
            continue;
        }
        if (S_ISDIR(found.st_mode)) refuse(name, "it is a folder", "name a file in it");
        if (S_ISBLK(found.st_mode)) refuse(name, "it is a disk or another block device");
        if (S_ISSOCK(found.st_mode)) refuse(name, "it is a socket");
        if (access(file.c_str(), W_OK) != 0) refuse(name, errno);
        return {file.string(), -1, S_ISREG(found.st_mode)};
    }
    refuse(name, ELOOP);
}

bool allowed_size(std::uintmax_t bytes) {
    rlimit most{};
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || bytes <= most.rlim_cur;
}

output_file::output_file(std::string name) : name_(std::move(name)) {
    if (name_.empty()) return;
    const destination to = find_destination(name_);
    const std::string folder = fs::path(to.file).parent_path().string();
    if (to.plain && access(folder.c_str(), W_OK | X_OK) != 0)
        refuse(name_, fmt::format("a new file cannot be made in '{}'", folder));
}

void output_file::write(std::string_view text) const {
    write([text](const piece_taker& put) { put(text); });
}

void output_file::write(const std::function<void(const piece_taker&)>& make) const {
    if (name_.empty()) return;
    const destination to = find_destination(name_);
    const int why = to.plain ? replace(to.file, make) : write_stream(to, make);
    if (why != 0) refuse(name_, why);
}

appended_file::appended_file(const std::string& name) {
    const destination to = find_destination(name);
    plain_ = to.plain;
    file_ = plain_ ? open(to.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : open_stream(to);
    if (file_ < 0) refuse(name, errno);
}

appended_file::~appended_file() { close(file_); }

int appended_file::append(std::string_view text) {
    const off_t before = plain_ ? lseek(file_, 0, SEEK_END) : 0;
    if (plain_ && !allowed_size(static_cast<std::uintmax_t>(before) + text.size())) return EFBIG;
    const int why = write_all(file_, text);
    if (why != 0 && plain_ && ftruncate(file_, before) != 0) return errno;
    return why;
}

}  // namespace rubato::files
