/* The tool information interface (MPI-5.0 section 15.3): as there are no variables, whoever counts them gets to the end.
 * ranks: 1 2 */
#include "check.h"

static void numbers(void)
{
    int number = 4711, index = 4711;
    char name[8] = "name";
    int name_len = sizeof name, scope;
    CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number == 0);
    number = 4711;
    CHECK(MPI_T_pvar_get_num(&number) == MPI_SUCCESS && number == 0);
    number = 4711;
    CHECK(MPI_T_category_get_num(&number) == MPI_SUCCESS && number == 0);
    number = 4711;
    CHECK(MPI_T_event_get_num(&number) == MPI_SUCCESS && number == 0);
    number = 4711;
    CHECK(MPI_T_source_get_num(&number) == MPI_SUCCESS && number == 0);
    CHECK(MPI_T_category_changed(&number) == MPI_SUCCESS && MPI_T_category_changed(&index) == MPI_SUCCESS && index == number);
    CHECK(MPI_T_cvar_get_num(NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_get_info(0, name, &name_len, NULL, NULL, NULL, NULL, NULL, NULL, &scope) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_cvars(0, 1, &index) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_num_events(0, &number) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_index("eager_limit", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_pvar_get_index("queue", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_index("transport", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &number) == MPI_T_ERR_INVALID_HANDLE);
}

static void sessions(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle;
    int count;
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS && session != MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_HANDLE_NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
}

int main(int argc, char **argv)
{
    int provided = -1, number = 4711;
    CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS && provided == MPI_THREAD_FUNNELED);
    numbers();
    MPI_Init(&argc, &argv);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE);
    numbers();
    sessions();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    MPI_Finalize();
    numbers();
    sessions();
    CHECK(MPI_T_finalize() == MPI_SUCCESS && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    return 0;
}
