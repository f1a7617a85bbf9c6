/* A nonblocking reduction by the program's own function goes on in every call that waits, whatever that is about. ranks: 2 3 */
#include "check.h"

enum { COUNT = 200000, ROUNDS = 5 };

static void add(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)out)[i] += ((int *)in)[i];
}

static int rank, size;

/* Waits in a call on `other` until the ranks have reduced on their common communicator. */
static void wait_elsewhere(MPI_Comm other, int how)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    char byte = 0, got = 1;
    MPI_Request request;
    MPI_Status status;
    switch (how) {
    case 0:
        if (rank == 0)
            MPI_Ssend(&byte, 1, MPI_CHAR, next, 0, other);
        return;
    case 1:
        MPI_Probe(MPI_PROC_NULL, 0, other, &status);
        MPI_Sendrecv(&byte, 1, MPI_CHAR, next, 1, &got, 1, MPI_CHAR, previous, 1, other, MPI_STATUS_IGNORE);
        break;
    case 2:
        MPI_Irecv(&got, 1, MPI_CHAR, previous, 2, other, &request);
        MPI_Send(&byte, 1, MPI_CHAR, next, 2, other);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Barrier(other);
        return;
    }
    CHECK(got == 0);
}

int main(int argc, char **argv)
{
    static int given[COUNT], result[COUNT];
    MPI_Comm one, other;
    MPI_Request request;
    MPI_Op op;
    char byte;
    int round, how, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    for (i = 0; i < COUNT; i++)
        given[i] = rank + i;
    for (how = 0; how < 4; how++) {
        for (round = 0; round < ROUNDS; round++) {
            /* The first round is before there is an operation. */
            if (round == 0)
                MPI_Iallreduce(given, result, COUNT, MPI_INT, MPI_SUM, one, &request);
            else
                MPI_Iallreduce(given, result, COUNT, MPI_INT, op, one, &request);
            wait_elsewhere(other, how);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (i = 0; i < COUNT; i += 999)
                CHECK(result[i] == size * (size - 1) / 2 + size * i);
            /* Who has not received yet comes out of the reduction only if the sender takes part in it while it waits. */
            if (how == 0 && rank == 1)
                MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, other, MPI_STATUS_IGNORE);
            if (round == 0 && how == 0)
                MPI_Op_create(add, 1, &op);
        }
    }
    MPI_Op_free(&op);
    MPI_Comm_free(&one);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
