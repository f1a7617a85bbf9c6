/* Buffered sends and the buffers for them (MPI-5.0 section 3.6). */
#include "check.h"

enum { SIZE = 4 * (1000 + MPI_BSEND_OVERHEAD) };

static int rank, size, left, right;

static void process_buffer(void)
{
    static char buffer[SIZE];
    char sent[1000] = {0}, got[1000];
    void *address = NULL;
    int bytes = 0, i;
    MPI_Request request;
    CHECK_ERROR(MPI_Bsend(sent, 1, MPI_CHAR, right, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK(MPI_Buffer_attach(buffer, SIZE) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Buffer_attach(buffer, SIZE), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Bsend(buffer, SIZE, MPI_CHAR, right, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    for (i = 0; i < 4; i++) {
        memset(sent, i + rank, sizeof sent);
        if (i % 2) {
            CHECK(MPI_Bsend(sent, 1000, MPI_CHAR, right, i, MPI_COMM_WORLD) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Ibsend(sent, 1000, MPI_CHAR, right, i, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        memset(sent, 99, sizeof sent);
    }
    for (i = 3; i >= 0; i--) {
        CHECK(MPI_Recv(got, 1000, MPI_CHAR, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got[0] == i + left && got[999] == i + left);
    }
    CHECK(MPI_Bsend_init(sent, 10, MPI_CHAR, right, 9, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    for (i = 0; i < 3; i++) {
        memset(sent, i, sizeof sent);
        CHECK(MPI_Start(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Recv(got, 10, MPI_CHAR, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && got[9] == i);
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    CHECK(MPI_Buffer_iflush(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Buffer_detach(&address, &bytes) == MPI_SUCCESS && address == buffer && bytes == SIZE);
    CHECK_ERROR(MPI_Buffer_detach(&address, &bytes), MPI_ERR_BUFFER);
}

/* What has not been received counts as used as long as it is here: a message to oneself is. */
static void accounting(void)
{
    static char buffer[2 * 100 + 90];
    char sent[100] = {1}, got[100];
    void *address;
    MPI_Count bytes;
    CHECK(MPI_Buffer_attach_c(buffer, sizeof buffer) == MPI_SUCCESS);
    CHECK(MPI_Bsend(sent, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(MPI_Bsend(sent, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Bsend(sent, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK(MPI_Recv(got, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS && got[0] == 1);
    CHECK(MPI_Bsend(sent, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(MPI_Recv(got, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Recv(got, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Buffer_detach_c(&address, &bytes) == MPI_SUCCESS && address == buffer && bytes == (MPI_Count)sizeof buffer);
}

/* A buffer made for the overhead of any other library holds as many messages here, empty ones included; there is an end of those, too. */
static void small_buffer(void)
{
    enum { MESSAGES = 50, LENGTH = 3, OVERHEAD = 32 };
    static char buffer[MESSAGES * (LENGTH + OVERHEAD)];
    char sent[LENGTH] = "ab", got[LENGTH];
    MPI_Request request;
    void *address;
    int bytes, i, error;
    CHECK(MPI_Buffer_attach(buffer, sizeof buffer) == MPI_SUCCESS);
    CHECK(MPI_Bsend_init(sent, LENGTH, MPI_CHAR, 0, 2, MPI_COMM_SELF, &request) == MPI_SUCCESS);
    for (i = 0; i < MESSAGES; i++)
        CHECK(MPI_Start(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    for (i = 0; i < MESSAGES; i++)
        CHECK(MPI_Recv(got, LENGTH, MPI_CHAR, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS && got[1] == 'b');
    for (i = error = 0; !error && i < (int)sizeof buffer; i++)
        error = MPI_Bsend(sent, 0, MPI_CHAR, 0, 2, MPI_COMM_SELF);
    CHECK_ERROR(error, MPI_ERR_BUFFER);
    CHECK(i > MESSAGES);
    while (--i > 0)
        CHECK(MPI_Recv(got, 0, MPI_CHAR, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Buffer_detach(&address, &bytes) == MPI_SUCCESS);
}

static void communicator_buffer(void)
{
    static char buffer[SIZE];
    int value = rank, got, bytes;
    void *address;
    MPI_Request request;
    CHECK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, buffer, SIZE) == MPI_SUCCESS);
    CHECK(MPI_Bsend(&value, 1, MPI_INT, right, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(&got, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == left);
    CHECK(MPI_Comm_flush_buffer(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Comm_iflush_buffer(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &address, &bytes) == MPI_SUCCESS && address == buffer && bytes == SIZE);
    /* As much as is needed. */
    CHECK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    CHECK(MPI_Bsend(buffer, SIZE, MPI_CHAR, right, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(buffer, SIZE, MPI_CHAR, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Buffer_detach(&address, &bytes) == MPI_SUCCESS && address == MPI_BUFFER_AUTOMATIC);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    process_buffer();
    accounting();
    small_buffer();
    communicator_buffer();
    MPI_Finalize();
    return 0;
}
