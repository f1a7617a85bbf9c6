/* A rank dies, and the job goes on: what it had sent arrives, what needs it fails, and the rest is as ever. mpiexec: --keep-going
   ranks: 4 */
#include "failures.h"

enum { DEAD = 1, LONG = 3 << 20 };

static int rank, value;
static char *data;

static void receive_what_had_arrived(void)
{
    await_deaths(MPI_COMM_WORLD, 1);
    CHECK(MPI_Recv(&value, 1, MPI_INT, DEAD, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 70);
    CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 80);
    CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, DEAD, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    /* Half of that had been sent. */
    if (rank == 0)
        CHECK_ERROR(MPI_Recv(data, LONG, MPI_CHAR, DEAD, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
}

static void need_the_dead(void)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int index, flag = 0;
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    CHECK_ERROR(MPI_Send(data, LONG, MPI_CHAR, DEAD, 1, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    CHECK_ERROR(MPI_Ssend(&value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    CHECK_ERROR(MPI_Probe(DEAD, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Irecv(&value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    /* The others of several are none the worse for it. */
    CHECK(MPI_Irecv(&value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Irecv(&flag, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Isend(&rank, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[2]) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPIX_ERR_PROC_FAILED && statuses[1].MPI_ERROR == MPI_SUCCESS && flag == rank);
    CHECK(MPI_Irecv(&value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CHECK(index == 0 && requests[0] == MPI_REQUEST_NULL);
    CHECK(MPI_Irecv(&value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
    do index = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    while (index == MPI_SUCCESS && !flag);
    CHECK_ERROR(index, MPIX_ERR_PROC_FAILED);
}

/* Rank 2 sends what the others wait for only once they have acknowledged the death. */
static void receive_from_any(void)
{
    MPI_Request request;
    MPI_Group failed;
    MPI_Status status;
    int number, flag = 0, go = 1;
    CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CHECK_ERROR(MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    for (int times = 0; times < 2; times++) {
        CHECK_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
        CHECK(request != MPI_REQUEST_NULL);
    }
    do number = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    while (number == MPI_SUCCESS && !flag);
    CHECK_ERROR(number, MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
    CHECK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed) == MPI_SUCCESS);
    CHECK(MPI_Group_size(failed, &number) == MPI_SUCCESS && number == 0);
    MPI_Group_free(&failed);
    CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &number) == MPI_SUCCESS && number == 0);
    CHECK(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Comm_ack_failed(MPI_COMM_WORLD, 5, &number) == MPI_SUCCESS && number == 1);
    CHECK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed) == MPI_SUCCESS);
    CHECK(MPI_Group_size(failed, &number) == MPI_SUCCESS && number == 1);
    MPI_Group_free(&failed);
    CHECK(MPI_Send(&go, 1, MPI_INT, 2, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && value == 30 && status.MPI_SOURCE == 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    data = calloc(1, LONG);
    if (rank == DEAD) {
        MPI_Request request;
        for (int to = 0; to < 4; to++) {
            if (to == DEAD) continue;
            MPI_Send((value = 70, &value), 1, MPI_INT, to, 7, MPI_COMM_WORLD);
            MPI_Send((value = 80, &value), 1, MPI_INT, to, 8, MPI_COMM_WORLD);
        }
        MPI_Isend(data, LONG, MPI_CHAR, 0, 9, MPI_COMM_WORLD, &request);
        die();
    }
    receive_what_had_arrived();
    need_the_dead();
    if (rank == 2) {
        for (int times = 0; times < 2; times++) {
            MPI_Status status;
            CHECK(MPI_Probe(times ? 3 : 0, 4, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
            CHECK(MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            value = 30;
            CHECK(MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
    } else {
        receive_from_any();
    }
    /* Large messages between those that live. */
    if (rank == 0) {
        memset(data, 5, LONG);
        CHECK(MPI_Send(data, LONG, MPI_CHAR, 3, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (rank == 3) {
        CHECK(MPI_Recv(data, LONG, MPI_CHAR, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(data[0] == 5 && data[LONG - 1] == 5);
    }
    free(data);
    MPI_Finalize();
    return 0;
}
