/* contention: all ranks at once on one window's memory of rank 0. For as long as a slice lasts each counts its operations; what an operation took in
 * the mean, and what it took the rank that had the fewest: equal shares make both the same. */
#pragma once
#include "windows.h"

enum { SLICE_US = 20000, OPERATIONS_A_LOOK = 16 };

/* One operation of a rank that wants to change memory of rank 0. */
static void (*contended)(void);
static int of_the_unluckiest;

static void contended_fetch_and_op(void) {
    MPI_Fetch_and_op(window.here, window.here + 8, MPI_INT64_T, 0, 0, MPI_SUM, window.handle);
    MPI_Win_flush(0, window.handle);
}

/* Adds one, as often as it takes until nobody else came between. */
static void contended_compare_and_swap(void) {
    int64_t seen = 0, wanted, found;
    for (;;) {
        wanted = seen + 1;
        MPI_Compare_and_swap(&wanted, &seen, &found, MPI_INT64_T, 0, 0, window.handle);
        MPI_Win_flush(0, window.handle);
        if (found == seen) return;
        seen = found;
    }
}

static void contended_lock(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.handle);
    MPI_Put(window.here, 8, MPI_CHAR, 0, 0, 8, MPI_CHAR, window.handle);
    MPI_Win_unlock(0, window.handle);
}

static void contend(int iterations, size_t bytes) {
    int locks_itself = contended == contended_lock;
    (void)bytes;
    for (int i = 0; i < iterations; i++) {
        if (!locks_itself) MPI_Win_lock_all(0, window.handle);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us(), done = 0, took, all, least;
        do {
            for (int n = 0; n < OPERATIONS_A_LOOK; n++) contended();
            done += OPERATIONS_A_LOOK;
        } while ((took = now_us() - start) < SLICE_US);
        if (!locks_itself) MPI_Win_unlock_all(window.handle);
        done /= took;
        MPI_Allreduce(&done, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&done, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        keep(of_the_unluckiest ? 1 / least : size / all);
    }
}

static void contention(int is_allocated) {
    static const struct {
        const char *name;
        void (*once)(void);
    } all[] = {{"fetch_and_op", contended_fetch_and_op}, {"compare_and_swap until", contended_compare_and_swap}, {"lock, put, unlock", contended_lock}};
    char name[64];
    make_window(8, is_allocated);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        contended = all[i].once;
        for (of_the_unluckiest = 0; of_the_unluckiest < 2; of_the_unluckiest++) {
            snprintf(name, sizeof name, "%s, %s, %s", all[i].name, of_the_unluckiest ? "unluckiest" : "contended", is_allocated ? "allocated" : "created");
            measure(name, contend, 8);
        }
    }
    free_window();
}
