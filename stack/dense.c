#include "stack/dense.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/floats.h"
#include "stack/dense_impl.h"

int dense_check_batch(int64_t batch, int replica_count, struct err *e)
{
    int64_t below = batch / replica_count * replica_count;

    assert(batch > 0 && replica_count > 0);
    if (batch == below)
        return 0;
    if (below == 0)
        return err_set(e, "batch %" PRId64 " cannot be split over %d replicas; the least that can "
                       "is %d", batch, replica_count, replica_count);
    return err_set(e, "batch %" PRId64 " cannot be split over %d replicas; the nearest that can "
                   "are %" PRId64 " and %" PRId64, batch, replica_count, below,
                   below + replica_count);
}

static int find_variable(const struct model_graph *mg, const char *name)
{
    for (int i = 0; i < mg->graph.parameter_count; i++)
        if (role_is_variable(mg->parameter[i].role) && strcmp(mg->parameter[i].name, name) == 0)
            return i;
    return -1;
}

static void match_variables(struct dense_strategy *s, struct arena *a)
{
    int count = s->eval.graph.parameter_count;

    s->variable_of_eval = arena_array(a, (size_t)count, sizeof(*s->variable_of_eval));
    for (int i = 0; i < count; i++) {
        const struct model_parameter *p = &s->eval.parameter[i];
        bool is_variable = role_is_variable(p->role);

        s->variable_of_eval[i] = is_variable ? find_variable(&s->train, p->name) : -1;
        assert(!is_variable || s->variable_of_eval[i] >= 0);
    }
}

static int init(struct dense_strategy *s, struct arena *a, uint64_t seed, struct err *e)
{
    match_variables(s, a);
    if (s->machine)
        return device_init(s, a, seed, e);
    host_init(s, a, seed);
    return 0;
}

struct dense_strategy *dense_create(const struct dense_options *o, struct arena *a, struct err *e)
{
    int replica_count = o->machine ? machine_slice(o->machine)->core_count : 1;
    struct dense_strategy *s = arena_alloc(a, sizeof(*s));

    if (dense_check_batch(o->global_batch, replica_count, e))
        return NULL;
    if (o->machine && machine_mode(o->machine) == MODE_TIMING) {
        err_set(e, "training needs the loss, which timing mode does not work out; "
                "use mode both or functional");
        return NULL;
    }
    s->model = o->model;
    s->options = o->model_options;
    s->options.replica_count = replica_count;
    s->options.global_batch = o->global_batch;
    s->options.local_batch = o->global_batch / replica_count;
    s->global_batch = o->global_batch;
    s->reference_dot = o->reference_dot;
    s->machine = o->machine;
    s->weights = arena_array(a, (size_t)o->global_batch, sizeof(*s->weights));
    arena_init(&s->step_arena);
    if (model_build_train(o->model, &s->options, a, &s->train, e) ||
        model_build_eval(o->model, &s->options, a, &s->eval, e) || init(s, a, o->seed, e)) {
        dense_destroy(s);
        return NULL;
    }
    return s;
}

void dense_destroy(struct dense_strategy *s)
{
    if (!s)
        return;
    graph_fini(&s->train.graph);
    graph_fini(&s->eval.graph);
    arena_fini(&s->step_arena);
}

static int run_step(struct dense_strategy *s, const struct step_input *in, int64_t samples,
                    struct dense_result *r, struct err *e)
{
    memset(r, 0, sizeof(*r));
    r->samples = samples;
    return s->machine ? device_step(s, in, r, e) : host_step(s, in, r, e);
}

int dense_train_step(struct dense_strategy *s, const float *x, const int32_t *labels,
                        struct dense_result *r, struct err *e)
{
    return run_step(s, &(struct step_input){x, labels, NULL}, s->global_batch, r, e);
}

int dense_eval_step(struct dense_strategy *s, const float *x, const int32_t *labels, int64_t valid,
                       struct dense_result *r, struct err *e)
{
    assert(valid > 0 && valid <= s->global_batch);
    for (int64_t i = 0; i < s->global_batch; i++)
        s->weights[i] = i < valid ? 1.0f : 0.0f;
    return run_step(s, &(struct step_input){x, labels, s->weights}, valid, r, e);
}

int dense_replay_step(struct dense_strategy *s, struct dense_result *r, struct err *e)
{
    assert(s->machine && s->loaded);
    memset(r, 0, sizeof(*r));
    r->samples = s->global_batch;
    return device_replay(s, r, e);
}

int dense_read_parameter(struct dense_strategy *s, int replica, int parameter, float *to,
                            struct err *e)
{
    int replica_count = s->options.replica_count;

    if (replica < 0 || replica >= replica_count)
        return err_set(e, "replica %d does not exist, allowed are 0..%d", replica,
                       replica_count - 1);
    if (parameter < 0 || parameter >= s->train.graph.parameter_count ||
        !role_is_variable(s->train.parameter[parameter].role))
        return err_set(e, "parameter %d of the training graph is not a variable", parameter);
    if (s->machine)
        return device_read_parameter(s, replica, parameter, to, e);
    host_read_parameter(s, parameter, to);
    return 0;
}

const struct model_graph *dense_train_graph(const struct dense_strategy *s)
{
    return &s->train;
}

const struct module *dense_train_program(const struct dense_strategy *s)
{
    return s->machine ? &s->train_program : NULL;
}

static int64_t variable_elems(const struct dense_strategy *s, int parameter)
{
    const struct graph *g = &s->train.graph;

    return shape_elems(&g->node[g->parameter[parameter]].shape);
}

static int compare_replica(struct dense_strategy *s, int replica, int parameter, const float *first,
                           float *other, struct err *e)
{
    int64_t elems = variable_elems(s, parameter);

    if (dense_read_parameter(s, replica, parameter, other, e))
        return -1;
    if (memcmp(first, other, (size_t)elems * sizeof(*first)) == 0)
        return 0;
    for (int64_t i = 0; i < elems; i++)
        if (f32_bits(first[i]) != f32_bits(other[i]))
            return err_set(e, "replicas differ: element %" PRId64 " of %s is 0x%08" PRIx32
                           " (%.9g) on replica 0 and 0x%08" PRIx32 " (%.9g) on replica %d", i,
                           s->train.parameter[parameter].name, f32_bits(first[i]),
                           (double)first[i], f32_bits(other[i]), (double)other[i], replica);
    return 0;
}

int dense_check_replicas(struct dense_strategy *s, struct err *e)
{
    int status = 0;

    for (int p = 0; p < s->train.graph.parameter_count && !status; p++) {
        size_t bytes = (size_t)variable_elems(s, p) * sizeof(float);
        float *first, *other;

        if (!role_is_variable(s->train.parameter[p].role))
            continue;
        first = mem_alloc(bytes);
        other = mem_alloc(bytes);
        status = dense_read_parameter(s, 0, p, first, e);
        for (int r = 1; r < s->options.replica_count && !status; r++)
            status = compare_replica(s, r, p, first, other, e);
        mem_free(first);
        mem_free(other);
    }
    return status;
}
