/* Forked children share pages with their parent until one of them changes them: what is copied, when memory is given back, and what else is to be
 * with such pages as with any others.
 * ranks: 1 */
#include "heap.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MB = 1 << 20, LEN = 32 * MB, PAGE = 4096, ROUNDS = 10 };

static unsigned char array[8 * MB];

/* How many bytes the job's file has. */
static long file_bytes(void)
{
    struct stat data;
    const char *number = getenv("RWMPI_JOB_FD");
    CHECK(number && fstat(atoi(number), &data) == 0);
    return data.st_blocks * 512L;
}

/* How many bytes of memory this process has that are no file's. */
static long own_bytes(void)
{
    char line[200];
    long kb = 0;
    FILE *list = fopen("/proc/self/smaps_rollup", "r");
    CHECK(list);
    while (fgets(line, sizeof line, list) && sscanf(line, "Anonymous: %ld", &kb) != 1)
        ;
    fclose(list);
    return kb * 1024;
}

/* How many mappings the process has. */
static int mappings(void)
{
    int lines = 0, byte;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while ((byte = getc(maps)) != EOF)
        lines += byte == '\n';
    fclose(maps);
    return lines;
}

struct family {
    pid_t child;
    int go;
};

/* A child that does `what` with a block when it is told to. */
static struct family begin(void (*what)(unsigned char *), unsigned char *block)
{
    int go[2];
    char byte;
    CHECK(pipe(go) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(go[1]);
        CHECK(read(go[0], &byte, 1) == 1);
        what(block);
        _exit(0);
    }
    CHECK(child > 0);
    close(go[0]);
    return (struct family){child, go[1]};
}

static void end(struct family family)
{
    CHECK(write(family.go, "", 1) == 1);
    expect_success(family.child);
    close(family.go);
}

static void finds_seed_1(unsigned char *block)
{
    CHECK(is_filled(block, LEN, 1));
}

static void copies_nothing(unsigned char *block)
{
    CHECK(is_filled(block, LEN, 1) && is_filled(array, sizeof array, 2));
    CHECK(!heap_wanted() || own_bytes() < LEN / 2);
    block[5] = 9;
    CHECK(!is_filled(block, LEN, 1) && (!heap_wanted() || own_bytes() < LEN / 2));
}

static void looking_copies_nothing(void)
{
    unsigned char *block = malloc(LEN);
    fill(block, LEN, 1);
    fill(array, sizeof array, 2);
    long before = file_bytes();
    struct family one = begin(copies_nothing, block), two = begin(copies_nothing, block);
    CHECK(!heap_wanted() || (sharing(block) == 'p' && sharing(array + MB) == 'p'));
    CHECK(!heap_wanted() || (own_bytes() < LEN / 2 && file_bytes() < before + LEN / 4));
    end(one);
    end(two);
    CHECK(is_filled(block, LEN, 1) && is_filled(array, sizeof array, 2));
    free(block);
}

/* What the parent has freed its children keep, whatever becomes of the place. */
static void freed_while_children_look(void)
{
    unsigned char *block = malloc(LEN), *again[4];
    fill(block, LEN, 1);
    struct family one = begin(finds_seed_1, block), two = begin(finds_seed_1, block);
    free(block);
    for (int i = 0; i < 4; i++) {
        CHECK((again[i] = malloc(LEN / 2)) && in_job_file(again[i]) == heap_wanted());
        fill(again[i], LEN / 2, 3);
    }
    end(one);
    for (int i = 0; i < 4; i++)
        free(again[i]);
    unsigned char *zero = calloc(LEN, 1);
    for (int i = 0; i < LEN; i += 1000)
        CHECK(!zero[i]);
    fill(zero, LEN, 4);
    end(two);
    CHECK(is_filled(zero, LEN, 4));
    free(zero);
}

static void keeps_a_child(unsigned char *block)
{
    struct family grandchild = begin(finds_seed_1, block);
    memset(block, 7, LEN);
    end(grandchild);
}

/* Memory of children that are gone is used again, or given back. */
static void memory_comes_back(void)
{
    unsigned char *kept = malloc(LEN);
    fill(kept, LEN, 1);
    struct family old = begin(keeps_a_child, kept);
    long before = file_bytes();
    int mappings_before = mappings();
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *block = malloc(LEN);
        fill(block, LEN, 1);
        end(begin(finds_seed_1, block));
        memset(block, round, LEN);
        free(block);
    }
    CHECK(file_bytes() < before + 3 * LEN && mappings() < mappings_before + ROUNDS / 2);
    end(old);
    /* Pages of its own have come in place of the file's: at the next fork at the latest these are given back. */
    fill(kept, LEN, 1);
    before = file_bytes();
    end(begin(finds_seed_1, kept));
    CHECK(!heap_wanted() || file_bytes() < before - LEN / 2);
    CHECK(is_filled(kept, LEN, 1));
    int last = dup(0);
    CHECK(last >= 0 && last < 60);
    close(last);
    free(kept);
}

static void other_sizes(void)
{
    unsigned char *block = malloc(LEN);
    fill(block, LEN, 1);
    struct family family = begin(finds_seed_1, block);
    CHECK((block = realloc(block, LEN / 2)) && is_filled(block, LEN / 2, 1));
    unsigned char *other = malloc(LEN);
    memset(other, 1, LEN);
    CHECK((block = realloc(block, 2 * LEN)) && is_filled(block, LEN / 2, 1) && in_job_file(block) == heap_wanted());
    memset(block, 2, 2 * LEN);
    end(family);
    free(block);
    free(other);
}

static void gives_back(unsigned char *block)
{
    CHECK(is_filled(block, LEN, 1));
    CHECK(madvise(block, LEN / 2, MADV_DONTNEED) == 0 && madvise(array, MB, MADV_DONTNEED) == 0);
    for (int i = 0; i < LEN / 2; i++)
        CHECK(!block[i]);
    CHECK(!array[0] && !array[MB - 1] && array[MB] && is_filled(block, LEN, 1) == 0);
}

static _Alignas(PAGE) unsigned char pages[256 * PAGE];

/* MADV_DONTNEED gives zeros, and a page that may not be written to stays so. */
static void advice_and_protection(void)
{
    unsigned char *block;
    int full[2];
    CHECK(posix_memalign((void **)&block, PAGE, LEN) == 0 && pipe(full) == 0 && write(full[1], "xy", 2) == 2);
    fill(block, LEN, 1);
    memset(array, 1, sizeof array);
    memset(pages, 1, sizeof pages);
    CHECK(mprotect(block + LEN / 2, PAGE, PROT_READ) == 0 && mprotect(pages + 100 * PAGE, PAGE, PROT_READ) == 0);
    struct family one = begin(gives_back, block), two = begin(gives_back, block);
    CHECK(read(full[0], block + LEN / 2, 1) == -1 && read(full[0], pages + 100 * PAGE, 1) == -1);
    CHECK(read(full[0], block, 1) == 1 && read(full[0], pages, 1) == 1);
    CHECK(mprotect(block + LEN / 2, PAGE, PROT_READ | PROT_WRITE) == 0);
    CHECK(madvise(block, LEN, MADV_DONTNEED) == 0 && madvise(pages, PAGE, MADV_DONTNEED) == 0);
    for (int i = 0; i < LEN; i++)
        CHECK(!block[i]);
    CHECK(!pages[0] && !pages[PAGE - 1] && pages[PAGE] == 1);
    end(one);
    end(two);
    free(block);
}

/* Without handlers: by the C library's function, the same; by the kernel's, children that may look at all and become other programs. */
static void without_handlers(void)
{
    static char *arguments[] = {"/bin/true", NULL};
    unsigned char *block = malloc(LEN), *small = malloc(10000);
    fill(block, LEN, 1);
    fill(small, 10000, 2);
    fill(array, sizeof array, 3);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    for (int round = 0; round < 3; round++) {
        pid_t child = _Fork();
        if (child == 0) {
            CHECK(is_filled(block, LEN, 1) && is_filled(small, 10000, 2) && is_filled(array, sizeof array, 3));
            memset(block, 0, LEN);
            memset(small, 0, 10000);
            memset(array, 0, sizeof array);
            _exit(0);
        }
        expect_success(child);
        CHECK(is_filled(block, LEN, 1) && is_filled(small, 10000, 2) && is_filled(array, sizeof array, 3));
        unsigned char *other = malloc(LEN);
        memset(other, round, LEN);
        free(other);
    }
#endif
    for (int round = 0; round < 4; round++) {
        pid_t child = (pid_t)(round % 2 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : syscall(SYS_fork));
        if (child == 0) {
            CHECK(is_filled(block, LEN, 1) && is_filled(small, 10000, 2) && is_filled(array, sizeof array, 3));
            if (round < 2)
                execv(arguments[0], arguments);
            /* Its bookkeeping is its own. */
            free(small);
            unsigned char *other = malloc(3 * MB);
            CHECK(other && !in_job_file(other));
            memset(other, 1, 3 * MB);
            free(block);
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(0);
            expect_success(grandchild);
            _exit(0);
        }
        expect_success(child);
        CHECK(is_filled(block, LEN, 1) && is_filled(small, 10000, 2) && is_filled(array, sizeof array, 3));
    }
    free(block);
    free(small);
}

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
    /* Shadow memory counts as its own. */
    return 0;
#endif
    looking_copies_nothing();
    freed_while_children_look();
    memory_comes_back();
    other_sizes();
    without_handlers();
    MPI_Init(&argc, &argv);
    looking_copies_nothing();
    advice_and_protection();
    MPI_Finalize();
    return 0;
}
