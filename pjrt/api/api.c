/*
 * The table that frameworks ask for, GetPjrtApi: a slot for each function of the interface.
 *
 * Each slot enters a guard first (pjrt/event/guard.h), so that a mistake of ours is an error of that
 * call, and looks whether the process is still the one that has the client's thread.
 */
#include "pjrt/abi/functions.h"
#include "pjrt/event/guard.h"
#include "pjrt/extension/extensions.h"
#include "pjrt/program/version.h"

#include "base/arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_bool is_child;

static void note_fork(void)
{
    atomic_store(&is_child, true);
}

/* these only read or free what is there, and callers take no error of them for an answer */
static bool works_in_child(const char *name)
{
    static const char *const waits[] = {
        "Client_Create", "Client_Compile", "Compile", "Client_BufferFromHostBuffer",
        "LoadedExecutable_Execute", "Buffer_ToHostBuffer", "Buffer_CopyToDevice",
        "Buffer_CopyToMemory", "Event_Await", "Executable_DeserializeAndLoad"};

    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
        if (strcmp(name, waits[i]) == 0)
            return false;
    return true;
}

static struct PJRT_Error *refuse_child(const char *name)
{
    return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION, "PJRT_%s in the child of a fork: the "
                      "simulated TPU is in the parent's process; start children by spawn, or "
                      "before JAX is used", name);
}

#define FUNCTION(name) \
    static struct PJRT_Error *slot_##name(struct PJRT_##name##_Args *args) \
    { \
        struct PJRT_Error *error; \
        struct guard g; \
 \
        if (atomic_load_explicit(&is_child, memory_order_relaxed) && !works_in_child(#name)) \
            return refuse_child(#name); \
        if (GUARD_ENTER(&g)) \
            return guard_error(&g); \
        error = pjrt_##name(args); \
        guard_leave(&g); \
        return error; \
    }
#define PROCEDURE(name)
#include "pjrt/abi/functions.def"

static struct PJRT_Api api = {
    .struct_size = sizeof(struct PJRT_Api),
    .pjrt_api_version = {.struct_size = sizeof(struct PJRT_Api_Version),
                         .major_version = PJRT_API_MAJOR, .minor_version = PJRT_API_MINOR},
#define FUNCTION(name) .PJRT_##name = slot_##name,
#define PROCEDURE(name) .PJRT_##name = pjrt_##name,
#include "pjrt/abi/functions.def"
};

const struct PJRT_Api *GetPjrtApi(void);

const struct PJRT_Api *GetPjrtApi(void)
{
    api.extension_start = extensions_first();
    return &api;
}

/* ----- of the library as a whole */

struct PJRT_Error *pjrt_Plugin_Initialize(struct PJRT_Plugin_Initialize_Args *args)
{
    static atomic_bool was_here;

    (void)args;
    if (!atomic_exchange(&was_here, true))
        pthread_atfork(NULL, NULL, note_fork);
    mem_when_exhausted(guard_memory_exhausted);
    return NULL;
}

struct PJRT_Error *pjrt_Plugin_Attributes(struct PJRT_Plugin_Attributes_Args *args)
{
    args->attributes = version_attributes(&args->num_attributes);
    return NULL;
}
