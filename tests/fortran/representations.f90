! Representations of data in files through the module mpi: the program's procedures convert.
module representations_procedures
  use mpi
  implicit none
  integer :: conversions = 0
contains
  ! In the file numbers have the other sign.
  subroutine read_negated(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    integer :: count, datatype, ierror
    integer :: userbuf(*), filebuf(*)
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    userbuf(position + 1:position + count) = -filebuf(1:count)
    conversions = conversions + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 4711)
  end subroutine read_negated

  subroutine write_negated(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    integer :: count, datatype, ierror
    integer :: userbuf(*), filebuf(*)
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    filebuf(1:count) = -userbuf(position + 1:position + count)
    conversions = conversions + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 4711)
  end subroutine write_negated

  subroutine measure(datatype, extent, extra_state, ierror)
    integer :: datatype, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    extent = 4
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER .and. extra_state == 4711)
  end subroutine measure
end module representations_procedures

program representations
  use mpi
  use representations_procedures
  implicit none
  integer :: rank, error, file, class, numbers(3), back(3)
  integer(kind=MPI_OFFSET_KIND) :: none, mine
  integer(kind=MPI_ADDRESS_KIND) :: state, extent
  character(len=256) :: name

  none = 0
  state = 4711
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call name_file()
  call MPI_Register_datarep('negated', read_negated, write_negated, measure, state, error)
  call check(error == MPI_SUCCESS, 'a representation is registered')
  call MPI_Register_datarep('plain', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, measure, state, error)
  call check(error == MPI_SUCCESS, 'one that does not convert, too')
  call MPI_Register_datarep('plain', read_negated, write_negated, measure, state, error)
  call MPI_Error_class(error, class, error)
  call check(class == MPI_ERR_DUP_DATAREP, 'a name is for one')
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                     MPI_INFO_NULL, file, error)
  call check(error == MPI_SUCCESS, 'a file is opened')
  call MPI_File_set_view(file, none, MPI_INTEGER, MPI_INTEGER, 'negated', MPI_INFO_NULL, error)
  call check(error == MPI_SUCCESS, 'a view is set')
  call MPI_File_get_type_extent(file, MPI_INTEGER, extent, error)
  call check(error == MPI_SUCCESS .and. extent == 4, 'the extent is the program''s')
  mine = 3 * rank
  numbers = [5, -6, 7] + rank
  call MPI_File_write_at_all(file, mine, numbers, 3, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call check(error == MPI_SUCCESS .and. conversions == 1, 'what is written is converted')
  back = 0
  call MPI_File_read_at_all(file, mine, back, 3, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call check(all(back == numbers) .and. conversions == 2, 'what is read is, too')
  call MPI_File_set_view(file, none, MPI_INTEGER, MPI_INTEGER, 'plain', MPI_INFO_NULL, error)
  call MPI_File_read_at_all(file, mine, back, 3, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call check(all(back == -numbers) .and. conversions == 2, 'it lies in the file as it should')
  call MPI_File_set_view(file, none, MPI_REAL, MPI_REAL, 'negated', MPI_INFO_NULL, error)
  call MPI_Error_class(error, class, error)
  call check(class == MPI_ERR_CONVERSION, 'the program refuses other types')
  call MPI_File_close(file, error)
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
end program representations
