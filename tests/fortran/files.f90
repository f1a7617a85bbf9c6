! Files through the module mpi: views, explicit offsets, pointers of both kinds, split and nonblocking accesses, hints, errors and who hears of them.
module file_callbacks
  use mpi
  implicit none
  integer :: calls = 0
contains
  subroutine count_errors(file, code)
    integer :: file, code
    calls = calls + 1
    if (code == MPI_SUCCESS .or. file == -1) calls = -1000
  end subroutine count_errors
end module file_callbacks

program files
  use mpi
  use file_callbacks
  implicit none
  integer :: rank, ranks, error, file, class, code
  integer(kind=MPI_OFFSET_KIND) :: offset, none
  character(len=256) :: name

  none = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call name_file()
  call opening()
  call views()
  call pointers()
  call shared_pointer()
  call handlers()
  call MPI_Finalize(error)

contains
  include 'check.inc'

  ! A name that no other program has, in the folder for such files.
  subroutine name_file()
    integer :: clock, status
    character(len=200) :: folder
    if (rank == 0) then
      call get_environment_variable('TMPDIR', folder, status=status)
      if (status /= 0) folder = '/tmp'
      call system_clock(clock)
      write (name, '(a,a,i0,a,i0)') trim(folder), '/rwmpi-fortran-', getpid(), '-', clock
    end if
    call MPI_Bcast(name, len(name), MPI_CHARACTER, 0, MPI_COMM_WORLD, error)
  end subroutine name_file

  subroutine open_file()
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, file, error)
    call check(error == MPI_SUCCESS, 'a file is opened')
  end subroutine open_file

  subroutine close_file()
    call MPI_File_close(file, error)
    call check(error == MPI_SUCCESS .and. file == MPI_FILE_NULL, 'it is closed')
  end subroutine close_file

  subroutine opening()
    integer :: mode, group, members, info
    logical :: flag
    character(len=MPI_MAX_INFO_VAL) :: value
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call MPI_Error_class(code, class, error)
    call check(class == MPI_ERR_NO_SUCH_FILE .and. file == MPI_FILE_NULL, 'there is no file yet')
    call open_file()
    call MPI_File_get_amode(file, mode, error)
    call check(mode == MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, 'the mode')
    call MPI_File_get_group(file, group, error)
    call MPI_Group_size(group, members, error)
    call check(members == ranks, 'the group')
    call MPI_Group_free(group, error)
    call MPI_File_set_size(file, 123_MPI_OFFSET_KIND, error)
    call MPI_File_get_size(file, offset, error)
    call check(error == MPI_SUCCESS .and. offset == 123, 'the size')
    call MPI_File_preallocate(file, 200_MPI_OFFSET_KIND, error)
    call MPI_File_get_size(file, offset, error)
    call check(error == MPI_SUCCESS .and. offset == 200, 'the size with reserved space')
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, 'cb_nodes', '2', error)
    call MPI_File_set_info(file, info, error)
    call MPI_Info_free(info, error)
    call MPI_File_get_info(file, info, error)
    call MPI_Info_get(info, 'cb_nodes', MPI_MAX_INFO_VAL - 1, value, flag, error)
    call check(flag .and. trim(value) == '2', 'hints')
    call MPI_Info_free(info, error)
    call MPI_File_set_atomicity(file, .true., error)
    call MPI_File_get_atomicity(file, flag, error)
    call check(flag .and. error == MPI_SUCCESS, 'atomicity')
    call MPI_File_sync(file, error)
    call check(error == MPI_SUCCESS, 'synchronization')
    call close_file()
    call MPI_File_delete(name, MPI_INFO_NULL, code)
    call MPI_Error_class(code, class, error)
    call check(class == MPI_ERR_NO_SUCH_FILE, 'it is gone')
  end subroutine opening

  ! Pairs of integers by turns.
  subroutine views()
    integer :: pair, filetype, etype, i, count, values(20), status(MPI_STATUS_SIZE)
    integer(kind=MPI_ADDRESS_KIND) :: extent
    character(len=MPI_MAX_DATAREP_STRING) :: representation
    call open_file()
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    call MPI_Type_create_resized(pair, 0_MPI_ADDRESS_KIND, int(8 * ranks, MPI_ADDRESS_KIND), filetype, error)
    call MPI_Type_commit(filetype, error)
    call MPI_File_set_view(file, int(8 * rank, MPI_OFFSET_KIND), MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, error)
    call check(error == MPI_SUCCESS, 'a view')
    values = [(((i - 1) / 2 * ranks + rank) * 2 + mod(i - 1, 2), i = 1, 20)]
    call MPI_File_write_at_all(file, none, values, 20, MPI_INTEGER, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check(error == MPI_SUCCESS .and. count == 20, 'writing through it')
    call MPI_File_get_byte_offset(file, 3_MPI_OFFSET_KIND, offset, error)
    call check(offset == 8 * (rank + ranks) + 4, 'a byte offset')
    call MPI_File_sync(file, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_get_view(file, offset, etype, pair, representation, error)
    call check(offset == 8 * rank .and. etype == MPI_INTEGER .and. representation == 'native', 'what the view is')
    call MPI_File_get_type_extent(file, pair, extent, error)
    call check(extent == 8 * ranks, 'the extent of its filetype')
    call MPI_File_set_view(file, none, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
    do i = 0, 20 * ranks - 1
      call MPI_File_read(file, values, 1, MPI_INTEGER, MPI_STATUS_IGNORE, error)
      call check(error == MPI_SUCCESS .and. values(1) == i, 'pairs by turns')
    end do
    call MPI_File_read(file, values, 1, MPI_INTEGER, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check(error == MPI_SUCCESS .and. count == 0, 'the end of the file')
    call close_file()
  end subroutine views

  subroutine pointers()
    integer :: values(10), got(10), i, request, count, status(MPI_STATUS_SIZE)
    call open_file()
    call MPI_File_set_view(file, int(40 * rank, MPI_OFFSET_KIND), MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
    values = [(100 * rank + i, i = 1, 10)]
    call MPI_File_write(file, values, 2, MPI_INTEGER, status, error)
    call MPI_File_iwrite(file, values(3), 2, MPI_INTEGER, request, error)
    call MPI_Wait(request, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check(error == MPI_SUCCESS .and. count == 2, 'writing with a request')
    call MPI_File_write_all_begin(file, values(5), 6, MPI_INTEGER, error)
    call MPI_File_write_all_end(file, values(5), status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check(error == MPI_SUCCESS .and. count == 6, 'a split access')
    call MPI_File_get_position(file, offset, error)
    call check(offset == 10, 'the pointer')
    call MPI_File_seek(file, -10_MPI_OFFSET_KIND, MPI_SEEK_CUR, error)
    got = 0
    call MPI_File_read_all(file, got, 4, MPI_INTEGER, status, error)
    call MPI_File_iread_at(file, 4_MPI_OFFSET_KIND, got(5), 6, MPI_INTEGER, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call check(all(got == values), 'what was written is read')
    call MPI_File_write_at(file, 1_MPI_OFFSET_KIND, values, 1, MPI_INTEGER, status, error)
    call MPI_File_read_at(file, 1_MPI_OFFSET_KIND, got, 1, MPI_INTEGER, status, error)
    call check(got(1) == values(1), 'explicit offsets')
    call close_file()
  end subroutine pointers

  subroutine shared_pointer()
    integer :: value, got, i, status(MPI_STATUS_SIZE)
    logical :: seen(0:ranks - 1)
    call open_file()
    call MPI_File_set_view(file, none, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
    value = rank
    call MPI_File_write_ordered(file, value, 1, MPI_INTEGER, status, error)
    call check(error == MPI_SUCCESS, 'writing in order')
    call MPI_File_write_shared(file, value, 1, MPI_INTEGER, status, error)
    call MPI_File_sync(file, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_File_get_position_shared(file, offset, error)
    call check(offset == 2 * ranks, 'the shared pointer')
    seen = .false.
    do i = 0, ranks - 1
      call MPI_File_read_at(file, int(i, MPI_OFFSET_KIND), got, 1, MPI_INTEGER, status, error)
      call check(got == i, 'ranks are in order')
      call MPI_File_read_at(file, int(ranks + i, MPI_OFFSET_KIND), got, 1, MPI_INTEGER, status, error)
      seen(got) = .true.
    end do
    call check(all(seen), 'each rank has written once')
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, error)
    call MPI_File_read_ordered(file, got, 1, MPI_INTEGER, status, error)
    call check(got == rank, 'reading in order')
    call close_file()
  end subroutine shared_pointer

  subroutine handlers()
    integer :: handler, value
    value = 0
    call open_file()
    call MPI_File_create_errhandler(count_errors, handler, error)
    call MPI_File_set_errhandler(file, handler, error)
    call MPI_File_write_at(file, -1_MPI_OFFSET_KIND, value, 1, MPI_INTEGER, MPI_STATUS_IGNORE, error)
    call check(error /= MPI_SUCCESS .and. calls == 1, 'the handler of the file is called')
    call MPI_Errhandler_free(handler, error)
    call close_file()
  end subroutine handlers
end program files
