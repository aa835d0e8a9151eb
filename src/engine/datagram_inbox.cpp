#include "engine/datagram_inbox.hpp"

namespace rubato {

void datagram_inbox::begin(std::uint64_t call, std::int64_t bytes) {
    call_ = call;
    bytes_ = bytes;
    // Those of calls that went another way.
    for (auto old = kept_.begin(); old != kept_.end() && old->first < call; old = kept_.erase(old))
        kept_bytes_ -= old->second.data.size();
}

bool datagram_inbox::accept(std::span<const std::byte> raw, multicast_chain::datagram& d) {
    datagram_head h;
    if (raw.size() < sizeof h) return false;
    std::memcpy(&h, raw.data(), sizeof h);
    if (h.magic != datagram_head::ours || h.key != key_ || h.call < call_) return false;
    const std::span<const std::byte> data = raw.subspan(sizeof h);
    if (is_of_this_call(h)) {
        d = {static_cast<std::int64_t>(h.fragment), data};
        return true;
    }
    if (h.call > call_ && kept_bytes_ + data.size() <= most_) {
        kept_bytes_ += data.size();
        kept_.emplace(h.call, letter{h, {data.begin(), data.end()}});
    }
    return false;
}

bool datagram_inbox::take_kept(multicast_chain::datagram& d) {
    while (!kept_.empty() && kept_.begin()->first == call_) {
        taken_ = std::move(kept_.begin()->second);
        kept_.erase(kept_.begin());
        kept_bytes_ -= taken_.data.size();
        if (!is_of_this_call(taken_.head)) continue;
        d = {static_cast<std::int64_t>(taken_.head.fragment), taken_.data};
        return true;
    }
    return false;
}

}  // namespace rubato
