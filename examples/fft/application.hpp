// The application of Proficz 2020, sec. 6: rank 0 scatters a signal that is already cut, all transform, rank 0 gathers.
#pragma once

#include "transform.hpp"

#include "rubato/core.hpp"

#include <mpi.h>

#include <optional>
#include <string>

namespace fft {

/// Throws if an MPI or PAT call failed.
void check(int code, const char* call);

/// An algorithm of Rubato, or the MPI library's own collective.
constexpr const char* native = "native";

/// When a rank called the gather and when it left it, on its own clock.
struct visit {
    rubato::time_ns arrival{};
    rubato::time_ns exit{};
};

class application {
public:
    application(std::size_t numbers, int threads, std::uint32_t seed, MPI_Comm comm);

    /// From now on; collective, and between iterations only.
    void use(const std::string& scatter, const std::string& gather);
    /// One iteration, in which this rank computes longer by `delay`.
    visit iterate(rubato::time_ns delay);
    /// Overwrites this rank's buffers before a checked iteration, so that no old result passes as right.
    void forget();
    /// How far the last iteration's transform is from FFTW's; rank 0 knows.
    double error() const;

private:
    MPI_Comm comm_;
    halved_transform mine_;
    bool native_scatter_ = true;
    bool native_gather_ = true;
    signal chunk_, transformed_;
    std::size_t turn_ = 0;
    // Of rank 0. Two signals take turns, so that data of the last iteration does not pass as this one's.
    std::optional<stage> over_ranks_{};
    std::array<signal, 2> inputs_, wanted_;
    signal cut_, gathered_, result_;
};

}  // namespace fft
