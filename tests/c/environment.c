/* Inquiry, memory, timers, beginning and end (MPI-5.0 chapters 9 and 11). */
#include "check.h"

static void before(void)
{
    int flag = 7, version = 0, subversion = 7, len = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
    flag = 7;
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version == MPI_VERSION && subversion == MPI_SUBVERSION);
    CHECK(MPI_Get_library_version(text, &len) == MPI_SUCCESS && len > 0 && (size_t)len == strlen(text));
}

static void memory(void)
{
    char *block = NULL, *other = NULL;
    CHECK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &block) == MPI_SUCCESS && block);
    CHECK(MPI_Alloc_mem(0, MPI_INFO_NULL, &other) == MPI_SUCCESS);
    memset(block, 1, 1000);
    CHECK(MPI_Free_mem(block) == MPI_SUCCESS);
    CHECK(MPI_Free_mem(other) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Free_mem(block), MPI_ERR_BASE);
    CHECK_ERROR(MPI_Alloc_mem(-1, MPI_INFO_NULL, &block), MPI_ERR_ARG);
}

static void addresses(void)
{
    int pair[2];
    MPI_Aint first, second;
    CHECK(MPI_Get_address(&pair[0], &first) == MPI_SUCCESS && MPI_Get_address(&pair[1], &second) == MPI_SUCCESS);
    CHECK(first == (MPI_Aint)&pair[0]);
    CHECK(MPI_Aint_diff(second, first) == (MPI_Aint)sizeof(int) && MPI_Aint_add(first, sizeof(int)) == second);
    CHECK(MPI_Address(&pair[1], &first) == MPI_SUCCESS && first == second);
}

static void handles(void)
{
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
    CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_Info_fromint(MPI_Info_toint(MPI_INFO_ENV)) == MPI_INFO_ENV);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
}

static void facts(void)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm parent = MPI_COMM_WORLD;
    char text[16];
    int len = sizeof text, flag = 0, keys = 0, is_set = 0, yes = 7, no = 7;
    CHECK(MPI_Abi_get_info(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(info, "mpi_aint_size", &len, text, &flag) == MPI_SUCCESS && flag && !strcmp(text, "8"));
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS);
    if (info != MPI_INFO_NULL) {
        CHECK(MPI_Info_get_nkeys(info, &keys) == MPI_SUCCESS && keys == 23);
        CHECK_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
        CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    }
#ifdef MPI_ABI_VERSION
    CHECK(keys == 23);
#endif
    CHECK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set) == MPI_SUCCESS);
    CHECK(is_set && yes == 1 && no == 0);
    CHECK_ERROR(MPI_Abi_get_fortran_booleans(3, &yes, &no, &is_set), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no), MPI_ERR_ABI);
    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    int provided = -1, level = -1, flag = 0, major = 7, minor = 7, len = 0;
    char name[MPI_MAX_PROCESSOR_NAME];
    double begin, tick;
    before();
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
    CHECK(provided >= MPI_THREAD_FUNNELED);
    CHECK(MPI_Query_thread(&level) == MPI_SUCCESS && level == provided);
    CHECK(MPI_Is_thread_main(&flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Init(&argc, &argv), MPI_ERR_OTHER);
    CHECK(MPI_Get_processor_name(name, &len) == MPI_SUCCESS && len > 0 && (size_t)len == strlen(name));
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS);
#ifdef MPI_ABI_VERSION
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
#else
    CHECK(major == -1 && minor == -1);
#endif
    begin = MPI_Wtime();
    tick = MPI_Wtick();
    CHECK(tick > 0 && tick < 1e-3 && MPI_Wtime() >= begin);
    memory();
    addresses();
    handles();
    facts();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag);
    return 0;
}
