/*
 * Arrays whose last dimensions are short, cut along these and joined, computed with elementwise, and
 * carried by loops, whose body may write each round's into a stack: do values stay in the order that
 * they get, and do programs that such code makes take few cycles?
 *
 * test_narrow [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "tests/rigs/drawn_graphs.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#define ROUNDS 3

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static int scalar(struct graph *to, double value)
{
    return graph_constant(to, shape_scalar(DTYPE_F32), value);
}

/* part `from` to `end` - 1 along a dimension */
static int part(struct graph *to, int x, int dim, int64_t from, int64_t end)
{
    struct shape s = to->node[x].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int d = 0; d < s.rank; d++)
        limit[d] = s.dim[d];
    start[dim] = from;
    limit[dim] = end;
    return graph_slice(to, x, start, limit, NULL);
}

/* columns apart, as vectors for a while or not, some computed with, and joined again */
static int columns(struct graph *to, int x)
{
    struct shape s = to->node[x].shape;
    int last = s.rank - 1, list[8], before = -1;
    bool has_vectors = s.rank == 2 && below(2);

    for (int64_t c = 0; c < s.dim[last]; c++) {
        int one = part(to, x, last, c, c + 1);

        if (has_vectors)
            one = graph_reshape(to, one, shape_make(s.dtype, 1, s.dim));
        if (before >= 0 && below(2))
            one = graph_binary(to, below(2) ? HLO_MAXIMUM : HLO_MINIMUM, one, before);
        before = one;
        list[c] = one;
        if (has_vectors)
            list[c] = graph_reshape(to, one, shape_make(s.dtype, 2, (int64_t[]){s.dim[0], 1}));
    }
    return graph_concatenate(to, list, (int)s.dim[last], last);
}

/* of the same shape, of `x` and maybe of `other`, which has it too */
static int step(struct graph *to, int x, int other)
{
    struct shape s = to->node[x].shape;
    int last = s.rank - 1, dims[GRAPH_RANK_MAX];
    int64_t low[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0};

    switch (below(8)) {
    case 0: return graph_binary(to, HLO_MAXIMUM, x, other);
    case 1: return graph_reverse(to, x, &last, 1);
    case 2:                             /* a column more, and the first one off */
        high[last] = 1;
        return part(to, graph_pad(to, x, scalar(to, 1), low, high, NULL), last, 1, s.dim[last] + 1);
    case 3:                             /* as far as the largest of each row */
        for (int d = 0; d < last; d++)
            dims[d] = d;
        return graph_broadcast(to, graph_reduce(to, REDUCE_MAX, x, 1u << last), s, dims);
    case 4:                             /* transposed in between */
        for (int d = 0; d < s.rank; d++)
            dims[d] = s.rank - 1 - d;
        return graph_transpose(to, graph_unary(to, HLO_NEGATE, graph_transpose(to, x, dims)), dims);
    default: return columns(to, x);
    }
}

static int steps(struct graph *to, int x, int other)
{
    for (int64_t k = 1 + below(5); k > 0; k--)
        x = step(to, x, other);
    return x;
}

static struct shape draw_shape(void)
{
    struct shape s = {.dtype = DTYPE_F32, .rank = 2 + (int)below(2)};

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = 1 + below(d == s.rank - 1 ? 6 : d == s.rank - 2 ? 3000 : 4);
    return s;
}

/* a round: two arrays, a counter and a stack in which each round's first array is */
static void draw_body(struct graph *body, const struct shape *s, const struct shape *stack)
{
    int x, y, trip, all, start[GRAPH_RANK_MAX], zero, next;
    struct shape one = *stack;

    graph_init(body, &arena, "round");
    x = graph_parameter(body, *s, "x");
    y = graph_parameter(body, *s, "y");
    trip = graph_parameter(body, shape_scalar(DTYPE_S32), "trip");
    all = graph_parameter(body, *stack, "all");
    zero = graph_constant(body, shape_scalar(DTYPE_S32), 0);
    for (int d = 0; d < stack->rank; d++)
        start[d] = d == 0 ? trip : zero;
    one.dim[0] = 1;
    next = steps(body, x, y);
    all = graph_dynamic_update_slice(body, all, graph_reshape(body, next, one), start);
    graph_output(body, next, "x", -1);
    graph_output(body, below(2) ? x : steps(body, y, x), "y", -1);
    graph_output(body, graph_binary(body, HLO_ADD, trip,
                                    graph_constant(body, shape_scalar(DTYPE_S32), 1)), "trip", -1);
    graph_output(body, all, "all", -1);
    graph_freeze(body);
}

static void draw_graph(void)
{
    struct shape s = draw_shape(), stack = {.dtype = s.dtype, .rank = s.rank + 1, .dim = {ROUNDS}};
    int x = graph_parameter(&g, s, "x"), y = graph_parameter(&g, s, "y"), in[4], loop;
    struct graph *body = arena_alloc(&arena, sizeof(*body));

    for (int d = 0; d < s.rank; d++)
        stack.dim[d + 1] = s.dim[d];
    if (below(2))
        x = steps(&g, x, y);
    if (below(3) == 0) {
        graph_output(&g, x, "x", -1);
        return;
    }
    in[0] = x;
    in[1] = y;
    in[2] = graph_constant(&g, shape_scalar(DTYPE_S32), 0);
    in[3] = graph_broadcast(&g, scalar(&g, 0), stack, NULL);
    draw_body(body, &s, &stack);
    loop = graph_while(&g, in, 4, body, 1 + below(ROUNDS));
    graph_output(&g, graph_tuple_element(&g, loop, 0), "x", -1);
    graph_output(&g, steps(&g, graph_tuple_element(&g, loop, 1), x), "y", -1);
    if (below(2))
        graph_output(&g, graph_tuple_element(&g, loop, 3), "all", -1);
}

TEST(values_stay_in_any_order)
{
    drawn_graphs_check(60, &rng, draw_graph);
}

static int column(struct graph *to, int x, int64_t c)
{
    return graph_reshape(to, part(to, x, 1, c, c + 1),
                         shape_make(DTYPE_F32, 1, to->node[x].shape.dim));
}

/* rotations of many points, one coordinate computed at a time */
static int turned_points(struct graph *to, int x)
{
    struct shape one = shape_make(DTYPE_F32, 2, (int64_t[]){to->node[x].shape.dim[0], 1});
    int a = column(to, x, 0), b = column(to, x, 1), c = column(to, x, 2);
    int list[] = {graph_reshape(to, graph_binary(to, HLO_SUBTRACT, b, a), one),
                  graph_reshape(to, graph_binary(to, HLO_MAXIMUM, c, a), one),
                  graph_reshape(to, graph_binary(to, HLO_MINIMUM, a, b), one)};

    return graph_concatenate(to, list, 3, 1);
}

/* 3,700 cycles a round once */
TEST(states_of_many_systems_lie_along_lanes)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){500, 3});
    struct module_rig r = {.slice = "v5e"};
    struct graph body;
    int x;

    graph_init(&body, &arena, "round");
    x = graph_parameter(&body, s, "x");
    graph_output(&body, turned_points(&body, x), "x", -1);
    graph_freeze(&body);
    x = graph_parameter(&g, s, "x");
    graph_output(&g, graph_while(&g, &x, 1, &body, 20), "x", -1);
    g.name = "systems";
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 30000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(values_stay_in_any_order), RUN(states_of_many_systems_lie_along_lanes),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
