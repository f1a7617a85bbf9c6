/* What the kernel may do with a call it does here: it transfers few bytes, is interrupted, has no space left from some byte on, can't
   read, has no locks. Data are right all the same, or each rank that is concerned has the right error and knows how many bytes were
   transferred; nobody waits for ever. */
#include "file.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { BLOCK = 24, BLOCKS = 12500, BYTES = BLOCK * BLOCKS, START = 10 };

static char own[BYTES], got[BYTES];

/* The calls that transfer bytes of files are this program's: the library finds them before those of the C library. */
static struct {
    int is_short;      /* few bytes a call, and every third call is interrupted */
    off_t write_limit; /* the disk is full from this byte on, */
    off_t read_limit;  /* and can't be read from this one on; 0: it is well */
} faults;
static int calls, is_interposed;

static int is_ours(int file)
{
    struct stat its, ours;
    return file_name[0] && fstat(file, &its) == 0 && stat(file_name, &ours) == 0 && its.st_dev == ours.st_dev
           && its.st_ino == ours.st_ino;
}

/* How many bytes a call may transfer; -1: it fails, errno says why. */
static ssize_t allowed(int file, size_t bytes, off_t at, off_t limit, int error)
{
    int call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (!is_ours(file))
        return (ssize_t)bytes;
    is_interposed = 1;
    if (faults.is_short && call % 3 == 0)
        return errno = EINTR, -1;
    if (faults.is_short && bytes > 1)
        bytes = 1 + (size_t)call * 7919 % (bytes < 60000 ? bytes : 60000);
    if (limit && at >= limit)
        return errno = error, -1;
    return (ssize_t)(limit && (off_t)bytes > limit - at ? (size_t)(limit - at) : bytes);
}

static ssize_t do_read(int file, void *to, size_t bytes, off_t at)
{
    ssize_t most = allowed(file, bytes, at, faults.read_limit, EIO);
    return most < 0 ? -1 : syscall(SYS_pread64, file, to, (size_t)most, at);
}

static ssize_t do_write(int file, const void *from, size_t bytes, off_t at)
{
    ssize_t most = allowed(file, bytes, at, faults.write_limit, ENOSPC);
    return most < 0 ? -1 : syscall(SYS_pwrite64, file, from, (size_t)most, at);
}

ssize_t pread(int file, void *to, size_t bytes, off_t at) { return do_read(file, to, bytes, at); }
ssize_t pread64(int file, void *to, size_t bytes, off_t at) { return do_read(file, to, bytes, at); }
ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) { return do_write(file, from, bytes, at); }
ssize_t pwrite64(int file, const void *from, size_t bytes, off_t at) { return do_write(file, from, bytes, at); }

static char byte_of(int rank, int number) { return (char)(rank * 31 + number * 7 + number / BLOCK); }

/* This rank sees the blocks of a rank, every world_size-th. */
static void see_blocks_of(MPI_File file, int rank)
{
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * world_size, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, START + (MPI_Offset)rank * BLOCK, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&block);
}

static void see_bytes(MPI_File file) { CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS); }

static void meet(MPI_File file)
{
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* All that has been read is what that rank has written. */
static void is_of(int rank, const MPI_Status *status)
{
    CHECK(count_of(status, MPI_CHAR) == BYTES);
    for (int i = 0; i < BYTES; i++)
        CHECK(got[i] == byte_of(rank, i));
    memset(got, 99, sizeof got);
}

/* The ways to write and to read: all are given an offset in bytes of the view, and those by pointers come to the same. */
typedef int access_function(MPI_File, MPI_Offset, void *, MPI_Status *);

static int write_at(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status) { return MPI_File_write_at(file, at, bytes, BYTES, MPI_CHAR, status); }
static int read_at(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status) { return MPI_File_read_at(file, at, bytes, BYTES, MPI_CHAR, status); }
static int write_all(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status) { return MPI_File_write_at_all(file, at, bytes, BYTES, MPI_CHAR, status); }
static int read_all(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status) { return MPI_File_read_at_all(file, at, bytes, BYTES, MPI_CHAR, status); }

static int iwrite(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status)
{
    MPI_Request request;
    int outcome = MPI_File_iwrite_at(file, at, bytes, BYTES, MPI_CHAR, &request);
    return outcome == MPI_SUCCESS ? MPI_Wait(&request, status) : outcome;
}

static int iread(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status)
{
    MPI_Request request;
    int outcome = MPI_File_iread_at(file, at, bytes, BYTES, MPI_CHAR, &request);
    return outcome == MPI_SUCCESS ? MPI_Wait(&request, status) : outcome;
}

static int write_split(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status)
{
    CHECK(MPI_File_write_at_all_begin(file, at, bytes, BYTES, MPI_CHAR) == MPI_SUCCESS);
    return MPI_File_write_at_all_end(file, bytes, status);
}

static int read_split(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status)
{
    CHECK(MPI_File_read_at_all_begin(file, at, bytes, BYTES, MPI_CHAR) == MPI_SUCCESS);
    return MPI_File_read_at_all_end(file, bytes, status);
}

static int write_ordered(MPI_File file, MPI_Offset at, void *bytes, MPI_Status *status)
{
    (void)at;
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    return MPI_File_write_ordered(file, bytes, BYTES, MPI_CHAR, status);
}

/* Whether a status tells the count when there is an error: that of a request need not. */
static const struct { access_function *write, *read; int counts; } ways[]
    = { { write_at, read_at, 1 }, { write_all, read_all, 1 }, { iwrite, iread, 0 }, { write_split, read_split, 1 } };
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Each rank's bytes side by side, and in short blocks between those of the others, by each way. */
static void all_is_transferred(int is_short)
{
    int other = (world_rank + 1) % world_size;
    MPI_Status status;
    for (int way = 0; way < WAYS; way++) {
        MPI_File file = new_file();
        faults.is_short = is_short;
        CHECK(ways[way].write(file, (MPI_Offset)world_rank * BYTES, own, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
        meet(file);
        CHECK(ways[way].read(file, (MPI_Offset)other * BYTES, got, &status) == MPI_SUCCESS);
        is_of(other, &status);
        meet(file);
        see_blocks_of(file, world_rank);
        CHECK(ways[way].write(file, 0, own, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
        meet(file);
        see_blocks_of(file, other);
        CHECK(ways[way].read(file, 0, got, &status) == MPI_SUCCESS);
        is_of(other, &status);
        faults.is_short = 0;
        close_file(&file);
    }
}

/* In whichever order ranks come, no bytes of theirs are mixed or lost. */
static void shared_pointers(int is_short)
{
    MPI_File file = new_file();
    MPI_Status status;
    int seen = 0, all_seen;
    faults.is_short = is_short;
    CHECK(MPI_File_write_shared(file, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
    meet(file);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_shared(file, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    for (int rank = 0; rank < world_size; rank++)
        if (got[0] == byte_of(rank, 0)) {
            is_of(rank, &status);
            seen = 1 << rank;
            break;
        }
    CHECK(MPI_Allreduce(&seen, &all_seen, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && all_seen == (1 << world_size) - 1);
    CHECK(write_ordered(file, 0, own, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
    meet(file);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_ordered(file, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    is_of(world_rank, &status);
    faults.is_short = 0;
    close_file(&file);
}

/* How many of BYTES bytes from `begin` on lie before `limit`. */
static int before(MPI_Offset begin, MPI_Offset limit) { return begin >= limit ? 0 : limit - begin < BYTES ? (int)(limit - begin) : BYTES; }

static void has_transferred(int outcome, int class, const MPI_Status *status, int expected, int counts)
{
    CHECK(class_of(outcome) == (expected == BYTES ? MPI_SUCCESS : class));
    if (counts || expected == BYTES)
        CHECK(count_of(status, MPI_CHAR) == expected);
}

/* The disk is full in the middle of the last rank's bytes. Who writes before that notices nothing; those that write together all do. */
static void no_space(void)
{
    MPI_Offset limit = (MPI_Offset)(world_size - 1) * BYTES + BYTES / 3;
    MPI_Status status;
    int mine = before((MPI_Offset)world_rank * BYTES, limit), sum;
    for (int way = 0; way < WAYS; way++) {
        MPI_File file = new_file();
        faults.write_limit = limit;
        has_transferred(ways[way].write(file, (MPI_Offset)world_rank * BYTES, own, &status), MPI_ERR_NO_SPACE, &status, mine, ways[way].counts);
        faults.write_limit = 0;
        meet(file);
        CHECK(MPI_File_read_at(file, (MPI_Offset)world_rank * BYTES, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_CHAR) == mine && memcmp(got, own, (size_t)mine) == 0);
        meet(file);
        see_blocks_of(file, world_rank);
        faults.write_limit = limit;
        CHECK(class_of(ways[way].write(file, 0, own, &status)) == MPI_ERR_NO_SPACE);
        faults.write_limit = 0;
        /* The next one has space. */
        CHECK(ways[way].write(file, 0, own, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
        CHECK(ways[way].read(file, 0, got, &status) == MPI_SUCCESS);
        is_of(world_rank, &status);
        close_file(&file);
    }
    MPI_File file = new_file();
    faults.write_limit = limit;
    has_transferred(write_ordered(file, 0, own, &status), MPI_ERR_NO_SPACE, &status, mine, 1);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    int outcome = MPI_File_write_shared(file, own, BYTES, MPI_CHAR, &status);
    mine = count_of(&status, MPI_CHAR);
    CHECK(class_of(outcome) == (mine == BYTES ? MPI_SUCCESS : MPI_ERR_NO_SPACE));
    CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == limit);
    faults.write_limit = 0;
    close_file(&file);
}

/* Nothing can be read from the middle of the last rank's bytes on. */
static void unreadable(void)
{
    MPI_Offset limit = (MPI_Offset)(world_size - 1) * BYTES + BYTES / 3;
    MPI_Status status;
    int mine = before((MPI_Offset)world_rank * BYTES, limit);
    MPI_File file = new_file();
    CHECK(MPI_File_write_at(file, (MPI_Offset)world_rank * BYTES, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    meet(file);
    for (int way = 0; way < WAYS; way++) {
        faults.read_limit = limit;
        has_transferred(ways[way].read(file, (MPI_Offset)world_rank * BYTES, got, &status), MPI_ERR_IO, &status, mine, ways[way].counts);
        CHECK(memcmp(got, own, (size_t)mine) == 0);
        see_blocks_of(file, world_rank);
        CHECK(class_of(ways[way].read(file, 0, got, &status)) == MPI_ERR_IO);
        faults.read_limit = 0;
        see_bytes(file);
    }
    close_file(&file);
}

/* From here on these calls of the kernel fail: locks are not to be had, nothing can be reserved or flushed. Returns whether that could
   be done. */
static int refuse_calls(void)
{
#define REFUSE(name, error)                                                                                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(flock, ENOLCK),
        REFUSE(fallocate, ENOSPC),
        REFUSE(fsync, EIO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void refused(void)
{
    MPI_File file = new_file();
    MPI_Status status;
    int is_refused = refuse_calls(), all;
    CHECK(MPI_Allreduce(&is_refused, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (all) {
        CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
        for (int way = 0; way < WAYS; way++) {
            CHECK_ERROR(ways[way].write(file, 0, own, &status), MPI_ERR_UNSUPPORTED_OPERATION);
            CHECK_ERROR(ways[way].read(file, 0, got, &status), MPI_ERR_UNSUPPORTED_OPERATION);
        }
        CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS);
        CHECK_ERROR(MPI_File_preallocate(file, 1 << 20), MPI_ERR_NO_SPACE);
        CHECK_ERROR(MPI_File_sync(file), MPI_ERR_IO);
        CHECK(write_all(file, (MPI_Offset)world_rank * BYTES, own, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
    } else if (world_rank == 0) {
        printf("calls of the kernel can't be refused here: left out\n");
    }
    close_file(&file);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    for (int i = 0; i < BYTES; i++)
        own[i] = byte_of(world_rank, i);
    for (int is_short = 0; is_short < 2; is_short++) {
        all_is_transferred(is_short);
        shared_pointers(is_short);
    }
    no_space();
    unreadable();
    CHECK(is_interposed);
    refused();
    end_files();
    return 0;
}
