// A collective as data: the steps of one rank and what each waits for.
//
// A schedule holds no pointer, datatype or communicator. Its buffers are symbolic and counted in blocks: each chunk
// of a buffer is cut into `parts` blocks, so chunk c is blocks [c*parts, (c+1)*parts). The interpreter of a schedule
// decides how large a block is, where it lies and what operator combines it.
//
// The steps stand in an order that is itself a correct sequential program; dependencies only point backwards.
// A step that touches input or output waits for its rank's arrival; one that touches only scratch does not.
#pragma once

#include "rubato/core.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

enum class buffer : std::uint8_t { input, output, scratch };
enum class step_kind : std::uint8_t { send, recv, combine, copy };
inline constexpr std::array<std::string_view, 4> step_names{"send", "recv", "combine", "copy"};

struct step {
    step_kind kind = step_kind::copy;
    buffer from = buffer::input;  ///< read by send, combine, copy
    buffer to = buffer::output;   ///< written by recv, combine, copy
    block source = 0;             ///< first block in `from`
    block target = 0;             ///< first block in `to`
    block shape = 0;              ///< first block whose sizes this data has; tells how much a scratch block holds
    std::uint32_t count = 0;      ///< blocks; 0 is an empty message
    std::int32_t peer = -1;       ///< of send and recv
    std::uint32_t message = 0;    ///< number among the messages from this sender to this receiver

    bool operator==(const step&) const = default;

    bool reads() const { return kind != step_kind::recv && count > 0; }
    bool writes() const { return kind != step_kind::send && count > 0; }
    bool is_message() const { return kind == step_kind::send || kind == step_kind::recv; }
    /// Only steps on the rank's own data wait for the rank. An empty message "of the input" says that the rank has
    /// arrived.
    bool needs_arrival() const {
        return (kind != step_kind::recv && from != buffer::scratch) || (writes() && to != buffer::scratch);
    }
};

/// A step that was run.
struct recorded_step {
    step_kind kind{};
    std::int32_t peer = -1;  ///< of a message
    span_ns when{};          ///< a receive begins when it is posted
};

/// `combine` computes to = from * to: the source is the left operand.
struct schedule {
    std::uint32_t parts = 1;       ///< blocks per chunk
    std::vector<block> scratch{};  ///< the shape of every scratch block
    std::vector<step> steps{};
    std::vector<std::uint32_t> first_dependency{0};  ///< steps.size() + 1 offsets into `dependencies`
    std::vector<std::uint32_t> dependencies{};

    bool operator==(const schedule&) const = default;

    std::span<const std::uint32_t> dependencies_of(std::size_t s) const {
        return std::span(dependencies).subspan(first_dependency[s], first_dependency[s + 1] - first_dependency[s]);
    }
};

RUBATO_API std::size_t hash(const schedule& s);
/// "send output[3..5] to 7 (message 2)"
RUBATO_API std::string to_string(const step& s);
/// One line per step, with its dependencies.
RUBATO_API std::string to_string(const schedule& s);

/// Two steps of one rank that touch the same block, at least one writing, with neither waiting for the other.
struct race {
    std::uint32_t earlier;
    std::uint32_t later;
};
RUBATO_API std::vector<race> find_races(const schedule& s);

/// Whether the schedule is still right when input block i is the memory of output block i + output_shift, as with
/// MPI_IN_PLACE (reduce, alltoall: 0; gather: the first block of the rank's chunk; scatter: minus that).
RUBATO_API bool safe_in_place(const schedule& s, std::int64_t output_shift);

/// The same messages, but results lie in scratch and are copied to the output at the end: only steps that read the
/// rank's input, what waits for them, and these copies need the rank to have arrived.
RUBATO_API schedule early_form(const schedule& s);

}  // namespace rubato
