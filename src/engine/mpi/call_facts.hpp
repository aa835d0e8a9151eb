// What one rank knows of a call. A call is examined once, when it is made; everything else reads the facts. Only
// arguments that MPI calls significant on this rank are read.
#pragma once

#include "engine/execute/player.hpp"
#include "engine/mpi/datatype.hpp"
#include "engine/mpi/process_topology.hpp"
#include "rubato/layout.hpp"
#include "rubato/mpi.hpp"

#include <exception>

namespace rubato::engine {

/// One of the call's buffers, as far as this rank uses it.
struct call_side {
    const void* address = nullptr;
    std::int64_t first = 0;  ///< elements between the address and the buffer
    std::int64_t count = 0;  ///< elements per chunk
    mpi::chunks each{};      ///< of a v-form, instead of count
    MPI_Datatype type = MPI_BYTE;
    /// Of a w-form's chunks, instead of type. Those of empty chunks are not looked at, as MPI libraries do.
    std::vector<type_info> types{};
    std::int64_t element = 1;  ///< bytes of an element in a message
    std::int32_t wide = 1;     ///< chunks; none if nobody gets them, or gives them
    bool used = false;

    /// The rank's own chunk of a buffer that has one for each rank.
    call_side own_chunk(int me) const;
    /// In a message, of one chunk of a v-form, and of all.
    std::int64_t chunk_bytes(std::size_t chunk) const;
    std::int64_t bytes() const;
    /// All its elements lie in memory as in a message.
    bool is_dense() const;
    /// Packed, the chunks lie one after the other; else where the user has them.
    chunk_table in_bytes(bool packed) const;
};

struct call_facts {
    call_facts() = default;
    /// `with_buffers`: false before the call is made, when its buffers may not be there yet. Throws if MPI fails.
    call_facts(const mpi::call& c, int my_rank, int size, degrees neighbours, bool with_buffers = true);

    /// An `error`, if an argument is wrong. Then the other facts may be incomplete; other ranks may find nothing wrong.
    std::exception_ptr wrong{};

    collective what = collective::barrier;
    int me = 0;
    int ranks = 1;
    degrees neighbours{};
    int root = 0;  ///< if it is rooted
    MPI_Op op = MPI_OP_NULL;
    call_side in{}, out{};
    bool in_place = false;   ///< both are the same memory
    std::int64_t bytes = 0;  ///< of a chunk; where chunks differ, of this rank's, or intent::unknown
    /// Of a chunk, the mean one where chunks differ, or intent::unknown; equal on all ranks.
    std::int64_t agreed_bytes = 0;
    // Of a reduction:
    std::int32_t type_number = -1;  ///< among the predefined ones, see predefined.hpp
    std::int32_t op_number = -1;
    bool commutative = true;
    /// x*x = x, so that counting a contribution twice does no harm.
    bool idempotent() const;
    /// The result does not depend on the order of its operands.
    bool exact() const;

    const collective_traits& traits() const { return rubato::traits(what); }
    /// Whether the root alone describes this side of the call. There Rubato accepts the same slightly wrong arguments
    /// as MPI libraries do: a root that left such a call to the native collective would do so alone.
    bool is_roots_alone(const call_side& s) const {
        return !traits().one_count() && (&s == &in ? traits().input : traits().output) == holders::root;
    }
    /// Bytes of this rank's largest buffer; 0 if it has none.
    std::int64_t largest_buffer() const;
    /// How large its blocks are: elements where data is combined, else bytes, one chunk after the other.
    layout sizes() const;
    /// Where chunks differ: the bytes of another rank's chunk, if this rank knows them.
    std::int64_t bytes_on(int other) const;
    /// In place: the distance from input to output, in chunks (see safe_in_place).
    std::int64_t in_place_shift() const;
    /// Calls use(side, type) for each datatype of this rank's buffers.
    template <class Use>
    void for_each_type(Use use) const {
        for (const call_side* const s : {&in, &out}) {
            if (!s->used) continue;
            if (s->types.empty()) use(*s, s->type);
            for (const type_info& t : s->types) use(*s, t.type);
        }
    }
    /// The program may free its datatypes from now on: the call uses copies, which the caller frees.
    void keep_types(std::vector<MPI_Datatype>& copies);

private:
    /// Whether it threw no `error`.
    template <class Look>
    bool attempt(Look look);
};

}  // namespace rubato::engine
