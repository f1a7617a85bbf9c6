/* partitioned: what is left to do when the last of a message's partitions is ready, beside a persistent send that starts then. */
#pragma once
#include "messages.h"
#include "overlap.h"

enum { PARTITIONS = 16, PARTITION_COMPUTES_US = 50 };
/* When the sender called the last partition ready, on the clock of all processes. */
static struct { _Atomic double us; } *was_ready;
static MPI_Request partitioned_request;
static int is_partitioned;

/* Until the receiver has it all. */
static void last_partition(int iterations, size_t bytes) {
    for (int i = 0; i < iterations; i++) {
        message_serial++;
        if (rank == 0) stamp(messages[0][0], bytes, message_serial);
        if (rank == 1 || is_partitioned) MPI_Start(&partitioned_request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            for (int part = 0; part < PARTITIONS - 1; part++) {
                if (is_partitioned) MPI_Pready(part, partitioned_request);
                compute(PARTITION_COMPUTES_US);
            }
            atomic_store(&was_ready->us, now_us());
            if (is_partitioned) MPI_Pready(PARTITIONS - 1, partitioned_request);
            else MPI_Start(&partitioned_request);
        }
        for (int part = 0, arrived = 0; part < PARTITIONS && rank == 1 && is_partitioned; arrived = 0, part++)
            while (!arrived) MPI_Parrived(partitioned_request, part, &arrived);
        MPI_Wait(&partitioned_request, MPI_STATUS_IGNORE);
        double left = now_us() - atomic_load(&was_ready->us) - clock_us;
        MPI_Bcast(&left, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        keep(left);
        if (rank == 1) check(messages[1][0], bytes, message_serial);
    }
}

static void partitions(size_t bytes) {
    if (!was_ready) was_ready = shared_mapping(sizeof *was_ready);
    make_messages(bytes, 1);
    char *data = messages[rank][0];
    for (is_partitioned = 1; is_partitioned >= 0; is_partitioned--) {
        MPI_Count part = (MPI_Count)(bytes / PARTITIONS);
        if (is_partitioned && rank == 0) MPI_Psend_init(data, PARTITIONS, part, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, MPI_INFO_NULL, &partitioned_request);
        else if (is_partitioned) MPI_Precv_init(data, PARTITIONS, part, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, MPI_INFO_NULL, &partitioned_request);
        else if (rank == 0) MPI_Send_init(data, (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &partitioned_request);
        else MPI_Recv_init(data, (int)bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &partitioned_request);
        measure(is_partitioned ? "last partition of 16" : "the whole by MPI_Start", last_partition, bytes);
        MPI_Request_free(&partitioned_request);
    }
}
