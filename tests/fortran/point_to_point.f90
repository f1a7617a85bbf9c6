! Point-to-point communication through mpif.h: blocking, nonblocking and persistent, with every mode.
! options: -fsecond-underscore
! options: -fno-underscoring
program point_to_point
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, error, left, right

  call MPI_INIT(error)
  call check(error == MPI_SUCCESS, 'MPI_Init')
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call constants()
  call ring()
  call modes()
  call buffered()
  call nonblocking()
  call any_and_some()
  call persistent()
  call probes()
  call cancelled()
  call nobody()
  call MPI_FINALIZE(error)

contains

  include 'check.inc'

  subroutine constants()
    logical :: flag
    integer :: version, subversion, length, position
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=3) :: short
    double precision :: start
    call MPI_INITIALIZED(flag, error)
    call check(flag, 'initialized is .true.')
    call MPI_FINALIZED(flag, error)
    call check(.not. flag, 'finalized is .false.')
    call check(transfer(MPI_SUCCESS == 0, 1) == 1, 'gfortran''s .true. is 1')
    call MPI_GET_VERSION(version, subversion, error)
    call check(version == MPI_VERSION .and. subversion == MPI_SUBVERSION, 'version')
    name = repeat('x', len(name))
    call MPI_GET_PROCESSOR_NAME(name, length, error)
    call check(length > 0 .and. length == len_trim(name), 'the name is filled up with blanks')
    position = index(name(1:length), 'x')
    call MPI_GET_PROCESSOR_NAME(short, length, error)
    call check(short == name(1:3), 'a name is cut where room ends')
    start = MPI_WTIME()
    call check(MPI_WTIME() >= start .and. MPI_WTICK() > 0d0 .and. MPI_WTICK() < 1d0, 'time')
    call check(PMPI_WTIME() >= start, 'time under its other name')
    call MPI_PCONTROL(1)
  end subroutine constants

  subroutine ring()
    integer :: status(MPI_STATUS_SIZE), values(4), got(4), count
    double precision :: number, next
    character(len=8) :: word, other
    integer :: i
    values = [(100 * rank + i, i = 1, 4)]
    status = -77
    call MPI_SENDRECV(values, 4, MPI_INTEGER, right, 5, got, 4, MPI_INTEGER, left, 5, MPI_COMM_WORLD, status, error)
    call check(all(got == [(100 * left + i, i = 1, 4)]), 'values of the left neighbor')
    call check(status(MPI_SOURCE) == left .and. status(MPI_TAG) == 5, 'source and tag')
    call check(status(MPI_ERROR) == -77, 'the error field is left alone')
    call MPI_GET_COUNT(status, MPI_INTEGER, count, error)
    call check(count == 4, 'count')
    call MPI_GET_ELEMENTS(status, MPI_INTEGER, count, error)
    call check(count == 4, 'elements')
    call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, count, error)
    call check(count == 2, 'count of a larger type')
    number = rank + 0.5d0
    call MPI_SENDRECV(number, 1, MPI_DOUBLE_PRECISION, right, 6, next, 1, MPI_DOUBLE_PRECISION, left, 6, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
    call check(next == left + 0.5d0, 'a number, status ignored')
    write (word, '(a,i0)') 'rank', rank
    call MPI_SENDRECV(word, 8, MPI_CHARACTER, right, 7, other, 8, MPI_CHARACTER, left, 7, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
    write (word, '(a,i0)') 'rank', left
    call check(other == word, 'characters')
    values(1) = rank
    call MPI_SENDRECV_REPLACE(values, 1, MPI_INTEGER, right, 8, left, 8, MPI_COMM_WORLD, status, error)
    call check(values(1) == left .and. status(MPI_SOURCE) == left, 'replaced')
  end subroutine ring

  subroutine modes()
    integer :: status(MPI_STATUS_SIZE), request
    integer, asynchronous :: value
    logical :: truth
    if (ranks == 1) return
    if (mod(rank, 2) == 0 .and. rank + 1 < ranks) then
      call MPI_SEND(rank, 1, MPI_INTEGER, rank + 1, 1, MPI_COMM_WORLD, error)
      call MPI_SSEND(rank + 10, 1, MPI_INTEGER, rank + 1, 2, MPI_COMM_WORLD, error)
      call MPI_RECV(value, 0, MPI_INTEGER, rank + 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call MPI_RSEND(rank + 20, 1, MPI_INTEGER, rank + 1, 3, MPI_COMM_WORLD, error)
      call MPI_SEND(.true., 1, MPI_LOGICAL, rank + 1, 4, MPI_COMM_WORLD, error)
    else if (mod(rank, 2) == 1) then
      call MPI_RECV(value, 1, MPI_INTEGER, rank - 1, 1, MPI_COMM_WORLD, status, error)
      call check(value == rank - 1, 'send')
      call MPI_RECV(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status, error)
      call check(value == rank + 9 .and. status(MPI_SOURCE) == rank - 1, 'ssend')
      call MPI_IRECV(value, 1, MPI_INTEGER, rank - 1, 3, MPI_COMM_WORLD, request, error)
      call MPI_SEND(value, 0, MPI_INTEGER, rank - 1, 9, MPI_COMM_WORLD, error)
      call MPI_WAIT(request, status, error)
      call check(value == rank + 19 .and. request == MPI_REQUEST_NULL, 'rsend')
      call MPI_RECV(truth, 1, MPI_LOGICAL, rank - 1, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
      call check(truth .and. status(MPI_TAG) == 4, 'a LOGICAL')
    end if
  end subroutine modes

  subroutine buffered()
    integer, parameter :: bytes = 4096
    character(len=1), asynchronous :: memory(bytes)
    character(len=1) :: unused(1)
    integer :: size, value, request
    call MPI_BUFFER_ATTACH(memory, bytes, error)
    call MPI_BSEND(rank, 1, MPI_INTEGER, right, 11, MPI_COMM_WORLD, error)
    call MPI_IBSEND(rank + 1, 1, MPI_INTEGER, right, 12, MPI_COMM_WORLD, request, error)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
    call MPI_RECV(value, 1, MPI_INTEGER, left, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check(value == left + 1, 'ibsend')
    call MPI_RECV(value, 1, MPI_INTEGER, left, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check(value == left, 'bsend')
    call MPI_BUFFER_DETACH(unused, size, error)
    call check(size == bytes, 'size of the buffer')
  end subroutine buffered

  subroutine nonblocking()
    integer :: requests(5), statuses(MPI_STATUS_SIZE, 5), status(MPI_STATUS_SIZE)
    integer, asynchronous :: got(2), values(3)
    logical :: flag
    values = [rank, rank + 1, rank + 2]
    call MPI_IRECV(got(1), 1, MPI_INTEGER, left, 21, MPI_COMM_WORLD, requests(1), error)
    call MPI_IRECV(got(2), 1, MPI_INTEGER, left, 22, MPI_COMM_WORLD, requests(2), error)
    call MPI_ISEND(values(1), 1, MPI_INTEGER, right, 21, MPI_COMM_WORLD, requests(3), error)
    call MPI_ISSEND(values(2), 1, MPI_INTEGER, right, 22, MPI_COMM_WORLD, requests(4), error)
    requests(5) = MPI_REQUEST_NULL
    call MPI_WAITALL(5, requests, statuses, error)
    call check(all(got == [left, left + 1]), 'received')
    call check(all(requests == MPI_REQUEST_NULL), 'no requests are left')
    call check(statuses(MPI_SOURCE, 1) == left .and. statuses(MPI_TAG, 2) == 22, 'statuses')
    call MPI_IRECV(got(1), 1, MPI_INTEGER, left, 23, MPI_COMM_WORLD, requests(1), error)
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    call MPI_IRSEND(values(3), 1, MPI_INTEGER, right, 23, MPI_COMM_WORLD, requests(2), error)
    flag = .false.
    do while (.not. flag)
      call MPI_TESTALL(2, requests, flag, MPI_STATUSES_IGNORE, error)
    end do
    call check(got(1) == left + 2, 'irsend')
    call MPI_IRECV(got(1), 1, MPI_INTEGER, left, 24, MPI_COMM_WORLD, requests(1), error)
    call MPI_TEST(requests(1), flag, status, error)
    call check(.not. flag .and. requests(1) /= MPI_REQUEST_NULL, 'nothing has come yet')
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    call MPI_ISEND(values(1), 1, MPI_INTEGER, right, 24, MPI_COMM_WORLD, requests(2), error)
    call MPI_REQUEST_FREE(requests(2), error)
    call check(requests(2) == MPI_REQUEST_NULL, 'freed')
    do while (.not. flag)
      call MPI_TEST(requests(1), flag, status, error)
    end do
    call check(got(1) == left .and. status(MPI_SOURCE) == left, 'tested')
  end subroutine nonblocking

  subroutine any_and_some()
    integer :: requests(4), indices(4), statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE)
    integer, asynchronous :: got(4)
    integer :: index, count, i, done
    logical :: flag
    requests = MPI_REQUEST_NULL
    call MPI_WAITANY(4, requests, index, status, error)
    call check(index == MPI_UNDEFINED, 'no request to wait for')
    call MPI_TESTANY(4, requests, index, flag, status, error)
    call check(flag .and. index == MPI_UNDEFINED, 'no request to test')
    call MPI_WAITSOME(4, requests, count, indices, MPI_STATUSES_IGNORE, error)
    call check(count == MPI_UNDEFINED, 'no requests to wait for')
    do i = 1, 4
      call MPI_IRECV(got(i), 1, MPI_INTEGER, left, 30 + i, MPI_COMM_WORLD, requests(i), error)
    end do
    call MPI_TESTANY(4, requests, index, flag, status, error)
    call check(.not. flag .and. index == MPI_UNDEFINED, 'none is done')
    call MPI_TESTSOME(4, requests, count, indices, statuses, error)
    call check(count == 0, 'some are none')
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    call MPI_SEND(rank + 3, 1, MPI_INTEGER, right, 33, MPI_COMM_WORLD, error)
    call MPI_WAITANY(4, requests, index, status, error)
    call check(index == 3 .and. got(3) == left + 3 .and. status(MPI_TAG) == 33, 'indices count from one')
    call check(requests(3) == MPI_REQUEST_NULL .and. requests(2) /= MPI_REQUEST_NULL, 'its request is gone')
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    call MPI_SEND(rank + 1, 1, MPI_INTEGER, right, 31, MPI_COMM_WORLD, error)
    flag = .false.
    do while (.not. flag)
      call MPI_TESTANY(4, requests, index, flag, status, error)
    end do
    call check(index == 1 .and. got(1) == left + 1, 'testany counts from one')
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    call MPI_SEND(rank + 4, 1, MPI_INTEGER, right, 34, MPI_COMM_WORLD, error)
    call MPI_WAITSOME(4, requests, count, indices, statuses, error)
    call check(count == 1 .and. indices(1) == 4 .and. statuses(MPI_TAG, 1) == 34, 'waitsome counts from one')
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    call MPI_SEND(rank + 2, 1, MPI_INTEGER, right, 32, MPI_COMM_WORLD, error)
    done = 0
    do while (done == 0)
      call MPI_TESTSOME(4, requests, done, indices, MPI_STATUSES_IGNORE, error)
    end do
    call check(done == 1 .and. indices(1) == 2 .and. got(2) == left + 2, 'testsome counts from one')
  end subroutine any_and_some

  subroutine persistent()
    integer :: requests(5), statuses(MPI_STATUS_SIZE, 5), round, i, size
    integer, asynchronous :: values(4), got(4)
    character(len=1), asynchronous :: memory(4096)
    character(len=1) :: unused(1)
    call MPI_BUFFER_ATTACH(memory, 4096, error)
    call MPI_RECV_INIT(got, 4, MPI_INTEGER, left, 41, MPI_COMM_WORLD, requests(1), error)
    call MPI_SEND_INIT(values, 4, MPI_INTEGER, right, 41, MPI_COMM_WORLD, requests(2), error)
    do round = 1, 3
      values = [(rank * round + i, i = 1, 4)]
      call MPI_STARTALL(2, requests, error)
      call MPI_WAITALL(2, requests, statuses, error)
      call check(all(got == [(left * round + i, i = 1, 4)]), 'a round')
      call check(all(requests(1:2) /= MPI_REQUEST_NULL), 'persistent requests stay')
    end do
    call MPI_SSEND_INIT(values, 1, MPI_INTEGER, right, 41, MPI_COMM_WORLD, requests(3), error)
    call MPI_BSEND_INIT(values, 1, MPI_INTEGER, right, 41, MPI_COMM_WORLD, requests(4), error)
    call MPI_RSEND_INIT(values, 1, MPI_INTEGER, right, 41, MPI_COMM_WORLD, requests(5), error)
    do i = 3, 5
      values(1) = 1000 * rank + i
      call MPI_START(requests(1), error)
      call MPI_BARRIER(MPI_COMM_WORLD, error)
      call MPI_START(requests(i), error)
      call MPI_WAIT(requests(i), MPI_STATUS_IGNORE, error)
      call MPI_WAIT(requests(1), MPI_STATUS_IGNORE, error)
      call check(got(1) == 1000 * left + i, 'another mode')
    end do
    do i = 1, 5
      call MPI_REQUEST_FREE(requests(i), error)
    end do
    call MPI_BUFFER_DETACH(unused, size, error)
  end subroutine persistent

  subroutine probes()
    integer :: status(MPI_STATUS_SIZE), count, message
    integer, asynchronous :: values(3)
    logical :: flag
    call MPI_IPROBE(MPI_ANY_SOURCE, 51, MPI_COMM_WORLD, flag, status, error)
    call check(.not. flag, 'nothing to probe')
    call MPI_BARRIER(MPI_COMM_WORLD, error)
    values = rank
    call MPI_ISEND(values, 3, MPI_INTEGER, right, 51, MPI_COMM_WORLD, message, error)
    call MPI_PROBE(left, 51, MPI_COMM_WORLD, status, error)
    call MPI_GET_COUNT(status, MPI_INTEGER, count, error)
    call check(count == 3 .and. status(MPI_SOURCE) == left, 'probed')
    call MPI_IPROBE(left, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status, error)
    call check(flag .and. status(MPI_TAG) == 51, 'probed again')
    block
      integer :: got(3)
      call MPI_RECV(got, 3, MPI_INTEGER, left, 51, MPI_COMM_WORLD, status, error)
      call check(all(got == left), 'received after the probe')
    end block
    call MPI_WAIT(message, MPI_STATUS_IGNORE, error)
  end subroutine probes

  subroutine cancelled()
    integer :: status(MPI_STATUS_SIZE), request, value
    logical :: flag
    call MPI_IRECV(value, 1, MPI_INTEGER, left, 61, MPI_COMM_WORLD, request, error)
    call MPI_CANCEL(request, error)
    call MPI_WAIT(request, status, error)
    call MPI_TEST_CANCELLED(status, flag, error)
    call check(flag, 'cancelled')
  end subroutine cancelled

  subroutine nobody()
    integer :: status(MPI_STATUS_SIZE), value, count
    value = 5
    call MPI_SEND(value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)
    call MPI_RECV(value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, error)
    call check(value == 5 .and. status(MPI_SOURCE) == MPI_PROC_NULL, 'nobody')
    call MPI_GET_COUNT(status, MPI_INTEGER, count, error)
    call check(count == 0, 'nothing from nobody')
  end subroutine nobody
end program point_to_point
