// The last values of a series.
#pragma once

#include <cassert>
#include <cstddef>
#include <vector>

namespace rubato {

/// Keeps the last `capacity` values, oldest first. All its memory is taken when it is made.
template <class T>
class ring {
public:
    explicit ring(std::size_t capacity) : kept_(capacity) { assert(capacity > 0); }

    void push(const T& value) {
        if (size_ < kept_.size()) {
            kept_[size_++] = value;
            return;
        }
        kept_[oldest_] = value;
        if (++oldest_ == kept_.size()) oldest_ = 0;
    }

    std::size_t size() const { return size_; }
    std::size_t capacity() const { return kept_.size(); }
    /// 0 is the oldest.
    const T& operator[](std::size_t i) const {
        assert(i < size_);
        const std::size_t at = oldest_ + i;
        return kept_[at < kept_.size() ? at : at - kept_.size()];
    }
    const T& newest() const { return (*this)[size_ - 1]; }

private:
    std::vector<T> kept_;
    std::size_t size_ = 0;
    std::size_t oldest_ = 0;
};

}  // namespace rubato
