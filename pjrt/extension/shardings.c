/* The extension that tells how a program's parameters and results lie on its devices. */
#include "pjrt/extension/extensions.h"

#include "pjrt/program/program.h"

static struct PJRT_Error *parameter_shardings(
    struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args *args)
{
    const struct program_shardings *s = &args->executable->parameter_sharding;

    args->num_parameters = s->count;
    args->shardings = s->count ? s->bytes : NULL;
    args->sharding_sizes = s->size;
    return NULL;
}

static struct PJRT_Error *output_shardings(
    struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args *args)
{
    const struct program_shardings *s = &args->executable->output_sharding;

    args->num_outputs = s->count;
    args->shardings = s->count ? s->bytes : NULL;
    args->sharding_sizes = s->size;
    return NULL;
}

struct PJRT_Extension_Base *extension_shardings(struct PJRT_Extension_Base *next)
{
    static struct PJRT_Shardings_Extension made = {
        .base = {.struct_size = sizeof(made), .type = PJRT_Extension_Type_Shardings},
        .PJRT_Shardings_PJRT_Executable_ParameterShardings = parameter_shardings,
        .PJRT_Shardings_PJRT_Executable_OutputShardings = output_shardings};

    made.base.next = next;
    return &made.base;
}
