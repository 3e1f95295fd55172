/*
 * Pipelines: a chain of dense layers in stages on the cores of a slice gives what the whole model
 * on one core gives, in 1F1B order, with messages that are as many and as large as theory says.
 */
#include "tests/rigs/train_rig.h"

#include <math.h>

#include "stack/nn/nn.h"
#include "stack/spmd/stages.h"
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/trial.h"
#include "train/strategy/stage_times.h"

#define LAYERS 8
#define UNITS 24

/* races are looked for where no arrays are copied to VMEM ahead of their kernels */
static void init_trial(struct trial *t, const char *slice, int stages, int micro_batches)
{
    char name[16];

    trial_init(t, slice, slice[1] != '5');
    t->m.options.stages = stages;
    t->m.options.micro_batches = micro_batches;
    for (int i = 0; i + 1 < LAYERS; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        mlp_add(&t->m, name, UNITS, ACTIVATION_TANH);
    }
    mlp_add(&t->m, "out", 10, ACTIVATION_SOFTMAX);
}

static void run_trial(struct trial *t)
{
    float x[TRIAL_BATCH * MLP_INPUTS];
    int32_t label[TRIAL_BATCH];

    trial_batch(x, label);
    trial_run(t, x, label);
}

/* the whole model on the host's interpreter with the same micro batches */
static void compare(const char *slice, int stages, int micro_batches)
{
    struct trial whole, cut;

    init_trial(&whole, "host", 0, micro_batches);
    init_trial(&cut, slice, stages, micro_batches);
    run_trial(&whole);
    run_trial(&cut);
    for (int i = 0; i < TRIAL_STEPS; i++)
        if (fabs(cut.loss[i] - whole.loss[i]) > 1e-5 * whole.loss[i])
            fail_msg("%s, %d stages, %d micro batches, step %d: %.9g, whole %.9g", slice, stages,
                     micro_batches, i, cut.loss[i], whole.loss[i]);
    if (trial_distance(&cut, &whole) > 2e-5)
        fail_msg("%s, %d stages, %d micro batches: variables differ by %.3g", slice, stages,
                 micro_batches, trial_distance(&cut, &whole));
    trial_fini(&whole);
    trial_fini(&cut);
}

TEST(stages_train_as_the_whole_model_does)
{
    compare("v3-8", 2, 1);
    compare("v3-8", 2, 2);
    compare("v3-8", 2, 8);
    compare("v3-8", 4, 2);
    compare("v3-8", 4, 4);
    compare("v3-8", 4, 8);
    compare("v2-8", 8, 4);
    compare("v5e-4", 4, 4);
}

/* kernels of a micro batch are the same, and gradients are added up in the same order */
TEST(stages_of_one_replica_are_one_core_bit_by_bit)
{
    struct trial one, cut;

    init_trial(&one, "v3-1", 0, 4);
    init_trial(&cut, "v3-8", 8, 4);
    run_trial(&one);
    run_trial(&cut);
    for (int i = 0; i < TRIAL_STEPS; i++)
        assert_true(one.loss[i] == cut.loss[i]);
    assert_true(trial_distance(&cut, &one) == 0);
    trial_fini(&one);
    trial_fini(&cut);
}

/* ----- several steps per execution */

static void compare_rounds(const char *slice, int stages, int micro_batches)
{
    float loss[2][2 * TRIAL_STEPS];
    struct trial one, many;

    init_trial(&one, slice, stages, micro_batches);
    init_trial(&many, slice, stages, micro_batches);
    trial_rounds(&one, 1, loss[0]);
    trial_rounds(&many, TRIAL_STEPS, loss[1]);
    if (memcmp(loss[0], loss[1], sizeof(loss[0])) != 0 || trial_distance(&many, &one) != 0)
        fail_msg("%s, %d stages, %d micro batches: a loop gives other values", slice, stages,
                 micro_batches);
    assert_true(loss[0][0] > loss[0][TRIAL_STEPS]);
    trial_fini(&one);
    trial_fini(&many);
}

/* three steps, so that slots and the flags of lone collectives would be others in each round */
TEST(steps_in_a_loop_are_steps_launched_one_by_one)
{
    compare_rounds("v3-8", 2, 1);
    compare_rounds("v3-8", 2, 3);
    compare_rounds("v3-8", 4, 2);
    compare_rounds("v2-8", 8, 3);
    compare_rounds("v5e-4", 4, 1);
    compare_rounds("host", 2, 3);
}

/* a stage that gets no gradients cannot know when its slots are free again */
TEST(loops_of_stages_with_messages_one_way_are_refused)
{
    struct trial t;

    init_trial(&t, "v3-2", 2, 2);
    t.m.options.stage_cuts = "d3";
    for (int i = 1; i < 4; i++)
        t.m.model.layer[i]->is_trainable = false;
    if (mlp_start(&t.m))
        fail_msg("%s", t.m.err.msg);
    assert_null(fit_program(t.m.fit, TRIAL_STEPS, &t.m.err));
    if (!strstr(t.m.err.msg, "stage 0 gets nothing back from stage 1"))
        fail_msg("%s", t.m.err.msg);
    trial_fini(&t);
}

TEST(times_of_stages_are_those_of_all_steps)
{
    struct stage_times times[2];
    float loss[2 * TRIAL_STEPS];
    struct trial t[2];

    for (int i = 0; i < 2; i++) {
        init_trial(&t[i], "v3-8", 4, 2);
        trial_rounds(&t[i], i ? TRIAL_STEPS : 1, loss);
        stage_times_of(fit_strategy(t[i].m.fit),
                       fit_program(t[i].m.fit, i ? TRIAL_STEPS : 1, &t[i].m.err), &t[i].arena,
                       &times[i]);
    }
    assert_int_equal(times[1].rounds, TRIAL_STEPS);
    assert_int_equal(times[1].micro_batches, 2);
    assert_true(times[1].ideal < times[1].cycles && times[1].ideal > 2 * times[0].ideal);
    for (int s = 0; s < 4; s++) {
        const struct strategy_part one = strategy_program_part(
            fit_strategy(t[0].m.fit), fit_program(t[0].m.fit, 1, &t[0].m.err), s);
        const struct strategy_part all = strategy_program_part(
            fit_strategy(t[1].m.fit), fit_program(t[1].m.fit, TRIAL_STEPS, &t[1].m.err), s);

        assert_int_equal(all.sent_bytes, TRIAL_STEPS * one.sent_bytes);
        assert_int_equal(all.kept_most, one.kept_most);
    }
    trial_fini(&t[0]);
    trial_fini(&t[1]);
}

/* d0, d1 .. d4 behind one another, then d0 added to d4: over as many stages as lie between */
static void init_residual(struct trial *t, const char *slice, int stages, int micro_batches)
{
    struct shape sample = f32_shape(1, (int64_t[]){MLP_INPUTS});
    struct layer *l;
    int x, first = -1;

    init_trial(t, slice, stages, micro_batches);
    model_fini(&t->m.model);
    model_init(&t->m.model, &t->m.arena, "residual");
    t->m.model.precision = PRECISION_HIGHEST;
    x = model_input(&t->m.model, "x", &sample);
    for (int i = 0; i < 5; i++) {
        l = model_layer(&t->m.model, LAYER_DENSE, arena_printf(&t->m.arena, "d%d", i));
        l->c.units = UNITS;
        l->c.activation = activation_standard(ACTIVATION_TANH);
        x = model_call(&t->m.model, l, &x, 1, &t->m.err);
        first = i ? first : x;
    }
    l = model_layer(&t->m.model, LAYER_ADD, "join");
    x = model_call(&t->m.model, l, (int[]){first, x}, 2, &t->m.err);
    l = model_layer(&t->m.model, LAYER_DENSE, "out");
    l->c.units = 10;
    l->c.activation = activation_standard(ACTIVATION_SOFTMAX);
    model_output(&t->m.model, model_call(&t->m.model, l, &x, 1, &t->m.err));
}

TEST(values_pass_through_stages_that_do_not_need_them)
{
    struct trial whole, cut;

    init_residual(&whole, "host", 0, 4);
    init_residual(&cut, "v3-8", 4, 4);
    cut.m.options.stage_cuts = "d1,d3,join";
    run_trial(&whole);
    run_trial(&cut);
    for (int i = 0; i < TRIAL_STEPS; i++)
        assert_true(fabs(cut.loss[i] - whole.loss[i]) <= 1e-5 * whole.loss[i]);
    assert_true(trial_distance(&cut, &whole) < 2e-5);
    trial_fini(&whole);
    trial_fini(&cut);
}

static void refuse(int stages, const char *cuts, int micro_batches, const char *message)
{
    struct trial t;

    init_trial(&t, "v3-8", stages, micro_batches);
    t.m.options.stage_cuts = cuts;
    assert_int_equal(mlp_start(&t.m), -1);
    if (!strstr(t.m.err.msg, message))
        fail_msg("expected \"%s\": %s", message, t.m.err.msg);
    trial_fini(&t);
}

TEST(what_cannot_be_in_stages_is_refused_by_name)
{
    refuse(3, NULL, 1, "3 stages on 8 cores");
    refuse(16, NULL, 1, "16 stages on 8 cores");
    refuse(2, NULL, 3, "the 16 samples of each replica cannot be cut into 3 micro batches");
    refuse(0, "d1", 1, "d1: the number of stages is missing");
    refuse(2, "d9", 1, "a stage is to begin at d9, but no layer has that name (did you mean");
    refuse(2, "d1,d2", 1, "d2 would begin stage 3, there are 2");
    refuse(4, "d1,d2", 1, "4 stages begin at 3 layers beside the first; d1,d2 names 2");
    refuse(4, "d3,d2,d5", 1, "d2 comes before or where stage 1 begins");
    refuse(2, "d0", 1, "d0 comes before or where stage 0 begins");
}

/* ----- sums over all stages */

/* a norm of all gradients: sums go up, what becomes of them down; launched by ones and in loops */
static void compare_clipped(const char *slice, int stages, int micro_batches)
{
    float loss[3][2 * TRIAL_STEPS];
    struct trial t[3];

    for (int i = 0; i < 3; i++) {
        init_trial(&t[i], i ? slice : "host", i ? stages : 0, micro_batches);
        t[i].m.optimizer.hyper[HYPER_GLOBAL_CLIPNORM] = 0.05;
        trial_rounds(&t[i], i == 2 ? TRIAL_STEPS : 1, loss[i]);
    }
    for (int i = 0; i < 2 * TRIAL_STEPS; i++)
        assert_true(fabsf(loss[1][i] - loss[0][i]) <= 1e-5f * loss[0][i]);
    assert_memory_equal(loss[2], loss[1], sizeof(loss[1]));
    assert_true(trial_distance(&t[1], &t[0]) <= 2e-5 && trial_distance(&t[2], &t[1]) == 0);
    for (int i = 0; i < 3; i++)
        trial_fini(&t[i]);
}

TEST(norms_of_all_variables_go_through_the_stages)
{
    compare_clipped("v3-2", 2, 1);
    compare_clipped("v3-8", 2, 3);
    compare_clipped("v3-8", 4, 2);
    compare_clipped("v2-8", 8, 3);
}

/* nodes of two stages behind their passes: x v0, that v1; back times what they read */
struct hand {
    struct arena arena;
    struct graph g;
    int stage[32], phase[32];
    int back[2];                        /* gradients, so to say, of stages 0 and 1 */
    struct stages cut;
    struct err e;
};

static int put(struct hand *h, int node, int stage, int phase)
{
    h->stage[node] = stage;
    h->phase[node] = phase;
    return node;
}

static void open_hand(struct hand *h)
{
    struct shape s = f32_shape(DIMS(8, 128));
    int x, v[2], y[2];

    memset(h, 0, sizeof(*h));
    for (int i = 0; i < 32; i++)
        put(h, i, -1, PHASE_REST);
    arena_init(&h->arena);
    graph_init(&h->g, &h->arena, "hand");
    x = graph_parameter(&h->g, s, "x");
    for (int i = 0; i < 2; i++)
        v[i] = graph_parameter(&h->g, s, i ? "v1" : "v0");
    for (int i = 0; i < 2; i++)
        y[i] = put(h, graph_binary(&h->g, HLO_MULTIPLY, i ? y[0] : x, v[i]), i, phase_forward(0));
    h->back[1] = put(h, graph_binary(&h->g, HLO_MULTIPLY, y[1], y[0]), 1, phase_backward(0));
    h->back[0] = put(h, graph_binary(&h->g, HLO_MULTIPLY, h->back[1], x), 0, phase_backward(0));
}

static int cut_hand(struct hand *h, int result)
{
    static const int parameter_stage[] = {-1, 0, 1}, core[] = {0, 1};
    static const bool is_input[] = {true, false, false};
    struct stages_request r = {.g = &h->g, .stage_count = 2, .micro_batches = 1, .stage = h->stage,
                               .phase = h->phase, .parameter_stage = parameter_stage,
                               .is_input = is_input, .replica_count = 1, .core = core};

    graph_output(&h->g, result, "result", -1);
    graph_output(&h->g, h->back[0], "back", -1);
    return stages_cut(&r, &h->arena, &h->cut, &h->e);
}

static void close_hand(struct hand *h, int cut_count)
{
    for (int s = 0; s < cut_count; s++)
        graph_fini(&h->cut.part[s].graph);
    graph_fini(&h->g);
    arena_fini(&h->arena);
}

static int sum_of(struct hand *h, int array) { return graph_reduce(&h->g, REDUCE_ADD, array, 3); }

/* the gradient of stage 0 times a number of both */
static int scale_by_both(struct hand *h)
{
    int both = graph_binary(&h->g, HLO_ADD, sum_of(h, h->back[0]), sum_of(h, h->back[1]));

    return graph_binary(&h->g, HLO_MULTIPLY, h->back[0], nn_spread(&h->g, both, h->back[0]));
}

TEST(numbers_of_all_stages_go_up_and_down_once)
{
    struct hand h;

    open_hand(&h);
    if (cut_hand(&h, scale_by_both(&h)))
        fail_msg("%s", h.e.msg);
    for (int s = 0; s < 2; s++) {
        int messages = 0;

        assert_int_equal(graph_verify(&h.cut.part[s].graph, &h.e), 0);
        for (int i = 0; i < h.cut.part[s].graph.node_count; i++)
            messages += h.cut.part[s].graph.node[i].message != NULL;
        assert_int_equal(messages, 4);  /* y0, back1; the sum of stage 0, that of both */
    }
    close_hand(&h, 2);
    open_hand(&h);
    assert_int_equal(cut_hand(&h, graph_binary(&h.g, HLO_ADD, h.back[0], h.back[1])), -1);
    assert_string_equal(h.e.msg, "add.7 needs values of stages 0 and 1 behind the backward passes; "
                        "what is of all variables together can only be numbers, such as a norm");
    close_hand(&h, 0);
    open_hand(&h);
    assert_int_equal(cut_hand(&h, graph_binary(&h.g, HLO_ADD, sum_of(&h, scale_by_both(&h)),
                                               sum_of(&h, h.back[1]))), -1);
    assert_non_null(strstr(h.e.msg, "behind the backward passes numbers go up once, then down"));
    close_hand(&h, 0);
}

/* ----- order */

struct event { bool is_up, is_send; int slot; };

/* 1F1B as papers tell it: warm-up, one forward one backward, the rest */
static int expected_events(int stages, int stage, int micro_batches, struct event *list)
{
    int ahead = stages - 1 - stage, forward = 0, backward = 0, count = 0;
    bool is_forward;

    while (backward < micro_batches) {
        is_forward = forward < micro_batches && forward - backward <= ahead;
        int m = is_forward ? forward++ : backward++;

        if (is_forward ? stage > 0 : stage < stages - 1)
            list[count++] = (struct event){is_forward, false, m % STAGE_SLOTS};
        if (is_forward ? stage < stages - 1 : stage > 0)
            list[count++] = (struct event){is_forward, true, m % STAGE_SLOTS};
    }
    return count;
}

/* what the kernels of a stage's program send and receive, by its flags */
static int found_events(const struct module *m, int first_flag, struct event *list)
{
    int count = 0;

    for (int k = 0; k < m->kernel_count; k++)
        for (int i = 0; i < m->kernel[k].job.body->node_count; i++) {
            const struct graph_node *n = &m->kernel[k].job.body->node[i];

            if (!n->message)
                continue;
            list[count].is_send = n->op == HLO_SEND;
            list[count].is_up = n->message->arrival_flag < first_flag + STAGE_SLOTS;
            list[count].slot = (n->message->arrival_flag - first_flag) % (STAGE_SLOTS + 1);
            count++;
        }
    return count;
}

static void check_order(int stages, int micro_batches)
{
    struct event expected[64], found[64];
    struct trial t;

    init_trial(&t, "v3-8", stages, micro_batches);
    if (mlp_start(&t.m))
        fail_msg("%s", t.m.err.msg);
    for (int s = 0; s < stages; s++) {
        struct strategy_part part = strategy_program_part(
            fit_strategy(t.m.fit), fit_program(t.m.fit, 1, &t.m.err), s);
        int first = (int)machine_chip(t.machine)->sync_flags - STAGE_MESSAGE_FLAGS;
        int count = expected_events(stages, s, micro_batches, expected);

        assert_int_equal(found_events(part.module, first, found), count);
        for (int i = 0; i < count; i++)
            if (found[i].is_up != expected[i].is_up || found[i].is_send != expected[i].is_send ||
                found[i].slot != expected[i].slot)
                fail_msg("stage %d of %d, %d micro batches: message %d is another one", s, stages,
                         micro_batches, i);
        assert_int_equal(part.kept_most,
                         stages - s < micro_batches ? stages - s : micro_batches);
    }
    trial_fini(&t);
}

TEST(messages_stand_in_the_order_of_1f1b)
{
    check_order(2, 1);
    check_order(2, 16);
    check_order(4, 2);
    check_order(4, 8);
    check_order(8, 4);
}

/* each stage has its own layers' variables, a 1 / S of them, and the few that all have */
TEST(variables_are_on_their_own_stage)
{
    struct trial t;
    int64_t all = 0, most = 0;

    init_trial(&t, "v3-8", 8, 2);
    if (mlp_start(&t.m))
        fail_msg("%s", t.m.err.msg);
    for (int s = 0; s < 8; s++) {
        int64_t bytes = strategy_program_part(fit_strategy(t.m.fit),
                                              fit_program(t.m.fit, 1, &t.m.err), s).variable_bytes;

        all += bytes;
        most = bytes > most ? bytes : most;
    }
    assert_true(most < all / 4);
    trial_fini(&t);
}

/* ----- time */

TEST(cores_wait_as_theory_says_where_stages_are_long)
{
    static const int micro[] = {1, 4};
    double measured[2];

    for (int i = 0; i < 2; i++) {
        struct stage_times times;
        struct trial t;

        init_trial(&t, "v3-8", 4, micro[i]);
        run_trial(&t);
        stage_times_of(fit_strategy(t.m.fit), fit_program(t.m.fit, 1, &t.m.err), &t.arena, &times);
        assert_int_equal(times.cycles, t.cycles);
        for (int s = 0; s < 4; s++) {
            const struct stage_cycles *c = &times.stage[s];
            cycle_t sum = c->passes + c->rest + c->messages + c->sums + c->idle;

            assert_true(llabs(sum - times.cycles) <= 8);
            assert_true(c->passes > 0 && c->messages > 0 && c->sums > 0);
        }
        assert_true(fabs(times.theory - 3.0 / (micro[i] + 3)) < 1e-12);
        assert_true(times.ideal < times.cycles && times.measured > times.bubble);
        /* of equal stages it is theory's; these are not, nor is the update cut into passes */
        assert_true(fabs(times.bubble - times.theory) < 0.2);
        measured[i] = times.measured;
        trial_fini(&t);
    }
    assert_true(measured[1] < measured[0]);
}

/* ----- without a machine */

/* unrolled on the host, as stages are: the same API without a machine */
TEST(host_runs_a_model_in_stages_whole)
{
    struct trial whole, cut;

    init_trial(&whole, "host", 0, 4);
    init_trial(&cut, "host", 4, 4);
    run_trial(&whole);
    run_trial(&cut);
    assert_true(trial_distance(&cut, &whole) == 0);
    trial_fini(&whole);
    trial_fini(&cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_train_as_the_whole_model_does),
        cmocka_unit_test(stages_of_one_replica_are_one_core_bit_by_bit),
        cmocka_unit_test(steps_in_a_loop_are_steps_launched_one_by_one),
        cmocka_unit_test(loops_of_stages_with_messages_one_way_are_refused),
        cmocka_unit_test(times_of_stages_are_those_of_all_steps),
        cmocka_unit_test(values_pass_through_stages_that_do_not_need_them),
        cmocka_unit_test(norms_of_all_variables_go_through_the_stages),
        cmocka_unit_test(numbers_of_all_stages_go_up_and_down_once),
        cmocka_unit_test(what_cannot_be_in_stages_is_refused_by_name),
        cmocka_unit_test(messages_stand_in_the_order_of_1f1b),
        cmocka_unit_test(variables_are_on_their_own_stage),
        cmocka_unit_test(cores_wait_as_theory_says_where_stages_are_long),
        cmocka_unit_test(host_runs_a_model_in_stages_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
