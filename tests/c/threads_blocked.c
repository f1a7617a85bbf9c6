/* Threads that block in calls of every kind while others of their rank do what they wait for (MPI-5.0 section 11.6).
   ranks: 1 2 4 */
#include "check.h"
#include <pthread.h>

static int rank, size, left, right;
static MPI_Comm blocked;
static MPI_Request generalized;

enum { LONG = 1 << 18 };
static int buffer[LONG];

/* Each of these cannot end before the main thread has sent something on the same communicator. */

static void receive(int round)
{
    int got = -1;
    CHECK(MPI_Recv(&got, 1, MPI_INT, left, round, blocked, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == left + round);
}

static void receive_any(int round)
{
    int got = -1;
    MPI_Status status;
    CHECK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, blocked, &status) == MPI_SUCCESS);
    CHECK(got == left + round && status.MPI_SOURCE == left && status.MPI_TAG == round);
}

static void wait_for_one(int round)
{
    int got = -1;
    MPI_Request request;
    CHECK(MPI_Irecv(&got, 1, MPI_INT, left, round, blocked, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == left + round);
}

static void wait_for_some(int round)
{
    int got = -1, index = -1;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    CHECK(MPI_Irecv(&got, 1, MPI_INT, left, round, blocked, &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(index == 1 && got == left + round);
}

static void test(int round)
{
    int got = -1, flag = 0;
    MPI_Request request;
    CHECK(MPI_Irecv(&got, 1, MPI_INT, left, round, blocked, &request) == MPI_SUCCESS);
    while (!flag)
        CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == left + round);
}

static void probe(int round)
{
    int got = -1;
    MPI_Message message;
    CHECK(MPI_Mprobe(left, round, blocked, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == left + round);
}

static void (*const waits[])(int) = {receive, receive_any, wait_for_one, wait_for_some, test, probe};
enum { WAITS = sizeof waits / sizeof *waits };

static void *wait_for_messages(void *unused)
{
    for (int round = 0; round < 10 * WAITS; round++)
        waits[round % WAITS](round);
    return unused;
}

static void *pass_barriers(void *unused)
{
    for (int round = 0; round < 20; round++)
        CHECK(MPI_Barrier(blocked) == MPI_SUCCESS);
    return unused;
}

static void *complete(void *unused)
{
    CHECK(MPI_Barrier(blocked) == MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(generalized) == MPI_SUCCESS);
    return unused;
}

static void *send_long(void *unused)
{
    CHECK(MPI_Ssend(buffer, LONG, MPI_INT, right, 1, blocked) == MPI_SUCCESS);
    return unused;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    *(int *)state = 1;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete_already)
{
    (void)state;
    (void)complete_already;
    return MPI_SUCCESS;
}

static pthread_t start(void *(*function)(void *))
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, function, NULL) == 0);
    return thread;
}

int main(int argc, char **argv)
{
    int provided = -1, main_thread = 0, released = 0;
    pthread_t thread;
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Query_thread(&provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Is_thread_main(&main_thread) == MPI_SUCCESS && main_thread);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &blocked) == MPI_SUCCESS);

    /* The other thread blocks first wherever the system lets it: this one has a barrier before each message. */
    thread = start(wait_for_messages);
    for (int round = 0; round < 10 * WAITS; round++) {
        int value = rank + round;
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Send(&value, 1, MPI_INT, right, round, blocked) == MPI_SUCCESS);
    }
    pthread_join(thread, NULL);

    /* Collectives at once on two communicators, each rank in its own order. */
    thread = start(pass_barriers);
    for (int round = 0; round < 20; round++) {
        int sum = 0;
        CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(sum == size * (size - 1) / 2);
    }
    pthread_join(thread, NULL);

    /* A request that another thread completes while this one waits for it. */
    CHECK(MPI_Grequest_start(query, release, cancel, &released, &generalized) == MPI_SUCCESS);
    MPI_Request waited = generalized;
    thread = start(complete);
    CHECK(MPI_Wait(&waited, MPI_STATUS_IGNORE) == MPI_SUCCESS && released);
    pthread_join(thread, NULL);

    /* Long messages, the sender blocked until they are received. */
    for (int index = 0; index < LONG; index++)
        buffer[index] = rank + index;
    thread = start(send_long);
    int *into = malloc(LONG * sizeof *into);
    CHECK(MPI_Recv(into, LONG, MPI_INT, left, 1, blocked, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    pthread_join(thread, NULL);
    for (int index = 0; index < LONG; index++)
        CHECK(into[index] == left + index);
    free(into);

    CHECK(MPI_Comm_free(&blocked) == MPI_SUCCESS);
    return MPI_Finalize();
}
