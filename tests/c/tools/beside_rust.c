/* Rank 0 of a job whose rank 1 is a Rust program: the same structure, a text and a vector go both ways. */
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct sample {
    bool flag;
    double position[2];
    unsigned short count;
    struct { unsigned char low; int high; } pair;
};

#define ELEMENTS 1000

static struct sample make(int place) {
    struct sample sample;
    memset(&sample, 0xaa, sizeof sample);
    sample.flag = place % 3 == 0;
    sample.position[0] = place;
    sample.position[1] = -0.5 * place;
    sample.count = (unsigned short) place;
    sample.pair.low = (unsigned char) (place % 256);
    sample.pair.high = -place;
    return sample;
}

static int differ(const struct sample *samples, int from, int shift) {
    for (int place = from; place < ELEMENTS; place++) {
        struct sample expected = make(place + shift);
        const struct sample *found = &samples[place];
        if (found->flag != expected.flag || found->position[0] != expected.position[0]
            || found->position[1] != expected.position[1] || found->count != expected.count
            || found->pair.low != expected.pair.low || found->pair.high != expected.pair.high) {
            fprintf(stderr, "element %d differs\n", place);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int lengths[] = {1, 2, 1, 1, 1};
    MPI_Aint places[] = {offsetof(struct sample, flag), offsetof(struct sample, position), offsetof(struct sample, count),
                         offsetof(struct sample, pair.low), offsetof(struct sample, pair.high)};
    MPI_Datatype parts[] = {MPI_C_BOOL, MPI_DOUBLE, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_CHAR, MPI_INT};
    MPI_Datatype structure, type;
    MPI_Type_create_struct(5, lengths, places, parts, &structure);
    MPI_Type_create_resized(structure, 0, sizeof(struct sample), &type);
    MPI_Type_commit(&type);

    static struct sample samples[ELEMENTS];
    for (int place = 0; place < ELEMENTS; place++) {
        samples[place] = make(place);
    }
    MPI_Send(samples, ELEMENTS, type, 1, 1, MPI_COMM_WORLD);
    MPI_Bcast(samples, ELEMENTS, type, 0, MPI_COMM_WORLD);
    MPI_Recv(samples, ELEMENTS, type, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int failures = differ(samples, 0, 1);

    MPI_Send("C says hello", 12, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    MPI_Status status;
    int count = 0;
    double numbers[8];
    MPI_Probe(1, 4, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    MPI_Recv(numbers, 8, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (count != 3 || numbers[0] != 1.5 || numbers[2] != 3.5) {
        fprintf(stderr, "%d numbers\n", count);
        failures++;
    }
    MPI_Type_free(&structure);
    MPI_Type_free(&type);
    MPI_Finalize();
    return failures;
}
