/*
 * Features in groups: normalisation over places and the features of a group works on arrays as
 * they were before the groups, and gives what it gave. Numbers and counts are such that every sum
 * and mean is exact in any order.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"
#include "tests/rigs/lower_rig.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

#include <stdio.h>

#define DRAWS 60

static struct rng rng;

static int64_t power_of_two(int least, int most)
{
    return 1ll << (least + (int)rng_below(&rng, (uint32_t)(most - least + 1)));
}

struct grouped { int64_t n, h, w, groups, features; };

static struct grouped drawn(void)
{
    return (struct grouped){1 + rng_below(&rng, 4), power_of_two(1, 3), power_of_two(1, 2),
                            2 + rng_below(&rng, 6), power_of_two(1, 5)};
}

/* mean over places and the features of a group, and something, in all of its places */
static int mean_of(int x, const struct grouped *s, double more)
{
    int sum = graph_reduce(&graph, REDUCE_ADD, x, 1u << 1 | 1u << 2 | 1u << 4);
    double count = (double)(s->h * s->w * s->features);

    sum = graph_binary(&graph, HLO_MULTIPLY, sum, graph_splat(&graph, sum, 1 / count));
    sum = graph_binary(&graph, HLO_ADD, sum, graph_splat(&graph, sum, more));
    return graph_broadcast(&graph, sum, graph.node[x].shape, DIMS(0, 3));
}

/* (x - mean) * (variance + 1) + shift of each of a group's features, * scale of each feature */
static int normalised(const struct grouped *s)
{
    int64_t all = s->groups * s->features;
    struct shape grouped = F32(s->n, s->h, s->w, s->groups, s->features);
    int x = graph_parameter(&graph, F32(s->n, s->h, s->w, all), "x");
    int scale = graph_parameter(&graph, F32(all), "scale");
    int shift = graph_parameter(&graph, F32(s->features), "shift");
    int d = graph_reshape(&graph, x, grouped), y;

    d = graph_binary(&graph, HLO_SUBTRACT, d, mean_of(d, s, 0));
    y = graph_binary(&graph, HLO_MULTIPLY, d,
                     mean_of(graph_binary(&graph, HLO_MULTIPLY, d, d), s, 1));
    y = graph_binary(&graph, HLO_ADD, y, graph_broadcast(&graph, shift, grouped, DIMS(4)));
    y = graph_reshape(&graph, y, graph.node[x].shape);
    return graph_binary(&graph, HLO_MULTIPLY, y,
                        graph_broadcast(&graph, scale, graph.node[x].shape, DIMS(3)));
}

static struct interp_value whole_numbers(int64_t count)
{
    struct interp_value v = {arena_array(&arena, (size_t)count + 1, 4)};

    for (int64_t i = 0; i < count; i++)
        ((float *)v.data)[i] = (float)rng_below(&rng, 4) - 1;
    return v;
}

/* arrays of groups that are as large as the whole one */
static int grouped_arrays(const struct grouped *s)
{
    int64_t elements = s->n * s->h * s->w * s->groups * s->features;
    int count = 0;

    for (int i = 0; i < graph.node_count; i++) {
        const struct shape *shape = &graph.node[i].shape;

        count += shape->rank > 4 && shape_elems(shape) == elements;
    }
    return count;
}

TEST(groups_are_statistics_alone)
{
    struct grouped s = drawn();
    int64_t all = s.groups * s.features, count = s.n * s.h * s.w * all;
    struct interp_value in[] = {whole_numbers(count), whole_numbers(all), whole_numbers(s.features)};
    struct pass_context context = {.chip = &v5e, .replica_count = 1};
    struct interp_value before, after;
    struct err e;

    print_message("[%lld,%lld,%lld,%lld x %lld]\n", (long long)s.n, (long long)s.h, (long long)s.w,
                  (long long)s.groups, (long long)s.features);
    graph_output(&graph, normalised(&s), "out", -1);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &before, &arena, &e), 0);
    assert_int_equal(pass_simplify(&graph, &context, &e), 0);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &after, &arena, &e), 0);
    assert_memory_equal(after.data, before.data, (size_t)count * 4);
    if (s.h * s.w >= 8 && s.h * s.w * s.features >= 64 && s.n * s.h * s.w * s.groups >= 64)
        assert_int_equal(grouped_arrays(&s), 0);
}

int main(void)
{
    struct CMUnitTest tests[DRAWS];
    const struct CMUnitTest one = RUN(groups_are_statistics_alone);

    printf("SYSTOLE_SEED=%llu\n", (unsigned long long)lower_seed());
    rng_init(&rng, lower_seed());
    for (int i = 0; i < DRAWS; i++)
        tests[i] = one;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
