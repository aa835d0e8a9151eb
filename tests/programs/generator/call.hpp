// One random collective call. All ranks of a communicator draw the same call from one seed. Local choices (where data
// lies, whether the root works in place, how late the rank comes) come from a seed of the rank.
#pragma once

#include "buffer.hpp"
#include "issue.hpp"

#include <string>
#include <utility>

namespace random_program {

/// A communicator. In an inter-communicator `remote` is the size of the other group.
struct place {
    MPI_Comm comm = MPI_COMM_NULL;
    int me = 0;
    int size = 1;
    int remote = 0;
    bool first_group = true;
};

class call {
public:
    /// `large`: at least 16 KiB, where the collective has a size. Collective for persistent calls.
    call(const place& on, const toolbox& tools, std::uint64_t seed, form how, bool large);
    ~call();
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    /// Makes or begins the call, with data of this iteration, after some microseconds.
    void start(std::uint64_t iteration, int late_us);
    /// Of a call that was started, for who ends it in another way; finish() then adds its results.
    MPI_Request take_request() { return std::exchange(request_, MPI_REQUEST_NULL); }
    /// Ends the call, and adds all results that the rank sees.
    void finish(digest& sum);
    std::string description() const;

private:
    struct side {
        const layout* l = nullptr;
        buffer memory{};
    };

    void draw_movement(const toolbox& tools);
    void draw_reduction(const toolbox& tools);
    void draw_elements();
    void shape();
    void shape_between();
    bool same_on_all_ranks();
    bool inter() const { return place_.remote > 0; }
    bool root() const { return place_.me == args_.root; }
    int round_up(int elements) const { return (elements + grain_ - 1) / grain_ * grain_; }
    int elements_of(int from, int to) const;
    std::vector<int> elements_by_rank(bool sending) const;

    void even(side& s, argument& a, int blocks, int elements);
    void uneven(side& s, argument& a, const std::vector<int>& elements);
    void in_place(argument& a);
    void not_significant(side& s, argument& a);
    void by_absolute_addresses(side& s, argument& a);

    place place_;
    std::uint64_t seed_;
    form how_;
    bool large_;
    dice shared_, own_;
    arguments args_{};
    side send_{}, recv_{};
    bool mixed_ = false;        // ranks lay out data in their own ways
    bool everywhere_ = false;   // the collective's in-place form, for all ranks
    bool filled_ = false;       // the receiving side has the input
    int grain_ = 1;             // elements come in multiples of this
    int most_bytes_ = 1 << 30;  // in all blocks
    int elements_ = 0;
    MPI_Datatype absolute_ = MPI_DATATYPE_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace random_program
