#include "dropin/preload/settings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace rubato::dropin {
namespace {

environment in(const variables& all) {
    return [&all](const char* name) -> std::string_view {
        const auto found = all.find(name);
        return found != all.end() ? std::string_view(found->second) : std::string_view();
    };
}

bool between_hosts(const variables& all) { return is_between_hosts(in(all)); }
bool raises(const variables& all) { return raises_thread_level(in(all)); }

TEST(thread_level, launchers_tell_whether_there_are_several_hosts) {
    EXPECT_TRUE(between_hosts({{"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}));
    EXPECT_FALSE(between_hosts({{"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "16"}}));
    EXPECT_TRUE(between_hosts({{"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}}));
    EXPECT_FALSE(between_hosts({{"PMI_SIZE", "1"}, {"MPI_LOCALNRANKS", "1"}}));
    EXPECT_TRUE(between_hosts({{"SLURM_STEP_NUM_NODES", "2"}}));
    EXPECT_TRUE(between_hosts({{"PMI_SIZE", "4"}, {"SLURM_STEP_NUM_NODES", "2"}})) << "srun with PMI-2";
    EXPECT_FALSE(between_hosts({{"SLURM_STEP_NUM_NODES", "1"}}));
}

TEST(thread_level, mpirun_counts_where_srun_has_started_it) {
    EXPECT_FALSE(between_hosts(
        {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"SLURM_STEP_NUM_NODES", "2"}}));
}

TEST(thread_level, one_host_is_assumed_where_nobody_tells) {
    EXPECT_FALSE(between_hosts({}));
    EXPECT_FALSE(between_hosts({{"OMPI_COMM_WORLD_SIZE", "16"}}));
    EXPECT_FALSE(between_hosts({{"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "x"}}));
    EXPECT_FALSE(between_hosts({{"SLURM_STEP_NUM_NODES", "many"}}));
}

TEST(thread_level, is_raised_by_mode_auto_between_hosts) {
    const auto several = [](variables more) {
        more.insert({{"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
        return more;
    };
    EXPECT_TRUE(raises(several({{"RUBATO_MODE", "auto"}})));
    EXPECT_TRUE(raises(several({{"RUBATO_MODE", "auto"}, {"RUBATO_BACKGROUND", "auto"}})));
    EXPECT_FALSE(raises(several({{"RUBATO_MODE", "auto"}, {"RUBATO_BACKGROUND", "off"}})));
    EXPECT_FALSE(raises(several({{"RUBATO_MODE", "force=bcast/chain"}})));
    EXPECT_FALSE(raises(several({{"RUBATO_MODE", "observe"}})));
    EXPECT_FALSE(raises(several({})));
    EXPECT_FALSE(raises({{"RUBATO_MODE", "auto"}})) << "one host";
}

TEST(thread_level, is_raised_on_one_host_by_wish) {
    EXPECT_TRUE(raises({{"RUBATO_MODE", "auto"}, {"RUBATO_BACKGROUND", "on"}}));
    EXPECT_TRUE(raises({{"RUBATO_MODE", "force=bcast/chain+early"}, {"RUBATO_BACKGROUND", "on"}}));
    EXPECT_FALSE(raises({{"RUBATO_MODE", "observe"}, {"RUBATO_BACKGROUND", "on"}}));
    EXPECT_FALSE(raises({{"RUBATO_BACKGROUND", "on"}}));
}

}  // namespace
}  // namespace rubato::dropin
