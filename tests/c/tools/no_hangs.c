/* Looks for some seconds as if it hung, in the way that the first argument names, and then goes on. */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 5 };

static int rank, ten[10];

static void send_to(int to)
{
    MPI_Send(ten, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
}

static void receive(void)
{
    MPI_Recv(ten, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One computes. */
static void computing(void)
{
    if (rank == 0) {
        sleep(SECONDS);
        send_to(1);
    } else {
        receive();
    }
}

/* One asks again and again. */
static void testing(void)
{
    if (rank == 0) {
        MPI_Request request;
        int found = 0;
        MPI_Irecv(ten, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        for (int i = 0; i < SECONDS * 10; i++, usleep(100000))
            MPI_Test(&request, &found, MPI_STATUS_IGNORE);
        send_to(1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        receive();
        MPI_Send(ten, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
}

static void *send_later(void *unused)
{
    sleep(SECONDS);
    send_to(0);
    send_to(1);
    return unused;
}

/* All wait, and another thread of one of them will send. */
static void thread(void)
{
    pthread_t other;
    if (rank == 0)
        pthread_create(&other, NULL, send_later, NULL);
    receive();
    if (rank == 0)
        pthread_join(other, NULL);
}

/* All wait, and one of them is stopped while a message for it lies in its queue. */
static void stopped(void)
{
    int pid = getpid();
    if (rank == 0) {
        MPI_Send(&pid, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        receive();
        send_to(1);
    } else {
        MPI_Recv(&pid, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sleep(1);
        kill(pid, SIGSTOP);
        if (fork() == 0) {
            sleep(SECONDS);
            kill(pid, SIGCONT);
            _exit(0);
        }
        send_to(0);
        receive();
    }
}

static int query(void *unused, MPI_Status *status)
{
    (void)unused;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int nothing(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

static int cancel(void *unused, int is_complete)
{
    (void)unused;
    (void)is_complete;
    return MPI_SUCCESS;
}

static void *complete_later(void *request)
{
    sleep(SECONDS);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

/* All wait, one of them for what another thread does. */
static void generalized(void)
{
    if (rank == 0) {
        MPI_Request request, copy;
        pthread_t other;
        MPI_Grequest_start(query, nothing, cancel, NULL, &request);
        copy = request;
        pthread_create(&other, NULL, complete_later, &copy);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        pthread_join(other, NULL);
        send_to(1);
    } else {
        receive();
    }
}

/* Some leave later than others. */
static void leaving(void)
{
    if (rank == 0)
        sleep(SECONDS);
}

/* All but one are in a nonblocking collective. */
static void collective(void)
{
    MPI_Request request;
    if (rank == 0)
        sleep(SECONDS);
    MPI_Iallreduce(MPI_IN_PLACE, ten, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One holds a lock for a while. */
static void lock(void)
{
    MPI_Win window;
    int *memory;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        sleep(SECONDS);
    else
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
}

static sem_t due;

static void on_alarm(int unused)
{
    (void)unused;
    sem_post(&due);
}

static void *send_when_due(void *unused)
{
    while (sem_wait(&due) != 0)
        ;
    send_to(0);
    send_to(1);
    return unused;
}

/* All wait, another thread of one of them sleeps, and a timer will wake it. */
static void timer(void)
{
    pthread_t other;
    sem_init(&due, 0, 0);
    if (rank == 0) {
        signal(SIGALRM, on_alarm);
        pthread_create(&other, NULL, send_when_due, NULL);
        alarm(SECONDS);
    }
    receive();
    if (rank == 0)
        pthread_join(other, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"computing", computing}, {"testing", testing}, {"thread", thread}, {"timer", timer},
    {"stopped", stopped}, {"generalized", generalized}, {"leaving", leaving},
    {"collective", collective}, {"lock", lock},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int level;
    /* Who comes late is waited for, too. */
    if (strcmp(name, "joining") == 0 && strcmp(getenv("MPI_LOCALRANKID"), "0") == 0)
        sleep(SECONDS);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            kinds[i].run();
    MPI_Finalize();
    return 0;
}
