// Small messages between the ranks of a private communicator, numbers of 64 bits, with a tag of their own: what ranks
// tell each other beside the data.
#pragma once

#include "engine/roll_call.hpp"

#include <mpi.h>

#include <deque>

namespace rubato::mpi {

class mailbox final : public roll_call::post {
public:
    mailbox(MPI_Comm comm, int tag, int ranks) : comm_(comm), tag_(tag), sent_to_(static_cast<std::size_t>(ranks)) {}
    ~mailbox() override;
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;

    void send(rank to, std::vector<std::int64_t> text) override;
    bool receive(rank& from, std::vector<std::int64_t>& text) override;

    /// Messages to each rank, and from all of them.
    const std::vector<std::int64_t>& sent_to() const { return sent_to_; }
    std::int64_t received() const { return received_; }
    bool sends_have_left();

private:
    struct posted {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::int64_t> text{};
    };
    /// Until the process ends: after a failure MPI may still read what has not left.
    static void keep(std::deque<posted> sent);

    MPI_Comm comm_;
    int tag_;
    std::deque<posted> under_way_{};
    std::vector<std::int64_t> sent_to_;
    std::int64_t received_ = 0;
};

}  // namespace rubato::mpi
