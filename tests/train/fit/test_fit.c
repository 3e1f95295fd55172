/* fit, evaluate, predict: what they make of a small classifier, on the host and on slices. */
#include "tests/rigs/train_rig.h"

#include <math.h>

#include "base/rng.h"
#include "isa/asm.h"
#include "isa/disasm.h"
#include "isa/object.h"
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/mlp.h"
#include "train/fit/callbacks.h"
#include "train/fit/fit.h"

#define INPUTS 20
#define CLASSES 10
#define SAMPLES 256
#define BATCH 64

struct classifier {
    struct train_rig rig;
    struct model model;
    struct optimizer optimizer;
    struct metric accuracy;
    struct fit_options options;
    struct fit *fit;
    struct batches train, test;
    int64_t units;                      /* of the first layer; 16 */
    float x[SAMPLES * INPUTS];
    int32_t label[SAMPLES];
};

static void make_samples(struct classifier *c)
{
    struct rng r;

    rng_init(&r, 7);
    for (int i = 0; i < SAMPLES; i++) {
        c->label[i] = (int32_t)rng_below(&r, CLASSES);
        for (int j = 0; j < INPUTS; j++)
            c->x[i * INPUTS + j] = rng_uniform(&r, 0.0f, 0.5f) + (j == c->label[i] ? 0.5f : 0.0f);
    }
}

static void dense(struct classifier *c, int64_t units, enum activation_kind a)
{
    struct layer *l = model_layer(&c->model, LAYER_DENSE, NULL);

    l->c.units = units;
    l->c.activation = activation_standard(a);
    train_rig_must(&c->rig, model_add(&c->model, l, &c->rig.err) < 0 ? -1 : 0);
}

static void add_layers(struct classifier *c)
{
    struct shape sample = f32_shape(DIMS(INPUTS));

    model_input(&c->model, "x", &sample);
    dense(c, c->units ? c->units : 16, ACTIVATION_RELU);
    dense(c, CLASSES, ACTIVATION_SOFTMAX);
    model_output(&c->model, c->model.node_count - 1);
}

static void open_classifier(struct classifier *c, const char *slice)
{
    const void *tensor[2];
    int64_t elems[2] = {INPUTS, 1};

    memset(c, 0, sizeof(*c));
    train_rig_init(&c->rig, slice, NULL, MODE_BOTH);
    make_samples(c);
    model_init(&c->model, &c->rig.arena, "small");
    c->model.precision = PRECISION_HIGHEST;
    optimizer_init(&c->optimizer, RULE_ADAM);
    c->accuracy = metric_standard(METRIC_SPARSE_CATEGORICAL_ACCURACY);
    c->options = (struct fit_options){
        .model = &c->model, .loss = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY),
        .metric = &c->accuracy, .metric_count = 1, .optimizer = &c->optimizer,
        .strategy = c->rig.options, .batch = BATCH};
    tensor[0] = c->x;
    tensor[1] = c->label;
    batches_of_arrays(&c->train, tensor, elems, 2, SAMPLES, false, true, 3, &c->rig.arena);
    batches_of_arrays(&c->test, tensor, elems, 2, 150, false, false, 0, &c->rig.arena);
}

static void start(struct classifier *c)
{
    if (c->model.node_count == 0)
        add_layers(c);
    c->fit = fit_create(&c->options, &c->rig.err);
    train_rig_must(&c->rig, c->fit ? 0 : -1);
}

static void close_classifier(struct classifier *c)
{
    fit_destroy(c->fit);
    model_fini(&c->model);
    train_rig_fini(&c->rig);
}

/* what happened, step by step and epoch by epoch */
struct history {
    double loss[64], epoch_loss[16], accuracy[16], validation[16];
    int steps, epochs, begun, ended;
    int64_t last_step;
    cycle_t cycles;
};

static int on_begin(void *context, struct fit *f, struct err *e)
{
    (void)f;
    (void)e;
    ((struct history *)context)->begun++;
    return 0;
}

static int on_step(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct history *h = context;

    (void)f;
    (void)e;
    h->loss[h->steps++] = log->loss;
    h->last_step = log->step;
    h->cycles = log->cycles;
    return 0;
}

static int on_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct history *h = context;

    (void)f;
    (void)e;
    h->epoch_loss[h->epochs] = log->loss;
    h->accuracy[h->epochs] = log->metric[0];
    h->validation[h->epochs++] = log->has_validation ? log->validation_loss : -1;
    return 0;
}

static int on_end(void *context, struct fit *f, struct err *e)
{
    (void)f;
    (void)e;
    ((struct history *)context)->ended++;
    return 0;
}

static int run(struct classifier *c, struct history *h, int epochs)
{
    struct fit_callback watch = {.begin = on_begin, .step = on_step, .epoch = on_epoch,
                                 .end = on_end, .context = h};
    struct fit_run r = {.train = &c->train, .validation = &c->test, .epochs = epochs,
                        .callback = &watch, .callback_count = 1};

    memset(h, 0, sizeof(*h));
    return fit_train(c->fit, &r, &c->rig.err);
}

TEST(host_and_slices_learn_alike)
{
    static const char *const slices[] = {"host", "v3-1", "v3-8"};
    struct history h[3];

    for (int i = 0; i < 3; i++) {
        struct classifier c;

        open_classifier(&c, slices[i]);
        start(&c);
        train_rig_must(&c.rig, run(&c, &h[i], 3));
        train_rig_must(&c.rig, strategy_check_replicas(fit_strategy(c.fit), &c.rig.err));
        assert_int_equal(h[i].steps, 3 * SAMPLES / BATCH);
        assert_int_equal(h[i].last_step, 12);
        assert_int_equal(h[i].epochs, 3);
        assert_true(h[i].begun == 1 && h[i].ended == 1);
        assert_true(h[i].epoch_loss[2] < h[i].epoch_loss[0]);
        assert_true((h[i].cycles > 0) == (i > 0));
        for (int k = 0; k < 12; k++)
            if (fabs(h[i].loss[k] - h[0].loss[k]) > 1e-5 * h[0].loss[k])
                fail_msg("step %d on %s: %.9g, on the host %.9g", k, slices[i], h[i].loss[k],
                         h[0].loss[k]);
        for (int k = 0; k < 3; k++)
            assert_true(fabs(h[i].accuracy[k] - h[0].accuracy[k]) < 1e-9 &&
                        fabs(h[i].validation[k] - h[0].validation[k]) < 1e-5);
        close_classifier(&c);
    }
}

/* 12 steps are two executions of 4 and one of 4 per epoch of 4 */
TEST(steps_of_one_execution_are_the_same_bit_by_bit)
{
    static const char *const slices[] = {"host", "v3-8"};

    for (int s = 0; s < 2; s++) {
        struct history h[2];
        float w[2][INPUTS * 16];

        for (int i = 0; i < 2; i++) {
            struct classifier c;

            open_classifier(&c, slices[s]);
            c.options.steps_per_execution = i ? 3 : 1;  /* 3 and 1 of the 4 in an epoch */
            start(&c);
            train_rig_must(&c.rig, run(&c, &h[i], 2));
            train_rig_must(&c.rig, strategy_read(fit_strategy(c.fit), 0, w[i], &c.rig.err));
            close_classifier(&c);
        }
        assert_int_equal(h[0].steps, 8);
        assert_int_equal(h[1].steps, 4);
        assert_int_equal(h[1].last_step, 8);
        assert_true(h[1].epoch_loss[1] == h[0].epoch_loss[1]);
        assert_true(h[1].accuracy[1] == h[0].accuracy[1]);
        assert_memory_equal(w[0], w[1], sizeof(w[0]));
    }
}

/* four steps with a schedule, and the same with its rate set before each of them */
static double rate_of_step(void *context, int64_t step, double rate)
{
    (void)rate;
    return schedule_value(context, step);
}

static void fit_schedule(struct classifier *c, struct lr_schedule *s, bool is_set, float *kernel)
{
    struct fit_callback callback;
    struct fit_run r = {.train = &c->train, .epochs = 4, .steps_per_epoch = 1,
                        .callback = &callback, .callback_count = is_set};
    double rate;

    callback_schedule(&callback, rate_of_step, s, &c->rig.arena);
    train_rig_must(&c->rig, fit_train(c->fit, &r, &c->rig.err));
    train_rig_must(&c->rig, fit_learning_rate(c->fit, &rate, &c->rig.err));
    assert_true(fabs(rate - 0.01 * pow(0.5, is_set ? 1 : 4 / 3.0)) < 1e-9);
    train_rig_must(&c->rig, strategy_read(fit_strategy(c->fit), 0, kernel, &c->rig.err));
}

TEST(schedules_in_the_optimizer_train_as_rates_that_are_set)
{
    float w[2][INPUTS * 16];
    struct lr_schedule s;

    schedule_init(&s, SCHEDULE_EXPONENTIAL_DECAY);
    s.number[SCHEDULE_INITIAL] = 0.01;
    s.number[SCHEDULE_DECAY_STEPS] = 3;
    s.number[SCHEDULE_DECAY_RATE] = 0.5;
    for (int i = 0; i < 2; i++) {
        struct classifier c;

        open_classifier(&c, "v3-8");
        if (i)
            c.optimizer.schedule = s;
        start(&c);
        fit_schedule(&c, &s, i == 0, w[i]);
        if (i) {
            assert_int_equal(fit_set_learning_rate(c.fit, 0.1, &c.rig.err), -1);
            assert_string_equal(c.rig.err.msg, "learning rate 0.1: the optimizer's is "
                                "ExponentialDecay, which makes it of its steps");
        }
        close_classifier(&c);
    }
    for (int k = 0; k < INPUTS * 16; k++)
        assert_true(fabsf(w[0][k] - w[1][k]) <= 1e-6f);     /* steps of 1e-2, rates of f32 */
}

/* as Keras's fit ends; without it they are what the last step has made of them */
TEST(variables_are_their_moving_averages_in_the_end)
{
    struct fit_run r = {.epochs = 1, .steps_per_epoch = 3};
    float kernel[INPUTS * 16], average[INPUTS * 16];
    struct classifier c;
    struct err e;

    for (int shards = 0; shards < 2; shards++) {
        open_classifier(&c, "v3-8");
        assert_int_equal(optimizer_set(&c.optimizer, "use_ema", 1, &e), 0);
        c.options.shards_state = shards;
        start(&c);
        r.train = &c.train;
        train_rig_must(&c.rig, fit_train(c.fit, &r, &c.rig.err));
        train_rig_must(&c.rig, strategy_read(fit_strategy(c.fit), c.optimizer.of[0].variable,
                                             kernel, &c.rig.err));
        train_rig_must(&c.rig, strategy_read(fit_strategy(c.fit), c.optimizer.of[0].average,
                                             average, &c.rig.err));
        assert_memory_equal(kernel, average, sizeof(kernel));
        train_rig_must(&c.rig, strategy_check_replicas(fit_strategy(c.fit), &c.rig.err));
        close_classifier(&c);
    }
}

/* 150 samples: two batches of 64 and one of 22; the same by one batch of 150 rows in doubles */
/* slots of a kernel of 20 by 256 in parts of 128 columns each */
TEST(sharded_state_trains_alike)
{
    struct history h[2];

    for (int i = 0; i < 2; i++) {
        struct classifier c;

        open_classifier(&c, "v3");
        c.units = 256;
        add_layers(&c);
        c.options.shards_state = i;
        start(&c);
        assert_true((optimizer_sharded_along(&c.optimizer, 0) == 1) == i);
        train_rig_must(&c.rig, run(&c, &h[i], 2));
        train_rig_must(&c.rig, strategy_check_replicas(fit_strategy(c.fit), &c.rig.err));
        close_classifier(&c);
    }
    for (int k = 0; k < h[0].steps; k++)
        if (fabs(h[1].loss[k] - h[0].loss[k]) > 1e-6 * h[0].loss[k])
            fail_msg("step %d: %.9g, sharded %.9g", k, h[0].loss[k], h[1].loss[k]);
}

TEST(last_batch_counts_as_far_as_it_goes)
{
    struct classifier c;
    struct fit_log result, first;
    float *p;
    double loss = 0;
    int right = 0;

    open_classifier(&c, "v3-8");
    start(&c);
    train_rig_must(&c.rig, fit_evaluate(c.fit, &c.test, 0, &result, &c.rig.err));
    assert_int_equal(result.steps, 3);
    assert_int_equal(result.samples, 150);
    p = arena_array(&c.rig.arena, 150 * CLASSES, sizeof(*p));
    train_rig_must(&c.rig, fit_predict(c.fit, (const void *const[]){c.x}, 150, &p, NULL,
                                         &c.rig.err));
    for (int i = 0; i < 150; i++) {
        int best = 0;

        for (int k = 1; k < CLASSES; k++)
            best = p[i * CLASSES + k] > p[i * CLASSES + best] ? k : best;
        loss -= log((double)p[i * CLASSES + c.label[i]]) / 150;
        right += best == c.label[i];
    }
    if (fabs(result.loss - loss) > 1e-5)
        fail_msg("loss %.9g, of predictions %.9g", result.loss, loss);
    assert_true(fabs(result.metric[0] - right / 150.0) < 1e-6);
    train_rig_must(&c.rig, fit_evaluate(c.fit, &c.test, 1, &first, &c.rig.err));
    assert_int_equal(first.samples, 64);
    close_classifier(&c);
}

/* weights are large enough to overflow in the second product */
TEST(loss_that_is_not_finite_names_step_and_operation)
{
    static const int rounds[2] = {1, 2};

    for (int i = 0; i < 2; i++) {
        struct classifier c;
        struct history h;
        float *kernel;

        open_classifier(&c, i ? "v3" : "host");
        c.options.steps_per_execution = rounds[i];
        start(&c);
        kernel = arena_array(&c.rig.arena, 16 * CLASSES, sizeof(*kernel));
        for (int k = 0; k < 16 * CLASSES; k++)
            kernel[k] = k % 2 ? 3e38f : -3e38f;
        train_rig_must(&c.rig, strategy_write(fit_strategy(c.fit), 2, kernel, &c.rig.err));
        assert_int_equal(run(&c, &h, 1), -1);
        if (!strstr(c.rig.err.msg, "step 1: the loss is") ||
            !strstr(c.rig.err.msg, "infinity comes from dense_1/"))
            fail_msg("%s", c.rig.err.msg);
        close_classifier(&c);
    }
}

static void refuse(struct classifier *c, const char *message)
{
    if (c->model.node_count == 0)
        add_layers(c);
    assert_null(fit_create(&c->options, &c->rig.err));
    if (!strstr(c->rig.err.msg, message))
        fail_msg("\"%s\" instead of \"%s\"", c->rig.err.msg, message);
    model_fini(&c->model);
    train_rig_fini(&c->rig);
}

TEST(what_does_not_go_together_is_refused)
{
    struct classifier c;

    open_classifier(&c, "v3-8");
    c.options.batch = 60;
    refuse(&c, "batch 60 cannot be split over 8 replicas; the nearest that can are 56 and 64");
    open_classifier(&c, "host");
    c.options.batch = 0;
    refuse(&c, "a batch of 0 on 1 replicas; both must be at least 1");
    open_classifier(&c, "host");
    add_layers(&c);
    model_output(&c.model, 1);
    refuse(&c, "model small has 2 outputs, and losses are given for 1; there may be up to 8");
}

TEST(outputs_whose_losses_do_not_go_together_are_refused)
{
    static const double class_weight[CLASSES] = {2};
    struct fit_output output[2] = {{loss_standard(LOSS_MEAN_SQUARED_ERROR), 1},
                                   {loss_standard(LOSS_MEAN_SQUARED_ERROR), 1}};

    for (int i = 0; i < 2; i++) {
        struct classifier c;

        open_classifier(&c, "host");
        add_layers(&c);
        model_output(&c.model, 1);
        c.options.metric_count = 0;
        c.options.output = output;
        c.options.output_count = 2;
        c.options.class_weight = class_weight;
        c.options.class_count = i ? 0 : CLASSES;
        output[1].loss.with.reduction = i ? REDUCTION_SUM : REDUCTION_SUM_OVER_BATCH_SIZE;
        refuse(&c, i ? "one output's loss is a sum over samples, another's their mean"
                     : "model small has 2 outputs; weights of classes go with one");
    }
}

TEST(batches_that_do_not_fit_are_refused)
{
    int64_t elems[3] = {INPUTS + 1, 1, 1};
    struct classifier c;
    struct history h;
    const void *tensor[3];

    open_classifier(&c, "host");
    start(&c);
    tensor[0] = c.x;
    tensor[1] = tensor[2] = c.label;
    batches_of_arrays(&c.train, tensor, elems, 2, 100, false, false, 0, &c.rig.arena);
    assert_int_equal(run(&c, &h, 1), -1);
    assert_string_equal(c.rig.err.msg, "array 0 has 21 elements per sample, 20 are wanted");
    batches_of_arrays(&c.train, tensor, elems, 3, 100, true, false, 0, &c.rig.arena);
    assert_int_equal(run(&c, &h, 1), -1);
    assert_string_equal(c.rig.err.msg, "batches have 3 tensors, the last of them weights; model "
                                       "small takes 1 inputs and labels");
    elems[0] = INPUTS;
    batches_of_arrays(&c.train, tensor, elems, 2, BATCH - 1, false, false, 0, &c.rig.arena);
    assert_int_equal(run(&c, &h, 1), -1);
    assert_string_equal(c.rig.err.msg, "there is not one whole batch of 64 samples in epoch 1");
    assert_int_equal(fit_set_learning_rate(c.fit, -1, &c.rig.err), -1);
    close_classifier(&c);
}

/* three epochs of drawn digits on the host, and how many of the others it knows then */
TEST(host_learns_the_drawn_digits_in_three_epochs)
{
    struct image_set train, test;
    struct batches train_batches, test_batches;
    struct fit_run r = {.train = &train_batches, .epochs = 3};
    struct fit_log log;
    struct mlp m;

    mlp_init(&m, NULL, 784, 512);
    mlp_add(&m, "dense", 128, ACTIVATION_RELU);
    mlp_add(&m, "dense_1", 10, ACTIVATION_SOFTMAX);
    data_make_digits(&train, &test, 12000, 1024, 1, &m.arena);
    batches_of_images(&train_batches, &train, true, 1, &m.arena);
    batches_of_images(&test_batches, &test, false, 1, &m.arena);
    if (mlp_start(&m) || fit_train(m.fit, &r, &m.err) ||
        fit_evaluate(m.fit, &test_batches, 0, &log, &m.err))
        fail_msg("%s", m.err.msg);
    print_message("test accuracy %.4f\n", log.metric[0]);
    assert_int_equal(log.samples, 1024);
    assert_true(log.metric[0] > 0.95);
    assert_true(log.metric[0] < 0.999); /* a set that anything learns would show nothing */
    mlp_fini(&m);
}

static const char *disassembly(struct arena *a, const struct isa_program *p)
{
    char *text = NULL, *kept;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    isa_print_program(p, to);
    fclose(to);
    kept = arena_strdup(a, text);
    free(text);
    return kept;
}

static void assert_same_program(const struct isa_program *p, const struct isa_program *again)
{
    assert_int_equal(again->op_count, p->op_count);
    assert_int_equal(again->bundle_count, p->bundle_count);
    for (uint32_t b = 0; b < p->bundle_count; b++) {
        const struct isa_bundle *one = &p->bundle[b], *other = &again->bundle[b];

        assert_int_equal(one->op_count, other->op_count);
        assert_int_equal(one->note > 0, other->note > 0);
        if (one->note)
            assert_string_equal(p->note[one->note - 1], again->note[other->note - 1]);
        for (uint32_t i = 0; i < one->op_count; i++) {
            uint8_t bytes[ISA_ENCODED_MAX], again_bytes[ISA_ENCODED_MAX];
            size_t size = isa_encode(&p->op[one->first_op + i], bytes);

            assert_int_equal(isa_encode(&again->op[other->first_op + i], again_bytes), size);
            assert_memory_equal(bytes, again_bytes, size);
        }
    }
}

/* Notes carry the names of layers, which may hold anything that prints. */
TEST(disassembled_training_program_assembles_to_itself)
{
    const struct isa_program *p;
    struct isa_program again;
    struct isa_errors errors;
    struct train_rig r;
    const char *text;
    struct mlp m;

    train_rig_init(&r, "v3-8", NULL, MODE_BOTH);
    mlp_init(&m, r.machine, MLP_INPUTS, MLP_BATCH);
    mlp_add(&m, "a // b ;; { c", 16, ACTIVATION_TANH);
    mlp_add(&m, "# /* p0: .note", 10, ACTIVATION_SOFTMAX);
    if (mlp_start(&m))
        fail_msg("%s", m.err.msg);
    p = &strategy_program_module(fit_program(m.fit, 1, &m.err))->linked[0].program;
    text = disassembly(&m.arena, p);
    assert_int_equal(isa_assemble(text, strlen(text), "step", &m.arena, &again, &errors), 0);
    assert_same_program(p, &again);
    assert_string_equal(disassembly(&m.arena, &again), text);
    mlp_fini(&m);
    train_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_slices_learn_alike),
        cmocka_unit_test(schedules_in_the_optimizer_train_as_rates_that_are_set),
        cmocka_unit_test(variables_are_their_moving_averages_in_the_end),
        cmocka_unit_test(steps_of_one_execution_are_the_same_bit_by_bit),
        cmocka_unit_test(sharded_state_trains_alike),
        cmocka_unit_test(last_batch_counts_as_far_as_it_goes),
        cmocka_unit_test(loss_that_is_not_finite_names_step_and_operation),
        cmocka_unit_test(host_learns_the_drawn_digits_in_three_epochs),
        cmocka_unit_test(disassembled_training_program_assembles_to_itself),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(outputs_whose_losses_do_not_go_together_are_refused),
        cmocka_unit_test(batches_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
