/*
 * Sorting by any comparison. Where it compares what one function makes of two elements, that
 * function goes over all elements first and numbers are compared; any other is called for each
 * comparison of a merge sort, which is stable and ends whatever the comparison answers.
 */
#include "import/eval/handlers.h"
#include "import/lanes/kernel.h"
#include "import/eval/region.h"
#include "import/eval/sort.h"

#include <math.h>
#include <string.h>

struct sort {
    struct call *c;
    struct region *r;
    int count;                          /* operands */
    int64_t n;                          /* of a line */
    int32_t *order, *room;
    struct value **line;                /* by operand: n elements, dense */
    const void **in;
    uint64_t *key;                      /* of a line, ascending; NULL: the comparison is called */
    int status;
};

/* does a stand before b? */
static bool is_before(struct sort *s, int32_t a, int32_t b)
{
    uint8_t answer = 0;
    void *out[1] = { &answer };

    if (s->key)
        return s->key[a] < s->key[b];
    for (int k = 0; k < s->count; k++) {
        size_t bytes = value_element_bytes(s->line[k]);

        s->in[2 * k] = (char *)s->line[k]->data + (size_t)a * bytes;
        s->in[2 * k + 1] = (char *)s->line[k]->data + (size_t)b * bytes;
    }
    if (s->status || region_run(s->c, s->r, 1, s->in, out))
        s->status = -1;
    return answer;
}

static void insert_short(struct sort *s, int64_t from, int64_t to)
{
    for (int64_t i = from + 1; i < to; i++) {
        int32_t x = s->order[i];
        int64_t j = i;

        for (; j > from && is_before(s, x, s->order[j - 1]); j--)
            s->order[j] = s->order[j - 1];
        s->order[j] = x;
    }
}

static void merge_halves(struct sort *s, int64_t from, int64_t middle, int64_t to)
{
    int64_t a = from, b = middle;

    if (!is_before(s, s->order[middle], s->order[middle - 1]))
        return;
    for (int64_t k = from; k < to; k++)
        if (a == middle || (b < to && is_before(s, s->order[b], s->order[a])))
            s->room[k] = s->order[b++];
        else
            s->room[k] = s->order[a++];
    memcpy(s->order + from, s->room + from, (size_t)(to - from) * sizeof(*s->order));
}

static void merge_sort(struct sort *s)
{
    enum { SHORT = 8 };

    for (int64_t i = 0; i < s->n && !s->status; i += SHORT)
        insert_short(s, i, i + SHORT < s->n ? i + SHORT : s->n);
    for (int64_t width = SHORT; width < s->n && !s->status; width *= 2)
        for (int64_t i = 0; i + width < s->n && !s->status; i += 2 * width)
            merge_halves(s, i, i + width, i + 2 * width < s->n ? i + 2 * width : s->n);
}

/* numbers whose order as unsigned ones is the order of the lane's values */
static bool make_keys(enum lane l, bool is_total, bool is_descending, const void *from,
                      uint64_t *key, int64_t n)
{
    const float *f = from;
    const double *d = from;
    const uint64_t top = (uint64_t)1 << 63;

    for (int64_t i = 0; i < n; i++) {
        uint64_t x;

        switch (l) {
        case LANE_PRED: case LANE_U8: x = ((const uint8_t *)from)[i]; break;
        case LANE_U16: x = ((const uint16_t *)from)[i]; break;
        case LANE_U32: x = ((const uint32_t *)from)[i]; break;
        case LANE_U64: x = ((const uint64_t *)from)[i]; break;
        case LANE_S8: x = (uint64_t)((const int8_t *)from)[i] ^ top; break;
        case LANE_S16: x = (uint64_t)((const int16_t *)from)[i] ^ top; break;
        case LANE_S32: x = (uint64_t)((const int32_t *)from)[i] ^ top; break;
        case LANE_S64: x = (uint64_t)((const int64_t *)from)[i] ^ top; break;
        case LANE_F32: {
            float y = is_total || f[i] != 0 ? f[i] : 0;
            uint32_t bits;

            if (!is_total && y != y)
                return false;
            memcpy(&bits, &y, sizeof(bits));
            x = bits >> 31 ? ~bits & UINT32_MAX : bits | 0x80000000u;
            break;
        }
        case LANE_F64: {
            double y = is_total || d[i] != 0 ? d[i] : 0;

            if (!is_total && y != y)
                return false;
            memcpy(&x, &y, sizeof(x));
            x = x >> 63 ? ~x : x | top;
            break;
        }
        default:
            return false;
        }
        key[i] = is_descending ? ~x : x;
    }
    return true;
}

/* lines along the dimension, which are copied out, sorted and put back */
static void move_line(const struct value *whole, struct value *line, int along,
                      const int64_t *index, bool is_out)
{
    int64_t step[EVAL_RANK_MAX], at;
    size_t bytes = value_element_bytes(whole);
    struct stride_copy s = { 1, { whole->dim[along] }, { 1 }, { 1 } };
    char *place;

    value_strides(whole, step);
    at = stride_dot(whole->rank, index, step);
    place = (char *)whole->data + (size_t)at * bytes;
    if (is_out) {
        s.from_step[0] = step[along];
        stride_copy(s, bytes, line->data, place);
    } else {
        s.to_step[0] = step[along];
        stride_copy(s, bytes, place, line->data);
    }
}

static void permute(struct value *to, const struct value *from, const int32_t *order, int64_t n)
{
    size_t bytes = value_element_bytes(from);

    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to->data + (size_t)i * bytes,
               (const char *)from->data + (size_t)order[i] * bytes, bytes);
}

static int sort_line(struct sort *s, int along, const int64_t *index, struct value *const *result,
                     struct value *sorted_bytes, uint64_t *key, void *wide)
{
    enum hlo_direction d;
    enum hlo_element e;
    bool is_total;
    int pair;

    for (int k = 0; k < s->count; k++)
        move_line(s->c->operand[k], s->line[k], along, index, true);
    for (int64_t i = 0; i < s->n; i++)
        s->order[i] = (int32_t)i;
    s->key = NULL;
    if (region_comparison(s->r, &pair, &e, &d, &is_total) && (d == HLO_LT || d == HLO_GT)) {
        region_keys(s->r, pair, s->n, s->line[pair]->data, wide);
        if (make_keys(lane_of(e), is_total, d == HLO_GT, wide, key, s->n))
            s->key = key;
    }
    merge_sort(s);
    for (int k = 0; k < s->count && !s->status; k++) {
        struct value to = *s->line[k];

        to.data = sorted_bytes->data;
        permute(&to, s->line[k], s->order, s->n);
        move_line(result[k], &to, along, index, false);
    }
    return s->status;
}

static int sort_lines(struct sort *s, int along, struct value *const *result)
{
    struct value *first = s->c->operand[0];
    int64_t dim[EVAL_RANK_MAX], index[EVAL_RANK_MAX] = { 0 }, room_dim = s->n * LANE_BYTES_MAX;
    struct value *room = call_array(s->c, ELEMENT_U8, 1, &room_dim);
    struct value *wide = call_array(s->c, ELEMENT_U8, 1, &room_dim);
    uint64_t *key = mem_alloc_unset((size_t)s->n * sizeof(*key) + 1);
    int status = room && wide ? 0 : -1;

    for (int d = 0; d < first->rank; d++)
        dim[d] = d == along ? 1 : first->dim[d];
    do {
        if (!status)
            status = sort_line(s, along, index, result, room, key, wide->data);
    } while (!status && stride_next(first->rank, dim, index));
    value_drop(&s->c->ev->pool, room);
    value_drop(&s->c->ev->pool, wide);
    mem_free(key);
    return status;
}

int sort_operands(struct call *c, int count, int along, struct value *const *result)
{
    size_t many = (size_t)count;
    struct sort s = { .c = c, .count = count };
    int status = 0;

    s.r = region_of(c->ev, hlo_detail(c->i)->computation[0]);
    s.n = c->operand[0]->dim[along];
    if (s.n > INT32_MAX)
        return call_fail(c, "a line of more than %d elements is not sorted here", INT32_MAX);
    s.line = mem_alloc(3 * many * sizeof(*s.line));
    s.in = (const void **)(void *)(s.line + count);
    s.order = mem_alloc_unset((size_t)s.n * sizeof(*s.order) + 1);
    s.room = mem_alloc_unset((size_t)s.n * sizeof(*s.room) + 1);
    for (int k = 0; k < count && !status; k++) {
        s.line[k] = call_array(c, c->operand[k]->element, 1, &s.n);
        status = s.line[k] ? 0 : -1;
    }
    if (!status && value_count(c->operand[0]) > 0)
        status = sort_lines(&s, along, result);
    for (int k = 0; k < count; k++)
        value_drop(&c->ev->pool, s.line[k]);
    mem_free(s.line);
    mem_free(s.order);
    mem_free(s.room);
    return status;
}

int eval_sort(struct call *c)
{
    int count = c->i->operand_count, along, status = 0;
    struct value **result;

    if (call_dimension(c, &along))
        return -1;
    result = mem_alloc((size_t)count * sizeof(*result));
    if (c->i->type->element == ELEMENT_TUPLE)
        call_result_tuple(c);
    for (int k = 0; k < count && !status; k++) {
        if (c->i->type->element == ELEMENT_TUPLE)
            result[k] = call_part(c, k);
        else
            result[k] = call_result(c) ? NULL : c->result;
        status = result[k] ? 0 : -1;
    }
    if (!status)
        status = sort_operands(c, count, along, result);
    mem_free(result);
    return status;
}

/* stable, by keys */
static void order_by_keys(uint64_t *key, int32_t *order, int32_t *room, int64_t n)
{
    struct sort s = { .n = n, .order = order, .room = room, .key = key };

    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    merge_sort(&s);
}

/* the k largest (or smallest) of each line of the last dimension, and where they stand */
int sort_topk(struct call *c, bool is_largest)
{
    struct value *from = c->operand[0], *values, *places;
    int64_t n = from->dim[from->rank - 1], k, lines;
    size_t bytes = value_element_bytes(from), count = (size_t)n + 1;
    uint64_t *key = mem_alloc_unset(count * (sizeof(*key) + 2 * sizeof(int32_t) + LANE_BYTES_MAX));
    int32_t *order = (int32_t *)(void *)(key + count), *room = order + count;
    void *wide = mem_alloc_unset(count * LANE_BYTES_MAX);
    int status = 0;

    call_result_tuple(c);
    values = call_part(c, 0);
    places = call_part(c, 1);
    status = values && places ? 0 : -1;
    k = status ? 0 : values->dim[values->rank - 1];
    lines = n && !status ? value_count(from) / n : 0;
    for (int64_t l = 0; l < lines; l++) {
        const char *line = (const char *)from->data + (size_t)(l * n) * bytes;

        lane_widen(from->element, wide, line, n);
        make_keys(lane_of(from->element), true, is_largest, wide, key, n);
        order_by_keys(key, order, room, n);
        for (int64_t i = 0; i < k; i++) {
            memcpy((char *)values->data + (size_t)(l * k + i) * bytes,
                   line + (size_t)order[i] * bytes, bytes);
            hlo_element_store_int(places->element, order[i],
                                  (char *)places->data +
                                      (size_t)(l * k + i) * value_element_bytes(places));
        }
    }
    mem_free(key);
    mem_free(wide);
    return status;
}

int eval_topk(struct call *c) { return sort_topk(c, hlo_detail(c->i)->is_largest); }
