/* Pipelines: does each stage give what its sentence says, and go on where it was saved? */
#include "tests/test.h"

#include "base/arena.h"
#include "tests/rigs/pipeline_rig.h"

static struct err e;

/* ---- makers for the tests of positions ---- */

static int halve(void *context, const struct data_element *in, struct data_element *out,
                 struct err *err)
{
    int32_t value = *(const int32_t *)in->tensor[0].data;
    struct data_spec s = data_spec_of(DATA_F32, 0, NULL);

    if (context && value == *(const int *)context)
        return err_set(err, "number %d is refused", value);
    *(float *)element_put(out, 0, &s) = (float)value / 2;
    return 0;
}

static struct dataset *halves(struct dataset *in, int thread_count, int *refused)
{
    const struct data_spec s = data_spec_of(DATA_F32, 0, NULL);
    const struct data_map map = {.apply = halve, .context = refused, .output_count = 1,
                                 .output = &s, .thread_count = thread_count, .name = "halve"};

    return dataset_map(in, &map, &e);
}

static int is_odd(void *context, const struct data_element *x, struct err *err)
{
    (void)context;
    (void)err;
    return *(const int32_t *)x->tensor[0].data % 2;
}

/* the numbers 10 n .. 10 n + n - 1 of an element n */
static struct dataset *open_some(void *context, const struct data_element *x, struct err *err)
{
    int32_t n = *(const int32_t *)x->tensor[0].data;

    (void)context;
    return dataset_range(10 * n, 11 * n, 1, err);
}

static struct dataset *interleaved(struct dataset *in, int64_t cycle, int64_t block)
{
    const struct data_spec s = data_spec_of(DATA_S32, 0, NULL);
    const struct data_interleave how = {.open = open_some, .output_count = 1, .output = &s,
                                        .cycle_length = cycle, .block_length = block};

    return dataset_interleave(in, &how, &e);
}

/* ---- sources ---- */

TEST(memory_is_cut_along_the_first_dimension)
{
    float matrix[] = {1, 2, 3, 4, 5, 6};
    int32_t label[] = {7, 8, 9};
    const struct data_tensor array[2] = {
        {data_spec_of(DATA_F32, 2, (int64_t[]){3, 2}), matrix},
        {data_spec_of(DATA_S32, 1, (int64_t[]){3}), label},
    };
    struct dataset *d = dataset_from_memory(array, 2, &e);

    assert_int_equal(dataset_cardinality(d), 3);
    assert_string_equal(dataset_describe(d), "memory(3 of (f32[2], s32[]))");
    matrix[0] = 100;                    /* it has a copy */
    assert_gives(d, "[1 2],7 [3 4],8 [5 6],9");
    assert_gives(dataset_from_memory(array, 2, &e), "[100 2],7 [3 4],8 [5 6],9");
}

TEST(arrays_of_different_lengths_are_refused)
{
    float a[3] = {0};
    const struct data_tensor array[2] = {
        {data_spec_of(DATA_F32, 1, (int64_t[]){3}), a},
        {data_spec_of(DATA_F32, 1, (int64_t[]){2}), a},
    };
    const struct data_tensor scalar = {data_spec_of(DATA_F32, 0, NULL), a};

    assert_refused(dataset_from_memory(array, 2, &e), &e,
                   "array 1 is f32[2]: 2 slices, but array 0 has 3");
    assert_refused(dataset_from_memory(&scalar, 1, &e), &e,
                   "array 0 is f32[]: a scalar has no slices");
    assert_refused(dataset_from_memory(array, 0, &e), &e, "0 arrays, allowed are 1..64");
}

TEST(a_range_counts_up_or_down)
{
    assert_gives(dataset_range(2, 11, 3, &e), "2 5 8");
    assert_gives(dataset_range(3, 0, -2, &e), "3 1");
    assert_gives(dataset_range(5, 5, 1, &e), "");
    assert_refused(dataset_range(0, 5, 0, &e), &e,
                   "range with step 0, allowed is any but 0 up to 2^32 either way");
    assert_refused(dataset_range(0, 5000000000, 1, &e), &e,
                   "range from 0 to 5000000000: the numbers are s32, allowed are "
                   "-2147483648..2147483647");
}

TEST(strings_are_copied)
{
    const char *const s[] = {"a", "", "bc"};

    assert_gives(dataset_from_strings(s, 3, &e), "'a' '' 'bc'");
}

/* ---- stages ---- */

TEST(map_and_filter_call_back)
{
    assert_gives(halves(dataset_filter(numbers(8), is_odd, NULL, &e), 0, NULL),
                 "0.5 1.5 2.5 3.5");
}

TEST(map_gives_the_same_with_any_number_of_threads)
{
    struct dataset *plain = halves(numbers(500), 0, NULL);
    char *one = pipeline_text(plain, 0, 1000);

    dataset_release(plain);
    for (int threads = 1; threads <= 5; threads += 2) {
        struct dataset *d = halves(numbers(500), threads, NULL);

        for (int i = 0; i < 3; i++) {
            char *many = pipeline_text(d, 0, 1000);

            assert_string_equal(one, many);
            mem_free(many);
        }
        dataset_release(d);
    }
    mem_free(one);
}

TEST(an_error_of_map_arrives_where_its_element_would)
{
    int refused = 3;

    for (int threads = 0; threads < 3; threads++) {
        assert_gives(halves(numbers(9), threads, &refused),
                     "0 0.5 1 error: number 3 is refused");
        assert_gives(dataset_prefetch(halves(numbers(9), threads, &refused), 2, &e),
                     "0 0.5 1 error: number 3 is refused");
    }
}

TEST(an_iterator_that_has_failed_stays_so)
{
    int refused = 0;
    struct dataset *d = halves(numbers(9), 0, &refused);
    struct data_iterator *it = dataset_iterate(d, 0, &e);
    struct data_element *x;
    struct bytes saved = {0};

    for (int i = 0; i < 2; i++) {
        memset(&e, 0, sizeof(e));
        assert_int_equal(data_iterator_next(it, &x, &e), -1);
        assert_string_equal(e.msg, "number 0 is refused");
    }
    assert_int_equal(data_iterator_save(it, &saved, &e), -1);
    assert_string_equal(e.msg, "an iterator that has failed has no position to save");
    data_iterator_destroy(it);
    dataset_release(d);
}

TEST(take_skip_and_shard_choose)
{
    assert_gives(dataset_take(numbers(5), 2, &e), "0 1");
    assert_gives(dataset_take(numbers(2), 5, &e), "0 1");
    assert_gives(dataset_skip(numbers(5), 3, &e), "3 4");
    assert_gives(dataset_skip(numbers(5), 7, &e), "");
    assert_gives(dataset_shard(numbers(8), 3, 1, &e), "1 4 7");
    assert_gives(dataset_shard(numbers(8), 3, 2, &e), "2 5");
    assert_refused(dataset_shard(numbers(8), 3, 3, &e), &e,
                   "shard: part 3 of 3; parts are numbered from 0");
    assert_refused(dataset_take(numbers(8), -1, &e), &e,
                   "take: count is -1, allowed are 0 and more");
    assert_refused(dataset_skip(numbers(8), -1, &e), &e,
                   "skip: count is -1, allowed are 0 and more");
}

TEST(split_makes_two_parts)
{
    struct dataset *part[2];

    assert_int_equal(dataset_split(numbers(10), 0.75, part, &e), 0);
    assert_gives(part[0], "0 1 2 3 4 5 6");
    assert_gives(part[1], "7 8 9");
    assert_int_equal(dataset_split(numbers(10), 1.5, part, &e), -1);
    assert_string_equal(e.msg, "split at 1.5 of its elements; a share is 0..1 of a known number");
    assert_int_equal(dataset_split(dataset_filter(numbers(10), is_odd, NULL, &e), 0.5, part, &e),
                     -1);
    assert_string_equal(e.msg, "split at 0.5 of an unknown number of elements; a share is 0..1 of "
                               "a known number");
}

TEST(repeat_goes_round)
{
    assert_gives(dataset_repeat(numbers(3), 2, &e), "0 1 2 0 1 2");
    assert_gives(dataset_repeat(numbers(3), 0, &e), "");
    assert_gives(dataset_repeat(numbers(0), DATA_INFINITE, &e), "");
    assert_gives(dataset_take(dataset_repeat(numbers(2), DATA_INFINITE, &e), 5, &e), "0 1 0 1 0");
    assert_refused(dataset_repeat(numbers(3), -3, &e), &e,
                   "repeat: count is -3, allowed are 0 and more, or -1 for no end");
}

TEST(enumerate_zip_and_concatenate_join)
{
    struct dataset *two[2];

    assert_gives(dataset_enumerate(dataset_skip(numbers(4), 2, &e), 10, &e), "10,2 11,3");
    two[0] = numbers(3);
    two[1] = dataset_skip(numbers(7), 5, &e);
    assert_gives(dataset_zip(two, 2, &e), "0,5 1,6");
    assert_gives(dataset_concatenate(numbers(2), numbers(3), &e), "0 1 0 1 2");
    assert_refused(dataset_concatenate(numbers(2), dataset_enumerate(numbers(1), 0, &e), &e), &e,
                   "concatenate: elements of the first are (s32[]), of the second (s32[], s32[])");
    assert_gives(dataset_enumerate(numbers(2), INT32_MAX, &e),
                 "2147483647,0 error: enumerate: number 2147483648 does not fit s32");
}

TEST(batch_stacks_and_unbatch_takes_apart)
{
    assert_gives(dataset_batch(numbers(5), 2, false, &e), "[0 1] [2 3] [4]");
    assert_gives(dataset_batch(numbers(5), 2, true, &e), "[0 1] [2 3]");
    assert_gives(dataset_unbatch(dataset_batch(numbers(5), 2, false, &e), &e), "0 1 2 3 4");
    assert_gives(dataset_batch(dataset_batch(numbers(8), 2, true, &e), 2, true, &e),
                 "[0 1 2 3] [4 5 6 7]");
    assert_refused(dataset_batch(numbers(5), 0, true, &e), &e,
                   "batch: size is 0, allowed are 1..2147483648");
    assert_refused(dataset_unbatch(numbers(5), &e), &e,
                   "unbatch: tensor 0 is a scalar, which has no slices");
}

/* batches of 3, 3 and 1 elements */
static struct dataset *uneven(void)
{
    return dataset_batch(numbers(7), 3, false, &e);
}

TEST(batch_names_the_element_of_another_size)
{
    assert_gives(dataset_batch(uneven(), 3, false, &e),
                 "error: batch: tensor 0 of element 2 is s32[1], that of element 0 s32[3]; "
                 "padded_batch takes sizes that differ");
}

TEST(padded_batch_fills_up)
{
    assert_gives(dataset_padded_batch(uneven(), 2, false, &e), "[0 1 2 3 4 5] [6]");
    assert_gives(dataset_padded_batch(uneven(), 3, false, &e), "[0 1 2 3 4 5 6 0 0]");
}

/* one of 1 by 2 and one of 2 by 1 */
TEST(padding_keeps_rows_in_their_corner)
{
    struct dataset *wide = dataset_batch(dataset_batch(numbers(2), 2, true, &e), 1, true, &e);
    struct dataset *high = dataset_batch(dataset_batch(numbers(2), 1, true, &e), 2, true, &e);

    assert_gives(dataset_padded_batch(dataset_concatenate(wide, high, &e), 2, true, &e),
                 "[0 1 0 0 0 0 1 0]");
}

TEST(shuffle_draws_from_its_buffer_only)
{
    enum { COUNT = 200, BUFFER = 16 };
    struct dataset *d = dataset_shuffle(numbers(COUNT), BUFFER, 7, true, &e);
    struct data_iterator *it = dataset_iterate(d, 0, &e);
    struct data_element *x;
    bool seen[COUNT] = {false};
    int moved = 0;

    for (int i = 0; i < COUNT; i++) {
        int32_t value;

        assert_int_equal(data_iterator_next(it, &x, &e), 1);
        value = *(const int32_t *)x->tensor[0].data;
        element_release(x);
        assert_true(value < i + BUFFER);
        assert_false(seen[value]);
        seen[value] = true;
        moved += value != i;
    }
    assert_true(moved > COUNT / 2);
    assert_int_equal(data_iterator_next(it, &x, &e), 0);
    data_iterator_destroy(it);
    dataset_release(d);
}

static char *shuffled(uint64_t seed, bool reshuffle, int64_t pass)
{
    struct dataset *d = dataset_shuffle(numbers(20), 20, seed, reshuffle, &e);
    char *text = pipeline_text(d, pass, 100);

    dataset_release(d);
    return text;
}

TEST(shuffle_differs_by_pass_and_by_seed)
{
    char *first = shuffled(1, true, 0), *same = shuffled(1, true, 0);
    char *other[] = {shuffled(1, true, 1), shuffled(2, true, 0)};
    char *kept[] = {shuffled(1, false, 0), shuffled(1, false, 1)};

    assert_string_equal(first, same);
    assert_string_not_equal(first, other[0]);
    assert_string_not_equal(first, other[1]);
    assert_string_equal(kept[0], kept[1]);
    mem_free(first);
    mem_free(same);
    for (int i = 0; i < 2; i++) {
        mem_free(other[i]);
        mem_free(kept[i]);
    }
}

TEST(passes_of_repeat_are_passes_of_its_input)
{
    struct dataset *once = dataset_shuffle(numbers(9), 5, 3, true, &e);
    struct dataset *d = dataset_repeat(dataset_retain(once), 3, &e);
    char *a = pipeline_text(once, 3, 100), *b = pipeline_text(once, 4, 100);
    char *c = pipeline_text(once, 5, 100), *all = pipeline_text(d, 1, 100), expected[400];

    snprintf(expected, sizeof(expected), "%s %s %s", a, b, c);
    assert_string_equal(all, expected);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(all);
    dataset_release(once);
    dataset_release(d);
}

TEST(shuffle_is_pinned)
{
    assert_gives(dataset_shuffle(numbers(12), 4, 1, true, &e),
                 "1 4 2 3 5 7 8 6 9 10 11 0");
}

static int counted(void *context, const struct data_element *in, struct data_element *out,
                   struct err *err)
{
    (void)err;
    ++*(int *)context;
    element_put_tensor(out, 0, &in->tensor[0]);
    return 0;
}

static struct dataset *counting(struct dataset *in, int *calls)
{
    const struct data_spec s = data_spec_of(DATA_S32, 0, NULL);
    const struct data_map map = {.apply = counted, .context = calls, .output_count = 1,
                                 .output = &s};

    return dataset_map(in, &map, &e);
}

TEST(cache_asks_its_input_once)
{
    int calls = 0;
    struct dataset *d = dataset_repeat(dataset_cache(counting(numbers(4), &calls), &e), 3, &e);
    char *part = pipeline_text(d, 0, 2);

    assert_string_equal(part, "0 1");
    mem_free(part);
    assert_int_equal(calls, 2);         /* a part of a pass fills nothing */
    calls = 0;
    assert_gives(dataset_retain(d), "0 1 2 3 0 1 2 3 0 1 2 3");
    assert_gives(d, "0 1 2 3 0 1 2 3 0 1 2 3");
    assert_int_equal(calls, 4);
    assert_refused(dataset_cache(dataset_repeat(numbers(1), DATA_INFINITE, &e), &e), &e,
                   "cache: the input never ends; repeat belongs behind it");
}

TEST(what_is_passed_over_is_not_made)
{
    int calls = 0;
    struct dataset *d = dataset_batch(counting(numbers(100), &calls), 10, true, &e);
    struct data_iterator *it = dataset_iterate(d, 0, &e);

    assert_int_equal(data_iterator_skip(it, 8, &e), 8);
    assert_int_equal(calls, 0);
    data_iterator_destroy(it);
    d = dataset_shuffle(d, 3, 1, true, &e);
    it = dataset_iterate(d, 0, &e);
    for (int i = 0; i < 7; i++) {
        struct data_element *x;

        assert_int_equal(data_iterator_next(it, &x, &e), 1);
        element_release(x);
    }
    {
        struct bytes saved = {0};

        assert_int_equal(data_iterator_save(it, &saved, &e), 0);
        data_iterator_destroy(it);
        calls = 0;
        it = dataset_resume(d, saved.data, saved.size, &e);
        assert_int_equal(calls, 20);    /* the two batches that were in the buffer */
        mem_free(saved.data);
    }
    data_iterator_destroy(it);
    dataset_release(d);
}

TEST(interleave_takes_turns)
{
    assert_gives(interleaved(dataset_skip(numbers(5), 2, &e), 2, 1), "20 30 21 31 32 40 41 42 43");
    assert_gives(interleaved(dataset_skip(numbers(5), 2, &e), 2, 2), "20 21 30 31 32 40 41 42 43");
    assert_gives(interleaved(dataset_skip(numbers(4), 2, &e), 8, 1), "20 30 21 31 32");
    assert_gives(interleaved(numbers(0), 2, 1), "");
    assert_refused(interleaved(numbers(4), 0, 1), &e, "interleave: 0 at once in blocks of 1, "
                   "allowed are 1..4096 in blocks of 1 and more");
}

TEST(tensors_are_converted)
{
    uint8_t pixel[] = {0, 51, 255};
    const struct data_tensor t = {data_spec_of(DATA_U8, 1, (int64_t[]){3}), pixel};
    struct dataset *d = dataset_to_f32(dataset_from_memory(&t, 1, &e), 0, 255, &e);

    assert_gives(d, "0 0.2 1");
    assert_gives(dataset_to_s32(dataset_from_memory(&t, 1, &e), 0, &e), "0 51 255");
    assert_gives(dataset_to_f32(numbers(3), 0, 2, &e), "0 0.5 1");
    assert_refused(dataset_to_s32(numbers(3), 0, &e), &e,
                   "to s32: tensor 0 is s32, which cannot be converted");
    assert_refused(dataset_to_f32(numbers(3), 1, 2, &e), &e,
                   "to f32: tensor 1; an element has tensors 0..0");
}

TEST(a_chain_keeps_its_first_mistake)
{
    struct dataset *d = dataset_batch(numbers(3), 0, true, &e);

    d = dataset_shuffle(d, 0, 1, true, &e);
    d = dataset_prefetch(dataset_repeat(d, -7, &e), -1, &e);
    assert_refused(d, &e, "batch: size is 0, allowed are 1..2147483648");
}

/* ---- shapes and lengths known beforehand ---- */

static void assert_known(struct dataset *d, int64_t cardinality, const char *specs)
{
    char text[256];

    assert_non_null(d);
    assert_int_equal(dataset_cardinality(d), cardinality);
    assert_string_equal(data_specs_print(dataset_spec(d), dataset_tensor_count(d), text,
                                         sizeof(text)), specs);
    dataset_release(d);
}

TEST(lengths_and_shapes_are_known_where_they_can_be)
{
    struct dataset *two[2] = {numbers(5), dataset_repeat(numbers(2), DATA_INFINITE, &e)};

    assert_known(dataset_batch(numbers(7), 2, false, &e), 4, "(s32[?])");
    assert_known(dataset_batch(numbers(7), 2, true, &e), 3, "(s32[2])");
    assert_known(dataset_batch(numbers(8), 2, false, &e), 4, "(s32[2])");
    assert_known(dataset_unbatch(dataset_batch(numbers(8), 2, false, &e), &e), 8, "(s32[])");
    assert_known(dataset_filter(numbers(8), is_odd, NULL, &e), DATA_UNKNOWN, "(s32[])");
    assert_known(dataset_repeat(numbers(8), 3, &e), 24, "(s32[])");
    assert_known(dataset_repeat(numbers(8), DATA_INFINITE, &e), DATA_INFINITE, "(s32[])");
    assert_known(dataset_zip(two, 2, &e), 5, "(s32[], s32[])");
    assert_known(dataset_shard(numbers(8), 3, 2, &e), 2, "(s32[])");
    assert_known(dataset_skip(numbers(8), 3, &e), 5, "(s32[])");
    assert_known(dataset_take(numbers(8), 3, &e), 3, "(s32[])");
    assert_known(dataset_concatenate(numbers(8), numbers(1), &e), 9, "(s32[])");
    assert_known(halves(numbers(8), 0, NULL), 8, "(f32[])");
    assert_known(dataset_padded_batch(uneven(), 2, true, &e), 1, "(s32[2,?])");
}

/* ---- positions ---- */

TEST(a_repeat_passed_over_to_its_very_end_is_over)
{
    struct dataset *d = dataset_repeat(numbers(5), 7, &e);

    for (int64_t first = 1; first < 35; first += 3) {
        struct data_iterator *it = dataset_iterate(d, 0, &e);

        assert_int_equal(data_iterator_skip(it, first, &e), first);
        assert_int_equal(data_iterator_skip(it, 35 - first, &e), 35 - first);
        assert_int_equal(data_iterator_skip(it, 2, &e), 0);
        data_iterator_destroy(it);
    }
    dataset_release(d);
}

TEST(every_stage_goes_on_where_it_was_saved)
{
    struct dataset *two[2];

    assert_resumes(numbers(6), 0, 10);
    assert_resumes(dataset_take(numbers(6), 4, &e), 0, 10);
    assert_resumes(dataset_skip(numbers(6), 2, &e), 0, 10);
    assert_resumes(dataset_shard(numbers(11), 3, 1, &e), 0, 10);
    assert_resumes(dataset_filter(numbers(9), is_odd, NULL, &e), 0, 10);
    assert_resumes(dataset_enumerate(numbers(5), 3, &e), 0, 10);
    assert_resumes(dataset_concatenate(numbers(3), numbers(4), &e), 0, 10);
    two[0] = numbers(6);
    two[1] = dataset_shuffle(numbers(7), 3, 1, true, &e);
    assert_resumes(dataset_zip(two, 2, &e), 0, 10);
    assert_resumes(dataset_batch(numbers(11), 3, false, &e), 0, 10);
    assert_resumes(dataset_batch(numbers(11), 3, true, &e), 0, 10);
    assert_resumes(dataset_padded_batch(uneven(), 2, false, &e), 0, 10);
    assert_resumes(dataset_unbatch(uneven(), &e), 0, 10);
    assert_resumes(dataset_cache(numbers(5), &e), 0, 10);
    assert_resumes(dataset_to_f32(numbers(5), 0, 3, &e), 0, 10);
    assert_resumes(interleaved(numbers(5), 2, 2), 0, 20);
    assert_resumes(halves(numbers(9), 0, NULL), 0, 10);
    assert_resumes(halves(numbers(9), 2, NULL), 0, 10);
    assert_resumes(dataset_prefetch(numbers(9), 3, &e), 0, 10);
}

TEST(a_repeated_shuffle_goes_on_where_it_was_saved)
{
    for (int64_t buffer = 1; buffer <= 9; buffer += 2) {
        assert_resumes(dataset_repeat(dataset_shuffle(numbers(7), buffer, 5, true, &e), 3, &e), 2,
                       30);
        assert_resumes(dataset_shuffle(dataset_repeat(numbers(5), DATA_INFINITE, &e), buffer, 5,
                                       true, &e), 0, 25);
        assert_resumes(dataset_shuffle(dataset_filter(numbers(20), is_odd, NULL, &e), buffer, 5,
                                       false, &e), 0, 25);
    }
}

static struct dataset *whole_chain(void)
{
    struct dataset *d = interleaved(dataset_shuffle(numbers(9), 4, 2, true, &e), 3, 2);

    d = dataset_repeat(dataset_shuffle(d, 10, 1, true, &e), DATA_INFINITE, &e);
    d = dataset_batch(halves(d, 2, NULL), 7, true, &e);
    return dataset_prefetch(d, 3, &e);
}

TEST(a_whole_chain_goes_on_where_it_was_saved)
{
    assert_resumes(whole_chain(), 0, 25);
}

TEST(a_position_is_of_its_pipeline_and_whole)
{
    struct dataset *d = dataset_batch(numbers(9), 2, true, &e), *other = numbers(9);
    struct data_iterator *it = dataset_iterate(d, 0, &e);
    struct bytes saved = {0};

    assert_int_equal(data_iterator_skip(it, 2, &e), 2);
    assert_int_equal(data_iterator_save(it, &saved, &e), 0);
    data_iterator_destroy(it);
    assert_null(dataset_resume(other, saved.data, saved.size, &e));
    assert_string_equal(e.msg, "position of an iterator: it is of another pipeline: range(0, 9, 1)"
                        " | batch(2, drop remainder); this one is range(0, 9, 1)");
    for (size_t i = 0; i < saved.size; i++) {
        saved.data[i] ^= 4;
        assert_null(dataset_resume(d, saved.data, saved.size, &e));
        saved.data[i] ^= 4;
        assert_null(dataset_resume(d, saved.data, i, &e));
    }
    mem_free(saved.data);
    dataset_release(d);
    dataset_release(other);
}

TEST(iterators_end_at_any_point)
{
    for (int64_t at = 0; at < 12; at++) {
        struct dataset *d = whole_chain();
        char *text = pipeline_text(d, at, at);

        mem_free(text);
        dataset_release(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_cut_along_the_first_dimension),
        cmocka_unit_test(arrays_of_different_lengths_are_refused),
        cmocka_unit_test(a_range_counts_up_or_down),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(map_and_filter_call_back),
        cmocka_unit_test(map_gives_the_same_with_any_number_of_threads),
        cmocka_unit_test(an_error_of_map_arrives_where_its_element_would),
        cmocka_unit_test(an_iterator_that_has_failed_stays_so),
        cmocka_unit_test(take_skip_and_shard_choose),
        cmocka_unit_test(split_makes_two_parts),
        cmocka_unit_test(repeat_goes_round),
        cmocka_unit_test(enumerate_zip_and_concatenate_join),
        cmocka_unit_test(batch_stacks_and_unbatch_takes_apart),
        cmocka_unit_test(batch_names_the_element_of_another_size),
        cmocka_unit_test(padded_batch_fills_up),
        cmocka_unit_test(padding_keeps_rows_in_their_corner),
        cmocka_unit_test(shuffle_draws_from_its_buffer_only),
        cmocka_unit_test(shuffle_differs_by_pass_and_by_seed),
        cmocka_unit_test(passes_of_repeat_are_passes_of_its_input),
        cmocka_unit_test(shuffle_is_pinned),
        cmocka_unit_test(cache_asks_its_input_once),
        cmocka_unit_test(what_is_passed_over_is_not_made),
        cmocka_unit_test(interleave_takes_turns),
        cmocka_unit_test(tensors_are_converted),
        cmocka_unit_test(a_chain_keeps_its_first_mistake),
        cmocka_unit_test(lengths_and_shapes_are_known_where_they_can_be),
        cmocka_unit_test(a_repeat_passed_over_to_its_very_end_is_over),
        cmocka_unit_test(every_stage_goes_on_where_it_was_saved),
        cmocka_unit_test(a_repeated_shuffle_goes_on_where_it_was_saved),
        cmocka_unit_test(a_whole_chain_goes_on_where_it_was_saved),
        cmocka_unit_test(a_position_is_of_its_pipeline_and_whole),
        cmocka_unit_test(iterators_end_at_any_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
