! The PAT calls of librubato_mpi for Fortran 2003. Functions return MPI's error code, as in C. Handles are the integers
! of "use mpi" (of "use mpi_f08": comm%MPI_VAL); buffers are c_loc(variable), of a variable that is a target.
module pat
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_loc, c_null_char, c_null_ptr, c_ptr
    implicit none
    private
    public :: pat_init, pat_finalize, pat_use_alg, pat_roll_call, pat_repeat, pat_processing_start, pat_edge, pat_processing_end
    public :: pat_in_place, pat_scatter, pat_scatterv, pat_gather, pat_gatherv, pat_reduce, pat_bcast

    interface
        integer(c_int) function pat_init() bind(c, name='PAT_Init')
            import :: c_int
        end function
        integer(c_int) function pat_finalize() bind(c, name='PAT_Finalize')
            import :: c_int
        end function
        integer(c_int) function use_alg(id) bind(c, name='PAT_UseAlg')
            import :: c_int, c_ptr
            type(c_ptr), value :: id
        end function
        ! Seconds to wait for those who are late before it is told who is there; below 0: nobody tells.
        integer(c_int) function pat_roll_call(patience) bind(c, name='PAT_RollCall')
            import :: c_double, c_int
            real(c_double), value :: patience
        end function
        ! 1 promises that the first collective after each computation is always the same, 0 takes that back.
        integer(c_int) function pat_repeat(yes) bind(c, name='PAT_Repeat')
            import :: c_int
            integer(c_int), value :: yes
        end function
        integer(c_int) function pat_processing_start() bind(c, name='PAT_ProcessingStart')
            import :: c_int
        end function
        integer(c_int) function pat_edge(fraction) bind(c, name='PAT_Edge')
            import :: c_double, c_int
            real(c_double), value :: fraction
        end function
        integer(c_int) function pat_processing_end() bind(c, name='PAT_ProcessingEnd')
            import :: c_int
        end function

        ! What to pass as a buffer instead of MPI_IN_PLACE.
        type(c_ptr) function pat_in_place() bind(c, name='PATF_In_place')
            import :: c_ptr
        end function
        integer(c_int) function pat_scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm) &
                bind(c, name='PATF_Scatter')
            import :: c_int, c_ptr
            type(c_ptr), value :: send, recv
            integer(c_int), value :: send_count, send_type, recv_count, recv_type, root, comm
        end function
        integer(c_int) function pat_scatterv(send, send_counts, displacements, send_type, recv, recv_count, recv_type, &
                root, comm) bind(c, name='PATF_Scatterv')
            import :: c_int, c_ptr
            type(c_ptr), value :: send, recv
            integer(c_int), intent(in) :: send_counts(*), displacements(*)
            integer(c_int), value :: send_type, recv_count, recv_type, root, comm
        end function
        integer(c_int) function pat_gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm) &
                bind(c, name='PATF_Gather')
            import :: c_int, c_ptr
            type(c_ptr), value :: send, recv
            integer(c_int), value :: send_count, send_type, recv_count, recv_type, root, comm
        end function
        integer(c_int) function pat_gatherv(send, send_count, send_type, recv, recv_counts, displacements, recv_type, &
                root, comm) bind(c, name='PATF_Gatherv')
            import :: c_int, c_ptr
            type(c_ptr), value :: send, recv
            integer(c_int), intent(in) :: recv_counts(*), displacements(*)
            integer(c_int), value :: send_count, send_type, recv_type, root, comm
        end function
        integer(c_int) function pat_reduce(send, recv, count, datatype, op, root, comm) bind(c, name='PATF_Reduce')
            import :: c_int, c_ptr
            type(c_ptr), value :: send, recv
            integer(c_int), value :: count, datatype, op, root, comm
        end function
        integer(c_int) function pat_bcast(buffer, count, datatype, root, comm) bind(c, name='PATF_Bcast')
            import :: c_int, c_ptr
            type(c_ptr), value :: buffer
            integer(c_int), value :: count, datatype, root, comm
        end function
    end interface

contains

    ! For instance 'gather/sorted_linear_sync+early'; a blank id leaves the choice to Rubato.
    integer(c_int) function pat_use_alg(id)
        character(len=*), intent(in) :: id
        character(kind=c_char), target :: text(len(id) + 1)
        integer :: i
        if (len_trim(id) == 0) then
            pat_use_alg = use_alg(c_null_ptr)
            return
        end if
        do i = 1, len_trim(id)
            text(i) = id(i:i)
        end do
        text(len_trim(id) + 1) = c_null_char
        pat_use_alg = use_alg(c_loc(text(1)))
    end function

end module
