! Windows through the module mpi: created and allocated, their attributes, which are values here, epochs of all kinds, operations and their errors.
module window_callbacks
  use mpi
  implicit none
  integer :: deletions = 0
contains
  subroutine delete(window, key, value, extra_state, error)
    integer :: window, key, error
    integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
    deletions = deletions + 1
    error = MPI_SUCCESS
    if (window == MPI_WIN_NULL .or. value /= 17) error = MPI_ERR_OTHER
  end subroutine delete
end module window_callbacks

program windows
  use mpi
  use window_callbacks
  implicit none
  integer :: rank, ranks, right, left, error, code, class, window
  integer, target :: memory(10)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  memory = 0
  call MPI_Win_create(memory, 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call check(error == MPI_SUCCESS, 'creation')
  call MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN, error)
  call fences()
  call groups()
  call locks()
  call attributes()
  call mistakes()
  call MPI_Win_free(window, error)
  call check(error == MPI_SUCCESS .and. window == MPI_WIN_NULL .and. deletions == 1, 'the window is freed')
  call allocated()
  call MPI_Finalize(error)

contains
  include 'check.inc'

  subroutine fences()
    integer :: values(3), got(3)
    values = [rank, 10 * rank, 100 * rank]
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, window, error)
    call MPI_Put(values, 3, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 3, MPI_INTEGER, window, error)
    call MPI_Win_fence(0, window, error)
    call check(all(memory(3:5) == [left, 10 * left, 100 * left]), 'put')
    call MPI_Get(got, 3, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 3, MPI_INTEGER, window, error)
    call MPI_Accumulate(values, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, window, error)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, window, error)
    call check(all(got == values), 'get')
    call check(rank /= 0 .or. memory(1) == ranks * (ranks - 1) / 2, 'accumulate')
  end subroutine fences

  subroutine groups()
    integer :: all, to, from, value
    logical :: is_over
    call MPI_Win_get_group(window, all, error)
    call MPI_Group_incl(all, 1, [right], to, error)
    call MPI_Group_incl(all, 1, [left], from, error)
    call MPI_Win_post(from, 0, window, error)
    call MPI_Win_start(to, 0, window, error)
    value = 7 + rank
    call MPI_Put(value, 1, MPI_INTEGER, right, 5_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window, error)
    call MPI_Win_complete(window, error)
    is_over = .false.
    do while (.not. is_over)
      call MPI_Win_test(window, is_over, error)
    end do
    call check(memory(6) == 7 + left, 'post and start')
    call MPI_Group_free(all, error)
    call MPI_Group_free(to, error)
    call MPI_Group_free(from, error)
  end subroutine groups

  subroutine locks()
    integer :: one, found, zero, request
    one = 1
    zero = 0
    memory(7:8) = 0
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window, error)
    call MPI_Fetch_and_op(one, found, MPI_INTEGER, 0, 6_MPI_ADDRESS_KIND, MPI_SUM, window, error)
    call MPI_Win_flush(0, window, error)
    call check(found >= 0 .and. found < ranks, 'fetch and op')
    call MPI_Win_unlock(0, window, error)
    call MPI_Win_lock_all(0, window, error)
    call MPI_Compare_and_swap(one, zero, found, MPI_INTEGER, right, 7_MPI_ADDRESS_KIND, window, error)
    call check(found == 0, 'compare and swap')
    call MPI_Rget(found, 1, MPI_INTEGER, right, 7_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call check(found == 1, 'a get with a request')
    call MPI_Win_unlock_all(window, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call check(rank /= 0 .or. memory(7) == ranks, 'all have counted')
  end subroutine locks

  subroutine attributes()
    integer(kind=MPI_ADDRESS_KIND) :: value, address
    integer :: key, length
    logical :: is_set
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Get_address(memory, address, error)
    call MPI_Win_get_attr(window, MPI_WIN_BASE, value, is_set, error)
    call check(is_set .and. value == address, 'base')
    call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, is_set, error)
    call check(is_set .and. value == 40, 'size')
    call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, value, is_set, error)
    call check(is_set .and. value == 4, 'unit')
    call MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, value, is_set, error)
    call check(is_set .and. value == MPI_WIN_FLAVOR_CREATE, 'flavour')
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete, key, 0_MPI_ADDRESS_KIND, error)
    call MPI_Win_set_attr(window, key, 17_MPI_ADDRESS_KIND, error)
    call MPI_Win_get_attr(window, key, value, is_set, error)
    call check(is_set .and. value == 17, 'an attribute of the program''s')
    call MPI_Win_free_keyval(key, error)
    call MPI_Win_set_name(window, 'field', error)
    call MPI_Win_get_name(window, name, length, error)
    call check(length == 5 .and. name == 'field', 'name')
  end subroutine attributes

  subroutine mistakes()
    integer :: value
    value = 1
    call MPI_Put(value, 1, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window, code)
    call MPI_Error_class(code, class, error)
    call check(class == MPI_ERR_RMA_SYNC, 'an operation outside of epochs')
    call MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window, error)
    call MPI_Put(value, 1, MPI_INTEGER, right, 10_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window, code)
    call MPI_Error_class(code, class, error)
    call check(class == MPI_ERR_RMA_RANGE, 'an operation out of range')
    call MPI_Win_unlock(right, window, error)
  end subroutine mistakes

  subroutine allocated()
    use iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr) :: place
    integer, pointer :: own(:), theirs(:)
    integer(kind=MPI_ADDRESS_KIND) :: size
    integer :: unit
    call MPI_Win_allocate_shared(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, place, window, error)
    call c_f_pointer(place, own, [2])
    own = [rank, -rank]
    call MPI_Win_fence(0, window, error)
    call MPI_Win_shared_query(window, right, size, unit, place, error)
    call check(size == 8 .and. unit == 4, 'query')
    call c_f_pointer(place, theirs, [2])
    call check(all(theirs == [right, -right]), 'memory of the neighbour''s')
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, window, error)
    call MPI_Win_free(window, error)
  end subroutine allocated
end program windows
