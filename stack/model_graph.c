#include "stack/model.h"

#include "base/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BATCH_MAX (1 << 20)

/* Larger than any class index, exact in f32. */
#define NO_CLASS 1e9

struct builder {
    const struct model *model;
    const struct model_options *options;
    struct graph *g;
    struct arena *arena;
    struct model_graph *out;
    int variable_count;                 /* kernels and biases: the first parameters */
    int x, labels, weights;             /* nodes; weights is NODE_NONE when training */
};

static int add_parameter(struct builder *b, struct model_parameter p, struct shape shape)
{
    int index = b->g->parameter_count;

    b->out->parameter[index] = p;
    return graph_parameter(b->g, shape, p.name);
}

static const struct shape *parameter_shape(const struct builder *b, int index)
{
    return &b->g->node[b->g->parameter[index]].shape;
}

static void add_variables(struct builder *b)
{
    for (int i = 0; i < b->model->layer_count; i++) {
        const struct model_layer *l = &b->model->layer[i];
        int64_t dim[2] = {l->inputs, l->units};

        add_parameter(b, (struct model_parameter){
            .role = ROLE_KERNEL, .layer = i, .of = -1,
            .name = arena_printf(b->arena, "%s/kernel", l->name)},
            shape_make(DTYPE_F32, 2, dim));
        if (l->use_bias)
            add_parameter(b, (struct model_parameter){
                .role = ROLE_BIAS, .layer = i, .of = -1,
                .name = arena_printf(b->arena, "%s/bias", l->name)},
                shape_make(DTYPE_F32, 1, dim + 1));
    }
    b->variable_count = b->g->parameter_count;
}

static void add_slot(struct builder *b, int variable, const char *suffix)
{
    const struct model_parameter *of = &b->out->parameter[variable];
    struct model_parameter slot = {
        .role = ROLE_SLOT, .layer = of->layer, .of = variable,
        .name = arena_printf(b->arena, "%s/%s", of->name, suffix)};

    add_parameter(b, slot, *parameter_shape(b, variable));
}

/* Adam: m and v of variable i are parameters variable_count + 2i and + 2i + 1, then the powers. */
static void add_optimizer_state(struct builder *b)
{
    bool is_adam = b->options->optimizer == OPTIMIZER_ADAM;

    for (int i = 0; i < b->variable_count; i++) {
        if (is_adam) {
            add_slot(b, i, "m");
            add_slot(b, i, "v");
        } else if (b->options->momentum > 0.0) {
            add_slot(b, i, "momentum");
        }
    }
    for (int i = 1; i <= 2 && is_adam; i++)
        add_parameter(b, (struct model_parameter){
            .role = ROLE_BETA_POWER, .layer = -1, .of = -1,
            .name = arena_printf(b->arena, "Adam/beta_%d_power", i)}, shape_scalar(DTYPE_F32));
}

static void add_inputs(struct builder *b, bool with_weights)
{
    int64_t batch = b->options->local_batch;
    struct shape x = shape_make(DTYPE_F32, 2, (int64_t[]){batch, b->model->input_elems});
    int64_t column[2] = {batch, 1};

    b->x = add_parameter(b, (struct model_parameter){
        .role = ROLE_X, .layer = -1, .of = -1, .name = "x"}, x);
    b->labels = add_parameter(b, (struct model_parameter){
        .role = ROLE_LABELS, .layer = -1, .of = -1, .name = "labels"},
        shape_make(DTYPE_S32, 2, column));
    b->weights = NODE_NONE;
    if (with_weights)
        b->weights = add_parameter(b, (struct model_parameter){
            .role = ROLE_WEIGHTS, .layer = -1, .of = -1, .name = "weights"},
            shape_make(DTYPE_F32, 2, column));
}

static void set_source(struct builder *b, const char *scope, const char *what)
{
    b->g->source = arena_printf(b->arena, "%s/%s", scope, what);
}

static int activate(struct builder *b, const struct model_layer *l, int x)
{
    switch (l->activation) {
    case ACTIVATION_RELU:
        set_source(b, l->name, "Relu");
        return graph_binary(b->g, HLO_MAXIMUM, x, graph_splat(b->g, x, 0.0));
    case ACTIVATION_TANH:
        set_source(b, l->name, "Tanh");
        return graph_unary(b->g, HLO_TANH, x);
    case ACTIVATION_SIGMOID:
        set_source(b, l->name, "Sigmoid");
        return graph_unary(b->g, HLO_LOGISTIC, x);
    case ACTIVATION_SILU:
        set_source(b, l->name, "Silu");
        return graph_binary(b->g, HLO_MULTIPLY, x, graph_unary(b->g, HLO_LOGISTIC, x));
    case ACTIVATION_LINEAR:
    case ACTIVATION_SOFTMAX:            /* of the last layer: part of the loss */
    case ACTIVATION_COUNT:
        break;
    }
    return x;
}

/* Conversions to the type a value already has add no node: float32 has none at all. */
static int dense(struct builder *b, const struct model_layer *l, int x, int kernel, int bias)
{
    struct graph *g = b->g;
    enum graph_dtype dtype = b->options->policy == POLICY_FLOAT32 ? DTYPE_F32 : DTYPE_BF16;
    int y;

    set_source(b, l->name, "Cast");
    x = graph_convert(g, x, dtype);
    kernel = graph_convert(g, kernel, dtype);
    set_source(b, l->name, "MatMul");
    y = graph_convert(g, graph_dot(g, x, kernel, 1, 0, b->options->precision), dtype);
    if (bias != NODE_NONE) {
        set_source(b, l->name, "Cast");
        bias = graph_convert(g, bias, dtype);
        set_source(b, l->name, "BiasAdd");
        y = graph_binary(g, HLO_ADD, y, graph_broadcast(g, bias, g->node[y].shape, (int[]){1}));
    }
    return activate(b, l, y);
}

static int forward(struct builder *b)
{
    int y = b->x, next = 0;

    for (int i = 0; i < b->model->layer_count; i++) {
        const struct model_layer *l = &b->model->layer[i];
        int kernel = b->g->parameter[next++];
        int bias = l->use_bias ? b->g->parameter[next++] : NODE_NONE;

        y = dense(b, l, y, kernel, bias);
    }
    set_source(b, b->model->layer[b->model->layer_count - 1].name, "Logits");
    return graph_convert(b->g, y, DTYPE_F32);
}

/* The loss in pieces, for the gradient. */
struct loss {
    int logits, largest;                /* [batch, classes], [batch] */
    int label, index;                   /* [batch] and [batch, classes], both f32 */
    int z;                              /* logits - largest */
    int sum;                            /* of the samples' losses; scalar */
};

static int spread_rows(struct graph *g, int per_row, int like)
{
    return graph_broadcast(g, per_row, g->node[like].shape, (int[]){0});
}

/* one value per row of a [batch, 1] parameter, as a vector */
static int column(struct graph *g, int node)
{
    struct shape shape = g->node[node].shape;

    shape.rank = 1;
    return graph_reshape(g, node, shape);
}

/* log-sum-exp(z) - z[label] per sample */
static struct loss add_loss(struct builder *b, int logits)
{
    struct graph *g = b->g;
    struct loss l = {.logits = logits};
    int normalizer, own, sample;

    g->source = "loss";
    l.largest = graph_reduce(g, REDUCE_MAX, logits, 2);
    l.z = graph_binary(g, HLO_SUBTRACT, logits, spread_rows(g, l.largest, logits));
    normalizer = graph_unary(g, HLO_LOG,
                             graph_reduce(g, REDUCE_ADD, graph_unary(g, HLO_EXP, l.z), 2));
    l.label = graph_convert(g, column(g, b->labels), DTYPE_F32);
    l.index = graph_iota(g, g->node[logits].shape, 1);
    own = graph_compare(g, COMPARE_EQ, spread_rows(g, l.label, logits), l.index);
    own = graph_reduce(g, REDUCE_ADD, graph_select(g, own, l.z, graph_splat(g, l.z, 0.0)), 2);
    sample = graph_binary(g, HLO_SUBTRACT, normalizer, own);
    if (b->weights != NODE_NONE)
        sample = graph_binary(g, HLO_MULTIPLY, sample, column(g, b->weights));
    l.sum = graph_reduce(g, REDUCE_ADD, sample, 1);
    return l;
}

/* samples whose first largest logit is the label */
static int add_correct(struct builder *b, const struct loss *l)
{
    struct graph *g = b->g;
    int is_largest, first, hit;

    g->source = "accuracy";
    is_largest = graph_compare(g, COMPARE_EQ, l->logits, spread_rows(g, l->largest, l->logits));
    first = graph_select(g, is_largest, l->index, graph_splat(g, l->index, NO_CLASS));
    first = graph_reduce(g, REDUCE_MIN, first, 2);
    hit = graph_compare(g, COMPARE_EQ, first, l->label);
    hit = graph_select(g, hit, graph_splat(g, first, 1.0), graph_splat(g, first, 0.0));
    if (b->weights != NODE_NONE)
        hit = graph_binary(g, HLO_MULTIPLY, hit, column(g, b->weights));
    return graph_reduce(g, REDUCE_ADD, hit, 1);
}

static void add_metrics(struct builder *b, const struct loss *l)
{
    struct shape cell = shape_make(DTYPE_F32, 2, (int64_t[]){1, 1});
    int correct = add_correct(b, l);

    b->out->correct_output = b->g->output_count + 1;
    b->out->loss_output = b->g->output_count;
    b->g->source = "loss";
    graph_output(b->g, graph_reshape(b->g, l->sum, cell), "loss", -1);
    b->g->source = "accuracy";
    graph_output(b->g, graph_reshape(b->g, correct, cell), "correct", -1);
}

/*
 * The gradients of the mean loss over the global batch. z = logits - largest is
 * the derivative's cut: log-sum-exp(z) - z[label] does not change when one
 * number is added to a whole row, so the contributions through `largest` cancel
 * and the gradient of the logits is that of z: (softmax - one-hot) / batch.
 */
static int add_gradients(struct builder *b, const struct loss *l, int *gradient, struct err *e)
{
    struct graph *g = b->g;
    int mean, dz;

    g->source = "loss";
    mean = graph_binary(g, HLO_MULTIPLY, l->sum,
                        graph_splat(g, l->sum, 1.0 / (double)b->options->global_batch));
    if (graph_grad(g, mean, &l->z, 1, &dz, e) != 0 ||
        graph_backward(g, l->logits, dz, g->parameter, b->variable_count, gradient, e) != 0)
        return -1;
    for (int i = 0; i < b->variable_count && b->options->replica_count > 1; i++) {
        set_source(b, "all-reduce", b->out->parameter[i].name);
        gradient[i] = graph_all_reduce(g, gradient[i]);
    }
    return 0;
}

static void update(struct builder *b, int parameter, int node)
{
    graph_output(b->g, node, b->out->parameter[parameter].name, parameter);
}

/* a += (b - a) * rate */
static int approach(struct graph *g, int a, int b, double rate)
{
    int step = graph_binary(g, HLO_SUBTRACT, b, a);

    step = graph_binary(g, HLO_MULTIPLY, step, graph_splat(g, step, rate));
    return graph_binary(g, HLO_ADD, a, step);
}

static int one_minus(struct graph *g, int a)
{
    return graph_binary(g, HLO_SUBTRACT, graph_splat(g, a, 1.0), a);
}

static void add_adam_variable(struct builder *b, int variable, int g_node, int alpha, int *moment)
{
    const struct model_options *o = b->options;
    struct graph *g = b->g;
    int slot = b->variable_count + 2 * variable, w = g->parameter[variable];
    int root, step;

    set_source(b, "Adam", b->out->parameter[variable].name);
    moment[0] = approach(g, g->parameter[slot], g_node, 1.0 - o->beta_1);
    moment[1] = approach(g, g->parameter[slot + 1],
                         graph_binary(g, HLO_MULTIPLY, g_node, g_node), 1.0 - o->beta_2);
    root = graph_unary(g, HLO_SQRT, moment[1]);
    root = graph_binary(g, HLO_ADD, root, graph_splat(g, root, o->epsilon));
    step = graph_broadcast(g, alpha, g->node[w].shape, NULL);
    step = graph_binary(g, HLO_DIVIDE, graph_binary(g, HLO_MULTIPLY, step, moment[0]), root);
    update(b, variable, graph_binary(g, HLO_SUBTRACT, w, step));
}

/*
 * Keras 3: m += (g - m)(1 - b1), v += (g g - v)(1 - b2),
 * w -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps).
 */
static void add_adam(struct builder *b, const int *gradient)
{
    const struct model_options *o = b->options;
    struct graph *g = b->g;
    int powers = 3 * b->variable_count, alpha, power[2];
    int *moment = arena_array(b->arena, 2 * (size_t)b->variable_count, sizeof(*moment));
    double beta[2] = {o->beta_1, o->beta_2};

    g->source = "Adam/alpha";
    for (int i = 0; i < 2; i++) {
        power[i] = g->parameter[powers + i];
        power[i] = graph_binary(g, HLO_MULTIPLY, power[i], graph_splat(g, power[i], beta[i]));
    }
    alpha = graph_unary(g, HLO_SQRT, one_minus(g, power[1]));
    alpha = graph_binary(g, HLO_MULTIPLY, alpha, graph_splat(g, alpha, o->learning_rate));
    alpha = graph_binary(g, HLO_DIVIDE, alpha, one_minus(g, power[0]));
    for (int i = 0; i < b->variable_count; i++)
        add_adam_variable(b, i, gradient[i], alpha, moment + 2 * i);
    for (int i = 0; i < 2 * b->variable_count; i++)
        update(b, b->variable_count + i, moment[i]);
    for (int i = 0; i < 2; i++)
        update(b, powers + i, power[i]);
}

/* Keras 3: w -= lr g, or m = mu m - lr g, w += m. */
static void add_sgd(struct builder *b, const int *gradient)
{
    const struct model_options *o = b->options;
    struct graph *g = b->g;
    int *moment = arena_array(b->arena, (size_t)b->variable_count, sizeof(*moment));

    for (int i = 0; i < b->variable_count; i++) {
        int w = g->parameter[i], step, slot = NODE_NONE;

        set_source(b, "SGD", b->out->parameter[i].name);
        step = graph_binary(g, HLO_MULTIPLY, gradient[i],
                            graph_splat(g, w, o->learning_rate));
        if (o->momentum > 0.0) {
            slot = g->parameter[b->variable_count + i];
            moment[i] = graph_binary(g, HLO_SUBTRACT,
                                     graph_binary(g, HLO_MULTIPLY, slot,
                                                  graph_splat(g, w, o->momentum)), step);
        }
        update(b, i, slot == NODE_NONE ? graph_binary(g, HLO_SUBTRACT, w, step)
                                       : graph_binary(g, HLO_ADD, w, moment[i]));
    }
    for (int i = 0; i < b->variable_count && o->momentum > 0.0; i++)
        update(b, b->variable_count + i, moment[i]);
}

static int check_options(const struct model_options *o, bool is_training, struct err *e)
{
    if (o->local_batch < 1 || o->local_batch > BATCH_MAX)
        return err_set(e, "batch per replica is %" PRId64 ", not in 1..%d", o->local_batch,
                       BATCH_MAX);
    if (o->replica_count < 1)
        return err_set(e, "%d replicas; there must be at least 1", o->replica_count);
    if (!is_training)
        return 0;
    if (o->global_batch < o->local_batch)
        return err_set(e, "global batch %" PRId64 " is below the batch per replica, %" PRId64,
                       o->global_batch, o->local_batch);
    if (!(o->learning_rate > 0.0) || !isfinite(o->learning_rate))
        return err_set(e, "learning rate is %g; it must be positive", o->learning_rate);
    if (o->optimizer == OPTIMIZER_ADAM &&
        (!(o->beta_1 >= 0.0 && o->beta_1 < 1.0) || !(o->beta_2 >= 0.0 && o->beta_2 < 1.0)))
        return err_set(e, "Adam's betas are %g and %g; both must be in 0..1, below 1", o->beta_1,
                       o->beta_2);
    if (o->optimizer == OPTIMIZER_ADAM && !(o->epsilon > 0.0))
        return err_set(e, "Adam's epsilon is %g; it must be positive", o->epsilon);
    if (o->optimizer == OPTIMIZER_SGD && !(o->momentum >= 0.0 && o->momentum < 1.0))
        return err_set(e, "momentum is %g; it must be in 0..1, below 1", o->momentum);
    return 0;
}

static void begin(struct builder *b, const char *suffix)
{
    const char *name = arena_printf(b->arena, "%s_%s", b->model->name, suffix);

    memset(b->out, 0, sizeof(*b->out));
    b->g = &b->out->graph;
    graph_init(b->g, b->arena, name);
    /* a kernel and a bias per layer, two slots each; two beta powers, three inputs */
    b->out->parameter = arena_array(b->arena, 6 * (size_t)b->model->layer_count + 5,
                                    sizeof(*b->out->parameter));
    add_variables(b);
}

static void clean_up(struct builder *b)
{
    struct err e;
    int fits;

    graph_eliminate_common(b->g);
    fits = graph_verify(b->g, &e);
    assert(fits == 0);
    (void)fits;
}

int model_build_train(const struct model *m, const struct model_options *o, struct arena *a,
                      struct model_graph *out, struct err *e)
{
    struct builder b = {.model = m, .options = o, .arena = a, .out = out};
    struct loss loss;
    int *gradient;

    begin(&b, "train");
    if (check_options(o, true, e) != 0)
        return -1;
    add_optimizer_state(&b);
    add_inputs(&b, false);
    loss = add_loss(&b, forward(&b));
    gradient = arena_array(a, (size_t)b.variable_count, sizeof(*gradient));
    if (add_gradients(&b, &loss, gradient, e) != 0)
        return -1;
    if (o->optimizer == OPTIMIZER_ADAM)
        add_adam(&b, gradient);
    else
        add_sgd(&b, gradient);
    add_metrics(&b, &loss);
    clean_up(&b);
    return 0;
}

int model_build_eval(const struct model *m, const struct model_options *o, struct arena *a,
                     struct model_graph *out, struct err *e)
{
    struct builder b = {.model = m, .options = o, .arena = a, .out = out};
    struct loss loss;

    begin(&b, "eval");
    if (check_options(o, false, e) != 0)
        return -1;
    add_inputs(&b, true);
    loss = add_loss(&b, forward(&b));
    add_metrics(&b, &loss);
    clean_up(&b);
    return 0;
}

void model_init_parameter(const struct model *m, const struct model_graph *mg, int parameter,
                          uint64_t seed, float *to)
{
    const struct model_parameter *p = &mg->parameter[parameter];
    const struct shape *shape = &mg->graph.node[mg->graph.parameter[parameter]].shape;
    int64_t elems = shape_elems(shape);
    struct rng rng;
    float limit;

    assert(p->role <= ROLE_BETA_POWER);
    for (int64_t i = 0; i < elems; i++)
        to[i] = p->role == ROLE_BETA_POWER ? 1.0f : 0.0f;
    if (p->role != ROLE_KERNEL)
        return;
    /* glorot_uniform; each variable has its own stream, whatever the others' sizes */
    limit = (float)sqrt(6.0 / (double)(m->layer[p->layer].inputs + m->layer[p->layer].units));
    rng_init(&rng, seed * 0x9e3779b97f4a7c15u + (uint64_t)parameter);
    for (int64_t i = 0; i < elems; i++)
        to[i] = rng_uniform(&rng, -limit, limit);
}
