/* Arguments that make no sense, by the thousand: each call gives an error or does its work, and MPI goes on.
 * ranks: 1 2
 * RWMPI_FUZZ_CALLS makes it more calls; RWMPI_FUZZ_SEED others. */
#include "check.h"
#include <stdint.h>
#include <stdlib.h>

static uint64_t state;

static unsigned below(unsigned limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

static int number(void) {
    static const int numbers[] = {0, 1, 2, 3, 7, -1, -2, -3, -4, -7, -32766, 100, 4096, 1 << 20, INT32_MAX, INT32_MIN};
    return numbers[below(sizeof numbers / sizeof numbers[0])];
}

/* Few enough for the buffers, or impossible. */
static int count(void) {
    static const int counts[] = {0, 1, 2, 4, -1, -2, INT32_MIN};
    return counts[below(sizeof counts / sizeof counts[0])];
}

/* A handle that exists, or what only looks like one. */
#define ANY(type, ...) any_##type(sizeof((type[]){__VA_ARGS__}) / sizeof(type), (type[]){__VA_ARGS__})
#define DEFINE_ANY(type)                                                                                               \
    static type any_##type(unsigned many, const type *valid) {                                                         \
        return below(3) > 0 ? valid[below(many)] : (type)(intptr_t)((uint32_t)number() ^ (below(2) ? 0x44000100u : 0)); \
    }
DEFINE_ANY(MPI_Comm)
DEFINE_ANY(MPI_Datatype)
DEFINE_ANY(MPI_Group)
DEFINE_ANY(MPI_Op)
DEFINE_ANY(MPI_Request)
DEFINE_ANY(MPI_Info)

static MPI_Comm own;
static MPI_Datatype vector;
static MPI_Group group;

static MPI_Comm comm(void) { return ANY(MPI_Comm, own, own, MPI_COMM_SELF, MPI_COMM_NULL); }
static MPI_Datatype type(void) { return ANY(MPI_Datatype, MPI_INT, MPI_DOUBLE, MPI_BYTE, vector, MPI_DATATYPE_NULL); }
static MPI_Op op(void) { return ANY(MPI_Op, MPI_SUM, MPI_MAX, MPI_MAXLOC, MPI_BAND, MPI_OP_NULL, MPI_REPLACE); }

static double in[4096], out[4096];
static int ints[64], more_ints[64];
static MPI_Aint addresses[8];
static MPI_Datatype types[8];

static void point_to_point(unsigned which) {
    MPI_Request request = MPI_REQUEST_NULL;
    static MPI_Status status;
    int flag = 0;
    switch (which % 6) {
    case 0: MPI_Isend(in, count(), type(), number(), number(), comm(), &request); break;
    case 1: MPI_Irecv(out, count(), type(), number(), number(), comm(), &request); break;
    case 2: MPI_Iprobe(number(), number(), comm(), &flag, &status); break;
    case 3: request = ANY(MPI_Request, MPI_REQUEST_NULL); MPI_Test(&request, &flag, &status); return;
    case 4: MPI_Send_init(in, count(), type(), number(), number(), comm(), &request); break;
    case 5: MPI_Get_count(&status, type(), ints); return;
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
        MPI_Request_free(&request);
    }
}

static void datatypes(unsigned which) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int position = number(), size;
    for (int i = 0; i < 8; i++) {
        ints[i] = count();
        more_ints[i] = number();
        addresses[i] = number();
        types[i] = type();
    }
    switch (which % 12) {
    case 0: MPI_Type_contiguous(number(), type(), &made); break;
    case 1: MPI_Type_vector(number(), number(), number(), type(), &made); break;
    case 2: MPI_Type_indexed(count(), ints, more_ints, type(), &made); break;
    case 3: MPI_Type_create_struct(count(), ints, addresses, types, &made); break;
    case 4: MPI_Type_create_resized(type(), number(), number(), &made); break;
    case 5: MPI_Type_create_subarray(count(), more_ints, ints, ints, number(), type(), &made); break;
    case 6: MPI_Type_create_darray(number(), number(), count(), ints, more_ints, ints, more_ints, number(), type(), &made); break;
    case 7: MPI_Pack(in, count(), type(), out, 64, &position, comm()); return;
    case 8: MPI_Unpack(in, 64, &position, out, count(), type(), comm()); return;
    case 9: MPI_Type_size(type(), &size); return;
    case 10: MPI_Type_get_contents(type(), 2, 2, 2, ints, addresses, types); return;
    case 11: MPI_Type_dup(type(), &made); break;
    }
    if (made != MPI_DATATYPE_NULL) {
        MPI_Type_commit(&made);
        MPI_Type_size(made, &size);
        MPI_Type_free(&made);
    }
}

static void collectives(unsigned which) {
    MPI_Comm alone = ANY(MPI_Comm, MPI_COMM_SELF, MPI_COMM_NULL);
    for (int i = 0; i < 4; i++) ints[i] = count();
    memset(more_ints, 0, sizeof more_ints);
    switch (which % 10) {
    case 0: MPI_Bcast(in, count(), type(), number(), alone); break;
    case 1: MPI_Reduce(in, out, count(), type(), op(), number(), alone); break;
    case 2: MPI_Allreduce(in, out, count(), type(), op(), alone); break;
    case 3: MPI_Gather(in, count(), type(), out, count(), type(), number(), alone); break;
    case 4: MPI_Allgatherv(in, count(), type(), out, ints, more_ints, type(), alone); break;
    case 5: MPI_Alltoall(in, count(), type(), out, count(), type(), alone); break;
    case 6: MPI_Scan(in, out, count(), type(), op(), alone); break;
    case 7: MPI_Reduce_scatter(in, out, ints, type(), op(), alone); break;
    case 8: MPI_Reduce_local(in, out, count(), type(), op()); break;
    case 9: MPI_Scatterv(in, ints, more_ints, type(), out, count(), type(), number(), alone); break;
    }
}

static void groups_and_topologies(unsigned which) {
    MPI_Group made = MPI_GROUP_NULL, some = ANY(MPI_Group, group, MPI_GROUP_EMPTY, MPI_GROUP_NULL);
    MPI_Comm grid = MPI_COMM_NULL;
    for (int i = 0; i < 16; i++) ints[i] = number();
    switch (which % 10) {
    case 0: MPI_Group_incl(some, count(), ints, &made); break;
    case 1: MPI_Group_excl(some, count(), ints, &made); break;
    case 2: MPI_Group_range_incl(some, count() > 0, (int(*)[3])ints, &made); break;
    case 3: MPI_Group_translate_ranks(some, count(), ints, group, more_ints); break;
    case 4: MPI_Group_union(some, ANY(MPI_Group, group, MPI_GROUP_NULL), &made); break;
    case 5: MPI_Cart_create(MPI_COMM_SELF, count(), ints, more_ints, number(), &grid); break;
    case 6: MPI_Dims_create(number(), count(), ints); break;
    case 7: MPI_Cart_rank(comm(), ints, more_ints); break;
    case 8: MPI_Graph_create(MPI_COMM_SELF, count(), ints, ints, 0, &grid); break;
    case 9: MPI_Cart_shift(comm(), number(), number(), ints, more_ints); break;
    }
    if (made != MPI_GROUP_NULL && made != MPI_GROUP_EMPTY) MPI_Group_free(&made);
    if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
}

static void objects(unsigned which) {
    char text[MPI_MAX_ERROR_STRING > MPI_MAX_OBJECT_NAME ? MPI_MAX_ERROR_STRING : MPI_MAX_OBJECT_NAME];
    void *value;
    int flag, length;
    MPI_Info info = ANY(MPI_Info, MPI_INFO_ENV, MPI_INFO_NULL);
    switch (which % 10) {
    case 0: MPI_Comm_get_attr(comm(), number(), &value, &flag); break;
    case 1: MPI_Comm_set_attr(comm(), number(), NULL); break;
    case 2: MPI_Comm_get_name(comm(), text, &length); break;
    case 3: MPI_Info_get_nkeys(info, &length); break;
    case 4: MPI_Info_get_nthkey(info, number(), text); break;
    case 5: MPI_Error_string(number(), text, &length); break;
    case 6: MPI_Error_class(number(), &length); break;
    case 7: MPI_Comm_size(comm(), &length); break;
    case 8: MPI_Comm_compare(comm(), comm(), &length); break;
    case 9: MPI_Type_get_attr(type(), number(), &value, &flag); break;
    }
}

static unsigned setting(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Comm_group(own, &group);
    static void (*const families[])(unsigned) = {point_to_point, datatypes, collectives, groups_and_topologies, objects};
    unsigned seed = setting("RWMPI_FUZZ_SEED", 1), calls = setting("RWMPI_FUZZ_CALLS", 20000);
    state = seed;
    for (unsigned call = 0; call < calls; call++) {
        unsigned family = below(5);
        families[family](below(60));
    }
    /* All is as it was. */
    int rank, size, sum = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Group_free(&group);
    MPI_Type_free(&vector);
    MPI_Finalize();
    return 0;
}
