/* What programs about windows share. */
#ifndef WINDOW_H
#define WINDOW_H

#include "check.h"

static int world_rank, world_size;

/* Whether all ranks have memory in common. */
static int shares_memory;

static void init(int *argc, char ***argv)
{
    MPI_Comm node;
    int size;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    shares_memory = size == world_size;
}

/* Between nodes a target serves others when it calls MPI, unless a thread does. */
static inline int serves_without_calls(void)
{
    const char *progress = getenv("RWMPI_PROGRESS");
    return shares_memory || (progress != NULL && strcmp(progress, "thread") == 0);
}

/* So often something is repeated: less often where each time is a round trip to another node. */
static inline int repetitions(int usual)
{
    return shares_memory ? usual : usual / 6;
}

/* The memory of windows is of all kinds: from the heap that ranks share, large blocks of malloc, static, small blocks, the stack. */
enum { MEMORY_ALLOCATED, MEMORY_SHARED, MEMORY_LARGE, MEMORY_STATIC, MEMORY_SMALL, MEMORY_KINDS };

static char window_static_memory[1 << 16] __attribute__((aligned(64)));

/* Whether there is memory of that kind for a window of all ranks. */
static inline int has_kind(int kind)
{
    return kind != MEMORY_SHARED || shares_memory;
}

/* A window of that kind of memory, all of which is zero. */
static inline MPI_Win make_window(int kind, MPI_Aint size, int unit, void **base)
{
    MPI_Win window;
    CHECK(size <= (MPI_Aint)sizeof window_static_memory);
    switch (kind) {
    case MEMORY_ALLOCATED:
        CHECK(MPI_Win_allocate(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, &window) == MPI_SUCCESS);
        break;
    case MEMORY_SHARED:
        CHECK(MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, &window) == MPI_SUCCESS);
        break;
    default:
        *base = kind == MEMORY_LARGE ? malloc(size + 65536) : kind == MEMORY_SMALL ? malloc(size) : window_static_memory;
        CHECK(MPI_Win_create(*base, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    if (size > 0)
        memset(*base, 0, size);
    MPI_Barrier(MPI_COMM_WORLD);
    return window;
}

static inline void free_window(int kind, MPI_Win *window, void *base)
{
    CHECK(MPI_Win_free(window) == MPI_SUCCESS && *window == MPI_WIN_NULL);
    if (kind == MEMORY_LARGE || kind == MEMORY_SMALL)
        free(base);
}

#endif
