/* What may be called before MPI_Init and after MPI_Finalize (MPI-5.0 section 11.4.1). */
#include "check.h"

static void count(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* What the first call says of the program's start, all later ones say. */
static void says_the_same(MPI_Info env)
{
    static MPI_Info first = MPI_INFO_NULL;
    static char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL + 1], again[MPI_MAX_INFO_VAL + 1];
    int keys, number, flag, len;
    if (first == MPI_INFO_NULL)
        CHECK(MPI_Info_dup(env, &first) == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(first, &keys) == MPI_SUCCESS && keys > 0);
    CHECK(MPI_Info_get_nkeys(env, &number) == MPI_SUCCESS && number == keys);
    for (int i = 0; i < keys; i++) {
        CHECK(MPI_Info_get_nthkey(first, i, key) == MPI_SUCCESS);
        len = sizeof value;
        CHECK(MPI_Info_get_string(first, key, &len, value, &flag) == MPI_SUCCESS && flag);
        len = sizeof again;
        CHECK(MPI_Info_get_string(env, key, &len, again, &flag) == MPI_SUCCESS && flag && !strcmp(value, again));
    }
}

static void always(int initialized, int finalized)
{
    int flag, version, subversion, len, class, code, again;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Info info, env;
    MPI_Errhandler handler;
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == initialized);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == finalized);
    CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version == MPI_VERSION && subversion == MPI_SUBVERSION);
    CHECK(MPI_Get_library_version(text, &len) == MPI_SUCCESS && len == (int)strlen(text) && len > 0);
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_set(info, "key", "value") == MPI_SUCCESS);
    len = sizeof text;
    CHECK(MPI_Info_get_string(info, "key", &len, text, &flag) == MPI_SUCCESS && flag && !strcmp(text, "value"));
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
    CHECK(MPI_Info_create_env(0, NULL, &env) == MPI_SUCCESS && MPI_Info_get_nkeys(env, &len) == MPI_SUCCESS && len > 0);
    says_the_same(env);
    CHECK(MPI_Info_free(&env) == MPI_SUCCESS);
    CHECK(MPI_Error_class(MPI_ERR_TAG, &class) == MPI_SUCCESS && class == MPI_ERR_TAG);
    CHECK(MPI_Error_string(MPI_ERR_TAG, text, &len) == MPI_SUCCESS && strstr(text, "MPI_ERR_TAG"));
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "lost") == MPI_SUCCESS && MPI_Error_class(code, &again) == MPI_SUCCESS && again == class);
    CHECK(MPI_Session_create_errhandler((MPI_Session_errhandler_function *)(void (*)(void))count, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
}

int main(int argc, char **argv)
{
    MPI_Info early;
    char text[16];
    int flag, len = sizeof text;
    always(0, 0);
    CHECK(MPI_Info_create(&early) == MPI_SUCCESS && MPI_Info_set(early, "when", "early") == MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    always(1, 0);
    CHECK(MPI_Comm_set_info(MPI_COMM_WORLD, early) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Info_free(&(MPI_Info){MPI_INFO_NULL}), MPI_ERR_INFO);
    MPI_Finalize();
    CHECK(MPI_Info_get_string(early, "when", &len, text, &flag) == MPI_SUCCESS && flag && !strcmp(text, "early"));
    CHECK(MPI_Info_free(&early) == MPI_SUCCESS);
    always(1, 1);
    return 0;
}
