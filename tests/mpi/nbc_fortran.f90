! LibNBC's interface from Fortran: operations against MPI's own, several under way, in place.
program nbc_fortran
    use mpi
    implicit none
    integer, parameter :: n = 300, many = 20
    integer :: me, ranks, error, request, i, which, provided
    integer :: requests(many)
    integer, allocatable :: in(:), mine(:), theirs(:), counts(:), places(:)
    integer :: sums(n, many), expected(n)
    logical :: ended
    external :: nbc_ibarrier, nbc_ibcast, nbc_iallreduce, nbc_igather, nbc_ialltoall, nbc_iallgatherv, nbc_iscan
    external :: nbc_wait, nbc_test, nbc_waitall, nbc_waitany, nbc_testall

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, error)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    allocate (in(n * ranks), mine(n * ranks), theirs(n * ranks), counts(ranks), places(ranks))
    do i = 1, n * ranks
        in(i) = me * 1000 + i
    end do

    call nbc_ibarrier(MPI_COMM_WORLD, request, error)
    call finish('ibarrier')

    mine = in
    theirs = in
    call nbc_ibcast(mine, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, request, error)
    call finish('ibcast')
    call MPI_Bcast(theirs, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, error)
    call compare('ibcast')

    call nbc_iallreduce(MPI_IN_PLACE, mine, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
    call finish('iallreduce in place')
    call MPI_Allreduce(MPI_IN_PLACE, theirs, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call compare('iallreduce in place')

    call nbc_igather(in, n, MPI_INTEGER, mine, n, MPI_INTEGER, 0, MPI_COMM_WORLD, request, error)
    call finish('igather')
    call MPI_Gather(in, n, MPI_INTEGER, theirs, n, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call compare('igather')

    call nbc_ialltoall(in, n, MPI_INTEGER, mine, n, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call finish('ialltoall')
    call MPI_Alltoall(in, n, MPI_INTEGER, theirs, n, MPI_INTEGER, MPI_COMM_WORLD, error)
    call compare('ialltoall')

    do i = 1, ranks
        counts(i) = mod(i, 3)
        places(i) = 3 * (i - 1)
    end do
    call nbc_iallgatherv(in, counts(me + 1), MPI_INTEGER, mine, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request, error)
    call finish('iallgatherv')
    call MPI_Allgatherv(in, counts(me + 1), MPI_INTEGER, theirs, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
    call compare('iallgatherv')

    call nbc_iscan(in, mine, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
    ended = .false.
    do while (.not. ended)
        call nbc_test(request, ended, MPI_STATUS_IGNORE, error)
    end do
    call MPI_Scan(in, theirs, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call compare('iscan')

    do i = 1, many
        call nbc_iallreduce(in, sums(1, i), n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(i), error)
    end do
    call nbc_waitany(many, requests, which, MPI_STATUS_IGNORE, error)
    if (which < 1 .or. which > many) call fail('waitany')
    call nbc_testall(many, requests, ended, MPI_STATUSES_IGNORE, error)
    call nbc_waitall(many, requests, MPI_STATUSES_IGNORE, error)
    if (error /= 0 .or. any(requests /= 0)) call fail('waitall')
    call MPI_Allreduce(in, expected, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
    do i = 1, many
        if (any(sums(:, i) /= expected)) call fail('many under way')
    end do

    call nbc_ibcast(mine, -1, MPI_INTEGER, 0, MPI_COMM_WORLD, request, error)
    if (error /= 7 .or. request /= 0) call fail('a negative count')
    if (me == 0) print '(a)', 'all passed'
    call MPI_Finalize(error)

contains

    subroutine finish(what)
        character(*), intent(in) :: what
        if (error /= 0) call fail(what)
        call nbc_wait(request, MPI_STATUS_IGNORE, error)
        if (error /= 0 .or. request /= 0) call fail(what)
    end subroutine finish

    subroutine compare(what)
        character(*), intent(in) :: what
        if (any(mine /= theirs)) call fail(what)
    end subroutine compare

    subroutine fail(what)
        character(*), intent(in) :: what
        print '(a, i0, 2a)', 'rank ', me, ': wrong: ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end subroutine fail

end program nbc_fortran
