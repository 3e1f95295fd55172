/* The extension that tells in which order dimensions lie: of buffers, of programs, where nobody asked. */
#include "pjrt/extension/extensions.h"

#include "base/arena.h"
#include "pjrt/buffer/buffer.h"
#include "pjrt/program/layouts.h"
#include "pjrt/program/program.h"

#include <stdio.h>
#include <string.h>

/* the caller's, until Destroy; `minor_to_major` NULL: row-major */
static struct PJRT_Layouts_MemoryLayout *make(size_t rank, const int64_t *minor_to_major)
{
    struct PJRT_Layouts_MemoryLayout *made = mem_alloc(sizeof(*made) + rank * sizeof(int64_t));

    made->rank = rank;
    made->minor_to_major = (int64_t *)(made + 1);
    for (size_t i = 0; i < rank; i++)
        made->minor_to_major[i] = minor_to_major ? minor_to_major[i] : (int64_t)(rank - 1 - i);
    return made;
}

static struct PJRT_Error *destroy(struct PJRT_Layouts_MemoryLayout_Destroy_Args *args)
{
    mem_free(args->layout);
    return NULL;
}

struct PJRT_Layouts_SerializedLayout { char text[PJRT_RANK_MAX * 4 + 3]; };

static void free_text(struct PJRT_Layouts_SerializedLayout *s)
{
    mem_free(s);
}

/* as XLA writes it: "{1,0}" */
static struct PJRT_Error *serialize(struct PJRT_Layouts_MemoryLayout_Serialize_Args *args)
{
    struct PJRT_Layouts_SerializedLayout *s = mem_alloc(sizeof(*s));
    size_t at = 0;

    s->text[at++] = '{';
    for (size_t i = 0; i < args->layout->rank; i++)
        at += (size_t)snprintf(s->text + at, sizeof(s->text) - at, i ? ",%d" : "%d",
                               (int)args->layout->minor_to_major[i]);
    s->text[at++] = '}';
    args->serialized_bytes = s->text;
    args->serialized_bytes_size = at;
    args->serialized_layout = s;
    args->serialized_layout_deleter = free_text;
    return NULL;
}

static struct PJRT_Error *client_default(
    struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *args)
{
    struct PJRT_Error *error = buffer_check_type(args->type, args->dims, args->num_dims);

    if (!error)
        args->layout = make(args->num_dims, NULL);
    return error;
}

static struct PJRT_Error *topology_default(
    struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *args)
{
    struct PJRT_Error *error = buffer_check_type(args->type, args->dims, args->num_dims);

    if (!error)
        args->layout = make(args->num_dims, NULL);
    return error;
}

static struct PJRT_Error *of_buffer(struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args)
{
    args->layout = make((size_t)args->buffer->type.rank, args->buffer->minor_to_major);
    return NULL;
}

static struct PJRT_Error *of_outputs(struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *args)
{
    args->num_outputs = (size_t)args->executable->outputs;
    args->layouts = args->executable->output_layout;
    return NULL;
}

static struct PJRT_Error *of_parameters(
    struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *args)
{
    args->num_parameters = (size_t)args->executable->parameters;
    args->layouts = args->executable->parameter_layout;
    return NULL;
}

struct PJRT_Extension_Base *extension_layouts(struct PJRT_Extension_Base *next)
{
    static struct PJRT_Layouts_Extension table = {
        .base = {.struct_size = sizeof(table), .type = PJRT_Extension_Type_Layouts},
        .PJRT_Layouts_MemoryLayout_Destroy = destroy,
        .PJRT_Layouts_MemoryLayout_Serialize = serialize,
        .PJRT_Layouts_PJRT_Client_GetDefaultLayout = client_default,
        .PJRT_Layouts_PJRT_Buffer_MemoryLayout = of_buffer,
        .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = topology_default,
        .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = of_outputs,
        .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = of_parameters};

    table.base.next = next;
    return &table.base;
}
