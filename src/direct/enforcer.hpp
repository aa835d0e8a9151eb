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
    /// If the algorithm plans in rounds, asks for the network at once: later calls may not wait for other ranks.
    enforcer(const algorithm& use, std::int32_t ranks, const std::function<model()>& ask_network, explainer explain)
        : use_(use), ranks_(ranks), explain_(std::move(explain)) {
        if (use_.uses_round_time()) network_ = ask_network();
    }

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

    time_ns round_time_for(std::int64_t bytes) const;
    void explain(const calls& of, decision::verdict made, std::string_view reason) const;

    const algorithm& use_;
    std::int32_t ranks_;
    explainer explain_;
    std::optional<model> network_{};
    std::map<operation, calls> calls_{};
    calls* current_ = nullptr;
    directive how_{};
};

}  // namespace rubato
