! Windows and files through the module mpi_f08: memory as C pointers, operations and accesses with sections, errors of both.
module f08_handlers
  use mpi_f08
  implicit none
  integer :: calls = 0
contains

  subroutine of_files(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    if (error_code /= MPI_SUCCESS .and. file /= MPI_FILE_NULL) calls = calls + 1
  end subroutine of_files

  subroutine of_windows(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    if (error_code /= MPI_SUCCESS .and. win /= MPI_WIN_NULL) calls = calls + 1
  end subroutine of_windows
end module f08_handlers

program f08_windows_and_files
  use mpi_f08
  use f08_handlers
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, left, right, i

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call created()
  call allocated()
  call mistakes()
  call files()
  call MPI_Finalize()

contains

  include 'check.inc'

  subroutine created()
    integer, asynchronous, target :: memory(12)
    integer, asynchronous :: values(12), found(12), old(3), new
    integer(kind=MPI_ADDRESS_KIND) :: base, address
    type(MPI_Win) :: win
    type(MPI_Request) :: request
    logical :: flag
    memory = 0
    values = [(100 * rank + i, i = 1, 12)]
    call MPI_Win_create(memory, 48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, base, flag)
    call MPI_Get_address(memory, address)
    call check(flag .and. base == address, 'its base')
    call MPI_Win_fence(0, win)
    call MPI_Put(values(1:12:3), 4, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(1:4) == 100 * left + [1, 4, 7, 10]), 'put from a section')
    found = 0
    call MPI_Get(found(12:1:-4), 3, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Accumulate(values(2:12:10), 2, MPI_INTEGER, 0, 8_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(all(found(12:1:-4) == 100 * rank + [4, 7, 10]) .and. count(found /= 0) == 3, 'got into a section')
    call check(rank > 0 .or. all(memory(9:10) == 50 * ranks * (ranks - 1) + ranks * [2, 12]), 'accumulated')
    call MPI_Win_lock_all(0, win)
    call MPI_Rget_accumulate(values(1:6:2), 3, MPI_INTEGER, found(1:6:2), 3, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 3, &
                             MPI_INTEGER, MPI_REPLACE, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(found(1:6:2) == 100 * rank + [1, 4, 7]), 'exchanged')
    new = 5
    call MPI_Fetch_and_op(new, old(2), MPI_INTEGER, right, 11_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_flush(right, win)
    call check(old(2) == 0, 'fetched')
    call MPI_Compare_and_swap(new, old(2), old(3), MPI_INTEGER, right, 10_MPI_ADDRESS_KIND, win)
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
    call check(win == MPI_WIN_NULL .and. memory(12) == 5, 'the window is freed')
  end subroutine created

  subroutine allocated()
    type(MPI_Win) :: win
    type(c_ptr) :: place, of_right
    integer, pointer :: memory(:, :)
    integer :: unit
    integer(kind=MPI_ADDRESS_KIND) :: size, wide
    call MPI_Win_allocate_shared(96_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, place, win)
    call c_f_pointer(place, memory, [4, 6])
    memory = rank
    call MPI_Win_fence(0, win)
    call MPI_Win_shared_query(win, right, size, unit, of_right)
    call check(size == 96 .and. unit == 4, 'query')
    call MPI_Win_shared_query(win, right, size, wide, of_right)
    call check(wide == 4, 'query, large')
    call c_f_pointer(of_right, memory, [4, 6])
    call check(all(memory == right), 'memory of the neighbour')
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
  end subroutine allocated

  subroutine mistakes()
    integer, asynchronous, target :: memory(10)
    type(MPI_Win) :: win
    type(MPI_Errhandler) :: handler
    integer :: error, class
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Win_create(memory(1:10:2), 20_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
    call MPI_Error_class(error, class)
    call check(class == MPI_ERR_BUFFER, 'a window is no section')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Win_create(memory, 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_create_errhandler(of_windows, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Win_fence(0, win)
    call MPI_Put(memory(1:9:2), 6, MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, win, error)
    call MPI_Error_class(error, class)
    call check(class == MPI_ERR_BUFFER .and. calls == 1, 'the window hears of a section that is too short')
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
    call MPI_Errhandler_free(handler)
  end subroutine mistakes

  ! A name that no other program has, in the folder for such files.
  subroutine name_file(name)
    character(len=*), intent(out) :: name
    integer :: clock, status
    character(len=200) :: folder
    if (rank == 0) then
      call get_environment_variable('TMPDIR', folder, status=status)
      if (status /= 0) folder = '/tmp'
      call system_clock(clock)
      write (name, '(a,a,i0,a,i0)') trim(folder), '/rwmpi-f08-', getpid(), '-', clock
    end if
    call MPI_Bcast(name, len(name), MPI_CHARACTER, 0, MPI_COMM_WORLD)
  end subroutine name_file

  subroutine files()
    character(len=256) :: name
    type(MPI_File) :: file
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    type(MPI_Errhandler) :: handler
    integer, asynchronous :: table(4, 4), got(4, 4)
    integer(kind=MPI_OFFSET_KIND) :: offset, size
    integer :: count, error, class
    call name_file(name)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call check(file /= MPI_FILE_NULL, 'a file is opened')
    table = reshape([(100 * rank + i, i = 1, 16)], [4, 4])
    offset = 32 * rank
    call MPI_File_write_at_all(file, offset, table(1:4:3, :), 8, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 8, 'written')
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_get_size(file, size)
    call check(size == 32 * ranks, 'size')
    got = 0
    call MPI_File_iread_at(file, 32_MPI_OFFSET_KIND * right, got(:, 2:4:2), 8_MPI_COUNT_KIND, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call check(all(got(:, 2) == 100 * right + [1, 4, 5, 8]) .and. all(got(:, 4) == 100 * right + [9, 12, 13, 16]), 'read')
    call check(all(got(:, 1:3:2) == 0), 'and nothing beside')
    call MPI_File_set_view(file, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    call MPI_File_read_all_begin(file, got(1:4:2, 1), 2, MPI_INTEGER)
    call MPI_File_read_all_end(file, got(1:4:2, 1), status)
    call check(all(got(1:4:2, 1) == 100 * rank + [1, 4]), 'split')
    call MPI_File_create_errhandler(of_files, handler)
    call MPI_File_set_errhandler(file, handler)
    calls = 0
    call MPI_File_iread(file, got(1:3:2, 1), 3, MPI_INTEGER, request, error)
    call MPI_Error_class(error, class)
    call check(class == MPI_ERR_BUFFER .and. calls == 1, 'the file hears of a section that is too short')
    call MPI_Errhandler_free(handler)
    call MPI_File_close(file)
    call check(file == MPI_FILE_NULL, 'it is closed')
  end subroutine files
end program f08_windows_and_files
