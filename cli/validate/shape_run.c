/* Runs one drawn shape: compiler, machine, interpreter; and makes a failing one smaller. */
#include "cli/validate/shape_run.h"

#include "cli/validate/apart.h"
#include "sim/machine/machine.h"
#include "stack/interp/interp.h"
#include "stack/module/index_assume.h"
#include "stack/module/module_run.h"

#include <string.h>

#define SECONDS_MAX 120                 /* of processor time */
#define VALUE_ODDS 8                    /* one of so many is 1, one is -1, the others are 0 */

const char *const shape_outcome_names[SHAPE_OUTCOMES] = {
    "done", "illegal", "refused", "fault", "wrong", "abort", "slow"};

struct session {
    const struct shape_case *c;
    struct shape_result *r;
    const struct shape_trial *t;
    struct arena a;
    struct graph *graph;
    struct slice slice;
    struct chip chip;
    struct module module;
    struct machine *machine;
};

static void finish(struct session *s, enum shape_outcome outcome, const char *message)
{
    s->r->outcome = outcome;
    snprintf(s->r->message, sizeof(s->r->message), "%s", message);
}

/* small whole numbers, whose sums no order changes; indices of the table's rows */
static void *make_input(struct session *s, int parameter)
{
    const struct graph_node *n = &s->graph->node[s->graph->parameter[parameter]];
    int64_t count = shape_elems(&n->shape);
    float *x = arena_array(&s->a, (size_t)count, sizeof(*x));
    int32_t *index = (int32_t *)x;
    struct rng r;

    rng_init(&r, (uint64_t)s->t->seed * 16 + (uint64_t)parameter);
    for (int64_t i = 0; i < count; i++) {
        uint32_t odds = rng_below(&r, VALUE_ODDS);

        if (n->shape.dtype == DTYPE_S32)
            index[i] = (int32_t)rng_below(&r, (uint32_t)s->c->op.shape[0].dim[0]);
        else
            x[i] = odds == 0 ? 1.0f : odds == 1 ? -1.0f : 0.0f;
    }
    return x;
}

static int open_machine(struct session *s, struct err *e)
{
    struct machine_options options = {.thread_count = 1,
                                      .mode = s->t->has_values ? MODE_BOTH : MODE_TIMING};
    struct module_settings settings = {.replica_count = 1, .chip = &s->chip};

    settings.megacore = options.shared_hbm = s->chip.chip_megacore;
    if (module_compile(s->graph, &settings, &s->a, &s->module, e)) {
        finish(s, SHAPE_REFUSED, e->msg);
        return -1;
    }
    s->r->kernels = s->module.kernel_count;
    s->machine = machine_create(&s->slice, &s->chip, &options, e);
    if (s->machine && module_load(&s->module, s->machine, 0, e) == 0)
        return 0;
    finish(s, SHAPE_REFUSED, e->msg);
    return -1;
}

static int write_inputs(struct session *s, struct interp_value *input, struct err *e)
{
    struct index_data uniform;

    index_data_parse(&uniform, "uniform");
    if (!s->t->has_values)
        return index_assume_write(s->graph, &s->module, s->machine, 0, &uniform, e);
    for (int i = 0; i < s->graph->parameter_count; i++) {
        input[i].data = make_input(s, i);
        if (module_write(&s->module, s->machine, 0, i, input[i].data, e))
            return -1;
    }
    return 0;
}

/* the first value that is not the interpreter's */
static int compare(struct session *s, int output, const void *want, struct err *e)
{
    const struct graph_node *n = &s->graph->node[s->graph->output[output].node];
    int64_t count = shape_elems(&n->shape), wrong = 0, first = 0;
    const float *x, *y = want;

    x = arena_array(&s->a, (size_t)count, sizeof(*x));
    if (module_read(&s->module, s->machine, 0, output, (void *)x, e))
        return -1;
    for (int64_t i = count - 1; i >= 0; i--)
        if (x[i] != y[i]) {
            first = i;
            wrong++;
        }
    if (wrong == 0)
        return 0;
    return err_set(e, "%s: %lld of %lld values differ, the first at %lld: %g instead of %g",
                   s->graph->output[output].name, (long long)wrong, (long long)count,
                   (long long)first, (double)x[first], (double)y[first]);
}

static void compare_all(struct session *s, const struct interp_value *input)
{
    struct interp_value *want = arena_array(&s->a, (size_t)s->graph->output_count, sizeof(*want));
    struct err e;

    if (interp_run(s->graph, INTERP_DOT_F32, input, want, &s->a, &e)) {
        finish(s, SHAPE_WRONG, e.msg);
        return;
    }
    for (int i = 0; i < s->graph->output_count; i++)
        if (compare(s, i, want[i].data, &e)) {
            finish(s, SHAPE_WRONG, e.msg);
            return;
        }
}

static void run(struct session *s)
{
    struct interp_value *input;
    struct err e;

    arena_init(&s->a);
    if (shape_case_graph(s->c, &s->a, &s->graph, &e) ||
        slice_parse(&s->slice, s->c->tpu, &e) ||
        chip_load_builtin(&s->chip, s->slice.chip_name, NULL, &s->a, &e) ||
        cli_set_params(s->t->set, &s->chip, NULL, &s->a, &e)) {
        finish(s, SHAPE_ILLEGAL, e.msg);
        return;
    }
    if (open_machine(s, &e))
        return;
    input = arena_array(&s->a, (size_t)s->graph->parameter_count, sizeof(*input));
    if (write_inputs(s, input, &e) || machine_run(s->machine, &e)) {
        finish(s, SHAPE_FAULT, e.msg);
        return;
    }
    finish(s, SHAPE_DONE, "");
    s->r->cycles = (int64_t)machine_cycles(s->machine);
    if (s->t->has_values)
        compare_all(s, input);
}

static void run_apart(void *user, void *result)
{
    struct session *s = user;

    s->r = result;
    run(s);
}

int shape_run(const struct shape_case *c, const struct shape_trial *t, struct shape_result *out,
              struct err *e)
{
    struct session s = {.c = c, .t = t};
    struct apart_end end;

    if (apart_run(run_apart, &s, out, sizeof(*out), SECONDS_MAX, &end, e))
        return -1;
    if (end.kind != APART_DONE) {
        out->outcome = end.kind == APART_SLOW ? SHAPE_SLOW : SHAPE_ABORT;
        snprintf(out->message, sizeof(out->message), "%s", end.message);
    }
    return 0;
}

static bool is_same(const struct shape_case *a, const struct shape_case *b, struct arena *arena)
{
    return strcmp(shape_case_print(a, arena), shape_case_print(b, arena)) == 0;
}

int shape_shrink(struct shape_case *c, const struct shape_trial *t, struct shape_result *r,
                 struct err *e)
{
    struct arena a;
    bool is_smaller = true;
    int status = 0;

    arena_init(&a);
    while (is_smaller && status == 0) {
        struct shape_case smaller = *c;

        is_smaller = false;
        for (int at = 0; status == 0 && shape_case_reduce(&smaller, at); smaller = *c, at++) {
            struct shape_result result;

            if (is_same(&smaller, c, &a))
                continue;
            status = shape_run(&smaller, t, &result, e);
            if (status == 0 && result.outcome == r->outcome) {
                *c = smaller;
                *r = result;
                is_smaller = true;
            }
        }
    }
    arena_fini(&a);
    return status;
}
