/* What many ranks on one node cost, for any MPI.
 *
 *   mpicc -O2 -o scale scale.c
 *   time mpiexec -n 64 ./scale            MPI_Init and MPI_Finalize, nothing between
 *   mpiexec -n 64 ./scale waiting         prints, after every rank has been heard of by all:
 *     memory KIB    of a rank, proportional set size, mean of all
 *     pair US       8 bytes one way between the first two, the median, while all others wait in MPI_Recv
 *
 *   mpiexec -n 64 ./scale beside          prints, to be compared where other programs keep the processors busy, medians:
 *     allreduce US   of 8 bytes
 *     alltoall US    8 bytes from each rank to each other
 *     sparse US      each rank has a message for six others, which do not know of it: MPI_Issend, MPI_Iprobe, MPI_Ibarrier
 *
 * The pair goes to and fro for a second, however slow it is. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DATA = 1, DONE, TIMES = 1 << 20, DATA_BYTES = 8, CALLS = 15, NEIGHBOURS = 6, MESSAGE = 64 };

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

/* Some rank for each number, the same on every machine. */
static int some_rank(uint64_t number, int size) {
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return (number ^ (number >> 31)) % size;
}

static void allreduce(int rank, int size, int call) {
    long own = rank + call, sum;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (sum != (long)size * (size - 1) / 2 + (long)call * size) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void alltoall(int rank, int size, int call) {
    static long *sent, *received;
    if (!sent) sent = malloc(size * sizeof *sent), received = malloc(size * sizeof *received);
    for (int i = 0; i < size; i++) sent[i] = (long)rank * size + i + call;
    MPI_Alltoall(sent, 1, MPI_LONG, received, 1, MPI_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        if (received[i] != (long)i * size + rank + call) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Who has had all its messages taken enters a barrier; once all have, nothing is on its way any more. */
static void sparse(int rank, int size, int call) {
    char data[MESSAGE] = "", got[MESSAGE];
    int tag = DONE + 1 + call % 2, is_in = 0, is_over = 0, flag;
    MPI_Request sends[NEIGHBOURS], barrier;
    for (int i = 0; i < NEIGHBOURS; i++) {
        int to = some_rank(((uint64_t)rank * CALLS + call) * NEIGHBOURS + i + 1, size);
        MPI_Issend(data, MESSAGE, MPI_CHAR, to, tag, MPI_COMM_WORLD, &sends[i]);
    }
    while (!is_over) {
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
        if (flag) MPI_Recv(got, MESSAGE, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (is_in) {
            MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE);
        } else {
            MPI_Testall(NEIGHBOURS, sends, &is_in, MPI_STATUSES_IGNORE);
            if (is_in) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        }
    }
}

static void time_calls(const char *name, void (*call)(int, int, int), int rank, int size) {
    call(rank, size, 0);
    for (int i = 0; i < CALLS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = now_us();
        call(rank, size, i + 1);
        times[i] = now_us() - begin;
    }
    qsort(times, CALLS, sizeof *times, compare);
    if (rank == 0) printf("%s %.1f\n", name, times[CALLS / 2]);
}

static void measure_beside(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    time_calls("allreduce", allreduce, rank, size);
    time_calls("alltoall", alltoall, rank, size);
    time_calls("sparse", sparse, rank, size);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "beside")) measure_beside();
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
