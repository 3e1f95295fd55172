/* Programs on two replicas of two partitions each: who gives what to whom, who goes on alone. */
#include "import/eval/eval.h"
#include "import/read/read.h"
#include "tests/test.h"

enum { DEVICES = 4, NUMBERS = 4 };

struct device_case {
    const char *name, *computations, *body;
    int count;                          /* numbers of each device's result */
    int32_t want[DEVICES][NUMBERS];
};

#define ADD "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }\n"
/* d: the device's number, replica times two plus partition; v: d and d + 10 */
#define NUMBER \
    "r = u32[] replica-id() p = u32[] partition-id() two = u32[] constant(2) " \
    "q = u32[] multiply(r, two) n = u32[] add(q, p) d = s32[] convert(n) " \
    "d1 = s32[1] reshape(d) ten = s32[1] constant({10}) e1 = s32[1] add(d1, ten) " \
    "v = s32[2] concatenate(d1, e1), dimensions={0} "

static const struct device_case cases[] = {
    { "replicas of one's own partition are added", ADD,
      NUMBER "ROOT z = s32[2] all-reduce(v), replica_groups={{0,1}}, to_apply=add",
      2, { { 2, 22 }, { 4, 24 }, { 2, 22 }, { 4, 24 } } },
    { "with a channel all partitions of the replicas are added", ADD,
      NUMBER "ROOT z = s32[2] all-reduce(v), channel_id=1, replica_groups={{0},{1}}, to_apply=add",
      2, { { 1, 21 }, { 1, 21 }, { 5, 25 }, { 5, 25 } } },
    { "global numbers name devices", ADD,
      NUMBER "ROOT z = s32[2] all-reduce(v), channel_id=1, replica_groups={{0,3},{2,1}}, "
      "use_global_device_ids=true, to_apply=add",
      2, { { 3, 23 }, { 3, 23 }, { 3, 23 }, { 3, 23 } } },
    { "parts are gathered in the order of the group", NULL,
      NUMBER "ROOT z = s32[4] all-gather(v), channel_id=1, replica_groups={{3,0},{1,2}}, "
      "use_global_device_ids=true, dimensions={0}",
      4, { { 3, 13, 0, 10 }, { 1, 11, 2, 12 }, { 1, 11, 2, 12 }, { 3, 13, 0, 10 } } },
    { "sums are cut by place in the group", ADD,
      NUMBER "ROOT z = s32[1] reduce-scatter(v), replica_groups={{1,0}}, dimensions={0}, "
      "to_apply=add", 1, { { 22 }, { 24 }, { 2 }, { 4 } } },
    { "parts are exchanged", NULL,
      NUMBER "ROOT z = s32[2] all-to-all(v), replica_groups={{0,1}}, dimensions={0}",
      2, { { 0, 2 }, { 1, 3 }, { 10, 12 }, { 11, 13 } } },
    { "partitions send along a ring, one gets nothing", NULL,
      NUMBER "ROOT z = s32[2] collective-permute(v), channel_id=1, source_target_pairs={{0,1}}",
      2, { { 0, 0 }, { 0, 10 }, { 0, 0 }, { 2, 12 } } },
    { "an array of one is everybody's", NULL,
      NUMBER "ROOT z = s32[2] collective-broadcast(v), replica_groups={{1,0}}",
      2, { { 2, 12 }, { 3, 13 }, { 2, 12 }, { 3, 13 } } },
    { "devices leave a loop one after another",
      "c { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 "
      "n = s32[] get-tuple-element(s), index=1 ROOT l = pred[] compare(i, n), direction=LT }\n"
      "b { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 "
      "n = s32[] get-tuple-element(s), index=1 o = s32[] constant(1) j = s32[] add(i, o) "
      "ROOT t = (s32[], s32[]) tuple(j, n) }\n",
      NUMBER "zero = s32[] constant(-1) t = (s32[], s32[]) tuple(zero, d) "
      "w = (s32[], s32[]) while(t), condition=c, body=b i = s32[] get-tuple-element(w), index=0 "
      "ROOT z = s32[1] reshape(i)", 1, { { 0 }, { 1 }, { 2 }, { 3 } } },
    { "each partition has a tile of an array inside a region of its own", NULL,
      "x = s32[4] constant({1, 2, 3, 4}) "
      "a = s32[4] custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[2]0,1} "
      "m = s32[2] custom-call(a), custom_call_target=\"SPMDFullToShardShape\", sharding={manual} "
      "p = u32[] partition-id() q = s32[] convert(p) b = s32[2] broadcast(q), dimensions={} "
      "y = s32[2] add(m, b) "
      "ROOT z = s32[4] custom-call(y), custom_call_target=\"SPMDShardToFullShape\", "
      "sharding={devices=[2]0,1}",
      4, { { 1, 2, 4, 5 }, { 1, 2, 4, 5 }, { 1, 2, 4, 5 }, { 1, 2, 4, 5 } } },
};

static int run_case(const struct device_case *c)
{
    struct eval_settings s = { .replica_count = 2, .partition_count = 2, .step_limit = 10000 };
    struct eval_array result[DEVICES][1], *output[DEVICES];
    struct hlo_module *m;
    struct arena a;
    struct err e = { .msg = "" };
    int wrong = 0;
    char *text;

    arena_init(&a);
    text = arena_printf(&a, "HloModule test, replica_count=2, num_partitions=2\n\n%s\n"
                        "ENTRY main {\n%s\n}\n", c->computations ? c->computations : "", c->body);
    for (int d = 0; d < DEVICES; d++)
        output[d] = result[d];
    m = program_read_bytes(text, strlen(text), c->name, &a, &e);
    if (!m || eval_run(m, &s, NULL, output, &a, NULL, &e)) {
        printf("%s: %s\n", c->name, e.msg);
        wrong = 1;
    }
    for (int d = 0; d < DEVICES && !wrong; d++)
        for (int k = 0; k < c->count; k++) {
            int32_t got = ((const int32_t *)result[d][0].data)[k];

            if (got != c->want[d][k]) {
                printf("%s: device %d, number %d is %d for %d\n", c->name, d, k, got,
                       c->want[d][k]);
                wrong = 1;
            }
        }
    program_free(m);
    arena_fini(&a);
    return wrong;
}

TEST(each_device_gets_what_it_is_given)
{
    int wrong = 0;

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        wrong += run_case(&cases[k]);
    assert_int_equal(wrong, 0);
}

/* what a program of bounded sizes is given and gives */
TEST(elements_beyond_the_actual_size_are_not_there)
{
    static const char text[] = "HloModule m\n\nENTRY e {\n  x = f32[<=4,2] parameter(0)\n"
        "  ROOT y = f32[<=4,2] add(x, x)\n}\n";
    float data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    int64_t size[2] = { 3, 2 };
    struct eval_settings s = { .step_limit = 100 };
    struct eval_array input[1], result[1], *output[1] = { result };
    const struct eval_array *inputs[1] = { input };
    struct hlo_module *m;
    struct arena a;
    struct err e = { .msg = "" };
    const float *got;

    arena_init(&a);
    m = program_read_bytes(text, strlen(text), "m.hlo", &a, &e);
    assert_non_null(m);
    input[0] = (struct eval_array){ *eval_input_type(m, 0), data, size };
    if (eval_run(m, &s, inputs, output, &a, NULL, &e))
        fail_msg("%s", e.msg);
    assert_int_equal(result[0].size[0], 3);
    got = result[0].data;
    for (int k = 0; k < 8; k++)
        assert_true(got[k] == (k < 6 ? 2 * data[k] : 0));
    program_free(m);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_gets_what_it_is_given),
        cmocka_unit_test(elements_beyond_the_actual_size_are_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
