/* Loads the device library and calls it as frameworks do. */
#include "tests/rigs/pjrt_rig.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const struct PJRT_Api *guest_api;
struct PJRT_Client *guest_client;

int guest_load(void **state)
{
    const char *path = getenv("SYSTOLE_PJRT");
    void *library = dlopen(path ? path : "build/libsystole_pjrt.so", RTLD_LAZY | RTLD_LOCAL);
    const struct PJRT_Api *(*get)(void);
    ARGS(Plugin_Initialize, initialize);
    ARGS(Client_Create, create);

    (void)state;
    if (!library) {
        print_message("%s\n", dlerror());
        return -1;
    }
    *(void **)&get = dlsym(library, "GetPjrtApi");
    assert_non_null(get);
    guest_api = get();
    setenv("SYSTOLE_TPU", "v5e-4", 1);
    CALL(Plugin_Initialize, &initialize);
    CALL(Client_Create, &create);
    guest_client = create.client;
    return 0;
}

int guest_unload(void **state)
{
    ARGS(Client_Destroy, destroy, .client = guest_client);

    (void)state;
    CALL(Client_Destroy, &destroy);
    return 0;
}

static const char *message_of(struct PJRT_Error *error, size_t *size)
{
    ARGS(Error_Message, args, .error = error);

    guest_api->PJRT_Error_Message(&args);
    *size = args.message_size;
    return args.message;
}

static void destroy_error(struct PJRT_Error *error)
{
    ARGS(Error_Destroy, args, .error = error);

    guest_api->PJRT_Error_Destroy(&args);
}

void guest_succeed(struct PJRT_Error *error, const char *name)
{
    const char *message;
    size_t size;

    if (!error)
        return;
    message = message_of(error, &size);
    fail_msg("%s: %.*s", name, (int)size, message);
}

void guest_expect(struct PJRT_Error *error, enum PJRT_Error_Code code, const char *text)
{
    ARGS(Error_GetCode, got, .error = error);
    const char *message;
    char copy[2000];
    size_t size;

    assert_non_null(error);
    CALL(Error_GetCode, &got);
    message = message_of(error, &size);
    snprintf(copy, sizeof(copy), "%.*s", (int)size, message);
    destroy_error(error);
    if (got.code != code || !strstr(copy, text))
        fail_msg("code %d, wanted %d with \"%s\": %s", (int)got.code, (int)code, text, copy);
}

struct PJRT_Device *guest_device(int id)
{
    ARGS(Client_LookupDevice, args, .client = guest_client, .id = id);

    CALL(Client_LookupDevice, &args);
    return args.device;
}

struct PJRT_Buffer *guest_buffer(int device, const float *data, size_t rank, const int64_t *dims)
{
    ARGS(Client_BufferFromHostBuffer, args, .client = guest_client, .data = data, .dims = dims,
         .num_dims = rank, .type = PJRT_Buffer_Type_F32, .device = guest_device(device));
    ARGS(Event_Destroy, destroy);

    CALL(Client_BufferFromHostBuffer, &args);
    destroy.event = args.done_with_host_buffer;
    CALL(Event_Destroy, &destroy);
    return args.buffer;
}

void guest_read(struct PJRT_Buffer *b, void *to, size_t bytes)
{
    ARGS(Buffer_ToHostBuffer, args, .src = b, .dst = to, .dst_size = bytes);
    ARGS(Event_Await, await);
    ARGS(Event_Destroy, destroy);

    CALL(Buffer_ToHostBuffer, &args);
    await.event = destroy.event = args.event;
    CALL(Event_Await, &await);
    CALL(Event_Destroy, &destroy);
}

void guest_destroy(struct PJRT_Buffer *b)
{
    ARGS(Buffer_Destroy, args, .buffer = b);

    CALL(Buffer_Destroy, &args);
}

bool guest_is_deleted(struct PJRT_Buffer *b)
{
    ARGS(Buffer_IsDeleted, args, .buffer = b);

    CALL(Buffer_IsDeleted, &args);
    return args.is_deleted;
}

struct PJRT_LoadedExecutable *guest_compile(const char *hlo)
{
    char code[4096];
    struct PJRT_Program program = {.struct_size = sizeof(program), .code = code,
                                   .code_size = strlen(hlo), .format = "hlo", .format_size = 3};
    ARGS(Client_Compile, args, .client = guest_client, .program = &program, .compile_options = "");

    snprintf(code, sizeof(code), "%s", hlo);
    CALL(Client_Compile, &args);
    memset(code, 0, sizeof(code));      /* it lives during the call alone */
    return args.executable;
}

void guest_destroy_executable(struct PJRT_LoadedExecutable *l)
{
    ARGS(LoadedExecutable_Destroy, args, .executable = l);

    CALL(LoadedExecutable_Destroy, &args);
}

struct PJRT_Buffer *guest_execute(struct PJRT_LoadedExecutable *l, struct PJRT_Buffer *const *argument,
                                size_t count)
{
    struct PJRT_ExecuteOptions options = {.struct_size = sizeof(options)};
    struct PJRT_Buffer *output[1] = {NULL}, **outputs = output;
    ARGS(LoadedExecutable_Execute, args, .executable = l, .options = &options,
         .argument_lists = &argument, .num_devices = 1, .num_args = count,
         .output_lists = &outputs);

    CALL(LoadedExecutable_Execute, &args);
    return output[0];
}
