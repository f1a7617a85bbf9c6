/* Groups (MPI-5.0 section 7.3). */
#include "check.h"

static int rank, size;

static int size_of(MPI_Group group)
{
    int got = -1;
    CHECK(MPI_Group_size(group, &got) == MPI_SUCCESS);
    return got;
}

static int rank_in(MPI_Group group)
{
    int got = -1;
    CHECK(MPI_Group_rank(group, &got) == MPI_SUCCESS);
    return got;
}

static int compare(MPI_Group one, MPI_Group other)
{
    int got = -1;
    CHECK(MPI_Group_compare(one, other, &got) == MPI_SUCCESS);
    return got;
}

static void release(MPI_Group *group)
{
    CHECK(MPI_Group_free(group) == MPI_SUCCESS && *group == MPI_GROUP_NULL);
}

static void algebra(MPI_Group world)
{
    MPI_Group first, rest, both, common, empty, down;
    int zero = 0, range[1][3] = {{size - 1, 0, -1}};
    CHECK(MPI_Group_incl(world, 1, &zero, &first) == MPI_SUCCESS);
    CHECK(MPI_Group_excl(world, 1, &zero, &rest) == MPI_SUCCESS);
    CHECK(size_of(first) == 1 && size_of(rest) == size - 1);
    CHECK(rank_in(first) == (rank == 0 ? 0 : MPI_UNDEFINED));
    CHECK(rank_in(rest) == (rank == 0 ? MPI_UNDEFINED : rank - 1));
    CHECK(MPI_Group_union(first, rest, &both) == MPI_SUCCESS && compare(both, world) == MPI_IDENT);
    release(&both);
    CHECK(MPI_Group_union(rest, first, &both) == MPI_SUCCESS);
    CHECK(compare(both, world) == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
    release(&both);
    CHECK(MPI_Group_intersection(first, rest, &common) == MPI_SUCCESS && common == MPI_GROUP_EMPTY);
    release(&common);
    CHECK(MPI_Group_difference(world, rest, &common) == MPI_SUCCESS && compare(common, first) == MPI_IDENT);
    release(&common);
    CHECK(MPI_Group_incl(world, 0, NULL, &empty) == MPI_SUCCESS && size_of(empty) == 0);
    CHECK(compare(empty, MPI_GROUP_EMPTY) == MPI_IDENT && rank_in(empty) == MPI_UNDEFINED);
    CHECK(compare(empty, world) == MPI_UNEQUAL);
    release(&empty);
    CHECK(MPI_Group_range_incl(world, 1, range, &down) == MPI_SUCCESS && rank_in(down) == size - 1 - rank);
    release(&down);
    CHECK(MPI_Group_range_excl(world, 1, range, &down) == MPI_SUCCESS && size_of(down) == 0);
    release(&down);
    release(&first);
    if (size > 1)
        release(&rest);
}

static void translation(MPI_Group world)
{
    MPI_Group self;
    int asked[3] = {0, MPI_PROC_NULL, 0}, got[3] = {7, 7, 7};
    asked[2] = rank;
    CHECK(MPI_Comm_group(MPI_COMM_SELF, &self) == MPI_SUCCESS);
    CHECK(MPI_Group_translate_ranks(world, 3, asked, self, got) == MPI_SUCCESS);
    CHECK(got[0] == (rank == 0 ? 0 : MPI_UNDEFINED) && got[1] == MPI_PROC_NULL && got[2] == 0);
    release(&self);
}

static void mistakes(MPI_Group world)
{
    MPI_Group made, freed;
    int wrong[2] = {0, 0}, got, range[1][3] = {{0, size - 1, 0}};
    wrong[1] = size;
    CHECK_ERROR(MPI_Group_incl(world, 2, wrong, &made), MPI_ERR_RANK);
    wrong[1] = -1;
    CHECK_ERROR(MPI_Group_excl(world, 2, wrong, &made), MPI_ERR_RANK);
    wrong[1] = 0;
    CHECK_ERROR(MPI_Group_incl(world, 2, wrong, &made), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Group_incl(world, -1, wrong, &made), MPI_ERR_ARG);
    /* There is no place for the result: said before what else is wrong. */
    CHECK_ERROR(MPI_Group_incl(world, 2, wrong, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Group_union(world, world, NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Group_incl(world, 1, NULL, &made), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Group_range_incl(world, 1, range, &made), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Group_size(MPI_GROUP_NULL, &got), MPI_ERR_GROUP);
    CHECK_ERROR(MPI_Group_size(world, NULL), MPI_ERR_ARG);
    CHECK(MPI_Comm_group(MPI_COMM_SELF, &made) == MPI_SUCCESS);
    freed = made;
    release(&made);
    CHECK_ERROR(MPI_Group_size(freed, &got), MPI_ERR_GROUP);
    CHECK_ERROR(MPI_Group_free(&freed), MPI_ERR_GROUP);
    CHECK_ERROR(MPI_Comm_remote_group(MPI_COMM_WORLD, &made), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    MPI_Group world;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(size_of(world) == size && rank_in(world) == rank);
    algebra(world);
    translation(world);
    mistakes(world);
    release(&world);
    MPI_Finalize();
    return 0;
}
