/*
 * Boxes of an array, read and written where they begin: in loops, where arrays stay in vector memory
 * and are changed in place, and outside; from a number on, from a computed one, from beyond the edge.
 * Does every one compile, and do values stay?
 *
 * test_boxes [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "tests/rigs/drawn_graphs.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

struct box { int64_t at[GRAPH_RANK_MAX], size[GRAPH_RANK_MAX]; };

/* the inside of the array, a row or an element of it, or any part */
static struct box draw_box(const struct shape *s)
{
    bool is_inside = below(3) == 0, is_row = below(2), is_element = below(4) == 0;
    struct box b = {{0}, {0}};

    for (int d = 0; d < s->rank; d++) {
        b.size[d] = is_element || (is_row && d + 2 >= s->rank && d + 1 < s->rank)
                        ? 1 : 1 + below(s->dim[d]);
        b.at[d] = below(s->dim[d] - b.size[d] + 3) - 1;
        if (is_inside && s->dim[d] > 2) {
            b.size[d] = s->dim[d] - 2;
            b.at[d] = 1;
        }
    }
    return b;
}

/* a start that is a number, or one that adds a parameter of zero to it */
static void starts_of(struct graph *to, const struct box *b, int rank, int zero, int *start)
{
    for (int d = 0; d < rank; d++) {
        int at = graph_constant(to, shape_scalar(DTYPE_S32), (double)b->at[d]);

        start[d] = zero != NODE_NONE && below(2) ? graph_binary(to, HLO_ADD, at, zero) : at;
    }
}

static int larger(struct graph *to, int a, int b)
{
    return graph_binary(to, to->node[a].shape.dtype == DTYPE_PRED ? HLO_OR : HLO_MAXIMUM, a, b);
}

/* `x` with a box of it changed by what stands in another as large */
static int changed(struct graph *to, int x, int zero)
{
    struct shape s = to->node[x].shape;
    struct box b = draw_box(&s), from = b;
    int start[GRAPH_RANK_MAX], other[GRAPH_RANK_MAX], part;

    for (int d = 0; d < s.rank; d++)
        from.at[d] = below(s.dim[d] - b.size[d] + 1);
    starts_of(to, &b, s.rank, zero, start);
    starts_of(to, &from, s.rank, zero, other);
    part = graph_dynamic_slice(to, x, other, b.size);
    if (below(2))
        part = larger(to, part, graph_dynamic_slice(to, x, start, b.size));
    return graph_dynamic_update_slice(to, x, part, start);
}

static struct shape draw_shape(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_S8,
                                              DTYPE_PRED};
    struct shape s = {.dtype = dtypes[below(COUNT_OF(dtypes))], .rank = 1 + (int)below(4)};

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = 1 + below(d == s.rank - 1 ? 400 : d == s.rank - 2 ? 120 : 4);
    return s;
}

/* a few changes, one behind the other, of the array and in a loop */
static void draw_graph(void)
{
    struct shape s = draw_shape();
    int in[2] = {graph_parameter(&g, s, "x"), NODE_NONE}, x, parameters[2];
    struct graph *body;

    if (below(2))
        in[0] = larger(&g, in[0], in[0]);
    if (below(3) == 0) {
        graph_output(&g, changed(&g, in[0], NODE_NONE), "made", -1);
        return;
    }
    in[1] = graph_constant(&g, shape_scalar(DTYPE_S32), 0);
    body = arena_alloc(&arena, sizeof(*body));
    graph_init(body, &arena, "round");
    for (int k = 0; k < 2; k++)
        parameters[k] = graph_parameter(body, g.node[in[k]].shape, k ? "zero" : "x");
    x = parameters[0];
    for (int64_t k = below(3); k >= 0; k--)
        x = changed(body, x, parameters[1]);
    graph_output(body, x, "x", -1);
    graph_output(body, parameters[1], "zero", -1);
    graph_freeze(body);
    graph_output(&g, graph_tuple_element(&g, graph_while(&g, in, 2, body, 1 + below(3)), 0), "made",
                 -1);
}

TEST(any_box_is_read_and_written)
{
    drawn_graphs_check(60, &rng, draw_graph);
}

/* a step of a stencil: 10,600 cycles once in each round, and more registers than there are before */
TEST(the_inside_of_a_grid_is_chosen)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){201, 301});
    const int64_t inside[2] = {199, 299};
    int x = graph_parameter(&g, s, "x"), start[2], part;
    struct module_rig r = {.slice = "v5e", .relative = 1e-6, .absolute = 1e-6};
    struct graph body;

    graph_init(&body, &arena, "round");
    x = graph_parameter(&body, s, "x");
    start[0] = start[1] = graph_constant(&body, shape_scalar(DTYPE_S32), 1);
    part = graph_dynamic_slice(&body, x, start, inside);
    part = graph_binary(&body, HLO_ADD, part, part);
    graph_output(&body, graph_dynamic_update_slice(&body, x, part, start), "x", -1);
    graph_freeze(&body);
    graph_output(&g, graph_while(&g, &g.parameter[0], 1, &body, 10), "made", -1);
    g.name = "inside";
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 40000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_box_is_read_and_written), RUN(the_inside_of_a_grid_is_chosen),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
