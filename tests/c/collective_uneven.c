/* Parts of every length from each rank to each other, from and to memory of all kinds, many times without anything in between, and of lengths that
   do not fit (MPI-5.0 sections 6.5, 6.6 and 6.8). ranks: 1 2 3 4 5 8 17 */
#include "check.h"

enum { RANKS = 17, LONGEST = 6000, LENGTHS = 12, KINDS = 4 };

static int rank, size;
static const MPI_Comm comm = MPI_COMM_WORLD;
static const int lengths[LENGTHS] = { 0, 1, 2, 5, 6, 30, 250, 255, 700, 2040, 2050, LONGEST };
static double of_program[2][RANKS * LONGEST];
static double *sent, *received;
static int sent_counts[RANKS], received_counts[RANKS], sent_starts[RANKS], received_starts[RANKS];

static double value(int from, int to, int place, int round)
{
    return from * 1e6 + to * 1e5 + place + round * 0.125;
}

/* How many elements a rank has for another: of all lengths, some ranks few, some many. */
static int length(int from, int to, int round)
{
    switch (round % 4) {
    case 0: return lengths[round / 4 % LENGTHS];
    case 1: return lengths[(round / 4 + 5 * from + 7 * to) % LENGTHS];
    case 2: return from % 2 ? lengths[(round / 4 + to) % LENGTHS] : from + to;
    default: return to == round / 4 % size ? lengths[(round / 4 + from) % LENGTHS] : 0;
    }
}

/* Memory that others can read or not, of this rank in that round. */
static void place_data(int round)
{
    int kind = (rank + round / 3) % KINDS;
    sent = kind % 2 ? of_program[0] : malloc(sizeof of_program[0]);
    received = kind / 2 ? of_program[1] : malloc(sizeof of_program[1]);
    CHECK(sent && received);
}

static void free_data(void)
{
    if (sent != of_program[0])
        free(sent);
    if (received != of_program[1])
        free(received);
}

static void fill(int round)
{
    int other, i, out = 0, in = 0;
    for (other = 0; other < size; other++) {
        sent_counts[other] = length(rank, other, round);
        received_counts[other] = length(other, rank, round);
        sent_starts[other] = out;
        received_starts[other] = in;
        for (i = 0; i < sent_counts[other]; i++)
            sent[out + i] = value(rank, other, i, round);
        out += sent_counts[other];
        in += received_counts[other];
    }
    for (i = 0; i < in; i++)
        received[i] = -1;
}

static void has_come(const double *part, int from, int to, int round)
{
    int i;
    for (i = 0; i < length(from, to, round); i++)
        CHECK(part[i] == value(from, to, i, round));
}

static void exchange(int round)
{
    double negative = -1, sum;
    int other;
    fill(round);
    /* Whatever the last collectives before left behind, with bits set that no counter has. */
    for (other = 0; other < 2; other++) {
        CHECK(MPI_Allreduce(&negative, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
        CHECK(sum == -size);
    }
    CHECK(MPI_Alltoallv(sent, sent_counts, sent_starts, MPI_DOUBLE, received, received_counts, received_starts, MPI_DOUBLE,
                        comm) == MPI_SUCCESS);
    /* What was sent is this rank's again. */
    memset(sent, 0xff, sizeof of_program[0]);
    for (other = 0; other < size; other++)
        has_come(received + received_starts[other], other, rank, round);
}

static void to_and_from_root(int round)
{
    int root = round % size, other;
    fill(round);
    CHECK(MPI_Gatherv(sent + sent_starts[root], sent_counts[root], MPI_DOUBLE, received, received_counts, received_starts,
                      MPI_DOUBLE, root, comm) == MPI_SUCCESS);
    memset(sent + sent_starts[root], 0xff, (size_t)sent_counts[root] * sizeof *sent);
    for (other = 0; rank == root && other < size; other++)
        has_come(received + received_starts[other], other, rank, round);
    fill(round);
    CHECK(MPI_Scatterv(sent, sent_counts, sent_starts, MPI_DOUBLE, received + received_starts[root], received_counts[root],
                       MPI_DOUBLE, root, comm) == MPI_SUCCESS);
    if (rank == root)
        memset(sent, 0xff, sizeof of_program[0]);
    has_come(received + received_starts[root], root, rank, round);
}

/* The root's own part stays where it is. */
static void in_place(int round)
{
    int root = round % size, other;
    fill(round);
    if (rank == root) {
        memcpy(received + received_starts[root], sent + sent_starts[root], (size_t)sent_counts[root] * sizeof *sent);
        CHECK(MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received, received_counts, received_starts, MPI_DOUBLE, root,
                          comm) == MPI_SUCCESS);
        for (other = 0; other < size; other++)
            has_come(received + received_starts[other], other, rank, round);
        CHECK(MPI_Scatterv(sent, sent_counts, sent_starts, MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm)
              == MPI_SUCCESS);
        has_come(sent + sent_starts[root], root, rank, round);
    } else {
        CHECK(MPI_Gatherv(sent + sent_starts[root], sent_counts[root], MPI_DOUBLE, NULL, NULL, NULL, MPI_DATATYPE_NULL, root,
                          comm) == MPI_SUCCESS);
        CHECK(MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, received + received_starts[root], received_counts[root],
                           MPI_DOUBLE, root, comm) == MPI_SUCCESS);
        has_come(received + received_starts[root], root, rank, round);
    }
}

/* The last rank has room for one element less than the first has for it: an error there, and nowhere else. */
static void too_long(int round, int count)
{
    int other, last = size - 1, wrong = rank == last && size > 1;
    for (other = 0; other < size; other++) {
        sent_counts[other] = received_counts[other] = count;
        sent_starts[other] = received_starts[other] = other * count;
    }
    for (other = 0; other < size * count; other++)
        sent[other] = value(rank, other / count, other % count, round);
    if (wrong)
        received_counts[0]--;
    if (wrong)
        CHECK_ERROR(MPI_Alltoallv(sent, sent_counts, sent_starts, MPI_DOUBLE, received, received_counts, received_starts,
                                  MPI_DOUBLE, comm), MPI_ERR_TRUNCATE);
    else
        CHECK(MPI_Alltoallv(sent, sent_counts, sent_starts, MPI_DOUBLE, received, received_counts, received_starts, MPI_DOUBLE,
                            comm) == MPI_SUCCESS);
    for (other = 0; !wrong && other < size; other++)
        CHECK(received[other * count + count - 1] == value(other, rank, count - 1, round));
    if (wrong)
        CHECK_ERROR(MPI_Scatterv(NULL, NULL, NULL, MPI_DOUBLE, received, count - 1, MPI_DOUBLE, 0, comm), MPI_ERR_TRUNCATE);
    else
        CHECK(MPI_Scatterv(sent, sent_counts, sent_starts, MPI_DOUBLE, received, count, MPI_DOUBLE, 0, comm) == MPI_SUCCESS);
    if (!wrong)
        CHECK(received[count - 1] == value(0, rank, count - 1, round));
    if (wrong)
        CHECK_ERROR(MPI_Gatherv(sent, count, MPI_DOUBLE, received, received_counts, received_starts, MPI_DOUBLE, last, comm),
                    MPI_ERR_TRUNCATE);
    else
        CHECK(MPI_Gatherv(sent, count, MPI_DOUBLE, received, received_counts, received_starts, MPI_DOUBLE, last, comm)
              == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int round;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(size <= RANKS);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (round = 0; round < 4 * LENGTHS * KINDS; round++) {
        place_data(round);
        exchange(round);
        to_and_from_root(round);
        in_place(round);
        free_data();
    }
    for (round = 0; round < KINDS; round++) {
        place_data(3 * round);
        too_long(round, 3);
        too_long(round, LONGEST);
        free_data();
    }
    /* Many short ones in a row, of which who only gives may be ahead. */
    for (round = 0; round < 2000; round++) {
        int mine = round, sum = 0, part = 1, i, all[RANKS], root = round / 100 % size;
        for (i = 0; i < size; i++) {
            sent_counts[i] = received_counts[i] = 1;
            sent_starts[i] = received_starts[i] = i;
            all[i] = round + i;
        }
        CHECK(MPI_Scatterv(all, sent_counts, sent_starts, MPI_INT, &part, 1, MPI_INT, root, comm) == MPI_SUCCESS);
        CHECK(part == round + rank);
        CHECK(MPI_Gatherv(&mine, 1, MPI_INT, all, received_counts, received_starts, MPI_INT, root, comm) == MPI_SUCCESS);
        for (i = 0; i < size; i++)
            sum += all[i];
        CHECK(rank != root || sum == size * round);
    }
    MPI_Finalize();
    return 0;
}
