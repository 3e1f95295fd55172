/*
 * Emits the scalar arithmetic that follows an element's index through a body to its parameter, and
 * fetches a run from there.
 */
#include "stack/kernels/move/move_gather.h"

#include <assert.h>
#include <string.h>

#include "base/floats.h"

static const struct isa_operand zero = {.kind = OPERAND_IMM};
static const struct isa_operand one = {.kind = OPERAND_IMM, .value = 1};

static int word_bits(enum graph_dtype dtype) { return 8 * array_element_bytes(dtype); }

uint32_t gather_constant_bits(enum graph_dtype dtype, double value)
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

int gather_widen(struct move_code *m, enum graph_dtype dtype, int v)
{
    if (dtype == DTYPE_BF16)
        return move_v2(m, OP_VSHLL_U32, v, operand_imm(16));
    if (dtype == DTYPE_S8)
        return move_v2(m, OP_VSHRA_S32, move_v2(m, OP_VSHLL_U32, v, operand_imm(24)),
                       operand_imm(24));
    return v;
}

int gather_narrow(struct move_code *m, enum graph_dtype dtype, int v)
{
    if (dtype == DTYPE_BF16)            /* both halves hold the rounded value */
        return move_v2(m, OP_VSHRL_U32, move_v2(m, OP_VPACK_I_BF16, v, operand_reg(v)),
                       operand_imm(16));
    if (word_bits(dtype) == 8)
        return move_v2(m, OP_VAND_U32, v, operand_imm(0xff));
    return v;
}

static bool is_float(enum graph_dtype d) { return d == DTYPE_F32 || d == DTYPE_BF16; }

static bool converts(enum graph_dtype from, enum graph_dtype to)
{
    return from == to || (is_float(from) && is_float(to)) ||
           (to != DTYPE_PRED && !is_float(from) && !is_float(to)) ||
           (is_float(to) && from != DTYPE_U32);
}

int gather_check_supported(const struct graph *body, int node, struct err *e)
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
        return err_set(e, "%s: %s inside a move", n->name, graph_op_name(n->op));
    }
    for (int i = 0; i < n->operand_count; i++)
        if (gather_check_supported(body, n->operand[i], e))
            return -1;
    return 0;
}

static void index_word(struct gather *g, bool is_load, int64_t at, struct isa_operand reg)
{
    if (is_load)
        vcode_emit(g->m.code, OP_SLD, 3,
                   (struct isa_operand[]){reg, operand_none(), move_imm(at)});
    else
        vcode_emit(g->m.code, OP_SST, 3,
                   (struct isa_operand[]){operand_none(), move_imm(at), reg});
}

int64_t gather_save(struct gather *g, const struct gather_place *p)
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
void gather_recall(struct gather *g, int64_t saved, struct gather_place *p)
{
    g->m.next_sreg = p->mark;
    for (int d = 0; d < p->rank; d++)
        if (p->index[d].kind == OPERAND_REG) {
            p->index[d] = move_reg(&g->m);
            index_word(g, true, saved + 4 * d, p->index[d]);
        }
}

void gather_drop(struct gather *g, int64_t saved) { g->smem = saved; }

void gather_resolve(struct gather *g, struct gather_place *p)
{
    int64_t saved = gather_save(g, p);

    gather_recall(g, saved, p);
    gather_drop(g, saved);
}

struct isa_operand gather_reserve(struct gather *g, struct gather_place *p)
{
    struct isa_operand reg = operand_reg(p->mark++);

    gather_resolve(g, p);               /* the old index is read before reg is written */
    return reg;
}

/* place->run = min(run, limit); the register of run is written again */
static void limit_run(struct gather *g, struct gather_place *p, struct isa_operand limit)
{
    int kept = g->m.next_sreg;

    move_set(&g->m, p->run, move_min(&g->m, p->run, limit));
    g->m.next_sreg = kept;
}

/* index[d] = value, in the register that it has; those from `kept` on are free again */
static void assign(struct gather *g, struct gather_place *p, int d, struct isa_operand value,
                   int kept)
{
    if (p->index[d].kind != OPERAND_REG) {
        p->index[d] = value;
        return;
    }
    move_set(&g->m, p->index[d], value);
    g->m.next_sreg = kept;
}

/* VMEM row from the array's first, element of its words, lane: an index of 3 in a place */
enum { AT_ROW, AT_PART, AT_LANE };

/*
 * From (tile, row, lane) in the array's tiles to that. Uses few registers at a
 * time: a rank of 8 under two concatenations leaves no more.
 */
static void split_row(struct gather *g, const struct array *a, struct gather_place *p)
{
    struct move_code *m = &g->m;
    int log_parts = a->element_bytes == 4 ? 0 : a->element_bytes == 2 ? 1 : 2;
    int kept = m->next_sreg;

    assign(g, p, AT_ROW, move_shift(m, p->index[AT_ROW], 3), kept);
    kept = m->next_sreg;
    assign(g, p, AT_ROW,
           move_add(m, p->index[AT_ROW],
                    move_shift(m, move_and(m, p->index[AT_PART], a->tile_rows - 1), -log_parts)),
           kept);
    kept = m->next_sreg;
    assign(g, p, AT_PART, move_and(m, p->index[AT_PART], (1 << log_parts) - 1), kept);
    kept = m->next_sreg;
    assign(g, p, AT_LANE, move_and(m, p->index[AT_LANE], ARRAY_LANES - 1), kept);
}

/* uses up the place */
static struct gather_place place_in_array(struct gather *g, const struct array *a,
                                          struct gather_place *p)
{
    struct move_code *m = &g->m;
    int log_rows = a->tile_rows == 8 ? 3 : a->tile_rows == 16 ? 4 : 5, kept;
    struct gather_place now = {.rank = 3, .mark = p->mark, .index = {zero, zero, zero}};

    if (a->is_linear) {
        now.index[AT_LANE] = a->shape.rank ? p->index[0] : zero;
        now.index[AT_PART] = move_shift(m, now.index[AT_LANE], -7);
        now.index[AT_ROW] = move_shift(m, now.index[AT_PART], -log_rows);
        gather_resolve(g, &now);
        split_row(g, a, &now);
        return now;
    }
    for (int k = 0; k < a->outer_count; k++)
        now.index[AT_ROW] = move_add_product(m, now.index[AT_ROW], p->index[a->outer_dim[k]],
                                             array_outer_stride(a, a->outer_dim[k]));
    now.index[AT_PART] = p->index[a->row_dim];
    now.index[AT_LANE] = p->index[a->lane_dim];
    gather_resolve(g, &now);
    kept = m->next_sreg;
    assign(g, &now, AT_ROW,
           move_add(m, now.index[AT_ROW],
                    move_mul(m, move_shift(m, now.index[AT_PART], -log_rows), a->tiles_across)),
           kept);
    kept = m->next_sreg;
    assign(g, &now, AT_ROW,
           move_add(m, now.index[AT_ROW], move_shift(m, now.index[AT_LANE], -7)), kept);
    split_row(g, a, &now);
    return now;
}

/* one row of 512 bytes from HBM, when the array is not in VMEM */
static void fetch_row(struct gather *g, const struct gather_array *a, struct isa_operand row)
{
    struct move_code *m = &g->m;
    int granules = ARRAY_ROW_BYTES / ARRAY_GRANULE_BYTES;
    struct isa_operand from = move_add(m, move_imm(a->array->address / ARRAY_GRANULE_BYTES),
                                       move_shift(m, row, 4));

    move_copy(m, OP_DMA_HBM_VMEM, from, move_imm(a->row * granules), granules, g->flag);
    move_wait(m, g->flag, granules);
}

int gather_array_run(struct gather *g, const struct gather_array *a, struct gather_place *p)
{
    struct move_code *m = &g->m;
    struct gather_place at = place_in_array(g, a->array, p);
    int lane_dim = a->array->is_linear ? 0 : a->array->lane_dim, v;
    int bits = 8 * a->array->element_bytes;

    if (a->is_resident) {
        v = move_load(m, at.index[AT_ROW], a->row, 0);
    } else {
        fetch_row(g, a, at.index[AT_ROW]);
        v = move_load(m, zero, a->row, 0);
    }
    if (bits < 32) {
        v = move_v2(m, OP_VSHRL_U32, v,
                    operand_reg(move_splat(m, move_mul(m, at.index[AT_PART], bits))));
        v = move_v2(m, OP_VAND_U32, v, operand_imm((1 << bits) - 1));
    }
    if (p->varying == lane_dim)
        limit_run(g, p, move_sub(m, move_imm(ARRAY_LANES), at.index[AT_LANE]));
    else
        limit_run(g, p, one);
    return move_rotate_lanes(m, v, move_and(m, move_sub(m, g->lane, at.index[AT_LANE]),
                                            ARRAY_LANES - 1));
}

struct isa_operand gather_padded(struct gather *g, struct gather_place *p, int dim,
                                 int64_t size, int64_t low, int64_t dilation)
{
    struct move_code *m = &g->m;
    struct isa_operand valid = move_reg(m), inside = move_reg(m), t, last;
    int64_t extent = size ? (size - 1) * dilation + 1 : 0;
    int kept = m->next_sreg, first;

    t = move_sub(m, p->index[dim], move_imm(low));
    first = m->next_sreg;
    last = move_imm(extent > 0 ? extent - 1 : 0);
    move_set(m, valid, move_if_less(m, t, zero, zero,
                                    move_if_less(m, t, move_imm(extent), one, zero)));
    m->next_sreg = first;
    if (p->varying == dim) {            /* up to where padding begins or ends */
        struct isa_operand rest = dilation > 1 ? one : move_sub(m, move_imm(extent), t);
        struct isa_operand left = move_if_less(m, t, zero, move_sub(m, zero, t), rest);

        limit_run(g, p, move_if_less(m, t, move_imm(extent), left, p->run));
    }
    m->next_sreg = first;
    move_set(m, inside, move_max(m, zero, move_min(m, t, last)));
    m->next_sreg = kept;
    if (dilation > 1) {
        move_set(m, valid, move_if_equal(m, move_mod(m, inside, dilation), zero, valid, zero));
        m->next_sreg = kept;
        move_set(m, inside, move_div(m, inside, dilation));
        m->next_sreg = kept;
    }
    p->index[dim] = inside;
    return valid;
}

/* valid is 1 or 0: v or other */
static int select_by(struct gather *g, struct isa_operand valid, int v, int other)
{
    struct move_code *m = &g->m;

    if (valid.kind == OPERAND_IMM)
        return valid.value ? v : other;
    return move_select(m, move_compare(m, OP_VCMP_NE_S32, move_splat(m, valid), zero),
                       operand_reg(v), operand_reg(other));
}

static struct isa_operand and_valid(struct move_code *m, struct isa_operand a,
                                    struct isa_operand b)
{
    return move_if_equal(m, a, zero, zero, b);
}

/* a scalar operand or constant, in every element */
static int gather_scalar(struct gather *g, int node)
{
    struct gather_place value = {.varying = -1, .mark = g->m.next_sreg + 1};
    struct isa_operand lane = g->lane;
    int v, spread;

    if (g->body->node[node].op == HLO_CONSTANT)
        return gather_node(g, node, &value);
    value.run = move_reg(&g->m);
    move_set(&g->m, value.run, one);
    g->lane = zero;
    v = gather_node(g, node, &value);
    g->lane = lane;
    vcode_emit(g->m.code, OP_VBCAST_LANE, 2,
               (struct isa_operand[]){operand_reg(v), operand_imm(0)});
    spread = vcode_vreg(g->m.code);
    vcode_emit(g->m.code, OP_VPOP_PERMUTE, 1, (struct isa_operand[]){operand_reg(spread)});
    return spread;
}

static int gather_pad(struct gather *g, const struct graph_node *n, struct gather_place *p)
{
    const struct shape *from = &g->body->node[n->operand[0]].shape;
    struct isa_operand valid = gather_reserve(g, p);
    int v;

    move_set(&g->m, valid, one);
    for (int d = 0; d < from->rank; d++) {
        move_set(&g->m, valid, and_valid(&g->m, valid,
                                         gather_padded(g, p, d, from->dim[d], n->low[d],
                                                       n->interior[d] + 1)));
        gather_resolve(g, p);
    }
    v = gather_node(g, n->operand[0], p);
    g->m.next_sreg = p->mark;
    return select_by(g, valid, v, gather_scalar(g, n->operand[1]));
}

static int gather_concatenate(struct gather *g, const struct graph_node *n,
                              struct gather_place *p)
{
    struct move_code *m = &g->m;
    struct isa_operand run = gather_reserve(g, p), own_run = gather_reserve(g, p);
    struct isa_operand valid = gather_reserve(g, p);
    int64_t first = 0, saved = gather_save(g, p);
    int result = -1;

    move_set(m, run, p->run);
    for (int k = 0; k < n->operand_count; k++) {
        int64_t size = g->body->node[n->operand[k]].shape.dim[n->dim];
        struct gather_place own = *p;
        struct isa_operand at;
        int v, kept;

        gather_recall(g, saved, &own);
        own.run = own_run;
        move_set(m, own.run, p->run);
        kept = m->next_sreg;
        at = move_sub(m, own.index[n->dim], move_imm(first));
        move_set(m, valid, move_if_less(m, at, zero, zero,
                                        move_if_less(m, at, move_imm(size), one, zero)));
        assign(g, &own, n->dim, move_max(m, zero, move_min(m, at, move_imm(size ? size - 1 : 0))),
               kept);
        if (p->varying == n->dim)
            limit_run(g, &own, move_sub(m, move_imm(size), own.index[n->dim]));
        gather_resolve(g, &own);
        v = gather_node(g, n->operand[k], &own);
        m->next_sreg = p->mark;
        move_set(m, run, move_if_equal(m, valid, zero, run, own.run));
        result = result < 0 ? v : select_by(g, valid, v, result);
        first += size;
    }
    gather_drop(g, saved);
    move_set(m, p->run, run);
    return result;
}

static int last_long_dim(const struct shape *s)
{
    int d = s->rank - 1;

    while (d >= 0 && s->dim[d] == 1)
        d--;
    return d;
}

static void through_reshape(struct gather *g, const struct graph_node *n, struct gather_place *p)
{
    const struct shape *from = &g->body->node[n->operand[0]].shape;
    struct move_code *m = &g->m;
    struct isa_operand linear = zero;
    int64_t stride = 1;
    int last = last_long_dim(from);
    bool goes_along = p->varying >= 0 && p->varying == last_long_dim(&n->shape);

    for (int d = n->shape.rank - 1; d >= 0; d--) {
        linear = move_add_product(m, linear, p->index[d], stride);
        stride *= n->shape.dim[d];
    }
    move_set(m, operand_reg(p->mark), linear);
    linear = operand_reg(p->mark);
    m->next_sreg = p->mark + 1;
    for (int d = from->rank - 1; d >= 0; d--) {
        int kept;

        p->index[d] = move_reg(m);
        kept = m->next_sreg;
        if (d) {
            struct isa_operand rest = move_div(m, linear, from->dim[d]);

            move_set(m, p->index[d], move_sub(m, linear, move_mul(m, rest, from->dim[d])));
            move_set(m, linear, rest);
        } else {
            move_set(m, p->index[d], linear);
        }
        m->next_sreg = kept;
    }
    p->rank = from->rank;
    p->varying = goes_along ? last : -1;
    gather_resolve(g, p);
    if (goes_along && last >= 0)
        limit_run(g, p, move_sub(m, move_imm(from->dim[last]), p->index[last]));
}

static void through_dims(struct gather *g, const struct graph_node *n, struct gather_place *p)
{
    const struct shape *from = &g->body->node[n->operand[0]].shape;
    struct gather_place to = {.rank = from->rank, .varying = -1, .run = p->run, .mark = p->mark};

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

static void through_slice(struct gather *g, const struct graph_node *n, struct gather_place *p)
{
    for (int d = 0; d < n->shape.rank; d++) {
        int kept = g->m.next_sreg;

        assign(g, p, d, move_add(&g->m, move_mul(&g->m, p->index[d], n->stride[d]),
                                 move_imm(n->start[d])), kept);
    }
    if (p->varying >= 0 && n->stride[p->varying] != 1)
        p->varying = -1;
}

static void through_reverse(struct gather *g, const struct graph_node *n, struct gather_place *p)
{
    for (int k = 0; k < n->dim; k++) {
        int d = n->dims[k], kept = g->m.next_sreg;

        assign(g, p, d, move_sub(&g->m, move_imm(n->shape.dim[d] - 1), p->index[d]), kept);
        if (p->varying == d)
            p->varying = -1;
    }
}

static int converted(struct gather *g, enum graph_dtype from, enum graph_dtype to, int v)
{
    struct move_code *m = &g->m;

    if (from == to)
        return v;
    v = gather_widen(m, from, v);
    if (is_float(to) && !is_float(from))
        v = move_v1(m, OP_VCVT_F32_S32, operand_reg(v));
    return gather_narrow(m, to, v);
}

int gather_node(struct gather *g, int node, struct gather_place *p)
{
    const struct graph_node *n = &g->body->node[node];

    switch (n->op) {
    case HLO_PARAMETER:
        return gather_array_run(g, &g->operand[n->parameter_index], p);
    case HLO_CONSTANT:
        return move_v1(&g->m, OP_VMOV,
                       operand_imm((int32_t)gather_constant_bits(n->shape.dtype, n->value)));
    case HLO_PAD:
        return gather_pad(g, n, p);
    case HLO_CONCATENATE:
        return gather_concatenate(g, n, p);
    case HLO_CONVERT: {
        int v = gather_node(g, n->operand[0], p);

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
    default:
        assert(n->op == HLO_COPY);
    }
    return gather_node(g, n->operand[0], p);
}
