/* Error handlers, classes and codes (MPI-5.0 sections 9.3 to 9.5). */
#include "check.h"

static int calls, last_code;
static MPI_Comm last_comm;

static void count(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    last_code = *code;
}

static void handlers(void)
{
    MPI_Errhandler mine, again, other;
    int rank, before;
    CHECK(MPI_Comm_create_errhandler(count, &mine) == MPI_SUCCESS && mine != MPI_ERRHANDLER_NULL);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &again) == MPI_SUCCESS && again == mine);
    CHECK(MPI_Errhandler_free(&again) == MPI_SUCCESS && again == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Errhandler_free(&mine) == MPI_SUCCESS && mine == MPI_ERRHANDLER_NULL);
    /* The communicator still has it. */
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_TOPOLOGY) == MPI_SUCCESS);
    CHECK(calls == 1 && last_comm == MPI_COMM_SELF && last_code == MPI_ERR_TOPOLOGY);
    /* What is wrong with a call on it goes there, what belongs to no communicator to the world's. */
    before = calls;
    MPI_Comm_rank(MPI_COMM_SELF, NULL);
    CHECK(calls == before + 1 && last_comm == MPI_COMM_SELF);
    CHECK_ERROR(MPI_Comm_rank(MPI_COMM_NULL, &rank), MPI_ERR_COMM);
    CHECK(calls == before + 1);
    CHECK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &other) == MPI_SUCCESS && other != MPI_ERRHANDLER_NULL);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, other) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&other) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    other = MPI_ERRHANDLER_NULL;
    CHECK_ERROR(MPI_Errhandler_free(&other), MPI_ERR_ERRHANDLER);
}

static void old_names(void)
{
    MPI_Errhandler mine, got;
    CHECK(MPI_Errhandler_create(count, &mine) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(MPI_COMM_SELF, mine) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(MPI_COMM_SELF, &got) == MPI_SUCCESS && got == mine);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&mine);
    CHECK(MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static int file_calls;
static MPI_File last_file;

static void count_file(MPI_File *file, int *code, ...)
{
    file_calls++;
    last_file = *file;
    last_code = *code;
}

/* MPI_FILE_NULL's handler is that of files when they are opened; other null handles have none. */
static void of_null_handles(void)
{
    MPI_Errhandler mine, got;
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&got);
    CHECK(MPI_File_create_errhandler(count_file, &mine) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, mine) == MPI_SUCCESS);
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == mine);
    MPI_Errhandler_free(&got);
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_AMODE) == MPI_SUCCESS);
    CHECK(file_calls == 1 && last_file == MPI_FILE_NULL && last_code == MPI_ERR_AMODE);
    CHECK(MPI_File_open(MPI_COMM_SELF, "", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS && file_calls == 2);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Errhandler_free(&mine);
    CHECK_ERROR(MPI_File_sync(MPI_FILE_NULL), MPI_ERR_FILE);
    CHECK_ERROR(MPI_Win_get_errhandler(MPI_WIN_NULL, &got), MPI_ERR_WIN);
    CHECK_ERROR(MPI_Win_set_errhandler(MPI_WIN_NULL, MPI_ERRORS_RETURN), MPI_ERR_WIN);
    CHECK_ERROR(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
}

static void codes(void)
{
    int class, code, other, len, got;
    char text[MPI_MAX_ERROR_STRING];
    CHECK(MPI_Error_class(MPI_ERR_TAG, &class) == MPI_SUCCESS && class == MPI_ERR_TAG);
    CHECK(MPI_Error_string(MPI_ERR_TAG, text, &len) == MPI_SUCCESS && strstr(text, "MPI_ERR_TAG") && len == (int)strlen(text));
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && class > MPI_ERR_LASTCODE);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS && code > class);
    CHECK(MPI_Add_error_code(MPI_ERR_ARG, &other) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "out of ink") == MPI_SUCCESS);
    CHECK(MPI_Error_string(code, text, &len) == MPI_SUCCESS && !strcmp(text, "out of ink") && len == 10);
    CHECK(MPI_Error_string(class, text, &len) == MPI_SUCCESS && len == 0);
    CHECK(MPI_Error_class(code, &got) == MPI_SUCCESS && got == class);
    CHECK(MPI_Error_class(other, &got) == MPI_SUCCESS && got == MPI_ERR_ARG);
    CHECK_ERROR(MPI_Add_error_string(MPI_ERR_ARG, "no"), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Add_error_code(code, &got), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS && MPI_Error_string(code, text, &len) == MPI_SUCCESS && len == 0);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Remove_error_code(code), MPI_ERR_ARG);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Error_class(class, &got), MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(other) == MPI_SUCCESS);
}

static int last_used(void)
{
    int *value, flag;
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_LASTUSEDCODE, &value, &flag) == MPI_SUCCESS && flag);
    return *value;
}

/* Numbers are used again, so that adding and removing may go on for ever. */
static void codes_come_back(void)
{
    int class, kept, code, next, before = last_used();
    MPI_Add_error_class(&class);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    kept = code;
    for (int i = 0; i < 300000; i++) {
        CHECK(MPI_Add_error_code(class, &next) == MPI_SUCCESS && next != kept && next <= before + 3);
        CHECK(MPI_Remove_error_code(kept) == MPI_SUCCESS);
        kept = next;
    }
    CHECK_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(kept) == MPI_SUCCESS && last_used() == before + 1);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS && last_used() == before);
    /* A class may go before other codes. */
    MPI_Add_error_class(&class);
    MPI_Add_error_code(MPI_ERR_ARG, &code);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS && last_used() == code);
    CHECK(MPI_Error_class(code, &next) == MPI_SUCCESS && next == MPI_ERR_ARG);
    CHECK(MPI_Add_error_class(&next) == MPI_SUCCESS && next == class);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS && MPI_Remove_error_class(next) == MPI_SUCCESS && last_used() == before);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    handlers();
    old_names();
    of_null_handles();
    codes();
    codes_come_back();
    MPI_Finalize();
    return 0;
}
