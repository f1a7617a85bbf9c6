// Exceptions and longjmp out of functions that MPI calls: error handlers, operations, attributes' functions and those of generalized
// requests. The program catches them, and goes on with MPI.
#include "check.h"

#include <csetjmp>
#include <stdexcept>
#include <thread>

static int rank, size;
static bool throws = true;
static std::jmp_buf before_call;

// The call has to throw.
template <typename Call> static void caught(int line, Call call)
{
    try {
        call();
    } catch (const std::runtime_error &error) {
        CHECK(strcmp(error.what(), "thrown") == 0);
        return;
    }
    fprintf(stderr, "line %d: nothing was thrown\n", line);
    exit(1);
}
#define CAUGHT(call) caught(__LINE__, [&] { call; })

// MPI works, also from another thread: nobody has kept the turn.
static void still_works()
{
    std::thread([] {
        int sent = rank, got = -1;
        CHECK(MPI_Sendrecv(&sent, 1, MPI_INT, 0, 9, &got, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == rank);
    }).join();
    int one = 1, all = 0;
    CHECK(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && all == size);
}

static void may_throw()
{
    if (throws)
        throw std::runtime_error("thrown");
}

extern "C" {
static void throwing_handler(MPI_Comm *, int *, ...) { throw std::runtime_error("thrown"); }
static void jumping_handler(MPI_Comm *, int *, ...) { std::longjmp(before_call, 1); }
static void operation(void *in, void *inout, int *count, MPI_Datatype *)
{
    may_throw();
    for (int place = 0; place < *count; place++)
        ((int *)inout)[place] += ((int *)in)[place];
}
static void jumping_operation(void *, void *, int *, MPI_Datatype *) { std::longjmp(before_call, 1); }
static void failing_operation(void *, void *, int *, MPI_Datatype *)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_NULL, &rank);
}
static int copy_attribute(MPI_Comm, int, void *, void *value, void *copy, int *flag)
{
    may_throw();
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm, int, void *, void *) { return may_throw(), MPI_SUCCESS; }
static int jumping_delete(MPI_Comm, int, void *, void *) { std::longjmp(before_call, 1); }
static int copy_type_attribute(MPI_Datatype, int, void *, void *, void *, int *) { return may_throw(), MPI_SUCCESS; }
static int delete_type_attribute(MPI_Datatype, int, void *, void *) { return may_throw(), MPI_SUCCESS; }
static int query(void *, MPI_Status *status)
{
    may_throw();
    MPI_Status_set_elements(status, MPI_INT, 1);
    return MPI_Status_set_cancelled(status, 0);
}
static int quiet_query(void *, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, 1);
    return MPI_Status_set_cancelled(status, 0);
}
static int free_request(void *) { return may_throw(), MPI_SUCCESS; }
static int quiet_free(void *) { return MPI_SUCCESS; }
static int cancel(void *, int) { return may_throw(), MPI_SUCCESS; }
}

static void error_handlers()
{
    MPI_Errhandler throwing, jumping;
    int word = 0, got;
    MPI_Comm_create_errhandler(throwing_handler, &throwing);
    MPI_Comm_create_errhandler(jumping_handler, &jumping);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, throwing);
    for (int time = 0; time < 100; time++) {
        CAUGHT(MPI_Send(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
        CAUGHT(MPI_Bcast(&word, -1, MPI_INT, 0, MPI_COMM_WORLD));
        CAUGHT(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER));
        CAUGHT(MPI_Comm_rank(MPI_COMM_NULL, &got));
        CAUGHT(MPI_Type_commit(nullptr));
    }
    still_works();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, jumping);
    for (volatile int time = 0; time < 100; time++) {
        if (setjmp(before_call) == 0) {
            MPI_Send(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
            CHECK(false);
        }
        if (setjmp(before_call) == 0) {
            MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
            CHECK(false);
        }
    }
    still_works();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&throwing);
    MPI_Errhandler_free(&jumping);
}

// A rank on which the operation is called throws; the others hear of it, or do not depend on it.
template <typename Call> static void reduces(bool everywhere, Call call)
{
    bool thrown = false;
    int code = MPI_SUCCESS;
    throws = true;
    try {
        code = call();
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    CHECK(!everywhere || size == 1 || thrown || code != MPI_SUCCESS);
    still_works();
    throws = false;
    CHECK(call() == MPI_SUCCESS);
    still_works();
}

static void operations()
{
    MPI_Op op, jumping;
    MPI_Op_create(operation, 1, &op);
    MPI_Op_create(jumping_operation, 1, &jumping);
    static int in[50010], out[50010];
    CAUGHT(MPI_Reduce_local(in, out, 1, MPI_INT, op));
    still_works();
    if (setjmp(before_call) == 0) {
        MPI_Reduce_local(in, out, 1, MPI_INT, jumping);
        CHECK(false);
    }
    still_works();
    for (int count : {1, 3000, 50000}) {
        reduces(true, [=] { return MPI_Allreduce(in, out, count, MPI_INT, op, MPI_COMM_WORLD); });
        reduces(false, [=] { return MPI_Reduce(in, out, count, MPI_INT, op, size - 1, MPI_COMM_WORLD); });
        reduces(false, [=] { return MPI_Scan(in, out, count, MPI_INT, op, MPI_COMM_WORLD); });
        reduces(true, [=] { return MPI_Reduce_scatter_block(in, out, (count + size - 1) / size, MPI_INT, op, MPI_COMM_WORLD); });
        reduces(true, [=] {
            MPI_Request request;
            int code = MPI_Iallreduce(in, out, count, MPI_INT, op, MPI_COMM_WORLD, &request);
            return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
        });
    }
    MPI_Request request;
    MPI_Allreduce_init(in, out, 10, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int time = 0; time < 2; time++)
        reduces(true, [&] {
            int code = MPI_Start(&request);
            return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
        });
    MPI_Request_free(&request);
    MPI_Op_free(&op);
    MPI_Op_free(&jumping);

    // An error handler's exception passes through an operation.
    MPI_Errhandler throwing;
    MPI_Comm_create_errhandler(throwing_handler, &throwing);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, throwing);
    MPI_Op_create(failing_operation, 1, &op);
    CAUGHT(MPI_Reduce_local(in, out, 1, MPI_INT, op));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Op_free(&op);
    MPI_Errhandler_free(&throwing);
    still_works();
}

static void attributes()
{
    int key, of_jump, of_type;
    MPI_Comm twin, other;
    MPI_Datatype type, copy;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, nullptr);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, jumping_delete, &of_jump, nullptr);
    MPI_Type_create_keyval(copy_type_attribute, delete_type_attribute, &of_type, nullptr);
    throws = false;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_attr(twin, key, nullptr);
    throws = true;
    CAUGHT(MPI_Comm_dup(twin, &other));
    still_works();
    // The attribute goes all the same: its function is not called for it again.
    CAUGHT(MPI_Comm_set_attr(twin, key, nullptr));
    CHECK(MPI_Comm_set_attr(twin, key, nullptr) == MPI_SUCCESS);
    CAUGHT(MPI_Comm_delete_attr(twin, key));
    CHECK_ERROR(MPI_Comm_delete_attr(twin, key), MPI_ERR_KEYVAL);
    MPI_Comm_set_attr(twin, key, nullptr);
    CAUGHT(MPI_Comm_free(&twin));
    CHECK(twin != MPI_COMM_NULL);
    still_works();
    throws = false;
    CHECK(MPI_Comm_free(&twin) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Comm_set_attr(twin, of_jump, nullptr);
    if (setjmp(before_call) == 0) {
        MPI_Comm_delete_attr(twin, of_jump);
        CHECK(false);
    }
    still_works();
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, of_type, nullptr);
    throws = true;
    CAUGHT(MPI_Type_dup(type, &copy));
    CAUGHT(MPI_Type_free(&type));
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    still_works();
}

static void requests()
{
    MPI_Request two[2], one;
    int word = 1, got = 0, flag;
    throws = true;
    MPI_Grequest_start(query, quiet_free, cancel, nullptr, &two[0]);
    MPI_Irecv(&got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &two[1]);
    MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    CAUGHT(MPI_Cancel(&two[0]));
    MPI_Grequest_complete(two[0]);
    CAUGHT(MPI_Waitall(2, two, MPI_STATUSES_IGNORE));
    CHECK(got == 1 && two[1] == MPI_REQUEST_NULL);
    MPI_Grequest_start(quiet_query, free_request, cancel, nullptr, &one);
    MPI_Grequest_complete(one);
    CAUGHT(MPI_Test(&one, &flag, MPI_STATUS_IGNORE));
    MPI_Grequest_start(quiet_query, free_request, cancel, nullptr, &one);
    MPI_Grequest_complete(one);
    CAUGHT(MPI_Request_free(&one));
    still_works();
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    error_handlers();
    operations();
    attributes();
    requests();
    MPI_Finalize();
    return 0;
}
