/* Intercommunicators (MPI-5.0 section 7.6). ranks: 2 3 4 5 */
#include "check.h"

static int rank, size;

static int size_of(MPI_Comm comm)
{
    int got;
    CHECK(MPI_Comm_size(comm, &got) == MPI_SUCCESS);
    return got;
}

/* The rank in the world of a remote rank. */
static int in_world(MPI_Comm inter, int of)
{
    MPI_Group group, world;
    int got;
    CHECK(MPI_Comm_remote_group(inter, &group) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(MPI_Group_translate_ranks(group, 1, &of, world, &got) == MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return got;
}

/* Everybody sends to every remote rank, and names remote ranks only. */
static void messages(MPI_Comm inter, int others)
{
    MPI_Request requests[8];
    MPI_Status status, statuses[8];
    int place, got;
    for (place = 0; place < others; place++)
        CHECK(MPI_Isend(&rank, 1, MPI_INT, place, 1, inter, &requests[place]) == MPI_SUCCESS);
    for (place = 1; place < others; place++)
        CHECK(MPI_Recv(&got, 1, MPI_INT, place, 1, inter, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == in_world(inter, place));
    CHECK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == 0 && got == in_world(inter, 0));
    CHECK(MPI_Waitall(others, requests, statuses) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Send(&rank, 1, MPI_INT, others, 1, inter), MPI_ERR_RANK);
}

static void merged(MPI_Comm inter, int high)
{
    MPI_Comm all;
    int number, even = (size + 1) / 2;
    CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS && size_of(all) == size);
    MPI_Comm_rank(all, &number);
    CHECK(number == rank / 2 + (high ? (rank % 2 ? even : size / 2) : 0));
    MPI_Comm_free(&all);
}

static void copies(MPI_Comm inter)
{
    MPI_Comm copy, part, none;
    MPI_Group mine, first;
    int got, zero = 0;
    CHECK(MPI_Comm_dup(inter, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(inter, copy, &got) == MPI_SUCCESS && got == MPI_CONGRUENT);
    CHECK(MPI_Comm_compare(inter, MPI_COMM_WORLD, &got) == MPI_SUCCESS && got == MPI_UNEQUAL);
    /* The first two ranks of either group. */
    CHECK(MPI_Comm_split(inter, rank < 4 ? 5 : MPI_UNDEFINED, 0, &part) == MPI_SUCCESS);
    CHECK((part != MPI_COMM_NULL) == (rank < 4));
    if (part != MPI_COMM_NULL) {
        int other, others = 0;
        for (other = 0; other < 4 && other < size; other++)
            others += other % 2 != rank % 2;
        CHECK(MPI_Comm_remote_size(part, &got) == MPI_SUCCESS && got == others);
        MPI_Comm_free(&part);
    }
    /* A colour that the other group does not have. */
    CHECK(MPI_Comm_split(inter, rank % 2, 0, &none) == MPI_SUCCESS && none == MPI_COMM_NULL);
    MPI_Comm_group(inter, &mine);
    MPI_Group_incl(mine, 1, &zero, &first);
    CHECK(MPI_Comm_create(inter, first, &part) == MPI_SUCCESS && (part != MPI_COMM_NULL) == (rank < 2));
    if (part != MPI_COMM_NULL) {
        CHECK(size_of(part) == 1 && in_world(part, 0) == 1 - rank);
        MPI_Comm_free(&part);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&first);
    MPI_Comm_free(&copy);
}

static void without_bridge(MPI_Comm inter)
{
    MPI_Comm met;
    MPI_Group local, remote;
    int got;
    MPI_Comm_group(inter, &local);
    MPI_Comm_remote_group(inter, &remote);
    CHECK(MPI_Intercomm_create_from_groups(local, 0, remote, 0, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &met)
          == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(inter, met, &got) == MPI_SUCCESS && got == MPI_CONGRUENT);
    MPI_Comm_free(&met);
    CHECK_ERROR(MPI_Intercomm_create_from_groups(local, 9, remote, 0, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &met),
                MPI_ERR_RANK);
    CHECK_ERROR(MPI_Intercomm_create_from_groups(local, 0, local, 0, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &met),
                MPI_ERR_COMM);
    MPI_Group_free(&local);
    MPI_Group_free(&remote);
}

int main(int argc, char **argv)
{
    MPI_Comm half, inter, again;
    int number, flag;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_rank(half, &number);
    /* Only the leaders' bridge matters. */
    CHECK(MPI_Intercomm_create(half, 0, number ? MPI_COMM_NULL : MPI_COMM_WORLD, number ? -5 : 1 - rank, 8, &inter)
          == MPI_SUCCESS);
    CHECK(MPI_Comm_test_inter(inter, &flag) == MPI_SUCCESS && flag);
    CHECK(size_of(inter) == size_of(half));
    CHECK(MPI_Comm_remote_size(inter, &flag) == MPI_SUCCESS && flag == size - size_of(half));
    CHECK(in_world(inter, 0) == 1 - rank % 2);
    messages(inter, flag);
    merged(inter, rank % 2);
    merged(inter, rank % 2 == 0);
    copies(inter);
    without_bridge(inter);
    CHECK_ERROR(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 8, &again), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Intercomm_create(half, 100, MPI_COMM_WORLD, 0, 8, &again), MPI_ERR_RANK);
    CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
