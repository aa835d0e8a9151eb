// How an application communicates. Its loop is written once, with calls that it starts and waits for later.
#pragma once

#include "common/mpi_call.hpp"
#include "rubato/mpi.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace applications {

enum class form : std::uint8_t {
    blocking,  ///< MPI's blocking collectives: a call has ended when it is started
    native,    ///< MPI's non-blocking collectives
    rubato,    ///< Rubato's
};
std::string_view name_of(form f);

/// A collective under way, or none.
class started {
public:
    started() = default;
    explicit started(std::unique_ptr<mpi_call> native) : native_(std::move(native)) {}
    explicit started(rubato::mpi::request ours) : ours_(std::move(ours)) {}

    void wait();

private:
    std::unique_ptr<mpi_call> native_{};
    rubato::mpi::request ours_{};
};

class collectives {
public:
    /// Collective over `comm`. Rubato's form uses one algorithm for all calls of its collective; null: Rubato chooses.
    collectives(MPI_Comm comm, form how, const rubato::algorithm* algorithm);

    form how() const { return form_; }
    /// Blocking programs communicate in one piece what others cut to overlap it.
    bool overlaps() const { return form_ != form::blocking; }
    /// Buffers and chunks must stay as they are until it was waited for.
    [[nodiscard]] started start(const rubato::mpi::call& c);

private:
    MPI_Comm comm_;
    form form_;
    const rubato::algorithm* algorithm_;
    std::optional<rubato::mpi::communicator> ours_{};
};

/// The sum over all ranks of `comm`, by MPI in every form: nothing can overlap with a result that is needed at once.
double sum_over(MPI_Comm comm, double mine);

}  // namespace applications
