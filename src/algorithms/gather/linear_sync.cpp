// Linear synchronised gather. The root asks one rank after the other for its chunk, which comes in two segments, and
// asks the next one when the first segment is there. So it is not flooded, and a request overlaps the second segment.
//
// Cost: alpha + (P - 1)(2 alpha + m beta), m = one chunk.
// Rank counts: any.
// Source: Proficz 2020, Fig. 9, without the sorting.
#include "../movement.hpp"

namespace rubato {

schedule gather_linear_sync(const problem& p, rank me) {
    builder b(p, me, 2);
    if (me != p.root) {
        const auto asked = b.recv(p.root, builder::nothing());
        b.send(p.root, b.input().sub(0), {asked});
        b.send(p.root, b.input().sub(1), {asked});
    } else {
        std::optional<builder::step_id> first_segment;
        for (rank r; r.value < p.ranks; ++r.value) {
            if (r == me) continue;
            if (first_segment)
                b.send(r, builder::nothing(), {*first_segment});
            else
                b.send(r, builder::nothing());
            const slice chunk = b.output(chunk_of(r));
            first_segment = b.recv(r, chunk.sub(0));
            b.recv(r, chunk.sub(1));
        }
        b.copy(b.input(), b.output(chunk_of(me)));
    }
    return std::move(b).finish();
}

}  // namespace rubato
