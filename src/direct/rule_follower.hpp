// Mode rules: the algorithm that a rule names makes a call, the native collective all others. Nothing is measured or
// compared. As a call's arrivals are not known before it, rules for any imbalance are followed.
#pragma once

#include "direct/director.hpp"
#include "rubato/tuned_rules.hpp"

#include <map>
#include <memory>

namespace rubato {

class RUBATO_API rule_follower final : public guide {
public:
    rule_follower(std::shared_ptr<const rules> by, std::int32_t ranks, explainer explain)
        : by_(std::move(by)), ranks_(ranks), explain_(std::move(explain)) {}

    const directive& arrive(const directed_call& c, time_ns now) override;
    void leave(time_ns) override {}
    void failed() override {}
    void refused(std::string_view reason) override;

private:
    /// Calls of one operation whose sizes are the same.
    struct calls {
        directed_call first{};
        std::uint64_t count = 0;
        directive how{};
        bool refused = false;
    };

    void look_up(calls& of) const;
    void explain(const calls& of, decision::verdict made, std::string_view reason) const;

    std::shared_ptr<const rules> by_;
    std::int32_t ranks_;
    explainer explain_;
    std::map<operation, calls> calls_{};
    calls* current_ = nullptr;
};

}  // namespace rubato
