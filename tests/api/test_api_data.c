/* Datasets of the C interface: do stages with a user's functions go through, and mistakes out? */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <string.h>
#include <unistd.h>

#include "include/systole.h"

static void must(sy_status s)
{
    if (s != SY_OK)
        fail_msg("%s", sy_message());
}

static sy_status square(void *user, const sy_element *in, sy_element *out)
{
    int32_t x = *(const int32_t *)sy_element_data(in, 0);
    int32_t *to = sy_element_put(out, 0, SY_S32, sy_scalar());

    *to = x * x + *(int32_t *)user;
    return SY_OK;
}

static sy_status is_odd(void *user, const sy_element *in)
{
    (void)user;
    return *(const int32_t *)sy_element_data(in, 0) % 2 ? SY_OK : SY_END;
}

static void expect_numbers(sy_dataset *d, const int32_t *number, int count)
{
    sy_iterator *it;
    sy_element *x;

    must(sy_dataset_iterate(d, 0, &it));
    for (int i = 0; i < count; i++) {
        must(sy_iterator_next(it, &x));
        assert_int_equal(*(const int32_t *)sy_element_data(x, 0), number[i]);
        sy_element_free(x);
    }
    assert_int_equal(sy_iterator_next(it, &x), SY_END);
    sy_iterator_free(it);
}

TEST(functions_of_the_user_are_stages)
{
    static const sy_column scalar = {SY_S32, {0, {0}}, NULL};
    int32_t one = 1, expected[] = {1, 5, 17, 37};       /* x^2 + 1 of even x */
    sy_dataset *d, *copy;

    must(sy_dataset_range(0, 8, 1, &d));
    must(sy_dataset_map(d, square, &one, &scalar, 1, 2));
    must(sy_dataset_filter(d, is_odd, NULL));
    must(sy_dataset_copy(d, &copy));
    must(sy_dataset_prefetch(d, 2));
    expect_numbers(d, expected, 4);
    sy_dataset_free(d);                 /* the copy still has its functions */
    must(sy_dataset_take(copy, 2));
    expect_numbers(copy, expected, 2);
    sy_dataset_free(copy);
}

static sy_status count_up(void *user, const sy_element *in, sy_dataset **out)
{
    static const sy_column scalar = {SY_S32, {0, {0}}, NULL};
    int32_t n = *(const int32_t *)sy_element_data(in, 0);

    must(sy_dataset_range(10 * n, 10 * n + 3, 1, out));
    return sy_dataset_map(*out, square, user, &scalar, 1, 0);
}

TEST(datasets_of_datasets_take_turns)
{
    static const sy_column scalar = {SY_S32, {0, {0}}, NULL};
    int32_t zero = 0, expected[] = {100, 400, 121, 441, 144, 484};
    sy_dataset *d;

    must(sy_dataset_range(1, 3, 1, &d));
    must(sy_dataset_interleave(d, count_up, &zero, &scalar, 1, 2, 1));
    expect_numbers(d, expected, 6);
    sy_dataset_free(d);
}

TEST(a_stage_that_fails_leaves_the_dataset_as_it_was)
{
    int32_t expected[] = {0, 1, 2};
    sy_dataset *d;

    must(sy_dataset_range(0, 3, 1, &d));
    assert_int_equal(sy_dataset_batch(d, 0, true), SY_ERROR);
    assert_true(*sy_message());
    assert_int_equal(sy_dataset_shard(d, 2, 2), SY_ERROR);
    assert_int_equal(sy_dataset_cardinality(d), 3);
    expect_numbers(d, expected, 3);
    sy_dataset_free(d);
}

TEST(global_batches_are_split_over_replicas)
{
    sy_cluster *c;
    sy_strategy *s;
    sy_dataset *d;
    sy_distributed *parts;
    sy_value *v;

    must(sy_cluster_resolve("tiny-2", NULL, &c));
    must(sy_cluster_initialize(c));
    must(sy_strategy_create(c, NULL, NULL, &s));
    must(sy_dataset_range(0, 10, 1, &d));
    must(sy_dataset_batch(d, 4, true));
    must(sy_strategy_distribute(s, d, &parts));
    for (int step = 0; step < 2; step++) {
        must(sy_distributed_next(parts, &v, 1));
        assert_int_equal(sy_value_shape(v).dim[0], 2);
        for (int r = 0; r < 2; r++)
            assert_int_equal(*(int32_t *)sy_value_data(v, r), 4 * step + 2 * r);
        sy_value_free(v);
    }
    assert_int_equal(sy_distributed_next(parts, &v, 1), SY_END);
    must(sy_distributed_start(parts, 1));
    assert_int_equal(sy_distributed_next(parts, &v, 2), SY_ERROR);
    assert_string_equal(sy_message(), "elements have 1 tensors, 2 are asked for");
    sy_distributed_free(parts);
    must(sy_dataset_unbatch(d));
    must(sy_dataset_batch(d, 5, true));
    assert_int_equal(sy_strategy_distribute(s, d, &parts), SY_ERROR);
    assert_non_null(strstr(sy_message(), "5"));
    sy_dataset_free(d);
    sy_strategy_free(s);
    sy_cluster_free(c);
}

static sy_status per_host(void *user, const sy_input_context *c, sy_dataset **out)
{
    static const sy_column scalar = {SY_S32, {0, {0}}, NULL};

    assert_int_equal(c->pipelines, 1);
    assert_int_equal(c->replicas, 2);
    must(sy_dataset_range(0, 4, 1, out));
    must(sy_dataset_map(*out, square, user, &scalar, 1, 0));
    return sy_dataset_batch(*out, 2, true);
}

TEST(datasets_from_a_function_are_per_replica)
{
    int32_t zero = 0;
    sy_cluster *c;
    sy_strategy *s;
    sy_distributed *parts;
    sy_value *v;

    must(sy_cluster_resolve("tiny-2", NULL, &c));
    must(sy_cluster_initialize(c));
    must(sy_strategy_create(c, NULL, NULL, &s));
    must(sy_strategy_distribute_from_function(s, per_host, &zero, &parts));
    must(sy_distributed_next(parts, &v, 1));
    assert_memory_equal(sy_value_data(v, 0), ((int32_t[]){0, 1}), 8);
    assert_memory_equal(sy_value_data(v, 1), ((int32_t[]){4, 9}), 8);
    sy_value_free(v);
    sy_distributed_free(parts);
    sy_strategy_free(s);
    sy_cluster_free(c);
}

TEST(examples_come_back_from_records)
{
    static const sy_feature features[] = {
        {"image", SY_U8, {1, {4}}}, {"label", SY_S32, {0, {0}}}, {"weight", SY_F32, {1, {2}}}};
    char path[] = "/tmp/systole_api_XXXXXX.tfrecord";
    const char *paths[] = {path};
    sy_record_writer *w;
    sy_dataset *d;
    sy_iterator *it;
    sy_element *x;

    close(mkstemps(path, 9));
    must(sy_record_writer_open(path, &w));
    for (int i = 0; i < 3; i++) {
        sy_example *example = sy_example_new();

        must(sy_example_add_bytes(example, "image", (uint8_t[]){1, 2, 3, (uint8_t)i}, 4));
        must(sy_example_add_ints(example, "label", &(int64_t){i}, 1));
        must(sy_example_add_floats(example, "weight", (float[]){0.5f, (float)i}, 2));
        must(sy_record_writer_write_example(w, example));
        sy_example_free(example);
    }
    must(sy_record_writer_close(w));
    must(sy_dataset_from_tfrecords(paths, 1, &d));
    must(sy_dataset_parse_examples(d, features, 3, 0));
    must(sy_dataset_skip(d, 2));
    must(sy_dataset_iterate(d, 0, &it));
    must(sy_iterator_next(it, &x));
    assert_memory_equal(sy_element_data(x, 0), ((uint8_t[]){1, 2, 3, 2}), 4);
    assert_int_equal(*(const int32_t *)sy_element_data(x, 1), 2);
    assert_true(((const float *)sy_element_data(x, 2))[1] == 2);
    assert_int_equal(sy_element_dtype(x, 0), SY_U8);
    assert_null(sy_element_put(x, 0, SY_S32, sy_scalar()));
    sy_element_free(x);
    sy_iterator_free(it);
    sy_dataset_free(d);
    unlink(path);
}

TEST(arrays_are_written_and_read)
{
    char path[] = "/tmp/systole_api_XXXXXX.npy";
    float x[6] = {1, 2, 3, 4, 5, 6};
    sy_array *a;

    close(mkstemps(path, 4));
    must(sy_write_npy(path, SY_F32, sy_dims(3, 2), x));
    must(sy_read_array(path, &a));
    assert_int_equal(sy_array_shape(a).rank, 2);
    assert_int_equal(sy_array_shape(a).dim[0], 3);
    assert_memory_equal(sy_array_data(a), x, sizeof(x));
    sy_array_free(a);
    unlink(path);
    assert_int_equal(sy_read_array(path, &a), SY_ERROR);
    assert_non_null(strstr(sy_message(), path));
}

static void expect_error(sy_status s, const char *part)
{
    assert_int_equal(s, SY_ERROR);
    if (!strstr(sy_message(), part))
        fail_msg("\"%s\" does not have \"%s\"", sy_message(), part);
}

TEST(a_dataset_is_split_and_cached_in_a_file)
{
    char path[] = "/tmp/systole_api_XXXXXX";
    int32_t one = 1, first[] = {1, 2, 5}, rest[] = {10, 17};
    static const sy_column scalar = {SY_S32, {0, {0}}, NULL};
    sy_dataset *d, *other;

    close(mkstemp(path));
    unlink(path);
    must(sy_dataset_range(0, 5, 1, &d));
    must(sy_dataset_map(d, square, &one, &scalar, 1, 0));
    expect_error(sy_dataset_split(d, 1.5, &other), "1.5");
    must(sy_dataset_split(d, 0.6, &other));
    must(sy_dataset_cache_file(d, path));
    for (int pass = 0; pass < 2; pass++)
        expect_numbers(d, first, 3);
    assert_int_equal(access(path, F_OK), 0);
    sy_dataset_free(d);
    expect_numbers(other, rest, 2);
    must(sy_dataset_cache_file(other, path));
    expect_error(sy_dataset_cache_file(other, NULL), "NULL");
    sy_dataset_free(other);
    unlink(path);
}

TEST(columns_of_a_csv_file_and_strings_are_elements)
{
    static const sy_csv_column columns[] = {{"b", SY_S32}, {"a", SY_F32}}, none = {"c", SY_S32};
    char path[] = "/tmp/systole_api_XXXXXX.csv";
    const char *words[] = {"one", "three"};
    sy_dataset *d;
    sy_iterator *it;
    sy_element *x;
    FILE *f = fdopen(mkstemps(path, 4), "w");

    fputs("a,b\n0.5,7\n1.5,8\n", f);
    fclose(f);
    must(sy_dataset_from_csv(path, columns, 2, &d));
    assert_int_equal(sy_dataset_cardinality(d), 2);
    must(sy_dataset_iterate(d, 0, &it));
    must(sy_iterator_next(it, &x));
    assert_int_equal(*(const int32_t *)sy_element_data(x, 0), 7);
    assert_true(*(const float *)sy_element_data(x, 1) == 0.5f);
    sy_element_free(x);
    sy_iterator_free(it);
    sy_dataset_free(d);
    expect_error(sy_dataset_from_csv(path, &none, 1, &d), "c");
    expect_error(sy_dataset_from_csv(path, columns, 0, &d), "0 columns");
    unlink(path);
    must(sy_dataset_from_strings(words, 2, &d));
    must(sy_dataset_skip(d, 1));
    must(sy_dataset_iterate(d, 0, &it));
    must(sy_iterator_next(it, &x));
    assert_string_equal(((const sy_string *)sy_element_data(x, 0))->byte, "three");
    sy_element_free(x);
    sy_iterator_free(it);
    sy_dataset_free(d);
    words[1] = NULL;
    expect_error(sy_dataset_from_strings(words, 2, &d), "string 1 of a dataset is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_the_user_are_stages),
        cmocka_unit_test(datasets_of_datasets_take_turns),
        cmocka_unit_test(a_stage_that_fails_leaves_the_dataset_as_it_was),
        cmocka_unit_test(global_batches_are_split_over_replicas),
        cmocka_unit_test(datasets_from_a_function_are_per_replica),
        cmocka_unit_test(examples_come_back_from_records),
        cmocka_unit_test(arrays_are_written_and_read),
        cmocka_unit_test(a_dataset_is_split_and_cached_in_a_file),
        cmocka_unit_test(columns_of_a_csv_file_and_strings_are_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
