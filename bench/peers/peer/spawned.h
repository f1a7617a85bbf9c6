/* spawned: starting two processes, and going apart when they have. */
#pragma once
#include "measure.h"

enum { CHILDREN = 2 };
static char *own_path;

static void spawn_children(int iterations, size_t bytes) {
    (void)bytes;
    char *arguments[] = {"child", NULL};
    for (int i = 0; i < iterations; i++) {
        MPI_Comm children;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us();
        MPI_Comm_spawn(own_path, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        keep(now_us() - start);
        MPI_Comm_disconnect(&children);
    }
}

/* What a child does; returns whether this is one. */
static int was_spawned(void) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) return 0;
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 1;
}
