// Items of a layout in memory, with a margin on both sides. The digest covers the margins, so a write outside shows.
#pragma once

#include "dice.hpp"
#include "layout.hpp"

#include <algorithm>
#include <vector>

namespace random_program {

class buffer {
public:
    buffer() = default;
    buffer(const layout& l, int items)
        : layout_(&l), items_(items), bytes_(static_cast<std::size_t>(items * l.extent) + 2 * margin, untouched) {}

    void clear() { std::fill(bytes_.begin(), bytes_.end(), untouched); }
    void fill(std::uint64_t seed) {
        for_each_element([&](std::byte* at, std::uint64_t i) { write(layout_->element, at, spread(seed + i)); },
                         items_);
    }
    /// All bytes, gaps included.
    void add_to(digest& d) {
        if (!layout_) return;
        clear_paddings();
        d.add(bytes_);
    }
    /// The first items, where the rest is undefined.
    void add_to(digest& d, int items) {
        clear_paddings();
        const auto bytes = static_cast<std::size_t>(bytes_of(layout_->element));
        for_each_element([&](const std::byte* at, std::uint64_t) { d.add(std::span(at, bytes)); }, items);
    }
    /// From then on a digest covers only what is around them.
    void forget_elements() {
        const auto bytes = static_cast<std::size_t>(layout_ ? bytes_of(layout_->element) : 0);
        for_each_element([&](std::byte* at, std::uint64_t) { std::fill_n(at, bytes, untouched); }, items_);
    }
    void* data() { return bytes_.empty() ? nullptr : at(0); }

private:
    static constexpr std::size_t margin = 64;
    static constexpr std::byte untouched{0xa5};

    std::byte* at(int item) { return bytes_.data() + margin + item * layout_->extent; }
    void clear_paddings() {
        for_each_element([&](std::byte* at, std::uint64_t) { clear_padding(layout_->element, at); }, items_);
    }
    template <class Do>
    void for_each_element(Do work, int items) {
        std::uint64_t i = 0;
        for (int item = 0; item < items; ++item)
            for (const std::ptrdiff_t offset : layout_->offsets) work(at(item) + offset, i++);
    }

    const layout* layout_ = nullptr;
    int items_ = 0;
    std::vector<std::byte> bytes_{};
};

}  // namespace random_program
