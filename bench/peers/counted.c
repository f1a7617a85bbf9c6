/* Calls of one-sided communication whose instructions valgrind counts: those within the function `counted`. One rank, which is its own target, in
 * memory that others would have mapped as well. `cargo xtask test` runs it; by hand:
 *
 *   valgrind --tool=callgrind --toggle-collect=counted ./counted "put and flush" 100
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long value, result;
static MPI_Win window;
static MPI_Group group;

static void put_and_flush(void) {
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
}

static void get_and_flush(void) {
    MPI_Get(&result, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
}

static void fetch_and_op(void) { MPI_Fetch_and_op(&value, &result, MPI_LONG, 0, 0, MPI_SUM, window); }

static void compare_and_swap(void) { MPI_Compare_and_swap(&value, &result, &result, MPI_LONG, 0, 0, window); }

static void accumulate(void) { MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window); }

static void lock_put_unlock(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(0, window);
}

static void lock_all_unlock_all(void) {
    MPI_Win_lock_all(0, window);
    MPI_Win_unlock_all(window);
}

static void fence_put_fence(void) {
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
}

static void post_start_put_complete_wait(void) {
    MPI_Win_post(group, 0, window);
    MPI_Win_start(group, 0, window);
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
}

static const struct {
    const char *name;
    void (*call)(void);
    int is_locked;
} calls[] = {{"put and flush", put_and_flush, 1}, {"get and flush", get_and_flush, 1}, {"fetch_and_op", fetch_and_op, 1},
    {"compare_and_swap", compare_and_swap, 1}, {"accumulate", accumulate, 1}, {"lock, put, unlock", lock_put_unlock, 0},
    {"lock_all, unlock_all", lock_all_unlock_all, 0}, {"fence, put, fence", fence_put_fence, 0},
    {"post, start, put, complete, wait", post_start_put_complete_wait, 0}};

__attribute__((noinline)) static void counted(void (*call)(void)) {
    call();
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    enum { BYTES = 1 << 20, WARM_UP = 32 };
    const char *wanted = argc > 1 ? argv[1] : "";
    int times = argc > 2 ? atoi(argv[2]) : 100, is_created = argc > 3 && !strcmp(argv[3], "created");
    void *base = malloc(BYTES);
    MPI_Init(&argc, &argv);
    if (is_created) MPI_Win_create(base, BYTES, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    else MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &window);
    memset(base, 0, BYTES);
    MPI_Win_get_group(window, &group);
    size_t number = 0;
    while (number < sizeof calls / sizeof *calls && strcmp(calls[number].name, wanted)) number++;
    if (number == sizeof calls / sizeof *calls) {
        fprintf(stderr, "no call is named %s\n", wanted);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (calls[number].is_locked) MPI_Win_lock_all(0, window);
    for (int i = 0; i < WARM_UP; i++) calls[number].call();
    for (int i = 0; i < times; i++) counted(calls[number].call);
    if (calls[number].is_locked) MPI_Win_unlock_all(window);
    MPI_Group_free(&group);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
