/* The tool information interface (MPI-5.0 section 15.3): what there is and what it says, before MPI_Init, between, and
 * after MPI_Finalize. ranks: 1 2 */
#include "check.h"

static char text[4096], description[4096];

/* Every control variable has a name that finds it, a description, and a value. */
static void control_variables(void)
{
    int number = 0, index, name_len, description_len, verbosity, bind, scope, found, count;
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle;
    unsigned long long value;
    CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number > 20);
    for (index = 0; index < number; index++) {
        name_len = description_len = sizeof text;
        CHECK(MPI_T_cvar_get_info(index, text, &name_len, &verbosity, &datatype, &enumeration, description,
                                  &description_len, &bind, &scope) == MPI_SUCCESS);
        CHECK(name_len == (int)strlen(text) + 1 && description_len == (int)strlen(description) + 1 && name_len > 5);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && scope == MPI_T_SCOPE_READONLY && enumeration == MPI_T_ENUM_NULL);
        CHECK(MPI_T_cvar_get_index(text, &found) == MPI_SUCCESS && found == index);
        CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS);
        if (datatype == MPI_CHAR) {
            CHECK(count <= (int)sizeof description && verbosity == MPI_T_VERBOSITY_USER_BASIC);
            CHECK(MPI_T_cvar_read(handle, description) == MPI_SUCCESS);
            CHECK(!strcmp(description, getenv(text) ? getenv(text) : ""));
        } else {
            CHECK(datatype == MPI_UNSIGNED_LONG_LONG && count == 1);
            value = ~0ull;
            CHECK(MPI_T_cvar_read(handle, &value) == MPI_SUCCESS && value < 1ull << 41);
        }
        CHECK(MPI_T_cvar_write(handle, description) == MPI_T_ERR_CVAR_SET_NEVER);
        CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
        CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
    }
    /* As much as has room, and how much there is. */
    name_len = 4;
    CHECK(MPI_T_cvar_get_info(0, text, &name_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(!strcmp(text, "RWM") && name_len > 5);
    CHECK(MPI_T_cvar_get_info(number, text, &name_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_info(-1, text, &name_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_index("eager_limit", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_num(NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &number) == MPI_T_ERR_INVALID_HANDLE);
}

/* The value of a performance variable, by name. */
static unsigned long long value_of(const char *name, int class)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value = ~0ull;
    int index, count;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS && session != MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_stop(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_write(session, handle, &value) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(session, handle, &value) == MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS && handle == MPI_T_PVAR_HANDLE_NULL);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    return value;
}

/* A variable whose value is an item of an enumeration. */
static void state(int index, MPI_T_enum enumeration)
{
    char name[20];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count, number = 0, value[2] = {-1, -1}, item = -1, name_len = sizeof name;
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_T_pvar_read(session, handle, value) == MPI_SUCCESS && value[1] == -1);
    CHECK(MPI_T_enum_get_info(enumeration, &number, name, &name_len) == MPI_SUCCESS && number == 3);
    CHECK(!strcmp(name, "protocol") && name_len == 9 && value[0] >= 0 && value[0] < number);
    name_len = sizeof name;
    CHECK(MPI_T_enum_get_item(enumeration, value[0], &item, name, &name_len) == MPI_SUCCESS && item == value[0]);
    CHECK(getenv("RWMPI_PROTOCOL") || !strcmp(name, "auto"));
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
}

static void performance_variables(void)
{
    int number = 0, index, name_len, description_len, verbosity, class, bind, readonly, continuous, atomic, found;
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    CHECK(MPI_T_pvar_get_num(&number) == MPI_SUCCESS && number > 10);
    for (index = 0; index < number; index++) {
        name_len = description_len = sizeof text;
        CHECK(MPI_T_pvar_get_info(index, text, &name_len, &verbosity, &class, &datatype, &enumeration, description,
                                  &description_len, &bind, &readonly, &continuous, &atomic) == MPI_SUCCESS);
        CHECK(name_len == (int)strlen(text) + 1 && description_len == (int)strlen(description) + 1);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && readonly && continuous && !atomic);
        CHECK(datatype == (class == MPI_T_PVAR_CLASS_STATE ? MPI_INT : MPI_UNSIGNED_LONG_LONG));
        CHECK((enumeration == MPI_T_ENUM_NULL) == (class != MPI_T_PVAR_CLASS_STATE));
        CHECK(MPI_T_pvar_get_index(text, class, &found) == MPI_SUCCESS && found == index);
        CHECK(MPI_T_pvar_get_index(text, MPI_T_PVAR_CLASS_TIMER, &found) == MPI_T_ERR_INVALID_NAME);
        if (class == MPI_T_PVAR_CLASS_STATE)
            state(index, enumeration);
        else
            value_of(text, class);
    }
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, number, NULL, &handle, &found) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_HANDLE_NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &found) == MPI_T_ERR_INVALID_SESSION);
}

/* Each variable is in one category. */
static void categories(void)
{
    static int indices[200];
    int number = 0, index, name_len, cvars, pvars, subcategories, of_control = 0, of_performance = 0, of_events = 0;
    int all, found;
    CHECK(MPI_T_category_get_num(&number) == MPI_SUCCESS && number > 2);
    for (index = 0; index < number; index++) {
        name_len = sizeof text;
        CHECK(MPI_T_category_get_info(index, text, &name_len, NULL, NULL, &cvars, &pvars, &subcategories) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_index(text, &found) == MPI_SUCCESS && found == index && subcategories == 0);
        memset(indices, -1, sizeof indices);
        CHECK(MPI_T_category_get_cvars(index, 200, indices) == MPI_SUCCESS && indices[cvars] == -1);
        CHECK(cvars == 0 || indices[0] == of_control);
        CHECK(MPI_T_category_get_pvars(index, 200, indices) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_categories(index, 200, indices) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_num_events(index, &found) == MPI_SUCCESS && found >= 0);
        CHECK(MPI_T_category_get_events(index, 200, indices) == MPI_SUCCESS && (found == 0 || indices[0] == of_events));
        of_events += found;
        of_control += cvars;
        of_performance += pvars;
    }
    CHECK(MPI_T_cvar_get_num(&all) == MPI_SUCCESS && all == of_control);
    CHECK(MPI_T_pvar_get_num(&all) == MPI_SUCCESS && all == of_performance);
    CHECK(MPI_T_event_get_num(&all) == MPI_SUCCESS && all == of_events);
    CHECK(MPI_T_category_get_cvars(number, 1, indices) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_index("transport", &found) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_changed(&all) == MPI_SUCCESS && MPI_T_category_changed(&found) == MPI_SUCCESS && all == found);
}

static void everything(void)
{
    control_variables();
    performance_variables();
    categories();
}

/* What is sent and what is unexpected is counted. */
static void traffic(void)
{
    static char data[100];
    unsigned long long messages, bytes, waiting;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || rank > 1)
        return;
    messages = value_of("messages", MPI_T_PVAR_CLASS_COUNTER);
    bytes = value_of("bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    waiting = value_of("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL);
    if (rank == 0) {
        CHECK(MPI_Send(data, 100, MPI_CHAR, 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Send(data, 10, MPI_CHAR, 1, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(value_of("messages", MPI_T_PVAR_CLASS_COUNTER) == messages + 2);
        CHECK(value_of("bytes", MPI_T_PVAR_CLASS_AGGREGATE) == bytes + 110);
    } else {
        CHECK(MPI_Recv(data, 10, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value_of("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL) == waiting + 1);
        CHECK(value_of("unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL) >= 100);
        CHECK(MPI_Recv(data, 100, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value_of("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL) == waiting);
    }
}

int main(int argc, char **argv)
{
    int provided = -1, number = 4711;
    CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS && provided == MPI_THREAD_FUNNELED);
    everything();
    MPI_Init(&argc, &argv);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_SERIALIZED);
    everything();
    traffic();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    MPI_Finalize();
    everything();
    CHECK(value_of("messages", MPI_T_PVAR_CLASS_COUNTER) == 0);
    CHECK(MPI_T_finalize() == MPI_SUCCESS && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    return 0;
}
