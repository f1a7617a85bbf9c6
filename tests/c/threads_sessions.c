/* Threads that come to MPI by sessions of their own, at the same time and before anybody has said how many threads there will be
   (MPI-5.0 section 11.3). ranks: 1 2 */
#include "check.h"
#include <pthread.h>

static void *communicate(void *name)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int sum = 0, one = 1, size = 0;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < 100; round++) {
        CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
        CHECK(sum == size);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    char *names[2] = {"first", "second"};
    for (int index = 0; index < 2; index++)
        CHECK(pthread_create(&threads[index], NULL, communicate, names[index]) == 0);
    for (int index = 0; index < 2; index++)
        pthread_join(threads[index], NULL);
    return 0;
}
