/* The large-count forms of windows and of accesses to them (MPI-5.0 chapter 12). ranks: 1 2 3 */
#include "check.h"

enum { N = 300 };

static MPI_Comm comm;
static int rank, right;

/* What rank `of` has at place `i` at the beginning. */
static int number(int of, int i)
{
    return of * 1000 + i;
}

/* Each reads and changes what its right neighbour has. */
static void access_right(MPI_Win win, int *own)
{
    int got[N], added[N];
    MPI_Request request;
    for (int i = 0; i < N; i++) {
        own[i] = number(rank, i);
        added[i] = 5;
    }
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    CHECK(MPI_Get_c(got, N, MPI_INT, right, 0, N, MPI_INT, win) == MPI_SUCCESS && MPI_Win_fence(0, win) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) CHECK(got[i] == number(right, i));
    CHECK(MPI_Accumulate_c(added, N, MPI_INT, right, 0, N, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate_c(added, N, MPI_INT, got, N, MPI_INT, right, 0, N, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) CHECK(got[i] == number(right, i) + 5 && own[i] == number(rank, i) + 10);
    /* Nobody puts before all have looked. */
    MPI_Barrier(comm);
    CHECK(MPI_Put_c(got, N / 2, MPI_INT, right, 0, N / 2, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) CHECK(own[i] == number(rank, i) + (i < N / 2 ? 5 : 10));
    MPI_Barrier(comm);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    CHECK(MPI_Rget_c(got, N, MPI_INT, right, 0, N, MPI_INT, win, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) CHECK(got[i] == number(right, i) + (i < N / 2 ? 5 : 10));
    MPI_Barrier(comm);
    CHECK(MPI_Raccumulate_c(added, N, MPI_INT, right, 0, N, MPI_INT, MPI_SUM, win, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Win_flush(right, win) == MPI_SUCCESS);
    CHECK(MPI_Rget_accumulate_c(added, N, MPI_INT, got, N, MPI_INT, right, 0, N, MPI_INT, MPI_SUM, win, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) CHECK(got[i] == number(right, i) + (i < N / 2 ? 10 : 15));
    CHECK(MPI_Rput_c(added, N / 3, MPI_INT, right, 0, N / 3, MPI_INT, win, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Win_unlock_all(win) == MPI_SUCCESS);
    MPI_Barrier(comm);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win) == MPI_SUCCESS);
    for (int i = 0; i < N; i++)
        CHECK(own[i] == (i < N / 3 ? 5 : number(rank, i) + (i < N / 2 ? 15 : 20)));
    CHECK(MPI_Win_unlock(rank, win) == MPI_SUCCESS);
    MPI_Barrier(comm);
}

static void use(MPI_Comm used)
{
    int size;
    comm = used;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    right = (rank + 1) % size;
}

int main(int argc, char **argv)
{
    static int memory[N];
    int *own;
    MPI_Win win;
    MPI_Aint bytes, unit;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    use(MPI_COMM_WORLD);
    CHECK(MPI_Win_create_c(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win) == MPI_SUCCESS);
    access_right(win, memory);
    MPI_Win_free(&win);
    CHECK(MPI_Win_allocate_c(N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &own, &win) == MPI_SUCCESS);
    access_right(win, own);
    MPI_Win_free(&win);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    use(node);
    CHECK(MPI_Win_allocate_shared_c(N * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &own, &win) == MPI_SUCCESS);
    access_right(win, own);
    CHECK(MPI_Win_shared_query_c(win, right, &bytes, &unit, &own) == MPI_SUCCESS);
    CHECK(bytes == N * (MPI_Aint)sizeof(int) && unit == sizeof(int) && own[N - 1] == number(right, N - 1) + 20);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
