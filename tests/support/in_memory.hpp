// Messages between threads of one process, for running the engine of several ranks without MPI.
//
// Delivery is adversarial: a receiver sees a message only after a random number of looks, so messages overtake each
// other and completions come in any order. Some sends wait for their receiver.
#pragma once

#include "engine/execute/engine.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <tuple>

namespace rubato::testing {

/// The wires between `ranks` ranks. Units are bytes times `unit`.
class wires {
public:
    explicit wires(std::size_t unit = 1) : unit_(unit) {}

    struct letter {
        std::vector<std::byte> data{};
        bool taken = false;
    };
    using key = std::tuple<std::int32_t, std::int32_t, std::uint32_t>;  // from, to, message

    std::shared_ptr<letter> post(key k, const std::byte* data, std::size_t units) {
        const std::lock_guard lock(mutex_);
        auto l = std::make_shared<letter>();
        if (units > 0) l->data.assign(data, data + units * unit_);
        if (!letters_.emplace(k, l).second) throw std::logic_error("the same message was sent twice");
        return l;
    }
    /// True if the message was there; it is now in `into`.
    bool take(key k, std::byte* into, std::size_t units) {
        const std::lock_guard lock(mutex_);
        const auto found = letters_.find(k);
        if (found == letters_.end()) return false;
        letter& l = *found->second;
        if (l.data.size() != units * unit_)
            throw std::logic_error("a message has another size than its receiver expects");
        if (units > 0) std::memcpy(into, l.data.data(), l.data.size());
        l.taken = true;
        letters_.erase(found);
        return true;
    }
    bool taken(const letter& l) {
        const std::lock_guard lock(mutex_);
        return l.taken;
    }
    std::size_t undelivered() {
        const std::lock_guard lock(mutex_);
        return letters_.size();
    }
    std::size_t unit() const { return unit_; }

private:
    std::size_t unit_;
    std::mutex mutex_{};
    std::map<key, std::shared_ptr<letter>> letters_{};
};

/// One rank's end. `combine` gets (left, into, units).
class in_memory : public engine::transport {
public:
    using operation = std::function<void(const std::byte*, std::byte*, std::int64_t)>;

    in_memory(wires& w, rank me, std::uint64_t seed, operation combine)
        : wires_(w), me_(me), random_(seed), combine_(std::move(combine)) {}

    void send(std::uint32_t s, const std::byte* data, std::int64_t units, rank to, std::uint32_t message) override {
        auto l = wires_.post({me_.value, to.value, message}, data, static_cast<std::size_t>(units));
        const bool waits = random_() % 2 == 0;  // as a rendezvous does
        pending_.push_back({s, draw(), std::nullopt, waits ? std::move(l) : nullptr});
    }
    void recv(std::uint32_t s, std::byte* data, std::int64_t units, rank from, std::uint32_t message) override {
        pending_.push_back(
            {s, draw(), place{{from.value, me_.value, message}, data, static_cast<std::size_t>(units)}, nullptr});
    }
    void poll(std::vector<std::uint32_t>& completed, bool wait) override {
        do {
            for (std::size_t i = 0; i < pending_.size();) {
                operation_state& p = pending_[i];
                if (p.looks > 0 || !finished(p)) {
                    p.looks -= p.looks > 0;
                    ++i;
                    continue;
                }
                completed.push_back(p.step);
                pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
            }
            if (completed.empty() && wait) std::this_thread::yield();
        } while (wait && completed.empty());
    }
    void combine(const std::byte* left, std::byte* into, std::int64_t units) override { combine_(left, into, units); }
    void copy(const std::byte* from, std::byte* to, std::int64_t units) override {
        std::memcpy(to, from, static_cast<std::size_t>(units) * wires_.unit());
    }

private:
    struct place {
        wires::key key;
        std::byte* into;
        std::size_t units;
    };
    struct operation_state {
        std::uint32_t step;
        unsigned looks;                         // until it may complete
        std::optional<place> receive;           // of a receive
        std::shared_ptr<wires::letter> letter;  // of a send that waits for its receiver
    };

    unsigned draw() { return random_() % 4 == 0 ? static_cast<unsigned>(random_() % 20) : 0; }
    bool finished(const operation_state& p) {
        if (p.receive) return wires_.take(p.receive->key, p.receive->into, p.receive->units);
        return !p.letter || wires_.taken(*p.letter);
    }

    wires& wires_;
    rank me_;
    std::mt19937_64 random_;
    operation combine_;
    std::vector<operation_state> pending_{};
};

}  // namespace rubato::testing
