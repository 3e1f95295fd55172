/*
 * hlo_verify refuses what contradicts itself, with place, instruction and rule: a text for each
 * rule. What it takes, test_hlo_samples.c and tests/corpus/hlo_text say.
 */
#include "import/hlo_text/hlo_text.h"
#include "tests/test.h"

#define X "x = f32[4,6] parameter(0) "
#define Z "z = f32[] parameter(1) "
#define I "i = s32[] parameter(2) "
#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) }\n"

static const struct {
    const char *text, *says;
} wrong[] = {
    {"e { " X "y = f32[4,7] abs(x) }", "y (abs): its type is f32[4,7], but what it is made of gives "
                                       "f32[4,6]"},
    {"e { " X Z "y = f32[4,6] add(x, z) }", "operands 0 and 1 are f32[4,6] and f32[]"},
    {"e { " X "y = f32[4,6] add(x) }", "it has 1 operands, and needs 2"},
    {"e { " X "y = f32[4,6] not(x) }", "it takes no f32"},
    {"e { " X "y = f32[4,6] tuple(x) }", "its type is f32[4,6]"},
    {"e { " X "y = f32[6,5] broadcast(x), dimensions={1,0} }", "dimension 0 of the operand is 4"},
    {"e { " X "y = f32[4,6,2] broadcast(x), dimensions={0,0} }", "name dimension 0 twice"},
    {"e { " X "y = f32[5,5] reshape(x) }", "24 elements become 25"},
    {"e { " X "y = f32[4,6] transpose(x), dimensions={1,0} }", "gives f32[6,4]"},
    {"e { " X "y = f32[4,6] transpose(x), dimensions={1,2} }", "dimension 2, and there are 2"},
    {"e { " X "y = f32[2,6] slice(x), slice={[3:5], [0:6]} }", "[3:5:1] is none of 4"},
    {"e { " X "y = f32[4,6] slice(x), slice={[0:4]} }", "1 ranges are given for 2"},
    {"e { " X "y = f32[9,6] concatenate(x, x), dimensions={0} }", "gives f32[8,6]"},
    {"e { " X Z "y = f32[1,6] pad(x, z), padding=-5_0x0_0 }", "cannot be padded"},
    {"e { " X Z I "y = f32[2,6] dynamic-slice(x, i), dynamic_slice_sizes={2,6} }",
     "1 starts for 2 dimensions"},
    {"e { " X Z I "y = f32[5,6] dynamic-slice(x, i, i), dynamic_slice_sizes={5,6} }",
     "5 elements are taken of 4"},
    {"e { " X "y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
     "contracting dimensions are of 6 and 4"},
    {"e { " X "y = f32[4,6] iota(), iota_dimension=2 }", "its dimension is 2, and it has 2"},
    {"e { " X "y = pred[4,6] convert(x) w = f32[4] convert(y) }", "gives f32[4,6]"},
    {"e { " X "y = s64[4,6] bitcast-convert(x) }", "last dimension must have 2"},
    {ADD "e { " X Z "y = f32[4] reduce(x, z), dimensions={0}, to_apply=add }", "gives f32[6]"},
    {ADD "e { " X Z "y = f32[4] reduce(x, x), dimensions={0}, to_apply=add }",
     "operand 1 has 2 dimensions, and needs 0"},
    {"f { a = f32[] parameter(0) }\ne { " X Z "y = f32[6] reduce(x, z), dimensions={0}, to_apply=f "
     "}", "f has 1 parameters, and needs 2"},
    {ADD "e { " X Z "y = f32[2,6] reduce-window(x, z), window={size=2x1 stride=3x1}, to_apply=add }",
     "gives f32[1,6]"},
    {ADD "e { " X Z "y = f32[2,6] reduce-window(x, z), window={size=2}, to_apply=add }",
     "the window has 1 dimensions, and the array 2"},
    {ADD "e { " X "y = f32[4,6] call(x), to_apply=add }", "add has 2 parameters, and needs 1"},
    {"f { a = f32[3] parameter(0) }\ne { " X "y = f32[3] call(x), to_apply=f }",
     "parameter 0 of f is f32[3], and gets f32[4,6]"},
    {"f { a = f32[4,6] parameter(0) }\ne { " X "y = f32[4,6] while(x), condition=f, body=f }",
     "its condition must give pred[]"},
    {"f { a = f32[4,6] parameter(0) }\ne { " X Z
     "y = f32[4,6] conditional(z, x), branch_computations={f} }", "it chooses by"},
    {"e { " X "t = (f32[4,6]) tuple(x) y = f32[4,6] get-tuple-element(t), index=1 }",
     "element 1 of a value that has 1"},
    {"e { " X "y = f32[8,6] all-gather(x), dimensions={0}, replica_groups={{0,1,2}} }",
     "not 4 for each of 3 devices"},
    {"e { " X "y = f32[4,6] copy-done(x) }", "it takes no f32"},
    {"e { " X "y = f32[4,6] cholesky(x) }", "square matrices"},
    {"e { " X "y = c64[4,6] fft(x), fft_type=RFFT, fft_length={6} }", "gives c64[4,4]"},
    {"e { " X I "w = s32[2,1] broadcast(i), dimensions={} y = f32[2,6] gather(x, w), "
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, "
     "slice_sizes={1,6} z = f32[] parameter(1) }", "each index has 1 numbers, and is for 2"},
    {"HloModule m, entry_computation_layout={(f32[5]{0})->f32[4,6]{1,0}}\nENTRY e { " X "}",
     "entry_computation_layout says f32[5]"},
    {"HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }\nENTRY e { " X "}",
     "input_output_alias 0"},
    {"e { " X "y = (f32[4,6], f32[4,6]) tuple(x, x), sharding={{replicated}, {replicated}, "
     "{replicated}} }", "3 shardings for 2 arrays"},
};

TEST(each_broken_rule_is_told_with_place_and_instruction)
{
    for (size_t n = 0; n < sizeof(wrong) / sizeof(*wrong); n++) {
        struct hlo_module *m;
        struct arena a;
        struct err e;

        arena_init(&a);
        m = hlo_text_read(wrong[n].text, strlen(wrong[n].text), "w.hlo", &a, &e);
        if (!m || e.msg[0])
            fail_msg("%s: %s", wrong[n].text, e.msg);
        if (hlo_verify(m, &e) == 0 || !strstr(e.msg, wrong[n].says))
            fail_msg("%s: \"%s\" instead of \"%s\"", wrong[n].text, e.msg, wrong[n].says);
        assert_string_equal(e.file, "w.hlo");
        assert_true(e.line >= 1 && e.col >= 1);
        hlo_text_fini(m);
        arena_fini(&a);
    }
}

/* What no reader makes: programs that our own code has spoilt. */
TEST(references_that_lead_nowhere_are_refused)
{
    static const char text[] = ADD "e { " X Z "y = f32[6] reduce(x, z), dimensions={0}, "
                                   "to_apply=add }";
    struct hlo_computation *e_;
    struct hlo_module *m;
    struct arena a;
    struct err e;
    int self = 1;

    arena_init(&a);
    m = hlo_text_read(text, strlen(text), "w.hlo", &a, &e);
    assert_non_null(m);
    assert_int_equal(hlo_verify(m, &e), 0);
    e_ = &m->computation[1];
    e_->instruction[2].detail->computation = &self;
    assert_int_equal(hlo_verify(m, &e), -1);
    assert_non_null(strstr(e.msg, "calls itself"));
    self = 2;
    assert_int_equal(hlo_verify(m, &e), -1);
    assert_non_null(strstr(e.msg, "no computation 2"));
    self = 0;
    e_->instruction[2].operand = (const int[]){2, 1};
    assert_int_equal(hlo_verify(m, &e), -1);
    assert_non_null(strstr(e.msg, "does not stand before"));
    e_->instruction[2].operand = (const int[]){0, 1};
    e_->instruction[1].label = hlo_label("x");
    assert_int_equal(hlo_verify(m, &e), -1);
    assert_non_null(strstr(e.msg, "two instructions"));
    e_->root = 3;
    assert_int_equal(hlo_verify(m, &e), -1);
    hlo_text_fini(m);
    arena_fini(&a);
}

TEST(a_module_that_is_scheduled_may_round_between_floats)
{
    static const char text[] = "HloModule m, is_scheduled=true\nENTRY e { x = f32[2] parameter(0)\n"
                               "ROOT y = bf16[2] copy(x) }";
    struct hlo_module *m;
    struct arena a;
    struct err e;

    arena_init(&a);
    m = hlo_text_read(text, strlen(text), "w.hlo", &a, &e);
    assert_int_equal(hlo_verify(m, &e), 0);
    m->is_scheduled = false;
    assert_int_equal(hlo_verify(m, &e), -1);
    hlo_text_fini(m);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_rule_is_told_with_place_and_instruction),
        cmocka_unit_test(references_that_lead_nowhere_are_refused),
        cmocka_unit_test(a_module_that_is_scheduled_may_round_between_floats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
