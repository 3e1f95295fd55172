/* Finds when each buffer holds something, and which may share their place with a parameter. */
#include "stack/module/module_impl.h"

#include "stack/kernels/registry.h"

#include <string.h>

struct module_buffer *module_plan_buffer(const struct module_plan *p, const struct module_value *v)
{
    int at = v->buffer;

    while (p->buffer[at].stands_for >= 0)
        at = p->buffer[at].stands_for;
    return &p->buffer[at];
}

int64_t module_plan_offset(const struct module_plan *p, const struct module_value *v)
{
    int64_t offset = 0;

    for (int at = v->buffer; at >= 0; at = p->buffer[at].stands_for)
        offset += p->buffer[at].offset;
    return offset;
}

static void touch(struct module_plan *p, const struct module_value *v, int step)
{
    struct module_buffer *b = module_plan_buffer(p, v);

    if (b->first < 0 && b->role != BUFFER_PARAMETER && b->role != BUFFER_CONSTANT)
        b->first = step;
    if (b->last < step)
        b->last = step;
}

/* by step: the begin of the innermost loop around it; -1: none */
static int *loops_around(const struct module_plan *p)
{
    int *around = mem_alloc(((size_t)p->step_count + 1) * sizeof(*around)), now = -1;

    for (int i = 0; i < p->step_count; i++) {
        around[i] = now;
        if (p->step[i].kind == STEP_LOOP_BEGIN)
            now = i;
        if (p->step[i].kind == STEP_LOOP_END)
            now = around[p->step[i].other];
    }
    return around;
}

/* what comes from outside a loop is needed until its last round */
static void extend(struct module_plan *p, const struct module_value *v, int step, const int *around)
{
    struct module_buffer *b = module_plan_buffer(p, v);

    for (int i = around[step]; i > b->first; i = around[i])
        if (b->last < p->step[i].other)
            b->last = p->step[i].other;
}

/*
 * XLA gives results places of their own for the whole program, so that its memory is that of
 * arguments, results and what is temporary (docs/accuracy.md, What peak memory tells); until a
 * result is written, its place is lent (stack/module/module_lent.c).
 */
static bool holds_from_the_start(const struct module_plan *p, const struct module_buffer *b)
{
    return b->role == BUFFER_OUTPUT && b->first >= 0 && p->settings->codegen == CODEGEN_XLA;
}

/* the step, or the outermost loop around it, in which each round writes again */
static int outermost(const int *around, int step)
{
    while (around[step] >= 0)
        step = around[step];
    return step;
}

void module_plan_lifetimes(struct module_plan *p)
{
    int *around;

    for (int i = 0; i < p->buffer_count; i++)
        p->buffer[i].first = p->buffer[i].last = -1;
    for (int i = 0; i < p->step_count; i++) {
        for (int k = 0; k < p->step[i].operand_count; k++)
            touch(p, p->step[i].operand[k], i);
        for (int k = 0; k < p->step[i].result_count; k++)
            touch(p, p->step[i].result[k], i);
    }
    around = loops_around(p);
    for (int i = 0; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++)
            extend(p, p->step[i].operand[k], i, around);
    for (int i = 0; i < p->buffer_count; i++) {
        struct module_buffer *b = &p->buffer[i];

        if (b->role != BUFFER_TEMPORARY && b->role != BUFFER_STATE && b->role != BUFFER_SUMS)
            b->last = p->step_count;
        b->made = -1;
        if (holds_from_the_start(p, b)) {
            b->made = outermost(around, b->first);
            b->first = 0;
        }
    }
    mem_free(around);
}

/* that reads or, as a kernel or a loop may in its operand's place, writes it */
static int last_user(const struct module_plan *p, const struct module_value *v)
{
    const struct module_buffer *b = module_plan_buffer(p, v);
    int last = -1;

    for (int i = 0; i < p->step_count; i++) {
        for (int k = 0; k < p->step[i].operand_count; k++)
            if (module_plan_buffer(p, p->step[i].operand[k]) == b)
                last = i;
        for (int k = 0; k < p->step[i].result_count; k++)
            if (module_plan_buffer(p, p->step[i].result[k]) == b)
                last = i;
    }
    return last;
}

static int first_writer(const struct module_plan *p, const struct module_value *v)
{
    for (int i = 0; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].result_count; k++)
            if (module_plan_buffer(p, p->step[i].result[k]) == module_plan_buffer(p, v))
                return i;
    return -1;
}

static int loop_depth(const struct module_plan *p, int step)
{
    int depth = 0;

    for (int i = 0; i < step; i++)
        depth += p->step[i].kind == STEP_LOOP_BEGIN ? 1 : p->step[i].kind == STEP_LOOP_END ? -1 : 0;
    return depth;
}

/* which of the step's results lies where v does; -1: none */
static int result_at(const struct module_plan *p, const struct module_step *s,
                     const struct module_value *v)
{
    for (int k = 0; k < s->result_count; k++)
        if (module_plan_buffer(p, s->result[k]) == module_plan_buffer(p, v))
            return k;
    return -1;
}

/* element by element in the same place, of one size each */
static bool lie_alike(const struct array *a, const struct array *b)
{
    return a->bytes == b->bytes && shape_same_dims(&a->shape, &b->shape) &&
           memcmp(a->order, b->order, sizeof(a->order)) == 0;
}

/*
 * Sums stand between the phases of a kernel, so a result that takes `old` (`depends`, by node) and
 * a sum that `own` does not need is made when `own` may have been stored, over `old`.
 */
static bool is_stored_first(const struct graph *g, int own, const bool *depends)
{
    uint64_t *sums = mem_alloc(((size_t)g->node_count + 1) * sizeof(*sums));
    bool is_first = false;
    int count = 0;

    for (int i = 0; i < g->node_count; i++) {
        for (int k = 0; k < g->node[i].operand_count; k++)
            sums[i] |= sums[g->node[i].operand[k]];
        if (g->node[i].op == HLO_REDUCE)
            sums[i] |= count < 63 ? (uint64_t)1 << count++ : (uint64_t)1 << 63;
    }
    for (int i = 0; i < g->output_count; i++)
        is_first |= depends[g->output[i].node] && (sums[g->output[i].node] & ~sums[own]) != 0;
    mem_free(sums);
    return is_first;
}

/*
 * Each element of the results depends on the element of `old` at the place of v's, or on none, and
 * is made before that is overwritten. The kernel may see both in another shape than v and `old`
 * have, as rows of a reshape that moves nothing.
 */
static bool is_pointwise(const struct module_plan *p, const struct module_step *s,
                         const struct module_value *v, const struct module_value *old)
{
    const int own = result_at(p, s, v);
    const struct array *result = own >= 0 ? &s->result[own]->array : NULL;
    const struct graph *g = s->body;
    bool *depends = mem_alloc((size_t)g->node_count);
    bool is_fine = result && result->bytes == old->array.bytes;

    for (int i = 0; i < g->node_count && is_fine; i++) {
        const struct graph_node *n = &g->node[i];

        if (n->op == HLO_PARAMETER) {
            const struct module_value *operand = s->operand[n->parameter_index];

            depends[i] = operand->buffer == old->buffer;
            is_fine = !depends[i] || lie_alike(&operand->array, result);
        }
        for (int k = 0; k < n->operand_count; k++)
            depends[i] |= depends[n->operand[k]];
        if (depends[i] && n->op != HLO_PARAMETER)
            is_fine = graph_op_is_elementwise(n->op) && shape_same_dims(&n->shape, &result->shape);
    }
    is_fine = is_fine && !is_stored_first(g, g->output[own].node, depends);
    mem_free(depends);
    return is_fine;
}

bool module_plan_may_advance(const struct module_plan *p, const struct module_value *v,
                             const struct module_value *old, int begin)
{
    int writer = first_writer(p, v), user = last_user(p, old);
    const struct kernel_kind *kind;

    if (p->buffer[v->buffer].role != BUFFER_TEMPORARY || p->buffer[v->buffer].stands_for >= 0 ||
        writer <= begin || user > writer ||
        module_plan_buffer(p, v)->bytes != module_plan_buffer(p, old)->bytes)
        return false;
    if (user < writer)
        return true;
    if (module_plan_is_changed(p, &p->step[writer], module_plan_buffer(p, old)))
        return true;
    kind = kernel_kind_of(p->step[writer].body);
    return kind == kernel_kind_named("loop") && is_pointwise(p, &p->step[writer], v, old);
}

static bool may_overwrite(const struct module_plan *p, const struct module_value *v,
                          const struct module_value *old)
{
    int writer = first_writer(p, v), user = last_user(p, old);
    const struct kernel_kind *kind;

    if (module_plan_buffer(p, v)->role != BUFFER_OUTPUT || writer < 0 || user > writer ||
        module_plan_buffer(p, v)->bytes != module_plan_buffer(p, old)->bytes ||
        loop_depth(p, writer) > 0)
        return false;
    if (user < writer)
        return true;
    if (module_plan_is_changed(p, &p->step[writer], module_plan_buffer(p, old)))
        return true;
    kind = kernel_kind_of(p->step[writer].body);
    return (kind == kernel_kind_named("loop") || kind == kernel_kind_named("dot") ||
            kind == kernel_kind_named("conv")) && is_pointwise(p, &p->step[writer], v, old);
}

bool module_plan_is_made_of(const struct module_plan *p, const struct module_buffer *result,
                            const struct module_buffer *b)
{
    const struct module_step *s = &p->step[b->last];
    const struct module_value *own = NULL;
    bool is_fine = b->last == result->made && b->bytes == result->bytes &&
                   s->kind == STEP_KERNEL && kernel_kind_of(s->body) == kernel_kind_named("loop");

    for (int k = 0; is_fine && k < s->result_count; k++) {
        if (module_plan_buffer(p, s->result[k]) == result)
            own = s->result[k];
        is_fine = module_plan_buffer(p, s->result[k]) != b;     /* nobody reads that: it is made here */
    }
    for (int k = 0; own && is_fine && k < s->operand_count; k++)
        if (module_plan_buffer(p, s->operand[k]) == b)
            is_fine = is_pointwise(p, s, own, s->operand[k]);
    return own && is_fine;
}

void module_plan_alias_outputs(struct module_plan *p, const struct graph *g)
{
    for (int i = 0; i < g->output_count; i++) {
        int alias = g->output[i].alias_parameter;
        struct module_value *v = p->output[i], *old = alias >= 0 ? p->parameter[alias] : NULL;

        if (!old || v == old)
            continue;
        if (may_overwrite(p, v, old)) {
            p->buffer[v->buffer].stands_for = old->buffer;
        } else {
            module_plan_buffer(p, v)->role = BUFFER_TEMPORARY;
            module_plan_add_copy(p, v, old);
        }
        p->output[i] = old;
    }
    for (int i = 0; i < p->parameter_count; i++)
        p->parameter[i]->array.is_fixed = !p->settings->place &&
                                          first_writer(p, p->parameter[i]) < 0;
}
