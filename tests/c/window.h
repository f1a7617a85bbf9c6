/* What programs about windows share. */
#ifndef WINDOW_H
#define WINDOW_H

#include "check.h"

static int world_rank, world_size;

/* Windows are for ranks that have memory in common. Elsewhere making one is an error that says so, and nothing is left to test. */
static int has_windows(void)
{
    MPI_Win window;
    int code, class, kept;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Win_create(&kept, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION && window == MPI_WIN_NULL && world_size > 1);
        return 0;
    }
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS && window == MPI_WIN_NULL);
    return 1;
}

/* The memory of windows is of all kinds: from the heap that ranks share, large blocks of malloc, static, small blocks, the stack. */
enum { MEMORY_ALLOCATED, MEMORY_SHARED, MEMORY_LARGE, MEMORY_STATIC, MEMORY_SMALL, MEMORY_KINDS };

static char window_static_memory[1 << 16] __attribute__((aligned(64)));

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
