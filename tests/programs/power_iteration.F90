! The largest eigenvalue of a matrix, by power iteration: columns are distributed, products summed in place by allreduce.
! Around it what Fortran has its own ways for: MPI_BOTTOM with absolute addresses, MPI_IN_PLACE at the root, an operator
! of the user's. WITH_MPIF, WITH_MPI or WITH_MPI_F08 says which interface to MPI it is compiled with.
module memory
  implicit none
  integer, parameter :: n = 2400
  ! In a module, so that the compiler knows that others may write to it.
  double precision, save, target :: x(n), y(n)
  double precision, save, target :: shift(3)
end module memory

module operators
  implicit none
contains
#ifdef WITH_MPI_F08
  subroutine larger_part(from, to, length, datatype)
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: from, to
    integer :: length
    type(MPI_Datatype) :: datatype
    double precision, pointer :: a(:), b(:)
    call c_f_pointer(from, a, [length])
    call c_f_pointer(to, b, [length])
    b = max(a, b)
    if (datatype == MPI_DATATYPE_NULL) stop 1
  end subroutine larger_part
#else
  subroutine larger_part(a, b, length, datatype)
    integer :: length, datatype
    double precision :: a(length), b(length)
    b = max(a, b)
    if (datatype == -12345) stop 1
  end subroutine larger_part
#endif
end module operators

program power_iteration
#if defined(WITH_MPI_F08)
  use mpi_f08
#elif defined(WITH_MPI)
  use mpi
#endif
  use memory
  use operators
  implicit none
#ifdef WITH_MPIF
  include 'mpif.h'
#endif
#ifdef WITH_MPI_F08
  type(MPI_Datatype) :: both
  type(MPI_Op) :: larger
#else
  integer :: both, larger
#endif
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  integer :: lengths(2), error, me, ranks, first, last, i, j, iteration
  double precision :: length, mine, value
  double precision, allocatable :: everything(:)

  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, me, error)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
  first = me * n / ranks + 1
  last = (me + 1) * n / ranks

  ! The vector to begin with and the matrix's shift, in one broadcast from where they lie.
  x = 0
  shift = 0
  if (me == 0) then
    do i = 1, n
      x(i) = 1 + mod(i, 7)
    end do
    shift = [3d0, 5d0, 7d0]
  end if
  call MPI_GET_ADDRESS(x, places(1), error)
  call MPI_GET_ADDRESS(shift, places(2), error)
  lengths = [n, 3]
  call MPI_TYPE_CREATE_HINDEXED(2, lengths, places, MPI_DOUBLE_PRECISION, both, error)
  call MPI_TYPE_COMMIT(both, error)
  call MPI_BCAST(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD, error)
  call MPI_TYPE_FREE(both, error)

  do iteration = 1, 24
    ! A band: each column reaches three rows up and down.
    y = 0
    do j = first, last
      do i = max(1, j - 3), min(n, j + 3)
        y(i) = y(i) + x(j) * (shift(1 + mod(j, 3)) - abs(i - j))
      end do
    end do
    call MPI_ALLREDUCE(MPI_IN_PLACE, y, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    mine = sum(y(first:last)**2)
    call MPI_ALLREDUCE(mine, length, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    length = sqrt(length)
    x = y / length
    if (me == 0 .and. mod(iteration, 6) == 0) print '(a,i0,a,es22.14)', 'iteration ', iteration, ': ', length
  end do

  ! The largest parts, by an operator of our own; the root's lie where the result goes.
  call MPI_OP_CREATE(larger_part, .true., larger, error)
  y = x * (me + 1)
  if (me == 0) then
    call MPI_REDUCE(MPI_IN_PLACE, y, n, MPI_DOUBLE_PRECISION, larger, 0, MPI_COMM_WORLD, error)
  else
    call MPI_REDUCE(y, x, n, MPI_DOUBLE_PRECISION, larger, 0, MPI_COMM_WORLD, error)
  end if
  call MPI_OP_FREE(larger, error)
  value = sum(y)
  call MPI_BCAST(value, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)

  allocate(everything(n * ranks))
  call MPI_ALLGATHER(x, n, MPI_DOUBLE_PRECISION, everything, n, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
  call MPI_GATHER(x, n, MPI_DOUBLE_PRECISION, everything, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_BARRIER(MPI_COMM_WORLD, error)
  if (me == 0) print '(a,es22.14,a,es22.14)', 'largest ', value, ', all ', sum(everything)
  call MPI_FINALIZE(error)
end program power_iteration
