/* Makes the graph that `systole compile` is asked for. */
#include "cli/compile/compile.h"

#include "exec/program_graph.h"
#include "files/model_file.h"
#include "import/read/read.h"
#include "stack/hlo/rewrite.h"
#include "stack/nn/zoo.h"

#include <stdio.h>
#include <string.h>

bool compile_is_file(const char *model)
{
    return strpbrk(model, "/.");
}

/*
 * A step of a replica, with its collectives where there are several; a loss for whole numbers as
 * labels, as images of one class each have.
 */
static int trace_keras(const struct compile_request *o, struct model *m, struct variable_set *set,
                       struct trace *t, struct err *e)
{
    struct optimizer optimizer;
    struct fit_options options = {
        .model = m, .loss = fit_loss(m, 0, LOSS_SPARSE_CATEGORICAL_CROSSENTROPY),
        .optimizer = &optimizer,
        .strategy = {.set = set, .replica_count = o->replica_count},
        .batch = o->batch * o->replica_count};

    optimizer_init(&optimizer, o->optimizer);
    if (o->policy_given >= 0)
        m->policy = o->policy;
    return fit_trace(&options, !o->is_inference, t, e);
}

static int make_keras(const struct compile_request *o, struct graph *g, struct arena *a,
                      struct err *e)
{
    struct variable_set set;
    struct model m;
    struct trace t;
    int status;

    variable_set_init(&set, a);
    trace_init(&t, a, o->model, &set, o->replica_count, !o->is_inference);
    status = model_file_read(&m, a, o->model, o->input_sizes, NULL, e);
    if (status == 0)
        status = trace_keras(o, &m, &set, &t, e);
    if (status == 0) {
        graph_eliminate_common(&t.graph);
        graph_fini(g);
        graph_copy(&t.graph, a, g);
    }
    trace_fini(&t);
    model_fini(&m);
    variable_set_fini(&set);
    return status;
}

/*
 * A program of HLO or StableHLO: of one device, or cut for as many as it is for. Its module must not
 * outlive this; what the graph needs of it lies in the arena.
 */
static int make_program(struct compile_request *o, struct graph *g, struct arena *a, struct err *e)
{
    struct program_graph p;
    int most = o->replica_count > 1 ? o->replica_count : 1;
    int status = program_graph_read(&p, o->model, false, a, e);

    if (status == 0 && o->assumes_constants)
        program_graph_assume(&p, a);
    if (p.assumed && !o->is_json)
        printf(PROGRAM_ASSUMED, p.assumed, p.first_assumed);
    status = status || program_graph_cut(&p, a, e) ||
             (o->is_kept && program_graph_keep(&p, false, a, e)) ||
             program_graph_lower(&p, a, e) ? -1 : 0;
    if (status == 0 && p.devices > most)
        status = cli_refuse_devices(&o->target, p.devices, most, 1, e);
    if (status == 0) {
        graph_fini(g);
        graph_copy(&p.lowered.graph, a, g);
        o->replica_count = p.devices;
        o->batch = 0;
        o->kept = p.is_kept ? arena_copy(a, &p.kept, 1, sizeof(p.kept)) : NULL;
    }
    program_graph_fini(&p);
    return status;
}

int compile_make_graph(struct compile_request *o, struct graph *g, struct arena *a,
                       struct err *e)
{
    int64_t variable_count;

    g->name = arena_strdup(a, o->model);
    if (compile_is_file(o->model) && program_is_file(o->model))
        return make_program(o, g, a, e);
    if (compile_is_file(o->model))
        return make_keras(o, g, a, e);
    if (zoo_batch(o->model, &o->batch, e))
        return -1;
    return zoo_build_replica(g, o->model, o->replica_count, &variable_count, e);
}
