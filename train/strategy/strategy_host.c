/*
 * Runs a strategy on the host: by the reference interpreter, with memory for each device's
 * variables.
 */
#include "train/strategy/strategy_impl.h"

#include <string.h>

void strategy_host_place(struct strategy *s, int variable)
{
    struct strategy_place *place = s->place[variable];

    place->value = arena_array(&s->arena, (size_t)s->device_count, sizeof(*place->value));
    for (int d = 0; d < s->device_count; d++)
        place->value[d] = mem_alloc(strategy_device_bytes(s, variable));
}

/* a device's part of an input, in `a`; the interpreter only reads it: the cast breaks no promise */
static void *input_of(const struct strategy *s, const struct program_end *end, int device,
                      const void *whole, struct arena *a)
{
    struct shape local = sharding_local(&s->mesh, &end->shape, &end->sharding);
    void *part;

    if (sharding_is_whole(&end->sharding))
        return (void *)whole;
    part = arena_array(a, (size_t)shape_elems(&local), 4);
    sharding_take(&s->mesh, &end->shape, &end->sharding, device, whole, part);
    return part;
}

static struct interp_value *inputs_of(const struct strategy *s, const struct strategy_program *p,
                                      int device, const void *const *input, struct arena *a)
{
    struct interp_value *value = arena_array(a, (size_t)p->graph.parameter_count + 1,
                                             sizeof(*value));
    int replica = strategy_replica_of(s, device);

    for (int i = 0; i < p->graph.parameter_count; i++) {
        int index = p->parameter[i].index;

        value[i].data = p->parameter[i].kind == TRACE_VARIABLE
                            ? s->place[index]->value[device]
                            : input_of(s, &p->input[index], device,
                                       input[replica * p->input_count + index], a);
    }
    return value;
}

static void take_results(struct strategy *s, const struct strategy_program *p, int device,
                         const struct interp_value *value, void *const *result)
{
    for (int i = 0; i < p->result_count; i++)
        if (result[strategy_replica_of(s, device) * p->result_count + i])
            sharding_put(&s->mesh, &p->result[i].shape, &p->result[i].sharding, device,
                         value[i].data,
                         result[strategy_replica_of(s, device) * p->result_count + i]);
}

static void take_variables(struct strategy *s, const struct strategy_program *p, int device,
                           const struct interp_value *value)
{
    for (int i = p->result_count; i < p->graph.output_count; i++) {
        int variable = p->parameter[p->graph.output[i].alias_parameter].index;

        memcpy(s->place[variable]->value[device], value[i].data,
               strategy_device_bytes(s, variable));
    }
}

int strategy_host_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                      void *const *result, struct err *e)
{
    size_t devices = (size_t)s->device_count;
    const struct interp_value **in;
    struct interp_value **out;
    struct arena a;
    int status;

    arena_init(&a);
    in = arena_array(&a, devices, sizeof(*in));
    out = arena_array(&a, devices, sizeof(*out));
    for (int d = 0; d < s->device_count; d++) {
        in[d] = inputs_of(s, p, d, input, &a);
        out[d] = arena_array(&a, (size_t)p->graph.output_count + 1, sizeof(**out));
    }
    status = interp_run_devices(&p->graph, s->options.reference_dot, s->device_count, in, out,
                                &a, e);
    for (int d = 0; d < s->device_count && status == 0; d++) {
        if (result)
            take_results(s, p, d, out[d], result);
        take_variables(s, p, d, out[d]);
    }
    arena_fini(&a);
    return status;
}
