/* The program of systole exec on simulated cores: made a graph, compiled, run with its values. */
#include "cli/exec/exec.h"

#include <stdio.h>

struct session {
    struct exec_options *o;
    struct exec_program *p;
    int64_t step;
};

/* how much of a result's bounded dimensions there is: only these elements are the result */
static void take_sizes(const struct session *s, const struct lowered_leaf *leaf, void *from,
                       const int64_t *read, struct exec_tensor *to)
{
    const struct hlo_type *t = &leaf->leaf.type;
    int64_t *size = arena_array(&s->p->arena, (size_t)t->rank + 1, sizeof(*size));

    for (int d = 0; d < t->rank; d++)
        size[d] = read[d] < 0 ? 0 : read[d] > t->dim[d] ? t->dim[d] : read[d];
    to->data = exec_pack(from, t, size, &s->p->arena);
    to->type = hlo_array_type(&s->p->arena, t->element, t->rank, size);
}

static int read_leaf(const struct session *s, const struct loaded_device *d, int result,
                     struct arena *a, struct err *e)
{
    const struct lowered_leaf *leaf = &s->p->graph.lowered.result[result];
    const struct hlo_type *t = &leaf->leaf.type;
    struct exec_tensor *to = &s->p->result[result];
    int64_t *size = arena_array(a, (size_t)t->rank + 1, sizeof(*size));
    void *part;

    if (t->element == ELEMENT_TOKEN)
        return 0;
    part = loaded_read_leaf(d, leaf, size, a, e);
    if (!part)
        return -1;
    if (leaf->leaf.sizes) {
        take_sizes(s, leaf, part, size, to);
        return 0;
    }
    if (d->number == 0)
        to->data = arena_alloc(&s->p->arena, hlo_type_bytes(&to->type) + 1);
    exec_join_part(s->p, result, d->number, part);
    return 0;
}

static int write_inputs(void *user, const struct loaded_device *d, struct err *e)
{
    const struct session *s = user;
    struct arena a;
    int status = exec_make_up(s->o, s->p, e);

    arena_init(&a);
    for (int i = 0; i < s->p->parameter_count && status == 0; i++) {
        if (s->p->parameter[i].data)
            status = loaded_write_leaf(d, &s->p->graph.lowered.parameter[i],
                                       exec_part_of(s->p, i, d->number, &a), &a, e);
    }
    if (status == 0)
        status = exec_write_queues(s->p, d, &a, e);
    arena_fini(&a);
    return status;
}

static int read_results(void *user, const struct loaded_device *d, struct err *e)
{
    const struct session *s = user;

    struct arena a;
    int status = 0;

    arena_init(&a);
    for (int i = 0; i < s->p->result_count + exec_pair_count(s->p) && status == 0; i++)
        status = read_leaf(s, d, i, &a, e);
    if (status == 0)
        status = exec_read_queues(s->p, d, &a, e);
    arena_fini(&a);
    return status;
}

static bool next_step(void *user)
{
    struct session *s = user;

    if (++s->step >= s->o->steps)
        return false;
    exec_feed_back(s->p);
    return true;
}

int exec_on_cores(struct exec_options *o, struct exec_program *p, struct err *e)
{
    struct session s = {.o = o, .p = p};
    const struct op_values values = {.user = &s, .write = write_inputs, .read = read_results,
                                     .again = next_step};
    int status;

    exec_rewind_queues(p);
    o->run.values = &values;
    o->run.tells_sources = !o->is_kept;   /* else its own kernels' names are wanted */
    o->run.keeps_roundings = o->precision != EXEC_AS_PROGRAM;
    o->run.replicas = p->graph.devices > 1 ? p->graph.devices : 0;
    status = op_run(&o->run, &p->graph.lowered.graph, p->graph.module->name, e);
    o->run.values = NULL;
    if (status == 0 && o->run.engine.mode != MODE_TIMING)
        status = exec_hold_checks(o, p, e);
    return status;
}
