/*
 * Collectives in loops: the right sums in every round, and never the sync flags of the one before,
 * for a core that is ahead may raise those while another still waits for them.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "stack/collective/collective_table.h"
#include "stack/interp/interp.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#define DEVICES 8
#define MANY 256                        /* collectives, one after the other */

static struct arena arena;
static struct graph g, bodies[2];       /* of a loop and one in it */
static int body_count;

static void start(void)
{
    arena_init(&arena);
    graph_init(&g, &arena, "loops");
    body_count = 0;
}

static void finish(void)
{
    while (body_count > 0)
        graph_fini(&bodies[--body_count]);
    graph_fini(&g);
    arena_fini(&arena);
}

/* of all devices; whole numbers stay small */
static int sum(struct graph *in, int x)
{
    x = graph_all_reduce(in, x);
    return graph_binary(in, HLO_REMAINDER, x, graph_splat(in, x, 7));
}

/* a round of `count` sums, and of an inner loop of `inner` rounds of one */
static struct graph *body_of(const struct shape *s, int count, int inner)
{
    struct graph *body = &bodies[body_count++];
    int x;

    graph_init(body, &arena, "body");
    x = graph_parameter(body, *s, "x");
    for (int i = 0; i < count; i++)
        x = sum(body, x);
    if (inner)
        x = graph_while(body, &x, 1, body_of(s, 1, 0), inner);
    graph_output(body, graph_binary(body, HLO_ADD, x, graph_splat(body, x, 1)), "x", -1);
    return body;
}

/* devices come to the loop one after the other: each gets something from the one before */
static int skewed(int x)
{
    for (int32_t d = 0; d + 1 < DEVICES; d++)
        x = graph_binary(&g, HLO_ADD, x,
                         graph_collective_permute(&g, x, &(struct graph_pair){d, d + 1}, 1));
    return graph_binary(&g, HLO_REMAINDER, x, graph_splat(&g, x, 7));
}

static void build(int count, int rounds, int inner)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){16, 130});
    int x = sum(&g, skewed(graph_parameter(&g, s, "x")));

    x = graph_while(&g, &x, 1, body_of(&s, count, inner), rounds);
    graph_output(&g, sum(&g, x), "x", -1);
}

/* ----- flags, in the order in which collectives run */

static int flags[MANY], flag_count;

static bool is_sum(const struct module *m, int item)
{
    for (int k = 0; k < m->kernel_count; k++)
        for (int i = 0; m->kernel[k].item == item && i < m->kernel[k].job.body->node_count; i++)
            if (m->kernel[k].job.body->node[i].op == HLO_ALL_REDUCE)
                return true;
    return false;
}

/* items from `at` to the end of its loop, where it stops */
static int walk(const struct module *m, int at)
{
    for (; at < m->item_count && m->item[at].kind != LINK_LOOP_END; at++) {
        const struct link_item *item = &m->item[at];
        int end = at;

        if (item->kind == LINK_SEGMENT && item->segment->table && is_sum(m, at) &&
            flag_count < MANY)
            flags[flag_count++] = item->segment->table->base.flag;
        for (int64_t i = 0; item->kind == LINK_LOOP_BEGIN && i < item->count; i++)
            end = walk(m, at + 1);
        at = end;
    }
    return at;
}

static void check_flags(int expected, const char *what)
{
    struct module_settings settings = {.replica_count = DEVICES};
    struct module m;
    struct slice slice;
    struct chip chip;
    struct err e;

    assert_int_equal(slice_parse(&slice, "v3-8", &e), 0);
    assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, &arena, &e), 0);
    settings.slice = &slice;
    settings.chip = &chip;
    if (module_compile(&g, &settings, &arena, &m, &e))
        fail_msg("%s", e.msg);
    flag_count = 0;
    walk(&m, 0);
    if (flag_count != expected)
        fail_msg("%s: %d sums run, expected %d", what, flag_count, expected);
    for (int i = 1; i < flag_count; i++)
        if (flags[i] == flags[i - 1])
            fail_msg("%s: sums %d and %d both have the flags from %d on", what, i - 1, i, flags[i]);
}

/* ----- values, against the interpreter of all devices */

static void check_values(const char *what)
{
    int64_t elems = shape_elems(&g.node[g.parameter[0]].shape);
    struct interp_value in[DEVICES], out[DEVICES];
    const struct interp_value *from[DEVICES];
    struct interp_value *to[DEVICES];
    struct graph_run run = {.slice = "v3-8"};
    const void *input[DEVICES];
    void *got[DEVICES];
    struct rng r;
    struct err e;

    rng_init(&r, 5);
    for (int d = 0; d < DEVICES; d++) {
        float *x = arena_array(&arena, (size_t)elems, sizeof(*x));

        for (int64_t i = 0; i < elems; i++)
            x[i] = (float)rng_below(&r, 7);
        input[d] = in[d].data = x;
        from[d] = &in[d];
        to[d] = &out[d];
    }
    run_graph(&run, &g, input, got, &arena);
    if (interp_run_devices(&g, INTERP_DOT_F32, DEVICES, from, to, &arena, &e))
        fail_msg("%s", e.msg);
    for (int d = 0; d < DEVICES; d++)
        if (memcmp(got[d], out[d].data, (size_t)elems * 4) != 0)
            fail_msg("%s: other values on device %d", what, d);
}

TEST(sums_in_rounds_have_other_flags_than_those_before)
{
    static const struct { int count, rounds, inner; } rows[] = {
        {1, 1, 0}, {1, 2, 0}, {1, 15, 0}, {1, 40, 0}, {2, 9, 0}, {3, 12, 0}, {3, 1, 0}, {5, 9, 0},
        {7, 3, 0}, {1, 4, 5}, {2, 5, 4}, {0, 5, 3},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *what;

        start();
        what = arena_printf(&arena, "%d rounds of %d and %d", rows[i].rounds, rows[i].count,
                            rows[i].inner);
        build(rows[i].count, rows[i].rounds, rows[i].inner);
        check_flags(2 + rows[i].rounds * (rows[i].count + rows[i].inner), what);
        check_values(what);
        finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_in_rounds_have_other_flags_than_those_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
