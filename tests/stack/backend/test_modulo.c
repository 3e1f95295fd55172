/* Do loops whose rounds overlap compute what their rounds one after the other compute? */
#include "tests/test.h"

#include "isa/check.h"
#include "sim/chip/limits.h"
#include "stack/backend/vcode.h"
#include "tests/generate/hand_vcode.h"
#include "tests/generate/random_vcode.h"
#include "tests/reference/symbolic.h"
#include "tests/rigs/whole_program.h"

#define SPILL_TILES ((SYMBOLIC_ROWS - SYMBOLIC_SPILL_ROW) / 8)

struct compiled {
    struct arena arena;
    struct isa_program program;
    struct vcode_stats stats;
};

static void compile(struct compiled *p, const struct vcode *c, const struct chip *chip)
{
    struct isa_limits limits;
    struct err e;

    arena_init(&p->arena);
    chip_isa_limits(chip, &limits);
    if (whole_program(c, chip, SYMBOLIC_SPILL_ROW, SPILL_TILES, &p->arena, &p->program,
                      &p->stats, &e) || isa_check(&p->program, &limits, &e))
        fail_msg("%s", e.msg);
}

static void assert_same_effect(const struct vcode *c, const struct chip *chip,
                               const struct isa_program *p)
{
    struct symbolic x, y;

    symbolic_init(&x, chip, c->vreg_count + 1, c->mask_count + 1);
    symbolic_init(&y, chip, ISA_VREG_MAX, ISA_MASK_COUNT);
    symbolic_run_vcode(&x, c);
    symbolic_run_program(&y, p);
    symbolic_assert_equal(&x, &y);
    symbolic_fini(&x);
    symbolic_fini(&y);
}

/* loops that overlapped */
static int check_random(const struct random_vcode *r, const struct chip *chip)
{
    struct chip units = hand_chip();
    struct arena arena;
    struct vcode c;
    struct compiled p;
    int loops;

    arena_init(&arena);
    vcode_init(&c, &arena);
    random_vcode_emit(&c, &units, r);
    compile(&p, &c, chip);
    assert_same_effect(&c, chip, &p.program);
    assert_in_range(p.stats.vreg_peak, 1, chip->core_vregs);
    loops = p.stats.overlapped_loops;
    arena_fini(&p.arena);
    vcode_fini(&c);
    arena_fini(&arena);
    return loops;
}

TEST(random_loops_keep_their_meaning_on_any_chip)
{
    struct chip plain = hand_chip(), wide = hand_wide_chip();
    int plain_loops = 0, narrow_loops = 0, wide_loops = 0, count = test_is_long() ? 5000 : 60;

    for (int seed = 1; seed <= count; seed++) {
        struct random_vcode r = {.seed = (uint64_t)seed, .op_count = 3 + seed * 7 % 60,
                                 .reach = 3 + seed % 20, .has_steps = true};
        struct chip narrow = hand_narrow_chip(8 + seed % 9);

        plain_loops += check_random(&r, &plain);
        narrow_loops += check_random(&r, &narrow);
        wide_loops += check_random(&r, &wide);
    }
    printf("%d of %d loops overlap on a plain chip, %d on a narrow one, %d on a wide one\n",
           plain_loops, 3 * count, narrow_loops, wide_loops);
    assert_true(plain_loops > count);
    assert_true(narrow_loops > count / 3);
    assert_true(wide_loops > count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_loops_keep_their_meaning_on_any_chip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
