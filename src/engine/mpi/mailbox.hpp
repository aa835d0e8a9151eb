// Small messages between the ranks of a private communicator, with a tag of their own: what ranks tell each other
// beside the data.
#pragma once

#include "engine/execute/roll_call.hpp"
#include "engine/mpi/datatype.hpp"

#include <deque>
#include <utility>

namespace rubato::engine {

/// A message that has come, of whatever length; false if there is none. With `wait`, waits for one.
inline bool receive_one(MPI_Comm comm, int tag, bool wait, int& from, std::vector<std::byte>& into) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    int found = 1;
    if (wait)
        check(MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status), "MPI_Mprobe");
    else
        check(MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &found, &message, &status), "MPI_Improbe");
    if (found == 0) return false;
    int bytes = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    from = status.MPI_SOURCE;
    into.resize(static_cast<std::size_t>(bytes));
    check(MPI_Mrecv(into.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    return true;
}

/// Messages on their way out, which nobody waits for.
template <class Unit>
class outbox {
public:
    /// `type`: of a unit.
    outbox(MPI_Comm comm, int tag, MPI_Datatype type, int ranks)
        : comm_(comm), tag_(tag), type_(type), sent_to_(static_cast<std::size_t>(ranks)) {}
    /// After a failure MPI may still read what has not left: that is kept until the process ends.
    ~outbox() {
        if (posted_.empty()) return;
        static auto& kept = *new std::deque<std::deque<posted>>;
        kept.push_back(std::move(posted_));
    }
    outbox(const outbox&) = delete;
    outbox& operator=(const outbox&) = delete;

    void send(rank to, std::vector<Unit> text) {
        posted& p = posted_.emplace_back();
        p.text = std::move(text);
        check(MPI_Isend(p.text.data(), static_cast<int>(p.text.size()), type_, to.value, tag_, comm_, &p.request),
              "MPI_Isend");
        ++sent_to_[static_cast<std::size_t>(to.value)];
    }
    /// Messages that MPI still reads.
    std::size_t under_way() {
        while (!posted_.empty()) {
            int done = 0;
            check(MPI_Test(&posted_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
            if (done == 0) break;
            posted_.pop_front();
        }
        return posted_.size();
    }
    /// Messages to each rank.
    const std::vector<std::int64_t>& sent_to() const { return sent_to_; }

private:
    struct posted {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<Unit> text{};
    };
    MPI_Comm comm_;
    int tag_;
    MPI_Datatype type_;
    std::deque<posted> posted_{};
    std::vector<std::int64_t> sent_to_;
};

/// Of numbers of 64 bits.
class mailbox final : public roll_call::post {
public:
    mailbox(MPI_Comm comm, int tag, int ranks) : comm_(comm), tag_(tag), out_(comm, tag, MPI_INT64_T, ranks) {}

    void send(rank to, std::vector<std::int64_t> text) override {
        (void)out_.under_way();
        out_.send(to, std::move(text));
    }
    bool receive(rank& from, std::vector<std::int64_t>& text) override {
        int there = 0;
        MPI_Status status{};
        check(MPI_Iprobe(MPI_ANY_SOURCE, tag_, comm_, &there, &status), "MPI_Iprobe");
        if (there == 0) return false;
        int n = 0;
        check(MPI_Get_count(&status, MPI_INT64_T, &n), "MPI_Get_count");
        text.resize(static_cast<std::size_t>(n));
        check(MPI_Recv(text.data(), n, MPI_INT64_T, status.MPI_SOURCE, tag_, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
        from = rank(status.MPI_SOURCE);
        ++received_;
        return true;
    }

    /// Messages to each rank, and from all of them.
    const std::vector<std::int64_t>& sent_to() const { return out_.sent_to(); }
    std::int64_t received() const { return received_; }
    bool sends_have_left() { return out_.under_way() == 0; }

private:
    MPI_Comm comm_;
    int tag_;
    outbox<std::int64_t> out_;
    std::int64_t received_ = 0;
};

}  // namespace rubato::engine
