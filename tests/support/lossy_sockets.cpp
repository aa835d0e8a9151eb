#include "lossy_sockets.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <vector>

namespace {

double lost = 0;
bool refuses = false;
bool gives_little = false;
std::vector<int> joined;

void attach(int socket) {
    const auto below = static_cast<std::uint32_t>(lost * 4294967295.0);
    sock_filter keep_some[]{{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_RANDOM)},
                            {BPF_JMP | BPF_JGE | BPF_K, 1, 0, below},
                            {BPF_RET | BPF_K, 0, 0, 0},
                            {BPF_RET | BPF_K, 0, 0, 0xffffffff}};
    sock_filter drop_all[]{{BPF_RET | BPF_K, 0, 0, 0}};
    const sock_fprog some{4, keep_some};
    const sock_fprog none{1, drop_all};
    // Those that were closed refuse it, which does not matter.
    (void)syscall(SYS_setsockopt, socket, SOL_SOCKET, SO_ATTACH_FILTER, lost < 1 ? &some : &none, sizeof some);
}

}  // namespace

void rubato::testing::lose(double share) {
    lost = share;
    for (const int s : joined) attach(s);
}

void rubato::testing::refuse_groups(bool refused) { refuses = refused; }

void rubato::testing::give_small_buffers(bool small) { gives_little = small; }

void rubato::testing::cast_noise(std::span<const std::byte> raw) {
    sockaddr_in group{};
    socklen_t size = sizeof group;
    if (joined.empty() || getsockname(joined.back(), reinterpret_cast<sockaddr*>(&group), &size) != 0) return;
    (void)sendto(joined.back(), raw.data(), raw.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&group), size);
}

extern "C" int setsockopt(int socket, int level, int option, const void* value, socklen_t size) {
    const bool joins = level == IPPROTO_IP && option == IP_ADD_MEMBERSHIP;
    const bool forces = level == SOL_SOCKET && option == SO_RCVBUFFORCE;
    if ((joins && refuses) || (forces && gives_little)) {
        errno = EPERM;
        return -1;
    }
    const int little = 64 << 10;
    if (level == SOL_SOCKET && option == SO_RCVBUF && gives_little) value = &little;
    const int result = static_cast<int>(syscall(SYS_setsockopt, socket, level, option, value, size));
    if (joins && result == 0) {
        std::erase(joined, socket);
        joined.push_back(socket);
        attach(socket);
    }
    return result;
}
