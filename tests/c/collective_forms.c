/* Every collective of MPI-5.0 chapter 6 in its blocking, nonblocking and persistent forms, each with large counts too,
   on the same data. */
#include "forms.h"

enum { N = 700, RANKS = 8 };

static int rank, size;
static const MPI_Comm comm = MPI_COMM_WORLD;

static int number(int from, int to, int i)
{
    return from * 100003 + to * 1009 + i;
}

static int own[N * RANKS], all[N * RANKS], counts[RANKS], starts[RANKS];
static MPI_Count large_counts[RANKS];
static MPI_Aint large_starts[RANKS];

static void fill(void)
{
    int i, to;
    for (to = 0; to < size; to++)
        for (i = 0; i < N; i++) {
            own[to * N + i] = number(rank, to, i);
            all[to * N + i] = -1;
        }
}

/* Rank r has r * 20 + 1 numbers, a number apart. */
static void parts(void)
{
    int r, at = 0;
    for (r = 0; r < size; r++) {
        counts[r] = r * 20 + 1;
        starts[r] = at;
        at += counts[r] + 1;
        large_counts[r] = counts[r];
        large_starts[r] = starts[r];
    }
}

static void one_to_all(enum form form)
{
    int i, root;
    for (root = 0; root < size; root++) {
        fill();
        for (i = 0; i < N; i++)
            all[i] = rank == root ? number(root, 0, i) : -1;
        DO(form, MPI_Bcast(all, N, MPI_INT, root, comm),
           MPI_Bcast_c(all, N, MPI_INT, root, comm),
           MPI_Ibcast(all, N, MPI_INT, root, comm, &request),
           MPI_Ibcast_c(all, N, MPI_INT, root, comm, &request),
           MPI_Bcast_init(all, N, MPI_INT, root, comm, MPI_INFO_NULL, &request),
           MPI_Bcast_init_c(all, N, MPI_INT, root, comm, MPI_INFO_NULL, &request));
        for (i = 0; i < N; i++)
            CHECK(all[i] == number(root, 0, i));
        fill();
        DO(form, MPI_Scatter(own, N, MPI_INT, all, N, MPI_INT, root, comm),
           MPI_Scatter_c(own, N, MPI_INT, all, N, MPI_INT, root, comm),
           MPI_Iscatter(own, N, MPI_INT, all, N, MPI_INT, root, comm, &request),
           MPI_Iscatter_c(own, N, MPI_INT, all, N, MPI_INT, root, comm, &request),
           MPI_Scatter_init(own, N, MPI_INT, all, N, MPI_INT, root, comm, MPI_INFO_NULL, &request),
           MPI_Scatter_init_c(own, N, MPI_INT, all, N, MPI_INT, root, comm, MPI_INFO_NULL, &request));
        for (i = 0; i < N; i++)
            CHECK(all[i] == number(root, rank, i));
        fill();
        DO(form, MPI_Scatterv(own, counts, starts, MPI_INT, all, counts[rank], MPI_INT, root, comm),
           MPI_Scatterv_c(own, large_counts, large_starts, MPI_INT, all, counts[rank], MPI_INT, root, comm),
           MPI_Iscatterv(own, counts, starts, MPI_INT, all, counts[rank], MPI_INT, root, comm, &request),
           MPI_Iscatterv_c(own, large_counts, large_starts, MPI_INT, all, counts[rank], MPI_INT, root, comm, &request),
           MPI_Scatterv_init(own, counts, starts, MPI_INT, all, counts[rank], MPI_INT, root, comm, MPI_INFO_NULL,
                             &request),
           MPI_Scatterv_init_c(own, large_counts, large_starts, MPI_INT, all, counts[rank], MPI_INT, root, comm,
                               MPI_INFO_NULL, &request));
        for (i = 0; i < counts[rank]; i++)
            CHECK(all[i] == number(root, (starts[rank] + i) / N, (starts[rank] + i) % N));
    }
}

/* What parts of all ranks look like side by side. */
static void check_parts(int here)
{
    int r, i;
    for (r = 0; r < size; r++) {
        for (i = 0; i < counts[r]; i++)
            CHECK(all[starts[r] + i] == (here ? number(r, 0, i) : -1));
        CHECK(all[starts[r] + counts[r]] == -1);
    }
}

static void all_to_one(enum form form)
{
    int i, r, root;
    for (root = 0; root < size; root++) {
        fill();
        DO(form, MPI_Gather(own, N, MPI_INT, all, N, MPI_INT, root, comm),
           MPI_Gather_c(own, N, MPI_INT, all, N, MPI_INT, root, comm),
           MPI_Igather(own, N, MPI_INT, all, N, MPI_INT, root, comm, &request),
           MPI_Igather_c(own, N, MPI_INT, all, N, MPI_INT, root, comm, &request),
           MPI_Gather_init(own, N, MPI_INT, all, N, MPI_INT, root, comm, MPI_INFO_NULL, &request),
           MPI_Gather_init_c(own, N, MPI_INT, all, N, MPI_INT, root, comm, MPI_INFO_NULL, &request));
        for (r = 0; r < size; r++)
            for (i = 0; i < N; i++)
                CHECK(all[r * N + i] == (rank == root ? number(r, 0, i) : -1));
        fill();
        DO(form, MPI_Gatherv(own, counts[rank], MPI_INT, all, counts, starts, MPI_INT, root, comm),
           MPI_Gatherv_c(own, counts[rank], MPI_INT, all, large_counts, large_starts, MPI_INT, root, comm),
           MPI_Igatherv(own, counts[rank], MPI_INT, all, counts, starts, MPI_INT, root, comm, &request),
           MPI_Igatherv_c(own, counts[rank], MPI_INT, all, large_counts, large_starts, MPI_INT, root, comm, &request),
           MPI_Gatherv_init(own, counts[rank], MPI_INT, all, counts, starts, MPI_INT, root, comm, MPI_INFO_NULL,
                            &request),
           MPI_Gatherv_init_c(own, counts[rank], MPI_INT, all, large_counts, large_starts, MPI_INT, root, comm,
                              MPI_INFO_NULL, &request));
        check_parts(rank == root);
    }
}

static void all_to_all(enum form form)
{
    int i, r;
    fill();
    DO(form, MPI_Allgather(own, N, MPI_INT, all, N, MPI_INT, comm),
       MPI_Allgather_c(own, N, MPI_INT, all, N, MPI_INT, comm),
       MPI_Iallgather(own, N, MPI_INT, all, N, MPI_INT, comm, &request),
       MPI_Iallgather_c(own, N, MPI_INT, all, N, MPI_INT, comm, &request),
       MPI_Allgather_init(own, N, MPI_INT, all, N, MPI_INT, comm, MPI_INFO_NULL, &request),
       MPI_Allgather_init_c(own, N, MPI_INT, all, N, MPI_INT, comm, MPI_INFO_NULL, &request));
    for (r = 0; r < size; r++)
        for (i = 0; i < N; i++)
            CHECK(all[r * N + i] == number(r, 0, i));
    fill();
    DO(form, MPI_Allgatherv(own, counts[rank], MPI_INT, all, counts, starts, MPI_INT, comm),
       MPI_Allgatherv_c(own, counts[rank], MPI_INT, all, large_counts, large_starts, MPI_INT, comm),
       MPI_Iallgatherv(own, counts[rank], MPI_INT, all, counts, starts, MPI_INT, comm, &request),
       MPI_Iallgatherv_c(own, counts[rank], MPI_INT, all, large_counts, large_starts, MPI_INT, comm, &request),
       MPI_Allgatherv_init(own, counts[rank], MPI_INT, all, counts, starts, MPI_INT, comm, MPI_INFO_NULL, &request),
       MPI_Allgatherv_init_c(own, counts[rank], MPI_INT, all, large_counts, large_starts, MPI_INT, comm, MPI_INFO_NULL,
                             &request));
    check_parts(1);
    fill();
    DO(form, MPI_Alltoall(own, N, MPI_INT, all, N, MPI_INT, comm),
       MPI_Alltoall_c(own, N, MPI_INT, all, N, MPI_INT, comm),
       MPI_Ialltoall(own, N, MPI_INT, all, N, MPI_INT, comm, &request),
       MPI_Ialltoall_c(own, N, MPI_INT, all, N, MPI_INT, comm, &request),
       MPI_Alltoall_init(own, N, MPI_INT, all, N, MPI_INT, comm, MPI_INFO_NULL, &request),
       MPI_Alltoall_init_c(own, N, MPI_INT, all, N, MPI_INT, comm, MPI_INFO_NULL, &request));
    for (r = 0; r < size; r++)
        for (i = 0; i < N; i++)
            CHECK(all[r * N + i] == number(r, rank, i));
}

/* To rank t go counts[t] numbers from its N on. */
static void parts_to_all(enum form form)
{
    MPI_Datatype types[RANKS];
    int i, r, bytes[RANKS], same[RANKS], apart[RANKS];
    MPI_Count large_same[RANKS];
    MPI_Aint large_apart[RANKS], large_bytes[RANKS];
    for (r = 0; r < size; r++) {
        types[r] = MPI_INT;
        same[r] = counts[rank];
        large_same[r] = same[r];
        apart[r] = r * N;
        large_apart[r] = apart[r];
        bytes[r] = apart[r] * (int)sizeof(int);
        large_bytes[r] = bytes[r];
    }
    fill();
    DO(form, MPI_Alltoallv(own, counts, apart, MPI_INT, all, same, apart, MPI_INT, comm),
       MPI_Alltoallv_c(own, large_counts, large_apart, MPI_INT, all, large_same, large_apart, MPI_INT, comm),
       MPI_Ialltoallv(own, counts, apart, MPI_INT, all, same, apart, MPI_INT, comm, &request),
       MPI_Ialltoallv_c(own, large_counts, large_apart, MPI_INT, all, large_same, large_apart, MPI_INT, comm, &request),
       MPI_Alltoallv_init(own, counts, apart, MPI_INT, all, same, apart, MPI_INT, comm, MPI_INFO_NULL, &request),
       MPI_Alltoallv_init_c(own, large_counts, large_apart, MPI_INT, all, large_same, large_apart, MPI_INT, comm,
                            MPI_INFO_NULL, &request));
    for (r = 0; r < size; r++)
        for (i = 0; i < N; i++)
            CHECK(all[r * N + i] == (i < counts[rank] ? number(r, rank, i) : -1));
    fill();
    DO(form, MPI_Alltoallw(own, counts, bytes, types, all, same, bytes, types, comm),
       MPI_Alltoallw_c(own, large_counts, large_bytes, types, all, large_same, large_bytes, types, comm),
       MPI_Ialltoallw(own, counts, bytes, types, all, same, bytes, types, comm, &request),
       MPI_Ialltoallw_c(own, large_counts, large_bytes, types, all, large_same, large_bytes, types, comm, &request),
       MPI_Alltoallw_init(own, counts, bytes, types, all, same, bytes, types, comm, MPI_INFO_NULL, &request),
       MPI_Alltoallw_init_c(own, large_counts, large_bytes, types, all, large_same, large_bytes, types, comm,
                            MPI_INFO_NULL, &request));
    for (r = 0; r < size; r++)
        for (i = 0; i < N; i++)
            CHECK(all[r * N + i] == (i < counts[rank] ? number(r, rank, i) : -1));
}

/* The sum of what ranks up to but not including `end` have at place i for rank `to`. */
static int sum(int end, int to, int i)
{
    int r, sum = 0;
    for (r = 0; r < end; r++)
        sum += number(r, to, i);
    return sum;
}

static void reductions(enum form form)
{
    int i, root;
    for (root = 0; root < size; root++) {
        fill();
        DO(form, MPI_Reduce(own, all, N, MPI_INT, MPI_SUM, root, comm),
           MPI_Reduce_c(own, all, N, MPI_INT, MPI_SUM, root, comm),
           MPI_Ireduce(own, all, N, MPI_INT, MPI_SUM, root, comm, &request),
           MPI_Ireduce_c(own, all, N, MPI_INT, MPI_SUM, root, comm, &request),
           MPI_Reduce_init(own, all, N, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, &request),
           MPI_Reduce_init_c(own, all, N, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, &request));
        for (i = 0; i < N; i++)
            CHECK(all[i] == (rank == root ? sum(size, 0, i) : -1));
    }
    fill();
    DO(form, MPI_Allreduce(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Allreduce_c(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Iallreduce(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Iallreduce_c(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Allreduce_init(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request),
       MPI_Allreduce_init_c(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    for (i = 0; i < N; i++)
        CHECK(all[i] == sum(size, 0, i));
    fill();
    DO(form, MPI_Scan(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Scan_c(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Iscan(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Iscan_c(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Scan_init(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request),
       MPI_Scan_init_c(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    for (i = 0; i < N; i++)
        CHECK(all[i] == sum(rank + 1, 0, i));
    fill();
    DO(form, MPI_Exscan(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Exscan_c(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Iexscan(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Iexscan_c(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Exscan_init(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request),
       MPI_Exscan_init_c(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    for (i = 0; i < N && rank > 0; i++)
        CHECK(all[i] == sum(rank, 0, i));
    fill();
    DO(form, MPI_Reduce_scatter_block(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Reduce_scatter_block_c(own, all, N, MPI_INT, MPI_SUM, comm),
       MPI_Ireduce_scatter_block(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Ireduce_scatter_block_c(own, all, N, MPI_INT, MPI_SUM, comm, &request),
       MPI_Reduce_scatter_block_init(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request),
       MPI_Reduce_scatter_block_init_c(own, all, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    for (i = 0; i < N; i++)
        CHECK(all[i] == sum(size, rank, i));
    fill();
    DO(form, MPI_Reduce_scatter(own, all, counts, MPI_INT, MPI_SUM, comm),
       MPI_Reduce_scatter_c(own, all, large_counts, MPI_INT, MPI_SUM, comm),
       MPI_Ireduce_scatter(own, all, counts, MPI_INT, MPI_SUM, comm, &request),
       MPI_Ireduce_scatter_c(own, all, large_counts, MPI_INT, MPI_SUM, comm, &request),
       MPI_Reduce_scatter_init(own, all, counts, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request),
       MPI_Reduce_scatter_init_c(own, all, large_counts, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    for (i = 0; i < counts[rank]; i++)
        /* The parts follow each other without gaps here. */
        CHECK(all[i] == sum(size, 0, starts[rank] - rank + i));
    CHECK(all[counts[rank]] == -1);
}

int main(int argc, char **argv)
{
    int form;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(size <= RANKS);
    parts();
    for (form = 0; form < FORMS; form++) {
        one_to_all(form);
        all_to_one(form);
        all_to_all(form);
        parts_to_all(form);
        reductions(form);
        DO(form, MPI_Barrier(comm),
           MPI_Barrier(comm),
           MPI_Ibarrier(comm, &request),
           MPI_Ibarrier(comm, &request),
           MPI_Barrier_init(comm, MPI_INFO_NULL, &request),
           MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
    }
    MPI_Finalize();
    return 0;
}
