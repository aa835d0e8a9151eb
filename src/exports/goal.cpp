#include "exports/formats.hpp"
#include "exports/replay.hpp"

namespace rubato::exports {

std::uint64_t write_goal(const trace& t, const observe::observation& of, const std::string& file,
                         const piece_taker& put) {
    replay seen = replay_of(t, file);
    set_algorithms(seen.what, of.decisions);
    rubato::write_goal(seen.what, parse_model(of.model.empty() ? "loggopsim" : of.model), {}, put);
    return seen.of_ranks;
}

}  // namespace rubato::exports
