/*
 * select-and-scatter: in each window the element that the first computation keeps; the source's
 * element is joined with what stands in that element's place by the second one.
 */
#include "import/eval/handlers.h"
#include "import/lanes/kernel.h"
#include "import/eval/region.h"

#include <string.h>

struct select_scatter {
    struct call *c;
    struct region *select, *scatter;
    kernel fast;                        /* of the scatter; NULL: none */
    int64_t operand_step[EVAL_RANK_MAX], window_size[EVAL_RANK_MAX];
    size_t bytes, source_bytes;
    /* of a line of sources along the last dimension: what is kept of their windows so far */
    int64_t line;
    char *best, *candidate;
    uint8_t *keeps;
    int64_t *place;                     /* in the operand; -1: nothing yet */
};

/* where a window's offset is in all dimensions but the last; -1: in the padding */
static int64_t outer_place(const struct select_scatter *s, const int64_t *source,
                           const int64_t *offset)
{
    const struct value *operand = s->c->operand[0];
    int64_t at = 0;

    for (int d = 0; d < operand->rank - 1; d++) {
        const struct hlo_window *w = &hlo_detail(s->c->i)->window[d];
        int64_t x = source[d] * w->stride + offset[d] - w->pad_low;

        if (x < 0 || x >= operand->dim[d])
            return -1;
        at += x * s->operand_step[d];
    }
    return at;
}

/* which sources of the line have an element at this offset of the last dimension */
static void inside(const struct select_scatter *s, int64_t offset, int64_t *from, int64_t *to)
{
    int last = s->c->operand[0]->rank - 1;
    const struct hlo_window *w = &hlo_detail(s->c->i)->window[last];
    int64_t shift = offset - w->pad_low, rest = s->c->operand[0]->dim[last] - shift;

    *from = shift < 0 ? (-shift + w->stride - 1) / w->stride : 0;
    *to = rest <= 0 ? 0 : (rest + w->stride - 1) / w->stride;
    *to = *to < s->line ? *to : s->line;
}

/* the line's windows at one offset: each keeps what it has, or takes the element there */
static int take_offset(const struct select_scatter *s, const int64_t *source,
                       const int64_t *offset)
{
    int last = s->c->operand[0]->rank - 1;
    const struct hlo_window *w = &hlo_detail(s->c->i)->window[last];
    int64_t from, to, at = outer_place(s, source, offset), n;
    size_t first;
    const void *in[2];
    void *out[1];

    inside(s, offset[last], &from, &to);
    n = to - from;
    if (at < 0 || n <= 0)
        return 0;
    at += from * w->stride + offset[last] - w->pad_low;
    first = (size_t)from * s->bytes;
    stride_copy((struct stride_copy){ 1, { n }, { 1 }, { w->stride } }, s->bytes,
                s->candidate + first, (char *)s->c->operand[0]->data + (size_t)at * s->bytes);
    in[0] = s->best + first;
    in[1] = s->candidate + first;
    out[0] = s->keeps + from;
    if (region_run(s->c, s->select, n, in, out))
        return -1;
    for (int64_t i = from; i < to; i++) {
        s->keeps[i] = s->keeps[i] && s->place[i] >= 0;
        s->place[i] = s->keeps[i] ? s->place[i] : at + (i - from) * w->stride;
    }
    kernel_select(s->bytes)(s->best + first, s->keeps + from, s->best + first,
                            s->candidate + first, n);
    return 0;
}

static int scatter_one(const struct select_scatter *s, int64_t to, int64_t from)
{
    char *place = (char *)s->c->result->data + (size_t)to * s->bytes;
    const void *in[2] = { place, (char *)s->c->operand[1]->data + (size_t)from * s->source_bytes };
    void *out[1] = { place };

    if (!s->fast)
        return region_run(s->c, s->scatter, 1, in, out);
    s->fast(place, in[0], in[1], NULL, 1);
    return 0;
}

/* without dimensions there is one element, which is its own window */
static int run_scalar(struct select_scatter *s) { return scatter_one(s, 0, 0); }

static int run_line(const struct select_scatter *s, const int64_t *source, int64_t first)
{
    int64_t offset[EVAL_RANK_MAX] = { 0 };

    for (int64_t i = 0; i < s->line; i++)
        s->place[i] = -1;
    memset(s->best, 0, (size_t)s->line * s->bytes);
    do {
        if (take_offset(s, source, offset))
            return -1;
    } while (stride_next(s->c->operand[0]->rank, s->window_size, offset));
    for (int64_t i = 0; i < s->line; i++)
        if (s->place[i] >= 0 && scatter_one(s, s->place[i], first + i))
            return -1;
    return 0;
}

static int run_lines(struct select_scatter *s)
{
    const struct value *source = s->c->operand[1];
    int64_t index[EVAL_RANK_MAX] = { 0 }, first = 0;
    int status;

    s->line = source->dim[source->rank - 1];
    s->best = mem_alloc((size_t)s->line * LANE_BYTES_MAX);
    s->candidate = mem_alloc((size_t)s->line * LANE_BYTES_MAX);
    s->keeps = mem_alloc((size_t)s->line);
    s->place = mem_alloc((size_t)s->line * sizeof(*s->place));
    do {
        status = run_line(s, index, first);
        first += s->line;
    } while (!status && stride_next(source->rank - 1, source->dim, index));
    mem_free(s->best);
    mem_free(s->candidate);
    mem_free(s->keeps);
    mem_free(s->place);
    return status;
}

int eval_select_and_scatter(struct call *c)
{
    struct select_scatter s = { .c = c };
    const struct value *source = c->operand[1];
    enum hlo_opcode op;

    s.select = region_of(c->ev, hlo_detail(c->i)->computation[0]);
    s.scatter = region_of(c->ev, hlo_detail(c->i)->computation[1]);
    op = region_operation(s.scatter);
    if (op != OPCODE_COUNT && !lane_is_narrow(source->element))
        s.fast = kernel_of(op, lane_of(source->element));
    if (call_result(c))
        return -1;
    s.bytes = value_element_bytes(c->operand[0]);
    s.source_bytes = value_element_bytes(source);
    stride_fill(c->result->data, c->operand[2]->data, s.bytes, value_count(c->result));
    value_strides(c->operand[0], s.operand_step);
    for (int d = 0; d < hlo_detail(c->i)->window_count; d++)
        s.window_size[d] = hlo_detail(c->i)->window[d].size;
    if (value_count(source) == 0)
        return 0;
    return source->rank ? run_lines(&s) : run_scalar(&s);
}
