/* Messages whose contents are checked, by MPI, over a raw connection or through raw memory. */
#pragma once
#include "raw_memory.h"
#include "raw_socket.h"

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
            if (!is_memory()) free(messages[side][i]);
            messages[side][i] = is_memory() ? shared_memory(rank, side) : calloc(bytes ? bytes : 1, 1);
        }
}

static void send_to(const char *data, size_t bytes, int tag) {
    if (way == BY_LIBRARY) MPI_Send(data, (int)bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD);
    else if (way == BY_SOCKET) move_by_socket((char *)data, bytes, 1);
    else send_by_memory(data, bytes);
}

static void receive(char *data, size_t bytes, int tag) {
    if (way == BY_LIBRARY) MPI_Recv(data, (int)bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (way == BY_SOCKET) move_by_socket(data, bytes, 0);
    else receive_by_memory(data, bytes);
}

static void meet(void) {
    if (rank == 0) receive(NULL, 0, READY);
    else send_to(NULL, 0, READY);
}
