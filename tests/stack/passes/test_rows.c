/*
 * Products of one row with each of many matrices that lie apart: vectors add them up as they lie, and
 * the result is the product's. Whole numbers, so that sums are exact in any order.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"
#include "tests/rigs/lower_rig.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

#include <stdio.h>

#define DRAWS 24

static struct rng rng;

static int below(int end) { return (int)rng_below(&rng, (uint32_t)end); }

static struct interp_value whole_numbers(const struct shape *s)
{
    int64_t count = shape_elems(s);
    struct interp_value v = {arena_array(&arena, (size_t)count + 1, 4)};

    for (int64_t i = 0; i < count; i++)
        ((float *)v.data)[i] = (float)(below(5) - 2);
    return v;
}

/* what dimension i of the matrices is */
enum role { BATCH_0, BATCH_1, CONTRACTED, FREE_0, FREE_1, ROLES };

static const int64_t sizes[ROLES] = {6, 5, 64, 48, 7};

struct drawn { struct shape many, row; int place[ROLES], row_place[ROLES]; };

/* the matrices' dimensions in any order; the row's, which has one of one element that is free */
static void draw(struct drawn *d, enum graph_dtype dtype)
{
    int row_roles[] = {BATCH_0, BATCH_1, CONTRACTED, FREE_0}, list[ROLES];

    d->many = shape_make(dtype, ROLES, (const int64_t[ROLES]){0});
    d->row = shape_make(dtype, 4, (const int64_t[4]){0});
    for (int i = 0; i < ROLES; i++) {
        int k = below(i + 1);

        list[i] = list[k];
        list[k] = i;
    }
    for (int i = 0; i < ROLES; i++) {
        d->many.dim[i] = sizes[list[i]];
        d->place[list[i]] = i;
    }
    for (int i = 3; i > 0; i--) {
        int k = below(i + 1), t = row_roles[i];

        row_roles[i] = row_roles[k];
        row_roles[k] = t;
    }
    for (int i = 0; i < 4; i++) {
        d->row.dim[i] = row_roles[i] == FREE_0 ? 1 : sizes[row_roles[i]];
        d->row_place[row_roles[i]] = i;
    }
}

static bool batch_leads(const struct drawn *d)
{
    return d->place[BATCH_0] < 2 && d->place[BATCH_1] < 2;
}

TEST(a_row_times_many_matrices)
{
    struct pass_context context = {.chip = &v5e, .replica_count = 1};
    struct graph_dot dot = {.batch_count = 2, .contract_count = 1};
    struct interp_value in[2], before, after;
    bool row_is_left = below(2);
    int row, many, y;
    struct drawn d;
    struct err e;

    draw(&d, below(2) ? DTYPE_F32 : DTYPE_BF16);
    row = graph_parameter(&graph, d.row, "row");
    many = graph_parameter(&graph, d.many, "many");
    for (int i = 0; i < 2; i++) {
        (row_is_left ? dot.lhs_batch : dot.rhs_batch)[i] = d.row_place[i];
        (row_is_left ? dot.rhs_batch : dot.lhs_batch)[i] = d.place[i];
    }
    (row_is_left ? dot.lhs_contract : dot.rhs_contract)[0] = d.row_place[CONTRACTED];
    (row_is_left ? dot.rhs_contract : dot.lhs_contract)[0] = d.place[CONTRACTED];
    y = graph_dot_general(&graph, row_is_left ? row : many, row_is_left ? many : row, &dot, DTYPE_F32,
                          PRECISION_DEFAULT);
    graph_output(&graph, y, "y", -1);
    in[0] = whole_numbers(&d.row);
    in[1] = whole_numbers(&d.many);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &before, &arena, &e), 0);
    assert_int_equal(pass_vectors(&graph, &context, &e), 0);
    assert_int_equal(count_of(&graph, HLO_DOT), batch_leads(&d) ? 1 : 0);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &after, &arena, &e), 0);
    assert_memory_equal(after.data, before.data,
                        (size_t)shape_elems(&graph.node[graph.output[0].node].shape) * 4);
}

int main(void)
{
    struct CMUnitTest tests[DRAWS];
    const struct CMUnitTest one = RUN(a_row_times_many_matrices);

    printf("SYSTOLE_SEED=%llu\n", (unsigned long long)lower_seed());
    rng_init(&rng, lower_seed());
    for (int i = 0; i < DRAWS; i++)
        tests[i] = one;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
