/*
 * Reductions over dimensions. The operand is seen as [outer][reduced][inner]; known operations fold
 * its rows, any other computation goes over rows of many results at once. Where there are few
 * results, the reduced elements are cut into parts that go side by side and are joined in order.
 */
#include "import/lanes/fold.h"
#include "import/eval/handlers.h"
#include "import/eval/region.h"

#include <string.h>

enum { ROW_WANTED = 128 };              /* results side by side that are worth their calls */

struct reduce_view {
    int64_t outer, reduced, inner;
};

static bool is_reduced(const struct hlo_instruction *i, int d)
{
    for (int k = 0; k < hlo_detail(i)->dims.count; k++)
        if (hlo_detail(i)->dims.item[k] == d)
            return true;
    return false;
}

/* false where the reduced dimensions do not follow one another */
static bool view_of(const struct hlo_instruction *i, const struct value *v, struct reduce_view *w)
{
    int state = 0;

    *w = (struct reduce_view){ 1, 1, 1 };
    for (int d = 0; d < v->rank; d++) {
        bool is_in = is_reduced(i, d);

        if (v->dim[d] == 1)
            continue;
        if (is_in && state == 2)
            return false;
        state = is_in ? 1 : state ? 2 : 0;
        *(is_in ? &w->reduced : state ? &w->inner : &w->outer) *= v->dim[d];
    }
    return true;
}

/* The operand with its kept dimensions first (or last), then the reduced ones; the caller's. */
static struct value *gathered(struct call *c, int k, bool keeps_first)
{
    struct value *v = c->operand[k], *made;
    struct stride_copy s = { .rank = v->rank };
    int64_t step[EVAL_RANK_MAX], dim[EVAL_RANK_MAX];
    int n = 0;

    value_strides(v, step);
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < v->rank; d++) {
            if (is_reduced(c->i, d) == (keeps_first == (pass == 0)))
                continue;
            dim[n] = s.dim[n] = v->dim[d];
            s.from_step[n++] = step[d];
        }
    made = call_array(c, v->element, n, dim);
    if (!made)
        return NULL;
    value_strides(made, s.to_step);
    stride_copy(s, value_element_bytes(v), made->data, v->data);
    return made;
}

/* [reduced][inner] folded into inner results */
static void fold_rows(const struct fold *f, char *to, const char *from, const void *init,
                      int64_t reduced, int64_t inner)
{
    enum { WIDTH = 512 };
    _Alignas(16) char room[WIDTH * LANE_BYTES_MAX];
    _Alignas(16) char first[LANE_BYTES_MAX];
    int64_t bytes = (int64_t)hlo_element_bytes(f->element), block;

    fold_load(f, first, init, 1);
    for (int64_t i = 0; i < inner; i += block) {
        block = inner - i < WIDTH ? inner - i : WIDTH;
        stride_fill(room, first, lane_bytes(f->wide), block);
        for (int64_t r = 0; r < reduced; r++)
            fold_row(f, room, from + (r * inner + i) * bytes, block);
        fold_store(f, to + i * bytes, room, block);
    }
}

static void fold_all(const struct fold *f, struct reduce_view w, char *to, const char *from,
                     const void *init)
{
    int64_t bytes = (int64_t)hlo_element_bytes(f->element);
    _Alignas(16) char wide[LANE_BYTES_MAX];

    for (int64_t o = 0; o < w.outer; o++) {
        const char *x = from + o * w.reduced * w.inner * bytes;

        if (w.inner > 1) {
            fold_rows(f, to + o * w.inner * bytes, x, init, w.reduced, w.inner);
            continue;
        }
        fold_load(f, wide, init, 1);
        fold_line(f, wide, x, w.reduced);
        fold_store(f, to + o * bytes, wide, 1);
    }
}

static int reduce_by_fold(struct call *c, const struct fold *f)
{
    struct value *from = value_hold(c->operand[0]);
    struct reduce_view w;

    if (call_result(c)) {
        value_drop(&c->ev->pool, from);
        return -1;
    }
    if (!view_of(c->i, from, &w) || (w.inner > 1 && w.inner < 16 && w.reduced > 64)) {
        value_drop(&c->ev->pool, from);
        w.outer = value_count(c->result);
        w.reduced = w.outer ? value_count(c->operand[0]) / w.outer : 0;
        w.inner = 1;
        from = gathered(c, 0, true);
    } else if (w.inner == 1 && w.reduced < 32 && w.outer > ROW_WANTED) {
        value_drop(&c->ev->pool, from);
        w.inner = w.outer;
        w.outer = 1;
        from = gathered(c, 0, false);
    }
    if (!from)
        return -1;
    fold_all(f, w, c->result->data, from->data, c->operand[1]->data);
    value_drop(&c->ev->pool, from);
    return 0;
}

/* Any computation on `count` arrays at once. */
struct reduction {
    struct call *c;
    struct region *r;
    int count;
    int64_t kept, reduced, parts, length;       /* reduced = parts * length + rest */
    struct value **row;                 /* by array: [length][parts][kept], then [rest][kept] */
    struct value **sum;                 /* by array: [parts][kept] */
    const void **in;
    void **out;
};

/* an array's elements as rows: part p of result k in the order p * length + l */
static struct value *rows_of(struct reduction *s, int k)
{
    struct call *c = s->c;
    struct value *dense = gathered(c, k, s->parts > 1), *made;
    int64_t dim[2] = { s->reduced, s->kept }, taken = s->parts * s->length;
    struct stride_copy a = { 3, { s->length, s->parts, s->kept },
                             { s->parts * s->kept, s->kept, 1 }, { 1, s->length, s->reduced } };
    struct stride_copy rest = { 2, { s->reduced - taken, s->kept }, { s->kept, 1 },
                                { 1, s->reduced } };
    size_t bytes;

    if (!dense || s->parts == 1)
        return dense;
    bytes = value_element_bytes(dense);
    made = call_array(c, dense->element, 2, dim);
    if (made) {
        stride_copy(a, bytes, made->data, dense->data);
        stride_copy(rest, bytes, (char *)made->data + (size_t)(taken * s->kept) * bytes,
                    (char *)dense->data + (size_t)taken * bytes);
    }
    value_drop(&c->ev->pool, dense);
    return made;
}

/* sum[at ..] = computation(sum[at ..], from) for n results side by side; `from` by array */
static int reduce_row(struct reduction *s, struct value *const *to, struct value *const *from,
                      int64_t from_at, int64_t n)
{
    for (int k = 0; k < s->count; k++) {
        size_t bytes = value_element_bytes(to[k]);

        s->in[k] = s->out[k] = to[k]->data;
        s->in[s->count + k] = (char *)from[k]->data + (size_t)from_at * bytes;
    }
    return region_run(s->c, s->r, n, s->in, s->out);
}

static struct value *result_part(const struct call *c, int k)
{
    return c->result->element == ELEMENT_TUPLE ? c->result->part[k] : c->result;
}

static int run_reduction(struct reduction *s, struct value **result)
{
    int64_t width = s->parts * s->kept, rest = s->parts * s->length;
    int status = 0;

    for (int k = 0; k < s->count; k++) {
        size_t bytes = value_element_bytes(result[k]);

        stride_fill(result[k]->data, s->c->operand[s->count + k]->data, bytes, s->kept);
        if (s->parts > 1)
            memcpy(s->sum[k]->data, s->row[k]->data, (size_t)width * bytes);
    }
    if (s->parts == 1) {
        for (int64_t l = 0; l < s->reduced && !status; l++)
            status = reduce_row(s, result, s->row, l * s->kept, s->kept);
        return status;
    }
    for (int64_t l = 1; l < s->length && !status; l++)
        status = reduce_row(s, s->sum, s->row, l * width, width);
    for (int64_t p = 0; p < s->parts && !status; p++)
        status = reduce_row(s, result, s->sum, p * s->kept, s->kept);
    for (int64_t l = rest; l < s->reduced && !status; l++)
        status = reduce_row(s, result, s->row, l * s->kept, s->kept);
    return status;
}

static int reduce_by_region(struct call *c, struct region *r)
{
    size_t count = (size_t)c->i->operand_count / 2;
    struct reduction s = { .c = c, .r = r, .count = (int)count };
    struct value **result = mem_alloc((3 * count + 1) * sizeof(*result));
    int status = 0;

    s.row = result + count;
    s.sum = s.row + count;
    s.in = mem_alloc(2 * count * sizeof(*s.in));
    s.out = mem_alloc(count * sizeof(*s.out));
    for (int k = 0; k < s.count; k++)
        result[k] = result_part(c, k);
    s.kept = value_count(result[0]);
    s.reduced = s.kept ? value_count(c->operand[0]) / s.kept : 0;
    s.parts = s.kept && s.kept < ROW_WANTED ? ROW_WANTED / s.kept : 1;
    if (s.parts * 4 > s.reduced)
        s.parts = 1;
    s.length = s.reduced / s.parts;
    for (int k = 0; k < s.count && !status; k++) {
        int64_t dim[2] = { s.parts, s.kept };

        s.row[k] = rows_of(&s, k);
        s.sum[k] = call_array(c, result[k]->element, 2, dim);
        status = s.row[k] && s.sum[k] ? 0 : -1;
    }
    if (!status)
        status = run_reduction(&s, result);
    for (int k = 0; k < s.count; k++) {
        value_drop(&c->ev->pool, s.row[k]);
        value_drop(&c->ev->pool, s.sum[k]);
    }
    mem_free(result);
    mem_free(s.in);
    mem_free(s.out);
    return status;
}

int eval_reduce(struct call *c)
{
    struct region *r = region_of(c->ev, hlo_detail(c->i)->computation[0]);
    enum hlo_opcode op = region_operation(r);
    struct fold f;

    if (c->i->operand_count == 2 && op != OPCODE_COUNT &&
        c->operand[0]->element == c->i->type->element &&
        fold_init(&f, FOLD_WIDE, op, c->operand[0]->element))
        return reduce_by_fold(c, &f);
    if (c->i->type->element != ELEMENT_TUPLE)
        return call_result(c) ? -1 : reduce_by_region(c, r);
    call_result_tuple(c);
    for (int k = 0; k < c->i->type->part_count; k++)
        if (!call_part(c, k))
            return -1;
    return reduce_by_region(c, r);
}
