// Sparse exchange: every rank knows for whom it has data, and nobody knows from whom data comes. By non-blocking
// consensus (Hoefler, Siebert, Lumsdaine 2010): a rank whose messages have all been received enters a barrier without
// waiting, and goes on receiving until the barrier has ended. Then all ranks have entered it, so all messages have been
// received.
//
// A rank that has left the barrier may begin the next exchange while another has not seen its end yet, and send to it.
// So messages of two exchanges in a row are told apart by the post. Those of the exchange after that cannot come: its
// sender would have left a barrier which this rank has not entered.
//
// No MPI: messages and the barrier are the post's.
#pragma once

#include "rubato/core.hpp"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rubato::engine {

struct outgoing {
    rank to{};
    std::span<const std::byte> data{};
};
struct incoming {
    rank from{};
    std::vector<std::byte> data{};

    bool operator==(const incoming&) const = default;
};

class RUBATO_API sparse_exchange {
public:
    class post {
    public:
        virtual ~post() = default;
        /// Does not wait.
        virtual void send(const outgoing& o) = 0;
        /// Whether all that this rank has sent was received; that it has left is not enough.
        virtual bool all_received() = 0;
        /// False if there is nothing of this exchange.
        virtual bool receive(incoming& i) = 0;
        /// Does not wait.
        virtual void enter_barrier() = 0;
        virtual bool barrier_has_ended() = 0;
    };

    /// The data must stay until it has ended.
    sparse_exchange(std::span<const outgoing> all, post& p) : post_(p) {
        for (const outgoing& o : all) post_.send(o);
    }

    /// Does not wait; true once it has ended.
    bool progress() {
        receive_all();
        if (!entered_ && post_.all_received()) {
            post_.enter_barrier();
            entered_ = true;
        }
        // What came before the barrier ended is still to be received.
        if (!entered_ || !post_.barrier_has_ended()) return false;
        receive_all();
        return true;
    }
    /// By rank; those of one rank in the order in which it has given them.
    std::vector<incoming> take();

private:
    void receive_all() {
        for (incoming i; post_.receive(i); i = {}) received_.push_back(std::move(i));
    }

    post& post_;
    std::vector<incoming> received_{};
    bool entered_ = false;
};

/// Which way of a sparse exchange is the fastest is found by trying: each way twice, then the fastest. What ranks know
/// of an exchange before they make it is what the last one was like, so ways are compared for exchanges that follow
/// similar ones. All ranks are told the same numbers, and choose alike.
class RUBATO_API sparse_choice {
public:
    static constexpr std::size_t ways = 3;

    /// The partners of the rank that has most, and the bytes that the one sends that sends most.
    struct size {
        std::int64_t partners = 0;
        std::int64_t bytes = 0;
    };

    /// The way of the exchange that begins.
    std::size_t next() const;
    /// After an exchange: its way, its size, and the time that the exchange before took.
    void ended(std::size_t way, const size& s, time_ns before);

private:
    struct experience {
        std::array<time_ns, ways> time{};
        std::array<int, ways> tried{};
    };
    /// Logarithms of a size.
    struct kind {
        int partners = -1;
        int bytes = -1;
        auto operator<=>(const kind&) const = default;
    };
    struct exchange {
        kind after;  // which it was chosen by
        kind own;
        std::size_t way;
    };

    std::map<kind, experience> known_{};  // by the exchange before
    std::optional<exchange> last_{};      // its time is not known yet
};

}  // namespace rubato::engine
