/* The optimised program as callers read it, and what it takes of memory and time. */
#include "pjrt/program/program.h"

#include "import/hlo_proto/hlo.pb-c.h"
#include "import/hlo_proto/hlo_proto.h"
#include "pjrt/abi/functions.h"
#include "pjrt/buffer/array.h"
#include "pjrt/program/options.pb-c.h"

#include <string.h>

/*
 * An all-to-all that joins along another dimension than it splits has three numbers; of XLA's
 * readers, which only show the program, one is taken, the dimension that is split.
 */
static void name_split_alone(HloWire__Module *m)
{
    for (size_t c = 0; c < m->n_computations; c++)
        for (size_t i = 0; i < m->computations[c]->n_instructions; i++) {
            HloWire__Instruction *n = m->computations[c]->instructions[i];

            if (strcmp(n->opcode, "all-to-all") == 0 && n->n_dimensions > 1)
                n->n_dimensions = 1;
        }
}

/* the module's bytes with the layout of its entry beside them */
static void pack(struct PJRT_Executable *p, const uint8_t *module, size_t size)
{
    PjrtWire__ModuleWithConfig made = PJRT_WIRE__MODULE_WITH_CONFIG__INIT;
    PjrtWire__ModuleConfig config = PJRT_WIRE__MODULE_CONFIG__INIT;
    HloWire__Module *read = hlo_wire__module__unpack(NULL, size, module);
    uint8_t *layout = NULL, *shown = NULL;

    made.module = (ProtobufCBinaryData){size, (uint8_t *)module};
    if (read) {
        name_split_alone(read);
        made.module.len = hlo_wire__module__get_packed_size(read);
        made.module.data = shown = mem_alloc_unset(made.module.len + 1);
        hlo_wire__module__pack(read, shown);
    }
    made.config = &config;
    config.replica_count = p->options.replicas;
    config.num_partitions = p->options.partitions;
    if (read && read->host_program_shape) {
        config.entry_computation_layout.len =
            hlo_wire__program_shape__get_packed_size(read->host_program_shape);
        layout = mem_alloc_unset(config.entry_computation_layout.len + 1);
        hlo_wire__program_shape__pack(read->host_program_shape, layout);
        config.entry_computation_layout.data = layout;
    }
    p->optimized_bytes = pjrt_wire__module_with_config__get_packed_size(&made);
    p->optimized = mem_alloc_unset(p->optimized_bytes + 1);
    pjrt_wire__module_with_config__pack(&made, p->optimized);
    mem_free(layout);
    mem_free(shown);
    if (read)
        hlo_wire__module__free_unpacked(read, NULL);
}

static int write_optimized(struct PJRT_Executable *p, struct arena *a, struct err *e)
{
    const struct hlo_module *m = executable_optimized(&p->x, a, e);
    unsigned char *module;
    size_t size;
    int status = m ? hlo_proto_write(m, &module, &size, e) : -1;

    if (status == 0) {
        pack(p, module, size);
        mem_free(module);
    }
    if (m && m != p->x.graph.device)
        hlo_module_fini((struct hlo_module *)(uintptr_t)m);
    return status;
}

static int make_optimized(struct PJRT_Executable *p, struct err *e)
{
    struct arena a;
    int status = 0;

    pthread_mutex_lock(&p->mutex);
    if (!p->optimized) {
        arena_init(&a);
        status = write_optimized(p, &a, e);
        arena_fini(&a);
    }
    pthread_mutex_unlock(&p->mutex);
    return status;
}

struct PJRT_Error *pjrt_Executable_OptimizedProgram(
    struct PJRT_Executable_OptimizedProgram_Args *args)
{
    static const char format[] = "hlo_with_config";
    struct PJRT_Executable *p = args->executable;
    struct err e;

    if (make_optimized(p, &e))
        return pjrt_error_of(PJRT_Error_Code_UNIMPLEMENTED, &e);
    args->program->format = format;
    args->program->format_size = strlen(format);
    if (!args->program->code) {
        args->program->code_size = p->optimized_bytes;
        return NULL;
    }
    if (args->program->code_size < p->optimized_bytes)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "there is room for %zu bytes, the "
                          "program has %zu", args->program->code_size, p->optimized_bytes);
    memcpy(args->program->code, p->optimized, p->optimized_bytes);
    return NULL;
}

/* ----- memory */

static int64_t bytes_of(const struct hlo_type *const *leaf, int count)
{
    int64_t bytes = 0;

    for (int i = 0; i < count; i++) {
        struct array_type t = {.element = leaf[i]->element, .rank = leaf[i]->rank,
                               .dim = (int64_t *)leaf[i]->dim};

        bytes += array_type_device_bytes(&t);
    }
    return bytes;
}

static int64_t alias_bytes(const struct PJRT_Executable *p)
{
    int64_t bytes = 0;

    for (int i = 0; i < p->parameters; i++)
        if (p->is_donated[i])
            bytes += bytes_of(&p->x.parameter[i], 1);
    return bytes;
}

int64_t program_temp_bytes(const struct PJRT_Executable *p)
{
    int64_t bytes = p->x.loaded.module.hbm_bytes - bytes_of(p->x.parameter, p->parameters)
                    - bytes_of(p->x.result, p->outputs) + alias_bytes(p);

    return bytes > 0 ? bytes : 0;
}

struct PJRT_Error *pjrt_Executable_GetCompiledMemoryStats(
    struct PJRT_Executable_GetCompiledMemoryStats_Args *args)
{
    const struct PJRT_Executable *p = args->executable;
    const struct module *m = &p->x.loaded.module;
    int64_t in = bytes_of(p->x.parameter, p->parameters), out = bytes_of(p->x.result, p->outputs);
    int64_t code = 0;

    for (int i = 0; i < m->core_count; i++)
        code += (int64_t)m->linked[i].program.bundle_count * p->x.chip.core_bundle_bytes;
    args->generated_code_size_in_bytes = code;
    args->argument_size_in_bytes = in;
    args->output_size_in_bytes = out;
    args->alias_size_in_bytes = alias_bytes(p);
    args->temp_size_in_bytes = program_temp_bytes(p);
    args->host_generated_code_size_in_bytes = 0;
    args->host_argument_size_in_bytes = 0;
    args->host_output_size_in_bytes = 0;
    args->host_alias_size_in_bytes = 0;
    args->host_temp_size_in_bytes = 0;
    ARGS_PUT(args, peak_memory_in_bytes, m->hbm_bytes);
    ARGS_PUT(args, total_size_in_bytes, m->hbm_bytes);
    ARGS_PUT(args, total_allocation_bytes, m->hbm_bytes);
    ARGS_PUT(args, indefinite_allocations, 0);
    ARGS_PUT(args, peak_unpadded_heap_bytes, m->payload_bytes);
    return NULL;
}
