/* Random chains of stages: does each go on where it was saved, whatever stands in front of it? */
#include "tests/test.h"

#include "base/arena.h"
#include "base/rng.h"
#include "tests/rigs/pipeline_rig.h"

#define MOST 40                         /* elements of a chain that are looked at */

static struct err e;

static int32_t first_of(const struct data_element *x)
{
    const struct data_tensor *t = &x->tensor[0];

    return data_spec_elems(&t->spec) > 0 ? *(const int32_t *)t->data : 0;
}

static int keep_some(void *context, const struct data_element *x, struct err *err)
{
    (void)context;
    (void)err;
    return first_of(x) % 3 != 1;
}

static int copy(void *context, const struct data_element *in, struct data_element *out,
                struct err *err)
{
    (void)context;
    (void)err;
    for (int i = 0; i < in->tensor_count; i++)
        element_put_tensor(out, i, &in->tensor[i]);
    return 0;
}

static struct dataset *mapped(struct dataset *d, int thread_count)
{
    const struct data_map map = {.apply = copy, .output_count = dataset_tensor_count(d),
                                 .output = dataset_spec(d), .thread_count = thread_count};

    return dataset_map(d, &map, &e);
}

static struct dataset *open_few(void *context, const struct data_element *x, struct err *err)
{
    int64_t n = 1 + first_of(x) % 5;

    (void)context;
    return dataset_shuffle(dataset_range(n, n + n, 1, err), 3, 9, true, err);
}

static struct dataset *interleaved(struct dataset *d, struct rng *r)
{
    const struct data_spec s = data_spec_of(DATA_S32, 0, NULL);
    const struct data_interleave how = {.open = open_few, .output_count = 1, .output = &s,
                                        .cycle_length = 1 + rng_below(r, 4),
                                        .block_length = 1 + rng_below(r, 3)};

    return dataset_interleave(d, &how, &e);
}

static struct dataset *zipped(struct dataset *d)
{
    struct dataset *two[2] = {d, dataset_range(0, 25, 1, &e)};

    return dataset_zip(two, 2, &e);
}

static bool is_scalar(const struct dataset *d)
{
    return dataset_spec(d)->rank == 0;
}

static struct dataset *add_stage(struct dataset *d, struct rng *r)
{
    int64_t some = 1 + rng_below(r, 7);
    bool flag = rng_below(r, 2);
    bool is_endless = dataset_cardinality(d) == DATA_INFINITE;

    switch (rng_below(r, 16)) {
    case 0: return mapped(d, (int)rng_below(r, 3));
    case 1: return is_endless ? d : dataset_filter(d, keep_some, NULL, &e);   /* may keep none */
    case 2: return dataset_shuffle(d, 3 * some, (uint64_t)some, flag, &e);
    case 3: return dataset_repeat(d, flag ? some : DATA_INFINITE, &e);
    case 4: return dataset_padded_batch(d, some, flag, &e);
    case 5: return is_scalar(d) ? dataset_batch(d, some, flag, &e) : dataset_unbatch(d, &e);
    case 6: return dataset_take(d, 4 * some, &e);
    case 7: return dataset_skip(d, some, &e);
    case 8: return dataset_shard(d, 1 + some / 2, some / 4, &e);
    case 9: return dataset_tensor_count(d) < 4 ? dataset_enumerate(d, some, &e) : d;
    case 10: return dataset_tensor_count(d) < 4 && is_scalar(d) ? zipped(d) : d;
    case 11: return dataset_concatenate(dataset_take(dataset_retain(d), some, &e), d, &e);
    case 12: return is_endless ? d : dataset_cache(d, &e);
    case 13: return dataset_prefetch(d, some, &e);
    case 14: return dataset_tensor_count(d) == 1 ? interleaved(d, r) : d;
    default: return dataset_to_f32(dataset_enumerate(dataset_take(d, 30, &e), 0, &e), 0, 1, &e);
    }
}

/* s32 first, as the callbacks want it; ranks that padded_batch can still raise */
static bool can_go_on(const struct dataset *d)
{
    return dataset_spec(d)->dtype == DATA_S32 && dataset_spec(d)->rank < 4 &&
           dataset_tensor_count(d) < 6;
}

/* a chain whose unbatch meets scalars beside what it takes apart is left out */
static struct dataset *random_chain(struct rng *r)
{
    struct dataset *d = dataset_range(0, 5 + rng_below(r, 40), 1, &e);

    for (int depth = 1 + (int)rng_below(r, 6); depth > 0 && d && can_go_on(d); depth--)
        d = add_stage(d, r);
    return d ? dataset_take(d, MOST, &e) : NULL;
}

static void try_position(struct dataset *d, int64_t at, int64_t pass)
{
    struct data_iterator *it = dataset_iterate(d, pass, &e), *over, *again;
    struct bytes saved = {0};
    struct data_element *x;
    char *expected, *is;
    int64_t done = 0;

    while (done < at && data_iterator_next(it, &x, &e) > 0) {
        element_release(x);
        done++;
    }
    assert_int_equal(data_iterator_save(it, &saved, &e), 0);
    expected = rest_text(it, MOST);
    over = dataset_iterate(d, pass, &e);
    assert_int_equal(data_iterator_skip(over, at, &e), done);
    again = dataset_resume(d, saved.data, saved.size, &e);
    if (!again)
        fail_msg("%s: %s", dataset_describe(d), e.msg);
    is = rest_text(again, MOST);
    if (strcmp(is, expected) != 0)
        fail_msg("%s at %d resumes with %s, not %s", dataset_describe(d), (int)at, is, expected);
    mem_free(is);
    is = rest_text(over, MOST);
    if (strcmp(is, expected) != 0)
        fail_msg("%s passed over %d goes on with %s, not %s", dataset_describe(d), (int)at, is,
                 expected);
    mem_free(is);
    mem_free(expected);
    mem_free(saved.data);
    data_iterator_destroy(it);
    data_iterator_destroy(over);
    data_iterator_destroy(again);
}

TEST(random_chains_go_on_where_they_were_saved)
{
    int chains = test_is_long() ? 20000 : 600, made = 0;
    struct rng r;

    rng_init(&r, 11);
    for (int i = 0; i < chains; i++) {
        struct dataset *d = random_chain(&r);
        char *first;

        if (!d)
            continue;
        first = pipeline_text(d, i % 3, MOST);
        if (!strstr(first, "error:")) {
            made++;
            for (int k = 0; k < 3; k++)
                try_position(d, rng_below(&r, 20), i % 3);
        }
        mem_free(first);
        dataset_release(d);
    }
    assert_true(made > chains / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_chains_go_on_where_they_were_saved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
