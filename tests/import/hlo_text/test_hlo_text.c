/* What HLO text says is what the program is: each form that printers and people write. */
#include "base/text.h"
#include "import/hlo_text/hlo_text.h"
#include "import/program/build.h"
#include "tests/test.h"

#include <math.h>

static struct arena arena;
static struct err err;

static struct hlo_module *read_text(const char *text)
{
    arena_init(&arena);
    return hlo_text_read(text, strlen(text), "t.hlo", &arena, &err);
}

static struct hlo_module *read_whole(const char *text)
{
    struct hlo_module *m = read_text(text);
    char message[900];

    if (!m || err.msg[0])
        fail_msg("%s", err_format(&err, message, sizeof(message)));
    return m;
}

static void done(struct hlo_module *m)
{
    hlo_text_fini(m);
    arena_fini(&arena);
}

static const struct hlo_instruction *find(const struct hlo_module *m, const char *name)
{
    for (int c = 0; c < m->computation_count; c++) {
        for (int n = 0; n < m->computation[c].count; n++) {
            if (strcmp(hlo_name(&m->computation[c].instruction[n]), name) == 0)
                return &m->computation[c].instruction[n];
        }
    }
    fail_msg("there is no %s", name);
    return NULL;
}

static void expect_type(const struct hlo_module *m, const char *name, const char *type)
{
    char text[200];

    assert_string_equal(hlo_type_print(find(m, name)->type, text, sizeof(text)), type);
}

static void expect_error(const char *text, int line, int col, const char *says)
{
    struct hlo_module *m = read_text(text);

    if (m || !strstr(err.msg, says))
        fail_msg("\"%s\" instead of \"%s\"", m ? "no error" : err.msg, says);
    assert_int_equal(err.line, line);
    assert_int_equal(err.col, col);
    done(m);
}

TEST(percent_signs_and_types_of_operands_may_stand_or_not)
{
    struct hlo_module *m = read_whole("HloModule m\nENTRY %e {\n%x = f32[2]{0} parameter(0)\n"
                                      "y = f32[2] negate(f32[2]{0} %x)\nROOT z = f32[2] abs(y) }");

    assert_string_equal(m->name, "m");
    assert_int_equal(m->entry, 0);
    assert_int_equal(m->computation[0].root, 2);
    assert_int_equal(find(m, "z")->operand[0], 1);
    assert_int_equal(find(m, "z")->line, 5);
    assert_int_equal(find(m, "z")->col, 1);
    done(m);
}

TEST(types_that_are_left_out_are_worked_out)
{
    struct hlo_module *m = read_whole(
        "add { a = f32[] parameter(0) b = f32[] parameter(1) c = add(a, b) }\n"
        "e { x = f32[2,3] parameter(0) i = f32[] constant(0)\n"
        "d = dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
        "r = reduce(x, i), dimensions={0}, to_apply=add\n"
        "t = tuple(d, r) g = get-tuple-element(t), index=1\n"
        "ROOT n = compare(negate(g), g), direction=LT }");

    expect_type(m, "d", "f32[2,2]");
    expect_type(m, "t", "(f32[2,2], f32[3])");
    expect_type(m, "n", "pred[3]");
    assert_int_equal(m->entry, 1);      /* the last */
    done(m);
}

TEST(elements_of_tuples_written_behind_a_name_are_made_once)
{
    struct hlo_module *m = read_whole(
        "e { x = f32[2] parameter(0) t = (f32[2], (s32[], f32[2])) parameter(1)\n"
        "ROOT y = f32[2] add(t#1#1, t#1#1) }");
    const struct hlo_instruction *y = find(m, "y");

    assert_int_equal(m->computation[0].count, 5);
    assert_int_equal(y->operand[0], y->operand[1]);
    assert_int_equal(m->computation[0].instruction[y->operand[0]].op, OPCODE_GET_TUPLE_ELEMENT);
    assert_int_equal(m->computation[0].instruction[y->operand[0]].index, 1);
    done(m);
}

TEST(a_step_of_an_operation_becomes_a_computation_that_is_called)
{
    struct hlo_module *m = read_whole(
        "HloModule m\nENTRY e { x = f32[8] parameter(0)\n"
        "s = ((f32[8]), f32[8], u32[]) all-to-all-start(x), dimensions={0}, "
        "replica_groups={{0,1}}, async_execution_thread=\"side\"\n"
        "u = ((f32[8]), f32[8], u32[]) all-to-all-update(s)\nROOT d = f32[8] all-to-all-done(u) }");
    const struct hlo_instruction *s = find(m, "s");
    const struct hlo_computation *c = &m->computation[hlo_detail(s)->computation[0]];

    assert_int_equal(s->op, OPCODE_ASYNC_START);
    assert_int_equal(find(m, "u")->op, OPCODE_ASYNC_UPDATE);
    assert_int_equal(find(m, "d")->op, OPCODE_ASYNC_DONE);
    assert_int_equal(c->instruction[c->root].op, OPCODE_ALL_TO_ALL);
    assert_int_equal(hlo_detail(&c->instruction[c->root])->dims.item[0], 0);
    assert_string_equal(c->thread, "side");
    assert_int_equal(hlo_verify(m, &err), 0);
    done(m);
}

TEST(groups_of_devices_are_the_same_in_every_form)
{
    static const char *const forms[] = {"{{0,4},{1,5},{2,6},{3,7}}", "[4,2]<=[2,4]T(1,0)",
                                        "mesh['a'=2,'b'=4] {'a'}",
                                        "mesh['a'=2,'b'=2,'c'=2]{'a'}", "mesh['x'=8]{'x':(1)2}"};
    static const int64_t ids[] = {0, 4, 1, 5, 2, 6, 3, 7};
    char text[400];

    for (size_t f = 0; f < sizeof(forms) / sizeof(*forms); f++) {
        const struct hlo_groups *g;
        struct hlo_module *m;

        snprintf(text, sizeof(text), "e { x = f32[2] parameter(0) ROOT g = f32[4] all-gather(x), "
                 "dimensions={0}, replica_groups=%s, channel_id=3 }", forms[f]);
        m = read_whole(text);
        g = hlo_detail(find(m, "g"))->groups;
        assert_int_equal(g->size.count, 4);
        assert_int_equal(g->id.count, 8);
        assert_memory_equal(g->id.item, ids, sizeof(ids));
        assert_int_equal(g->channel_id, 3);
        done(m);
    }
}

TEST(numbers_are_those_of_their_type)
{
    struct hlo_module *m = read_whole(
        "e { a = f32[5] constant({0.1, -inf, nan, 16777217, 1e-45}) b = bf16[] constant(1.003)\n"
        "c = u64[1] constant({18446744073709551615}) d = c64[2] constant({(1, -2), 3})\n"
        "s = s32[2,2] constant({ { 7, 7 }, { 7, 7 } }) h = s4[2] constant({-8, 7})\n"
        "f = f32[] constant(nan(0x5)) ROOT l = f32[9,9] constant({...}) }");
    const float *a = find(m, "a")->literal->data, *d = find(m, "d")->literal->data;
    uint32_t bits;

    assert_true(a[0] == 0.1f && isinf(a[1]) && a[1] < 0 && isnan(a[2]) && a[3] == 16777216);
    assert_true(a[4] > 0 && d[0] == 1 && d[1] == -2 && d[2] == 3 && d[3] == 0);
    assert_int_equal(*(const uint16_t *)find(m, "b")->literal->data, 0x3f80);
    assert_true(*(const uint64_t *)find(m, "c")->literal->data == UINT64_MAX);
    assert_true(find(m, "s")->literal->is_splat);
    assert_int_equal(*(const int8_t *)find(m, "h")->literal->data, -8);
    memcpy(&bits, find(m, "f")->literal->data, 4);
    assert_int_equal(bits, 0x7f800005);
    assert_null(find(m, "l")->literal->data);
    done(m);
}

TEST(layouts_windows_labels_and_paddings_are_taken_apart)
{
    struct hlo_module *m = read_whole(
        "e { x = f32[2,8,8,4]{3,0,2,1:T(8,128)(2,1)S(1)} parameter(0) k = f32[3,3,4,5] parameter(1)\n"
        "c = f32[2,4,8,5] convolution(x, k), dim_labels=b01f_01io->b01f, "
        "window={size=3x3 stride=2x1 pad=0_1x-1_3 rhs_reversal=0x1}\nz = f32[] constant(0)\n"
        "p = f32[2,8,10,15] pad(x, z), padding=0_0x0_0x3_-1x1_1_3\n"
        "x_2 = f32[2,8,10,15] abs(p)\nROOT r = f32[2,8,10,15] add(p, x_2) }");
    const struct hlo_layout *l = find(m, "x")->type->layout;
    const struct hlo_window *w = hlo_detail(find(m, "c"))->window;

    assert_int_equal(l->minor_to_major.item[1], 0);
    assert_int_equal(l->tile_count, 2);
    assert_int_equal(l->tile[1].item[0], 2);
    assert_int_equal(l->memory_space, 1);
    assert_int_equal(w[0].stride, 2);
    assert_int_equal(w[1].pad_low, -1);
    assert_true(w[1].is_reversed && !w[0].is_reversed);
    assert_int_equal(hlo_detail(find(m, "c"))->conv->kernel_out, 3);
    assert_int_equal(hlo_detail(find(m, "p"))->interior.item[3], 3);
    assert_int_equal(hlo_verify(m, &err), 0);
    done(m);
}

TEST(what_nobody_reads_is_kept_as_it_stands)
{
    struct hlo_module *m = read_whole(
        "HloModule m, schedule={a, b}\nENTRY e { ROOT x = f32[] parameter(0), unheard_of={[1,2], "
        "\"}\"}, sharding={replicated}, metadata={op_name=\"a\\tb\" source_line=3 more={1} less=2}, "
        "backend_config={\"a\":{\"b\":\"}\"}}, parameter_replication={false} }");
    const struct hlo_instruction *x = find(m, "x");

    assert_string_equal(m->other.item[0].value, "{a, b}");
    assert_int_equal(hlo_detail(x)->other.count, 2);
    assert_string_equal(hlo_detail(x)->other.item[0].value, "{[1,2], \"}\"}");
    assert_string_equal(hlo_detail(x)->config, "{\"a\":{\"b\":\"}\"}}");
    assert_string_equal(hlo_place_of(x)->op_name, "a\tb");
    assert_string_equal(hlo_place_more(hlo_place_of(x))->rest, "more={1} less=2");
    done(m);
}

TEST(dimensions_of_one_element_are_stretched_by_a_reshape_before)
{
    struct hlo_module *m = read_whole("e { x = f32[1,3] parameter(0)\n"
                                      "ROOT y = f32[2,3] broadcast(x), dimensions={0,1} }");
    const struct hlo_instruction *y = find(m, "y");

    assert_int_equal(m->computation[0].instruction[y->operand[0]].op, OPCODE_RESHAPE);
    assert_int_equal(hlo_detail(y)->dims.count, 1);
    assert_int_equal(hlo_detail(y)->dims.item[0], 1);
    assert_int_equal(hlo_verify(m, &err), 0);
    done(m);
}

TEST(a_text_that_ends_in_the_middle_gives_the_computations_before)
{
    struct hlo_module *m = read_text("HloModule m\nf { x = f32[] parameter(0) }\n"
                                     "ENTRY e { x = f32[] parameter(0)\n y = f32[] neg");

    assert_non_null(m);
    assert_non_null(strstr(err.msg, "ends in the middle of a computation; 1 whole one"));
    assert_int_equal(err.line, 4);
    assert_int_equal(m->computation_count, 1);
    assert_int_equal(m->entry, -1);
    assert_int_equal(hlo_verify(m, &(struct err){.line = 0}), 0);
    done(m);
}

TEST(mistakes_are_told_with_their_place)
{
    expect_error("e { x = f33[2] parameter(0) }", 1, 9, "(did you mean \"f32\"?)");
    expect_error("e { x = f32[2] parameter(0)\n  y = f32[2] nagate(x) }", 2, 14,
                 "\"nagate\" is no operation (did you mean \"negate\"?)");
    expect_error("e {\n  ROOT y = f32[2] abs(x) }", 2, 23, "no instruction above is named x");
    expect_error("e { x = f32[2] parameter(0) x = f32[2] abs(x) }", 1, 29,
                 "x is the name of two instructions");
    expect_error("e { x = f32[2] parameter(0) y = f32[2] call(x), to_apply=f }", 1, 58,
                 "no computation above is named f");
    expect_error("e { x = f32[2] parameter(0) y = f32[2] abs(f32[3] x) }", 1, 44,
                 "said to be f32[3], but x is f32[2]");
    expect_error("e { x = f32[3] constant({1, 2}) }", 1, 30, "has 2 elements");
    expect_error("e { x = f32[1] constant({1, 2}) }", 1, 27, "more elements than its type");
    expect_error("e { x = s8[] constant(200) }", 1, 23, "200 is no value of s8");
    expect_error("e { x = f32[3,3] constant(1) }", 1, 27, "expected '{'");
    expect_error("e { x = f32[1000000000] constant({1}) }", 1, 34, "more than the text");
    expect_error("e { x = f32[2] parameter(1) }", 1, 5, "parameter 1 of 1");
    expect_error("e { x = f32[2] parameter(0) y = f32[] iota() }", 1, 29,
                 "iota needs the attribute iota_dimension");
    expect_error("e { x = f32[2]{0,1} parameter(0) }", 1, 15, "more than the type's 1");
    expect_error("e (x: f32[3]) -> f32[2] { x = f32[2] parameter(0) }", 1, 27,
                 "x is f32[2], but the head of e says f32[3]");
    expect_error("e { x = pred[] parameter(0) y = pred[] compare(x, x), direction=LR }", 1, 65,
                 "none of EQ, NE, LT");
    expect_error("HloModule m, is_scheduled=maybe", 1, 27, "true or false");
    expect_error("", 1, 1, "expected a computation");
}

TEST(what_is_nested_too_deeply_is_refused)
{
    char *text = mem_alloc(400000);
    size_t used = (size_t)sprintf(text, "e { x = ");

    arena_init(&arena);
    memset(text + used, '(', 100000);
    assert_null(hlo_text_read(text, strlen(text), "t", &arena, &err));
    assert_non_null(strstr(err.msg, "levels are nested"));
    used = (size_t)sprintf(text, "e { x = f32[] parameter(0) y = f32[] ");
    for (int n = 0; n < 20000; n++)
        used += (size_t)sprintf(text + used, "abs(");
    assert_null(hlo_text_read(text, strlen(text), "t", &arena, &err));
    assert_non_null(strstr(err.msg, "levels are nested"));
    mem_free(text);
    arena_fini(&arena);
}

TEST(many_equal_elements_are_printed_as_one_and_a_broadcast)
{
    struct hlo_text_options o = {.is_short = true};
    struct hlo_module *m, *again;
    size_t bytes;
    char *text;
    FILE *to;

    arena_init(&arena);
    m = arena_alloc(&arena, sizeof(*m));
    hlo_module_init(m, &arena, "m");
    m->entry = hlo_add_computation(m, "e");
    {
        struct hlo_builder b = {.module = m, .computation = m->entry};
        struct hlo_type t = hlo_array_type(&arena, ELEMENT_S32, 2, (int64_t[]){100, 100});

        hlo_constant_int(&b, &t, 7);
    }
    to = text_memory(&text, &bytes);
    hlo_text_print(m, to, &o);
    text_memory_end(to, &text);
    again = hlo_text_read(text, bytes, "printed", &arena, &err);
    assert_non_null(again);
    assert_true(bytes < 200);
    assert_int_equal(again->computation[0].instruction[1].op, OPCODE_BROADCAST);
    assert_int_equal(hlo_verify(again, &err), 0);
    free(text);
    hlo_text_fini(again);
    done(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percent_signs_and_types_of_operands_may_stand_or_not),
        cmocka_unit_test(types_that_are_left_out_are_worked_out),
        cmocka_unit_test(elements_of_tuples_written_behind_a_name_are_made_once),
        cmocka_unit_test(a_step_of_an_operation_becomes_a_computation_that_is_called),
        cmocka_unit_test(groups_of_devices_are_the_same_in_every_form),
        cmocka_unit_test(numbers_are_those_of_their_type),
        cmocka_unit_test(layouts_windows_labels_and_paddings_are_taken_apart),
        cmocka_unit_test(what_nobody_reads_is_kept_as_it_stands),
        cmocka_unit_test(dimensions_of_one_element_are_stretched_by_a_reshape_before),
        cmocka_unit_test(a_text_that_ends_in_the_middle_gives_the_computations_before),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(what_is_nested_too_deeply_is_refused),
        cmocka_unit_test(many_equal_elements_are_printed_as_one_and_a_broadcast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
