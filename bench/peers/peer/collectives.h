/* barrier and the other collectives. */
#pragma once
#include "messages.h"
#include "started.h"

static void barriers(int iterations, size_t bytes) {
    (void)bytes;
    double start = now_us();
    for (int i = 0; i < iterations; i++)
        if (is_memory()) meet_by_memory();
        else MPI_Barrier(MPI_COMM_WORLD);
    keep((now_us() - start) / iterations);
}

/* Collectives: what each rank gives (to each, alltoall) is `bytes` long; roots take turns, so that nobody runs ahead. Up to
 * SINGLE_MIN bytes a sample is the mean of calls in a row; above, one call from a barrier on, until the last rank has left it. */
enum { SINGLE_MIN = 4096 };
typedef void (*collective)(char *out, char *in, int bytes, int root);
static collective the_collective;

static void bcast(char *out, char *in, int bytes, int root) {
    MPI_Bcast(rank == root ? out : in, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
}

static void reduce(char *out, char *in, int bytes, int root) {
    MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}

static void allreduce(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Allgather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void alltoall(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static const struct { const char *name; collective call, by_memory; } collectives[] = {
    {"bcast", bcast, bcast_by_memory},
    {"reduce", reduce, reduce_by_memory},
    {"allreduce", allreduce, allreduce_by_memory},
    {"allgather", allgather, allgather_by_memory},
    {"alltoall", alltoall, alltoall_by_memory},
    {"ibcast", ibcast, NULL},
    {"ireduce", ireduce, NULL},
    {"iallreduce", iallreduce, NULL},
    {"ialltoall", ialltoall, NULL},
    {"alltoallv", alltoallv, NULL},
    {"allgatherv", allgatherv, NULL},
    {"reduce_scatter", reduce_scatter, NULL},
    {"scan", scan, NULL}};

static void fill(double *numbers, size_t count) {
    for (size_t at = 0; at < count; at += LINE / 8) numbers[at] = (double)(++message_serial & 1023);
}

static volatile double last_sum;

/* Reads a word of each line of a result, as a program would: a library that has another rank write there is not to gain by nobody reading it. */
static void consume(const double *numbers, size_t count) {
    double sum = 0;
    for (size_t at = 0; at < count; at += LINE / 8) sum += numbers[at];
    last_sum = sum;
}

/* As `wholly`: what a collective costs a program in all. */
static void allreduce_wholly(int iterations, size_t bytes) {
    char *out = messages[0][0], *in = messages[1][0];
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        fill((double *)out, bytes / 8);
        allreduce(out, in, (int)bytes, 0);
        consume((double *)in, bytes / 8);
    }
    keep((now_us() - start) / iterations);
}

static void collect(int iterations, size_t bytes) {
    char *out = messages[0][0], *in = messages[1][0];
    int single = bytes > SINGLE_MIN;
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        if (single) {
            consume((double *)in, bytes / 8);
            fill((double *)out, bytes / 8);
            MPI_Barrier(MPI_COMM_WORLD);
            start = now_us();
        }
        the_collective(out, in, (int)bytes, i % size);
        if (single) {
            double time = now_us() - start - clock_us, longest = 0;
            MPI_Reduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            keep(longest);
        }
    }
    if (!single) keep((now_us() - start) / iterations);
}
