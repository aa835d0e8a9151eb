// Whether multicast pays, by what was lost lately. For calls of one kind, which all ranks count alike; what all ranks
// have lost together decides, so that all change at the same call. Where it does not pay, calls go another way for a
// long time; then it is tried again, as the network may have been busy.
#pragma once

#include "rubato/core.hpp"

#include <utility>

namespace rubato::engine {

class loss_watch {
public:
    struct tally {
        std::int64_t heard = 0;
        std::int64_t missed = 0;
    };
    /// A sum over all ranks, of which one is under way.
    class sum {
    public:
        virtual ~sum() = default;
        virtual void begin(const tally& mine) = 0;
        virtual tally end() = 0;
    };

    static constexpr std::int64_t period = 16;  ///< calls: a sum is begun with one, and used at the next
    static constexpr std::int64_t rest = 4096;  ///< calls that go another way: 1 in 128 pays for trying again

    /// `most`: of all fragments, the share that may be lost.
    explicit loss_watch(double most) : most_(most) {}

    /// Before each call: whether it is to be multicast.
    bool casts(sum& of_all) {
        if (resting_ > 0 && --resting_ > 0) return false;
        if (calls_ > 0 && calls_ % period == 0) {
            if (std::exchange(begun_, false)) {
                const tally all = of_all.end();
                const std::int64_t both = all.heard + all.missed;
                lost_ = both == 0 ? 0 : static_cast<double>(all.missed) / static_cast<double>(both);
                if (lost_ > most_) {
                    resting_ = rest;
                    calls_ = 0;
                    mine_ = {};
                    return false;
                }
            }
            of_all.begin(std::exchange(mine_, {}));
            begun_ = true;
        }
        ++calls_;
        return true;
    }
    /// After each call that was.
    void add(const tally& t) {
        mine_.heard += t.heard;
        mine_.missed += t.missed;
    }
    bool rests() const { return resting_ > 0; }
    /// As it was when that was last decided.
    double lost() const { return lost_; }
    /// Before it ends.
    void finish(sum& of_all) {
        if (begun_) (void)of_all.end();
        begun_ = false;
    }

private:
    double most_;
    tally mine_{};
    std::int64_t calls_ = 0;
    std::int64_t resting_ = 0;
    bool begun_ = false;
    double lost_ = 0;
};

}  // namespace rubato::engine
