/* Models on logical devices through the C interface: their layers, and cuts of their variables. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "tests/rigs/api_rig.h"

#define KERNEL (16 * 4)

/* trained, tested and asked */
static void train(struct api_rig *r, float kernel[KERNEL], float guess[API_SAMPLES * API_CLASSES],
                  const char *layer_devices, const char *layouts, int steps)
{
    sy_compile o = api_standard;
    sy_result result;
    sy_array *a;

    o.precision = "highest";
    o.layer_devices = layer_devices;
    o.layouts = layouts;
    o.steps_per_execution = steps;
    api_rig_build(r, &o);
    api_must(sy_model_fit(r->model, &r->samples,
                          &(sy_fit){.epochs = 4, .no_shuffle = true, .quiet = true}));
    api_must(sy_model_evaluate(r->model, &r->samples, &result));
    assert_true(result.metric[0] > 0.6);
    api_must(sy_model_predict(r->model, &r->samples, &a));
    memcpy(guess, sy_array_data(a), API_SAMPLES * API_CLASSES * sizeof(float));
    sy_array_free(a);
    api_must(sy_variable_read(sy_variable_find(r->strategy, "logits/kernel"), kernel,
                              KERNEL * sizeof(float)));
}

TEST(two_devices_train_as_one)
{
    static const struct { const char *tpu, *devices, *layouts; int steps; } how[] = {
        {"v3-2", "dense=0,logits=1", NULL, 1}, {"cpu", "dense=0,logits=1", NULL, 2},
        {"v3-2", "dense=0,logits=1", NULL, 2},
        {"v3-2", NULL, "dense/kernel=-,model; dense/bias=model; logits/kernel=model", 2}};
    float one[KERNEL], cut[KERNEL], said[API_SAMPLES * API_CLASSES];
    float says[API_SAMPLES * API_CLASSES];
    struct api_rig r;

    api_rig_open(&r, "v3-1");
    train(&r, one, said, NULL, NULL, 1);
    api_rig_close(&r);
    for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
        api_rig_open_cut(&r, how[i].tpu, 0, how[i].tpu[0] == 'c' ? 1 : 2);
        assert_int_equal(sy_strategy_replicas(r.strategy), 1);
        train(&r, cut, says, how[i].devices, how[i].layouts, how[i].steps);
        for (int k = 0; k < KERNEL; k++)
            assert_true(cut[k] - one[k] < 1e-5f && one[k] - cut[k] < 1e-5f);
        for (int k = 0; k < API_SAMPLES * API_CLASSES; k++)
            assert_true(says[k] - said[k] < 1e-4f && said[k] - says[k] < 1e-4f);
        api_rig_close(&r);
    }
}

/* flops are of all cores together, however many of them do a part of the step */
TEST(costs_of_layers_on_devices_count_each_product_once)
{
    sy_compile o = api_standard;
    sy_costs costs[2];
    struct api_rig r;

    for (int i = 0; i < 2; i++) {
        api_rig_open_cut(&r, i ? "v3-2" : "v3-1", 0, i ? 2 : 1);
        o.layer_devices = i ? "logits=1" : NULL;
        api_rig_build(&r, &o);
        api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 1, .quiet = true}));
        api_must(sy_strategy_costs(r.strategy, &costs[i]));
        api_rig_close(&r);
    }
    assert_int_equal(costs[1].cores, 2);
    assert_true(llabs(costs[1].flops - costs[0].flops) < costs[1].cores);    /* the mean's */
}

static void refuse_compile(int devices, int stages, sy_compile o, const char *message)
{
    struct api_rig r;

    api_rig_open_cut(&r, "v3-8", stages, devices);
    api_must(sy_model_add(r.model, "Dense(16, input_shape=(8,))"));
    api_must(sy_model_add(r.model, "Dense(4, name='logits')"));
    api_expect_error(sy_model_compile(r.model, &o), message);
    api_rig_close(&r);
}

static void refuse(int devices, int stages, const char *layer_devices, const char *message)
{
    sy_compile o = api_standard;

    o.layer_devices = layer_devices;
    refuse_compile(devices, stages, o, message);
}

static void refuse_layouts(int devices, int stages, const char *layouts, const char *message)
{
    sy_compile o = api_standard;

    o.layouts = layouts;
    refuse_compile(devices, stages, o, message);
}

TEST(layouts_that_do_not_go_are_refused)
{
    refuse_layouts(2, 0, "logit/kernel=model", "layout of logit/kernel: no variable of model small "
                   "has that name (did you mean \"logits/kernel\"?)");
    refuse_layouts(1, 0, "logits/kernel=model", "the logical devices have no axis \"model\"");
    refuse_layouts(8, 0, "logits/kernel=-,model", "logits/kernel: dimension 1 of f32[16,4] does not "
                   "divide into 8 parts");
    refuse_layouts(1, 2, "logits/kernel=model", "the logical devices have no axis \"model\"");
}

TEST(devices_that_do_not_go_are_refused)
{
    refuse(2, 0, "logit=1", "logit is to be on a device, but no layer has that name (did you "
           "mean \"logits\"?)");
    refuse(2, 0, "logits=2", "layer logits on logical device 2: a replica has 2, allowed are "
           "0..1");
    refuse(1, 0, "logits=1", "layer logits on logical device 1: a replica has 1, allowed are "
           "0..0");
    refuse(2, 0, "logits", "does not begin with a layer, = and a device");
    refuse(1, 2, "logits=1", "layers on devices, of a model in 2 stages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_devices_train_as_one),
        cmocka_unit_test(costs_of_layers_on_devices_count_each_product_once),
        cmocka_unit_test(devices_that_do_not_go_are_refused),
        cmocka_unit_test(layouts_that_do_not_go_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
