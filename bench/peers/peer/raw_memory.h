/* The machine alone: what two processes take that share memory and do nothing but pass lines and copy. A library that copies in the same
 * way can be no faster; one that mixes the ways well can, where data are long. Which is the fastest depends on the machine, so there are three:
 *
 *   PASSED   into shared memory by one rank, out of it by the other, chunk by chunk, both at once
 *   READ     once, by the rank that wants it
 *   BOTH     once, half by each
 *
 * In the last two the messages lie in shared memory. Each rank has a line that only it writes: how often it has begun something, how much of
 * what the other has begun is done, and short data, which need no line of their own. */
#pragma once
#include "measure.h"

static enum way { BY_LIBRARY, BY_SOCKET, PASSED, READ, BOTH } way;

enum { SHORT_MOST = 112, CHUNK = 8 << 10, PASSAGE = 2, PASSAGE_OF_EACH, SHARED_SIDES };
/* No power of two, or all sides would be in the same places of the caches. */
static const size_t shared_side = (16 << 20) + 17 * 4096 + 5 * LINE;
static struct word { _Alignas(128) _Atomic uint64_t begun; _Atomic uint64_t done; char data[SHORT_MOST]; } *words;
/* By rank, as far as is known here. */
static uint64_t begun[2];

static int is_memory(void) {
    return way >= PASSED;
}

/* Memory of a rank: of its messages by their side, or what is passed through. */
static char *shared_memory(int whose, int side) {
    return (char *)(words + 2) + (whose * SHARED_SIDES + side) * shared_side;
}

static void open_memory(void) {
    words = shared_mapping(2 * sizeof *words + 2 * SHARED_SIDES * shared_side);
}

static void await_word(_Atomic uint64_t *word, uint64_t value) {
    while (atomic_load_explicit(word, memory_order_acquire) < value) {}
}

static void begin(void) {
    atomic_store_explicit(&words[rank].begun, ++begun[rank], memory_order_release);
}

static void await_begin(void) {
    await_word(&words[peer].begun, ++begun[peer]);
}

/* All that the other has begun is done. */
static void done(void) {
    atomic_store_explicit(&words[rank].done, begun[peer], memory_order_release);
}

static void await_done(void) {
    await_word(&words[peer].done, begun[rank]);
}

static size_t chunk_at(size_t at, size_t bytes) {
    return bytes - at < CHUNK ? bytes - at : CHUNK;
}

static size_t half_of(size_t bytes) {
    return bytes / 2 / LINE * LINE;
}

/* Who passes to and fro writes what it read last. */
static void send_by_memory(const char *data, size_t bytes) {
    char *passage = shared_memory(0, PASSAGE), *theirs = shared_memory(peer, 1);
    if (bytes <= SHORT_MOST) {
        memcpy(words[rank].data, data, bytes);
        begin();
    } else if (way == PASSED) {
        for (size_t at = 0; at < bytes; at += CHUNK) {
            memcpy(passage + at, data + at, chunk_at(at, bytes));
            begin();
        }
    } else {
        begin();
        if (way == BOTH) {
            memcpy(theirs, data, half_of(bytes));
            begin();
        }
        await_done();
    }
}

static void receive_by_memory(char *data, size_t bytes) {
    char *passage = shared_memory(0, PASSAGE), *theirs = shared_memory(peer, 0);
    if (bytes <= SHORT_MOST) {
        await_begin();
        memcpy(data, words[peer].data, bytes);
    } else if (way == PASSED) {
        for (size_t at = 0; at < bytes; at += CHUNK) {
            await_begin();
            memcpy(data + at, passage + at, chunk_at(at, bytes));
        }
    } else {
        size_t first = way == BOTH ? half_of(bytes) : 0;
        await_begin();
        memcpy(data + first, theirs + first, bytes - first);
        if (way == BOTH) await_begin();
        done();
    }
}

static void meet_by_memory(void) {
    begin();
    await_begin();
}

/* The collectives of collectives.h; up to a certain length calls follow each other, and data go through a passage or beside the word. */
static char *passage_of(int whose, size_t bytes) {
    size_t parity = begun[rank] & 1;
    return (2 * bytes <= SHORT_MOST ? words[whose].data : shared_memory(whose, PASSAGE_OF_EACH)) + parity * bytes;
}

static void add_up(double *sum, const double *a, const double *b, size_t from, size_t to) {
    for (size_t i = from / 8; i < to / 8; i++) sum[i] = a[i] + b[i];
}

static void bcast_by_memory(char *out, char *in, int bytes, int root) {
    if (rank == root) send_by_memory(out, bytes);
    else receive_by_memory(in, bytes);
}

static void reduce_by_memory(char *out, char *in, int bytes, int root) {
    int half = half_of(bytes);
    if (way == BOTH) {
        meet_by_memory();
        add_up((void *)shared_memory(root, 1), (void *)out, (void *)shared_memory(peer, 0), rank ? half : 0, rank ? bytes : half);
        meet_by_memory();
    } else if (rank != root) {
        send_by_memory(out, bytes);
    } else if (way == READ) {
        await_begin();
        add_up((void *)in, (void *)out, (void *)shared_memory(peer, 0), 0, bytes);
        done();
    } else {
        receive_by_memory(in, bytes);
        add_up((void *)in, (void *)in, (void *)out, 0, bytes);
    }
}

static void allreduce_by_memory(char *out, char *in, int bytes, int root) {
    (void)root;
    if (way == PASSED) {
        char *mine = passage_of(rank, bytes), *theirs = passage_of(peer, bytes);
        memcpy(mine, out, bytes);
        meet_by_memory();
        add_up((void *)in, (void *)out, (void *)theirs, 0, bytes);
        return;
    }
    int half = half_of(bytes), from = way == BOTH && rank ? half : 0, to = way == BOTH && !rank ? half : bytes;
    meet_by_memory();
    add_up((void *)in, (void *)out, (void *)shared_memory(peer, 0), from, to);
    if (way == BOTH) memcpy(shared_memory(peer, 1) + from, in + from, to - from);
    meet_by_memory();
}

/* `step`: from what a rank gives to one rank to what it gives to the next. */
static void exchange_by_memory(char *out, char *in, int bytes, int step) {
    char *mine = out, *theirs = shared_memory(peer, 0);
    if (way == PASSED) {
        mine = passage_of(rank, bytes), theirs = passage_of(peer, bytes);
        memcpy(mine, out + peer * step, bytes);
    }
    begin();
    memcpy(in + rank * bytes, out + rank * step, bytes);
    await_begin();
    memcpy(in + peer * bytes, theirs + (way == PASSED ? 0 : rank * step), bytes);
    if (way != PASSED) meet_by_memory();
}

static void allgather_by_memory(char *out, char *in, int bytes, int root) {
    (void)root;
    exchange_by_memory(out, in, bytes, 0);
}

static void alltoall_by_memory(char *out, char *in, int bytes, int root) {
    (void)root;
    exchange_by_memory(out, in, bytes, bytes);
}
