// Reading parts of files: of processes that run, also on other hosts, little is read, and the file is opened each time,
// because only then does a shared folder show what is new.
#include "base/files/own_folder.hpp"
#include "dropin/observe/part.hpp"
#include "dropin/observe/part_layout.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

/// All of it; else false.
template <class Source, class T>
bool read_whole(const Source& in, std::size_t at, T& to) {
    return in.read(at, &to, sizeof to) == sizeof to;
}

constexpr std::size_t at_watched = sizeof(file_head) + sizeof(record_head);

std::optional<watched_part> watched_in(const base::plain_file& in, std::uint64_t run) {
    file_head head{};
    record_head record{};
    watched_part watched{};
    const bool is = read_whole(in, 0, head) && head.magic == magic && read_whole(in, sizeof head, record) &&
                    record.kind == static_cast<std::uint32_t>(record_kind::whereabouts) &&
                    read_whole(in, at_watched, watched) && watched.run == run;
    return is ? std::optional(watched) : std::nullopt;
}

/// A thread that moves while it is read is read again, a few times.
bool read_thread(const base::plain_file& in, std::size_t i, whereabouts& to) {
    for (int attempt = 0; attempt < 4; ++attempt) {
        whereabouts again{};
        const std::size_t at = first_thread + i * sizeof(whereabouts);
        if (!read_whole(in, at, to) || !read_whole(in, at, again)) return false;
        if (to.own.turn == again.own.turn && to.own.turn % whereabouts::states != whereabouts::changing) return true;
    }
    return false;
}

bool says_what_was_called(record_kind kind) {
    return kind == record_kind::sums || kind == record_kind::events || kind == record_kind::note ||
           kind == record_kind::calls;
}
bool is_of_calls(record_kind kind) { return kind == record_kind::calls; }

/// Without records of some kinds. Of records that end after the file, what there is.
template <class Source>
std::vector<std::byte> copy_without(const Source& in, bool (*left_out)(record_kind)) {
    file_head head{};
    if (!read_whole(in, 0, head) || head.magic != magic) return {};
    std::vector<std::byte> copied(sizeof head);
    const std::size_t end = std::min<std::size_t>(head.used, in.size());
    for (std::size_t at = sizeof head; at < end;) {
        record_head record{};
        if (!read_whole(in, at, record) || record.bytes < sizeof record) break;
        const std::size_t there = std::min<std::size_t>(record.bytes, end - at);
        if (!left_out(static_cast<record_kind>(record.kind))) {
            const std::size_t begin = copied.size();
            copied.resize(begin + there);
            copied.resize(begin + in.read(at, copied.data() + begin, there));
        }
        at += there;
    }
    head.used = copied.size();
    std::memcpy(copied.data(), &head, sizeof head);
    return copied;
}

struct part_in_memory {
    std::span<const std::byte> bytes;

    std::size_t size() const { return bytes.size(); }
    std::size_t read(std::size_t at, void* to, std::size_t most) const {
        const std::size_t there = std::min(most, bytes.size() - std::min(at, bytes.size()));
        if (there > 0) std::memcpy(to, bytes.data() + at, there);
        return there;
    }
};

bool none_of_them(record_kind) { return false; }

/// The owner of what a name is, and of what it leads to.
std::vector<uid_t> owners_of(const std::filesystem::path& path) {
    std::vector<uid_t> found;
    struct stat it {};
    if (lstat(path.c_str(), &it) == 0) found.push_back(it.st_uid);
    if (stat(path.c_str(), &it) == 0) found.push_back(it.st_uid);
    return found;
}

}  // namespace

std::filesystem::path parts_named(const std::filesystem::path& file) {
    return file.extension() == ".parts" ? file : std::filesystem::path(file.string() + ".parts");
}

std::vector<std::filesystem::path> recordings_in(const std::filesystem::path& folder) {
    std::vector<uid_t> trusted = owners_of(std::filesystem::path(folder).replace_extension());
    trusted.push_back(geteuid());
    const auto check = [&](const std::filesystem::path& path) {
        for (const uid_t owner : owners_of(path))
            if (std::ranges::find(trusted, owner) == trusted.end())
                throw error(fmt::format("cannot use '{}'", path.string()), base::belongs_to(owner),
                            "copy the folder, so that it is yours");
    };
    check(folder);
    std::vector<std::filesystem::path> found;
    std::error_code none;
    for (const std::filesystem::directory_entry& e : std::filesystem::directory_iterator(folder, none)) {
        check(e.path());
        found.push_back(e.path());
    }
    return found;
}

std::vector<std::byte> read_part(const std::filesystem::path& file, bool with_calls) {
    return copy_without(base::plain_file(file), with_calls ? none_of_them : is_of_calls);
}

std::vector<std::byte> without_calls(std::span<const std::byte> bytes) {
    return copy_without(part_in_memory{bytes}, is_of_calls);
}

std::optional<part> glance_at(const std::filesystem::path& file) {
    return decode(copy_without(base::plain_file(file), says_what_was_called));
}

std::optional<part> look_at(const std::filesystem::path& file, std::uint64_t run) {
    const base::plain_file in(file);
    const auto watched = watched_in(in, run);
    if (!watched) return std::nullopt;
    std::vector<std::byte> kept = copy_without(in, says_what_was_called);
    for (std::size_t i = 0; i < std::min<std::size_t>(watched->threads, most_threads); ++i) {
        whereabouts one{};
        if (kept.size() < first_thread + (i + 1) * sizeof one) break;
        if (!read_thread(in, i, one)) one = {};
        std::memcpy(kept.data() + first_thread + i * sizeof one, &one, sizeof one);
    }
    return decode(kept);
}

glimpse glimpse_of(const std::filesystem::path& file, std::uint64_t run) {
    const base::plain_file in(file);
    const auto watched = watched_in(in, run);
    if (!watched) return {};
    glimpse seen{watched->beats, std::vector<turn_within>(std::min<std::size_t>(watched->threads, most_threads))};
    for (std::size_t i = 0; i < seen.turns.size(); ++i) {
        whereabouts::line own{};
        if (!read_whole(in, first_thread + i * sizeof(whereabouts), own) ||
            own.turn % whereabouts::states != whereabouts::inside)
            continue;
        seen.turns[i].turn = own.turn;
        if (own.in == waiting::tests_of) seen.turns[i].polls = own.polls;
    }
    return seen;
}

bool tells_to_end(const std::filesystem::path& file, std::uint64_t run) {
    const auto watched = watched_in(base::plain_file(file), run);
    return watched && watched->ends != 0;
}

}  // namespace rubato::dropin
