// Modes force and rules: what the user has named makes the calls, whatever it costs, and the native collective all
// others. Nothing is measured or compared. Where an algorithm uses arrivals, the communicator that runs its plans
// predicts them; as they are not known before a call, rules for any imbalance are followed.
#pragma once

#include "dropin/direct/director.hpp"
#include "rubato/tuned_rules.hpp"

#include <functional>
#include <map>
#include <memory>
#include <span>

namespace rubato::dropin {

class RUBATO_API follower final : public guide {
public:
    /// Mode force, with at most one algorithm of each collective. If one plans in rounds, asks for the network at once:
    /// later calls may not wait for other ranks.
    follower(std::span<const algorithm* const> forced, std::int32_t ranks, const std::function<model()>& ask_network,
             explainer explain);
    /// Mode rules.
    follower(std::shared_ptr<const rules> by, std::int32_t ranks, explainer explain);

    const directive& arrive(const directed_call& c, time_ns now) override;
    void leave(time_ns) override {}
    void failed() override {}
    void refused(std::string_view reason) override;

private:
    /// Fills in how a call is made. Before an operation's first call `how` is empty, later as it was for the last one.
    using order = std::function<void(const directed_call&, directive& how)>;
    /// Of one operation.
    struct calls {
        directed_call last{};
        std::uint64_t count = 0;
        directive how{};
        bool refused = false;
    };

    void explain(const calls& of, decision::verdict made, std::string_view reason) const;

    order order_;
    std::string_view why_;      // a call is made by an algorithm
    std::string_view why_not_;  // it is left to the native collective
    std::int32_t ranks_;
    explainer explain_;
    std::map<simulator::operation, calls> calls_{};
    calls* current_ = nullptr;
};

}  // namespace rubato::dropin
