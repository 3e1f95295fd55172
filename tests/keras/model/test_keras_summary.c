/* Summaries: parameters and operations by hand, cycles as the compiled program has them. */
#include "tests/test.h"

#include "base/units.h"
#include "keras/model/summary_impl.h"

static struct arena arena;
static struct variable_set set;
static struct model m;
static struct summary s;
static struct chip chip;
static struct err e;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    variable_set_init(&set, &arena);
    model_init(&m, &arena, "small");
    if (chip_load_builtin(&chip, "v3", NULL, &arena, &e) != 0)
        fail_msg("%s", e.msg);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    model_fini(&m);
    variable_set_fini(&set);
    arena_fini(&arena);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* 20 -> 30, relu; batch norm; twice the same 30 -> 30 */
static void make_model(void)
{
    struct shape sample = {.rank = 1, .dim = {20}};
    struct layer *first = model_layer(&m, LAYER_DENSE, "first");
    struct layer *twice = model_layer(&m, LAYER_DENSE, "twice");

    model_input(&m, NULL, &sample);
    first->c.units = 30;
    first->c.activation = activation_standard(ACTIVATION_RELU);
    twice->c.units = 30;
    assert_true(model_add(&m, first, &e) > 0);
    assert_true(model_add(&m, model_layer(&m, LAYER_BATCH_NORMALIZATION, NULL), &e) > 0);
    assert_true(model_add(&m, twice, &e) > 0 && model_add(&m, twice, &e) > 0);
    assert_int_equal(model_build(&m, &set, &e), 0);
}

static void summarize(const struct summary_options *o)
{
    if (summary_make(&m, o, &arena, &s, &e) != 0)
        fail_msg("%s", e.msg);
}

TEST(parameters_and_operations_are_those_of_the_layers)
{
    make_model();
    summarize(&(struct summary_options){.batch = 4});
    assert_int_equal(s.row_count, 5);   /* input, three layers, what is of none */
    assert_string_equal(s.row[1].layer->name, "first");
    assert_int_equal(s.row[1].parameters, 630);
    /* a product, a bias, a maximum */
    assert_int_equal(s.row[1].flops, 2 * 20 * 30 + 30 + 30);
    assert_int_equal(s.row[2].parameters, 120);
    assert_int_equal(s.row[2].trainable, 60);
    assert_int_equal(s.row[3].parameters, 930);
    assert_int_equal(s.row[3].flops, 2 * (2 * 30 * 30 + 30));
    assert_int_equal(s.row[3].output.dim[0], 30);
    assert_int_equal(s.row[4].flops, 0);
    assert_int_equal(s.total.parameters, 1680);
    assert_int_equal(s.total.trainable, 1620);
    assert_int_equal(s.total.forward_cycles, 0);
    assert_int_equal(summary_bound_of(&s.row[1]), BOUND_NONE);
}

/* a branch, and a model inside the model that is called twice, on two inputs the second time */
TEST(rows_are_shown_as_keras_shows_them)
{
    static const char json[] =
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["
        "{\"class_name\": \"InputLayer\", \"name\": \"x\", \"inbound_nodes\": [], \"config\": "
        "{\"name\": \"x\", \"batch_input_shape\": [null, 4]}},"
        "{\"class_name\": \"Sequential\", \"name\": \"in\", \"config\": {\"name\": \"in\", "
        "\"layers\": [{\"class_name\": \"Dense\", \"config\": {\"name\": \"a\", \"units\": 6, "
        "\"batch_input_shape\": [null, 4]}}, {\"class_name\": \"Dense\", \"config\": "
        "{\"name\": \"b\", \"units\": 4}}]}, "
        "\"inbound_nodes\": [[[\"x\", 0, 0, {}]], [[\"in\", 0, 0, {}]]]},"
        "{\"class_name\": \"Add\", \"name\": \"sum\", \"config\": {\"name\": \"sum\"}, "
        "\"inbound_nodes\": [[[\"in\", 0, 0, {}], [\"in\", 1, 0, {}]]]}], "
        "\"input_layers\": [[\"x\", 0, 0]], \"output_layers\": [[\"sum\", 0, 0]]}}";
    struct summary_shown *row;

    if (model_from_json_text(&m, &arena, "m.json", json, strlen(json), NULL, &e) != 0 ||
        model_build(&m, &set, &e) != 0)
        fail_msg("%s", e.msg);
    summarize(&(struct summary_options){.batch = 4});
    assert_false(summary_is_chain(&m));
    assert_int_equal(summary_show(&s, &arena, &row), 3);
    assert_string_equal(row[0].from, "-");
    assert_string_equal(row[1].name, "in");
    assert_string_equal(row[1].class, "Sequential");
    assert_string_equal(row[1].from, "x[0][0], in[0][0]");
    assert_int_equal(row[1].sum.output.dim[0], 4);
    assert_int_equal(row[1].sum.parameters, 4 * 6 + 6 + 6 * 4 + 4);
    assert_string_equal(row[2].from, "in[0][0], in[1][0]");
}

TEST(cycles_are_those_of_the_program_s_kernels)
{
    struct model_result result;
    struct module module;
    struct module_settings settings = {.chip = &chip, .replica_count = 1};
    struct trace t;
    int64_t cycles = 0;
    int x;

    make_model();
    summarize(&(struct summary_options){.chip = &chip, .batch = 16});
    trace_init(&t, &arena, "again", &set, 1, false);
    x = trace_input(&t, "x", &(struct shape){.rank = 2, .dim = {16, 20}});
    model_forward(&t, &m, &x, &result, NULL);
    trace_result(&t, "y", result.value);
    trace_finish(&t);
    assert_int_equal(module_compile(&t.graph, &settings, &arena, &module, &e), 0);
    for (int i = 0; i < module.kernel_count; i++)
        cycles += module.kernel[i].segment->cost.total_cycles;
    trace_fini(&t);
    assert_true(cycles > 0);
    assert_int_equal(s.total.forward_cycles, cycles);
    assert_int_equal(s.total.backward_cycles, 0);
    assert_int_equal(s.row[4].forward_cycles, 0);
}

TEST(the_backward_pass_counts_for_its_layers)
{
    make_model();
    summarize(&(struct summary_options){.chip = &chip, .batch = 16, .has_backward = true});
    assert_true(s.row[1].backward_cycles > 0);
    assert_true(s.row[3].backward_cycles > s.row[1].backward_cycles);
    assert_int_not_equal(summary_bound_of(&s.row[3]), BOUND_NONE);
}

TEST(more_samples_take_more_cycles)
{
    int64_t few;

    make_model();
    summarize(&(struct summary_options){.chip = &chip, .batch = 8});
    few = s.total.forward_cycles;
    summarize(&(struct summary_options){.chip = &chip, .batch = 4096});
    assert_true(s.total.forward_cycles > 2 * few);
}

static char *printed(void)
{
    static char text[8000];
    FILE *to = tmpfile();
    size_t count;

    assert_non_null(to);
    summary_print(&s, to);
    rewind(to);
    count = fread(text, 1, sizeof(text) - 1, to);
    text[count] = '\0';
    fclose(to);
    return text;
}

TEST(the_table_has_what_keras_s_has)
{
    const char *text;

    make_model();
    summarize(&(struct summary_options){.batch = 1});
    text = printed();
    assert_non_null(strstr(text, "Model: \"small\"\n"));
    assert_non_null(strstr(text, "first (Dense)"));
    assert_non_null(strstr(text, "(None, 30)"));
    assert_non_null(strstr(text, "Total params: 1,680 (6.56 KB)\n"));
    assert_non_null(strstr(text, "Non-trainable params: 60 (240.00 B)\n"));
    assert_null(strstr(text, "cycles"));
    summarize(&(struct summary_options){.chip = &chip, .batch = 4, .has_backward = true});
    text = printed();
    assert_non_null(strstr(text, "fwd cycles     bwd cycles  bound by"));
    assert_non_null(strstr(text, "Predicted for one core of TPU v3, float32, 4 samples at a time:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(parameters_and_operations_are_those_of_the_layers),
        UNIT(rows_are_shown_as_keras_shows_them),
        UNIT(cycles_are_those_of_the_program_s_kernels),
        UNIT(the_backward_pass_counts_for_its_layers), UNIT(more_samples_take_more_cycles),
        UNIT(the_table_has_what_keras_s_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
