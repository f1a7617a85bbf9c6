/* Info objects (MPI-5.0 chapter 10). */
#include "check.h"

static void keys(void)
{
    MPI_Info info, copy, freed;
    char value[64], key[MPI_MAX_INFO_KEY];
    int len, flag, number;
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS && info != MPI_INFO_NULL);
    CHECK(MPI_Info_set(info, "file", "data.bin") == MPI_SUCCESS && MPI_Info_set(info, "soft", "1:4") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "host", "") == MPI_SUCCESS && MPI_Info_set(info, "file", "other.bin") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(info, &number) == MPI_SUCCESS && number == 3);
    CHECK(MPI_Info_get_nthkey(info, 0, key) == MPI_SUCCESS && !strcmp(key, "file"));
    CHECK(MPI_Info_get_nthkey(info, 2, key) == MPI_SUCCESS && !strcmp(key, "host"));
    CHECK(MPI_Info_dup(info, &copy) == MPI_SUCCESS && copy != info);
    CHECK(MPI_Info_delete(info, "file") == MPI_SUCCESS);
    CHECK_ERROR(MPI_Info_delete(info, "file"), MPI_ERR_INFO_NOKEY);
    CHECK(MPI_Info_get_nthkey(info, 0, key) == MPI_SUCCESS && !strcmp(key, "soft"));
    /* A buffer that is long enough, one that is not, and none. */
    len = sizeof value;
    CHECK(MPI_Info_get_string(copy, "file", &len, value, &flag) == MPI_SUCCESS);
    CHECK(flag && len == 10 && !strcmp(value, "other.bin"));
    len = 4;
    CHECK(MPI_Info_get_string(copy, "file", &len, value, &flag) == MPI_SUCCESS);
    CHECK(flag && len == 10 && !strcmp(value, "oth"));
    len = 0;
    CHECK(MPI_Info_get_string(copy, "file", &len, NULL, &flag) == MPI_SUCCESS && flag && len == 10);
    len = 5;
    CHECK(MPI_Info_get_string(info, "file", &len, value, &flag) == MPI_SUCCESS && !flag && len == 5);
    /* The old calls, whose lengths do not count the end. */
    CHECK(MPI_Info_get_valuelen(copy, "file", &len, &flag) == MPI_SUCCESS && flag && len == 9);
    CHECK(MPI_Info_get(copy, "file", len, value, &flag) == MPI_SUCCESS && flag && !strcmp(value, "other.bin"));
    CHECK(MPI_Info_get(copy, "file", 2, value, &flag) == MPI_SUCCESS && flag && !strcmp(value, "ot"));
    CHECK(MPI_Info_get(copy, "nothing", 2, value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Info_get_valuelen(copy, "nothing", &len, &flag) == MPI_SUCCESS && !flag);
    freed = copy;
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS && copy == MPI_INFO_NULL);
    CHECK_ERROR(MPI_Info_get_nkeys(freed, &number), MPI_ERR_INFO);
    CHECK_ERROR(MPI_Info_free(&freed), MPI_ERR_INFO);
    MPI_Info_free(&info);
}

static void limits(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], got[MPI_MAX_INFO_VAL + 1];
    int number, flag;
    MPI_Info_create(&info);
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY] = value[MPI_MAX_INFO_VAL] = 0;
    CHECK_ERROR(MPI_Info_set(info, key, ""), MPI_ERR_INFO_KEY);
    CHECK_ERROR(MPI_Info_set(info, "", ""), MPI_ERR_INFO_KEY);
    CHECK_ERROR(MPI_Info_set(info, "key", value), MPI_ERR_INFO_VALUE);
    key[MPI_MAX_INFO_KEY - 1] = value[MPI_MAX_INFO_VAL - 1] = 0;
    CHECK(MPI_Info_set(info, key, value) == MPI_SUCCESS);
    CHECK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, got, &flag) == MPI_SUCCESS && flag && !strcmp(got, value));
    CHECK_ERROR(MPI_Info_get_nthkey(info, 1, key), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Info_get_nkeys(MPI_INFO_NULL, &number), MPI_ERR_INFO);
    CHECK_ERROR(MPI_Info_set(info, NULL, ""), MPI_ERR_ARG);
    MPI_Info_free(&info);
}

static void environment(int argc, char **argv)
{
    MPI_Info info, constant = MPI_INFO_ENV;
    char value[16];
    int len = sizeof value, flag, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &len, value, &flag) == MPI_SUCCESS);
    CHECK(flag && atoi(value) == size);
    CHECK_ERROR(MPI_Info_set(MPI_INFO_ENV, "maxprocs", "9"), MPI_ERR_INFO);
    CHECK_ERROR(MPI_Info_free(&constant), MPI_ERR_INFO);
    CHECK(MPI_Info_create_env(argc, argv, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get(info, "command", sizeof value - 1, value, &flag) == MPI_SUCCESS && flag);
    CHECK(!strncmp(value, argv[0], strlen(value)));
    CHECK(MPI_Info_set(info, "maxprocs", "9") == MPI_SUCCESS);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    keys();
    limits();
    environment(argc, argv);
    MPI_Finalize();
    return 0;
}
