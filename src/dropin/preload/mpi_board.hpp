// A director's board on MPI.
#pragma once

#include "base/core/hosts.hpp"
#include "dropin/direct/director.hpp"
#include "dropin/preload/network.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/mpi.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rubato::dropin {

class mpi_board final : public board {
public:
    /// On the private communicator of `ours`. All ranks make its calls and the board's exchanges in the same order.
    /// Without `network`, it is measured when first needed.
    mpi_board(MPI_Comm comm, mpi::communicator& ours, std::optional<model> network)
        : comm_(comm), ours_(ours), is_given_(network.has_value()), network_(network) {}
    mpi_board(const mpi_board&) = delete;
    mpi_board& operator=(const mpi_board&) = delete;

    std::uint64_t gather(std::span<const std::byte> mine) override {
        exchange& e = exchanges_[++last_];
        e.mine.assign(mine.begin(), mine.end());
        e.all.resize(mine.size() * static_cast<std::size_t>(ours_.size()));
        const int n = static_cast<int>(mine.size());
        engine::check(PMPI_Iallgather(e.mine.data(), n, MPI_BYTE, e.all.data(), n, MPI_BYTE, comm_, &e.request),
                      "MPI_Iallgather");
        return last_;
    }
    std::uint64_t tell(rank from, std::span<const std::byte> message) override {
        exchange& e = exchanges_[++last_];
        e.all.assign(message.begin(), message.end());
        engine::check(
            PMPI_Ibcast(e.all.data(), static_cast<int>(e.all.size()), MPI_BYTE, from.value, comm_, &e.request),
            "MPI_Ibcast");
        return last_;
    }
    std::vector<std::byte> take(std::uint64_t ticket) override {
        const auto found = exchanges_.find(ticket);
        engine::check(PMPI_Wait(&found->second.request, MPI_STATUS_IGNORE), "MPI_Wait");
        std::vector<std::byte> all = std::move(found->second.all);
        exchanges_.erase(found);
        return all;
    }
    void synchronise() override { ours_.synchronise(); }
    const model& network() override {
        if (!network_) network_ = network_of(comm_, ours_.hosts());
        return *network_;
    }
    /// A model that is given tells nothing of it.
    const model* inside() override {
        const std::vector<std::int32_t>& hosts = ours_.hosts();
        const bool two_kinds = base::on_several_hosts(hosts) && base::are_shared(hosts);
        if (!std::exchange(asked_inside_, true) && two_kinds && !is_given_) inside_ = inside_of(comm_, hosts);
        return inside_ ? &*inside_ : nullptr;
    }
    void doubt_network() override {
        if (is_given_) return;
        network_.reset();
        inside_.reset();
        asked_inside_ = false;
        dropin::doubt_network(ours_.hosts());
    }
    /// Whether nothing is under way any more.
    bool is_quiet() {
        while (!exchanges_.empty()) {
            int done = 0;
            engine::check(PMPI_Test(&exchanges_.begin()->second.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
            if (done == 0) return false;
            exchanges_.erase(exchanges_.begin());
        }
        return true;
    }
    time_ns now() override { return own_time(); }

private:
    struct exchange {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> mine{};
        std::vector<std::byte> all{};
    };

    MPI_Comm comm_;
    mpi::communicator& ours_;
    bool is_given_;
    std::optional<model> network_;
    std::optional<model> inside_{};
    bool asked_inside_ = false;
    std::map<std::uint64_t, exchange> exchanges_{};
    std::uint64_t last_ = 0;
};

}  // namespace rubato::dropin
