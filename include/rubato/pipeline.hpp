// Loops whose communication overlaps the computation of later steps (Hoefler 2008, V.1.4).
//
// A loop computes something in each step and sends it. Here several steps, a *tile*, are sent together, and while a
// tile is under way the next ones are computed, into other buffers: as many as there are buffers, the *window*. Larger
// tiles make better use of the network, but nothing overlaps with the last of them.
//
//   std::vector<plane> buffers(2);  // plane: data, and the request of a started collective
//   rubato::pipeline_tiled_window(steps, 4, buffers,
//       [&](std::int64_t i, plane& to) { transform(i, to); },                     // the i-th step
//       [&](plane& full) { full.request = world.start(how, full.exchange()); },  // starts, and does not wait
//       [&](plane& sent) { sent.request.wait(); unpack(sent); });                // ends, and empties the buffer
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

namespace rubato {

/// Steps 0 to steps - 1, in this order. A buffer is filled by `compute`, `tile` times (fewer in the last one), then
/// given to `start`, and to `finish` before it is filled again, at the latest in the end; so buffers are finished in
/// the order in which they were started. If something throws, those under way are not finished: their owner must see to
/// that. Throws if there is no buffer, or a tile of no step.
template <class Buffers, class Compute, class Start, class Finish>
void pipeline_tiled_window(std::int64_t steps, std::int64_t tile, Buffers& buffers, Compute&& compute, Start&& start,
                           Finish&& finish) {
    const auto window = static_cast<std::int64_t>(buffers.size());
    if (window < 1 || tile < 1)
        throw std::invalid_argument("a pipeline needs at least one buffer, and tiles of at least one step");
    const std::int64_t tiles = (steps + tile - 1) / tile;
    const auto buffer_of = [&](std::int64_t t) -> auto& { return buffers[static_cast<std::size_t>(t % window)]; };
    for (std::int64_t t = 0; t < tiles; ++t) {
        auto& mine = buffer_of(t);
        if (t >= window) finish(mine);
        for (std::int64_t i = t * tile; i < std::min(steps, (t + 1) * tile); ++i) compute(i, mine);
        start(mine);
    }
    for (std::int64_t t = std::max<std::int64_t>(0, tiles - window); t < tiles; ++t) finish(buffer_of(t));
}

/// One step at a time is sent.
template <class Buffers, class Compute, class Start, class Finish>
void pipeline_window(std::int64_t steps, Buffers& buffers, Compute&& compute, Start&& start, Finish&& finish) {
    pipeline_tiled_window(steps, 1, buffers, std::forward<Compute>(compute), std::forward<Start>(start),
                          std::forward<Finish>(finish));
}

struct pipeline_shape {
    std::int64_t tile = 1;
    std::int64_t window = 1;

    auto operator<=>(const pipeline_shape&) const = default;
};

/// Looks for the shape with the least cost(shape), with up to so many buffers: from tiles of an eighth of the steps and
/// two buffers on, it goes to the best of the shapes with half or twice as many until none is better. Some ten shapes
/// are tried, each once. All ranks must get the same costs, such as the longest time of any of them.
template <class Cost>
pipeline_shape best_pipeline(std::int64_t steps, std::int64_t most_buffers, Cost&& cost) {
    const auto possible = [&](pipeline_shape s) {
        return pipeline_shape{std::clamp<std::int64_t>(s.tile, 1, std::max<std::int64_t>(1, steps)),
                              std::clamp<std::int64_t>(s.window, 1, std::max<std::int64_t>(1, most_buffers))};
    };
    std::map<pipeline_shape, decltype(cost(pipeline_shape{}))> known;
    const auto cost_of = [&](pipeline_shape s) {
        const auto found = known.find(s);
        return found != known.end() ? found->second : known.emplace(s, cost(s)).first->second;
    };
    pipeline_shape best = possible({(steps + 7) / 8, 2});
    for (;;) {
        pipeline_shape next = best;
        for (const pipeline_shape near : {pipeline_shape{best.tile * 2, best.window},
                                          {best.tile / 2, best.window},
                                          {best.tile, best.window * 2},
                                          {best.tile, best.window / 2}})
            if (cost_of(possible(near)) < cost_of(next)) next = possible(near);
        if (next == best) return best;
        best = next;
    }
}

}  // namespace rubato
