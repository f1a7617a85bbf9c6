/* malloc and its relatives, with large blocks in the shared heap: sizes, alignment, contents, threads.
 * ranks: 1 2 */
#include "heap.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MB = 1 << 20, THREADS = 4, SLOTS = 24, STEPS = 1000 };

static void functions(void)
{
    char *block, *other;
    void *place = NULL;
    CHECK((block = malloc(MB)) && in_job_file(block) == heap_wanted());
    CHECK(malloc_usable_size(block) >= MB);
    memset(block, 7, MB);
    free(block);
    CHECK((block = calloc(MB, 1)) && in_job_file(block) == heap_wanted());
    for (size_t i = 0; i < MB; i++)
        CHECK(block[i] == 0);
    free(block);
    for (size_t align = 16; align <= 64 * MB; align *= 4) {
        CHECK(posix_memalign(&place, align, MB) == 0 && (uintptr_t)place % align == 0);
        CHECK(in_job_file(place) == heap_wanted());
        memset(place, 1, MB);
        CHECK((other = aligned_alloc(align, 2 * MB)) && (uintptr_t)other % align == 0);
        memset(other, 2, 2 * MB);
        CHECK(*(char *)place == 1 && ((char *)place)[MB - 1] == 1);
        free(place);
        CHECK((place = memalign(align, 40000)) && (uintptr_t)place % align == 0);
        memset(place, 3, 40000);
        CHECK(other[0] == 2 && other[2 * MB - 1] == 2);
        free(other);
        free(place);
    }
    CHECK((block = valloc(MB)) && (uintptr_t)block % (uintptr_t)getpagesize() == 0);
    free(block);
    CHECK(posix_memalign(&place, 3, MB) == EINVAL && posix_memalign(&place, 2, MB) == EINVAL);
    free(NULL);
    CHECK((block = malloc(0)) || 1);
    free(block);
    CHECK((block = malloc(100)) && !in_job_file(block));
    free(block);
}

static void too_much(void)
{
    /* Not known at compile time, or the compiler would object. */
    volatile size_t half = SIZE_MAX / 2, two = 2, three = 3;
    void *block = malloc(MB);
    CHECK(block && in_job_file(block) == heap_wanted());
    memset(block, 5, MB);
    errno = 0;
    CHECK(!malloc(half) && errno == ENOMEM);
    errno = 0;
    CHECK(!calloc(half, three) && errno == ENOMEM);
    CHECK(!realloc(block, half));
    CHECK(!reallocarray(block, half, three));
    CHECK((block = reallocarray(block, two, MB)) && ((char *)block)[MB - 1] == 5);
    free(block);
}

/* A block that grows from small to large and back keeps its contents, wherever it lies. */
static void sizes(void)
{
    unsigned char *block = NULL, *wall;
    size_t len = 0;
    for (size_t next = 1; next < 40 * MB; next = next * 3 / 2 + 1) {
        CHECK((block = realloc(block, next)));
        CHECK(is_filled(block, len, 3));
        fill(block, len = next, 3);
        CHECK(len < MB || in_job_file(block) == heap_wanted());
        CHECK(malloc_usable_size(block) >= len);
    }
    while (len > 2) {
        len = len * 2 / 5;
        CHECK((block = realloc(block, len)));
        CHECK(is_filled(block, len, 3));
    }
    CHECK(!in_job_file(block));
    free(block);
    /* It can grow in place if nothing is behind it, and must move if something is. */
    CHECK((block = malloc(MB)) && (wall = malloc(MB)));
    fill(block, MB, 1);
    fill(wall, MB, 2);
    CHECK((block = realloc(block, 8 * MB)) && is_filled(block, MB, 1) && is_filled(wall, MB, 2));
    CHECK((block = realloc(block, 16 * MB)) && is_filled(block, MB, 1) && is_filled(wall, MB, 2));
    free(wall);
    free(block);
}

/* Memory that is not touched is not there, what is calloc'ed is zero even if it was used before, and what is freed goes back. */
static void memory(void)
{
    size_t huge = (size_t)1 << 32;
    long before = resident_bytes();
    char *block = calloc(huge, 1);
    CHECK(block);
    block[0] = block[huge / 2] = block[huge - 1] = 1;
    CHECK(resident_bytes() - before < 64 * MB);
    free(block);
    CHECK((block = calloc(huge, 1)));
    CHECK(!block[0] && !block[huge / 2] && !block[huge - 1]);
    CHECK(resident_bytes() - before < 64 * MB);
    free(block);
    for (int round = 0; round < 3; round++) {
        CHECK((block = malloc(200 * MB)));
        memset(block, 9, 200 * MB);
        free(block);
        CHECK(resident_bytes() - before < 64 * MB);
        CHECK((block = calloc(MB, 3)));
        for (size_t i = 0; i < 3 * MB; i += 512)
            CHECK(!block[i]);
        memset(block, 8, 3 * MB);
        free(block);
    }
}

/* Other memory over part of a block: it is the program's business, and must not come back in other blocks. */
static void mapped_over(void)
{
    size_t page = (size_t)getpagesize();
    char *block, *middle, *others[64];
    CHECK(posix_memalign((void **)&block, page, 64 * page) == 0);
    memset(block, 1, 64 * page);
    middle = block + 16 * page;
    /* Of libc's block that place would be used again. */
    int protection = heap_wanted() ? PROT_READ : PROT_READ | PROT_WRITE;
    CHECK(mmap(middle, 8 * page, protection, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == middle);
    CHECK(middle[0] == 0 && middle[-1] == 1 && middle[8 * page] == 1);
    CHECK(madvise(block, 16 * page, MADV_HUGEPAGE) == 0 || errno == EINVAL);
    /* What is given back is zero, whatever it was given back as. */
    CHECK(madvise(block, 2 * page, MADV_DONTNEED) == 0 && !block[0] && !block[2 * page - 1] && block[2 * page] == 1);
    CHECK(madvise(middle - page, 2 * page, MADV_DONTNEED) == 0 && !middle[0]);
    free(block);
    for (int i = 0; i < 64; i++) {
        CHECK((others[i] = malloc(40 * page)));
        memset(others[i], i, 40 * page);
    }
    for (int i = 0; i < 64; i++)
        free(others[i]);
}

static unsigned char *handed_over[THREADS];
static pthread_barrier_t meeting;

/* Blocks of all sizes, changed, moved, and freed by another thread than the one that got them. */
static void *churn(void *argument)
{
    size_t me = (size_t)argument, len[SLOTS] = {0};
    unsigned char *slot[SLOTS] = {NULL};
    unsigned seed = 12345 + (unsigned)me;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 1103515245u + 12345u;
        unsigned which = seed >> 8 & 0xffff, s = which % SLOTS;
        size_t size = (size_t)1 << (which % 20);
        size += seed % size;
        CHECK(is_filled(slot[s], len[s] < 64 ? len[s] : 64, s + (unsigned)me));
        if (which % 3 == 0) {
            free(slot[s]);
            slot[s] = which % 2 ? malloc(size) : calloc(size, 1);
            len[s] = size;
            CHECK(slot[s] && (which % 2 || (!slot[s][0] && !slot[s][size - 1])));
        } else {
            size_t kept = len[s] < size ? len[s] : size;
            CHECK((slot[s] = realloc(slot[s], size)));
            CHECK(is_filled(slot[s], kept, s + (unsigned)me));
            len[s] = size;
        }
        fill(slot[s], len[s], s + (unsigned)me);
    }
    handed_over[me] = slot[0];
    pthread_barrier_wait(&meeting);
    free(handed_over[(me + 1) % THREADS]);
    for (int s = 1; s < SLOTS; s++) {
        CHECK(is_filled(slot[s], len[s], s + (unsigned)me));
        free(slot[s]);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    CHECK(pthread_barrier_init(&meeting, NULL, THREADS) == 0);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, churn, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
}

static void all(void)
{
    functions();
    too_much();
    sizes();
    memory();
    mapped_over();
    threads();
}

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
    /* It has a malloc of its own, which ends the program where others return an error. */
    return 0;
#endif
    unsigned char *early = malloc(MB);
    fill(early, MB, 11);
    all();
    MPI_Init(&argc, &argv);
    all();
    CHECK(is_filled(early, MB, 11));
    MPI_Finalize();
    CHECK(is_filled(early, MB, 11));
    functions();
    free(early);
    return 0;
}
