// LibNBC's Fortran names: integers stand for MPI's handles and for operations, buffers are passed by their addresses.
// Only what differs from C is here; see rubato/nbc.h.
#include "engine/mpi/calls.hpp"
#include "rubato/core.hpp"
#include "rubato/nbc.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace {

/// Operations by their numbers, from 1; 0 is an operation that has ended.
class handle_table {
public:
    NBC_Handle& make(MPI_Fint& number) {
        if (free_.empty()) {
            all_.emplace_back();
            free_.push_back(static_cast<MPI_Fint>(all_.size()));
        }
        number = free_.back();
        free_.pop_back();
        entry& made = all_[static_cast<std::size_t>(number) - 1];
        made = {{}, true};
        return made.handle;
    }
    /// Null if the number is of no operation.
    NBC_Handle* find(MPI_Fint number) {
        static NBC_Handle nothing;
        if (number == 0) return &(nothing = {});
        if (number < 0 || static_cast<std::size_t>(number) > all_.size()) return nullptr;
        entry& found = all_[static_cast<std::size_t>(number) - 1];
        return found.used ? &found.handle : nullptr;
    }
    void forget_if_ended(MPI_Fint& number) {
        const NBC_Handle* const h = number == 0 ? nullptr : find(number);
        if (h == nullptr || h->operation != nullptr) return;
        all_[static_cast<std::size_t>(number) - 1].used = false;
        free_.push_back(number);
        number = 0;
    }

private:
    struct entry {
        NBC_Handle handle{};
        bool used = false;
    };
    std::deque<entry> all_{};
    std::vector<MPI_Fint> free_{};
};
handle_table& handles() {
    static auto& all = *new handle_table;
    return all;
}

}  // namespace

// Fortran's own constants are variables; MPI libraries know them by their addresses.
extern "C" {
#ifdef OPEN_MPI
[[gnu::weak]] extern int mpi_fortran_in_place_;
[[gnu::weak]] extern int mpi_fortran_bottom_;
#else
[[gnu::weak]] extern void* MPIR_F_MPI_IN_PLACE;
[[gnu::weak]] extern void* MPIR_F_MPI_BOTTOM;
#endif
}

namespace {

void* buffer_of(void* given) {
#ifdef OPEN_MPI
    const void* const in_place = &mpi_fortran_in_place_;
    const void* const bottom = &mpi_fortran_bottom_;
#else
    const void* const in_place = &MPIR_F_MPI_IN_PLACE != nullptr ? MPIR_F_MPI_IN_PLACE : nullptr;
    const void* const bottom = &MPIR_F_MPI_BOTTOM != nullptr ? MPIR_F_MPI_BOTTOM : nullptr;
#endif
    if (given == nullptr) return given;
    if (given == in_place) return MPI_IN_PLACE;
    return given == bottom ? MPI_BOTTOM : given;
}

MPI_Datatype type_of(const MPI_Fint* t) { return MPI_Type_f2c(*t); }
MPI_Comm comm_of(const MPI_Fint* c) { return MPI_Comm_f2c(*c); }
MPI_Op op_of(const MPI_Fint* o) { return MPI_Op_f2c(*o); }

/// Gives the operation that `call` starts a number.
template <class Call>
void begun(MPI_Fint* request, MPI_Fint* error, Call call) {
    *error = call(&handles().make(*request));
    handles().forget_if_ended(*request);  // refused
}

std::vector<MPI_Datatype> types_of(const MPI_Fint* types, const MPI_Fint* comm) {
    int ranks = 0;
    if (MPI_Comm_size(comm_of(comm), &ranks) != MPI_SUCCESS) return {};
    std::vector<MPI_Datatype> all(static_cast<std::size_t>(ranks));
    std::transform(types, types + ranks, all.begin(), [](MPI_Fint t) { return MPI_Type_f2c(t); });
    return all;
}

/// Several operations at once: copies of their handles, which go back where they came from.
template <class Call>
void asked(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* error, Call call) {
    std::vector<NBC_Handle> some;
    for (MPI_Fint i = 0; i < *count; ++i) {
        const NBC_Handle* const h = handles().find(requests[i]);
        if (h == nullptr) {
            *error = NBC_INVALID_PARAM;
            return;
        }
        some.push_back(*h);
    }
    *error = call(some.data());
    for (MPI_Fint i = 0; i < *count; ++i) {
        if (requests[i] == 0) continue;
        *handles().find(requests[i]) = some[static_cast<std::size_t>(i)];
        handles().forget_if_ended(requests[i]);
    }
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-macro-parentheses): these are parameters, not values
#define FORTRAN_send void* send
#define FORTRAN_send_count const MPI_Fint* send_count
#define FORTRAN_send_counts MPI_Fint* send_counts
#define FORTRAN_send_places MPI_Fint* send_places
#define FORTRAN_send_type const MPI_Fint* send_type
#define FORTRAN_recv void* recv
#define FORTRAN_recv_count const MPI_Fint* recv_count
#define FORTRAN_recv_counts MPI_Fint* recv_counts
#define FORTRAN_recv_places MPI_Fint* recv_places
#define FORTRAN_recv_type const MPI_Fint* recv_type
#define FORTRAN_op const MPI_Fint* op
#define FORTRAN_root const MPI_Fint* root
// NOLINTEND(bugprone-macro-parentheses)
#define FROM_FORTRAN_send buffer_of(send)
#define FROM_FORTRAN_send_count *send_count
#define FROM_FORTRAN_send_counts send_counts
#define FROM_FORTRAN_send_places send_places
#define FROM_FORTRAN_send_type type_of(send_type)
#define FROM_FORTRAN_recv buffer_of(recv)
#define FROM_FORTRAN_recv_count *recv_count
#define FROM_FORTRAN_recv_counts recv_counts
#define FROM_FORTRAN_recv_places recv_places
#define FROM_FORTRAN_recv_type type_of(recv_type)
#define FROM_FORTRAN_op op_of(op)
#define FROM_FORTRAN_root *root
#define FORTRAN(name) FORTRAN_##name
#define FROM_FORTRAN(name) FROM_FORTRAN_##name

#define CALL(what, name, ...)                                                                                    \
    RUBATO_API void nbc_i##what##_(EACH(FORTRAN __VA_OPT__(, ) __VA_ARGS__) __VA_OPT__(, ) const MPI_Fint* comm, \
                                   MPI_Fint* request, MPI_Fint* error) {                                         \
        begun(request, error, [&](NBC_Handle* h) {                                                               \
            return NBC_I##what(EACH(FROM_FORTRAN __VA_OPT__(, ) __VA_ARGS__) __VA_OPT__(, ) comm_of(comm), h);   \
        });                                                                                                      \
    }
#define CALL_THAT_LIBNBC_LACKS(...)
#define CALL_AMONG_NEIGHBOURS(...)
#define CALL_WITH_CHUNKS_AMONG_NEIGHBOURS(...)
#include "engine/mpi/calls.def"

RUBATO_API void nbc_ialltoallw_(void* send, MPI_Fint* send_counts, MPI_Fint* send_places, const MPI_Fint* send_types,
                                void* recv, MPI_Fint* recv_counts, MPI_Fint* recv_places, const MPI_Fint* recv_types,
                                const MPI_Fint* comm, MPI_Fint* request, MPI_Fint* error) {
    void* const from = buffer_of(send);
    std::vector<MPI_Datatype> out;
    if (from != MPI_IN_PLACE) out = types_of(send_types, comm);
    std::vector<MPI_Datatype> in = types_of(recv_types, comm);
    begun(request, error, [&](NBC_Handle* h) {
        return NBC_Ialltoallw(from, send_counts, send_places, out.data(), buffer_of(recv), recv_counts, recv_places,
                              in.data(), comm_of(comm), h);
    });
}

RUBATO_API void nbc_wait_(MPI_Fint* request, const MPI_Fint*, MPI_Fint* error) {
    *error = NBC_Wait(handles().find(*request), MPI_STATUS_IGNORE);
    handles().forget_if_ended(*request);
}

RUBATO_API void nbc_test_(MPI_Fint* request, MPI_Fint* flag, const MPI_Fint*, MPI_Fint* error) {
    int ended = 0;
    *error = NBC_Test(handles().find(*request), &ended, MPI_STATUS_IGNORE);
    *flag = ended;
    handles().forget_if_ended(*request);
}

RUBATO_API void nbc_waitall_(const MPI_Fint* count, MPI_Fint* requests, const MPI_Fint*, MPI_Fint* error) {
    asked(count, requests, error, [&](NBC_Handle* h) { return NBC_Waitall(*count, h, MPI_STATUSES_IGNORE); });
}

/// Indices count from 1.
RUBATO_API void nbc_waitany_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, const MPI_Fint*,
                             MPI_Fint* error) {
    int which = MPI_UNDEFINED;
    asked(count, requests, error, [&](NBC_Handle* h) { return NBC_Waitany(*count, h, &which, MPI_STATUS_IGNORE); });
    *index = which == MPI_UNDEFINED ? which : which + 1;
}

RUBATO_API void nbc_testall_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, const MPI_Fint*,
                             MPI_Fint* error) {
    int ended = 0;
    asked(count, requests, error, [&](NBC_Handle* h) { return NBC_Testall(*count, h, &ended, MPI_STATUSES_IGNORE); });
    *flag = ended;
}

RUBATO_API void nbc_testany_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag,
                             const MPI_Fint*, MPI_Fint* error) {
    int which = MPI_UNDEFINED;
    int ended = 0;
    asked(count, requests, error,
          [&](NBC_Handle* h) { return NBC_Testany(*count, h, &which, &ended, MPI_STATUS_IGNORE); });
    *flag = ended;
    *index = which == MPI_UNDEFINED ? which : which + 1;
}

}  // extern "C"
