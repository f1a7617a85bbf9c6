/* threads: each sends windows to the thread of its number in the other rank, or to itself, on a communicator of its own. */
#pragma once
#include <pthread.h>
#include "messages.h"

enum { MOST_THREADS = 2, WINDOWS = 500 };
static struct worker { MPI_Comm communicator; double begin, end; int iterations, bytes; char *data; } workers[MOST_THREADS];
static int threads;
static pthread_barrier_t start_line;

static void *work(void *mine) {
    struct worker *me = mine;
    MPI_Request requests[2 * WINDOW];
    int receives = size == 1 || rank == 1, sends = size == 1 || rank == 0, other = size == 1 ? 0 : peer;
    int stride = me->bytes > LINE ? me->bytes : LINE;
    pthread_barrier_wait(&start_line);
    me->begin = now_us();
    for (int i = 0; i < me->iterations * WINDOWS; i++) {
        int count = 0;
        for (int m = 0; m < WINDOW && receives; m++)
            MPI_Irecv(me->data + stride * m, me->bytes, MPI_CHAR, other, DATA, me->communicator, &requests[count++]);
        for (int m = 0; m < WINDOW && sends; m++)
            MPI_Isend(me->data + stride * (WINDOW + m), me->bytes, MPI_CHAR, other, DATA, me->communicator, &requests[count++]);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        if (size == 2 && rank == 0) MPI_Recv(NULL, 0, MPI_CHAR, peer, DONE, me->communicator, MPI_STATUS_IGNORE);
        if (size == 2 && rank == 1) MPI_Send(NULL, 0, MPI_CHAR, peer, DONE, me->communicator);
    }
    me->end = now_us();
    return NULL;
}

/* Time for each message of all threads. */
static void rates(int iterations, size_t bytes) {
    pthread_t started[MOST_THREADS];
    double begin = 1e18, end = 0;
    pthread_barrier_init(&start_line, NULL, threads);
    for (int t = 0; t < threads; t++) {
        workers[t].iterations = iterations;
        workers[t].bytes = (int)bytes;
        if (t > 0) pthread_create(&started[t], NULL, work, &workers[t]);
    }
    work(&workers[0]);
    for (int t = 0; t < threads; t++) {
        if (t > 0) pthread_join(started[t], NULL);
        if (workers[t].begin < begin) begin = workers[t].begin;
        if (workers[t].end > end) end = workers[t].end;
    }
    pthread_barrier_destroy(&start_line);
    keep((end - begin) / ((double)threads * iterations * WINDOWS * WINDOW));
}

static void by_threads(size_t bytes) {
    for (int t = 0; t < MOST_THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].communicator);
        free(workers[t].data);
        workers[t].data = calloc(2 * WINDOW, bytes > LINE ? bytes : LINE);
    }
    threads = 1;
    measure("messages of one thread", rates, bytes);
    threads = 2;
    measure("messages of two threads", rates, bytes);
}
