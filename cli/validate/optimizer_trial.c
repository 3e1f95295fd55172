/*
 * Compiles one optimizer's step, launches it with given gradients, and reads variables and slots
 * back after each.
 */
#include "cli/validate/optimizer_trial.h"

#include "keras/trace/trace.h"
#include "sim/machine/machine.h"
#include "stack/module/module_run.h"

#include <string.h>

struct session {
    struct optimizer_trial *t;
    struct arena *a;
    struct trace trace;
    struct module module;
    struct machine *machine;
    struct slice slice;
    struct chip chip;
    float **now;                        /* by variable */
};

static int build(struct session *s, struct err *e)
{
    struct optimizer_trial *t = s->t;
    struct initializer zeros = initializer_standard(INITIALIZER_ZEROS);
    int *trainable = arena_array(s->a, (size_t)t->variable_count + 1, sizeof(*trainable));

    variable_set_init(&t->set, s->a);
    for (int i = 0; i < t->variable_count; i++)
        trainable[i] = variable_add_trainable(&t->set, t->name ? t->name[i]
                                                               : arena_printf(s->a, "v%d", i),
                                              &t->shape[i], &zeros);
    return optimizer_build(t->optimizer, &t->set, trainable, t->variable_count, e);
}

static void trace_step(struct session *s)
{
    struct optimizer_trial *t = s->t;
    int *gradient = arena_array(s->a, (size_t)t->variable_count + 1, sizeof(*gradient));

    trace_init(&s->trace, s->a, "optimizer", &t->set, 1, true);
    for (int i = 0; i < t->variable_count; i++)
        gradient[i] = trace_input(&s->trace, arena_printf(s->a, "g%d", i), &t->shape[i]);
    optimizer_apply(&s->trace, t->optimizer, gradient);
    trace_finish(&s->trace);
    graph_eliminate_common(&s->trace.graph);
    graph_eliminate_dead(&s->trace.graph);
}

static int prepare(struct session *s, struct err *e)
{
    struct machine_options options = {.thread_count = 1};
    struct module_settings settings = {.chip = &s->chip, .replica_count = 1};

    if (graph_verify(&s->trace.graph, e) ||
        slice_parse(&s->slice, s->t->slice ? s->t->slice : "v3-1", e) ||
        chip_load_builtin(&s->chip, s->slice.chip_name, NULL, s->a, e) ||
        module_compile(&s->trace.graph, &settings, s->a, &s->module, e))
        return -1;
    s->machine = machine_create(&s->slice, &s->chip, &options, e);
    return s->machine ? module_load(&s->module, s->machine, 0, e) : -1;
}

static void begin_values(struct session *s)
{
    struct optimizer_trial *t = s->t;

    s->now = arena_array(s->a, (size_t)t->set.count, sizeof(*s->now));
    for (int i = 0; i < t->set.count; i++) {
        const struct variable *v = &t->set.variable[i];
        size_t elems = (size_t)shape_elems(&v->shape);

        s->now[i] = arena_array(s->a, elems, sizeof(float));
        if (i < t->variable_count)
            memcpy(s->now[i], t->initial[i], elems * sizeof(float));
        else
            initializer_fill(&v->initializer, &v->shape, 1, 0, s->now[i]);
    }
    memcpy(s->now[t->optimizer->iterations], &t->first_iteration, sizeof(t->first_iteration));
}

static int write_inputs(struct session *s, int step, struct err *e)
{
    const struct optimizer_trial *t = s->t;

    for (int i = 0; i < s->trace.graph.parameter_count; i++) {
        struct trace_parameter p = s->trace.parameter[i];
        const float *from = p.kind == TRACE_VARIABLE
                                ? s->now[p.index]
                                : t->gradient[step * t->variable_count + p.index];

        if (module_write(&s->module, s->machine, 0, i, from, e))
            return -1;
    }
    return 0;
}

/* a variable that no update changes has no output: it stays */
static int read_outputs(struct session *s, int step, struct err *e)
{
    struct optimizer_trial *t = s->t;
    const struct graph *g = &s->trace.graph;

    for (int i = 0; i < g->output_count; i++) {
        int v = s->trace.parameter[g->output[i].alias_parameter].index;

        if (module_read(&s->module, s->machine, 0, i, s->now[v], e))
            return -1;
    }
    for (int v = 0; v < t->set.count; v++) {
        size_t bytes = (size_t)shape_elems(&t->set.variable[v].shape) * sizeof(float);

        memcpy(t->value[step * t->set.count + v] = arena_alloc(s->a, bytes), s->now[v], bytes);
    }
    return 0;
}

static int run(struct session *s, struct err *e)
{
    struct optimizer_trial *t = s->t;

    if (prepare(s, e))
        return -1;
    begin_values(s);
    t->value = arena_array(s->a, (size_t)(t->steps * t->set.count) + 1, sizeof(*t->value));
    for (int step = 0; step < t->steps; step++)
        if (write_inputs(s, step, e) || machine_run(s->machine, e) || read_outputs(s, step, e))
            return -1;
    t->cycles = machine_cycles(s->machine);
    return 0;
}

int optimizer_trial_run(struct optimizer_trial *t, struct arena *a, struct err *e)
{
    struct session s = {.t = t, .a = a};
    int status = build(&s, e);

    if (status)
        return -1;
    trace_step(&s);
    status = run(&s, e);
    if (s.machine)
        machine_destroy(s.machine);
    trace_fini(&s.trace);
    return status;
}

void optimizer_trial_fini(struct optimizer_trial *t)
{
    variable_set_fini(&t->set);
}
