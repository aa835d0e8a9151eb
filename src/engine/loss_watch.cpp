#include "engine/loss_watch.hpp"

#include <utility>

namespace rubato {

bool loss_watch::casts(sum& of_all) {
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

}  // namespace rubato
