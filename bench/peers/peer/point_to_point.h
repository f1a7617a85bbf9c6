/* latency, static, stack, whole, bandwidth, bidirectional. */
#pragma once
#include "messages.h"

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

/* What messages cost a program in all: what the writing of what is sent and the reading of what has come takes is part of it. A library that leaves the
 * program's lines with the other core pays less during its calls, and the program more between them. */
static int at_once;

static void wholly(int iterations, size_t bytes) {
    char *out = messages[0][0], *in = messages[1][0];
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        message_serial++;
        stamp(out, bytes, message_serial);
        if (at_once) {
            MPI_Sendrecv(out, (int)bytes, MPI_CHAR, peer, DATA, in, (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(in, bytes, message_serial);
        } else if (rank == 0) {
            send_to(out, bytes, DATA);
            receive(in, bytes, DATA);
            check(in, bytes, message_serial);
        } else {
            receive(in, bytes, DATA);
            check(in, bytes, message_serial);
            send_to(out, bytes, DATA);
        }
    }
    keep((now_us() - start) / (at_once ? iterations : 2 * iterations));
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
            if (way == BY_SOCKET) move_by_socket(messages[rank][m], bytes, rank == 0);
            else if (rank == 0) MPI_Isend(messages[0][m], (int)bytes, MPI_CHAR, 1, DATA, MPI_COMM_WORLD, &requests[m]);
            else MPI_Irecv(messages[1][m], (int)bytes, MPI_CHAR, 0, DATA, MPI_COMM_WORLD, &requests[m]);
        }
        if (way == BY_LIBRARY) MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) receive(NULL, 0, DONE);
        else send_to(NULL, 0, DONE);
        keep((now_us() - start - clock_us) / window);
        for (int m = 0; m < window && rank == 1; m++) check(messages[1][m], bytes, message_serial + m);
    }
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

/* Between arrays that no library can have allocated. */
static void ping_pong_between(const char *name, char *out, char *in, size_t bytes) {
    char *allocated[2] = {messages[0][0], messages[1][0]};
    messages[0][0] = out;
    messages[1][0] = in;
    measure(name, ping_pong, bytes);
    for (int side = 0; side < 2; side++) messages[side][0] = allocated[side];
}

enum { STATIC_MOST = 4 << 20, STACK_MOST = 1 << 20 };
static _Alignas(4096) char arrays[2][STATIC_MOST];

static void between_static_arrays(size_t bytes) {
    if (bytes > STATIC_MOST) bytes = STATIC_MOST;
    make_messages(bytes, 1);
    /* What does without a library copies to and from such memory as it can share. */
    if (is_memory()) measure("latency, static", ping_pong, bytes);
    else ping_pong_between("latency, static", arrays[0], arrays[1], bytes);
}

static void between_arrays_on_the_stack(size_t bytes) {
    _Alignas(4096) char on_stack[2][STACK_MOST];
    if (bytes > STACK_MOST) bytes = STACK_MOST;
    make_messages(0, 1);
    ping_pong_between("latency, stack", on_stack[0], on_stack[1], bytes);
}
