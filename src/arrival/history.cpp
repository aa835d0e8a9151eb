#include "rubato/history.hpp"

#include <bit>
#include <cassert>

namespace rubato {

operation operation_of(collective what, rank root, std::int64_t bytes) {
    assert(bytes >= 0);
    return {what, static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(bytes))), root};
}

operation_history::operation_history(const operation& what, std::size_t calls_kept, std::size_t sites_kept)
    : what_(what), recent_(calls_kept), most_sites_(sites_kept) {
    sites_.reserve(sites_kept);
}

void operation_history::count_site(const void* site) {
    for (last_site_ = 0; last_site_ < sites_.size(); ++last_site_) {
        if (sites_[last_site_].address != site) continue;
        ++sites_[last_site_].calls;
        return;
    }
    if (sites_.size() < most_sites_)
        sites_.push_back({site, 1});
    else
        ++calls_elsewhere_;
}

history::history(const settings& how) : how_(how) {
    if (how.calls == 0 || how.operations == 0)
        throw error("a history that keeps nothing", "predictions are made from what it keeps",
                    "keep at least one call of one operation");
}

const operation_history* history::find(const operation& what) const {
    const auto found = index_.find(what);
    return found == index_.end() ? nullptr : &operations_[found->second];
}

std::size_t history::hash::operator()(const operation& o) const {
    // All of it fits in 48 bits; the product spreads them.
    const std::uint64_t packed = (static_cast<std::uint64_t>(o.what) << 40U) |
                                 (static_cast<std::uint64_t>(o.size_class) << 32U) |
                                 static_cast<std::uint32_t>(o.root.value);
    return packed * 0x9e3779b97f4a7c15U >> 16U;
}

std::size_t history::find_or_add(const operation& what) {
    const auto found = index_.find(what);
    if (found != index_.end()) return found->second;
    const std::size_t place = operations_.size();
    if (place == how_.operations) return place;
    operations_.emplace_back(what, how_.calls, how_.sites);
    index_.emplace(what, place);
    return place;
}

}  // namespace rubato
