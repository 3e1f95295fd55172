/* Strategies on a part of a slice: do its cores compute, and all others nothing? */
#include "tests/test.h"

#include <string.h>

#include "api/api.h"
#include "base/rng.h"
#include "tests/rigs/api_rig.h"

#define WIDTH 6
#define ROUNDS 12                       /* drawn parts */

/* x summed over the replicas, added to a variable, and all of x side by side */
static sy_status exchange(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                          int outputs, void *user)
{
    sy_tensor sum = sy_all_reduce(c, SY_SUM, in[0]);

    (void)inputs, (void)outputs;
    sy_assign(c, user, sy_add(c, sy_read(c, user), sum));
    out[0] = sum;
    out[1] = sy_all_gather(c, in[0], 0);
    return sy_context_status(c);
}

static void check_exchange(sy_strategy *s)
{
    int replicas = sy_strategy_replicas(s);
    float x[8][WIDTH], sum[WIDTH] = {0}, kept[WIDTH];
    sy_value *in, *out[2];
    sy_variable *v;

    for (int r = 0; r < replicas; r++)
        for (int i = 0; i < WIDTH; i++) {
            x[r][i] = (float)(r * 10 + i);
            sum[i] += x[r][i];
        }
    api_must(sy_variable_create(s, "kept", SY_F32, sy_dims(WIDTH), NULL, &v));
    api_must(sy_value_split(s, SY_F32, sy_dims(replicas * WIDTH), x, &in));
    for (int times = 1; times <= 2; times++) {
        api_must(sy_strategy_run(s, "exchange", exchange, v, &in, 1, out, 2));
        for (int r = 0; r < replicas; r++) {
            assert_memory_equal(sy_value_data(out[0], r), sum, sizeof(sum));
            assert_memory_equal(sy_value_data(out[1], r), x, (size_t)replicas * sizeof(x[0]));
        }
        sy_value_free(out[0]);
        sy_value_free(out[1]);
    }
    api_must(sy_variable_read(v, kept, sizeof(kept)));
    for (int i = 0; i < WIDTH; i++)
        assert_true(kept[i] == 2 * sum[i]);
    sy_value_free(in);
}

/* no bundle issued, not a cycle of any kind, no byte moved */
static void check_idle(const sy_cluster *c, const sy_assignment *a)
{
    const struct machine *m = c->cluster.machine;
    int replica, device, idle = 0;

    for (int core = 0; core < machine_core_count(m); core++) {
        const struct core_counters *n = machine_counters(m, core);

        if (device_assignment_lookup(&a->d, core, &replica, &device)) {
            assert_true(n->issue_cycles > 0);
            continue;
        }
        idle++;
        assert_int_equal(n->issue_cycles, 0);
        assert_int_equal(n->cycles - n->idle_cycles, 0);
        assert_int_equal(n->hbm_read_bytes + n->hbm_write_bytes + n->ici_sent_bytes +
                         n->ici_received_bytes + n->peer_sent_bytes + n->dma_count, 0);
    }
    assert_int_equal(idle, machine_core_count(m) -
                               sy_assignment_replicas(a) * sy_assignment_devices(a));
}

static void try_part(sy_cluster *c, sy_assignment *a)
{
    sy_strategy *s;
    sy_costs costs;

    api_must(sy_strategy_create(c, a, &(sy_strategy_options){.check_replicas = true}, &s));
    check_exchange(s);
    check_idle(c, a);
    api_must(sy_strategy_costs(s, &costs));
    assert_int_equal(costs.cores, sy_assignment_replicas(a) * sy_assignment_devices(a));
    assert_true(costs.cycles > 0);
    assert_true((costs.communication_cycles > 0) == (sy_assignment_replicas(a) > 1));
    sy_strategy_free(s);
}

TEST(the_guides_two_replicas_of_one_core)
{
    sy_cluster *c;
    sy_assignment *a;

    api_must(sy_cluster_resolve("v3-8", NULL, &c));
    api_must(sy_cluster_initialize(c));
    api_must(sy_assignment_build(c, (const int[4]){1, 1, 1, 1}, NULL, 2, NULL, &a));
    try_part(c, a);
    sy_assignment_free(a);
    sy_cluster_free(c);
}

static void draw_part(struct rng *r, sy_cluster *c, sy_assignment **out)
{
    int mesh[4], at[8][4], order[8], cores = sy_cluster_core_count(c);
    int devices = 1 + (int)rng_below(r, 2);
    int replicas = 1 + (int)rng_below(r, (uint32_t)(cores / devices));

    sy_cluster_mesh(c, mesh);
    for (int i = 0; i < cores; i++)
        order[i] = i;
    for (int i = cores - 1; i > 0; i--) {
        int k = (int)rng_below(r, (uint32_t)i + 1), kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
    for (int i = 0; i < replicas * devices; i++)
        api_must(sy_cluster_coordinates(c, order[i], at[i]));
    api_must(sy_assignment_from(c, (const int (*)[4])at, replicas, devices, out));
}

TEST(drawn_parts_compute_and_all_else_is_idle)
{
    static const char *const slices[] = {"v3-8", "v2-8", "v5e-8", "v4-8"};
    struct rng r;

    rng_init(&r, 3);
    for (int i = 0; i < ROUNDS; i++) {
        sy_cluster *c;
        sy_assignment *a;

        api_must(sy_cluster_resolve(slices[i % 4], NULL, &c));
        api_must(sy_cluster_initialize(c));
        draw_part(&r, c, &a);
        try_part(c, a);
        sy_assignment_free(a);
        sy_cluster_free(c);
    }
}

/* two of eight cores train as a slice of two does, bit by bit */
TEST(a_model_trains_on_a_part_as_on_a_slice_of_its_size)
{
    static const int cores[2][2][4] = {{{0, 0, 0, 0}, {0, 0, 0, 1}}, {{1, 1, 0, 0}, {0, 1, 0, 1}}};
    float w[3][16 * 4];

    for (int i = 0; i < 3; i++) {
        struct api_rig r;
        sy_assignment *a = NULL;

        api_rig_open(&r, i ? "v3-8" : "v3-2");
        if (i) {
            sy_model_free(r.model);
            sy_strategy_free(r.strategy);
            api_must(sy_assignment_from(r.cluster, cores[i - 1], 2, 1, &a));
            api_must(sy_strategy_create(r.cluster, a, NULL, &r.strategy));
            api_must(sy_model_create(r.strategy, "small", &r.model));
        }
        assert_int_equal(sy_strategy_replicas(r.strategy), 2);
        api_rig_build(&r, &api_standard);
        api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 2, .quiet = true}));
        api_must(sy_variable_read(sy_variable_find(r.strategy, "logits/kernel"), w[i],
                                  sizeof(w[i])));
        api_rig_close(&r);
        sy_assignment_free(a);
        assert_memory_equal(w[0], w[i], sizeof(w[0]));
    }
}

TEST(parts_in_stages_and_parts_side_by_side)
{
    sy_strategy *half[2];
    sy_assignment *a[2];
    struct api_rig r;

    api_rig_open(&r, "v3-8");
    for (int i = 0; i < 2; i++) {
        api_must(sy_assignment_from(r.cluster, i ? (const int[][4]){{1, 0, 0, 0}, {1, 0, 0, 1}}
                                                 : (const int[][4]){{0, 1, 0, 1}, {0, 1, 0, 0}},
                                    2, 1, &a[i]));
        api_must(sy_strategy_create(r.cluster, a[i], NULL, &half[i]));
        check_exchange(half[i]);
        check_idle(r.cluster, a[i]);
    }
    for (int i = 0; i < 2; i++) {
        sy_strategy_free(half[i]);
        sy_assignment_free(a[i]);
    }
    sy_model_free(r.model);
    sy_strategy_free(r.strategy);
    api_must(sy_assignment_build(r.cluster, (const int[4]){1, 1, 1, 2}, NULL, 1, NULL, &a[0]));
    api_must(sy_strategy_create(r.cluster, a[0], &(sy_strategy_options){.pipeline_stages = 2},
                                &r.strategy));
    api_must(sy_model_create(r.strategy, "small", &r.model));
    api_rig_build(&r, &api_standard);
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 1, .quiet = true}));
    check_idle(r.cluster, a[0]);
    api_rig_close(&r);
    sy_assignment_free(a[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guides_two_replicas_of_one_core),
        cmocka_unit_test(drawn_parts_compute_and_all_else_is_idle),
        cmocka_unit_test(a_model_trains_on_a_part_as_on_a_slice_of_its_size),
        cmocka_unit_test(parts_in_stages_and_parts_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
