/* Products, windows, indices, sorts, random bits, loops. */
#include "tests/generate/random_hlo_impl.h"

#include "stack/hlo/rewrite.h"

#include <string.h>

static const unsigned product_types = RH_FLOATS | RH_BYTES;

/* of a product's result: f32, or bf16 where the sum is exact in it; s32 of bytes */
static enum graph_dtype result_type(struct rh *m, enum graph_dtype t, double bound)
{
    if (t == DTYPE_S8 || t == DTYPE_U8)
        return DTYPE_S32;
    return rh_fits(DTYPE_BF16, bound) && t == DTYPE_BF16 && rh_below(m, 2) ? DTYPE_BF16
                                                                           : DTYPE_F32;
}

static enum graph_precision any_precision(struct rh *m)
{
    return (enum graph_precision)rh_below(m, 3);
}

/* ---- dot ---- */

struct sides {
    int count[4];                       /* of batch, contracted, left free, right free dims */
    int64_t size[4][2];
};

static int make_side(struct rh *m, const struct sides *s, int free_kind, enum graph_dtype t,
                     int *batch, int *contract)
{
    const int kinds[] = {0, 1, free_kind};
    struct shape shape = {.dtype = t};
    int order[GRAPH_RANK_MAX], at = 0;

    for (int k = 0; k < 3; k++)
        shape.rank += s->count[kinds[k]];
    rh_permute(m, order, shape.rank);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < s->count[kinds[k]]; i++, at++) {
            shape.dim[order[at]] = s->size[kinds[k]][i];
            if (k == 0)
                batch[i] = order[at];
            if (k == 1)
                contract[i] = order[at];
        }
    return rh_parameter(m, shape).node;
}

/* the usual orders of dimensions are among the random ones, for matrices often */
void rh_dot(struct rh *m)
{
    int batch = rh_below(m, 3) ? 0 : 1 + rh_below(m, 2), contract = rh_below(m, 4) ? 1 : 2;
    int rows = 1 + (rh_below(m, 5) == 0), columns = rh_below(m, 6) ? 1 : rh_below(m, 3);
    struct sides s = {.count = {batch, contract, rows, columns}};
    struct graph_dot d = {.batch_count = s.count[0], .contract_count = s.count[1]};
    enum graph_dtype t = rh_type(m, product_types);
    enum graph_precision precision;
    double terms = 1, bound;
    int a, b;

    for (int k = 0; k < 4; k++)
        for (int i = 0; i < s.count[k]; i++)
            s.size[k][i] = rh_size(m, k == 0 ? 3 : s.count[k] == 1 && s.count[0] == 0 ? 300 : 17);
    for (int i = 0; i < s.count[1]; i++)
        terms *= (double)s.size[1][i];
    a = make_side(m, &s, 2, t, d.lhs_batch, d.lhs_contract);
    b = make_side(m, &s, 3, t, d.rhs_batch, d.rhs_contract);
    bound = terms * 64;
    precision = any_precision(m);
    rh_add(m, graph_dot_general(m->g, a, b, &d, result_type(m, t, bound), precision), bound);
}

/* ---- convolution ---- */

static void spread_labels(struct rh *m, int *first, int *second, int *spatial, bool is_usual,
                          bool is_kernel)
{
    int order[4] = {0, 1, 2, 3};

    if (!is_usual)
        rh_permute(m, order, 4);
    *first = order[is_kernel && is_usual ? 2 : 0];
    *second = order[3];
    spatial[0] = order[is_kernel && is_usual ? 0 : 1];
    spatial[1] = order[is_kernel && is_usual ? 1 : 2];
}

static bool random_window(struct rh *m, struct graph_window *w, int64_t length, int64_t *out)
{
    int64_t padded, reach;

    *w = (struct graph_window){.size = 1 + rh_below(m, 4)};
    w->stride = 1 + rh_below(m, 2);
    w->pad_low = rh_below(m, 3);
    w->pad_high = rh_below(m, 3);
    w->base_dilation = rh_below(m, 5) ? 1 : 2;
    w->window_dilation = rh_below(m, 5) ? 1 : 2;
    w->is_reversed = rh_below(m, 6) == 0;
    if (rh_below(m, 8) == 0)
        w->pad_low = -1;
    padded = (length - 1) * w->base_dilation + 1 + w->pad_low + w->pad_high;
    reach = (w->size - 1) * w->window_dilation + 1;
    *out = padded < reach ? 0 : (padded - reach) / w->stride + 1;
    return *out > 0;
}

void rh_conv(struct rh *m)
{
    static const int64_t widths[] = {1, 2, 3, 7, 8, 9, 64, 127, 128, 129};
    struct graph_conv c = {.spatial_count = 2, .feature_groups = 1, .batch_groups = 1};
    int64_t batch = 1 + rh_below(m, 4), in = widths[rh_below(m, 10)], out = widths[rh_below(m, 10)];
    enum graph_dtype t = rh_type(m, product_types);
    struct shape a = {.dtype = t, .rank = 4}, k = a;
    struct graph_window w[2];
    int64_t places, groups = rh_below(m, 4) ? 1 : 1 + rh_below(m, 4);
    bool is_usual = rh_below(m, 2);
    enum graph_precision precision;
    enum graph_dtype of;
    double bound;
    int x;

    spread_labels(m, &c.in_batch, &c.in_feature, c.in_spatial, is_usual, false);
    spread_labels(m, &c.kernel_in, &c.kernel_out, c.kernel_spatial, is_usual, true);
    spread_labels(m, &c.out_batch, &c.out_feature, c.out_spatial, is_usual, false);
    if (groups > 1 && rh_below(m, 2)) {
        c.feature_groups = groups;
        in = in > 9 ? 9 : in;
    } else if (groups > 1) {
        c.batch_groups = groups;
        batch *= groups;
    }
    out *= groups > 1 && out > 9 ? 1 : groups;
    out -= out % groups;
    for (int i = 0; i < 2; i++) {
        a.dim[c.in_spatial[i]] = 1 + rh_below(m, 9);
        if (!random_window(m, &w[i], a.dim[c.in_spatial[i]], &places))
            return;
        k.dim[c.kernel_spatial[i]] = w[i].size;
    }
    a.dim[c.in_batch] = batch;
    a.dim[c.in_feature] = in * c.feature_groups;
    k.dim[c.kernel_in] = in;
    k.dim[c.kernel_out] = out;
    bound = (double)(in * w[0].size * w[1].size) * 64;
    x = rh_parameter(m, a).node;
    precision = any_precision(m);
    of = result_type(m, t, bound);
    rh_add(m, graph_convolution(m->g, x, rh_parameter(m, k).node, w, &c, of, precision), bound);
}

/* ---- windows ---- */

void rh_window(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_NUMBERS, 1, 4), source;
    struct shape s = rh_shape(m, a.node), to = s;
    enum graph_reduce kind = (enum graph_reduce)rh_below(m, 3);
    bool scatters = rh_below(m, 3) == 0;
    struct graph_window w[GRAPH_RANK_MAX];
    double taps = 1;

    for (int i = 0; i < s.rank; i++) {
        w[i] = (struct graph_window){.size = 1, .stride = 1, .base_dilation = 1,
                                     .window_dilation = 1};
        if (rh_below(m, 2) && !random_window(m, &w[i], s.dim[i], &to.dim[i]))
            return;
        w[i].is_reversed = false;
        if (scatters)
            w[i].base_dilation = w[i].window_dilation = 1;
        if ((s.dim[i] - 1) * w[i].base_dilation + 1 + w[i].pad_low + w[i].pad_high <
            (w[i].size - 1) * w[i].window_dilation + 1)
            return;
        taps *= (double)w[i].size;
        to.dim[i] = ((s.dim[i] - 1) * w[i].base_dilation + w[i].pad_low + w[i].pad_high -
                     (w[i].size - 1) * w[i].window_dilation) / w[i].stride + 1;
    }
    if (shape_elems(&to) > 4 * m->elems_max)
        return;
    if (scatters) {
        source = rh_like(m, to);
        if (rh_fits(s.dtype, taps * source.bound))
            rh_add(m, graph_select_and_scatter(m->g, rh_below(m, 2) ? COMPARE_GE : COMPARE_LE,
                                               a.node, source.node, w),
                   graph_dtype_is_float(s.dtype) ? taps * source.bound : 0x1p32);
    } else if (kind != REDUCE_ADD && graph_dtype_is_float(s.dtype)) {
        /* of padding alone a maximum is infinite: keep to windows that see something */
        for (int i = 0; i < s.rank; i++)
            if (w[i].base_dilation > 1 || w[i].pad_low > 0 || w[i].pad_high > 0)
                return;
        rh_add(m, graph_reduce_window(m->g, kind, a.node, w), a.bound);
    } else if (rh_fits(s.dtype, taps * a.bound)) {
        rh_add(m, graph_reduce_window(m->g, kind, a.node, w),
               graph_dtype_is_float(s.dtype) ? taps * a.bound : 0x1p32);
    }
}

/* ---- indices ---- */

static void make_dynamic(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_NUMBERS, 1, 3), update;
    struct shape s = rh_shape(m, a.node), part = s;
    int start[GRAPH_RANK_MAX];

    for (int i = 0; i < s.rank; i++) {
        part.dim[i] = 1 + rh_below(m, s.dim[i]);
        start[i] = rh_index(m, 0, NULL, s.dim[i]);
    }
    if (rh_below(m, 2)) {
        rh_add(m, graph_dynamic_slice(m->g, a.node, start, part.dim), a.bound);
        return;
    }
    update = rh_like(m, part);
    rh_add(m, graph_dynamic_update_slice(m->g, a.node, update.node, start),
           a.bound > update.bound ? a.bound : update.bound);
}

/*
 * One dimension indexed, its window of one or more rows dropped or kept; the result is [indices,
 * window] or [window, indices].
 */
static struct graph_gather any_gather(struct rh *m, const struct shape *a, int *indices,
                                      int64_t *index_count)
{
    int dim = rh_below(m, a->rank);
    bool is_dropped = rh_below(m, 3) > 0, is_last = rh_below(m, 2);
    struct graph_gather d = {.map_count = 1, .start_index_map = {dim}, .index_vector_dim = 1};

    *index_count = rh_size(m, 40);
    *indices = rh_index(m, 2, (int64_t[]){*index_count, 1}, a->dim[dim]);
    for (int i = 0; i < a->rank; i++)
        d.slice_sizes[i] = i != dim ? a->dim[i]
                           : is_dropped ? 1 : 1 + rh_below(m, a->dim[i] > 4 ? 4 : a->dim[i]);
    d.collapsed_count = is_dropped;
    d.collapsed_dims[0] = dim;
    d.offset_count = a->rank - is_dropped;
    for (int i = 0; i < d.offset_count; i++)
        d.offset_dims[i] = i + !is_last;
    return d;
}

static void make_gather(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_NUMBERS, 1, 3);
    struct shape s = rh_shape(m, a.node);
    int indices;
    int64_t count;
    struct graph_gather d = any_gather(m, &s, &indices, &count);
    int64_t elems = count;

    for (int i = 0; i < s.rank; i++)
        elems *= d.slice_sizes[i];
    if (elems <= 4 * m->elems_max)
        rh_add(m, graph_gather(m->g, a.node, indices, &d), a.bound);
}

static void make_scatter(struct rh *m)
{
    static const enum graph_reduce kinds[] = {REDUCE_ADD, REDUCE_ADD, REDUCE_MAX, REDUCE_MIN};
    enum graph_reduce kind = kinds[rh_below(m, 4)];
    struct rh_pick a = rh_find(m, RH_NUMBERS, 1, 3), u;
    struct shape s = rh_shape(m, a.node), updates = {.dtype = s.dtype};
    int indices, window = 0;
    int64_t count;
    struct graph_gather d = any_gather(m, &s, &indices, &count);
    double bound;

    updates.rank = d.offset_count + 1;
    for (int i = 0; i < updates.rank; i++)
        updates.dim[i] = count;
    for (int i = 0; i < s.rank; i++)
        if (!(d.collapsed_count && d.collapsed_dims[0] == i))
            updates.dim[d.offset_dims[window++]] = d.slice_sizes[i];
    if (shape_elems(&updates) > 4 * m->elems_max)
        return;
    memset(d.slice_sizes, 0, sizeof(d.slice_sizes));
    u = rh_like(m, updates);
    bound = kind == REDUCE_ADD ? a.bound + 4 * (double)count * u.bound
                               : a.bound > u.bound ? a.bound : u.bound;
    if (rh_fits(s.dtype, bound))
        rh_add(m, graph_scatter(m->g, kind, a.node, indices, u.node, &d),
               graph_dtype_is_float(s.dtype) ? bound : 0x1p32);
}

void rh_indexed(struct rh *m)
{
    void (*const make[])(struct rh *) = {make_dynamic, make_gather, make_scatter};

    make[rh_below(m, 3)](m);
}

/* ---- sorts ---- */

void rh_sorted(struct rh *m)
{
    struct rh_pick a = rh_find(m, RH_NUMBERS, 1, 3), b;
    struct shape s = rh_shape(m, a.node);
    int sorted, dim = rh_below(m, s.rank);
    enum graph_compare direction = rh_below(m, 2) ? COMPARE_LT : COMPARE_GT;

    if (rh_below(m, 3) == 0) {
        sorted = graph_top_k(m->g, a.node, 1 + rh_below(m, s.dim[s.rank - 1]));
        rh_add(m, graph_tuple_element(m->g, sorted, 0), a.bound);
        if (m->dtypes & RH_TYPE(DTYPE_S32))
            rh_add(m, graph_tuple_element(m->g, sorted, 1), 0x1p31);
        return;
    }
    if (rh_below(m, 2)) {
        rh_add(m, graph_sort(m->g, &a.node, 1, dim, direction), a.bound);
        return;
    }
    s.dtype = rh_type(m, RH_NUMBERS);
    b = rh_like(m, s);
    sorted = graph_sort(m->g, (int[]){a.node, b.node}, 2, dim, direction);
    rh_add(m, graph_tuple_element(m->g, sorted, 0), a.bound);
    rh_add(m, graph_tuple_element(m->g, sorted, 1), b.bound);
}

/* ---- random bits, loops ---- */

void rh_bits(struct rh *m)
{
    int seed = rh_index(m, 0, NULL, 1000), stream = rh_below(m, 5);

    rh_add(m, graph_rng_bits(m->g, rh_random_shape(m, DTYPE_U32, rh_below(m, 4)), seed, stream),
           0x1p32);
}

/* x, y, row of a table -> larger of x and that row, y - x, next row */
static void build_body(struct graph *body, struct arena *a, struct shape s, struct shape table)
{
    int x, y, rows, i, row;

    graph_init(body, a, "body");
    x = graph_parameter(body, s, "x");
    y = graph_parameter(body, s, "y");
    rows = graph_parameter(body, table, "rows");
    i = graph_parameter(body, shape_scalar(DTYPE_S32), "i");
    row = graph_dynamic_slice(body, rows, (int[]){i, graph_constant(body, shape_scalar(DTYPE_S32),
                                                                    0)},
                              (int64_t[]){1, s.dim[0]});
    row = graph_reshape(body, row, s);
    graph_output(body, graph_binary(body, HLO_MAXIMUM, x, row), "x", -1);
    graph_output(body, graph_binary(body, HLO_SUBTRACT, y, x), "y", -1);
    graph_output(body, rows, "rows", -1);
    graph_output(body, graph_binary(body, HLO_ADD, i, graph_splat(body, i, 1)), "i", -1);
    graph_freeze(body);
}

void rh_loop(struct rh *m)
{
    enum graph_dtype t = rh_type(m, RH_FLOATS | RH_TYPE(DTYPE_S32));
    struct shape s = rh_random_shape(m, t, 1), table = s;
    int64_t trips = 1 + rh_below(m, 6);
    struct graph *body = arena_alloc(m->g->arena, sizeof(*body));
    int x, y, rows, i, loop;

    table.rank = 2;
    table.dim[1] = s.dim[0];
    table.dim[0] = trips;
    build_body(body, m->g->arena, s, table);
    x = rh_parameter(m, s).node;
    y = rh_parameter(m, s).node;
    rows = rh_parameter(m, table).node;
    i = rh_index(m, 0, NULL, trips);
    loop = graph_while(m->g, (int[]){x, y, rows, i}, 4, body, trips);
    rh_add(m, graph_tuple_element(m->g, loop, 0), 8);
    rh_add(m, graph_tuple_element(m->g, loop, 1), 64);
}
