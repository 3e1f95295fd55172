/* Training steps: does the host learn, does a simulated slice compute the same? */
#include "tests/test.h"

#include <math.h>

#include "base/rng.h"
#include "data/images.h"
#include "isa/asm.h"
#include "isa/disasm.h"
#include "isa/object.h"
#include "stack/dense.h"

#define INPUTS 20
#define BATCH 64
#define CLASSES 10

static struct model_layer small_layers[] = {
    {"dense", INPUTS, 16, true, ACTIVATION_RELU}, {"dense_1", 16, CLASSES, true, ACTIVATION_SOFTMAX}
};
static const struct model small_model = {
    .name = "small", .input_elems = INPUTS, .layer = small_layers, .layer_count = 2,
    .parameter_elems = INPUTS * 16 + 16 + 16 * CLASSES + CLASSES
};

static struct dense_options standard_options(const struct model *m, int64_t batch)
{
    return (struct dense_options){
        .model = m, .global_batch = batch, .seed = 1,
        .model_options = {.policy = POLICY_FLOAT32, .precision = PRECISION_HIGHEST,
                          .optimizer = OPTIMIZER_ADAM, .learning_rate = 0.001, .beta_1 = 0.9,
                          .beta_2 = 0.999, .epsilon = 1e-7}};
}

/* A slice with its chip, or none ("host"), and a strategy on it. */
struct fixture {
    struct arena arena;
    struct machine *machine;
    struct dense_strategy *strategy;
    struct err err;
    float x[BATCH * INPUTS];
    int32_t labels[BATCH];
};

static void make_batch(struct fixture *f, uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed);
    for (int i = 0; i < BATCH; i++) {
        f->labels[i] = (int32_t)rng_below(&r, CLASSES);
        for (int j = 0; j < INPUTS; j++)
            f->x[i * INPUTS + j] = rng_uniform(&r, 0.0f, 0.5f) + (j == f->labels[i] ? 0.5f : 0.0f);
    }
}

static void open_fixture(struct fixture *f, const char *slice_name, struct dense_options *o)
{
    memset(f, 0, sizeof(*f));
    arena_init(&f->arena);
    if (strcmp(slice_name, "host") != 0) {
        struct machine_options options = {.thread_count = 1, .simd = "auto"};
        struct slice slice;
        struct chip chip;

        assert_int_equal(slice_parse(&slice, slice_name, &f->err), 0);
        assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, &f->arena, &f->err), 0);
        f->machine = machine_create(&slice, &chip, &options, &f->err);
        assert_non_null(f->machine);
    }
    o->machine = f->machine;
    f->strategy = dense_create(o, &f->arena, &f->err);
    make_batch(f, 7);
}

static void close_fixture(struct fixture *f)
{
    dense_destroy(f->strategy);
    if (f->machine)
        machine_destroy(f->machine);
    arena_fini(&f->arena);
}

static void assert_done(const struct fixture *f, int status)
{
    if (status)
        fail_msg("%s", f->err.msg);
}

TEST(batch_that_cannot_be_split_names_the_nearest_that_can)
{
    struct err e;

    assert_int_equal(dense_check_batch(512, 8, &e), 0);
    assert_int_equal(dense_check_batch(500, 8, &e), -1);
    assert_string_equal(e.msg, "batch 500 cannot be split over 8 replicas; the nearest that can "
                               "are 496 and 504");
    assert_int_equal(dense_check_batch(5, 8, &e), -1);
    assert_string_equal(e.msg, "batch 5 cannot be split over 8 replicas; the least that can is 8");
}

TEST(slice_refuses_a_batch_that_cannot_be_split)
{
    struct dense_options o = standard_options(&small_model, BATCH + 1);
    struct fixture f;

    open_fixture(&f, "v3", &o);
    assert_null(f.strategy);
    assert_string_equal(f.err.msg, "batch 65 cannot be split over 2 replicas; the nearest that can "
                                   "are 64 and 66");
    close_fixture(&f);
}

TEST(parameters_that_are_no_variables_cannot_be_read)
{
    struct dense_options o = standard_options(&small_model, BATCH);
    struct fixture f;
    float to[INPUTS * 16];

    open_fixture(&f, "host", &o);
    assert_int_equal(dense_read_parameter(f.strategy, 1, 0, to, &f.err), -1);
    assert_string_equal(f.err.msg, "replica 1 does not exist, allowed are 0..0");
    assert_int_equal(dense_read_parameter(f.strategy, 0, 99, to, &f.err), -1);
    assert_string_equal(f.err.msg, "parameter 99 of the training graph is not a variable");
    assert_int_equal(dense_read_parameter(f.strategy, 0, 0, to, &f.err), 0);
    close_fixture(&f);
}

/* Trains `epochs` on drawn digits; returns the accuracy on the test digits. */
static double train_on_digits(struct dense_strategy *s, int epochs, int64_t batch, struct arena *a)
{
    struct image_set train, test;
    struct dense_result r;
    struct err e;
    int64_t correct = 0, counted = 0;
    uint32_t *order;
    int32_t *labels = arena_array(a, (size_t)batch, sizeof(*labels));
    float *x = arena_array(a, (size_t)batch * 784, sizeof(*x));

    data_make_digits(&train, &test, 12000, 1024, 1, a);
    order = arena_array(a, (size_t)train.count, sizeof(*order));
    for (int epoch = 0; epoch < epochs; epoch++) {
        data_shuffle(order, train.count, 1, epoch);
        for (int64_t first = 0; first + batch <= train.count; first += batch) {
            data_batch(&train, order, first, batch, x, labels);
            assert_int_equal(dense_train_step(s, x, labels, &r, &e), 0);
        }
    }
    for (int64_t i = 0; i < test.count; i++)
        order[i] = (uint32_t)i;
    for (int64_t first = 0; first < test.count; first += batch) {
        data_batch(&test, order, first, batch, x, labels);
        assert_int_equal(dense_eval_step(s, x, labels, batch, &r, &e), 0);
        correct += r.correct;
        counted += r.samples;
    }
    assert_int_equal(counted, test.count);
    return (double)correct / (double)counted;
}

TEST(host_learns_the_drawn_digits_in_three_epochs)
{
    static struct model_layer layers[] = {
        {"dense", 784, 128, true, ACTIVATION_RELU}, {"dense_1", 128, 10, true, ACTIVATION_SOFTMAX}
    };
    const struct model m = {.name = "mlp", .input_elems = 784, .layer = layers, .layer_count = 2,
                            .parameter_elems = 101770};
    struct dense_options o = standard_options(&m, 512);
    struct fixture f;
    double accuracy;

    open_fixture(&f, "host", &o);
    accuracy = train_on_digits(f.strategy, 3, 512, &f.arena);
    print_message("test accuracy %.4f\n", accuracy);
    assert_true(accuracy > 0.95);
    assert_true(accuracy < 0.999);      /* a set that anything learns would show nothing */
    close_fixture(&f);
}

static void check_masking(const char *slice)
{
    struct dense_options o = standard_options(&small_model, BATCH);
    struct dense_result all, part, other;
    struct fixture f;

    open_fixture(&f, slice, &o);
    assert_non_null(f.strategy);
    assert_done(&f, dense_eval_step(f.strategy, f.x, f.labels, BATCH, &all, &f.err));
    assert_done(&f, dense_eval_step(f.strategy, f.x, f.labels, 5, &part, &f.err));
    assert_int_equal(all.samples, BATCH);
    assert_int_equal(part.samples, 5);
    assert_true(part.loss_sum > 0.0 && part.loss_sum < 0.5 * all.loss_sum);
    assert_in_range(part.correct, 0, 5);
    for (int i = 5 * INPUTS; i < BATCH * INPUTS; i++)
        f.x[i] = 3.0f;
    assert_done(&f, dense_eval_step(f.strategy, f.x, f.labels, 5, &other, &f.err));
    assert_true(other.loss_sum == part.loss_sum);
    assert_int_equal(other.correct, part.correct);
    close_fixture(&f);
}

TEST(host_does_not_count_masked_rows)
{
    check_masking("host");
}

TEST(slice_does_not_count_masked_rows)
{
    check_masking("v3-8");
}

/* Losses of steps on the host and on a slice, on the same batches. */
static void compare_losses(const char *slice, struct dense_options o, int steps, double bound)
{
    struct dense_options host_options = o;
    struct fixture host, device;
    cycle_t cycles = 0;

    open_fixture(&host, "host", &host_options);
    open_fixture(&device, slice, &o);
    assert_done(&device, device.strategy ? 0 : -1);
    for (int i = 0; i < steps; i++) {
        struct dense_result a, b;

        make_batch(&host, (uint64_t)i);
        assert_done(&host, dense_train_step(host.strategy, host.x, host.labels, &a, &host.err));
        assert_done(&device, dense_train_step(device.strategy, host.x, host.labels, &b,
                                                 &device.err));
        if (fabs(a.loss_sum - b.loss_sum) > bound * a.loss_sum)
            fail_msg("step %d: loss %.9g on the host, %.9g on %s", i, a.loss_sum, b.loss_sum,
                     slice);
        assert_true(b.cycles > 0 && (cycles == 0 || b.cycles == cycles));
        cycles = b.cycles;
        assert_done(&device, dense_check_replicas(device.strategy, &device.err));
    }
    close_fixture(&host);
    close_fixture(&device);
}

TEST(slice_with_highest_precision_follows_the_host)
{
    compare_losses("v3-8", standard_options(&small_model, BATCH), 20, 1e-4);
}

TEST(one_chip_with_highest_precision_follows_the_host)
{
    compare_losses("v3", standard_options(&small_model, BATCH), 10, 1e-4);
}

TEST(slice_with_default_precision_follows_the_host_that_rounds_operands)
{
    struct dense_options o = standard_options(&small_model, BATCH);

    o.model_options.precision = PRECISION_DEFAULT;
    o.reference_dot = INTERP_DOT_BF16;
    compare_losses("v3-8", o, 20, 1e-3);
}

TEST(slice_with_sgd_and_momentum_follows_the_host)
{
    struct dense_options o = standard_options(&small_model, BATCH);

    o.model_options.optimizer = OPTIMIZER_SGD;
    o.model_options.learning_rate = 0.05;
    o.model_options.momentum = 0.9;
    compare_losses("v3-8", o, 20, 1e-4);
}

TEST(batch_that_fills_no_tile_follows_the_host)
{
    struct dense_options o = standard_options(&small_model, 24);

    compare_losses("v3-8", o, 5, 1e-4);
}

TEST(replay_changes_no_variable_and_takes_as_long)
{
    struct dense_options o = standard_options(&small_model, BATCH);
    struct dense_result step, eval, replay;
    struct fixture f;
    float before[INPUTS * 16], after[INPUTS * 16];

    open_fixture(&f, "v3-8", &o);
    assert_non_null(f.strategy);
    assert_done(&f, dense_train_step(f.strategy, f.x, f.labels, &step, &f.err));
    assert_done(&f, dense_eval_step(f.strategy, f.x, f.labels, BATCH, &eval, &f.err));
    assert_done(&f, dense_read_parameter(f.strategy, 3, 0, before, &f.err));
    assert_done(&f, dense_replay_step(f.strategy, &replay, &f.err));
    assert_done(&f, dense_read_parameter(f.strategy, 3, 0, after, &f.err));
    assert_memory_equal(before, after, sizeof(before));
    assert_int_equal(replay.cycles, step.cycles);
    assert_int_equal(machine_cycles(f.machine), step.cycles);
    assert_true(replay.loss_sum < step.loss_sum);       /* the same batch, one update later */
    close_fixture(&f);
}

/* Spoils one element on one core's HBM, where a kernel lies. */
TEST(replica_that_differs_is_named)
{
    struct dense_options o = standard_options(&small_model, BATCH);
    const struct module *m;
    uint32_t bits = 0x3f800000u;
    struct fixture f;
    int core = 6;                       /* of the replica of this number */

    open_fixture(&f, "v3-8", &o);
    assert_non_null(f.strategy);
    m = dense_train_program(f.strategy);
    assert_done(&f, dense_check_replicas(f.strategy, &f.err));
    assert_done(&f, machine_hbm_write(f.machine, core, m->parameter[0]->address + 4, &bits, 4,
                                      &f.err));
    assert_int_equal(dense_check_replicas(f.strategy, &f.err), -1);
    assert_non_null(strstr(f.err.msg, "replicas differ: element 1 of dense/kernel is 0x"));
    assert_non_null(strstr(f.err.msg, "and 0x3f800000 (1) on replica 6"));
    close_fixture(&f);
}

static const char *disassembly(struct fixture *f, const struct isa_program *p)
{
    char *text = NULL, *kept;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    isa_print_program(p, to);
    fclose(to);
    kept = arena_strdup(&f->arena, text);
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
    struct model_layer layers[] = {
        {"a // b ;; { c", INPUTS, 16, true, ACTIVATION_TANH},
        {"# /* p0: .note", 16, CLASSES, true, ACTIVATION_SOFTMAX}
    };
    struct model m = small_model;
    struct dense_options o = standard_options(&m, BATCH);
    const struct isa_program *p;
    struct isa_program again;
    struct isa_errors errors;
    struct fixture f;
    const char *text;

    m.layer = layers;
    open_fixture(&f, "v3-8", &o);
    assert_non_null(f.strategy);
    p = &dense_train_program(f.strategy)->linked[0].program;
    text = disassembly(&f, p);
    assert_int_equal(isa_assemble(text, strlen(text), "step", &f.arena, &again, &errors), 0);
    assert_same_program(p, &again);
    assert_string_equal(disassembly(&f, &again), text);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_that_cannot_be_split_names_the_nearest_that_can),
        cmocka_unit_test(slice_refuses_a_batch_that_cannot_be_split),
        cmocka_unit_test(parameters_that_are_no_variables_cannot_be_read),
        cmocka_unit_test(host_learns_the_drawn_digits_in_three_epochs),
        cmocka_unit_test(host_does_not_count_masked_rows),
        cmocka_unit_test(slice_does_not_count_masked_rows),
        cmocka_unit_test(slice_with_highest_precision_follows_the_host),
        cmocka_unit_test(one_chip_with_highest_precision_follows_the_host),
        cmocka_unit_test(slice_with_default_precision_follows_the_host_that_rounds_operands),
        cmocka_unit_test(slice_with_sgd_and_momentum_follows_the_host),
        cmocka_unit_test(batch_that_fills_no_tile_follows_the_host),
        cmocka_unit_test(replay_changes_no_variable_and_takes_as_long),
        cmocka_unit_test(replica_that_differs_is_named),
        cmocka_unit_test(disassembled_training_program_assembles_to_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
