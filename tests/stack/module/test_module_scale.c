/*
 * Does the time of a compilation grow with the number of instructions, and not faster?
 *
 * Graphs as programs of frameworks bring them: thousands of nodes, many of them scalars, bodies
 * with hundreds of nodes. test_module_scale N [kind] compiles one graph of N nodes and tells how
 * long each stage takes.
 */
#include "base/units.h"
#include "stack/module/module.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* an instruction, by one thread of processor time; the sanitizers take a hundred times as long */
#if defined(__SANITIZE_ADDRESS__)
#define MS_MAX 60.0
#else
#define MS_MAX 3.0
#endif

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t drawn;

static uint32_t draw(uint32_t end)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (drawn >> 8) % end;
}

/* the latest of some nodes most often, so that graphs are deep */
static int recent(const int *node, int count)
{
    int back = (int)(draw(4) ? draw(8) : draw((uint32_t)count));

    return node[back < count ? count - 1 - back : 0];
}

static int as_shape(struct graph *to, int x, struct shape s)
{
    s.dtype = to->node[x].shape.dtype;
    if (shape_same_dims(&to->node[x].shape, &s))
        return x;
    if (to->node[x].shape.rank > 0)
        x = graph_reduce(to, REDUCE_MAX, x, (1u << to->node[x].shape.rank) - 1);
    return s.rank ? graph_broadcast(to, x, s, NULL) : x;
}

/* one of: arithmetic on two of a kind, a product, a move, an index, a reduction */
static int any_node(struct graph *to, int x, int y)
{
    struct shape s = to->node[x].shape;
    int zero, at[2];

    y = graph_convert(to, as_shape(to, y, s), s.dtype);
    if (s.rank == 2 && draw(12) == 0)
        return graph_dot(to, x, graph_transpose(to, y, (int[]){1, 0}), 1, 0, PRECISION_DEFAULT);
    if (s.rank == 2 && draw(8) == 0) {
        zero = graph_constant(to, shape_scalar(DTYPE_S32), draw(4));
        at[0] = at[1] = zero;
        return graph_dynamic_update_slice(
            to, x, graph_slice(to, y, (int64_t[]){0, 0}, (int64_t[]){1, s.dim[1]}, NULL), at);
    }
    if (draw(10) == 0)
        return graph_reduce(to, REDUCE_ADD, x, s.rank ? (1u << s.rank) - 1 : 0);
    if (draw(10) == 0)
        return graph_convert(to, x, s.dtype == DTYPE_F32 ? DTYPE_S32 : DTYPE_F32);
    if (draw(6) == 0 && s.rank == 2) {
        x = graph_slice(to, x, (int64_t[]){0, 0}, (int64_t[]){3, s.dim[1]}, NULL);
        y = graph_slice(to, y, (int64_t[]){3, 0}, s.dim, NULL);
        return graph_concatenate(to, (int[]){x, y}, 2, 0);
    }
    return graph_binary(to, draw(2) ? HLO_ADD : HLO_MAXIMUM, x, y);
}

static void fill(struct graph *to, int *node, int count, int end)
{
    while (to->node_count < end) {
        int x = recent(node, count), made = any_node(to, x, recent(node, count));

        if (to->node[made].shape.rank == 2 && to->node[made].shape.dim[1] != 200)
            continue;                   /* a product's: nobody else has its shape */
        node[count++] = made;
    }
    for (int i = count > 10 ? count - 10 : 0; i < count; i++)
        graph_output(to, node[i], arena_printf(&arena, "o%d", i), -1);
}

static int add_parameters(struct graph *to, int *node)
{
    int count = 0;

    for (int i = 0; i < 6; i++)
        node[count++] = graph_parameter(to, shape_make(DTYPE_F32, 2, (int64_t[]){40, 200}),
                                        arena_printf(&arena, "m%d", i));
    for (int i = 0; i < 6; i++)
        node[count++] = graph_parameter(to, shape_scalar(i % 2 ? DTYPE_S32 : DTYPE_F32),
                                        arena_printf(&arena, "s%d", i));
    return count;
}

static void build_flat(int nodes)
{
    int *node = arena_array(&arena, (size_t)nodes + 100, sizeof(*node));

    fill(&g, node, add_parameters(&g, node), nodes);
}

/* scalars alone, as shapes and counters of traced programs are */
static void build_scalars(int nodes)
{
    int *node = arena_array(&arena, (size_t)nodes + 100, sizeof(*node)), count = 0;

    for (int i = 0; i < 6; i++)
        node[count++] = graph_parameter(&g, shape_scalar(i % 2 ? DTYPE_S32 : DTYPE_F32),
                                        arena_printf(&arena, "s%d", i));
    fill(&g, node, count, nodes);
}

/* loops and conditionals one behind the other, each of 200 nodes, of which some read others */
static void build_flow(int nodes)
{
    int operand[12], count = add_parameters(&g, operand);

    for (int i = 0; i < nodes / 200; i++) {
        struct graph *body = arena_alloc(&arena, sizeof(*body)), *other;
        int node[400], inside, all, next[12];

        graph_init(body, &arena, "body");
        inside = add_parameters(body, node);
        fill(body, node, inside, i % 2 ? 100 : 180);
        for (int k = 0; k < 12; k++)
            next[k] = k < 10 ? graph_convert(body, as_shape(body, body->output[k].node,
                                                            body->node[body->parameter[k]].shape),
                                             body->node[body->parameter[k]].shape.dtype)
                             : body->parameter[k];
        body->output_count = 0;
        for (int k = 0; k < 12; k++)
            graph_output(body, next[k], arena_printf(&arena, "n%d", k), -1);
        other = arena_alloc(&arena, sizeof(*other));
        graph_init(other, &arena, "other");
        add_parameters(other, node);
        if (i % 2) {
            for (int k = 0; k < 12; k++)
                graph_output(other, node[11 - k < 6 ? k : k], arena_printf(&arena, "n%d", k), -1);
            all = graph_conditional(&g, graph_compare(&g, COMPARE_LT, operand[7], operand[9]),
                                    operand, count, body, other);
        } else {
            graph_output(other, graph_compare(other, COMPARE_LT, node[7], node[9]), "on", -1);
            all = graph_while_condition(&g, operand, count, body, other);
        }
        for (int k = 0; k < 12; k++)
            operand[k] = graph_tuple_element(&g, all, k);
    }
    for (int k = 0; k < 12; k++)
        graph_output(&g, operand[k], arena_printf(&arena, "o%d", k), -1);
}

static int count_nodes(const struct graph *of)
{
    int count = of->node_count;

    for (int i = 0; i < of->node_count; i++)
        for (int k = 0; k < GRAPH_CALLED_MAX; k++)
            if (of->node[i].called[k])
                count += count_nodes(of->node[i].called[k]);
    return count;
}

static const struct { const char *name; void (*build)(int nodes); } kinds[] = {
    {"flat", build_flat}, {"scalars", build_scalars}, {"flow", build_flow}};

/* milliseconds for each instruction */
static double compile(const char *kind, int nodes, bool tells_stages)
{
    struct module module;
    struct slice slice;
    struct chip chip;
    struct err e;
    struct module_settings s = {.chip = &chip, .replica_count = 1};
    double begun, spent;
    int count;

    drawn = 1;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].name, kind) == 0)
            kinds[i].build(nodes);
    count = count_nodes(&g);
    assert_int_equal(slice_parse(&slice, "v5e", &e), 0);
    assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, &arena, &e), 0);
    begun = seconds();
    if (module_compile(&g, &s, &arena, &module, &e))
        fail_msg("%s", e.msg);
    spent = seconds() - begun;
    print_message("%s: %d instructions, %d kernels, %.2f s, %.2f ms an instruction\n", kind, count,
                  module.kernel_count, spent, 1e3 * spent / count);
    for (int i = 0; tells_stages && i < module.stage_count; i++)
        print_message("  %-10s %.3f s\n", module.stage[i].name, module.stage[i].seconds);
    one_graph_again();
    return 1e3 * spent / count;
}

static void check(const char *kind)
{
    assert_true(compile(kind, 1000, false) < MS_MAX);
    assert_true(compile(kind, 4000, false) < MS_MAX);
}

TEST(arrays_and_scalars) { check("flat"); }
TEST(scalars_alone) { check("scalars"); }
TEST(loops_and_conditionals) { check("flow"); }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(arrays_and_scalars), RUN(scalars_alone), RUN(loops_and_conditionals),
    };

    if (argc > 1) {
        one_graph_open(NULL);
        compile(argc > 2 ? argv[2] : "flat", atoi(argv[1]), true);
        return one_graph_close(NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
