/*
 * Compiled modules as bytes: what comes back runs as what was compiled, bit for bit and cycle for
 * cycle, and whatever is not such bytes is refused.
 */
#include "base/rng.h"
#include "stack/hlo/graph_shape.h"
#include "stack/module/module_archive.h"
#include "stack/module/module_key.h"
#include "tests/generate/random_hlo.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <string.h>

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

/* a graph of random operations, some of its outputs in its parameters' places */
static void draw(struct graph *g, uint64_t seed)
{
    const struct random_hlo r = {.seed = seed, .groups = RANDOM_ALL | RANDOM_FLOW,
                                 .op_count = 10, .elems_max = 2000};

    graph_init(g, &arena, "drawn");
    random_hlo_build(g, &r);
}

static void run_both(const char *slice, bool megacore, uint64_t seed)
{
    struct module_rig plain = {.slice = slice, .megacore = megacore, .uses_hlo_inputs = true,
                               .relative = 0.05, .absolute = 0.5, .may_refuse = true};
    struct module_rig restored = plain;
    struct graph g;

    draw(&g, seed);
    restored.is_restored = true;
    module_rig_check(&plain, &g, seed);
    module_rig_check(&restored, &g, seed);
    assert_string_equal(plain.refusal, restored.refusal);
    assert_int_equal(plain.outputs_crc, restored.outputs_crc);
    assert_int_equal(plain.cycles, restored.cycles);
    graph_fini(&g);
}

TEST(drawn_modules_run_the_same_when_they_are_restored)
{
    for (uint64_t seed = 1; seed <= (test_is_long() ? 300 : 12); seed++) {
        run_both("v5e", false, seed);
        run_both("v3", false, 1000 + seed);
        run_both("v4", true, 2000 + seed);
    }
}

/* sums over devices read tables, which go as pages */
TEST(sums_over_devices_are_the_same_when_they_are_restored)
{
    static const int32_t core[] = {3, 1, 0, 2};
    struct graph_run plain = {.slice = "v3-8", .device_count = 4, .device_core = core, .launch_count = 2};
    struct graph_run restored = plain;
    int64_t dim[] = {200, 300};
    const void *in[8];
    void *one[8], *other[8];
    struct graph g;
    int a, b, sum;

    graph_init(&g, &arena, "sums");
    a = graph_parameter(&g, shape_make(DTYPE_F32, 2, dim), "a");
    b = graph_parameter(&g, shape_make(DTYPE_F32, 2, dim), "b");
    sum = graph_all_reduce(&g, graph_binary(&g, HLO_MULTIPLY, a, b));
    graph_output(&g, graph_binary(&g, HLO_ADD, sum, a), "first", 0);
    graph_output(&g, graph_all_reduce(&g, graph_unary(&g, HLO_TANH, sum)), "second", -1);
    for (int i = 0; i < 8; i++)
        in[i] = random_floats(&arena, dim[0] * dim[1], -1, 1, (uint64_t)i);
    restored.is_restored = true;
    run_graph(&plain, &g, in, one, &arena);
    run_graph(&restored, &g, in, other, &arena);
    assert_int_equal(plain.cycles, restored.cycles);
    for (int i = 0; i < 8; i++)
        assert_memory_equal(one[i], other[i], (size_t)(dim[0] * dim[1]) * 4);
    graph_fini(&g);
}

/* ----- bytes that are none */

struct compiled {
    struct chip chip;
    struct module_settings settings;
    struct graph g;
    struct bytes saved;
};

static void compile(struct compiled *c, uint64_t seed)
{
    struct module m;
    struct err e;

    *c = (struct compiled){.settings = {.replica_count = 1}};
    assert_int_equal(chip_load_builtin(&c->chip, "v5e", NULL, &arena, &e), 0);
    c->settings.chip = &c->chip;
    draw(&c->g, seed);
    if (module_compile(&c->g, &c->settings, &arena, &m, &e))
        fail_msg("%s", e.msg);
    module_save(&m, &c->settings, &c->saved);
}

static int restores(const struct compiled *c, const void *bytes, size_t size)
{
    struct module m;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    status = module_restore(bytes, size, &c->settings, &a, &m, &e);
    arena_fini(&a);
    return status;
}

TEST(bytes_that_end_early_or_go_on_are_refused)
{
    struct compiled c;
    struct bytes longer = {0};

    compile(&c, 3);
    assert_int_equal(restores(&c, c.saved.data, c.saved.size), 0);
    for (size_t size = 0; size < c.saved.size; size += 1 + c.saved.size / 500) {
        void *part = arena_copy(&arena, c.saved.data, size + 1, 1);     /* its end is watched */

        assert_int_equal(restores(&c, part, size), -1);
    }
    bytes_append(&longer, c.saved.data, c.saved.size);
    bytes_append(&longer, "", 1);
    assert_int_equal(restores(&c, longer.data, longer.size), -1);
    mem_free(longer.data);
    mem_free(c.saved.data);
    graph_fini(&c.g);
}

/* a changed byte may be a number that does not matter, but never the end of the process */
TEST(changed_bytes_are_refused_or_restored)
{
    struct compiled c;
    struct rng r;
    int refused = 0, rounds = test_is_long() ? 20000 : 1000;

    compile(&c, 4);
    rng_init(&r, 4);
    for (int i = 0; i < rounds; i++) {
        size_t at = (size_t)rng_below(&r, (uint32_t)c.saved.size);
        unsigned char was = c.saved.data[at];

        c.saved.data[at] = (unsigned char)(rng_below(&r, 3) ? was ^ 1 << rng_below(&r, 8) : 255);
        refused += restores(&c, c.saved.data, c.saved.size) != 0;
        c.saved.data[at] = was;
    }
    assert_true(refused > rounds / 10);
    mem_free(c.saved.data);
    graph_fini(&c.g);
}

/* ----- keys */

static struct bytes key_of(const struct graph *g, const struct module_settings *s)
{
    struct bytes key = {0};

    assert_true(module_key(g, s, &key));
    return key;
}

static bool have_one_key(const struct graph *g, const struct module_settings *s,
                         const struct graph *other, const struct module_settings *settings)
{
    struct bytes a = key_of(g, s), b = key_of(other, settings);
    bool same = a.size == b.size && memcmp(a.data, b.data, a.size) == 0;

    mem_free(a.data);
    mem_free(b.data);
    return same;
}

TEST(what_compiles_to_another_program_has_another_key)
{
    struct compiled c, again, other;
    struct module_settings s;
    struct chip chip;
    int64_t place[64];

    compile(&c, 5);
    compile(&again, 5);
    compile(&other, 6);
    assert_true(have_one_key(&c.g, &c.settings, &again.g, &again.settings));
    assert_false(have_one_key(&c.g, &c.settings, &other.g, &other.settings));
    s = c.settings;
    s.keeps_roundings = true;
    assert_false(have_one_key(&c.g, &c.settings, &c.g, &s));
    s = c.settings;
    s.codegen = CODEGEN_BEST;
    assert_false(have_one_key(&c.g, &c.settings, &c.g, &s));
    s = c.settings;
    memset(place, 0xff, sizeof(place));
    assert_true(c.g.parameter_count <= 64);
    s.place = place;
    assert_false(have_one_key(&c.g, &c.settings, &c.g, &s));
    chip = c.chip;
    chip.vmem_bytes /= 2;
    s = c.settings;
    s.chip = &chip;
    assert_false(have_one_key(&c.g, &c.settings, &c.g, &s));
    s = c.settings;
    s.is_plan = true;
    assert_false(module_key(&c.g, &s, &(struct bytes){0}));
    mem_free(c.saved.data);
    mem_free(again.saved.data);
    mem_free(other.saved.data);
    graph_fini(&c.g);
    graph_fini(&again.g);
    graph_fini(&other.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(drawn_modules_run_the_same_when_they_are_restored, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(sums_over_devices_are_the_same_when_they_are_restored,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_that_end_early_or_go_on_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(changed_bytes_are_refused_or_restored, setup, teardown),
        cmocka_unit_test_setup_teardown(what_compiles_to_another_program_has_another_key, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
