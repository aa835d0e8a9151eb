// A file that grows, at addresses that never change.
#pragma once

#include "base/files/own_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace rubato::dropin {

/// Its bytes are allocated on the disk before they are written: a store without disk space would end the program. It is
/// locked as long as the process lives.
class mapped_file {
public:
    /// Makes an empty file, which never has more than `most` bytes. Throws if it cannot; then the folder is removed,
    /// too, unless something is in it.
    mapped_file(const base::own_folder& in, const std::string& name, std::size_t most);
    ~mapped_file();
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    std::byte* data() const { return begin_; }
    std::size_t size() const { return size_; }
    /// False if there is no room, and from then on; the first time, warns on standard error.
    bool grow_to(std::size_t bytes);
    /// So many bytes are left of it. Nothing may be stored behind them any more.
    void cut(std::size_t bytes) noexcept;
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

/// Whether a process has it as a mapped_file.
bool is_being_written(const std::filesystem::path& file);

}  // namespace rubato::dropin
