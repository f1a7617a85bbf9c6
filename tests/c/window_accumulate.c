/* The accumulate family: every operation, in every kind of memory, on elements that the processor changes in one step and on those that it does not, with
   datatypes; all ranks at one element at a time, by operations of all kinds; long operations beside short ones (MPI-5.0 section 12.3.4). */
#include <complex.h>
#include <stddef.h>
#include <stdint.h>

#include "window.h"

/* The sanitizer makes everything ten times as long. */
#ifdef __SANITIZE_THREAD__
enum { BYTES = 4096, ROUNDS = 60 };
#else
enum { BYTES = 4096, ROUNDS = 300 };
#endif

static void begin(MPI_Win window)
{
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
}

static void end(MPI_Win window)
{
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window) == MPI_SUCCESS);
}

/* All ranks add to the last one's memory, at this offset, aligned or not. */
#define ADD(type, datatype, offset)                                                                                    \
    do {                                                                                                               \
        type values[5], sum[5];                                                                                        \
        int i, target = world_size - 1;                                                                                \
        memset(memory, 0, BYTES);                                                                                      \
        for (i = 0; i < 5; i++)                                                                                        \
            values[i] = (type)(i + world_rank);                                                                        \
        begin(window);                                                                                                 \
        CHECK(MPI_Accumulate(values, 5, datatype, target, offset, 5, datatype, MPI_SUM, window) == MPI_SUCCESS);       \
        end(window);                                                                                                   \
        memcpy(sum, memory + offset, sizeof sum);                                                                      \
        for (i = 0; i < 5; i++)                                                                                        \
            CHECK(world_rank != target || sum[i] == (type)(i * world_size + world_size * (world_size - 1) / 2));       \
        for (i = 0; i < BYTES; i++)                                                                                    \
            CHECK((i >= offset && i < offset + (int)sizeof sum) || memory[i] == 0);                                    \
        MPI_Barrier(MPI_COMM_WORLD);                                                                                   \
    } while (0)

static void all_types(MPI_Win window, char *memory)
{
    int offset;
    for (offset = 64; offset < 64 + 9; offset += 3) {
        ADD(int8_t, MPI_INT8_T, offset);
        ADD(int16_t, MPI_INT16_T, offset);
        ADD(int32_t, MPI_INT32_T, offset);
        ADD(int64_t, MPI_INT64_T, offset);
        ADD(uint32_t, MPI_UINT32_T, offset);
        ADD(float, MPI_FLOAT, offset);
        ADD(double, MPI_DOUBLE, offset);
        ADD(float complex, MPI_C_FLOAT_COMPLEX, offset);
        ADD(double complex, MPI_C_DOUBLE_COMPLEX, offset);
    }
    {
        long double values[2] = {1, 2}, sum[2];
        memset(memory, 0, BYTES);
        begin(window);
        CHECK(MPI_Accumulate(values, 2, MPI_LONG_DOUBLE, 0, 16, 2, MPI_LONG_DOUBLE, MPI_SUM, window) == MPI_SUCCESS);
        end(window);
        memcpy(sum, memory + 16, sizeof sum);
        CHECK(world_rank != 0 || (sum[0] == world_size && sum[1] == 2 * world_size));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void all_operations(MPI_Win window, char *memory)
{
    static const struct {
        MPI_Op op;
        int before, operand, after;
    } cases[] = {{MPI_SUM, 5, 3, 8}, {MPI_PROD, 5, 3, 15}, {MPI_MAX, 5, 3, 5}, {MPI_MIN, 5, 3, 3}, {MPI_BAND, 5, 3, 1},
        {MPI_BOR, 5, 3, 7}, {MPI_BXOR, 5, 3, 6}, {MPI_LAND, 5, 0, 0}, {MPI_LOR, 0, 3, 1}, {MPI_LXOR, 5, 3, 0},
        {MPI_REPLACE, 5, 3, 3}, {MPI_NO_OP, 5, 3, 5}};
    int *ints = (int *)(memory + 128), *odd = (int *)(memory + 257), right = (world_rank + 1) % world_size;
    size_t i;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fetched = -1, also = -1, now;
        ints[0] = cases[i].before;
        memcpy(odd, &cases[i].before, sizeof(int));
        begin(window);
        CHECK(MPI_Get_accumulate(&cases[i].operand, 1, MPI_INT, &fetched, 1, MPI_INT, right, 128, 1, MPI_INT, cases[i].op,
                  window) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&cases[i].operand, &also, MPI_INT, right, 257, cases[i].op, window) == MPI_SUCCESS);
        end(window);
        memcpy(&now, odd, sizeof now);
        CHECK(fetched == cases[i].before && also == cases[i].before);
        CHECK(ints[0] == cases[i].after && now == cases[i].after);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    {
        /* Of MPI_NO_OP nothing here is looked at. */
        int fetched = -1;
        ints[0] = 77;
        begin(window);
        CHECK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &fetched, 1, MPI_INT, right, 128, 1, MPI_INT, MPI_NO_OP,
                  window) == MPI_SUCCESS);
        CHECK(fetched == 77);
        fetched = -1;
        CHECK(MPI_Fetch_and_op(NULL, &fetched, MPI_INT, right, 128, MPI_NO_OP, window) == MPI_SUCCESS && fetched == 77);
        end(window);
    }
}

#define PAIR(type, datatype)                                                                                           \
    do {                                                                                                               \
        struct {                                                                                                       \
            type value;                                                                                                \
            int index;                                                                                                 \
        } mine[3], *there = (void *)(memory + 320);                                                                    \
        int i;                                                                                                         \
        memset(memory, 0, BYTES);                                                                                      \
        memset(mine, 0, sizeof mine);                                                                                  \
        memory[320 - 1] = memory[320 + sizeof mine] = 55;                                                              \
        for (i = 0; i < 3; i++) {                                                                                      \
            mine[i].value = (type)(10 + world_rank + i);                                                               \
            mine[i].index = world_rank;                                                                                \
        }                                                                                                              \
        begin(window);                                                                                                 \
        CHECK(MPI_Accumulate(mine, 3, datatype, 0, 320, 3, datatype, MPI_MAXLOC, window) == MPI_SUCCESS);              \
        end(window);                                                                                                   \
        for (i = 0; world_rank == 0 && i < 3; i++)                                                                     \
            CHECK(there[i].value == 9 + world_size + i && there[i].index == world_size - 1);                           \
        CHECK(memory[320 - 1] == 55 && memory[320 + sizeof mine] == 55);                                               \
        MPI_Barrier(MPI_COMM_WORLD);                                                                                   \
    } while (0)

static void pairs(MPI_Win window, char *memory)
{
    PAIR(int, MPI_2INT);
    PAIR(float, MPI_FLOAT_INT);
    PAIR(short, MPI_SHORT_INT);
    PAIR(long, MPI_LONG_INT);
    PAIR(double, MPI_DOUBLE_INT);
    PAIR(long double, MPI_LONG_DOUBLE_INT);
}

/* Every second element here to every third there. */
static void scattered(MPI_Win window, char *memory)
{
    double values[20], fetched[20], *there = (double *)memory;
    MPI_Datatype second, third;
    int i;
    MPI_Type_vector(10, 1, 2, MPI_DOUBLE, &second);
    MPI_Type_vector(10, 1, 3, MPI_DOUBLE, &third);
    MPI_Type_commit(&second);
    MPI_Type_commit(&third);
    for (i = 0; i < 20; i++) {
        values[i] = i;
        fetched[i] = -1;
    }
    for (i = 0; i < 40; i++)
        there[i] = 100;
    MPI_Barrier(MPI_COMM_WORLD);
    begin(window);
    CHECK(MPI_Accumulate(values, 1, second, world_rank, 0, 1, third, MPI_SUM, window) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate(values, 1, second, fetched, 1, second, world_rank, 0, 1, third, MPI_SUM, window) == 0);
    end(window);
    for (i = 0; i < 40; i++)
        CHECK(there[i] == 100 + (i % 3 == 0 && i < 30 ? 2 * (i / 3 * 2) : 0));
    for (i = 0; i < 20; i++)
        CHECK(fetched[i] == (i % 2 == 0 ? 100 + i : -1));
    MPI_Type_free(&second);
    MPI_Type_free(&third);
}

static void swaps(MPI_Win window, char *memory)
{
    int right = (world_rank + 1) % world_size, offset;
    for (offset = 512; offset < 515; offset++) {
        int64_t before = 5, value = 9, other = 6, fetched = -1;
        memcpy(memory + offset, &before, sizeof before);
        MPI_Barrier(MPI_COMM_WORLD);
        begin(window);
        CHECK(MPI_Compare_and_swap(&value, &other, &fetched, MPI_INT64_T, right, offset, window) == 0 && fetched == 5);
        CHECK(MPI_Compare_and_swap(&value, &before, &fetched, MPI_INT64_T, right, offset, window) == 0 && fetched == 5);
        CHECK(MPI_Compare_and_swap(&other, &before, &fetched, MPI_INT64_T, right, offset, window) == 0 && fetched == 9);
        end(window);
        memcpy(&fetched, memory + offset, sizeof fetched);
        CHECK(fetched == 9);
    }
}

/* All ranks take a lock that is a word, by compare-and-swap, and give it back by replacing; what it protects is not atomic. Meanwhile they
   count in the same way as they look at it. */
static void all_at_once(MPI_Win window, char *memory, int offset)
{
    int one = 1, zero = 0, found, i, value, times = repetitions(ROUNDS), count = 8 + offset, word = offset, kept = 64;
    memset(memory, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    for (i = 0; i < times; i++) {
        CHECK(MPI_Accumulate(&one, 1, MPI_INT, 0, count, 1, MPI_INT, MPI_SUM, window) == MPI_SUCCESS);
        do {
            CHECK(MPI_Compare_and_swap(&one, &zero, &found, MPI_INT, 0, word, window) == MPI_SUCCESS);
            CHECK(MPI_Win_flush(0, window) == MPI_SUCCESS);
        } while (found != 0);
        CHECK(MPI_Get(&value, 1, MPI_INT, 0, kept, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(0, window) == MPI_SUCCESS);
        value++;
        CHECK(MPI_Put(&value, 1, MPI_INT, 0, kept, 1, MPI_INT, window) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(0, window) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(NULL, &found, MPI_INT, 0, word, MPI_NO_OP, window) == MPI_SUCCESS && found == 1);
        CHECK(MPI_Accumulate(&zero, 1, MPI_INT, 0, word, 1, MPI_INT, MPI_REPLACE, window) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        memcpy(&value, memory + kept, sizeof value);
        memcpy(&found, memory + count, sizeof found);
        CHECK(value == times * world_size && found == times * world_size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Structures that are replaced as so many bytes are seen whole by who fetches as many. */
static void structures(MPI_Win window, char *memory)
{
    struct {
        int64_t first, second, third;
    } mine = {world_rank, world_rank, world_rank}, seen;
    int i, offset, times = repetitions(ROUNDS);
    for (offset = 64; offset < 66; offset++) {
        memset(memory, 0, BYTES);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
        for (i = 0; i < times; i++) {
            CHECK(MPI_Get_accumulate(&mine, sizeof mine, MPI_BYTE, &seen, sizeof seen, MPI_BYTE, 0, offset, sizeof mine,
                      MPI_BYTE, i % 2 ? MPI_REPLACE : MPI_NO_OP, window) == MPI_SUCCESS);
            CHECK(seen.first == seen.second && seen.second == seen.third && seen.first < world_size);
        }
        CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void own_operation(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void mistakes(MPI_Win window)
{
    double value = 1, other;
    int number = 1;
    MPI_Datatype mixed;
    MPI_Op own;
    begin(window);
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, window), MPI_ERR_OP);
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_OP_NULL, window), MPI_ERR_OP);
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_NO_OP, window), MPI_ERR_OP);
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_INT64_T, MPI_SUM, window), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Compare_and_swap(&value, &value, &other, MPI_DOUBLE, 0, 0, window), MPI_ERR_TYPE);
    CHECK(MPI_Op_create(own_operation, 1, &own) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, own, window), MPI_ERR_OP);
    MPI_Op_free(&own);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &mixed);
    MPI_Type_commit(&mixed);
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, mixed, MPI_SUM, window), MPI_ERR_TYPE);
    MPI_Type_free(&mixed);
    MPI_Type_contiguous(1, MPI_INT, &mixed);
    MPI_Type_commit(&mixed);
    CHECK_ERROR(MPI_Fetch_and_op(&number, &other, mixed, 0, 0, MPI_SUM, window), MPI_ERR_TYPE);
    CHECK_ERROR(MPI_Accumulate(&number, 2, mixed, 0, 0, 1, MPI_INT, MPI_SUM, window), MPI_ERR_TRUNCATE);
    MPI_Type_free(&mixed);
    /* Of nothing the type does not matter. */
    CHECK(MPI_Accumulate(NULL, 0, MPI_INT, 0, 0, 0, MPI_DOUBLE, MPI_SUM, window) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate(NULL, 0, MPI_INT, NULL, 0, MPI_CHAR, 0, 0, 0, MPI_DOUBLE, MPI_SUM, window) == MPI_SUCCESS);
    end(window);
}

static void requests(MPI_Win window, char *memory)
{
    int one = 1, fetched = -1, *count = (int *)(memory + 64);
    MPI_Request request[2];
    memset(memory, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window) == MPI_SUCCESS);
    CHECK(MPI_Raccumulate(&one, 1, MPI_INT, 0, 64, 1, MPI_INT, MPI_SUM, window, &request[0]) == MPI_SUCCESS);
    CHECK(MPI_Rget_accumulate(&one, 1, MPI_INT, &fetched, 1, MPI_INT, 0, 64, 1, MPI_INT, MPI_SUM, window, &request[1]) == 0);
    CHECK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS && fetched >= 1 && fetched < 2 * world_size);
    CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(world_rank != 0 || *count == 2 * world_size);
}

/* Operations on thousands of elements, side by side or with gaps, while others change one of these at a time. */
static void long_beside_short(int kind)
{
    enum { ELEMENTS = 6000, SHORT = 40 };
    static int64_t ones[ELEMENTS], fetched[ELEMENTS];
    void *memory;
    MPI_Win window = make_window(kind, sizeof ones, sizeof *ones, &memory);
    MPI_Datatype every_second;
    int64_t one = 1, before, *elements = memory, expected;
    int i, time, times = repetitions(ROUNDS) / 5;
    MPI_Type_vector(ELEMENTS / 2, 1, 2, MPI_INT64_T, &every_second);
    MPI_Type_commit(&every_second);
    for (i = 0; i < ELEMENTS; i++)
        ones[i] = 1;
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    for (time = 0; time < times; time++) {
        CHECK(MPI_Accumulate(ones, ELEMENTS, MPI_INT64_T, 0, 0, ELEMENTS, MPI_INT64_T, MPI_SUM, window) == MPI_SUCCESS);
        CHECK(MPI_Get_accumulate(ones, ELEMENTS / 2, MPI_INT64_T, fetched, ELEMENTS / 2, MPI_INT64_T, 0, 0, 1, every_second, MPI_SUM,
                  window) == MPI_SUCCESS);
        /* Of what this rank has done to an element that nobody changes alone, nothing is missing. */
        CHECK(fetched[ELEMENTS / 2 - 1] >= 2 * time + 1 && fetched[ELEMENTS / 2 - 1] < 2 * times * world_size);
        for (i = 0; i < SHORT; i++) {
            CHECK(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, i % 4, MPI_SUM, window) == MPI_SUCCESS);
            CHECK(before >= time && before < times * (2 + SHORT / 4) * world_size);
        }
    }
    CHECK(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < ELEMENTS && world_rank == 0; i++) {
        expected = times * (1 + (i % 2 == 0) + (i < 4 ? SHORT / 4 : 0)) * world_size;
        CHECK(elements[i] == expected);
    }
    MPI_Type_free(&every_second);
    MPI_Barrier(MPI_COMM_WORLD);
    free_window(kind, &window, memory);
}

int main(int argc, char **argv)
{
    int kind;
    init(&argc, &argv);
    for (kind = 0; kind < MEMORY_KINDS; kind++) {
        void *memory;
        MPI_Win window;
        if (!has_kind(kind))
            continue;
        window = make_window(kind, BYTES, 1, &memory);
        all_types(window, memory);
        all_operations(window, memory);
        pairs(window, memory);
        scattered(window, memory);
        swaps(window, memory);
        all_at_once(window, memory, 0);
        all_at_once(window, memory, 1);
        structures(window, memory);
        mistakes(window);
        requests(window, memory);
        free_window(kind, &window, memory);
        long_beside_short(kind);
    }
    MPI_Finalize();
    return 0;
}
