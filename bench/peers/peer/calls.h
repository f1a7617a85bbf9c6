/* calls: what the library's front end takes, without any message. */
#pragma once
#include "measure.h"

static void comm_ranks(int iterations, size_t bytes) {
    (void)bytes;
    int found;
    double start = now_us();
    for (int i = 0; i < iterations; i++) MPI_Comm_rank(MPI_COMM_WORLD, &found);
    keep((now_us() - start) / iterations);
}

static void sends_to_nobody(int iterations, size_t bytes) {
    (void)bytes;
    double start = now_us();
    for (int i = 0; i < iterations; i++) MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, DATA, MPI_COMM_WORLD);
    keep((now_us() - start) / iterations);
}
