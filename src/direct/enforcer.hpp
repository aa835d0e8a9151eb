// Mode force: one algorithm makes all calls, whatever it costs. Nothing is measured or compared. Where the algorithm
// uses arrivals, the communicator that runs its plans predicts them.
#pragma once

#include "direct/director.hpp"

#include <functional>
#include <map>
#include <optional>

namespace rubato {

class RUBATO_API enforcer final : public guide {
public:
    /// If the algorithm plans in rounds, ask_network is called once, at the same call on all ranks.
    enforcer(const algorithm& use, std::int32_t ranks, std::function<model()> ask_network, explainer explain)
        : use_(use), ranks_(ranks), ask_network_(std::move(ask_network)), explain_(std::move(explain)) {}

    const directive& arrive(const directed_call& c, time_ns now) override;
    void leave(time_ns) override {}
    void failed() override {}
    void refused(std::string_view reason) override;

private:
    /// Of one operation.
    struct calls {
        directed_call first{};
        std::uint64_t count = 0;
        time_ns round_time{};
        bool refused = false;
    };

    time_ns round_time_for(std::int64_t bytes);
    void explain(const calls& of, decision::verdict made, std::string_view reason) const;

    const algorithm& use_;
    std::int32_t ranks_;
    std::function<model()> ask_network_;
    explainer explain_;
    std::optional<model> network_{};
    std::map<operation, calls> calls_{};
    calls* current_ = nullptr;
    directive how_{};
};

}  // namespace rubato
