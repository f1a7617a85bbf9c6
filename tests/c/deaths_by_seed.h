/* Ranks that are killed at moments of a seed. */
#ifndef DEATHS_BY_SEED_H
#define DEATHS_BY_SEED_H

#include "failures.h"
#include <sys/wait.h>

static unsigned long long state;
/* The process that kills this one, if there is one. */
static pid_t killer;

static unsigned random_below(unsigned limit)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % limit;
}

static unsigned long long seed(void)
{
    const char *given = getenv("RWMPI_TEST_SEED");
    return given ? strtoull(given, NULL, 10) : 1;
}

/* Some of the ranks, but never the first, are killed from outside at a moment of their own. */
static void arrange_death(int rank, int size)
{
    unsigned after;
    pid_t victim = getpid();
    int dies;
    state = seed() * 1000003 + (unsigned)rank;
    random_below(2);
    after = random_below(60000);
    dies = rank > 0 && (rank == 1 + (int)(state >> 40) % (size - 1) || random_below(3) == 0);
    if (!dies) return;
    killer = fork();
    if (killer == 0) {
        usleep(after);
        kill(victim, SIGKILL);
        _exit(0);
    }
}

/* Who has got so far is not killed any more: a rank that dies when it has finalized ends the job. */
static void call_death_off(void)
{
    if (killer == 0) return;
    kill(killer, SIGKILL);
    waitpid(killer, NULL, 0);
}

/* Members agree whether all have done a step well. If not, a communicator of the members that live takes the place of the old one. */
static inline int done_by_all(int well, MPI_Comm *comm)
{
    MPI_Comm rest;
    if (MPIX_Comm_agree(*comm, &well) == MPI_SUCCESS && well) return 1;
    CHECK(MPIX_Comm_shrink(*comm, &rest) == MPI_SUCCESS);
    MPI_Comm_free(comm);
    *comm = rest;
    return 0;
}

#endif
