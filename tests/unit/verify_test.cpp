#include "rubato/verify.hpp"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(verify, proves_every_registered_schedule) {
    for (const algorithm& a : algorithms()) {
        for (std::int32_t ranks = 1; ranks <= 20; ++ranks) {
            for (std::int32_t root = 0; root < (traits(a.what).rooted ? ranks : 1); ++root) {
                for (const bool commutative : {true, false}) {
                    problem p;
                    p.what = a.what;
                    p.ranks = ranks;
                    p.root = rank(root);
                    p.commutative = commutative;
                    if (unmet_need(a, p)) continue;
                    const auto findings = verify(p, build_all(a, p));
                    ASSERT_TRUE(findings.empty())
                        << a.id << " ranks " << ranks << " root " << root << ": " << findings.front();
                }
            }
        }
    }
}

}  // namespace
}  // namespace rubato
