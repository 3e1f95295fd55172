/* Are the bits of the kernel those that the graph promises? */
#include "tests/test.h"

#include "tests/rigs/kernel_rig.h"

static void bits(const char *chip, int rank, const int64_t *dim, int64_t stream, int32_t seed,
                 uint32_t in_vmem)
{
    struct kernel_rig r = {.chip = chip, .input = {&seed}, .results_in_vmem = in_vmem};
    struct arena a;
    struct graph g;
    int node;

    arena_init(&a);
    graph_init(&g, &a, "bits");
    node = graph_parameter(&g, shape_scalar(DTYPE_S32), "seed");
    node = graph_rng_bits(&g, shape_make(DTYPE_U32, rank, dim), node, stream);
    graph_output(&g, node, "bits", -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 1);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(every_tile_has_the_bits_of_its_number)
{
    bits("v3", 0, NULL, 0, 1, 0);
    bits("tiny", 2, (int64_t[]){300, 400}, 2, 7, 0);     /* whose vector memory has 64 tiles */
    bits("v6e", 1, (int64_t[]){1000}, 3, -5, 0);
    bits("v5e", 2, (int64_t[]){9, 130}, 1, 123456789, 1);
    bits("v3", 2, (int64_t[]){520, 129}, 7, 42, 0);
    bits("v6e", 3, (int64_t[]){3, 700, 200}, 2, 0, 0);
}

TEST(a_seed_made_in_the_fusion_is_refused)
{
    struct kernel_rig r = {.chip = "v3", .may_refuse = true};
    struct arena a;
    struct graph g;
    int node;

    arena_init(&a);
    graph_init(&g, &a, "bits");
    node = graph_parameter(&g, shape_scalar(DTYPE_S32), "seed");
    node = graph_unary(&g, HLO_NEGATE, node);
    node = graph_rng_bits(&g, shape_make(DTYPE_U32, 1, (int64_t[]){9}), node, 0);
    graph_output(&g, node, "bits", -1);
    kernel_rig_open(&r, &g);
    assert_non_null(strstr(r.refusal, "its seed is computed in its fusion"));
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_has_the_bits_of_its_number),
        cmocka_unit_test(a_seed_made_in_the_fusion_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
