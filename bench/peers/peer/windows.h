/* windows: one-sided operations on memory of rank 1, allocated by the library or the program's own. Ranks open and close epochs around a batch; what
 * an epoch costs by itself is measured for itself. */
#pragma once
#include "measure.h"
#include "messages.h"
#include "overlap.h"

enum { BURST = 64, TARGET_COMPUTES_US = 10000 };

static struct {
    MPI_Win handle;
    char *own, *base, *here;
    MPI_Group other;
    int is_allocated;
} window;

static void make_window(size_t bytes, int is_allocated) {
    window.is_allocated = is_allocated;
    size_t with_flag = bytes + sizeof(uint64_t);
    window.own = calloc(1, with_flag + 65536);
    window.here = calloc(2, bytes);
    window.base = window.own;
    if (is_allocated) MPI_Win_allocate(with_flag, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.base, &window.handle);
    else MPI_Win_create(window.own, with_flag, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.handle);
    memset(window.base, 0, with_flag);
    memset(window.here, 0, 2 * bytes);
    MPI_Group world;
    int other = rank == 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &window.other);
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void free_window(void) {
    MPI_Group_free(&window.other);
    MPI_Win_free(&window.handle);
    free(window.own);
    free(window.here);
}

static void put_once(size_t bytes) { MPI_Put(window.here, (int)bytes, MPI_CHAR, 1, 0, (int)bytes, MPI_CHAR, window.handle); }
static void get_once(size_t bytes) { MPI_Get(window.here, (int)bytes, MPI_CHAR, 1, 0, (int)bytes, MPI_CHAR, window.handle); }

static void accumulate_once(size_t bytes) {
    int count = (int)(bytes / sizeof(double));
    MPI_Accumulate(window.here, count, MPI_DOUBLE, 1, 0, count, MPI_DOUBLE, MPI_SUM, window.handle);
}

static void fetch_and_op_once(size_t bytes) {
    (void)bytes;
    MPI_Fetch_and_op(window.here, window.here + 8, MPI_INT64_T, 1, 0, MPI_SUM, window.handle);
}

static void compare_and_swap_once(size_t bytes) {
    (void)bytes;
    MPI_Compare_and_swap(window.here, window.here, window.here + 8, MPI_INT64_T, 1, 0, window.handle);
}

static const struct one_sided {
    const char *name;
    void (*once)(size_t bytes);
    int has_length;
} operations[] = {{"put", put_once, 1}, {"get", get_once, 1}, {"accumulate", accumulate_once, 1}, {"fetch_and_op", fetch_and_op_once, 0},
                  {"compare_and_swap", compare_and_swap_once, 0}};
enum { OPERATIONS = sizeof operations / sizeof *operations };
static const struct one_sided *one_sided;

/* An operation and a flush. */
static void operate_and_flush(int iterations, size_t bytes) {
    if (rank != 0) return;
    MPI_Win_lock_all(0, window.handle);
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        one_sided->once(bytes);
        MPI_Win_flush(1, window.handle);
    }
    keep((now_us() - start) / iterations);
    MPI_Win_unlock_all(window.handle);
}

/* One of many operations before a flush. */
static void operate_often(int iterations, size_t bytes) {
    if (rank != 0) return;
    MPI_Win_lock_all(0, window.handle);
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        for (int n = 0; n < BURST; n++) one_sided->once(bytes);
        MPI_Win_flush(1, window.handle);
    }
    keep((now_us() - start) / (iterations * BURST));
    MPI_Win_unlock_all(window.handle);
}

static void lock_put_unlock(int iterations, size_t bytes) {
    if (rank != 0) return;
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window.handle);
        put_once(bytes);
        MPI_Win_unlock(1, window.handle);
    }
    keep((now_us() - start) / iterations);
}

static void lock_all_unlock_all(int iterations, size_t bytes) {
    (void)bytes;
    if (rank != 0) return;
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        MPI_Win_lock_all(0, window.handle);
        MPI_Win_unlock_all(window.handle);
    }
    keep((now_us() - start) / iterations);
}

/* Fences with a put of one rank between each two. */
static void fences(int iterations, size_t bytes) {
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        MPI_Win_fence(0, window.handle);
        if (rank == 0) put_once(bytes);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.handle);
    keep((now_us() - start) / (iterations + 1));
}

static void post_start_complete_wait(int iterations, size_t bytes) {
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        if (rank == 0) {
            MPI_Win_start(window.other, 0, window.handle);
            put_once(bytes);
            MPI_Win_complete(window.handle);
        } else {
            MPI_Win_post(window.other, 0, window.handle);
            MPI_Win_wait(window.handle);
        }
    }
    keep((now_us() - start) / iterations);
}

/* An epoch of a lock and an operation, while its target computes and calls nothing. */
static void target_computes(int iterations, size_t bytes) {
    for (int i = 0; i < iterations; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        serial++;
        if (rank == 1) {
            atomic_store_explicit(&flags->call.word, serial, memory_order_release);
            compute(TARGET_COMPUTES_US);
            continue;
        }
        await(&flags->call, serial, 1);
        double start = now_us();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window.handle);
        one_sided->once(bytes);
        MPI_Win_unlock(1, window.handle);
        keep(now_us() - start - clock_us);
    }
}

/* Data and then a flag into the other's memory, which looks at the flag, and back. The libraries get their turn now and then. */
static void put_with_flag(int iterations, size_t bytes) {
    volatile uint64_t *flag = (volatile uint64_t *)(window.base + bytes);
    static uint64_t turn;
    MPI_Win_lock_all(0, window.handle);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now_us();
    for (int i = 0; i < 2 * iterations; i++) {
        turn++;
        if ((int)(turn & 1) == rank) {
            MPI_Put(window.here, (int)bytes, MPI_CHAR, peer, 0, (int)bytes, MPI_CHAR, window.handle);
            MPI_Win_flush(peer, window.handle);
            MPI_Put(&turn, 8, MPI_CHAR, peer, (MPI_Aint)bytes, 8, MPI_CHAR, window.handle);
            MPI_Win_flush(peer, window.handle);
        } else {
            for (int looks = 1; *flag != turn; looks++)
                if (looks % 64 == 0) MPI_Win_flush(peer, window.handle);
        }
    }
    keep((now_us() - start) / (2 * iterations));
    MPI_Win_unlock_all(window.handle);
}

static void made_and_freed(int iterations, size_t bytes) {
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        MPI_Win made;
        void *base;
        if (window.is_allocated) MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
        else MPI_Win_create(window.own, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
        MPI_Win_free(&made);
    }
    keep((now_us() - start) / iterations);
}

/* Everything in that kind of memory; what has no length is measured with the first of the lengths. */
static void on_windows(size_t bytes, int is_allocated, int is_first) {
    static const struct {
        const char *name;
        batch_function batch;
    } epochs[] = {{"lock, put, unlock", lock_put_unlock}, {"lock_all, unlock_all", lock_all_unlock_all}, {"fence", fences},
                  {"start, put, complete", post_start_complete_wait}};
    const char *kind = is_allocated ? "allocated" : "created";
    char name[64];
    make_window(bytes, is_allocated);
    for (int i = 0; i < OPERATIONS; i++) {
        one_sided = &operations[i];
        if (!one_sided->has_length && !is_first) continue;
        snprintf(name, sizeof name, "%s, flush, %s", one_sided->name, kind);
        measure(name, operate_and_flush, bytes);
        snprintf(name, sizeof name, "%s, one of many, %s", one_sided->name, kind);
        measure(name, operate_often, bytes);
        snprintf(name, sizeof name, "%s, target computes, %s", one_sided->name, kind);
        measure(name, target_computes, bytes);
    }
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs && is_first; i++) {
        snprintf(name, sizeof name, "%s, %s", epochs[i].name, kind);
        measure(name, epochs[i].batch, bytes);
    }
    snprintf(name, sizeof name, "put with flag, %s", kind);
    measure(name, put_with_flag, bytes);
    snprintf(name, sizeof name, "made and freed, %s", kind);
    measure(name, made_and_freed, bytes);
    free_window();
}

/* puts: those over a network, beside a raw connection. */
static int puts_before_flush;

static void puts_and_flush(int iterations, size_t bytes) {
    if (way == BY_LIBRARY) {
        (puts_before_flush == 1 ? operate_and_flush : operate_often)(iterations, bytes);
        return;
    }
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        for (int n = 0; n < puts_before_flush; n++) move_by_socket(window.here, bytes, rank == 0);
        move_by_socket(window.here, 1, rank == 1);
    }
    keep((now_us() - start) / (iterations * puts_before_flush));
}

static void puts_over_network(size_t bytes) {
    make_window(bytes, 1);
    one_sided = &operations[0];
    for (puts_before_flush = 1; puts_before_flush <= BURST; puts_before_flush += BURST - 1)
        measure(puts_before_flush == 1 ? "put, flush" : "put, one of many", puts_and_flush, bytes);
    free_window();
}
