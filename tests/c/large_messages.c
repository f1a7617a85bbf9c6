/* The large-count forms of messages (MPI-5.0 chapters 3 and 4): each way to send to each way to receive. ranks: 1 2 3 */
#include "check.h"

enum { N = 900, PARTS = 4, TAG = 7, PERSISTENT = 8, SENDS = 12 };

static int rank, left, right, sent[N], got[N];
static MPI_Comm comm;

static void fill(int turn)
{
    for (int i = 0; i < N; i++) {
        sent[i] = (turn * 10 + rank) * N + i;
        got[i] = -1;
    }
}

static void check(int turn)
{
    for (int i = 0; i < N; i++) CHECK(got[i] == (turn * 10 + left) * N + i);
}

static void check_status(const MPI_Status *status)
{
    MPI_Count count = -1;
    CHECK(MPI_Get_count_c(status, MPI_INT, &count) == MPI_SUCCESS && count == N);
    CHECK(status->MPI_SOURCE == left && status->MPI_TAG == TAG);
}

/* Sends in one of the ways; a receive is there. The last four are persistent. */
static void send_in(int way, MPI_Request *request)
{
    int code = -1;
    *request = MPI_REQUEST_NULL;
    switch (way) {
    case 0: code = MPI_Send_c(sent, N, MPI_INT, right, TAG, comm); break;
    case 1: code = MPI_Bsend_c(sent, N, MPI_INT, right, TAG, comm); break;
    case 2: code = MPI_Ssend_c(sent, N, MPI_INT, right, TAG, comm); break;
    case 3: code = MPI_Rsend_c(sent, N, MPI_INT, right, TAG, comm); break;
    case 4: code = MPI_Isend_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    case 5: code = MPI_Ibsend_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    case 6: code = MPI_Issend_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    case 7: code = MPI_Irsend_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    case 8: code = MPI_Send_init_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    case 9: code = MPI_Bsend_init_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    case 10: code = MPI_Ssend_init_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    case 11: code = MPI_Rsend_init_c(sent, N, MPI_INT, right, TAG, comm, request); break;
    }
    CHECK(code == MPI_SUCCESS);
    if (way >= PERSISTENT)
        CHECK(MPI_Start(request) == MPI_SUCCESS);
}

/* Every way to send, to receives that are there before: nonblocking and persistent ones. */
static void sends(void)
{
    for (int way = 0; way < SENDS; way++)
        for (int persistent = 0; persistent < 2; persistent++) {
            MPI_Request receive, request;
            MPI_Status status;
            fill(way);
            if (persistent) {
                CHECK(MPI_Recv_init_c(got, N, MPI_INT, left, TAG, comm, &receive) == MPI_SUCCESS);
                CHECK(MPI_Start(&receive) == MPI_SUCCESS);
            } else
                CHECK(MPI_Irecv_c(got, N, MPI_INT, left, TAG, comm, &receive) == MPI_SUCCESS);
            MPI_Barrier(MPI_COMM_WORLD);
            send_in(way, &request);
            CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            check_status(&status);
            check(way);
            CHECK((receive != MPI_REQUEST_NULL) == persistent && (request != MPI_REQUEST_NULL) == (way >= PERSISTENT));
            if (persistent)
                MPI_Request_free(&receive);
            if (way >= PERSISTENT)
                MPI_Request_free(&request);
        }
}

/* Receives that find what has been sent. */
static void receives(void)
{
    MPI_Request request, receive;
    MPI_Message message;
    MPI_Status status;
    fill(20);
    CHECK(MPI_Isend_c(sent, N, MPI_INT, right, TAG, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Recv_c(got, N, MPI_INT, left, TAG, comm, &status) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check_status(&status);
    check(20);
    for (int waits = 0; waits < 2; waits++) {
        fill(21 + waits);
        CHECK(MPI_Isend_c(sent, N, MPI_INT, right, TAG, comm, &request) == MPI_SUCCESS);
        CHECK(MPI_Mprobe(left, TAG, comm, &message, &status) == MPI_SUCCESS);
        check_status(&status);
        if (waits) {
            CHECK(MPI_Imrecv_c(got, N, MPI_INT, &message, &receive) == MPI_SUCCESS && message == MPI_MESSAGE_NULL);
            CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS);
        } else
            CHECK(MPI_Mrecv_c(got, N, MPI_INT, &message, &status) == MPI_SUCCESS && message == MPI_MESSAGE_NULL);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        check_status(&status);
        check(21 + waits);
    }
}

static void both_at_once(void)
{
    MPI_Request request;
    MPI_Status status;
    fill(30);
    CHECK(MPI_Sendrecv_c(sent, N, MPI_INT, right, TAG, got, N, MPI_INT, left, TAG, comm, &status) == MPI_SUCCESS);
    check_status(&status);
    check(30);
    fill(31);
    CHECK(MPI_Isendrecv_c(sent, N, MPI_INT, right, TAG, got, N, MPI_INT, left, TAG, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_status(&status);
    check(31);
    fill(32);
    memcpy(got, sent, sizeof got);
    CHECK(MPI_Sendrecv_replace_c(got, N, MPI_INT, right, TAG, left, TAG, comm, &status) == MPI_SUCCESS);
    check_status(&status);
    check(32);
    fill(33);
    memcpy(got, sent, sizeof got);
    CHECK(MPI_Isendrecv_replace_c(got, N, MPI_INT, right, TAG, left, TAG, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_status(&status);
    check(33);
}

/* As many partitions here as parts are sent in, and half as many where they are received. */
static void partitions(void)
{
    MPI_Request requests[2];
    CHECK(MPI_Precv_init_c(got, PARTS / 2, 2 * N / PARTS, MPI_INT, left, TAG, comm, MPI_INFO_NULL, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Psend_init_c(sent, PARTS, N / PARTS, MPI_INT, right, TAG, comm, MPI_INFO_NULL, &requests[1]) == MPI_SUCCESS);
    for (int turn = 40; turn < 42; turn++) {
        fill(turn);
        CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
        CHECK(MPI_Pready_range(0, PARTS - 1, requests[1]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        check(turn);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Buffers of a communicator and of a session. */
static void buffers(void)
{
    static char memory[2][sizeof sent + MPI_BSEND_OVERHEAD];
    MPI_Session session;
    MPI_Group group;
    MPI_Request request;
    void *address = NULL;
    MPI_Count size = -1;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, "large", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_attach_buffer_c(comm, memory[0], sizeof memory[0]) == MPI_SUCCESS);
    CHECK(MPI_Session_attach_buffer_c(session, memory[1], sizeof memory[1]) == MPI_SUCCESS);
    fill(50);
    CHECK(MPI_Irecv_c(got, N, MPI_INT, left, TAG, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Bsend_c(sent, N, MPI_INT, right, TAG, comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_detach_buffer_c(comm, &address, &size) == MPI_SUCCESS);
    CHECK(address == memory[0] && size == sizeof memory[0]);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check(50);
    /* The communicator has none any more: the session's is taken. */
    fill(51);
    CHECK(MPI_Irecv_c(got, N, MPI_INT, left, TAG, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Bsend_c(sent, N, MPI_INT, right, TAG, comm) == MPI_SUCCESS);
    CHECK(MPI_Session_detach_buffer_c(session, &address, &size) == MPI_SUCCESS);
    CHECK(address == memory[1] && size == sizeof memory[1]);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check(51);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    static char memory[2 * (sizeof sent + MPI_BSEND_OVERHEAD)];
    void *address;
    MPI_Count length;
    int size;
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    CHECK(MPI_Buffer_attach_c(memory, sizeof memory) == MPI_SUCCESS);
    sends();
    receives();
    both_at_once();
    partitions();
    CHECK(MPI_Buffer_detach_c(&address, &length) == MPI_SUCCESS && address == memory && length == sizeof memory);
    buffers();
    MPI_Finalize();
    return 0;
}
