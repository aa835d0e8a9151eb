// Datatypes: basic elements, and several ways to lay them out. Layouts of one element have type maps of one signature.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace random_program {

enum class basic { octet, int32, int64, real, real_index, int_index, affine, rounded };
constexpr basic basics[] = {basic::octet,      basic::int32,     basic::int64,  basic::real,
                            basic::real_index, basic::int_index, basic::affine, basic::rounded};
/// Those that programs move without combining them.
constexpr basic moved[] = {basic::octet,      basic::int32,     basic::int64, basic::real,
                           basic::real_index, basic::int_index, basic::affine};

/// Bytes of signature, a power of two: only then do libraries that cut messages by whole items of the local type cut
/// alike where ranks pass different types.
constexpr bool may_differ(basic b) { return b != basic::real_index && b != basic::affine; }

/// Bytes that an element takes in memory.
std::ptrdiff_t bytes_of(basic b);

/// One item of the type has `per` elements, at these offsets.
struct layout {
    basic element;
    MPI_Datatype type;
    bool predefined;
    std::ptrdiff_t extent;
    std::vector<std::ptrdiff_t> offsets;

    int per() const { return static_cast<int>(offsets.size()); }
    bool power_of_two() const { return per() != 3; }
    bool dense() const { return extent == per() * bytes_of(element); }
};

/// An operator and the elements it is for. The user's work on every layout of these.
struct reduction {
    MPI_Op op;
    basic element;
    bool any_layout;
};

/// Types and operators of one program; made anew for each, so that handles are used again.
class toolbox {
public:
    /// `rounded`: some reductions round, so that their results depend on the order of operands.
    explicit toolbox(bool rounded);
    ~toolbox();
    toolbox(const toolbox&) = delete;
    toolbox& operator=(const toolbox&) = delete;

    const std::vector<layout>& layouts() const { return layouts_; }
    /// Those that round come last.
    const std::vector<reduction>& reductions() const { return reductions_; }
    bool rounds() const { return reductions_.back().element == basic::rounded; }
    std::vector<const layout*> layouts_of(basic b) const;

private:
    void add(basic b, MPI_Datatype base, std::ptrdiff_t bytes);
    std::vector<layout> layouts_{};
    std::vector<reduction> reductions_{};
    MPI_Datatype affine_ = MPI_DATATYPE_NULL;
    MPI_Op add_modulo_ = MPI_OP_NULL;
    MPI_Op compose_ = MPI_OP_NULL;
};

/// Writes an element of which sums over some hundred ranks are exact, unless it is to be rounded.
void write(basic b, std::byte* at, std::uint64_t random);
/// Clears what an element has between its parts and no type map mentions, though libraries may copy it.
void clear_padding(basic b, std::byte* at);

}  // namespace random_program
