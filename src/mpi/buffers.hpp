// Binding a call's buffers to the symbolic ones of a schedule.
//
// Where data is combined, units are elements and lie where the user has them. Where it is only moved, units are bytes
// of the message, so that ranks may describe the same data by different types: data that lies in memory as in a message
// is used in place, other data is packed before and unpacked afterwards.
//
// Only what MPI calls significant on this rank is ever looked at.
#pragma once

#include "mpi/datatype.hpp"
#include "rubato/engine.hpp"
#include "rubato/mpi.hpp"

#include <memory>
#include <new>

namespace rubato::mpi {

/// Memory that is kept for the next use and only grows.
class workspace {
public:
    std::byte* reserve(std::size_t bytes);
    /// Room for n elements; gives the address of the first, aligned as well as any datatype may want it.
    std::byte* reserve(const type_info& t, std::int64_t n);
    /// Forgets the memory without giving it back: somebody may still read it.
    void leak() { (void)memory_.release(); }

private:
    static constexpr std::size_t alignment = 64;
    struct release {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{alignment}); }
    };
    std::unique_ptr<std::byte[], release> memory_{};
    std::size_t size_ = 0;
};

/// Whether the call's input and output are the same memory on this rank.
bool in_place(const call& c, int me);
/// How far, in chunks, the output lies from the input then (see safe_in_place).
std::int64_t in_place_shift(const call& c, int me);

/// The bytes of a chunk; where chunks differ, of this rank's, if it knows.
std::int64_t chunk_bytes(const call& c, int me, int ranks);
/// The bytes of a chunk, the mean one where chunks differ, if all ranks know it.
std::int64_t agreed_bytes(const call& c, int me, int ranks);
/// Where chunks differ: the bytes of another rank's, if this rank knows.
std::int64_t chunk_bytes_on(const call& c, int other, int me, int ranks);
/// How large the call's blocks are, before its buffers may be looked at.
layout layout_before(const call& c, int me, int ranks);

class buffers {
public:
    /// Where the schedule's blocks are for this call. `safe_in_place` tells whether input and output may coincide.
    void bind(const call& c, const plan& p, int me, int ranks, bool safe_in_place, MPI_Comm comm);
    /// Only scratch, before the call is made.
    void bind_early(const layout& sizes, const type_info& unit, const plan& p);
    /// The rest, when it is made; scratch keeps what is in it. Throws if sizes have changed.
    void bind_after(const call& c, const plan& p, int me, int ranks, bool safe_in_place, MPI_Comm comm);
    /// Gives the user what was received elsewhere.
    void finish(MPI_Comm comm);
    void leak();

    const memory& where() const { return memory_; }
    const layout& sizes() const { return layout_; }
    const type_info& unit() const { return unit_; }

    /// One of the user's buffers, as far as this rank uses it.
    struct side {
        const void* address = nullptr;
        std::int64_t count = 0;  // elements per chunk
        chunks each{};           // of a v-form, instead of count
        type_info type{};
        std::int32_t wide = 1;  // chunks
        bool used = false;

        side own_chunk(int me) const;
        chunk_table in_bytes(bool packed) const;
        layout in_elements(int me) const;
    };

    struct sides {
        side in;
        side out;
    };
    static sides sides_of(const call& c, int me, int ranks);

private:
    static side used_side(const void* address, std::int64_t count, const chunks* each, MPI_Datatype type,
                          std::int32_t wide);
    static side input_of(const call& c, int me, int ranks);
    static side output_of(const call& c, int me, int ranks);
    void bind_scratch(const plan& p);
    void bind_combined(const side& in, const side& out, bool copy_input, int me, MPI_Comm comm);
    void bind_moved(const side& in, const side& out, bool copy_input, MPI_Comm comm);

    layout layout_{};
    memory memory_{};
    type_info unit_{};
    side staged_output_{};  // to be unpacked at the end, if used
    workspace scratch_{};
    workspace input_{};
    workspace output_{};
};

}  // namespace rubato::mpi
