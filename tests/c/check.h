/* What self-checking programs share. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the job if the condition does not hold. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* The class of what a call has returned. */
static inline int class_of(int code)
{
    int found = -1;
    MPI_Error_class(code, &found);
    return found;
}

/* The call has to return an error of that class. The communicator's handler must be MPI_ERRORS_RETURN. */
#define CHECK_ERROR(call, expected)                                                                \
    do {                                                                                           \
        int check_class = class_of(call);                                                          \
        if (check_class != (expected)) {                                                           \
            fprintf(stderr, "%s:%d: %s gives class %d, not %s\n", __FILE__, __LINE__, #call,       \
                    check_class, #expected);                                                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
