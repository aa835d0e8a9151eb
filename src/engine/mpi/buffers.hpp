// Binding a call's buffers to the symbolic ones of a schedule.
//
// Where data is combined, units are elements and lie where the user has them. Where it is only moved, units are bytes
// of the message, so that ranks may describe the same data by different types: data that lies in memory as in a message
// is used in place, other data is packed before and unpacked afterwards.
#pragma once

#include "engine/execute/engine.hpp"
#include "engine/mpi/call_facts.hpp"
#include "engine/mpi/datatype.hpp"

#include <memory>
#include <new>

namespace rubato::engine {

/// Memory that is kept for the next use and only grows.
class workspace {
public:
    std::byte* reserve(std::size_t bytes);
    /// Room for n elements; returns the address of the first, aligned for any datatype.
    std::byte* reserve(const type_info& t, std::int64_t n);
    /// Never frees the memory: MPI may still read it.
    void leak() { (void)memory_.release(); }

private:
    static constexpr std::size_t alignment = 64;
    struct release {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{alignment}); }
    };
    std::unique_ptr<std::byte[], release> memory_{};
    std::size_t size_ = 0;
};

class buffers {
public:
    /// Where the schedule's blocks are for this call. `safe_in_place` tells whether input and output may coincide.
    void bind(const call_facts& c, const plan& p, bool safe_in_place, MPI_Comm comm);
    /// Only scratch, before the call is made.
    void bind_early(const layout& sizes, const type_info& unit, const plan& p);
    /// The other buffers, when the call is made; scratch keeps its contents. False, and nothing is bound, if sizes have
    /// changed.
    bool bind_after(const call_facts& c, const plan& p, bool safe_in_place, MPI_Comm comm);
    /// After bind_after has failed: binds memory of the old sizes that is not the program's.
    void bind_nowhere(const call_facts& c);
    /// Copies data that was received elsewhere to the user's buffer.
    void finish(MPI_Comm comm);
    void leak();

    const memory& where() const { return memory_; }
    const layout& sizes() const { return layout_; }
    const type_info& unit() const { return unit_; }

private:
    void bind_scratch(const plan& p);
    void bind_combined(const call_facts& c, bool copy_input, MPI_Comm comm);
    void bind_moved(const call_facts& c, const plan& p, bool copy_input, MPI_Comm comm);

    layout layout_{};
    memory memory_{};
    type_info unit_{};
    call_side staged_output_{};    // to be unpacked at the end, if used,
    std::vector<bool> written_{};  // and of its chunks these; empty: all
    workspace scratch_{};
    workspace input_{};
    workspace output_{};
};

}  // namespace rubato::engine
