/* The strategy on a machine: buffers in every core's HBM, one launch per step. */
#include "stack/dense_impl.h"

#include <assert.h>
#include <math.h>

#include "base/units.h"
#include "stack/module_run.h"

static int compile(struct dense_strategy *s, struct arena *a, struct err *e)
{
    int replicas = s->options.replica_count;
    struct module_settings settings = {.chip = machine_chip(s->machine), .codegen = CODEGEN_XLA,
                                       .replica_count = replicas, .notes_are_sources = true,
                                       .slice = replicas > 1 ? machine_slice(s->machine) : NULL};

    if (module_compile(&s->train.graph, &settings, a, &s->train_program, e))
        return -1;
    settings.share = &s->train_program;
    if (module_compile(&s->eval.graph, &settings, a, &s->eval_program, e))
        return -1;
    for (int i = 0; i < s->eval.graph.parameter_count; i++) {
        int variable = s->variable_of_eval[i];

        assert(variable < 0 || s->eval_program.parameter[i]->address ==
                                   s->train_program.parameter[variable]->address);
    }
    return 0;
}

static int64_t largest_variable(const struct dense_strategy *s)
{
    const struct graph *g = &s->train.graph;
    int64_t most = 0;

    for (int i = 0; i < g->parameter_count; i++)
        most = later(most, shape_elems(&g->node[g->parameter[i]].shape));
    return most;
}

static int init_variables(struct dense_strategy *s, uint64_t seed, struct err *e)
{
    float *dense = mem_alloc((size_t)largest_variable(s) * sizeof(*dense));
    int status = 0;

    for (int i = 0; i < s->train.graph.parameter_count && status == 0; i++) {
        if (!role_is_variable(s->train.parameter[i].role))
            continue;
        model_init_parameter(s->model, &s->train, i, seed, dense);
        for (int r = 0; r < s->options.replica_count && status == 0; r++)
            status = module_write(&s->train_program, s->machine, r, i, dense, e);
    }
    mem_free(dense);
    return status;
}

int device_init(struct dense_strategy *s, struct arena *a, uint64_t seed, struct err *e)
{
    return compile(s, a, e) || init_variables(s, seed, e) ? -1 : 0;
}

static int load(struct dense_strategy *s, const struct module *m, struct err *e)
{
    if (s->loaded == m)
        return 0;
    for (int r = 0; r < s->options.replica_count; r++)
        if (module_load(m, s->machine, r, e))
            return -1;
    s->loaded = m;
    return 0;
}

/* What a step puts into HBM, replica by replica on the machine's threads. */
struct upload {
    struct dense_strategy *strategy;
    const struct module *program;
    const struct model_graph *graph;
    const struct step_input *input;
    struct upload_result {
        int status;
        struct err e;
    } *result;                          /* per replica */
};

/* Replica r gets rows r * local_batch and on of what belongs to the batch. */
static const void *batch_rows(const struct upload *u, int replica, enum model_role role)
{
    const struct step_input *in = u->input;
    int64_t row = replica * u->strategy->options.local_batch;

    switch (role) {
    case ROLE_X: return in->x + row * u->strategy->model->input_elems;
    case ROLE_LABELS: return in->labels + row;
    case ROLE_WEIGHTS: return in->weights + row;
    default: return NULL;
    }
}

static void upload_replica(void *context, int replica)
{
    const struct upload *u = context;
    struct upload_result *result = &u->result[replica];

    result->status = 0;
    for (int i = 0; i < u->graph->graph.parameter_count && result->status == 0; i++) {
        const void *from = batch_rows(u, replica, u->graph->parameter[i].role);

        if (from)
            result->status = module_write(u->program, u->strategy->machine, replica, i, from,
                                          &result->e);
    }
}

static int upload(struct dense_strategy *s, const struct module *m, const struct model_graph *mg,
                  const struct step_input *in, struct err *e)
{
    int count = s->options.replica_count, status = 0;
    struct upload u = {s, m, mg, in, mem_alloc((size_t)count * sizeof(*u.result))};

    machine_parallel(s->machine, count, upload_replica, &u);
    for (int r = 0; r < count && status == 0; r++) {
        status = u.result[r].status;
        if (status)
            *e = u.result[r].e;
    }
    mem_free(u.result);
    return status;
}

static int download(struct dense_strategy *s, const struct module *m, const struct model_graph *mg,
                    struct dense_result *r, struct err *e)
{
    for (int i = 0; i < s->options.replica_count; i++) {
        float loss, correct;

        if (module_read(m, s->machine, i, mg->loss_output, &loss, e) ||
            module_read(m, s->machine, i, mg->correct_output, &correct, e))
            return -1;
        r->loss_sum += (double)loss;
        r->correct += llround((double)correct);
    }
    return 0;
}

static int launch(struct dense_strategy *s, const struct module *m, struct dense_result *r,
                  struct err *e)
{
    if (load(s, m, e) || machine_run(s->machine, e))
        return -1;
    r->cycles = machine_mode(s->machine) == MODE_FUNCTIONAL ? 0 : machine_cycles(s->machine);
    if (m == &s->train_program) {
        assert(s->step_cycles == 0 || s->step_cycles == r->cycles);
        s->step_cycles = r->cycles;
    }
    return 0;
}

int device_step(struct dense_strategy *s, const struct step_input *in, struct dense_result *r,
                struct err *e)
{
    const struct model_graph *mg = in->weights ? &s->eval : &s->train;
    const struct module *m = in->weights ? &s->eval_program : &s->train_program;

    if (upload(s, m, mg, in, e) || launch(s, m, r, e))
        return -1;
    return download(s, m, mg, r, e);
}

/* Copies all variables of all replicas, packed, from HBM to `kept` or back. */
static int copy_variables(struct dense_strategy *s, char *kept, bool is_restore, struct err *e)
{
    const struct module *m = &s->train_program;

    for (int r = 0; r < s->options.replica_count; r++)
        for (int i = 0; i < s->train.graph.parameter_count; i++) {
            const struct array *x = m->parameter[i];
            int status;

            if (!role_is_variable(s->train.parameter[i].role))
                continue;
            status = is_restore
                         ? machine_hbm_write(s->machine, r, x->address, kept, x->bytes, e)
                         : machine_hbm_read(s->machine, r, x->address, kept, x->bytes, e);
            if (status)
                return -1;
            kept += x->bytes;
        }
    return 0;
}

int device_replay(struct dense_strategy *s, struct dense_result *r, struct err *e)
{
    const struct module *m = &s->train_program;
    int64_t bytes = 0;
    char *kept;
    int status;

    for (int i = 0; i < s->train.graph.parameter_count; i++)
        bytes += m->parameter[i]->bytes;
    kept = mem_alloc((size_t)(bytes * s->options.replica_count));
    status = copy_variables(s, kept, false, e);
    if (!status)
        status = launch(s, m, r, e);
    if (!status)
        status = download(s, m, &s->train, r, e);
    if (!status)
        status = copy_variables(s, kept, true, e);
    mem_free(kept);
    return status;
}

int device_read_parameter(struct dense_strategy *s, int replica, int parameter, float *to,
                          struct err *e)
{
    return module_read_parameter(&s->train_program, s->machine, replica, parameter, to, e);
}
