/*
 * Reductions over windows. All outputs of a box take their windows' elements one offset after
 * another, so that every offset is one row of many results. Padding counts as the initial value.
 * Long windows that slide over one dimension are joined of running results (eval_window_slide.c).
 */
#include "import/eval/window.h"

#include <string.h>

/* a box of outputs: where it begins and how large it is */
struct box {
    int64_t origin[EVAL_RANK_MAX], size[EVAL_RANK_MAX];
};

struct windows {
    struct call *c;
    struct region *r;
    int count, rank;
    struct value **result, **room;      /* by operand; room: elements at one offset of a box */
    struct fold fold;
    bool is_fold;
    char *wide;                         /* of a fold: the box's results so far */
    const void **in;
    void **out;
};

/* which outputs of one dimension have an element of the operand at window offset k */
static bool outputs_inside(const struct hlo_window *w, int64_t k, int64_t size, int64_t origin,
                           int64_t count, struct window_range *r)
{
    int64_t shift = k * w->window_dilation - w->pad_low, step = 1;
    int64_t least = shift < 0 ? (-shift + w->stride - 1) / w->stride : 0;

    while (step * w->stride % w->base_dilation)
        step++;
    r->first = least > origin ? least : origin;
    for (int64_t t = 0; t < step && (r->first * w->stride + shift) % w->base_dilation; t++)
        r->first++;
    if ((r->first * w->stride + shift) % w->base_dilation)
        return false;
    r->from = (r->first * w->stride + shift) / w->base_dilation;
    r->from_step = step * w->stride / w->base_dilation;
    r->step = step;
    if (r->first >= origin + count || r->from >= size)
        return false;
    r->count = (origin + count - 1 - r->first) / step + 1;
    if ((size - 1 - r->from) / r->from_step + 1 < r->count)
        r->count = (size - 1 - r->from) / r->from_step + 1;
    return true;
}

/* elements at one offset for all outputs of a box, the initial value where there are none */
static void take_offset(const struct windows *s, int k, const struct box *b, const int64_t *offset)
{
    const struct value *from = s->c->operand[k];
    struct stride_copy copy = { .rank = s->rank };
    int64_t to = 0, at = 0, step = 1;
    size_t bytes = value_element_bytes(from);
    char *room = s->room[k]->data;

    stride_fill(room, s->c->operand[s->count + k]->data, bytes,
                value_product(b->size, 0, s->rank));
    value_strides(from, copy.from_step);
    for (int d = s->rank; d-- > 0; step *= b->size[d]) {
        struct window_range r;

        if (!outputs_inside(&hlo_detail(s->c->i)->window[d], offset[d], from->dim[d], b->origin[d],
                            b->size[d], &r))
            return;
        copy.dim[d] = r.count;
        to += (r.first - b->origin[d]) * step;
        at += r.from * copy.from_step[d];
        copy.to_step[d] = step * r.step;
        copy.from_step[d] *= r.from_step;
    }
    stride_copy(copy, bytes, room + (size_t)to * bytes, (char *)from->data + (size_t)at * bytes);
}

static int64_t box_start(const struct windows *s, const struct box *b)
{
    int64_t step[EVAL_RANK_MAX];

    value_strides(s->result[0], step);
    return stride_dot(s->rank, b->origin, step);
}

static void fold_box(struct windows *s, const struct box *b)
{
    int64_t offset[EVAL_RANK_MAX] = { 0 }, size[EVAL_RANK_MAX];
    int64_t n = value_product(b->size, 0, s->rank);
    _Alignas(16) char init[LANE_BYTES_MAX];

    for (int d = 0; d < s->rank; d++)
        size[d] = hlo_detail(s->c->i)->window[d].size;
    fold_load(&s->fold, init, s->c->operand[1]->data, 1);
    stride_fill(s->wide, init, lane_bytes(s->fold.wide), n);
    do {
        take_offset(s, 0, b, offset);
        fold_row(&s->fold, s->wide, s->room[0]->data, n);
    } while (stride_next(s->rank, size, offset));
    fold_store(&s->fold, (char *)s->result[0]->data +
                             (size_t)box_start(s, b) * value_element_bytes(s->result[0]),
               s->wide, n);
}

static int region_box(struct windows *s, const struct box *b)
{
    int64_t offset[EVAL_RANK_MAX] = { 0 }, size[EVAL_RANK_MAX], start = box_start(s, b);
    int64_t n = value_product(b->size, 0, s->rank);

    for (int d = 0; d < s->rank; d++)
        size[d] = hlo_detail(s->c->i)->window[d].size;
    for (int k = 0; k < s->count; k++) {
        size_t bytes = value_element_bytes(s->result[k]);

        s->in[k] = s->out[k] = (char *)s->result[k]->data + (size_t)start * bytes;
        s->in[s->count + k] = s->room[k]->data;
        stride_fill(s->out[k], s->c->operand[s->count + k]->data, bytes, n);
    }
    do {
        for (int k = 0; k < s->count; k++)
            take_offset(s, k, b, offset);
        if (region_run(s->c, s->r, n, s->in, s->out))
            return -1;
    } while (stride_next(s->rank, size, offset));
    return 0;
}

/* boxes of some of the last dimensions, small enough for the cache, one after another */
static int all_boxes(struct windows *s)
{
    enum { BOX = 8192 };
    const int64_t *dim = s->result[0]->dim;
    struct box b = { { 0 }, { 0 } };
    int outer = s->rank, status = 0;
    int64_t n = 1;

    while (outer > 0 && n * dim[outer - 1] <= BOX)
        n *= dim[--outer];
    if (outer == s->rank && outer > 0)          /* a dimension longer than a box */
        n *= dim[--outer];
    for (int d = 0; d < s->rank; d++)
        b.size[d] = d < outer ? 1 : dim[d];
    for (int k = 0; k < s->count && !status; k++) {
        s->room[k] = call_array(s->c, s->result[k]->element, 1, &n);
        status = s->room[k] ? 0 : -1;
    }
    s->wide = s->is_fold ? mem_alloc_unset((size_t)n * LANE_BYTES_MAX + 1) : NULL;
    while (!status) {
        if (s->is_fold)
            fold_box(s, &b);
        else
            status = region_box(s, &b);
        if (!stride_next(outer, dim, b.origin))
            break;
    }
    mem_free(s->wide);
    for (int k = 0; k < s->count; k++)
        value_drop(&s->c->ev->pool, s->room[k]);
    return status;
}

int eval_reduce_window(struct call *c)
{
    size_t count = (size_t)c->i->operand_count / 2;
    struct windows s = { .c = c, .count = (int)count, .rank = c->operand[0]->rank };
    bool is_tuple = c->i->type->element == ELEMENT_TUPLE;
    enum hlo_opcode op;
    int status = 0;

    s.r = region_of(c->ev, hlo_detail(c->i)->computation[0]);
    op = region_operation(s.r);
    s.is_fold = s.count == 1 && op != OPCODE_COUNT &&
                c->operand[0]->element == c->i->type->element &&
                fold_init(&s.fold, FOLD_STEPS, op, c->operand[0]->element);
    s.result = mem_alloc(5 * count * sizeof(void *));
    s.room = s.result + count;
    s.in = (const void **)(void *)(s.room + count);
    s.out = (void **)(void *)(s.in + 2 * count);
    if (is_tuple)
        call_result_tuple(c);
    for (int k = 0; k < s.count && !status; k++) {
        s.result[k] = is_tuple ? call_part(c, k) : call_result(c) ? NULL : c->result;
        status = s.result[k] ? 0 : -1;
    }
    if (!status && value_count(s.result[0]) > 0) {
        int along = window_slides_along(c);

        status = along >= 0 ? window_slide(c, s.r, along, s.count, s.result) : all_boxes(&s);
    }
    mem_free(s.result);
    return status;
}
