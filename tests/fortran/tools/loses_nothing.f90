! Makes objects of most kinds, uses and frees them. Whatever is lost at the end, the library has lost.
program loses_nothing
  use mpi
  implicit none
  integer, save :: sent(20000), got(20000)
  integer :: error, rank, ranks, key, twin, spread, group, info, op, count
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2)
  external :: add
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, twin, error)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, error)
  call MPI_Comm_set_attr(twin, key, 7_MPI_ADDRESS_KIND, error)
  call MPI_Type_vector(10, 1, 2, MPI_INTEGER, spread, error)
  call MPI_Type_commit(spread, error)
  call MPI_Op_create(add, .true., op, error)
  call MPI_Info_create(info, error)
  call MPI_Info_set(info, 'key', 'value', error)
  call MPI_Comm_group(twin, group, error)
  count = 1
  do while (count <= 20000)
    call MPI_Isend(sent, count, MPI_INTEGER, modulo(rank + 1, ranks), 0, twin, requests(1), error)
    call MPI_Irecv(got, count, MPI_INTEGER, modulo(rank - 1, ranks), 0, twin, requests(2), error)
    call MPI_Waitall(2, requests, statuses, error)
    call MPI_Allreduce(sent, got, count, MPI_INTEGER, op, twin, error)
    call MPI_Iallreduce(sent, got, count, MPI_INTEGER, MPI_SUM, twin, requests(1), error)
    call MPI_Wait(requests(1), statuses(:, 1), error)
    count = count * 100
  end do
  call MPI_Bcast(got, 1, spread, 0, twin, error)
  call MPI_Group_free(group, error)
  call MPI_Info_free(info, error)
  call MPI_Op_free(op, error)
  call MPI_Type_free(spread, error)
  call MPI_Comm_delete_attr(twin, key, error)
  call MPI_Comm_free_keyval(key, error)
  call MPI_Comm_free(twin, error)
  call MPI_Finalize(error)
end program loses_nothing

subroutine add(in, inout, length, datatype)
  implicit none
  integer :: length, datatype, in(length), inout(length)
  inout = in + inout
end subroutine add
