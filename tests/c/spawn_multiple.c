/* Several programs at once, where they run, and children that have children (MPI-5.0 section 11.8.3). ranks: 1 2 */
#include "check.h"
#include <unistd.h>

static int rank_in(MPI_Comm comm)
{
    int rank;
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    return rank;
}

/* What each child tells the first of its parents. */
struct told {
    int number, size;
    char argument[32], directory[256];
};

static void be_child(MPI_Comm parents, int argc, char **argv)
{
    struct told told;
    int *number, flag;
    memset(&told, 0, sizeof told);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag) == MPI_SUCCESS && flag);
    told.number = *number;
    MPI_Comm_size(MPI_COMM_WORLD, &told.size);
    snprintf(told.argument, sizeof told.argument, "%s", argc > 1 ? argv[1] : "none");
    CHECK(getcwd(told.directory, sizeof told.directory));
    CHECK(MPI_Send(&told, sizeof told, MPI_BYTE, 0, 3, parents) == MPI_SUCCESS);
    if (argc > 1 && !strcmp(argv[1], "grandchild")) {
        MPI_Comm grandchildren;
        char *arguments[] = {"leaf", NULL};
        CHECK(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &grandchildren,
                             MPI_ERRCODES_IGNORE)
              == MPI_SUCCESS);
        CHECK(MPI_Recv(&told, sizeof told, MPI_BYTE, 0, 3, grandchildren, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(!strcmp(told.argument, "leaf") && told.size == 1 && told.number == 0);
        CHECK(MPI_Comm_disconnect(&grandchildren) == MPI_SUCCESS);
    }
}

/* Fewer will do: as many as the hints allow, of which some are in a file. */
static void spawn_softly(char *program)
{
    char name[256], *arguments[] = {"soft", NULL};
    int codes[4] = {-1, -1, -1, -1}, place, class;
    MPI_Comm children;
    MPI_Info info;
    struct told told;
    const char *folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/rwmpi-spawn-%d-%d", folder ? folder : "/tmp", (int)getpid(), rank_in(MPI_COMM_WORLD));
    if (rank_in(MPI_COMM_WORLD) == 0) {
        FILE *file = fopen(name, "w");
        CHECK(file && fprintf(file, "# where they run\nwdir = /\nsoft = 1\n") > 0 && fclose(file) == 0);
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "file", name);
    MPI_Info_set(info, "soft", "0, 2:3:5, 8");
    CHECK(MPI_Comm_spawn(program, arguments, 4, info, 0, MPI_COMM_WORLD, &children, codes) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_Comm_remote_size(children, &place) == MPI_SUCCESS && place == 2);
    for (place = 0; place < 4; place++) {
        CHECK(MPI_Error_class(codes[place], &class) == MPI_SUCCESS);
        CHECK(class == (place < 2 ? MPI_SUCCESS : MPI_ERR_SPAWN));
    }
    for (place = 0; place < 2 && rank_in(MPI_COMM_WORLD) == 0; place++) {
        CHECK(MPI_Recv(&told, sizeof told, MPI_BYTE, place, 3, children, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(told.size == 2 && !strcmp(told.directory, "/") && !strcmp(told.argument, "soft"));
    }
    if (rank_in(MPI_COMM_WORLD) == 0)
        CHECK(unlink(name) == 0);
    CHECK(MPI_Comm_disconnect(&children) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Comm parents, children;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_parent(&parents) == MPI_SUCCESS);
    if (parents != MPI_COMM_NULL) {
        be_child(parents, argc, argv);
        CHECK(MPI_Comm_disconnect(&parents) == MPI_SUCCESS);
        return MPI_Finalize();
    }
    {
        char here[256], *programs[] = {argv[0], argv[0]}, *first[] = {"grandchild", NULL}, *second[] = {NULL};
        char **arguments[] = {first, second};
        int most[] = {1, 2}, codes[3] = {-1, -1, -1}, child;
        MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
        struct told told;
        CHECK(getcwd(here, sizeof here));
        MPI_Info_create(&infos[1]);
        MPI_Info_set(infos[1], "wdir", "/");
        CHECK(MPI_Comm_spawn_multiple(2, programs, arguments, most, infos, 0, MPI_COMM_WORLD, &children, codes)
              == MPI_SUCCESS);
        MPI_Info_free(&infos[1]);
        for (child = 0; child < 3; child++) {
            CHECK(codes[child] == MPI_SUCCESS);
            if (rank_in(MPI_COMM_WORLD) != 0)
                continue;
            CHECK(MPI_Recv(&told, sizeof told, MPI_BYTE, child, 3, children, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(told.size == 3 && told.number == (child > 0));
            CHECK(!strcmp(told.argument, child > 0 ? "none" : "grandchild"));
            CHECK(!strcmp(told.directory, child > 0 ? "/" : here));
        }
        CHECK(MPI_Comm_disconnect(&children) == MPI_SUCCESS);
    }
    spawn_softly(argv[0]);
    return MPI_Finalize();
}
