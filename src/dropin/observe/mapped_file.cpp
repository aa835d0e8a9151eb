#include "dropin/observe/mapped_file.hpp"

#include "base/files/output_file.hpp"
#include "rubato/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

/// A multiple of the page size of every machine.
constexpr std::size_t least_step = std::size_t{64} << 10;
constexpr std::size_t longest_step = std::size_t{4} << 20;

}  // namespace

mapped_file::mapped_file(const base::own_folder& in, const std::string& name, std::size_t most)
    : path_(in.path() / name), most_((most + longest_step - 1) / longest_step * longest_step) {
    const auto fail = [&](int why) {
        in.remove(name);
        in.remove_if_empty();
        throw error(fmt::format("cannot write '{}'", path_.string()), std::strerror(why),
                    "name a file in a place with room that can be written to");
    };
    file_ = in.make(name);  // another running program may have mapped what was there
    if (file_ < 0) fail(errno);
    struct flock all {};
    all.l_type = F_WRLCK;
    // Of the open file: one of the process would end when its watchdog reads the file. File systems without locks do
    // without.
    (void)fcntl(file_, F_OFD_SETLK, &all);
    void* room = mmap(nullptr, most_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const int why = room == MAP_FAILED ? errno : (begin_ = static_cast<std::byte*>(room), extend(least_step));
    if (why == 0) return;
    if (begin_ != nullptr) munmap(begin_, most_);
    close(file_);
    fail(why);
}

mapped_file::~mapped_file() {
    munmap(begin_, most_);
    close(file_);
}

int mapped_file::extend(std::size_t bytes) {
    if (bytes > most_) return EFBIG;
    if (!base::allowed_size(bytes)) return EFBIG;
    int why = EINTR;
    while (why == EINTR) why = posix_fallocate(file_, static_cast<off_t>(size_), static_cast<off_t>(bytes - size_));
    if (why != 0) return why;
    if (mmap(begin_ + size_, bytes - size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
             static_cast<off_t>(size_)) == MAP_FAILED)
        return errno;
    size_ = bytes;
    return 0;
}

void mapped_file::cut(std::size_t bytes) noexcept {
    while (ftruncate(file_, static_cast<off_t>(bytes)) != 0 && errno == EINTR) {
    }
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
    const base::plain_file opened(file);
    struct flock all {};
    all.l_type = F_WRLCK;
    return opened.is_open() && fcntl(opened.descriptor(), F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

}  // namespace rubato::dropin
