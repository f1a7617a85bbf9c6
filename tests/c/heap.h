/* What the programs about the shared heap share. */
#ifndef HEAP_H
#define HEAP_H

#include "check.h"
#include <inttypes.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

/* How the address lies in the job's file: 's' if what is written there is the file's, 'p' if it is the process's own, 0 if it does not lie there. The
 * kernel's word. */
static inline int sharing(const void *address)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (!found && fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        char how;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*c%*c%*c%c", &start, &end, &how) == 3 && strstr(line, "rwmpi job"))
            found = start <= (uintptr_t)address && (uintptr_t)address < end ? how : 0;
    }
    fclose(maps);
    return found;
}

/* Whether what is written there is the job's file's. */
static inline int in_job_file(const void *address)
{
    return sharing(address) == 's';
}

/* Whether this process is to have a shared heap. */
static inline int heap_wanted(void)
{
    const char *preload = getenv("LD_PRELOAD"), *switched = getenv("RWMPI_SHARED_HEAP");
    return preload && strstr(preload, "librwmpi_heap.so") && !(switched && !strcmp(switched, "off"));
}

/* After so many bytes a block begins anew: a prime number, so that no page is like one of its next. */
enum { PATTERN = 4093 };

static inline void make_pattern(unsigned char *pattern, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len && i < PATTERN; i++)
        pattern[i] = (unsigned char)((i * 2654435761u >> 13) + seed * 97u);
}

/* Fills a block so that any byte tells where it is from. */
static inline void fill(unsigned char *block, size_t len, unsigned seed)
{
    unsigned char pattern[PATTERN];
    make_pattern(pattern, len, seed);
    for (size_t i = 0; i < len; i += PATTERN)
        memcpy(block + i, pattern, len - i < PATTERN ? len - i : PATTERN);
}

static inline int is_filled(const unsigned char *block, size_t len, unsigned seed)
{
    unsigned char pattern[PATTERN];
    make_pattern(pattern, len, seed);
    for (size_t i = 0; i < len; i += PATTERN)
        if (memcmp(block + i, pattern, len - i < PATTERN ? len - i : PATTERN))
            return 0;
    return 1;
}

/* How many bytes of the job's file have pages behind them for this process, as the kernel counts. */
static inline long resident_bytes(void)
{
    long pages = 0, shared = 0, all = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%ld %ld %ld", &all, &pages, &shared) == 3);
    fclose(statm);
    return shared * getpagesize();
}

static inline void expect_success(pid_t child)
{
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

extern char **environ;

/* Other programs: nothing is copied for them, and they do not touch the memory of who starts them. */
static inline void start_other_programs(const char *self)
{
    char *arguments[] = {(char *)self, "child", NULL};
    pid_t child = -1;
    CHECK(system("true") == 0);
    CHECK(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
    expect_success(child);
    child = vfork();
    if (child == 0) {
        execv(self, arguments);
        _exit(1);
    }
    expect_success(child);
    child = fork();
    if (child == 0) {
        execv(self, arguments);
        _exit(1);
    }
    expect_success(child);
}

#endif
