#include "engine/mpi/choice.hpp"

#include <gtest/gtest.h>

namespace rubato::mpi {
namespace {

TEST(default_algorithm, gives_all_ranks_the_same_bits) {
    for (const collective_traits& t : collectives()) {
        for (const std::int32_t ranks : {1, 2, 3, 8, 9, 64}) {
            for (std::int64_t bytes = 1; bytes <= 1 << 24; bytes *= 2) {
                const algorithm& a = engine::default_algorithm(t.what, ranks, bytes);
                EXPECT_EQ(a.what, t.what);
                EXPECT_TRUE(a.same_bits) << a.id;
            }
        }
    }
}

}  // namespace
}  // namespace rubato::mpi
