// A reduction that chooses while it runs, on MPI: the notes of its state machine are small messages from any rank, its
// data goes through the engine's transport.
#pragma once

#include "engine/execute/player.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/clock.hpp"
#include "schedules/algorithms/dynamic.hpp"

#include <array>
#include <deque>

namespace rubato::engine {

class dynamic_run final : public improvisation {
public:
    /// Begins; the rank has arrived. The transport must be bound to the operation; messages with `note_tag` and
    /// number `data_message` belong to this run only. Input and output may be the same memory.
    dynamic_run(const algorithm& use, const problem& p, rank me, const layout& sizes, const memory& where,
                transport& data, MPI_Comm comm, int note_tag)
        : machine_(use.dynamic(p, me)),
          root_(me == p.root),
          units_(sizes.input.units),
          where_(where),
          data_(data),
          comm_(comm),
          note_tag_(note_tag),
          held_(where.input) {}
    ~dynamic_run() override {
        bool under_way = false;
        for (MPI_Request& r : telling_) {
            if (r == MPI_REQUEST_NULL) continue;
            MPI_Request_free(&r);
            under_way = true;
        }
        // After a failure MPI may still read these.
        // NOLINTBEGIN(*Leaks): on purpose
        if (under_way) (void)std::make_unique<decltype(told_)>(std::move(told_)).release();
    }
    // NOLINTEND(*Leaks)
    dynamic_run(const dynamic_run&) = delete;
    dynamic_run& operator=(const dynamic_run&) = delete;

    /// Makes progress without waiting; true when all is done, with the result in the root's output.
    bool progress() override {
        hear();
        machine_->decide(own_time());
        for (const schedules::action& a : machine_->actions()) perform(a);
        move_data();
        if (!machine_->done() || sending_) return false;
        int sent = 0;
        check(MPI_Testall(static_cast<int>(telling_.size()), telling_.data(), &sent, MPI_STATUSES_IGNORE),
              "MPI_Testall");
        if (sent == 0) return false;
        if (root_ && held_ != where_.output) data_.copy(held_, where_.output, units_);  // the only rank
        return true;
    }

    /// No steps, but the scratch that a run needs.
    static const plan& places() {
        static const plan& two = *[] {  // never destroyed: destructors of the program may still use it
            schedule s;
            s.scratch = {0, 0};
            return new plan(s);
        }();
        return two;
    }
    static constexpr std::uint32_t note_message = 0;
    static constexpr std::uint32_t data_message = 1;

private:
    void hear() {
        for (;;) {
            int found = 0;
            MPI_Status status{};
            check(MPI_Iprobe(MPI_ANY_SOURCE, note_tag_, comm_, &found, &status), "MPI_Iprobe");
            if (found == 0) return;
            std::array<std::int32_t, 3> text{};
            check(MPI_Recv(text.data(), 3, MPI_INT32_T, status.MPI_SOURCE, note_tag_, comm_, MPI_STATUS_IGNORE),
                  "MPI_Recv");
            machine_->receive(rank(status.MPI_SOURCE), {text[0], text[1], text[2]});
        }
    }
    void perform(const schedules::action& a) {
        switch (a.what) {
            case schedules::action::verb::tell:
                told_.push_back({a.text.kind, a.text.value, a.text.more});
                telling_.push_back(MPI_REQUEST_NULL);
                check(MPI_Isend(told_.back().data(), 3, MPI_INT32_T, a.peer.value, note_tag_, comm_, &telling_.back()),
                      "MPI_Isend");
                break;
            case schedules::action::verb::hand_over:
                data_.send(sending, held_, units_, a.peer, data_message);
                sending_ = true;
                break;
            case schedules::action::verb::take: {
                // The first operand is received where the result will be, later ones beside it.
                std::byte* const home = root_ ? where_.output : where_.scratch;
                const bool first = held_ != home;
                arriving_ = first ? home : where_.scratch + units_ * where_.scratch_stride;
                from_ = a.peer;
                data_.recv(receiving, arriving_, units_, a.peer, data_message);
                break;
            }
        }
    }
    void move_data() {
        completed_.clear();
        data_.poll(completed_, false);
        for (const std::uint32_t step : completed_) {
            if (step == sending) {
                sending_ = false;
                continue;
            }
            std::byte* const home = root_ ? where_.output : where_.scratch;
            if (arriving_ == home) {
                data_.combine(held_, arriving_, units_);
                held_ = home;
            } else {
                data_.combine(arriving_, held_, units_);
            }
            arriving_ = nullptr;
            machine_->taken(from_);
        }
    }

    static constexpr std::uint32_t receiving = 0;  // the transport's names for the two messages that may be under way
    static constexpr std::uint32_t sending = 1;

    std::unique_ptr<schedules::state_machine> machine_;
    bool root_;
    std::int64_t units_;
    memory where_;
    transport& data_;
    MPI_Comm comm_;
    int note_tag_;
    std::byte* held_;                // what this rank has combined so far
    std::byte* arriving_ = nullptr;  // where data of `from_` is being received
    rank from_{};
    bool sending_ = false;
    std::vector<std::uint32_t> completed_{};
    std::deque<std::array<std::int32_t, 3>> told_{};  // keeps its elements in place until they are sent
    std::vector<MPI_Request> telling_{};
};

}  // namespace rubato::engine
