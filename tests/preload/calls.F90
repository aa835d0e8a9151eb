! Collectives from Fortran, three times each, by mpif.h, the module mpi or the module mpi_f08, and a checksum.
#ifdef BY_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#else
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#endif
program calls
#ifdef BY_F08
  use mpi_f08
#endif
#ifdef BY_MODULE
  use mpi
#endif
  implicit none
#ifdef BY_HEADER
  include 'mpif.h'
#endif
  integer, parameter :: n = 5000
  integer :: me, ranks, ierror, i, k, lengths(1)
  integer, allocatable :: in(:), out(:), counts(:), places(:)
  integer(kind=8) :: checksum
  integer(kind=MPI_ADDRESS_KIND) :: address(1)
  DATATYPE :: absolute
  REQUEST :: pending

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  allocate(in(n * ranks), out(n * ranks), counts(ranks), places(ranks))
  counts = n
  places = [(n * i, i = 0, ranks - 1)]
  lengths = n
  call MPI_Get_address(out, address(1), ierror)
  call MPI_Type_create_hindexed(1, lengths, address, MPI_INTEGER, absolute, ierror)
  call MPI_Type_commit(absolute, ierror)
  checksum = 1
  call fill()
  do i = 1, 3
    call MPI_Bcast(out, n, MPI_INTEGER, 1, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Reduce(in, out, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Scatter(in, n, MPI_INTEGER, out, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Gatherv(in, n, MPI_INTEGER, out, counts, places, MPI_INTEGER, 1, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, out, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Alltoallv(in, counts, places, MPI_INTEGER, out, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call add()
    call MPI_Iallreduce(in, out, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, pending, ierror)
    call MPI_Wait(pending, MPI_STATUS_IGNORE, ierror)
    call add()
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do
  print '(a,i0,a,i0)', 'rank ', me, ': ', checksum
  call MPI_Type_free(absolute, ierror)
  call MPI_Finalize(ierror)

contains

  subroutine fill()
    in = [((me + 1) * (mod(k, 97) + 1), k = 1, n * ranks)]
    out = -me - 1
  end subroutine

  subroutine add()
    do k = 1, n * ranks
      checksum = mod(checksum * 31 + out(k) + 1000, 1000003_8)
    end do
    call fill()
  end subroutine

end program
