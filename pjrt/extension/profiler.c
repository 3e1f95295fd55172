/* The extension that JAX's profiler asks: begin, end, and the XSpace of what lies between. */
#include "pjrt/extension/extensions.h"

#include "base/arena.h"
#include "pjrt/account/profile.h"

#include <string.h>

struct PLUGIN_Profiler {
    struct profile *profile;            /* NULL: not begun yet */
};

/* Errors of this table are of a type of its own; there is one. */
struct PLUGIN_Profiler_Error {
    const char *message;
};

static struct PLUGIN_Profiler_Error not_begun = {"the profiler was not started"};

static void error_destroy(struct PLUGIN_Profiler_Error_Destroy_Args *args) { (void)args; }

static void error_message(struct PLUGIN_Profiler_Error_Message_Args *args)
{
    args->message = args->error->message;
    args->message_size = strlen(args->message);
}

static struct PLUGIN_Profiler_Error *error_get_code(struct PLUGIN_Profiler_Error_GetCode_Args *args)
{
    args->code = PJRT_Error_Code_FAILED_PRECONDITION;
    return NULL;
}

static struct PLUGIN_Profiler_Error *create(struct PLUGIN_Profiler_Create_Args *args)
{
    args->profiler = mem_alloc(sizeof(*args->profiler));
    return NULL;
}

static struct PLUGIN_Profiler_Error *destroy(struct PLUGIN_Profiler_Destroy_Args *args)
{
    if (args->profiler && args->profiler->profile)
        profile_end(args->profiler->profile);
    mem_free(args->profiler);
    return NULL;
}

static struct PLUGIN_Profiler_Error *start(struct PLUGIN_Profiler_Start_Args *args)
{
    if (args->profiler->profile)
        profile_end(args->profiler->profile);
    args->profiler->profile = profile_begin();
    return NULL;
}

static struct PLUGIN_Profiler_Error *stop(struct PLUGIN_Profiler_Stop_Args *args)
{
    if (!args->profiler->profile)
        return &not_begun;
    profile_stop(args->profiler->profile);
    return NULL;
}

/*
 * Asked for the size first, then for the bytes, for which the caller has as much room as was said. A
 * caller who asks once reads them where they lie.
 */
static struct PLUGIN_Profiler_Error *collect_data(struct PLUGIN_Profiler_CollectData_Args *args)
{
    const uint8_t *bytes;
    size_t size;

    if (!args->profiler->profile)
        return &not_begun;
    bytes = profile_bytes(args->profiler->profile, &size);
    if (args->buffer)
        memcpy(args->buffer, bytes, size);
    else
        args->buffer = (uint8_t *)(uintptr_t)bytes;
    args->buffer_size_in_bytes = size;
    return NULL;
}

struct PJRT_Extension_Base *extension_profiler(struct PJRT_Extension_Base *next)
{
    static struct PLUGIN_Profiler_Api table = {
        .struct_size = sizeof(table), .error_destroy = error_destroy,
        .error_message = error_message, .error_get_code = error_get_code, .create = create,
        .destroy = destroy, .start = start, .stop = stop, .collect_data = collect_data};
    static struct PJRT_Profiler_Extension made = {
        .base = {.struct_size = sizeof(made), .type = PJRT_Extension_Type_Profiler},
        .profiler_api = &table, .traceme_context_id = -1};

    made.base.next = next;
    return &made.base;
}
