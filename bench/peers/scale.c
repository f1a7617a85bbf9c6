/* What many ranks on one node cost, for any MPI.
 *
 *   mpicc -O2 -o scale scale.c
 *   time mpiexec -n 64 ./scale            MPI_Init and MPI_Finalize, nothing between
 *   mpiexec -n 64 ./scale waiting         prints, after every rank has been heard of by all:
 *     memory KIB    of a rank, proportional set size, mean of all
 *     pair US       8 bytes one way between the first two, the median, while all others wait in MPI_Recv
 *
 * The pair goes to and fro for a second, however slow it is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DATA = 1, DONE, TIMES = 1 << 20, DATA_BYTES = 8 };

static double times[TIMES];

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

/* Of this process: its own pages, and of those it shares its part. */
static double proportional_set_kib(void) {
    char line[256];
    double kib = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss: %lf kB", &kib) == 1) break;
    if (file) fclose(file);
    return kib;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first byte says whether another follows. */
static void lead(void) {
    char data[DATA_BYTES] = "more";
    int count = 0;
    for (double begin = now_us(), last = begin; count < TIMES && last < begin + 1e6; count++) {
        MPI_Send(data, DATA_BYTES, MPI_CHAR, 1, DATA, MPI_COMM_WORLD);
        MPI_Recv(data, DATA_BYTES, MPI_CHAR, 1, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double now = now_us();
        times[count] = (now - last) / 2;
        last = now;
    }
    MPI_Send("", 1, MPI_CHAR, 1, DATA, MPI_COMM_WORLD);
    qsort(times, count, sizeof *times, compare);
    printf("pair %.4f\n", times[count / 2]);
}

static void answer(void) {
    char data[DATA_BYTES];
    for (;;) {
        MPI_Recv(data, DATA_BYTES, MPI_CHAR, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!*data) return;
        MPI_Send(data, DATA_BYTES, MPI_CHAR, 0, DATA, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "waiting")) {
        int rank, size;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        int *all = calloc(size, sizeof *all);
        MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        double memory = proportional_set_kib(), sum = 0;
        MPI_Reduce(&memory, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("memory %.0f\n", sum / size);
            lead();
            for (int other = 2; other < size; other++) MPI_Send("", 1, MPI_CHAR, other, DONE, MPI_COMM_WORLD);
        } else if (rank == 1) {
            answer();
        } else {
            char nothing;
            MPI_Recv(&nothing, 1, MPI_CHAR, 0, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        free(all);
    }
    MPI_Finalize();
    return 0;
}
