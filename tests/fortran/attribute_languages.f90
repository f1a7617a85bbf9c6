! Attributes that one language sets and another reads (MPI-5.0 section 19.3.7): in Fortran they are integers of either kind, in C
! pointers, to what Fortran has set.
! ranks: 1 2
module languages
  use mpi
  use iso_c_binding
  implicit none

  interface
    integer(c_int) function c_comm_get(object, key, value, flag) bind(C, name='MPI_Comm_get_attr')
      import
      integer(c_intptr_t), value :: object
      integer(c_int), value :: key
      type(c_ptr) :: value
      integer(c_int) :: flag
    end function c_comm_get
    integer(c_int) function c_comm_set(object, key, value) bind(C, name='MPI_Comm_set_attr')
      import
      integer(c_intptr_t), value :: object, value
      integer(c_int), value :: key
    end function c_comm_set
    integer(c_int) function c_comm_create(copy, delete, key, extra) bind(C, name='MPI_Comm_create_keyval')
      import
      type(c_funptr), value :: copy, delete
      integer(c_int) :: key
      type(c_ptr), value :: extra
    end function c_comm_create
    integer(c_int) function c_type_get(object, key, value, flag) bind(C, name='MPI_Type_get_attr')
      import
      integer(c_intptr_t), value :: object
      integer(c_int), value :: key
      type(c_ptr) :: value
      integer(c_int) :: flag
    end function c_type_get
    integer(c_int) function c_type_set(object, key, value) bind(C, name='MPI_Type_set_attr')
      import
      integer(c_intptr_t), value :: object, value
      integer(c_int), value :: key
    end function c_type_set
  end interface

  integer :: c_copies = 0, c_deletions = 0, fortran_copies = 0, fortran_deletions = 0
  integer(c_long_long) :: seen_in_c = 0
  integer(kind=MPI_ADDRESS_KIND) :: seen_in_fortran = 0

contains

  ! The handle of a communicator or a datatype in C.
  integer(c_intptr_t) function in_c(handle)
    integer, intent(in) :: handle
    in_c = iand(int(handle, c_intptr_t), int(z'ffffffff', c_intptr_t))
  end function in_c

  ! C's functions: they look at what the pointer leads to, and give on the pointer.
  integer(c_int) function copy_in_c(object, key, extra, given, made, flag) bind(C)
    integer(c_intptr_t), value :: object
    integer(c_int), value :: key
    type(c_ptr), value :: extra, given
    type(c_ptr) :: made
    integer(c_int) :: flag
    integer(c_long_long), pointer :: at
    call c_f_pointer(given, at)
    seen_in_c = at
    c_copies = c_copies + 1
    made = given
    flag = 1
    copy_in_c = 0
  end function copy_in_c

  integer(c_int) function delete_in_c(object, key, given, extra) bind(C)
    integer(c_intptr_t), value :: object
    integer(c_int), value :: key
    type(c_ptr), value :: given, extra
    integer(c_long_long), pointer :: at
    call c_f_pointer(given, at)
    seen_in_c = at
    c_deletions = c_deletions + 1
    delete_in_c = 0
  end function delete_in_c

  subroutine copy(object, key, extra_state, value_in, value_out, flag, error)
    integer :: object, key, error
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    fortran_copies = fortran_copies + 1
    seen_in_fortran = value_in
    value_out = value_in + extra_state
    flag = .true.
    error = MPI_SUCCESS
  end subroutine copy

  subroutine delete(object, key, value, extra_state, error)
    integer :: object, key, error
    integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
    fortran_deletions = fortran_deletions + 1
    seen_in_fortran = value
    error = MPI_SUCCESS
  end subroutine delete
end module languages

program attribute_languages
  use languages
  implicit none
  integer(kind=MPI_ADDRESS_KIND), parameter :: large = 5555_MPI_ADDRESS_KIND * 2_MPI_ADDRESS_KIND ** 32
  integer :: error

  call MPI_Init(error)
  call communicators(40_MPI_ADDRESS_KIND)
  call communicators(-40_MPI_ADDRESS_KIND)
  call datatypes(large + 1)
  call datatypes(-large)
  call duplicated_by_fortran()
  call duplicated_by_c()
  call freed_keys()
  call MPI_Finalize(error)

contains

  include 'check.inc'

  ! What C finds for that key: the pointer.
  type(c_ptr) function in_c_of(comm, key)
    integer, intent(in) :: comm, key
    integer(c_int) :: flag
    in_c_of = c_null_ptr
    call check(c_comm_get(in_c(comm), key, in_c_of, flag) == 0 .and. flag == 1, 'C finds the attribute')
  end function in_c_of

  integer(kind=MPI_ADDRESS_KIND) function address_at(pointer)
    type(c_ptr), intent(in) :: pointer
    integer(kind=MPI_ADDRESS_KIND), pointer :: at
    call c_f_pointer(pointer, at)
    address_at = at
  end function address_at

  integer function integer_at(pointer)
    type(c_ptr), intent(in) :: pointer
    integer, pointer :: at
    call c_f_pointer(pointer, at)
    integer_at = at
  end function integer_at

  ! Each of three sets, each of three reads.
  subroutine communicators(value)
    integer(kind=MPI_ADDRESS_KIND), intent(in) :: value
    integer(kind=MPI_ADDRESS_KIND) :: got
    integer :: key, small
    logical :: flag
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, error)
    ! INTEGER of address size.
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, value * 2_MPI_ADDRESS_KIND ** 32 + 7, error)
    call MPI_Comm_get_attr(MPI_COMM_SELF, key, got, flag, error)
    call check(flag .and. got == value * 2_MPI_ADDRESS_KIND ** 32 + 7, 'address to address')
    call MPI_Attr_get(MPI_COMM_SELF, key, small, flag, error)
    call check(flag .and. small == 7, 'address to integer')
    call check(address_at(in_c_of(MPI_COMM_SELF, key)) == value * 2_MPI_ADDRESS_KIND ** 32 + 7, 'address to C')
    ! INTEGER.
    call MPI_Attr_put(MPI_COMM_SELF, key, int(value), error)
    call MPI_Attr_get(MPI_COMM_SELF, key, small, flag, error)
    call check(flag .and. small == value, 'integer to integer')
    call MPI_Comm_get_attr(MPI_COMM_SELF, key, got, flag, error)
    call check(flag .and. got == value, 'integer to address')
    call check(integer_at(in_c_of(MPI_COMM_SELF, key)) == value, 'integer to C')
    ! C.
    call check(c_comm_set(in_c(MPI_COMM_SELF), key, int(value, c_intptr_t)) == 0, 'C sets')
    call MPI_Comm_get_attr(MPI_COMM_SELF, key, got, flag, error)
    call check(flag .and. got == value, 'C to address')
    call MPI_Attr_get(MPI_COMM_SELF, key, small, flag, error)
    call check(flag .and. small == value, 'C to integer')
    call check(transfer(in_c_of(MPI_COMM_SELF, key), 0_c_intptr_t) == value, 'C to C')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, error)
    call MPI_Comm_free_keyval(key, error)
  end subroutine communicators

  subroutine datatypes(value)
    integer(kind=MPI_ADDRESS_KIND), intent(in) :: value
    integer(kind=MPI_ADDRESS_KIND) :: got
    integer :: key, type
    integer(c_int) :: flag_in_c
    type(c_ptr) :: pointer
    logical :: flag
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, error)
    call MPI_Type_set_attr(MPI_INTEGER, key, value, error)
    call check(c_type_get(in_c(MPI_INTEGER), key, pointer, flag_in_c) == 0 .and. flag_in_c == 1, 'C finds it')
    call check(address_at(pointer) == value, 'a type, address to C')
    call MPI_Type_dup(MPI_INTEGER, type, error)
    call MPI_Type_delete_attr(MPI_INTEGER, key, error)
    call check(c_type_get(in_c(type), key, pointer, flag_in_c) == 0 .and. flag_in_c == 1, 'the duplicate has it')
    call check(address_at(pointer) == value, 'a duplicate, address to C')
    call check(c_type_set(in_c(type), key, int(value, c_intptr_t)) == 0, 'C sets')
    call MPI_Type_get_attr(type, key, got, flag, error)
    call check(flag .and. got == value, 'a type, C to address')
    call MPI_Type_free(type, error)
    call MPI_Type_free_keyval(key, error)
  end subroutine datatypes

  ! Fortran's functions get integers, and what they make is of the language that has set it.
  subroutine duplicated_by_fortran()
    integer :: key, other
    call MPI_Comm_create_keyval(copy, delete, key, 3_MPI_ADDRESS_KIND, error)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, large, error)
    call MPI_Comm_dup(MPI_COMM_SELF, other, error)
    call check(fortran_copies == 1 .and. seen_in_fortran == large, 'copied by Fortran')
    call check(address_at(in_c_of(other, key)) == large + 3, 'a copy for C')
    call MPI_Comm_free(other, error)
    call check(fortran_deletions == 1 .and. seen_in_fortran == large + 3, 'deleted by Fortran')
    call check(c_comm_set(in_c(MPI_COMM_SELF), key, 1000_c_intptr_t) == 0, 'C sets')
    call MPI_Comm_dup(MPI_COMM_SELF, other, error)
    call check(seen_in_fortran == 1000, 'a pointer copied by Fortran')
    call check(transfer(in_c_of(other, key), 0_c_intptr_t) == 1003, 'a pointer for C')
    call MPI_Comm_free(other, error)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, error)
    call MPI_Comm_free_keyval(key, error)
  end subroutine duplicated_by_fortran

  ! C's functions get a pointer to what Fortran has set; who gives it on gives the value on.
  subroutine duplicated_by_c()
    integer :: key, other
    integer(kind=MPI_ADDRESS_KIND) :: got
    logical :: flag
    call check(c_comm_create(c_funloc(copy_in_c), c_funloc(delete_in_c), key, c_null_ptr) == 0, 'C makes a key')
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, large, error)
    call MPI_Comm_dup(MPI_COMM_SELF, other, error)
    call check(c_copies == 1 .and. seen_in_c == large, 'copied by C')
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 8_MPI_ADDRESS_KIND, error)
    call check(c_deletions == 1 .and. seen_in_c == large, 'deleted by C')
    call MPI_Comm_get_attr(other, key, got, flag, error)
    call check(flag .and. got == large, 'the copy has a value of its own')
    call check(address_at(in_c_of(other, key)) == large, 'also for C')
    call MPI_Comm_free(other, error)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, error)
    call check(c_deletions == 3 .and. seen_in_c == 8, 'all deleted by C')
    call MPI_Comm_free_keyval(key, error)
  end subroutine duplicated_by_c

  ! A key that is freed goes on naming the attributes that are left.
  subroutine freed_keys()
    integer :: key, kept, type, code
    integer(kind=MPI_ADDRESS_KIND) :: got
    logical :: flag
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, error)
    kept = key
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 9_MPI_ADDRESS_KIND, error)
    call MPI_Comm_free_keyval(key, error)
    call MPI_Comm_get_attr(MPI_COMM_SELF, kept, got, flag, error)
    call check(key == MPI_KEYVAL_INVALID .and. flag .and. got == 9, 'an attribute of a freed key')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, kept, error)
    call check(error == MPI_SUCCESS, 'deleted by a freed key')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
    call MPI_Comm_get_attr(MPI_COMM_SELF, kept, got, flag, code)
    call check(code /= MPI_SUCCESS, 'the key is gone with its last attribute')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Type_contiguous(2, MPI_INTEGER, type, error)
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, error)
    kept = key
    call MPI_Type_set_attr(type, key, 9_MPI_ADDRESS_KIND, error)
    call MPI_Type_free_keyval(key, error)
    call MPI_Type_delete_attr(type, kept, error)
    call check(error == MPI_SUCCESS, 'an attribute of a type deleted by a freed key')
    call MPI_Type_free(type, error)
  end subroutine freed_keys
end program attribute_languages
