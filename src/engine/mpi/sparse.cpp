#include "engine/mpi/sparse.hpp"

#include "base/core/wire.hpp"
#include "engine/mpi/mailbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <numeric>
#include <thread>

namespace rubato::engine {
namespace {

void check_sends(std::span<const mpi::sparse_send> sends, int ranks) {
    for (const mpi::sparse_send& s : sends) {
        if (s.to < 0 || s.to >= ranks)
            throw error(fmt::format("data for rank {}", s.to), fmt::format("there are ranks 0 to {}", ranks - 1),
                        "give one of them");
        if (s.data.size() > INT_MAX)
            throw error(fmt::format("{} for one rank", format_bytes(static_cast<std::int64_t>(s.data.size()))),
                        "a message has at most 2 GiB", "send it in several");
    }
}

std::int64_t partners(std::span<const mpi::sparse_send> sends) {
    std::vector<int> all;
    for (const mpi::sparse_send& s : sends) all.push_back(s.to);
    std::ranges::sort(all);
    return std::unique(all.begin(), all.end()) - all.begin();
}

std::int64_t bytes_of(std::span<const mpi::sparse_send> sends) {
    return std::accumulate(sends.begin(), sends.end(), std::int64_t{0},
                           [](std::int64_t n, const mpi::sparse_send& s) { return n + std::ssize(s.data); });
}

}  // namespace

class sparse_exchanges::mpi_post final : public sparse_exchange::post {
public:
    mpi_post(MPI_Comm comm, int tag, mpi::communicator& on, told& mine)
        : comm_(comm), tag_(tag), on_(on), mine_(mine) {}

    void send(const outgoing& o) override {
        check(MPI_Issend(o.data.data(), static_cast<int>(o.data.size()), MPI_BYTE, o.to.value, tag_, comm_,
                         &sent_.emplace_back()),
              "MPI_Issend");
    }
    bool all_received() override {
        int all = 0;
        check(MPI_Testall(static_cast<int>(sent_.size()), sent_.data(), &all, MPI_STATUSES_IGNORE), "MPI_Testall");
        return all != 0;
    }
    bool receive(incoming& i) override { return receive_one(comm_, tag_, false, i.from.value, i.data); }
    void enter_barrier() override { barrier_ = start_telling(on_, mine_); }
    bool barrier_has_ended() override { return barrier_.test(); }

private:
    MPI_Comm comm_;
    int tag_;
    mpi::communicator& on_;
    told& mine_;
    std::vector<MPI_Request> sent_{};
    mpi::request barrier_{};
};

std::vector<mpi::sparse_receipt> sparse_exchanges::run(mpi::communicator& on, std::span<const mpi::sparse_send> sends,
                                                       mpi::sparse_way how) {
    try {
        check_sends(sends, on.size());
    } catch (const error&) {
        (void)make(on, {}, how);  // the others do not know that this rank has nothing for them
        throw;
    }
    return make(on, sends, how);
}

/// Ends when all ranks have begun it, as a barrier does.
mpi::request sparse_exchanges::start_telling(mpi::communicator& on, told& mine) {
    return on.start("allreduce/recursive_doubling",
                    mpi::call::allreduce(MPI_IN_PLACE, &mine, base::numbers_in(mine), MPI_INT64_T, MPI_MAX));
}

std::vector<mpi::sparse_receipt> sparse_exchanges::make(mpi::communicator& on, std::span<const mpi::sparse_send> sends,
                                                        mpi::sparse_way how) {
    constexpr std::array ways{mpi::sparse_way::consensus, mpi::sparse_way::counts, mpi::sparse_way::alltoall};
    if (how == mpi::sparse_way::chosen) how = ways[choice_.next()];
    ++number_;
    const time_ns came = on.clock().now();
    told mine{partners(sends), bytes_of(sends), came_.count(), left_.count()};
    std::vector<mpi::sparse_receipt> all;
    if (how == mpi::sparse_way::consensus) {
        all = by_consensus(on, sends, mine);
    } else {
        mpi::request known = start_telling(on, mine);
        all = how == mpi::sparse_way::counts ? by_counts(on, sends) : by_alltoall(on, sends);
        known.wait();
    }
    choice_.ended(static_cast<std::size_t>(std::ranges::find(ways, how) - ways.begin()), {mine.partners, mine.bytes},
                  time_ns(mine.left - mine.came));
    came_ = came;
    left_ = on.clock().now();
    return all;
}

std::vector<mpi::sparse_receipt> sparse_exchanges::by_consensus(mpi::communicator& on,
                                                                std::span<const mpi::sparse_send> sends, told& mine) {
    std::vector<outgoing> all;
    for (const mpi::sparse_send& s : sends) all.push_back({rank(s.to), s.data});
    mpi_post post(comm_, tag(), on, mine);
    sparse_exchange exchange(all, post);
    while (!exchange.progress()) {
        on.progress();              // another rank may wait for what was started before,
        std::this_thread::yield();  // and one that this rank waits for may need this core
    }
    std::vector<mpi::sparse_receipt> received;
    for (incoming& i : exchange.take()) received.push_back({i.from.value, std::move(i.data)});
    return received;
}

std::vector<mpi::sparse_receipt> sparse_exchanges::by_counts(mpi::communicator& on,
                                                             std::span<const mpi::sparse_send> sends) {
    std::vector<std::int32_t> messages(static_cast<std::size_t>(on.size()));
    std::vector<MPI_Request> sent;
    for (const mpi::sparse_send& s : sends) {
        ++messages[static_cast<std::size_t>(s.to)];
        check(MPI_Isend(s.data.data(), static_cast<int>(s.data.size()), MPI_BYTE, s.to, tag(), comm_,
                        &sent.emplace_back()),
              "MPI_Isend");
    }
    std::int32_t expected = 0;
    on.reduce_scatter_block("reduce_scatter_block/halving", messages.data(), &expected, 1, MPI_INT32_T, MPI_SUM);
    std::vector<mpi::sparse_receipt> received(static_cast<std::size_t>(expected));
    for (mpi::sparse_receipt& r : received) (void)receive_one(comm_, tag(), true, r.from, r.data);
    check(MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    std::ranges::stable_sort(received, {}, &mpi::sparse_receipt::from);
    return received;
}

std::vector<mpi::sparse_receipt> sparse_exchanges::by_alltoall(mpi::communicator& on,
                                                               std::span<const mpi::sparse_send> sends) {
    // What is for one rank goes in one chunk: the number of messages, their sizes, and their data.
    const auto ranks = static_cast<std::size_t>(on.size());
    std::vector<std::vector<std::byte>> chunks(ranks);
    std::vector<std::vector<std::int64_t>> sizes(ranks);
    for (const mpi::sparse_send& s : sends) sizes[static_cast<std::size_t>(s.to)].push_back(std::ssize(s.data));
    for (std::size_t r = 0; r < ranks; ++r) {
        if (sizes[r].empty()) continue;
        sizes[r].insert(sizes[r].begin(), std::ssize(sizes[r]));
        const auto head = std::as_bytes(std::span(sizes[r]));
        chunks[r].assign(head.begin(), head.end());
    }
    for (const mpi::sparse_send& s : sends) {
        auto& chunk = chunks[static_cast<std::size_t>(s.to)];
        chunk.insert(chunk.end(), s.data.begin(), s.data.end());
    }
    std::vector<std::int64_t> sent(ranks);
    std::vector<std::int64_t> received(ranks);
    for (std::size_t r = 0; r < ranks; ++r) sent[r] = std::ssize(chunks[r]);
    on.alltoall({}, sent.data(), 1, MPI_INT64_T, received.data(), 1, MPI_INT64_T);
    const auto places_of = [ranks](const std::vector<std::int64_t>& counts) {
        std::vector<std::int64_t> places(ranks);
        std::exclusive_scan(counts.begin(), counts.end(), places.begin(), std::int64_t{0});
        return places;
    };
    const std::vector<std::int64_t> from = places_of(sent);
    const std::vector<std::int64_t> to = places_of(received);
    std::vector<std::byte> out;
    for (const auto& chunk : chunks) out.insert(out.end(), chunk.begin(), chunk.end());
    std::vector<std::byte> in(static_cast<std::size_t>(to.back() + received.back()));
    on.alltoallv({}, out.data(), {sent, from}, MPI_BYTE, in.data(), {received, to}, MPI_BYTE);
    std::vector<mpi::sparse_receipt> all;
    for (std::size_t r = 0; r < ranks; ++r) {
        if (received[r] == 0) continue;
        const std::byte* at = in.data() + to[r];
        const auto number = [&at] {
            std::int64_t n = 0;
            std::memcpy(&n, at, sizeof n);
            at += sizeof n;
            return n;
        };
        std::vector<std::int64_t> lengths(static_cast<std::size_t>(number()));
        for (std::int64_t& n : lengths) n = number();
        for (const std::int64_t n : lengths) {
            all.push_back({static_cast<int>(r), {at, at + n}});
            at += n;
        }
    }
    return all;
}

}  // namespace rubato::engine
