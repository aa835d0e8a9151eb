// Multicast sockets of this process that lose datagrams: the kernel drops them at random before the program sees them.
// For programs that are linked with lossy_sockets.cpp, whose setsockopt stands in for the system's.
#pragma once

#include <cstddef>
#include <span>

namespace rubato::testing {

/// From now on all sockets in multicast groups lose this share of what comes, 0 to 1; those that join later, too.
void lose(double share);
/// From now on no socket can join a group.
void refuse_groups(bool refused);
/// From now on sockets get small buffers, whatever they ask for.
void give_small_buffers(bool small);
/// Sends this to the group that was joined last.
void cast_noise(std::span<const std::byte> raw);

}  // namespace rubato::testing
