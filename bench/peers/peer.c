/* The benchmarks of mpi-bench in plain C, for any MPI: the same loops, the same sampling, the same look at the floor before and after
 * every window of samples, so that figures of other libraries can stand beside ours.
 *
 *   mpicc -O2 -o peer peer.c
 *   mpiexec -n 2 ./peer latency 0 8 1048576        sizes in bytes
 *   mpiexec -n 2 ./peer static 1048576             latency between arrays of the program instead of memory from malloc
 *   mpiexec -n 2 ./peer stack 1048576              the same between arrays of a function
 *   mpiexec -n 2 ./peer whole 16384                messages to and fro, both ways at once, and MPI_Allreduce, with the writing and reading of their data
 *   mpiexec -n 2 ./peer bandwidth 65536            64 at once, fewer above 64 KB
 *   mpiexec -n 2 ./peer bidirectional 65536        as many both ways at once; for each that one rank sends
 *   mpiexec -n 2 ./peer tags 10000                 posted and unexpected, in order and in reverse
 *   mpiexec -n 2 ./peer calls                      the front end alone
 *   mpiexec -n 2 ./peer pack                       derived datatypes, 1 MB of data
 *   mpiexec -n 2 ./peer overlap 1048576            what is left to wait for after both sides have computed
 *   mpiexec -n 2 ./peer late 10 65536              sends whose receiver computes before it asks (FiTMPI's table 1)
 *   mpiexec -n 2 ./peer windows 8 1048576          one-sided operations, epochs, a target that computes, making of windows
 *   mpiexec -n 2 ./peer contention                 all ranks on one rank's memory at once; also -n 4
 *   mpiexec -n 2 ./peer puts 8 1048576             puts alone, for networks
 *   mpiexec -n 2 ./peer partitioned 1048576        from the last partition's readiness to the arrival of all, beside a persistent send
 *   mpiexec -n 2 ./peer files 16777216             one file of that many bytes: contiguous, interleaved, shared pointer, behind a computation; also -n 4
 *   mpiexec -n 2 ./peer spawned                    starting two processes
 *   mpiexec -n 2 ./peer abstraction 8 65536        beside mpi-bench abstraction: messages to and fro in several types, and sums
 *   mpiexec -n 1 ./peer threads 8                  one thread and two, each with a communicator; also -n 2
 *   mpiexec -n 4 ./peer barrier
 *   mpiexec -n 4 ./peer allreduce 8 65536          also bcast, reduce, allgather, alltoall: bytes that a rank gives to each; and ibcast, ireduce,
 *                                                  iallreduce, ialltoall, alltoallv, allgatherv, reduce_scatter, scan
 *
 * With PEER_LEVEL=multiple all that is under MPI_THREAD_MULTIPLE, as `threads` always is. With PEER_RAW=looking or PEER_RAW=sleeping,
 * latency, bandwidth and puts are those of a raw connection over loopback between the same two processes: what any library over TCP can reach; with
 * PEER_RAW=passed, read or both, latency, static, stack and collectives are those of two processes that do nothing but copy (raw_memory.h).
 *
 * Ranks are to be bound by mpiexec. See bench/README.md for what each figure means. Each benchmark is in a file of its own beside this
 * one, all on measure.h. */
#define _GNU_SOURCE
#include "peer/abstraction.h"
#include "peer/calls.h"
#include "peer/collectives.h"
#include "peer/contention.h"
#include "peer/files.h"
#include "peer/measure.h"
#include "peer/messages.h"
#include "peer/overlap.h"
#include "peer/pack.h"
#include "peer/partitioned.h"
#include "peer/point_to_point.h"
#include "peer/spawned.h"
#include "peer/tags.h"
#include "peer/threads.h"
#include "peer/windows.h"

/* Whether data of a benchmark can go the way that was chosen. What is copied once lies in shared memory, which the stack does not, and is more than a
 * line holds; collectives that follow each other pass their data, all others copy them once. */
static int has_way(const char *what, size_t bytes) {
    int in_a_row = the_collective && bytes <= SINGLE_MIN;
    if (way == PASSED) return !the_collective || in_a_row;
    if (way == READ || way == BOTH) return bytes > SHORT_MOST && !in_a_row && strcmp(what, "stack");
    return 1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *level = getenv("PEER_LEVEL");
    int barrier = !strcmp(what, "barrier"), threaded = !strcmp(what, "threads"), contends = !strcmp(what, "contention"), provided;
    int required = threaded || (level && !strcmp(level, "multiple")) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, required, &provided);
    own_path = argv[0];
    if (was_spawned()) return 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = 1 - rank;
    const char *raw_way = getenv("PEER_RAW");
    if (raw_way) way = !strcmp(raw_way, "passed") ? PASSED : !strcmp(raw_way, "read") ? READ : !strcmp(raw_way, "both") ? BOTH : BY_SOCKET;
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (!strcmp(what, collectives[i].name)) the_collective = is_memory() ? collectives[i].by_memory : collectives[i].call;
    if (provided < required || (size < 2 && !threaded) || (size > 2 && !barrier && !the_collective && !contends && strcmp(what, "files"))) {
        fprintf(stderr, "start with -n 2: peer latency|static|stack|whole|bandwidth|bidirectional|overlap|late|tags|windows|puts|partitioned|files|abstraction SIZES, peer calls, peer pack, peer spawned, or -n 1 or 2: peer threads SIZES, or -n 2 or more: peer barrier, peer contention, peer COLLECTIVE SIZES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    clock_us = 1e9;
    for (int i = 0; i < 1000; i++) {
        double start = now_us(), cost = now_us() - start;
        if (cost < clock_us) clock_us = cost;
    }
    if (getenv("PEER_SECONDS")) seconds = atof(getenv("PEER_SECONDS"));
    flags = shared_mapping(sizeof *flags);
    if (way == BY_SOCKET) open_socket(!strcmp(raw_way, "looking"));
    if (is_memory()) open_memory();
    if (rank == 0)
        printf("%-24s %9s  %10s  %10s  %10s  %9s  %s  %s  %s  %s\n", "benchmark", "bytes", "min us", "sextile us", "median us",
               "MB/s", "regime", "line", "samples", "dropped");
    if (barrier && has_way(what, 0)) measure("barrier", barriers, 0);
    if (!strcmp(what, "calls")) {
        measure("MPI_Comm_rank", comm_ranks, 0);
        measure("MPI_Send to nobody", sends_to_nobody, 0);
    }
    if (!strcmp(what, "pack")) packs();
    for (int is_allocated = 1; contends && is_allocated >= 0; is_allocated--) contention(is_allocated);
    if (!strcmp(what, "spawned")) measure("spawn 2", spawn_children, 0);
    for (int i = 2; i < argc && !barrier; i++) {
        size_t bytes = strtoull(argv[i], NULL, 10);
        if (!has_way(what, bytes)) continue;
        if (the_collective) {
            make_messages(bytes * size, 1);
            measure(what, collect, bytes);
        } else if (!strcmp(what, "abstraction")) {
            abstraction(bytes);
        } else if (!strcmp(what, "latency")) {
            make_messages(bytes, 1);
            measure(what, ping_pong, bytes);
        } else if (!strcmp(what, "static")) {
            between_static_arrays(bytes);
        } else if (!strcmp(what, "stack")) {
            between_arrays_on_the_stack(bytes);
        } else if (!strcmp(what, "whole")) {
            make_messages(bytes, 1);
            for (at_once = 0; at_once < 2; at_once++) measure(at_once ? "whole, both ways" : "whole, to and fro", wholly, bytes);
            measure("whole, allreduce", allreduce_wholly, bytes);
        } else if (!strcmp(what, "bandwidth") || !strcmp(what, "bidirectional")) {
            make_messages(bytes, window_of(bytes));
            measure(what, what[1] == 'i' ? both_ways : windows, bytes);
        } else if (!strcmp(what, "overlap")) {
            make_messages(bytes, 1);
            for (overlap = 0; overlap < OVERLAPS; overlap++) measure(overlaps[overlap], overlapped, bytes);
            for (without_library = 0; without_library < 2; without_library++)
                measure(without_library ? "look at 64 lines" : "wait for nothing", nothing_left, bytes);
        } else if (!strcmp(what, "windows")) {
            for (int is_allocated = 1; is_allocated >= 0; is_allocated--) on_windows(bytes, is_allocated, i == 2);
        } else if (!strcmp(what, "puts")) {
            puts_over_network(bytes);
        } else if (!strcmp(what, "partitioned")) {
            partitions(bytes);
        } else if (!strcmp(what, "files")) {
            on_files(bytes);
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
