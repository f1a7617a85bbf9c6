/* Spawns itself as two ranks, and does what its argument says; for tests that look at what is said, and left behind. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank_in_world(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* Each rank sends to all of the other side, short and long, and all of both agree, write into each other's memory and part. */
static void talk(MPI_Comm others, int comes_last)
{
    enum { LONG = 1 << 18 };
    int size, rank, number, beside, sum = 0, right;
    int *sent = malloc(LONG * sizeof *sent), *heard = malloc(LONG * sizeof *heard), *memory;
    MPI_Comm all, near;
    MPI_Win window;
    MPI_Comm_remote_size(others, &number);
    for (int other = 0; other < number; other++) {
        for (int is_long = 0; is_long < 2; is_long++) {
            MPI_Request request;
            int length = is_long ? LONG : 1;
            for (int index = 0; index < length; index++)
                sent[index] = index + comes_last;
            MPI_Isend(sent, length, MPI_INT, other, length, others, &request);
            MPI_Recv(heard, length, MPI_INT, other, length, others, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (heard[0] != !comes_last || heard[length - 1] != length - 1 + !comes_last)
                MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Intercomm_merge(others, comes_last, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &beside);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, all, &memory, &window);
    right = (rank + 1) % size;
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    printf("rank %d of %d: sum %d, beside %d, left %d\n", rank, size, sum, beside, *memory);
    fflush(stdout);
    MPI_Win_free(&window);
    MPI_Comm_free(&near);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&others);
    free(sent);
    free(heard);
}

static void be_child(const char *manner, MPI_Comm parents)
{
    int rank = rank_in_world();
    printf("child %d is process %d\n", rank, (int)getpid());
    fflush(stdout);
    if (!strcmp(manner, "talk")) {
        talk(parents, 1);
        return;
    }
    MPI_Barrier(parents);
    if (!strcmp(manner, "child-dies") && rank == 1)
        raise(SIGKILL);
    if (!strcmp(manner, "child-aborts") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 17);
    if (!strcmp(manner, "outlive")) {
        MPI_Comm_disconnect(&parents);
        sleep(1);
        MPI_Barrier(MPI_COMM_WORLD);
        printf("child %d goes on\n", rank);
    } else if (strcmp(manner, "well")) {
        /* For ever, unless somebody ends it. */
        MPI_Recv(&rank, 1, MPI_INT, 0, 1, parents, MPI_STATUS_IGNORE);
    }
}

static void be_parent(char *program, char *manner)
{
    char *of_child[] = {manner, NULL}, *of_shell[] = {"-c", "kill -KILL $PPID; exec sleep 60", NULL};
    char **arguments = of_child;
    MPI_Comm children;
    int got;
    MPI_Info hints;
    MPI_Info_create(&hints);
    if (getenv("SPAWNER_HOST"))
        MPI_Info_set(hints, "host", getenv("SPAWNER_HOST"));
    if (!strcmp(manner, "no-mpi"))
        program = "true";
    if (!strcmp(manner, "launcher-dies")) {
        program = "/bin/sh";
        arguments = of_shell;
    }
    if (!strcmp(manner, "no-program")) {
        int result;
        char text[MPI_MAX_ERROR_STRING];
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        result = MPI_Comm_spawn("/no/such/program", arguments, 2, hints, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Error_string(result, text, &got);
        printf("refused: %s\n", text);
        MPI_Info_free(&hints);
        return;
    }
    MPI_Comm_spawn(program, arguments, 2, hints, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&hints);
    if (!strcmp(manner, "talk")) {
        talk(children, 0);
        return;
    }
    MPI_Barrier(children);
    if (!strcmp(manner, "parent-dies") && rank_in_world() == 0)
        raise(SIGKILL);
    if (!strcmp(manner, "outlive"))
        MPI_Comm_disconnect(&children);
    else if (strcmp(manner, "well"))
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, children, MPI_STATUS_IGNORE);
}

/* Two jobs that know the same word meet, and add up how many they are. */
static void meet(const char *manner, const char *service)
{
    int accepts = !strncmp(manner, "accept", 6);
    char name[MPI_MAX_PORT_NAME] = "", published[MPI_MAX_PORT_NAME];
    int rank = rank_in_world(), one = 1, sum = 0, size;
    MPI_Comm others, all;
    if (strstr(manner, "-late") && rank == 1) {
        /* The others are on their way to the meeting by now. */
        sleep(1);
        raise(SIGKILL);
    }
    if (accepts) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, name);
            memcpy(published, name, sizeof name);
            /* As if the port were not on this machine, where no socket has that name. */
            if (getenv("SPAWNER_PORT_FROM_AFAR"))
                memcpy(strchr(published, ':') + 1, "elsewhere", 9);
            MPI_Publish_name(service, MPI_INFO_NULL, published);
        }
        MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others);
        if (rank == 0)
            MPI_Unpublish_name(service, MPI_INFO_NULL, published);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        while (rank == 0 && MPI_Lookup_name(service, MPI_INFO_NULL, name) != MPI_SUCCESS)
            usleep(1000);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others);
    }
    MPI_Intercomm_merge(others, !accepts, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_rank(all, &size);
    printf("rank %d of %d, accepting: %d\n", size, sum, accepts);
    if (!strcmp(manner, "accept-and-die") && rank == 0)
        raise(SIGKILL);
    if (!strcmp(manner, "connect-and-wait"))
        MPI_Recv(&one, 1, MPI_INT, 0, 1, all, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&others);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        be_child(argv[1], parents);
    else if (argc > 2)
        meet(argv[1], argv[2]);
    else
        be_parent(argv[0], argv[1]);
    MPI_Finalize();
    return 0;
}
