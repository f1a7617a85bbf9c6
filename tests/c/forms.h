/* The forms of one collective: blocking, nonblocking and persistent, each also with large counts. */
#ifndef FORMS_H
#define FORMS_H

#include "check.h"

enum form { BLOCKING, LARGE, NONBLOCKING, LARGE_NONBLOCKING, PERSISTENT, LARGE_PERSISTENT, FORMS };

/* What a call of a form has started. */
static MPI_Request request;

/* Completes it. A persistent request is used twice in a row on the same data. */
static void end(enum form form)
{
    if (form == NONBLOCKING || form == LARGE_NONBLOCKING)
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    if (form >= PERSISTENT) {
        int again, flag = 0;
        for (again = 0; again < 2; again++) {
            CHECK(MPI_Start(&request) == MPI_SUCCESS);
            if (again)
                CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            else
                while (!flag)
                    CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        CHECK(request != MPI_REQUEST_NULL);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    }
}

/* Calls one of the forms, and completes what it has started. */
#define DO(form, blocking, large, nonblocking, large_nonblocking, persistent, large_persistent)    \
    do {                                                                                           \
        CHECK(((form) == BLOCKING            ? (blocking)                                          \
               : (form) == LARGE             ? (large)                                             \
               : (form) == NONBLOCKING       ? (nonblocking)                                       \
               : (form) == LARGE_NONBLOCKING ? (large_nonblocking)                                 \
               : (form) == PERSISTENT        ? (persistent)                                        \
                                             : (large_persistent)) == MPI_SUCCESS);                \
        end(form);                                                                                 \
    } while (0)

#endif
