! Messages that are matched before they are received, requests and statuses that are asked, and buffers of communicators,
! through the module mpi_f08. ranks: 1 2 3
program f08_matched_and_asked
  use mpi_f08
  implicit none
  integer :: rank, ranks, left, right

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call matched()
  call replaced()
  call asked()
  call statuses()
  call buffers()
  call communicators()
  call MPI_Finalize()

contains

  include 'check.inc'

  subroutine matched()
    integer, asynchronous :: sent, heard
    type(MPI_Request) :: request
    type(MPI_Message) :: message
    type(MPI_Status) :: status
    logical :: flag
    sent = 100 + rank
    call MPI_Isend(sent, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, request)
    call MPI_Mprobe(left, 1, MPI_COMM_WORLD, message, status)
    call check(message /= MPI_MESSAGE_NULL .and. status%MPI_SOURCE == left, 'a message is matched')
    call MPI_Mrecv(heard, 1, MPI_INTEGER, message, status)
    call check(heard == 100 + left .and. message == MPI_MESSAGE_NULL, 'and received')
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Isend(sent, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, request)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, flag, message, status)
    end do
    heard = 0
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Imrecv(heard, 1, MPI_INTEGER, message, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(heard == 100 + left, 'and received later')
  end subroutine matched

  subroutine replaced()
    integer, asynchronous :: line(6)
    type(MPI_Request) :: request
    line = rank
    call MPI_Isendrecv_replace(line(1:6:2), 3, MPI_INTEGER, right, 3, left, 3, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(line(1:6:2) == left) .and. all(line(2:6:2) == rank), 'a section is replaced')
  end subroutine replaced

  ! Requests are asked how it stands with them, and stay.
  subroutine asked()
    integer, asynchronous :: sent(2), heard(2)
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status, all_statuses(2)
    integer :: place, number, places(2)
    logical :: flag
    sent = [rank, 10 + rank]
    call MPI_Irecv(heard(1), 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(heard(2), 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(2))
    call MPI_Request_get_status_all(2, requests, flag, MPI_STATUSES_IGNORE)
    call check(.not. flag, 'nothing has come')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Send(sent(2), 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_any(2, requests, place, flag, status)
    end do
    call check(place == 2 .and. status%MPI_TAG == 5, 'the second has come')
    call MPI_Request_get_status_some(2, requests, number, places, all_statuses)
    call check(number == 1 .and. places(1) == 2 .and. all_statuses(1)%MPI_SOURCE == left, 'and no other')
    call MPI_Request_get_status(requests(2), flag, status)
    call check(flag .and. requests(2) /= MPI_REQUEST_NULL, 'its request stays')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Send(sent(1), 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_all(2, requests, flag, all_statuses)
    end do
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(heard == [left, 10 + left]), 'all that was asked for has come')
  end subroutine asked

  subroutine statuses()
    type(MPI_Status) :: status
    integer :: value
    integer(kind=MPI_COUNT_KIND) :: number
    call MPI_Status_set_source(status, 3)
    call MPI_Status_set_tag(status, 4)
    call MPI_Status_set_error(status, MPI_ERR_TAG)
    call MPI_Status_set_elements_x(status, MPI_INTEGER, 5_MPI_COUNT_KIND)
    call MPI_Status_get_source(status, value)
    call check(value == 3 .and. status%MPI_SOURCE == 3, 'the source')
    call MPI_Status_get_tag(status, value)
    call check(value == 4, 'the tag')
    call MPI_Status_get_error(status, value)
    call check(value == MPI_ERR_TAG, 'the error')
    call MPI_Get_elements_x(status, MPI_INTEGER, number)
    call check(number == 5, 'how many elements')
  end subroutine statuses

  subroutine buffers()
    integer, target, asynchronous :: room(1000)
    integer :: heard, size
    type(MPI_Request) :: request
    type(MPI_Comm) :: own
    call MPI_Comm_dup(MPI_COMM_WORLD, own)
    call MPI_Comm_attach_buffer(own, room, 4000)
    call MPI_Bsend(rank, 1, MPI_INTEGER, right, 6, own)
    call MPI_Recv(heard, 1, MPI_INTEGER, left, 6, own, MPI_STATUS_IGNORE)
    call check(heard == left, 'what was buffered')
    call MPI_Comm_flush_buffer(own)
    call MPI_Comm_iflush_buffer(own, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call detach(own, size)
    call check(size == 4000, 'the size of the buffer')
    call MPI_Comm_free(own)
    call MPI_Buffer_flush()
    call MPI_Buffer_iflush(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine buffers

  subroutine detach(comm, size)
    use, intrinsic :: iso_c_binding, only: c_ptr
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: size
    type(c_ptr) :: address
    call MPI_Comm_detach_buffer(comm, address, size)
  end subroutine detach

  subroutine communicators()
    type(MPI_Comm) :: other
    type(MPI_Group) :: group
    type(MPI_Info) :: info, copy
    type(MPI_Request) :: request
    character(len=10) :: value
    integer :: number, result, length
    logical :: flag
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'true')
    call MPI_Info_dup(info, copy)
    call MPI_Info_get(copy, 'mpi_assert_no_any_tag', 10, value, flag)
    call check(flag .and. value == 'true', 'a copy of hints')
    call MPI_Info_free(copy)
    call MPI_Info_create_env(copy)
    call MPI_Info_get_nkeys(copy, number)
    call check(number > 0, 'hints of the environment')
    call MPI_Info_free(copy)
    call MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, other)
    call MPI_Comm_compare(MPI_COMM_WORLD, other, result)
    call check(result == MPI_CONGRUENT, 'a duplicate with hints')
    call MPI_Comm_get_info(other, copy)
    length = 10
    call MPI_Info_get_string(copy, 'mpi_assert_no_any_tag', length, value, flag)
    call check(flag .and. value == 'true', 'the hints of a duplicate')
    call MPI_Info_free(copy)
    call MPI_Comm_set_info(other, info)
    call MPI_Comm_free(other)
    call MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, other, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_free(other)
    call MPI_Info_free(info)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, other)
    call MPI_Comm_size(other, number)
    call check(number >= 1 .and. number <= ranks, 'ranks beside')
    call MPI_Comm_free(other)
    call MPI_Comm_group(MPI_COMM_WORLD, group)
    call MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, other)
    call MPI_Comm_compare(MPI_COMM_WORLD, other, result)
    call check(result == MPI_CONGRUENT, 'a communicator of a group')
    call MPI_Comm_free(other)
    call MPI_Group_free(group)
    call MPI_Is_thread_main(flag)
    call check(flag, 'this is the main thread')
    call MPI_Query_thread(number)
    call check(number >= MPI_THREAD_SINGLE, 'the level of threads')
  end subroutine communicators
end program f08_matched_and_asked
