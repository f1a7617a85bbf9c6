! Messages through the module mpi_f08: typed handles and statuses, error codes left out, sections of arrays in every way.
! options: -fsecond-underscore
! options: -fno-underscoring
program f08_point_to_point
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type point
    integer :: number
    double precision :: weight
  end type point
  integer :: rank, ranks, left, right

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call handles()
  call statuses()
  call lines()
  call planes()
  call components()
  call dummies([1, 2, 3, 4], 4)
  call in_flight()
  call persistent()
  call both_widths()
  call copies()
  call addresses()
  call refusals()
  call MPI_Finalize()

contains

  include 'check.inc'

  subroutine handles()
    type(MPI_Comm) :: copy
    type(MPI_Datatype) :: types(2)
    integer :: error, result
    call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'sections may be passed')
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
    call check(error == MPI_SUCCESS .and. copy /= MPI_COMM_WORLD .and. .not. copy == MPI_COMM_NULL, 'a copy is another')
    call MPI_Comm_compare(copy, MPI_COMM_WORLD, result)
    call check(result == MPI_CONGRUENT, 'and congruent')
    copy%MPI_VAL = MPI_COMM_WORLD%MPI_VAL + 0 * copy%MPI_VAL
    call check(copy == MPI_COMM_WORLD, 'handles are their integers')
    types = [MPI_INTEGER, MPI_REAL]
    call check(all((types == MPI_INTEGER) .eqv. [.true., .false.]), 'arrays of handles are compared')
    call check(MPI_Wtime() > 0d0 .and. PMPI_Wtick() > 0d0, 'time')
  end subroutine handles

  subroutine statuses()
    type(MPI_Status) :: status, again
    integer :: plain(MPI_STATUS_SIZE), value, count, error
    logical :: flag
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 3, value, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, status)
    call check(value == left .and. status%MPI_SOURCE == left .and. status%MPI_TAG == 3, 'fields of a status')
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 1, 'count')
    call MPI_Status_f082f(status, plain, error)
    call check(error == MPI_SUCCESS .and. plain(MPI_SOURCE) == left .and. plain(MPI_TAG) == 3, 'a status as integers')
    call MPI_Status_set_cancelled(status, .true.)
    call MPI_Status_f082f(status, plain)
    call MPI_Status_f2f08(plain, again)
    call MPI_Test_cancelled(again, flag)
    call check(flag .and. again%MPI_SOURCE == left, 'and back')
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 4, value, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check(error == MPI_SUCCESS .and. value == left, 'a status ignored')
  end subroutine statuses

  ! One dimension: every other element, backwards, a part of the elements only.
  subroutine lines()
    integer :: sent(20), got(20), i, count
    type(MPI_Status) :: status
    character(len=3) :: words(6), other(6)
    sent = [(100 * rank + i, i = 1, 20)]
    got = -1
    call MPI_Sendrecv(sent(2:20:2), 10, MPI_INTEGER, right, 1, got(20:2:-2), 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call check(all(got(20:2:-2) == [(100 * left + i, i = 2, 20, 2)]) .and. all(got(1:19:2) == -1), 'backwards')
    got = -1
    call MPI_Sendrecv(sent(1:19:3), 3, MPI_INTEGER, right, 1, got(1:19:2), 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 3 .and. all(got(1:5:2) == 100 * left + [1, 4, 7]) .and. all(got(6:) == -1), 'a few of many')
    words = [character(len=3) :: 'abc', 'def', 'ghi', 'jkl', 'mno', 'pqr']
    other = '---'
    call MPI_Sendrecv(words(1:5:2), 9, MPI_CHARACTER, right, 1, other(2:6:2), 9, MPI_CHARACTER, left, 1, MPI_COMM_WORLD, status)
    call check(all(other == [character(len=3) :: '---', 'abc', '---', 'ghi', '---', 'mno']), 'three items in an element')
    call MPI_Sendrecv(words(1:5:2), 4, MPI_CHARACTER, right, 1, other(1:5:2), 4, MPI_CHARACTER, left, 1, MPI_COMM_WORLD, status)
    call check(all(other(1:5:2) == [character(len=3) :: 'abc', 'g--', '---']), 'a part of an element')
    call MPI_Sendrecv_replace(sent(1:19:2), 10, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, status)
    call check(all(sent(1:19:2) == [(100 * left + i, i = 1, 19, 2)]) .and. sent(2) == 100 * rank + 2, 'replaced')
  end subroutine lines

  subroutine planes()
    double precision, target :: sent(7, 6, 5), got(7, 6, 5)
    double precision, pointer :: inner(:, :, :)
    type(MPI_Status) :: status
    integer :: i
    sent = reshape([(1000d0 * rank + i, i = 1, size(sent))], shape(sent))
    got = 0
    inner => got(2:6:2, 5:2:-1, 1:5:4)
    call MPI_Sendrecv(sent(1:3, 2:5, 4:5), 24, MPI_DOUBLE_PRECISION, right, 1, inner, 24, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, status)
    call check(all(inner == sent(1:3, 2:5, 4:5) + 1000d0 * (left - rank)), 'three dimensions')
    call check(count(got /= 0) == 24, 'and nothing beside')
    got = 0
    call MPI_Sendrecv(sent(1:3, 2:5, 4:5), 17, MPI_DOUBLE_PRECISION, right, 1, inner, 17, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, status)
    call check(count(got /= 0) == 17 .and. inner(2, 2, 2) == sent(2, 3, 5) + 1000d0 * (left - rank), 'a part of them')
    call check(inner(3, 2, 2) == 0, 'and not one more')
  end subroutine planes

  subroutine components()
    type(point) :: points(5)
    complex :: numbers(6)
    integer :: got(5), i
    double precision :: weights(5)
    points = [(point(rank + i, 0.5d0 * i), i = 1, 5)]
    call MPI_Sendrecv(points%number, 5, MPI_INTEGER, right, 1, got, 5, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(got == [(left + i, i = 1, 5)]), 'components')
    call MPI_Sendrecv(points(5:1:-2)%weight, 3, MPI_DOUBLE_PRECISION, right, 1, weights(1:5:2), 3, MPI_DOUBLE_PRECISION, left, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(weights(1:5:2) == [2.5d0, 1.5d0, 0.5d0]), 'components, backwards')
    numbers = [(cmplx(i, rank), i = 1, 6)]
    call MPI_Sendrecv(numbers(1:6:2), 6, MPI_REAL, right, 1, numbers(2:6:2), 6, MPI_REAL, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(numbers(2:6:2) == [(cmplx(i, left), i = 1, 6, 2)]), 'two items in an element')
  end subroutine components

  ! What a procedure of the program passes on: arrays of assumed size and of assumed shape.
  subroutine dummies(values, n)
    integer, intent(in) :: n, values(*)
    integer :: got(4)
    call MPI_Sendrecv(values, n, MPI_INTEGER, right, 1, got, n, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(got == values(1:n)), 'assumed size')
    call assumed(values(1:n:2), got(1:n:2))
    call check(all(got == [1, 2, 3, 4]), 'assumed shape')
  end subroutine dummies

  subroutine assumed(values, got)
    integer, intent(in) :: values(:)
    integer, intent(inout) :: got(:)
    got = 0
    call MPI_Sendrecv(values, size(values), MPI_INTEGER, right, 1, got, size(got), MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
  end subroutine assumed

  ! The elements themselves are read and written after the call, not copies of them.
  subroutine in_flight()
    integer, asynchronous :: sent(30), got(6, 5)
    type(MPI_Request) :: requests(2), one
    type(MPI_Status) :: statuses(2)
    integer :: i, index
    logical :: flag
    got = 0
    sent = rank
    call MPI_Irecv(got(2:6:2, 1:5:2), 9, MPI_INTEGER, left, 7, MPI_COMM_WORLD, requests(1))
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Isend(sent(1:27:3), 9, MPI_INTEGER, right, 7, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call check(all(requests == MPI_REQUEST_NULL) .and. statuses(1)%MPI_SOURCE == left, 'all is over')
    call check(all(got(2:6:2, 1:5:2) == left) .and. count(got /= 0) == merge(0, 9, left == 0), 'received in place')
    sent = [(100 * rank + i, i = 1, 30)]
    call MPI_Irecv(got(:, 2), 6, MPI_INTEGER, left, 8, MPI_COMM_WORLD, requests(1))
    call MPI_Issend(sent(30:1:-5), 6, MPI_INTEGER, right, 8, MPI_COMM_WORLD, requests(2))
    call MPI_Waitany(1, requests(1:1), index, statuses(1))
    call check(index == 1 .and. all(got(:, 2) == [(100 * left + i, i = 30, 1, -5)]), 'a column')
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
    call MPI_Isendrecv(sent(1:30:10), 3, MPI_INTEGER, right, 9, got(1:6:2, 5), 3, MPI_INTEGER, left, 9, MPI_COMM_WORLD, one)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(one, flag, statuses(1))
    end do
    call check(all(got(1:6:2, 5) == 100 * left + [1, 11, 21]), 'sent and received')
    call MPI_F_sync_reg(got)
  end subroutine in_flight

  subroutine persistent()
    double precision, asynchronous :: sent(4, 4), got(4, 4)
    type(MPI_Request) :: requests(2)
    integer :: round
    call MPI_Send_init(sent(2, :), 4, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(got(:, 1:4:3), 8, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, requests(2))
    got = 0
    do round = 1, 3
      sent = 10 * rank + round
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check(all(got(:, 1) == 10 * left + round) .and. all(got(:, 2:4) == 0), 'rows again and again')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine persistent

  subroutine both_widths()
    integer(kind=MPI_COUNT_KIND) :: count
    integer :: narrow, sent(8), got(8), i
    type(MPI_Status) :: status
    type(MPI_Datatype) :: vector
    sent = [(rank + i, i = 1, 8)]
    got = 0
    call MPI_Sendrecv(sent(1:7:2), 4_MPI_COUNT_KIND, MPI_INTEGER, right, 1, got, 8_MPI_COUNT_KIND, MPI_INTEGER, left, 1, &
                      MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call MPI_Get_count(status, MPI_INTEGER, narrow)
    call check(count == 4 .and. narrow == 4 .and. all(got(1:4) == left + [1, 3, 5, 7]), 'counts of both widths')
    call MPI_Type_vector(2_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, 3_MPI_COUNT_KIND, MPI_INTEGER, vector)
    call MPI_Type_commit(vector)
    call MPI_Type_size(vector, count)
    call MPI_Type_size(vector, narrow)
    call check(count == 8 .and. narrow == 8, 'sizes of both widths')
    call MPI_Type_free(vector)
    call check(vector == MPI_DATATYPE_NULL, 'a type is freed')
  end subroutine both_widths

  ! Items that begin in one element and end in another: no datatype says that, so a call that is over works on a copy.
  subroutine copies()
    integer :: sent(12), got(12), i, packed(6), position, size
    type(MPI_Datatype) :: pair
    sent = [(100 * rank + i, i = 1, 12)]
    got = 0
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Sendrecv(sent(1:11:2), 2, pair, right, 1, got(2:12:2), 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(got(2:8:2) == 100 * left + [1, 5, 7, 11]) .and. all(got(1:11:2) == 0), 'a pattern in a section')
    call MPI_Type_free(pair)
    call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_SELF, size)
    call check(size == 12, 'size of three packed')
    position = 0
    packed = 0
    call MPI_Pack(sent(1:5:2), 3, MPI_INTEGER, packed(1:5:2), size, position, MPI_COMM_SELF)
    call check(position == 12 .and. all(packed == [sent(1), 0, sent(3), 0, sent(5), 0]), 'packed into a section')
    position = 0
    call MPI_Unpack(packed(1:5:2), size, position, got(1:5:2), 3, MPI_INTEGER, MPI_COMM_SELF)
    call check(all(got(1:5:2) == sent(1:5:2)), 'unpacked from one')
  end subroutine copies

  subroutine addresses()
    integer, target, asynchronous :: values(4)
    character, pointer :: memory(:)
    integer(kind=MPI_ADDRESS_KIND) :: first, third
    type(c_ptr) :: place, again
    type(MPI_Datatype) :: absolute
    integer :: got, bytes
    values = [1, 2, 3, 4] + 10 * rank
    call MPI_Get_address(values(1:3:2), first)
    call MPI_Get_address(values(3), third)
    call check(MPI_Aint_diff(third, first) == 8 .and. MPI_Aint_add(first, 8_MPI_ADDRESS_KIND) == third, 'addresses')
    call MPI_Type_create_hindexed(1, [1], [third], MPI_INTEGER, absolute)
    call MPI_Type_commit(absolute)
    call MPI_Sendrecv(MPI_BOTTOM, 1, absolute, right, 1, got, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(got == 3 + 10 * left, 'from the bottom of memory')
    call MPI_Type_free(absolute)
    call MPI_Alloc_mem(4096_MPI_ADDRESS_KIND, MPI_INFO_NULL, place)
    call c_f_pointer(place, memory, [4096])
    call MPI_Buffer_attach(memory, 4096)
    call MPI_Bsend(rank, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD)
    call MPI_Recv(got, 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(again, bytes)
    call check(got == left .and. bytes == 4096 .and. c_associated(place, again), 'a buffer comes back')
    call MPI_Free_mem(memory)
    call MPI_Sizeof(values, bytes)
    call check(bytes == 4, 'size of a variable')
  end subroutine addresses

  subroutine refusals()
    integer, asynchronous :: values(10)
    type(MPI_Request) :: request
    integer :: error, class, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Isend(values(1:9:2), 6, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request, error)
    call MPI_Error_class(error, class)
    call MPI_Error_string(error, text, length)
    call check(class == MPI_ERR_BUFFER .and. index(text, 'buf is a section of 5 elements') > 0, 'a section that is too short')
    call MPI_Irecv(values(1:9:2), 2, MPI_2INTEGER, left, 1, MPI_COMM_WORLD, request, error)
    call MPI_Error_class(error, class)
    call check(class == MPI_ERR_BUFFER, 'what no datatype can say')
    call MPI_Send(values(1:9:2), -1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, error)
    call MPI_Error_class(error, class)
    call check(class == MPI_ERR_COUNT, 'a negative count')
    call MPI_Send(values(1:9:2), 1, MPI_DATATYPE_NULL, right, 1, MPI_COMM_WORLD, error)
    call check(error /= MPI_SUCCESS, 'no datatype')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine refusals
end program f08_point_to_point
