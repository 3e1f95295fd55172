/* Makes a plan for a request, and a core's operations from a plan. */
#include "stack/collective/collective_impl.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"

typedef int plan_maker(struct collective_plan *p, struct arena *a, struct err *e);

static plan_maker *const makers[COLLECTIVE_ALGO_COUNT] = {
    [COLLECTIVE_RING] = plan_ring, [COLLECTIVE_BIRING] = plan_ring,
    [COLLECTIVE_TORUS] = plan_torus, [COLLECTIVE_TREE] = plan_tree,
    [COLLECTIVE_EXCHANGE] = plan_exchange, [COLLECTIVE_DIRECT] = plan_direct,
};

/* Side by side, or one for both. */
static void place_arrays(struct collective_plan *p)
{
    const struct collective_request *r = &p->request;
    struct collective_arrays *x = &p->arrays;
    int64_t block = r->bytes / p->rank_count;

    p->block_bytes = block;
    x->in_bytes = r->kind == COLLECTIVE_ALL_GATHER ? block : r->bytes;
    x->out_bytes = r->kind == COLLECTIVE_REDUCE_SCATTER ? block : r->bytes;
    x->out = plan_is_in_place(r->kind) ? 0 : round_up(x->in_bytes, PLAN_ROW_BYTES);
    p->layout[LAYOUT_IN].base = x->in;
    p->layout[LAYOUT_OUT].base = x->out;
}

/* The quickest of those that can: its bytes and chunks too. */
static void choose_algo(struct collective_plan *p)
{
    enum collective_algo best = COLLECTIVE_AUTO;
    double best_ns = 0;

    for (int i = COLLECTIVE_AUTO + 1; i < COLLECTIVE_ALGO_COUNT; i++) {
        double ns;

        p->request.algo = (enum collective_algo)i;
        if (!plan_can(p->request.kind, p->request.algo) || !plan_suits(p))
            continue;
        ns = plan_predict_ns(p);
        p->predicted_ns[i] = ns;
        if (best == COLLECTIVE_AUTO || ns < best_ns) {
            best = p->request.algo;
            best_ns = ns;
        }
    }
    p->request.algo = best == COLLECTIVE_AUTO ? plan_usual(&p->request) : best;
}

double collective_estimate_seconds(const struct collective_request *r)
{
    struct collective_plan p = {.request = *r};
    struct arena a;
    struct err e;

    if (plan_check_slice(r, &e))
        return 0;
    arena_init(&a);
    p.slice = *r->slice;
    p.chip = *r->chip;
    p.request.slice = &p.slice;
    p.request.chip = &p.chip;
    plan_count_ranks(&p, &a);
    choose_algo(&p);
    arena_fini(&a);
    return 1e-9 * p.predicted_ns[p.request.algo];
}

struct collective_plan *collective_plan_create(const struct collective_request *r,
                                               struct arena *a, struct err *e)
{
    struct collective_plan *p = arena_alloc(a, sizeof(*p));

    p->request = *r;
    if (plan_check_slice(r, e))
        return NULL;
    p->slice = *r->slice;
    p->chip = *r->chip;
    p->request.slice = &p->slice;
    p->request.chip = &p->chip;
    plan_count_ranks(p, a);
    if (r->algo == COLLECTIVE_AUTO)
        choose_algo(p);
    if (plan_check(&p->request, e))
        return NULL;
    place_arrays(p);
    if (p->rank_count == 1)
        return plan_alone(p, a, e) ? NULL : p;
    return makers[p->request.algo](p, a, e) ? NULL : p;
}

const struct collective_request *collective_plan_request(const struct collective_plan *p)
{
    return &p->request;
}

double collective_predicted_seconds(const struct collective_plan *p, enum collective_algo algo)
{
    return 1e-9 * p->predicted_ns[algo];
}

int collective_rank_count(const struct collective_plan *p)
{
    return p->rank_count;
}

int collective_rank_of(const struct collective_plan *p, int core)
{
    struct plan_rank r;

    plan_locate(p, core, &r);
    return r.rank;
}

struct collective_arrays collective_arrays_of(const struct collective_plan *p)
{
    return p->arrays;
}

int64_t collective_vmem_bytes(const struct collective_plan *p)
{
    return p->vmem_bytes;
}

int collective_flag_count(const struct collective_plan *p)
{
    return p->flag_count;
}

bool collective_is_symmetric(const struct collective_plan *p)
{
    return p->is_symmetric;
}

bool collective_is_uniform(const struct collective_plan *p)
{
    return p->is_symmetric || p->is_uniform;
}

static const struct plan_segment *segment_of(const struct collective_plan *p,
                                             const struct plan_rank *r)
{
    if (p->role[0])
        for (int i = 0; i < PLAN_DIMS; i++)
            if (r->coordinate[i] != p->root_coordinate[i])
                return &p->segment[p->role[i][r->coordinate[i]]];
    return &p->segment[0];
}

int collective_op_count(const struct collective_plan *p, int core)
{
    struct plan_rank r;

    plan_locate(p, core, &r);
    return r.rank < 0 ? 0 : segment_of(p, &r)->count;
}

static void put_shape(const struct plan_shape *s, struct collective_op *out)
{
    out->run_bytes = s->run_bytes;
    out->bytes = plan_shape_bytes(s);
    for (int i = 0; i < COLLECTIVE_LEVELS; i++) {
        out->level[i].count = s->level[i].count;
        out->level[i].from_stride = s->level[i].from_stride;
        out->level[i].to_stride = s->level[i].to_stride;
    }
}

void plan_op_of(const struct collective_plan *p, const struct plan_rank *r, int index,
                struct collective_op *out)
{
    const struct plan_segment *segment = segment_of(p, r);
    const struct plan_op *o = &p->op[segment->first + index];

    assert(index >= 0 && index < segment->count);
    memset(out, 0, sizeof(*out));
    out->kind = o->kind;
    out->flag = o->flag;
    out->value = o->value;
    if (o->kind == COLLECTIVE_WAIT)
        return;
    out->peer = plan_peer(p, r, o->peer_shift);
    if (o->kind == COLLECTIVE_SIGNAL)
        return;
    out->source_flag = o->source_flag;
    out->from_space = o->from_space;
    out->to_space = o->to_space;
    out->from = o->from + plan_address(p, r, o->from_layout, o->from_fixed, o->from_shift);
    out->to = o->to + plan_address(p, r, o->to_layout, o->to_fixed, o->to_shift);
    put_shape(&p->shape[o->shape], out);
}

void collective_op(const struct collective_plan *p, int core, int index,
                   struct collective_op *out)
{
    struct plan_rank r;

    plan_locate(p, core, &r);
    plan_op_of(p, &r, index, out);
}
