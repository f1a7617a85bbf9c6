/* Static data in the shared heap: what they held when the program was loaded, what children made by `fork` see of them, what is mapped over
 * them, and messages between them.
 * ranks: 1 2 */
#include "heap.h"
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MB = 1 << 20, PAGE = 4096, NUMBERS = 100000, WORDS = 300, ROUNDS = 15 };

/* Pointers, which the loader has filled in; numbers, which the file has; nothing at all; and more than there is memory for. */
static const char *words[WORDS] = {[0] = "first", [WORDS / 2] = "middle", [WORDS - 1] = "last"};
static int numbers[NUMBERS] = {[0] = 5, [NUMBERS / 3] = 6, [NUMBERS - 1] = 7};
static unsigned char array[8 * MB];
static _Alignas(PAGE) unsigned char pages[64 * PAGE];
static unsigned char huge[1 << 30];
static int small = 3;
int counted_before_main;

__attribute__((constructor)) static void before_main(void)
{
    counted_before_main = small + numbers[NUMBERS - 1];
}

static void contents(void)
{
    CHECK(!strcmp(words[0], "first") && !strcmp(words[WORDS / 2], "middle") && !strcmp(words[WORDS - 1], "last"));
    CHECK(numbers[0] == 5 && numbers[1] == 0 && numbers[NUMBERS / 3] == 6 && numbers[NUMBERS - 1] == 7);
    CHECK(counted_before_main == 10 && environ && stdout && fprintf(stdout, "%s", "") == 0);
    for (size_t i = 0; i < sizeof array; i++)
        CHECK(!array[i]);
    CHECK(!huge[0] && !huge[sizeof huge - 1]);
    CHECK(in_job_file(array) == heap_wanted() && in_job_file(&array[sizeof array - 1]) == heap_wanted());
    CHECK(in_job_file(numbers) == heap_wanted() && in_job_file(&huge[sizeof huge - 1]) == heap_wanted());
    /* What was not touched is not there. */
    CHECK(resident_bytes() < 512 * MB);
}

/* A child sees what was there when it was made, and has children. */
static void child_life(unsigned seed, int depth)
{
    CHECK(is_filled(array, sizeof array, seed) && numbers[NUMBERS / 3] == (int)seed && small == (int)seed);
    CHECK(!huge[MB] && !in_job_file(array) && !in_job_file(&small));
    fill(array, sizeof array, seed + 1);
    huge[MB] = 1;
    small = numbers[NUMBERS / 3] = (int)seed + 1;
    if (depth > 0) {
        pid_t child = fork();
        if (child == 0) {
            huge[MB] = 0;
            child_life(seed + 1, depth - 1);
            _exit(0);
        }
        expect_success(child);
    }
    CHECK(is_filled(array, sizeof array, seed + 1) && small == (int)seed + 1);
}

/* The parent changes everything while the child still looks. */
static void fork_once(unsigned seed)
{
    int go[2];
    char byte = 1;
    fill(array, sizeof array, seed);
    small = numbers[NUMBERS / 3] = (int)seed;
    CHECK(pipe(go) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(read(go[0], &byte, 1) == 1);
        child_life(seed, 1);
        _exit(0);
    }
    fill(array, sizeof array, seed + 9);
    small = 70;
    CHECK(write(go[1], &byte, 1) == 1);
    expect_success(child);
    CHECK(is_filled(array, sizeof array, seed + 9) && numbers[NUMBERS / 3] == (int)seed && small == 70 && !huge[MB]);
    close(go[0]);
    close(go[1]);
}

static volatile int stop;
static volatile long counters[2 * MB];

static void *count(void *argument)
{
    volatile long *mine = &counters[(size_t)argument * MB];
    while (!stop)
        for (int i = 0; i < 1000; i++)
            mine[i]++;
    return NULL;
}

/* Forks while other threads write. */
static void fork_among_threads(void)
{
    pthread_t thread[2];
    stop = 0;
    fill(array, sizeof array, 30);
    small = numbers[NUMBERS / 3] = 30;
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, count, (void *)i) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        if (child == 0) {
            child_life(30, 0);
            _exit(0);
        }
        expect_success(child);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    CHECK(is_filled(array, sizeof array, 30) && counters[0] >= counters[999]);
}


static void among_other_programs(const char *self)
{
    fill(array, sizeof array, 20);
    start_other_programs(self);
    CHECK(is_filled(array, sizeof array, 20));
}

/* Each sends the other one array and gets it into another, from and to all kinds of memory. */
static void messages(unsigned seed)
{
    int rank, size;
    unsigned char *block = malloc(4 * MB);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *from[] = {array, array, block, pages}, *into[] = {array + 4 * MB, block, array + 5, array + 5};
    for (int way = 0; way < 4; way++)
        for (size_t len = 1; len <= (way < 3 ? 3 * MB : sizeof pages); len = len * 5 + 3) {
            int other = (rank + 1) % size;
            fill(from[way], len, seed + (unsigned)rank);
            memset(into[way], 0, len + 1);
            MPI_Sendrecv(from[way], (int)len, MPI_BYTE, other, 1, into[way], (int)len, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            CHECK(is_filled(into[way], len, seed + (unsigned)other) && !into[way][len]);
        }
    MPI_Bcast(array, 4 * MB, MPI_BYTE, 0, MPI_COMM_WORLD);
    free(block);
}

/* Other memory over a part of them, before or after the library has looked where they are. */
static void map_over(size_t first)
{
    unsigned char *middle = pages + first * PAGE;
    CHECK(mmap(middle, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == middle);
    CHECK(!sharing(middle) && !sharing(middle - 1) == !heap_wanted() && !middle[0]);
    fill(pages, sizeof pages, 80);
    unsigned char kept = pages[PAGE];
    CHECK(madvise(pages, PAGE, MADV_DONTNEED) == 0 && !pages[0] && !pages[PAGE - 1] && pages[PAGE] == kept);
    fill(pages, sizeof pages, 80);
    pid_t child = fork();
    if (child == 0) {
        CHECK(is_filled(pages, sizeof pages, 80));
        _exit(0);
    }
    expect_success(child);
}

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
    /* A child gets a copy of its memory, which takes minutes. */
    return 0;
#endif
    if (argc > 1) {
        /* A program that a rank started: its data are its own. */
        CHECK(!in_job_file(array) && !array[MB]);
        fill(array, sizeof array, 60);
        return 0;
    }
    contents();
    fork_once(40);
    among_other_programs(argv[0]);
    map_over(10);
    MPI_Init(&argc, &argv);
    messages(1);
    fork_once(50);
    map_over(40);
    messages(2);
    fork_among_threads();
    among_other_programs(argv[0]);
    MPI_Finalize();
    return 0;
}
