/* Requests that the program completes itself (MPI-5.0 section 13.2). ranks: 1 2 */
#include "check.h"

static int queries, frees, cancels, cancelled_after;

static int query(void *state, MPI_Status *status)
{
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = 12;
    return MPI_SUCCESS;
}

static int query_nothing(void *state, MPI_Status *status)
{
    (void)state;
    return query(&(int){0}, status);
}

static int release(void *state)
{
    (void)state;
    frees++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    cancels++;
    cancelled_after = complete;
    return MPI_SUCCESS;
}

/* Completes the request itself, as a program may that has nothing to wait for. */
static int cancel_at_once(void *state, int complete)
{
    cancels += !complete;
    return MPI_Grequest_complete(*(MPI_Request *)state);
}

static int fail(void *state, MPI_Status *status)
{
    (void)state;
    (void)status;
    return MPI_ERR_ARG;
}

int main(int argc, char **argv)
{
    int state = 3, flag = 7, n = 0, rank;
    MPI_Request requests[2], kept;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Grequest_start(query, release, cancel, &state, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Test(&requests[0], &flag, &status) == MPI_SUCCESS && !flag && queries == 0);
    CHECK(MPI_Cancel(&requests[0]) == MPI_SUCCESS && cancels == 1 && !cancelled_after);
    CHECK(MPI_Grequest_complete(requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[0], &status) == MPI_SUCCESS && requests[0] == MPI_REQUEST_NULL);
    CHECK(queries == 1 && frees == 1 && status.MPI_TAG == 12);
    CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 3);
    /* Beside an ordinary one. */
    CHECK(MPI_Grequest_start(query, release, cancel, &state, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Isend(&rank, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Recv(&n, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS && n == rank);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && frees == 2);
    /* Freed before it is complete. */
    CHECK(MPI_Grequest_start(query, release, cancel, &state, &requests[0]) == MPI_SUCCESS);
    kept = requests[0];
    CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && frees == 2);
    CHECK(MPI_Grequest_complete(kept) == MPI_SUCCESS && frees == 3);
    CHECK_ERROR(MPI_Grequest_complete(kept), MPI_ERR_REQUEST);
    /* Completed by its own cancel function. */
    CHECK(MPI_Grequest_start(query_nothing, release, cancel_at_once, &requests[0], &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&requests[0]) == MPI_SUCCESS && cancels == 2);
    CHECK(MPI_Test(&requests[0], &flag, &status) == MPI_SUCCESS && flag && requests[0] == MPI_REQUEST_NULL);
    CHECK(MPI_Grequest_start(fail, release, cancel, &state, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(requests[0]) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Wait(&requests[0], &status), MPI_ERR_ARG);
    MPI_Finalize();
    return 0;
}
