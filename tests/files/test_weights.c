/* Weights of Keras models: do they come back bit for bit, does a damaged file say so? */
#include "tests/test.h"

#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "files/h5.h"
#include "files/model_file.h"
#include "files/weights.h"
#include "isa/file.h"

static struct arena arena;
static struct variable_set set;
static struct model m;
static struct err e;
static struct model_file text;
static char folder[] = "/tmp/systole_weights_XXXXXX";

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    variable_set_init(&set, &arena);
    e = (struct err){.msg = ""};
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

static void load(const char *path)
{
    if (model_file_read(&m, &arena, path, NULL, &text, &e) != 0 || model_build(&m, &set, &e) != 0)
        fail_msg("%s: %s", path, e.msg);
}

static const char *in_folder(const char *name)
{
    return arena_printf(&arena, "%s/%s", folder, name);
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

static size_t variable_bytes(int variable)
{
    return (size_t)shape_elems(&set.variable[variable].shape) * sizeof(float);
}

/* any bits at all, those of infinities, of negative zeros and of what is no number among them */
static int draw_values(struct weights_value **value, uint64_t seed)
{
    int count = weights_list(&m, &arena, value);
    struct rng r;

    rng_init(&r, seed);
    for (int i = 0; i < count; i++) {
        uint32_t *bits = arena_alloc(&arena, variable_bytes((*value)[i].variable));

        for (size_t k = 0; k < variable_bytes((*value)[i].variable) / 4; k++)
            bits[k] = k % 7 == 3 ? 0x80000000u : (uint32_t)rng_next(&r);
        (*value)[i].value = (const float *)(const void *)bits;
    }
    return count;
}

static const struct weights_value *find(const struct weights_value *list, int count, int variable)
{
    for (int i = 0; i < count; i++)
        if (list[i].variable == variable)
            return &list[i];
    fail_msg("%s is missing", set.variable[variable].name);
    return NULL;
}

static void expect_same(const char *path, const struct weights_value *value, int count)
{
    struct weights_value *back;
    int back_count;

    if (weights_read(path, &m, &arena, &back, &back_count, &e) != 0)
        fail_msg("%s: %s", path, e.msg);
    assert_int_equal(back_count, count);
    for (int i = 0; i < count; i++)
        assert_memory_equal(find(back, back_count, value[i].variable)->value, value[i].value,
                            variable_bytes(value[i].variable));
}

static void expect_refusal(const char *path, const char *message)
{
    struct weights_value *back;
    int count;

    assert_int_equal(weights_read(path, &m, &arena, &back, &count, &e), -1);
    if (!strstr(e.msg, message))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, message);
}

static const char *const suffixes[] = {"weights.h5", "keras", "safetensors"};

static void round_trip(const char *model, uint64_t seed)
{
    struct weights_value *value;
    uint8_t *first, *second;
    size_t first_size, second_size;
    int count;

    load(model);
    count = draw_values(&value, seed);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        const char *path = in_folder(arena_printf(&arena, "w.%s", suffixes[i]));

        assert_int_equal(weights_write(path, &m, text.config, value, count, &e), 0);
        expect_same(path, value, count);
        isa_file_read(path, &arena, &first, &first_size, &e);
        assert_int_equal(weights_write(path, &m, text.config, value, count, &e), 0);
        isa_file_read(path, &arena, &second, &second_size, &e);
        assert_int_equal(first_size, second_size);
        assert_memory_equal(first, second, first_size);
        unlink(path);
    }
    tear_down(NULL);
    set_up(NULL);
}

TEST(weights_of_any_bits_come_back_from_every_format_and_a_file_is_the_same_each_time)
{
    static const char *const models[] = {
        "examples/mnist_mlp.json", "examples/resnet_small.json", "examples/char_transformer.json",
        "tests/corpus/h5/whole.h5", "tests/corpus/zip/model.keras"};

    for (size_t i = 0; i < COUNT_OF(models); i++)
        round_trip(models[i], 40 + i);
}

TEST(a_keras_file_is_a_model_and_weights_for_it_again)
{
    struct weights_value *value;
    int count;

    load("tests/corpus/zip/model.keras");
    count = draw_values(&value, 1);
    assert_int_equal(weights_write(in_folder("again.keras"), &m, text.config, value, count, &e), 0);
    tear_down(NULL);
    set_up(NULL);
    load(in_folder("again.keras"));
    count = draw_values(&value, 1);
    expect_same(in_folder("again.keras"), value, count);
    unlink(in_folder("again.keras"));
}

TEST(all_that_keras_wrote_of_one_model_holds_the_same_weights)
{
    struct weights_value *value;
    int count;

    load("tests/corpus/zip/model.keras");
    assert_int_equal(weights_read("tests/corpus/zip/model.keras", &m, &arena, &value, &count, &e),
                     0);
    expect_same("tests/corpus/h5/whole.h5", value, count);
    expect_same("tests/corpus/h5/places.weights.h5", value, count);
    expect_same("tests/corpus/h5/keras2.h5", value, count);
    /* the moving variance begins as ones: the order within the inner model is Keras's */
    for (int i = 0; i < count; i++)
        if (strstr(set.variable[value[i].variable].name, "moving_variance"))
            assert_float_equal(value[i].value[0], 1.0f, 0);
}

/* the same layers by other names, as a model that is made twice in one session has them */
TEST(names_that_differ_leave_the_order_of_layers)
{
    static const char json[] =
        "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": ["
        "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"i\", "
        "\"batch_shape\": [null, 4, 2]}},"
        "{\"class_name\": \"LSTM\", \"config\": {\"units\": 2, \"name\": \"lstm\"}},"
        "{\"class_name\": \"Dense\", \"config\": {\"units\": %d, \"name\": \"%s\"}}]}}";
    struct weights_value *value;
    int count;

    put_file(in_folder("m.json"), json, 0);
    for (int units = 1; units <= 2; units++) {
        const char *file = arena_printf(&arena, json, units, units == 1 ? "dense" : "dense_7");

        put_file(in_folder("m.json"), file, strlen(file));
        load(in_folder("m.json"));
        if (units == 1)
            assert_int_equal(weights_read("tests/corpus/h5/lstm.weights.h5", &m, &arena, &value,
                                          &count, &e), 0);
        else
            expect_refusal("tests/corpus/h5/lstm.weights.h5",
                           "layer \"dense_7\": its \"kernel\" is (2, 1) in the file");
        tear_down(NULL);
        set_up(NULL);
    }
    unlink(in_folder("m.json"));
}

TEST(layers_that_are_missing_or_left_over_are_named_with_the_nearest)
{
    load("examples/mnist_mlp.json");
    expect_refusal("tests/corpus/h5/keras2.h5", "the file has no weights of \"dense\"");
    expect_refusal("tests/corpus/h5/places.weights.h5", "layer \"dense");
    expect_refusal("examples/mnist_mlp.json", "it is a model's structure");
    expect_refusal("tests/corpus/npy/f4", "is in no format");
}

/* ---- TensorFlow.js ---- */

static const char tfjs[] =
    "{\"format\": \"layers-model\", \"modelTopology\": {\"keras_version\": \"2.4.0\", "
    "\"model_config\": {\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": ["
    "{\"class_name\": \"Dense\", \"config\": {\"units\": 2, \"name\": \"d\", "
    "\"batch_input_shape\": [null, 3]}}]}}}, \"weightsManifest\": [{\"paths\": [%s], \"weights\": ["
    "{\"name\": \"d/kernel\", \"shape\": [3, 2], \"dtype\": \"float32\"},"
    "{\"name\": \"d/bias\", \"shape\": [%s], %s}]}]}";

static void put_tfjs(const char *paths, const char *bias_shape, const char *bias_type)
{
    const char *file = arena_printf(&arena, tfjs, paths, bias_shape, bias_type);

    put_file(in_folder("model.json"), file, strlen(file));
}

TEST(weights_of_tensorflow_js_come_out_of_their_shards)
{
    static const float kernel[] = {1.5f, -0.0f, 3.25f, -4.0f, 5.0f, 6.0f};
    static const uint8_t bias[] = {0, 200};
    struct weights_value *value;
    int count;

    /* the kernel goes over the end of the first shard */
    put_file(in_folder("a.bin"), kernel, 10);
    put_file(in_folder("b.bin"), (const char *)kernel + 10, 14);
    put_file(in_folder("c.bin"), bias, 2);
    put_tfjs("\"a.bin\", \"b.bin\", \"c.bin\"", "2",
             "\"dtype\": \"float32\", \"quantization\": "
             "{\"dtype\": \"uint8\", \"scale\": 0.5, \"min\": -1}");
    load(in_folder("model.json"));
    assert_int_equal(weights_read(in_folder("model.json"), &m, &arena, &value, &count, &e), 0);
    assert_int_equal(count, 2);
    assert_memory_equal(value[0].value, kernel, sizeof(kernel));
    assert_float_equal(value[1].value[0], -1.0f, 0);
    assert_float_equal(value[1].value[1], 99.0f, 0);
    put_tfjs("\"a.bin\", \"b.bin\"", "2", "\"dtype\": \"float32\"");
    expect_refusal(in_folder("model.json"), "\"d/bias\" ends behind its shards");
    put_tfjs("\"a.bin\", \"b.bin\"", "9223372036854775807, 4", "\"dtype\": \"float32\"");
    expect_refusal(in_folder("model.json"), "\"d/bias\" is larger than its shards");
    put_tfjs("\"../a.bin\"", "2", "\"dtype\": \"float32\"");
    expect_refusal(in_folder("model.json"), "no file beside it");
    put_tfjs("\"a.bin\"", "2", "\"dtype\": \"complex64\"");
    expect_refusal(in_folder("model.json"), "\"d/kernel\" ends behind its shards");
    for (const char *name = "abc"; *name; name++)
        unlink(in_folder(arena_printf(&arena, "%c.bin", *name)));
    unlink(in_folder("model.json"));
}

/* what is trained in any of the models comes before what is not in the first */
TEST(weights_of_models_in_models_are_found_by_their_layers_names)
{
#define NAMED(name, shape) "{\"name\": \"" name "\", \"shape\": " shape ", \"dtype\": \"float32\"}"
    static const char file[] =
        "{\"modelTopology\": {\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": ["
        "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"base\", \"layers\": ["
        "{\"class_name\": \"Dense\", \"config\": {\"units\": 1, \"use_bias\": false, \"name\": \"a\", "
        "\"batch_input_shape\": [null, 1]}}, {\"class_name\": \"BatchNormalization\", \"config\": "
        "{\"name\": \"b\", \"scale\": false}}]}}, {\"class_name\": \"Sequential\", \"config\": "
        "{\"name\": \"top\", \"layers\": [{\"class_name\": \"Dense\", \"config\": {\"units\": 1, "
        "\"name\": \"c\", \"batch_input_shape\": [null, 1]}}]}}]}}, \"weightsManifest\": [{\"paths\": "
        "[\"a.bin\"], \"weights\": [" NAMED("a/kernel", "[1, 1]") ", " NAMED("b/beta", "[1]") ", "
        NAMED("c/kernel", "[1, 1]") ", " NAMED("c/bias", "[1]") ", " NAMED("b/moving_mean", "[1]") ", "
        NAMED("b/moving_variance", "[1]") "]}]}";
    static const float values[] = {1, 2, 5, 6, 3, 4};   /* variables are 1, 2, .. in the model's order */
    struct weights_value *value;
    int count;

    put_file(in_folder("a.bin"), values, sizeof(values));
    put_file(in_folder("model.json"), file, strlen(file));
    load(in_folder("model.json"));
    assert_int_equal(weights_read(in_folder("model.json"), &m, &arena, &value, &count, &e), 0);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++)
        assert_float_equal(value[i].value[0], (float)(1 + value[i].variable), 0);
    unlink(in_folder("a.bin"));
    unlink(in_folder("model.json"));
#undef NAMED
}

TEST(a_graph_of_tensorflow_js_is_no_keras_model)
{
    static const char graph[] = "{\"format\": \"graph-model\", \"modelTopology\": {\"node\": []}}";

    put_file(in_folder("model.json"), graph, strlen(graph));
    assert_int_equal(model_file_read(&m, &arena, in_folder("model.json"), NULL, NULL, &e), -1);
    assert_non_null(strstr(e.msg, "is a graph-model of TensorFlow.js"));
    unlink(in_folder("model.json"));
}

/* ---- damage ---- */

/* cut anywhere, or with bytes of any value anywhere, a file is read or refused */
static void damage(const char *from, const char *name, uint64_t seed, int times)
{
    uint8_t *bytes, *copy;
    const char *path = in_folder(name);
    size_t size;
    struct rng r;

    assert_int_equal(isa_file_read(from, &arena, &bytes, &size, &e), 0);
    copy = arena_alloc(&arena, size);
    rng_init(&r, seed);
    for (int i = 0; i < times; i++) {
        struct weights_value *value;
        size_t left = i % 3 ? size : (size_t)(rng_next(&r) % size);
        int count;

        memcpy(copy, bytes, size);
        for (int k = 0; k < i % 5; k++)
            copy[rng_next(&r) % (i % 2 || size < 2048 ? size : 2048)] = (uint8_t)rng_next(&r);
        put_file(path, copy, left);
        e.msg[0] = '\0';
        if (weights_read(path, &m, &arena, &value, &count, &e) != 0 && !e.msg[0])
            fail_msg("seed %d, %d: refused without a message", (int)seed, i);
    }
    unlink(path);
}

TEST(damaged_files_are_read_or_refused)
{
    int times = test_is_long() ? 3000 : 60;

    load("tests/corpus/zip/model.keras");
    damage("tests/corpus/h5/whole.h5", "d.h5", 1, times);
    damage("tests/corpus/h5/places.weights.h5", "d.weights.h5", 2, times);
    damage("tests/corpus/h5/keras2.h5", "d.h5", 3, times);
    damage("tests/corpus/zip/model.keras", "d.keras", 4, times);
    put_tfjs("\"a.bin\"", "2", "\"dtype\": \"float32\"");
    put_file(in_folder("a.bin"), tfjs, 32);
    damage(in_folder("model.json"), "d.json", 5, 10 * times);
    unlink(in_folder("model.json"));
    unlink(in_folder("a.bin"));
}

static void expect_h5(const char *path, const char *message)
{
    struct h5_file f;
    uint8_t *bytes;
    size_t size;

    assert_int_equal(isa_file_read(path, &arena, &bytes, &size, &e), 0);
    assert_int_equal(h5_read(bytes, size, path, &arena, &f, &e), -1);
    if (!strstr(e.msg, message))
        fail_msg("%s: \"%s\" does not say \"%s\"", path, e.msg, message);
}

TEST(groups_within_themselves_links_elsewhere_and_endless_arrays_are_refused)
{
    expect_h5("tests/corpus/h5/links.h5", "groups stand in groups more than 32 deep");
    expect_h5("tests/corpus/h5/external_link.h5", "a link leads elsewhere");
    expect_h5("tests/corpus/h5/huge.h5", "unpacks to more");
}

TEST(arrays_of_other_kinds_are_read_as_numbers)
{
    const struct h5_item *half, *zeros;
    struct h5_file f;
    uint8_t *bytes;
    size_t size;

    assert_int_equal(isa_file_read("tests/corpus/h5/kinds.h5", &arena, &bytes, &size, &e), 0);
    if (h5_read(bytes, size, "kinds.h5", &arena, &f, &e) != 0)
        fail_msg("%s", e.msg);
    half = h5_find(&f, "half", NULL);
    zeros = h5_find(&f, "deflated", NULL);
    assert_non_null(half);
    assert_non_null(zeros);
    for (int i = 0; i < 6; i++)
        assert_float_equal(half->value[i], (float)i, 0);
    assert_int_equal(zeros->dim[1], 64);
    assert_float_equal(zeros->value[64 * 64 - 1], 0.0f, 0);
    assert_null(h5_find(&f, "text", NULL));
    assert_string_equal(h5_find(&f, "", "name")->text[0], "n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(weights_of_any_bits_come_back_from_every_format_and_a_file_is_the_same_each_time),
        UNIT(a_keras_file_is_a_model_and_weights_for_it_again),
        UNIT(all_that_keras_wrote_of_one_model_holds_the_same_weights),
        UNIT(names_that_differ_leave_the_order_of_layers),
        UNIT(layers_that_are_missing_or_left_over_are_named_with_the_nearest),
        UNIT(weights_of_tensorflow_js_come_out_of_their_shards),
        UNIT(weights_of_models_in_models_are_found_by_their_layers_names),
        UNIT(a_graph_of_tensorflow_js_is_no_keras_model),
        UNIT(damaged_files_are_read_or_refused),
        UNIT(groups_within_themselves_links_elsewhere_and_endless_arrays_are_refused),
        UNIT(arrays_of_other_kinds_are_read_as_numbers),
    };
    int status;

    if (!mkdtemp(folder))
        return 1;
    status = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return status;
}
