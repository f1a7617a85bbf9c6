/* Sessions, without MPI_Init (MPI-5.0 section 11.3). */
#include "check.h"

static int calls, last_code;
static MPI_Session last_session;

static void count(MPI_Session *session, int *code, ...)
{
    calls++;
    last_session = *session;
    last_code = *code;
}

static void sets(MPI_Session session)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    int number, len, found = 0;
    MPI_Info info;
    CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &number) == MPI_SUCCESS && number >= 2);
    for (int i = 0; i < number; i++) {
        len = 0;
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, NULL) == MPI_SUCCESS && len > 1);
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name) == MPI_SUCCESS);
        CHECK(len == (int)strlen(name) + 1);
        found += !strcmp(name, "mpi://WORLD") || !strcmp(name, "mpi://SELF");
        CHECK(MPI_Session_get_pset_info(session, name, &info) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    }
    CHECK(found == 2);
    CHECK_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, number, &len, name), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Session_get_pset_info(session, "mpi://NOBODY", &info), MPI_ERR_ARG);
}

static void communicate(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, sum = -1;
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size * (size - 1) / 2);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    CHECK(MPI_Group_from_session_pset(session, "mpi://SELF", &group) == MPI_SUCCESS);
    CHECK(MPI_Group_size(group, &size) == MPI_SUCCESS && size == 1);
    MPI_Group_free(&group);
}

/* What a session says of its level of thread support. */
static void level(const char *asked, const char *expected)
{
    MPI_Session session;
    MPI_Info info, hints = MPI_INFO_NULL;
    char text[32];
    int flag, len = sizeof text;
    if (asked) {
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "thread_level", asked);
    }
    session = (MPI_Session){0};
    int code = MPI_Session_init(hints, MPI_ERRORS_RETURN, &session);
    if (asked)
        MPI_Info_free(&hints);
    if (!expected) {
        CHECK_ERROR(code, MPI_ERR_INFO_VALUE);
        CHECK(session == MPI_SESSION_NULL);
        return;
    }
    CHECK(code == MPI_SUCCESS && MPI_Session_get_info(session, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(info, "thread_level", &len, text, &flag) == MPI_SUCCESS && flag && !strcmp(text, expected));
    MPI_Info_free(&info);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
}

static void levels(void)
{
    level("NONSENSE", NULL);
    level("", NULL);
    level("mpi_thread_single", NULL);
    level(NULL, "MPI_THREAD_MULTIPLE");
    level("MPI_THREAD_SINGLE", "MPI_THREAD_SINGLE");
    level("MPI_THREAD_FUNNELED", "MPI_THREAD_FUNNELED");
    level("MPI_THREAD_MULTIPLE", "MPI_THREAD_MULTIPLE");
}

static int own_calls, own_code;
static MPI_Comm own_comm = MPI_COMM_SELF;

static void own(MPI_Comm *comm, int *code, ...)
{
    own_calls++;
    own_comm = *comm;
    own_code = *code;
}

static void failed(int code, int expected, const MPI_Comm *made)
{
    CHECK_ERROR(code, expected);
    CHECK(own_calls == 1 && own_code == expected && own_comm == MPI_COMM_NULL && (!made || *made == MPI_COMM_NULL));
    own_calls = 0;
}

/* A call that was given an error handler uses that. */
static void given_handlers(MPI_Session session)
{
    MPI_Errhandler handler;
    MPI_Group world;
    MPI_Comm made = MPI_COMM_SELF;
    int other;
    CHECK(MPI_Group_from_session_pset(session, "mpi://world", &world) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "MPI://Self", &(MPI_Group){MPI_GROUP_NULL}) == MPI_SUCCESS);
    MPI_Comm_create_errhandler(own, &handler);
    failed(MPI_Comm_create_from_group(world, "x", MPI_INFO_NULL, handler, NULL), MPI_ERR_ARG, NULL);
    failed(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL, handler, &made), MPI_ERR_GROUP, &made);
    made = MPI_COMM_SELF;
    failed(MPI_Comm_create_from_group(world, NULL, MPI_INFO_NULL, handler, &made), MPI_ERR_ARG, &made);
    made = MPI_COMM_SELF;
    MPI_Group_size(world, &other);
    failed(MPI_Intercomm_create_from_groups(world, 0, world, other, "x", MPI_INFO_NULL, handler, &made), MPI_ERR_RANK, &made);
    MPI_Errhandler_free(&handler);
    MPI_Group_free(&world);
}

/* The buffer of a session is for what is made of its groups, and of that, but not for the world's. */
static void buffers(MPI_Session session)
{
    static char buffer[100 + MPI_BSEND_OVERHEAD];
    MPI_Group all;
    MPI_Comm made, part;
    MPI_Request request;
    void *address;
    int size = -1, got = -1, rank, value;
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(all, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
    MPI_Comm_rank(made, &rank);
    value = rank;
    CHECK(MPI_Comm_split(made, rank % 2, 0, &part) == MPI_SUCCESS);
    MPI_Comm_rank(part, &rank);
    CHECK_ERROR(MPI_Bsend(&value, 1, MPI_INT, rank, 1, part), MPI_ERR_BUFFER);
    CHECK(MPI_Session_attach_buffer(session, buffer, sizeof buffer) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Session_attach_buffer(session, buffer, sizeof buffer), MPI_ERR_BUFFER);
    CHECK(MPI_Bsend(&value, 1, MPI_INT, rank, 1, part) == MPI_SUCCESS);
    CHECK_ERROR(MPI_Bsend(buffer, sizeof buffer, MPI_CHAR, rank, 1, part), MPI_ERR_BUFFER);
    CHECK(MPI_Recv(&got, 1, MPI_INT, rank, 1, part, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == value);
    CHECK(MPI_Session_flush_buffer(session) == MPI_SUCCESS);
    CHECK(MPI_Session_iflush_buffer(session, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Session_detach_buffer(session, &address, &size) == MPI_SUCCESS);
    CHECK(address == buffer && size == (int)sizeof buffer);
    CHECK_ERROR(MPI_Session_detach_buffer(session, &address, &size), MPI_ERR_BUFFER);
    CHECK_ERROR(MPI_Bsend(&value, 1, MPI_INT, rank, 1, part), MPI_ERR_BUFFER);
    CHECK(MPI_Comm_free(&part) == MPI_SUCCESS && MPI_Comm_free(&made) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&all) == MPI_SUCCESS);
}

int main(void)
{
    levels();
    MPI_Session session, other, freed;
    MPI_Errhandler handler, got;
    MPI_Info info, hints;
    char text[16];
    int flag, number, len = sizeof text;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "colour", "red");
    CHECK(MPI_Session_init(hints, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS && session != MPI_SESSION_NULL);
    MPI_Info_free(&hints);
    CHECK(MPI_Session_get_info(session, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(info, "colour", &len, text, &flag) == MPI_SUCCESS && flag && !strcmp(text, "red"));
    MPI_Info_free(&info);
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
    sets(session);
    given_handlers(session);
    communicate(session, "first");
    buffers(session);
    /* Errors go to the session's handler. */
    CHECK(MPI_Session_create_errhandler(count, &handler) == MPI_SUCCESS);
    CHECK(MPI_Session_set_errhandler(session, handler) == MPI_SUCCESS);
    CHECK(MPI_Session_get_errhandler(session, &got) == MPI_SUCCESS && got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    CHECK_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &len, text), MPI_ERR_ARG);
    CHECK(calls == 1 && last_session == session && last_code == MPI_ERR_ARG);
    CHECK(MPI_Session_call_errhandler(session, MPI_ERR_TAG) == MPI_SUCCESS && calls == 2 && last_code == MPI_ERR_TAG);
    /* A second one, and one after all have ended. */
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other) == MPI_SUCCESS && other != session);
    freed = session;
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL);
    communicate(other, "second");
    CHECK(MPI_Session_finalize(&other) == MPI_SUCCESS);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other) == MPI_SUCCESS);
    communicate(other, "third");
    /* Beside the world, and longer than it. */
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Session_get_num_psets(freed, MPI_INFO_NULL, &number), MPI_ERR_SESSION);
    CHECK_ERROR(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &number), MPI_ERR_SESSION);
    CHECK_ERROR(MPI_Session_finalize(&freed), MPI_ERR_SESSION);
    CHECK_ERROR(MPI_Session_flush_buffer(MPI_SESSION_NULL), MPI_ERR_SESSION);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    communicate(other, "fourth");
    CHECK(MPI_Session_finalize(&other) == MPI_SUCCESS);
    return 0;
}
