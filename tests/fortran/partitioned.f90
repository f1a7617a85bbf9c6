! Partitioned communication and buffers of sessions through the module mpi.
program partitioned
  use mpi
  implicit none
  integer :: rank, ranks, right, left, error

  call buffers()
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  call partitions()
  call MPI_Finalize(error)

contains
  include 'check.inc'

  subroutine partitions()
    integer :: from(12), into(12), requests(2), statuses(MPI_STATUS_SIZE, 2), round, count, class
    logical :: flag
    call MPI_Psend_init(from, 4, 3, MPI_INTEGER, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), error)
    call check(error == MPI_SUCCESS, 'send')
    call MPI_Precv_init(into, 2, 6, MPI_INTEGER, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), error)
    call check(error == MPI_SUCCESS, 'receive')
    do round = 1, 3
      from = rank * 100 + round
      into = -1
      call MPI_Startall(2, requests, error)
      call MPI_Pready(3, requests(1), error)
      call MPI_Pready_range(0, 1, requests(1), error)
      call MPI_Pready_list(1, [2], requests(1), error)
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(requests(2), 1, flag, error)
      end do
      call check(all(into(7:12) == left * 100 + round), 'the second partition has arrived')
      call MPI_Waitall(2, requests, statuses, error)
      call MPI_Get_count(statuses(:, 2), MPI_INTEGER, count, error)
      call check(count == 12 .and. all(into == left * 100 + round), 'all partitions')
    end do
    call MPI_Pready(0, requests(1), error)
    call MPI_Error_class(error, class, error)
    call check(class == MPI_ERR_REQUEST, 'a request that has not been started')
    call MPI_Request_free(requests(1), error)
    call MPI_Request_free(requests(2), error)
  end subroutine partitions

  subroutine buffers()
    integer :: session, group, made, request, bytes, value, got, me
    integer(kind=MPI_ADDRESS_KIND) :: address
    character :: buffer(4 + MPI_BSEND_OVERHEAD)
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, error)
    call MPI_Group_from_session_pset(session, 'mpi://SELF', group, error)
    call MPI_Comm_create_from_group(group, 'alone', MPI_INFO_NULL, MPI_ERRORS_RETURN, made, error)
    call MPI_Comm_rank(made, me, error)
    call MPI_Session_attach_buffer(session, buffer, size(buffer), error)
    call check(error == MPI_SUCCESS, 'the buffer is attached')
    value = 7
    call MPI_Bsend(value, 1, MPI_INTEGER, me, 1, made, error)
    call check(error == MPI_SUCCESS, 'a buffered send')
    call MPI_Recv(got, 1, MPI_INTEGER, me, 1, made, MPI_STATUS_IGNORE, error)
    call MPI_Session_flush_buffer(session, error)
    call MPI_Session_iflush_buffer(session, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Session_detach_buffer(session, address, bytes, error)
    call check(got == 7 .and. bytes == size(buffer) .and. error == MPI_SUCCESS, 'the buffer is detached')
    call MPI_Comm_free(made, error)
    call MPI_Group_free(group, error)
    call MPI_Session_finalize(session, error)
  end subroutine buffers
end program partitioned
