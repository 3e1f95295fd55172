/* Graphs before and after a pass. */
#include "tests/rigs/pass_rig.h"

#include "stack/interp/interp.h"
#include "tests/generate/random_hlo.h"
#include "tests/test.h"

#include <math.h>

struct graph graph;
struct chip v5e;

int pass_rig_setup(void **state)
{
    struct err e;

    (void)state;
    arena_init(&arena);
    graph_init(&graph, &arena, "test");
    return chip_load_builtin(&v5e, "v5e", NULL, &arena, &e);
}

int pass_rig_teardown(void **state)
{
    (void)state;
    graph_fini(&graph);
    arena_fini(&arena);
    return 0;
}

int count_of(const struct graph *g, enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        count += g->node[i].op == op;
    return count;
}

int count_all(const struct graph *g, enum graph_op op)
{
    int count = count_of(g, op);

    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op == HLO_FUSION)
            count += count_all(g->node[i].called[0], op);
    return count;
}

static void *some_values(const struct shape *s, uint64_t seed)
{
    float *x = arena_array(&arena, (size_t)shape_elems(s), 4);

    for (int64_t i = 0; i < shape_elems(s); i++) {
        int value = (int)((uint64_t)(i * 7 + 3) * (seed * 2 + 5) % 11) - 5;

        if (graph.arena && (s->dtype == DTYPE_F32 || s->dtype == DTYPE_BF16))
            x[i] = (float)value;
        else
            ((int32_t *)x)[i] = s->dtype == DTYPE_PRED ? value & 1 : value;
    }
    return x;
}

uint64_t hlo_seed;

static void evaluate(const struct graph *g, struct interp_value *out)
{
    struct interp_value *in = arena_array(&arena, (size_t)g->parameter_count + 1, sizeof(*in));
    struct err e;

    for (int i = 0; i < g->parameter_count; i++)
        in[i].data = hlo_seed ? random_hlo_input(g, i, hlo_seed, &arena)
                              : some_values(&g->node[g->parameter[i]].shape, (uint64_t)i);
    if (graph_verify(g, &e) || interp_run(g, INTERP_DOT_F32, in, out, &arena, &e))
        fail_msg("%s", e.msg);
}

static void compare(const struct shape *s, const void *got, const void *want)
{
    for (int64_t i = 0; i < shape_elems(s); i++) {
        float x = ((const float *)got)[i], y = ((const float *)want)[i];

        if (s->dtype != DTYPE_F32 && s->dtype != DTYPE_BF16)
            assert_int_equal(((const int32_t *)got)[i], ((const int32_t *)want)[i]);
        else if (!(isnan(x) && isnan(y)) && fabsf(x - y) > 1e-6f * fabsf(y))
            fail_msg("element %d: %.9g, expected %.9g", (int)i, (double)x, (double)y);
    }
}

int take_all(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)body;
    (void)chip;
    (void)e;
    return 0;
}

int take_loops(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)chip;
    for (int i = 0; i < body->node_count; i++)
        if (graph_op_kind(body->node[i].op) == KIND_DOT || body->node_count > 9)
            return err_set(e, "no");
    return 0;
}

int (*kernel_check_supported)(const struct graph *, const struct chip *, struct err *) = take_all;

void run_pass(int (*pass)(struct graph *, const struct pass_context *, struct err *))
{
    struct interp_value before[256], after[256];
    struct pass_context c = {.chip = &v5e, .replica_count = 1,
                             .vmem_rows = KERNEL_VMEM_BYTES / ARRAY_ROW_BYTES,
                             .check_supported = kernel_check_supported};
    struct err e;

    evaluate(&graph, before);
    if (pass(&graph, &c, &e))
        fail_msg("%s", e.msg);
    evaluate(&graph, after);
    for (int i = 0; i < graph.output_count; i++)
        compare(&graph.node[graph.output[i].node].shape, after[i].data, before[i].data);
}

void simplify(int result)
{
    graph_output(&graph, result, "out", -1);
    run_pass(pass_simplify);
}

const struct graph_node *result_node(void)
{
    return &graph.node[graph.output[0].node];
}
