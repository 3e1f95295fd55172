/*
 * Parts of models cut over eight devices compute what they do whole: attention, mixtures of experts,
 * loops, conditionals, manual regions, replicas of cut programs, sizes that do not divide.
 */
#include "tests/import/shard/shard_rig.h"

#include <time.h>

static const char computations[] =
    "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
    "max { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n";

static void check(const char *header, const char *body)
{
    char text[16384];

    snprintf(text, sizeof(text), "HloModule test, num_partitions=8%s\n%s%s", header, computations,
             body);
    for (uint64_t n = 0; n < 3; n++) {
        struct shard_rig r;

        rig_check(&r, text, (uint64_t)time(NULL) + n, 1e-4);
        rig_end(&r);
    }
}

#define SOFTMAX(IN, DIMS, KEPT, LAST, NAME) \
    NAME "l = f32[] constant(-inf)\n" NAME "z = f32[] constant(0)\n" \
    NAME "m = f32[" KEPT "] reduce(" IN ", " NAME "l), dimensions={" LAST "}, to_apply=max\n" \
    NAME "mb = f32[" DIMS "] broadcast(" NAME "m), dimensions={0,1,2}\n" \
    NAME "d = f32[" DIMS "] subtract(" IN ", " NAME "mb)\n" \
    NAME "e = f32[" DIMS "] exponential(" NAME "d)\n" \
    NAME "s = f32[" KEPT "] reduce(" NAME "e, " NAME "z), dimensions={" LAST "}, to_apply=add\n" \
    NAME "sb = f32[" DIMS "] broadcast(" NAME "s), dimensions={0,1,2}\n" \
    NAME "p = f32[" DIMS "] divide(" NAME "e, " NAME "sb)\n"

TEST(attention_cut_by_batch_and_heads)
{
    check("", "ENTRY main {\n"
          "x = f32[4,8,32] parameter(0), sharding={devices=[2,1,1,4]<=[8] last_tile_dim_replicate}\n"
          "wq = f32[32,64] parameter(1), sharding={devices=[2,4]<=[8]}\n"
          "wk = f32[32,64] parameter(2), sharding={devices=[2,4]<=[8]}\n"
          "wv = f32[32,64] parameter(3), sharding={devices=[2,4]<=[8]}\n"
          "wo = f32[64,32] parameter(4), sharding={devices=[4,2]<=[2,4]T(1,0)}\n"
          "q1 = f32[4,8,64] dot(x, wq), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
          "k1 = f32[4,8,64] dot(x, wk), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
          "v1 = f32[4,8,64] dot(x, wv), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
          "q = f32[4,8,8,8] reshape(q1)\n k = f32[4,8,8,8] reshape(k1)\n v = f32[4,8,8,8] reshape(v1)\n"
          "a = f32[4,8,8,8] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, "
          "lhs_contracting_dims={3}, rhs_contracting_dims={3}\n"
          SOFTMAX("a", "4,8,8,8", "4,8,8", "3", "s")
          "o = f32[4,8,8,8] dot(sp, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, "
          "lhs_contracting_dims={3}, rhs_contracting_dims={1}\n"
          "ot = f32[4,8,8,8] transpose(o), dimensions={0,2,1,3}\n or = f32[4,8,64] reshape(ot)\n"
          "y = f32[4,8,32] dot(or, wo), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
          "ROOT t = (f32[4,8,32]) tuple(y), sharding={{devices=[2,1,1,4]<=[8] "
          "last_tile_dim_replicate}} }\n");
}

/* the first sharding gives the order that everything else lies in */
TEST(boundaries_in_other_orders_of_devices)
{
    static const char text[] =
        "HloModule test, num_partitions=8\nENTRY main {\n"
        "a = f32[8,16] parameter(0), sharding={devices=[8,1]<=[8]}\n"
        "b = f32[8,16] parameter(1), sharding={devices=[8,1]7,6,5,4,3,2,1,0}\n"
        "c = f32[8,16] parameter(2), sharding={devices=[2,2,2]0,3,5,6,1,2,4,7 last_tile_dim_replicate}\n"
        "s = f32[8,16] add(a, b)\n p = f32[8,16] multiply(s, c)\n"
        "q = f32[16,8] transpose(p), dimensions={1,0}\n"
        "ROOT t = (f32[8,16], f32[16,8], f32[8,16]) tuple(p, q, b), sharding={{devices=[8,1]2,0,1,3,7,6,5,4}, "
        "{devices=[4,2]7,5,3,1,6,4,2,0}, {devices=[8,1]<=[8]}} }\n";
    struct shard_rig r;

    for (uint64_t n = 0; n < 3; n++) {
        rig_check(&r, text, (uint64_t)time(NULL) + n, 1e-5);
        assert_int_equal(r.boundary.parameter[1].sharding.id.item[0], 7);
        assert_int_equal(r.boundary.parameter[2].sharding.id.item[1], 3);
        assert_int_equal(r.boundary.result[0].sharding.id.item[0], 2);
        assert_int_equal(r.boundary.result[1].sharding.id.item[1], 5);
        assert_int_equal(r.boundary.result[2].sharding.id.item[1], 1);
        rig_end(&r);
    }
}

TEST(experts_on_devices_of_their_own)
{
    check("", "ENTRY main {\n"
          "x = f32[16,8] parameter(0), sharding={devices=[8,1]<=[8]}\n"
          "g = f32[16,4,3] parameter(1), sharding={devices=[8,1,1]<=[8]}\n"
          "w = f32[4,8,12] parameter(2), sharding={devices=[4,1,1,2]<=[8] last_tile_dim_replicate}\n"
          "d = f32[4,3,8] dot(g, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
          "dc = f32[4,3,8] custom-call(d), custom_call_target=\"Sharding\", "
          "sharding={devices=[4,1,1,2]<=[8] last_tile_dim_replicate}\n"
          "h = f32[4,3,12] dot(dc, w), lhs_batch_dims={0}, rhs_batch_dims={0}, "
          "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"
          "c = f32[16,12] dot(g, h), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}\n"
          "ROOT t = (f32[16,12]) tuple(c), sharding={{devices=[8,1]<=[8]}} }\n");
}

TEST(loops_whose_state_is_cut)
{
    check("", "cond { s = (s32[], f32[16,8], f32[8,8]) parameter(0)\n"
          "i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(5)\n"
          "ROOT c = pred[] compare(i, n), direction=LT }\n"
          "body { s = (s32[], f32[16,8], f32[8,8]) parameter(0)\n"
          "i = s32[] get-tuple-element(s), index=0\n x = f32[16,8] get-tuple-element(s), index=1\n"
          "w = f32[8,8] get-tuple-element(s), index=2\n o = s32[] constant(1)\n"
          "j = s32[] add(i, o)\n"
          "d = f32[16,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "y = f32[16,8] tanh(d)\n ROOT t = (s32[], f32[16,8], f32[8,8]) tuple(j, y, w) }\n"
          "ENTRY main { x = f32[16,8] parameter(0), sharding={devices=[8,1]<=[8]}\n"
          "w = f32[8,8] parameter(1), sharding={devices=[2,4]<=[8]}\n z = s32[] constant(0)\n"
          "s = (s32[], f32[16,8], f32[8,8]) tuple(z, x, w)\n"
          "l = (s32[], f32[16,8], f32[8,8]) while(s), condition=cond, body=body\n"
          "ROOT y = f32[16,8] get-tuple-element(l), index=1 }\n");
}

TEST(two_loops_of_one_body_lie_as_each_wants)
{
    check("", "cond { s = (s32[], f32[8,8]) parameter(0)\n"
          "i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(3)\n"
          "ROOT c = pred[] compare(i, n), direction=LT }\n"
          "body { s = (s32[], f32[8,8]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
          "x = f32[8,8] get-tuple-element(s), index=1\n o = s32[] constant(1)\n j = s32[] add(i, o)\n"
          "y = f32[8,8] sine(x)\n ROOT t = (s32[], f32[8,8]) tuple(j, y) }\n"
          "twice { x = f32[8,8] parameter(0)\n z = s32[] constant(0)\n"
          "s = (s32[], f32[8,8]) tuple(z, x)\n"
          "l = (s32[], f32[8,8]) while(s), condition=cond, body=body\n"
          "ROOT y = f32[8,8] get-tuple-element(l), index=1 }\n"
          "ENTRY main { x = f32[8,8] parameter(0), sharding={devices=[8,1]<=[8]}\n"
          "y = f32[8,8] parameter(1), sharding={devices=[1,8]<=[8]}\n"
          "a = f32[8,8] call(x), to_apply=twice\n b = f32[8,8] call(y), to_apply=twice\n"
          "ROOT c = f32[8,8] add(a, b), sharding={devices=[2,4]<=[8]} }\n");
}

TEST(conditionals_of_cut_arrays)
{
    check("", "yes { p = f32[8,6] parameter(0)\n ROOT n = f32[8,6] negate(p) }\n"
          "no { p = (f32[8,6], f32[6]) parameter(0)\n a = f32[8,6] get-tuple-element(p), index=0\n"
          "b = f32[6] get-tuple-element(p), index=1\n c = f32[8,6] broadcast(b), dimensions={1}\n"
          "ROOT s = f32[8,6] add(a, c) }\n"
          "ENTRY main { x = f32[8,6] parameter(0), sharding={devices=[4,2]<=[8]}\n"
          "v = f32[6] parameter(1), sharding={devices=[2,4]<=[8] last_tile_dim_replicate}\n"
          "q = pred[] parameter(2)\n u = (f32[8,6], f32[6]) tuple(x, v)\n"
          "ROOT c = f32[8,6] conditional(q, x, u), true_computation=yes, false_computation=no, "
          "sharding={devices=[8,1]<=[8]} }\n");
}

#define BRANCHES \
    "yes { p = f32[8,8] parameter(0)\n z = f32[] constant(0)\n" \
    "r = f32[8] reduce(p, z), dimensions={0}, to_apply=add\n" \
    "ROOT n = f32[8,8] broadcast(r), dimensions={1} }\n" \
    "no { p = f32[8,8] parameter(0)\n ROOT s = f32[8,8] sine(p) }\n" \
    "ENTRY main { x = f32[8,8] parameter(0), sharding={devices=[4,2]<=[8]}\n" \
    "q = pred[] parameter(1)\n" \
    "ROOT c = f32[8,8] conditional(q, x, x), true_computation=yes, false_computation=no, " \
    "sharding={devices=[8,1]<=[8]} }\n"

/* devices follow each other by the order of collectives, which must be known before */
TEST(branches_exchange_nothing)
{
    struct shard_rig r;

    check("", BRANCHES);
    rig_check(&r, "HloModule test, num_partitions=8\n"
              "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
              BRANCHES, 3, 1e-4);
    assert_true(r.count.count > 0);
    for (int i = 0; i < r.count.count; i++)
        assert_int_equal(r.count.row[i].computation, r.part.entry);
    rig_end(&r);
}

/* what shard_map writes: a sum over all of what each device has, on a mesh of one axis */
TEST(manual_regions_keep_their_own_collectives)
{
    static const char body[] =
        "HloModule test, num_partitions=8\n"
        "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
        "ENTRY main { x = f32[16,3] parameter(0), sharding={devices=[8,1]<=[8]}\n"
        "c = f32[16,3] custom-call(x), custom_call_target=\"Sharding\", "
        "sharding={devices=[8,1]<=[8]}\n"
        "m = f32[2,3] custom-call(c), custom_call_target=\"SPMDFullToShardShape\", "
        "sharding={manual}\n"
        "s = f32[2,3] all-reduce(m), channel_id=1, replica_groups=[1,8]<=[8], "
        "use_global_device_ids=true, to_apply=add\n"
        "d = f32[2,3] subtract(m, s)\n"
        "b = f32[2,3] custom-call(d), custom_call_target=\"Sharding\", sharding={manual}\n"
        "y = f32[16,3] custom-call(b), custom_call_target=\"SPMDShardToFullShape\", "
        "sharding={devices=[8,1]<=[8]}\n"
        "ROOT t = (f32[16,3]) tuple(y), sharding={{devices=[8,1]<=[8]}} }\n";
    struct shard_rig r;
    struct eval_array *input, *output;
    const float *x, *y;

    rig_read(&r, body);
    if (rig_cut(&r))
        fail_msg("%s", r.e.msg);
    assert_int_equal(r.count.count, 1);
    input = rig_inputs(&r, 7);
    output = rig_run_part(&r, input);
    x = input[0].data;
    y = output[0].data;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;

            for (int n = i % 2; n < 16; n += 2)
                sum += (double)x[n * 3 + k];
            assert_true(fabs((double)y[i * 3 + k] - ((double)x[i * 3 + k] - sum)) < 1e-4);
        }
    rig_end(&r);
}

/* what takes nothing from outside lies by hand from its end on */
TEST(manual_regions_may_take_nothing)
{
    struct shard_rig r;
    struct eval_array *output;

    rig_read(&r, "HloModule test, num_partitions=8\n"
             "ENTRY main { i = u32[] partition-id()\n c = u32[] constant(2)\n"
             "d = u32[] divide(i, c)\n b = u32[1] broadcast(d), dimensions={}\n"
             "m = u32[1] custom-call(b), custom_call_target=\"Sharding\", sharding={manual}\n"
             "ROOT y = u32[4] custom-call(m), custom_call_target=\"SPMDShardToFullShape\", "
             "sharding={devices=[4,2]<=[8] last_tile_dim_replicate} }\n");
    if (rig_cut(&r))
        fail_msg("%s", r.e.msg);
    output = rig_run_part(&r, rig_inputs(&r, 3));
    for (int i = 0; i < 4; i++)
        assert_int_equal(((const uint32_t *)output[0].data)[i], i);
    rig_end(&r);
}

/* six rows are cut for two devices, though a constraint says four: they do not divide */
TEST(results_are_cut_where_they_divide)
{
    struct shard_rig r;

    rig_read(&r, "HloModule test, num_partitions=8\n"
             "ENTRY main { x = f32[6,16] parameter(0)\n"
             "ROOT y = f32[6,16] custom-call(x), custom_call_target=\"Sharding\", "
             "sharding={devices=[4,2]<=[8]} }\n");
    if (rig_cut(&r))
        fail_msg("%s", r.e.msg);
    assert_int_equal(r.boundary.result[0].part.dim[0], 3);
    assert_int_equal(r.boundary.result[0].part.dim[1], 8);
    rig_end(&r);
}

/* a result that is cut by a part of an axis is whole, for callers have no name for such a part */
TEST(results_are_cut_by_axes_that_have_names)
{
    struct shard_rig r;

    rig_read(&r, "HloModule test, num_partitions=8, frontend_attributes={xla.sdy.meshes="
             "{mesh = #sdy.mesh<[\"x\"=8]>}}\n"
             "ENTRY main { x = f32[16] parameter(0), sharding={devices=[8]<=[8]}\n"
             "ROOT y = f32[4,4] reshape(x) }\n");
    if (rig_cut(&r))
        fail_msg("%s", r.e.msg);
    assert_int_equal(r.boundary.parameter[0].part.dim[0], 2);
    assert_int_equal(r.boundary.result[0].part.dim[0], 4);
    assert_int_equal(r.boundary.result[0].part.dim[1], 4);
    rig_end(&r);
}

/* by hand over an axis of two, ours over the one of four inside */
TEST(partly_manual_regions_are_cut_inside)
{
#define HALF "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
#define INSIDE "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"
    static const char body[] =
        "HloModule test, num_partitions=8\n"
        "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
        "ENTRY main { x = f32[8,16] parameter(0), sharding={devices=[2,4]<=[8]}\n"
        "w = f32[16,4] parameter(1), sharding={devices=[4,1,2]<=[2,4]T(1,0) "
        "last_tile_dim_replicate}\n"
        "c = f32[8,16] custom-call(x), custom_call_target=\"Sharding\", "
        "sharding={devices=[2,4]<=[8]}\n"
        "m = f32[4,16] custom-call(c), custom_call_target=\"SPMDFullToShardShape\", "
        "sharding=" INSIDE "\n"
        "v = f32[16,4] custom-call(w), custom_call_target=\"SPMDFullToShardShape\", "
        "sharding=" INSIDE "\n"
        "d = f32[4,4] dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "s = f32[4,4] all-reduce(d), channel_id=1, replica_groups={{0,4},{1,5},{2,6},{3,7}}, "
        "use_global_device_ids=true, to_apply=add\n"
        "b = f32[4,4] custom-call(s), custom_call_target=\"Sharding\", sharding=" INSIDE "\n"
        "y = f32[8,4] custom-call(b), custom_call_target=\"SPMDShardToFullShape\", "
        "sharding=" HALF "\n"
        "ROOT t = (f32[8,4]) tuple(y), sharding={" HALF "} }\n";
    struct shard_rig r;
    struct eval_array *input, *output;
    const float *x, *w, *y;

    rig_read(&r, body);
    if (rig_cut(&r))
        fail_msg("%s", r.e.msg);
    input = rig_inputs(&r, 11);
    output = rig_run_part(&r, input);
    x = input[0].data;
    w = input[1].data;
    y = output[0].data;
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 4; k++) {
            double sum = 0;

            for (int n = i % 4; n < 8; n += 4)
                for (int l = 0; l < 16; l++)
                    sum += (double)x[n * 16 + l] * (double)w[l * 4 + k];
            assert_true(fabs((double)y[i * 4 + k] - sum) < 1e-3);
        }
    rig_end(&r);
}

TEST(devices_in_an_order_of_their_own)
{
    check("", "ENTRY main { x = f32[8,16] parameter(0), "
          "sharding={devices=[4,2]0,1,3,2,7,6,4,5}\n"
          "w = f32[16,8] parameter(1), sharding={devices=[2,4]0,3,7,4,1,2,6,5}\n"
          "y = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "ROOT t = (f32[8,8]) tuple(y), sharding={{devices=[8,1]<=[8]}} }\n");
}

TEST(replicas_of_cut_programs_do_not_mix)
{
    check(", replica_count=2", "ENTRY main {\n"
          "x = f32[8,16] parameter(0), sharding={devices=[2,4]<=[8]}\n"
          "w = f32[16,8] parameter(1), sharding={devices=[4,2]<=[8]}\n"
          "y = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "ROOT t = (f32[8,8]) tuple(y), sharding={{devices=[1,8]<=[8]}} }\n");
}

TEST(sizes_that_do_not_divide_are_filled_up)
{
    check("", "ENTRY main { x = f32[7,13] parameter(0), sharding={devices=[4,2]<=[8]}\n"
          "w = f32[13,5] parameter(1), sharding={devices=[2,4]<=[8]}\n"
          "e = f32[7,13] exponential(x)\n l = f32[7,13] log(e)\n z = f32[] constant(0)\n"
          "y = f32[7,5] dot(l, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "s = f32[5] reduce(y, z), dimensions={0}, to_apply=add\n"
          "ROOT t = (f32[7,5], f32[5]) tuple(y, s), "
          "sharding={{devices=[8,1]<=[8]},{devices=[4,2]<=[8] last_tile_dim_replicate}} }\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_cut_by_batch_and_heads),
        cmocka_unit_test(boundaries_in_other_orders_of_devices),
        cmocka_unit_test(experts_on_devices_of_their_own),
        cmocka_unit_test(loops_whose_state_is_cut),
        cmocka_unit_test(two_loops_of_one_body_lie_as_each_wants),
        cmocka_unit_test(conditionals_of_cut_arrays),
        cmocka_unit_test(branches_exchange_nothing),
        cmocka_unit_test(manual_regions_keep_their_own_collectives),
        cmocka_unit_test(manual_regions_may_take_nothing),
        cmocka_unit_test(results_are_cut_where_they_divide),
        cmocka_unit_test(results_are_cut_by_axes_that_have_names),
        cmocka_unit_test(partly_manual_regions_are_cut_inside),
        cmocka_unit_test(devices_in_an_order_of_their_own),
        cmocka_unit_test(replicas_of_cut_programs_do_not_mix),
        cmocka_unit_test(sizes_that_do_not_divide_are_filled_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
