/* Events for tools (MPI-5.0 section 15.3.8): what happens to messages, told to those who have registered before or after
 * MPI_Init. ranks: 1 2 */
#include "check.h"

enum { WAY, UNEXPECTED, LATE_RECEIVER, LATE_SENDER, TYPES };

static const char *names[TYPES] = {"message_way", "unexpected_message", "late_receiver", "late_sender"};

/* What a callback has seen last of a type, of messages of the program, and how often it was called. */
static struct seen {
    int calls, process, tag, way;
    unsigned long long bytes;
    MPI_Count timestamp;
} seen[TYPES];

static int freed, dropped;

static void see(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    struct seen *of = data;
    int is_way = of == &seen[WAY], source = -1, collective = -1, tag = -1;
    union {
        char bytes[24];
        int numbers[6];
    } whole;
    MPI_Count now = 0;
    CHECK(registration != NULL && (safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED || safety == MPI_T_CB_REQUIRE_THREAD_SAFE));
    CHECK(MPI_T_event_read(instance, 3, &collective) == MPI_SUCCESS && (collective == 0 || collective == 1));
    if (collective)
        return;
    memset(&whole, 0x55, sizeof whole);
    CHECK(MPI_T_event_copy(instance, &whole) == MPI_SUCCESS && (is_way || whole.numbers[5] == 0x55555555));
    CHECK(MPI_T_event_read(instance, 0, &of->process) == MPI_SUCCESS && whole.numbers[0] == of->process);
    CHECK(MPI_T_event_read(instance, 1, &tag) == MPI_SUCCESS && whole.numbers[1] == tag);
    CHECK(MPI_T_event_read(instance, 2, &of->bytes) == MPI_SUCCESS && !memcmp(&of->bytes, whole.bytes + 8, 8));
    CHECK(MPI_T_event_read(instance, 4, &of->way) == (is_way ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX));
    CHECK(MPI_T_event_read(instance, -1, &source) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_source(instance, &source) == MPI_SUCCESS && source == 0);
    CHECK(MPI_T_event_get_timestamp(instance, &of->timestamp) == MPI_SUCCESS && of->timestamp > 0);
    CHECK(MPI_T_source_get_timestamp(0, &now) == MPI_SUCCESS && now >= of->timestamp);
    of->tag = tag;
    of->calls++;
}

static void never(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)instance, (void)registration, (void)safety, (void)data;
    CHECK(!"events never happen where a callback may do everything");
}

static void lose(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *data)
{
    CHECK(registration != NULL && source == 0 && data == &dropped && safety != MPI_T_CB_REQUIRE_NONE);
    dropped += (int)count;
}

static void forget(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    CHECK(registration != NULL && safety == MPI_T_CB_REQUIRE_NONE && data == &freed);
    freed++;
}

/* Every type has a name that finds it, elements that do not overlap, and names for these. */
static void types(void)
{
    static char text[200], description[200];
    int number = 0, index, found, name_len, description_len, elements, verbosity, bind, item, value, keys;
    MPI_Datatype datatypes[8];
    MPI_Aint displacements[8];
    MPI_T_enum enumeration;
    MPI_Info info;
    CHECK(MPI_T_event_get_num(&number) == MPI_SUCCESS && number == TYPES);
    for (index = 0; index < number; index++) {
        name_len = description_len = sizeof text;
        elements = 8;
        CHECK(MPI_T_event_get_info(index, text, &name_len, &verbosity, datatypes, displacements, &elements, &enumeration,
                                   &info, description, &description_len, &bind) == MPI_SUCCESS);
        CHECK(!strcmp(text, names[index]) && name_len == (int)strlen(text) + 1 && description_len > 20);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && elements == (index == WAY ? 5 : 4));
        CHECK(datatypes[0] == MPI_INT && datatypes[2] == MPI_UNSIGNED_LONG_LONG && displacements[2] == 8);
        CHECK(MPI_Info_get_nkeys(info, &keys) == MPI_SUCCESS && keys == (index == WAY ? 7 : 0));
        CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
        CHECK(MPI_T_event_get_index(text, &found) == MPI_SUCCESS && found == index);
        name_len = sizeof text;
        CHECK(MPI_T_enum_get_info(enumeration, &number, text, &name_len) == MPI_SUCCESS && number == elements);
        for (item = 0; item < number; item++) {
            name_len = sizeof text;
            CHECK(MPI_T_enum_get_item(enumeration, item, &value, text, &name_len) == MPI_SUCCESS && value == item);
        }
        CHECK(MPI_T_enum_get_item(enumeration, number, &value, text, &name_len) == MPI_T_ERR_INVALID_ITEM);
        number = TYPES;
    }
    elements = 1;
    datatypes[1] = MPI_CHAR;
    CHECK(MPI_T_event_get_info(0, NULL, NULL, NULL, datatypes, NULL, &elements, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(elements == 5 && datatypes[0] == MPI_INT && datatypes[1] == MPI_CHAR);
    CHECK(MPI_T_event_get_index("transfer", &found) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
}

static void sources(void)
{
    static char text[200];
    int number = 0, name_len = sizeof text, keys = -1;
    MPI_T_source_order order;
    MPI_Count ticks, most, first, second;
    MPI_Info info;
    CHECK(MPI_T_source_get_num(&number) == MPI_SUCCESS && number == 1);
    CHECK(MPI_T_source_get_info(0, text, &name_len, NULL, NULL, &order, &ticks, &most, &info) == MPI_SUCCESS);
    CHECK(!strcmp(text, "engine") && ticks == 1000000000 && most > ticks);
    CHECK(order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED);
    CHECK(MPI_Info_get_nkeys(info, &keys) == MPI_SUCCESS && keys == 0 && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_timestamp(0, &first) == MPI_SUCCESS && MPI_T_source_get_timestamp(0, &second) == MPI_SUCCESS);
    CHECK(first > 0 && second >= first && MPI_T_source_get_timestamp(1, &first) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_source_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
}

static void hints(MPI_T_event_registration registration)
{
    int keys = -1;
    MPI_Info info;
    CHECK(MPI_T_event_handle_get_info(registration, &info) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_set_info(registration, info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(info, &keys) == MPI_SUCCESS && keys == 0 && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, &info) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, info) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info) == MPI_T_ERR_INVALID);
}

static MPI_T_event_registration enlist(int type, MPI_T_cb_safety safety, MPI_T_event_cb_function function, void *data)
{
    MPI_T_event_registration registration;
    CHECK(MPI_T_event_handle_alloc(type, NULL, MPI_INFO_NULL, &registration) == MPI_SUCCESS && registration != NULL);
    CHECK(MPI_T_event_register_callback(registration, safety, MPI_INFO_NULL, data, function) == MPI_SUCCESS);
    return registration;
}

/* One message of each kind from rank 0 to rank 1. */
static void messages(int rank)
{
    static char large[1 << 20], small[100];
    MPI_Request request;
    if (rank == 0) {
        CHECK(MPI_Send(small, 100, MPI_CHAR, 1, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Send(small, 10, MPI_CHAR, 1, 8, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Send(large, sizeof large, MPI_CHAR, 1, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Recv(small, 100, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Irecv(small, 10, MPI_CHAR, 0, 8, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Recv(large, sizeof large, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void happened(int rank)
{
    if (rank == 0) {
        CHECK(seen[WAY].calls == 3 && seen[WAY].process == 1 && seen[WAY].tag == 9 && seen[WAY].bytes == 1 << 20);
        CHECK(seen[WAY].way > 0 && seen[WAY].way < 7);
        CHECK(seen[UNEXPECTED].calls == 0 && seen[LATE_RECEIVER].calls == 0 && seen[LATE_SENDER].calls == 0);
        return;
    }
    /* The large one may come before its receive or after. */
    CHECK(seen[WAY].calls == 0 && seen[UNEXPECTED].calls >= 1 && seen[LATE_RECEIVER].calls == seen[UNEXPECTED].calls);
    CHECK(seen[LATE_SENDER].calls + seen[LATE_RECEIVER].calls == 3 && seen[LATE_SENDER].calls >= 1);
    CHECK(seen[LATE_SENDER].process == 0 && (seen[LATE_SENDER].tag == 8 || seen[LATE_SENDER].tag == 9));
    CHECK(seen[LATE_RECEIVER].tag == 7 || seen[LATE_RECEIVER].tag == 9);
    CHECK(seen[LATE_RECEIVER].timestamp >= seen[UNEXPECTED].timestamp);
}

/* Of a message to oneself, an event that nobody may be called for is lost, and counted. */
static void lost(void)
{
    char byte = 1;
    MPI_Request request;
    MPI_T_event_registration registration = enlist(UNEXPECTED, MPI_T_CB_REQUIRE_NONE, never, &dropped);
    CHECK(MPI_T_event_set_dropped_handler(registration, lose) == MPI_SUCCESS);
    CHECK(MPI_Send(&byte, 0, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_SELF) == MPI_SUCCESS && dropped == 0);
    CHECK(MPI_Isend(&byte, 0, MPI_CHAR, 0, 3, MPI_COMM_SELF, &request) == MPI_SUCCESS && dropped > 0);
    CHECK(MPI_Recv(&byte, 0, MPI_CHAR, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(registration, &freed, forget) == MPI_SUCCESS && freed == 1);
    CHECK(MPI_T_event_handle_free(registration, &freed, forget) == MPI_T_ERR_INVALID_HANDLE && freed == 1);
    CHECK(MPI_T_event_set_dropped_handler(registration, lose) == MPI_T_ERR_INVALID_HANDLE);
}

int main(int argc, char **argv)
{
    MPI_T_event_registration registrations[TYPES];
    struct seen before;
    int provided, rank, size, type;
    CHECK(MPI_T_event_get_num(&provided) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    types();
    sources();
    for (type = 0; type < 2; type++)
        registrations[type] = enlist(type, MPI_T_CB_REQUIRE_THREAD_SAFE, see, &seen[type]);
    MPI_Init(&argc, &argv);
    for (; type < TYPES; type++)
        registrations[type] = enlist(type, MPI_T_CB_REQUIRE_THREAD_SAFE, see, &seen[type]);
    CHECK(MPI_T_event_handle_alloc(TYPES, NULL, MPI_INFO_NULL, &registrations[0]) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_register_callback(registrations[0], 4711, MPI_INFO_NULL, NULL, see) == MPI_T_ERR_INVALID);
    hints(registrations[0]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 2) {
        messages(rank);
        happened(rank);
    }
    lost();
    for (type = 0; type < TYPES; type++)
        CHECK(MPI_T_event_handle_free(registrations[type], &freed, type % 2 ? forget : NULL) == MPI_SUCCESS);
    CHECK(freed == 3);
    before = seen[WAY];
    /* Nobody observes any more, at either rank. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (size == 2)
        messages(rank);
    CHECK(seen[WAY].calls == before.calls);
    MPI_Finalize();
    types();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    return 0;
}
