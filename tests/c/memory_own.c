/* What lies where other ranks can write: data, and none of the library's own tables. And what of a rank's memory core dumps have.
 * ranks: 1 2 3 */
#include "heap.h"
#include <sys/mman.h>

enum { MB = 1 << 20, RECEIVES = 3000, SENDS = 4000, KEYS = 3000 };

static double array[200000];

/* The part of the kernel's list that is about the address; false at its end. */
static int find_part(const void *address, uintptr_t *start, uintptr_t *end, char *flags, size_t len)
{
    char line[4096];
    int found = 0;
    FILE *parts = fopen("/proc/self/smaps", "r");
    CHECK(parts);
    while (fgets(line, sizeof line, parts)) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
            found = from <= (uintptr_t)address && (uintptr_t)address < to;
            *start = from, *end = to;
        } else if (found && !strncmp(line, "VmFlags:", 8)) {
            snprintf(flags, len, "%s", line);
            break;
        }
    }
    fclose(parts);
    return found;
}

static int in_dumps(const void *address)
{
    uintptr_t start, end;
    char flags[4096];
    CHECK(find_part(address, &start, &end, flags, sizeof flags));
    return !strstr(flags, " dd");
}

static void dumps(void)
{
    const size_t sizes[] = {8 << 10, 50000, MB, 100 * MB};
    char *blocks[4], *allocated;
    for (int i = 0; i < 4; i++) {
        CHECK((blocks[i] = malloc(sizes[i])));
        CHECK(in_dumps(blocks[i]) && in_dumps(blocks[i] + sizes[i] - 1));
    }
    CHECK((blocks[1] = realloc(blocks[1], 30 * MB)) && in_dumps(blocks[1] + 30 * MB - 1));
    CHECK((blocks[2] = realloc(blocks[2], 70 * MB)) && in_dumps(blocks[2] + 70 * MB - 1));
    CHECK(in_dumps(&array[0]) && in_dumps(&array[199999]));
    MPI_Alloc_mem(3 * MB, MPI_INFO_NULL, &allocated);
    CHECK(in_dumps(allocated) && in_dumps(allocated + 3 * MB - 1));
    MPI_Free_mem(allocated);
    /* Blocks that are never touched: a dump would make memory of all of them, so it has not the largest that there may be. */
    int is_left_out = 0, is_shared = 1, was_shared = 0;
    for (size_t len = (size_t)1 << 30; is_shared && !is_left_out; len += (size_t)1 << 30) {
        char *sparse = malloc(len);
        is_shared = sparse && in_job_file(sparse);
        was_shared |= is_shared;
        is_left_out = is_shared && !in_dumps(sparse + len - 1);
        free(sparse);
    }
    CHECK(is_left_out || !was_shared);
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
}

/* How many words in memory of the job's file that is mapped beside this block look like addresses of this process. */
static long addresses_beside(const char *block)
{
    enum { PAGES = 512 };
    long found = 0, page = getpagesize();
    uintptr_t start, end;
    char flags[4096];
    unsigned char resident[PAGES];
    CHECK(find_part(block, &start, &end, flags, sizeof flags));
    for (uintptr_t at = start; at < end; at += PAGES * page) {
        size_t len = end - at < (uintptr_t)(PAGES * page) ? end - at : (uintptr_t)(PAGES * page);
        CHECK(mincore((void *)at, len, resident) == 0);
        for (size_t i = 0; i < len / page; i++) {
            const uintptr_t *words = (const uintptr_t *)(at + i * page);
            for (long word = 0; resident[i] && word < page / (long)sizeof *words; word++) {
                uintptr_t top = words[word] >> 40;
                found += top == 0x7f || top == 0x55 || top == 0x56;
            }
        }
    }
    return found;
}

/* The library's tables become large: receives that wait, messages that nobody wants yet, requests, types, groups, keys, communicators. */
static void tables(void)
{
    static MPI_Request requests[RECEIVES], sends[SENDS];
    static MPI_Datatype types[KEYS];
    static MPI_Group groups[KEYS];
    static int keys[KEYS];
    int rank, size, word = 7, flag;
    static int words[RECEIVES];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *block = malloc(64 << 10);
    CHECK(block);
    if (!in_job_file(block)) {
        free(block);
        return;
    }
    memset(block, 0, 64 << 10);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < RECEIVES; i++)
        MPI_Irecv(&words[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < SENDS; i++)
        MPI_Isend(&word, 1, MPI_INT, to, 10000 + i, MPI_COMM_WORLD, &sends[i]);
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < KEYS; i++) {
        MPI_Type_vector(2, 1 + i % 7, 9, MPI_INT, &types[i]);
        MPI_Group_incl(all, 1, &rank, &groups[i]);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
        MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], &keys[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(from, 10000, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(addresses_beside(block) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < RECEIVES; i++)
        MPI_Send(&i, 1, MPI_INT, to, i, MPI_COMM_WORLD);
    MPI_Waitall(RECEIVES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < SENDS; i++)
        MPI_Recv(&word, 1, MPI_INT, from, 10000 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(SENDS, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < RECEIVES; i++)
        CHECK(words[i] == i);
    CHECK(addresses_beside(block) == 0);
    for (int i = 0; i < KEYS; i++) {
        MPI_Type_free(&types[i]);
        MPI_Group_free(&groups[i]);
        MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[i]);
        MPI_Comm_free_keyval(&keys[i]);
    }
    MPI_Group_free(&all);
    CHECK(addresses_beside(block) == 0);
    free(block);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    tables();
    dumps();
    MPI_Finalize();
    return 0;
}
