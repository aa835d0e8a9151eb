// Reading parts of files: of processes that run, also on other hosts, little is read, and the file is opened each time,
// because only then does a shared folder show what is new.
#include "observe/part.hpp"
#include "observe/part_layout.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace rubato::observe {
namespace {

class open_part {
public:
    explicit open_part(const std::filesystem::path& file) : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~open_part() {
        if (file_ >= 0) close(file_);
    }
    open_part(const open_part&) = delete;
    open_part& operator=(const open_part&) = delete;

    std::size_t read_some(std::size_t at, void* to, std::size_t most) const {
        const ssize_t there = file_ >= 0 ? pread(file_, to, most, static_cast<off_t>(at)) : 0;
        return there > 0 ? static_cast<std::size_t>(there) : 0;
    }
    template <class T>
    bool read(std::size_t at, T& to) const {
        return read_some(at, &to, sizeof to) == sizeof to;
    }

private:
    int file_;
};

constexpr std::size_t at_watched = sizeof(file_head) + sizeof(record_head);

std::optional<watched_part> watched_in(const open_part& in) {
    file_head head{};
    record_head record{};
    watched_part watched{};
    const bool is = in.read(0, head) && head.magic == magic && in.read(sizeof head, record) &&
                    record.kind == static_cast<std::uint32_t>(record_kind::whereabouts) && in.read(at_watched, watched);
    return is ? std::optional(watched) : std::nullopt;
}

/// A thread that moves while it is read is read again, a few times.
bool read_thread(const open_part& in, std::size_t i, whereabouts& to) {
    for (int attempt = 0; attempt < 4; ++attempt) {
        whereabouts again{};
        const std::size_t at = first_thread + i * sizeof(whereabouts);
        if (!in.read(at, to) || !in.read(at, again)) return false;
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
    if (!in.read(0, head) || head.magic != magic) return {};
    std::vector<std::byte> copied(sizeof head);
    for (std::size_t at = sizeof head; at < head.used;) {
        record_head record{};
        if (!in.read(at, record) || record.bytes < sizeof record) break;
        if (!left_out(static_cast<record_kind>(record.kind))) {
            const std::size_t begin = copied.size();
            copied.resize(begin + record.bytes);
            copied.resize(begin + in.read_some(at, copied.data() + begin, record.bytes));
        }
        at += record.bytes;
    }
    head.used = copied.size();
    std::memcpy(copied.data(), &head, sizeof head);
    return copied;
}

struct part_in_memory {
    std::span<const std::byte> bytes;

    std::size_t read_some(std::size_t at, void* to, std::size_t most) const {
        const std::size_t there = std::min(most, bytes.size() - std::min(at, bytes.size()));
        if (there > 0) std::memcpy(to, bytes.data() + at, there);
        return there;
    }
    template <class T>
    bool read(std::size_t at, T& to) const {
        return read_some(at, &to, sizeof to) == sizeof to;
    }
};

bool none_of_them(record_kind) { return false; }

}  // namespace

std::vector<std::byte> read_part(const std::filesystem::path& file, bool with_calls) {
    return copy_without(open_part(file), with_calls ? none_of_them : is_of_calls);
}

std::vector<std::byte> without_calls(std::span<const std::byte> bytes) {
    return copy_without(part_in_memory{bytes}, is_of_calls);
}

std::optional<part> glance_at(const std::filesystem::path& file) {
    const open_part in(file);
    std::vector<std::byte> kept = copy_without(in, says_what_was_called);
    if (const auto watched = watched_in(in))
        for (std::size_t i = 0; i < std::min<std::size_t>(watched->threads, most_threads); ++i) {
            whereabouts one{};
            if (!read_thread(in, i, one)) one = {};
            std::memcpy(kept.data() + first_thread + i * sizeof one, &one, sizeof one);
        }
    return decode(kept);
}

std::vector<turn_within> turns_within_calls(const std::filesystem::path& file) {
    const open_part in(file);
    const auto watched = watched_in(in);
    std::vector<turn_within> turns(watched ? std::min<std::size_t>(watched->threads, most_threads) : 0);
    for (std::size_t i = 0; i < turns.size(); ++i) {
        whereabouts::line own{};
        if (!in.read(first_thread + i * sizeof(whereabouts), own) ||
            own.turn % whereabouts::states != whereabouts::inside)
            continue;
        turns[i].turn = own.turn;
        if (own.in == waiting::tests_of) turns[i].polls = own.polls;
    }
    return turns;
}

bool tells_to_end(const std::filesystem::path& file) {
    const auto watched = watched_in(open_part(file));
    return watched && watched->ends != 0;
}

}  // namespace rubato::observe
