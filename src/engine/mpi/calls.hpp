// Macros that turn a row of calls.def into parameters, into arguments and into members. A parameter's name is
// that of a member of mpi::call, or of dropin::arguments where MPI has arrays. COUNT and PLACE are the types of counts
// and displacements; INPUT is what C's type of an input begins with, before it is defined otherwise.
#pragma once

#define INPUT const

// NOLINTBEGIN(bugprone-macro-parentheses): these are parameters, not values
#define PARAMETER_send INPUT void* send
#define PARAMETER_send_count COUNT send_count
#define PARAMETER_send_counts INPUT COUNT* send_counts
#define PARAMETER_send_places INPUT PLACE* send_places
#define PARAMETER_send_type MPI_Datatype send_type
#define PARAMETER_send_types INPUT MPI_Datatype* send_types
#define PARAMETER_recv void* recv
#define PARAMETER_recv_count COUNT recv_count
#define PARAMETER_recv_counts INPUT COUNT* recv_counts
#define PARAMETER_recv_places INPUT PLACE* recv_places
#define PARAMETER_recv_type MPI_Datatype recv_type
#define PARAMETER_recv_types INPUT MPI_Datatype* recv_types
#define PARAMETER_send_chunks const chunks& send_chunks
#define PARAMETER_recv_chunks const chunks& recv_chunks
#define PARAMETER_op MPI_Op op
#define PARAMETER_root int root
// NOLINTEND(bugprone-macro-parentheses)

/// Of a w-form, whose chunks have a datatype each.
#define TYPED_CHUNKS send, send_counts, send_places, send_types, recv, recv_counts, recv_places, recv_types

#define PARAMETER(name) PARAMETER_##name
#define MEMBER(name) .name = name
#define PARAMETERS(...) EACH(PARAMETER __VA_OPT__(, ) __VA_ARGS__) __VA_OPT__(, ) MPI_Comm comm
#define ARGUMENTS(...) __VA_ARGS__ __VA_OPT__(, ) comm
#define MEMBERS(...) EACH(MEMBER __VA_OPT__(, ) __VA_ARGS__)

#define JOIN(a, b) JOIN_(a, b)
#define JOIN_(a, b) a##b
#define COUNT_OF(...) COUNT_OF_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define COUNT_OF_(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count

/// macro(a), macro(b), ...
#define EACH(macro, ...) __VA_OPT__(JOIN(EACH_, COUNT_OF(__VA_ARGS__))(macro, __VA_ARGS__))
#define EACH_4(macro, a, b, c, d) macro(a), macro(b), macro(c), macro(d)
#define EACH_5(macro, a, ...) macro(a), EACH_4(macro, __VA_ARGS__)
#define EACH_6(macro, a, ...) macro(a), EACH_5(macro, __VA_ARGS__)
#define EACH_7(macro, a, ...) macro(a), EACH_6(macro, __VA_ARGS__)
#define EACH_8(macro, a, ...) macro(a), EACH_7(macro, __VA_ARGS__)
