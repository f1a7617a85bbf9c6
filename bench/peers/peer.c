/* The benchmarks of mpi-bench in plain C, for any MPI: the same loops, the same sampling, the same look at the floor before and after
 * every window of samples, so that figures of other libraries can stand beside ours.
 *
 *   mpicc -O2 -o peer peer.c
 *   mpiexec -n 2 ./peer latency 0 8 1048576        sizes in bytes
 *   mpiexec -n 2 ./peer static 1048576             latency between arrays of the program instead of memory from malloc
 *   mpiexec -n 2 ./peer bandwidth 65536            64 at once, fewer above 64 KB
 *   mpiexec -n 2 ./peer bidirectional 65536        as many both ways at once; for each that one rank sends
 *   mpiexec -n 2 ./peer tags 10000                 posted and unexpected, in order and in reverse
 *   mpiexec -n 2 ./peer calls                      the front end alone
 *   mpiexec -n 2 ./peer pack                       derived datatypes, 1 MB of data
 *   mpiexec -n 2 ./peer overlap 1048576            what is left to wait for after both sides have computed
 *   mpiexec -n 2 ./peer late 10 65536              sends whose receiver computes before it asks (FiTMPI's table 1)
 *   mpiexec -n 2 ./peer abstraction 8 65536        beside mpi-bench abstraction: messages to and fro in several types, and sums
 *   mpiexec -n 1 ./peer threads 8                  one thread and two, each with a communicator; also -n 2
 *   mpiexec -n 4 ./peer barrier
 *   mpiexec -n 4 ./peer allreduce 8 65536          also bcast, reduce, allgather, alltoall: bytes that a rank gives to each
 *
 * With PEER_LEVEL=multiple all that is under MPI_THREAD_MULTIPLE, as `threads` always is. With PEER_RAW=looking or PEER_RAW=sleeping,
 * latency and bandwidth are those of a raw connection over loopback between the same two processes: what any library over TCP can reach.
 *
 * Ranks are to be bound by mpiexec. See bench/README.md for what each figure means. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
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
/* How far apart the two cores are, by what a line takes; figures of two kinds are never mixed. */
static const struct { const char *name; double below_us; } regimes[] = {{"close", 0.080}, {"near", 0.200}, {"far", 1e9}};
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

static void open_flags(void) {
    char path[64] = "";
    int fd = -1;
    if (rank == 0) {
        fd = memfd_create("peer-floor", 0);
        if (fd < 0 || ftruncate(fd, 4096)) MPI_Abort(MPI_COMM_WORLD, 1);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0) fd = open(path, O_RDWR);
    flags = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (flags == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
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

static char *messages[2][WINDOW];
static uint64_t message_serial;

static void stamp(char *bytes, size_t length, uint64_t value) {
    for (size_t at = 0; at < length; at += LINE) memcpy(bytes + at, &value, length - at < 8 ? length - at : 8);
}

static void check(const char *bytes, size_t length, uint64_t value) {
    for (size_t at = 0; at < length; at += LINE)
        if (memcmp(bytes + at, &value, length - at < 8 ? length - at : 8)) {
            fprintf(stderr, "wrong data at byte %zu\n", at);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

static void make_messages(size_t bytes, int count) {
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < count; i++) {
            free(messages[side][i]);
            messages[side][i] = calloc(bytes ? bytes : 1, 1);
        }
}

/* The raw connection: its socket, or -1; whether it is looked at again and again instead of slept at. */
static int raw = -1, raw_looks;

static void open_raw(const char *way) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, failed = 0;
    raw = listener;
    raw_looks = !strcmp(way, "looking");
    if (rank == 0) failed = bind(listener, (void *)&address, length) || listen(listener, 1) || getsockname(listener, (void *)&address, &length);
    MPI_Bcast(&address.sin_port, sizeof address.sin_port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) raw = accept(listener, NULL, NULL);
    else failed = connect(raw, (void *)&address, length);
    if (failed || raw < 0 || setsockopt(raw, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void move_raw(char *data, size_t bytes, int writes) {
    char nothing = 0;
    if (bytes == 0) data = &nothing, bytes = 1;
    while (bytes > 0) {
        int flags = raw_looks ? MSG_DONTWAIT : 0;
        ssize_t moved = writes ? send(raw, data, bytes, flags | MSG_NOSIGNAL) : recv(raw, data, bytes, flags);
        if (moved > 0) data += moved, bytes -= moved;
        else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void send_to(const char *data, size_t bytes, int tag) {
    if (raw < 0) MPI_Send(data, (int)bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD);
    else move_raw((char *)data, bytes, 1);
}

static void receive(char *data, size_t bytes, int tag) {
    if (raw < 0) MPI_Recv(data, (int)bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else move_raw(data, bytes, 0);
}

static void meet(void) {
    if (rank == 0) receive(NULL, 0, READY);
    else send_to(NULL, 0, READY);
}

static void ping_pong(int iterations, size_t bytes) {
    char *out = messages[0][0], *in = messages[1][0];
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        int single = bytes > LINE;
        message_serial++;
        stamp(out, bytes, message_serial);
        if (single) meet();
        if (rank == 0) {
            double begin = single ? now_us() : 0;
            send_to(out, bytes, DATA);
            receive(in, bytes, DATA);
            if (single) keep((now_us() - begin - clock_us) / 2);
        } else {
            receive(in, bytes, DATA);
            send_to(out, bytes, DATA);
        }
        check(in, bytes, message_serial);
    }
    if (bytes <= LINE) keep((now_us() - start) / (2 * iterations));
}

static int window_of(size_t bytes) {
    size_t window = WINDOW_BYTES / (bytes ? bytes : 1);
    return window > WINDOW ? WINDOW : window < WINDOW_LEAST ? WINDOW_LEAST : (int)window;
}

static void windows(int iterations, size_t bytes) {
    int window = window_of(bytes);
    MPI_Request requests[WINDOW];
    for (int i = 0; i < iterations; i++, message_serial += window) {
        for (int m = 0; m < window && rank == 0; m++) stamp(messages[0][m], bytes, message_serial + m);
        meet();
        double start = now_us();
        for (int m = 0; m < window; m++) {
            if (raw >= 0) move_raw(messages[rank][m], bytes, rank == 0);
            else if (rank == 0) MPI_Isend(messages[0][m], (int)bytes, MPI_CHAR, 1, DATA, MPI_COMM_WORLD, &requests[m]);
            else MPI_Irecv(messages[1][m], (int)bytes, MPI_CHAR, 0, DATA, MPI_COMM_WORLD, &requests[m]);
        }
        if (raw < 0) MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) receive(NULL, 0, DONE);
        else send_to(NULL, 0, DONE);
        keep((now_us() - start - clock_us) / window);
        for (int m = 0; m < window && rank == 1; m++) check(messages[1][m], bytes, message_serial + m);
    }
}

/* threads: each sends windows to the thread of its number in the other rank, or to itself, on a communicator of its own. */
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

static void both_ways(int iterations, size_t bytes) {
    int window = window_of(bytes);
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < iterations; i++, message_serial += window) {
        for (int m = 0; m < window; m++) stamp(messages[0][m], bytes, message_serial + m);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us();
        for (int m = 0; m < window; m++) MPI_Irecv(messages[1][m], (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[m]);
        for (int m = 0; m < window; m++) MPI_Isend(messages[0][m], (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[window + m]);
        MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
        keep((now_us() - start - clock_us) / window);
        for (int m = 0; m < window; m++) check(messages[1][m], bytes, message_serial + m);
    }
}

/* What no library can have allocated. */
enum { STATIC_MOST = 4 << 20 };
static _Alignas(4096) char arrays[2][STATIC_MOST];

static void between_arrays(size_t bytes) {
    if (bytes > STATIC_MOST) bytes = STATIC_MOST;
    make_messages(0, 1);
    char *allocated[2] = {messages[0][0], messages[1][0]};
    for (int side = 0; side < 2; side++) messages[side][0] = arrays[side];
    measure("latency, static", ping_pong, bytes);
    for (int side = 0; side < 2; side++) messages[side][0] = allocated[side];
}

static void barriers(int iterations, size_t bytes) {
    (void)bytes;
    double start = now_us();
    for (int i = 0; i < iterations; i++) MPI_Barrier(MPI_COMM_WORLD);
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

static const struct { const char *name; collective call; } collectives[] = {
    {"bcast", bcast}, {"reduce", reduce}, {"allreduce", allreduce}, {"allgather", allgather}, {"alltoall", alltoall}};

static void fill(double *numbers, size_t count) {
    for (size_t at = 0; at < count; at += LINE / 8) numbers[at] = (double)(++message_serial & 1023);
}

static void collect(int iterations, size_t bytes) {
    char *out = messages[0][0], *in = messages[1][0];
    int single = bytes > SINGLE_MIN;
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        if (single) {
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

/* calls: what the library's front end takes, without any message. */
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

/* pack: 1 MB of data out of four layouts and back, and a loop written by hand for the first of them. */
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

/* tags: `bytes` carries how many messages there are. */
static int posted, reverse;

static void tags(int iterations, size_t count) {
    uint64_t *words = calloc(count, sizeof *words);
    MPI_Request *requests = calloc(count, sizeof *requests);
    for (int i = 0; i < iterations; i++) {
        double time = 0, start;
        if (rank == 0) {
            if (posted) receive(NULL, 0, READY);
            for (size_t tag = 0; tag < count; tag++) {
                words[tag] = tag;
                MPI_Isend(&words[tag], 8, MPI_CHAR, 1, 10 + (int)tag, MPI_COMM_WORLD, &requests[tag]);
            }
            MPI_Waitall((int)count, requests, MPI_STATUSES_IGNORE);
            if (!posted) send_to(NULL, 0, DONE);
            receive((char *)&time, sizeof time, READY);
            keep(time / count);
            continue;
        }
        if (!posted) receive(NULL, 0, DONE);
        start = now_us();
        for (size_t at = 0; at < count; at++) {
            int tag = 10 + (int)(reverse ? count - 1 - at : at);
            if (posted) MPI_Irecv(&words[at], 8, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &requests[at]);
            else receive((char *)&words[at], 8, tag);
        }
        if (posted) {
            start = now_us();
            send_to(NULL, 0, READY);
            MPI_Waitall((int)count, requests, MPI_STATUSES_IGNORE);
        }
        time = now_us() - start;
        for (size_t at = 0; at < count; at++)
            if (words[at] != (reverse ? count - 1 - at : at)) MPI_Abort(MPI_COMM_WORLD, 1);
        send_to((char *)&time, sizeof time, READY);
    }
    free(words);
    free(requests);
}

/* overlap: both sides start, compute, and wait; what rank 0 waited. Who is first is settled without MPI, so that nobody makes progress
 * by it. late: the receiver computes twice as long as the sender and only then asks. */
enum { COMPUTING_US = 10000 };
enum { TRANSFER, RECEIVER_WAITS, SENDER_WAITS, RECEIVER_WAITS_LATE, SENDER_WAITS_LATE, OVERLAPS };
static const char *overlaps[] = {"transfer", "receiver's wait", "sender's wait", "receiver's wait, late", "sender's wait, late"};
static int overlap, part;

/* What a wait takes in any case after a computation: that for a message of this rank to itself that is here already, and, without any
 * library, a look at as many lines of memory as fit into 4 KB, in an order that no prefetcher knows. */
enum { COLD_LINES = 64 };
static _Alignas(64) volatile unsigned cold[COLD_LINES][LINE / sizeof(unsigned)];
static int without_library;

static void compute(double us) {
    for (double end = now_us() + us; now_us() < end;) {}
}

/* Starts a send or receive: rank `first` before the other. */
static void start_in_order(int first, MPI_Request *request, char *data, size_t bytes, int sends) {
    serial++;
    if (rank != first) await(&flags->call, serial, 1);
    if (sends) MPI_Isend(data, (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, request);
    else MPI_Irecv(data, (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, request);
    if (rank == first) atomic_store_explicit(&flags->call.word, serial, memory_order_release);
}

static void overlapped(int iterations, size_t bytes) {
    int sends = (rank == 0) == (overlap == SENDER_WAITS || overlap == SENDER_WAITS_LATE || overlap == TRANSFER);
    int late = overlap == RECEIVER_WAITS_LATE || overlap == SENDER_WAITS_LATE, sender = sends ? rank : peer;
    for (int i = 0; i < iterations; i++) {
        char *data = messages[!sends][0];
        MPI_Request request;
        message_serial++;
        if (sends) stamp(data, bytes, message_serial);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us();
        start_in_order(late ? sender : 1 - sender, &request, data, bytes, sends);
        if (overlap != TRANSFER) {
            compute(COMPUTING_US);
            start = now_us();
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        keep(now_us() - start - clock_us);
        if (!sends) check(data, bytes, message_serial);
    }
}

static void nothing_left(int iterations, size_t bytes) {
    (void)bytes;
    for (unsigned line = 0; line < COLD_LINES; line++) cold[line][0] = (line + 27) % COLD_LINES;
    for (int i = 0; i < iterations; i++) {
        unsigned sent = i, received = 0, line = 0;
        MPI_Request requests[2];
        MPI_Irecv(&received, 1, MPI_UNSIGNED, rank, DATA, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_UNSIGNED, rank, DATA, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        for (int n = 0; n < COLD_LINES; n++) line = cold[line][0];
        compute(COMPUTING_US);
        double start = now_us();
        if (without_library)
            for (int n = 0; n < COLD_LINES; n++) line = cold[line][0];
        else MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        keep(now_us() - start - clock_us);
        if (without_library) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (received != sent || line != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void late(int iterations, size_t bytes) {
    for (int i = 0; i < iterations; i++) {
        char *data = messages[rank][0];
        message_serial++;
        if (rank == 0) stamp(data, bytes, message_serial);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            compute(2 * COMPUTING_US);
            receive(data, bytes, DATA);
            check(data, bytes, message_serial);
            continue;
        }
        MPI_Request request;
        double start = now_us();
        if (part == 2) send_to(data, bytes, DATA);
        else MPI_Isend(data, (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &request);
        double started = now_us(), waited = started;
        if (part != 2) {
            compute(COMPUTING_US);
            waited = now_us();
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        keep((part == 1 ? now_us() - waited : started - start) - clock_us);
    }
}

/* abstraction: the loops of bench/src/abstraction.rs. */
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

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *level = getenv("PEER_LEVEL");
    int barrier = !strcmp(what, "barrier"), threaded = !strcmp(what, "threads"), provided;
    int required = threaded || (level && !strcmp(level, "multiple")) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, required, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = 1 - rank;
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (!strcmp(what, collectives[i].name)) the_collective = collectives[i].call;
    if (provided < required || (size < 2 && !threaded) || (size > 2 && !barrier && !the_collective)) {
        fprintf(stderr, "start with -n 2: peer latency|static|bandwidth|bidirectional|overlap|late|tags|abstraction SIZES, peer calls, peer pack, or -n 1 or 2: peer threads SIZES, or -n 2 or more: peer barrier, peer COLLECTIVE SIZES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    clock_us = 1e9;
    for (int i = 0; i < 1000; i++) {
        double start = now_us(), cost = now_us() - start;
        if (cost < clock_us) clock_us = cost;
    }
    if (getenv("PEER_SECONDS")) seconds = atof(getenv("PEER_SECONDS"));
    open_flags();
    if (getenv("PEER_RAW")) open_raw(getenv("PEER_RAW"));
    if (rank == 0)
        printf("%-24s %9s  %10s  %10s  %10s  %9s  %s  %s  %s  %s\n", "benchmark", "bytes", "min us", "sextile us", "median us",
               "MB/s", "regime", "line", "samples", "dropped");
    if (barrier) measure("barrier", barriers, 0);
    if (!strcmp(what, "calls")) {
        measure("MPI_Comm_rank", comm_ranks, 0);
        measure("MPI_Send to nobody", sends_to_nobody, 0);
    }
    if (!strcmp(what, "pack")) packs();
    for (int i = 2; i < argc && !barrier; i++) {
        size_t bytes = strtoull(argv[i], NULL, 10);
        if (the_collective) {
            make_messages(bytes * size, 1);
            measure(what, collect, bytes);
        } else if (!strcmp(what, "abstraction")) {
            abstraction(bytes);
        } else if (!strcmp(what, "latency")) {
            make_messages(bytes, 1);
            measure(what, ping_pong, bytes);
        } else if (!strcmp(what, "static")) {
            between_arrays(bytes);
        } else if (!strcmp(what, "bandwidth") || !strcmp(what, "bidirectional")) {
            make_messages(bytes, window_of(bytes));
            measure(what, what[1] == 'i' ? both_ways : windows, bytes);
        } else if (!strcmp(what, "overlap")) {
            make_messages(bytes, 1);
            for (overlap = 0; overlap < OVERLAPS; overlap++) measure(overlaps[overlap], overlapped, bytes);
            for (without_library = 0; without_library < 2; without_library++)
                measure(without_library ? "look at 64 lines" : "wait for nothing", nothing_left, bytes);
        } else if (threaded) {
            by_threads(bytes);
        } else if (!strcmp(what, "late")) {
            static const char *parts[] = {"Isend, late receiver", "Wait, late receiver", "Send, late receiver"};
            make_messages(bytes, 1);
            for (part = 0; part < 3; part++) measure(parts[part], late, bytes);
        } else if (!strcmp(what, "tags")) {
            static const char *names[] = {"unexpected, in order", "unexpected, in reverse", "posted, in order", "posted, in reverse"};
            for (int kind = 0; kind < 4; kind++) {
                posted = kind / 2;
                reverse = kind % 2;
                measure(names[kind], tags, bytes);
            }
        }
    }
    MPI_Finalize();
}
