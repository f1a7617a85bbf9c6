/* Programs for the progress thread: without one, or without its buffer, most of them would never end.

     progress WHAT FILE

   Ranks tell each other by way of the file, not by MPI, how far they have come: a rank that "computes" looks at it only. */
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;
static atomic_int *said;

static void map(const char *file)
{
    int descriptor = open(file, O_RDWR);
    CHECK(descriptor >= 0 && ftruncate(descriptor, 4096) == 0);
    said = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    CHECK(said != MAP_FAILED);
}

static void compute_until(int word, int value)
{
    while (atomic_load(&said[word]) < value)
        usleep(100);
}

/* Memory that is not the other's to reach, but by the kernel. */
static int *private_memory(int count)
{
    int *memory = mmap(NULL, count * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* The receiver computes until the sender knows that the receive was matched. */
static void matched(void)
{
    int word = 7;
    MPI_Request request;
    if (rank == 1)
        MPI_Irecv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 1; round <= 20; round++) {
        if (rank == 0) {
            word = round;
            MPI_Ssend(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            atomic_store(&said[0], round);
            compute_until(1, round);
        } else {
            compute_until(0, round);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(word == round);
            if (round < 20)
                MPI_Irecv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
            atomic_store(&said[1], round);
        }
    }
}

/* The same for long messages, of which the library's buffer holds none, and of which the sender was first. */
static void fetched(void)
{
    enum { COUNT = 1 << 20 };
    int *data = private_memory(COUNT);
    for (int round = 1; round <= 5; round++) {
        MPI_Request request;
        if (rank == 0) {
            for (int i = 0; i < COUNT; i++)
                data[i] = i ^ round;
            MPI_Isend(data, COUNT, MPI_INT, 1, round, MPI_COMM_WORLD, &request);
            atomic_store(&said[0], 2 * round - 1);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            atomic_store(&said[0], 2 * round);
        } else {
            compute_until(0, 2 * round - 1);
            MPI_Irecv(data, COUNT, MPI_INT, 0, round, MPI_COMM_WORLD, &request);
            compute_until(0, 2 * round);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int i = 0; i < COUNT; i++)
                CHECK(data[i] == (i ^ round));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Sends return while nobody has asked for their messages, at any size that the buffer holds. */
static void returns(void)
{
    enum { MOST = 1 << 17 };
    int *data = private_memory(MOST);
    for (int count = 1, round = 1; count <= MOST; count *= 4, round++) {
        if (rank == 0) {
            MPI_Datatype every_second;
            MPI_Type_vector((count + 1) / 2, 1, 2, MPI_INT, &every_second);
            MPI_Type_commit(&every_second);
            for (int i = 0; i < count; i++)
                data[i] = i + round;
            MPI_Send(data, count, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Request request;
            MPI_Isend(data, 1, every_second, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            memset(data, 0xff, count * sizeof *data);
            MPI_Type_free(&every_second);
            atomic_store(&said[0], round);
            compute_until(1, round);
        } else {
            compute_until(0, round);
            MPI_Recv(data, count, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < count; i++)
                CHECK(data[i] == i + round);
            MPI_Recv(data, (count + 1) / 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < (count + 1) / 2; i++)
                CHECK(data[i] == 2 * i + round);
            atomic_store(&said[1], round);
        }
    }
}

/* A send of more than the buffer holds waits for its receive, and those that follow keep their order. */
static void overflows(void)
{
    enum { COUNT = 3 << 16, MESSAGES = 8 };
    int *data = private_memory(COUNT);
    for (int message = 0; message < MESSAGES; message++) {
        data[0] = message;
        if (rank == 0)
            MPI_Send(data, COUNT, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else {
            MPI_Recv(data, COUNT, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(data[0] == message);
        }
    }
}

/* Rank 0 computes while a barrier that it has entered goes through it. */
static void collective(void)
{
    for (int round = 1; round <= 20; round++) {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        if (rank == 0) {
            for (int other = 1; other < size; other++)
                compute_until(other, round);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        atomic_store(&said[rank], round);
    }
}

static pthread_t main_thread;
static int calls;

static void add(void *from, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    CHECK(pthread_equal(main_thread, pthread_self()));
    calls++;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)from)[i];
}

/* A program that has no threads finds its operation called by none but its own. */
static void operation(void)
{
    MPI_Op sum;
    main_thread = pthread_self();
    MPI_Op_create(add, 1, &sum);
    for (int round = 0; round < 50; round++) {
        MPI_Request request;
        int mine = rank + round, all = 0;
        MPI_Iallreduce(&mine, &all, 1, MPI_INT, sum, MPI_COMM_WORLD, &request);
        usleep(2000);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(all == size * round + size * (size - 1) / 2);
    }
    int all_calls = 0;
    MPI_Allreduce(&calls, &all_calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all_calls > 0);
    MPI_Op_free(&sum);
}

/* What /proc says of the library's thread: how often it has slept, and its time on a processor in ticks. */
static int of_worker(long *sleeps, long *ticks)
{
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], text[4096];
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = fopen(path, "r");
        if (task->d_name[0] == '.' || file == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        if (strstr(text, "(rwmpi-progress)") == NULL)
            continue;
        long user = 0, system = 0;
        CHECK(sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) == 2);
        *ticks = user + system;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        file = fopen(path, "r");
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        CHECK(sscanf(strstr(text, "\nvoluntary_ctxt_switches:"), "\nvoluntary_ctxt_switches: %ld", sleeps) == 1);
        found++;
    }
    closedir(tasks);
    return found;
}

/* As of_worker, once there are so many: the thread may get its name, and leave /proc, a while after the call that starts or ends it. */
static void await_workers(int count, long *sleeps, long *ticks)
{
    for (int tries = 0; of_worker(sleeps, ticks) != count; tries++) {
        CHECK(tries < 20000);
        usleep(1000);
    }
}

/* Nobody asked for the thread. */
static void none(void)
{
    long unused[2];
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    CHECK(of_worker(&unused[0], &unused[1]) == 0);
}

/* The thread wakes up about once in a second where nothing happens: outside of MPI, in rank 0, and in a call that waits, in the others. */
static void idle(void)
{
    long sleeps[2], ticks[2];
    int word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(rank == 0 ? 100000 : 0);
    await_workers(1, &sleeps[0], &ticks[0]);
    if (rank == 0) {
        sleep(3);
        CHECK(of_worker(&sleeps[1], &ticks[1]) == 1);
        for (int other = 1; other < size; other++)
            MPI_Send(&word, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(of_worker(&sleeps[1], &ticks[1]) == 1);
    }
    printf("rank %d: %ld sleeps, %ld ticks\n", rank, sleeps[1] - sleeps[0], ticks[1] - ticks[0]);
    /* As long as the waiting rank looks about before it sleeps itself, a nap follows the other: longer on a busy machine. A thread that went on
       napping would do so thousands of times. */
    CHECK(sleeps[1] - sleeps[0] <= 400 && ticks[1] - ticks[0] <= 1);
}

/* Children that end in good order, born while messages come. */
static void forks(void)
{
    enum { COUNT = 1 << 15 };
    int *data = private_memory(COUNT);
    for (int round = 0; round < 50; round++) {
        MPI_Request request;
        if (rank == 0)
            MPI_Isend(data, COUNT, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(data, COUNT, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        pid_t child = fork();
        if (child == 0)
            exit(0);
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void *tell(void *word)
{
    usleep(2000);
    MPI_Send(word, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
    return NULL;
}

/* The program's threads and the library's at the same time. */
static void threads(void)
{
    for (int round = 0; round < 50; round++) {
        pthread_t other;
        int sent = round, got = -1, from_left = -1, left = (rank + size - 1) % size;
        MPI_Request request;
        MPI_Irecv(&from_left, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &request);
        CHECK(pthread_create(&other, NULL, tell, &sent) == 0);
        MPI_Send(&sent, 1, MPI_INT, (rank + 1) % size, 4, MPI_COMM_WORLD);
        usleep(round % 5 * 400);
        MPI_Recv(&got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(got == round && from_left == round);
        pthread_join(other, NULL);
    }
}

/* Rank 0 gives up: while its thread sleeps, and, as messages come, perhaps not. */
static void aborts(void)
{
    int word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(20000);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    for (;;) {
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        usleep(1000);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
    int thread_level;
} programs[] = {
    {"matched", matched, MPI_THREAD_SINGLE},       {"fetched", fetched, MPI_THREAD_SINGLE},
    {"returns", returns, MPI_THREAD_SINGLE},       {"overflows", overflows, MPI_THREAD_FUNNELED},
    {"collective", collective, MPI_THREAD_SINGLE}, {"operation", operation, MPI_THREAD_SINGLE},
    {"idle", idle, MPI_THREAD_SERIALIZED},         {"forks", forks, MPI_THREAD_SINGLE},
    {"threads", threads, MPI_THREAD_MULTIPLE},     {"aborts", aborts, MPI_THREAD_SINGLE},
    {"none", none, MPI_THREAD_SINGLE},
};

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(programs[i].name, argv[1]) != 0)
            continue;
        int provided = -1;
        MPI_Init_thread(&argc, &argv, programs[i].thread_level, &provided);
        CHECK(provided == programs[i].thread_level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        map(argv[2]);
        programs[i].run();
        MPI_Finalize();
        long unused[2];
        await_workers(0, &unused[0], &unused[1]);
        return 0;
    }
    return 2;
}
