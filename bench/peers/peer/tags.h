/* tags: `bytes` carries how many messages there are. */
#pragma once
#include "messages.h"

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
