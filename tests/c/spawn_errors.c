/* What can't be spawned (MPI-5.0 section 11.8.2): an error on all ranks, after which everything goes on. ranks: 1 2 3 */
#include "check.h"

static int rank, size;

static void is_refused(const char *program, int most, MPI_Info info, int expected)
{
    MPI_Comm children = MPI_COMM_SELF;
    int codes[2] = {-1, -1}, class = -1, place;
    CHECK_ERROR(MPI_Comm_spawn(program, MPI_ARGV_NULL, most, info, 0, MPI_COMM_WORLD, &children, codes), expected);
    CHECK(children == MPI_COMM_NULL);
    for (place = 0; place < most; place++)
        CHECK(MPI_Error_class(codes[place], &class) == MPI_SUCCESS && class == MPI_ERR_SPAWN);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Comm children;
    MPI_Info info;
    char text[MPI_MAX_ERROR_STRING];
    int length, code;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    is_refused("./no/such/program", 2, MPI_INFO_NULL, MPI_ERR_SPAWN);
    is_refused("no-such-program", 1, MPI_INFO_NULL, MPI_ERR_SPAWN);
    is_refused("true", 0, MPI_INFO_NULL, MPI_ERR_SPAWN);
    is_refused("true", -1, MPI_INFO_NULL, rank == 0 ? MPI_ERR_ARG : MPI_ERR_SPAWN);

    code = MPI_Comm_spawn("no-such-program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                          MPI_ERRCODES_IGNORE);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && strstr(text, "no-such-program"));

    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "no.such.host");
    is_refused("true", 1, info, MPI_ERR_SPAWN);
    MPI_Info_delete(info, "host");
    MPI_Info_set(info, "wdir", "/no/such/directory");
    is_refused("true", 1, info, MPI_ERR_SPAWN);
    MPI_Info_delete(info, "wdir");
    MPI_Info_set(info, "soft", "3:5");
    is_refused("true", 2, info, rank == 0 ? MPI_ERR_INFO_VALUE : MPI_ERR_SPAWN);
    MPI_Info_set(info, "soft", "many");
    is_refused("true", 2, info, rank == 0 ? MPI_ERR_INFO_VALUE : MPI_ERR_SPAWN);
    MPI_Info_delete(info, "soft");
    MPI_Info_set(info, "file", "/no/such/file");
    is_refused("true", 2, info, rank == 0 ? MPI_ERR_INFO_VALUE : MPI_ERR_SPAWN);
    MPI_Info_free(&info);

    CHECK_ERROR(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &children,
                               MPI_ERRCODES_IGNORE),
                MPI_ERR_ROOT);
    return MPI_Finalize();
}
