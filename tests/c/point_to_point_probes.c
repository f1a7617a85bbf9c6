/* Probes, matched probes, statuses (MPI-5.0 sections 3.2.5, 3.8 and 13.3). */
#include "check.h"

static int rank, size, left, right;

static void plain(void)
{
    int values[3] = {1, 2, 3}, got[3], n, flag = 0;
    MPI_Status status;
    MPI_Request request;
    CHECK(MPI_Iprobe(left, 77, MPI_COMM_WORLD, &flag, &status) == MPI_SUCCESS && !flag);
    CHECK(MPI_Isend(values, 3, MPI_INT, right, 4, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 4);
    CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 3);
    CHECK(MPI_Iprobe(left, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag);
    CHECK(MPI_Recv(got, 3, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && got[2] == 3);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Probe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    flag = 0;
    CHECK(MPI_Iprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &flag, &status) == MPI_SUCCESS && flag);
    CHECK_ERROR(MPI_Probe(size, 4, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
}

static void matched(void)
{
    int values[2] = {10, 20}, got[2] = {0, 0}, flag = 0, n;
    MPI_Message message = MPI_MESSAGE_NULL, second = MPI_MESSAGE_NULL, stale;
    MPI_Status status;
    MPI_Request request, sends[2];
    CHECK(MPI_Isend(&values[0], 1, MPI_INT, right, 5, MPI_COMM_WORLD, &sends[0]) == MPI_SUCCESS);
    CHECK(MPI_Isend(&values[1], 1, MPI_INT, right, 5, MPI_COMM_WORLD, &sends[1]) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(left, 5, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS && message != MPI_MESSAGE_NULL);
    CHECK(status.MPI_SOURCE == left && MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 1);
    while (!flag)
        CHECK(MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &second, &status) == MPI_SUCCESS);
    stale = second;
    CHECK(MPI_Imrecv(&got[1], 1, MPI_INT, &second, &request) == MPI_SUCCESS && second == MPI_MESSAGE_NULL);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && got[1] == 20 && status.MPI_TAG == 5);
    CHECK(MPI_Mrecv(&got[0], 1, MPI_INT, &message, &status) == MPI_SUCCESS && message == MPI_MESSAGE_NULL);
    CHECK(got[0] == 10 && status.MPI_SOURCE == left);
    CHECK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Mrecv(got, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST);
    CHECK_ERROR(MPI_Mrecv(got, 1, MPI_INT, &stale, &status), MPI_ERR_REQUEST);
    CHECK(MPI_Improbe(left, 6, MPI_COMM_WORLD, &flag, &message, &status) == MPI_SUCCESS && !flag);
    CHECK(MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS && message == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Mrecv(got, 1, MPI_INT, &message, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    message = MPI_MESSAGE_NO_PROC;
    CHECK(MPI_Imrecv(got, 1, MPI_INT, &message, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void statuses(void)
{
    MPI_Status status;
    int number, flag;
    MPI_Count large;
    memset(&status, 0, sizeof status);
    CHECK(MPI_Status_set_source(&status, 3) == MPI_SUCCESS && MPI_Status_set_tag(&status, 4) == MPI_SUCCESS);
    CHECK(MPI_Status_set_error(&status, MPI_ERR_TAG) == MPI_SUCCESS);
    CHECK(MPI_Status_set_elements(&status, MPI_DOUBLE, 5) == MPI_SUCCESS);
    CHECK(MPI_Status_set_cancelled(&status, 1) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == MPI_ERR_TAG);
    CHECK(MPI_Status_get_source(&status, &number) == MPI_SUCCESS && number == 3);
    CHECK(MPI_Status_get_tag(&status, &number) == MPI_SUCCESS && number == 4);
    CHECK(MPI_Status_get_error(&status, &number) == MPI_SUCCESS && number == MPI_ERR_TAG);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Get_count(&status, MPI_INT, &number) == MPI_SUCCESS && number == 10);
    CHECK(MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count)1 << 40) == MPI_SUCCESS);
    CHECK(MPI_Get_count_c(&status, MPI_INT, &large) == MPI_SUCCESS && large == (MPI_Count)1 << 38);
    CHECK(MPI_Get_count(&status, MPI_INT, &number) == MPI_SUCCESS && number == MPI_UNDEFINED);
    CHECK(MPI_Status_set_elements_x(&status, MPI_INT, 2) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_INT, &number) == MPI_SUCCESS && number == 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    plain();
    matched();
    statuses();
    MPI_Finalize();
    return 0;
}
