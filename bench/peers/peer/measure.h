/* How samples are taken: in windows, with a look at the floor before and after each. */
#pragma once
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DATA = 1, READY, DONE, LINE = 64, WINDOW = 64, ROUND_TRIPS = 128, KEPT = 1 << 20 };
enum { WINDOW_BYTES = 4 << 20, WINDOW_LEAST = 4 };

static int rank, size, peer;
static double clock_us, seconds = 0.5;
/* How far apart the two cores are, by what a line takes; figures of two kinds are never mixed. Halves of one core share its first caches. */
static const struct { const char *name; double below_us; } regimes[] = {{"halves", 0.025}, {"close", 0.080}, {"near", 0.200}, {"far", 1e9}};
enum { REGIMES = sizeof regimes / sizeof *regimes };
static double kept[REGIMES][KEPT], fresh[KEPT];
static int kept_count[REGIMES], fresh_count;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void keep(double sample) {
    if (fresh_count < KEPT) fresh[fresh_count++] = sample;
}

/* The floor: a flag to and fro in memory of our own, without MPI. */
struct flag { _Alignas(128) _Atomic uint64_t word; };
static struct { struct flag call, answer; } *flags;
static uint64_t serial;

/* Zeroed memory that all ranks have mapped. */
static void *shared_mapping(size_t bytes) {
    char path[64] = "";
    int fd = -1;
    if (rank == 0) {
        fd = memfd_create("peer-floor", 0);
        if (fd < 0 || ftruncate(fd, bytes)) MPI_Abort(MPI_COMM_WORLD, 1);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0) fd = open(path, O_RDWR);
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    return mapping;
}

static void await(struct flag *flag, uint64_t value, int pausing) {
    while (atomic_load_explicit(&flag->word, memory_order_acquire) != value)
        if (pausing) __builtin_ia32_pause();
}

/* One way of a cache line, us, on all ranks. Only ranks 0 and 1 take part, the others sleep. */
static double look(void) {
    double least = 1e9;
    if (size == 1) return 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 1) {
        usleep(3000);
    } else {
        for (int batch = 0; batch < 80; batch++) {
            double start = now_us();
            for (int i = 0; i < ROUND_TRIPS; i++) {
                serial++;
                if (rank == 0) {
                    atomic_store_explicit(&flags->call.word, serial, memory_order_release);
                    await(&flags->answer, serial, batch & 1);
                } else {
                    await(&flags->call, serial, batch & 1);
                    atomic_store_explicit(&flags->answer.word, serial, memory_order_release);
                }
            }
            double time = (now_us() - start) / (2 * ROUND_TRIPS);
            if (time < least) least = time;
        }
    }
    MPI_Bcast(&least, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return least;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef void (*batch_function)(int iterations, size_t bytes);

static double agreed(double value) {
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return value;
}

/* Runs one window; what the fastest of its batches took. */
static double run(batch_function batch, int iterations, int batches, size_t bytes) {
    double least = 1e18;
    for (int i = 0; i < batches; i++) {
        double start = now_us();
        batch(iterations, bytes);
        double time = now_us() - start;
        if (time < least) least = time;
    }
    return agreed(least);
}

static int regime_of(double line_us) {
    int regime = 0;
    while (line_us >= regimes[regime].below_us) regime++;
    return regime;
}

static void measure(const char *name, batch_function batch, size_t bytes) {
    int iterations = 1, batches = 3, dropped = 0;
    memset(kept_count, 0, sizeof kept_count);
    double line[REGIMES] = {1e9, 1e9, 1e9}, begin = now_us(), before = look();
    for (;;) {
        fresh_count = 0;
        double least_batch = run(batch, iterations, batches, bytes);
        batches = least_batch > 10000 ? 1 : (int)(10000 / (least_batch + 1));
        if (least_batch < 10 && iterations < 1 << 20) {
            iterations *= 2;
            batches = 3;
            continue;
        }
        double after = look(), least = before < after ? before : after, most = before + after - least;
        int regime = regime_of(after);
        if (most > 1.25 * least || regime != regime_of(before)) {
            dropped += fresh_count;
        } else {
            for (int i = 0; i < fresh_count && kept_count[regime] < KEPT; i++) kept[regime][kept_count[regime]++] = fresh[i];
            if (least < line[regime]) line[regime] = least;
        }
        before = after;
        int found = 0;
        for (int i = 0; i < REGIMES; i++) found = kept_count[i] > found ? kept_count[i] : found;
        if (agreed(now_us() - begin >= seconds * 1e6 * (found < 150 ? 4 : 1))) break;
    }
    for (int i = 0; i < REGIMES && rank == 0; i++) {
        int n = kept_count[i];
        if (n == 0) continue;
        qsort(kept[i], n, sizeof(double), compare);
        double sextile = kept[i][n / 6 ? n / 6 - 1 : 0], median = kept[i][n / 2 ? n / 2 - 1 : 0];
        printf("%-24s %9zu  %10.4f  %10.4f  %10.4f  %9.1f  %-5s   %5.0f  %7d  %7d\n", name, bytes, kept[i][0], sextile, median,
               bytes / kept[i][0], regimes[i].name, line[i] * 1e3, n, dropped);
        fflush(stdout);
    }
}
