/* tf.train.Example: are records laid out as published, and features taken as asked for? */
#include "tests/test.h"

#include "base/arena.h"
#include "data/example.h"
#include "data/files.h"
#include "data/tfrecord.h"
#include "tests/rigs/example_tensor.h"
#include "tests/rigs/pipeline_rig.h"

#include <unistd.h>

static struct err e;

TEST(an_example_is_laid_out_as_published)
{
    const unsigned char golden[] = {
        0x0a, 0x0f, 0x0a, 0x0d, 0x0a, 0x01, 'x', 0x12, 0x08, 0x12, 0x06, 0x0a, 0x04, 0, 0, 0x80,
        0x3f,
    };
    struct example *x = example_new();
    struct bytes b = {0};
    const float one = 1;

    example_add_floats(x, "x", &one, 1);
    example_pack(x, &b);
    assert_int_equal(b.size, sizeof(golden));
    assert_memory_equal(b.data, golden, sizeof(golden));
    mem_free(b.data);
    example_destroy(x);
}

static struct bytes pack_sample(int64_t label)
{
    struct example *x = example_new();
    struct bytes b = {0};
    const float f[2] = {0.5f, 2};
    const struct data_string s[2] = {{"ab", 2}, {"", 0}}, raw = {"\1\2\3", 3};

    example_add_floats(x, "weights", f, 2);
    example_add_ints(x, "label", &label, 1);
    example_add_strings(x, "words", s, 2);
    example_add_strings(x, "pixels", &raw, 1);
    example_pack(x, &b);
    example_destroy(x);
    return b;
}

static const int32_t minus_one = -1;
static const struct data_tensor standard = {{DATA_S32, 0, {0}}, (void *)(uintptr_t)&minus_one};
static const struct example_feature features[] = {
    {"label", {DATA_S32, 0, {0}}, NULL},
    {"weights", {DATA_F32, 1, {2}}, NULL},
    {"words", {DATA_STRING, 1, {DATA_ANY_SIZE}}, NULL},
    {"pixels", {DATA_U8, 1, {3}}, NULL},
    {"other", {DATA_S32, 1, {2}}, &standard},
    {"none", {DATA_F32, 1, {DATA_ANY_SIZE}}, NULL},
};

static void assert_example_error(const struct example_feature *f, int64_t label,
                                 const char *message)
{
    struct bytes b = pack_sample(label);
    struct data_element *x = element_new(1);

    assert_int_equal(example_parse(b.data, (int64_t)b.size, f, 1, x, &e), -1);
    assert_string_equal(e.msg, message);
    element_release(x);
    mem_free(b.data);
}

TEST(features_that_do_not_fit_are_named)
{
    const struct example_feature missing = {"wight", {DATA_F32, 1, {2}}, NULL};
    const struct example_feature kind = {"weights", {DATA_S32, 1, {2}}, NULL};
    const struct example_feature size = {"weights", {DATA_F32, 2, {2, 2}}, NULL};
    const struct example_feature raw = {"pixels", {DATA_U8, 1, {4}}, NULL};
    const struct example_feature several = {"words", {DATA_U8, 1, {4}}, NULL};

    assert_example_error(&missing, 1, "feature \"wight\" is missing; the record has 4 (did you "
                                      "mean \"weights\"?)");
    assert_example_error(&kind, 1, "feature \"weights\" is a float_list, s32 is made from a "
                                   "int64_list");
    assert_example_error(&size, 1, "feature \"weights\" has 2 values, f32[2,2] needs 4");
    assert_example_error(&raw, 1, "feature \"pixels\" has 3 bytes, u8[4] needs 4");
    assert_example_error(&several, 1, "feature \"words\" has 2 values of bytes; u8 is made from "
                                      "one");
    assert_example_error(&features[0], 5000000000, "feature \"label\": value 0 is 5000000000, "
                                                   "which does not fit s32");
}

TEST(examples_of_a_file_are_parsed)
{
    const char *path = "build/test_example.tmp";
    struct tfrecord_writer *w = tfrecord_begin(path, DATA_COMPRESSION_NONE, &e);
    char text[300];
    size_t size = 0;

    for (int i = 0; i < 2; i++) {
        struct bytes b = pack_sample(i + 7);

        size += b.size + 16;
        tfrecord_write(w, b.data, (int64_t)b.size);
        mem_free(b.data);
    }
    tfrecord_write(w, "\x0a\xff", 2);
    assert_int_equal(tfrecord_commit(w, &e), 0);
    snprintf(text, sizeof(text), "7,[0.5 2],['ab' ''],[1 2 3],[-1 -1],[] "
             "8,[0.5 2],['ab' ''],[1 2 3],[-1 -1],[] "
             "error: %s: record 2 at byte %zu: its 2 bytes are no tf.train.Example", path, size);
    for (int threads = 0; threads < 3; threads++) {
        struct dataset *d = dataset_tfrecords(&path, 1, DATA_COMPRESSION_NONE, &e);

        assert_gives(dataset_parse_examples(d, features, 6, threads, &e), text);
    }
    unlink(path);
    assert_null(dataset_parse_examples(numbers(3), features, 6, 0, &e));
    assert_string_equal(e.msg, "examples are parsed from string scalars, one per element");
}

TEST(tensors_go_through_an_example_and_back)
{
    struct data_element *in = element_new(4), *out = element_new(4);
    const char *const name[] = {"f", "i", "s", "u"};
    struct example_feature f[4];
    struct example *x = example_new();
    struct bytes b = {0};

    for (int i = 0; i < 4; i++) {
        struct data_spec s = data_spec_of(i == 0 ? DATA_F32 : i == 1 ? DATA_S32 : i == 2
                                          ? DATA_STRING : DATA_U8, 2, (int64_t[]){2, 3});

        element_put(in, i, &s);
        f[i] = (struct example_feature){name[i], s, NULL};
    }
    ((float *)in->tensor[0].data)[5] = 1.5f;
    ((int32_t *)in->tensor[1].data)[5] = INT32_MIN;
    element_put_string(in, 2, 5, "z\0z", 3);
    ((uint8_t *)in->tensor[3].data)[5] = 255;
    for (int i = 0; i < 4; i++)
        example_add_tensor(x, name[i], &in->tensor[i]);
    example_pack(x, &b);
    assert_int_equal(example_parse(b.data, (int64_t)b.size, f, 4, out, &e), 0);
    for (int i = 0; i < 4; i++)
        assert_true(data_spec_is_equal(&in->tensor[i].spec, &out->tensor[i].spec));
    assert_true(((float *)out->tensor[0].data)[5] == 1.5f);
    assert_int_equal(((int32_t *)out->tensor[1].data)[5], INT32_MIN);
    assert_memory_equal(((struct data_string *)out->tensor[2].data)[5].byte, "z\0z", 3);
    assert_int_equal(((uint8_t *)out->tensor[3].data)[5], 255);
    element_release(in);
    element_release(out);
    example_destroy(x);
    mem_free(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_example_is_laid_out_as_published),
        cmocka_unit_test(features_that_do_not_fit_are_named),
        cmocka_unit_test(examples_of_a_file_are_parsed),
        cmocka_unit_test(tensors_go_through_an_example_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
