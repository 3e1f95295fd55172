/* Parts of programs cut out, and what programs cost. */
#include "base/text.h"
#include "import/hlo_text/hlo_text.h"
#include "import/program/count.h"
#include "import/program/extract.h"
#include "tests/test.h"

static const char text[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) }\n"
    "sum { x = f32[8,16] parameter(0) z = f32[] constant(0)\n"
    "  ROOT r = f32[8] reduce(x, z), dimensions={1}, to_apply=add }\n"
    "less { s = (s32[], f32[8]) parameter(0) n = s32[] get-tuple-element(s), index=0\n"
    "  t = s32[] constant(10) ROOT l = pred[] compare(n, t), direction=LT }\n"
    "body { s = (s32[], f32[8]) parameter(0) n = s32[] get-tuple-element(s), index=0\n"
    "  o = s32[] constant(1) k = s32[] add(n, o) v = f32[8] get-tuple-element(s), index=1\n"
    "  e = f32[8] exponential(v) ROOT u = (s32[], f32[8]) tuple(k, e) }\n"
    "ENTRY e { x = f32[8,16] parameter(0) y = f32[16,4] parameter(1)\n"
    "  d = f32[8,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  f = f32[8] fusion(x), kind=kLoop, calls=sum\n"
    "  i = s32[] constant(0) t = (s32[], f32[8]) tuple(i, f)\n"
    "  w = (s32[], f32[8]) while(t), condition=less, body=body, "
    "backend_config={\"known_trip_count\":{\"n\":\"10\"}}\n"
    "  g = f32[8] get-tuple-element(w), index=1 q = f32[8] multiply(g, g)\n"
    "  ROOT r = (f32[8,4], f32[8]) tuple(d, q) }\n";

static struct arena arena;
static struct err err;

static struct hlo_module *read_it(void)
{
    struct hlo_module *m;

    arena_init(&arena);
    m = hlo_text_read(text, strlen(text), "t.hlo", &arena, &err);
    if (!m || err.msg[0] || hlo_verify(m, &err))
        fail_msg("%s", err.msg);
    return m;
}

static void done(struct hlo_module *m)
{
    hlo_text_fini(m);
    arena_fini(&arena);
}

/* printed, it is a whole program */
static void check_whole(const struct hlo_module *made)
{
    struct hlo_text_options o = {.is_short = true};
    struct hlo_module *again;
    size_t bytes;
    char *printed;
    FILE *to = text_memory(&printed, &bytes);

    assert_int_equal(hlo_verify(made, &err), 0);
    hlo_text_print(made, to, &o);
    text_memory_end(to, &printed);
    again = hlo_text_read(printed, bytes, "printed", &arena, &err);
    assert_non_null(again);
    assert_int_equal(again->computation_count, made->computation_count);
    free(printed);
    hlo_text_fini(again);
}

TEST(a_computation_comes_with_what_it_calls)
{
    struct hlo_module *m = read_it(), made;

    assert_int_equal(hlo_extract(m, "%sum", &arena, &made, &err), 0);
    assert_int_equal(made.computation_count, 2);
    assert_int_equal(made.computation[made.entry].parameter_count, 1);
    assert_int_equal(made.computation[made.entry].count, 3);
    check_whole(&made);
    hlo_module_fini(&made);
    done(m);
}

TEST(an_instruction_has_its_operands_as_parameters_and_its_constants)
{
    struct hlo_module *m = read_it(), made;
    const struct hlo_computation *c;

    assert_int_equal(hlo_extract(m, "q", &arena, &made, &err), 0);
    c = &made.computation[made.entry];
    assert_int_equal(made.computation_count, 1);
    assert_int_equal(c->parameter_count, 1);    /* used twice */
    assert_int_equal(c->instruction[c->root].op, OPCODE_MULTIPLY);
    check_whole(&made);
    hlo_module_fini(&made);

    assert_int_equal(hlo_extract(m, "w", &arena, &made, &err), 0);
    assert_int_equal(made.computation_count, 3);
    check_whole(&made);
    hlo_module_fini(&made);

    assert_int_equal(hlo_extract(m, "k", &arena, &made, &err), 0);
    assert_int_equal(made.computation[made.entry].parameter_count, 1);
    assert_int_equal(made.computation[made.entry].count, 3);
    check_whole(&made);
    hlo_module_fini(&made);
    done(m);
}

TEST(a_name_that_nothing_has_is_refused_with_the_nearest)
{
    struct hlo_module *m = read_it(), made;

    assert_int_equal(hlo_extract(m, "bodi", &arena, &made, &err), -1);
    assert_non_null(strstr(err.msg, "\"bodi\" (did you mean \"body\"?)"));
    done(m);
}

TEST(arithmetic_and_bytes_are_those_of_the_types)
{
    struct hlo_module *m = read_it();
    const struct hlo_cost *all = hlo_count_computations(m, &arena), *entry = &all[m->entry];
    const struct hlo_computation *c = &m->computation[m->entry];
    struct hlo_cost dot = hlo_count_instruction(m, c, &c->instruction[2], all);

    assert_true(dot.flops == 2 * 8 * 4 * 16);
    assert_true(dot.bytes == 4 * (8 * 16 + 16 * 4 + 8 * 4));
    /* the dot, the reduction, ten additions and eleven comparisons of the loop, the product */
    assert_true(entry->flops == 2 * 8 * 4 * 16 + 8 * 15 + 10 + 11 + 8);
    assert_true(entry->transcendentals == 10 * 8);
    assert_true(entry->unknown_loops == 0);
    assert_int_equal(hlo_trip_count(&c->instruction[6]), 10);
    done(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_computation_comes_with_what_it_calls),
        cmocka_unit_test(an_instruction_has_its_operands_as_parameters_and_its_constants),
        cmocka_unit_test(a_name_that_nothing_has_is_refused_with_the_nearest),
        cmocka_unit_test(arithmetic_and_bytes_are_those_of_the_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
