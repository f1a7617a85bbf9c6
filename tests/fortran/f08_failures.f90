! Revoking, agreeing and shrinking, through the module mpi_f08. Nobody dies. ranks: 1 2 3
program f08_failures
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm, shrunk
  type(MPI_Group) :: failed
  type(MPI_Request) :: request
  integer :: rank, size, flag, number, ierror
  logical :: is_revoked

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)

  flag = merge(6, 3, rank == 0)
  call MPIX_Comm_agree(comm, flag)
  if (flag /= merge(6, 2, size == 1)) error stop 'what was agreed on is wrong'
  flag = 5
  call MPIX_Comm_iagree(comm, flag, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (flag /= 5) error stop 'what was agreed on later is wrong'
  call MPIX_Comm_get_failed(comm, failed)
  call MPI_Group_size(failed, number)
  if (number /= 0) error stop 'somebody has died'
  call MPI_Group_free(failed)
  call MPIX_Comm_failure_ack(comm)
  call MPIX_Comm_failure_get_acked(comm, failed)
  call MPI_Group_free(failed)
  call MPI_Comm_ack_failed(comm, 3, number)
  if (number /= 0) error stop 'a death was acknowledged'
  call MPIX_Comm_is_revoked(comm, is_revoked)
  if (is_revoked) error stop 'it is revoked'
  call MPI_Barrier(comm)

  call MPI_Comm_revoke(comm)
  call MPIX_Comm_is_revoked(comm, is_revoked)
  if (.not. is_revoked) error stop 'it is not revoked'
  call MPI_Barrier(comm, ierror)
  if (ierror /= MPIX_ERR_REVOKED) error stop 'a barrier on what is revoked'
  call MPIX_Comm_shrink(comm, shrunk)
  call MPI_Comm_size(shrunk, number)
  if (number /= size) error stop 'somebody is missing'
  call MPI_Barrier(shrunk)
  call MPI_Comm_free(shrunk)
  call MPIX_Comm_ishrink(comm, shrunk, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Barrier(shrunk)
  call MPI_Comm_free(shrunk)
  call MPI_Comm_free(comm)
  call MPI_Finalize()
end program
