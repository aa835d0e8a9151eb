#include "buffers.hpp"
#include "dynamic_run.hpp"
#include "mpi_transport.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace rubato::mpi {
namespace {

constexpr int version = 2;  // of what ranks must agree on: plans, tags, announcements

/// x*x = x, so that counting a contribution twice does no harm.
bool is_idempotent(MPI_Op op) {
    const std::array ops{MPI_MIN, MPI_MAX, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_MINLOC, MPI_MAXLOC};
    return std::ranges::find(ops, op) != ops.end();
}

bool commutes(MPI_Op op) {
    int yes = 0;
    check(MPI_Op_commutative(op, &yes), "MPI_Op_commutative");
    return yes != 0;
}

int tag_upper_bound() {
    void* value = nullptr;
    int found = 0;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found), "MPI_Comm_get_attr");
    return found ? *static_cast<int*>(value) : 32767;
}

/// A communicator of the same ranks, without the user's attributes.
class private_communicator {
public:
    explicit private_communicator(MPI_Comm user) {
        int inter = 0;
        check(MPI_Comm_test_inter(user, &inter), "MPI_Comm_test_inter");
        if (inter != 0)
            throw error("an inter-communicator", "rubato's collectives work within one group",
                        "call MPI's own collectives on it");
        MPI_Group group = MPI_GROUP_NULL;
        check(MPI_Comm_group(user, &group), "MPI_Comm_group");
        const int code = MPI_Comm_create(user, group, &comm_);
        MPI_Group_free(&group);
        check(code, "MPI_Comm_create");
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    ~private_communicator() {
        int finalized = 0;
        if (MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) MPI_Comm_free(&comm_);
    }
    private_communicator(const private_communicator&) = delete;
    private_communicator& operator=(const private_communicator&) = delete;

    MPI_Comm get() const { return comm_; }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

class communicator::state {
public:
    state(MPI_Comm user, plan_cache::settings how)
        : comm_(user), tags_(tag_upper_bound()), transport_(comm_.get(), tags_) {
        check(MPI_Comm_rank(comm_.get(), &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(comm_.get(), &size_), "MPI_Comm_size");
        // The lowest and the highest version, in one go.
        std::array<int, 2> versions{version, -version};
        check(MPI_Allreduce(MPI_IN_PLACE, versions.data(), 2, MPI_INT, MPI_MIN, comm_.get()), "MPI_Allreduce");
        if (versions[0] != -versions[1])
            throw error("different versions of rubato in one program",
                        fmt::format("they speak protocols {} to {}", versions[0], -versions[1]),
                        "run the same version on all hosts");
        // Plans must be equal on all ranks, so they are rounded as rank 0 says.
        std::int64_t quantum = how.quantum.count();
        check(MPI_Bcast(&quantum, 1, MPI_INT64_T, 0, comm_.get()), "MPI_Bcast");
        how.quantum = time_ns(quantum);
        plans_.emplace(rubato::rank(rank_), how);
    }
    int rank() const { return rank_; }
    int size() const { return size_; }
    plan_cache::statistics plans() const { return plans_->counted(); }

    void run(const selection& how, const call& c) {
        if (broken_)
            throw error("this communicator cannot be used any more", "a collective on it has failed", "make a new one");
        // Counted even if this rank refuses the call, so that what others sent for it is not taken for the next one.
        const std::uint64_t operation = operation_++;
        if (how.use->dynamic) return improvise(how, c, operation);
        const std::shared_ptr<plan_cache::entry> found = plans_->get(*how.use, problem_of(how, c));
        plan_cache::entry& r = *found;
        if (in_place(c, rank_) && !r.safe_in_place)
            r.safe_in_place = safe_in_place(r.steps.steps(), in_place_shift(c, rank_) * r.steps.steps().parts);
        buffers_.bind(c, r.steps, rank_, size_, r.safe_in_place.value_or(true), comm_.get());
        transport_.bind(buffers_.unit(), c.op, operation);
        try {
            execution_.start(r.steps, buffers_.sizes(), buffers_.where(), transport_);
            execution_.wait();
            buffers_.finish(comm_.get());
        } catch (...) {
            broken_ = true;
            transport_.abandon();
            buffers_.leak();
            throw;
        }
    }

private:
    void improvise(const selection& how, const call& c, std::uint64_t operation) {
        const problem p = problem_of(how, c);
        rubato::check(*how.use, p);
        buffers_.bind(c, dynamic_run::places(), rank_, size_, true, comm_.get());
        transport_.bind(buffers_.unit(), c.op, operation);
        try {
            dynamic_run run(*how.use, p, rubato::rank(rank_), buffers_.sizes(), buffers_.where(), transport_,
                            comm_.get(), tags_.tag(tags_.first_tag(operation), dynamic_run::note_message));
            while (!run.progress()) {
            }
        } catch (...) {
            broken_ = true;
            transport_.abandon();
            buffers_.leak();
            throw;
        }
    }

    problem problem_of(const selection& how, const call& c) const {
        problem p;
        p.what = c.what;
        p.ranks = size_;
        if (traits(c.what).rooted) p.root = rubato::rank(c.root);
        p.segments = how.segments;
        p.radix = how.radix;
        if (how.use->arrival_aware) {
            p.arrivals = how.arrivals;
            p.round_time = how.round_time;
        }
        if (traits(c.what).reduces) {
            if (c.op == MPI_OP_NULL)
                throw error("no operator", "MPI_OP_NULL combines nothing", "check the arguments of the collective");
            p.commutative = commutes(c.op);
            p.idempotent = is_idempotent(c.op);
        }
        return p;
    }

    private_communicator comm_;
    int rank_ = 0;
    int size_ = 1;
    tag_layout tags_;
    mpi_transport transport_;
    buffers buffers_{};
    execution execution_{};
    std::uint64_t operation_ = 0;
    bool broken_ = false;
    std::optional<plan_cache> plans_{};
};

communicator::communicator(MPI_Comm user, plan_cache::settings how) : state_(std::make_unique<state>(user, how)) {}
communicator::~communicator() = default;
communicator::communicator(communicator&&) noexcept = default;
communicator& communicator::operator=(communicator&&) noexcept = default;

int communicator::rank() const { return state_->rank(); }
int communicator::size() const { return state_->size(); }
plan_cache::statistics communicator::plans() const { return state_->plans(); }
void communicator::run(const selection& how, const call& c) { state_->run(how, c); }

void communicator::barrier(const selection& how) { run(how, {collective::barrier}); }

void communicator::bcast(const selection& how, void* data, std::int64_t count, MPI_Datatype type, int root) {
    run(how, {collective::bcast, data, count, {}, type, data, count, {}, type, MPI_OP_NULL, root});
}

void communicator::reduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                          MPI_Op op, int root) {
    run(how, {collective::reduce, send, count, {}, type, recv, count, {}, type, op, root});
}

void communicator::allreduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                             MPI_Op op) {
    run(how, {collective::allreduce, send, count, {}, type, recv, count, {}, type, op});
}

void communicator::scatter(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how,
        {collective::scatter, send, send_count, {}, send_type, recv, recv_count, {}, recv_type, MPI_OP_NULL, root});
}

void communicator::gather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                          void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how, {collective::gather, send, send_count, {}, send_type, recv, recv_count, {}, recv_type, MPI_OP_NULL, root});
}

void communicator::allgather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                             void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    run(how, {collective::allgather, send, send_count, {}, send_type, recv, recv_count, {}, recv_type});
}

void communicator::alltoall(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                            void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    run(how, {collective::alltoall, send, send_count, {}, send_type, recv, recv_count, {}, recv_type});
}

void communicator::reduce_scatter_block(const selection& how, const void* send, void* recv, std::int64_t recv_count,
                                        MPI_Datatype type, MPI_Op op) {
    run(how, {collective::reduce_scatter_block, send, recv_count, {}, type, recv, recv_count, {}, type, op});
}

void communicator::scan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                        MPI_Op op) {
    run(how, {collective::scan, send, count, {}, type, recv, count, {}, type, op});
}

void communicator::exscan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                          MPI_Op op) {
    run(how, {collective::exscan, send, count, {}, type, recv, count, {}, type, op});
}

void communicator::scatterv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                            void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how,
        {collective::scatterv, send, 0, send_chunks, send_type, recv, recv_count, {}, recv_type, MPI_OP_NULL, root});
}

void communicator::gatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, const chunks& recv_chunks, MPI_Datatype recv_type, int root) {
    run(how,
        {collective::gatherv, send, send_count, {}, send_type, recv, 0, recv_chunks, recv_type, MPI_OP_NULL, root});
}

void communicator::allgatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                              void* recv, const chunks& recv_chunks, MPI_Datatype recv_type) {
    run(how, {collective::allgatherv, send, send_count, {}, send_type, recv, 0, recv_chunks, recv_type});
}

void communicator::alltoallv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                             void* recv, const chunks& recv_chunks, MPI_Datatype recv_type) {
    run(how, {collective::alltoallv, send, 0, send_chunks, send_type, recv, 0, recv_chunks, recv_type});
}

}  // namespace rubato::mpi
