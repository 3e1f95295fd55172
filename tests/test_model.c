/* Keras files: are they read as Keras means them, are others refused by name? */
#include "tests/test.h"

#include "base/units.h"
#include "stack/model.h"

#include <unistd.h>

static struct arena arena;
static struct err e;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

/* a model of one file with this text */
static int load_text(struct model *m, const char *text)
{
    char path[] = "/tmp/systole_model_XXXXXX";
    int file = mkstemp(path), result;
    size_t bytes = strlen(text);

    assert_true(file >= 0);
    assert_int_equal(write(file, text, bytes), (int)bytes);
    close(file);
    result = model_load(m, path, &arena, &e);
    unlink(path);
    return result;
}

static void load(struct model *m, const char *text)
{
    if (load_text(m, text) != 0)
        fail_msg("%s", e.msg);
}

TEST(example_is_read_as_keras_writes_it)
{
    struct model m;

    if (model_load(&m, "examples/mnist_mlp.json", &arena, &e) != 0)
        fail_msg("%s", e.msg);
    assert_string_equal(m.name, "mnist_mlp");
    assert_int_equal(m.input_elems, 784);
    assert_int_equal(m.layer_count, 2);
    assert_int_equal(m.parameter_elems, 101770);
    assert_string_equal(m.layer[0].name, "dense");
    assert_int_equal(m.layer[0].inputs, 784);
    assert_int_equal(m.layer[0].units, 128);
    assert_true(m.layer[0].use_bias);
    assert_string_equal(activation_name(m.layer[0].activation), "relu");
    assert_string_equal(m.layer[1].name, "dense_1");
    assert_int_equal(m.layer[1].inputs, 128);
    assert_string_equal(activation_name(m.layer[1].activation), "softmax");
}

#define SEQUENTIAL(layers) \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [" layers "]}}"
#define INPUT(shape) \
    "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"in\", \"batch_shape\": " shape "}}"
#define LAYER(class, name, rest) \
    "{\"class_name\": \"" class "\", \"config\": {\"name\": \"" name "\"" rest "}}"
#define DENSE(name, units, rest) LAYER("Dense", name, ", \"units\": " units rest)

TEST(older_spellings_flatten_and_activation_layers_are_read)
{
    struct model m;

    load(&m, "{\"class_name\": \"Sequential\", \"keras_version\": \"2.12.0\", \"backend\": "
         "\"tensorflow\", \"config\": {\"name\": \"old\", \"layers\": ["
         LAYER("Flatten", "f", ", \"batch_input_shape\": [null, 28, 28], \"dtype\": \"float32\"")
         "," DENSE("a", "50", ", \"activation\": \"linear\", \"use_bias\": false")
         "," LAYER("Activation", "act", ", \"activation\": \"swish\"")
         "," DENSE("b", "3", ", \"activation\": {\"class_name\": \"function\", \"config\": "
                   "\"softmax\"}, \"kernel_initializer\": \"glorot_uniform\"") "]}}");
    assert_int_equal(m.input_elems, 784);
    assert_int_equal(m.layer[0].inputs, 784);
    assert_false(m.layer[0].use_bias);
    assert_int_equal(m.layer[0].activation, ACTIVATION_SILU);
    assert_int_equal(m.layer[1].activation, ACTIVATION_SOFTMAX);
    assert_int_equal(m.parameter_elems, 784 * 50 + 50 * 3 + 3);
}

TEST(input_shape_may_stand_in_build_input_shape_alone)
{
    struct model m;

    load(&m, "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
         DENSE("a", "5", "") "], \"build_input_shape\": [null, 7]}}");
    assert_int_equal(m.layer[0].inputs, 7);
}

/* chains in the functional spelling; `from` is what layer b says it takes */
#define KERAS_3(inbound, outputs) \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": [" \
    "{\"class_name\": \"InputLayer\", \"name\": \"in\", \"inbound_nodes\": [], \"config\": " \
    "{\"name\": \"in\", \"batch_shape\": [null, 6]}}," \
    "{\"class_name\": \"Dense\", \"name\": \"a\", \"inbound_nodes\": [{\"args\": [" \
    TENSOR("in") "], \"kwargs\": {}}], \"config\": {\"name\": \"a\", \"units\": 4}}," \
    "{\"class_name\": \"Dense\", \"name\": \"b\", \"inbound_nodes\": [" inbound "], \"config\": " \
    "{\"name\": \"b\", \"units\": 2}}], \"input_layers\": [[\"in\", 0, 0]], " \
    "\"output_layers\": " outputs "}}"
#define TENSOR(from) \
    "{\"class_name\": \"__keras_tensor__\", \"config\": {\"shape\": [null, 4], \"dtype\": " \
    "\"float32\", \"keras_history\": [\"" from "\", 0, 0]}}"
#define NODE(tensors) "{\"args\": [" tensors "], \"kwargs\": {}}"

TEST(functional_chains_of_both_generations_are_read)
{
    struct model m;

    load(&m, KERAS_3(NODE(TENSOR("a")), "[[\"b\", 0, 0]]"));
    assert_int_equal(m.layer_count, 2);
    load(&m, KERAS_3(NODE(TENSOR("a")), "[\"b\", 0, 0]"));
    load(&m, KERAS_3("[[\"a\", 0, 0, {}]]", "[[\"b\", 0, 0]]"));
    assert_int_equal(m.layer[1].inputs, 4);
}

static const struct {
    const char *text, *message;
} refused[] = {
    {SEQUENTIAL(INPUT("[null, 4]") "," LAYER("Dropout", "drop", ", \"rate\": 0.5")),
     "layer \"drop\": layer class Dropout is not supported yet; supported are InputLayer, "
     "Flatten, Dense, Activation"},
    {SEQUENTIAL(INPUT("[null, 4]") "," LAYER("Dence", "d", "")),
     "layer \"d\": layer class Dence is not supported yet (did you mean \"Dense\"?); supported "
     "are InputLayer, Flatten, Dense, Activation"},
    {SEQUENTIAL(INPUT("[null, 4]") "," LAYER("Dense", "d", "")),
     "layer \"d\": missing field \"units\""},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "0", "")),
     "layer \"d\": \"units\" must be an integer in 1..65536"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "65537", "")),
     "layer \"d\": \"units\" must be an integer in 1..65536"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2.5", "")),
     "layer \"d\": \"units\" must be an integer in 1..65536"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", ", \"activation\": \"rela\"")),
     "layer \"d\": activation \"rela\" is not supported (did you mean \"relu\"?); supported are "
     "linear, relu, tanh, sigmoid, silu, softmax, swish"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", ", \"activation\": \"softmax\"") ","
                DENSE("e", "2", "")),
     "layer \"d\": softmax is supported as the model's last activation only"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", ", \"activation\": \"relu\"")),
     "layer \"d\": the model's last activation must be softmax, or linear for logits, not relu"},
    {SEQUENTIAL(INPUT("[null, 28, 28]") "," DENSE("d", "2", "")),
     "layer \"d\": its input has shape [28, 28], but Dense takes a vector; add a Flatten"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "3", "") ",{\"class_name\": \"Dense\", "
                "\"build_config\": {\"input_shape\": [null, 5]}, \"config\": {\"name\": \"e\", "
                "\"units\": 2}}"),
     "layer \"e\": \"build_config.input_shape\" says samples of shape [5], but \"d\" gives [3]"},
    {SEQUENTIAL(INPUT("[32, 4]")),
     "layer \"in\": \"batch_shape\" fixes the batch size; it must be null there"},
    {SEQUENTIAL(INPUT("[null, null]")),
     "layer \"in\": dimension 1 of \"batch_shape\" must be an integer of at least 1, and the "
     "product at most 1048576"},
    {SEQUENTIAL(INPUT("[null, 1024, 1025]")),
     "layer \"in\": dimension 2 of \"batch_shape\" must be an integer of at least 1, and the "
     "product at most 1048576"},
    {SEQUENTIAL(LAYER("InputLayer", "in", "")),
     "layer \"in\": missing field \"batch_shape\""},
    {SEQUENTIAL(DENSE("d", "2", "")),
     "layer \"d\": the shape of its input is stated nowhere: add an InputLayer or "
     "\"build_input_shape\""},
    {SEQUENTIAL(INPUT("[null, 4]")), "the model has no Dense layer"},
    {SEQUENTIAL(""), "\"layers\" must be a list of 1..1000 layers"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", "") "," DENSE("d", "2", "")),
     "layer \"d\": two layers have this name"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", ", \"dtype\": \"float64\"")),
     "layer \"d\": dtype float64 is not supported; it must be float32 or mixed_bfloat16"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", ", \"kernel_initializer\": "
                                             "{\"class_name\": \"HeNormal\"}")),
     "layer \"d\": kernel_initializer HeNormal is not supported yet; it must be GlorotUniform"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", ", \"kernel_regularizer\": {}")),
     "layer \"d\": \"kernel_regularizer\" is not supported yet; it must be null"},
    {SEQUENTIAL(INPUT("[null, 4]") "," DENSE("d", "2", ", \"activation\": \"relu\"") ","
                LAYER("Activation", "act", ", \"activation\": \"tanh\"")),
     "layer \"act\": a second activation after relu of \"d\" is not supported yet"},
    {KERAS_3(NODE(TENSOR("in")), "[[\"b\", 0, 0]]"),
     "layer \"b\": it takes its input from \"in\", not from \"a\" before it; only chains of "
     "layers are supported"},
    {KERAS_3(NODE("[" TENSOR("in") "," TENSOR("a") "]"), "[[\"b\", 0, 0]]"),
     "layer \"b\": it takes other than one tensor; only chains of layers are supported"},
    {KERAS_3(NODE(TENSOR("a")) "," NODE(TENSOR("a")), "[[\"b\", 0, 0]]"),
     "layer \"b\": it is called 2 times; only chains of layers are supported, each called once"},
    {KERAS_3(NODE(TENSOR("a")), "[[\"a\", 0, 0]]"),
     "the model's one output must be its last layer, \"b\""},
    {"{\"class_name\": \"Subclassed\", \"config\": {}}",
     "model class Subclassed is not supported; supported are Sequential, Functional, Model"},
    {"[1, 2]", "missing field \"class_name\": not a Keras model"},
    {SEQUENTIAL("3"), "layer \"layer_0\": missing field \"class_name\""},
};

TEST(what_cannot_be_trained_is_refused_naming_layer_and_range)
{
    struct model m;

    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(load_text(&m, refused[i].text), -1);
        assert_string_equal(e.msg, refused[i].message);
        assert_true(strncmp(e.file, "/tmp/systole_model_", 19) == 0);
    }
}

TEST(broken_syntax_is_reported_with_line_and_column)
{
    struct model m;

    assert_int_equal(load_text(&m, "{\n  \"class_name\": \"Sequential\",\n  oops\n}\n"), -1);
    assert_int_equal(e.line, 3);
    assert_int_equal(e.col, 6);
    assert_non_null(strstr(e.msg, "oops"));
    assert_int_equal(load_text(&m, "{\"a\": 1, \"a\": 2}"), -1);
    assert_non_null(strstr(e.msg, "duplicate"));
    assert_int_equal(load_text(&m, ""), -1);
    assert_int_equal(model_load(&m, "examples/no_such_file.json", &arena, &e), -1);
    assert_string_equal(e.msg, "cannot open the model: No such file or directory");
}

TEST(any_prefix_of_a_model_is_an_error_and_not_a_crash)
{
    static const char text[] = KERAS_3(NODE(TENSOR("a")), "[[\"b\", 0, 0]]");
    char prefix[sizeof(text)];
    struct model m;

    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        memcpy(prefix, text, i);
        prefix[i] = '\0';
        assert_int_equal(load_text(&m, prefix), -1);
        assert_true(e.line > 0);
    }
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(example_is_read_as_keras_writes_it),
        UNIT(older_spellings_flatten_and_activation_layers_are_read),
        UNIT(input_shape_may_stand_in_build_input_shape_alone),
        UNIT(functional_chains_of_both_generations_are_read),
        UNIT(what_cannot_be_trained_is_refused_naming_layer_and_range),
        UNIT(broken_syntax_is_reported_with_line_and_column),
        UNIT(any_prefix_of_a_model_is_an_error_and_not_a_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
