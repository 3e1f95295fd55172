/* The strategy on the host: the reference interpreter, and memory for each replica's variables. */
#include "train/strategy_impl.h"

#include <string.h>

static size_t local_bytes(const struct strategy *s, int variable)
{
    return (size_t)shape_elems(&s->place[variable]->array.shape) * 4;
}

void strategy_host_place(struct strategy *s, int variable)
{
    const struct variable *v = strategy_variable(s, variable);
    struct shape local = variable_local_shape(v, s->replica_count);
    struct strategy_place *place = s->place[variable];

    array_init(&place->array, v->name, &local, NULL);
    place->local = arena_array(&s->arena, (size_t)s->replica_count, sizeof(*place->local));
    for (int r = 0; r < s->replica_count; r++)
        place->local[r] = mem_alloc(local_bytes(s, variable));
}

/* The interpreter only reads its inputs: the cast takes away no promise. */
static struct interp_value *inputs_of(const struct strategy *s, const struct strategy_program *p,
                                      int replica, const void *const *input, struct arena *a)
{
    struct interp_value *value = arena_array(a, (size_t)p->graph.parameter_count + 1,
                                             sizeof(*value));

    for (int i = 0; i < p->graph.parameter_count; i++) {
        int index = p->parameter[i].index;

        value[i].data = p->parameter[i].kind == TRACE_VARIABLE
                            ? s->place[index]->local[replica]
                            : (void *)input[replica * p->input_count + index];
    }
    return value;
}

static void take_outputs(struct strategy *s, const struct strategy_program *p, int replica,
                         const struct interp_value *value, void *const *result)
{
    for (int i = 0; i < p->graph.output_count; i++) {
        const struct graph_output *o = &p->graph.output[i];
        size_t bytes = (size_t)shape_elems(&p->graph.node[o->node].shape) * 4;
        void *to = i < p->result_count ? result ? result[replica * p->result_count + i] : NULL
                       : s->place[p->parameter[o->alias_parameter].index]->local[replica];

        if (to)
            memcpy(to, value[i].data, bytes);
    }
}

int strategy_host_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                      void *const *result, struct err *e)
{
    size_t replicas = (size_t)s->replica_count;
    const struct interp_value **in;
    struct interp_value **out;
    struct arena a;
    int status;

    arena_init(&a);
    in = arena_array(&a, replicas, sizeof(*in));
    out = arena_array(&a, replicas, sizeof(*out));
    for (int r = 0; r < s->replica_count; r++) {
        in[r] = inputs_of(s, p, r, input, &a);
        out[r] = arena_array(&a, (size_t)p->graph.output_count + 1, sizeof(**out));
    }
    status = interp_run_devices(&p->graph, s->options.reference_dot, s->replica_count, in, out,
                                &a, e);
    for (int r = 0; r < s->replica_count && status == 0; r++)
        take_outputs(s, p, r, out[r], result);
    arena_fini(&a);
    return status;
}
