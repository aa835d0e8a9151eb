! The PAT calls from Fortran, in the shape of Proficz 2020, Fig. 4: scatter, compute and tell when half is done, gather.
!
!   mpirun -n 4 pat_fortran
!
! Rank 0 hands out the slices of an interval, every rank integrates 4 / (1 + x*x) over its own, and rank 0 gathers the
! parts of pi in place. The parts are also summed by a reduction; both must be right.
program pat_fortran
    use, intrinsic :: iso_c_binding, only: c_double, c_loc, c_null_ptr, c_ptr
    use mpi
    use pat
    implicit none

    integer, parameter :: iterations = 50, points = 20000
    real(c_double), parameter :: pi = 3.14159265358979324d0
    real(c_double), allocatable, target :: slices(:), parts(:)
    real(c_double), target :: slice, part, total
    type(c_ptr) :: mine
    integer :: provided, me, ranks, code, i, k, wrong

    ! Rubato may communicate while this thread computes.
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, code)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    allocate (slices(ranks), parts(ranks))
    wrong = 0

    call check(pat_init(), 'PAT_Init')
    call check(pat_use_alg('gather/sorted_binomial+early'), 'PAT_UseAlg')
    call check(pat_repeat(1), 'PAT_Repeat')
    do i = 1, iterations
        ! The slices change their owners from iteration to iteration.
        slices = [(modulo(k + i, ranks) / real(ranks, c_double), k = 1, ranks)]
        call check(pat_scatter(c_loc(slices), 1, MPI_DOUBLE_PRECISION, c_loc(slice), 1, MPI_DOUBLE_PRECISION, 0, &
            MPI_COMM_WORLD), 'PAT_Scatter')

        call check(pat_processing_start(), 'PAT_ProcessingStart')
        part = integral(slice, 1, points / 2)
        call check(pat_edge(0.5d0), 'PAT_Edge')
        part = part + integral(slice, points / 2 + 1, points)
        call check(pat_processing_end(), 'PAT_ProcessingEnd')

        parts = 0
        mine = c_loc(part)
        if (me == 0) then
            parts(1) = part
            mine = pat_in_place()
        end if
        call check(pat_gather(mine, 1, MPI_DOUBLE_PRECISION, c_loc(parts), 1, MPI_DOUBLE_PRECISION, 0, &
            MPI_COMM_WORLD), 'PAT_Gather')
        call check(pat_reduce(c_loc(part), c_loc(total), 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD), &
            'PAT_Reduce')
        if (me == 0) then
            if (.not. abs(sum(parts) - pi) < 1d-8) wrong = wrong + 1
            if (.not. abs(total - pi) < 1d-8) wrong = wrong + 1
            do k = 1, ranks
                if (.not. abs(parts(k) - integral(slices(k), 1, points)) < 1d-12) wrong = wrong + 1
            end do
        end if
    end do
    call check(pat_finalize(), 'PAT_Finalize')

    if (me == 0) print '(3(i0, a))', iterations, ' iterations on ', ranks, ' ranks, ', wrong, ' wrong numbers'
    call MPI_Bcast(wrong, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    call MPI_Finalize(code)
    if (wrong > 0) stop 1

contains

    ! By the midpoint rule, from point `first` to point `last` of a slice.
    real(c_double) function integral(begin, first, last)
        real(c_double), intent(in) :: begin
        integer, intent(in) :: first, last
        real(c_double) :: step, x
        integer :: at
        step = 1d0 / ranks / points
        integral = 0
        do at = first, last
            x = begin + (at - 0.5d0) * step
            integral = integral + 4 / (1 + x * x) * step
        end do
    end function

    subroutine check(status, call_name)
        integer, intent(in) :: status
        character(len=*), intent(in) :: call_name
        integer :: ignored
        if (status == MPI_SUCCESS) return
        print '(2a, i0)', call_name, ' failed with code ', status
        call MPI_Abort(MPI_COMM_WORLD, 2, ignored)
    end subroutine

end program
