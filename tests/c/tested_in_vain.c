/* Calls that do not wait, in loops that find nothing: after a while each gives way to other ranks, and none sleeps (MPI-5.0 sections 3.7.3, 3.7.5,
   3.7.6 and 3.8.1). What the library asks the kernel for is caught on its way there. ranks: 1 3 */
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { CALLS = 3000, REQUESTS = 2 };

static volatile sig_atomic_t yields, sleeps;
static MPI_Request requests[REQUESTS];
static MPI_Status statuses[REQUESTS];
static int indices[REQUESTS];

static void caught(int signal, siginfo_t *info, void *context)
{
    (void)signal;
#ifdef __x86_64__
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 0;
#else
    (void)context;
#endif
    if (info->si_syscall == SYS_sched_yield) yields++;
    else sleeps++;
}

/* From now on this thread's calls to give way or to sleep have no effect but that they are counted; 0: the kernel does not let us. */
static int catch_calls(void)
{
    struct sock_filter is[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog filter = { sizeof is / sizeof *is, is };
    struct sigaction action = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };
    CHECK(sigaction(SIGSYS, &action, NULL) == 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 0;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static int test(void)
{
    int flag;
    CHECK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return flag;
}

static int test_all(void)
{
    int flag;
    CHECK(MPI_Testall(REQUESTS, requests, &flag, statuses) == MPI_SUCCESS);
    return flag;
}

static int test_any(void)
{
    int flag, index;
    CHECK(MPI_Testany(REQUESTS, requests, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return flag;
}

static int test_some(void)
{
    int found;
    CHECK(MPI_Testsome(REQUESTS, requests, &found, indices, statuses) == MPI_SUCCESS);
    return found;
}

static int get_status(void)
{
    int flag;
    CHECK(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return flag;
}

static int probe(void)
{
    int flag;
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return flag;
}

static int probe_matched(void)
{
    int flag;
    MPI_Message message;
    CHECK(MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return flag;
}

static void gives_way(const char *name, int (*call)(void))
{
    yields = 0;
    for (int k = 0; k < CALLS; k++) CHECK(!call());
    if (yields == 0 || sleeps > 0) {
        fprintf(stderr, "%d calls of %s in vain: gave way %d times, slept %d times\n", CALLS, name, (int)yields, (int)sleeps);
        exit(1);
    }
}

static void all_give_way(void)
{
    gives_way("MPI_Test", test);
    gives_way("MPI_Testall", test_all);
    gives_way("MPI_Testany", test_any);
    gives_way("MPI_Testsome", test_some);
    gives_way("MPI_Request_get_status", get_status);
}

int main(int argc, char **argv)
{
    int values[REQUESTS];
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!catch_calls()) {
        printf("this kernel does not let a program catch its calls\n");
        MPI_Finalize();
        return 0;
    }
    gives_way("MPI_Iprobe", probe);
    gives_way("MPI_Improbe", probe_matched);
    for (int k = 0; k < REQUESTS; k++) CHECK(MPI_Irecv(&values[k], 1, MPI_INT, 0, k, MPI_COMM_SELF, &requests[k]) == MPI_SUCCESS);
    all_give_way();
    for (int k = 0; k < REQUESTS; k++) CHECK(MPI_Send(&k, 1, MPI_INT, 0, k, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(test_all() && values[1] == 1);
    /* Persistent ones are tested in another way. */
    for (int k = 0; k < REQUESTS; k++) CHECK(MPI_Recv_init(&values[k], 1, MPI_INT, 0, k, MPI_COMM_SELF, &requests[k]) == MPI_SUCCESS);
    CHECK(MPI_Startall(REQUESTS, requests) == MPI_SUCCESS);
    all_give_way();
    for (int k = 0; k < REQUESTS; k++) CHECK(MPI_Send(&k, 1, MPI_INT, 0, k, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(test_all());
    for (int k = 0; k < REQUESTS; k++) CHECK(MPI_Request_free(&requests[k]) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
