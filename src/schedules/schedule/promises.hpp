// What each collective promises, stated once: who has which buffer, which blocks are of one size, what the inputs hold
// and what the outputs must hold in the end.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubato::schedules {

/// Ranks whose contributions a value holds.
struct RUBATO_API contributions {
    std::vector<bool> from{};
    std::int32_t low = 0;  ///< lowest and highest contributor
    std::int32_t high = -1;
    bool in_order = true;  ///< as operands, they are in the order of ranks

    static contributions interval(std::int32_t ranks, std::int32_t low, std::int32_t high);
    /// left * right
    static contributions join(const contributions& left, const contributions& right);
    /// A rank that is in both.
    static std::optional<std::size_t> in_both(const contributions& left, const contributions& right);
};

/// What a block holds: `origin`, a block of the input, as contributed by some ranks.
struct value {
    block origin = 0;
    std::shared_ptr<const contributions> by{};
    std::uint32_t expression = 0;  ///< how it was combined, as symbolic runs number that
};

/// "input block 3 of 0..7"
std::string to_string(const value& v);

/// Two blocks have the same size if and only if their keys are equal. In a collective whose chunks are
/// equal, a block of a smaller key is never smaller.
using size_key = std::pair<std::int64_t, std::int64_t>;

class RUBATO_API promises {
public:
    /// `equal`: the parts of a chunk have one size, where chunks have.
    promises(const problem& p, std::uint32_t parts, bool equal = false)
        : p_(p), t_(traits(p.what)), parts_(parts), equal_(equal) {}

    /// Blocks of the input or output that MPI gives rank r.
    std::size_t blocks(std::int32_t r, buffer b) const { return gives(r, b) ? chunks(r, b) * parts_ : 0; }
    /// Shapes that blocks of rank r's buffer can have are below this.
    std::size_t shapes(std::int32_t r, buffer b) const;
    /// Whether MPI tells rank r the size of scratch of this shape.
    bool tells_size(std::int32_t r, block shape) const;
    size_key size(std::int32_t r, buffer where, block shape) const;
    /// The shape of block b of rank r's input or output.
    block shape_of(std::int32_t r, buffer where, block b) const {
        return t_.measured_by_input() && where == buffer::output ? static_cast<block>(r) * parts_ + b : b;
    }
    /// The size of the value.
    size_key size(const value& v) const { return size(v.by->low, buffer::input, v.origin); }

    /// What block b of rank r's input holds.
    value at_start(std::int32_t r, block b) const { return made_of(b, r, r); }
    /// What block b of rank r's output must hold in the end. Nothing: what it held before.
    std::optional<value> at_end(std::int32_t r, block b) const;

private:
    bool gives(std::int32_t r, buffer b) const;
    std::size_t chunks(std::int32_t r, buffer b) const;
    /// Of a neighbour collective: where a block of rank r's output comes from, as a block of the sender's input.
    std::optional<std::pair<std::int32_t, block>> sent_as(std::int32_t r, block b) const;
    /// Of a neighbour reduction: every source once; nothing if there is none.
    std::optional<value> combined_sources(std::int32_t r, block b) const;
    value made_of(block origin, std::int32_t low, std::int32_t high) const;

    const problem& p_;
    const collective_traits& t_;
    std::uint32_t parts_;
    bool equal_;
};

}  // namespace rubato::schedules
