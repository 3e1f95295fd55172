#include "tests/rigs/api_rig.h"

#include <string.h>

#include "tests/test.h"

static const char *const accuracy[] = {"accuracy", NULL};
const sy_compile api_standard = {
    .optimizer = "Adam(0.02)", .loss = "SparseCategoricalCrossentropy(from_logits=True)",
    .metrics = accuracy, .batch = 16};

void api_must(sy_status s)
{
    if (s != SY_OK)
        fail_msg("%s", sy_message());
}

void api_expect_error(sy_status s, const char *part)
{
    assert_int_equal(s, SY_ERROR);
    if (!strstr(sy_message(), part))
        fail_msg("\"%s\" does not have \"%s\"", sy_message(), part);
}

/* the class is where the input is largest */
static void make_samples(struct api_rig *r)
{
    uint32_t state = 1;

    for (int i = 0; i < API_SAMPLES; i++) {
        r->label[i] = i % API_CLASSES;
        for (int k = 0; k < API_INPUTS; k++) {
            state = state * 1664525u + 1013904223u;
            r->x[i][k] = (float)(state >> 16) / 65536.0f + (k == i % API_CLASSES ? 1.0f : 0.0f);
        }
    }
    r->input[0] = r->x;
    r->samples = (sy_samples){.count = API_SAMPLES, .input = r->input, .label = r->label};
}

void api_rig_open(struct api_rig *r, const char *tpu)
{
    memset(r, 0, sizeof(*r));
    api_must(sy_cluster_resolve(tpu, NULL, &r->cluster));
    api_must(sy_cluster_initialize(r->cluster));
    api_must(sy_strategy_create(r->cluster, NULL, NULL, &r->strategy));
    api_must(sy_model_create(r->strategy, "small", &r->model));
    make_samples(r);
}

void api_rig_open_cut(struct api_rig *r, const char *tpu, int stages, int devices)
{
    sy_axis axis = {"model", devices};

    api_rig_open(r, tpu);
    sy_model_free(r->model);
    sy_strategy_free(r->strategy);
    r->model = NULL;
    r->strategy = NULL;
    api_must(sy_strategy_create(r->cluster, NULL,
                                &(sy_strategy_options){.pipeline_stages = stages, .axis = &axis,
                                                       .axis_count = devices > 1,
                                                       .check_replicas = true}, &r->strategy));
    api_must(sy_model_create(r->strategy, "small", &r->model));
}

void api_rig_close(struct api_rig *r)
{
    sy_model_free(r->model);
    sy_strategy_free(r->strategy);
    sy_cluster_free(r->cluster);
}

void api_rig_build(struct api_rig *r, const sy_compile *o)
{
    api_must(sy_model_add(r->model, "Dense(16, 'relu', input_shape=(8,), "
                          "kernel_regularizer=L2(1e-6))"));
    api_must(sy_model_add(r->model, "Dense(4, name='logits')"));
    api_must(sy_model_compile(r->model, o));
}

sy_dataset *api_rig_dataset(const struct api_rig *r, int64_t batch)
{
    const sy_column column[] = {
        {SY_F32, sy_dims(API_SAMPLES, API_INPUTS), r->x}, {SY_S32, sy_dims(API_SAMPLES), r->label}};
    sy_dataset *d;

    api_must(sy_dataset_from_arrays(column, 2, &d));
    if (batch)
        api_must(sy_dataset_batch(d, batch, false));
    return d;
}
