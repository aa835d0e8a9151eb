#include "engine/execute/multicast_chain.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rubato::engine {
namespace {

/// Data on its way down the chain, in batches: enough to keep a link busy, little enough to be copied.
constexpr std::size_t most_under_way = 16;

/// Fragments that the root casts before it looks whom to serve.
constexpr std::int64_t cast_at_once = 64;

std::uint64_t first_bits(std::int64_t n) { return n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

/// Calls f(index) for each bit.
template <class F>
void each_bit(std::uint64_t bits, F f) {
    for (; bits != 0; bits &= bits - 1) f(static_cast<std::int64_t>(std::countr_zero(bits)));
}

}  // namespace

error different_sizes() {
    return {"ranks broadcast different numbers of bytes", "a part of a message of another size has come",
            "give the same count and type on all ranks"};
}

std::int64_t fragmentation::fragments_in(std::int64_t batch) const {
    return std::min(per_batch, fragments() - batch * per_batch);
}

std::int64_t fragmentation::size(std::int64_t fragment) const {
    return std::min(fragment_bytes, bytes - offset(fragment));
}

multicast_chain::multicast_chain(std::span<std::byte> data, const fragmentation& cut, const place& where, post& p)
    : data_(data),
      cut_(cut),
      where_(where),
      post_(p),
      over_(static_cast<std::size_t>(cut.batches())),
      answers_(static_cast<std::size_t>(cut.batches())),
      wanted_(static_cast<std::size_t>(cut.batches())),
      asked_(static_cast<std::size_t>(cut.batches())),
      incomplete_(cut.batches()),
      unanswered_(where.after && !cut.whole ? cut.batches() : 0) {
    for (std::int64_t b = 0; b < cut_.batches(); ++b)
        lacks_.push_back(is_root() ? 0 : first_bits(cut_.fragments_in(b)));
    if (where_.tells) post_.send(*where_.tells, {.what = chain_note::kind::here});
}

bool multicast_chain::progress() {
    cast_some();
    hear_all();
    serve();
    // Looking for notes may cost more than all else, and a rank that has heard all needs none.
    for (chain_note n; !has_ended(); n = {}) {
        if (!post_.receive(n)) return false;
        take(n);
        serve();
    }
    return true;
}

bool multicast_chain::has_ended() {
    return incomplete_ == 0 && unsent_ == 0 && unanswered_ == 0 && unserved_ == 0 && post_.under_way() == 0;
}

/// On the root, too, which may hear itself: else its datagrams would fill the place for those of the next root.
void multicast_chain::hear_all() {
    for (datagram d; post_.hear(d);) {
        if (d.fragment < 0 || d.fragment >= cut_.fragments() || std::ssize(d.data) != cut_.size(d.fragment)) continue;
        if (store(d.fragment, d.data)) ++heard_;
        // Networks seldom change the order. Where one does, some fragments come twice.
        const bool is_last = (d.fragment + 1) % cut_.per_batch == 0 || d.fragment + 1 == cut_.fragments();
        const std::int64_t passed = d.fragment / cut_.per_batch + (is_last ? 1 : 0);
        for (; !is_root() && passed_ < passed; ++passed_) end_casting(passed_);
    }
}

void multicast_chain::take(const chain_note& n) {
    if (n.batch < 0 || n.batch >= cut_.batches()) throw different_sizes();
    const auto batch = static_cast<std::size_t>(n.batch);
    switch (n.what) {
        case chain_note::kind::here:
            awaited_came_ = true;
            cast_some();
            break;
        case chain_note::kind::over:
            hear_all();  // it may have come while this note was on its way
            end_casting(n.batch);
            break;
        case chain_note::kind::lacks:
            answers_[batch] = true;
            --unanswered_;
            wanted_[batch] = n.fragments;
            if (n.fragments == 0) break;
            ++unserved_;
            to_serve_.push_back(n.batch);
            break;
        case chain_note::kind::pieces: take_pieces(n); break;
    }
}

void multicast_chain::take_pieces(const chain_note& n) {
    std::span<const std::byte> left = n.data;
    each_bit(n.fragments, [&](std::int64_t i) {
        const std::int64_t fragment = n.batch * cut_.per_batch + i;
        if (fragment >= cut_.fragments() || std::ssize(left) < cut_.size(fragment)) throw different_sizes();
        const auto size = static_cast<std::size_t>(cut_.size(fragment));
        if (store(fragment, left.first(size))) ++missed_;
        left = left.subspan(size);
    });
    if (!left.empty()) throw different_sizes();
    std::uint64_t& asked = asked_[static_cast<std::size_t>(n.batch)];
    if (asked == 0) return;
    asked &= ~n.fragments;
    unsent_ -= asked == 0 ? 1 : 0;
}

/// False if it was here before.
bool multicast_chain::store(std::int64_t fragment, std::span<const std::byte> piece) {
    const std::int64_t batch = fragment / cut_.per_batch;
    std::uint64_t& lacks = lacks_[static_cast<std::size_t>(batch)];
    const std::uint64_t bit = std::uint64_t{1} << (fragment % cut_.per_batch);
    if ((lacks & bit) == 0) return false;
    std::memcpy(data_.data() + cut_.offset(fragment), piece.data(), piece.size());
    lacks &= ~bit;
    const bool is_wanted = (wanted_[static_cast<std::size_t>(batch)] & bit) != 0;
    if (is_wanted && (to_serve_.empty() || to_serve_.back() != batch)) to_serve_.push_back(batch);
    if (lacks == 0) complete(batch);
    return true;
}

void multicast_chain::cast_some() {
    if (!is_root() || (where_.awaited && !awaited_came_)) return;
    for (std::int64_t n = 0; n < cast_at_once && cast_ < cut_.fragments(); ++n) {
        const auto piece =
            data_.subspan(static_cast<std::size_t>(cut_.offset(cast_)), static_cast<std::size_t>(cut_.size(cast_)));
        if (!post_.cast({cast_, piece})) return;
        ++cast_;
        if (cast_ % cut_.per_batch == 0 || cast_ == cut_.fragments()) complete((cast_ - 1) / cut_.per_batch);
    }
}

/// This rank has the batch; the root has cast it.
void multicast_chain::complete(std::int64_t batch) {
    --incomplete_;
    if (!cut_.whole)
        end_casting(batch);
    else if (where_.after)
        send_pieces(batch, first_bits(cut_.fragments_in(batch)));
}

void multicast_chain::end_casting(std::int64_t batch) {
    const auto b = static_cast<std::size_t>(batch);
    if (cut_.whole || over_[b]) return;
    over_[b] = true;
    if (!is_root()) {
        post_.send(*where_.before, {.what = chain_note::kind::lacks, .batch = batch, .fragments = lacks_[b]});
        asked_[b] = lacks_[b];
        unsent_ += asked_[b] != 0 ? 1 : 0;
    }
    if (where_.after && !answers_[b]) post_.send(*where_.after, {.what = chain_note::kind::over, .batch = batch});
}

void multicast_chain::serve() {
    for (; !to_serve_.empty() && post_.under_way() < most_under_way; to_serve_.pop_front()) {
        const auto b = static_cast<std::size_t>(to_serve_.front());
        const std::uint64_t here = wanted_[b] & ~lacks_[b];
        if (here == 0) continue;
        wanted_[b] &= ~here;
        unserved_ -= wanted_[b] == 0 ? 1 : 0;
        send_pieces(to_serve_.front(), here);
    }
}

void multicast_chain::send_pieces(std::int64_t batch, std::uint64_t fragments) {
    chain_note n{.what = chain_note::kind::pieces, .batch = batch, .fragments = fragments};
    each_bit(fragments, [&](std::int64_t i) {
        const std::int64_t fragment = batch * cut_.per_batch + i;
        if (fragment >= cut_.fragments()) throw different_sizes();
        const auto from = data_.begin() + cut_.offset(fragment);
        n.data.insert(n.data.end(), from, from + cut_.size(fragment));
    });
    post_.send(*where_.after, std::move(n));
}

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

}  // namespace rubato::engine
