#include "base/files/own_folder.hpp"

#include "rubato/core.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rubato::base {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_folder(const fs::path& path, std::string_view reason,
                                std::string_view way_out = "remove it, or write to another place") {
    throw error(fmt::format("cannot write into '{}'", path.string()), reason, way_out);
}

/// Whether a file that we make there gets this owner.
bool gives_our_files(uid_t owner, int folder) {
    // Processes of other hosts may have the same number, and do this now.
    std::uint64_t mine = 0;
    if (getrandom(&mine, sizeof mine, 0) != sizeof mine) return false;
    const std::string name = fmt::format(".rubato-owner-{:016x}", mine);
    const int made = openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (made < 0) return false;
    struct stat found {};
    const bool same = fstat(made, &found) == 0 && found.st_uid == owner;
    close(made);
    (void)unlinkat(folder, name.c_str(), 0);
    return same;
}

/// On the way to it.
void refuse_planted_links(const fs::path& path) {
    std::error_code none;
    fs::path done;
    for (const fs::path& part : fs::absolute(path, none).parent_path()) {
        done /= part;
        if (fs::is_symlink(done, none) && may_be_planted(done))
            refuse_folder(path, fmt::format("'{}' is another user's link", done.string()));
    }
}

/// Opened, or nothing if there is none. No other user can replace what is in it afterwards.
std::optional<int> open_own(const fs::path& path) {
    const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        if (errno == ENOENT) return std::nullopt;
        std::error_code none;
        const int why = errno;
        if (fs::is_symlink(path, none)) refuse_folder(path, "it is a symbolic link");
        refuse_folder(path, why == ENOTDIR ? "it is no folder" : std::strerror(why));
    }
    struct stat found {};
    std::string wrong;
    if (fstat(folder, &found) != 0)
        wrong = std::strerror(errno);
    else if (found.st_uid != geteuid() && !gives_our_files(found.st_uid, folder))
        wrong = belongs_to(found.st_uid);
    else if (const mode_t mode = found.st_mode & 07777; (mode & 022) != 0 && fchmod(folder, mode & ~022U) != 0)
        wrong = "others may write into it";
    if (wrong.empty()) return folder;
    close(folder);
    refuse_folder(path, wrong);
}

}  // namespace

own_folder own_folder::at(const fs::path& path) {
    constexpr std::string_view elsewhere = "name a file in a place with room that can be written to";
    std::error_code failed;
    refuse_planted_links(path);
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), failed);
    if (failed) refuse_folder(path, failed.message(), elsewhere);
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) refuse_folder(path, std::strerror(errno), elsewhere);
    if (auto found = find(path)) return std::move(*found);
    refuse_folder(path, std::strerror(ENOENT), elsewhere);
}

std::optional<own_folder> own_folder::find(const fs::path& path) {
    const std::optional<int> opened = open_own(path);
    if (!opened) return std::nullopt;
    return own_folder(path, *opened);
}

own_folder::~own_folder() {
    if (descriptor_ >= 0) close(descriptor_);
}

own_folder::own_folder(own_folder&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

int own_folder::make(const std::string& name) const {
    remove(name);
    // Also where the folder's access list gives others more than this process's umask does.
    return openat(descriptor_, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

void own_folder::remove(const std::string& name) const noexcept { (void)unlinkat(descriptor_, name.c_str(), 0); }

void own_folder::move(const std::string& name, const own_folder& to) const noexcept {
    (void)renameat(descriptor_, name.c_str(), to.descriptor_, name.c_str());
}

std::vector<std::string> own_folder::names() const {
    std::vector<std::string> found;
    const int again = openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const list = again >= 0 ? fdopendir(again) : nullptr;
    if (list == nullptr) {
        if (again >= 0) close(again);
        return found;
    }
    while (const dirent* const e = readdir(list))
        if (const std::string_view name = e->d_name; name != "." && name != "..") found.emplace_back(name);
    closedir(list);
    return found;
}

void own_folder::remove_if_empty() const noexcept { (void)rmdir(path_.c_str()); }

plain_file::plain_file(const fs::path& file, links in_name) {
    const int last = in_name == links::refused ? O_NOFOLLOW : 0;
    const int opened = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | last);
    if (opened < 0) return;
    struct stat found {};
    if (fstat(opened, &found) != 0 || !S_ISREG(found.st_mode)) {
        close(opened);
        errno = EINVAL;
        return;
    }
    descriptor_ = opened;
    size_ = static_cast<std::size_t>(found.st_size);
    owner_ = found.st_uid;
}

plain_file::~plain_file() {
    if (descriptor_ >= 0) close(descriptor_);
}

std::size_t plain_file::read(std::size_t at, void* to, std::size_t most) const {
    const ssize_t there = descriptor_ >= 0 ? pread(descriptor_, to, most, static_cast<off_t>(at)) : 0;
    return there > 0 ? static_cast<std::size_t>(there) : 0;
}

bool is_us(uid_t owner, const fs::path& folder) {
    if (owner == geteuid()) return true;
    const int opened = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return false;
    const bool is = gives_our_files(owner, opened);
    close(opened);
    return is;
}

bool may_be_planted(const fs::path& path) {
    struct stat it {};
    struct stat other {};
    if (lstat(path.c_str(), &it) != 0 || it.st_uid == geteuid()) return false;
    // Links to folders are common where file systems are laid out for many users.
    const bool leads_to_file = S_ISLNK(it.st_mode) && (stat(path.c_str(), &other) != 0 || !S_ISDIR(other.st_mode));
    if (leads_to_file && it.st_uid != 0 && (other.st_mode == 0 || other.st_uid != it.st_uid)) return true;
    const fs::path folder = path.parent_path();
    return stat(folder.c_str(), &other) == 0 && (other.st_mode & S_IWOTH) != 0 && it.st_uid != other.st_uid &&
           (S_ISLNK(it.st_mode) || !is_us(it.st_uid, folder));
}

std::string belongs_to(uid_t user) { return fmt::format("it belongs to user {}", user); }

}  // namespace rubato::base
