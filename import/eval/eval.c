/* Takes the arrays of a program's parameters, evaluates its entry, gives its results' arrays. */
#include "import/eval/eval.h"
#include "import/eval/eval_impl.h"
#include "import/eval/tape.h"
#include "import/lanes/stride.h"
#include "import/program/mixed.h"

#include <cblas.h>
#include <string.h>
#include <unistd.h>

static const struct hlo_computation *entry_of(const struct hlo_module *m)
{
    return &m->computation[m->entry];
}

int eval_input_count(const struct hlo_module *m)
{
    const struct hlo_computation *c = entry_of(m);
    int n = 0;

    for (int p = 0; p < c->parameter_count; p++)
        n += hlo_type_leaves(c->instruction[c->parameter[p]].type);
    return n;
}

const struct hlo_type *eval_input_type(const struct hlo_module *m, int n)
{
    const struct hlo_computation *c = entry_of(m);

    for (int p = 0; p < c->parameter_count; p++) {
        const struct hlo_type *t = c->instruction[c->parameter[p]].type;

        if (n < hlo_type_leaves(t))
            return hlo_type_leaf(t, n);
        n -= hlo_type_leaves(t);
    }
    return NULL;
}

int eval_output_count(const struct hlo_module *m)
{
    const struct hlo_computation *c = entry_of(m);

    return hlo_type_leaves(c->instruction[c->root].type);
}

static bool has_size(const struct eval_array *a, int d)
{
    return a->size && a->size[d] < a->type.dim[d];
}

/* the elements that are there, without those that only the bounds have room for */
static struct value *compact(struct eval *ev, const struct eval_array *a)
{
    struct stride_copy s = { .rank = a->type.rank };
    int64_t step = 1;
    bool is_whole = true;
    struct value *v;

    for (int d = s.rank; d-- > 0; step *= a->type.dim[d]) {
        is_whole &= !has_size(a, d);
        s.dim[d] = has_size(a, d) ? a->size[d] : a->type.dim[d];
        s.from_step[d] = step;
    }
    if (is_whole)
        return value_borrow(&ev->pool, a->type.element, s.rank, s.dim, a->data);
    v = value_array(&ev->pool, a->type.element, s.rank, s.dim);
    if (!v)
        return NULL;
    value_strides(v, s.to_step);
    stride_copy(s, value_element_bytes(v), v->data, a->data);
    return v;
}

static struct value *build(struct eval *ev, const struct hlo_type *t,
                           const struct eval_array **next)
{
    struct value *v;

    if (t->element == ELEMENT_TUPLE) {
        v = value_tuple(&ev->pool, t->part_count, NULL);
        for (int k = 0; k < t->part_count; k++)
            v->part[k] = build(ev, &t->part[k], next);
        return v;
    }
    if (t->element == ELEMENT_TOKEN) {
        (*next)++;
        return value_token(&ev->pool);
    }
    return compact(ev, (*next)++);
}

/* a block of the type's bounds with the elements that there are; zeros where there are none */
static struct eval_array array_of(const struct value *v, const struct hlo_type *t, struct arena *a)
{
    struct eval_array to = { .type = *t };
    struct stride_copy s = { .rank = t->rank };
    int64_t step = 1, bound;

    if (t->element == ELEMENT_TOKEN)
        return to;
    if (hlo_type_is_dynamic(t))
        to.size = arena_copy(a, v->dim, (size_t)v->rank, sizeof(*v->dim));
    for (int d = t->rank; d-- > 0; step *= bound) {
        bound = t->dim[d] == HLO_UNBOUNDED ? v->dim[d] : t->dim[d];
        s.dim[d] = v->dim[d] < bound ? v->dim[d] : bound;
        s.to_step[d] = step;
    }
    value_strides(v, s.from_step);
    to.data = arena_alloc(a, (size_t)step * value_element_bytes(v) + 1);
    stride_copy(s, value_element_bytes(v), to.data, v->data);
    return to;
}

static int give_results(struct eval *ev, struct value *v, struct eval_array *output,
                        struct arena *a)
{
    const struct hlo_computation *c = entry_of(ev->m);
    const struct hlo_instruction *root = &c->instruction[c->root];
    int count = eval_output_count(ev->m);
    struct value **leaf = mem_alloc((size_t)count * sizeof(*leaf) + 1);
    int status = 0;

    if (!value_spread(&ev->pool, v))
        status = eval_fail(ev, root, "the result does not fit into the limit of memory");
    else if (value_leaves(v, leaf, count) != count)
        status = eval_fail(ev, root, "the result has other parts than its type");
    for (int k = 0; k < count && !status; k++)
        output[k] = array_of(leaf[k], hlo_type_leaf(root->type, k), a);
    mem_free(leaf);
    return status;
}

static int check_module(struct eval *ev)
{
    const struct hlo_module *m = ev->m;

    if (hlo_verify(m, ev->err))
        return -1;
    if (m->entry < 0)
        return err_set(ev->err, "%s: there is no entry computation",
                       m->name ? m->name : "the module");
    for (int k = 0; k < m->computation_count; k++)
        for (int i = 0; i < m->computation[k].count; i++) {
            const struct hlo_instruction *at = &m->computation[k].instruction[i];

            if (at->type->rank > EVAL_RANK_MAX)
                return eval_fail(ev, at, "it has %d dimensions; the host evaluates up to %d",
                                 at->type->rank, EVAL_RANK_MAX);
        }
    return 0;
}

/* A program that is evaluated once or again and again. */
struct eval_program {
    struct eval ev;
    struct arena widened_room;
    struct hlo_module widened;          /* m with operands of one type each, where it mixes them */
    bool is_widened;
};

static void eval_init(struct eval *ev, const struct hlo_module *m, const struct eval_settings *s)
{
    size_t devices;

    ev->m = m;
    ev->s = *s;
    if (ev->s.replica_count < 1)
        ev->s.replica_count = 1;
    if (ev->s.partition_count < 1)
        ev->s.partition_count = 1;
    ev->device_count = (int)(ev->s.replica_count * ev->s.partition_count);
    devices = (size_t)ev->device_count;
    arena_init(&ev->scratch);
    ev->pool.limit_bytes = s->memory_limit;
    if (!s->memory_limit)
        ev->pool.limit_bytes = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 *
                               (size_t)sysconf(_SC_PAGESIZE);
    ev->plan = arena_array(&ev->scratch, (size_t)m->computation_count, sizeof(*ev->plan));
    ev->rng_drawn = arena_array(&ev->scratch, devices, sizeof(*ev->rng_drawn));
    ev->rng_state = arena_array(&ev->scratch, devices, sizeof(*ev->rng_state));
    ev->device = arena_array(&ev->scratch, devices, sizeof(*ev->device));
    for (int k = 0; k < ev->device_count; k++)
        ev->device[k] = k;
    if (s->threads > 0)
        openblas_set_num_threads(s->threads);
}

/* what one evaluation leaves that the next must not see */
static void begin_again(struct eval *ev, struct eval_report *r, struct err *e)
{
    ev->report = r;
    ev->err = e;
    ev->steps = 0;
    memset(ev->rng_drawn, 0, (size_t)ev->device_count * sizeof(*ev->rng_drawn));
    memset(ev->rng_state, 0, (size_t)ev->device_count * sizeof(*ev->rng_state));
    *r = (struct eval_report){ 0 };
}

static int run_entry(struct eval *ev, const struct eval_array *const *input,
                     struct eval_array *const *output, struct arena *a,
                     struct arena *scratch)
{
    const struct hlo_computation *c = entry_of(ev->m);
    size_t devices = (size_t)ev->device_count, parameters = (size_t)c->parameter_count;
    struct value ***argument = arena_array(scratch, devices, sizeof(*argument));
    struct value **result = arena_array(scratch, devices, sizeof(*result));
    int status;

    for (int k = 0; k < ev->device_count; k++) {
        const struct eval_array *next = input ? input[k] : NULL;

        argument[k] = arena_array(scratch, parameters + 1, sizeof(**argument));
        for (int p = 0; p < c->parameter_count; p++)
            argument[k][p] = build(ev, c->instruction[c->parameter[p]].type, &next);
    }
    status = eval_computation(ev, ev->m->entry, ev->device_count, ev->device, argument, result);
    for (int k = 0; k < ev->device_count; k++) {
        if (!status)
            status = give_results(ev, result[k], output[k], a);
        value_drop(&ev->pool, result[k]);
    }
    return status;
}

struct eval_program *eval_open(const struct hlo_module *m, const struct eval_settings *s,
                               struct err *e)
{
    struct eval_program *p = mem_alloc(sizeof(*p));

    arena_init(&p->widened_room);
    p->is_widened = hlo_is_mixed(m);
    if (p->is_widened && hlo_widen_mixed(m, &p->widened, &p->widened_room, e)) {
        arena_fini(&p->widened_room);
        mem_free(p);
        return NULL;
    }
    p->ev.m = p->is_widened ? &p->widened : m;
    p->ev.err = e;
    if (!check_module(&p->ev)) {
        eval_init(&p->ev, p->ev.m, s);
        return p;
    }
    eval_close(p);
    return NULL;
}

int eval_step(struct eval_program *p, const struct eval_array *const *input,
              struct eval_array *const *output, struct arena *a, struct eval_report *r,
              struct err *e)
{
    struct eval_report nobodys;
    struct arena scratch;
    int status;

    begin_again(&p->ev, r ? r : &nobodys, e);
    arena_init(&scratch);
    status = run_entry(&p->ev, input, output, a, &scratch);
    arena_fini(&scratch);
    p->ev.report->steps = p->ev.steps;
    return status;
}

void eval_close(struct eval_program *p)
{
    if (!p)
        return;
    for (int k = 0; p->ev.plan && k < p->ev.m->computation_count; k++)
        mem_free(p->ev.plan[k].spare);
    tape_free_all(&p->ev);
    value_pool_free(&p->ev.pool);
    arena_fini(&p->ev.scratch);
    if (p->is_widened)
        hlo_module_fini(&p->widened);
    arena_fini(&p->widened_room);
    mem_free(p);
}

int eval_run(const struct hlo_module *m, const struct eval_settings *s,
             const struct eval_array *const *input, struct eval_array *const *output,
             struct arena *a, struct eval_report *r, struct err *e)
{
    struct eval_program *p = eval_open(m, s, e);
    int status = p ? eval_step(p, input, output, a, r, e) : -1;

    eval_close(p);
    return status;
}
