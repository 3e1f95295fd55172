/*
 * Does a drawn graph, compiled, compute bit for bit on a simulated core what the interpreter
 * computes?
 *
 * test_module_random [first seed [graphs [slice]]] runs more of them, all kinds on the slice if one
 * is named; the variable SYSTOLE_DUMP_AFTER names a pass after which graphs are printed.
 */
#include "base/units.h"
#include "tests/generate/random_hlo.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <stdlib.h>

static uint64_t first_seed = 1;
static int graph_count;                 /* 0: as many as each kind says */
static const char *given_slice;

#define BASIC (RANDOM_ELEMENTWISE | RANDOM_MOVE | RANDOM_REDUCE)

struct kind {
    unsigned groups;
    int count, op_count;
    unsigned dtypes;                    /* 0: all */
    const char *slices[2];
};

static const struct kind elementwise = {BASIC, 20, 12, 0, {"v5e", "v3-1"}};
static const struct kind products = {BASIC | RANDOM_DOT, 20, 12, 0, {"v5e", "v6e"}};
static const struct kind convolutions = {BASIC | RANDOM_CONV | RANDOM_WINDOW, 16, 10,
                                         1u << DTYPE_F32 | 1u << DTYPE_BF16, {"v5e"}};
static const struct kind everything = {RANDOM_ALL, 20, 12, 0, {"v5e", "v7x"}};
static const struct kind loops = {BASIC | RANDOM_LOOP, 20, 12, 0, {"v5e"}};

/* true: it is refused */
static bool check_seed(const struct kind *kind, const char *slice, uint64_t seed)
{
    struct random_hlo h = {.seed = seed, .groups = kind->groups, .op_count = kind->op_count,
                           .dtypes = kind->dtypes, .elems_max = 6000};
    struct module_rig r = {.slice = slice, .uses_hlo_inputs = true, .may_refuse = true,
                           .spoils_vmem = seed % 2};

    random_hlo_build(&g, &h);
    g.name = arena_printf(&arena, "seed %d", (int)seed);
    module_rig_check(&r, &g, seed);
    if (r.refusal[0])
        print_message("seed %d refused: %s\n", (int)seed, r.refusal);
    one_graph_again();
    return r.refusal[0] != '\0';
}

/* graphs may be refused where no kernel makes something, not more than a few */
static void check_on(const struct kind *kind, const char *slice)
{
    int count = graph_count ? graph_count : kind->count, refused = 0;

    for (int i = 0; i < count; i++)
        refused += check_seed(kind, slice, first_seed + (uint64_t)i);
    print_message("%s: %d of %d graphs refused\n", slice, refused, count);
    if (refused * 10 > count)
        fail_msg("%d of %d graphs refused on %s", refused, count, slice);
}

static void check(const struct kind *kind)
{
    if (given_slice)
        check_on(kind, given_slice);
    else
        for (size_t i = 0; i < COUNT_OF(kind->slices) && kind->slices[i]; i++)
            check_on(kind, kind->slices[i]);
}

TEST(elementwise_moves_and_reductions_match) { check(&elementwise); }
TEST(products_match_too) { check(&products); }
TEST(convolutions_and_windows_match) { check(&convolutions); }
TEST(gathers_sorts_and_random_bits_match_among_all_others) { check(&everything); }
TEST(loops_match) { check(&loops); }

/* arrays that stay in VMEM lost their places to copies, where room had been held for these below them */
TEST(graphs_that_were_wrong_once_match) { assert_false(check_seed(&products, "v6e", 9910001)); }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(elementwise_moves_and_reductions_match),
        RUN(products_match_too),
        RUN(convolutions_and_windows_match),
        RUN(gathers_sorts_and_random_bits_match_among_all_others),
        RUN(loops_match),
        RUN(graphs_that_were_wrong_once_match),
    };

    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        graph_count = atoi(argv[2]);
    if (argc > 3)
        given_slice = argv[3];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
