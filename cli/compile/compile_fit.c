/* How a step is compiled for a slice, and the largest batch whose step fits the memory there. */
#include "cli/compile/compile.h"

#include "base/units.h"

#define STEP 8                          /* batches are told in multiples of it, where they are */
#define TRIES_MAX 12
#define LINE_CHIPS_MIN 16               /* of a mesh that does not close: fewer are all simulated */

int compile_replicas_on(const struct slice *slice)
{
    return slice->chip_count > 1 ? slice->core_count : 1;
}

bool compile_chips_are_alike(const struct slice *slice, const struct module *m)
{
    bool closes = true;

    for (int i = 0; i < slice->dims; i++)
        closes &= slice->dim[i] <= 2 || slice->is_ring[i];
    return !m->chips_differ && !slice->is_twisted &&
           (closes || slice->chip_count >= LINE_CHIPS_MIN);
}

struct module_settings compile_settings(const struct compile_request *o, const struct slice *slice,
                                        const struct chip *chip)
{
    return (struct module_settings){
        .chip = chip, .codegen = o->codegen, .replica_count = o->replica_count,
        .slice = o->replica_count > 1 ? slice : NULL,
        .megacore = chip->chip_megacore && !o->no_megacore && o->replica_count == 1,
        .bucket_bytes = o->bucket_bytes, .sums_wait = o->sums_wait,
        .assume_trips = o->assume_trips, .assume_branch = o->assume_branch,
        .kept = o->kept};
}

static bool fits(const struct compile_request *o, const struct module_settings *s, int64_t batch)
{
    struct compile_request smaller = *o;
    struct module_settings plan = *s;
    struct module m;
    struct graph g;
    struct arena a;
    struct err e;
    bool is_fine;

    smaller.batch = batch;
    plan.is_plan = true;
    plan.on_stage = NULL;
    plan.dump_after = NULL;
    arena_init(&a);
    graph_init(&g, &a, "smaller");
    is_fine = compile_make_graph(&smaller, &g, &a, &e) == 0 &&
              module_compile(&g, &plan, &a, &m, &e) == 0;
    graph_fini(&g);
    arena_fini(&a);
    return is_fine;
}

/* what does not grow with the batch: variables, of which a step has the graph's parameters */
static int64_t fixed_bytes(const struct module *m)
{
    int64_t bytes = 0;

    for (int i = 0; i < m->graph.parameter_count; i++)
        bytes += shape_elems(&m->graph.node[m->graph.parameter[i]].shape) * 4;
    return bytes;
}

/* the rest grows with it: so there is a first guess, and the neighbours of that are tried */
int64_t compile_largest_batch(const struct compile_request *o, const struct module_settings *s,
                              const struct module *refused)
{
    int64_t step = o->batch > STEP ? STEP : 1, fixed = fixed_bytes(refused), guess, room;
    int tries = 0;

    room = refused->hbm_limit > fixed ? refused->hbm_limit - fixed : 0;
    guess = (int64_t)((double)o->batch * (double)room /
                      (double)(refused->hbm_bytes > fixed ? refused->hbm_bytes - fixed : 1));
    guess = guess / step * step;
    guess = guess < step ? step : guess > o->batch - step ? o->batch - step : guess;
    if (guess < 1)
        return 0;
    if (fits(o, s, guess)) {
        while (guess + step < o->batch && tries++ < TRIES_MAX && fits(o, s, guess + step))
            guess += step;
        return guess;
    }
    while (guess > 1 && tries++ < TRIES_MAX) {
        guess -= guess > step ? step : 1;
        if (fits(o, s, guess))
            return guess;
    }
    return 0;
}

void compile_add_largest_batch(const struct compile_request *o, const struct module_settings *s,
                               const struct module *refused, struct err *e)
{
    struct err why = *e;
    int64_t batch;

    if (!o->batch)
        return;                         /* shapes of a program are fixed */
    if (refused->hbm_bytes <= refused->hbm_limit || !compile_is_file(o->model))
        return;
    batch = compile_largest_batch(o, s, refused);
    if (batch && o->batch > STEP && batch >= STEP)
        err_set(e, "%.440s; %lld is the largest multiple of %d that fits", why.msg,
                (long long)batch, STEP);
    else if (batch)
        err_set(e, "%.440s; a batch of %lld fits", why.msg, (long long)batch);
    else
        err_set(e, "%.440s; no smaller one was found to fit", why.msg);
}
