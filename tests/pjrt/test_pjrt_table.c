/* The table of the device library, called as frameworks call it: buffers, programs, events, errors. */
#define _DEFAULT_SOURCE                 /* MAP_ANONYMOUS */
#include "import/hlo_proto/hlo.pb-c.h"
#include "tests/rigs/pjrt_rig.h"

#include "base/sanitized.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const char add_one[] =
    "HloModule add_one\nENTRY main {\n  x = f32[4] parameter(0)\n  one = f32[] constant(1)\n"
    "  ones = f32[4] broadcast(one), dimensions={}\n  ROOT y = f32[4] add(x, ones)\n}\n";
static const char donating[] =
    "HloModule donating, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY main {\n"
    "  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n";
static const float four[4] = {1, 2, 3, 4};
static const int64_t dims_of_four[1] = {4};

TEST(every_slot_of_the_table_is_filled)
{
    void *const *slot = (void *const *)(const void *)((const char *)guest_api + offsetof(struct PJRT_Api, PJRT_Error_Destroy));
    size_t count = (sizeof(*guest_api) - offsetof(struct PJRT_Api, PJRT_Error_Destroy)) / sizeof(*slot);

    assert_int_equal(guest_api->struct_size, sizeof(*guest_api));
    assert_int_equal(guest_api->pjrt_api_version.minor_version, PJRT_API_MINOR);
    assert_int_equal(count, 138);
    for (size_t i = 0; i < count; i++)
        assert_non_null(slot[i]);
}

TEST(the_client_has_the_devices_of_its_slice)
{
    ARGS(Client_Devices, devices, .client = guest_client);
    ARGS(Device_GetDescription, description, .device = guest_device(3));
    ARGS(DeviceDescription_Kind, kind);
    ARGS(Client_LookupDevice, none, .client = guest_client, .id = 4);

    CALL(Client_Devices, &devices);
    assert_int_equal(devices.num_devices, 4);
    CALL(Device_GetDescription, &description);
    kind.device_description = description.device_description;
    CALL(DeviceDescription_Kind, &kind);
    assert_int_equal(kind.device_kind_size, strlen("TPU v5 lite"));
    assert_memory_equal(kind.device_kind, "TPU v5 lite", kind.device_kind_size);
    guest_expect(guest_api->PJRT_Client_LookupDevice(&none), PJRT_Error_Code_INVALID_ARGUMENT, "0..3");
}

/* strides of the caller's array: turned, backwards, with gaps */
TEST(arrays_come_from_any_strides)
{
    static const struct { int64_t stride[2]; int first; } tried[] = {
        {{12, 4}, 0}, {{4, 8}, 0}, {{-12, 4}, 3}, {{12, -4}, 2}, {{24, 8}, 0}};
    static const int64_t dims[2] = {2, 3};
    float data[12], got[6];

    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    for (size_t t = 0; t < sizeof(tried) / sizeof(*tried); t++) {
        ARGS(Client_BufferFromHostBuffer, args, .client = guest_client, .data = data + tried[t].first,
             .dims = dims, .num_dims = 2, .type = PJRT_Buffer_Type_F32, .num_byte_strides = 2,
             .byte_strides = tried[t].stride, .device = guest_device(0));
        ARGS(Event_Destroy, destroy);

        CALL(Client_BufferFromHostBuffer, &args);
        destroy.event = args.done_with_host_buffer;
        CALL(Event_Destroy, &destroy);
        guest_read(args.buffer, got, sizeof(got));
        for (int i = 0; i < 6; i++) {
            int64_t at = tried[t].first + (i / 3 * tried[t].stride[0] + i % 3 * tried[t].stride[1]) / 4;

            assert_true(got[i] == data[at]);
        }
        guest_destroy(args.buffer);
    }
}

TEST(a_copy_to_the_host_has_the_order_that_is_asked_for)
{
    static const int64_t dims[2] = {2, 2}, order[2] = {0, 1};
    struct PJRT_Buffer_MemoryLayout layout = {.type = PJRT_Buffer_MemoryLayout_Type_Tiled,
        .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
    struct PJRT_Buffer *b = guest_buffer(0, four, 2, dims);
    float got[4];
    ARGS(Buffer_ToHostBuffer, size, .src = b);
    ARGS(Buffer_ToHostBuffer, args, .src = b, .dst = got, .dst_size = sizeof(got),
         .host_layout = &layout);
    ARGS(Buffer_ToHostBuffer, small, .src = b, .dst = got, .dst_size = 15);
    ARGS(Event_Await, await);
    ARGS(Event_Destroy, destroy);

    CALL(Buffer_ToHostBuffer, &size);
    assert_int_equal(size.dst_size, 16);
    assert_null(size.event);
    CALL(Buffer_ToHostBuffer, &args);
    await.event = destroy.event = args.event;
    CALL(Event_Await, &await);
    CALL(Event_Destroy, &destroy);
    assert_memory_equal(got, ((float[]){1, 3, 2, 4}), sizeof(got));
    guest_expect(guest_api->PJRT_Buffer_ToHostBuffer(&small), PJRT_Error_Code_INVALID_ARGUMENT, "16");
    guest_destroy(b);
}

TEST(a_program_is_launched_as_often_as_wanted)
{
    struct PJRT_LoadedExecutable *l = guest_compile(add_one);
    struct PJRT_Buffer *b = guest_buffer(0, four, 1, dims_of_four);
    float got[4];

    for (int i = 0; i < 20; i++) {
        struct PJRT_Buffer *next = guest_execute(l, &b, 1);

        guest_destroy(b);
        b = next;
    }
    guest_destroy_executable(l);          /* launches under way go on */
    guest_read(b, got, sizeof(got));
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == four[i] + 20);
    guest_destroy(b);
}

TEST(a_donated_argument_is_deleted_unless_it_must_stay)
{
    static const int64_t stays[1] = {0};
    struct PJRT_LoadedExecutable *l = guest_compile(donating);
    struct PJRT_Buffer *b = guest_buffer(0, four, 1, dims_of_four), *const *list = &b;
    struct PJRT_Buffer *output[1], **outputs = output, *y;
    struct PJRT_ExecuteOptions options = {.struct_size = sizeof(options),
        .non_donatable_input_indices = stays, .num_non_donatable_input_indices = 1};
    ARGS(LoadedExecutable_Execute, args, .executable = l, .options = &options,
         .argument_lists = &list, .num_devices = 1, .num_args = 1, .output_lists = &outputs);
    float got[4];

    CALL(LoadedExecutable_Execute, &args);
    assert_false(guest_is_deleted(b));
    guest_destroy(output[0]);
    y = guest_execute(l, &b, 1);
    assert_true(guest_is_deleted(b));
    guest_read(y, got, sizeof(got));
    assert_true(got[3] == 8);
    guest_expect(guest_api->PJRT_LoadedExecutable_Execute(&args), PJRT_Error_Code_INVALID_ARGUMENT, "donated");
    guest_destroy(b);
    guest_destroy(y);
    guest_destroy_executable(l);
}

TEST(arguments_that_do_not_fit_are_refused)
{
    static const int64_t dims[2] = {2, 2};
    struct PJRT_LoadedExecutable *l = guest_compile(add_one);
    struct PJRT_Buffer *b = guest_buffer(0, four, 2, dims), *const *list = &b;
    struct PJRT_Buffer *output[1], **outputs = output;
    struct PJRT_ExecuteOptions options = {.struct_size = sizeof(options)};
    ARGS(LoadedExecutable_Execute, args, .executable = l, .options = &options,
         .argument_lists = &list, .num_devices = 1, .num_args = 1, .output_lists = &outputs);

    guest_expect(guest_api->PJRT_LoadedExecutable_Execute(&args), PJRT_Error_Code_INVALID_ARGUMENT, "f32[4]");
    args.num_args = 0;
    guest_expect(guest_api->PJRT_LoadedExecutable_Execute(&args), PJRT_Error_Code_INVALID_ARGUMENT,
               "takes 1 arguments");
    guest_destroy(b);
    guest_destroy_executable(l);
}

/* an older caller's options end at the end of a page, with nothing behind it */
TEST(options_are_read_no_further_than_their_caller_says)
{
    enum { OLD_BYTES = 80 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct PJRT_LoadedExecutable *l = guest_compile(add_one);
    struct PJRT_Buffer *b = guest_buffer(0, four, 1, dims_of_four), *const *list = &b;
    struct PJRT_Buffer *output[1], **outputs = output;
    ARGS(LoadedExecutable_Execute, args, .executable = l, .argument_lists = &list,
         .num_devices = 1, .num_args = 1, .output_lists = &outputs);

    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    args.options = (struct PJRT_ExecuteOptions *)(void *)(pages + page - OLD_BYTES);
    memset(args.options, 0, OLD_BYTES);
    args.options->struct_size = OLD_BYTES;
    CALL(LoadedExecutable_Execute, &args);
    guest_destroy(output[0]);
    guest_destroy(b);
    guest_destroy_executable(l);
    munmap(pages, 2 * page);
}

static void count_call(struct PJRT_Error *error, void *user_arg)
{
    if (error)
        guest_expect(error, PJRT_Error_Code_DATA_LOSS, "a cable");
    atomic_fetch_add((atomic_int *)user_arg, error ? 100 : 1);
}

/* what never came is the error of all that was made of it, and of callbacks of events that are gone */
TEST(an_error_goes_from_the_argument_to_whoever_waits)
{
    struct PJRT_ShapeSpec spec = {.struct_size = sizeof(spec), .dims = dims_of_four, .num_dims = 1,
                                  .element_type = PJRT_Buffer_Type_F32};
    struct PJRT_LoadedExecutable *l = guest_compile(add_one);
    ARGS(Device_DefaultMemory, memory, .device = guest_device(0));
    ARGS(Client_CreateBuffersForAsyncHostToDevice, create, .client = guest_client, .shape_specs = &spec,
         .num_shape_specs = 1);
    ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    ARGS(AsyncHostToDeviceTransferManager_SetBufferError, set,
         .error_code = PJRT_Error_Code_DATA_LOSS, .error_message = "a cable", .error_message_size = 7);
    ARGS(AsyncHostToDeviceTransferManager_Destroy, destroy);
    ARGS(Buffer_ReadyEvent, ready);
    ARGS(Event_OnReady, then, .callback = count_call);
    ARGS(Event_Await, await);
    ARGS(Event_Destroy, destroy_event);
    static atomic_int calls;            /* of the client's thread */
    struct PJRT_Buffer *y;

    CALL(Device_DefaultMemory, &memory);
    create.memory = memory.memory;
    CALL(Client_CreateBuffersForAsyncHostToDevice, &create);
    retrieve.transfer_manager = set.transfer_manager = destroy.transfer_manager =
        create.transfer_manager;
    CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, &retrieve);
    y = guest_execute(l, &retrieve.buffer_out, 1);
    ready.buffer = y;
    CALL(Buffer_ReadyEvent, &ready);
    then.event = destroy_event.event = ready.event;
    then.user_arg = &calls;
    CALL(Event_OnReady, &then);
    CALL(Event_Destroy, &destroy_event);
    assert_int_equal(atomic_load(&calls), 0);
    CALL(AsyncHostToDeviceTransferManager_SetBufferError, &set);
    CALL(AsyncHostToDeviceTransferManager_Destroy, &destroy);
    CALL(Buffer_ReadyEvent, &ready);
    await.event = destroy_event.event = ready.event;
    guest_expect(guest_api->PJRT_Event_Await(&await), PJRT_Error_Code_DATA_LOSS, "a cable");
    while (atomic_load(&calls) == 0)
        sched_yield();
    assert_int_equal(atomic_load(&calls), 100);
    CALL(Event_Destroy, &destroy_event);
    guest_destroy(retrieve.buffer_out);
    guest_destroy(y);
    guest_destroy_executable(l);
}

TEST(arrays_that_a_device_has_no_room_for_are_refused)
{
    static const int64_t dims[2] = {1 << 16, 1 << 17};          /* 32 GiB of f32 */
    ARGS(Client_CreateUninitializedBuffer, args, .client = guest_client, .shape_dims = dims,
         .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32, .device = guest_device(1));

    guest_expect(guest_api->PJRT_Client_CreateUninitializedBuffer(&args), PJRT_Error_Code_RESOURCE_EXHAUSTED,
               "TPU_1 is out of memory");
}

/* on the host there is no such limit but the host's own */
TEST(memory_that_the_host_has_not_is_an_error)
{
    static const int64_t dims[2] = {1 << 20, 1 << 20};
    struct rlimit before, small;
    ARGS(Device_AddressableMemories, memories, .device = guest_device(0));
    ARGS(Client_CreateUninitializedBuffer, args, .client = guest_client, .shape_dims = dims,
         .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32);

#if SANITIZED_ADDRESS || SANITIZED_THREAD
    SKIP("sanitizers need the addresses themselves");
#endif
    CALL(Device_AddressableMemories, &memories);
    args.memory = memories.memories[1];
    getrlimit(RLIMIT_AS, &before);
    small = before;
    small.rlim_cur = (rlim_t)1 << 41;
    setrlimit(RLIMIT_AS, &small);
    guest_expect(guest_api->PJRT_Client_CreateUninitializedBuffer(&args), PJRT_Error_Code_RESOURCE_EXHAUSTED,
               "out of host memory");
    setrlimit(RLIMIT_AS, &before);
}

TEST(bytes_that_are_no_program_are_refused_with_their_reason)
{
    char code[] = "HloModule broken\nENTRY main {\n  ROOT x = f32[4] add(y, y)\n}\n";
    struct PJRT_Program program = {.struct_size = sizeof(program), .code = code,
        .code_size = sizeof(code) - 1, .format = "hlo", .format_size = 3};
    ARGS(Client_Compile, args, .client = guest_client, .program = &program, .compile_options = "");

    guest_expect(guest_api->PJRT_Client_Compile(&args), PJRT_Error_Code_INVALID_ARGUMENT, "program:3:");
    program.format = "llvm";
    program.format_size = 4;
    guest_expect(guest_api->PJRT_Client_Compile(&args), PJRT_Error_Code_INVALID_ARGUMENT, "mlir and hlo");
    program.format = "hlo";
    program.format_size = 3;
    args.compile_options = "\xff\xff\xff";
    args.compile_options_size = 3;
    guest_expect(guest_api->PJRT_Client_Compile(&args), PJRT_Error_Code_INVALID_ARGUMENT, "options");
}

TEST(a_program_that_names_more_devices_than_it_is_compiled_for_is_refused)
{
    char code[] = "HloModule sums\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                  "  ROOT c = f32[] add(a, b)\n}\nENTRY main {\n  x = f32[4] parameter(0)\n"
                  "  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=add\n}\n";
    struct PJRT_Program program = {.struct_size = sizeof(program), .code = code,
        .code_size = sizeof(code) - 1, .format = "hlo", .format_size = 3};
    ARGS(Client_Compile, args, .client = guest_client, .program = &program, .compile_options = "");

    guest_expect(guest_api->PJRT_Client_Compile(&args), PJRT_Error_Code_INVALID_ARGUMENT,
                 "the program names 2 devices, and is compiled for 1");
}

TEST(bytes_are_an_array_of_another_type_too)
{
    static const int64_t dims[2] = {8, 2}, five[1] = {5};
    struct PJRT_Buffer *b = guest_buffer(0, four, 1, dims_of_four);
    ARGS(Buffer_Bitcast, args, .buffer = b, .element_type = PJRT_Buffer_Type_U8, .dims = dims,
         .num_dims = 2);
    ARGS(Buffer_Bitcast, wrong, .buffer = b, .element_type = PJRT_Buffer_Type_F32, .dims = five,
         .num_dims = 1);
    float got[4];

    CALL(Buffer_Bitcast, &args);
    guest_destroy(b);
    guest_read(args.out_buffer, got, sizeof(got));
    assert_memory_equal(got, four, sizeof(got));
    guest_destroy(args.out_buffer);
    b = wrong.buffer = guest_buffer(0, four, 1, dims_of_four);
    guest_expect(guest_api->PJRT_Buffer_Bitcast(&wrong), PJRT_Error_Code_INVALID_ARGUMENT, "20");
    guest_destroy(b);
}

/* a placeholder is an argument before anybody has filled it */
TEST(a_placeholder_is_filled_later)
{
    struct PJRT_LoadedExecutable *l = guest_compile(add_one);
    ARGS(Device_DefaultMemory, memory, .device = guest_device(0));
    ARGS(Client_CreateAliasBuffer, create, .client = guest_client, .shape_dims = dims_of_four,
         .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
    ARGS(Client_FulfillAliasBuffer, fulfil, .client = guest_client);
    struct PJRT_Buffer *y, *b = guest_buffer(0, four, 1, dims_of_four);
    float got[4];

    CALL(Device_DefaultMemory, &memory);
    create.memory = memory.memory;
    CALL(Client_CreateAliasBuffer, &create);
    y = guest_execute(l, &create.alias_buffer, 1);
    fulfil.buffer = b;
    fulfil.fulfill_alias_buffer_cb = create.fulfill_alias_buffer_cb;
    CALL(Client_FulfillAliasBuffer, &fulfil);
    guest_read(y, got, sizeof(got));
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == four[i] + 1);
    guest_destroy(b);
    guest_destroy(y);
    guest_destroy(create.alias_buffer);
    guest_destroy_executable(l);
}

static void count_view(void *address, void *user_arg)
{
    *(int *)user_arg += address != NULL;
}

/* of the library's own addresses, in an order of dimensions that the caller says */
TEST(a_view_has_the_elements_of_an_address)
{
    static const int64_t dims[2] = {2, 2}, order[2] = {0, 1};
    struct PJRT_Buffer_MemoryLayout layout = {.type = PJRT_Buffer_MemoryLayout_Type_Tiled,
        .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
    struct PJRT_Buffer *b = guest_buffer(0, four, 2, dims);
    ARGS(Buffer_UnsafePointer, address, .buffer = b);
    int done = 0;
    float got[4];
    ARGS(Client_CreateViewOfDeviceBuffer, view, .client = guest_client, .dims = dims,
         .num_dims = 2, .element_type = PJRT_Buffer_Type_F32, .layout = &layout,
         .device = guest_device(1), .on_delete_callback = count_view,
         .on_delete_callback_arg = &done);
    ARGS(Client_CreateViewOfDeviceBuffer, nothing, .client = guest_client, .dims = dims,
         .num_dims = 2, .element_type = PJRT_Buffer_Type_F32, .device = guest_device(1));

    CALL(Buffer_UnsafePointer, &address);
    view.device_buffer_ptr = (void *)address.buffer_pointer;
    CALL(Client_CreateViewOfDeviceBuffer, &view);
    guest_destroy(b);
    guest_read(view.buffer, got, sizeof(got));
    assert_memory_equal(got, ((float[]){1, 3, 2, 4}), sizeof(got));
    assert_int_equal(done, 1);
    guest_destroy(view.buffer);
    guest_expect(guest_api->PJRT_Client_CreateViewOfDeviceBuffer(&nothing),
                 PJRT_Error_Code_INVALID_ARGUMENT, "no address");
}

static struct PJRT_Error *error_of(struct PJRT_Buffer *b)
{
    ARGS(Buffer_ReadyEvent, ready, .buffer = b);
    ARGS(Event_Await, await);
    ARGS(Event_Destroy, destroy);
    struct PJRT_Error *error;

    CALL(Buffer_ReadyEvent, &ready);
    await.event = destroy.event = ready.event;
    error = guest_api->PJRT_Event_Await(&await);
    CALL(Event_Destroy, &destroy);
    return error;
}

TEST(a_donated_array_comes_when_what_it_waits_for_has_come)
{
    enum PJRT_Error_Code codes[2] = {PJRT_Error_Code_OK, PJRT_Error_Code_CANCELLED};
    struct PJRT_LoadedExecutable *l = guest_compile(add_one);
    float got[4];

    for (int i = 0; i < 2; i++) {
        struct PJRT_Buffer *b = guest_buffer(0, four, 1, dims_of_four), *y;
        ARGS(Buffer_DonateWithControlDependency, donate, .buffer = b);
        struct PJRT_Buffer_DonateWithControlDependency_Callback_Args comes = {
            .struct_size = sizeof(comes), .error_code = codes[i], .error_message = "too late",
            .error_message_size = 8};

        CALL(Buffer_DonateWithControlDependency, &donate);
        assert_true(guest_is_deleted(b));
        y = guest_execute(l, &donate.out_buffer, 1);
        comes.callback_data = donate.callback_data;
        donate.dependency_ready_callback(&comes);
        if (i == 0)
            guest_read(y, got, sizeof(got));
        else
            guest_expect(error_of(y), PJRT_Error_Code_CANCELLED, "too late");
        guest_expect(guest_api->PJRT_Buffer_DonateWithControlDependency(&donate),
                     PJRT_Error_Code_INVALID_ARGUMENT, "donated");
        guest_destroy(b);
        guest_destroy(y);
        guest_destroy(donate.out_buffer);
    }
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == four[i] + 1);
    guest_destroy_executable(l);
}

/* launch 7 waits behind one whose argument has not come */
TEST(a_launch_that_waits_is_told_to_fail)
{
    struct PJRT_LoadedExecutable *l = guest_compile(add_one);
    struct PJRT_ExecuteOptions options = {.struct_size = sizeof(options), .launch_id = 7};
    struct PJRT_Buffer *b = guest_buffer(0, four, 1, dims_of_four), *const *list = &b, *first;
    struct PJRT_Buffer *output[1], **outputs = output;
    ARGS(LoadedExecutable_Execute, args, .executable = l, .options = &options,
         .argument_lists = &list, .num_devices = 1, .num_args = 1, .output_lists = &outputs);
    ARGS(Device_DefaultMemory, memory, .device = guest_device(0));
    ARGS(Client_CreateAliasBuffer, create, .client = guest_client, .shape_dims = dims_of_four,
         .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
    ARGS(Client_FulfillAliasBuffer, fulfil, .client = guest_client, .buffer = b);
    ARGS(Device_PoisonExecution, poison, .device = guest_device(0), .launch_id = 7,
         .error_code = PJRT_Error_Code_ABORTED, .error_message = "a mask", .error_message_size = 6);
    ARGS(Device_PoisonExecution, elsewhere, .device = guest_device(1), .launch_id = 7,
         .error_code = PJRT_Error_Code_ABORTED, .error_message = "", .error_message_size = 0);
    float got[4];

    CALL(Device_DefaultMemory, &memory);
    create.memory = memory.memory;
    CALL(Client_CreateAliasBuffer, &create);
    first = guest_execute(l, &create.alias_buffer, 1);
    CALL(LoadedExecutable_Execute, &args);
    CALL(Device_PoisonExecution, &elsewhere);
    assert_false(elsewhere.poisoned);
    CALL(Device_PoisonExecution, &poison);
    assert_true(poison.poisoned);
    CALL(Device_PoisonExecution, &poison);
    assert_false(poison.poisoned);
    fulfil.fulfill_alias_buffer_cb = create.fulfill_alias_buffer_cb;
    CALL(Client_FulfillAliasBuffer, &fulfil);
    guest_read(first, got, sizeof(got));
    assert_true(got[0] == 2);
    guest_expect(error_of(output[0]), PJRT_Error_Code_ABORTED, "a mask");
    guest_destroy(output[0]);
    guest_destroy(first);
    guest_destroy(create.alias_buffer);
    guest_destroy(b);
    guest_destroy_executable(l);
}

TEST(a_shape_in_a_kind_of_memory_is_told)
{
    static const int64_t dims[2] = {3, 5}, order[2] = {0, 1};
    struct PJRT_Buffer_MemoryLayout layout = {.type = PJRT_Buffer_MemoryLayout_Type_Tiled,
        .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
    ARGS(Client_TopologyDescription, topology, .client = guest_client);
    ARGS(TopologyDescription_MakeCanonicalShapeForMemorySpace, make, .memory_space_kind_id = 1,
         .dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32, .layout = &layout);
    HloWire__Shape *shape;

    CALL(Client_TopologyDescription, &topology);
    make.topology = topology.topology;
    CALL(TopologyDescription_MakeCanonicalShapeForMemorySpace, &make);
    shape = hlo_wire__shape__unpack(NULL, make.serialized_shape_size,
                                    (const uint8_t *)make.serialized_shape);
    assert_non_null(shape);
    assert_int_equal(shape->n_dimensions, 2);
    assert_int_equal(shape->dimensions[1], 5);
    assert_int_equal(shape->layout->minor_to_major[0], 0);
    assert_int_equal(shape->layout->memory_space, 5);
    hlo_wire__shape__free_unpacked(shape, NULL);
    make.serialized_shape_deleter(make.serialized_shape);
    make.memory_space_kind_id = 3;
    guest_expect(guest_api->PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace(&make),
                 PJRT_Error_Code_INVALID_ARGUMENT, "0..2");
}

/* one core of a chip whose two cores are one device */
TEST(part_of_a_device_is_refused)
{
    ARGS(TopologyDescription_Create, create, .topology_name = "v4-1", .topology_name_size = 4);

    guest_expect(guest_api->PJRT_TopologyDescription_Create(&create),
                 PJRT_Error_Code_INVALID_ARGUMENT, "the smallest slice is v4-2");
}

static int64_t bytes_in_use(int device)
{
    ARGS(Device_MemoryStats, args, .device = guest_device(device));

    CALL(Device_MemoryStats, &args);
    return args.bytes_in_use;
}

TEST(memory_in_use_is_given_back)
{
    static const int64_t dims[2] = {9, 129};                    /* 2 x 2 tiles */
    int64_t before = bytes_in_use(2);
    float *data = calloc(9 * 129, sizeof(*data));
    struct PJRT_Buffer *b = guest_buffer(2, data, 2, dims);

    free(data);
    assert_int_equal(bytes_in_use(2) - before, 4 * 4096);
    guest_destroy(b);
    assert_int_equal(bytes_in_use(2), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_of_the_table_is_filled),
        cmocka_unit_test(the_client_has_the_devices_of_its_slice),
        cmocka_unit_test(arrays_come_from_any_strides),
        cmocka_unit_test(a_copy_to_the_host_has_the_order_that_is_asked_for),
        cmocka_unit_test(a_program_is_launched_as_often_as_wanted),
        cmocka_unit_test(a_donated_argument_is_deleted_unless_it_must_stay),
        cmocka_unit_test(arguments_that_do_not_fit_are_refused),
        cmocka_unit_test(options_are_read_no_further_than_their_caller_says),
        cmocka_unit_test(an_error_goes_from_the_argument_to_whoever_waits),
        cmocka_unit_test(arrays_that_a_device_has_no_room_for_are_refused),
        cmocka_unit_test(memory_that_the_host_has_not_is_an_error),
        cmocka_unit_test(bytes_that_are_no_program_are_refused_with_their_reason),
        cmocka_unit_test(memory_in_use_is_given_back),
        cmocka_unit_test(a_program_that_names_more_devices_than_it_is_compiled_for_is_refused),
        cmocka_unit_test(bytes_are_an_array_of_another_type_too),
        cmocka_unit_test(a_placeholder_is_filled_later),
        cmocka_unit_test(a_view_has_the_elements_of_an_address),
        cmocka_unit_test(a_donated_array_comes_when_what_it_waits_for_has_come),
        cmocka_unit_test(a_launch_that_waits_is_told_to_fail),
        cmocka_unit_test(a_shape_in_a_kind_of_memory_is_told),
        cmocka_unit_test(part_of_a_device_is_refused),
    };
    return cmocka_run_group_tests(tests, guest_load, guest_unload);
}
