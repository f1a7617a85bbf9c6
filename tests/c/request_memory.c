/* Operations leave no memory behind, however many there have been: neither those that complete at once nor those that wait, of data that lie
   side by side and of such as do not (MPI-5.0 sections 3.7 and 3.9). ranks: 2 */
#include "check.h"
#include <malloc.h>

enum { BLOCKS = 64, ROUNDS = 2000, WARM_UP = 200, MOST = 64 * 1024 };

static int rank, other;
static int sent[2 * BLOCKS], received[2 * BLOCKS];
static MPI_Datatype apart;

static void pair(int count, MPI_Datatype type)
{
    MPI_Request requests[2];
    MPI_Irecv(received, count, type, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, count, type, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void side_by_side(void)
{
    pair(BLOCKS, MPI_INT);
}

static void scattered(void)
{
    pair(1, apart);
}

static void synchronous(void)
{
    MPI_Request requests[2];
    MPI_Issend(sent, 1, apart, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(received, 1, apart, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void blocking(void)
{
    MPI_Sendrecv(sent, 1, apart, other, 1, received, 1, apart, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void replaced(void)
{
    MPI_Sendrecv_replace(sent, 1, apart, other, 1, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void to_nobody(void)
{
    MPI_Request request;
    MPI_Isend(sent, 1, apart, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void unexpected(void)
{
    MPI_Request request;
    MPI_Isend(sent, 1, apart, other, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(received, 1, apart, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
    static MPI_Request requests[2];
    static int made;
    if (!made++) {
        MPI_Recv_init(received, 1, apart, other, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(sent, 1, apart, other, 1, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void prepared(void)
{
    MPI_Request request;
    MPI_Send_init(sent, 1, apart, other, 1, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Recv(received, 1, apart, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void collective(void)
{
    MPI_Request request;
    MPI_Ibcast(sent, 1, apart, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allgather(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
}

static void cancelled(void)
{
    MPI_Request request;
    MPI_Irecv(received, 1, apart, other, 2, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Bytes that the process has from malloc. */
static size_t used(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(int argc, char **argv)
{
    static void (*const forms[])(void) = {side_by_side, scattered, synchronous, blocking,  replaced, to_nobody,
                                          unexpected,   persistent, prepared,   collective, cancelled};
    size_t form, round, before = 0, after;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    for (form = 0; form < sizeof forms / sizeof forms[0]; form++) {
        for (round = 0; round < ROUNDS + WARM_UP; round++) {
            if (round == WARM_UP)
                before = used();
            forms[form]();
            if (round % 50 == 0)
                MPI_Barrier(MPI_COMM_WORLD);
        }
        after = used();
        if (after > before + MOST)
            fprintf(stderr, "form %d: %lu bytes more\n", (int)form, (unsigned long)(after - before));
        CHECK(after <= before + MOST);
    }
    MPI_Type_free(&apart);
    MPI_Finalize();
    return 0;
}
