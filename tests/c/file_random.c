/* Random views and accesses of all ranks, compared with a map of the file's bytes, in a usual folder and in memory (tmpfs), while the
   kernel transfers few bytes a call, is interrupted, and has no locks from some call on. A word is the number of
   rounds. ranks: 1 2 3 */
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { ROUNDS = 60, PIECES = 40, BYTES_MAX = 1 << 15, MAP_BYTES = 1 << 19 };

/* The calls on files are this program's: the library finds them before those of the C library. */
static struct {
    int is_short; /* few bytes a call, and every third call is interrupted */
    int no_locks; /* every lock is refused */
} faults;
static int calls, is_interposed, refused_locks, rounds = ROUNDS;

static int is_ours(int file)
{
    struct stat its, ours;
    return file_name[0] && fstat(file, &its) == 0 && stat(file_name, &ours) == 0 && its.st_dev == ours.st_dev
           && its.st_ino == ours.st_ino;
}

/* How many bytes a call may transfer; -1: it is interrupted. */
static ssize_t allowed(int file, size_t bytes)
{
    int call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (!faults.is_short || !is_ours(file))
        return (ssize_t)bytes;
    is_interposed = 1;
    if (call % 3 == 0)
        return errno = EINTR, -1;
    return (ssize_t)(bytes > 1 ? 1 + (size_t)call * 7919 % bytes : bytes);
}

static ssize_t do_read(int file, void *to, size_t bytes, off_t at)
{
    ssize_t most = allowed(file, bytes);
    return most < 0 ? -1 : syscall(SYS_pread64, file, to, (size_t)most, at);
}

static ssize_t do_write(int file, const void *from, size_t bytes, off_t at)
{
    ssize_t most = allowed(file, bytes);
    return most < 0 ? -1 : syscall(SYS_pwrite64, file, from, (size_t)most, at);
}

ssize_t pread(int file, void *to, size_t bytes, off_t at) { return do_read(file, to, bytes, at); }
ssize_t pread64(int file, void *to, size_t bytes, off_t at) { return do_read(file, to, bytes, at); }
ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) { return do_write(file, from, bytes, at); }
ssize_t pwrite64(int file, const void *from, size_t bytes, off_t at) { return do_write(file, from, bytes, at); }

static int control(int file, int command, void *argument)
{
    int is_lock = (command == F_OFD_SETLKW || command == F_OFD_SETLK) && ((struct flock *)argument)->l_type != F_UNLCK;
    if (is_lock && faults.no_locks) {
        refused_locks++;
        return errno = ENOLCK, -1;
    }
    if (is_lock && faults.is_short && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 3 == 0)
        return errno = EINTR, -1;
    return (int)syscall(SYS_fcntl, file, command, argument);
}

#define CONTROL(name)                                                                                                                                \
    int name(int file, int command, ...)                                                                                                             \
    {                                                                                                                                                \
        va_list arguments;                                                                                                                           \
        va_start(arguments, command);                                                                                                                \
        void *argument = va_arg(arguments, void *);                                                                                                  \
        va_end(arguments);                                                                                                                           \
        return control(file, command, argument);                                                                                                     \
    }
CONTROL(fcntl)
CONTROL(fcntl64)

/* The same numbers at all ranks. */
static unsigned long long state;

static int below(int limit)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((state >> 33) % (unsigned)limit);
}

/* A view: where the blocks of one filetype lie, all of them in the part of the extent that is one rank's. */
struct shown {
    MPI_Offset displacement;
    int blocks, lengths[PIECES], starts[PIECES], extent, bytes;
};

/* Chooses the views of all ranks: their blocks lie beside each other, so nobody writes what is another's. */
static void choose(struct shown *all)
{
    int displacement = below(200), at = 0, longest = below(2) ? 40 : 1500, gaps = below(2) ? 30 : 3000;
    memset(all, 0, sizeof *all * (size_t)world_size);
    for (int block = 0; block < PIECES / 2 * world_size; block++) {
        struct shown *its = &all[below(world_size)];
        int length = 1 + below(longest);
        at += below(3) ? 0 : below(gaps);
        if (its->blocks < PIECES) {
            its->starts[its->blocks] = at;
            its->lengths[its->blocks++] = length;
            its->bytes += length;
            at += length;
        }
    }
    for (int rank = 0; rank < world_size; rank++) {
        if (all[rank].blocks == 0) {
            all[rank].blocks = all[rank].lengths[0] = all[rank].bytes = 1;
            all[rank].starts[0] = at++;
        }
        all[rank].displacement = displacement;
    }
    for (int rank = 0; rank < world_size; rank++)
        all[rank].extent = at + 3;
}

static void see(MPI_File file, const struct shown *view)
{
    MPI_Datatype blocks, filetype;
    MPI_Type_indexed(view->blocks, view->lengths, view->starts, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, view->extent, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, view->displacement, MPI_BYTE, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    MPI_Type_free(&blocks);
}

/* Where in the file a byte of the view lies. */
static MPI_Offset place(const struct shown *view, int position)
{
    int block = 0, left = position % view->bytes;
    while (left >= view->lengths[block])
        left -= view->lengths[block++];
    return view->displacement + (MPI_Offset)(position / view->bytes) * view->extent + view->starts[block] + left;
}

static unsigned char map[MAP_BYTES];
static MPI_Offset map_end;
static unsigned char data[BYTES_MAX], expected[BYTES_MAX];

static unsigned char byte_of(int round, int rank, int number) { return (unsigned char)(round * 37 + rank * 101 + number * 7 + number / 256 + 1); }

/* How many bytes an access may have, so that the map has room for them. */
static int bytes_of(const struct shown *view, int position)
{
    int most = below(2) ? 300 : BYTES_MAX, rest = (int)((MAP_BYTES - view->displacement) / view->extent - 1) * view->bytes - position;
    int bytes = below(most);
    return bytes < rest ? bytes : rest > 0 ? rest : 0;
}

static void access_once(MPI_File file, int round)
{
    struct shown all[8];
    int positions[8], bytes[8], is_written = below(2) || round == 0, is_together = below(2);
    MPI_Status status;
    choose(all);
    for (int rank = 0; rank < world_size; rank++) {
        positions[rank] = below(3) ? 0 : below(2000);
        bytes[rank] = bytes_of(&all[rank], positions[rank]);
    }
    int position = positions[world_rank], mine = bytes[world_rank], there = 0;
    faults.is_short = below(3) > 0;
    see(file, &all[world_rank]);
    if (is_written) {
        for (int i = 0; i < mine; i++)
            data[i] = byte_of(round, world_rank, i);
        CHECK((is_together ? MPI_File_write_at_all : MPI_File_write_at)(file, position, data, mine, MPI_BYTE, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_BYTE) == mine);
        for (int rank = 0; rank < world_size; rank++)
            for (int i = 0; i < bytes[rank]; i++) {
                MPI_Offset at = place(&all[rank], positions[rank] + i);
                map[at] = byte_of(round, rank, i);
                map_end = at >= map_end ? at + 1 : map_end;
            }
    } else {
        memset(data, 99, sizeof data);
        memset(expected, 99, sizeof expected);
        for (; there < mine && place(&all[world_rank], position + there) < map_end; there++)
            expected[there] = map[place(&all[world_rank], position + there)];
        CHECK((is_together ? MPI_File_read_at_all : MPI_File_read_at)(file, position, data, mine, MPI_BYTE, &status) == MPI_SUCCESS);
        CHECK(count_of(&status, MPI_BYTE) == there && memcmp(data, expected, sizeof data) == 0);
    }
    faults.is_short = 0;
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* All bytes of the file are those of the map. */
static void compare(MPI_File file)
{
    static unsigned char found[MAP_BYTES];
    MPI_Offset size;
    MPI_Status status;
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == map_end);
    CHECK(MPI_File_read_at(file, 0, found, MAP_BYTES, MPI_BYTE, &status) == MPI_SUCCESS && count_of(&status, MPI_BYTE) == map_end);
    CHECK(memcmp(found, map, (size_t)map_end) == 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static MPI_File open_with(const char *choice)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", choice);
    MPI_Info_set(info, "ind_wr_buffer_size", "70000");
    CHECK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    memset(map, 0, sizeof map);
    map_end = 0;
    return file;
}

/* Locks are refused: who needs one has an error and has written nothing. */
static void without_locks(MPI_File file)
{
    struct shown all[8];
    MPI_Status status;
    choose(all);
    see(file, &all[world_rank]);
    memset(data, 7, sizeof data);
    faults.no_locks = 1;
    int before = refused_locks, code = MPI_File_write_at(file, 0, data, 2 * all[world_rank].bytes, MPI_BYTE, &status);
    faults.no_locks = 0;
    int is_written = code == MPI_SUCCESS, are_written;
    CHECK(is_written == (refused_locks == before));
    if (!is_written) {
        CHECK_ERROR(code, MPI_ERR_UNSUPPORTED_OPERATION);
        CHECK(count_of(&status, MPI_BYTE) == 0);
    }
    CHECK(MPI_Allreduce(&is_written, &are_written, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (!are_written)
        compare(file);
}

static void on_a_file(const char *choice, unsigned long long seed)
{
    MPI_File file = open_with(choice);
    state = seed;
    for (int round = 0; round < rounds; round++) {
        access_once(file, round);
        if (round % 10 == 9)
            compare(file);
    }
    without_locks(file);
    close_file(&file);
}

/* A folder in memory, if there is one: the same at all ranks. */
static int move_to_memory(char *folder)
{
    int is_there = 0;
    if (world_rank == 0) {
        strcpy(folder, "/dev/shm/rwmpi-file-XXXXXX");
        is_there = mkdtemp(folder) != NULL;
        if (is_there)
            snprintf(file_name, sizeof file_name, "%s/f", folder);
    }
    MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
    return is_there;
}

int main(int argc, char **argv)
{
    static const char *const choices[] = { "automatic", "enable", "disable" };
    char usual_name[sizeof file_name], folder[64];
    begin_files(&argc, &argv);
    if (argc > 1)
        rounds = atoi(argv[1]);
    strcpy(usual_name, file_name);
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        if (in_memory && !move_to_memory(folder))
            break;
        for (int choice = 0; choice < 3; choice++)
            on_a_file(choices[choice], 12345 + (unsigned)(10 * choice + in_memory));
        if (in_memory && world_rank == 0)
            CHECK(rmdir(folder) == 0);
    }
    strcpy(file_name, usual_name);
    CHECK(is_interposed && refused_locks > 0);
    end_files();
    return 0;
}
