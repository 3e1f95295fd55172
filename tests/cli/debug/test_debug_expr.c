/* Expressions of the debugger: values against C's own, names, and what is refused. */
#include "base/floats.h"
#include "base/rng.h"
#include "cli/debug/debug_expr.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static struct rig rig;

static const char text[] =
    "start:\n{ s0 = smov 7 ;; s1 = smov -3 ;; v1 = vlaneseq }\n"
    "{ s2 = smov 0x3fc00000 }\n"
    "loop:\n{ p2 = scmp.lt.s32.totalorder s1, 0 ;; vm1 = vcmask 0xffc00 }\n"
    "{ sst [smem:0x40], s1 }\n{ vst [vmem:16] v1 }\n{ vdelay 9 }\n"
    "{ vsyncadd [sflag:3], 5 }\n{ vwait.ge [sflag:1], 1 }\n{ shalt }\n";

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, "v3", NULL);
    rig_load(&rig, 0, text);
    machine_start(rig.m);
    machine_advance(rig.m, 60);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static struct debug_value value_of(const char *expression)
{
    struct debug_value v;
    struct err e;

    if (debug_evaluate(rig.m, 0, 60, expression, &v, &e))
        fail_msg("%s: %s", expression, e.msg);
    return v;
}

static void assert_is(const char *expression, int64_t expected)
{
    struct debug_value v = value_of(expression);

    if (v.is_float || v.i != expected)
        fail_msg("%s is %s%lld, expected %lld", expression, v.is_float ? "float " : "",
                 (long long)v.i, (long long)expected);
}

static void assert_is_float(const char *expression, double expected)
{
    struct debug_value v = value_of(expression);

    if (!v.is_float || v.f != expected)
        fail_msg("%s is %s%.17g, expected %.17g", expression, v.is_float ? "" : "integer ",
                 v.is_float ? v.f : (double)v.i, expected);
}

static void assert_refused(const char *expression, const char *part)
{
    struct debug_value v;
    struct err e;

    if (debug_evaluate(rig.m, 0, 60, expression, &v, &e) == 0)
        fail_msg("\"%s\" is taken", expression);
    if (!strstr(e.msg, part))
        fail_msg("\"%s\" is refused with \"%s\", not \"%s\"", expression, e.msg, part);
}

TEST(arithmetic_is_that_of_c)
{
    assert_is("1 + 2 * 3 - 4", 3);
    assert_is("(1 + 2) * -3", -9);
    assert_is("10 / 3 + 10 % 3", 4);
    assert_is("-7 / 2", -3);
    assert_is("1 << 10 >> 3", 128);
    assert_is("0xff ^ 0x0f | 0x100", 0x1f0);
    assert_is("~0 & 0xf0", 0xf0);
    assert_is("!3 + !0", 1);
    assert_is("- - 5", 5);
    assert_is("8 - 3 - 2", 3);
    assert_is_float("1.5 + 1", 2.5);
    assert_is_float("1 / 4.0", 0.25);
    assert_is_float("2e3", 2000);
    assert_is_float("-.5", -0.5);
}

TEST(comparisons_and_logic_give_0_and_1)
{
    assert_is("3 < 4 && 4 <= 4", 1);
    assert_is("3 > 4 || 4 >= 5", 0);
    assert_is("2 == 2.0", 1);
    assert_is("1.5 != 1.5", 0);
    assert_is("1 || 0 && 0", 1);
    assert_is("5 && 7", 1);
}

TEST(bits_bind_closer_than_comparisons)
{
    assert_is("6 & 3 == 2", 1);
    assert_is("1 | 2 == 3", 1);
    assert_is("1 ^ 1 == 0", 1);
}

TEST(what_is_left_out_cannot_fail)
{
    assert_is("1 || 1 / 0", 1);
    assert_is("0 && smem[99999999]", 0);
    assert_is("s0 == 0 || 14 / s0 == 2", 1);
    assert_is("0 && (1 << 99 || 1.5 & 2 || smem[1.5])", 0);
    assert_is("1 || ~1.5", 1);
    assert_refused("0 || 1 / 0", "1 / 0");
    assert_refused("1 || (", "a value is needed at the end");
}

TEST(extremes_are_defined)
{
    assert_is("-9223372036854775807 - 1", INT64_MIN);
    assert_is("(-9223372036854775807 - 1) / -1", INT64_MIN);
    assert_is("(-9223372036854775807 - 1) % -1", 0);
    assert_is("9223372036854775807 + 1", INT64_MIN);
    assert_is("-(-9223372036854775807 - 1)", INT64_MIN);
    assert_is("1 << 63", INT64_MIN);
    assert_is("s32(1e300)", 0);
    assert_refused("1 << 64", "shift by 64; 0..63 is possible");
    assert_refused("1 >> -1", "shift by -1");
}

TEST(registers_memories_and_counters_have_names)
{
    assert_is("s0", 7);
    assert_is("s1", -3);
    assert_is("p2", 1);
    assert_is("v1[2,5]", 261);
    assert_is("vm1[0,0]", 1);
    assert_is("vm1[0,127]", 1);
    assert_is("vm1[7,1]", 1);
    assert_is("smem[0x40]", -3);
    assert_is("smem[0x40 + 4]", 0);
    assert_is("vmem[17,3]", 131);
    assert_is("hbm[0x1000]", 0);
    assert_is("flag[3]", 5);
    assert_is("cycle", 60);
    assert_is("bundle", 7);
    assert_is("line", 10);
    assert_is("waiting", 1);
    assert_is("halted + faulted", 0);
    assert_is("issued", 7);
    assert_is("copies", 0);
    assert_is("stall.delay > 5", 1);
    assert_is("iar0[2]", 0);
}

TEST(labels_are_bundles_and_count_how_often_they_issued)
{
    assert_is("loop", 2);
    assert_is("start", 0);
    assert_is("count[loop]", 1);
    assert_is("count[8]", 0);
    assert_is("bundle - loop", 5);
}

TEST(casts_take_bits_as_values)
{
    assert_is_float("f32(s2)", 1.5);
    assert_is_float("bf16(0x3fc0)", 1.5);
    assert_is_float("f32(0.1)", (double)0.1f);
    assert_is("s32(0xffffffff)", -1);
    assert_is("u32(s1)", 0xfffffffd);
    assert_is("s32(2.9)", 2);
    assert_is("f32(s2) == 1.5 && f32(s2) < 2", 1);
}

TEST(another_core_has_values_of_its_own)
{
    assert_is("core0.s0", 7);
    assert_is("core1.s0", 0);
    assert_is("core1.halted", 0);
    assert_is("core1.bundle", 0);
    assert_refused("core2.s0", "core 2 out of 0..1");
    assert_refused("count[0] + core1.count[0]", "core 1 has no program");
}

TEST(what_has_no_value_is_refused)
{
    assert_refused("", "a value is needed at the end of the expression");
    assert_refused("1 +", "a value is needed at the end");
    assert_refused("1 2", "an operator is needed at \"2\"");
    assert_refused("(1", "\")\" is needed at the end");
    assert_refused("smem 4", "smem needs an index: smem[0x40]");
    assert_refused("v1", "v1 needs an index: v3[0,5]");
    assert_refused("v1[3]", "\",\" is needed at \"]\"");
    assert_refused("v1[8,0]", "sublane 8 out of 0..7");
    assert_refused("v1[0,128]", "lane 128 out of 0..127");
    assert_refused("vm1[0,-1]", "lane -1 out of 0..127");
    assert_refused("s32", "\"(\" is needed");
    assert_refused("s33", "s33 out of s0..s31");
    assert_refused("p14", "p14 out of p0..p13");
    assert_refused("v64[0,0]", "v64 out of v0..v63");
    assert_refused("vm16[0,0]", "vm16 out of vm0..vm15");
    assert_refused("smem[2]", "smem address 2 is no multiple of 4");
    assert_refused("smem[16384]", "smem 16384 out of 0..");
    assert_refused("vmem[32768,0]", "row 32768 out of 0..32767");
    assert_refused("cmem[0,0]", "the chip has no cmem");
    assert_refused("flag[100000]", "flag 100000 out of 0..");
    assert_refused("count[9]", "bundle 9 out of 0..8");
    assert_refused("stall.mxu", "no stall reason \"mxu\"");
    assert_refused("smen[4]", "nothing is called \"smen\" (did you mean \"smem\"?)");
    assert_refused("lop", "nothing is called \"lop\"");
    assert_refused("smem[1.5]", "an index is a whole number, not 1.5");
    assert_refused("1.5 & 1", "& is for whole numbers");
    assert_refused("~1.5", "~ is for whole numbers");
    assert_refused("3x", "a number is needed at \"3x\"");
    assert_refused("1 / 0", "1 / 0");
    assert_refused("5 % 0", "5 % 0");
    assert_refused("$", "a value is needed at \"$\"");
}

TEST(depth_is_bounded)
{
    char many[4000];

    memset(many, '(', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    assert_refused(many, "levels of brackets");
    memset(many, '-', sizeof(many) - 1);
    assert_refused(many, "levels of brackets");
}

/* a tree of operations with its value by the rules, and its text with brackets everywhere */
static int64_t random_tree(struct rng *g, int depth, char *out, size_t room)
{
    static const char *const op[] = {"+", "-", "*", "&", "|", "^", "<", "==", "&&", "||"};
    char left[600], right[600];
    int64_t a, b;
    uint32_t which;

    if (depth == 0 || rng_below(g, 4) == 0) {
        a = (int64_t)rng_below(g, 2000) - 1000;
        snprintf(out, room, a < 0 ? "(%lld)" : "%lld", (long long)a);
        return a;
    }
    a = random_tree(g, depth - 1, left, sizeof(left));
    b = random_tree(g, depth - 1, right, sizeof(right));
    which = rng_below(g, 10);
    snprintf(out, room, "(%s %s %s)", left, op[which], right);
    switch (which) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return (int64_t)((uint64_t)a * (uint64_t)b);
    case 3: return a & b;
    case 4: return a | b;
    case 5: return a ^ b;
    case 6: return a < b;
    case 7: return a == b;
    case 8: return a && b;
    default: return a || b;
    }
}

TEST(random_trees_have_their_value)
{
    char out[1300];
    struct rng g;

    rng_init(&g, 11);
    for (int i = 0; i < 3000; i++) {
        int64_t expected = random_tree(&g, 4, out, sizeof(out));

        assert_is(out, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_that_of_c),
        cmocka_unit_test(comparisons_and_logic_give_0_and_1),
        cmocka_unit_test(bits_bind_closer_than_comparisons),
        cmocka_unit_test(what_is_left_out_cannot_fail),
        cmocka_unit_test(extremes_are_defined),
        cmocka_unit_test(registers_memories_and_counters_have_names),
        cmocka_unit_test(labels_are_bundles_and_count_how_often_they_issued),
        cmocka_unit_test(casts_take_bits_as_values),
        cmocka_unit_test(another_core_has_values_of_its_own),
        cmocka_unit_test(what_has_no_value_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(random_trees_have_their_value),
    };

    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
