#include "program.hpp"

#include "quirks.hpp"

#include <array>
#include <cstdio>
#include <thread>

namespace random_program {
namespace {

class program {
public:
    program(std::uint64_t seed, const settings& how) : dice_(seed), how_(how) {
        MPI_Comm_rank(MPI_COMM_WORLD, &world_me_);
        MPI_Comm_size(MPI_COMM_WORLD, &world_size_);
        for (int i = 0; i < static_cast<int>(places_.size()); ++i) make(i);
    }
    ~program() {
        for (int i = 0; i < static_cast<int>(places_.size()); ++i) leave(i);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    std::uint64_t run() {
        const int steps = dice_.between(8, 20);
        for (int i = 0; i < steps; ++i) step();
        end_pending();
        return sum_.value();
    }

private:
    void step() {
        // All ranks draw, also ranks that are in no communicator of the step.
        const int kind = dice_.below(100);
        const int where = dice_.below(static_cast<int>(places_.size()));
        const std::uint64_t seed = dice_.seed();
        if (kind < 12) {
            end_pending();
            leave(where);
            make(where);
        } else if (kind < 15) {
            between_groups(seed);
        } else if (kind < 18) {
            mistake(seed);
        } else if (kind < 22) {
            at_once(seed);
        } else if (kind < 28) {
            loop(where, seed);
        } else if (kind < 39) {
            start_nonblocking(where, seed);
        } else if (kind < 40) {
            storm(where, seed);
        } else if (kind < 48) {
            const int drawn = dice_.between(1, 3);
            const int times = persists ? drawn : 1;
            if (in(where)) one(places_[std::size_t(where)], seed, form::persistent, false, times, -1, sum_);
        } else if (in(where)) {
            one(places_[std::size_t(where)], seed, form::blocking, false, 1, -1, sum_);
        }
        if (dice_.chance(30)) end_pending();
    }

    bool in(int where) const { return places_[std::size_t(where)].comm != MPI_COMM_NULL; }

    /// All ranks in the same order and in another; then one or two groups, some ranks, one rank.
    void make(int which) {
        place& p = places_[std::size_t(which)];
        const std::uint64_t seed = dice_.seed();
        dice d(seed, 1);
        switch (which) {
            case 0: p.comm = MPI_COMM_WORLD; break;
            case 1: MPI_Comm_dup(MPI_COMM_WORLD, &p.comm); break;
            case 2: MPI_Comm_split(MPI_COMM_WORLD, 0, d.chance(50) ? -world_me_ : world_me_, &p.comm); break;
            case 3: {
                int colour = 0;
                for (int r = 0; r <= world_me_; ++r) colour = d.below(2);
                MPI_Comm_split(MPI_COMM_WORLD, colour, world_me_, &p.comm);
                break;
            }
            case 4: {
                MPI_Group all = MPI_GROUP_NULL;
                MPI_Group some = MPI_GROUP_NULL;
                std::vector<int> members;
                for (int r = 0; r < world_size_; ++r)
                    if (d.chance(60)) members.push_back(r);
                MPI_Comm_group(MPI_COMM_WORLD, &all);
                MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
                MPI_Comm_create(MPI_COMM_WORLD, some, &p.comm);
                MPI_Group_free(&all);
                MPI_Group_free(&some);
                break;
            }
            default: p.comm = MPI_COMM_SELF; break;
        }
        if (p.comm == MPI_COMM_NULL) return;
        MPI_Comm_rank(p.comm, &p.me);
        MPI_Comm_size(p.comm, &p.size);
    }

    void leave(int which) {
        MPI_Comm& comm = places_[std::size_t(which)].comm;
        if (comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) MPI_Comm_free(&comm);
    }

    void one(const place& p, std::uint64_t seed, form how, bool large, int times, int straggler, digest& sum) const {
        call c(p, tools_, seed, how, large);
        for (int i = 0; i < times; ++i) {
            c.start(static_cast<std::uint64_t>(i), straggler == p.me ? 2000 : 0);
            c.finish(sum);
        }
        trace(c, sum);
    }

    /// The same call again and again, with a rank that is always late.
    void loop(int where, std::uint64_t seed) {
        const int times = dice_.between(15, 30);
        const int drawn = dice_.below(1 << 20);
        if (!in(where)) return;
        const place& p = places_[std::size_t(where)];
        one(p, seed, form::blocking, true, times, drawn % p.size, sum_);
    }

    void start_nonblocking(int where, std::uint64_t seed) {
        if (!in(where)) return;
        pending_.push_back(std::make_unique<call>(places_[std::size_t(where)], tools_, seed, form::nonblocking, false));
        pending_.back()->start(0, 0);
    }

    /// Very many, with a blocking one here and there.
    void storm(int where, std::uint64_t seed) {
        const int calls = dice_.between(40, 500);
        dice d(seed);
        for (int i = 0; i < calls; ++i) {
            const std::uint64_t drawn = d.seed();
            if (!d.chance(4))
                start_nonblocking(where, drawn);
            else if (in(where))
                one(places_[std::size_t(where)], drawn, form::blocking, false, 1, -1, sum_);
        }
        end_pending();
    }

    /// Each rank in its own way; results are added in the order in which calls were started.
    void end_pending() {
        dice own(dice_.seed(), static_cast<std::uint64_t>(world_me_) + 1);
        std::vector<MPI_Request> requests;
        for (const auto& c : pending_) requests.push_back(c->take_request());
        complete(requests, own);
        for (const auto& c : pending_) {
            c->finish(sum_);
            trace(*c, sum_);
        }
        pending_.clear();
    }

    static void complete(std::vector<MPI_Request>& requests, dice& own) {
        const int n = static_cast<int>(requests.size());
        std::vector<int> indices(requests.size());
        int done = 0;
        int which = 0;
        switch (own.below(8)) {
            case 0:
                for (MPI_Request& r : requests) MPI_Wait(&r, MPI_STATUS_IGNORE);
                break;
            case 1:
                for (int i = n; i > 0; --i) MPI_Wait(&requests[std::size_t(i - 1)], MPI_STATUS_IGNORE);
                break;
            case 2: MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE); break;
            case 3:
                for (int i = 0; i < n; ++i) MPI_Waitany(n, requests.data(), &which, MPI_STATUS_IGNORE);
                break;
            case 4:
                do MPI_Waitsome(n, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
                while (done != MPI_UNDEFINED);
                break;
            case 5:
                do MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE);
                while (done == 0);
                break;
            case 6:
                do MPI_Testsome(n, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
                while (done != MPI_UNDEFINED);
                break;
            default:
                for (int left = n; left > 0;) {
                    MPI_Request& r = requests[std::size_t(own.below(n))];
                    if (r == MPI_REQUEST_NULL) continue;
                    MPI_Test(&r, &done, MPI_STATUS_IGNORE);
                    if (done != 0) --left;
                }
        }
    }

    /// Two threads, each with a communicator of its own; one after the other without threads.
    void at_once(std::uint64_t seed) {
        std::array<place, 2> own{places_[1], places_[1]};
        std::array<digest, 2> sums;
        for (place& p : own) MPI_Comm_dup(places_[1].comm, &p.comm);
        const auto work = [&](std::size_t i) {
            dice d(seed, i);
            for (int n = 0; n < 6; ++n) {
                const std::uint64_t drawn = d.seed();
                const bool large = d.chance(50);
                const int times = d.between(1, 4);
                one(own[i], drawn, form::blocking, large, times, -1, sums[i]);
            }
        };
        if (how_.threads) {
            std::thread other(work, 1U);
            work(0);
            other.join();
        } else {
            work(0);
            work(1);
        }
        for (place& p : own) MPI_Comm_free(&p.comm);
        for (const digest& d : sums) sum_.add(d.value());
    }

    void between_groups(std::uint64_t seed) {
        if (world_size_ < 2) return;
        place p;
        p.first_group = world_me_ < (world_size_ + 1) / 2;
        MPI_Comm local = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, p.first_group ? 0 : 1, world_me_, &local);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, p.first_group ? (world_size_ + 1) / 2 : 0, 7, &p.comm);
        MPI_Comm_rank(p.comm, &p.me);
        MPI_Comm_size(p.comm, &p.size);
        MPI_Comm_remote_size(p.comm, &p.remote);
        dice d(seed);
        for (int i = 0; i < 3; ++i) one(p, d.seed(), form::blocking, false, 1, -1, sum_);
        MPI_Comm_free(&p.comm);
        MPI_Comm_free(&local);
    }

    /// All ranks make a wrong call; the library reports it, and no rank waits.
    void mistake(std::uint64_t seed) {
        dice d(seed);
        const int which = d.below(3);
        const int expected = which == 1 ? MPI_ERR_COUNT : MPI_ERR_ROOT;
        if (!checks_arguments) return;
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        std::vector<double> data(4096, 1.0);
        std::vector<double> result(4096, 0.0);
        int code = MPI_SUCCESS;
        switch (which) {
            case 0: code = MPI_Bcast(data.data(), 4096, MPI_DOUBLE, world_size_, comm); break;
            case 1: code = MPI_Allreduce(data.data(), result.data(), -5, MPI_DOUBLE, MPI_SUM, comm); break;
            default: code = MPI_Reduce(data.data(), result.data(), 4096, MPI_DOUBLE, MPI_SUM, -3, comm); break;
        }
        int found = 0;
        MPI_Error_class(code, &found);
        if (found != expected) sum_.add(static_cast<std::uint64_t>(found));
        MPI_Comm_free(&comm);
    }

    void trace(const call& c, const digest& sum) const {
        if (how_.trace)
            std::fprintf(stderr, "%d: %s: %016llx\n", world_me_, c.description().c_str(),
                         static_cast<unsigned long long>(sum.value()));
    }

    dice dice_;
    settings how_;
    toolbox tools_{how_.rounded};
    int world_me_ = 0;
    int world_size_ = 1;
    std::array<place, 6> places_{};
    std::vector<std::unique_ptr<call>> pending_{};
    digest sum_{};
};

}  // namespace

std::uint64_t run(std::uint64_t seed, const settings& how) { return program(seed, how).run(); }

}  // namespace random_program
