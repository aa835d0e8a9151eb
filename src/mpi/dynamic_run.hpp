// A reduction that chooses while it runs, on MPI: the notes of its state machine are small messages from any rank, its
// data goes through the engine's transport.
#pragma once

#include "algorithms/dynamic.hpp"
#include "engine/player.hpp"
#include "mpi/datatype.hpp"
#include "rubato/algorithm.hpp"

#include <array>
#include <deque>

namespace rubato::mpi {

class dynamic_run final : public improvisation {
public:
    /// Begins; the rank has arrived. The transport must be bound to the operation; messages with `note_tag` and
    /// number `data_message` belong to this run only. Input and output may be the same memory.
    dynamic_run(const algorithm& use, const problem& p, rank me, const layout& sizes, const memory& where,
                transport& data, MPI_Comm comm, int note_tag);
    ~dynamic_run() override;
    dynamic_run(const dynamic_run&) = delete;
    dynamic_run& operator=(const dynamic_run&) = delete;

    /// Makes progress without waiting; true when all is done, with the result in the root's output.
    bool progress() override;

    /// No steps, but the scratch that a run needs.
    static const plan& places();
    static constexpr std::uint32_t note_message = 0;
    static constexpr std::uint32_t data_message = 1;

private:
    void hear();
    void perform(const action& a);
    void move_data();

    std::unique_ptr<state_machine> machine_;
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

}  // namespace rubato::mpi
