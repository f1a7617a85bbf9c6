/* What programs share whose threads each have a communicator of their own. */
#ifndef THREADS_H
#define THREADS_H

#include "check.h"
#include <pthread.h>

enum { THREADS = 4 };

static int rank, size, left, right;
static MPI_Comm own[THREADS];

/* MPI_Init_thread, and a communicator for each thread. */
static void initialize(int argc, char **argv)
{
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int index = 0; index < THREADS; index++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &own[index]);
        MPI_Comm_set_errhandler(own[index], MPI_ERRORS_RETURN);
    }
}

/* Runs all threads; `communicate` gets a pointer to the thread's number. */
static void run_threads(void *(*communicate)(void *))
{
    int numbers[THREADS];
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++) {
        numbers[index] = index;
        CHECK(pthread_create(&threads[index], NULL, communicate, &numbers[index]) == 0);
    }
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
}

/* Frees the communicators. */
static int finalize(void)
{
    for (int index = 0; index < THREADS; index++)
        MPI_Comm_free(&own[index]);
    return MPI_Finalize();
}

#endif
