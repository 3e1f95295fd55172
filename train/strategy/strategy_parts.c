/*
 * The parts of a program: all of it on every device; a stage, or what is assigned to it, on each of
 * a replica's.
 */
#include <assert.h>
#include <string.h>

#include "base/units.h"
#include "stack/spmd/assign.h"
#include "stack/hlo/rewrite.h"
#include "train/step/loop.h"
#include "train/strategy/strategy_impl.h"

int strategy_variable_stage(const struct strategy *s, int variable)
{
    if (s->stages.count == 1)
        return -1;
    return s->stages.stage_of(s->stages.user, strategy_variable(s, variable)->name);
}

bool strategy_holds(const struct strategy *s, int device, int variable)
{
    int stage = strategy_variable_stage(s, variable);

    return stage < 0 || stage == strategy_stage_of(s, device);
}

int strategy_teller(const struct strategy *s, int replica, int variable)
{
    int stage = strategy_variable_stage(s, variable);

    if (stage < 0)
        stage = s->stages.count - 1;
    return replica * s->logical_count + stage * strategy_stage_devices(s);
}

/* which inputs and results of the step are which of the part's */
static void find_ends(struct strategy *s, const struct strategy_program *p,
                      struct program_part *part)
{
    part->input_parameter = arena_array(&s->arena, (size_t)p->input_count + 1, sizeof(int));
    part->result_output = arena_array(&s->arena, (size_t)p->result_count + 1, sizeof(int));
    for (int i = 0; i < p->input_count; i++)
        part->input_parameter[i] = -1;
    for (int i = 0; i < p->result_count; i++)
        part->result_output[i] = -1;
    for (int i = 0; i < part->graph.parameter_count; i++)
        if (p->parameter[part->parameter[i]].kind == TRACE_INPUT)
            part->input_parameter[p->parameter[part->parameter[i]].index] = i;
    for (int i = 0; i < part->output_count; i++)
        if (part->output[i] >= 0 && part->output[i] < p->result_count)
            part->result_output[part->output[i]] = i;
}

static void take_whole(struct strategy *s, struct strategy_program *p)
{
    struct program_part *part = p->part;

    graph_copy(&p->graph, &s->arena, &part->graph);
    part->output_count = p->graph.output_count;
    part->parameter = arena_array(&s->arena, (size_t)p->graph.parameter_count + 1, sizeof(int));
    part->output = arena_array(&s->arena, (size_t)p->graph.output_count + 1, sizeof(int));
    for (int i = 0; i < p->graph.parameter_count; i++)
        part->parameter[i] = i;
    for (int i = 0; i < p->graph.output_count; i++)
        part->output[i] = i;
    find_ends(s, p, part);
}

/* ----- stages */

/*
 * "gradients/dense/MatMul" is of what "dense/MatMul" is; loss and metrics are the end's, also what
 * of them is made of an earlier stage's mask alone.
 */
static int stage_of_source(const struct strategy *s, const char *source)
{
    static const char prefix[] = "gradients/";
    int stage;

    while (strncmp(source, prefix, sizeof(prefix) - 1) == 0)
        source += sizeof(prefix) - 1;
    stage = s->stages.stage_of(s->stages.user, source);
    if (stage < 0 && (strcmp(source, "loss") == 0 || strncmp(source, "metrics", 7) == 0))
        return STAGE_OF_ENDS;
    return stage;
}

static void describe(struct strategy *s, const struct trace *t, struct stages_request *r)
{
    const struct graph *g = &t->graph;
    int *stage = arena_array(&s->arena, (size_t)g->node_count + 1, sizeof(*stage));
    int *owner = arena_array(&s->arena, (size_t)g->parameter_count + 1, sizeof(*owner)), *phase;
    bool *is_input = arena_array(&s->arena, (size_t)g->parameter_count + 1, sizeof(*is_input));

    r->micro_batches = trace_phases(t, &s->arena, &phase);
    for (int i = 0; i < g->node_count; i++)
        stage[i] = stage_of_source(s, g->node[i].source);
    for (int i = 0; i < g->parameter_count; i++) {
        is_input[i] = t->parameter[i].kind == TRACE_INPUT;
        owner[i] = is_input[i] ? -1 : strategy_variable_stage(s, t->parameter[i].index);
    }
    r->stage = stage;
    r->phase = phase;
    r->parameter_stage = owner;
    r->is_input = is_input;
}

/* where messages arrive: below all variables, for all programs */
static int make_room(struct strategy *s, int64_t bytes, struct err *e)
{
    if (bytes <= s->message_bytes)
        return 0;
    s->messages = s->end;
    for (int k = 0; k < s->stages.count; k++)
        s->messages = earlier(s->messages, strategy_device_lowest(s, k));
    s->messages -= bytes;
    for (int k = 0; k < s->stages.count; k++)
        if (s->messages < strategy_device_highest(s, k))
            return err_set(e, "messages between cores take %lld bytes of HBM, which is full",
                           (long long)bytes);
    for (int k = 0; k < s->stages.count; k++)
        s->lowest[k] = s->messages;
    s->message_bytes = bytes;
    return 0;
}

/* a part's round as a trace; input[i]: the step's input that is its i-th */
static void round_of_part(struct strategy *s, const struct trace *t, struct stage_part *part,
                          struct trace *round, int *input)
{
    const struct trace *whole = t->round;
    struct graph *g = &part->graph;

    trace_init(round, &s->arena, g->name, s->set, s->replica_count, t->is_training);
    round->graph = *g;
    round->is_finished = true;
    round->parameter = mem_alloc((size_t)(g->parameter_count + 1) * sizeof(*round->parameter));
    round->variable = mem_alloc((size_t)(s->set->count + 1) * sizeof(*round->variable));
    for (int i = 0; i < g->parameter_count; i++) {
        round->parameter[i] = whole->parameter[part->parameter[i]];
        if (round->parameter[i].kind != TRACE_INPUT)
            continue;
        input[round->input_count] = round->parameter[i].index;
        round->parameter[i].index = round->input_count++;
    }
    for (int i = 0; i < g->output_count; i++) {
        int alias = g->output[i].alias_parameter;

        if (alias >= 0)
            round->variable[round->parameter[alias].index].is_assigned = true;
        else if (part->output[i] >= 0)
            round->result_count++;
    }
}

/* the whole trace's parameter of this kind and number */
static int find_parameter(const struct trace *t, struct trace_parameter what)
{
    int i = 0;

    while (t->parameter[i].kind != what.kind || t->parameter[i].index != what.index)
        i++;
    return i;
}

static int rounds_done(struct graph *g, int loop)
{
    return g->node[loop].tuple_count ? graph_tuple_element(g, loop, 0) : loop;
}

/* the part in a loop, with the samples of all rounds as its inputs; results keep their numbers */
static void repeat_part(struct strategy *s, const struct trace *t, struct stage_part *part)
{
    int *input = arena_array(&s->arena, (size_t)t->input_count + 1, sizeof(*input));
    int *own = arena_array(&s->arena, (size_t)t->input_count + 1, sizeof(*own));
    struct trace round, all;
    int loop;

    round_of_part(s, t, part, &round, input);
    trace_init(&all, &s->arena, round.graph.name, s->set, s->replica_count, t->is_training);
    for (int i = 0; i < round.input_count; i++) {
        int parameter = find_parameter(t, (struct trace_parameter){TRACE_INPUT, input[i]});
        const struct graph_node *n = &t->graph.node[t->graph.parameter[parameter]];

        own[i] = trace_input(&all, n->name, &n->shape);
    }
    loop = loop_steps(&all, &round, t->round_count, own);
    trace_finish(&all);
    if (all.graph.output_count == 0)    /* it only sends, or does nothing */
        graph_output(&all.graph, rounds_done(&all.graph, loop), "device.end", -1);
    part->parameter = arena_array(&s->arena, (size_t)all.graph.parameter_count + 1, sizeof(int));
    for (int i = 0; i < all.graph.parameter_count; i++) {
        struct trace_parameter what = all.parameter[i];

        if (what.kind == TRACE_INPUT)
            what.index = input[what.index];
        part->parameter[i] = find_parameter(t, what);
    }
    for (int i = all.result_count; i < all.graph.output_count; i++)
        part->output[i] = -1;
    part->parameter_count = all.graph.parameter_count;
    part->output_count = all.graph.output_count;
    part->sent_bytes *= t->round_count;
    graph_copy(&all.graph, &s->arena, &part->graph);
    trace_fini(&all);
}

/* a stage's graph for each of its devices: variables as they lie, messages whole */
static int cut_part(struct strategy *s, const struct trace *t, struct stage_part *part,
                    struct err *e)
{
    struct graph *g = &part->graph, whole = *g;
    struct sharding_note *note = arena_array(&s->arena, (size_t)g->parameter_count + 1,
                                             sizeof(*note));
    int count = 0, status;

    for (int i = 0; i < g->parameter_count; i++) {
        const struct trace_parameter *of = &t->parameter[part->parameter[i]];

        if (of->kind == TRACE_VARIABLE &&
            !sharding_is_whole(&strategy_variable(s, of->index)->sharding))
            note[count++] = (struct sharding_note){
                g->parameter[i], strategy_variable(s, of->index)->sharding, NULL};
    }
    graph_init(g, &s->arena, whole.name);
    status = graph_partition(&whole, &s->mesh, note, count, g, e);
    graph_fini(&whole);
    return status;
}

static int take_parts(struct strategy *s, struct strategy_program *p, const struct trace *t,
                      struct stages *cut, struct err *e)
{
    if (make_room(s, cut->bytes, e))
        return -1;
    stages_place(cut, p->part_count, s->messages);
    for (int k = 0; k < p->part_count; k++) {
        struct program_part *part = &p->part[k];

        if (t->round)
            repeat_part(s, t, &cut->part[k]);
        if (s->stages.count > 1 && s->mesh.axis_count > 1 && cut_part(s, t, &cut->part[k], e))
            return -1;
        part->graph = cut->part[k].graph;
        part->parameter = cut->part[k].parameter;
        part->output = cut->part[k].output;
        part->output_count = cut->part[k].output_count;
        part->kept_most = cut->part[k].kept_most;
        part->sent_bytes = cut->part[k].sent_bytes;
        graph_eliminate_common(&part->graph);
        find_ends(s, p, part);
        if (graph_verify(&part->graph, e))
            return -1;
    }
    return 0;
}

/* cores as the stages count them: those of equal place in all replicas are chains of their own */
static const int *chains_of(struct strategy *s)
{
    int each = strategy_stage_devices(s), stages = s->stages.count;
    int *core = arena_array(&s->arena, (size_t)s->device_count, sizeof(*core));

    for (int d = 0; d < s->device_count; d++) {
        int chain = strategy_replica_of(s, d) * each + d % each;

        core[chain * stages + strategy_stage_of(s, d)] = s->core[d];
    }
    return core;
}

static int take_stages(struct strategy *s, struct strategy_program *p, const struct trace *t,
                       struct err *e)
{
    const struct chip *chip = machine_chip(s->options.machine);
    const struct trace *step = strategy_step_of(t);
    struct stages_request r = {.g = &step->graph, .stage_count = s->stages.count,
                               .replica_count = s->device_count / s->stages.count,
                               .core = chains_of(s),
                               .first_flag = (int)chip->sync_flags - STAGE_MESSAGE_FLAGS,
                               .is_round = t->round != NULL};
    struct stages cut;

    describe(s, step, &r);
    p->micro_batches = r.micro_batches;
    p->message_flags = STAGE_MESSAGE_FLAGS;
    return stages_cut(&r, &s->arena, &cut, e) ? -1 : take_parts(s, p, t, &cut, e);
}

/* ----- arrays assigned to logical devices */

static int take_devices(struct strategy *s, struct strategy_program *p, const struct trace *t,
                        struct err *e)
{
    const struct chip *chip = machine_chip(s->options.machine);
    const struct trace *step = strategy_step_of(t);
    int flags = assign_flags(s->logical_count);
    struct assign_request r = {.g = &step->graph, .device_count = s->logical_count,
                               .device = trace_devices(step, &s->arena),
                               .replica_count = s->replica_count, .core = s->core,
                               .first_flag = (int)chip->sync_flags - flags,
                               .is_round = t->round != NULL};
    struct stages cut;

    if (flags > chip->sync_flags / 2)
        return err_set(e, "messages between %d logical devices take %d sync flags of a core; %s "
                       "has %lld", s->logical_count, flags, chip->chip_name,
                       (long long)chip->sync_flags);
    p->message_flags = flags;
    assign_cut(&r, &s->arena, &cut);
    return take_parts(s, p, t, &cut, e);
}

int strategy_cut(struct strategy *s, struct strategy_program *p, const struct trace *t,
                 struct err *e)
{
    bool has_places = strategy_step_of(t)->place_count > 0;

    if (!s->options.machine)
        return 0;
    p->rounds = t->round ? t->round_count : 1;
    p->part_count = has_places ? s->logical_count : s->stages.count;
    p->part = arena_array(&s->arena, (size_t)p->part_count, sizeof(*p->part));
    if (has_places)
        return take_devices(s, p, t, e);
    if (s->stages.count > 1)
        return take_stages(s, p, t, e);
    take_whole(s, p);
    return 0;
}
