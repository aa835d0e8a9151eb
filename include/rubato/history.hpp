// When one rank arrived at the collectives of one communicator and when it left them.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/ring.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace rubato {

/// Calls whose arrivals are expected to be alike. Equal on all ranks, so the place in the source is not part of it.
struct operation {
    collective what = collective::barrier;
    std::uint8_t size_class = 0;  ///< 0: no bytes; c: from 2^(c-1) to 2^c - 1 bytes
    rank root{};                  ///< 0 where there is none

    auto operator<=>(const operation&) const = default;
};

/// `bytes` must be equal on all ranks and not below 0.
RUBATO_API operation operation_of(collective what, rank root, std::int64_t bytes);

/// The times of a call, on the clock of its owner.
struct call_times {
    time_ns arrival{};
    time_ns exit{};
};

/// A place in the program that called: the return address, or null if it is not known.
struct call_site {
    const void* address = nullptr;
    std::uint64_t calls = 0;
};

/// The calls of one operation.
class RUBATO_API operation_history {
public:
    operation_history(const operation& what, std::size_t calls_kept, std::size_t sites_kept);

    void record(const call_times& t, const void* site) {
        recent_.push(t);
        ++calls_;
        if (last_site_ < sites_.size() && sites_[last_site_].address == site)
            ++sites_[last_site_].calls;
        else
            count_site(site);
    }

    const operation& what() const { return what_; }
    std::uint64_t calls() const { return calls_; }
    /// The last calls, oldest first.
    const ring<call_times>& recent() const { return recent_; }
    /// In the order in which they called first.
    std::span<const call_site> sites() const { return sites_; }
    /// Calls from places for which there was no room.
    std::uint64_t calls_elsewhere() const { return calls_elsewhere_; }

private:
    void count_site(const void* site);

    operation what_;
    std::uint64_t calls_ = 0;
    ring<call_times> recent_;
    std::vector<call_site> sites_{};
    std::size_t most_sites_;
    std::size_t last_site_ = 0;
    std::uint64_t calls_elsewhere_ = 0;
};

/// Allocates only when an operation is seen for the first time. Not for several threads at once.
class RUBATO_API history {
public:
    struct settings {
        std::size_t calls = 64;         ///< kept of each operation
        std::size_t sites = 16;         ///< kept of each operation
        std::size_t operations = 1024;  ///< kept at all
    };

    history() : history(settings{}) {}
    /// Throws unless at least one call of one operation is kept.
    explicit history(const settings& how);

    void record(const operation& what, time_ns arrival, time_ns exit, const void* site = nullptr) {
        // Programs repeat themselves, so the last operation is tried first.
        if (last_ >= operations_.size() || operations_[last_].what() != what) last_ = find_or_add(what);
        if (last_ < operations_.size())
            operations_[last_].record({arrival, exit}, site);
        else
            ++calls_not_kept_;
    }

    /// In the order in which they were seen first. Valid until another one is seen.
    std::span<const operation_history> operations() const { return operations_; }
    /// Null if it has not been seen, or was not kept. Valid until another one is seen.
    const operation_history* find(const operation& what) const;
    /// Calls of operations for which there was no room.
    std::uint64_t calls_not_kept() const { return calls_not_kept_; }

private:
    struct hash {
        std::size_t operator()(const operation& o) const;
    };

    /// Its place among the operations; past the end if there is no room.
    std::size_t find_or_add(const operation& what);

    settings how_;
    std::vector<operation_history> operations_{};
    std::unordered_map<operation, std::size_t, hash> index_{};
    std::size_t last_ = 0;
    std::uint64_t calls_not_kept_ = 0;
};

}  // namespace rubato
