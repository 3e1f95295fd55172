/* Do elements keep their value, rewrites their program, and does what nobody needs go? */
#include "base/fp8.h"
#include "import/program/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const struct hlo_type f32 = { .element = ELEMENT_F32 };

/* every code of every small format, and what lies halfway to the next */
static void test_small_floats(void **state)
{
    static const enum hlo_element formats[] = {
        ELEMENT_F4E2M1FN, ELEMENT_F6E2M3FN, ELEMENT_F6E3M2FN, ELEMENT_F8E3M4, ELEMENT_F8E4M3,
        ELEMENT_F8E4M3FN, ELEMENT_F8E4M3B11FNUZ, ELEMENT_F8E4M3FNUZ, ELEMENT_F8E5M2,
        ELEMENT_F8E5M2FNUZ, ELEMENT_F16, ELEMENT_BF16 };
    (void)state;
    for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
        int codes = 1 << hlo_element_bits(formats[f]);

        for (int code = 0; code < codes; code++) {
            uint16_t from = (uint16_t)code, back = 0;
            double value = hlo_element_load(formats[f], &from);

            hlo_element_store(formats[f], value, &back);
            if (isnan(value))
                assert_true(isnan(hlo_element_load(formats[f], &back)));
            else
                assert_int_equal(back, from);
        }
    }
}

static void test_fp8_as_the_machine(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint32_t bits = (uint32_t)i * 42949u;
        float x = f32_from_bits(bits);
        uint8_t got = 0;

        if (isnan(x))
            continue;
        hlo_element_store(ELEMENT_F8E5M2, x, &got);
        assert_int_equal(got, fp8_from_f32_bits(fp8_e5m2, bits));
        hlo_element_store(ELEMENT_F8E4M3FN, x, &got);
        assert_int_equal(got & 0x7f, fp8_from_f32_bits(fp8_e4m3fn, bits) & 0x7f);
        hlo_element_store(ELEMENT_F8E4M3B11FNUZ, x, &got);
        assert_int_equal(got, fp8_from_f32_bits(fp8_e4m3b11fnuz, bits) & 0xff);
    }
}

static void test_integers_wrap(void **state)
{
    int64_t wide = 0;
    int8_t narrow;

    (void)state;
    hlo_element_store_int(ELEMENT_S4, 9, &narrow);
    assert_int_equal(hlo_element_load_int(ELEMENT_S4, &narrow), -7);
    hlo_element_store(ELEMENT_S8, 300.0, &narrow);
    assert_int_equal(narrow, 127);
    hlo_element_store(ELEMENT_U64, 1.8e19, &wide);
    assert_int_equal((uint64_t)wide, 18000000000000000000u);
    hlo_element_store(ELEMENT_S64, -1e30, &wide);
    assert_int_equal(wide, INT64_MIN);
}

/* x + x, twice, the first unused; a called negation */
static void make(struct hlo_module *m, struct arena *a)
{
    struct hlo_builder b = { .module = m };
    int body, x, sum;

    hlo_module_init(m, a, "made");
    b.computation = body = hlo_add_computation(m, "body");
    hlo_unary(&b, OPCODE_NEGATE, hlo_parameter(&b, 0, &f32));
    m->entry = b.computation = hlo_add_computation(m, "main");
    x = hlo_parameter(&b, 0, &f32);
    hlo_binary(&b, OPCODE_MULTIPLY, x, x);
    sum = hlo_binary(&b, OPCODE_ADD, x, x);
    hlo_call(&b, body, 1, &sum);
}

static int inline_calls(struct hlo_rewrite *r, struct hlo_builder *b,
                        const struct hlo_instruction *from, const int *operand)
{
    (void)r;
    return from->op == OPCODE_CALL ? hlo_inline(b, hlo_detail(from)->computation[0], operand) : -1;
}

static void test_rewrite_and_eliminate(void **state)
{
    struct arena a;
    struct hlo_module old, made;
    struct hlo_rewrite r = { .visit = inline_calls };
    struct err e;

    (void)state;
    arena_init(&a);
    make(&old, &a);
    assert_int_equal(hlo_rewrite_module(&old, &made, &a, &r, &e), 0);
    hlo_eliminate_dead(&made);
    assert_int_equal(made.computation_count, 1);
    assert_int_equal(made.entry, 0);
    assert_int_equal(made.computation[0].count, 3);     /* parameter, add, negate */
    assert_int_equal(made.computation[0].root, 2);
    assert_int_equal(made.computation[0].instruction[2].op, OPCODE_NEGATE);
    assert_int_equal(made.computation[0].instruction[2].operand[0], 1);
    hlo_module_fini(&old);
    hlo_module_fini(&made);
    arena_fini(&a);
}

static void test_a_cycle_is_refused(void **state)
{
    struct arena a;
    struct hlo_module m, made;
    struct hlo_rewrite r = { .visit = inline_calls };
    struct err e;
    int itself = 0;

    (void)state;
    arena_init(&a);
    make(&m, &a);
    hlo_add(&m, 0,
            &(struct hlo_instruction){
                .op = OPCODE_CALL,
                .type = &f32,
                .operand_count = 1,
                .operand = &itself,
                .detail = &(struct hlo_detail){.computation_count = 1, .computation = &itself}});
    assert_int_equal(hlo_rewrite_module(&m, &made, &a, &r, &e), -1);
    assert_non_null(strstr(e.msg, "calls itself"));
    hlo_module_fini(&m);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_floats),
        cmocka_unit_test(test_fp8_as_the_machine),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_rewrite_and_eliminate),
        cmocka_unit_test(test_a_cycle_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
