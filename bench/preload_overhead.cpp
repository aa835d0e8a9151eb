// How much time the drop-in adds to a program's collectives: an allreduce of 8 bytes, called as programs call it and
// directly in the MPI library, in alternating blocks.
//
//     build/rubato exec -- mpirun -n 2 build/bench/preload_overhead
#include <mpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include <dlfcn.h>

namespace {

using allreduce = int(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

/// The function of the MPI library itself; null if MPI_Allreduce is not intercepted.
allreduce* native_allreduce() {
    Dl_info library{};
    Dl_info first{};
    if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Wtime"), &library) == 0) return nullptr;
    void* const handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void* const native = handle != nullptr ? dlsym(handle, "PMPI_Allreduce") : nullptr;
    if (dladdr(dlsym(RTLD_DEFAULT, "MPI_Allreduce"), &first) == 0 || first.dli_fbase == library.dli_fbase)
        return nullptr;
    return reinterpret_cast<allreduce*>(native);
}

/// Nanoseconds per call.
double block(allreduce* f, int calls) {
    double in = 1;
    double out = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) f(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / calls;
}

double quantile(std::vector<double> values, double share) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, at);
    return *at;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    allreduce* const native = native_allreduce();
    if (native == nullptr) {
        if (me == 0) fmt::print(stderr, "preload_overhead: nothing is preloaded; run it by 'rubato exec'\n");
        MPI_Finalize();
        return 2;
    }
    constexpr int calls = 1000;
    constexpr int blocks = 1000;
    std::vector<double> through;
    std::vector<double> direct;
    std::vector<double> more;
    for (int i = 0; i < blocks; ++i) {
        const bool first = i % 2 == 0;
        const double one = block(first ? MPI_Allreduce : native, calls);
        const double two = block(first ? native : MPI_Allreduce, calls);
        through.push_back(first ? one : two);
        direct.push_back(first ? two : one);
        more.push_back(through.back() - direct.back());
    }
    if (me == 0)
        fmt::print(
            "allreduce of 8 bytes: {:.0f} ns with the drop-in, {:.0f} ns without (medians of {} blocks of {});\n"
            "difference within pairs of blocks: median {:.0f} ns, quartiles {:.0f} and {:.0f} ns\n",
            quantile(through, 0.5), quantile(direct, 0.5), blocks, calls, quantile(more, 0.5), quantile(more, 0.25),
            quantile(more, 0.75));
    MPI_Finalize();
    return 0;
}
