/*
 * What a loss, a metric or an optimizer makes of given numbers, for the tests that compare it with
 * Keras's own. Reads from standard input
 *
 *     loss Huber(delta=0.3)            or metric TEXT, optimizer TEXT
 *     y f32 4 3 : 1 0 ...              arrays by name, until "run"
 *     run
 *
 * and prints lines: a word, then numbers. The interpreter computes in doubles.
 *
 * loss: y, p, w (weights of samples) give "loss", the reduced one, and "gradient" by p. metric: the
 * same, also several times (a step each), give "result". optimizer: v0, v1, ... and as many
 * gradients g0, g1, ... a step give "v0", "v1", ... behind each "run". constraint, regularizer and
 * initializer: of w the new value, the gradient of the sum, drawn values.
 */
#include <stdlib.h>
#include <string.h>

#include "keras/call/call.h"
#include "keras/functions/regularizer.h"
#include "keras/loss/loss_from_text.h"
#include "keras/optimizer/optimizer.h"
#include "stack/interp/interp.h"
#include "stack/nn/nn.h"

#define ARRAYS_MAX 8
#define TEXT_MAX 1000

struct array {
    char name[16];
    struct shape shape;
    double *value;
};

static struct arena arena;
static struct variable_set set;
static struct trace t;
static struct err e;
static struct array array[ARRAYS_MAX];
static int array_count;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void print(const char *what, const double *v, int64_t count)
{
    printf("%s", what);
    for (int64_t i = 0; i < count; i++)
        printf(" %.17g", v[i]);
    printf("\n");
    fflush(stdout);
}

static struct array *find(const char *name)
{
    for (int i = 0; i < array_count; i++)
        if (strcmp(array[i].name, name) == 0)
            return &array[i];
    return NULL;
}

/* of the line "NAME TYPE DIM ... : VALUE ..." */
static void read_array(char *line)
{
    char *at, *name = strtok_r(line, " ", &at), *word = strtok_r(NULL, " ", &at);
    struct array *a = find(name);
    int64_t elems;

    if (!a && array_count == ARRAYS_MAX)
        fail("too many arrays");
    a = a ? a : &array[array_count++];
    snprintf(a->name, sizeof(a->name), "%s", name);
    a->shape = (struct shape){.dtype = strcmp(word, "s32") ? DTYPE_F32 : DTYPE_S32};
    while ((word = strtok_r(NULL, " ", &at)) && *word != ':')
        a->shape.dim[a->shape.rank++] = atoll(word);
    elems = shape_elems(&a->shape);
    a->value = arena_array(&arena, (size_t)elems, sizeof(double));
    for (int64_t i = 0; i < elems; i++)
        a->value[i] = strtod(strtok_r(NULL, " \n", &at), NULL);
}

/* false: nothing more comes */
static bool read_arrays(void)
{
    char *line = NULL;
    size_t room = 0;
    bool is_run = false;

    while (!is_run && getline(&line, &room, stdin) > 0) {
        is_run = strncmp(line, "run", 3) == 0;
        if (!is_run)
            read_array(line);
    }
    free(line);
    return is_run;
}

static int input(const char *name)
{
    return find(name) ? trace_input(&t, name, &find(name)->shape) : NODE_NONE;
}

/* what a parameter of the graph is given: an array, or a variable's values */
static void *give(const struct shape *s, const double *value)
{
    int64_t elems = shape_elems(s);
    int32_t *whole = arena_array(&arena, (size_t)elems, sizeof(*whole));
    double *real = arena_array(&arena, (size_t)elems, sizeof(*real));

    for (int64_t i = 0; i < elems; i++) {
        if (s->dtype == DTYPE_S32 || s->dtype == DTYPE_U32)
            whole[i] = value ? (int32_t)value[i] : 0;
        else
            real[i] = value ? value[i] : 0;
    }
    return s->dtype == DTYPE_S32 || s->dtype == DTYPE_U32 ? (void *)whole : (void *)real;
}

static void run(const struct interp_value *in, struct interp_value *out)
{
    if (interp_run(&t.graph, INTERP_WIDE, in, out, &arena, &e))
        fail(e.msg);
}

/* the arrays as the trace's inputs, in their order; how many */
static int give_inputs(struct interp_value *in)
{
    static const char *const names[] = {"y", "p", "w", "mask"};
    int count = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (find(names[i]))
            in[count++].data = give(&find(names[i])->shape, find(names[i])->value);
    return count;
}

/* ----- losses */

static void do_loss(const char *text)
{
    struct model_result p = {NODE_NONE, NODE_NONE, ACTIVATION_LINEAR, NODE_NONE};
    struct interp_value in[4], out[2];
    struct shape sample, label;
    struct loss l;
    int y, w, sum, slope;

    if (loss_from_text(&l, text, &arena, &e) || !read_arrays())
        fail(e.msg);
    sample = find("p")->shape;
    sample.rank--;
    memmove(sample.dim, sample.dim + 1, (size_t)sample.rank * sizeof(*sample.dim));
    label = loss_label_shape(&l, &sample);
    if (loss_check(&l, &label, &sample, &e) ||
        (find("mask") && loss_check_masked(&l, &sample, &e)))
        fail(e.msg);
    y = input("y");
    p.value = input("p");
    w = input("w");
    p.mask = input("mask");
    sum = loss_values(&t.graph, &l, y, &p, w, NODE_NONE);
    sum = loss_sum(&t.graph, sum, loss_weights(&t.graph, &l, w, NODE_NONE));
    if (!loss_is_sum(&l))
        sum = nn_scale(&t.graph, sum, 1.0 / (double)find("p")->shape.dim[0]);
    if (graph_grad(&t.graph, sum, &p.value, 1, &slope, &e))
        fail(e.msg);
    trace_result(&t, "loss", sum);
    trace_result(&t, "gradient", slope);
    trace_finish(&t);
    give_inputs(in);
    run(in, out);
    print("loss", out[0].data, 1);
    print("gradient", out[1].data, shape_elems(&find("p")->shape));
}

/* ----- metrics */

static void do_metric(const char *text)
{
    struct interp_value in[4 + METRIC_STATES_MAX], out[METRIC_STATES_MAX];
    const float *state[METRIC_STATES_MAX];
    struct shape sample, label;
    struct metric m;
    int inputs, y, p, w, mask, count;
    double *list;

    if (!read_arrays())
        fail("no arrays");
    sample = find("p")->shape;
    label = find("y")->shape;
    sample.rank--;
    label.rank--;
    memmove(sample.dim, sample.dim + 1, (size_t)sample.rank * sizeof(*sample.dim));
    memmove(label.dim, label.dim + 1, (size_t)label.rank * sizeof(*label.dim));
    if (metric_from_text(&m, text, &label, &sample, &arena, &e) ||
        metric_check(&m, &label, &sample, &e))
        fail(e.msg);
    m.is_weighted = find("w");
    metric_build(&m, &set, &sample);
    y = input("y"), p = input("p"), w = input("w"), mask = input("mask");
    inputs = give_inputs(in);
    metric_update(&t, &m, y, p, mask, w);
    trace_finish(&t);
    for (int i = 0; i < m.variable_count; i++)
        in[inputs + i].data = give(&set.variable[m.variable[i]].shape, NULL);
    do {
        give_inputs(in);
        run(in, out);
        for (int i = 0; i < m.variable_count; i++)
            in[inputs + i] = out[i];
    } while (read_arrays());
    for (int i = 0; i < m.variable_count; i++) {
        int64_t elems = shape_elems(&set.variable[m.variable[i]].shape);
        float *value = arena_array(&arena, (size_t)elems, sizeof(*value));

        for (int64_t k = 0; k < elems; k++)
            value[k] = (float)((const double *)out[i].data)[k];
        state[i] = value;
    }
    count = metric_results(&m, &set, state, &arena, &list);
    print("result", list, count);
}

/* ----- optimizers */

static void do_optimizer(const char *text)
{
    struct interp_value in[64], out[64];
    int variable[ARRAYS_MAX], gradient[ARRAYS_MAX], count = 0;
    const struct initializer zeros = initializer_standard(INITIALIZER_ZEROS);
    struct optimizer o;
    char name[16];

    if (optimizer_parse(&o, text, &arena, &e) || !read_arrays())
        fail(e.msg);
    for (; snprintf(name, sizeof(name), "v%d", count), find(name); count++)
        variable[count] = variable_add_trainable(&set, name, &find(name)->shape, &zeros);
    if (optimizer_build(&o, &set, variable, count, &e))
        fail(e.msg);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "g%d", i);
        gradient[i] = input(name);
    }
    optimizer_apply(&t, &o, gradient);
    trace_finish(&t);
    for (int i = 0; i < set.count; i++) {
        const struct variable *v = &set.variable[i];
        int64_t elems = shape_elems(&v->shape);
        double *value = arena_array(&arena, (size_t)elems, sizeof(*value));
        float *begin = arena_array(&arena, (size_t)elems, sizeof(*begin));
        int p = i < t.known_count ? t.variable[i].parameter : -1;

        if (p < 0)
            continue;
        initializer_fill(&v->initializer, &v->shape, 1, 1, begin);
        for (int64_t k = 0; k < elems; k++)
            value[k] = v->shape.dtype == DTYPE_F32 ? (double)begin[k]
                                                   : (double)((int32_t *)(void *)begin)[k];
        in[p].data = give(&v->shape, find(v->name) ? find(v->name)->value : value);
    }
    do {
        for (int i = 0; i < t.graph.parameter_count; i++)
            if (t.parameter[i].kind == TRACE_INPUT) {
                snprintf(name, sizeof(name), "g%d", t.parameter[i].index);
                in[i].data = give(&find(name)->shape, find(name)->value);
            }
        run(in, out);
        for (int i = 0; i < t.graph.output_count; i++)
            in[t.graph.output[i].alias_parameter] = out[i];
        for (int i = 0; i < count; i++) {
            snprintf(name, sizeof(name), "v%d", i);
            print(name, in[t.variable[variable[i]].parameter].data,
                  shape_elems(&set.variable[variable[i]].shape));
        }
    } while (read_arrays());
}

/* ----- of one array w: constraints, regularisers, initialisers */

static json_t *parse(const char *text)
{
    json_t *call;

    if (call_parse(text, &call, &e))
        fail(e.msg);
    if (!read_arrays())
        fail("no array");
    return call;
}

static void run_one(int result)
{
    struct interp_value in, out;

    trace_result(&t, "result", result);
    trace_finish(&t);
    in.data = give(&find("w")->shape, find("w")->value);
    run(&in, &out);
    print("result", out.data, shape_elems(&t.graph.node[result].shape));
}

static void do_constraint(const char *text)
{
    json_t *call = parse(text);
    struct constraint c;

    if (constraint_from_json(&c, call, &e) || constraint_check(&c, &find("w")->shape, "w", &e))
        fail(e.msg);
    json_decref(call);
    run_one(constraint_apply(&t.graph, &c, input("w")));
}

static void do_regularizer(const char *text)
{
    struct regularizer r = {0};
    json_t *call = parse(text);
    int w, slope;

    if (regularizer_from_json(&r, call, &e))
        fail(e.msg);
    json_decref(call);
    w = input("w");
    if (graph_grad(&t.graph, regularizer_sum(&t.graph, &r, w), &w, 1, &slope, &e))
        fail(e.msg);
    run_one(slope);
}

static void do_initializer(const char *text)
{
    struct initializer i;
    json_t *call = parse(text);
    const struct shape *s = &find("w")->shape;
    int64_t elems = shape_elems(s);
    float *value = arena_array(&arena, (size_t)elems, sizeof(*value));

    if (initializer_from_json(&i, call, &e) || initializer_check(&i, s, "w", &e))
        fail(e.msg);
    json_decref(call);
    initializer_fill(&i, s, 7, 3, value);
    for (int64_t k = 0; k < elems; k++)
        find("w")->value[k] = (double)value[k];
    print("result", find("w")->value, elems);
}

int main(void)
{
    static const struct { const char *name; void (*run)(const char *text); } kinds[] = {
        {"loss", do_loss}, {"metric", do_metric}, {"optimizer", do_optimizer},
        {"constraint", do_constraint}, {"regularizer", do_regularizer},
        {"initializer", do_initializer},
    };
    char line[TEXT_MAX], *text;

    arena_init(&arena);
    variable_set_init(&set, &arena);
    trace_init(&t, &arena, "numbers", &set, 1, true);
    if (!fgets(line, sizeof(line), stdin) || !(text = strchr(line, ' ')))
        fail("the first line is a kind and a text");
    *text++ = '\0';
    text[strcspn(text, "\n")] = '\0';
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, line) == 0)
            kinds[i].run(text);
    trace_fini(&t);
    variable_set_fini(&set);
    arena_fini(&arena);
    return 0;
}
