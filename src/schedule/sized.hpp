// One rank's steps with their sizes: what an interpreter needs that moves no data. A schedule and its layout make one,
// and so does a program that names no buffers.
#pragma once

#include "rubato/layout.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rubato {

struct sized_step {
    step_kind kind = step_kind::copy;
    bool needs_arrival = true;
    std::int32_t peer = -1;     ///< of send and recv
    std::uint32_t message = 0;  ///< as step::message
    std::int64_t bytes = 0;
    std::int64_t work = 0;  ///< ns that a combine computes, beside what its bytes cost

    bool operator==(const sized_step&) const = default;
    bool is_message() const { return kind == step_kind::send || kind == step_kind::recv; }
};

/// A step that waits until another one has begun: a send, when its rank's processor has begun it; a receive, when it
/// waits for nothing but its message.
struct after_begin {
    std::uint32_t step;
    std::uint32_t begun;

    bool operator==(const after_begin&) const = default;
};

struct sized_schedule {
    std::int64_t scratch = 0;  ///< bytes
    std::vector<sized_step> steps{};
    std::vector<std::uint32_t> first_dependency{0};  ///< steps.size() + 1 offsets into `dependencies`
    std::vector<std::uint32_t> dependencies{};
    std::vector<after_begin> after{};

    bool operator==(const sized_schedule&) const = default;

    std::span<const std::uint32_t> dependencies_of(std::size_t s) const {
        return std::span(dependencies).subspan(first_dependency[s], first_dependency[s + 1] - first_dependency[s]);
    }
    /// The next step, which waits for the end of these.
    void add(const sized_step& s, std::span<const std::uint32_t> waits_for) {
        steps.push_back(s);
        dependencies.insert(dependencies.end(), waits_for.begin(), waits_for.end());
        first_dependency.push_back(static_cast<std::uint32_t>(dependencies.size()));
    }
};

/// The layout's units are bytes.
inline sized_step size_step(const schedule& s, const step& t, const layout& sizes) {
    return {t.kind, t.needs_arrival(), t.peer, t.is_message() ? t.message : 0, sizes.length(s, t)};
}
/// Overwrites what `made` was.
inline void size_schedule(const schedule& s, const layout& sizes, sized_schedule& made) {
    made.scratch = sizes.scratch_units(s);
    made.steps.clear();
    for (const step& t : s.steps) made.steps.push_back(size_step(s, t, sizes));
    made.first_dependency = s.first_dependency;
    made.dependencies = s.dependencies;
    made.after.clear();
}

}  // namespace rubato
