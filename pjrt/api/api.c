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
#include "sim/machine/rounds.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_bool is_child;

static void note_fork(void)
{
    atomic_store(&is_child, true);
}

static bool is_among(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/*
 * In the child of a fork the threads are gone, and locks may be held by nobody. What would work there
 * is refused; what would free is left as it is; the rest only reads.
 */
static bool is_for_parent(const char *name, struct PJRT_Error **error)
{
    static const char *const work[] = {
        "Client_Create", "Client_Compile", "Compile", "Client_BufferFromHostBuffer",
        "LoadedExecutable_Execute", "Buffer_ToHostBuffer", "Buffer_CopyToDevice",
        "Buffer_CopyToMemory", "Event_Await", "Executable_DeserializeAndLoad"};
    static const char *const frees[] = {
        "Client_Destroy", "Executable_Destroy", "LoadedExecutable_Destroy", "Buffer_Destroy",
        "Buffer_Delete", "Event_Destroy", "AsyncHostToDeviceTransferManager_Destroy"};

    *error = NULL;
    if (is_among(name, frees, sizeof(frees) / sizeof(*frees)))
        return true;
    if (!is_among(name, work, sizeof(work) / sizeof(*work)))
        return false;
    *error = pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION, "PJRT_%s in the child of a fork: the "
                      "simulated TPU is in the parent's process; start children by spawn, or "
                      "before JAX is used", name);
    return true;
}

#define FUNCTION(name) \
    static struct PJRT_Error *slot_##name(struct PJRT_##name##_Args *args) \
    { \
        struct PJRT_Error *error; \
        struct guard g; \
 \
        if (atomic_load_explicit(&is_child, memory_order_relaxed) && \
            is_for_parent(#name, &error)) \
            return error; \
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
    static const struct rounds_guard rounds = {.call = guard_call, .raise = guard_raise};
    static atomic_bool was_here;

    (void)args;
    if (!atomic_exchange(&was_here, true))
        pthread_atfork(NULL, NULL, note_fork);
    mem_when_exhausted(guard_memory_exhausted);
    rounds_set_guard(&rounds);
    return NULL;
}

struct PJRT_Error *pjrt_Plugin_Attributes(struct PJRT_Plugin_Attributes_Args *args)
{
    args->attributes = version_attributes(&args->num_attributes);
    return NULL;
}
