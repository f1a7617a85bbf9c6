/* Two threads of each rank make random operations at the same time, each in epochs of its own on a window of its own. Both windows are of the same memory, so
   what all threads have fetched from a word must fit into one order of operations, in which those of each thread are in theirs: what tests/src/suites/windows
   asks of ranks with one thread (MPI-5.0 sections 11.6 and 12.7). */
#include <pthread.h>
#include <stdint.h>

#include "check.h"

/* So often a word is changed in a row, so that threads meet there. */
enum { THREADS = 2, ROUNDS = 8, OPERATIONS = 8, TIMES = 20, MOST = ROUNDS * OPERATIONS * TIMES };
enum { ELEMENTS = 600, RUN = 64, BYTES = RUN + 8 * ELEMENTS };

/* Of these words the second is not aligned, and the last three are elements of a run that some operations change as a whole. All count in the last. */
static const int offsets[] = {0, 17, RUN, RUN + 8 * 123, RUN + 8 * (ELEMENTS - 1)};
enum { WORDS = sizeof offsets / sizeof offsets[0], COUNTER = WORDS - 1, FIRST_IN_RUN = 2 };

/* What an operation has found in a word, and what it has made of that. */
typedef struct {
    int64_t target, word;
    uint64_t before, after;
} Step;

typedef struct {
    MPI_Win window;
    uint64_t random;
    Step steps[MOST];
    int made;
    uint64_t operands[ELEMENTS], fetched[ELEMENTS];
} Worker;

static Worker workers[THREADS];
static pthread_barrier_t together;
static int rank, size;

static uint64_t next(Worker *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return worker->random;
}

static int below(Worker *worker, int limit)
{
    return (int)((next(worker) >> 11) % (uint64_t)limit);
}

static uint64_t combined(MPI_Op operation, uint64_t before, uint64_t operand)
{
    if (operation == MPI_NO_OP) return before;
    if (operation == MPI_SUM) return before + operand;
    if (operation == MPI_MAX) return before > operand ? before : operand;
    return operand;
}

static void remember(Worker *worker, int target, int word, uint64_t before, uint64_t after)
{
    CHECK(worker->made < MOST);
    worker->steps[worker->made++] = (Step){target, word, before, after};
}

/* The latest value of a word that this thread knows of. */
static uint64_t known(const Worker *worker, int target, int word)
{
    for (int step = worker->made - 1; step >= 0; step--)
        if (worker->steps[step].target == target && worker->steps[step].word == word) return worker->steps[step].after;
    return 0;
}

static void count(Worker *worker, int target)
{
    uint64_t one = 1, seen = 0;
    CHECK(MPI_Accumulate(&one, 1, MPI_UINT64_T, target, offsets[COUNTER], 1, MPI_UINT64_T, MPI_SUM, worker->window) == MPI_SUCCESS);
    CHECK(MPI_Fetch_and_op(NULL, &seen, MPI_UINT64_T, target, offsets[COUNTER], MPI_NO_OP, worker->window) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(target, worker->window) == MPI_SUCCESS);
    CHECK(seen >= known(worker, target, COUNTER) + 1);
    remember(worker, target, COUNTER, seen, seen);
}

static void change_word(Worker *worker, int target, int word)
{
    const MPI_Op operations[] = {MPI_NO_OP, MPI_REPLACE, MPI_MAX, MPI_SUM};
    MPI_Op operation = operations[below(worker, 4)];
    uint64_t operand = next(worker), before = 0, compared = known(worker, target, word);
    int offset = offsets[word];
    switch (below(worker, 3)) {
    case 0:
        CHECK(MPI_Compare_and_swap(&operand, &compared, &before, MPI_UINT64_T, target, offset, worker->window) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(target, worker->window) == MPI_SUCCESS);
        remember(worker, target, word, before, before == compared ? operand : before);
        return;
    case 1:
        CHECK(MPI_Fetch_and_op(&operand, &before, MPI_UINT64_T, target, offset, operation, worker->window) == MPI_SUCCESS);
        break;
    default:
        CHECK(MPI_Get_accumulate(&operand, 1, MPI_UINT64_T, &before, 1, MPI_UINT64_T, target, offset, 1, MPI_UINT64_T, operation,
                  worker->window) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_flush(target, worker->window) == MPI_SUCCESS);
    remember(worker, target, word, before, combined(operation, before, operand));
}

/* All of the run at once; to the counter, its last element, nothing is added. */
static void change_run(Worker *worker, int target)
{
    memset(worker->operands, 0, sizeof worker->operands);
    for (int word = FIRST_IN_RUN; word < COUNTER; word++)
        worker->operands[(offsets[word] - RUN) / 8] = next(worker);
    CHECK(MPI_Get_accumulate(worker->operands, ELEMENTS, MPI_UINT64_T, worker->fetched, ELEMENTS, MPI_UINT64_T, target, RUN, ELEMENTS,
              MPI_UINT64_T, MPI_SUM, worker->window) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(target, worker->window) == MPI_SUCCESS);
    for (int word = FIRST_IN_RUN; word < COUNTER; word++) {
        int element = (offsets[word] - RUN) / 8;
        remember(worker, target, word, worker->fetched[element], worker->fetched[element] + worker->operands[element]);
    }
}

static void *work(void *argument)
{
    Worker *worker = argument;
    for (int round = 0; round < ROUNDS; round++) {
        if (worker == &workers[0]) MPI_Barrier(MPI_COMM_WORLD);
        pthread_barrier_wait(&together);
        CHECK(MPI_Win_lock_all(0, worker->window) == MPI_SUCCESS);
        for (int operation = 0; operation < OPERATIONS; operation++) {
            int target = below(worker, size), word = below(worker, WORDS);
            if (below(worker, 8) == 0) change_run(worker, target);
            else if (word == COUNTER) count(worker, target);
            else
                for (int time = 0; time < TIMES; time++)
                    change_word(worker, target, word);
        }
        CHECK(MPI_Win_unlock_all(worker->window) == MPI_SUCCESS);
    }
    return NULL;
}

/* Where a value comes in the order of a word's values; -1 if nowhere. */
static int place_of(const uint64_t *values, int count, uint64_t value)
{
    for (int place = 0; place < count; place++)
        if (values[place] == value) return place;
    return -1;
}

/* Whether the steps of a word follow each other from 0 to the value that it has, and each thread's are in its order. */
static void check_word(int word, uint64_t last, const Step *steps, const int *made)
{
    int total = 0, changes = 0, count = 1, step;
    for (int thread = 0; thread < size * THREADS; thread++)
        total += made[thread];
    uint64_t *values = malloc((size_t)(total + 1) * sizeof *values);
    values[0] = 0;
    for (step = 0; step < total; step++)
        changes += steps[step].target == rank && steps[step].word == word && steps[step].before != steps[step].after;
    for (int is_more = 1; is_more;) {
        int found = 0;
        for (step = 0; step < total; step++) {
            const Step *next = &steps[step];
            if (next->target == rank && next->word == word && next->before != next->after && next->before == values[count - 1]) {
                CHECK(found++ == 0);
                CHECK(place_of(values, count, next->after) < 0);
                values[count] = next->after;
            }
        }
        is_more = found;
        count += found;
    }
    CHECK(count == changes + 1);
    CHECK(values[count - 1] == last);
    for (int thread = 0; thread < size * THREADS; thread++) {
        int reached = 0;
        for (const Step *end = steps + made[thread]; steps < end; steps++) {
            if (steps->target != rank || steps->word != word) continue;
            int place = place_of(values, count, steps->before);
            CHECK(place >= reached);
            reached = place_of(values, count, steps->after);
        }
    }
    free(values);
}

/* Whether this rank's memory is what all have made of it, and they have seen what they may have. */
static void check_all(const char *memory)
{
    int *made = malloc((size_t)(size * THREADS) * sizeof *made), *bytes = malloc((size_t)size * sizeof *bytes);
    int *starts = malloc((size_t)size * sizeof *starts), mine[THREADS] = {workers[0].made, workers[1].made}, total = 0;
    uint64_t counted = 0, last;
    MPI_Allgather(mine, THREADS, MPI_INT, made, THREADS, MPI_INT, MPI_COMM_WORLD);
    for (int other = 0; other < size; other++) {
        starts[other] = total;
        bytes[other] = (int)sizeof(Step) * (made[THREADS * other] + made[THREADS * other + 1]);
        total += bytes[other];
    }
    Step *steps = malloc((size_t)total), *own = malloc((size_t)bytes[rank]);
    memcpy(own, workers[0].steps, (size_t)mine[0] * sizeof(Step));
    memcpy(own + mine[0], workers[1].steps, (size_t)mine[1] * sizeof(Step));
    MPI_Allgatherv(own, bytes[rank], MPI_BYTE, steps, bytes, starts, MPI_BYTE, MPI_COMM_WORLD);
    for (int word = 0; word < COUNTER; word++) {
        memcpy(&last, memory + offsets[word], sizeof last);
        check_word(word, last, steps, made);
    }
    for (size_t step = 0; step < (size_t)total / sizeof(Step); step++)
        counted += steps[step].target == rank && steps[step].word == COUNTER;
    memcpy(&last, memory + offsets[COUNTER], sizeof last);
    CHECK(last == counted);
    free(made), free(bytes), free(starts), free(steps), free(own);
}

int main(int argc, char **argv)
{
    int provided = -1;
    char *memory;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &workers[0].window) == MPI_SUCCESS);
    CHECK(MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &workers[1].window) == MPI_SUCCESS);
    memset(memory, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_barrier_init(&together, NULL, THREADS);
    for (int thread = 0; thread < THREADS; thread++) {
        workers[thread].random = 0x9e3779b97f4a7c15 * (uint64_t)(rank * THREADS + thread + 1) | 1;
        CHECK(pthread_create(&threads[thread], NULL, work, &workers[thread]) == 0);
    }
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(memory);
    MPI_Win_free(&workers[1].window);
    MPI_Win_free(&workers[0].window);
    return MPI_Finalize();
}
