// How every file is written: only plain files are replaced, and no text is left half-written.
//
// Whole or not at all: a text is written beside the file and takes its place by a rename, so a full disk leaves the old
// file. Links are followed, as far as the user can have made them. Text for a device, a FIFO or an open descriptor is
// written into it; nothing but a plain file is replaced. Wrong places are refused before anything is computed or run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace rubato::base {

/// What a name leads to. Symbolic links are followed; the target of the last one need not exist yet.
struct destination {
    std::string file{};   ///< its path, without links
    int descriptor = -1;  ///< of -, /dev/stdout, /dev/fd/63: the open file that is meant
    bool plain = true;    ///< false: a descriptor, a character device or a FIFO, into which text is written as it is
    bool exists = true;   ///< a plain file may yet have to be made
};

/// Throws if nothing may be written there: a folder, a block device, a socket, a file without permission, or a file in
/// a folder that does not exist. Also if another user may have prepared it, or a link to it, where everybody may write.
destination find_destination(const std::string& name);

/// Whether a file may become so long: the kernel ends programs that go beyond the limit (`ulimit -f`).
bool allowed_size(std::uintmax_t bytes);

/// A text that takes the place of a file in one step: readers find the old file or the new one, whatever happens.
class output_file {
public:
    /// Throws if nothing may be written there. An empty name: no output is wanted.
    explicit output_file(std::string name);

    const std::string& name() const { return name_; }
    /// A plain file keeps its permissions. Throws if there is no room; then the file is as it was.
    void write(std::string_view text) const;
    /// The same for a text that `make` hands over piece by piece.
    using piece_taker = std::function<void(std::string_view)>;
    void write(const std::function<void(const piece_taker&)>& make) const;

private:
    std::string name_;
};

/// A file to which texts are appended while a program runs. Each is written at once, as a whole or not at all.
class appended_file {
public:
    /// Throws if it cannot be opened.
    explicit appended_file(const std::string& name);
    ~appended_file();
    appended_file(const appended_file&) = delete;
    appended_file& operator=(const appended_file&) = delete;

    /// 0, or the error's number if there is no room.
    int append(std::string_view text);
    /// Removes what is behind the last whole line.
    void drop_cut_line();

private:
    int file_ = -1;
    bool plain_ = true;
};

}  // namespace rubato::base
