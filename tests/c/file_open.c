/* Opening, closing and deleting files: modes, what goes wrong, whom errors reach; sizes, hints, groups (MPI-5.0 section 14.2). */
#include "file.h"

static MPI_File no_file(int mode, int class)
{
    MPI_File file = (MPI_File)1;
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_name, mode, MPI_INFO_NULL, &file), class);
    CHECK(file == MPI_FILE_NULL);
    return file;
}

static void modes(void)
{
    MPI_File file;
    int mode;
    char text[MPI_MAX_ERROR_STRING];
    no_file(MPI_MODE_RDONLY, MPI_ERR_NO_SUCH_FILE);
    MPI_Error_string(MPI_ERR_NO_SUCH_FILE, text, &mode);
    CHECK(strstr(text, "MPI_File_open") && strstr(text, file_name) && strstr(text, "No such file"));
    no_file(0, MPI_ERR_AMODE);
    no_file(MPI_MODE_CREATE, MPI_ERR_AMODE);
    no_file(MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_ERR_AMODE);
    no_file(MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_ERR_AMODE);
    no_file(MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_CREATE, MPI_ERR_AMODE);
    file = open_file(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
    CHECK(MPI_File_get_amode(file, &mode) == MPI_SUCCESS && mode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
    close_file(&file);
    no_file(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_ERR_FILE_EXISTS);
    if (world_size > 1)
        no_file(world_rank == 1 ? MPI_MODE_WRONLY : MPI_MODE_RDONLY, MPI_ERR_NOT_SAME);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        CHECK(MPI_File_delete(file_name, MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_ERROR(MPI_File_delete(file_name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
}

/* One rank alone passes nothing to put the file in: it has its own error, the others have one too, and nobody waits. */
static void one_passes_nothing(void)
{
    MPI_File file = (MPI_File)1;
    int is_wrong = world_rank == world_size - 1;
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, is_wrong ? NULL : &file),
                MPI_ERR_ARG);
    CHECK(is_wrong || file == MPI_FILE_NULL);
    CHECK(access(file_name, F_OK) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank alone has a name that can't be opened: none has the file then, and nobody waits. */
static void one_fails(void)
{
    MPI_File file = (MPI_File)1;
    char name[600];
    snprintf(name, sizeof name, "%s%s", file_name, world_rank == world_size - 1 ? "/nothing" : "");
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0 && world_size > 1)
        CHECK(MPI_File_delete(file_name, MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void access_rights(void)
{
    char byte = 'x';
    MPI_File file = open_file(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    CHECK_ERROR(MPI_File_read_at(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    CHECK(MPI_File_write_at(file, world_rank, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    close_file(&file);
    file = open_file(MPI_COMM_WORLD, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_ERROR(MPI_File_write_at(file, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CHECK_ERROR(MPI_File_set_size(file, 0), MPI_ERR_READ_ONLY);
    CHECK_ERROR(MPI_File_preallocate(file, 0), MPI_ERR_READ_ONLY);
    byte = 0;
    CHECK(MPI_File_read_at(file, world_rank, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS && byte == 'x');
    close_file(&file);
    CHECK(access(file_name, F_OK) != 0);
    CHECK_ERROR(MPI_File_close(&file), MPI_ERR_FILE);
}

static void sizes(void)
{
    MPI_File file = new_file();
    MPI_Offset size = -1;
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 0);
    CHECK(MPI_File_set_size(file, 1000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 1000);
    CHECK(MPI_File_preallocate(file, 5000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 5000);
    CHECK(MPI_File_preallocate(file, 100) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 5000);
    CHECK(MPI_File_set_size(file, 10) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 10);
    CHECK_ERROR(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    if (world_size > 1) {
        CHECK_ERROR(MPI_File_set_size(file, world_rank), MPI_ERR_NOT_SAME);
        CHECK_ERROR(MPI_File_preallocate(file, world_rank), MPI_ERR_NOT_SAME);
    }
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    close_file(&file);
}

static void append(void)
{
    MPI_Offset position = -1;
    char byte = 'a';
    MPI_File file = open_file(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);
    CHECK(MPI_File_set_size(file, 100) == MPI_SUCCESS);
    close_file(&file);
    file = open_file(MPI_COMM_WORLD, MPI_MODE_APPEND | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == 100);
    /* Offsets mean what they say all the same. */
    if (world_rank == 0) {
        CHECK(MPI_File_write_at(file, 5, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_get_size(file, &position) == MPI_SUCCESS && position == 100);
        CHECK(MPI_File_write(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_get_size(file, &position) == MPI_SUCCESS && position == 101);
    }
    close_file(&file);
}

static void groups_and_hints(void)
{
    MPI_Info info;
    MPI_Group group, all;
    MPI_File file;
    int same, flag, keys, again;
    char value[MPI_MAX_INFO_VAL];
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "of_the_user", "kept");
    CHECK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file)
          == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_File_get_info(file, &info) == MPI_SUCCESS);
    MPI_Info_get_nkeys(info, &keys);
    MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL - 1, value, &flag);
    CHECK(flag && strcmp(value, "65536") == 0);
    MPI_Info_get(info, "of_the_user", MPI_MAX_INFO_VAL - 1, value, &flag);
    CHECK(flag && strcmp(value, "kept") == 0);
    CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_File_get_info(file, &info) == MPI_SUCCESS);
    MPI_Info_get_nkeys(info, &again);
    CHECK(again == keys);
    MPI_Info_free(&info);
    CHECK(MPI_File_get_group(file, &group) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_compare(group, all, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    close_file(&file);
}

static int calls;
static MPI_File seen;

static void handler(MPI_File *file, int *code, ...)
{
    calls++;
    seen = *file;
    CHECK(*code != MPI_SUCCESS);
}

/* A file begins with the handler that MPI_FILE_NULL has then. */
static void handlers(void)
{
    MPI_Errhandler mine, got;
    MPI_File file = new_file();
    CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);
    CHECK(MPI_File_get_errhandler(file, &got) == MPI_SUCCESS && got == MPI_ERRORS_RETURN);
    CHECK(MPI_File_create_errhandler(handler, &mine) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(file, mine) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_SET) != MPI_SUCCESS && calls == 1 && seen == file);
    CHECK(MPI_File_call_errhandler(file, MPI_ERR_IO) == MPI_SUCCESS && calls == 2);
    close_file(&file);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, mine) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    CHECK(calls == 3 && seen == MPI_FILE_NULL);
    file = new_file();
    CHECK(MPI_File_get_errhandler(file, &got) == MPI_SUCCESS && got == mine);
    MPI_Errhandler_free(&got);
    close_file(&file);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Errhandler_free(&mine);
}

int main(int argc, char **argv)
{
    begin_files(&argc, &argv);
    modes();
    one_passes_nothing();
    one_fails();
    access_rights();
    sizes();
    append();
    groups_and_hints();
    handlers();
    end_files();
    return 0;
}
