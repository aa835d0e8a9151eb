#include "base/files/output_file.hpp"

#include "base/files/own_folder.hpp"
#include "rubato/core.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rubato::base {
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

bool all_may_write(const fs::path& folder) {
    struct stat found {};
    return stat(folder.c_str(), &found) == 0 && (found.st_mode & S_IWOTH) != 0;
}

[[noreturn]] void refuse_planted(const std::string& name, const fs::path& what) {
    refuse(name,
           fmt::format("'{}' is another user's{}", what.string(),
                       all_may_write(what.parent_path()) ? ", in a folder into which all may write" : " link"),
           "remove it, or write to another place");
}

/// The path without links, up to a descriptor of this process. The last part need not exist, nor be what it should.
fs::path without_links(const std::string& name) {
    constexpr int most_links = 40;  // as the kernel has it
    std::error_code failed;
    fs::path whole = fs::absolute(name, failed);
    if (failed) refuse(name, failed.value());
    std::vector<fs::path> rest(std::make_reverse_iterator(whole.end()), std::make_reverse_iterator(whole.begin()));
    fs::path done;
    for (int links = 0; !rest.empty();) {
        const fs::path next = std::move(rest.back());
        rest.pop_back();
        if (next == "." || next.empty()) continue;
        if (next == "..") {
            done = done.parent_path();
            continue;
        }
        done /= next;
        struct stat found {};
        if (lstat(done.c_str(), &found) != 0) {
            if (errno != ENOENT) refuse(name, errno);
            if (rest.empty()) return done;
            refuse(name, fmt::format("there is no folder '{}'", done.string()), "make it, or write to another place");
        }
        if (!S_ISLNK(found.st_mode) || descriptor_of(done)) continue;
        if (++links > most_links) refuse(name, ELOOP);
        if (may_be_planted(done)) refuse_planted(name, done);
        const fs::path target = fs::read_symlink(done, failed);
        if (failed) refuse(name, failed.value());
        done = target.is_absolute() ? fs::path() : done.parent_path();
        rest.insert(rest.end(), std::make_reverse_iterator(target.end()), std::make_reverse_iterator(target.begin()));
    }
    return done;
}

/// Links were followed before; one that is there now was made since.
int open_stream(const destination& to) {
    return to.descriptor >= 0 ? fcntl(to.descriptor, F_DUPFD_CLOEXEC, 0)
                              : open(to.file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
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
    const bool there = lstat(target.c_str(), &old) == 0 && S_ISREG(old.st_mode);
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
    if (name == "-") return {name, STDOUT_FILENO, false};
    const fs::path file = without_links(name);
    if (const auto number = descriptor_of(file)) return {file.string(), *number, false};
    struct stat found {};
    if (lstat(file.c_str(), &found) != 0) {
        if (errno != ENOENT) refuse(name, errno);
        if (access(file.parent_path().c_str(), W_OK | X_OK) != 0) refuse(name, errno);
        return {.file = file.string(), .exists = false};
    }
    if (S_ISDIR(found.st_mode)) refuse(name, "it is a folder", "name a file in it");
    if (S_ISBLK(found.st_mode)) refuse(name, "it is a disk or another block device");
    if (S_ISSOCK(found.st_mode)) refuse(name, "it is a socket");
    if (may_be_planted(file)) refuse_planted(name, file);
    if (access(file.c_str(), W_OK) != 0) refuse(name, errno);
    return {file.string(), -1, S_ISREG(found.st_mode)};
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
    const int made = to.exists ? O_NOFOLLOW : O_CREAT | O_EXCL;
    file_ = plain_ ? open(to.file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | made, 0666) : open_stream(to);
    if (file_ < 0) refuse(name, errno);
    struct stat opened {};
    if (plain_ && fstat(file_, &opened) == 0 && opened.st_nlink > 1 && all_may_write(fs::path(to.file).parent_path())) {
        close(file_);
        refuse(name, "it is another file, too, and in a folder into which all may write",
               "remove it, or write to another place");
    }
}

appended_file::~appended_file() { close(file_); }

void appended_file::drop_cut_line() {
    off_t end = plain_ ? lseek(file_, 0, SEEK_END) : 0;
    if (end <= 0) return;
    for (char last = 0; end > 0 && pread(file_, &last, 1, end - 1) == 1 && last != '\n';) --end;
    while (ftruncate(file_, end) != 0 && errno == EINTR) {
    }
}

int appended_file::append(std::string_view text) {
    const off_t before = plain_ ? lseek(file_, 0, SEEK_END) : 0;
    if (plain_ && !allowed_size(static_cast<std::uintmax_t>(before) + text.size())) return EFBIG;
    const int why = write_all(file_, text);
    if (why != 0 && plain_ && ftruncate(file_, before) != 0) return errno;
    return why;
}

}  // namespace rubato::base
