/* What C says to Fortran: handles as integers, statuses as arrays of them and as those of the module mpi_f08
 * (MPI-5.0 sections 19.3.4 and 19.3.5); in the MPICH ABI also as functions that binaries import, and which devices
 * are served.
 * ranks: 1 2 */
#include "check.h"

static void handles(void)
{
    MPI_Comm copy;
    MPI_File none = MPI_FILE_NULL;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
    MPI_Fint number = MPI_Comm_c2f(copy);
    CHECK(number != MPI_Comm_c2f(MPI_COMM_WORLD) && MPI_Comm_f2c(number) == copy);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE_INT)) == MPI_DOUBLE_INT);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_MINLOC)) == MPI_MINLOC);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_ENV)) == MPI_INFO_ENV);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    CHECK(MPI_File_f2c(MPI_File_c2f(none)) == none);
}

static int same(const MPI_Status *one, const MPI_Status *other)
{
    int count = 0, of_other = 0;
    MPI_Get_count(one, MPI_BYTE, &count);
    MPI_Get_count(other, MPI_BYTE, &of_other);
    return one->MPI_SOURCE == other->MPI_SOURCE && one->MPI_TAG == other->MPI_TAG && count == 12 && of_other == 12;
}

static void statuses(void)
{
    int sent[3] = { 1, 2, 3 }, got[3];
    MPI_Status status, again;
    MPI_F08_status typed;
    MPI_Fint numbers[16] = { 0 };
    CHECK(MPI_Sendrecv(sent, 3, MPI_INT, 0, 7, got, 3, MPI_INT, 0, 7, MPI_COMM_SELF, &status) == MPI_SUCCESS);
    CHECK(MPI_Status_c2f(&status, numbers) == MPI_SUCCESS);
    CHECK(numbers[MPI_F_SOURCE] == 0 && numbers[MPI_F_TAG] == 7 && numbers[MPI_F_STATUS_SIZE] == 0);
    memset(&again, 0, sizeof again);
    CHECK(MPI_Status_f2c(numbers, &again) == MPI_SUCCESS && same(&status, &again));
    CHECK(MPI_Status_c2f08(&status, &typed) == MPI_SUCCESS && typed.MPI_TAG == 7);
    memset(&again, 0, sizeof again);
    CHECK(MPI_Status_f082c(&typed, &again) == MPI_SUCCESS && same(&status, &again));
    memset(numbers, 0, sizeof numbers);
    CHECK(MPI_Status_f082f(&typed, numbers) == MPI_SUCCESS && numbers[MPI_F_TAG] == 7);
    memset(&typed, 0, sizeof typed);
    CHECK(MPI_Status_f2f08(numbers, &typed) == MPI_SUCCESS && typed.MPI_TAG == 7);
}

#ifndef MPI_ABI_VERSION
/* The symbols, not what the header makes of the names. */
static void symbols(void)
{
    int is_supported = 7;
    MPI_Status status;
    MPI_Fint (*to_integer)(MPI_Comm) = MPI_Comm_c2f;
    MPI_Type_size(MPI_INT, &is_supported);
    CHECK(to_integer(MPI_COMM_SELF) == (MPI_Fint)MPI_COMM_SELF);
    CHECK(MPI_F08_STATUS_IGNORE != NULL && MPI_F08_STATUSES_IGNORE != MPI_F08_STATUS_IGNORE);
    CHECK(MPI_Status_f082c(MPI_F08_STATUS_IGNORE, &status) != MPI_SUCCESS);
    CHECK(MPI_Status_c2f(MPI_STATUS_IGNORE, &is_supported) != MPI_SUCCESS);
    CHECK(!MPIX_Query_cuda_support() && !MPIX_Query_hip_support() && !MPIX_Query_ze_support());
    CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_supported) == MPI_SUCCESS && !is_supported);
    CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_ZE, NULL) != MPI_SUCCESS);
}

/* What of MPICH's extensions means something here. */
static void extensions(void)
{
    MPIX_Iov pieces[4];
    MPI_Count number = 0, bytes = 0;
    MPI_Datatype vector;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Info info;
    MPIX_Stream stream = 7;
    char text[20];
    unsigned char value[3] = {0x0a, 0xff, 0x10};
    int flag = 7;
    CHECK(MPIX_Type_iov_len(MPI_INT, -1, &number, &bytes) == MPI_SUCCESS && number == 1 && bytes == 4);
    MPI_Type_vector(3, 2, 4, MPI_INT, &vector);
    CHECK(MPIX_Type_iov_len(vector, -1, &number, NULL) == MPI_SUCCESS && number == 3);
    CHECK(MPIX_Type_iov_len(vector, 17, &number, &bytes) == MPI_SUCCESS && number == 2 && bytes == 16);
    memset(pieces, 0, sizeof pieces);
    CHECK(MPIX_Type_iov(vector, 1, pieces, 4, &number) == MPI_SUCCESS && number == 2);
    CHECK(pieces[0].iov_base == (void *)16 && pieces[0].iov_len == 8 && pieces[1].iov_base == (void *)32 && !pieces[2].iov_len);
    MPI_Type_free(&vector);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPIX_Type_iov_len(MPI_DATATYPE_NULL, -1, &number, &bytes), MPI_ERR_TYPE);
    CHECK(MPIX_Request_is_complete(request) && MPIX_Stream_progress(MPIX_STREAM_NULL) == MPI_SUCCESS);
    CHECK(MPI_Irecv(text, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, &request) == MPI_SUCCESS && !MPIX_Request_is_complete(request));
    CHECK(MPI_Send(value, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS && MPIX_Request_is_complete(request));
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Info_create(&info);
    CHECK(MPIX_Info_set_hex(info, "key", value, 3) == MPI_SUCCESS && MPIX_Info_set_hex(info, NULL, value, 3) != MPI_SUCCESS);
    CHECK(MPI_Info_get(info, "key", 19, text, &flag) == MPI_SUCCESS && flag && !strcmp(text, "0aff10"));
    MPI_Info_free(&info);
    CHECK(MPIX_Comm_test_threadcomm(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &stream) == MPI_SUCCESS && stream == MPIX_STREAM_NULL);
    CHECK_ERROR(MPIX_Comm_get_stream(MPI_COMM_NULL, 0, &stream), MPI_ERR_COMM);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    handles();
    statuses();
#ifndef MPI_ABI_VERSION
    symbols();
    extensions();
#endif
    MPI_Finalize();
    return 0;
}
