/*
 * Any bytes that a framework hands to the device library, a program with options of its compilation
 * or an executable that was kept, are compiled, or refused with a message; no assertion fails. The
 * first byte says which, the second how many of the others are options.
 */
#include "pjrt/abi/abi.h"
#include "tests/rigs/round_trip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS(name, ...) ARGS_MADE(name, __VA_ARGS__, .extension_start = NULL)
#define ARGS_MADE(name, args, ...) \
    struct PJRT_##name##_Args args = {.struct_size = sizeof(args), __VA_ARGS__}

const struct PJRT_Api *GetPjrtApi(void);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct PJRT_Api *api;
static struct PJRT_Client *client;

/* false: there was none */
static bool is_refused(struct PJRT_Error *error)
{
    ARGS(Error_Message, said, .error = error);
    ARGS(Error_GetCode, code, .error = error);
    ARGS(Error_Destroy, destroy, .error = error);
    char text[400];

    if (!error)
        return false;
    api->PJRT_Error_Message(&said);
    if (said.message_size == 0)
        fuzz_fail("refused without a message", "");
    snprintf(text, sizeof(text), "%.*s", (int)said.message_size, said.message);
    if (api->PJRT_Error_GetCode(&code) || code.code == PJRT_Error_Code_INTERNAL)
        fuzz_fail("the library's own mistake", text);
    api->PJRT_Error_Destroy(&destroy);
    return true;
}

static void make_client(void)
{
    ARGS(Plugin_Initialize, initialize);
    ARGS(Client_Create, create);

    setenv("SYSTOLE_TPU", "v5e-4", 1);
    setenv("SYSTOLE_CACHE", "0", 1);
    setenv("SYSTOLE_QUIET", "1", 1);
    api = GetPjrtApi();
    if (is_refused(api->PJRT_Plugin_Initialize(&initialize)) ||
        is_refused(api->PJRT_Client_Create(&create)))
        fuzz_fail("there is no client", "");
    client = create.client;
}

static void drop(struct PJRT_LoadedExecutable *l)
{
    ARGS(LoadedExecutable_Destroy, args, .executable = l);

    if (l && is_refused(api->PJRT_LoadedExecutable_Destroy(&args)))
        fuzz_fail("what was compiled cannot be let go", "");
}

static void compile(bool is_hlo, const uint8_t *options, size_t option_size, const uint8_t *code,
                    size_t code_size)
{
    struct PJRT_Program program = {.struct_size = sizeof(program), .code = (char *)(uintptr_t)code,
        .code_size = code_size, .format = is_hlo ? "hlo" : "mlir", .format_size = is_hlo ? 3 : 4};
    ARGS(Client_Compile, args, .client = client, .program = &program,
         .compile_options = (const char *)options, .compile_options_size = option_size);

    if (!is_refused(api->PJRT_Client_Compile(&args)))
        drop(args.executable);
}

static void load(const uint8_t *bytes, size_t size)
{
    ARGS(Executable_DeserializeAndLoad, args, .client = client,
         .serialized_executable = (const char *)bytes, .serialized_executable_size = size);

    if (!is_refused(api->PJRT_Executable_DeserializeAndLoad(&args)))
        drop(args.loaded_executable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t options;

    if (!client)
        make_client();
    if (size < 2)
        return 0;
    options = data[1] < size - 2 ? data[1] : size - 2;
    if (data[0] & 2)
        load(data + 2, size - 2);
    else
        compile(data[0] & 1, data + 2, options, data + 2 + options, size - 2 - options);
    return 0;
}
