! Collectives through the module mpi_f08: sections in blocks, reductions of sections where they lie, operations of the program.
module f08_operations
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: calls = 0
contains

  subroutine smaller(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    if (datatype == MPI_INTEGER) then
      inout = min(in, inout)
      calls = calls + 1
    end if
  end subroutine smaller

  subroutine smaller_of_many(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    call smaller(invec, inoutvec, int(len), datatype)
  end subroutine smaller_of_many
end module f08_operations

program f08_collectives
  use mpi_f08
  use f08_operations
  implicit none
  integer :: rank, ranks, i

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call broadcasts()
  call blocks()
  call uneven()
  call reductions()
  call reductions_in_flight()
  call own_operations()
  call all_to_all()
  call neighbors()
  call constants()
  call refusals()
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Finalize()

contains

  include 'check.inc'

  subroutine broadcasts()
    integer, asynchronous :: table(6, 6)
    type(MPI_Request) :: request
    table = rank
    call MPI_Bcast(table(2:6:2, 1:6:3), 6, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
    call check(all(table(2:6:2, 1:6:3) == ranks - 1) .and. count(table == rank) >= 30, 'broadcast')
    table = rank
    call MPI_Ibcast(table(3, :), 6, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(table(3, :) == 0) .and. all(table(1:2, :) == rank), 'a row is broadcast')
    call MPI_Bcast_init(table(4, 2:6:2), 3, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    table = rank + 5
    call MPI_Start(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(table(4, 2:6:2) == 5) .and. all(table(:, 1) == rank + 5), 'again')
    call MPI_Request_free(request)
  end subroutine broadcasts

  ! Each rank's block is some elements of a line, or some columns of a plane.
  subroutine blocks()
    integer, asynchronous :: line(4 * ranks), plane(5, 2 * ranks), own(3, 2)
    type(MPI_Request) :: request
    line = -1
    call MPI_Gather([rank, 10 * rank], 2, MPI_INTEGER, line(1:4 * ranks:2), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(rank > 0 .or. all(line(1:4 * ranks:2) == [(i, 10 * i, i = 0, ranks - 1)]), 'gathered into a line')
    call check(all(line(2:4 * ranks:2) == -1), 'and not beside it')
    own = reshape([(100 * rank + i, i = 1, 6)], [3, 2])
    plane = -1
    call MPI_Iallgather(own, 6, MPI_INTEGER, plane(2:4, :), 6, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 0, ranks - 1
      call check(all(plane(2:4, 2 * i + 1:2 * i + 2) == own + 100 * (i - rank)), 'gathered into columns')
    end do
    call check(all(plane(1, :) == -1) .and. all(plane(5, :) == -1), 'and not beside them')
    own = 0
    call MPI_Scatter(plane(2:4, :), 6, MPI_INTEGER, own(3:1:-1, :), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(own(3:1:-1, :) == reshape([(100 * rank + i, i = 1, 6)], [3, 2])), 'scattered from columns')
    call MPI_Allgather(own(1:3:2, 1), 2, MPI_INTEGER, plane(2:3, 1:ranks), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(plane(2, 1:ranks) == [(100 * i + 3, i = 0, ranks - 1)]), 'a column for each')
    plane = -1
    call MPI_Allgather([rank], 1, MPI_INTEGER, plane(1:2, 1:ranks), 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(plane(1, 1) == 0 .and. (ranks == 1 .or. plane(2, 1) == 1), 'half a column for each, by a copy')
  end subroutine blocks

  subroutine uneven()
    integer, asynchronous :: all_of_them(2 * ranks * (ranks + 1))
    integer :: counts(0:ranks - 1), displs(0:ranks - 1), sent(2 * ranks)
    integer(kind=MPI_COUNT_KIND) :: large(0:ranks - 1)
    integer(kind=MPI_ADDRESS_KIND) :: places(0:ranks - 1)
    type(MPI_Request) :: request
    counts = [(i + 1, i = 0, ranks - 1)]
    displs = [(i * (i + 1) / 2, i = 0, ranks - 1)]
    sent = rank
    all_of_them = -1
    call MPI_Iallgatherv(sent(1:2 * ranks:2), rank + 1, MPI_INTEGER, all_of_them(1::4), counts, displs, MPI_INTEGER, &
                         MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 0, ranks - 1
      call check(all(all_of_them(1 + 4 * displs(i):1 + 4 * (displs(i) + i):4) == i), 'uneven parts of a line')
    end do
    call check(count(all_of_them >= 0) == ranks * (ranks + 1) / 2, 'and no more')
    large = counts
    places = displs
    all_of_them = -1
    call MPI_Allgatherv(sent, int(rank + 1, MPI_COUNT_KIND), MPI_INTEGER, all_of_them(2::2), large, places, MPI_INTEGER, &
                        MPI_COMM_WORLD)
    call check(all_of_them(2) == 0 .and. count(all_of_them >= 0) == ranks * (ranks + 1) / 2, 'large counts')
  end subroutine uneven

  subroutine reductions()
    double precision :: sent(3, 4), got(3, 4), half(6)
    integer :: pairs(2, 4), found(2, 4), sums(2 * ranks)
    sent = rank + 1
    got = -1
    call MPI_Allreduce(sent(1:3:2, :), got(1:3:2, :), 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call check(all(got(1:3:2, :) == ranks * (ranks + 1) / 2) .and. all(got(2, :) == -1), 'alike sections')
    call MPI_Reduce(sent(2, :), half(2:5), 4, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
    call check(rank > 0 .or. all(half(2:5) == ranks), 'a section and a whole array')
    call MPI_Allreduce(MPI_IN_PLACE, sent(:, 2:4:2), 6, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call check(all(sent(:, 2:4:2) == ranks * (ranks + 1) / 2) .and. all(sent(:, 1:3:2) == rank + 1), 'in place')
    pairs = rank
    pairs(1, :) = -rank
    call MPI_Allreduce(pairs(:, 1:4:2), found(:, 1:4:2), 2, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD)
    call check(all(found(1, 1:4:2) == 1 - ranks) .and. all(found(2, 1:4:2) == ranks - 1), 'pairs')
    sums = 1
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, sums(1:2 * ranks:2), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(sums(1) == ranks, 'scattered')
    call MPI_Reduce_local(sent(1, 1:4:2), sent(2, 1:4:2), 2, MPI_DOUBLE_PRECISION, MPI_SUM)
    call check(sent(2, 1) == 2 * (rank + 1), 'two parts of one array')
  end subroutine reductions

  subroutine reductions_in_flight()
    double precision, asynchronous :: sent(8), got(8), whole(4)
    type(MPI_Request) :: request
    sent = rank + 1
    got = -1
    call MPI_Iallreduce(sent(1:8:2), got(2:8:2), 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(got(2:8:2) == ranks * (ranks + 1) / 2) .and. all(got(1:8:2) == -1), 'alike sections in flight')
    whole = rank
    call MPI_Iallreduce(MPI_IN_PLACE, whole(4:1:-1), 4, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(whole == ranks - 1), 'in place, backwards')
    call MPI_Iscan(sent(1:8:4), got(1:8:4), 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(got(1) == (rank + 1) * (rank + 2) / 2 .and. got(3) == -1, 'scan')
  end subroutine reductions_in_flight

  subroutine own_operations()
    type(MPI_Op) :: narrow, wide
    integer :: sent(6), got(6), error
    logical :: commutes
    call MPI_Op_create(smaller, .true., narrow)
    call MPI_Op_create_c(smaller_of_many, .true., wide, error)
    call MPI_Op_commutative(narrow, commutes)
    call check(error == MPI_SUCCESS .and. commutes, 'operations')
    sent = [(i * (ranks - rank), i = 1, 6)]
    call MPI_Allreduce(sent, got, 6, MPI_INTEGER, narrow, MPI_COMM_WORLD)
    call check(all(got == [1, 2, 3, 4, 5, 6]), 'an own operation')
    got = 0
    call MPI_Allreduce(sent(1:6:2), got(1:6:2), 3, MPI_INTEGER, wide, MPI_COMM_WORLD)
    call check(all(got == [1, 0, 3, 0, 5, 0]), 'on sections it gets whole arrays')
    call check(ranks == 1 .or. calls > 0, 'it was called')
    call MPI_Op_free(narrow)
    call MPI_Op_free(wide)
    call check(narrow == MPI_OP_NULL .and. wide == MPI_OP_NULL, 'operations are freed')
  end subroutine own_operations

  subroutine all_to_all()
    integer, asynchronous :: sent(2 * ranks), got(2 * ranks)
    integer :: ones(ranks), displs(ranks), bytes(ranks)
    type(MPI_Datatype) :: types(ranks)
    type(MPI_Request) :: request
    sent = [(100 * rank + i, i = 1, 2 * ranks)]
    got = 0
    call MPI_Alltoall(sent(1:2 * ranks:2), 1, MPI_INTEGER, got(2:2 * ranks:2), 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(got(2:2 * ranks:2) == [(100 * i + 2 * rank + 1, i = 0, ranks - 1)]), 'one for each')
    ones = 1
    displs = [(i, i = ranks - 1, 0, -1)]
    bytes = 4 * [(i, i = 0, ranks - 1)]
    types = MPI_INTEGER
    got = 0
    call MPI_Ialltoallv(sent(1:2 * ranks:2), ones, displs, MPI_INTEGER, got(1:2 * ranks:2), ones, displs, MPI_INTEGER, &
                        MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(got(2 * ranks - 1:1:-2) == [(100 * i + 2 * (ranks - rank) - 1, i = 0, ranks - 1)]), 'at places')
    got = 0
    call MPI_Alltoallw(sent(1:2 * ranks:2), ones, bytes, types, got(2:2 * ranks:2), ones, bytes, types, MPI_COMM_WORLD)
    call check(all(got(2:2 * ranks:2) == [(100 * i + 2 * rank + 1, i = 0, ranks - 1)]), 'types, by a copy')
    call MPI_Ialltoallw(sent, ones, bytes, types, got, ones, bytes, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(got(1:ranks) == [(100 * i + rank + 1, i = 0, ranks - 1)]), 'types')
  end subroutine all_to_all

  subroutine neighbors()
    type(MPI_Comm) :: ring
    integer :: got(4), source, target, dims(1), coords(1)
    logical :: periods(1)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
    call MPI_Cart_shift(ring, 0, 1, source, target)
    call MPI_Cart_get(ring, 1, dims, periods, coords)
    call check(periods(1) .and. dims(1) == ranks .and. target == mod(rank + 1, ranks), 'a ring')
    got = -1
    call MPI_Neighbor_allgather([rank], 1, MPI_INTEGER, got(1:4:2), 1, MPI_INTEGER, ring)
    call check(all(got(1:4:2) == [source, target]) .and. all(got(2:4:2) == -1), 'of neighbors')
    call MPI_Comm_free(ring)
    call check(ring == MPI_COMM_NULL, 'the ring is freed')
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [source], MPI_UNWEIGHTED, 1, [target], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., ring)
    call MPI_Neighbor_allgather([rank], 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring)
    call check(got(1) == source, 'of a graph without weights')
    call MPI_Comm_free(ring)
  end subroutine neighbors

  subroutine constants()
    integer :: own(2), everything(2 * ranks)
    own = rank
    everything = -1
    everything(2 * rank + 1:2 * rank + 2) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, everything, 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(everything == [(i / 2, i = 0, 2 * ranks - 1)]), 'gathered in place')
    call MPI_Gather(own, 2, MPI_INTEGER, everything(1:2), 2, MPI_INTEGER, mod(0, 1), MPI_COMM_SELF)
    call check(all(everything(1:2) == rank), 'alone')
  end subroutine constants

  subroutine refusals()
    integer, asynchronous :: sent(6), got(6)
    type(MPI_Op) :: own
    type(MPI_Request) :: request
    integer :: error, class
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Op_create(smaller, .true., own)
    call MPI_Iallreduce(sent(1:6:2), got(1:6:2), 3, MPI_INTEGER, own, MPI_COMM_SELF, request, error)
    call MPI_Error_class(error, class)
    call check(class == MPI_ERR_BUFFER, 'an own operation in flight gets no sections')
    call MPI_Iallreduce(sent(1:6:2), got(1:3), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, request, error)
    call MPI_Error_class(error, class)
    call check(class == MPI_ERR_BUFFER, 'one datatype is not for two layouts')
    call MPI_Op_free(own)
  end subroutine refusals
end program f08_collectives
