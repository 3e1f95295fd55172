/*
 * Does a loop whose states change into each other, as leapfrog steps, Clenshaw's sums and swaps do,
 * take what each state was before any of them is overwritten in its place?
 *
 * test_module_states [first seed [graphs]] draws other bodies; without, half of the seeds are fixed
 * and half follow from the date, and are printed.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/rewrite.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"


#define STATES_MAX 4
#define TRIPS 3

static const char *const slices[] = {"v5e", "v3-1", "v6e", "v7x"};
static const struct { int rank; int64_t dim[3]; } sizes[] = {
    {1, {15}}, {1, {300}}, {2, {24, 200}}, {2, {5, 7}}, {3, {3, 8, 130}}};


static struct shape size_of(size_t i)
{
    return shape_make(DTYPE_F32, sizes[i].rank, sizes[i].dim);
}

/* the largest along some dimensions, in all of them */
static int spread_max(struct graph *b, int of, uint32_t mask)
{
    struct shape shape = b->node[of].shape;
    int dims[GRAPH_RANK_MAX], count = 0;

    for (int d = 0; d < shape.rank; d++)
        if (!(mask >> d & 1))
            dims[count++] = d;
    return graph_broadcast(b, graph_reduce(b, REDUCE_MAX, of, mask), shape, dims);
}

static const char *const names[STATES_MAX] = {"a", "b", "c", "d"};

static struct graph *new_body(int states, struct shape shape, int *state)
{
    struct graph *b = arena_alloc(&arena, sizeof(*b));

    graph_init(b, &arena, "body");
    for (int k = 0; k < states; k++)
        state[k] = graph_parameter(b, shape, names[k]);
    return b;
}

static void loop_over(struct graph *body, int states, struct shape shape)
{
    int start[STATES_MAX], all;

    graph_freeze(body);
    for (int k = 0; k < states; k++)
        start[k] = graph_parameter(&g, shape, names[k]);
    all = graph_while(&g, start, states, body, TRIPS);
    for (int k = 0; k < states; k++)
        graph_output(&g, graph_tuple_element(&g, all, k), names[k], -1);
}

static void check(const char *slice, uint64_t seed)
{
    struct module_rig r = {.slice = slice};

    module_rig_check(&r, &g, seed);
    one_graph_again();
}

/* a, b -> b - c, a + b */
static void build_clenshaw(struct shape shape)
{
    int s[STATES_MAX];
    struct graph *b = new_body(3, shape, s);

    graph_output(b, graph_binary(b, HLO_SUBTRACT, s[1], s[2]), "a", -1);
    graph_output(b, graph_binary(b, HLO_ADD, s[0], s[1]), "b", -1);
    graph_output(b, s[2], "c", -1);
    loop_over(b, 3, shape);
}

TEST(what_a_result_is_stored_over_has_been_taken_by_the_results_behind_it)
{
    for (size_t i = 0; i < COUNT_OF(slices); i++)
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            build_clenshaw(size_of(k));
            check(slices[i], k);
        }
}

/* a, b -> -a, a + max b: the first needs no maximum, and is stored before the second is made */
static void build_late(struct shape shape)
{
    int s[STATES_MAX];
    struct graph *b = new_body(2, shape, s);

    graph_output(b, graph_unary(b, HLO_NEGATE, s[0]), "a", -1);
    graph_output(b, graph_binary(b, HLO_ADD, s[0], spread_max(b, s[1], 1)), "b", -1);
    loop_over(b, 2, shape);
}

TEST(a_result_made_after_a_reduction_takes_its_operand_as_it_was)
{
    for (size_t i = 0; i < COUNT_OF(slices); i++)
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            build_late(size_of(k));
            check(slices[i], k);
        }
}

/* an expression of the states; whole numbers stay exact */
static int draw(struct graph *b, struct rng *r, const int *state, int states, int depth)
{
    static const enum graph_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MAXIMUM, HLO_MINIMUM};
    uint32_t kind = rng_below(r, depth > 0 ? 8 : 1);
    int x;

    if (kind == 0)
        return state[rng_below(r, (uint32_t)states)];
    x = draw(b, r, state, states, depth - 1);
    if (kind == 1)
        return graph_unary(b, HLO_NEGATE, x);
    if (kind == 2)
        return spread_max(b, x, 1 + rng_below(r, (1u << b->node[x].shape.rank) - 1));
    return graph_binary(b, ops[kind % 4], x, draw(b, r, state, states, depth - 1));
}

TEST(states_that_become_what_is_drawn)
{
    int count = seeds_count(60);

    for (int i = 0; i < count; i++) {
        int s[STATES_MAX], states;
        struct shape shape;
        struct graph *b;
        struct rng r;

        rng_init(&r, seeds_at(i));
        states = 2 + (int)rng_below(&r, STATES_MAX - 1);
        shape = size_of(rng_below(&r, COUNT_OF(sizes)));
        b = new_body(states, shape, s);
        for (int k = 0; k < states; k++)
            graph_output(b, draw(b, &r, s, states, 3), names[k], -1);
        loop_over(b, states, shape);
        g.name = arena_printf(&arena, "seed %lld", (long long)seeds_at(i));
        check(slices[rng_below(&r, COUNT_OF(slices))], seeds_at(i));
    }
    seeds_print(count);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(what_a_result_is_stored_over_has_been_taken_by_the_results_behind_it),
        RUN(a_result_made_after_a_reduction_takes_its_operand_as_it_was),
        RUN(states_that_become_what_is_drawn),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
