#include "observe/mapped_file.hpp"

#include "files/output_file.hpp"
#include "rubato/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rubato::observe {
namespace {

/// A multiple of the page size of every machine.
constexpr std::size_t least_step = std::size_t{64} << 10;
constexpr std::size_t longest_step = std::size_t{4} << 20;

}  // namespace

mapped_file::mapped_file(std::filesystem::path path, std::size_t most)
    : path_(std::move(path)), most_((most + longest_step - 1) / longest_step * longest_step) {
    const auto fail = [this](int why) {
        std::error_code none;
        std::filesystem::remove(path_.parent_path(), none);  // if no other rank's file is in it
        throw error(fmt::format("cannot write '{}'", path_.string()), std::strerror(why),
                    "name a file in a place with room that can be written to");
    };
    // Rank 0 has checked the folder of the output on its host; other hosts may lack it.
    std::error_code failed;
    std::filesystem::create_directories(path_.parent_path(), failed);
    if (failed) fail(failed.value());
    unlink(path_.c_str());  // another running program may have it mapped
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) fail(errno);
    struct flock all {};
    all.l_type = F_WRLCK;
    (void)fcntl(file_, F_SETLK, &all);  // a file system without locks does without
    void* room = mmap(nullptr, most_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const int why = room == MAP_FAILED ? errno : (begin_ = static_cast<std::byte*>(room), extend(least_step));
    if (why == 0) return;
    if (begin_ != nullptr) munmap(begin_, most_);
    close(file_);
    unlink(path_.c_str());
    fail(why);
}

mapped_file::~mapped_file() {
    munmap(begin_, most_);
    close(file_);
}

int mapped_file::extend(std::size_t bytes) {
    if (bytes > most_) return EFBIG;
    if (!files::allowed_size(bytes)) return EFBIG;
    int why = EINTR;
    while (why == EINTR) why = posix_fallocate(file_, static_cast<off_t>(size_), static_cast<off_t>(bytes - size_));
    if (why != 0) return why;
    if (mmap(begin_ + size_, bytes - size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
             static_cast<off_t>(size_)) == MAP_FAILED)
        return errno;
    size_ = bytes;
    return 0;
}

void mapped_file::sync() noexcept { (void)msync(begin_, size_, MS_SYNC); }

bool mapped_file::grow_to(std::size_t bytes) {
    if (bytes <= size_) return true;
    if (full_) return false;
    const std::size_t step = std::clamp(size_, least_step, longest_step);
    const int why = extend(size_ + (bytes - size_ + step - 1) / step * step);
    if (why == 0) return true;
    full_ = true;
    std::fprintf(stderr, "rubato: cannot record more in '%s': %s; what is recorded so far stays\n", path_.c_str(),
                 std::strerror(why));
    return false;
}

bool is_being_written(const std::filesystem::path& file) {
    const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0) return false;
    struct flock all {};
    all.l_type = F_WRLCK;
    const bool locked = fcntl(opened, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
    close(opened);
    return locked;
}

}  // namespace rubato::observe
