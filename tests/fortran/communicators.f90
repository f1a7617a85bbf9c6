! Groups, communicators, intercommunicators, attributes, names and error handlers through the module mpi.
! options: -fsecond-underscore
! options: -fno-underscoring
module callbacks
  use mpi
  implicit none
  logical :: cancelled = .false.
  ! What a generalized request's procedures get.
  integer(kind=MPI_ADDRESS_KIND) :: mine = 0
  integer :: copies = 0, deletions = 0, errors = 0, last_error = 0, last_communicator = 0
contains
  subroutine copy(communicator, key, extra_state, value_in, value_out, flag, error)
    integer :: communicator, key, error
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    copies = copies + 1
    flag = value_in >= 0
    value_out = value_in + extra_state
    error = MPI_SUCCESS
  end subroutine copy
  subroutine delete(communicator, key, value, extra_state, error)
    integer :: communicator, key, error
    integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
    deletions = deletions + 1
    error = MPI_SUCCESS
    if (value == 13) error = MPI_ERR_OTHER
  end subroutine delete
  subroutine on_error(communicator, code)
    integer :: communicator, code
    errors = errors + 1
    last_error = code
    last_communicator = communicator
  end subroutine on_error
end module callbacks

program communicators
  use mpi
  use callbacks
  implicit none
  integer :: rank, ranks, error, i

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call groups()
  call splitting()
  call between_groups()
  call attributes()
  call predefined_attributes()
  call names()
  call error_handlers()
  call info_objects()
  call requests_of_the_program()
  call sizes()
  call memory()
  call MPI_Finalize(error)

contains

  include 'check.inc'

  subroutine groups()
    integer :: world, group, other, both, size, place, result, translated(2), ranges(3, 1)
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    call MPI_Group_size(world, size, error)
    call MPI_Group_rank(world, place, error)
    call check(size == ranks .and. place == rank, 'the group of all')
    call MPI_Group_incl(world, 1, [ranks - 1], group, error)
    call MPI_Group_rank(group, place, error)
    call check(place == merge(0, MPI_UNDEFINED, rank == ranks - 1), 'one rank')
    call MPI_Group_excl(world, 1, [ranks - 1], other, error)
    call MPI_Group_union(group, other, both, error)
    call MPI_Group_compare(both, world, result, error)
    call check(result == merge(MPI_IDENT, MPI_SIMILAR, ranks == 1), 'union')
    call MPI_Group_translate_ranks(world, 2, [ranks - 1, MPI_PROC_NULL], group, translated, error)
    call check(translated(1) == 0 .and. translated(2) == MPI_PROC_NULL, 'translated')
    call MPI_Group_free(both, error)
    call check(both == MPI_GROUP_NULL, 'group freed')
    call MPI_Group_intersection(world, group, both, error)
    call MPI_Group_compare(both, group, result, error)
    call check(result == MPI_IDENT, 'intersection')
    call MPI_Group_free(both, error)
    call MPI_Group_difference(world, world, both, error)
    call check(both == MPI_GROUP_EMPTY, 'difference')
    ranges(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_incl(world, 1, ranges, both, error)
    call MPI_Group_size(both, size, error)
    call check(size == (ranks + 1) / 2, 'every second rank')
    call MPI_Group_free(both, error)
    call MPI_Group_range_excl(world, 1, ranges, both, error)
    call MPI_Group_size(both, size, error)
    call check(size == ranks / 2, 'the others')
  end subroutine groups

  subroutine splitting()
    integer :: half, copy, place, size, result, single, group, world
    logical :: flag
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, error)
    call MPI_Comm_size(half, size, error)
    call MPI_Comm_rank(half, place, error)
    call check(size == (ranks + 1 - mod(rank, 2)) / 2 .and. place == size - 1 - rank / 2, 'split')
    call MPI_Comm_dup(half, copy, error)
    call MPI_Comm_compare(half, copy, result, error)
    call check(result == MPI_CONGRUENT, 'duplicate')
    call MPI_Comm_test_inter(copy, flag, error)
    call check(.not. flag, 'one group')
    call MPI_Comm_free(copy, error)
    call check(copy == MPI_COMM_NULL, 'communicator freed')
    call MPI_Comm_free(half, error)
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    call MPI_Group_incl(world, 1, [0], group, error)
    call MPI_Comm_create(MPI_COMM_WORLD, group, single, error)
    call check((single /= MPI_COMM_NULL) .eqv. rank == 0, 'created for one')
    if (rank == 0) call MPI_Comm_free(single, error)
    call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, single, error)
    call check(single == MPI_COMM_NULL, 'no colour')
  end subroutine splitting

  subroutine between_groups()
    integer :: half, other, merged, size, value, place, group
    logical :: flag
    if (ranks < 2) return
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, error)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 3, other, error)
    call MPI_Comm_test_inter(other, flag, error)
    call MPI_Comm_remote_size(other, size, error)
    call check(flag .and. size == (ranks + mod(rank, 2)) / 2, 'the other group')
    call MPI_Comm_remote_group(other, group, error)
    call MPI_Group_size(group, value, error)
    call check(value == size, 'its group')
    call MPI_Allreduce(1, value, 1, MPI_INTEGER, MPI_SUM, other, error)
    call check(value == size, 'a sum of the other group')
    call MPI_Intercomm_merge(other, mod(rank, 2) == 0, merged, error)
    call MPI_Comm_rank(merged, place, error)
    call check(place < ranks / 2 .eqv. mod(rank, 2) == 1, 'the high group comes last')
    call MPI_Comm_free(merged, error)
    call MPI_Comm_free(other, error)
    call MPI_Comm_free(half, error)
  end subroutine between_groups

  subroutine attributes()
    integer :: key, copy_of_world, code
    integer(kind=MPI_ADDRESS_KIND) :: value
    integer(kind=MPI_ADDRESS_KIND), parameter :: large = 2_MPI_ADDRESS_KIND ** 40, increment = 5
    logical :: flag
    call MPI_Comm_create_keyval(copy, delete, key, increment, error)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, error)
    call check(.not. flag, 'no attribute yet')
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, large, error)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, error)
    call check(flag .and. value == large, 'a large attribute')
    call MPI_Comm_dup(MPI_COMM_WORLD, copy_of_world, error)
    call MPI_Comm_get_attr(copy_of_world, key, value, flag, error)
    call check(flag .and. value == large + increment .and. copies == 1, 'copied')
    call MPI_Comm_set_attr(copy_of_world, key, 13_MPI_ADDRESS_KIND, error)
    call check(deletions == 1, 'the former value is deleted')
    call MPI_Comm_set_errhandler(copy_of_world, MPI_ERRORS_RETURN, error)
    call MPI_Comm_delete_attr(copy_of_world, key, code)
    call check(code /= MPI_SUCCESS, 'the procedure refuses')
    call MPI_Comm_set_errhandler(copy_of_world, MPI_ERRORS_ARE_FATAL, error)
    deletions = 0
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, error)
    call check(deletions == 1, 'deleted')
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, -1_MPI_ADDRESS_KIND, error)
    call MPI_Comm_free_keyval(key, error)
    call check(key == MPI_KEYVAL_INVALID, 'key freed')
    call duplicated()
    call of_types()
  end subroutine attributes

  subroutine duplicated()
    integer :: key, other, copy_of_self
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, error)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, other, 0_MPI_ADDRESS_KIND, error)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 8_MPI_ADDRESS_KIND, error)
    call MPI_Comm_set_attr(MPI_COMM_SELF, other, 9_MPI_ADDRESS_KIND, error)
    call MPI_Comm_dup(MPI_COMM_SELF, copy_of_self, error)
    call MPI_Comm_get_attr(copy_of_self, key, value, flag, error)
    call check(flag .and. value == 8, 'duplicated')
    call MPI_Comm_get_attr(copy_of_self, other, value, flag, error)
    call check(.not. flag, 'not copied')
    call MPI_Comm_free(copy_of_self, error)
  end subroutine duplicated

  subroutine of_types()
    integer :: key, type, other
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    copies = 0
    call MPI_Type_create_keyval(copy, delete, key, 2_MPI_ADDRESS_KIND, error)
    call MPI_Type_contiguous(2, MPI_INTEGER, type, error)
    call MPI_Type_set_attr(type, key, 40_MPI_ADDRESS_KIND, error)
    call MPI_Type_dup(type, other, error)
    call MPI_Type_get_attr(other, key, value, flag, error)
    call check(flag .and. value == 42 .and. copies == 1, 'an attribute of a datatype')
    call MPI_Type_delete_attr(other, key, error)
    call MPI_Type_free(other, error)
    call MPI_Type_free(type, error)
    call MPI_Type_free_keyval(key, error)
  end subroutine of_types

  subroutine predefined_attributes()
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
    call check(flag .and. value >= 32767, 'tags')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag, error)
    call check(.not. flag .or. value == 0 .or. value == 1, 'clock')
  end subroutine predefined_attributes

  subroutine names()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=4) :: short
    integer :: length
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, error)
    call check(name == 'MPI_COMM_WORLD' .and. length == 14, 'name of the world')
    call MPI_Comm_set_name(MPI_COMM_SELF, ' myself   ', error)
    call MPI_Comm_get_name(MPI_COMM_SELF, name, length, error)
    call check(name == ' myself' .and. length == 7, 'leading blanks count')
    call MPI_Comm_get_name(MPI_COMM_SELF, short, length, error)
    call check(short == ' mys', 'cut')
  end subroutine names

  subroutine error_handlers()
    integer :: handler, found, code, class, length, communicator, other
    character(len=MPI_MAX_ERROR_STRING) :: words
    call MPI_Comm_dup(MPI_COMM_WORLD, communicator, error)
    call MPI_Comm_create_errhandler(on_error, handler, error)
    call MPI_Comm_set_errhandler(communicator, handler, error)
    call MPI_Comm_get_errhandler(communicator, found, error)
    call check(found == handler, 'the handler that was set')
    call MPI_Errhandler_free(found, error)
    call MPI_Send(rank, 1, MPI_INTEGER, ranks, 1, communicator, code)
    call check(errors == 1 .and. code /= MPI_SUCCESS .and. last_error == code, 'the procedure is called')
    call check(last_communicator == communicator, 'with the communicator')
    call MPI_Error_class(code, class, error)
    call check(class == MPI_ERR_RANK, 'class')
    call MPI_Error_string(code, words, length, error)
    call check(length > 0 .and. length == len_trim(words), 'text of the error')
    call MPI_Comm_call_errhandler(communicator, MPI_ERR_OTHER, error)
    call check(errors == 2 .and. last_error == MPI_ERR_OTHER, 'called by the program')
    call MPI_Errhandler_free(handler, error)
    call check(handler == MPI_ERRHANDLER_NULL, 'handler freed')
    call MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN, error)
    call MPI_Comm_get_errhandler(communicator, found, error)
    call check(found == MPI_ERRORS_RETURN, 'a predefined handler')
    call MPI_Bcast(rank, -1, MPI_INTEGER, 0, communicator, code)
    call MPI_Error_class(code, class, error)
    call check(class == MPI_ERR_COUNT, 'the call returns')
    other = communicator
    call MPI_Comm_free(communicator, error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Comm_size(other, length, code)
    call MPI_Error_class(code, class, error)
    call check(class == MPI_ERR_COMM, 'a freed handle')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Add_error_class(class, error)
    call MPI_Add_error_code(class, code, error)
    call MPI_Add_error_string(code, 'out of coffee   ', error)
    call MPI_Error_string(code, words, length, error)
    call check(words == 'out of coffee' .and. length == 13, 'an error of the program')
  end subroutine error_handlers

  subroutine info_objects()
    integer :: info, keys, length
    character(len=20) :: value
    character(len=MPI_MAX_INFO_KEY) :: key
    logical :: flag
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, '  colour ', ' deep blue  ', error)
    call MPI_Info_get_nkeys(info, keys, error)
    call MPI_Info_get_nthkey(info, 0, key, error)
    call check(keys == 1 .and. key == 'colour', 'blanks do not count in keys')
    call MPI_Info_get(info, 'colour', 20, value, flag, error)
    call check(flag .and. value == 'deep blue', 'a value')
    call MPI_Info_get_valuelen(info, 'colour', length, flag, error)
    call check(flag .and. length == 9, 'its length')
    length = 4
    call MPI_Info_get_string(info, 'colour', length, value, flag, error)
    call check(flag .and. length == 9 .and. value == 'deep', 'a part of it')
    value = 'untouched'
    length = 0
    call MPI_Info_get_string(info, 'colour', length, value, flag, error)
    call check(flag .and. length == 9 .and. value == 'untouched', 'its length alone')
    call MPI_Info_get(info, 'shape', 20, value, flag, error)
    call check(.not. flag .and. value == 'untouched', 'no such key')
    call MPI_Info_delete(info, 'colour', error)
    call MPI_Info_free(info, error)
    call check(info == MPI_INFO_NULL, 'info freed')
  end subroutine info_objects

  subroutine requests_of_the_program()
    integer :: request, status(MPI_STATUS_SIZE), count
    logical :: flag
    mine = 6
    call MPI_Grequest_start(query, free, cancel, mine, request, error)
    ! The procedures get the variable itself.
    mine = 7
    call MPI_Test(request, flag, status, error)
    call check(.not. flag, 'not complete yet')
    call MPI_Grequest_complete(request, error)
    call MPI_Wait(request, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    call check(count == 7 .and. request == MPI_REQUEST_NULL, 'a generalized request')
    call check(mine == 70, 'changed by the procedure that frees')
    call MPI_Test_cancelled(status, flag, error)
    call check(.not. flag, 'not cancelled')
    mine = 8
    call MPI_Grequest_start(query, free, cancel, mine, request, error)
    call MPI_Cancel(request, error)
    call check(cancelled, 'the procedure that cancels')
    call MPI_Grequest_complete(request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call check(request == MPI_REQUEST_NULL, 'cancelled')
  end subroutine requests_of_the_program

  subroutine query(extra_state, status, error)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: status(MPI_STATUS_SIZE), error
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state), error)
    call MPI_Status_set_cancelled(status, .false., error)
    status(MPI_SOURCE) = MPI_UNDEFINED
    status(MPI_TAG) = MPI_UNDEFINED
  end subroutine query

  subroutine free(extra_state, error)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: error
    call check(extra_state == 7 .or. extra_state == 8, 'extra state')
    extra_state = 10 * extra_state
    error = MPI_SUCCESS
  end subroutine free

  subroutine cancel(extra_state, complete, error)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: error
    logical :: complete
    call check(extra_state == 8 .and. .not. complete, 'cancelled before it is complete')
    cancelled = .true.
    error = MPI_SUCCESS
  end subroutine cancel

  subroutine sizes()
    integer :: bytes
    double precision :: matrix(3, 3)
    complex(kind=kind(1d0)) :: number
    call MPI_Sizeof(matrix, bytes, error)
    call check(bytes == 8, 'size of a number in a matrix')
    call MPI_Sizeof(number, bytes, error)
    call check(bytes == 16, 'size of a complex number')
    call MPI_Sizeof(rank, bytes, error)
    call check(bytes == 4, 'size of an integer')
    call MPI_Sizeof('four', bytes, error)
    call check(bytes == 4, 'size of a text')
    call MPI_Sizeof(.true., bytes, error)
    call check(bytes == 4, 'size of a LOGICAL')
  end subroutine sizes

  subroutine memory()
    use iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr) :: place
    integer, pointer :: values(:)
    integer(kind=MPI_ADDRESS_KIND) :: address, sum
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, place, ierror=error)
    call c_f_pointer(place, values, [10])
    values = [(i, i = 1, 10)]
    call MPI_Get_address(values(3), address, error)
    call MPI_Get_address(values(1), sum, error)
    call check(MPI_Aint_diff(address, sum) == 8 .and. MPI_Aint_add(sum, 8_MPI_ADDRESS_KIND) == address, 'addresses')
    call MPI_Allreduce(MPI_IN_PLACE, values, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(values(10) == 10 * ranks, 'memory that MPI gives')
    call MPI_Free_mem(values, error)
  end subroutine memory
end program communicators
