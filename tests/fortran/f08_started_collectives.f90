! Every collective that is started, and every one that starts again and again, through the module mpi_f08.
! With two ranks on a ring both neighbors are one. ranks: 3 4
program f08_started_collectives
  use mpi_f08
  implicit none
  integer :: rank, ranks, i
  integer, allocatable, asynchronous :: one(:), every(:), sums(:), counts(:), places(:), bytes(:)
  type(MPI_Datatype), allocatable, asynchronous :: types(:)
  type(MPI_Request) :: request

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate (one(ranks), every(ranks), sums(ranks), counts(ranks), places(ranks), bytes(ranks), types(ranks))
  counts = 1
  places = [(i, i = 0, ranks - 1)]
  bytes = 4 * places
  types = MPI_INTEGER
  call started()
  call started_again()
  call among_neighbors()
  call MPI_Finalize()

contains

  include 'check.inc'

  subroutine fill()
    one = [(10 * rank + i, i = 0, ranks - 1)]
    every = -1
    sums = -1
  end subroutine fill

  ! What each rank's first element is, gathered.
  logical function are_first()
    are_first = count(every == [(10 * i, i = 0, ranks - 1)]) == ranks
  end function are_first

  ! This rank's element of each rank.
  logical function are_mine()
    are_mine = count(every == [(10 * i + rank, i = 0, ranks - 1)]) == ranks
  end function are_mine

  ! The sum over the ranks before `last` of their elements of that number.
  integer function sum_of(place, last)
    integer, intent(in) :: place, last
    sum_of = sum([(10 * i + place, i = 0, last - 1)])
  end function sum_of

  subroutine finish(what)
    character(len=*), intent(in) :: what
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(request == MPI_REQUEST_NULL, what)
  end subroutine finish

  subroutine run_twice(what)
    character(len=*), intent(in) :: what
    integer :: times
    do times = 1, 2
      call fill()
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(request /= MPI_REQUEST_NULL, what)
    end do
    call MPI_Request_free(request)
  end subroutine run_twice

  subroutine started()
    call fill()
    call MPI_Igather(one, 1, MPI_INTEGER, every, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call finish('Igather')
    call check(rank > 0 .or. are_first(), 'what Igather gathers')
    call fill()
    call MPI_Igatherv(one, 1, MPI_INTEGER, every, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call finish('Igatherv')
    call check(rank > 0 .or. are_first(), 'what Igatherv gathers')
    call fill()
    call MPI_Iscatter(one, 1, MPI_INTEGER, every, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call finish('Iscatter')
    call check(every(1) == rank, 'what Iscatter scatters')
    call fill()
    call MPI_Iscatterv(one, counts, places, MPI_INTEGER, every, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call finish('Iscatterv')
    call check(every(1) == rank, 'what Iscatterv scatters')
    call fill()
    call MPI_Ialltoall(one, 1, MPI_INTEGER, every, 1, MPI_INTEGER, MPI_COMM_WORLD, request)
    call finish('Ialltoall')
    call check(are_mine(), 'what Ialltoall exchanges')
    call fill()
    call MPI_Ireduce(one, sums, ranks, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request)
    call finish('Ireduce')
    call check(rank > 0 .or. sums(ranks) == sum_of(ranks - 1, ranks), 'what Ireduce adds up')
    call fill()
    call MPI_Ireduce_scatter(one, sums, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call finish('Ireduce_scatter')
    call check(sums(1) == sum_of(rank, ranks), 'what Ireduce_scatter adds up')
    call fill()
    call MPI_Ireduce_scatter_block(one, sums, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call finish('Ireduce_scatter_block')
    call check(sums(1) == sum_of(rank, ranks), 'what Ireduce_scatter_block adds up')
    call fill()
    call MPI_Iexscan(one, sums, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call finish('Iexscan')
    call check(rank == 0 .or. sums(1) == sum_of(0, rank), 'what Iexscan adds up')
  end subroutine started

  subroutine started_again()
    call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Barrier_init')
    call MPI_Gather_init(one, 1, MPI_INTEGER, every, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Gather_init')
    call check(rank > 0 .or. are_first(), 'what Gather_init gathers')
    call MPI_Gatherv_init(one, 1, MPI_INTEGER, every, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Gatherv_init')
    call check(rank > 0 .or. are_first(), 'what Gatherv_init gathers')
    call MPI_Scatter_init(one, 1, MPI_INTEGER, every, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Scatter_init')
    call check(every(1) == rank, 'what Scatter_init scatters')
    call MPI_Scatterv_init(one, counts, places, MPI_INTEGER, every, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Scatterv_init')
    call check(every(1) == rank, 'what Scatterv_init scatters')
    call MPI_Allgather_init(one, 1, MPI_INTEGER, every, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Allgather_init')
    call check(are_first(), 'what Allgather_init gathers')
    call MPI_Allgatherv_init(one, 1, MPI_INTEGER, every, counts, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Allgatherv_init')
    call check(are_first(), 'what Allgatherv_init gathers')
    call MPI_Alltoall_init(one, 1, MPI_INTEGER, every, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Alltoall_init')
    call check(are_mine(), 'what Alltoall_init exchanges')
    call MPI_Alltoallv_init(one, counts, places, MPI_INTEGER, every, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, request)
    call run_twice('Alltoallv_init')
    call check(are_mine(), 'what Alltoallv_init exchanges')
    call MPI_Alltoallw_init(one, counts, bytes, types, every, counts, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Alltoallw_init')
    call check(are_mine(), 'what Alltoallw_init exchanges')
    call MPI_Reduce_init(one, sums, ranks, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Reduce_init')
    call check(rank > 0 .or. sums(ranks) == sum_of(ranks - 1, ranks), 'what Reduce_init adds up')
    call MPI_Allreduce_init(one, sums, ranks, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Allreduce_init')
    call check(sums(ranks) == sum_of(ranks - 1, ranks), 'what Allreduce_init adds up')
    call MPI_Reduce_scatter_init(one, sums, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Reduce_scatter_init')
    call check(sums(1) == sum_of(rank, ranks), 'what Reduce_scatter_init adds up')
    call MPI_Reduce_scatter_block_init(one, sums, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Reduce_scatter_block_init')
    call check(sums(1) == sum_of(rank, ranks), 'what Reduce_scatter_block_init adds up')
    call MPI_Scan_init(one, sums, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Scan_init')
    call check(sums(1) == sum_of(0, rank + 1), 'what Scan_init adds up')
    call MPI_Exscan_init(one, sums, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_twice('Exscan_init')
    call check(rank == 0 .or. sums(1) == sum_of(0, rank), 'what Exscan_init adds up')
  end subroutine started_again

  ! On a ring each rank hears from the left, then from the right.
  subroutine among_neighbors()
    integer, asynchronous :: sent(2), heard(2), two(2), at(2)
    integer(kind=MPI_ADDRESS_KIND), asynchronous :: offsets(2)
    type(MPI_Datatype), asynchronous :: kinds(2)
    type(MPI_Comm) :: ring
    integer :: left, right, way
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
    call MPI_Cart_shift(ring, 0, 1, left, right)
    two = 1
    at = [0, 1]
    offsets = [0, 4]
    kinds = MPI_INTEGER
    do way = 1, 13
      sent = [100 + rank, 200 + rank]
      heard = -1
      select case (way)
      case (1)
        call MPI_Ineighbor_allgather(sent, 1, MPI_INTEGER, heard, 1, MPI_INTEGER, ring, request)
      case (2)
        call MPI_Ineighbor_allgatherv(sent, 1, MPI_INTEGER, heard, two, at, MPI_INTEGER, ring, request)
      case (3)
        call MPI_Neighbor_allgather_init(sent, 1, MPI_INTEGER, heard, 1, MPI_INTEGER, ring, MPI_INFO_NULL, request)
      case (4)
        call MPI_Neighbor_allgatherv_init(sent, 1, MPI_INTEGER, heard, two, at, MPI_INTEGER, ring, MPI_INFO_NULL, request)
      case (5)
        call MPI_Neighbor_allgatherv(sent, 1, MPI_INTEGER, heard, two, at, MPI_INTEGER, ring)
      case (6)
        call MPI_Ineighbor_alltoall(sent, 1, MPI_INTEGER, heard, 1, MPI_INTEGER, ring, request)
      case (7)
        call MPI_Ineighbor_alltoallv(sent, two, at, MPI_INTEGER, heard, two, at, MPI_INTEGER, ring, request)
      case (8)
        call MPI_Ineighbor_alltoallw(sent, two, offsets, kinds, heard, two, offsets, kinds, ring, request)
      case (9)
        call MPI_Neighbor_alltoall_init(sent, 1, MPI_INTEGER, heard, 1, MPI_INTEGER, ring, MPI_INFO_NULL, request)
      case (10)
        call MPI_Neighbor_alltoallv_init(sent, two, at, MPI_INTEGER, heard, two, at, MPI_INTEGER, ring, MPI_INFO_NULL, &
                                         request)
      case (11)
        call MPI_Neighbor_alltoallw_init(sent, two, offsets, kinds, heard, two, offsets, kinds, ring, MPI_INFO_NULL, &
                                         request)
      case (12)
        call MPI_Neighbor_alltoall(sent, 1, MPI_INTEGER, heard, 1, MPI_INTEGER, ring)
      case (13)
        call MPI_Neighbor_alltoallv(sent, two, at, MPI_INTEGER, heard, two, at, MPI_INTEGER, ring)
      end select
      if (any(way == [3, 4, 9, 10, 11])) call MPI_Start(request)
      if (all([5, 12, 13] /= way)) call MPI_Wait(request, MPI_STATUS_IGNORE)
      if (any(way == [3, 4, 9, 10, 11])) call MPI_Request_free(request)
      if (way <= 5) then
        call check(all(heard == [100 + left, 100 + right]), 'what neighbors say to all')
      else
        call check(all(heard == [200 + left, 100 + right]), 'what neighbors say to each')
      end if
    end do
    call MPI_Comm_free(ring)
  end subroutine among_neighbors
end program f08_started_collectives
