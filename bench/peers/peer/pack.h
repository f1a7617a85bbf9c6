/* pack: 1 MB of data out of four layouts and back, and a loop written by hand for the first of them. */
#pragma once
#include "measure.h"

enum { PACKED = 1 << 20, NUMBERS = PACKED / 8, SPREAD = 2 };
static double *spread, *packed;
static MPI_Datatype layout;
static int unpacking;

static void by_hand(int iterations, size_t bytes) {
    (void)bytes;
    for (int i = 0; i < iterations; i++) {
        double start = now_us();
        for (int at = 0; at < NUMBERS; at++) packed[at] = spread[SPREAD * at];
        __asm__ volatile("" ::: "memory");
        keep(now_us() - start - clock_us);
    }
}

static void pack(int iterations, size_t bytes) {
    for (int i = 0; i < iterations; i++) {
        int place = 0;
        double start = now_us();
        if (unpacking) MPI_Unpack(packed, (int)bytes, &place, spread, 1, layout, MPI_COMM_WORLD);
        else MPI_Pack(spread, 1, layout, packed, (int)bytes, &place, MPI_COMM_WORLD);
        keep(now_us() - start - clock_us);
    }
}

static void packs(void) {
    enum { BLOCK = 4, BLOCKS = NUMBERS / BLOCK, EDGE = 64, PLANES = NUMBERS / EDGE / EDGE };
    static const char *names[] = {"vector", "indexed", "struct", "subarray"};
    int *lengths = calloc(BLOCKS, sizeof *lengths), *places = calloc(BLOCKS, sizeof *places);
    spread = calloc(3 * NUMBERS, 8);
    packed = calloc(NUMBERS, 8);
    for (int at = 0; at < 3 * NUMBERS; at++) spread[at] = at;
    measure("pack vector by hand", by_hand, PACKED);
    for (int kind = 0; kind < 4; kind++) {
        char name[32];
        if (kind == 0) MPI_Type_vector(NUMBERS, 1, SPREAD, MPI_DOUBLE, &layout);
        if (kind == 1) {
            for (int at = 0; at < BLOCKS; at++) lengths[at] = 1 + at % 7, places[at] = 8 * at;
            for (int at = 0, left = NUMBERS; at < BLOCKS; at++) {
                if (lengths[at] > left || at == BLOCKS - 1) lengths[at] = left < 8 ? left : 7;
                left -= lengths[at];
            }
            MPI_Type_indexed(BLOCKS, lengths, places, MPI_DOUBLE, &layout);
        }
        if (kind == 2) {
            int counts[] = {1, 2, 1};
            MPI_Aint at[] = {0, 8, 32};
            MPI_Datatype types[] = {MPI_INT64_T, MPI_DOUBLE, MPI_UINT64_T}, one, sized;
            MPI_Type_create_struct(3, counts, at, types, &one);
            MPI_Type_create_resized(one, 0, 40, &sized);
            MPI_Type_contiguous(NUMBERS / 4, sized, &layout);
            MPI_Type_free(&one);
            MPI_Type_free(&sized);
        }
        if (kind == 3) {
            int whole[] = {PLANES + 2, EDGE + 2, EDGE + 2}, inner[] = {PLANES, EDGE, EDGE}, from[] = {1, 1, 1};
            MPI_Type_create_subarray(3, whole, inner, from, MPI_ORDER_C, MPI_DOUBLE, &layout);
        }
        MPI_Type_commit(&layout);
        int bytes;
        MPI_Type_size(layout, &bytes);
        for (unpacking = 0; unpacking < 2; unpacking++) {
            snprintf(name, sizeof name, "%s %s", unpacking ? "unpack" : "pack", names[kind]);
            measure(name, pack, bytes);
        }
        MPI_Type_free(&layout);
    }
}
