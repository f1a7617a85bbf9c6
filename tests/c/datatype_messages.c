/* Messages of derived datatypes (MPI-5.0 sections 5.1.10 and 5.1.11). */
#include <stddef.h>

#include "check.h"

static int rank, size, next, previous;

/* Sends to the next rank what comes from the previous one. */
static void pass(const void *out, int out_count, MPI_Datatype sent, void *in, int in_count, MPI_Datatype received, MPI_Status *status)
{
    CHECK(MPI_Sendrecv(out, out_count, sent, next, 3, in, in_count, received, previous, 3, MPI_COMM_WORLD, status) == MPI_SUCCESS);
}

static int value(int owner, int index)
{
    return owner * 1000003 + index * 7 + 1;
}

/* A column goes out, a row comes in; and the other way round. */
static void matrix(int rows, int columns)
{
    int *from = malloc(sizeof(int) * rows * columns), *to = calloc(rows * columns, sizeof(int));
    int *row = calloc(rows, sizeof(int)), count;
    MPI_Datatype column;
    MPI_Status status;
    for (int i = 0; i < rows * columns; i++)
        from[i] = value(rank, i);
    MPI_Type_vector(rows, 1, columns, MPI_INT, &column);
    MPI_Type_commit(&column);
    pass(from + 1, 1, column, row, rows, MPI_INT, &status);
    for (int i = 0; i < rows; i++)
        CHECK(row[i] == value(previous, i * columns + 1));
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == rows);
    CHECK(MPI_Get_count(&status, column, &count) == MPI_SUCCESS && count == 1);
    pass(from, rows, MPI_INT, to + 2, 1, column, &status);
    for (int i = 0; i < rows * columns; i++)
        CHECK(to[i] == (i % columns == 2 ? value(previous, i / columns) : 0));
    CHECK(MPI_Get_elements(&status, column, &count) == MPI_SUCCESS && count == rows);
    MPI_Type_free(&column);
    free(from);
    free(to);
    free(row);
}

/* Scattered messages that are long enough to go in pieces, in every mode, into receives that are long enough and into one that is not. */
static void in_pieces(void)
{
    enum { COUNT = 50000, SHORTER = 33333 };
    static int from[3 * COUNT], to[3 * COUNT];
    MPI_Datatype whole, shorter;
    MPI_Status status;
    MPI_Request requests[2];
    int count;
    for (int i = 0; i < 3 * COUNT; i++)
        from[i] = value(rank, i);
    MPI_Type_vector(COUNT, 1, 3, MPI_INT, &whole);
    MPI_Type_vector(SHORTER, 1, 3, MPI_INT, &shorter);
    MPI_Type_commit(&whole);
    MPI_Type_commit(&shorter);
    for (int turn = 0; turn < 4; turn++) {
        MPI_Datatype wanted = turn == 3 ? shorter : whole;
        int expected = turn == 3 ? SHORTER : COUNT, early = turn % 2;
        memset(to, 0, sizeof to);
        if (early)
            CHECK(MPI_Irecv(to + 1, 1, wanted, previous, turn, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn < 2)
            CHECK(MPI_Isend(from, 1, whole, next, turn, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
        else
            CHECK(MPI_Issend(from, 1, whole, next, turn, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
        if (!early)
            CHECK(MPI_Recv(to + 1, 1, wanted, previous, turn, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        else if (turn == 3)
            CHECK_ERROR(MPI_Wait(&requests[0], &status), MPI_ERR_TRUNCATE);
        else
            CHECK(MPI_Wait(&requests[0], &status) == MPI_SUCCESS);
        CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < 3 * COUNT; i++)
            CHECK(to[i] == (i % 3 == 1 && i / 3 < expected ? value(previous, i - 1) : 0));
        if (turn < 3)
            CHECK(MPI_Get_elements(&status, wanted, &count) == MPI_SUCCESS && count == COUNT);
    }
    MPI_Type_free(&whole);
    MPI_Type_free(&shorter);
}

struct particle {
    char kind;
    double place[3];
    int neighbours[2];
};

static MPI_Datatype particle_type(void)
{
    int lengths[] = {1, 3, 2};
    MPI_Aint places[] = {offsetof(struct particle, kind), offsetof(struct particle, place), offsetof(struct particle, neighbours)};
    MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, type;
    MPI_Type_create_struct(3, lengths, places, members, &type);
    MPI_Type_commit(&type);
    return type;
}

static void structures(int count)
{
    struct particle *from = calloc(count, sizeof *from), *to = calloc(count + 1, sizeof *to);
    MPI_Datatype type = particle_type();
    MPI_Status status;
    int got;
    for (int i = 0; i < count; i++)
        from[i] = (struct particle){(char)i, {rank, i, 0.5}, {i, -i}};
    pass(from, count, type, to, count + 1, type, &status);
    for (int i = 0; i < count; i++) {
        CHECK(to[i].kind == (char)i && to[i].place[0] == previous && to[i].place[1] == i && to[i].place[2] == 0.5);
        CHECK(to[i].neighbours[0] == i && to[i].neighbours[1] == -i);
    }
    CHECK(MPI_Get_count(&status, type, &got) == MPI_SUCCESS && got == count);
    CHECK(MPI_Get_elements(&status, type, &got) == MPI_SUCCESS && got == 6 * count);
    MPI_Type_free(&type);
    free(from);
    free(to);
}

/* A datatype that is freed while it is in use. */
static void freed_early(void)
{
    enum { COUNT = 30000 };
    static int from[2 * COUNT], to[2 * COUNT];
    MPI_Datatype second;
    MPI_Request requests[2];
    for (int i = 0; i < 2 * COUNT; i++)
        from[i] = value(rank, i), to[i] = -1;
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &second);
    MPI_Type_commit(&second);
    MPI_Irecv(to, 1, second, previous, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, 1, second, next, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&second);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK(to[i] == (i % 2 == 0 && i < 2 * COUNT - 1 ? value(previous, i) : -1));
}

static void packed(void)
{
    double numbers[] = {rank, 2.5, -rank}, got[3];
    int count = rank + 1, got_count, position = 0;
    char buffer[100];
    MPI_Status status;
    MPI_Pack(&count, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(numbers, 3, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    CHECK(MPI_Sendrecv_replace(buffer, position, MPI_PACKED, next, 6, previous, 6, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_PACKED, &got_count);
    CHECK(got_count == 28);
    position = 0;
    MPI_Unpack(buffer, got_count, &position, &count, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(buffer, got_count, &position, got, 3, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(count == previous + 1 && got[0] == previous && got[1] == 2.5 && got[2] == -previous && position == 28);
}

/* Two variables at their absolute addresses. */
static void bottom(void)
{
    int number = value(rank, 1), lengths[] = {1, 2};
    double pair[] = {rank, rank + 0.5};
    MPI_Aint places[2];
    MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE}, type;
    MPI_Get_address(&number, &places[0]);
    MPI_Get_address(pair, &places[1]);
    MPI_Type_create_struct(2, lengths, places, members, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, next, 7, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(number == value(previous, 1) && pair[0] == previous && pair[1] == previous + 0.5);
    MPI_Type_free(&type);
}

/* What messages hold that end within an element. */
static void parts(void)
{
    MPI_Datatype type = particle_type(), pair, empty;
    MPI_Status status;
    MPI_Count large;
    char bytes[4 * sizeof(struct particle)] = {0};
    struct particle to[3];
    int count;
    pass(bytes, 33 + 1 + 8, MPI_BYTE, to, 3 * 33, MPI_BYTE, &status);
    CHECK(MPI_Get_count(&status, type, &count) == MPI_SUCCESS && count == MPI_UNDEFINED);
    CHECK(MPI_Get_elements(&status, type, &count) == MPI_SUCCESS && count == 6 + 2);
    CHECK(MPI_Get_elements_x(&status, type, &large) == MPI_SUCCESS && large == 6 + 2);
    CHECK(MPI_Get_elements_c(&status, MPI_BYTE, &large) == MPI_SUCCESS && large == 42);
    CHECK(MPI_Get_elements(&status, MPI_SHORT, &count) == MPI_SUCCESS && count == 21);
    CHECK(MPI_Get_elements(&status, MPI_INT, &count) == MPI_SUCCESS && count == MPI_UNDEFINED);
    /* A pair has two elements. */
    MPI_Type_contiguous(2, MPI_DOUBLE_INT, &pair);
    CHECK(MPI_Status_set_elements(&status, pair, 7) == MPI_SUCCESS);
    CHECK(MPI_Get_elements(&status, pair, &count) == MPI_SUCCESS && count == 7);
    CHECK(MPI_Get_count(&status, pair, &count) == MPI_SUCCESS && count == MPI_UNDEFINED);
    CHECK(MPI_Get_elements(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == 3 * 12 + 8);
    CHECK(MPI_Status_set_elements_c(&status, type, 6) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, type, &count) == MPI_SUCCESS && count == 1);
    CHECK_ERROR(MPI_Status_set_elements(&status, type, -1), MPI_ERR_COUNT);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    pass(bytes, 5, empty, to, 5, empty, &status);
    CHECK(MPI_Get_elements(&status, empty, &count) == MPI_SUCCESS && count == 0);
    MPI_Type_free(&empty);
    MPI_Type_free(&pair);
    MPI_Type_free(&type);
}

/* Every rank's part of an array, block by block. */
static void distributed(void)
{
    enum { SIDE = 12 };
    static int whole[SIDE][SIDE];
    int sizes[] = {SIDE, SIDE}, kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    int grid[] = {0, 0}, part[SIDE * SIDE], count, place = 0;
    MPI_Datatype type;
    MPI_Status status;
    MPI_Dims_create(size, 2, grid);
    MPI_Type_create_darray(size, rank, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            whole[i][j] = i * SIDE + j;
    MPI_Sendrecv(whole, 1, type, rank, 8, part, SIDE * SIDE, MPI_INT, rank, 8, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    int block = (SIDE + grid[1] - 1) / grid[1];
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            if (i / 2 % grid[0] * grid[1] + j / block == rank) {
                CHECK(place < count && part[place] == whole[i][j]);
                place++;
            }
    CHECK(place == count);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    matrix(5, 4);
    matrix(300, 5);
    matrix(40000, 6);
    in_pieces();
    structures(1);
    structures(100);
    structures(20000);
    freed_early();
    packed();
    bottom();
    parts();
    distributed();
    MPI_Finalize();
    return 0;
}
