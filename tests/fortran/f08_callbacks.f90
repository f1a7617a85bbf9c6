! Procedures of the program through the module mpi_f08: attributes, error handlers, generalized requests; infos, groups, sessions.
module f08_procedures
  use mpi_f08
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0, frees = 0
  type(MPI_Comm) :: complained = MPI_COMM_NULL
contains

  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = oldcomm /= MPI_COMM_NULL .and. comm_keyval /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 1000 .and. attribute_val > 0)
    if (comm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID) ierror = MPI_ERR_OTHER
  end subroutine delete

  subroutine delete_from_type(datatype, type_keyval, attribute_val, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype /= MPI_DATATYPE_NULL .and. attribute_val + extra_state == 13)
    if (type_keyval == MPI_KEYVAL_INVALID) ierror = MPI_ERR_OTHER
  end subroutine delete_from_type

  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    complained = comm
    if (error_code /= MPI_SUCCESS) errors = errors + 1
  end subroutine on_error

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 5
    status%MPI_TAG = 6
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, .not. complete .and. extra_state == 7)
  end subroutine cancel
end module f08_procedures

program f08_callbacks
  use mpi_f08
  use f08_procedures
  implicit none
  integer :: rank, ranks, provided

  call MPI_Init_thread(MPI_THREAD_SINGLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call attributes()
  call attributes_of_types()
  call error_handlers()
  call generalized_requests()
  call infos()
  call groups()
  call sessions()
  call texts()
  call MPI_Finalize()

contains

  include 'check.inc'

  subroutine attributes()
    type(MPI_Comm) :: one, other
    integer(kind=MPI_ADDRESS_KIND) :: value
    integer :: key, standing
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check(flag .and. value >= 32767, 'what communicators have from the start')
    call MPI_Comm_create_keyval(copy, delete, key, 1000_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, one)
    call MPI_Comm_set_attr(one, key, 7_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(one, other)
    call MPI_Comm_get_attr(other, key, value, flag)
    call check(flag .and. value == 1007 .and. copies == 1, 'copied')
    call MPI_Comm_delete_attr(one, key)
    call MPI_Comm_free(one)
    call MPI_Comm_free(other)
    call check(deletions == 2, 'deleted')
    call MPI_Comm_free_keyval(key)
    call check(key == MPI_KEYVAL_INVALID, 'the key is freed')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, standing, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, one)
    call MPI_Comm_set_attr(one, standing, -5_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(one, other)
    call MPI_Comm_get_attr(other, standing, value, flag)
    call check(flag .and. value == -5, 'copied by the library')
    call MPI_Comm_free(one)
    call MPI_Comm_free(other)
    call MPI_Comm_free_keyval(standing)
  end subroutine attributes

  subroutine attributes_of_types()
    type(MPI_Datatype) :: row, again
    integer(kind=MPI_ADDRESS_KIND) :: value
    integer :: key, length
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    deletions = 0
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_from_type, key, 3_MPI_ADDRESS_KIND)
    call MPI_Type_contiguous(3, MPI_REAL, row)
    call MPI_Type_set_attr(row, key, 10_MPI_ADDRESS_KIND)
    call MPI_Type_set_name(row, 'row')
    call MPI_Type_dup(row, again)
    call MPI_Type_get_attr(again, key, value, flag)
    call MPI_Type_get_name(row, name, length)
    call check(.not. flag .and. name == 'row' .and. length == 3, 'not copied')
    call MPI_Type_free(again)
    call MPI_Type_free(row)
    call MPI_Type_free_keyval(key)
    call check(deletions == 1, 'deleted with the type')
  end subroutine attributes_of_types

  subroutine error_handlers()
    type(MPI_Errhandler) :: handler, found
    type(MPI_Comm) :: own
    integer :: error, class, length, code
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_dup(MPI_COMM_SELF, own)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(own, handler)
    call MPI_Comm_get_errhandler(own, found)
    call check(found == handler, 'the handler')
    call MPI_Errhandler_free(found)
    call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, own)
    call check(errors == 1 .and. complained == own, 'it is called, also if nobody asks for the code')
    call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, own, error)
    call MPI_Error_class(error, class)
    call MPI_Error_string(error, text, length)
    call check(class == MPI_ERR_RANK .and. errors == 2 .and. length == len_trim(text), 'class and text')
    call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN)
    call MPI_Errhandler_free(handler)
    call check(handler == MPI_ERRHANDLER_NULL, 'it is freed')
    call MPI_Add_error_class(class)
    call MPI_Add_error_code(class, code)
    call MPI_Add_error_string(code, 'of the program')
    call MPI_Comm_call_errhandler(own, code)
    call MPI_Error_string(code, text, length)
    call check(text == 'of the program', 'an own error')
    call MPI_Comm_free(own)
  end subroutine error_handlers

  subroutine generalized_requests()
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: count
    logical :: flag
    integer(kind=MPI_ADDRESS_KIND), target :: state
    state = 7
    call MPI_Grequest_start(query, release, cancel, state, request)
    call MPI_Test(request, flag, MPI_STATUS_IGNORE)
    call check(.not. flag, 'not complete')
    call MPI_Cancel(request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_elements(status, MPI_INTEGER, count)
    call check(count == 7 .and. status%MPI_SOURCE == 5 .and. status%MPI_TAG == 6 .and. frees == 7, 'its status')
  end subroutine generalized_requests

  subroutine infos()
    type(MPI_Info) :: info
    integer :: length, keys
    logical :: flag
    character(len=10) :: value
    character(len=MPI_MAX_INFO_KEY) :: key
    call MPI_Info_create(info)
    call MPI_Info_set(info, ' colour ', ' blue ')
    length = 10
    call MPI_Info_get_string(info, 'colour', length, value, flag)
    call check(flag .and. value == 'blue' .and. length == 4, 'a value')
    call MPI_Info_get_nkeys(info, keys)
    call MPI_Info_get_nthkey(info, 0, key)
    call check(keys == 1 .and. key == 'colour', 'a key')
    call MPI_Info_free(info)
    call check(info == MPI_INFO_NULL, 'freed')
  end subroutine infos

  subroutine groups()
    type(MPI_Group) :: all, evens, none
    type(MPI_Comm) :: half
    integer :: ranges(3, 1), size, place(1)
    call MPI_Comm_group(MPI_COMM_WORLD, all)
    ranges(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_incl(all, 1, ranges, evens)
    call MPI_Group_size(evens, size)
    call check(size == (ranks + 1) / 2, 'every other rank')
    call MPI_Group_translate_ranks(all, 1, [rank], evens, place)
    call check(place(1) == merge(rank / 2, MPI_UNDEFINED, mod(rank, 2) == 0), 'translated')
    call MPI_Comm_create(MPI_COMM_WORLD, evens, half)
    call check((half == MPI_COMM_NULL) .eqv. mod(rank, 2) == 1, 'a communicator of some')
    if (half /= MPI_COMM_NULL) call MPI_Comm_free(half)
    call MPI_Group_difference(all, all, none)
    call check(none == MPI_GROUP_EMPTY, 'nobody')
    call MPI_Group_free(evens)
    call MPI_Group_free(all)
  end subroutine groups

  subroutine sessions()
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    integer :: sets, size, length
    character(len=MPI_MAX_PSET_NAME_LEN) :: name
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, sets)
    length = len(name)
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name)
    call check(sets >= 2 .and. index(name, 'mpi://') == 1, 'a set of processes')
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'f08', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm)
    call MPI_Comm_size(comm, size)
    call check(size == ranks, 'all')
    call MPI_Group_free(group)
    call MPI_Comm_free(comm)
    call MPI_Session_finalize(session)
    call check(session == MPI_SESSION_NULL, 'the session ends')
  end subroutine sessions

  subroutine texts()
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: length, major, minor
    call MPI_Get_processor_name(name, length)
    call check(length == len_trim(name) .and. length > 0, 'name of the host')
    call MPI_Get_library_version(version, length)
    call check(index(version, 'rwmpi') > 0, 'name of the library')
    call MPI_Get_version(major, minor)
    call check(major == MPI_VERSION .and. minor == MPI_SUBVERSION, 'version')
  end subroutine texts
end program f08_callbacks
