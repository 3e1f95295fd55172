/* Whole models: sizes against published figures, gradients along a direction, messages. */
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "base/rng.h"
#include "stack/nn/zoo.h"

#include <math.h>

static int64_t variables;

static void build(const char *spec)
{
    struct err e;

    one_graph_again();
    if (zoo_build(&g, spec, &variables, &e) != 0 || graph_verify(&g, &e) != 0)
        fail_msg("%s: %s", spec, e.msg);
}

static double giga_flops(const char *spec)
{
    build(spec);
    return (double)graph_flops(&g) / 1e9;
}

static void assert_near(double is, double expected, double share)
{
    if (!(fabs(is - expected) <= share * fabs(expected)))
        fail_msg("%g is not within %g %% of %g", is, 100 * share, expected);
}

TEST(variables_are_as_many_as_published)
{
    build("mlp");
    assert_int_equal(variables, 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
    build("lenet");
    assert_int_equal(variables, 61706);
    build("cnn");
    assert_int_equal(variables, 1199882);
    build("resnet18");
    assert_int_equal(variables, 11689512);
    build("resnet50");
    assert_int_equal(variables, 25557032);
    build("bert-block");
    assert_int_equal(variables, 7087872);
    build("bert-base");
    assert_int_equal(variables, 109482240);
    build("gpt2-small");
    assert_int_equal(variables, 124439808);
}

/*
 * ResNet-50 v1.5: 4.1 GMAC per image. ResNet-18: 1.814, of which 0.133 are taps in the padding,
 * which do not count. Training: backwards twice as much, but for the images.
 */
TEST(flops_are_as_published)
{
    double forward = giga_flops("resnet50:batch=1"), text;

    assert_near(forward, 2 * 4.09, 0.03);
    assert_near(giga_flops("resnet18:batch=1"), 2 * (1.814 - 0.133), 0.03);
    assert_near(giga_flops("resnet50:batch=1,train"), 3 * forward, 0.04);
    assert_near(giga_flops("mlp:batch=1"), 2 * 668672e-9, 0.02);
    /* 24 T E^2 per position for four projections and the mlp, 4 T^2 E for attention */
    text = 12 * (24.0 * 384 * 768 * 768 + 4.0 * 384 * 384 * 768) / 1e9;
    assert_near(giga_flops("bert-base:batch=1"), text, 0.03);
    text = 12 * (24.0 * 1024 * 768 * 768 + 4.0 * 1024 * 1024 * 768) + 2.0 * 1024 * 768 * 50257;
    assert_near(giga_flops("gpt2-small:batch=1"), text / 1e9, 0.03);
    text = 24 * (24.0 * 512 * 1024 * 1024 + 4.0 * 512 * 512 * 1024) / 1e9;
    assert_near(giga_flops("bert-large:batch=1"), text, 0.01);
    text += 2.0 * 76 * (1024 * 30522 + 1024 * 1024) / 1e9;
    assert_near(giga_flops("bert-large:batch=1,train"), 3 * text, 0.03);
}

TEST(training_replaces_every_variable_in_place)
{
    static const char *const names[] = {"mlp", "lenet", "cnn", "resnet18", "resnet50", "bert-block",
                                        "bert-base", "bert-large", "gpt2-small"};

    for (int i = 0; i < zoo_count(); i++) {
        int aliased = 0, inputs = 0;
        char spec[64];

        assert_string_equal(zoo_model(i)->name, names[i]);
        snprintf(spec, sizeof(spec), "%s:train,batch=2", names[i]);
        build(spec);
        for (int k = 0; k < g.output_count; k++)
            aliased += g.output[k].alias_parameter >= 0;
        for (int k = 0; k < g.parameter_count; k++) {
            const char *name = g.node[g.parameter[k]].name;

            inputs += !strchr(name, '/');
        }
        assert_int_equal(aliased, g.parameter_count - inputs);
        assert_string_equal(g.output[g.output[0].alias_parameter >= 0 ? 1 : 0].name,
                            i < 5 ? "accuracy" : "loss");
    }
}

TEST(activations_are_of_the_type_asked_for)
{
    int wide_products = 0;

    build("resnet50:dtype=f32,batch=1");
    for (int i = 0; i < g.node_count; i++)
        assert_true(g.node[i].shape.dtype != DTYPE_BF16);
    build("resnet50:batch=1,train");
    for (int i = 0; i < g.node_count; i++)
        wide_products += g.node[i].op == HLO_CONVOLUTION && g.node[i].shape.dtype != DTYPE_BF16;
    assert_int_equal(wide_products, 0);
}

TEST(dropout_draws_only_where_asked)
{
    int draws = 0;

    build("bert-block:train,batch=1,dropout=0.1");
    for (int i = 0; i < g.node_count; i++)
        draws += g.node[i].op == HLO_RNG_BITS;
    assert_int_equal(draws, 2);         /* each used forward and backward */
}

/* ---- the gradient along a direction, in doubles ---- */

struct inputs {
    double *value[512];
    bool is_variable[512];
};

/* all outputs on these inputs */
static const struct interp_value *run_step(const struct inputs *in)
{
    struct interp_value packed[512], *out = arena_array(&arena, 1024, sizeof(*out));
    struct err e;

    for (int i = 0; i < g.parameter_count; i++)
        packed[i].data = grig_pack(&arena, &g.node[g.parameter[i]].shape, INTERP_WIDE,
                                   in->value[i]);
    if (interp_run(&g, INTERP_WIDE, packed, out, &arena, &e) != 0)
        fail_msg("%s", e.msg);
    return out;
}

static double run_loss(const struct inputs *in)
{
    const struct interp_value *out = run_step(in);
    int i = 0;

    while (strcmp(g.output[i].name, "loss") != 0)
        i++;
    return *(const double *)out[i].data;
}

static void fill_inputs(struct inputs *in)
{
    struct rng rng;

    rng_init(&rng, 3);
    memset(in, 0, sizeof(*in));
    for (int i = 0; i < g.parameter_count; i++) {
        const struct graph_node *n = &g.node[g.parameter[i]];
        int64_t elems = shape_elems(&n->shape);
        bool is_slot = strstr(n->name, "/momentum") != NULL;
        bool is_rate = strcmp(n->name, "learning_rate") == 0;

        in->value[i] = arena_array(&arena, (size_t)elems, sizeof(double));
        in->is_variable[i] = strchr(n->name, '/') && !is_slot && !strstr(n->name, "moving");
        for (int64_t k = 0; k < elems; k++)
            in->value[i][k] = is_slot ? 0 : is_rate ? 1
                              : n->shape.dtype == DTYPE_S32 ? (double)rng_below(&rng, 10)
                              : (double)rng_uniform(&rng, -1, 1) *
                                    (in->is_variable[i] ? 0.05 : 1.0);
    }
}

/* one step at rate 1 from slots of 0 leaves w - gradient */
static void check_direction(const char *spec)
{
    struct inputs in;
    const struct interp_value *out;
    double slope = 0, h = 1e-7, loss[2];  /* small: relu has kinks */

    build(spec);
    fill_inputs(&in);
    out = run_step(&in);
    for (int o = 0; o < g.output_count; o++) {
        int p = g.output[o].alias_parameter;
        const double *updated = out[o].data;
        int64_t elems;

        if (p < 0 || !in.is_variable[p])
            continue;
        elems = shape_elems(&g.node[g.parameter[p]].shape);
        for (int64_t k = 0; k < elems; k++)
            slope += (in.value[p][k] - updated[k]) * ((double)((k * 7 + p) % 5) - 2.0);
    }
    for (int side = 0; side < 2; side++) {
        for (int p = 0; p < g.parameter_count; p++)
            for (int64_t k = 0; in.is_variable[p] &&
                                k < shape_elems(&g.node[g.parameter[p]].shape); k++)
                in.value[p][k] += (side ? -2 : 1) * h * ((double)((k * 7 + p) % 5) - 2.0);
        loss[side] = run_loss(&in);
    }
    assert_near(slope, (loss[0] - loss[1]) / (2 * h), 1e-5);
}

TEST(gradients_of_models_are_slopes_of_their_loss)
{
    check_direction("lenet:train,batch=2");
    check_direction("mlp:train,batch=3");
}

static void assert_refused(const char *spec, const char *text)
{
    struct err e;

    one_graph_again();
    assert_int_equal(zoo_build(&g, spec, &variables, &e), -1);
    if (!strstr(e.msg, text))
        fail_msg("\"%s\" does not contain \"%s\"", e.msg, text);
}

TEST(what_is_wrong_with_a_name_is_said)
{
    assert_refused("resnet5", "no model is called \"resnet5\" (did you mean \"resnet50\"?), and a "
                   "file has a dot or a slash in its name");
    assert_refused("mlp:batch=0", "batch is \"0\"; it must be 1 to 65536");
    assert_refused("mlp:dtype=f16", "dtype is \"f16\"; it must be f32 or bf16");
    assert_refused("mlp:sequence=5", "mlp has no sequence");
    assert_refused("gpt2-small:sequence=1", "sequence is \"1\"; it must be 2 to 65536");
    assert_refused("bert-base:dropout=1", "dropout is \"1\"; it must be 0 to 0.9");
    assert_refused("mlp:train=5", "train takes no value");
    assert_refused("mlp:trains", "mlp knows no option \"trains\" (did you mean \"train\"?)");
}

TEST(the_list_names_all_with_their_defaults)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    zoo_print(to);
    fclose(to);
    for (int i = 0; i < zoo_count(); i++)
        assert_non_null(strstr(text, zoo_model(i)->name));
    assert_non_null(strstr(text, "batch=4,sequence=1024,dtype=bf16"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(variables_are_as_many_as_published), RUN(flops_are_as_published),
        RUN(training_replaces_every_variable_in_place),
        RUN(activations_are_of_the_type_asked_for), RUN(dropout_draws_only_where_asked),
        RUN(gradients_of_models_are_slopes_of_their_loss),
        RUN(what_is_wrong_with_a_name_is_said), RUN(the_list_names_all_with_their_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
