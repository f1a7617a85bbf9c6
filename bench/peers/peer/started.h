/* Collectives that are started and then waited for, and those of which each rank gets a part of its own length. */
#pragma once
#include "measure.h"

static void finish(MPI_Request request) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ibcast(char *out, char *in, int bytes, int root) {
    MPI_Request request;
    MPI_Ibcast(rank == root ? out : in, bytes, MPI_CHAR, root, MPI_COMM_WORLD, &request);
    finish(request);
}

static void ireduce(char *out, char *in, int bytes, int root) {
    MPI_Request request;
    MPI_Ireduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD, &request);
    finish(request);
}

static void iallreduce(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Request request;
    MPI_Iallreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    finish(request);
}

static void ialltoall(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Request request;
    MPI_Ialltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD, &request);
    finish(request);
}

enum { MOST_PARTS = 64 };

/* As many bytes for each rank, though the library can't know. */
static const int *lengths(int bytes, int each) {
    static int values[2][MOST_PARTS];
    for (int i = 0; i < size && i < MOST_PARTS; i++) values[each][i] = each ? bytes : i * bytes;
    return values[each];
}

static void alltoallv(char *out, char *in, int bytes, int root) {
    (void)root;
    const int *counts = lengths(bytes, 1), *starts = lengths(bytes, 0);
    MPI_Alltoallv(out, counts, starts, MPI_CHAR, in, counts, starts, MPI_CHAR, MPI_COMM_WORLD);
}

static void allgatherv(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Allgatherv(out, bytes, MPI_CHAR, in, lengths(bytes, 1), lengths(bytes, 0), MPI_CHAR, MPI_COMM_WORLD);
}

static void reduce_scatter(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Reduce_scatter(out, in, lengths(bytes / 8, 1), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(char *out, char *in, int bytes, int root) {
    (void)root;
    MPI_Scan(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
