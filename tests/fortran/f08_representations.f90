! Representations of data in files through the module mpi_f08, with and without large counts.
module f08_representations_procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: conversions = 0
contains
  ! In the file numbers have the other sign.
  subroutine negate(to, from, count)
    type(c_ptr), value :: to, from
    integer(kind=MPI_COUNT_KIND), value :: count
    integer, pointer :: into(:), out(:)
    call c_f_pointer(to, into, [count])
    call c_f_pointer(from, out, [count])
    into = -out
    conversions = conversions + 1
  end subroutine negate

  subroutine read_negated(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    call negate(userbuf, filebuf, int(count, MPI_COUNT_KIND))
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 13 .and. position == 0)
  end subroutine read_negated

  subroutine write_negated(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    call negate(filebuf, userbuf, int(count, MPI_COUNT_KIND))
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 13 .and. position == 0)
  end subroutine write_negated

  subroutine read_negated_c(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_COUNT_KIND) :: count
    integer :: ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    call negate(userbuf, filebuf, count)
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == 13 .and. position == 0)
  end subroutine read_negated_c

  subroutine measure(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = 4
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER .and. extra_state == 13)
  end subroutine measure
end module f08_representations_procedures

program f08_representations
  use mpi_f08
  use f08_representations_procedures
  implicit none
  integer :: rank, numbers(3), back(3)
  integer(kind=MPI_ADDRESS_KIND) :: state
  integer(kind=MPI_OFFSET_KIND) :: mine
  type(MPI_File) :: file
  character(len=256) :: name

  state = 13
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call name_file()
  call MPI_Register_datarep('negated', read_negated, write_negated, measure, state)
  call MPI_Register_datarep_c('half', read_negated_c, MPI_CONVERSION_FN_NULL_C, measure, state)
  call MPI_Register_datarep('plain', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, measure, state)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
  mine = 3 * rank
  numbers = [5, -6, 7] + rank
  call look_through('negated')
  call MPI_File_write_at_all(file, mine, numbers, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
  call reads(numbers, 2, 'what is written and read is converted')
  call look_through('half')
  call reads(numbers, 3, 'large counts do as well')
  call look_through('plain')
  call reads(-numbers, 3, 'it lies in the file as it should')
  call look_through('half')
  call MPI_File_write_at_all(file, mine, numbers, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
  call reads(-numbers, 4, 'what no procedure converts is written as it is')
  call MPI_File_close(file)
  call MPI_Finalize()

contains
  include 'check.inc'

  subroutine look_through(representation)
    character(len=*), intent(in) :: representation
    integer :: code
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, representation, MPI_INFO_NULL, code)
    call check(code == MPI_SUCCESS, 'there is the representation')
  end subroutine look_through

  subroutine reads(expected, calls, what)
    integer, intent(in) :: expected(3), calls
    character(len=*), intent(in) :: what
    back = 0
    call MPI_File_read_at_all(file, mine, back, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(back == expected) .and. conversions == calls, what)
  end subroutine reads

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
    call MPI_Bcast(name, len(name), MPI_CHARACTER, 0, MPI_COMM_WORLD)
  end subroutine name_file
end program f08_representations
