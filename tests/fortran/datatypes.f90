! Derived datatypes through mpif.h: all constructors of MPI-1.2, those that took their place, MPI_BOTTOM with absolute addresses,
! packing.
! options: -fsecond-underscore
! options: -fno-underscoring
program datatypes
  implicit none
  include 'mpif.h'
  integer :: rank, error

  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call layouts()
  call absolute()
  call relative()
  call structures()
  call packing()
  call contents()
  call arrays()
  call MPI_FINALIZE(error)

contains

  include 'check.inc'

  ! Sends one element of a type to this rank itself and receives it as integers.
  subroutine exchange(buffer, type, values, count)
    integer :: type, count, request
    integer, asynchronous :: buffer(*), values(count)
    call MPI_TYPE_COMMIT(type, error)
    call check(error == MPI_SUCCESS, 'commit')
    call MPI_IRECV(values, count, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, request, error)
    call MPI_SEND(buffer, 1, type, rank, 1, MPI_COMM_WORLD, error)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
  end subroutine exchange

  subroutine layouts()
    integer :: matrix(4, 5), type, size, i, j, row(5), got(4), extent, lower, upper
    integer(kind=MPI_ADDRESS_KIND) :: lb, wide
    matrix = reshape([((10 * i + j, i = 1, 4), j = 1, 5)], [4, 5])
    call MPI_TYPE_VECTOR(5, 1, 4, MPI_INTEGER, type, error)
    call exchange(matrix(2, 1), type, row, 5)
    call check(all(row == matrix(2, :)), 'a row is a vector')
    call MPI_TYPE_SIZE(type, size, error)
    call check(size == 20, 'size')
    call MPI_TYPE_EXTENT(type, extent, error)
    call MPI_TYPE_LB(type, lower, error)
    call MPI_TYPE_UB(type, upper, error)
    call check(extent == 68 .and. lower == 0 .and. upper == 68, 'extent and bounds as INTEGER')
    call MPI_TYPE_GET_EXTENT(type, lb, wide, error)
    call check(lb == 0 .and. wide == 68, 'extent')
    call MPI_TYPE_FREE(type, error)
    call check(type == MPI_DATATYPE_NULL, 'freed')
    call MPI_TYPE_HVECTOR(5, 1, 16, MPI_INTEGER, type, error)
    call exchange(matrix(3, 1), type, row, 5)
    call check(all(row == matrix(3, :)), 'hvector with an INTEGER')
    call MPI_TYPE_FREE(type, error)
    call MPI_TYPE_CREATE_HVECTOR(5, 1, 16_MPI_ADDRESS_KIND, MPI_INTEGER, type, error)
    call exchange(matrix(4, 1), type, row, 5)
    call check(all(row == matrix(4, :)), 'hvector')
    call MPI_TYPE_FREE(type, error)
    call MPI_TYPE_CONTIGUOUS(4, MPI_INTEGER, type, error)
    call exchange(matrix(1, 3), type, got, 4)
    call check(all(got == matrix(:, 3)), 'contiguous')
    call MPI_TYPE_FREE(type, error)
    call MPI_TYPE_INDEXED(2, [1, 3], [7, 0], MPI_INTEGER, type, error)
    call exchange(matrix, type, got, 4)
    call check(all(got == [matrix(4, 2), matrix(1:3, 1)]), 'indexed')
    call MPI_TYPE_FREE(type, error)
    call MPI_TYPE_HINDEXED(2, [1, 3], [28, 0], MPI_INTEGER, type, error)
    call exchange(matrix, type, got, 4)
    call check(all(got == [matrix(4, 2), matrix(1:3, 1)]), 'hindexed with INTEGERs')
    call MPI_TYPE_FREE(type, error)
  end subroutine layouts

  subroutine absolute()
    integer, save, asynchronous :: first(3), second(2), got(5)
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    integer :: type, request
    first = [1, 2, 3]
    second = [4, 5]
    call MPI_GET_ADDRESS(first, places(1), error)
    call MPI_GET_ADDRESS(second, places(2), error)
    call MPI_TYPE_CREATE_HINDEXED(2, [3, 2], places, MPI_INTEGER, type, error)
    call MPI_TYPE_COMMIT(type, error)
    call MPI_IRECV(got, 5, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, request, error)
    call MPI_SEND(MPI_BOTTOM, 1, type, rank, 2, MPI_COMM_WORLD, error)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
    call check(all(got == [1, 2, 3, 4, 5]), 'MPI_BOTTOM is where addresses count from')
    call MPI_IRECV(MPI_BOTTOM, 1, type, rank, 3, MPI_COMM_WORLD, request, error)
    call MPI_SEND([9, 8, 7, 6, 5], 5, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, error)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
    call MPI_F_SYNC_REG(first)
    call check(all(first == [9, 8, 7]) .and. all(second == [6, 5]), 'received at MPI_BOTTOM')
    call MPI_TYPE_FREE(type, error)
  end subroutine absolute

  ! Differences of INTEGER addresses are right wherever the variables lie.
  subroutine relative()
    integer :: place(2), type, got(2)
    integer, save :: values(10)
    values = [11, 22, 33, 44, 55, 66, 77, 88, 99, 110]
    call MPI_ADDRESS(values(2), place(1), error)
    call MPI_ADDRESS(values(9), place(2), error)
    call check(place(2) - place(1) == 28, 'distance')
    call MPI_TYPE_STRUCT(2, [1, 1], [0, place(2) - place(1)], [MPI_INTEGER, MPI_INTEGER], type, error)
    call exchange(values(2), type, got, 2)
    call check(all(got == [22, 99]), 'struct with INTEGER displacements')
    call MPI_TYPE_FREE(type, error)
  end subroutine relative

  subroutine structures()
    type :: particle
      sequence
      double precision :: place(3)
      integer :: kind
      character(len=4) :: name
    end type particle
    type(particle), asynchronous :: sent, got
    integer :: type, request
    integer(kind=MPI_ADDRESS_KIND) :: base, places(3)
    call MPI_GET_ADDRESS(sent%place, places(1), error)
    call MPI_GET_ADDRESS(sent%kind, places(2), error)
    call MPI_GET_ADDRESS(sent%name, places(3), error)
    base = places(1)
    places = places - base
    call MPI_TYPE_CREATE_STRUCT(3, [3, 1, 4], places, [MPI_DOUBLE_PRECISION, MPI_INTEGER, MPI_CHARACTER], type, error)
    call MPI_TYPE_COMMIT(type, error)
    sent = particle([1d0, 2d0, 3d0], 4, 'five')
    got = particle([0d0, 0d0, 0d0], 0, '    ')
    call MPI_IRECV(got%place, 1, type, rank, 4, MPI_COMM_WORLD, request, error)
    call MPI_SEND(sent%place, 1, type, rank, 4, MPI_COMM_WORLD, error)
    call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
    call check(all(got%place == sent%place) .and. got%kind == 4 .and. got%name == 'five', 'a structure')
    call MPI_TYPE_FREE(type, error)
  end subroutine structures

  subroutine packing()
    character(len=1) :: memory(200)
    integer :: position, size, number, count, truth_at
    double precision :: value
    logical :: truth
    call MPI_PACK_SIZE(1, MPI_INTEGER, MPI_COMM_WORLD, size, error)
    call check(size >= 4 .and. size <= 100, 'size of packed')
    position = 0
    call MPI_PACK(7, 1, MPI_INTEGER, memory, 200, position, MPI_COMM_WORLD, error)
    call MPI_PACK(2.5d0, 1, MPI_DOUBLE_PRECISION, memory, 200, position, MPI_COMM_WORLD, error)
    truth_at = position
    call MPI_PACK(.true., 1, MPI_LOGICAL, memory, 200, position, MPI_COMM_WORLD, error)
    call check(position > truth_at .and. position <= 200, 'position goes on')
    count = position
    position = 0
    call MPI_UNPACK(memory, count, position, number, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call MPI_UNPACK(memory, count, position, value, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    call MPI_UNPACK(memory, count, position, truth, 1, MPI_LOGICAL, MPI_COMM_WORLD, error)
    call check(number == 7 .and. value == 2.5d0 .and. truth .and. position == count, 'unpacked')
    call external()
  end subroutine packing

  subroutine external()
    character(len=1) :: memory(16)
    integer(kind=MPI_ADDRESS_KIND) :: position, size
    integer :: number
    call MPI_PACK_EXTERNAL_SIZE('external32', 1, MPI_INTEGER, size, error)
    call check(size == 4, 'size in external32')
    position = 0
    call MPI_PACK_EXTERNAL('external32', 258, 1, MPI_INTEGER, memory, 16_MPI_ADDRESS_KIND, position, error)
    call check(position == 4 .and. ichar(memory(3)) == 1 .and. ichar(memory(4)) == 2, 'big end first')
    position = 0
    call MPI_UNPACK_EXTERNAL('external32  ', memory, 4_MPI_ADDRESS_KIND, position, number, 1, MPI_INTEGER, error)
    call check(number == 258, 'unpacked from external32')
  end subroutine external

  subroutine contents()
    integer :: type, integers, addresses, types, combiner, values(10), made_of(10)
    integer(kind=MPI_ADDRESS_KIND) :: places(10)
    character(len=MPI_MAX_OBJECT_NAME) :: name
    integer :: length
    call MPI_TYPE_CREATE_STRUCT(2, [1, 2], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], [MPI_REAL, MPI_LOGICAL], type, error)
    call MPI_TYPE_GET_ENVELOPE(type, integers, addresses, types, combiner, error)
    call check(combiner == MPI_COMBINER_STRUCT .and. integers == 3 .and. addresses == 2 .and. types == 2, 'envelope')
    made_of = -1
    call MPI_TYPE_GET_CONTENTS(type, 10, 10, 10, values, places, made_of, error)
    call check(all(values(1:3) == [2, 1, 2]) .and. places(2) == 8, 'contents')
    call check(all(made_of(1:3) == [MPI_REAL, MPI_LOGICAL, -1]), 'types')
    call MPI_TYPE_SET_NAME(type, 'pair of kinds  ', error)
    name = repeat('x', len(name))
    call MPI_TYPE_GET_NAME(type, name, length, error)
    call check(name == 'pair of kinds' .and. length == 13, 'name')
    call MPI_TYPE_FREE(type, error)
  end subroutine contents

  subroutine arrays()
    integer :: matrix(4, 5), type, i, j, got(6)
    matrix = reshape([((10 * i + j, i = 1, 4), j = 1, 5)], [4, 5])
    call MPI_TYPE_CREATE_SUBARRAY(2, [4, 5], [2, 3], [1, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, type, error)
    call exchange(matrix, type, got, 6)
    call check(all(got == reshape(matrix(2:3, 3:5), [6])), 'a part of a matrix; starts count from zero')
    call MPI_TYPE_FREE(type, error)
    call MPI_TYPE_CREATE_RESIZED(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, type, error)
    call MPI_TYPE_COMMIT(type, error)
    call MPI_SENDRECV(matrix, 5, type, rank, 6, got, 5, MPI_INTEGER, rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check(all(got(1:5) == matrix(1, :)), 'resized')
    call MPI_TYPE_FREE(type, error)
    call MPI_TYPE_CREATE_INDEXED_BLOCK(3, 2, [0, 4, 8], MPI_INTEGER, type, error)
    call exchange(matrix, type, got, 6)
    call check(all(got == reshape(matrix(1:2, 1:3), [6])), 'blocks')
    call MPI_TYPE_FREE(type, error)
    call MPI_TYPE_CREATE_F90_REAL(15, 307, type, error)
    call MPI_TYPE_MATCH_SIZE(MPI_TYPECLASS_REAL, 8, i, error)
    call MPI_TYPE_SIZE(type, j, error)
    call check(j == 8, 'a type by precision')
    call MPI_TYPE_SIZE(i, j, error)
    call check(j == 8, 'a type by size')
  end subroutine arrays
end program datatypes
