/* Elementwise operations, moves, reductions. */
#include "tests/generate/random_hlo_impl.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool is_float(enum graph_dtype t)
{
    return graph_dtype_is_float(t);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- elementwise ---- */

static void make_unary(struct rh *m)
{
    static const enum graph_op floats[] = {HLO_NEGATE, HLO_ABS, HLO_SIGN, HLO_FLOOR, HLO_CEIL,
                                           HLO_ROUND_EVEN, HLO_ROUND_AFZ, HLO_COPY, HLO_IS_FINITE};
    static const enum graph_op integers[] = {HLO_NEGATE, HLO_ABS, HLO_SIGN, HLO_NOT, HLO_POPCNT,
                                             HLO_CLZ, HLO_COPY};
    struct rh_pick a = rh_find(m, RH_ANY, 0, 4);
    enum graph_dtype t = rh_shape(m, a.node).dtype;
    enum graph_op op = t == DTYPE_PRED ? HLO_NOT
                       : is_float(t) ? floats[rh_below(m, (int)COUNT_OF(floats))]
                                     : integers[rh_below(m, (int)COUNT_OF(integers))];
    double bound = is_float(t) ? larger(a.bound, 1) : 0x1p32;

    if (!is_float(t) && (op == HLO_COPY || (op == HLO_ABS && t != DTYPE_U32)))
        bound = a.bound;
    rh_add(m, graph_unary(m->g, op, a.node), bound);
}

static void make_float_binary(struct rh *m, struct rh_pick a, struct rh_pick b)
{
    static const enum graph_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_MAXIMUM,
                                        HLO_MINIMUM};
    enum graph_op op = ops[rh_below(m, (int)COUNT_OF(ops))];
    double bound = op == HLO_MULTIPLY ? a.bound * b.bound : a.bound + b.bound;

    if (op == HLO_MAXIMUM || op == HLO_MINIMUM)
        bound = larger(a.bound, b.bound);
    if (!rh_fits(rh_shape(m, a.node).dtype, bound)) {
        op = HLO_MAXIMUM;
        bound = larger(a.bound, b.bound);
    }
    rh_add(m, graph_binary(m->g, op, a.node, b.node), bound);
}

static void make_integer_binary(struct rh *m, struct rh_pick a, struct rh_pick b)
{
    static const enum graph_op ops[] = {
        HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_DIVIDE, HLO_REMAINDER, HLO_MAXIMUM, HLO_MINIMUM,
        HLO_AND, HLO_OR, HLO_XOR, HLO_SHIFT_LEFT, HLO_SHIFT_RIGHT_LOGICAL,
        HLO_SHIFT_RIGHT_ARITHMETIC};
    enum graph_op op = ops[rh_below(m, (int)COUNT_OF(ops))];
    bool is_signed_sum = op == HLO_ADD && a.bound + b.bound < RH_EXACT;

    rh_add(m, graph_binary(m->g, op, a.node, b.node), is_signed_sum ? a.bound + b.bound : 0x1p32);
}

static void make_binary(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 0, 4), b = rh_like(m, rh_shape(m, a.node));
    static const enum graph_op logic[] = {HLO_AND, HLO_OR, HLO_XOR};
    enum graph_dtype t = rh_shape(m, a.node).dtype;

    if (rh_below(m, 4) == 0 && (m->dtypes & RH_TYPE(DTYPE_PRED)))
        rh_add(m, graph_compare(m->g, (enum graph_compare)rh_below(m, 6), a.node, b.node), 1);
    else if (t == DTYPE_PRED)
        rh_add(m, graph_binary(m->g, logic[rh_below(m, 3)], a.node, b.node), 1);
    else if (is_float(t))
        make_float_binary(m, a, b);
    else
        make_integer_binary(m, a, b);
}

static void make_choice(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_NUMBERS & m->dtypes ? RH_NUMBERS : RH_ANY, 0, 4), b, c;
    struct shape s = rh_shape(m, a.node), other = s;

    if (rh_below(m, 3) == 0)
        other = shape_scalar(s.dtype);
    if (rh_below(m, 2) && s.dtype != DTYPE_PRED) {
        b = rh_like(m, other);
        c = rh_like(m, rh_below(m, 2) ? s : other);
        rh_add(m, graph_clamp(m->g, b.node, a.node, c.node),
               larger(a.bound, larger(b.bound, c.bound)));
        return;
    }
    b = rh_like(m, s);
    other.dtype = DTYPE_PRED;
    c = rh_like(m, other);
    rh_add(m, graph_select(m->g, c.node, a.node, b.node), larger(a.bound, b.bound));
}

static void make_convert(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 0, 4);
    enum graph_dtype from = rh_shape(m, a.node).dtype, to = rh_type(m, RH_ANY & ~RH_TYPE(from));
    bool may_wrap = !is_float(from) && to != DTYPE_PRED && !is_float(to);

    /* a negative number turns into a large unsigned one, or saturates to 0 */
    if (to != DTYPE_COUNT && (may_wrap || rh_fits(to, a.bound)))
        rh_add(m, graph_convert(m->g, a.node, to), may_wrap ? 0x1p32 : larger(a.bound, 1));
}

void rh_elementwise(struct rh *m)
{
    void (*const make[])(struct rh *) = {make_unary, make_binary, make_binary, make_choice,
                                         make_convert};

    make[rh_below(m, (int)COUNT_OF(make))](m);
}

/* ---- moves ---- */

static void make_transpose(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 2, 5);
    int order[GRAPH_RANK_MAX];

    rh_permute(m, order, rh_shape(m, a.node).rank);
    rh_add(m, graph_transpose(m->g, a.node, order), a.bound);
}

/* dimensions merged or split at random, ones put in or taken out */
static void make_reshape(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 0, 5);
    struct shape s = rh_shape(m, a.node), to = {.dtype = s.dtype};
    int64_t held = 1;

    for (int i = 0; i < s.rank; i++) {
        held *= s.dim[i];
        if (rh_below(m, 2) && to.rank < 5) {
            for (int64_t f = 2; f < 17 && to.rank < 4 && rh_below(m, 3) == 0; f++)
                if (held % f == 0 && held > f) {
                    to.dim[to.rank++] = f;
                    held /= f;
                    break;
                }
            to.dim[to.rank++] = held;
            held = 1;
        }
    }
    if (held > 1 || rh_below(m, 3) == 0)
        to.dim[to.rank++] = held;
    if (!shape_same_dims(&s, &to))
        rh_add(m, graph_reshape(m->g, a.node, to), a.bound);
}

static void make_broadcast(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 0, 3);
    struct shape s = rh_shape(m, a.node), to = {.dtype = s.dtype};
    int64_t room = m->elems_max / shape_elems(&s);
    int dims[GRAPH_RANK_MAX];

    for (int i = 0; i <= s.rank; i++) {
        while (rh_below(m, 5) < 2 && to.rank < 3 + i) {
            to.dim[to.rank] = rh_size(m, room < 1 ? 1 : room);
            room /= to.dim[to.rank++];
        }
        if (i < s.rank) {
            dims[i] = to.rank;
            to.dim[to.rank++] = s.dim[i];
        }
    }
    if (to.rank > s.rank)
        rh_add(m, graph_broadcast(m->g, a.node, to, dims), a.bound);
}

static void make_slice(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 1, 4);
    struct shape s = rh_shape(m, a.node);
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];

    for (int i = 0; i < s.rank; i++) {
        start[i] = rh_below(m, s.dim[i]);
        limit[i] = start[i] + 1 + rh_below(m, s.dim[i] - start[i]);
        stride[i] = rh_below(m, 3) ? 1 : 1 + rh_below(m, 4);
    }
    rh_add(m, graph_slice(m->g, a.node, start, limit, stride), a.bound);
}

static void make_pad(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_NUMBERS & m->dtypes ? RH_NUMBERS : RH_ANY, 1, 4), v;
    struct shape s = rh_shape(m, a.node);
    int64_t low[GRAPH_RANK_MAX], high[GRAPH_RANK_MAX], interior[GRAPH_RANK_MAX], elems = 1;

    for (int i = 0; i < s.rank; i++) {
        interior[i] = rh_below(m, 4) ? 0 : rh_below(m, 3);
        low[i] = rh_below(m, 2) ? 0 : rh_below(m, 9) - 3;
        high[i] = rh_below(m, 2) ? 0 : rh_below(m, 9) - 3;
        s.dim[i] += (s.dim[i] - 1) * interior[i] + low[i] + high[i];
        if (s.dim[i] < 1)
            return;
        elems *= s.dim[i];
    }
    if (elems > 4 * m->elems_max)
        return;
    v = rh_like(m, shape_scalar(s.dtype));
    rh_add(m, graph_pad(m->g, a.node, v.node, low, high, interior), larger(a.bound, v.bound));
}

static void make_concatenate(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 1, 4);
    struct shape s = rh_shape(m, a.node);
    int operand[3] = {a.node}, count = 2 + rh_below(m, 2), dim = rh_below(m, s.rank);
    double bound = a.bound;

    for (int i = 1; i < count; i++) {
        struct shape other = s;
        struct rh_pick b;

        other.dim[dim] = rh_size(m, least(s.dim[dim] + 9, 140));
        b = rh_like(m, other);
        operand[i] = b.node;
        bound = larger(bound, b.bound);
    }
    rh_add(m, graph_concatenate(m->g, operand, count, dim), bound);
}

static void make_reverse(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 1, 4);
    int order[GRAPH_RANK_MAX], rank = rh_shape(m, a.node).rank;

    rh_permute(m, order, rank);
    rh_add(m, graph_reverse(m->g, a.node, order, 1 + rh_below(m, rank)), a.bound);
}

void rh_move(struct rh *m)
{
    void (*const make[])(struct rh *) = {make_transpose, make_reshape, make_broadcast,
                                         make_slice, make_pad, make_concatenate, make_reverse};

    make[rh_below(m, (int)COUNT_OF(make))](m);
}

/* ---- reductions ---- */

void rh_reduce(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_ANY, 1, 4);
    struct shape s = rh_shape(m, a.node);
    uint32_t mask = 1 + (uint32_t)rh_below(m, (1 << s.rank) - 1);
    enum graph_reduce kind = (enum graph_reduce)rh_below(m, REDUCE_ARGMIN + 1);
    bool is_logic = kind == REDUCE_AND || kind == REDUCE_OR;
    bool is_arg = kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN;
    double terms = 1;

    if (is_arg)
        mask = 1u << rh_below(m, s.rank);
    for (int i = 0; i < s.rank; i++)
        terms *= mask >> i & 1 ? (double)s.dim[i] : 1;
    if (s.dtype == DTYPE_PRED ? !is_logic : is_float(s.dtype) && (is_logic || kind == REDUCE_MUL))
        return;
    if (is_arg && !(m->dtypes & RH_TYPE(DTYPE_S32)))
        return;
    if (kind == REDUCE_ADD && !rh_fits(s.dtype, terms * a.bound))
        return;
    rh_add(m, graph_reduce(m->g, kind, a.node, mask),
           is_float(s.dtype) ? (kind == REDUCE_ADD ? terms * a.bound : a.bound)
           : is_arg ? 0x1p31 : kind == REDUCE_MAX || kind == REDUCE_MIN ? a.bound : 0x1p32);
}
