/* overlap: both sides start, compute, and wait; what rank 0 waited. Who is first is settled without MPI, so that nobody makes progress
 * by it. late: the receiver computes twice as long as the sender and only then asks. */
#pragma once
#include "messages.h"

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
