/* A connection over loopback and no library: what any library over TCP can reach. */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include "measure.h"

/* Its end, and whether that is looked at again and again instead of slept at. */
static int raw, raw_looks;

static void open_socket(int looks) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, failed = 0;
    raw = listener;
    /* Within a machine nothing is congested: the limit is what goes without a control that sends by the clock (decision 0022). */
    setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    raw_looks = looks;
    if (rank == 0) failed = bind(listener, (void *)&address, length) || listen(listener, 1) || getsockname(listener, (void *)&address, &length);
    MPI_Bcast(&address.sin_port, sizeof address.sin_port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) raw = accept(listener, NULL, NULL);
    else failed = connect(raw, (void *)&address, length);
    if (failed || raw < 0 || setsockopt(raw, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void move_by_socket(char *data, size_t bytes, int writes) {
    char nothing = 0;
    if (bytes == 0) data = &nothing, bytes = 1;
    while (bytes > 0) {
        int flags = raw_looks ? MSG_DONTWAIT : 0;
        ssize_t moved = writes ? send(raw, data, bytes, flags | MSG_NOSIGNAL) : recv(raw, data, bytes, flags);
        if (moved > 0) data += moved, bytes -= moved;
        else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
