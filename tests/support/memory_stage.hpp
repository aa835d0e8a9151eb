// A player's stage between ranks of one process: exchanges, announcements and messages come in any order, after any
// delay.
#pragma once

#include "engine/execute/player.hpp"
#include "in_memory.hpp"
#include "reference.hpp"

#include <deque>

namespace rubato::testing {

/// What a rank calls: its part of a problem, elements of `affine`.
struct memory_call {
    problem what{};
    std::int64_t units = 0;
    std::vector<affine> input{};
    std::vector<affine> output{};

    memory_call(const problem& p, std::int32_t me, std::int64_t n) : what(p), units(n) {
        const layout l = layout_of(p, me, n);
        input.resize(static_cast<std::size_t>(units_in(l.input, p.input_chunks(rank(me)))));
        for (std::size_t u = 0; u < input.size(); ++u)
            input[u] = element(me, static_cast<std::int64_t>(u), p.commutative);
        output.resize(static_cast<std::size_t>(units_in(l.output, p.output_chunks(rank(me)))));
    }
};

/// What lies between the ranks of one communicator.
class hall {
public:
    explicit hall(std::int32_t ranks) : ranks_(ranks), told_(static_cast<std::size_t>(ranks * ranks)) {}

    std::int32_t ranks() const { return ranks_; }
    wires& messages(std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        return messages_.try_emplace(number, sizeof(affine)).first->second;
    }
    /// Operations that all ranks have ended.
    void forget(std::uint64_t before) {
        const std::lock_guard lock(mutex_);
        messages_.erase(messages_.begin(), messages_.lower_bound(before));
    }
    /// Of operations that are over.
    std::size_t undelivered(std::uint64_t before) {
        const std::lock_guard lock(mutex_);
        std::size_t n = 0;
        for (auto& [number, w] : messages_)
            if (number < before) n += w.undelivered();
        return n;
    }
    void contribute(std::size_t exchange, std::int32_t who, std::int64_t value) {
        const std::lock_guard lock(mutex_);
        if (exchange >= exchanges_.size())
            exchanges_.resize(exchange + 1, std::vector<std::optional<std::int64_t>>(static_cast<std::size_t>(ranks_)));
        exchanges_[exchange][static_cast<std::size_t>(who)] = value;
    }
    bool complete(std::size_t exchange, std::vector<std::int64_t>& all) {
        const std::lock_guard lock(mutex_);
        all.clear();
        for (const auto& v : exchanges_[exchange]) {
            if (!v) return false;
            all.push_back(*v);
        }
        return true;
    }
    /// All ranks make the same number of exchanges.
    bool exchanges_agree() {
        const std::lock_guard lock(mutex_);
        for (const auto& e : exchanges_)
            for (const auto& v : e)
                if (!v) return false;
        return true;
    }
    void tell(std::int32_t from, std::int32_t to, std::vector<std::int64_t> what) {
        const std::lock_guard lock(mutex_);
        queue(from, to).push_back(std::move(what));
    }
    bool hear(std::int32_t from, std::int32_t to, std::vector<std::int64_t>& what) {
        const std::lock_guard lock(mutex_);
        auto& q = queue(from, to);
        if (q.empty()) return false;
        what = std::move(q.front());
        q.pop_front();
        return true;
    }

private:
    std::deque<std::vector<std::int64_t>>& queue(std::int32_t from, std::int32_t to) {
        return told_[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(to)];
    }

    std::int32_t ranks_;
    std::mutex mutex_{};
    std::map<std::uint64_t, wires> messages_{};
    std::vector<std::vector<std::optional<std::int64_t>>> exchanges_{};
    std::vector<std::deque<std::vector<std::int64_t>>> told_;
};

class memory_resources final : public engine::call_resources {
public:
    memory_resources(hall& h, rank me, std::mt19937_64& random) : hall_(h), me_(me), random_(random) {}

    bool prepare_early(const engine::intent& what, const engine::plan& p, std::uint64_t number) override {
        if (what.bytes == engine::intent::unknown || random_() % 8 == 0) return false;
        sizes_ = layout::uniform(what.bytes / static_cast<std::int64_t>(sizeof(affine)));
        sizes_.skips_empty = traits(what.what.what).skips_empty();
        bind(p, number);
        return true;
    }
    void prepare(const void* given, engine::plan_cache::entry& entry, std::uint64_t number, bool begun) override {
        bind_call(given);
        if (!begun) bind(entry.steps, number);
    }
    std::unique_ptr<engine::improvisation> improvise(const engine::intent& what, const void*, std::uint64_t) override {
        throw error(std::string(what.use->id), "memory has no algorithms that choose while they run", "take another");
    }
    const layout& sizes() const override { return sizes_; }
    const engine::memory& where() const override { return memory_; }
    engine::transport& messages() override { return *messages_; }
    std::exception_ptr finish() override {
        memory_ = {};
        call_ = nullptr;
        return {};
    }
    void abandon() noexcept override {}
    std::int64_t bytes_on(rank other) const override {
        if (call_ == nullptr || !traits(call_->what.what).rooted || call_->what.root != me_)
            return engine::intent::unknown;
        const layout l = layout_of(call_->what, me_.value, call_->units);
        const chunk_table& t = call_->what.what == collective::scatterv ? l.input : l.output;
        return t.counts[static_cast<std::size_t>(other.value)] * static_cast<std::int64_t>(sizeof(affine));
    }

private:
    void bind_call(const void* given) {
        // Players are given constant calls, whose buffers are not.
        auto& c = *static_cast<memory_call*>(const_cast<void*>(given));
        call_ = &c;
        sizes_ = layout_of(c.what, me_.value, c.units);
        memory_.input = reinterpret_cast<std::byte*>(c.input.data());
        memory_.output = reinterpret_cast<std::byte*>(c.output.data());
    }
    void bind(const engine::plan& p, std::uint64_t number) {
        scratch_.assign(static_cast<std::size_t>(sizes_.scratch_units(p.steps())), {});
        memory_.scratch = reinterpret_cast<std::byte*>(scratch_.data());
        memory_.input_stride = memory_.output_stride = memory_.scratch_stride = sizeof(affine);
        messages_.emplace(hall_.messages(number), me_, random_(),
                          [](const std::byte* left, std::byte* into, std::int64_t n) {
                              const auto* x = reinterpret_cast<const affine*>(left);
                              auto* y = reinterpret_cast<affine*>(into);
                              for (std::int64_t i = 0; i < n; ++i) y[i] = then(x[i], y[i]);
                          });
    }

    hall& hall_;
    rank me_;
    std::mt19937_64& random_;
    const memory_call* call_ = nullptr;
    layout sizes_{};
    engine::memory memory_{};
    std::vector<affine> scratch_{};
    std::optional<in_memory> messages_{};
};

class memory_stage final : public engine::stage {
public:
    /// `idle` is called while the rank waits for an exchange.
    memory_stage(hall& h, rank me, std::uint64_t seed, std::function<void()> idle = std::this_thread::yield)
        : hall_(h), me_(me), random_(seed), idle_(std::move(idle)) {}

    /// Operations under way at once, at most.
    std::uint64_t room = UINT64_MAX;

    std::unique_ptr<engine::call_resources> make_resources() override {
        return std::make_unique<memory_resources>(hall_, me_, random_);
    }
    void look(bool wait) override {
        if (wait) idle_();
    }
    std::uint64_t most_at_once() const override { return room; }
    void exchange(std::int64_t mine) override { hall_.contribute(started_++, me_.value, mine); }
    bool exchanged(std::vector<std::int64_t>& all, bool wait) override {
        if (!wait && random_() % 4 == 0) return false;
        while (!hall_.complete(asked_, all)) {
            if (!wait) return false;
            idle_();
        }
        ++asked_;
        return true;
    }
    void tell(rank to, std::vector<std::int64_t> told) override { hall_.tell(me_.value, to.value, std::move(told)); }
    bool hear(std::vector<std::int64_t>& told) override {
        if (random_() % 3 == 0) return false;
        const auto first = static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(hall_.ranks()));
        for (std::int32_t i = 0; i < hall_.ranks(); ++i)
            if (hall_.hear((first + i) % hall_.ranks(), me_.value, told)) return true;
        return false;
    }

private:
    hall& hall_;
    rank me_;
    std::mt19937_64 random_;
    std::function<void()> idle_;
    std::size_t started_ = 0;
    std::size_t asked_ = 0;
};

}  // namespace rubato::testing
