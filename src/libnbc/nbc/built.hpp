// A schedule that a program has built by LibNBC's calls, and a run of it.
#pragma once

#include "engine/execute/engine.hpp"
#include "engine/mpi/mpi_transport.hpp"
#include "engine/mpi/process.hpp"
#include "libnbc/nbc/handles.hpp"
#include "libnbc/nbc/mpi_data.hpp"

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rubato::libnbc {

/// Memory, from its first byte to behind its last.
struct range {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;

    bool overlaps(const range& other) const { return begin < other.end && other.begin < end; }
};
range range_of(const data& d);

/// A step with what MPI must know of its data.
struct built_step {
    step_kind kind = step_kind::copy;
    data from{};  ///< read by send, combine, copy
    data to{};    ///< written by recv, combine, copy
    int peer = -1;
    MPI_Op op = MPI_OP_NULL;
    std::size_t round = 0;

    bool is_message() const { return kind == step_kind::send || kind == step_kind::recv; }
};

struct built_schedule {
    std::vector<built_step> steps{};
    std::size_t round = 0;  ///< of the next step
    bool committed = false;
    kept_types types{};
    std::list<std::vector<std::byte>> memory{};  ///< for operands that must not be overwritten
};

/// The same as Rubato's engine runs it: step i reads block 2i, which stands for its data, and writes block 2i + 1.
schedule engine_form(const built_schedule& b);

/// Writes the schedules of all ranks to a file, on rank 0; collective. They are meant to be this collective.
/// Null names, or no schedule: an error on all ranks.
void save(const built_schedule* mine, const char* what, const data& send, const data& recv, int root, MPI_Comm comm,
          const char* file);

class built_run final : public operation, private engine::transport {
public:
    /// The number-th on `comm`, which is for messages of such runs alone. `memory` is from malloc, and freed at the
    /// end.
    built_run(std::unique_ptr<built_schedule> what, void* memory, MPI_Comm comm, engine::tag_layout tags,
              std::uint64_t number);
    ~built_run() override;

    std::uint64_t number() const { return number_; }
    bool done();

    bool progress(bool wait) override;
    std::string steps() const override { return to_string(plan_.steps()); }

private:
    engine::activity look();
    /// `post` starts the message of a step.
    template <class Post>
    void add_message(std::uint32_t step, std::uint32_t message, const char* call, Post post);
    const built_step& step_at(const std::byte* block) const {
        return what_->steps[static_cast<std::size_t>(block - blocks_.data()) / 2];
    }

    void send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to, std::uint32_t message) override;
    void recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) override;
    void poll(std::vector<std::uint32_t>& completed, bool wait) override;
    void combine(const std::byte* left, std::byte* into, std::int64_t units) override;
    void copy(const std::byte* from, std::byte* to, std::int64_t units) override;

    std::unique_ptr<built_schedule> what_;
    void* memory_;
    MPI_Comm comm_;
    engine::tag_layout tags_;
    std::uint64_t number_;
    engine::plan plan_;
    layout sizes_ = layout::uniform(1);
    std::vector<std::byte> blocks_;  // never looked at: their addresses tell the step
    std::vector<MPI_Request> requests_{};
    std::vector<std::uint32_t> steps_{};  // of each request
    std::vector<int> indices_{};
    std::vector<MPI_Status> statuses_{};

    std::mutex mutex_{};  // of what follows, and of the run
    engine::execution run_{};
    std::exception_ptr trouble_{};  // the first
    bool broken_ = false;
    std::optional<engine::watch_id> watched_{};
    std::optional<engine::mutual_help::ticket> joined_{};
};

}  // namespace rubato::libnbc
