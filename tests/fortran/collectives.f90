! Collective operations through mpif.h: all of MPI-1.2 and some later ones, in place, with operations of the program.
! options: -fsecond-underscore
! options: -fno-underscoring
module operations
  implicit none
contains
  ! Matrices of 2 x 2, multiplied: associative, not commutative.
  subroutine multiply(in, inout, length, datatype)
    integer :: length, datatype, i
    integer :: in(2, 2, length), inout(2, 2, length)
    do i = 1, length
      inout(:, :, i) = matmul(in(:, :, i), inout(:, :, i))
    end do
  end subroutine multiply
  ! The larger by absolute value, of the type that the library names.
  subroutine larger(in, inout, length, datatype)
    include 'mpif.h'
    integer :: length, datatype, i
    double precision :: in(length), inout(length)
    if (datatype /= MPI_DOUBLE_PRECISION) call exit(1)
    do i = 1, length
      if (abs(in(i)) > abs(inout(i))) inout(i) = in(i)
    end do
  end subroutine larger
end module operations

program collectives
  use operations
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, error, i

  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
  call moving()
  call varying()
  call reducing()
  call in_place()
  call own_operations()
  call pairs()
  call nonblocking()
  call MPI_FINALIZE(error)

contains

  include 'check.inc'

  subroutine moving()
    integer :: one, all(ranks), back, sent(ranks), root
    logical :: truth
    character(len=5) :: word
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    do root = 0, ranks - 1
      one = -1
      if (rank == root) one = 100 + root
      call MPI_BCAST(one, 1, MPI_INTEGER, root, MPI_COMM_WORLD, error)
      call check(one == 100 + root, 'bcast')
      all = -1
      call MPI_GATHER(rank + 1, 1, MPI_INTEGER, all, 1, MPI_INTEGER, root, MPI_COMM_WORLD, error)
      if (rank == root) call check(sum(all) == ranks * (ranks + 1) / 2 .and. all(ranks) == ranks, 'gather')
      all = [(10 * i, i = 1, ranks)]
      call MPI_SCATTER(all, 1, MPI_INTEGER, back, 1, MPI_INTEGER, root, MPI_COMM_WORLD, error)
      call check(back == 10 * (rank + 1), 'scatter')
    end do
    truth = rank == 0
    call MPI_BCAST(truth, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, error)
    call check(truth, 'bcast of a LOGICAL')
    word = merge('hello', '     ', rank == 0)
    call MPI_BCAST(word, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, error)
    call check(word == 'hello', 'bcast of characters')
    call MPI_ALLGATHER(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(maxval(abs(all - [(i, i = 0, ranks - 1)])) == 0, 'allgather')
    sent = [(100 * rank + i, i = 0, ranks - 1)]
    call MPI_ALLTOALL(sent, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(maxval(abs(all - [(100 * i + rank, i = 0, ranks - 1)])) == 0, 'alltoall')
  end subroutine moving

  subroutine varying()
    ! Rank r has r + 1 elements.
    integer :: counts(ranks), places(ranks), mine(rank + 1), total, all(ranks * (ranks + 1) / 2), back(rank + 1)
    integer :: sendcounts(ranks), senddispls(ranks), recvcounts(ranks), recvdispls(ranks), got(ranks * (rank + 1))
    integer :: types(ranks)
    total = size(all)
    counts = [(i, i = 1, ranks)]
    places = [(i * (i - 1) / 2, i = 1, ranks)]
    mine = rank
    all = -1
    call MPI_GATHERV(mine, rank + 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank == 0) call check(all(total) == ranks - 1 .and. all(1) == 0 .and. sum(all) == expected(), 'gatherv')
    call MPI_ALLGATHERV(mine, rank + 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(all(total) == ranks - 1 .and. sum(all) == expected(), 'allgatherv')
    back = -1
    call MPI_SCATTERV(all, counts, places, MPI_INTEGER, back, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call check(maxval(abs(back - rank)) == 0, 'scatterv')
    ! To rank r go r + 1 elements that say who sends.
    sendcounts = counts
    senddispls = places
    recvcounts = rank + 1
    recvdispls = [(i * (rank + 1), i = 0, ranks - 1)]
    all = rank
    got = -1
    call MPI_ALLTOALLV(all, sendcounts, senddispls, MPI_INTEGER, got, recvcounts, recvdispls, MPI_INTEGER, &
                       MPI_COMM_WORLD, error)
    call check(got(1) == 0 .and. got(size(got)) == ranks - 1 .and. sum(got) == (rank + 1) * ranks * (ranks - 1) / 2, 'alltoallv')
    got = -1
    types = MPI_INTEGER
    senddispls = 4 * senddispls
    recvdispls = 4 * recvdispls
    call MPI_ALLTOALLW(all, sendcounts, senddispls, types, got, recvcounts, recvdispls, types, MPI_COMM_WORLD, error)
    call check(got(1) == 0 .and. got(size(got)) == ranks - 1, 'alltoallw')
  end subroutine varying

  integer function expected()
    expected = sum([(i * (i - 1), i = 1, ranks)])
  end function expected

  subroutine reducing()
    integer :: sums(2), counts(ranks), mine(ranks), got(1)
    double precision :: number
    complex :: product
    logical :: every, some
    call MPI_REDUCE([rank, 1], sums, 2, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD, error)
    if (rank == ranks - 1) call check(all(sums == [ranks * (ranks - 1) / 2, ranks]), 'reduce')
    call MPI_ALLREDUCE(dble(rank), number, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    call check(number == ranks - 1, 'allreduce of numbers')
    call MPI_ALLREDUCE((0.0, 1.0), product, 1, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, error)
    call check(abs(product - (0.0, 1.0) ** ranks) < 1e-5, 'allreduce of complex numbers')
    call MPI_ALLREDUCE(rank == 0, every, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    call MPI_ALLREDUCE(rank == 0, some, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
    call check((every .eqv. ranks == 1) .and. some, 'logical reductions')
    call MPI_ALLREDUCE(ishft(1, rank), sums, 1, MPI_INTEGER, MPI_BOR, MPI_COMM_WORLD, error)
    call check(sums(1) == 2 ** ranks - 1, 'bits')
    call MPI_SCAN(rank + 1, sums, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(sums(1) == (rank + 1) * (rank + 2) / 2, 'scan')
    sums(1) = -1
    call MPI_EXSCAN(rank + 1, sums, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank > 0) call check(sums(1) == rank * (rank + 1) / 2, 'exscan')
    counts = 1
    mine = [(rank * i, i = 1, ranks)]
    call MPI_REDUCE_SCATTER(mine, got, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(got(1) == (rank + 1) * ranks * (ranks - 1) / 2, 'reduce_scatter')
    call MPI_REDUCE_SCATTER_BLOCK(mine, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(got(1) == (rank + 1) * ranks * (ranks - 1) / 2, 'reduce_scatter_block')
  end subroutine reducing

  subroutine in_place()
    integer :: all(ranks), value
    value = rank + 1
    call MPI_ALLREDUCE(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(value == ranks * (ranks + 1) / 2, 'allreduce in place')
    value = rank + 1
    if (rank == 0) then
      call MPI_REDUCE(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
      call check(value == ranks * (ranks + 1) / 2, 'reduce in place')
    else
      call MPI_REDUCE(value, value, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    end if
    all = -1
    all(rank + 1) = rank
    call MPI_ALLGATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(sum(all) == ranks * (ranks - 1) / 2, 'allgather in place')
    all = [(100 * rank + i, i = 0, ranks - 1)]
    call MPI_ALLTOALL(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(all(ranks) == 100 * (ranks - 1) + rank, 'alltoall in place')
  end subroutine in_place

  subroutine own_operations()
    integer :: operation, matrix(2, 2), result(2, 2), expected(2, 2), type
    double precision :: number
    logical :: commutes
    call MPI_TYPE_CONTIGUOUS(4, MPI_INTEGER, type, error)
    call MPI_TYPE_COMMIT(type, error)
    call MPI_OP_CREATE(multiply, .false., operation, error)
    call MPI_OP_COMMUTATIVE(operation, commutes, error)
    call check(.not. commutes, 'does not commute')
    matrix = reshape([1, rank, 2, 1], [2, 2])
    expected = reshape([1, 0, 0, 1], [2, 2])
    do i = 0, ranks - 1
      expected = matmul(expected, reshape([1, i, 2, 1], [2, 2]))
    end do
    call MPI_ALLREDUCE(matrix, result, 1, type, operation, MPI_COMM_WORLD, error)
    call check(all(result == expected), 'in the order of ranks')
    call MPI_OP_FREE(operation, error)
    call check(operation == MPI_OP_NULL, 'operation freed')
    call MPI_TYPE_FREE(type, error)
    call MPI_OP_CREATE(larger, .true., operation, error)
    number = merge(-1d0, 1d0, mod(rank, 2) == 1) * (rank + 1)
    call MPI_ALLREDUCE(MPI_IN_PLACE, number, 1, MPI_DOUBLE_PRECISION, operation, MPI_COMM_WORLD, error)
    call check(number == merge(-1d0, 1d0, mod(ranks, 2) == 0) * ranks, 'the largest by absolute value')
    call MPI_OP_FREE(operation, error)
  end subroutine own_operations

  subroutine pairs()
    integer :: mine(2), found(2)
    double precision :: number(2), least(2)
    mine = [mod(rank + 1, ranks), rank]
    call MPI_ALLREDUCE(mine, found, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, error)
    call check(found(1) == ranks - 1 .and. found(2) == mod(2 * ranks - 2, ranks), 'maxloc')
    number = [dble(mine(1)), dble(rank)]
    call MPI_ALLREDUCE(number, least, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD, error)
    call check(least(1) == 0d0 .and. least(2) == ranks - 1, 'minloc')
  end subroutine pairs

  subroutine nonblocking()
    integer :: requests(3), types(ranks), counts(ranks), places(ranks)
    integer, asynchronous :: sum, all(ranks), one, got(ranks)
    call MPI_IALLREDUCE(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), error)
    one = rank
    call MPI_IBCAST(one, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, requests(2), error)
    types = MPI_INTEGER
    counts = 1
    places = [(4 * i, i = 0, ranks - 1)]
    all = [(100 * rank + i, i = 0, ranks - 1)]
    call MPI_IALLTOALLW(all, counts, places, types, got, counts, places, types, MPI_COMM_WORLD, requests(3), error)
    ! Handles are not looked at any more once the call has returned.
    types = -1
    call MPI_WAITALL(3, requests, MPI_STATUSES_IGNORE, error)
    call check(sum == ranks * (ranks - 1) / 2 .and. one == ranks - 1, 'iallreduce and ibcast')
    call check(maxval(abs(got - [(100 * i + rank, i = 0, ranks - 1)])) == 0, 'ialltoallw')
    call MPI_IBARRIER(MPI_COMM_WORLD, requests(1), error)
    call MPI_WAIT(requests(1), MPI_STATUS_IGNORE, error)
  end subroutine nonblocking
end program collectives
