#include "direct/guided_call.hpp"

#include "rubato/algorithm.hpp"

#include <optional>
#include <utility>

namespace rubato {
namespace {

/// The call, planned. Nothing if the algorithm cannot solve this problem, which is so on all ranks, or if this rank's
/// arguments are wrong: then the native call reports them as usual, while ranks with right arguments make the call.
std::optional<intent> planned(guide& by, const directive& how, guided_call& c) {
    intent known;
    bool refused = false;
    try {
        known = c.intent_of(how);
        check(*known.use, known.what);
    } catch (const error& e) {
        if (!c.is_wrong()) by.refused(e.what());
        refused = true;
    }
    if (how.roll_call) {
        const roll_call::order in_any_case = refused ? roll_call::order{} : order_for(known, {});
        const roll_call::verdict said = c.call_roll(*how.roll_call, in_any_case, refused);
        refused |= said.is_native();
        if (!refused) known = made_by(said, std::move(known));
    }
    return refused ? std::nullopt : std::optional(std::move(known));
}

/// By a plan if there is one.
int made(guide& by, const directive& how, guided_call& c) {
    if (how.use == nullptr) return c.native();
    if (const std::optional<intent> plan = planned(by, how, c)) return c.run(*plan);
    c.pass();
    return c.native();
}

}  // namespace

int make_call(guide& by, const directed_call& known, guided_call& c) {
    const int code = made(by, by.arrive(known, c.now()), c);
    if (code == 0)
        by.leave(c.now());
    else
        by.failed();
    return code;
}

}  // namespace rubato
