// A file that grows, at addresses that never change.
#pragma once

#include <cstddef>
#include <filesystem>

namespace rubato::observe {

/// Its bytes are allocated on the disk before they are written: a store without disk space would end the program. It is
/// locked as long as the process lives.
class mapped_file {
public:
    /// Makes an empty file, and its folder if there is none, which never has more than `most` bytes. Throws if it
    /// cannot.
    mapped_file(std::filesystem::path path, std::size_t most);
    ~mapped_file();
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    std::byte* data() const { return begin_; }
    std::size_t size() const { return size_; }
    /// False if there is no room, and from then on; the first time, warns on standard error.
    bool grow_to(std::size_t bytes);
    /// Hands what was stored to the disk, or to the server of a shared folder.
    void sync() noexcept;

private:
    int extend(std::size_t bytes);

    std::filesystem::path path_;
    std::size_t most_;  // addresses are reserved for them, memory is not
    int file_ = -1;
    std::byte* begin_ = nullptr;
    std::size_t size_ = 0;
    bool full_ = false;
};

/// Whether a process has it as a mapped_file, this one not counted.
bool is_being_written(const std::filesystem::path& file);

}  // namespace rubato::observe
