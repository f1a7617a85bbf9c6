/* files: reading and writing one file of that many bytes together, with the page cache hot, in the folder PEER_FOLDER or the present one. A sample is
 * the time from one barrier to the next, so that of the slowest rank. */
#pragma once
#include "measure.h"
#include "overlap.h"

enum { SHORT_BLOCK = 64, PAGE_BLOCK = 4096, RECORD = 4096, WRITE_COMPUTES_US = 100000 };

static struct {
    char path[4096], *data;
    MPI_File handle;
    size_t part; /* bytes of each rank */
} file;

/* Rank's blocks of each stripe of blocks, one of every rank. */
static void set_interleaved(int block) {
    MPI_Datatype blocks, own;
    MPI_Type_contiguous(block, MPI_CHAR, &blocks);
    MPI_Type_create_resized(blocks, 0, (MPI_Aint)block * size, &own);
    MPI_Type_commit(&own);
    MPI_File_set_view(file.handle, (MPI_Offset)block * rank, MPI_CHAR, own, "native", MPI_INFO_NULL);
    MPI_Type_free(&blocks);
    MPI_Type_free(&own);
}

static void set_bytes(int block) {
    (void)block;
    MPI_File_set_view(file.handle, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
}

static void must(int code) {
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void read_alone(MPI_Offset at) { must(MPI_File_read_at(file.handle, at, file.data, (int)file.part, MPI_CHAR, MPI_STATUS_IGNORE)); }
static void write_alone(MPI_Offset at) { must(MPI_File_write_at(file.handle, at, file.data, (int)file.part, MPI_CHAR, MPI_STATUS_IGNORE)); }
static void read_together(MPI_Offset at) { must(MPI_File_read_at_all(file.handle, at, file.data, (int)file.part, MPI_CHAR, MPI_STATUS_IGNORE)); }
static void write_together(MPI_Offset at) { must(MPI_File_write_at_all(file.handle, at, file.data, (int)file.part, MPI_CHAR, MPI_STATUS_IGNORE)); }

static void write_by_shared_pointer(MPI_Offset at) {
    (void)at;
    for (size_t done = 0; done < file.part; done += RECORD)
        must(MPI_File_write_shared(file.handle, file.data + done, RECORD, MPI_CHAR, MPI_STATUS_IGNORE));
}

static void write_in_order(MPI_Offset at) {
    (void)at;
    for (size_t done = 0; done < file.part; done += RECORD)
        must(MPI_File_write_ordered(file.handle, file.data + done, RECORD, MPI_CHAR, MPI_STATUS_IGNORE));
}

static const struct access {
    const char *name;
    void (*view)(int block);
    int block;
    void (*once)(MPI_Offset at);
    int uses_shared_pointer;
} accesses[] = {
    {"read_at", set_bytes, 0, read_alone, 0},
    {"write_at", set_bytes, 0, write_alone, 0},
    {"read_at_all", set_bytes, 0, read_together, 0},
    {"write_at_all", set_bytes, 0, write_together, 0},
    {"read_at, 4 KiB blocks", set_interleaved, PAGE_BLOCK, read_alone, 0},
    {"write_at, 4 KiB blocks", set_interleaved, PAGE_BLOCK, write_alone, 0},
    {"read_at_all, 4 KiB blocks", set_interleaved, PAGE_BLOCK, read_together, 0},
    {"write_at_all, 4 KiB blocks", set_interleaved, PAGE_BLOCK, write_together, 0},
    {"read_at, 64 B blocks", set_interleaved, SHORT_BLOCK, read_alone, 0},
    {"write_at, 64 B blocks", set_interleaved, SHORT_BLOCK, write_alone, 0},
    {"read_at_all, 64 B blocks", set_interleaved, SHORT_BLOCK, read_together, 0},
    {"write_at_all, 64 B blocks", set_interleaved, SHORT_BLOCK, write_together, 0},
    {"write_shared, 4 KiB", set_bytes, 0, write_by_shared_pointer, 1},
    {"write_ordered, 4 KiB", set_bytes, 0, write_in_order, 1},
};
enum { ACCESSES = sizeof accesses / sizeof *accesses };
static const struct access *file_access;

enum { LONG_FILE = 128 << 20 };

/* Most other libraries take seconds for blocks of 64 bytes, and more with more ranks: with those it is measured what ranks do together in
 * blocks, and with a long file how they read blocks of a page, so that the whole takes minutes. */
static int is_measured(const struct access *access, size_t bytes) {
    int in_blocks = access->view == set_interleaved, are_read_together = access->once == read_together;
    if (bytes > LONG_FILE) return are_read_together && in_blocks && access->block == PAGE_BLOCK;
    return size == 2 || (in_blocks && (are_read_together || access->once == write_together));
}

static void access_file(int iterations, size_t bytes) {
    (void)bytes;
    for (int i = 0; i < iterations; i++) {
        if (file_access->uses_shared_pointer) must(MPI_File_seek_shared(file.handle, 0, MPI_SEEK_SET));
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us();
        file_access->once(file_access->view == set_bytes ? (MPI_Offset)(file.part * rank) : 0);
        MPI_Barrier(MPI_COMM_WORLD);
        keep(now_us() - start - clock_us);
    }
}

static void open_and_close(int iterations, size_t bytes) {
    (void)bytes;
    double start = now_us();
    for (int i = 0; i < iterations; i++) {
        MPI_File opened;
        must(MPI_File_open(MPI_COMM_WORLD, file.path, MPI_MODE_RDWR, MPI_INFO_NULL, &opened));
        MPI_File_close(&opened);
    }
    keep((now_us() - start) / iterations);
}

/* What a nonblocking write adds to a computation that is longer. */
static void write_behind(int iterations, size_t bytes) {
    (void)bytes;
    for (int i = 0; i < iterations; i++) {
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us();
        must(MPI_File_iwrite_at(file.handle, (MPI_Offset)(file.part * rank), file.data, (int)file.part, MPI_CHAR, &request));
        compute(WRITE_COMPUTES_US);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        keep(now_us() - start - WRITE_COMPUTES_US);
    }
}

static void on_files(size_t bytes) {
    const char *folder = getenv("PEER_FOLDER");
    snprintf(file.path, sizeof file.path, "%s/peer-file-%.0f", folder ? folder : ".", agreed(getpid()));
    file.part = bytes / size;
    file.data = malloc(file.part);
    memset(file.data, 'a' + rank, file.part);
    must(MPI_File_open(MPI_COMM_WORLD, file.path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file.handle));
    write_together((MPI_Offset)(file.part * rank));
    for (int i = 0; i < ACCESSES; i++) {
        if (!is_measured(&accesses[i], bytes)) continue;
        file_access = &accesses[i];
        file_access->view(file_access->block);
        measure(file_access->name, access_file, bytes);
    }
    set_bytes(0);
    if (size == 2 && bytes <= LONG_FILE) measure("iwrite_at, computing", write_behind, bytes);
    if (bytes <= LONG_FILE) measure("open, close", open_and_close, bytes);
    MPI_File_close(&file.handle);
    if (rank == 0) MPI_File_delete(file.path, MPI_INFO_NULL);
    free(file.data);
}
