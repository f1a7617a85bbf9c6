/* abstraction: the loops of bench/src/abstraction.rs. */
#pragma once
#include <stddef.h>
#include "messages.h"

struct derived { double position, speed; };
struct padded { double value; _Bool known; };
static MPI_Datatype element;
static int element_bytes;
static MPI_Op operation;

static void exchanges(int iterations, size_t bytes) {
    int count = (int)(bytes / element_bytes);
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        if (rank == 0) MPI_Send(messages[0][0], count, element, peer, DATA, MPI_COMM_WORLD);
        MPI_Recv(messages[1][0], count, element, peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(messages[0][0], count, element, peer, DATA, MPI_COMM_WORLD);
    }
    keep((now_us() - start) / (2 * iterations));
}

static void sums(int iterations, size_t bytes) {
    double start = now_us();
    for (int i = 0; i < iterations; i++)
        MPI_Allreduce(messages[0][0], messages[1][0], (int)(bytes / 8), MPI_DOUBLE, operation, MPI_COMM_WORLD);
    keep((now_us() - start) / iterations);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int at = 0; at < *count; at++) ((double *)inout)[at] += ((double *)in)[at];
}

static void abstraction(size_t bytes) {
    int ones[] = {1, 1};
    MPI_Aint places[] = {offsetof(struct padded, value), offsetof(struct padded, known)};
    MPI_Datatype fields[] = {MPI_DOUBLE, MPI_C_BOOL}, pair, tight, padded;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_create_struct(2, ones, places, fields, &tight);
    MPI_Type_create_resized(tight, 0, sizeof(struct padded), &padded);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&padded);
    struct { const char *name; MPI_Datatype type; int bytes; } types[] = {
        {"bytes", MPI_BYTE, 1}, {"plain", MPI_DOUBLE, 8}, {"derived", pair, sizeof(struct derived)}, {"padded", padded, 9}};
    make_messages(2 * bytes, 1);
    for (int i = 0; i < 2; i++) memset(messages[i][0], 0, 2 * bytes);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        element = types[i].type;
        element_bytes = types[i].bytes;
        if (bytes >= (size_t)element_bytes) measure(types[i].name, exchanges, bytes);
    }
    MPI_Op user;
    MPI_Op_create(add, 1, &user);
    operation = MPI_SUM;
    if (bytes >= 8) measure("sum, named", sums, bytes);
    operation = user;
    if (bytes >= 8) measure("sum, user's", sums, bytes);
    MPI_Op_free(&user);
    MPI_Type_free(&pair);
    MPI_Type_free(&tight);
    MPI_Type_free(&padded);
}
