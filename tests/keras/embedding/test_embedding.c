/*
 * Embedding tables in parts: look-ups, combiners, gradients and updates of the rows asked for,
 * against loops over one whole table in doubles; on one device, on several of the interpreter,
 * on cores.
 */
#include "base/rng.h"
#include "keras/embedding/embedding.h"
#include "tests/test.h"
#include "train/step/step.h"
#include "train/strategy/strategy.h"

#include <math.h>
#include <string.h>

#define FEATURES 4
#define TABLES 2
#define DIM_MAX 24
#define STEPS 3
#define LENGTH_MAX 5

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static const int64_t vocabulary[TABLES] = {101, 48}, dims[TABLES] = {16, DIM_MAX};
static const int lengths[FEATURES] = {1, LENGTH_MAX, 3, 2}, tables[FEATURES] = {0, 1, 1, 0};
enum { USER, HISTORY, LIKED, WORDS };   /* LIKED has weights, WORDS is a sequence */

struct setting {
    const char *slice;                  /* NULL: the host */
    int replicas, samples;              /* of each */
    enum embedding_combiner combiner;
    enum embedding_rows rows;
    const char *optimizer;
};

struct bench {
    const struct setting *is;
    struct embedding_table table[TABLES];
    struct embedding_feature feature[FEATURES];
    struct variable_set set;
    struct embedding m;
    struct machine *machine;
    struct strategy *strategy;
    struct strategy_program *program;
    /* of all samples, behind one another */
    int32_t *ids[FEATURES];
    float *weights, *gradient[FEATURES], *out[FEATURES];
    double *value[TABLES], *slot[TABLES][2];    /* the reference's */
    int64_t step;
};

static int64_t out_elems(int feature)
{
    return dims[tables[feature]] * (feature == WORDS ? lengths[feature] : 1);
}

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static void describe(struct bench *b)
{
    static const char *const names[] = {"user", "history", "liked", "words"};

    for (int t = 0; t < TABLES; t++) {
        b->table[t] = embedding_table_standard(t ? "items" : "users", vocabulary[t], dims[t]);
        b->table[t].combiner = b->is->combiner;
        b->table[t].rows = b->is->rows;
        b->table[t].optimizer = b->is->optimizer;
    }
    for (int f = 0; f < FEATURES; f++)
        b->feature[f] = (struct embedding_feature){names[f], tables[f], lengths[f], f == WORDS};
}

/* inputs: ids, gradients, weights */
static int trace_step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    const struct bench *b = context;
    struct embedding_step s;

    (void)count;
    (void)e;
    embedding_begin(&s, t, &b->m);
    for (int f = 0; f < FEATURES; f++)
        trace_result(t, b->feature[f].name,
                     embedding_lookup(&s, f, input[f],
                                      f == LIKED ? input[2 * FEATURES] : NODE_NONE));
    embedding_apply(&s, input + FEATURES);
    return 0;
}

static void open_machine(struct bench *b)
{
    struct machine_options options = {.thread_count = 1};
    struct slice slice;
    struct chip chip;
    struct err e;

    if (!b->is->slice)
        return;
    must(slice_parse(&slice, b->is->slice, &e), &e);
    must(chip_load_builtin(&chip, slice.chip_name, NULL, &arena, &e), &e);
    b->machine = machine_create(&slice, &chip, &options, &e);
    must(b->machine ? 0 : -1, &e);
}

static void compile(struct bench *b)
{
    struct shape shape[2 * FEATURES + 1];
    struct err e;

    for (int f = 0; f < FEATURES; f++) {
        shape[f] = shape_make(DTYPE_S32, 2, (int64_t[]){b->is->samples, lengths[f]});
        shape[FEATURES + f] = shape_make(DTYPE_F32, 2, (int64_t[]){b->is->samples,
                                                                  dims[tables[f]]});
        if (f == WORDS)
            shape[FEATURES + f] = shape_make(DTYPE_F32, 3, (int64_t[]){
                b->is->samples, lengths[f], dims[tables[f]]});
    }
    shape[2 * FEATURES] = shape_make(DTYPE_F32, 2, (int64_t[]){b->is->samples, lengths[LIKED]});
    b->program = strategy_function(b->strategy, "embedding", trace_step, b, true, shape,
                                   2 * FEATURES + 1, &e);
    must(b->program ? 0 : -1, &e);
}

/* all of table t's variable, or of a slot of it, in the order of ids */
static float *read_rows(struct bench *b, int t, int variable)
{
    const struct shape *shape = &b->set.variable[variable].shape;
    float *rows = arena_array(&arena, (size_t)shape_elems(shape), sizeof(*rows));
    float *sorted = arena_array(&arena, (size_t)(vocabulary[t] * dims[t]), sizeof(*sorted));
    struct err e;

    must(strategy_read(b->strategy, variable, rows, &e), &e);
    for (int64_t id = 0; id < vocabulary[t]; id++)
        memcpy(sorted + id * dims[t], rows + embedding_row(&b->m, t, id) * dims[t],
               (size_t)dims[t] * sizeof(*rows));
    return sorted;
}

static void begin_reference(struct bench *b)
{
    for (int t = 0; t < TABLES; t++) {
        size_t elems = (size_t)(vocabulary[t] * dims[t]);
        const float *rows = read_rows(b, t, b->m.variable[t]);

        b->value[t] = arena_array(&arena, elems, sizeof(double));
        for (int k = 0; k < 2; k++)
            b->slot[t][k] = arena_array(&arena, elems, sizeof(double));
        for (size_t i = 0; i < elems; i++) {
            b->value[t][i] = rows[i];
            if (b->m.optimizer[t].rule == RULE_ADAGRAD)
                b->slot[t][0][i] = 0.1;
        }
    }
}

static void bench_open(struct bench *b, const struct setting *is)
{
    struct strategy_options o = {.replica_count = is->replicas, .set = &b->set, .seed = 5};
    struct err e;

    memset(b, 0, sizeof(*b));
    b->is = is;
    describe(b);
    variable_set_init(&b->set, &arena);
    must(embedding_build(&b->m, &b->set, b->table, TABLES, b->feature, FEATURES, is->replicas, 0,
                         &e), &e);
    open_machine(b);
    o.machine = b->machine;
    b->strategy = strategy_create(&o, &e);
    must(b->strategy ? 0 : -1, &e);
    compile(b);
    begin_reference(b);
}

static void bench_close(struct bench *b)
{
    strategy_destroy(b->strategy);
    if (b->machine)
        machine_destroy(b->machine);
    variable_set_fini(&b->set);
}

/* some padding, some ids that are no rows, many that are equal; the last sample is empty */
static void draw(struct bench *b, uint64_t seed)
{
    int64_t samples = b->is->samples * b->is->replicas;
    struct rng r;

    rng_init(&r, seed);
    for (int f = 0; f < FEATURES; f++) {
        int64_t count = samples * lengths[f], rows = vocabulary[tables[f]];

        b->ids[f] = arena_array(&arena, (size_t)count, sizeof(int32_t));
        for (int64_t i = 0; i < count; i++) {
            uint64_t kind = rng_below(&r, 8);

            b->ids[f][i] = i / lengths[f] == samples - 1 || kind == 0 ? -1
                           : kind == 1 ? (int32_t)rows + (int32_t)rng_below(&r, 5)
                           : kind == 2 ? 3 : (int32_t)rng_below(&r, (uint32_t)rows);
        }
        b->gradient[f] = arena_array(&arena, (size_t)(samples * out_elems(f)), sizeof(float));
        for (int64_t i = 0; i < samples * out_elems(f); i++)
            b->gradient[f][i] = rng_uniform(&r, -1, 1);
        b->out[f] = arena_array(&arena, (size_t)(samples * out_elems(f)), sizeof(float));
    }
    b->weights = arena_array(&arena, (size_t)(samples * lengths[LIKED]), sizeof(float));
    for (int64_t i = 0; i < samples * lengths[LIKED]; i++)
        b->weights[i] = rng_uniform(&r, 0.1f, 2);
}

static void launch(struct bench *b)
{
    int replicas = b->is->replicas, samples = b->is->samples, inputs = 2 * FEATURES + 1;
    const void **in = arena_array(&arena, (size_t)(replicas * inputs), sizeof(*in));
    void **out = arena_array(&arena, (size_t)(replicas * FEATURES), sizeof(*out));
    struct err e;

    for (int r = 0; r < replicas; r++) {
        for (int f = 0; f < FEATURES; f++) {
            in[r * inputs + f] = b->ids[f] + r * samples * lengths[f];
            in[r * inputs + FEATURES + f] = b->gradient[f] + r * samples * out_elems(f);
            out[r * FEATURES + f] = b->out[f] + r * samples * out_elems(f);
        }
        in[r * inputs + 2 * FEATURES] = b->weights + r * samples * lengths[LIKED];
    }
    must(strategy_run(b->strategy, b->program, in, out, NULL, &e), &e);
}

/* ----- the reference: one table, one sample after the other */

static double weight_of(const struct bench *b, int f, int64_t sample, int place)
{
    int32_t id = b->ids[f][sample * lengths[f] + place];

    if (id < 0 || id >= vocabulary[tables[f]])
        return 0;
    return f == LIKED ? (double)b->weights[sample * lengths[f] + place] : 1;
}

/* what a row counts in its sample's sum */
static double share_of(const struct bench *b, int f, int64_t sample, int place)
{
    double sum = 0, weight = weight_of(b, f, sample, place);

    if (f == WORDS || b->is->combiner == COMBINER_SUM || weight == 0)
        return weight;
    for (int i = 0; i < lengths[f]; i++) {
        double w = weight_of(b, f, sample, i);

        sum += b->is->combiner == COMBINER_MEAN ? w : w * w;
    }
    return weight / (b->is->combiner == COMBINER_MEAN ? sum : sqrt(sum));
}

static void check_outputs(const struct bench *b, int f, int64_t sample)
{
    int64_t dim = dims[tables[f]];
    double sum[LENGTH_MAX * DIM_MAX] = {0};

    for (int place = 0; place < lengths[f]; place++) {
        double share = share_of(b, f, sample, place);
        int32_t id = b->ids[f][sample * lengths[f] + place];

        for (int64_t k = 0; k < dim && share != 0; k++)
            sum[k + (f == WORDS ? place * dim : 0)] += share * b->value[tables[f]][id * dim + k];
    }
    for (int64_t k = 0; k < out_elems(f); k++) {
        float is = b->out[f][sample * out_elems(f) + k];

        if (!(fabs((double)is - sum[k]) <= 2e-6))
            fail_msg("%s, step %d, sample %d, element %d: %.9g, not %.9g", b->feature[f].name,
                     (int)b->step, (int)sample, (int)k, (double)is, sum[k]);
    }
}

static void add_gradients(const struct bench *b, int f, double *sum, bool *asked)
{
    int64_t dim = dims[tables[f]];

    for (int64_t sample = 0; sample < b->is->samples * b->is->replicas; sample++)
        for (int place = 0; place < lengths[f]; place++) {
            double share = share_of(b, f, sample, place);
            int32_t id = b->ids[f][sample * lengths[f] + place];
            const float *g = b->gradient[f] + sample * out_elems(f) +
                             (f == WORDS ? place * dim : 0);

            if (weight_of(b, f, sample, place) == 0)
                continue;
            asked[id] = true;
            for (int64_t k = 0; k < dim; k++)
                sum[id * dim + k] += share * (double)g[k];
        }
}

static void update_element(const struct optimizer *o, double t, double g, double *w, double *a,
                           double *v)
{
    const double *h = o->hyper;

    if (o->rule == RULE_SGD) {
        *a = h[HYPER_MOMENTUM] * *a - h[HYPER_LEARNING_RATE] * g;
        *w += *a;
    } else if (o->rule == RULE_ADAGRAD) {
        *a += g * g;
        *w -= h[HYPER_LEARNING_RATE] * g / sqrt(*a + h[HYPER_EPSILON]);
    } else {
        *a += (g - *a) * (1 - h[HYPER_BETA_1]);
        *v += (g * g - *v) * (1 - h[HYPER_BETA_2]);
        *w -= h[HYPER_LEARNING_RATE] * sqrt(1 - pow(h[HYPER_BETA_2], t)) /
              (1 - pow(h[HYPER_BETA_1], t)) * *a / (sqrt(*v) + h[HYPER_EPSILON]);
    }
}

static void update_reference(struct bench *b, int t)
{
    size_t elems = (size_t)(vocabulary[t] * dims[t]);
    double *sum = arena_array(&arena, elems, sizeof(*sum));
    bool *asked = arena_array(&arena, (size_t)vocabulary[t], sizeof(*asked));

    for (int f = 0; f < FEATURES; f++)
        if (tables[f] == t)
            add_gradients(b, f, sum, asked);
    for (size_t i = 0; i < elems; i++)
        if (asked[i / (size_t)dims[t]])
            update_element(&b->m.optimizer[t], (double)b->step, sum[i], &b->value[t][i],
                           &b->slot[t][0][i], &b->slot[t][1][i]);
}

/* rows that nobody asked for have their very bits */
static void check_rows(struct bench *b, int t, const float *before)
{
    const float *is = read_rows(b, t, b->m.variable[t]);
    double *expected = b->value[t];

    for (int64_t i = 0; i < vocabulary[t] * dims[t]; i++) {
        bool is_as_before = expected[i] == (double)before[i];

        if (!(fabs((double)is[i] - expected[i]) <= 4e-6) || (is_as_before && is[i] != before[i]))
            fail_msg("table %d, step %d, id %d, element %d: %.9g, not %.9g", t, (int)b->step,
                     (int)(i / dims[t]), (int)(i % dims[t]), (double)is[i], expected[i]);
    }
    for (int64_t i = 0; i < vocabulary[t] * dims[t]; i++)
        expected[i] = is[i];
}

static void check_slots(struct bench *b, int t)
{
    for (int k = 0; k < 2; k++) {
        int slot = b->m.optimizer[t].of[0].slot[k];
        const float *is;

        if (slot < 0)
            continue;
        is = read_rows(b, t, slot);
        for (int64_t i = 0; i < vocabulary[t] * dims[t]; i++)
            if (!(fabs((double)is[i] - b->slot[t][k][i]) <= 4e-6 * (1 + fabs((double)is[i]))))
                fail_msg("table %d, slot %d, step %d, element %d: %.9g, not %.9g", t, k,
                         (int)b->step, (int)i, (double)is[i], b->slot[t][k][i]);
    }
}

static void check(const struct setting *is)
{
    struct bench b;

    bench_open(&b, is);
    for (b.step = 1; b.step <= STEPS; b.step++) {
        const float *before[TABLES];

        for (int t = 0; t < TABLES; t++)
            before[t] = read_rows(&b, t, b.m.variable[t]);
        draw(&b, (uint64_t)b.step);
        launch(&b);
        for (int f = 0; f < FEATURES; f++)
            for (int64_t i = 0; i < is->samples * is->replicas; i++)
                check_outputs(&b, f, i);
        for (int t = 0; t < TABLES; t++) {
            update_reference(&b, t);
            check_rows(&b, t, before[t]);
            check_slots(&b, t);
        }
    }
    bench_close(&b);
}

static const struct setting settings[] = {
    {NULL, 1, 6, COMBINER_MEAN, ROWS_MOD, "SGD(0.1)"},
    {NULL, 4, 3, COMBINER_MEAN, ROWS_MOD, "SGD(0.1, momentum=0.9)"},
    {NULL, 4, 3, COMBINER_SQRTN, ROWS_DIV, "Adagrad(0.1)"},
    {NULL, 5, 2, COMBINER_SUM, ROWS_MOD, "Adam(0.1)"},
    {"v3-1", 1, 6, COMBINER_MEAN, ROWS_MOD, "Adam(0.1)"},
    {"v5e-4", 4, 8, COMBINER_SQRTN, ROWS_MOD, "Adagrad(0.1)"},
    {"v3-8", 8, 4, COMBINER_MEAN, ROWS_DIV, "SGD(0.1)"},
    {"v3-8", 8, 3, COMBINER_SUM, ROWS_MOD, "Adam(0.1)"},
};

TEST(tables_in_parts_are_one_table)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        print_message("%s, %d devices, %s\n", settings[i].slice ? settings[i].slice : "host",
                      settings[i].replicas, settings[i].optimizer);
        check(&settings[i]);
    }
}

/* ----- in a training step: does a user like an item? */

#define PAIRS 16
#define TRAIN_STEPS 12

struct training {
    struct embedding_table table[2];
    struct embedding_feature feature[2];
    struct variable_set set;
    struct embedding m;
    struct optimizer optimizer;
    int kernel, replicas, micro_batches;
};

/* logit = sum over k of kernel[k] user[k] item[k], against 0 or 1 */
static int forward(struct trace *t, const int *input, int count, void *context,
                   struct step_loss *loss, struct err *e)
{
    const struct training *w = context;
    struct graph *g = &t->graph;
    struct embedding_step *s = arena_alloc(t->arena, sizeof(*s));
    int x, kernel, difference;

    (void)count;
    (void)e;
    embedding_begin(s, t, &w->m);
    kernel = trace_read(t, w->kernel);
    x = embedding_lookup(s, 0, input[0], NODE_NONE);
    x = graph_binary(g, HLO_MULTIPLY, x, embedding_lookup(s, 1, input[1], NODE_NONE));
    x = graph_binary(g, HLO_MULTIPLY, x,
                     graph_broadcast(g, kernel, g->node[x].shape, (int[]){1}));
    x = graph_unary(g, HLO_LOGISTIC, graph_reduce(g, REDUCE_ADD, x, 2));
    difference = graph_binary(g, HLO_SUBTRACT, x, input[2]);
    loss->sum = graph_reduce(g, REDUCE_ADD,
                             graph_binary(g, HLO_MULTIPLY, difference, difference), 1);
    loss->embedding = s;
    return 0;
}

static int train_step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    struct training *w = context;
    struct step_options o = {.optimizer = &w->optimizer, .global_batch = PAIRS,
                             .micro_batches = w->micro_batches, .forward = forward,
                             .context = w};
    int loss;

    if (step_train(t, &o, input, count, &loss, e))
        return -1;
    trace_result(t, "loss", loss);
    return 0;
}

static void train_build(struct training *w, const char *optimizer)
{
    struct shape kernel = shape_make(DTYPE_F32, 1, (int64_t[]){8});
    struct initializer ones = initializer_standard(INITIALIZER_ONES);
    struct err e;

    for (int t = 0; t < 2; t++) {
        w->table[t] = embedding_table_standard(t ? "items" : "users", 40, 8);
        w->table[t].optimizer = t ? "Adagrad(0.5)" : "Adam(0.1)";
        /* a place has other values in other parts: equal starts need equal values */
        w->table[t].initializer = initializer_standard(INITIALIZER_CONSTANT);
        w->table[t].initializer.a = 0.3;
        w->feature[t] = (struct embedding_feature){t ? "item" : "user", t, 1 + t, false};
    }
    variable_set_init(&w->set, &arena);
    w->kernel = variable_add_trainable(&w->set, "kernel", &kernel, &ones);
    must(optimizer_parse(&w->optimizer, optimizer, &arena, &e) ||
         optimizer_build(&w->optimizer, &w->set, &w->kernel, 1, &e) ||
         embedding_build(&w->m, &w->set, w->table, 2, w->feature, 2, w->replicas, 0, &e), &e);
}

static struct strategy_program *train_program(struct training *w, struct strategy *s,
                                              struct err *e)
{
    int64_t samples = PAIRS / w->replicas;
    struct shape shape[3] = {shape_make(DTYPE_S32, 2, (int64_t[]){samples, 1}),
                             shape_make(DTYPE_S32, 2, (int64_t[]){samples, 2}),
                             shape_make(DTYPE_F32, 1, (int64_t[]){samples})};

    return strategy_function(s, "train", train_step, w, true, shape, 3, e);
}

/* losses of all steps, over the global batch */
static void train(int replicas, const char *optimizer, float *losses)
{
    struct training w = {.replicas = replicas};
    struct strategy_options o = {.replica_count = replicas, .set = &w.set};
    int32_t user[PAIRS], item[2 * PAIRS];
    const void *in[3 * PAIRS];
    float likes[PAIRS], part[PAIRS];
    void *out[PAIRS];
    struct strategy_program *p;
    struct strategy *s;
    struct err e;

    train_build(&w, optimizer);
    s = strategy_create(&o, &e);
    must(s ? 0 : -1, &e);
    p = train_program(&w, s, &e);
    must(p ? 0 : -1, &e);
    for (int i = 0; i < PAIRS; i++) {
        user[i] = (i * 7) % 40;
        item[2 * i] = (i * 11) % 40;
        item[2 * i + 1] = i % 3 ? (i * 5) % 40 : -1;
        likes[i] = (float)(i % 2);
    }
    for (int r = 0; r < replicas; r++) {
        int first = r * PAIRS / replicas;

        in[3 * r] = user + first;
        in[3 * r + 1] = item + 2 * first;
        in[3 * r + 2] = likes + first;
        out[r] = &part[r];
    }
    for (int step = 0; step < TRAIN_STEPS; step++) {
        must(strategy_run(s, p, in, out, NULL, &e), &e);
        losses[step] = 0;
        for (int r = 0; r < replicas; r++)
            losses[step] += part[r];
    }
    strategy_destroy(s);
    variable_set_fini(&w.set);
}

TEST(training_steps_change_tables_too)
{
    float alone[TRAIN_STEPS], many[TRAIN_STEPS], scaled[TRAIN_STEPS];

    train(1, "SGD(0.1)", alone);
    train(4, "SGD(0.1)", many);
    train(4, "SGD(0.1, loss_scale_factor=1024)", scaled);
    for (int i = 0; i < TRAIN_STEPS; i++)
        if (fabsf(many[i] - alone[i]) > 1e-5f || fabsf(scaled[i] - alone[i]) > 1e-5f)
            fail_msg("step %d: loss %g on one device, %g on four, %g scaled", i,
                     (double)alone[i], (double)many[i], (double)scaled[i]);
    assert_true(alone[TRAIN_STEPS - 1] < 0.2f * alone[0]);
}

TEST(micro_batches_do_not_change_tables)
{
    struct training w = {.replicas = 2, .micro_batches = 2};
    struct strategy_options o = {.replica_count = 2, .set = &w.set};
    struct strategy *s;
    struct err e;

    train_build(&w, "SGD(0.1)");
    s = strategy_create(&o, &e);
    must(s ? 0 : -1, &e);
    assert_null(train_program(&w, s, &e));
    assert_string_equal(e.msg, "embedding tables are not changed by micro batches, there are 2");
    strategy_destroy(s);
    variable_set_fini(&w.set);
}

static void expect(int status, const struct err *e, const char *text)
{
    assert_int_equal(status, -1);
    assert_string_equal(e->msg, text);
}

static int build(struct embedding_table *t, struct embedding_feature *f, int replicas,
                 int64_t hbm_bytes, struct err *e)
{
    struct variable_set set;
    struct embedding m;
    int status;

    variable_set_init(&set, &arena);
    status = embedding_build(&m, &set, t, 1, f, 1, replicas, hbm_bytes, e);
    variable_set_fini(&set);
    return status;
}

TEST(mistakes_are_named)
{
    struct embedding_table t = embedding_table_standard("words", 1000, 64), good = t;
    struct embedding_feature f = {"text", 0, 10, false};
    struct err e;

    assert_int_equal(build(&t, &f, 8, 0, &e), 0);
    t.vocabulary_size = 0;
    expect(build(&t, &f, 8, 0, &e), &e,
           "table words: vocabulary_size is 0, allowed are 1..2147483647");
    t = good;
    t.dim = 100000;
    expect(build(&t, &f, 8, 0, &e), &e, "table words: dim is 100000, allowed are 1..65536");
    t = good;
    t.optimizer = "Lamb()";
    expect(build(&t, &f, 8, 0, &e), &e,
           "table words: its optimizer is Lamb, allowed are SGD, Adagrad, Adam");
    t.optimizer = "Adam(use_ema=True)";
    expect(build(&t, &f, 8, 0, &e), &e,
           "table words: use_ema goes over rows that nobody asked for");
    t.optimizer = "Adam(";
    assert_int_equal(build(&t, &f, 8, 0, &e), -1);
    t = good;
    f.table = 1;
    expect(build(&t, &f, 8, 0, &e), &e, "feature text: its table is number 1 of 1");
    f = (struct embedding_feature){"text", 0, 0, false};
    expect(build(&t, &f, 8, 0, &e), &e,
           "feature text: max_length is 0, allowed are 1..65536");
    f.max_length = 10;
    /* 12,500,000 rows of 512 bytes on each of 8 devices, and the gradient */
    t.vocabulary_size = 100000000;
    expect(build(&t, &f, 8, (int64_t)8 << 30, &e), &e,
           "tables with their gradients and slots take 11.9 GiB of each device's HBM, which is "
           "8 GiB: at least 12 devices are needed, there are 8");
    assert_int_equal(build(&t, &f, 12, (int64_t)8 << 30, &e), 0);
}

TEST(names_are_given_once)
{
    struct embedding_table t[2] = {embedding_table_standard("words", 10, 8),
                                   embedding_table_standard("words", 10, 8)};
    struct embedding_feature f[2] = {{"a", 0, 1, false}, {"a", 0, 1, false}};
    enum embedding_combiner combiner;
    struct variable_set set;
    struct embedding m;
    struct err e;

    variable_set_init(&set, &arena);
    expect(embedding_build(&m, &set, t, 2, f, 1, 2, 0, &e), &e, "two tables have the name words");
    expect(embedding_build(&m, &set, t, 1, f, 2, 2, 0, &e), &e, "two features have the name a");
    assert_int_equal(embedding_build(&m, &set, t, 1, f, 1, 2, 0, &e), 0);
    expect(embedding_build(&m, &set, t, 1, f, 1, 2, 0, &e), &e,
           "there is a variable embedding/words already");
    variable_set_fini(&set);
    assert_int_equal(embedding_combiner_find("sqrtn", &combiner, &e), 0);
    assert_int_equal(combiner, COMBINER_SQRTN);
    expect(embedding_combiner_find("men", &combiner, &e), &e,
           "no combiner \"men\" (did you mean \"mean\"?); there are mean, sum, sqrtn");
}

TEST(ids_are_looked_at_before_they_go_out)
{
    struct embedding_table t = embedding_table_standard("words", 10, 8);
    struct embedding_feature f = {"text", 0, 3, false};
    const int32_t good[] = {0, 9, -1, 3, 3, 3}, high[] = {0, 9, -1, 3, 10, 3}, low[] = {-2, 0, 0};
    struct variable_set set;
    struct embedding m;
    struct err e;

    variable_set_init(&set, &arena);
    assert_int_equal(embedding_build(&m, &set, &t, 1, &f, 1, 4, 0, &e), 0);
    assert_int_equal(embedding_check_ids(&m, 0, good, 2, &e), 0);
    expect(embedding_check_ids(&m, 0, high, 2, &e), &e,
           "feature text: id 10 of sample 1, place 1, is not in 0..9 (-1: none)");
    expect(embedding_check_ids(&m, 0, low, 1, &e), &e,
           "feature text: id -2 of sample 0, place 0, is not in 0..9 (-1: none)");
    /* three rows on each of four devices */
    assert_int_equal(embedding_row(&m, 0, 0), 0);
    assert_int_equal(embedding_row(&m, 0, 1), 3);
    assert_int_equal(embedding_row(&m, 0, 9), 5);
    t.rows = ROWS_DIV;
    assert_int_equal(embedding_row(&m, 0, 9), 9);
    variable_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_in_parts_are_one_table, setup, teardown),
        cmocka_unit_test_setup_teardown(training_steps_change_tables_too, setup, teardown),
        cmocka_unit_test_setup_teardown(micro_batches_do_not_change_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_given_once, setup, teardown),
        cmocka_unit_test_setup_teardown(ids_are_looked_at_before_they_go_out, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
