/* Evaluates small programs of each kind of operation on the host: elements, moves, dots, loops. */
#include "tests/import/eval/eval_rig.h"

#include <math.h>

static int binary_of(struct rig *r, enum hlo_opcode op, enum hlo_element e, const void *x,
                     const void *y, int64_t n)
{
    int left = rig_constant(r, e, 1, &n, x);

    return hlo_binary(&r->b, op, left, rig_constant(r, e, 1, &n, y));
}

TEST(integers_wrap_and_divide_by_zero_to_all_ones)
{
    static const int32_t x[] = { INT32_MAX, INT32_MIN, 7, -7, 5 }, y[] = { 1, -1, 0, 2, -3 };
    static const int32_t sums[] = { INT32_MIN, INT32_MAX, 7, -5, 2 };
    static const int32_t quotients[] = { INT32_MAX, INT32_MIN, -1, -3, -1 };
    static const int32_t rests[] = { 0, 0, 7, -1, 2 };
    static const struct { enum hlo_opcode op; const int32_t *want; } rows[] = {
        { OPCODE_ADD, sums }, { OPCODE_DIVIDE, quotients }, { OPCODE_REMAINDER, rests },
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct rig r;

        rig_init(&r);
        binary_of(&r, rows[k].op, ELEMENT_S32, x, y, 5);
        assert_memory_equal(rig_run(&r), rows[k].want, sizeof(x));
        rig_fini(&r);
    }
}

TEST(shifts_beyond_the_width_give_nothing_or_the_sign)
{
    static const int8_t x[] = { -128, -1, 64, 1 }, y[] = { 9, 8, -1, 7 };
    static const int8_t left[] = { 0, 0, 0, -128 }, arithmetic[] = { -1, -1, 0, 0 };
    static const int8_t logical[] = { 0, 0, 0, 0 };
    static const struct { enum hlo_opcode op; const int8_t *want; } rows[] = {
        { OPCODE_SHIFT_LEFT, left }, { OPCODE_SHIFT_RIGHT_ARITHMETIC, arithmetic },
        { OPCODE_SHIFT_RIGHT_LOGICAL, logical },
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct rig r;

        rig_init(&r);
        binary_of(&r, rows[k].op, ELEMENT_S8, x, y, 4);
        assert_memory_equal(rig_run(&r), rows[k].want, sizeof(x));
        rig_fini(&r);
    }
}

TEST(four_bit_integers_wrap_at_four_bits)
{
    static const int8_t x[] = { 7, -8, 3 }, y[] = { 1, -1, 4 }, want[] = { -8, 7, 7 };
    struct rig r;

    rig_init(&r);
    binary_of(&r, OPCODE_ADD, ELEMENT_S4, x, y, 3);
    assert_memory_equal(rig_run(&r), want, sizeof(want));
    rig_fini(&r);
}

TEST(bf16_is_rounded_after_each_operation)
{
    static const float x[] = { 1, 256 }, y[] = { 0.001953125f, 1 };
    const int64_t n = 2;
    const uint16_t *got;
    struct rig r;
    int a, b;

    rig_init(&r);
    a = hlo_convert(&r.b, rig_constant(&r, ELEMENT_F32, 1, &n, x), ELEMENT_BF16);
    b = hlo_convert(&r.b, rig_constant(&r, ELEMENT_F32, 1, &n, y), ELEMENT_BF16);
    hlo_binary(&r.b, OPCODE_ADD, a, b);
    got = rig_run(&r);
    assert_int_equal(got[0], 0x3f80);
    assert_int_equal(got[1], 0x4380);           /* 257 lies between 256 and 258 */
    rig_fini(&r);
}

TEST(nan_wins_in_maximum_and_minimum)
{
    static const float x[] = { NAN, 1, -1 }, y[] = { 1, NAN, 2 };
    const float *got;
    struct rig r;

    rig_init(&r);
    binary_of(&r, OPCODE_MAXIMUM, ELEMENT_F32, x, y, 3);
    got = rig_run(&r);
    assert_true(isnan(got[0]) && isnan(got[1]) && got[2] == 2);
    rig_fini(&r);
}

TEST(a_sum_over_the_middle_dimension)
{
    float x[2 * 3 * 4], want[2 * 4] = { 0 };
    const int64_t dim[] = { 2, 3, 4 }, along[] = { 1 };
    struct hlo_type scalar = hlo_scalar_type(ELEMENT_F32);
    struct rig r;
    int array, zero;

    for (int k = 0; k < 24; k++) {
        x[k] = (float)(k * k % 17);
        want[k / 12 * 4 + k % 4] += x[k];
    }
    rig_init(&r);
    array = rig_constant(&r, ELEMENT_F32, 3, dim, x);
    zero = hlo_constant(&r.b, &scalar, 0);
    hlo_reduce(&r.b, array, zero, 1, along,
               hlo_scalar_computation(&r.m, OPCODE_ADD, ELEMENT_F32));
    assert_memory_equal(rig_run(&r), want, sizeof(want));
    rig_fini(&r);
}

/* dot of [batch][k][m] with [k][batch][n] */
TEST(a_dot_with_its_dimensions_in_any_order)
{
    enum { B = 2, K = 3, M = 4, N = 5 };
    int32_t x[B * K * M], y[K * B * N], want[B * M * N] = { 0 };
    const int64_t xd[] = { B, K, M }, yd[] = { K, B, N };
    const int64_t zero = 0, one = 1;
    const struct hlo_dot d = { .lhs_batch = { 1, &zero }, .rhs_batch = { 1, &one },
                               .lhs_contract = { 1, &one }, .rhs_contract = { 1, &zero } };
    struct rig r;
    int left;

    for (int k = 0; k < B * K * M; k++)
        x[k] = k * 7 % 11 - 5;
    for (int k = 0; k < B * K * N; k++)
        y[k] = k * 5 % 13 - 6;
    for (int b = 0; b < B; b++)
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++)
                for (int k = 0; k < K; k++)
                    want[(b * M + m) * N + n] += x[(b * K + k) * M + m] * y[(k * B + b) * N + n];
    rig_init(&r);
    left = rig_constant(&r, ELEMENT_S32, 3, xd, x);
    hlo_dot(&r.b, left, rig_constant(&r, ELEMENT_S32, 3, yd, y), &d, ELEMENT_S32,
            HLO_PRECISION_DEFAULT);
    assert_memory_equal(rig_run(&r), want, sizeof(want));
    rig_fini(&r);
}

/* state (i, x): while i < 10: x = update x at i with i, i + 1 */
TEST(a_loop_changes_its_state_in_place)
{
    const int64_t n = 10, one = 1;
    struct rig r;
    struct hlo_builder body, condition;
    struct hlo_type scalar = hlo_scalar_type(ELEMENT_S32), row, carried;
    int parts[2], p, i, x, start[1], loop;
    const int32_t *got;

    rig_init(&r);
    row = rig_type(&r, ELEMENT_S32, 1, &n);
    carried = hlo_tuple_type(&r.arena, 2, (struct hlo_type[]){ scalar, row });
    body = condition = r.b;
    body.computation = hlo_add_computation(&r.m, "body");
    condition.computation = hlo_add_computation(&r.m, "condition");
    p = hlo_parameter(&body, 0, &carried);
    i = hlo_tuple_element(&body, p, 0);
    x = hlo_tuple_element(&body, p, 1);
    start[0] = i;
    x = hlo_dynamic_update_slice(&body, x, hlo_reshape(&body, i, 1, &one), start);
    parts[0] = hlo_binary(&body, OPCODE_ADD, i, hlo_constant_int(&body, &scalar, 1));
    parts[1] = x;
    hlo_tuple(&body, 2, parts);
    p = hlo_parameter(&condition, 0, &carried);
    i = hlo_tuple_element(&condition, p, 0);
    hlo_compare(&condition, HLO_LT, i, hlo_constant_int(&condition, &scalar, 10));
    parts[0] = hlo_constant_int(&r.b, &scalar, 0);
    parts[1] = hlo_constant_int(&r.b, &row, -1);
    loop = hlo_while(&r.b, hlo_tuple(&r.b, 2, parts), body.computation, condition.computation);
    hlo_tuple_element(&r.b, loop, 1);
    got = rig_run(&r);
    for (int k = 0; k < 10; k++)
        assert_int_equal(got[k], k);
    rig_fini(&r);
}

TEST(an_endless_loop_ends_at_the_limit_of_steps)
{
    struct rig r;
    struct hlo_builder body, condition;
    struct hlo_type pred = hlo_scalar_type(ELEMENT_PRED);

    rig_init(&r);
    body = condition = r.b;
    body.computation = hlo_add_computation(&r.m, "body");
    condition.computation = hlo_add_computation(&r.m, "condition");
    hlo_parameter(&body, 0, &pred);
    hlo_parameter(&condition, 0, &pred);
    hlo_while(&r.b, hlo_constant_int(&r.b, &pred, 1), body.computation, condition.computation);
    r.settings.step_limit = 1000;
    assert_int_equal(rig_run_status(&r), -1);
    assert_non_null(strstr(r.err.msg, "1000 steps"));
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap_and_divide_by_zero_to_all_ones),
        cmocka_unit_test(shifts_beyond_the_width_give_nothing_or_the_sign),
        cmocka_unit_test(four_bit_integers_wrap_at_four_bits),
        cmocka_unit_test(bf16_is_rounded_after_each_operation),
        cmocka_unit_test(nan_wins_in_maximum_and_minimum),
        cmocka_unit_test(a_sum_over_the_middle_dimension),
        cmocka_unit_test(a_dot_with_its_dimensions_in_any_order),
        cmocka_unit_test(a_loop_changes_its_state_in_place),
        cmocka_unit_test(an_endless_loop_ends_at_the_limit_of_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
