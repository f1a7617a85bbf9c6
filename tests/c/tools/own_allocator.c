/* An allocator that a program may bring: takes from a large array, and gives nothing back. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static _Alignas(64) char memory[256 << 20];
static size_t used;

void *malloc(size_t size)
{
    char *block;
    size = (size + 63) / 64 * 64 + 64;
    block = memory + __atomic_fetch_add(&used, size, __ATOMIC_RELAXED) + 64;
    if (block + size > memory + sizeof memory)
        return NULL;
    memcpy(block - 16, &size, sizeof size);
    return block;
}

size_t malloc_usable_size(void *block)
{
    size_t size = 0;
    if (block)
        memcpy(&size, (char *)block - 16, sizeof size);
    return size ? size - 64 : 0;
}

void free(void *block)
{
    /* Something that is no block of this allocator. */
    if (block && ((char *)block < memory || (char *)block >= memory + sizeof memory))
        __builtin_trap();
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
    void *new = malloc(size);
    size_t old = malloc_usable_size(block);
    if (new && block)
        memcpy(new, block, old < size ? old : size);
    free(block);
    return new;
}

void *memalign(size_t align, size_t size)
{
    uintptr_t block = (uintptr_t)malloc(size + 2 * align + 64);
    block = (block + align + 63) / align * align;
    memcpy((char *)block - 16, &(size_t){size + 64}, sizeof size);
    return (void *)block;
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **place, size_t align, size_t size)
{
    *place = memalign(align, size);
    return 0;
}
