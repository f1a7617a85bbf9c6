/* Messages whose contents are checked, by MPI or over a raw connection. */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include "measure.h"

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
    /* Within a machine nothing is congested: the limit is what goes without a control that sends by the clock (decision 0022). */
    setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
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
