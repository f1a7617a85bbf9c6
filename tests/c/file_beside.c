/* A long nonblocking access (MPI-5.0 section 14.4.2) costs the calling thread none of the transfer: it makes no call of the kernel
   that moves bytes, the call returns before any is moved, and who moves them never takes the core from a thread that computes.
   ranks: 1 2 */
#include "file.h"
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { LONG = 3 << 20 };

static char written[LONG], got[LONG];

/* The calls that transfer bytes of files are this program's: the library finds them before those of the C library. */
static struct {
    int calls;      /* of other threads than the calling one */
    int own;        /* of this */
    int is_held_up; /* other threads wait before they transfer, */
    int may_go_on;  /* until this says that they need not */
    int policy;     /* of the last of them */
} seen;
static pid_t calling_thread;

static int is_ours(int file)
{
    struct stat its, ours;
    return file_name[0] && fstat(file, &its) == 0 && stat(file_name, &ours) == 0 && its.st_dev == ours.st_dev
           && its.st_ino == ours.st_ino;
}

static void look(int file)
{
    if (!is_ours(file))
        return;
    if (gettid() == calling_thread) {
        __atomic_add_fetch(&seen.own, 1, __ATOMIC_RELAXED);
        return;
    }
    seen.policy = sched_getscheduler(0);
    __atomic_add_fetch(&seen.calls, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&seen.is_held_up, __ATOMIC_ACQUIRE) && !__atomic_load_n(&seen.may_go_on, __ATOMIC_ACQUIRE))
        sched_yield();
}

static ssize_t do_read(int file, void *to, size_t bytes, off_t at) { return look(file), syscall(SYS_pread64, file, to, bytes, at); }
static ssize_t do_write(int file, const void *from, size_t bytes, off_t at) { return look(file), syscall(SYS_pwrite64, file, from, bytes, at); }

ssize_t pread(int file, void *to, size_t bytes, off_t at) { return do_read(file, to, bytes, at); }
ssize_t pread64(int file, void *to, size_t bytes, off_t at) { return do_read(file, to, bytes, at); }
ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) { return do_write(file, from, bytes, at); }
ssize_t pwrite64(int file, const void *from, size_t bytes, off_t at) { return do_write(file, from, bytes, at); }

/* One access that is held up until its call has returned and the request has been seen to be incomplete. */
static void is_done_beside(MPI_File file, int writes)
{
    MPI_Offset mine = (MPI_Offset)LONG * world_rank;
    MPI_Request request;
    MPI_Status status;
    int flag = 1;
    memset(&seen, 0, sizeof seen);
    seen.is_held_up = 1;
    CHECK((writes ? MPI_File_iwrite_at(file, mine, written, LONG, MPI_BYTE, &request)
                  : MPI_File_iread_at(file, mine, got, LONG, MPI_BYTE, &request))
          == MPI_SUCCESS);
    CHECK(seen.own == 0);
    CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS && !flag);
    __atomic_store_n(&seen.may_go_on, 1, __ATOMIC_RELEASE);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && count_of(&status, MPI_BYTE) == LONG);
    CHECK(__atomic_load_n(&seen.calls, __ATOMIC_ACQUIRE) > 0 && seen.own == 0);
    if (sched_getscheduler(0) == SCHED_OTHER)
        CHECK(seen.policy == SCHED_BATCH);
}

int main(int argc, char **argv)
{
    MPI_File file;
    const char *lanes = getenv("RWMPI_LANES");
    begin_files(&argc, &argv);
    calling_thread = gettid();
    for (int i = 0; i < LONG; i++)
        written[i] = (char)(i * 7 + i / 251 + world_rank);
    file = new_file();
    /* Who has lanes does all accesses at once. */
    if (!lanes || atoi(lanes) < 2) {
        is_done_beside(file, 1);
        is_done_beside(file, 0);
        CHECK(memcmp(got, written, LONG) == 0);
    }
    close_file(&file);
    end_files();
    return 0;
}
