/* Data for replicas: does each get its rows, of global batches and of pipelines per host? */
#include "tests/test.h"

#include "base/arena.h"
#include "data/distribute.h"
#include "tests/rigs/pipeline_rig.h"

#define REPLICAS 4

static struct err e;

/* what replica r gets in each step, "[0 1] [8 9]" */
static void assert_replica(struct distributed *d, int r, const char *text)
{
    struct distributed_iterator *it = distributed_iterate(d, 0, &e);
    struct data_element *x[REPLICAS];
    char is[400] = "";
    int status;

    while ((status = distributed_next(it, x, &e)) > 0) {
        const struct data_tensor *t = &x[r]->tensor[0];

        for (int64_t i = 0; i < t->spec.dim[0]; i++)
            snprintf(is + strlen(is), sizeof(is) - strlen(is), "%s%d",
                     i ? " " : strlen(is) ? " | " : "", ((const int32_t *)t->data)[i]);
        for (int k = 0; k < REPLICAS; k++)
            element_release(x[k]);
    }
    assert_int_equal(status, 0);
    assert_string_equal(is, text);
    distributed_iterator_destroy(it);
}

TEST(a_global_batch_is_cut_into_equal_parts)
{
    struct distributed *d = distribute_dataset(dataset_batch(numbers(17), 8, true, &e), REPLICAS,
                                               &e);

    assert_replica(d, 0, "0 1 | 8 9");
    assert_replica(d, 3, "6 7 | 14 15");
    distributed_destroy(d);
}

TEST(batches_that_cannot_be_cut_are_refused)
{
    struct distributed *d;
    struct distributed_iterator *it;
    struct data_element *x[REPLICAS];

    assert_null(distribute_dataset(dataset_batch(numbers(17), 6, true, &e), REPLICAS, &e));
    assert_string_equal(e.msg, "batch 6 cannot be split over 4 replicas; the nearest that can are "
                               "4 and 8");
    assert_null(distribute_dataset(dataset_batch(numbers(17), 3, true, &e), REPLICAS, &e));
    assert_string_equal(e.msg, "batch 3 cannot be split over 4 replicas; the least that can is 4");
    assert_null(distribute_dataset(numbers(17), REPLICAS, &e));
    assert_string_equal(e.msg, "tensor 0 of the dataset is a scalar: a dataset to distribute is "
                               "batched with the global batch size");
    d = distribute_dataset(dataset_batch(numbers(10), 8, false, &e), REPLICAS, &e);
    it = distributed_iterate(d, 0, &e);
    assert_int_equal(distributed_next(it, x, &e), 1);
    for (int i = 0; i < REPLICAS; i++)
        element_release(x[i]);
    assert_int_equal(distributed_next(it, x, &e), -1);
    assert_string_equal(e.msg, "batch 2 cannot be split over 4 replicas; the least that can is 4");
    distributed_iterator_destroy(it);
    distributed_destroy(d);
}

static struct dataset *make_part(void *context, const struct input_context *c, struct err *err)
{
    int64_t size = *(const int *)context / c->replica_count;
    struct dataset *d = numbers(17);

    d = dataset_shard(d, c->input_pipeline_count, c->input_pipeline_id, err);
    return dataset_batch(d, size, true, err);
}

TEST(a_pipeline_per_host_feeds_its_replicas)
{
    int batch = 8;
    struct distributed *d = distribute_from_function(make_part, &batch, 2, REPLICAS, &e);

    assert_replica(d, 0, "0 2 | 8 10");
    assert_replica(d, 1, "4 6 | 12 14");
    assert_replica(d, 3, "5 7 | 13 15");
    distributed_destroy(d);
    assert_null(distribute_from_function(make_part, &batch, 3, REPLICAS, &e));
    assert_string_equal(e.msg, "3 input pipelines cannot feed 4 replicas in equal parts");
}

TEST(positions_of_all_pipelines_are_kept)
{
    int batch = 8;
    struct distributed *d = distribute_from_function(make_part, &batch, 2, REPLICAS, &e);
    struct distributed_iterator *it = distributed_iterate(d, 0, &e);
    struct data_element *x[REPLICAS];
    struct bytes saved = {0};

    assert_int_equal(distributed_next(it, x, &e), 1);
    for (int i = 0; i < REPLICAS; i++)
        element_release(x[i]);
    assert_int_equal(distributed_save(it, &saved, &e), 0);
    distributed_iterator_destroy(it);
    it = distributed_resume(d, saved.data, saved.size, &e);
    assert_non_null(it);
    assert_int_equal(distributed_next(it, x, &e), 1);
    assert_int_equal(((const int32_t *)x[3]->tensor[0].data)[1], 15);
    for (int i = 0; i < REPLICAS; i++)
        element_release(x[i]);
    distributed_iterator_destroy(it);
    for (size_t i = 0; i < saved.size; i++)
        assert_null(distributed_resume(d, saved.data, i, &e));
    assert_null(distributed_resume(d, saved.data, 20, &e));
    assert_string_equal(e.msg, "20 bytes hold no positions of 2 input pipelines");
    saved.data[20] ^= 1;
    assert_null(distributed_resume(d, saved.data, saved.size, &e));
    assert_non_null(strstr(e.msg, "bytes are damaged (checksum)"));
    mem_free(saved.data);
    distributed_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_global_batch_is_cut_into_equal_parts),
        cmocka_unit_test(batches_that_cannot_be_cut_are_refused),
        cmocka_unit_test(a_pipeline_per_host_feeds_its_replicas),
        cmocka_unit_test(positions_of_all_pipelines_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
