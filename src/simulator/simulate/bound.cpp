// Notation: n ranks, m bytes, latency a, b per byte. T(k) = min over N of (ceil(log2 k) + N - 1) (a + b m / N): how
// long it takes at least until one vector has come from one rank to k - 1 others, or from them, combined, to one, if it
// is cut into pieces of equal size and a port is busy for a + b m / N with each (Marendic et al. 2016, 5.2). Of one
// message alone, T(2) = a + b m. Where latency is no work for a port, as in LogGP, less is possible: a + b m is the
// bound then, and T is what to expect at best.
//
// All bounds use the same argument: take the moment at which all but the k last ranks have arrived, and assume that
// these have finished all they can do, at no cost. The rest takes the k last ranks at least so long. The bound is the
// best over all k, and never earlier than the last arrival.
//
// Of one rank in a rooted collective: its own vector, or block, leaves its link, or the root's reaches it.
#include "simulator/simulate/bound.hpp"

#include "base/core/portable.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rubato::simulator {
namespace {

class bounds {
public:
    bounds(std::span<const time_ns> arrivals, rank root, std::int64_t bytes, const link& l)
        : root_(root.value), bytes_(static_cast<double>(bytes)), link_(l) {
        for (std::size_t r = 0; r < arrivals.size(); ++r) ranks_.push_back({arrivals[r], static_cast<std::int32_t>(r)});
        std::ranges::sort(ranks_, {}, &arrival::time);
    }

    time_ns last() const { return ranks_.back().time; }
    time_ns root_arrives() const { return std::ranges::find(ranks_, root_, &arrival::who)->time; }

    /// The vectors of the k last ranks, except the root's, have to reach one rank that has all others' data. If that is
    /// the root, which may be missing, it is no faster; the root adds its own vector when it arrives.
    time_ns reduce() const {
        time_ns end = last();
        std::size_t late = 0;
        for (std::size_t i = ranks_.size(); i-- > 0;)
            if (ranks_[i].who != root_) end = std::max(end, ranks_[i].time + vector_to(++late + 1));
        return end;
    }

    time_ns bcast() const { return std::max(last(), root_arrives() + vector_to(ranks_.size())); }

    /// The last rank's vector has to reach all others, as in a broadcast. And each element of the k last ranks' vectors
    /// has to be received k - 1 times until it is complete on some rank, which may already have the others' sum, and
    /// then n - 1 times until all have it; n links share these receives.
    time_ns allreduce() const {
        const std::size_t n = ranks_.size();
        time_ns end = n > 1 ? last() + vector_to(n) : last();
        for (std::size_t k = 1; k <= n; ++k) {
            const std::size_t received = n - 1 + k - 1;
            end = std::max(end,
                           ranks_[n - k].time + data(bytes_ * static_cast<double>(received) / static_cast<double>(n)));
        }
        return end;
    }

    /// All blocks but the root's own pass the root's link one after the other, in the order of arrival.
    time_ns gather() const {
        time_ns free = time_ns::min();
        for (const arrival& a : ranks_)
            if (a.who != root_) free = std::max(free, a.time) + block();
        return std::max(last(), ranks_.size() > 1 ? free + link_.latency : last());
    }
    time_ns scatter() const { return std::max(last(), others_blocks(root_arrives())); }

    /// A rank's link receives a block of every other rank, in the order of arrival; the first rank's own does not pass.
    time_ns allgather() const {
        time_ns free = time_ns::min();
        for (std::size_t i = 1; i < ranks_.size(); ++i) free = std::max(free, ranks_[i].time) + block();
        return ranks_.size() > 1 ? std::max(last(), free + link_.latency) : last();
    }

    /// All of the last rank's data except its own block leaves it; in a reduction, too, as no other rank has any of it.
    time_ns last_ones_blocks() const { return others_blocks(last()); }

    /// The vector of rank r has to reach all ranks after it.
    time_ns scan() const {
        time_ns end = last();
        for (const arrival& a : ranks_)
            end = std::max(end, a.time + vector_to(ranks_.size() - static_cast<std::size_t>(a.who)));
        return end;
    }

    /// A rank that sends so many bytes to the root, which is at its end at `end`.
    std::vector<time_ns> sent(std::span<const time_ns> arrivals, double bytes, time_ns end) const {
        std::vector<time_ns> exits;
        for (const time_ns t : arrivals) exits.push_back(t + data(bytes));
        exits[at_root()] = end;
        return exits;
    }
    /// A rank that gets so many bytes of the root, which sends `times` as many.
    std::vector<time_ns> received(std::span<const time_ns> arrivals, double bytes, double times) const {
        const time_ns begin = arrivals[at_root()];
        std::vector<time_ns> exits;
        for (const time_ns t : arrivals) exits.push_back(std::max(t, begin + link_.latency + data(bytes)));
        exits[at_root()] = begin + data(times * bytes);
        return exits;
    }
    double bytes_of_block() const { return bytes_ / static_cast<double>(ranks_.size()); }
    double others() const { return static_cast<double>(ranks_.size() - 1); }

    /// A message of the last rank has to reach all others.
    time_ns barrier() const { return last() + ceil_log2(static_cast<std::int64_t>(ranks_.size())) * link_.latency; }

private:
    std::size_t at_root() const { return static_cast<std::size_t>(root_); }

    struct arrival {
        time_ns time;
        std::int32_t who;
    };

    /// When a block for each other rank has left a link.
    time_ns others_blocks(time_ns begin) const {
        const auto others = static_cast<time_ns::rep>(ranks_.size() - 1);
        return others > 0 ? begin + others * block() + link_.latency : begin;
    }
    time_ns data(double bytes) const { return base::time_within(bytes * link_.ns_per_byte); }
    time_ns block() const { return data(bytes_ / static_cast<double>(ranks_.size())); }

    /// T(k)
    time_ns vector_to(std::size_t k) const {
        const int steps = ceil_log2(static_cast<std::int64_t>(k));
        if (steps == 0) return {};
        const auto a = static_cast<double>(link_.latency.count());
        const double b = bytes_ * link_.ns_per_byte;
        const auto time = [&](double pieces) { return (steps + pieces - 1) * (a + b / pieces); };
        const double best = a > 0 ? std::sqrt((steps - 1) * b / a) : bytes_;
        const double below = std::clamp(std::floor(best), 1.0, std::max(1.0, bytes_));
        return base::time_within(std::min(time(below), time(std::min(below + 1, std::max(1.0, bytes_)))));
    }

    std::int32_t root_;
    double bytes_;
    link link_;
    std::vector<arrival> ranks_{};  // by time
};

}  // namespace

time_ns earliest_end(collective what, std::span<const time_ns> arrivals, rank root, std::int64_t bytes, const link& l) {
    const bounds b(arrivals, root, bytes, l);
    if (bytes == 0 && traits(what).moves_data()) return b.last();  // no rank has to send anything
    switch (what) {
        case collective::barrier: return b.barrier();
        case collective::bcast: return b.bcast();
        case collective::reduce: return b.reduce();
        case collective::allreduce: return b.allreduce();
        case collective::scatter:
        case collective::scatterv: return b.scatter();
        case collective::gather:
        case collective::gatherv: return b.gather();
        case collective::allgather:
        case collective::allgatherv: return b.allgather();
        case collective::alltoall:
        case collective::alltoallv:
        case collective::reduce_scatter_block:
        case collective::reduce_scatter: return b.last_ones_blocks();
        case collective::scan:
        case collective::exscan: return b.scan();
        case collective::neighbor_allgather:
        case collective::neighbor_alltoall:
        case collective::neighbor_allgatherv:
        case collective::neighbor_alltoallv:
        case collective::neighbor_reduce: return b.last();  // the last rank may have no neighbours
    }
    return b.last();
}

std::vector<time_ns> earliest_exits(collective what, std::span<const time_ns> arrivals, rank root, std::int64_t bytes,
                                    const link& l) {
    const time_ns end = earliest_end(what, arrivals, root, bytes, l);
    const bounds b(arrivals, root, bytes, l);
    if (traits(what).on_graph || arrivals.size() == 1) return {arrivals.begin(), arrivals.end()};
    const collective_traits& t = traits(what);
    if (!t.rooted) return std::vector<time_ns>(arrivals.size(), end);
    const double part = t.chunked() ? b.bytes_of_block() : static_cast<double>(bytes);
    if (t.output == holders::root) return b.sent(arrivals, part, end);
    return b.received(arrivals, part, t.chunked() ? b.others() : 1);
}

}  // namespace rubato::simulator
