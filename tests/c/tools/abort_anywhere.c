/* Calls MPI_Abort from where programs have it: a handler of a signal that comes in the middle of a call, or a function for the exit. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_signal(int number)
{
    (void)number;
    MPI_Abort(MPI_COMM_WORLD, 13);
}

static void at_exit(void)
{
    MPI_Abort(MPI_COMM_WORLD, 13);
}

static void raises(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
    raise(SIGFPE);
}

/* Sends and receives until the signal comes, wherever that is. */
static void exchange(int rank, int size)
{
    static char out[50000], in[50000];
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, sum;
    for (;;) {
        MPI_Sendrecv(out, sizeof out, MPI_BYTE, next, 0, in, sizeof in, MPI_BYTE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "";
    int rank, size, number = 0, sum, level;
    MPI_Request request;
    MPI_Op op;
    if (strstr(where, "threads"))
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    signal(SIGALRM, on_signal);
    signal(SIGSEGV, on_signal);
    signal(SIGFPE, on_signal);
    signal(SIGABRT, on_signal);
    if (rank == size - 1 && !strstr(where, "exit") && !strstr(where, "operation") && !strstr(where, "address"))
        ualarm(300000, 0);
    if (strstr(where, "receive"))
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strstr(where, "test")) {
        MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
        for (level = 0; !level;)
            MPI_Test(&request, &level, MPI_STATUS_IGNORE);
    }
    if (strstr(where, "exchange"))
        exchange(rank, size);
    if (strstr(where, "operation")) {
        MPI_Op_create(raises, 1, &op);
        MPI_Allreduce(&number, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    }
    if (strstr(where, "address")) {
        if (rank == size - 1)
            MPI_Bcast((void *)0x100000, 100, MPI_BYTE, rank, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (strstr(where, "exit")) {
        atexit(at_exit);
        if (rank == size - 1)
            strstr(where, "twice") ? (void)MPI_Abort(MPI_COMM_WORLD, 13) : exit(3);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
