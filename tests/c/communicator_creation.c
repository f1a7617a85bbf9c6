/* Intracommunicators, their names and hints (MPI-5.0 sections 7.4 and 7.8). */
#include "check.h"

static int rank, size;

/* The rank in the world of a communicator's rank. */
static int in_world(MPI_Comm comm, int of)
{
    MPI_Group group, world;
    int got;
    CHECK(MPI_Comm_group(comm, &group) == MPI_SUCCESS && MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(MPI_Group_translate_ranks(group, 1, &of, world, &got) == MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return got;
}

static int compare(MPI_Comm one, MPI_Comm other)
{
    int got = -1;
    CHECK(MPI_Comm_compare(one, other, &got) == MPI_SUCCESS);
    return got;
}

static void duplicates(void)
{
    MPI_Comm copy, hinted;
    MPI_Info hints, got;
    char value[8];
    int len = sizeof value, flag;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
    CHECK(compare(copy, copy) == MPI_IDENT && compare(MPI_COMM_WORLD, copy) == MPI_CONGRUENT);
    CHECK(compare(MPI_COMM_SELF, copy) == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "mpi_assert_exact_length", "true");
    CHECK(MPI_Comm_dup_with_info(copy, hints, &hinted) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_info(hinted, &got) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(got, "mpi_assert_exact_length", &len, value, &flag) == MPI_SUCCESS);
    CHECK(flag && len == 5 && !strcmp(value, "true"));
    MPI_Info_free(&got);
    CHECK(MPI_Comm_set_info(copy, hints) == MPI_SUCCESS && MPI_Comm_get_info(copy, &got) == MPI_SUCCESS);
    len = sizeof value;
    CHECK(MPI_Info_get_string(got, "mpi_assert_exact_length", &len, value, &flag) == MPI_SUCCESS && flag);
    CHECK(!strcmp(value, "true"));
    MPI_Info_free(&got);
    MPI_Info_free(&hints);
    CHECK(MPI_Comm_free(&hinted) == MPI_SUCCESS && hinted == MPI_COMM_NULL);
    CHECK(MPI_Comm_disconnect(&copy) == MPI_SUCCESS && copy == MPI_COMM_NULL);
}

/* Completed in another order than started. */
static void nonblocking(void)
{
    MPI_Comm copies[3];
    MPI_Request requests[3];
    int keyval, place, flag;
    void *value;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &keyval);
    for (place = 0; place < 2; place++)
        CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &copies[place], &requests[place]) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &copies[2], &requests[2]) == MPI_SUCCESS);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    for (place = 2; place >= 0; place--)
        CHECK(MPI_Wait(&requests[place], MPI_STATUS_IGNORE) == MPI_SUCCESS && requests[place] == MPI_REQUEST_NULL);
    for (place = 0; place < 3; place++) {
        CHECK(compare(copies[place], MPI_COMM_WORLD) == MPI_CONGRUENT);
        CHECK(MPI_Comm_get_attr(copies[place], keyval, &value, &flag) == MPI_SUCCESS && flag && value == &keyval);
        /* It can be used. */
        flag = 0;
        CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &flag, 1, MPI_INT, (rank + size - 1) % size, 0,
                           copies[place], MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == (rank + size - 1) % size);
        MPI_Comm_free(&copies[place]);
    }
    MPI_Comm_free_keyval(&keyval);
}

static void parts(void)
{
    MPI_Comm half, none, node, alone, everybody;
    MPI_Group world, first;
    int got, zero = 0;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(half, &got) == MPI_SUCCESS && got == (size + 1 - rank % 2) / 2);
    CHECK(in_world(half, got - 1) == rank % 2);
    CHECK(MPI_Comm_split(half, MPI_UNDEFINED, 0, &none) == MPI_SUCCESS && none == MPI_COMM_NULL);
    CHECK_ERROR(MPI_Comm_split(half, -7, 0, &none), MPI_ERR_ARG);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS);
    /* Over TCP, nobody shares memory. */
    const char *transport = getenv("RWMPI_TRANSPORT");
    int alone_by_transport = transport && !strcmp(transport, "tcp");
    CHECK(compare(node, alone_by_transport ? MPI_COMM_SELF : MPI_COMM_WORLD) == MPI_CONGRUENT);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none) == MPI_SUCCESS);
    CHECK(none == MPI_COMM_NULL);
    CHECK_ERROR(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &none), MPI_ERR_ARG);
    MPI_Comm part;
    MPI_Info found;
    char what[64];
    int len = sizeof what, flag = 0;
    MPI_Info_create(&found);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, found, &part) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(found, "mpi_hw_resource_type", &len, what, &flag) == MPI_SUCCESS);
    CHECK(flag == (part != MPI_COMM_NULL));
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
    MPI_Info_free(&found);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &first);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, first, &alone) == MPI_SUCCESS);
    CHECK((alone != MPI_COMM_NULL) == (rank == 0));
    if (rank == 0) {
        CHECK(compare(alone, MPI_COMM_SELF) == MPI_CONGRUENT && MPI_Comm_free(&alone) == MPI_SUCCESS);
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, first, 3, &alone) == MPI_SUCCESS && alone != MPI_COMM_NULL);
        CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, first, -3, &none), MPI_ERR_TAG);
        CHECK(MPI_Comm_free(&alone) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_create_from_group(world, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &everybody) == MPI_SUCCESS);
    CHECK(compare(everybody, MPI_COMM_WORLD) == MPI_CONGRUENT);
    if (size > 1)
        CHECK_ERROR(MPI_Comm_create(half, world, &none), MPI_ERR_GROUP);
    CHECK_ERROR(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &none), MPI_ERR_GROUP);
    MPI_Group_free(&first);
    MPI_Group_free(&world);
    MPI_Comm_free(&half);
    MPI_Comm_free(&node);
    MPI_Comm_free(&everybody);
}

static void names(void)
{
    MPI_Comm copy;
    char name[MPI_MAX_OBJECT_NAME], longer[MPI_MAX_OBJECT_NAME + 10];
    int len;
    CHECK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &len) == MPI_SUCCESS);
    CHECK(!strcmp(name, "MPI_COMM_WORLD") && len == 14);
    CHECK(MPI_Comm_get_name(MPI_COMM_SELF, name, &len) == MPI_SUCCESS && !strcmp(name, "MPI_COMM_SELF"));
    CHECK(MPI_Comm_get_name(MPI_COMM_NULL, name, &len) == MPI_SUCCESS && !strcmp(name, "MPI_COMM_NULL"));
    CHECK(MPI_Comm_get_parent(&copy) == MPI_SUCCESS && copy == MPI_COMM_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(MPI_Comm_get_name(copy, name, &len) == MPI_SUCCESS && !strcmp(name, "") && len == 0);
    CHECK(MPI_Comm_set_name(copy, "halo exchange") == MPI_SUCCESS);
    CHECK(MPI_Comm_get_name(copy, name, &len) == MPI_SUCCESS && !strcmp(name, "halo exchange") && len == 13);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK(MPI_Comm_set_name(copy, longer) == MPI_SUCCESS && MPI_Comm_get_name(copy, name, &len) == MPI_SUCCESS);
    CHECK(len == MPI_MAX_OBJECT_NAME - 1 && !strncmp(name, longer, len) && name[len] == 0);
    CHECK_ERROR(MPI_Comm_set_name(MPI_COMM_NULL, "nothing"), MPI_ERR_COMM);
    MPI_Comm_free(&copy);
}

static void mistakes(void)
{
    MPI_Comm copy, freed, world = MPI_COMM_WORLD, null = MPI_COMM_NULL;
    int got;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    freed = copy;
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Comm_size(freed, &got), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Comm_free(&freed), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Comm_free(&world), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Comm_free(&null), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Comm_dup(MPI_COMM_NULL, &copy), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Comm_dup_with_info(MPI_COMM_SELF, (MPI_Info)freed, &copy), MPI_ERR_INFO);
    CHECK(MPI_Comm_test_inter(MPI_COMM_WORLD, &got) == MPI_SUCCESS && !got);
    CHECK_ERROR(MPI_Comm_remote_size(MPI_COMM_WORLD, &got), MPI_ERR_COMM);
    CHECK_ERROR(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &copy), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    duplicates();
    nonblocking();
    parts();
    names();
    mistakes();
    MPI_Finalize();
    return 0;
}
