// Folders in which no other user can have prepared anything, and plain files that are opened without surprises: what is
// removed, truncated or read is what was meant, whoever has made links meanwhile.
//
// Parts, calls and the cache of profiles lie in folders of the user into which nobody else may write. Such a folder is
// opened once, without following a link, and its files are made anew in what was opened: what had their names is
// removed, never truncated. A folder of another user is refused. In a folder into which all may write no link or file
// of another user is written to, nor any link on the path to it; elsewhere another user's link is followed if it leads
// to a folder, or to a file that is also that user's, or if it is root's. The kernel has a rule like this, but it may
// be off.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rubato::base {

/// A folder of this user, in which nobody else may write. It is opened once, so it stays the same one whatever its name
/// leads to later. Its files are named without their folder.
class own_folder {
public:
    /// Made if there is none, with the folders above it. Throws if it cannot be, or is a link or somebody else's.
    static own_folder at(const std::filesystem::path& path);
    /// Nothing if there is none. Throws as `at` does.
    static std::optional<own_folder> find(const std::filesystem::path& path);

    ~own_folder();
    own_folder(own_folder&& other) noexcept;
    own_folder& operator=(own_folder&&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::vector<std::string> names() const;
    /// A new file, open to read and write. What had that name is removed first, never written into. -1 and errno if it
    /// cannot be made.
    int make(const std::string& name) const;
    /// Neither fails if it is not there.
    void remove(const std::string& name) const noexcept;
    void move(const std::string& name, const own_folder& to) const noexcept;
    /// Removes the folder itself, unless something is in it.
    void remove_if_empty() const noexcept;

private:
    own_folder(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

    std::filesystem::path path_;
    int descriptor_ = -1;
};

/// A plain file that is open for reading.
class plain_file {
public:
    enum class links : std::uint8_t { followed, refused };
    /// Waits for nobody, as opening a FIFO would. Not open if there is no such file, or it is none; then errno tells
    /// why.
    explicit plain_file(const std::filesystem::path& file, links in_name = links::refused);
    ~plain_file();
    plain_file(const plain_file&) = delete;
    plain_file& operator=(const plain_file&) = delete;

    bool is_open() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }
    std::size_t size() const { return size_; }
    uid_t owner() const { return owner_; }
    /// As far as there are so many bytes.
    std::size_t read(std::size_t at, void* to, std::size_t most) const;

private:
    int descriptor_ = -1;
    std::size_t size_ = 0;
    uid_t owner_ = 0;
};

/// Whether such an owner is this user, as files in that folder show it: a file system of another host may show all
/// files as another user's, those included that we make there. What another user has made has another owner than ours.
bool is_us(uid_t owner, const std::filesystem::path& folder);

/// Who has prepared it may not be trusted: it lies where everybody may write, and belongs neither to this user nor to
/// the folder's owner; or it is a link to a file that does not belong to the link's owner, who is not root either. The
/// last part of the name is not followed.
bool may_be_planted(const std::filesystem::path& path);

/// "it belongs to user 1234"
std::string belongs_to(uid_t user);

}  // namespace rubato::base
