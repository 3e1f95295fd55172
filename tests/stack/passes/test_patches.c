/*
 * Convolutions of few channels whose windows lie side by side become products of patches, which
 * compute the same: in any order of dimensions, with pixels left over. Whole numbers, so that sums
 * are exact in any order.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"
#include "tests/rigs/lower_rig.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

#include <stdio.h>

#define DRAWS 60

static struct rng rng;

static int between(int low, int high)
{
    return low + (int)rng_below(&rng, (uint32_t)(high - low + 1));
}

static void shuffled(int *list, int count)
{
    for (int i = 0; i < count; i++) {
        int k = between(0, i);

        list[i] = list[k];
        list[k] = i;
    }
}

static struct interp_value whole_numbers(const struct shape *s)
{
    int64_t count = shape_elems(s);
    struct interp_value v = {arena_array(&arena, (size_t)count + 1, 4)};

    for (int64_t i = 0; i < count; i++)
        ((float *)v.data)[i] = (float)between(-2, 2);
    return v;
}

/* places of batch, features, then of what runs over the image: those of three arrays */
struct places { int at[4]; };

static int convolution(int spatial, struct shape *in, struct shape *kernel)
{
    struct graph_conv c = {.spatial_count = spatial, .feature_groups = 1, .batch_groups = 1};
    struct graph_window w[2] = {0};
    struct places x, k, y;
    int input, weights;

    shuffled(x.at, spatial + 2);
    shuffled(k.at, spatial + 2);
    shuffled(y.at, spatial + 2);
    *in = *kernel = shape_make(between(0, 1) ? DTYPE_F32 : DTYPE_BF16, spatial + 2, (int64_t[4]){0});
    c.in_batch = x.at[0], c.in_feature = x.at[1];
    c.kernel_in = k.at[0], c.kernel_out = k.at[1];
    c.out_batch = y.at[0], c.out_feature = y.at[1];
    in->dim[c.in_batch] = between(1, 3);
    in->dim[c.in_feature] = kernel->dim[c.kernel_in] = between(1, 16);
    kernel->dim[c.kernel_out] = between(1, 40);
    for (int i = 0; i < spatial; i++) {
        int64_t size = between(i == 0 ? 2 : 1, 5);

        c.in_spatial[i] = x.at[2 + i];
        c.kernel_spatial[i] = k.at[2 + i];
        c.out_spatial[i] = y.at[2 + i];
        kernel->dim[c.kernel_spatial[i]] = size;
        in->dim[c.in_spatial[i]] = size * between(1, 6) + between(0, (int)size - 1);
        w[i] = (struct graph_window){.size = size, .stride = size, .base_dilation = 1,
                                     .window_dilation = 1};
    }
    input = graph_parameter(&graph, *in, "x");
    weights = graph_parameter(&graph, *kernel, "k");
    return graph_convolution(&graph, input, weights, w, &c, DTYPE_F32, PRECISION_DEFAULT);
}

TEST(windows_side_by_side_are_products)
{
    struct pass_context context = {.chip = &v5e, .replica_count = 1,
                                   .vmem_rows = KERNEL_VMEM_BYTES / ARRAY_ROW_BYTES};
    struct interp_value in[2], before, after;
    struct shape x, k;
    struct err e;
    int y = convolution(between(1, 2), &x, &k);
    struct shape result = graph.node[y].shape;

    graph_output(&graph, y, "y", -1);
    in[0] = whole_numbers(&x);
    in[1] = whole_numbers(&k);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &before, &arena, &e), 0);
    assert_int_equal(pass_expand(&graph, &context, &e), 0);
    assert_int_equal(count_of(&graph, HLO_CONVOLUTION), 0);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &after, &arena, &e), 0);
    assert_memory_equal(after.data, before.data, (size_t)shape_elems(&result) * 4);
}

int main(void)
{
    struct CMUnitTest tests[DRAWS];
    const struct CMUnitTest one = RUN(windows_side_by_side_are_products);

    printf("SYSTOLE_SEED=%llu\n", (unsigned long long)lower_seed());
    rng_init(&rng, lower_seed());
    for (int i = 0; i < DRAWS; i++)
        tests[i] = one;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
