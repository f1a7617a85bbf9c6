/* Makes objects of all kinds, uses and frees them. Whatever is lost at the end, the library has lost. */
#include "check.h"

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int place = 0; place < *count; place++)
        ((int *)inout)[place] += ((int *)in)[place];
}

int main(int argc, char **argv)
{
    int rank, size, key;
    static int sent[20000], got[20000];
    MPI_Comm twin;
    MPI_Datatype spread;
    MPI_Group group;
    MPI_Info info;
    MPI_Op op;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(twin, key, &rank);
    MPI_Type_vector(10, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    MPI_Op_create(add, 1, &op);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Comm_group(twin, &group);
    for (int count = 1; count <= 20000; count *= 100) {
        MPI_Isend(sent, count, MPI_INT, (rank + 1) % size, 0, twin, &requests[0]);
        MPI_Irecv(got, count, MPI_INT, (rank + size - 1) % size, 0, twin, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(sent, got, count, MPI_INT, op, twin);
        MPI_Iallreduce(sent, got, count, MPI_INT, MPI_SUM, twin, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Bcast(got, count, MPI_INT, 0, twin);
    }
    MPI_Bcast(got, 1, spread, 0, twin);
    MPI_Group_free(&group);
    MPI_Info_free(&info);
    MPI_Op_free(&op);
    MPI_Type_free(&spread);
    MPI_Comm_delete_attr(twin, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&twin);
    MPI_Finalize();
    return 0;
}
