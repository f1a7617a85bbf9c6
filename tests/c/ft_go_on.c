/* Ranks add up, one after the other dies, and those who are left go on with the sum where it was: whenever a rank is killed, the results are
   right. The moments come of a seed, RWMPI_TEST_SEED. mpiexec: --keep-going ranks: 3 4 */
#include "deaths_by_seed.h"

enum { STEPS = 400, LONG = 20000 };

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int rank, size, step = 0, members, *data, *sums;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    data = malloc(LONG * sizeof *data);
    sums = malloc(LONG * sizeof *sums);
    /* Another may have left it, and have died, before this one has. */
    MPI_Barrier(comm);
    arrange_death(rank, size);
    while (step < STEPS) {
        int code, len = step % 3 ? 1 + step % 7 : LONG;
        MPI_Comm_size(comm, &members);
        for (int i = 0; i < len; i++) data[i] = step + i;
        code = MPI_Allreduce(data, sums, len, MPI_INT, MPI_SUM, comm);
        if (code == MPI_SUCCESS) {
            int others = members;
            for (int i = 0; i < len; i++) CHECK(sums[i] == others * (step + i));
        } else {
            int class;
            MPI_Error_class(code, &class);
            CHECK(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED);
            MPIX_Comm_revoke(comm);
        }
        step += done_by_all(code == MPI_SUCCESS, &comm);
    }
    call_death_off();
    MPI_Comm_free(&comm);
    free(data);
    free(sums);
    MPI_Finalize();
    return 0;
}
