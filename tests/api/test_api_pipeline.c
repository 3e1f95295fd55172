/* Models in stages through the C interface: what the strategy and the model are told, and what not. */
#include "tests/test.h"

#include <string.h>

#include "tests/rigs/api_rig.h"

#define KERNEL (16 * 4)

static void open_stages(struct api_rig *r, const char *tpu, int stages)
{
    api_rig_open_cut(r, tpu, stages, 1);
}

static void train(struct api_rig *r, float kernel[KERNEL], const char *cuts, int steps)
{
    sy_compile o = api_standard;

    o.steps_per_execution = steps;
    o.micro_batches = 2;
    o.pipeline_cuts = cuts;
    api_rig_build(r, &o);
    api_must(sy_model_fit(r->model, &r->samples,
                          &(sy_fit){.epochs = 2, .no_shuffle = true, .quiet = true}));
    api_must(sy_variable_read(sy_variable_find(r->strategy, "logits/kernel"), kernel,
                              KERNEL * sizeof(float)));
}

TEST(two_stages_are_one_core_bit_by_bit)
{
    float one[KERNEL], cut[KERNEL];
    struct api_rig r;
    sy_pipeline p;

    api_rig_open(&r, "v3-1");
    train(&r, one, NULL, 1);
    api_expect_error(sy_strategy_pipeline(r.strategy, &p), "no training step in stages");
    api_rig_close(&r);

    open_stages(&r, "v3-2", 2);
    assert_int_equal(sy_strategy_replicas(r.strategy), 1);
    api_expect_error(sy_strategy_pipeline(r.strategy, &p), "has not run anything yet");
    train(&r, cut, "logits", 1);
    assert_memory_equal(one, cut, sizeof(one));
    api_must(sy_strategy_pipeline(r.strategy, &p));
    assert_true(p.stages == 2 && p.micro_batches == 2 && p.theory > 0.333 && p.theory < 0.334);
    assert_true(p.ideal_cycles > 0 && p.ideal_cycles < p.cycles && p.waiting > p.bubble);
    api_rig_close(&r);

    open_stages(&r, "v3-2", 2);
    train(&r, cut, "logits", 2);
    assert_memory_equal(one, cut, sizeof(one));
    api_rig_close(&r);
}

TEST(stages_may_have_several_devices)
{
    float whole[KERNEL], cut[KERNEL];
    sy_compile o = api_standard;
    sy_pipeline p;
    struct api_rig r;

    for (int i = 0; i < 2; i++) {
        api_rig_open_cut(&r, i ? "v3-8" : "cpu", 2, 2);
        assert_int_equal(sy_strategy_replicas(r.strategy), i ? 2 : 1);
        o.micro_batches = 2;
        o.precision = "highest";
        o.layouts = "*/kernel=-,model";
        api_rig_build(&r, &o);
        api_must(sy_model_fit(r.model, &r.samples,
                              &(sy_fit){.epochs = 2, .no_shuffle = true, .quiet = true}));
        api_must(sy_variable_read(sy_variable_find(r.strategy, "logits/kernel"), i ? cut : whole,
                                  sizeof(cut)));
        if (i) {
            api_must(sy_strategy_pipeline(r.strategy, &p));
            assert_true(p.stages == 2 && p.ideal_cycles < p.cycles);
        }
        api_rig_close(&r);
    }
    for (int k = 0; k < KERNEL; k++)
        assert_true(cut[k] - whole[k] < 1e-5f && whole[k] - cut[k] < 1e-5f);
}

TEST(host_trains_a_model_in_stages_whole)
{
    float one[KERNEL], cut[KERNEL];
    struct api_rig r;
    sy_pipeline p;

    api_rig_open(&r, "cpu");
    train(&r, one, NULL, 1);
    api_rig_close(&r);
    open_stages(&r, "cpu", 2);
    train(&r, cut, NULL, 2);
    assert_memory_equal(one, cut, sizeof(one));
    api_expect_error(sy_strategy_pipeline(r.strategy, &p), "on the host nothing is simulated");
    api_rig_close(&r);
}

TEST(stages_that_do_not_go_are_refused)
{
    static const sy_axis axis = {"model", 3};
    sy_strategy_options o = {.pipeline_stages = 3};
    sy_strategy *s = NULL;
    sy_compile compile = api_standard;
    struct api_rig r;

    open_stages(&r, "v3-8", 2);
    assert_int_equal(sy_strategy_replicas(r.strategy), 4);
    api_expect_error(sy_strategy_create(r.cluster, NULL, &o, &s), "3 stages on 8 cores");
    o.pipeline_stages = -1;
    api_expect_error(sy_strategy_create(r.cluster, NULL, &o, &s), "-1 stages on 8 cores");
    o = (sy_strategy_options){.pipeline_stages = 2, .axis = &axis, .axis_count = 1};
    api_expect_error(sy_strategy_create(r.cluster, NULL, &o, &s),
                     "2 stages of several devices on 8 cores");
    api_must(sy_model_add(r.model, "Dense(16, input_shape=(8,))"));
    api_must(sy_model_add(r.model, "Dense(4, name='logits')"));
    compile.pipeline_cuts = "logit";
    api_expect_error(sy_model_compile(r.model, &compile), "no layer has that name");
    api_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_stages_are_one_core_bit_by_bit),
        cmocka_unit_test(stages_may_have_several_devices),
        cmocka_unit_test(host_trains_a_model_in_stages_whole),
        cmocka_unit_test(stages_that_do_not_go_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
