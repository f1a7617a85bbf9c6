! Calls MPI_Barrier three times, for a tool to count.
program three_barriers
  use mpi
  implicit none
  integer :: error, i
  call MPI_Init(error)
  do i = 1, 3
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program three_barriers
