/*
 * Are programs of plain operations, in tuples, calls, loops and branches, the same graphs as the
 * host evaluator says?
 */
#include "import/hlo_text/hlo_text.h"
#include "tests/rigs/lower_rig.h"
#include "tests/test.h"

static void try_all(const char *const *text, size_t count, double tolerance)
{
    for (size_t k = 0; k < count; k++)
        for (uint64_t n = 0; n < 2; n++)
            lower_try(&(struct lower_trial){.text = text[k], .seed = lower_seed() + n,
                                            .tolerance = tolerance,
                                            .slice = n == 0 ? "v5e" : NULL});
}
#define TRY(...) try_all((const char *const[]){__VA_ARGS__}, \
                         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), 0.0)

TEST(elements_moves_and_products_are_nodes)
{
    TRY("HloModule m\n"
        "ENTRY e {\n"
        "  x = f32[5,130] parameter(0)\n"
        "  y = f32[130,9] parameter(1)\n"
        "  s = f32[] parameter(2)\n"
        "  d = f32[5,9] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0},"
        " operand_precision={highest,highest}\n"
        "  b = f32[5,9] broadcast(s), dimensions={}\n"
        "  a = f32[5,9] add(d, b)\n"
        "  t = f32[9,5] transpose(a), dimensions={1,0}\n"
        "  r = f32[45] reshape(t)\n"
        "  l = f32[10] slice(r), slice={[3:33:3]}\n"
        "  z = f32[] constant(1.5)\n"
        "  ROOT p = f32[17] pad(l, z), padding=3_4_0\n"
        "}\n",
        "HloModule m\n"
        "ENTRY e {\n"
        "  x = f32[2,3,4] parameter(0)\n"
        "  p = pred[2,3,4] parameter(1)\n"
        "  i = s32[2,3,4] iota(), iota_dimension=2\n"
        "  c = f32[2,3,4] convert(i)\n"
        "  q = pred[2,3,4] compare(x, c), direction=LT\n"
        "  o = pred[2,3,4] add(p, q)\n"
        "  n = pred[2,3,4] multiply(o, p)\n"
        "  s = f32[2,3,4] select(n, x, c)\n"
        "  v = f32[2,3,4] reverse(s), dimensions={0,2}\n"
        "  f = f32[2,1,4] slice(c), slice={[0:2], [0:1], [0:4]}\n"
        "  k = f32[2,7,4] concatenate(v, x, f), dimensions={1}\n"
        "  ROOT t = (f32[2,7,4], pred[2,3,4]) tuple(k, o)\n"
        "}\n");
}

TEST(calls_fusions_and_tuples_in_tuples_are_gone)
{
    TRY("HloModule m\n"
        "inner { a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n"
        "  ROOT r = f32[4] multiply(a, b) }\n"
        "outer { a = f32[4] parameter(0)\n  n = f32[4] negate(a)\n"
        "  c = f32[4] call(a, n), to_apply=inner\n"
        "  ROOT t = (f32[4], (f32[4], f32[4])) tuple(c, (f32[4], f32[4]) tuple(n, a)) }\n"
        "ENTRY e {\n"
        "  x = (f32[4], (s32[3], f32[4])) parameter(0)\n"
        "  a = f32[4] get-tuple-element(x), index=0\n"
        "  u = (s32[3], f32[4]) get-tuple-element(x), index=1\n"
        "  b = f32[4] get-tuple-element(u), index=1\n"
        "  f = (f32[4], (f32[4], f32[4])) fusion(a), kind=kLoop, calls=outer\n"
        "  g = (f32[4], f32[4]) get-tuple-element(f), index=1\n"
        "  h = f32[4] get-tuple-element(g), index=0\n"
        "  k = f32[4] custom-call(h), custom_call_target=\"Sharding\"\n"
        "  w = f32[4] add(k, b)\n"
        "  q = s32[3] get-tuple-element(u), index=0\n"
        "  ROOT t = ((f32[4], f32[4]), (s32[3], f32[4])) tuple(g, (s32[3], f32[4]) tuple(q, w))\n"
        "}\n");
}

TEST(loops_have_trips_or_a_condition)
{
    TRY("HloModule m\n"                 /* a counter: known trips */
        "body { s = (s32[], f32[8], s32[]) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0\n"
        "  x = f32[8] get-tuple-element(s), index=1\n"
        "  n = s32[] get-tuple-element(s), index=2\n"
        "  c1 = s32[] constant(2)\n  j = s32[] add(i, c1)\n"
        "  b = f32[8] broadcast(f32[] convert(i)), dimensions={}\n  y = f32[8] add(x, b)\n"
        "  ROOT t = (s32[], f32[8], s32[]) tuple(j, y, n) }\n"
        "cond { s = (s32[], f32[8], s32[]) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] get-tuple-element(s), index=2\n"
        "  ROOT c = pred[] compare(n, i), direction=GT }\n"
        "ENTRY e { x = f32[8] parameter(0)\n"
        "  c2 = s32[] constant(1)\n  c3 = s32[] constant(8)\n"
        "  t = (s32[], f32[8], s32[]) tuple(c2, x, c3)\n"
        "  w = (s32[], f32[8], s32[]) while(t), condition=cond, body=body\n"
        "  ROOT y = f32[8] get-tuple-element(w), index=1 }\n",
        "HloModule m\n"                 /* until a value is large */
        "body { s = (f32[], (f32[3], f32[0])) parameter(0)\n"
        "  x = f32[] get-tuple-element(s), index=0\n"
        "  p = (f32[3], f32[0]) get-tuple-element(s), index=1\n"
        "  v = f32[3] get-tuple-element(p), index=0\n"
        "  z = f32[0] get-tuple-element(p), index=1\n"
        "  c4 = f32[] constant(1.75)\n  y = f32[] multiply(x, c4)\n"
        "  b = f32[3] broadcast(y), dimensions={}\n  w = f32[3] add(v, b)\n"
        "  ROOT t = (f32[], (f32[3], f32[0])) tuple(y, (f32[3], f32[0]) tuple(w, z)) }\n"
        "cond { s = (f32[], (f32[3], f32[0])) parameter(0)\n"
        "  x = f32[] get-tuple-element(s), index=0\n"
        "  c5 = f32[] constant(40)\n  ROOT c = pred[] compare(x, c5), direction=LE }\n"
        "ENTRY e { v = f32[3] parameter(0)\n  z = f32[0] parameter(1)\n"
        "  x = f32[] constant(0.3)\n"
        "  t = (f32[], (f32[3], f32[0])) tuple(x, (f32[3], f32[0]) tuple(v, z))\n"
        "  ROOT w = (f32[], (f32[3], f32[0])) while(t), condition=cond, body=body }\n",
        "HloModule m\n"                 /* state without a tuple; never entered */
        "body { x = s32[] parameter(0)\n  c6 = s32[] constant(3)\n  ROOT y = s32[] add(x, c6) }\n"
        "cond { x = s32[] parameter(0)\n"
        "  c7 = s32[] constant(10)\n  ROOT c = pred[] compare(x, c7), direction=LT }\n"
        "ENTRY e { a = s32[] parameter(0)\n"
        "  c8 = s32[] constant(11)\n  f = s32[] while(c8), condition=cond, body=body\n"
        "  w = s32[] while(a), condition=cond, body=body\n"
        "  ROOT t = (s32[], s32[]) tuple(f, w) }\n");
}

TEST(branches_are_chosen_by_predicates_and_by_numbers)
{
    TRY("HloModule m\n"
        "yes { x = f32[6] parameter(0)\n  ROOT y = f32[6] negate(x) }\n"
        "no { t = (f32[6], f32[]) parameter(0)\n"
        "  x = f32[6] get-tuple-element(t), index=0\n"
        "  s = f32[] get-tuple-element(t), index=1\n"
        "  b = f32[6] broadcast(s), dimensions={}\n  ROOT y = f32[6] add(x, b) }\n"
        "ENTRY e { p = pred[] parameter(0)\n  x = f32[6] parameter(1)\n  s = f32[] parameter(2)\n"
        "  t = (f32[6], f32[]) tuple(x, s)\n"
        "  ROOT c = f32[6] conditional(p, x, t), true_computation=yes, false_computation=no }\n",
        "HloModule m\n"
        "b0 { x = s32[3] parameter(0)\n  ROOT t = (s32[3], s32[3]) tuple(x, x) }\n"
        "b1 { x = s32[3] parameter(0)\n  n = s32[3] negate(x)\n"
        "  ROOT t = (s32[3], s32[3]) tuple(n, x) }\n"
        "b2 { x = s32[3] parameter(0)\n  n = s32[3] multiply(x, x)\n"
        "  ROOT t = (s32[3], s32[3]) tuple(x, n) }\n"
        "ENTRY e { i = s32[] parameter(0)\n  x = s32[3] parameter(1)\n"
        "  ROOT c = (s32[3], s32[3]) conditional(i, x, x, x), branch_computations={b0, b1,"
        " b2} }\n");
}

static int conditionals_of(const char *text)
{
    struct lower_settings settings = {.device_count = 1};
    struct lowered l;
    struct arena a;
    struct err e;
    struct hlo_module *m;
    int count = 0;

    arena_init(&a);
    m = lower_read(text, &a);
    assert_int_equal(lower_program(m, &settings, &a, &l, &e), 0);
    for (int i = 0; i < l.graph.node_count; i++)
        count += l.graph.node[i].op == HLO_CONDITIONAL;
    graph_fini(&l.graph);
    hlo_text_fini(m);
    arena_fini(&a);
    return count;
}

#define THREE_BRANCHES \
    "HloModule m\n" \
    "b0 { x = f32[6] parameter(0)\n  ROOT y = f32[6] negate(x) }\n" \
    "b1 { x = f32[6] parameter(0)\n  ROOT y = f32[6] add(x, x) }\n" \
    "b2 { x = f32[6] parameter(0)\n  ROOT y = f32[6] multiply(x, x) }\n"

/* as JAX chooses among platforms: by a number that another conditional gives */
TEST(branches_that_are_always_taken_are_no_conditionals)
{
    static const char *const text[] = {
        THREE_BRANCHES
        "ENTRY e { x = f32[6] parameter(0)\n  i = s32[] constant(1)\n"
        "  ROOT c = f32[6] conditional(i, x, x, x), branch_computations={b0, b1, b2} }\n",
        THREE_BRANCHES                  /* numbers out of range take the last */
        "ENTRY e { x = f32[6] parameter(0)\n  i = s32[] constant(-1)\n"
        "  ROOT c = f32[6] conditional(i, x, x, x), branch_computations={b0, b1, b2} }\n",
        THREE_BRANCHES
        "ENTRY e { x = f32[6] parameter(0)\n  p = pred[] constant(false)\n"
        "  ROOT c = f32[6] conditional(p, x, x), true_computation=b0, false_computation=b2 }\n",
        THREE_BRANCHES
        "ENTRY e { x = f32[6] parameter(0)\n  i = s32[] parameter(1)\n"
        "  ROOT c = f32[6] conditional(i, x), branch_computations={b1} }\n",
        THREE_BRANCHES
        "n0 { t = () parameter(0)\n  ROOT n = s32[] constant(2) }\n"
        "n1 { t = () parameter(0)\n  ROOT n = s32[] constant(1) }\n"
        "ENTRY e { x = f32[6] parameter(0)\n  p = s32[] constant(1)\n  t = () tuple()\n"
        "  i = s32[] conditional(p, t, t), branch_computations={n0, n1}\n"
        "  ROOT c = f32[6] conditional(i, x, x, x), branch_computations={b0, b1, b2} }\n"};

    for (size_t k = 0; k < sizeof(text) / sizeof(text[0]); k++) {
        TRY(text[k]);
        assert_int_equal(conditionals_of(text[k]), 0);
    }
    assert_int_equal(conditionals_of(
        THREE_BRANCHES "ENTRY e { x = f32[6] parameter(0)\n  i = s32[] parameter(1)\n  ROOT c ="
        " f32[6] conditional(i, x, x), branch_computations={b0, b1} }\n"), 1);
}

TEST(other_types_are_widened_or_stand_in_parts)
{
    TRY("HloModule m\n"
        "ENTRY e { x = s64[7] parameter(0)\n  y = s64[7] parameter(1)\n"
        "  m = s64[7] multiply(x, y)\n  s = s64[7] subtract(m, x)\n"
        "  c = pred[7] compare(s, y), direction=GT\n"
        "  ROOT t = (s64[7], pred[7]) tuple(s, c) }\n",
        "HloModule m\n"
        "ENTRY e { x = c64[5] parameter(0)\n  y = c64[5] parameter(1)\n"
        "  ROOT m = c64[5] multiply(x, y) }\n",
        "HloModule m\n"
        "ENTRY e { x = f16[5,3] parameter(0)\n  y = s16[5,3] parameter(1)\n"
        "  c = f16[5,3] convert(y)\n  ROOT a = f16[5,3] add(x, c) }\n");
}

TEST(arrays_without_elements_have_no_place)
{
    TRY("HloModule m\n"
        "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b) }\n"
        "ENTRY e { x = f32[0,4] parameter(0)\n  y = f32[3,4] parameter(1)\n"
        "  c = f32[3,4] concatenate(x, y), dimensions={0}\n"
        "  c9 = f32[] constant(2)\n  s = f32[4] reduce(x, c9), dimensions={0}, to_apply=add\n"
        "  c10 = f32[] constant(5)\n  p = f32[2,4] pad(x, c10), padding=1_1x0_0\n"
        "  d = f32[4,4] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
        "  n = f32[0,4] negate(x)\n"
        "  ROOT t = (f32[3,4], f32[4], f32[2,4], f32[4,4], f32[0,4]) tuple(c, s, p, d, n) }\n",
        "HloModule m\n"
        "ENTRY e { x = c64[5,0,0] parameter(0)\n  y = f32[0,3,3] parameter(1)\n"
        "  z = f32[2,2] parameter(2)\n  c = c64[5,0,0] cholesky(x), lower=true\n"
        "  q = (f32[0,3,3], f32[0,3]) custom-call(y), custom_call_target=\"Qr\"\n"
        "  v = f32[0,3] get-tuple-element(q), index=1\n"
        "  ROOT t = (c64[5,0,0], f32[0,3], f32[2,2]) tuple(c, v, z) }\n");
}

TEST(dimensions_of_one_element_are_left_out_where_there_are_too_many)
{
    TRY("HloModule m\n"
        "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b) }\n"
        "ENTRY e { x = f32[2,3,4,5] parameter(0)\n  w = f32[1,2,1,3,1,4,1,5,1] parameter(1)\n"
        "  r = f32[2,1,3,1,1,4,1,1,5,1] reshape(x)\n"
        "  s = f32[2,1,3,1,1,4,1,1,5,1] reshape(w)\n"
        "  a = f32[2,1,3,1,1,4,1,1,5,1] add(r, s)\n"
        "  t = f32[1,5,1,2,1,3,1,1,4,1] transpose(a), dimensions={9,8,7,0,1,2,3,4,5,6}\n"
        "  l = f32[1,3,1,2,1,3,1,1,2,1] slice(t), slice={[0:1], [1:4], [0:1], [0:2], [0:1], [0:3],"
        " [0:1], [0:1], [0:3:2], [0:1]}\n"
        "  z = f32[] constant(1)\n"
        "  d = f32[3,1,2,1,3,1,2] reduce(l, z), dimensions={0,7,9}, to_apply=add\n"
        "  k = f32[1,3,1,2,1,6,1,1,2,1] concatenate(l, l), dimensions={5}\n"
        "  v = f32[1,3,1,2,1,6,1,1,2,1] reverse(k), dimensions={0,5}\n"
        "  ROOT q = (f32[3,1,2,1,3,1,2], f32[1,3,1,2,1,6,1,1,2,1]) tuple(d, v) }\n");
}

TEST(results_that_take_the_place_of_parameters_say_so)
{
    struct lower_settings settings = {.device_count = 1};
    struct lowered l;
    struct arena a;
    struct err e;
    struct hlo_module *m;

    arena_init(&a);
    m = lower_read("HloModule m, input_output_alias={ {1}: (0, {}, may-alias), {0}: (1, {}) }\n"
                   "ENTRY e { x = s64[4] parameter(0)\n  y = f32[4] parameter(1)\n"
                   "  z = f32[4] add(y, y), metadata={op_name=\"jit(f)/twice\""
                   " source_file=\"dir/model.py\" source_line=12}\n"
                   "  n = s64[4] negate(x)\n  ROOT t = (f32[4], s64[4]) tuple(z, n) }\n", &a);
    assert_int_equal(lower_program(m, &settings, &a, &l, &e), 0);
    assert_int_equal(l.parameter_count, 2);
    assert_int_equal(l.result_count, 2);
    assert_int_equal(l.parameter[0].count, 2);
    assert_int_equal(l.result[0].alias, 1);
    assert_int_equal(l.result[1].alias, 0);
    assert_int_equal(l.graph.output[l.result[0].graph[0]].alias_parameter, l.parameter[1].graph[0]);
    assert_int_equal(l.graph.output[l.result[1].graph[1]].alias_parameter, l.parameter[0].graph[1]);
    assert_string_equal(l.graph.node[l.graph.output[l.result[0].graph[0]].node].source,
                        "jit(f)/twice (model.py:12)");
    assert_string_equal(l.parameter[1].name, "y");
    assert_string_equal(l.result[1].name, "result{1}");
    graph_fini(&l.graph);
    hlo_text_fini(m);
    arena_fini(&a);
}

TEST(all_that_is_refused_is_told_at_once)
{
    struct arena a;
    char *list;

    arena_init(&a);
    list = lower_refused("HloModule m\n"
                         "ENTRY e { x = f32[4] parameter(0)\n"
                         "  a = f32[4] custom-call(x), custom_call_target=\"lapack_sgeev\"\n"
                         "  b = f32[4] add(a, x)\n"
                         "  c = f32[4] custom-call(b), custom_call_target=\"mine\"\n"
                         "  ROOT d = f32[4] multiply(c, f32[4] constant({...})) }\n", &a);
    assert_non_null(strstr(list, "3 a: it calls lapack_sgeev of LAPACK on the host"));
    assert_non_null(strstr(list, "5 c: the custom call mine is not known"));
    assert_non_null(strstr(list, "its elements are left out"));
    list = lower_refused("HloModule m\n"
                         "ENTRY e { t = token[] after-all()\n"
                         "  r = (f32[4], u32[], token[]) recv(t), channel_id=1\n"
                         "  d = (f32[4], token[]) recv-done(r), channel_id=1\n"
                         "  ROOT x = f32[4] get-tuple-element(d), index=0 }\n", &a);
    assert_non_null(strstr(list, "the cores have no operation for it: devices send to each other by "
                                 "collective-permute"));
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_moves_and_products_are_nodes),
        cmocka_unit_test(calls_fusions_and_tuples_in_tuples_are_gone),
        cmocka_unit_test(loops_have_trips_or_a_condition),
        cmocka_unit_test(branches_are_chosen_by_predicates_and_by_numbers),
        cmocka_unit_test(branches_that_are_always_taken_are_no_conditionals),
        cmocka_unit_test(other_types_are_widened_or_stand_in_parts),
        cmocka_unit_test(arrays_without_elements_have_no_place),
        cmocka_unit_test(dimensions_of_one_element_are_left_out_where_there_are_too_many),
        cmocka_unit_test(results_that_take_the_place_of_parameters_say_so),
        cmocka_unit_test(all_that_is_refused_is_told_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
