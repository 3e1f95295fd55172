/*
 * Emits the scalar arithmetic that follows an element's index through a body to its parameter, and
 * fetches a run from there.
 */
#include "stack/kernels/move/move_gather.h"

#include <assert.h>
#include <string.h>

#include "base/floats.h"
#include "stack/kernels/move/move_work.h"

static const struct isa_operand zero = {.kind = OPERAND_IMM};
static const struct isa_operand one = {.kind = OPERAND_IMM, .value = 1};

static int word_bits(enum graph_dtype dtype) { return 8 * array_element_bytes(dtype); }

uint32_t move_gather_constant_bits(enum graph_dtype dtype, double value)
{
    switch (dtype) {
    case DTYPE_F32:
        return f32_bits((float)value);
    case DTYPE_BF16:
        return f32_bits(f32_round_to_bf16((float)value)) >> 16;
    case DTYPE_S8: case DTYPE_U8:
        return (uint32_t)(int64_t)value & 0xff;
    case DTYPE_PRED:
        return value != 0.0;
    default:
        return (uint32_t)(int64_t)value;
    }
}

int move_gather_widen(struct builder *m, enum graph_dtype dtype, int v)
{
    if (dtype == DTYPE_BF16)
        return emit_vshll_u32(m->code, R(v), I(16));
    if (dtype == DTYPE_S8)
        return emit_vshra_s32(m->code, R(emit_vshll_u32(m->code, R(v), I(24))), I(24));
    return v;
}

int move_gather_narrow(struct builder *m, enum graph_dtype dtype, int v)
{
    if (dtype == DTYPE_BF16)            /* both halves hold the rounded value */
        return emit_vshrl_u32(m->code, R(emit_vpack_i_bf16(m->code, R(v), R(v))), I(16));
    if (word_bits(dtype) == 8)
        return emit_vand_u32(m->code, R(v), I(0xff));
    return v;
}

static bool is_float(enum graph_dtype d) { return d == DTYPE_F32 || d == DTYPE_BF16; }

static bool converts(enum graph_dtype from, enum graph_dtype to)
{
    return from == to || (is_float(from) && is_float(to)) ||
           (to != DTYPE_PRED && !is_float(from) && !is_float(to)) ||
           (is_float(to) && from != DTYPE_U32);
}

int move_gather_check_supported(const struct graph *body, int node, struct err *e)
{
    const struct graph_node *n = &body->node[node];

    switch (n->op) {
    case HLO_PARAMETER:
        return 0;
    case HLO_CONSTANT:
        return n->literal ? err_set(e, "%s: a table of constants inside a move", n->name) : 0;
    case HLO_COPY: case HLO_TRANSPOSE: case HLO_BROADCAST: case HLO_SLICE: case HLO_REVERSE:
    case HLO_PAD: case HLO_RESHAPE: case HLO_CONCATENATE:
        break;
    case HLO_CONVERT:
        if (!converts(body->node[n->operand[0]].shape.dtype, n->shape.dtype))
            return err_set(e, "%s: this conversion inside a move", n->name);
        break;
    default:
        if (move_work_parameter(body, node) != NODE_NONE)
            return 0;
        return err_set(e, "%s: %s inside a move", n->name, graph_op_name(n->op));
    }
    for (int i = 0; i < n->operand_count; i++)
        if (move_gather_check_supported(body, n->operand[i], e))
            return -1;
    return 0;
}

static void index_word(struct move_gather *g, bool is_load, int64_t at, struct isa_operand reg)
{
    if (is_load)
        emit_sld(g->m.code, reg.value, NONE, I(at));
    else
        emit_sst(g->m.code, NONE, I(at), reg);
}

int64_t move_gather_save(struct move_gather *g, const struct move_gather_place *p)
{
    int64_t saved = g->smem;

    assert(saved + 4 * p->rank <= g->smem_end);
    for (int d = 0; d < p->rank; d++)
        if (p->index[d].kind == OPERAND_REG)
            index_word(g, false, saved + 4 * d, p->index[d]);
    g->smem += 4 * p->rank;
    return saved;
}

/* constants stay what they are */
void move_gather_recall(struct move_gather *g, int64_t saved, struct move_gather_place *p)
{
    g->m.next_sreg = p->mark;
    for (int d = 0; d < p->rank; d++)
        if (p->index[d].kind == OPERAND_REG) {
            p->index[d] = builder_reg(&g->m);
            index_word(g, true, saved + 4 * d, p->index[d]);
        }
}

void move_gather_drop(struct move_gather *g, int64_t saved) { g->smem = saved; }

void move_gather_resolve(struct move_gather *g, struct move_gather_place *p)
{
    int64_t saved = move_gather_save(g, p);

    move_gather_recall(g, saved, p);
    move_gather_drop(g, saved);
}

struct isa_operand move_gather_reserve(struct move_gather *g, struct move_gather_place *p)
{
    struct isa_operand reg = R(p->mark++);

    move_gather_resolve(g, p);          /* the old index is read before reg is written */
    return reg;
}

/* place->run = min(run, limit); the register of run is written again */
static void limit_run(struct move_gather *g, struct move_gather_place *p, struct isa_operand limit)
{
    int kept = g->m.next_sreg;

    builder_set(&g->m, p->run, builder_min(&g->m, p->run, limit));
    g->m.next_sreg = kept;
}

/* index[d] = value, in the register that it has; those from `kept` on are free again */
static void assign(struct move_gather *g, struct move_gather_place *p, int d,
                   struct isa_operand value, int kept)
{
    if (p->index[d].kind != OPERAND_REG) {
        p->index[d] = value;
        return;
    }
    builder_set(&g->m, p->index[d], value);
    g->m.next_sreg = kept;
}

/* VMEM row from the array's first, element of its words, lane: an index of 3 in a place */
enum { AT_ROW, AT_PART, AT_LANE };

/*
 * From (tile, row, lane) in the array's tiles to that. Uses few registers at a
 * time: a rank of 8 under two concatenations leaves no more.
 */
static void split_row(struct move_gather *g, const struct array *a, struct move_gather_place *p)
{
    struct builder *m = &g->m;
    int log_parts = a->element_bytes == 4 ? 0 : a->element_bytes == 2 ? 1 : 2;
    int kept = m->next_sreg;

    assign(g, p, AT_ROW, builder_shift(m, p->index[AT_ROW], 3), kept);
    kept = m->next_sreg;
    assign(g, p, AT_ROW,
           builder_add(
               m, p->index[AT_ROW],
               builder_shift(m, builder_and(m, p->index[AT_PART], a->tile_rows - 1), -log_parts)),
           kept);
    kept = m->next_sreg;
    assign(g, p, AT_PART, builder_and(m, p->index[AT_PART], (1 << log_parts) - 1), kept);
    kept = m->next_sreg;
    assign(g, p, AT_LANE, builder_and(m, p->index[AT_LANE], ARRAY_LANES - 1), kept);
}

/* uses up the place */
static struct move_gather_place place_in_array(struct move_gather *g, const struct array *a,
                                               struct move_gather_place *p)
{
    struct builder *m = &g->m;
    int log_rows = a->tile_rows == 8 ? 3 : a->tile_rows == 16 ? 4 : 5, kept;
    struct move_gather_place now = {.rank = 3, .mark = p->mark, .index = {zero, zero, zero}};

    if (a->is_linear) {
        now.index[AT_LANE] = a->shape.rank ? p->index[0] : zero;
        now.index[AT_PART] = builder_shift(m, now.index[AT_LANE], -7);
        now.index[AT_ROW] = builder_shift(m, now.index[AT_PART], -log_rows);
        move_gather_resolve(g, &now);
        split_row(g, a, &now);
        return now;
    }
    for (int k = 0; k < a->outer_count; k++)
        now.index[AT_ROW] = builder_add_product(m, now.index[AT_ROW], p->index[a->outer_dim[k]],
                                                array_outer_stride(a, a->outer_dim[k]));
    now.index[AT_PART] = p->index[a->row_dim];
    now.index[AT_LANE] = p->index[a->lane_dim];
    move_gather_resolve(g, &now);
    kept = m->next_sreg;
    assign(g, &now, AT_ROW,
           builder_add(
               m, now.index[AT_ROW],
               builder_mul(m, builder_shift(m, now.index[AT_PART], -log_rows), a->tiles_across)),
           kept);
    kept = m->next_sreg;
    assign(g, &now, AT_ROW,
           builder_add(m, now.index[AT_ROW], builder_shift(m, now.index[AT_LANE], -7)), kept);
    split_row(g, a, &now);
    return now;
}

/* one row of 512 bytes from HBM, when the array is not in VMEM */
static void fetch_row(struct move_gather *g, const struct move_gather_array *a,
                      struct isa_operand row)
{
    struct builder *m = &g->m;
    int granules = ARRAY_ROW_BYTES / ARRAY_GRANULE_BYTES;
    struct isa_operand from =
        builder_add(m, I(a->array->address / ARRAY_GRANULE_BYTES), builder_shift(m, row, 4));

    emit_dma_hbm_vmem(m->code, from, I(granules), I(a->row * granules), I(g->flag));
    vcode_await(m->code, I(g->flag), granules, -1);
}

int move_gather_array_run(struct move_gather *g, const struct move_gather_array *a,
                          struct move_gather_place *p)
{
    struct builder *m = &g->m;
    struct move_gather_place at = place_in_array(g, a->array, p);
    int lane_dim = a->array->is_linear ? 0 : a->array->lane_dim, v;
    int bits = 8 * a->array->element_bytes;

    if (a->is_resident) {
        v = emit_vld(m->code, isa_rows_apart(at.index[AT_ROW], a->row, 0), VCODE_REGION_ANY);
    } else {
        fetch_row(g, a, at.index[AT_ROW]);
        v = emit_vld(m->code, isa_rows_apart(zero, a->row, 0), VCODE_REGION_ANY);
    }
    if (bits < 32) {
        v = emit_vshrl_u32(m->code, R(v),
                           R(builder_splat(m, builder_mul(m, at.index[AT_PART], bits))));
        v = emit_vand_u32(m->code, R(v), I((1 << bits) - 1));
    }
    if (p->varying == lane_dim)
        limit_run(g, p, builder_sub(m, I(ARRAY_LANES), at.index[AT_LANE]));
    else
        limit_run(g, p, one);
    return builder_rotate_lanes(
        m, v, builder_and(m, builder_sub(m, g->lane, at.index[AT_LANE]), ARRAY_LANES - 1));
}

struct isa_operand move_gather_padded(struct move_gather *g, struct move_gather_place *p, int dim,
                                      int64_t size, int64_t low, int64_t dilation)
{
    struct builder *m = &g->m;
    struct isa_operand valid = builder_reg(m), inside = builder_reg(m), t, last;
    int64_t extent = size ? (size - 1) * dilation + 1 : 0;
    int kept = m->next_sreg, first;

    t = builder_sub(m, p->index[dim], I(low));
    first = m->next_sreg;
    last = I(extent > 0 ? extent - 1 : 0);
    builder_set(m, valid,
                builder_if_less(m, t, zero, zero, builder_if_less(m, t, I(extent), one, zero)));
    m->next_sreg = first;
    if (p->varying == dim) {            /* up to where padding begins or ends */
        struct isa_operand rest = dilation > 1 ? one : builder_sub(m, I(extent), t);
        struct isa_operand left = builder_if_less(m, t, zero, builder_sub(m, zero, t), rest);

        limit_run(g, p, builder_if_less(m, t, I(extent), left, p->run));
    }
    m->next_sreg = first;
    builder_set(m, inside, builder_max(m, zero, builder_min(m, t, last)));
    m->next_sreg = kept;
    if (dilation > 1) {
        builder_set(m, valid,
                    builder_if_equal(m, builder_mod(m, inside, dilation), zero, valid, zero));
        m->next_sreg = kept;
        builder_set(m, inside, builder_div(m, inside, dilation));
        m->next_sreg = kept;
    }
    p->index[dim] = inside;
    return valid;
}

/* valid is 1 or 0: v or other */
static int select_by(struct move_gather *g, struct isa_operand valid, int v, int other)
{
    struct builder *m = &g->m;

    if (valid.kind == OPERAND_IMM)
        return valid.value ? v : other;
    return emit_vsel(m->code, emit_vcmp_ne_s32(m->code, R(builder_splat(m, valid)), zero), R(v),
                     R(other));
}

static struct isa_operand and_valid(struct builder *m, struct isa_operand a, struct isa_operand b)
{
    return builder_if_equal(m, a, zero, zero, b);
}

/* a scalar operand or constant, in every element */
static int gather_scalar(struct move_gather *g, int node)
{
    struct move_gather_place value = {.varying = -1, .mark = g->m.next_sreg + 1};
    struct isa_operand lane = g->lane;
    int v;

    if (g->body->node[node].op == HLO_CONSTANT)
        return move_gather_node(g, node, &value);
    value.run = builder_reg(&g->m);
    builder_set(&g->m, value.run, one);
    g->lane = zero;
    v = move_gather_node(g, node, &value);
    g->lane = lane;
    return emit_vbcast_lane(g->m.code, 0, v, 0);
}

static int gather_pad(struct move_gather *g, const struct graph_node *n,
                      struct move_gather_place *p)
{
    const struct shape *from = &g->body->node[n->operand[0]].shape;
    struct isa_operand valid = move_gather_reserve(g, p);
    int v;

    builder_set(&g->m, valid, one);
    for (int d = 0; d < from->rank; d++) {
        builder_set(
            &g->m, valid,
            and_valid(&g->m, valid,
                      move_gather_padded(g, p, d, from->dim[d], n->low[d], n->interior[d] + 1)));
        move_gather_resolve(g, p);
    }
    v = move_gather_node(g, n->operand[0], p);
    g->m.next_sreg = p->mark;
    return select_by(g, valid, v, gather_scalar(g, n->operand[1]));
}

static int gather_concatenate(struct move_gather *g, const struct graph_node *n,
                              struct move_gather_place *p)
{
    struct builder *m = &g->m;
    struct isa_operand run = move_gather_reserve(g, p), own_run = move_gather_reserve(g, p);
    struct isa_operand valid = move_gather_reserve(g, p);
    int64_t first = 0, saved = move_gather_save(g, p);
    int result = -1;

    builder_set(m, run, p->run);
    for (int k = 0; k < n->operand_count; k++) {
        int64_t size = g->body->node[n->operand[k]].shape.dim[n->dim];
        struct move_gather_place own = *p;
        struct isa_operand at;
        int v, kept;

        move_gather_recall(g, saved, &own);
        own.run = own_run;
        builder_set(m, own.run, p->run);
        kept = m->next_sreg;
        at = builder_sub(m, own.index[n->dim], I(first));
        builder_set(m, valid,
                    builder_if_less(m, at, zero, zero, builder_if_less(m, at, I(size), one, zero)));
        assign(g, &own, n->dim, builder_max(m, zero, builder_min(m, at, I(size ? size - 1 : 0))),
               kept);
        if (p->varying == n->dim)
            limit_run(g, &own, builder_sub(m, I(size), own.index[n->dim]));
        move_gather_resolve(g, &own);
        v = move_gather_node(g, n->operand[k], &own);
        m->next_sreg = p->mark;
        builder_set(m, run, builder_if_equal(m, valid, zero, run, own.run));
        result = result < 0 ? v : select_by(g, valid, v, result);
        first += size;
    }
    move_gather_drop(g, saved);
    builder_set(m, p->run, run);
    return result;
}

static int last_long_dim(const struct shape *s)
{
    int d = s->rank - 1;

    while (d >= 0 && s->dim[d] == 1)
        d--;
    return d;
}

static void through_reshape(struct move_gather *g, const struct graph_node *n,
                            struct move_gather_place *p)
{
    const struct shape *from = &g->body->node[n->operand[0]].shape;
    struct builder *m = &g->m;
    struct isa_operand linear = zero;
    int64_t stride = 1;
    int last = last_long_dim(from);
    bool goes_along = p->varying >= 0 && p->varying == last_long_dim(&n->shape);

    for (int d = n->shape.rank - 1; d >= 0; d--) {
        linear = builder_add_product(m, linear, p->index[d], stride);
        stride *= n->shape.dim[d];
    }
    builder_set(m, R(p->mark), linear);
    linear = R(p->mark);
    m->next_sreg = p->mark + 1;
    for (int d = from->rank - 1; d >= 0; d--) {
        int kept;

        p->index[d] = builder_reg(m);
        kept = m->next_sreg;
        if (d) {
            struct isa_operand rest = builder_div(m, linear, from->dim[d]);

            builder_set(m, p->index[d], builder_sub(m, linear, builder_mul(m, rest, from->dim[d])));
            builder_set(m, linear, rest);
        } else {
            builder_set(m, p->index[d], linear);
        }
        m->next_sreg = kept;
    }
    p->rank = from->rank;
    p->varying = goes_along ? last : -1;
    move_gather_resolve(g, p);
    if (goes_along && last >= 0)
        limit_run(g, p, builder_sub(m, I(from->dim[last]), p->index[last]));
}

static void through_dims(struct move_gather *g, const struct graph_node *n,
                         struct move_gather_place *p)
{
    const struct shape *from = &g->body->node[n->operand[0]].shape;
    struct move_gather_place to = {
        .rank = from->rank, .varying = -1, .run = p->run, .mark = p->mark};

    for (int i = 0; i < from->rank; i++) {
        int here = n->op == HLO_TRANSPOSE ? i : n->dims[i];
        int there = n->op == HLO_TRANSPOSE ? n->dims[i] : i;

        to.index[there] = p->index[here];
        if (p->varying == here)
            to.varying = there;
    }
    (void)g;
    *p = to;
}

static void through_slice(struct move_gather *g, const struct graph_node *n,
                          struct move_gather_place *p)
{
    for (int d = 0; d < n->shape.rank; d++) {
        int kept = g->m.next_sreg;

        assign(g, p, d,
               builder_add(&g->m, builder_mul(&g->m, p->index[d], n->stride[d]), I(n->start[d])),
               kept);
    }
    if (p->varying >= 0 && n->stride[p->varying] != 1)
        p->varying = -1;
}

static void through_reverse(struct move_gather *g, const struct graph_node *n,
                            struct move_gather_place *p)
{
    for (int k = 0; k < n->dim; k++) {
        int d = n->dims[k], kept = g->m.next_sreg;

        assign(g, p, d, builder_sub(&g->m, I(n->shape.dim[d] - 1), p->index[d]), kept);
        if (p->varying == d)
            p->varying = -1;
    }
}

static int converted(struct move_gather *g, enum graph_dtype from, enum graph_dtype to, int v)
{
    struct builder *m = &g->m;

    if (from == to)
        return v;
    v = move_gather_widen(m, from, v);
    if (is_float(to) && !is_float(from))
        v = emit_vcvt_f32_s32(m->code, R(v));
    return move_gather_narrow(m, to, v);
}

static int worked(struct move_gather *g, int node, struct move_gather_place *p)
{
    const struct graph_node *from = &g->body->node[move_work_parameter(g->body, node)];
    int v = move_gather_array_run(g, &g->operand[from->parameter_index], p);
    struct fused_value value = {.part = {R(move_gather_widen(&g->m, from->shape.dtype, v))}};

    move_work_emit(g->m.code, g->m.chip, g->body, node, &value, 1);
    return move_gather_narrow(&g->m, g->body->node[node].shape.dtype, value.part[0].value);
}

int move_gather_node(struct move_gather *g, int node, struct move_gather_place *p)
{
    const struct graph_node *n = &g->body->node[node];

    switch (n->op) {
    case HLO_PARAMETER:
        return move_gather_array_run(g, &g->operand[n->parameter_index], p);
    case HLO_CONSTANT:
        return emit_vmov(g->m.code,
                         I((int32_t)move_gather_constant_bits(n->shape.dtype, n->value)));
    case HLO_PAD:
        return gather_pad(g, n, p);
    case HLO_CONCATENATE:
        return gather_concatenate(g, n, p);
    case HLO_CONVERT: {
        int v = move_gather_node(g, n->operand[0], p);

        return converted(g, g->body->node[n->operand[0]].shape.dtype, n->shape.dtype, v);
    }
    case HLO_RESHAPE:
        through_reshape(g, n, p);
        break;
    case HLO_TRANSPOSE: case HLO_BROADCAST:
        through_dims(g, n, p);
        break;
    case HLO_SLICE:
        through_slice(g, n, p);
        break;
    case HLO_REVERSE:
        through_reverse(g, n, p);
        break;
    case HLO_COPY:
        break;
    default:
        return worked(g, node, p);
    }
    return move_gather_node(g, n->operand[0], p);
}
