/* Two threads communicate at the same time without MPI_THREAD_MULTIPLE. */
#include "check.h"
#include <pthread.h>

static void *messages(void *tag)
{
    char sent[64] = {0}, got[64];
    for (int time = 0; time < 200000; time++) {
        MPI_Request requests[2];
        MPI_Irecv(got, 64, MPI_CHAR, 0, *(int *)tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, 64, MPI_CHAR, 0, *(int *)tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int tags[2] = {0, 1};
    MPI_Init(&argc, &argv);
    for (int number = 0; number < 2; number++)
        pthread_create(&threads[number], NULL, messages, &tags[number]);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    MPI_Finalize();
    return 0;
}
