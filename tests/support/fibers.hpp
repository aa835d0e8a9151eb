// Ranks as fibers of one thread, on a simulated clock. A fiber runs until it waits for something; then any other that
// can go on does. So code that waits inside can be run in random order, and a seed repeats it.
#pragma once

#include "rubato/core.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RUBATO_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define RUBATO_ADDRESS_SANITIZER
#endif
#ifdef RUBATO_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace rubato::testing {

class fibers {
public:
    /// Thrown where a fiber waits, if all are to end.
    struct stopped {};

    explicit fibers(std::uint64_t seed) : random_(seed) {}
    fibers(const fibers&) = delete;
    fibers& operator=(const fibers&) = delete;

    void add(std::function<void()> body) { all_.push_back(std::make_unique<fiber>(*this, std::move(body))); }

    /// Until all have ended. False if nobody can go on any more, or that takes too long; then all have been stopped.
    bool run() {
        bool hang = false;
        int idle = 0;
        for (int steps = 0; ended_ < all_.size() && !stopping_; ++steps) {
            if (between_) between_();
            if (step()) {
                idle = 0;
                now_ += time_ns(static_cast<std::int64_t>(random_() % 2000));
            } else if (++idle > looks) {
                while (!events_.empty() && events_.top() <= now_) events_.pop();
                if (!events_.empty()) {
                    now_ = events_.top();
                    idle = 0;
                }
            }
            hang = idle > most_idle || steps > most_steps;
            stopping_ = stopping_ || hang;
        }
        for (auto& f : all_)
            if (!f->ended) resume(*f);
        return !hang;
    }
    /// All fibers are to end, this one at once.
    void stop() {
        stopping_ = true;
        throw stopped{};
    }
    /// Called before each step, outside of all fibers.
    void between_steps(std::function<void()> f) { between_ = std::move(f); }

    time_ns now() const { return now_; }
    /// Something can happen then.
    void expect_event(time_ns at) { events_.push(at); }

    /// Only within a fiber. What `is_so` throws is thrown here.
    void wait_until(std::function<bool()> is_so) {
        fiber& f = *running_;
        f.waits_for = std::move(is_so);
        suspend(f);
        f.waits_for = nullptr;
        if (f.trouble) std::rethrow_exception(std::exchange(f.trouble, nullptr));
    }
    void sleep_until(time_ns at) {
        if (at <= now_) return;
        expect_event(at);
        wait_until([this, at] { return now_ >= at; });
    }

private:
    static constexpr std::size_t stack_bytes = std::size_t{1} << 20;
    static constexpr int looks = 25;         // in vain, before time goes on
    static constexpr int most_idle = 20000;  // in vain, while nothing can happen
    static constexpr int most_steps = 20'000'000;

    struct fiber {
        fiber(fibers& among, std::function<void()> what)
            : owner(among), body(std::move(what)), stack(std::make_unique_for_overwrite<std::byte[]>(stack_bytes)) {
            getcontext(&at);
            at.uc_stack.ss_sp = stack.get();
            at.uc_stack.ss_size = stack_bytes;
            at.uc_link = nullptr;
            const auto self = reinterpret_cast<std::uintptr_t>(this);
            // Its arguments are ints.
            makecontext(&at, reinterpret_cast<void (*)()>(&fibers::enter), 2, static_cast<unsigned>(self >> 32U),
                        static_cast<unsigned>(self));
        }
        fibers& owner;
        std::function<void()> body;
        std::function<bool()> waits_for{};
        std::exception_ptr trouble{};
        bool ended = false;
        std::unique_ptr<std::byte[]> stack;
        ucontext_t at{};
    };

    static void enter(unsigned high, unsigned low) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): makecontext passes integers
        auto& f = *reinterpret_cast<fiber*>((std::uintptr_t{high} << 32U) | low);
        arrived(nullptr, &f.owner.main_stack_, &f.owner.main_bytes_);
        try {
            if (!f.owner.stopping_) f.body();
        } catch (const stopped&) {
        }
        f.ended = true;
        ++f.owner.ended_;
        leave(nullptr, f.owner.main_stack_, f.owner.main_bytes_);
        setcontext(&f.owner.main_);
    }

    /// In a random order; true if one of them has gone on.
    bool step() {
        const std::size_t first = random_() % all_.size();
        for (std::size_t i = 0; i < all_.size(); ++i) {
            fiber& f = *all_[(first + i) % all_.size()];
            if (f.ended || !can_go_on(f)) continue;
            resume(f);
            return true;
        }
        return false;
    }
    static bool can_go_on(fiber& f) {
        try {
            return !f.waits_for || f.waits_for();
        } catch (...) {
            f.trouble = std::current_exception();
            return true;
        }
    }
    void resume(fiber& f) {
        running_ = &f;
        void* fake = nullptr;
        leave(&fake, f.stack.get(), stack_bytes);
        swapcontext(&main_, &f.at);
        arrived(fake, nullptr, nullptr);
        running_ = nullptr;
    }
    void suspend(fiber& f) {
        void* fake = nullptr;
        leave(&fake, main_stack_, main_bytes_);
        swapcontext(&f.at, &main_);
        arrived(fake, nullptr, nullptr);
        if (stopping_) throw stopped{};
    }

    // The address sanitizer must know which stack is used.
#ifdef RUBATO_ADDRESS_SANITIZER
    static void leave(void** fake, const void* to, std::size_t bytes) {
        __sanitizer_start_switch_fiber(fake, to, bytes);
    }
    static void arrived(void* fake, const void** from, std::size_t* bytes) {
        __sanitizer_finish_switch_fiber(fake, from, bytes);
    }
#else
    static void leave(void**, const void*, std::size_t) {}
    static void arrived(void*, const void**, std::size_t*) {}
#endif

    std::mt19937_64 random_;
    time_ns now_{};
    std::priority_queue<time_ns, std::vector<time_ns>, std::greater<>> events_{};
    std::vector<std::unique_ptr<fiber>> all_{};
    fiber* running_ = nullptr;
    std::size_t ended_ = 0;
    bool stopping_ = false;
    std::function<void()> between_{};
    ucontext_t main_{};
    const void* main_stack_ = nullptr;
    std::size_t main_bytes_ = 0;
};

}  // namespace rubato::testing
