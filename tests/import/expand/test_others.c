/* Ragged and scaled products, scans, the largest elements, upper halves, exchanges between devices. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

static void check(const struct expand_rig *rig)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 4; i++)
        expand_rig_check(rig, seed + (uint64_t)i);
}

TEST(groups_of_rows_and_of_contracted_elements)
{
    check(&(struct expand_rig){.text =
        "HloModule m\nENTRY e {\n a = f32[12,5] parameter(0)\n b = f32[4,5,3] parameter(1)\n n = s32[4] parameter(2)\n"
        " ROOT d = f32[12,3] ragged-dot(a, b, n), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
        "lhs_ragged_dims={0}, rhs_group_dims={0}\n}\n", .bound = 1e-5, .floor = 1, .integer_bits = 2});
    check(&(struct expand_rig){.text =
        "HloModule m\nENTRY e {\n a = f32[12,5] parameter(0)\n b = f32[12,3] parameter(1)\n n = s32[4] parameter(2)\n"
        " ROOT d = f32[4,5,3] ragged-dot(a, b, n), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
        "lhs_ragged_dims={0}\n}\n", .bound = 1e-5, .floor = 1, .integer_bits = 2});
}

TEST(blocks_with_scales)
{
    check(&(struct expand_rig){.text =
        "HloModule m\nENTRY e {\n a = f8e4m3fn[4,8] parameter(0)\n b = f8e4m3fn[8,6] parameter(1)\n"
        " s = bf16[4,2] parameter(2)\n t = bf16[2,6] parameter(3)\n"
        " ROOT d = f32[4,6] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
        .bound = 1e-5, .floor = 1});
}

TEST(scans_forwards_and_back)
{
    static const char *directions[] = {"true", "false"};
    char text[900];

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "HloModule m\nbody { x = f32[1,3] parameter(0)\n s = f32[3] parameter(1)\n"
                 " r = f32[3] reshape(x)\n y = f32[3] add(r, s)\n o = f32[1,3] reshape(y)\n"
                 " ROOT t = (f32[1,3], f32[3]) tuple(o, y) }\n"
                 "ENTRY e {\n a = f32[7,3] parameter(0)\n b = f32[3] parameter(1)\n"
                 " ROOT s = (f32[7,3], f32[3]) scan(a, b), dimensions={0}, num_carries=1, is_reverse=%s, "
                 "to_apply=body\n}\n", directions[i]);
        check(&(struct expand_rig){.text = text, .bound = 1e-6, .floor = 1});
    }
}

TEST(the_largest_and_the_smallest)
{
    static const char *types[] = {"f32", "f16", "s64", "s32", "bf16", "u8"};
    char text[900];

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (int is_largest = 0; is_largest < 2; is_largest++) {
            const char *t = types[i];

            snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n a = %s[3,20] parameter(0)\n"
                     " ROOT t = (%s[3,6], s32[3,6]) topk(a), k=6, largest=%s\n}\n", t, t,
                     is_largest ? "true" : "false");
            check(&(struct expand_rig){.text = text});
        }
    }
}

/* as HLO has its configuration, and as JAX's programs in StableHLO do; 20: all of them, sorted */
TEST(the_best_along_the_dimension_that_is_told)
{
    static const char *const configs[] = {
        "backend_config={\"reduction_dim\": %d, \"recall_target\": 0.95}",
        "mhlo.backend_config={aggregate_to_topk = true, recall_target = 9.5e-01 : f32,"
        " reduction_dim = %d : i64, top_k = 6 : i64}"};
    static const struct { const char *operand, *result; int dim; } shapes[] = {
        {"3,20", "3,6", 1}, {"20,3", "6,3", 0}, {"20,20", "20,20", 0}, {"20,20", "20,20", 1}};
    char text[1000], config[200];

    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 2; k++) {
            const char *o = shapes[i].operand, *r = shapes[i].result;

            snprintf(config, sizeof(config), configs[k], shapes[i].dim);
            snprintf(text, sizeof(text), "HloModule m\n"
                     "gt { x = f32[] parameter(0)\n y = f32[] parameter(1)\n i = s32[] parameter(2)\n"
                     " j = s32[] parameter(3)\n ROOT p = pred[] compare(x, y), direction=GT }\n"
                     "ENTRY e {\n a = f32[%s] parameter(0)\n i = s32[%s] iota(), iota_dimension=%d\n"
                     " l = f32[] constant(-inf)\n z = s32[] constant(-1)\n"
                     " ROOT t = (f32[%s], s32[%s]) custom-call(a, i, l, z), "
                     "custom_call_target=\"ApproxTopK\", called_computations={gt}, %s\n}\n",
                     o, o, shapes[i].dim, r, r, config);
            check(&(struct expand_rig){.text = text});
        }
}

TEST(upper_halves_of_products)
{
    static const char *types[] = {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"};
    char text[300];

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const char *t = types[i];

        snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n a = %s[90] parameter(0)\n b = %s[90] parameter(1)\n"
                 " ROOT c = %s[90] mulhi(a, b)\n}\n", t, t, t);
        check(&(struct expand_rig){.text = text});
    }
}

TEST(rounding_by_random_bits)
{
    static const char *types[] = {"s8", "s32", "u8", "s4"};
    char text[300];

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n a = f32[90] parameter(0)\n b = u32[90] parameter(1)\n"
                 " ROOT c = %s[90] stochastic-convert(a, b)\n}\n", types[i]);
        check(&(struct expand_rig){.text = text, .low = -20, .high = 20, .integer_bits = 32});
    }
}

TEST(exchanges)
{
    check(&(struct expand_rig){.text =
        "HloModule m, replica_count=4\nENTRY e {\n a = f32[8,3] parameter(0)\n b = s64[2] parameter(1)\n c = s64[2] parameter(2)\n"
        " x = f32[8,3] all-to-all(a), dimensions={0}, replica_groups={{0,1,2,3}}\n"
        " y = f32[8,3] all-to-all(a), dimensions={0}, replica_groups={{0,2},{3,1}}\n"
        " z = f32[8,3] collective-broadcast(a), replica_groups={{2,0,1,3}}\n"
        " w = (s64[2], s64[2]) all-to-all(b, c), replica_groups={{0,2},{3,1}}\n"
        " w0 = s64[2] get-tuple-element(w), index=0\n w1 = s64[2] get-tuple-element(w), index=1\n"
        " ROOT t = (f32[8,3], f32[8,3], f32[8,3], s64[2], s64[2]) tuple(x, y, z, w0, w1)\n}\n", .replicas = 4});
}

/* as optimized programs have them */
/* up to three of four rows for each device, which lie from four times the sender's number on */
TEST(exchanges_of_as_many_rows_as_are_told)
{
    static const char *const types[] = {"f32", "bf16", "s64", "c64", "s8", "pred"};
    static const char *const groups[] = {"{{2,0,1,3}}", "{}"};
    char text[1600];

    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 2; k++) {
            const char *e = types[i];

            snprintf(text, sizeof(text), "HloModule m, replica_count=4\nENTRY e {\n"
                     " a = %s[16,5] parameter(0)\n o = %s[16,5] parameter(1)\n n = s32[4] parameter(2)\n"
                     " three = s32[4] constant({3,3,3,3})\n size = s32[4] and(n, three)\n"
                     " first = s32[4] constant({12,0,8,4})\n r = u32[] replica-id()\n rs = s32[] convert(r)\n"
                     " four = s32[] constant(4)\n p = s32[] multiply(rs, four)\n"
                     " at = s32[4] broadcast(p), dimensions={}\n"
                     " taken = s32[4] all-to-all(size), dimensions={0}, replica_groups=%s\n"
                     " ROOT x = %s[16,5] ragged-all-to-all(a, o, first, size, at, taken), replica_groups=%s\n}\n",
                     e, e, groups[k], e, groups[k]);
            check(&(struct expand_rig){.text = text, .replicas = 4});
        }
}

TEST(floats_of_different_widths)
{
    check(&(struct expand_rig){.text =
        "HloModule m, is_scheduled=true\nENTRY e {\n a = f32[6,8] parameter(0)\n b = bf16[6,8] parameter(1)\n i = s32[4] parameter(2)\n"
        " p = pred[6,8] parameter(3)\n z = f32[] constant(1)\n g = bf16[4,8] gather(a, i), offset_dims={1}, "
        "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n"
        " s = bf16[3,8] slice(a), slice={[1:4],[0:8]}\n m = bf16[6,8] multiply(a, a)\n"
        " c = f32[6,8] select(p, a, b)\n d = bf16[7,8] pad(b, z), padding=1_0x0_0\n"
        " q = pred[6,8] compare(a, b), direction=LT\n"
        " ROOT t = (bf16[4,8], bf16[3,8], bf16[6,8], f32[6,8], bf16[7,8], pred[6,8]) tuple(g, s, m, c, d, q)\n}\n",
        .bound = 1e-2, .integer_bits = 2});
}

TEST(products_of_long_integers)
{
    check(&(struct expand_rig){.text =
        "HloModule m\nENTRY e {\n a = s64[4,30] parameter(0)\n b = s64[30,5] parameter(1)\n"
        " ROOT c = s64[4,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"});
}

TEST(sums_over_devices)
{
    check(&(struct expand_rig){.text =
        "HloModule m, replica_count=4\nadd { x = s64[] parameter(0)\n y = s64[] parameter(1)\n ROOT z = s64[] add(x, y) }\n"
        "cadd { x = c64[] parameter(0)\n y = c64[] parameter(1)\n ROOT z = c64[] add(x, y) }\n"
        "ENTRY e {\n a = s64[5] parameter(0)\n b = c64[3] parameter(1)\n c = u16[4] parameter(2)\n"
        " x = s64[5] all-reduce(a), replica_groups={{0,2},{3,1}}, to_apply=add\n"
        " y = (s64[5], s64[5]) all-reduce(a, x), replica_groups={}, to_apply=add\n"
        " z = c64[3] all-reduce(b), replica_groups={}, to_apply=cadd\n y0 = s64[5] get-tuple-element(y), index=0\n"
        " y1 = s64[5] get-tuple-element(y), index=1\n g = u16[16] all-gather(c), dimensions={0}, replica_groups={}\n"
        " ROOT t = (s64[5], s64[5], s64[5], c64[3], u16[16]) tuple(x, y0, y1, z, g)\n}\n",
        .replicas = 4, .bound = 1e-6, .floor = 1});
}

TEST(more_dimensions_than_the_compiler_has)
{
    check(&(struct expand_rig){.text =
        "HloModule m\nadd { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
        "ENTRY e {\n a = f32[2,8,6,3] parameter(0)\n b = f32[1,4,1,2,1] parameter(1)\n z = f32[] constant(0)\n"
        " r = f32[2,4,1,2,1,3,2,1,1,3] reshape(a)\n s = f32[2,4,1,2,1,3,2,1,1,3] broadcast(b), dimensions={2,1,4,3,7}\n"
        " m = f32[2,4,1,2,1,3,2,1,1,3] multiply(r, s)\n n = f32[2,4,1,1,3,1,3] reduce(m, z), dimensions={3,6,8}, to_apply=add\n"
        " t = f32[3,1,1,2,3,1,2,1,4,2] transpose(m), dimensions={9,8,7,6,5,4,3,2,1,0}\n"
        " l = f32[3,1,1,2,3,1,2,1,4,1] slice(t), slice={[0:3],[0:1],[0:1],[0:2],[0:3],[0:1],[0:2],[0:1],[0:4],[1:2]}\n"
        " i = f32[3,1,1,2,3,1,2,1,4,1] iota(), iota_dimension=8\n k = f32[3,1,1,2,3,1,2,1,4,1] add(l, i)\n"
        " o = f32[9,16] reshape(k)\n ROOT x = (f32[2,4,1,1,3,1,3], f32[9,16]) tuple(n, o)\n}\n",
        .bound = 1e-6, .floor = 1});
}

TEST(bitcasts_keep_the_bytes_in_the_order_of_layouts)
{
    const char *text =
        "HloModule m\nENTRY e {\n p = %s[6,4]{1,0} parameter(0)\n c = %s[6,4]{0,1} copy(p)\n"
        " b = %s[4,6]{1,0} bitcast(c)\n d = %s[2,3,4]{0,2,1} bitcast(c)\n"
        " ROOT o = (%s[4,6], %s[2,3,4]) tuple(b, d)\n}\n";
    static const char *const types[] = {"f32", "bf16", "s64", "pred", "c64"};

    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        const char *t = types[k];
        char of_type[512];

        snprintf(of_type, sizeof(of_type), text, t, t, t, t, t, t);
        check(&(struct expand_rig){.text = of_type, .bound = 1e-6, .floor = 1});
    }
}

TEST(what_nothing_expands_is_named)
{
    expand_rig_refused("HloModule m\nENTRY e {\n a = c128[3] parameter(0)\n ROOT b = c128[3] tanh(a)\n}\n",
                       "c128");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_rows_and_of_contracted_elements),
        cmocka_unit_test(blocks_with_scales), cmocka_unit_test(scans_forwards_and_back),
        cmocka_unit_test(the_largest_and_the_smallest), cmocka_unit_test(the_best_along_the_dimension_that_is_told),
        cmocka_unit_test(upper_halves_of_products),
        cmocka_unit_test(rounding_by_random_bits), cmocka_unit_test(exchanges),
        cmocka_unit_test(exchanges_of_as_many_rows_as_are_told), cmocka_unit_test(sums_over_devices),
        cmocka_unit_test(floats_of_different_widths),
        cmocka_unit_test(products_of_long_integers),
        cmocka_unit_test(more_dimensions_than_the_compiler_has),
        cmocka_unit_test(bitcasts_keep_the_bytes_in_the_order_of_layouts),
        cmocka_unit_test(what_nothing_expands_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
