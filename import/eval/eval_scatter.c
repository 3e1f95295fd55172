/*
 * Scatters: windows of updates joined with what stands at computed places, one after another in the
 * order of the indices. A window that would reach beyond the operand is left away whole.
 */
#include "import/lanes/apply.h"
#include "import/eval/handlers.h"
#include "import/eval/region.h"

#include <string.h>

static bool is_listed(const struct hlo_ints *l, int64_t d)
{
    for (int k = 0; k < l->count; k++)
        if (l->item[k] == d)
            return true;
    return false;
}

struct scatter {
    struct call *c;
    struct region *r;
    int count;                          /* operands */
    struct value **to, **update;
    const void **in;
    void **out;
    kernel fast;                        /* one operation; NULL: none */
    bool is_set;                        /* updates take the places */
    /* one window: dimensions in the update's order, the last one a run of elements */
    int window_rank;
    int64_t window_dim[EVAL_RANK_MAX], operand_step[EVAL_RANK_MAX], update_step[EVAL_RANK_MAX];
    int64_t run;
    /* places of the indices */
    int batch_rank;
    int64_t batch_dim[EVAL_RANK_MAX], index_step[EVAL_RANK_MAX], batch_step[EVAL_RANK_MAX];
    int64_t vector_step, limit[EVAL_RANK_MAX], whole_step[EVAL_RANK_MAX];
};

static void find_window(struct scatter *s)
{
    const struct hlo_gather *at = hlo_detail(s->c->i)->gather;
    const struct value *to = s->to[0], *update = s->update[0];
    int64_t step[EVAL_RANK_MAX];
    int next = 0;

    value_strides(to, s->whole_step);
    value_strides(update, step);
    for (int d = 0; d < to->rank; d++) {
        int64_t from;

        s->limit[d] = to->dim[d] - 1;
        if (is_listed(&at->collapsed_dims, d) || is_listed(&at->operand_batching, d))
            continue;
        from = at->offset_dims.item[next];
        s->window_dim[next] = update->dim[from];
        s->limit[d] = to->dim[d] - update->dim[from];
        s->operand_step[next] = s->whole_step[d];
        s->update_step[next++] = step[from];
    }
    s->window_rank = next;
    s->run = 1;
    while (s->window_rank && s->operand_step[s->window_rank - 1] == s->run &&
           s->update_step[s->window_rank - 1] == s->run)
        s->run *= s->window_dim[--s->window_rank];
}

static void find_batch(struct scatter *s)
{
    const struct hlo_gather *at = hlo_detail(s->c->i)->gather;
    const struct value *indices = s->c->operand[s->count];
    int64_t step[EVAL_RANK_MAX], update_step[EVAL_RANK_MAX];
    int from = 0;

    value_strides(indices, step);
    value_strides(s->update[0], update_step);
    s->vector_step = at->index_vector_dim < indices->rank ? step[at->index_vector_dim] : 0;
    for (int d = 0; d < indices->rank; d++) {
        if (d == at->index_vector_dim)
            continue;
        while (is_listed(&at->offset_dims, from))
            from++;
        s->batch_dim[s->batch_rank] = indices->dim[d];
        s->index_step[s->batch_rank] = step[d];
        s->batch_step[s->batch_rank++] = update_step[from++];
    }
}

/* where the window at this place of the indices goes; -1: beyond the operand */
static int64_t window_start(const struct scatter *s, const int64_t *index)
{
    const struct hlo_gather *at = hlo_detail(s->c->i)->gather;
    const struct value *indices = s->c->operand[s->count];
    int64_t first = stride_dot(s->batch_rank, index, s->index_step), start = 0;

    for (int k = 0; k < at->start_index_map.count; k++) {
        int64_t d = at->start_index_map.item[k];
        int64_t x = value_int(indices, first + k * s->vector_step);

        if (x < 0 || x > s->limit[d])
            return -1;
        start += x * s->whole_step[d];
    }
    for (int k = 0; k < at->operand_batching.count; k++) {
        int64_t b = at->indices_batching.item[k];

        b -= b > at->index_vector_dim;
        start += index[b] * s->whole_step[at->operand_batching.item[k]];
    }
    return start;
}

static int scatter_run(struct scatter *s, int64_t to, int64_t from)
{
    for (int k = 0; k < s->count; k++) {
        size_t bytes = value_element_bytes(s->to[k]);

        s->in[k] = s->out[k] = (char *)s->to[k]->data + (size_t)to * bytes;
        s->in[s->count + k] = (char *)s->update[k]->data + (size_t)from * bytes;
        if (s->is_set)
            memcpy(s->out[k], s->in[s->count + k], (size_t)s->run * bytes);
    }
    if (s->is_set)
        return 0;
    if (s->fast) {
        s->fast(s->out[0], s->in[0], s->in[1], NULL, s->run);
        return 0;
    }
    return region_run(s->c, s->r, s->run, s->in, s->out);
}

static int scatter_all(struct scatter *s)
{
    int64_t index[EVAL_RANK_MAX] = { 0 }, inner[EVAL_RANK_MAX] = { 0 };

    do {
        int64_t to = window_start(s, index);
        int64_t from = stride_dot(s->batch_rank, index, s->batch_step);

        if (to < 0)
            continue;
        do {
            if (scatter_run(s, to + stride_dot(s->window_rank, inner, s->operand_step),
                            from + stride_dot(s->window_rank, inner, s->update_step)))
                return -1;
        } while (stride_next(s->window_rank, s->window_dim, inner));
    } while (stride_next(s->batch_rank, s->batch_dim, index));
    return 0;
}

/* copies of the operands to write into, or the operands themselves where nobody needs them more */
static int make_results(struct scatter *s)
{
    struct call *c = s->c;
    bool is_tuple = c->i->type->element == ELEMENT_TUPLE;

    if (is_tuple)
        call_result_tuple(c);
    for (int k = 0; k < s->count; k++) {
        struct value *from = c->operand[k], *v;

        if (call_may_overwrite(c, k)) {
            v = value_hold(from);
        } else {
            v = call_array(c, from->element, from->rank, from->dim);
            if (!v)
                return -1;
            memcpy(v->data, from->data, (size_t)value_count(v) * value_element_bytes(v));
        }
        s->to[k] = v;
        s->update[k] = c->operand[s->count + 1 + k];
        *(is_tuple ? &c->result->part[k] : &c->result) = v;
    }
    return 0;
}

int eval_scatter(struct call *c)
{
    size_t count = (size_t)(c->i->operand_count - 1) / 2;
    struct scatter s = { .c = c, .count = (int)count };
    enum hlo_opcode op;
    int status;

    s.r = region_of(c->ev, hlo_detail(c->i)->computation[0]);
    s.to = mem_alloc(6 * count * sizeof(void *));
    s.update = s.to + count;
    s.in = (const void **)(void *)(s.update + count);
    s.out = (void **)(void *)(s.in + 2 * count);
    op = region_operation(s.r);
    if (op != OPCODE_COUNT && !lane_is_narrow(c->operand[0]->element))
        s.fast = kernel_of(op, lane_of(c->operand[0]->element));
    s.is_set = region_is_second(s.r);
    status = make_results(&s);
    if (!status && value_count(s.update[0]) > 0) {
        find_window(&s);
        find_batch(&s);
        status = scatter_all(&s);
    }
    mem_free(s.to);
    return status;
}
