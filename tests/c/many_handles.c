/* As many objects of a kind as programs make. ranks: 1 */
#include "check.h"

enum { MANY = 1100000 };

static void groups(void)
{
    MPI_Group *groups = malloc(MANY * sizeof *groups);
    int i, size = 0;
    for (i = 0; i < MANY; i++)
        CHECK(MPI_Comm_group(MPI_COMM_WORLD, &groups[i]) == MPI_SUCCESS);
    CHECK(groups[0] != groups[MANY - 1] && MPI_Group_size(groups[MANY - 1], &size) == MPI_SUCCESS && size == 1);
    for (i = 0; i < MANY; i++)
        CHECK(MPI_Group_free(&groups[i]) == MPI_SUCCESS);
    free(groups);
}

static void datatypes(void)
{
    MPI_Datatype *types = malloc(MANY * sizeof *types);
    int i, size = 0;
    for (i = 0; i < MANY; i++)
        CHECK(MPI_Type_dup(MPI_INT, &types[i]) == MPI_SUCCESS);
    CHECK(types[0] != types[MANY - 1] && MPI_Type_size(types[MANY - 1], &size) == MPI_SUCCESS && size == 4);
    for (i = 0; i < MANY; i++)
        CHECK(MPI_Type_free(&types[i]) == MPI_SUCCESS);
    free(types);
}

/* In each of several lanes there are fewer handles: then the call that gets none says so, and has started nothing. */
static void requests(void)
{
    MPI_Request *requests = malloc(MANY * sizeof *requests);
    int *got = calloc(MANY, sizeof *got), made, i, error = MPI_SUCCESS;
    for (made = 0; made < MANY; made++)
        if ((error = MPI_Irecv(&got[made], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[made])))
            break;
    if (made < MANY) {
        CHECK(made > 500000 && getenv("RWMPI_LANES"));
        CHECK_ERROR(error, MPI_ERR_NO_MEM);
        CHECK_ERROR(MPI_Isend(&made, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[made]), MPI_ERR_NO_MEM);
        CHECK(MPI_Recv(&i, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS && i == made);
    }
    for (i = 0; i < made; i++)
        CHECK(MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(MPI_Iprobe(0, 1, MPI_COMM_SELF, &i, MPI_STATUS_IGNORE) == MPI_SUCCESS && i == 0);
    CHECK(MPI_Waitall(made, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (i = 0; i < made; i++)
        CHECK(got[i] == i && requests[i] == MPI_REQUEST_NULL);
    free(requests);
    free(got);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    groups();
    datatypes();
    requests();
    MPI_Finalize();
    return 0;
}
