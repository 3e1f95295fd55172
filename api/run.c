/* Runs a user's step, which is traced once for each new combination of shapes. */
#include "api/api.h"

#include <inttypes.h>
#include <string.h>

#include "train/step/loop.h"

/* calls the user's function and leaves its outputs as results */
static int write_step(struct trace *t, const struct api_function *f, const int *input, int count,
                      struct err *e)
{
    sy_context c = {.trace = t, .strategy = f->strategy};
    sy_tensor *in = arena_array(t->arena, (size_t)count + 1, sizeof(*in));
    sy_tensor *out = arena_array(t->arena, (size_t)f->output_count + 1, sizeof(*out));
    sy_status status;

    for (int i = 0; i < count; i++)
        in[i].node = input[i];
    for (int i = 0; i < f->output_count; i++)
        out[i].node = NODE_NONE;
    status = f->step(&c, in, count, out, f->output_count, f->user);
    if (status != SY_OK && !c.has_failed)
        return err_set(e, "%s", *sy_message() ? sy_message() : "the step returned an error");
    for (int i = 0; i < f->output_count && !c.has_failed; i++) {
        if (out[i].node == NODE_NONE)
            return err_set(e, "the step has not set output %d of %d", i, f->output_count);
        if (api_are_valid(&c, &out[i], 1))
            trace_result(t, arena_printf(t->arena, "output.%d", i), out[i].node);
    }
    if (c.has_failed)
        *e = c.err;
    return c.has_failed ? -1 : 0;
}

/* without the first dimension, over which the loop goes */
static int one_of(const struct trace *t, int node, int times, struct shape *s, struct err *e)
{
    char text[96];

    *s = t->graph.node[node].shape;
    if (s->rank == 0 || s->dim[0] != times)
        return err_set(e, "inputs of %d steps hold one array per step, dimension 0 must be %d; "
                       "there is %s", times, times, shape_print(s, text, sizeof(text)));
    s->rank--;
    memmove(s->dim, s->dim + 1, (size_t)s->rank * sizeof(*s->dim));
    return 0;
}

static int write_loop(struct trace *t, const struct api_function *f, const int *input, int count,
                      struct err *e)
{
    int *own = arena_array(t->arena, (size_t)count + 1, sizeof(*own));
    struct trace body;
    int status = 0;

    trace_init(&body, t->arena, "step", t->set, t->replica_count, t->is_training);
    body.mesh = t->mesh;
    for (int i = 0; i < count && !status; i++) {
        struct shape s;

        status = one_of(t, input[i], f->times, &s, e);
        if (!status)
            own[i] = trace_input(&body, arena_printf(t->arena, "step.%d", i), &s);
    }
    if (!status)
        status = write_step(&body, f, own, count, e);
    if (!status) {
        trace_finish(&body);
        loop_steps(t, &body, f->times, input);
    }
    trace_fini(&body);
    return status;
}

static int trace_function(struct trace *t, const int *input, int count, void *context,
                          struct err *e)
{
    const struct api_function *f = context;

    return f->times ? write_loop(t, f, input, count, e) : write_step(t, f, input, count, e);
}

/* the same object each time, for programs are found by it */
static struct api_function *find_function(sy_strategy *s, sy_step step, void *user,
                                          int output_count, int times)
{
    struct api_function *f = s->function;

    while (f && (f->step != step || f->user != user || f->output_count != output_count ||
                 f->times != times))
        f = f->next;
    if (f)
        return f;
    f = arena_alloc(&s->arena, sizeof(*f));
    *f = (struct api_function){s, step, user, output_count, times, s->function};
    s->function = f;
    return f;
}

static int check_inputs(const sy_strategy *s, sy_value *const *input, int count, struct err *e)
{
    for (int i = 0; i < count; i++)
        if (!input[i])
            return err_set(e, "input %d is NULL", i);
        else if (input[i]->replicas != sy_strategy_replicas(s))
            return err_set(e, "input %d has values for %d replicas, the strategy has %d", i,
                           input[i]->replicas, sy_strategy_replicas(s));
    return 0;
}

static struct strategy_program *find_program(sy_strategy *s, const char *name,
                                             struct api_function *f, sy_value *const *input,
                                             int count, struct err *e)
{
    struct shape *shape = mem_alloc((size_t)(count + 1) * sizeof(*shape));
    struct strategy_program *p;

    for (int i = 0; i < count; i++)
        shape[i] = input[i]->shape;
    p = strategy_function(s->strategy, name, trace_function, f, true, shape, count, e);
    mem_free(shape);
    return p;
}

/* the launch; outputs are there */
static int launch(sy_strategy *s, struct strategy_program *p, sy_value *const *input,
                  int input_count, sy_value **output, int output_count, struct err *e)
{
    int replicas = sy_strategy_replicas(s), status;
    const void **in = mem_alloc((size_t)(replicas * input_count + 1) * sizeof(*in));
    void **out = mem_alloc((size_t)(replicas * output_count + 1) * sizeof(*out));
    struct strategy_run run;

    for (int r = 0; r < replicas; r++) {
        for (int i = 0; i < input_count; i++)
            in[r * input_count + i] = input[i]->data[r];
        for (int i = 0; i < output_count; i++)
            out[r * output_count + i] = output[i]->data[r];
    }
    status = strategy_run(s->strategy, p, in, out, &run, e);
    s->cycles = status ? 0 : run.cycles;
    mem_free(in);
    mem_free(out);
    return status;
}

static sy_status run(sy_strategy *s, const char *name, struct api_function *f,
                     sy_value *const *input, int input_count, sy_value **output, int output_count)
{
    struct strategy_program *p;
    struct err e;

    if ((input_count && API_GIVEN(input)) || (output_count && API_GIVEN(output)))
        return SY_ERROR;
    if (check_inputs(s, input, input_count, &e))
        return api_fail(&e);
    p = find_program(s, name, f, input, input_count, &e);
    if (!p)
        return api_fail(&e);
    for (int i = 0; i < output_count; i++)
        output[i] = api_value(s, strategy_program_result_shape(p, i));
    if (launch(s, p, input, input_count, output, output_count, &e) == 0)
        return SY_OK;
    for (int i = 0; i < output_count; i++) {
        sy_value_free(output[i]);
        output[i] = NULL;
    }
    return api_fail(&e);
}

sy_status sy_strategy_run(sy_strategy *s, const char *name, sy_step step, void *user,
                          sy_value *const *input, int input_count, sy_value **output,
                          int output_count)
{
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (!name || !step)
        return api_fail_text("the %s of a step is NULL", name ? "function" : "name");
    if (input_count < 0 || output_count < 0)
        return api_fail_text("step %s: %d inputs and %d outputs", name, input_count,
                             output_count);
    return run(s, name, find_function(s, step, user, output_count, 0), input, input_count,
               output, output_count);
}

sy_status sy_strategy_run_steps(sy_strategy *s, const char *name, sy_step step, void *user,
                                int times, sy_value *const *input, int input_count,
                                sy_value **output, int output_count)
{
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (!name || !step)
        return api_fail_text("the %s of a step is NULL", name ? "function" : "name");
    if (times < 1)
        return api_fail_text("step %s: a launch of %d steps; there must be at least 1", name, times);
    if (input_count < 0 || output_count < 0)
        return api_fail_text("step %s: %d inputs and %d outputs", name, input_count, output_count);
    return run(s, name, find_function(s, step, user, output_count, times), input, input_count,
               output, output_count);
}
