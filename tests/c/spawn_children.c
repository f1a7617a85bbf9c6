/* Ranks that are spawned, and those that spawn them, talk to each other (MPI-5.0 sections 11.7 and 11.8). The program is
 * both. */
#include "check.h"
#include <unistd.h>

enum { CHILDREN = 2, LONG = 300000 };

static int size_of(MPI_Comm comm)
{
    int size;
    CHECK(MPI_Comm_size(comm, &size) == MPI_SUCCESS);
    return size;
}

static int rank_in(MPI_Comm comm)
{
    int rank;
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    return rank;
}

static int remote_size_of(MPI_Comm comm)
{
    int size;
    CHECK(MPI_Comm_remote_size(comm, &size) == MPI_SUCCESS);
    return size;
}

/* Each rank of one side exchanges messages of these lengths with each of the other. */
static void exchange(MPI_Comm inter, int length)
{
    int others = remote_size_of(inter), mine = rank_in(inter), other, place;
    int *sent = malloc(length * sizeof *sent), *got = malloc((size_t)others * length * sizeof *got);
    MPI_Request *requests = malloc(2 * others * sizeof *requests);
    MPI_Status *statuses = malloc(2 * others * sizeof *statuses);
    for (place = 0; place < length; place++)
        sent[place] = mine * length + place;
    for (other = 0; other < others; other++) {
        int *into = got + (size_t)other * length;
        CHECK(MPI_Irecv(into, length, MPI_INT, other, length, inter, &requests[2 * other]) == MPI_SUCCESS);
        CHECK(MPI_Isend(sent, length, MPI_INT, other, length, inter, &requests[2 * other + 1]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(2 * others, requests, statuses) == MPI_SUCCESS);
    for (other = 0; other < others; other++) {
        CHECK(statuses[2 * other].MPI_SOURCE == other && statuses[2 * other].MPI_TAG == length);
        for (place = 0; place < length; place++)
            CHECK(got[(size_t)other * length + place] == other * length + place);
    }
    free(sent), free(got), free(requests), free(statuses);
}

/* Blocking calls, and a receive from whoever sends. */
static void in_turn(MPI_Comm inter, int is_parent)
{
    int others = remote_size_of(inter), mine = rank_in(inter), other, got;
    MPI_Status status;
    for (other = 0; other < others; other++)
        if (is_parent)
            CHECK(MPI_Send(&mine, 1, MPI_INT, other, 7, inter) == MPI_SUCCESS);
    for (other = 0; other < others && !is_parent; other++) {
        CHECK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, inter, &status) == MPI_SUCCESS && got == status.MPI_SOURCE);
        CHECK(MPI_Ssend(&mine, 1, MPI_INT, got, 8, inter) == MPI_SUCCESS);
    }
    for (other = 0; other < others && is_parent; other++)
        CHECK(MPI_Recv(&got, 1, MPI_INT, other, 8, inter, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == other);
}

/* Requests of both engines of a rank, in one list; the world's are in the middle of something meanwhile. */
static void among_others(MPI_Comm inter)
{
    int mine = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), others = remote_size_of(inter);
    int next = (mine + 1) % size, partner = rank_in(inter), got[3] = {-1, -1, -1}, index, sum = 0, flag = 0;
    MPI_Request requests[4];
    MPI_Comm copy;
    CHECK(MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
    requests[1] = requests[2] = MPI_REQUEST_NULL;
    if (partner < others) {
        CHECK(MPI_Irecv(&got[1], 1, MPI_INT, partner, 21, inter, &requests[1]) == MPI_SUCCESS);
        CHECK(MPI_Isend(&mine, 1, MPI_INT, partner, 21, inter, &requests[2]) == MPI_SUCCESS);
    }
    CHECK(MPI_Iallreduce(&mine, &got[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]) == MPI_SUCCESS);
    CHECK(MPI_Testany(4, requests, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Send(&mine, 1, MPI_INT, next, 20, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(got[0] == (mine + size - 1) % size && got[1] == (partner < others ? partner : -1));
    CHECK(got[2] == size * (size - 1) / 2);
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(inter, &copy) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, copy) == MPI_SUCCESS);
    CHECK(sum == others * (others - 1) / 2);
    CHECK(MPI_Comm_disconnect(&copy) == MPI_SUCCESS && copy == MPI_COMM_NULL);
}

/* All as one, the parents first. */
static void merged(MPI_Comm inter, int is_parent)
{
    int all = size_of(inter) + remote_size_of(inter), before = is_parent ? 0 : remote_size_of(inter), rank, place;
    long *sums = malloc(LONG * sizeof *sums), *mine = malloc(LONG * sizeof *mine);
    int *ranks = malloc(all * sizeof *ranks);
    MPI_Comm intra, halves;
    MPI_Win window;
    int *memory, got = -1;
    CHECK(MPI_Intercomm_merge(inter, !is_parent, &intra) == MPI_SUCCESS);
    rank = rank_in(intra);
    CHECK(size_of(intra) == all && rank == before + rank_in(inter));
    for (place = 0; place < LONG; place++)
        mine[place] = rank + place;
    CHECK(MPI_Allreduce(mine, sums, LONG, MPI_LONG, MPI_SUM, intra) == MPI_SUCCESS);
    for (place = 0; place < LONG; place++)
        CHECK(sums[place] == all * (all - 1) / 2 + (long)all * place);
    CHECK(MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, intra) == MPI_SUCCESS);
    for (place = 0; place < all; place++)
        CHECK(ranks[place] == place);
    CHECK(MPI_Comm_split(intra, rank % 2, -rank, &halves) == MPI_SUCCESS);
    CHECK(MPI_Bcast(&got, 1, MPI_INT, 0, halves) == MPI_SUCCESS);
    CHECK(MPI_Barrier(halves) == MPI_SUCCESS && MPI_Comm_free(&halves) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, intra, &memory, &window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % all, 0, 1, MPI_INT, window) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS && *memory == (rank + all - 1) % all);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&intra) == MPI_SUCCESS);
    free(sums), free(mine), free(ranks);
}

static void talk(MPI_Comm inter, int is_parent)
{
    int is_inter = 0;
    CHECK(MPI_Comm_test_inter(inter, &is_inter) == MPI_SUCCESS && is_inter);
    exchange(inter, 1);
    exchange(inter, 3000);
    exchange(inter, LONG);
    in_turn(inter, is_parent);
    among_others(inter);
    merged(inter, is_parent);
}

static void be_child(MPI_Comm parents, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, *number, flag = 0;
    CHECK(size_of(MPI_COMM_WORLD) == CHILDREN && size_of(parents) == CHILDREN);
    CHECK(rank_in(parents) == rank_in(MPI_COMM_WORLD));
    CHECK(remote_size_of(parents) == atoi(argv[2]) && !strcmp(argv[3], "two words"));
    CHECK(MPI_Comm_get_name(parents, name, &length) == MPI_SUCCESS && !strcmp(name, "MPI_COMM_PARENT"));
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag) == MPI_SUCCESS && flag && *number == 0);
    talk(parents, 0);
    if (!strcmp(argv[1], "disconnect")) {
        CHECK(MPI_Comm_disconnect(&parents) == MPI_SUCCESS);
        CHECK(MPI_Comm_get_parent(&parents) == MPI_SUCCESS && parents == MPI_COMM_NULL);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

static void be_parent(char *program, char *manner)
{
    char parents[16];
    char *arguments[] = {manner, parents, "two words", NULL};
    int codes[CHILDREN] = {-1, -1}, rank = rank_in(MPI_COMM_WORLD), root = size_of(MPI_COMM_WORLD) - 1;
    MPI_Comm children;
    snprintf(parents, sizeof parents, "%d", size_of(MPI_COMM_WORLD));
    /* Only the root's arguments matter. */
    CHECK(MPI_Comm_spawn(rank == root ? program : "nothing", rank == root ? arguments : MPI_ARGV_NULL, CHILDREN,
                         MPI_INFO_NULL, root, MPI_COMM_WORLD, &children, codes)
          == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && remote_size_of(children) == CHILDREN);
    talk(children, 1);
    if (!strcmp(manner, "disconnect")) {
        CHECK(MPI_Comm_disconnect(&children) == MPI_SUCCESS && children == MPI_COMM_NULL);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Comm_free(&children) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_parent(&parents) == MPI_SUCCESS);
    if (parents != MPI_COMM_NULL) {
        be_child(parents, argv);
    } else {
        be_parent(argv[0], "disconnect");
        be_parent(argv[0], "finalize");
    }
    return MPI_Finalize();
}
