! The last rank ends the job while the others wait for it.
program abort_job
  use mpi
  implicit none
  integer :: error, rank, ranks
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  if (rank == ranks - 1) call MPI_Abort(MPI_COMM_WORLD, 7, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
end program abort_job
