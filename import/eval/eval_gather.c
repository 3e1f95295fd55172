/* Gathers: slices at computed starts, put side by side. */
#include "import/eval/handlers.h"

#include <string.h>

static bool is_listed(const struct hlo_ints *l, int64_t d)
{
    for (int k = 0; k < l->count; k++)
        if (l->item[k] == d)
            return true;
    return false;
}

struct gather {
    struct stride_copy window;          /* of one slice */
    int batch_rank;                     /* dimensions of indices but the vector's */
    int64_t batch_dim[EVAL_RANK_MAX], batch_step[EVAL_RANK_MAX], to_step[EVAL_RANK_MAX];
    int64_t vector_step;
    int64_t operand_step[EVAL_RANK_MAX], limit[EVAL_RANK_MAX];  /* largest starts */
    size_t bytes;
};

static void find_window(const struct call *c, struct gather *g)
{
    const struct hlo_gather *at = hlo_detail(c->i)->gather;
    const struct value *from = c->operand[0];
    int64_t to_step[EVAL_RANK_MAX];
    int next = 0;

    value_strides(from, g->operand_step);
    value_strides(c->result, to_step);
    g->bytes = value_element_bytes(from);
    for (int d = 0; d < from->rank; d++) {
        int64_t size = hlo_detail(c->i)->sizes.item[d];

        if (size > from->dim[d])                /* of a bounded array that is shorter now */
            size = from->dim[d];
        g->limit[d] = from->dim[d] - size;
        if (is_listed(&at->collapsed_dims, d) || is_listed(&at->operand_batching, d))
            continue;
        g->window.dim[next] = size;
        g->window.from_step[next] = g->operand_step[d];
        g->window.to_step[next] = to_step[at->offset_dims.item[next]];
        next++;
    }
    g->window.rank = next;
}

static void find_batch(const struct call *c, struct gather *g)
{
    const struct hlo_gather *at = hlo_detail(c->i)->gather;
    const struct value *indices = c->operand[1];
    int64_t step[EVAL_RANK_MAX], to_step[EVAL_RANK_MAX];
    int to = 0;

    value_strides(indices, step);
    value_strides(c->result, to_step);
    g->vector_step = at->index_vector_dim < indices->rank ? step[at->index_vector_dim] : 0;
    for (int d = 0; d < indices->rank; d++) {
        if (d == at->index_vector_dim)
            continue;
        while (is_listed(&at->offset_dims, to))
            to++;
        g->batch_dim[g->batch_rank] = indices->dim[d];
        g->batch_step[g->batch_rank] = step[d];
        g->to_step[g->batch_rank++] = to_step[to++];
    }
}

/* where in the operand the slice at this place of the indices begins */
static int64_t slice_start(const struct call *c, const struct gather *g, const int64_t *index)
{
    const struct hlo_gather *at = hlo_detail(c->i)->gather;
    int64_t first = stride_dot(g->batch_rank, index, g->batch_step), start = 0;

    for (int k = 0; k < at->start_index_map.count; k++) {
        int64_t d = at->start_index_map.item[k];
        int64_t x = value_int(c->operand[1], first + k * g->vector_step);

        if (x < 0 && hlo_element_kind(c->operand[1]->element) == ELEMENT_KIND_UNSIGNED)
            x = INT64_MAX;
        start += clamp_int(x, 0, g->limit[d]) * g->operand_step[d];
    }
    for (int k = 0; k < at->operand_batching.count; k++) {
        int64_t b = at->indices_batching.item[k];

        b -= b > at->index_vector_dim;
        start += index[b] * g->operand_step[at->operand_batching.item[k]];
    }
    return start;
}

/* one run of elements on both sides: its length; 0 where it is something else */
static int64_t run_length(const struct stride_copy *w)
{
    int64_t n = 1;

    for (int d = w->rank; d-- > 0;) {
        if (w->dim[d] == 1)
            continue;
        if (w->from_step[d] != n || w->to_step[d] != n)
            return 0;
        n *= w->dim[d];
    }
    return n;
}

int eval_gather(struct call *c)
{
    struct gather g = { .bytes = 0 };
    int64_t index[EVAL_RANK_MAX] = { 0 }, run;

    if (call_result(c))
        return -1;
    if (value_count(c->result) == 0)
        return 0;
    find_window(c, &g);
    find_batch(c, &g);
    run = run_length(&g.window);
    do {
        int64_t start = slice_start(c, &g, index);
        char *to = (char *)c->result->data +
                   stride_dot(g.batch_rank, index, g.to_step) * (int64_t)g.bytes;
        const char *from = (const char *)c->operand[0]->data + start * (int64_t)g.bytes;

        if (run)
            memcpy(to, from, (size_t)run * g.bytes);
        else
            stride_copy(g.window, g.bytes, to, from);
    } while (stride_next(g.batch_rank, g.batch_dim, index));
    return 0;
}
