/* How often loops run that end by several conditions, or where a loop before them has ended. */
#include "base/rng.h"
#include "import/hlo_text/hlo_text.h"
#include "import/structure/structure.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <string.h>

/* Both loops count i by s and j by t, the first while both conditions hold, the second up to what
 * the first has left; n goes round and is never changed. */
static const char text[] =
    "HloModule m\n"
    "body { x = (s32[], s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(x), index=0\n"
    " j = s32[] get-tuple-element(x), index=1\n n = s32[] get-tuple-element(x), index=2\n"
    " s = s32[] constant(%d)\n t = s32[] constant(%d)\n a = s32[] add(i, s)\n b = s32[] add(j, t)\n"
    " ROOT o = (s32[], s32[], s32[]) tuple(a, b, n)\n}\n"
    "both { x = (s32[], s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(x), index=0\n"
    " j = s32[] get-tuple-element(x), index=1\n n = s32[] get-tuple-element(x), index=2\n"
    " m = s32[] constant(%d)\n c = pred[] compare(i, m), direction=%s\n"
    " d = pred[] compare(n, j), direction=GT\n e = pred[] and(c, d)\n"
    " ROOT r = pred[] reshape(e)\n}\n"
    "up { x = (s32[], s32[]) parameter(0)\n k = s32[] get-tuple-element(x), index=0\n"
    " one = s32[] constant(1)\n l = s32[] add(k, one)\n h = s32[] get-tuple-element(x), index=1\n"
    " ROOT o = (s32[], s32[]) tuple(l, h)\n}\n"
    "below { x = (s32[], s32[]) parameter(0)\n k = s32[] get-tuple-element(x), index=0\n"
    " h = s32[] get-tuple-element(x), index=1\n ROOT c = pred[] compare(k, h), direction=LT\n}\n"
    "ENTRY e {\n i = s32[] constant(%d)\n j = s32[] constant(%d)\n n = s32[] constant(%d)\n"
    " x = (s32[], s32[], s32[]) tuple(i, j, n)\n"
    " first = (s32[], s32[], s32[]) while(x), condition=both, body=body\n"
    " left = s32[] get-tuple-element(first), index=%d\n z = s32[] constant(0)\n"
    " y = (s32[], s32[]) tuple(z, left)\n"
    " second = (s32[], s32[]) while(y), condition=below, body=up\n"
    " ROOT o = s32[] get-tuple-element(second), index=0\n}\n";

static int within(struct rng *r, int low, int high)
{
    return low + (int)(rng_below(r, (uint32_t)(high - low + 1)));
}

static bool goes_on(int x, const char *direction, int bound)
{
    return direction[0] == 'L' ? (direction[1] == 'T' ? x < bound : x <= bound) : x != bound;
}

static void check_drawn(struct rng *r)
{
    static const char *const directions[] = { "LT", "LE", "NE" };
    const char *direction = directions[within(r, 0, 2)];
    int s = within(r, 1, 5), t = within(r, 1, 4), i = within(r, -9, 9), j = within(r, -9, 9);
    int bound = within(r, -9, 60), n = within(r, -9, 60), part = within(r, 0, 2), rounds = 0;
    int left[3] = { i, j, n };
    struct arena a;
    struct err e = {0};
    struct hlo_module *m;
    char *program;
    const struct hlo_computation *entry;
    int64_t found[2], count = 0;

    arena_init(&a);
    program = arena_printf(&a, text, s, t, bound, direction, i, j, n, part);
    for (; rounds < 200 && goes_on(left[0], direction, bound) && n > left[1]; rounds++) {
        left[0] += s;
        left[1] += t;
    }
    m = hlo_text_read(program, strlen(program), "drawn", &a, &e);
    assert_non_null(m);
    entry = &m->computation[m->entry];
    for (int k = 0; k < entry->count; k++)
        if (entry->instruction[k].op == OPCODE_WHILE)
            found[count++] = structure_find_trips(m, m->entry, &entry->instruction[k]);
    assert_int_equal(count, 2);
    /* a counter that jumps over what it is to meet is not followed, though the other one ends it */
    if (direction[0] != 'N' || found[0] >= 0) {
        assert_int_equal(found[0], rounds);
        assert_int_equal(found[1], left[part] > 0 ? left[part] : 0);
    }
    hlo_text_fini(m);
    arena_fini(&a);
}

TEST(drawn_loops_run_as_often_as_they_are_said_to)
{
    int count = seeds_count(400);

    seeds_print(count);
    for (int k = 0; k < count; k++) {
        struct rng r;

        rng_init(&r, seeds_at(k));
        check_drawn(&r);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_loops_run_as_often_as_they_are_said_to),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
