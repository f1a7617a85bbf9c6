/* Where all ranks allow it by a hint, a rank reads short blocks with what lies between, and writes all of it back. What others write there
   at the same time is not undone: be it by sieving, too, by plain writes, by nonblocking or collective ones, or in atomic mode. Without the
   hint, or without locks, nothing is written back, and no call of the kernel is spent on locks. */
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

enum { BLOCK = 64, BLOCKS = 6000, BYTES = BLOCK * BLOCKS, ROUNDS = 3 };

static char own[BYTES], got[BYTES];
static int locks, writes, has_locks = 1;

/* The library finds these before those of the C library. */
int fcntl(int file, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (command == F_OFD_SETLKW) {
        if (!has_locks)
            return errno = ENOLCK, -1;
        __atomic_add_fetch(&locks, 1, __ATOMIC_RELAXED);
    }
    return (int)syscall(SYS_fcntl, file, command, argument);
}

static ssize_t count_and_write(int file, const void *from, size_t bytes, off_t at)
{
    __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED);
    /* Others have time to write between what has been read and what is written back. */
    if (bytes > BLOCK)
        for (int i = 0; i < 20; i++)
            sched_yield();
    return syscall(SYS_pwrite64, file, from, bytes, at);
}

ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) { return count_and_write(file, from, bytes, at); }
ssize_t pwrite64(int file, const void *from, size_t bytes, off_t at) { return count_and_write(file, from, bytes, at); }

/* Of each group of blocks one is each rank's, the next is for plain writes, and the last is nobody's. */
static MPI_Offset group_bytes(void) { return (MPI_Offset)(world_size + 2) * BLOCK; }

static char byte_of(int place, int block, int round) { return (char)(1 + place * 37 + block * 7 + round * 101); }

static void fill(int place, int round)
{
    for (int i = 0; i < BYTES; i++)
        own[i] = byte_of(place, i / BLOCK, round);
}

/* The blocks at one place of each group. */
static void see(MPI_File file, int place)
{
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)group_bytes(), &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, (MPI_Offset)place * BLOCK, MPI_CHAR, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&block);
}

static void holds(MPI_File file, int place, int round, int is_nobodys)
{
    MPI_Status status;
    see(file, place);
    memset(got, 0, sizeof got);
    CHECK(MPI_File_read_at(file, 0, got, BYTES, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(is_nobodys || count_of(&status, MPI_CHAR) == BYTES);
    for (int i = 0; i < BYTES; i++)
        CHECK(got[i] == (is_nobodys ? 0 : byte_of(place, i / BLOCK, round)));
}

typedef void write_function(MPI_File);

/* As many bytes as one call takes, */
static void alone(MPI_File file)
{
    MPI_Status status;
    CHECK(MPI_File_write_at(file, 0, own, BYTES, MPI_CHAR, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == BYTES);
}

/* by the thread for nonblocking accesses and by this one, */
static void beside(MPI_File file)
{
    MPI_Status status;
    MPI_Request request;
    int most = BYTES - 1000;
    CHECK(MPI_File_iwrite_at(file, 0, own, most, MPI_CHAR, &request) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(file, most, own + most, BYTES - most, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && count_of(&status, MPI_CHAR) == most);
}

/* and together, when some ranks may still write by themselves. */
static void half_together(MPI_File file)
{
    MPI_Status status;
    CHECK(MPI_File_write_at(file, 0, own, BYTES / 2, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, BYTES / 2, own + BYTES / 2, BYTES / 2, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_CHAR) == BYTES / 2);
}

/* The blocks for plain writes, one call for each, all over the file: each rank has its share of them. */
static void plainly(MPI_File file, int round)
{
    char bytes[BLOCK];
    for (int i = world_rank; i < BLOCKS; i += world_size) {
        int block = (int)((long)i * 7919 % BLOCKS);
        memset(bytes, byte_of(world_size, block, round), BLOCK);
        CHECK(MPI_File_write_at(file, (MPI_Offset)block * BLOCK, bytes, BLOCK, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

/* Returns how many locks the rank has taken. */
static int rounds(write_function *write, MPI_Info info, int is_atomic)
{
    MPI_File file;
    int before = locks;
    CHECK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file) == MPI_SUCCESS);
    CHECK(MPI_File_set_atomicity(file, is_atomic) == MPI_SUCCESS);
    for (int round = 0; round < ROUNDS; round++) {
        fill(world_rank, round);
        for (int phase = 0; phase < 2; phase++) {
            /* Half of the ranks sieve while the others write plainly. */
            int sieves = (world_rank + round + phase) % 2 == 0;
            see(file, sieves ? world_rank : world_size);
            if (sieves)
                write(file);
            else
                plainly(file, round);
            if (!sieves && write == half_together)
                CHECK(MPI_File_write_at_all(file, 0, own, 0, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        CHECK(MPI_File_sync(file) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        for (int place = 0; place < world_size + 2; place++)
            holds(file, place, round, place == world_size + 1);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    close_file(&file);
    return locks - before;
}

static MPI_Info hint(const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", value);
    /* Short windows meet more often. */
    MPI_Info_set(info, "ind_wr_buffer_size", "131072");
    return info;
}

/* With windows as usual, one of them takes few calls. */
static void calls_are_few(void)
{
    MPI_Info info;
    MPI_File file;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    CHECK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file) == MPI_SUCCESS);
    see(file, world_rank);
    fill(world_rank, 0);
    writes = locks = 0;
    alone(file);
    CHECK(locks > 0 && writes < BLOCKS / 100);
    /* Who does not want to any more still waits for those who do. */
    MPI_Info_set(info, "romio_ds_write", world_rank ? "enable" : "disable");
    CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS);
    writes = locks = 0;
    alone(file);
    CHECK(locks > 0 && (writes == BLOCKS) == (world_rank == 0));
    close_file(&file);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    write_function *ways[] = { alone, beside, half_together };
    MPI_Info enable, automatic;
    begin_files(&argc, &argv);
    enable = hint("enable");
    automatic = hint("automatic");
    for (int way = 0; way < 3; way++) {
        CHECK(rounds(ways[way], enable, 0) > 0);
        CHECK(rounds(ways[way], automatic, 0) == 0);
    }
    CHECK(rounds(alone, enable, 1) > 0);
    /* All ranks must want it. */
    CHECK(rounds(alone, world_rank == world_size - 1 ? automatic : enable, 0) == 0);
    calls_are_few();
    has_locks = 0;
    CHECK(rounds(alone, enable, 0) == 0);
    MPI_Info_free(&enable);
    MPI_Info_free(&automatic);
    end_files();
    return 0;
}
