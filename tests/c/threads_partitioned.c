/* Partitions that several threads make ready while another waits for the whole (MPI-5.0 chapter 4). ranks: 1 2 3 */
#include "threads.h"

enum { ROUNDS = 40, EACH = 3, ELEMENTS = 5000 };

static MPI_Request requests[2];
static int from[THREADS * EACH][ELEMENTS], into[THREADS * EACH * ELEMENTS], round_number;
static pthread_barrier_t gate;

/* A thread has some partitions; the first one waits for all of them instead, from before they are ready. */
static void *communicate(void *number)
{
    int me = *(int *)number, flag;
    for (int round = 0; round < ROUNDS; round++) {
        if (me == 0) {
            CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
            round_number = round;
        }
        pthread_barrier_wait(&gate);
        if (me == 0) {
            CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        } else {
            for (int partition = me - 1; partition < THREADS * EACH; partition += THREADS - 1) {
                for (int index = 0; index < ELEMENTS; index++)
                    from[partition][index] = rank + 10 * partition + 1000 * round_number + index;
                CHECK(MPI_Pready(partition, requests[0]) == MPI_SUCCESS);
            }
            for (flag = 0; !flag;)
                CHECK(MPI_Parrived(requests[1], 0, &flag) == MPI_SUCCESS);
        }
        pthread_barrier_wait(&gate);
        for (int place = me; me < 2 && place < THREADS * EACH * ELEMENTS; place += 2)
            CHECK(into[place] == left + 10 * (place / ELEMENTS) + 1000 * round_number + place % ELEMENTS);
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    initialize(argc, argv);
    CHECK(pthread_barrier_init(&gate, NULL, THREADS) == 0);
    MPI_Psend_init(from, THREADS * EACH, ELEMENTS, MPI_INT, right, 7, own[1], MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(into, 2, THREADS * EACH / 2 * ELEMENTS, MPI_INT, left, 7, own[1], MPI_INFO_NULL, &requests[1]);
    run_threads(communicate);
    CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && MPI_Request_free(&requests[1]) == MPI_SUCCESS);
    return finalize();
}
