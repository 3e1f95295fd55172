/* How much is exchanged, against closed forms: data, tensor and fully sharded parallel training. */
#include "import/program/sharding.h"
#include "tests/import/shard/shard_rig.h"

static const char add_scalars[] =
    "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n";

struct counts { int gathers, scatters, sums, exchanges, permutes; };

static void check_counts(const char *body, struct counts want)
{
    struct shard_rig r;
    char text[8192];

    snprintf(text, sizeof(text), "HloModule test, num_partitions=8\n%s%s", add_scalars, body);
    rig_read(&r, text);
    if (rig_cut(&r))
        fail_msg("%s", r.e.msg);
    if (shard_count_of(&r.count, OPCODE_ALL_GATHER, -1) != want.gathers ||
        shard_count_of(&r.count, OPCODE_REDUCE_SCATTER, -1) != want.scatters ||
        shard_count_of(&r.count, OPCODE_ALL_REDUCE, -1) != want.sums ||
        shard_count_of(&r.count, OPCODE_ALL_TO_ALL, -1) != want.exchanges ||
        shard_count_of(&r.count, OPCODE_COLLECTIVE_PERMUTE, -1) != want.permutes) {
        shard_count_print(&r.count, &r.part, stdout);
        fail_msg("other collectives than %d %d %d %d %d of\n%s", want.gathers, want.scatters,
                 want.sums, want.exchanges, want.permutes, text);
    }
    rig_end(&r);
}

#define MLP \
    "h = f32[64,128] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" \
    "z = f32[] constant(0)\n zs = f32[64,128] broadcast(z), dimensions={}\n" \
    "a = f32[64,128] maximum(h, zs)\n" \
    "y = f32[64,32] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
/* gradients of sum(y^2)/2 */
#define MLP_BACKWARD \
    "da = f32[64,128] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n" \
    "g = pred[64,128] compare(h, zs), direction=GT\n dh = f32[64,128] select(g, da, zs)\n" \
    "dw = f32[128,32] dot(a, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n" \
    "dv = f32[32,128] dot(x, dh), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n" \
    "ws = f32[128,32] subtract(w, dw)\n vs = f32[32,128] subtract(v, dv)\n"

#define PARAMETERS(X, V, W) \
    "ENTRY main { x = f32[64,32] parameter(0), sharding=" X "\n" \
    "v = f32[32,128] parameter(1), sharding=" V "\n w = f32[128,32] parameter(2), sharding=" W "\n"

#define BATCH "{devices=[8,1]<=[8]}"
#define WHOLE "{replicated}"

TEST(data_parallel_steps_sum_each_gradient_once)
{
    check_counts(PARAMETERS(BATCH, WHOLE, WHOLE) MLP MLP_BACKWARD
                 "ROOT t = (f32[32,128], f32[128,32]) tuple(vs, ws),"
                 "sharding={{replicated},{replicated}} }\n", (struct counts){.sums = 2});
}

TEST(fully_sharded_layers_gather_each_weight_and_scatter_each_gradient)
{
    check_counts(PARAMETERS(BATCH, "{devices=[8,1]<=[8]}", "{devices=[1,8]<=[8]}") MLP
                 "ROOT t = (f32[64,32]) tuple(y), sharding={" BATCH "} }\n",
                 (struct counts){.gathers = 2});
    check_counts(PARAMETERS(BATCH, "{devices=[8,1]<=[8]}", "{devices=[1,8]<=[8]}") MLP MLP_BACKWARD
                 "ROOT t = (f32[32,128], f32[128,32]) tuple(vs, ws),"
                 "sharding={{devices=[8,1]<=[8]},{devices=[1,8]<=[8]}} }\n",
                 (struct counts){.gathers = 2, .scatters = 2});
}

TEST(tensor_parallel_layers_sum_once_a_pass)
{
    check_counts(PARAMETERS(WHOLE, "{devices=[1,8]<=[8]}", "{devices=[8,1]<=[8]}") MLP
                 "ROOT t = (f32[64,32]) tuple(y), sharding={" WHOLE "} }\n",
                 (struct counts){.sums = 1});
}

TEST(both_at_once_gather_over_one_axis_and_sum_over_the_other)
{
    check_counts(PARAMETERS("{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
                            "{devices=[2,4]<=[8]}", "{devices=[4,2]<=[2,4]T(1,0)}") MLP
                 "ROOT t = (f32[64,32]) tuple(y),"
                 "sharding={{devices=[2,1,4]<=[8] last_tile_dim_replicate}} }\n",
                 (struct counts){.gathers = 2, .sums = 1});
}

TEST(moves_take_the_collective_that_fits)
{
#define MOVE(FROM, TO) \
    "ENTRY main { p = f32[16,16] parameter(0), sharding=" FROM "\n c = f32[16,16] copy(p)\n" \
    "ROOT t = (f32[16,16]) tuple(c), sharding={" TO "} }\n"
    check_counts(MOVE("{devices=[8,1]<=[8]}", "{devices=[8,1]<=[8]}"), (struct counts){0});
    check_counts(MOVE("{replicated}", "{devices=[8,1]<=[8]}"), (struct counts){0});
    check_counts(MOVE("{devices=[8,1]<=[8]}", "{replicated}"), (struct counts){.gathers = 1});
    check_counts(MOVE("{devices=[8,1]<=[8]}", "{devices=[1,8]<=[8]}"),
                 (struct counts){.exchanges = 1});
    check_counts(MOVE("{devices=[2,4]<=[8]}", "{devices=[4,2]<=[8]}"), (struct counts){.gathers = 1});
    check_counts(MOVE("{devices=[8,1]<=[8]}", "{devices=[8,1]<=[2,4]T(1,0)}"),
                 (struct counts){.permutes = 1});
}

/* ----- what a device sends of dimensions whose parts need their neighbours' elements */

static int64_t bytes_of(const struct shard_count *c, enum hlo_opcode op)
{
    int64_t bytes = 0;

    for (int i = 0; i < c->count; i++)
        if (c->row[i].op == op)
            bytes += c->row[i].bytes * c->row[i].count;
    return bytes;
}

/* `body` has arrays cut by BATCH: permutes of so many bytes in all, and nothing else */
static void check_halo(const char *body, int permutes, int64_t bytes)
{
    struct shard_rig r;
    char text[4096];

    snprintf(text, sizeof(text), "HloModule test, num_partitions=8\n%s%s", add_scalars, body);
    rig_check(&r, text, 5, 1e-5);
    if (shard_count_of(&r.count, OPCODE_ALL_GATHER, -1) > 0 ||
        shard_count_of(&r.count, OPCODE_ALL_REDUCE, -1) > 0 ||
        shard_count_of(&r.count, OPCODE_COLLECTIVE_PERMUTE, -1) != permutes ||
        bytes_of(&r.count, OPCODE_COLLECTIVE_PERMUTE) != bytes) {
        shard_count_print(&r.count, &r.part, stdout);
        fail_msg("other than %d permutes of %lld bytes of\n%s", permutes, (long long)bytes, text);
    }
    rig_end(&r);
}

#define ROWS "f32[64,10] parameter(0), sharding=" BATCH "\n"
#define CUT(TYPE) "ROOT t = (" TYPE ") tuple(r), sharding={" BATCH "} }\n"

TEST(windows_exchange_as_many_rows_as_they_reach_over)
{
    check_halo("ENTRY main { p = " ROWS " z = f32[] constant(0)\n"
               "r = f32[64,10] reduce-window(p, z), window={size=5x1 pad=2_2x0_0}, to_apply=add\n"
               CUT("f32[64,10]"), 2, 2 * 2 * 10 * 4);
    check_halo("ENTRY main { p = " ROWS " z = f32[] constant(0)\n"
               "r = f32[32,10] reduce-window(p, z), window={size=3x1 stride=2x1 pad=0_1x0_0}, "
               "to_apply=add\n" CUT("f32[32,10]"), 1, 10 * 4);
    check_halo("ENTRY main { p = f32[2,64,6] parameter(0), sharding={devices=[1,8,1]<=[8]}\n"
               "k = f32[3,6,4] parameter(1), sharding={replicated}\n"
               "r = f32[2,64,4] convolution(p, k), window={size=3 pad=1_1}, "
               "dim_labels=b0f_0io->b0f\n"
               "ROOT t = (f32[2,64,4]) tuple(r), sharding={{devices=[1,8,1]<=[8]}} }\n",
               2, 2 * 2 * 6 * 4);
}

TEST(windows_that_do_not_overlap_exchange_nothing)
{
    check_halo("ENTRY main { p = " ROWS " z = f32[] constant(0)\n"
               "r = f32[32,10] reduce-window(p, z), window={size=2x1 stride=2x1}, to_apply=add\n"
               CUT("f32[32,10]"), 0, 0);
    check_halo("ENTRY main { p = " ROWS
               "r = f32[32,10] slice(p), slice={[0:64:2], [0:10]}\n" CUT("f32[32,10]"), 0, 0);
}

TEST(what_is_shifted_or_reversed_sends_what_changes_its_device)
{
    check_halo("ENTRY main { p = " ROWS " z = f32[] constant(7)\n"
               "r = f32[64,10] pad(p, z), padding=3_-3x0_0\n" CUT("f32[64,10]"), 1, 3 * 10 * 4);
    check_halo("ENTRY main { p = " ROWS
               "r = f32[64,10] reverse(p), dimensions={0}\n" CUT("f32[64,10]"), 1, 8 * 10 * 4);
}

TEST(an_argmax_over_parts_gathers_what_each_has_found)
{
    struct shard_rig r;

    rig_check(&r, "HloModule test, num_partitions=8\n"
              "top { x = f32[] parameter(0)\n i = s32[] parameter(1)\n y = f32[] parameter(2)\n"
              "j = s32[] parameter(3)\n g = pred[] compare(x, y), direction=GE\n"
              "a = f32[] select(g, x, y)\n b = s32[] select(g, i, j)\n"
              "ROOT t = (f32[], s32[]) tuple(a, b) }\n"
              "ENTRY main { p = " ROWS " i = s32[64,10] iota(), iota_dimension=0\n"
              "z = f32[] constant(-inf)\n o = s32[] constant(0)\n"
              "t = (f32[10], s32[10]) reduce(p, i, z, o), dimensions={0}, to_apply=top\n"
              "r = s32[10] get-tuple-element(t), index=1\n"
              "ROOT u = (s32[10]) tuple(r), sharding={{replicated}} }\n", 3, 0);
    assert_int_equal(bytes_of(&r.count, OPCODE_ALL_GATHER), 2 * 8 * 10 * 4);
    rig_end(&r);
}

/* take and put are each other's inverse, and every element has a device */
TEST(parts_of_all_devices_are_the_whole)
{
    static const char *const shardings[] = {
        "{replicated}", "{maximal device=3}", "{devices=[8,1]<=[8]}", "{devices=[2,4]<=[8]}",
        "{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "{devices=[2,2,2]<=[2,4]T(1,0) "
        "last_tile_dim_replicate}", "{devices=[1,8]7,6,5,4,3,2,1,0}",
    };
    static const int64_t dims[][2] = {{16, 8}, {5, 7}, {1, 3}, {9, 1}};

    for (size_t k = 0; k < sizeof(shardings) / sizeof(*shardings); k++)
        for (size_t n = 0; n < sizeof(dims) / sizeof(*dims); n++) {
            struct arena a;
            struct hlo_module m;
            struct hlo_type t;
            const struct hlo_sharding *s;
            struct err e;
            int32_t from[128], to[128] = {0}, part[128];
            int count;

            arena_init(&a);
            hlo_module_init(&m, &a, "test");
            t = hlo_array_type(&a, ELEMENT_S32, 2, dims[n]);
            assert_int_equal(hlo_sharding_parse(&m, shardings[k], strlen(shardings[k]), &count, &s,
                                                &e), 0);
            for (int i = 0; i < 128; i++)
                from[i] = i + 1;
            for (int64_t d = 0; d < 8; d++) {
                struct shard_slice slice = shard_slice_of(s, &t, d);

                shard_slice_take(&slice, &t, from, part);
                shard_slice_put(&slice, &t, part, to);
            }
            assert_memory_equal(from, to, hlo_type_bytes(&t));
            hlo_module_fini(&m);
            arena_fini(&a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_parallel_steps_sum_each_gradient_once),
        cmocka_unit_test(fully_sharded_layers_gather_each_weight_and_scatter_each_gradient),
        cmocka_unit_test(tensor_parallel_layers_sum_once_a_pass),
        cmocka_unit_test(both_at_once_gather_over_one_axis_and_sum_over_the_other),
        cmocka_unit_test(moves_take_the_collective_that_fits),
        cmocka_unit_test(windows_exchange_as_many_rows_as_they_reach_over),
        cmocka_unit_test(windows_that_do_not_overlap_exchange_nothing),
        cmocka_unit_test(what_is_shifted_or_reversed_sends_what_changes_its_device),
        cmocka_unit_test(an_argmax_over_parts_gathers_what_each_has_found),
        cmocka_unit_test(parts_of_all_devices_are_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
