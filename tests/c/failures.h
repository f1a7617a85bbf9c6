/* What programs share that go on when ranks die. */
#ifndef FAILURES_H
#define FAILURES_H

#include "check.h"
#include <signal.h>
#include <unistd.h>

/* A check that does not hold is no death that the others go on after. */
#define exit(code) MPI_Abort(MPI_COMM_WORLD, code)

/* This rank dies, as of a fault: nothing of the library runs. */
static inline void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Waits until so many members of the communicator are known to have died. */
static inline void await_deaths(MPI_Comm comm, int number)
{
    int size;
    do {
        MPI_Group failed;
        CHECK(MPIX_Comm_get_failed(comm, &failed) == MPI_SUCCESS);
        CHECK(MPI_Group_size(failed, &size) == MPI_SUCCESS);
        CHECK(MPI_Group_free(&failed) == MPI_SUCCESS);
        usleep(1000);
    } while (size < number);
    CHECK(size == number);
}

/* A rank tells one of its number that it has come so far. */
static inline void tell(int to, MPI_Comm comm)
{
    CHECK(MPI_Send(NULL, 0, MPI_INT, to, 77, comm) == MPI_SUCCESS);
}

static inline void await_word_of(int from, MPI_Comm comm)
{
    CHECK(MPI_Recv(NULL, 0, MPI_INT, from, 77, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

#endif
