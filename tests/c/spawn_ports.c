/* Two parts of a job meet at a port as if they were two jobs, and take published names and sockets for it (MPI-5.0
 * sections 11.9 and 11.10). ranks: 2 3 4 */
#include "check.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int rank, size;

/* The first half accepts, the second connects; both talk. */
static void meet(MPI_Comm half, int accepts, const char *port)
{
    MPI_Comm others, all;
    int mine, count, theirs, sum = 0, got = -1, one = 1;
    MPI_Comm_rank(half, &mine);
    MPI_Comm_size(half, &count);
    if (accepts)
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &others) == MPI_SUCCESS);
    else
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &others) == MPI_SUCCESS);
    CHECK(MPI_Comm_remote_size(others, &theirs) == MPI_SUCCESS && theirs == size - count);
    if (mine < theirs)
        CHECK(MPI_Sendrecv(&mine, 1, MPI_INT, mine, 1, &got, 1, MPI_INT, mine, 1, others, MPI_STATUS_IGNORE)
                  == MPI_SUCCESS
              && got == mine);
    CHECK(MPI_Intercomm_merge(others, accepts, &all) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all) == MPI_SUCCESS && sum == size);
    CHECK(MPI_Comm_rank(all, &got) == MPI_SUCCESS && got == mine + (accepts ? theirs : 0));
    {
        /* The ranks of this half are the same processes in both. */
        MPI_Group in_all, in_world, in_half;
        int place = got, translated = -1, relation;
        MPI_Comm_group(all, &in_all);
        MPI_Comm_group(MPI_COMM_WORLD, &in_world);
        CHECK(MPI_Group_translate_ranks(in_all, 1, &place, in_world, &translated) == MPI_SUCCESS && translated == rank);
        MPI_Group_free(&in_all);
        MPI_Comm_group(others, &in_all);
        MPI_Comm_group(half, &in_half);
        CHECK(MPI_Group_compare(in_all, in_half, &relation) == MPI_SUCCESS && relation == MPI_IDENT);
        MPI_Group_free(&in_all);
        MPI_Group_free(&in_world);
        MPI_Group_free(&in_half);
    }
    CHECK(MPI_Comm_disconnect(&all) == MPI_SUCCESS && MPI_Comm_disconnect(&others) == MPI_SUCCESS);
}

/* A socket that connects ranks 0 and 1. */
static int connected_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rwmpi-test-%d", (int)getpid());
    int taken = socket(AF_UNIX, SOCK_STREAM, 0), got;
    socklen_t size_of = offsetof(struct sockaddr_un, sun_path) + 1 + length;
    if (rank == 0) {
        CHECK(bind(taken, (struct sockaddr *)&address, size_of) == 0 && listen(taken, 1) == 0);
        CHECK(MPI_Send(&address, sizeof address, MPI_BYTE, 1, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Send(&size_of, sizeof size_of, MPI_BYTE, 1, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
        got = accept(taken, NULL, NULL);
        close(taken);
        return got;
    }
    CHECK(MPI_Recv(&address, sizeof address, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Recv(&size_of, sizeof size_of, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(connect(taken, (struct sockaddr *)&address, size_of) == 0);
    return taken;
}

static void join(void)
{
    int descriptor, got = -1;
    char byte = 'x';
    MPI_Comm other;
    if (rank > 1)
        return;
    descriptor = connected_socket();
    CHECK(descriptor >= 0 && MPI_Comm_join(descriptor, &other) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == 1 - rank);
    CHECK(MPI_Comm_disconnect(&other) == MPI_SUCCESS);
    /* The socket is the program's again. */
    CHECK(write(descriptor, &byte, 1) == 1 && read(descriptor, &byte, 1) == 1 && byte == 'x');
    close(descriptor);
}

static void errors(void)
{
    MPI_Comm none;
    MPI_Info info;
    char port[MPI_MAX_PORT_NAME], service[64], found[MPI_MAX_PORT_NAME];
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &none), MPI_ERR_PORT);
    CHECK(none == MPI_COMM_NULL);
    CHECK_ERROR(MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &none), MPI_ERR_PORT);
    CHECK_ERROR(MPI_Comm_connect("no port", MPI_INFO_NULL, size, MPI_COMM_WORLD, &none), MPI_ERR_ROOT);
    CHECK_ERROR(MPI_Close_port("no port"), MPI_ERR_PORT);
    CHECK_ERROR(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none), MPI_ERR_PORT);

    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "0.05");
    CHECK_ERROR(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &none), MPI_ERR_PORT);
    MPI_Info_set(info, "timeout", "soon");
    CHECK_ERROR(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &none), MPI_ERR_INFO_VALUE);
    MPI_Info_free(&info);

    snprintf(service, sizeof service, "rwmpi/test %d", (int)getpid());
    CHECK_ERROR(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    CHECK_ERROR(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    CHECK(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, found) == MPI_SUCCESS && !strcmp(found, port));
    CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none), MPI_ERR_PORT);
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int accepts, round;
    MPI_Comm half;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    accepts = rank < size / 2;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, accepts, -rank, &half) == MPI_SUCCESS);
    for (round = 0; round < 3; round++) {
        int opener = size / 2 - 1, root;
        /* The ranks of a half are in reverse order: the last of the first half is its first. */
        CHECK(MPI_Comm_rank(half, &root) == MPI_SUCCESS);
        if (rank == opener)
            CHECK(root == 0 && MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Bcast(port, sizeof port, MPI_CHAR, opener, MPI_COMM_WORLD) == MPI_SUCCESS);
        meet(half, accepts, port);
        if (rank == opener)
            CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    }
    join();
    errors();
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
    return MPI_Finalize();
}
