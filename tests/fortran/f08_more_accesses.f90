! Further accesses of files and windows, further types and sessions, through the module mpi_f08. ranks: 1 2 3
module f08_session_handlers
  use mpi_f08
  implicit none
  integer :: calls = 0
contains

  subroutine of_sessions(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    if (error_code == MPI_ERR_ARG .and. session /= MPI_SESSION_NULL) calls = calls + 1
  end subroutine of_sessions
end module f08_session_handlers

program f08_more_accesses
  use mpi_f08
  use f08_session_handlers
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, right

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = mod(rank + 1, ranks)
  call files()
  call windows()
  call dynamic()
  call types()
  call codes()
  call sessions()
  call groups()
  call MPI_Finalize()

contains

  include 'check.inc'

  subroutine files()
    type(MPI_File) :: file
    type(MPI_Errhandler) :: handler
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer, asynchronous :: mine, heard
    integer(kind=MPI_OFFSET_KIND) :: at
    character(len=40) :: name
    integer :: number, place, all_heard
    name = 'f08-more-accesses'
    if (rank == 0) write (name(18:), '(i0)') getpid()
    call MPI_Bcast(name, 40, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    call MPI_File_open(MPI_COMM_WORLD, '/tmp/'//trim(name), ior(MPI_MODE_CREATE, ior(MPI_MODE_RDWR, &
                       MPI_MODE_DELETE_ON_CLOSE)), MPI_INFO_NULL, file)
    call MPI_File_get_errhandler(file, handler)
    call check(handler == MPI_ERRORS_RETURN, 'the handler of a file')
    call MPI_File_call_errhandler(file, MPI_ERR_IO, number)
    call check(number == MPI_SUCCESS, 'it is called')
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    at = rank
    mine = 100 + rank
    do place = 1, 6
      heard = -1
      select case (place)
      case (1)
        call MPI_File_iwrite_at(file, at, mine, 1, MPI_INTEGER, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_File_iread_at_all(file, at, heard, 1, MPI_INTEGER, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      case (2)
        call MPI_File_iwrite_at_all(file, at, mine, 1, MPI_INTEGER, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_File_read_at_all_begin(file, at, heard, 1, MPI_INTEGER)
        call MPI_File_read_at_all_end(file, heard, status)
        call MPI_Get_count(status, MPI_INTEGER, number)
        call check(number == 1, 'how many were read')
      case (3)
        call MPI_File_write_at_all_begin(file, at, mine, 1, MPI_INTEGER)
        call MPI_File_write_at_all_end(file, mine, status)
        call MPI_File_seek(file, at, MPI_SEEK_SET)
        call MPI_File_iread_all(file, heard, 1, MPI_INTEGER, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      case (4)
        call MPI_File_seek(file, at, MPI_SEEK_SET)
        call MPI_File_write_all(file, mine, 1, MPI_INTEGER, status)
        call MPI_File_seek(file, at, MPI_SEEK_SET)
        call MPI_File_read_all(file, heard, 1, MPI_INTEGER, status)
      case (5)
        call MPI_File_seek(file, at, MPI_SEEK_SET)
        call MPI_File_iwrite_all(file, mine, 1, MPI_INTEGER, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_File_read_at_all(file, at, heard, 1, MPI_INTEGER, status)
      case (6)
        call MPI_File_write_ordered_begin(file, mine, 1, MPI_INTEGER)
        call MPI_File_write_ordered_end(file, mine, status)
        call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
        call MPI_File_read_ordered_begin(file, heard, 1, MPI_INTEGER)
        call MPI_File_read_ordered_end(file, heard, status)
      end select
      call check(heard == mine, 'what was written is read')
      call MPI_Barrier(MPI_COMM_WORLD)
    end do
    ! With a pointer that all share, each element comes to one of them.
    do place = 1, 2
      call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
      if (place == 1) then
        call MPI_File_iwrite_shared(file, mine, 1, MPI_INTEGER, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      else
        call MPI_File_write_shared(file, mine, 1, MPI_INTEGER, status)
      end if
      call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
      if (place == 1) then
        call MPI_File_read_shared(file, heard, 1, MPI_INTEGER, status)
      else
        call MPI_File_iread_shared(file, heard, 1, MPI_INTEGER, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      end if
      call MPI_Allreduce(heard, all_heard, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
      call check(all_heard == 100 * ranks + ranks * (ranks - 1) / 2, 'each element is read once')
    end do
    call MPI_File_close(file)
  end subroutine files

  integer function getpid()
    interface
      integer(c_int) function c_getpid() bind(c, name='getpid')
        import c_int
      end function c_getpid
    end interface
    getpid = c_getpid()
  end function getpid

  subroutine windows()
    type(MPI_Win) :: win
    type(MPI_Info) :: info
    type(MPI_Errhandler) :: handler
    type(MPI_Request) :: request
    type(MPI_Group) :: group
    type(c_ptr) :: base
    integer, pointer, asynchronous :: memory(:)
    integer, asynchronous :: sent, got
    integer :: key, number
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [2])
    call MPI_Win_get_errhandler(win, handler)
    call check(handler == MPI_ERRORS_ARE_FATAL, 'the handler of a window')
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC, number)
    call check(number == MPI_SUCCESS, 'it is called')
    call MPI_Win_get_info(win, info)
    call MPI_Win_set_info(win, info)
    call MPI_Info_free(info)
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
    call MPI_Win_set_attr(win, key, 5_MPI_ADDRESS_KIND)
    call MPI_Win_delete_attr(win, key)
    call MPI_Win_get_attr(win, key, value, flag)
    call check(.not. flag, 'an attribute that is deleted')
    call MPI_Win_free_keyval(key)

    memory = 0
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock_all(0, win)
    sent = 10 + rank
    call MPI_Rput(sent, 1, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_flush_local(right, win)
    call MPI_Win_flush_local_all(win)
    call MPI_Raccumulate(sent, 1, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_flush_all(win)
    call MPI_Get_accumulate(sent, 1, MPI_INTEGER, got, 1, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, &
                            MPI_SUM, win)
    call MPI_Win_flush(right, win)
    call check(got == sent, 'what was there before')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_sync(win)
    call check(memory(1) == 10 + mod(rank + ranks - 1, ranks) .and. memory(2) == 2 * memory(1), 'what others have put')
    call MPI_Win_unlock_all(win)

    call MPI_Comm_group(MPI_COMM_WORLD, group)
    call MPI_Win_post(group, 0, win)
    call MPI_Win_start(group, 0, win)
    call MPI_Put(rank, 1, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_complete(win)
    call MPI_Win_wait(win)
    call check(memory(1) == mod(rank + ranks - 1, ranks), 'what was put between start and complete')
    call MPI_Group_free(group)
    call MPI_Win_free(win)
  end subroutine windows

  subroutine dynamic()
    type(MPI_Win) :: win
    integer, target, asynchronous :: memory(4)
    integer(kind=MPI_ADDRESS_KIND) :: address, addresses(ranks)
    memory = 0
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_attach(win, memory, 16_MPI_ADDRESS_KIND)
    call MPI_Get_address(memory, address)
    call MPI_Allgather(address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD)
    call MPI_Win_fence(0, win)
    call MPI_Put(rank + 1, 1, MPI_INTEGER, right, addresses(right + 1), 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(memory(1) == 1 + mod(rank + ranks - 1, ranks), 'what was put into memory that was attached')
    call MPI_Win_detach(win, memory)
    call MPI_Win_free(win)
  end subroutine dynamic

  subroutine types()
    type(MPI_Datatype) :: type
    integer(kind=MPI_ADDRESS_KIND) :: lower, extent
    integer(kind=MPI_COUNT_KIND) :: size_x, lower_x, extent_x
    integer :: size
    call MPI_Type_create_hindexed_block(2, 1, [4_MPI_ADDRESS_KIND, 12_MPI_ADDRESS_KIND], MPI_INTEGER, type)
    call MPI_Type_get_true_extent(type, lower, extent)
    call check(lower == 4 .and. extent == 12, 'the true extent')
    call MPI_Type_get_true_extent_x(type, lower_x, extent_x)
    call check(lower_x == 4 .and. extent_x == 12, 'the true extent as a count')
    call MPI_Type_get_extent_x(type, lower_x, extent_x)
    call check(lower_x == 4 .and. extent_x == 12, 'the extent as a count')
    call MPI_Type_size_x(type, size_x)
    call check(size_x == 8, 'the size as a count')
    call MPI_Type_free(type)
    call MPI_Type_create_darray(ranks, rank, 1, [4 * ranks], [MPI_DISTRIBUTE_BLOCK], [MPI_DISTRIBUTE_DFLT_DARG], &
                                [ranks], MPI_ORDER_FORTRAN, MPI_INTEGER, type)
    call MPI_Type_size(type, size)
    call check(size == 16, 'a part of an array')
    call MPI_Type_free(type)
    call MPI_Type_create_f90_integer(9, type)
    call MPI_Type_size(type, size)
    call check(size == 4, 'nine digits')
    call MPI_Type_create_f90_complex(15, 300, type)
    call MPI_Type_size(type, size)
    call check(size == 16, 'complex numbers of fifteen digits')
    call MPI_Type_get_value_index(MPI_REAL, MPI_INTEGER, type)
    if (type /= MPI_DATATYPE_NULL) then
      call MPI_Type_size(type, size)
      call check(size == 8, 'a value and where it is')
    end if
  end subroutine types

  subroutine codes()
    integer :: class, code, error
    type(MPI_Info) :: info
    call MPI_Add_error_class(class)
    call MPI_Add_error_code(class, code)
    call MPI_Add_error_string(code, 'an error of the program')
    call MPI_Remove_error_string(code)
    call MPI_Remove_error_code(code)
    call MPI_Remove_error_class(class, error)
    call check(error == MPI_SUCCESS, 'what was added is removed')
    call MPI_Get_hw_resource_info(info)
    call MPI_Info_free(info)
    call MPI_Abi_get_version(class, code)
    call check((class == 1 .and. code == 0) .or. (class == -1 .and. code == -1), 'the version of the ABI')
    call MPI_Abi_get_info(info)
    if (info /= MPI_INFO_NULL) call MPI_Info_free(info)
    call MPI_Abi_get_fortran_info(info)
    if (info /= MPI_INFO_NULL) call MPI_Info_free(info)
  end subroutine codes

  subroutine sessions()
    type(MPI_Session) :: session
    type(MPI_Errhandler) :: handler, same
    type(MPI_Info) :: info
    integer :: number
    call MPI_Session_create_errhandler(of_sessions, handler)
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Session_set_errhandler(session, handler)
    call MPI_Session_get_errhandler(session, same)
    call check(same == handler, 'the handler of a session')
    call MPI_Errhandler_free(same)
    call MPI_Session_call_errhandler(session, MPI_ERR_ARG, number)
    call check(calls == 1, 'it is called')
    call MPI_Errhandler_free(handler)
    call MPI_Session_get_info(session, info)
    call MPI_Info_free(info)
    call MPI_Session_get_pset_info(session, 'mpi://WORLD', info)
    call MPI_Info_get_nkeys(info, number)
    call check(number > 0, 'what is known of a set of processes')
    call MPI_Info_free(info)
    call MPI_Session_finalize(session)
  end subroutine sessions

  subroutine groups()
    type(MPI_Group) :: all, first, others
    type(MPI_Comm) :: both
    integer :: number
    if (ranks < 2) return
    call MPI_Comm_group(MPI_COMM_WORLD, all)
    call MPI_Group_incl(all, 1, [0], first)
    call MPI_Group_excl(all, 1, [0], others)
    if (rank == 0) then
      call MPI_Intercomm_create_from_groups(first, 0, others, 0, 'f08', MPI_INFO_NULL, MPI_ERRORS_RETURN, both)
    else
      call MPI_Intercomm_create_from_groups(others, 0, first, 0, 'f08', MPI_INFO_NULL, MPI_ERRORS_RETURN, both)
    end if
    call MPI_Comm_remote_size(both, number)
    call check(number == merge(ranks - 1, 1, rank == 0), 'the other group')
    call MPI_Comm_free(both)
    call MPI_Group_free(first)
    call MPI_Group_free(others)
    call MPI_Group_free(all)
  end subroutine groups
end program f08_more_accesses
