/*
 * Loop kernels: elementwise operations and reductions over the tiles of one
 * iteration space.
 *
 * A round of the loop works on a few tile rows, each column by column. Values
 * stay in registers within a tile; what other kernels need is stored at the
 * tile's end. Reductions over rows keep running sums, in registers within a
 * round and in VMEM between rounds. The last tile row, where it is partly
 * padding, stands apart so that only it pays for masks.
 */
#include "base/units.h"
#include "base/floats.h"
#include "stack/lower.h"

#include <assert.h>

#define ROUND_OPS 400                   /* aim for a round of a loop */
#define STRAIGHT_OPS 1500               /* below this no loop at all */
#define OPS_PER_NODE 3

struct cached {
    struct isa_operand operand;
    uint32_t epoch;                     /* tile or block this belongs to; 0 = never */
};

struct running {                        /* a late reduction */
    int node;
    int64_t first_tile;                 /* in the kernel's running-sums buffer */
    int64_t count;                      /* one per tile column, or 1 */
    int *partial;                       /* virtual register per count, -1 = none yet */
};

struct loop {
    struct lower *l;
    const struct kernel *k;
    int kernel;
    int64_t tile_rows, tile_columns;    /* iteration space, flattened where possible */
    bool is_flat;
    struct cached *cache;               /* by node */
    uint32_t epoch, block_epoch;
    struct running *running;
    int running_count;

    int64_t i, j;                       /* the tile; i from the round's first row */
    bool in_loop, is_edge_row;
    int lane_index, row_index;          /* of this block, -1 = not made yet */
};

static struct isa_operand get(struct loop *p, int node);

static const struct graph_node *node_of(const struct loop *p, int node)
{
    return &p->l->plan->graph->node[node];
}

static const struct value *value_of(const struct loop *p, int node)
{
    return &p->l->plan->value[node];
}

static int index_part(struct loop *p, int *cached, enum isa_opcode code, int32_t by)
{
    if (*cached < 0)
        *cached = lower_op2(p->l, code, lower_index(p->l), operand_imm(by));
    return *cached;
}

static int lane_index(struct loop *p)
{
    return index_part(p, &p->lane_index, OP_VAND_U32, TILE_COLUMNS - 1);
}

static int row_index(struct loop *p)
{
    return index_part(p, &p->row_index, OP_VSHRL_U32, 7);
}

/* where the tile of `v` lies that this tile of the loop reads or writes */
static struct address address_of(const struct loop *p, const struct value *v)
{
    struct address a = {.base = -1, .region = v->buffer};
    bool is_single = v->form == FORM_COLUMN || (v->tile_columns == 1 && !p->is_flat);
    int64_t tile = 0;

    if (v->form == FORM_ROW || (v->form == FORM_MATRIX && v->tile_rows == 1 && !p->is_flat)) {
        tile = is_single ? 0 : p->j;    /* a matrix of one row may serve a whole kernel as a row */
    } else if (v->form != FORM_SCALAR && is_single) {   /* one tile per tile row */
        tile = p->i;
        a.base = p->in_loop ? SREG_COLUMN : -1;
    } else if (v->form != FORM_SCALAR) {
        tile = p->i * p->tile_columns + p->j;
        a.base = p->in_loop ? SREG_MATRIX : -1;
    }
    a.row = plan_tile_row(p->l->plan, v->buffer, tile);
    return a;
}

static int as_mask(struct loop *p, int vreg)
{
    return lower_compare(p->l, OP_VCMP_NE_S32, vreg, operand_imm(0));
}

static int as_vector(struct loop *p, int mask)
{
    return lower_select(p->l, mask, operand_imm(1), operand_imm(0));
}

/* a stored value from VMEM; rows and scalars spread over the sublanes */
static struct isa_operand load(struct loop *p, int node)
{
    const struct value *v = value_of(p, node);
    bool is_vector = v->form == FORM_ROW || v->form == FORM_SCALAR;
    int vreg = lower_load(p->l, address_of(p, v), is_vector ? 0 : 1);

    if (v->form == FORM_SCALAR && node_of(p, node)->op == HLO_PARAMETER)
        vreg = lower_broadcast_lane(p->l, vreg, 0);
    if (node_of(p, node)->shape.dtype == DTYPE_PRED)
        vreg = as_mask(p, vreg);
    return operand_reg(vreg);
}

static int in_register(struct loop *p, struct isa_operand o)
{
    return o.kind == OPERAND_REG ? o.value : lower_op1(p->l, OP_VMOV, o);
}

static struct isa_operand iota(struct loop *p, const struct graph_node *n)
{
    bool along_rows = n->shape.rank == 2 && n->dim == 0;
    int64_t first = along_rows ? p->i * TILE_ROWS : p->j * TILE_COLUMNS;
    int vreg = along_rows ? row_index(p) : lane_index(p);

    if (first)
        vreg = lower_op2(p->l, OP_VADD_S32, vreg, operand_imm((int32_t)first));
    if (along_rows && p->in_loop)
        vreg = lower_op2(p->l, OP_VADD_S32, vreg,
                         operand_reg(lower_op1(p->l, OP_VSTV, operand_reg(SREG_FIRST_ROW))));
    if (n->shape.dtype != DTYPE_S32)
        vreg = lower_op1(p->l, OP_VCVT_F32_S32, operand_reg(vreg));
    if (n->shape.dtype == DTYPE_BF16)
        vreg = lower_round_bf16(p->l, vreg);
    return operand_reg(vreg);
}

/* sublane 0 in every sublane, bit for bit */
static int spread_sublane(struct loop *p, int vreg)
{
    int mask = lower_compare(p->l, OP_VCMP_EQ_S32, row_index(p), operand_imm(0));

    vreg = lower_select(p->l, mask, operand_reg(vreg), operand_imm(0));
    return lower_sublanes(p->l, OP_VOR_U32, vreg);
}

static struct isa_operand reshape(struct loop *p, int node)
{
    int from = node_of(p, node)->operand[0];
    enum form a = value_of(p, from)->form, b = value_of(p, node)->form;
    bool is_mask = node_of(p, node)->shape.dtype == DTYPE_PRED;
    struct isa_operand o = get(p, from);
    int vreg;

    if (a == b || a == FORM_SPLAT || a == FORM_SCALAR || b == FORM_MATRIX)
        return o;
    vreg = is_mask ? as_vector(p, o.value) : in_register(p, o);
    if (b != FORM_COLUMN && a != FORM_ROW)
        vreg = spread_sublane(p, vreg);
    if (b == FORM_COLUMN || (b == FORM_SCALAR && a != FORM_COLUMN))
        vreg = lower_broadcast_lane(p->l, vreg, 0);
    return operand_reg(is_mask ? as_mask(p, vreg) : vreg);
}

static struct isa_operand constant(struct loop *p, const struct graph_node *n)
{
    if (n->shape.dtype != DTYPE_PRED)
        return lower_constant(n->shape.dtype, n->value);
    return operand_reg(lower_compare(p->l, n->value != 0 ? OP_VCMP_GE_S32 : OP_VCMP_LT_S32,
                                     lane_index(p), operand_imm(0)));
}

static struct isa_operand evaluate_moved(struct loop *p, int node)
{
    const struct graph_node *n = node_of(p, node);

    switch (n->op) {
    case HLO_CONSTANT:
        return constant(p, n);
    case HLO_IOTA:
        return iota(p, n);
    case HLO_RESHAPE:
        return reshape(p, node);
    default:
        assert(n->op == HLO_BROADCAST);
        return get(p, n->operand[0]);
    }
}

/* scalars, and rows where there is one column of tiles, serve a whole block */
static uint32_t epoch_of(const struct loop *p, int node)
{
    const struct value *v = value_of(p, node);
    bool is_member = v->kernel == p->kernel && !v->is_late;
    bool is_steady = v->form == FORM_SCALAR || (v->form == FORM_ROW && p->tile_columns == 1);

    return is_steady && !is_member && !v->is_inline ? p->block_epoch : p->epoch;
}

static struct isa_operand get(struct loop *p, int node)
{
    struct cached *c = &p->cache[node];
    uint32_t epoch = epoch_of(p, node);

    if (c->epoch != epoch) {
        assert(value_of(p, node)->kernel != p->kernel || value_of(p, node)->is_late);
        c->operand = value_of(p, node)->is_inline ? evaluate_moved(p, node) : load(p, node);
        c->epoch = epoch;
    }
    return c->operand;
}

/* `vreg` with `identity` where this tile is padding of `v`, in rows, lanes or both */
static int mask_padding(struct loop *p, int vreg, const struct value *v, bool rows, bool lanes,
                        struct isa_operand identity)
{
    int64_t last_lanes = v->columns % TILE_COLUMNS, last_rows = v->rows % TILE_ROWS;

    if (lanes && last_lanes && p->j == v->tile_columns - 1 && v->form != FORM_COLUMN) {
        int mask = lower_compare(p->l, OP_VCMP_LT_S32, lane_index(p),
                                 operand_imm((int32_t)last_lanes));

        vreg = lower_select(p->l, mask, operand_reg(vreg), identity);
    }
    if (rows && last_rows && p->is_edge_row && v->form != FORM_ROW) {
        int mask = lower_compare(p->l, OP_VCMP_LT_S32, row_index(p),
                                 operand_imm((int32_t)last_rows));

        vreg = lower_select(p->l, mask, operand_reg(vreg), identity);
    }
    return vreg;
}

struct reduce_row {
    enum isa_opcode vector, lanes;
    uint32_t identity_bits;
};

static const struct reduce_row reduce_rows[] = {
    [REDUCE_ADD] = {OP_VADD_F32, OP_VADD_XLANE, 0},
    [REDUCE_MAX] = {OP_VMAX_F32, OP_VMAX_XLANE, 0xff800000u},
    [REDUCE_MIN] = {OP_VMIN_F32, OP_VMIN_XLANE, 0x7f800000u},
};

static const struct reduce_row *reduce_row(const struct loop *p, int node)
{
    return &reduce_rows[node_of(p, node)->reduce_kind];
}

/* which directions a reduction runs: over the rows, over the lanes */
static bool reduces_rows(const struct loop *p, int node)
{
    enum form from = value_of(p, node_of(p, node)->operand[0])->form;

    return value_of(p, node)->form != FORM_COLUMN && from != FORM_ROW;
}

static bool reduces_lanes(const struct loop *p, int node)
{
    enum form from = value_of(p, node_of(p, node)->operand[0])->form;

    return value_of(p, node)->form != FORM_ROW && from != FORM_COLUMN;
}

static int masked_operand(struct loop *p, int node)
{
    int from = node_of(p, node)->operand[0];

    return mask_padding(p, in_register(p, get(p, from)), value_of(p, from),
                        reduces_rows(p, node), reduces_lanes(p, node),
                        operand_imm((int32_t)reduce_row(p, node)->identity_bits));
}

static int finish_reduction(struct loop *p, int node, int vreg)
{
    const struct reduce_row *row = reduce_row(p, node);

    if (reduces_lanes(p, node))
        vreg = lower_xlane(p->l, row->lanes, vreg);
    if (reduces_rows(p, node))
        vreg = lower_sublanes(p->l, row->vector, vreg);
    if (node_of(p, node)->shape.dtype == DTYPE_BF16)
        vreg = lower_round_bf16(p->l, vreg);
    return vreg;
}

static void store_value(struct loop *p, int node, int vreg)
{
    const struct value *v = value_of(p, node);

    lower_store(p->l, address_of(p, v), vreg);
}

static void accumulate(struct loop *p, struct running *r)
{
    int *partial = &r->partial[r->count > 1 ? p->j : 0];
    int vreg = masked_operand(p, r->node);

    *partial = *partial < 0 ? vreg
                            : lower_op2(p->l, reduce_row(p, r->node)->vector, *partial,
                                        operand_reg(vreg));
}

static bool ends_with_row(const struct loop *p, const struct running *r)
{
    return value_of(p, r->node)->form == FORM_COLUMN;
}

static void compute_member(struct loop *p, int node)
{
    const struct graph_node *n = node_of(p, node);
    struct isa_operand operand[3] = {0};
    struct cached *c = &p->cache[node];

    if (value_of(p, node)->is_late)
        return;
    if (n->op == HLO_REDUCE) {
        c->operand = operand_reg(finish_reduction(p, node, masked_operand(p, node)));
    } else if (graph_op_kind(n->op) == KIND_SHAPE || graph_op_kind(n->op) == KIND_SOURCE) {
        c->operand = evaluate_moved(p, node);
    } else {
        for (int i = 0; i < n->operand_count; i++)
            operand[i] = get(p, n->operand[i]);
        c->operand = operand_reg(
            lower_elementwise(p->l, n, node_of(p, n->operand[0])->shape.dtype, operand));
    }
    c->epoch = epoch_of(p, node);
}

static void store_member(struct loop *p, int node)
{
    const struct value *v = value_of(p, node);
    struct isa_operand o = p->cache[node].operand;
    int vreg;

    if (node_of(p, node)->shape.dtype == DTYPE_PRED)
        vreg = as_vector(p, o.value);
    else
        vreg = in_register(p, o);
    if (v->needs_zero_pad)
        vreg = mask_padding(p, vreg, v, true, true, operand_imm(0));
    store_value(p, node, vreg);
}

static void emit_tile(struct loop *p)
{
    p->epoch++;
    for (int m = 0; m < p->k->node_count; m++)
        compute_member(p, p->k->node[m]);
    for (int r = 0; r < p->running_count; r++)
        accumulate(p, &p->running[r]);
    for (int m = 0; m < p->k->node_count; m++) {
        const struct value *v = value_of(p, p->k->node[m]);

        if (v->is_stored && !v->is_late)
            store_member(p, p->k->node[m]);
    }
}

static void emit_tile_row(struct loop *p, int64_t i, bool is_edge)
{
    p->i = i;
    p->is_edge_row = is_edge;
    for (p->j = 0; p->j < p->tile_columns; p->j++)
        emit_tile(p);
    for (int r = 0; r < p->running_count; r++) {
        struct running *run = &p->running[r];

        if (!ends_with_row(p, run))
            continue;
        store_value(p, run->node, finish_reduction(p, run->node, run->partial[0]));
        run->partial[0] = -1;
    }
}

/* a new block has begun: nothing is in registers */
static void begin_block(struct loop *p)
{
    p->block_epoch = ++p->epoch;
    p->lane_index = p->row_index = -1;
    for (int r = 0; r < p->running_count; r++)
        for (int64_t t = 0; t < p->running[r].count; t++)
            p->running[r].partial[t] = -1;
}

static struct address sum_address(const struct loop *p, const struct running *r, int64_t tile)
{
    int buffer = p->k->scratch_buffer[0];

    return (struct address){-1, plan_tile_row(p->l->plan, buffer, r->first_tile + tile), buffer};
}

static void save_partials(struct loop *p)
{
    for (int i = 0; i < p->running_count; i++) {
        struct running *r = &p->running[i];

        for (int64_t t = 0; t < r->count && !ends_with_row(p, r); t++) {
            int sum = lower_load(p->l, sum_address(p, r, t), 1);

            sum = lower_op2(p->l, reduce_row(p, r->node)->vector, sum,
                            operand_reg(r->partial[t]));
            lower_store(p->l, sum_address(p, r, t), sum);
        }
    }
}

static void clear_sums(struct loop *p)
{
    for (int i = 0; i < p->running_count; i++) {
        struct running *r = &p->running[i];
        int identity;

        if (ends_with_row(p, r))
            continue;
        identity = lower_op1(p->l, OP_VMOV,
                             operand_imm((int32_t)reduce_row(p, r->node)->identity_bits));
        for (int64_t t = 0; t < r->count; t++)
            lower_store(p->l, sum_address(p, r, t), identity);
    }
}

static void finish_sums(struct loop *p, bool in_memory)
{
    for (int i = 0; i < p->running_count; i++) {
        struct running *r = &p->running[i];

        for (int64_t t = 0; t < r->count && !ends_with_row(p, r); t++) {
            int sum = in_memory ? lower_load(p->l, sum_address(p, r, t), 1) : r->partial[t];

            p->j = t;
            store_value(p, r->node, finish_reduction(p, r->node, sum));
        }
    }
}

static void advance(struct loop *p, int64_t rows_per_round)
{
    struct lower *l = p->l;

    lower_scalar(l, OP_SADD, SREG_MATRIX, SREG_MATRIX,
                 operand_imm((int32_t)(rows_per_round * p->tile_columns * TILE_ROWS)));
    lower_scalar(l, OP_SADD, SREG_COLUMN, SREG_COLUMN,
                 operand_imm((int32_t)(rows_per_round * TILE_ROWS)));
    lower_scalar(l, OP_SADD, SREG_FIRST_ROW, SREG_FIRST_ROW,
                 operand_imm((int32_t)(rows_per_round * TILE_ROWS)));
}

static void emit_rounds(struct loop *p, int64_t rounds, int64_t rows_per_round)
{
    lower_scalar_set(p->l, SREG_MATRIX, 0);
    lower_scalar_set(p->l, SREG_COLUMN, 0);
    lower_scalar_set(p->l, SREG_FIRST_ROW, 0);
    vcode_loop_begin(p->l->code, SREG_COUNTER, rounds);
    begin_block(p);
    p->in_loop = true;
    for (int64_t i = 0; i < rows_per_round; i++)
        emit_tile_row(p, i, false);
    save_partials(p);
    advance(p, rows_per_round);
    p->in_loop = false;
    vcode_loop_end(p->l->code, SREG_COUNTER);
}

static void emit_straight(struct loop *p, int64_t first, int64_t end)
{
    bool has_edge = !p->is_flat && p->k->rows % TILE_ROWS != 0;

    vcode_begin_block(p->l->code);
    begin_block(p);
    for (int64_t i = first; i < end; i++)
        emit_tile_row(p, i, has_edge && i == p->tile_rows - 1);
}

/* whether a value is read tile by tile like a matrix, through inline values */
static bool is_tilewise(const struct loop *p, int node)
{
    const struct value *v = value_of(p, node);
    const struct graph_node *n = node_of(p, node);

    if (!v->is_inline)
        return v->form == FORM_MATRIX || v->form == FORM_SCALAR;
    if (n->op == HLO_IOTA || n->op == HLO_RESHAPE)
        return false;
    for (int i = 0; i < n->operand_count; i++)
        if (!is_tilewise(p, n->operand[i]))
            return false;
    return true;
}

/* elementwise on whole matrices, padding included: tiles may be taken in one line */
static bool can_flatten(const struct loop *p)
{
    for (int m = 0; m < p->k->node_count; m++) {
        const struct graph_node *n = node_of(p, p->k->node[m]);
        const struct value *v = value_of(p, p->k->node[m]);
        bool has_padding = v->rows % TILE_ROWS || v->columns % TILE_COLUMNS;

        if (v->form != FORM_MATRIX || n->op == HLO_REDUCE || n->op == HLO_IOTA ||
            n->op == HLO_RESHAPE || (v->needs_zero_pad && has_padding))
            return false;
        for (int i = 0; i < n->operand_count; i++)
            if (!is_tilewise(p, n->operand[i]))
                return false;
    }
    return true;
}

static void find_reductions(struct loop *p)
{
    struct arena *a = p->l->plan->arena;
    int64_t tile = 0;

    p->running = arena_array(a, (size_t)p->k->node_count + 1, sizeof(*p->running));
    for (int m = 0; m < p->k->node_count; m++) {
        const struct value *v = value_of(p, p->k->node[m]);
        struct running *r = &p->running[p->running_count];

        if (!v->is_late)
            continue;
        r->node = p->k->node[m];
        r->count = v->form == FORM_ROW ? v->tile_columns : 1;
        r->first_tile = tile;
        r->partial = arena_array(a, (size_t)r->count, sizeof(*r->partial));
        tile += r->count;
        p->running_count++;
    }
}

static void emit_all(struct loop *p)
{
    int64_t row_ops = (p->k->node_count + 1) * OPS_PER_NODE * p->tile_columns;
    int64_t per_round = ROUND_OPS / row_ops, rounds;
    bool has_edge = !p->is_flat && p->k->rows % TILE_ROWS != 0;
    int64_t full_rows = p->tile_rows - has_edge;

    if (p->tile_rows * row_ops <= STRAIGHT_OPS || full_rows < 2) {
        emit_straight(p, 0, p->tile_rows);
        finish_sums(p, false);
        return;
    }
    per_round = per_round < 1 ? 1 : per_round > full_rows / 2 ? full_rows / 2 : per_round;
    rounds = full_rows / per_round;
    vcode_begin_block(p->l->code);
    clear_sums(p);
    emit_rounds(p, rounds, per_round);
    if (rounds * per_round < p->tile_rows) {
        emit_straight(p, rounds * per_round, p->tile_rows);
        save_partials(p);
    }
    vcode_begin_block(p->l->code);
    begin_block(p);
    finish_sums(p, true);
}

void lower_loop_kernel(struct lower *l, const struct kernel *k, int kernel)
{
    struct loop p = {.l = l, .k = k, .kernel = kernel};

    p.cache = arena_array(l->plan->arena, (size_t)l->plan->graph->node_count + 1,
                          sizeof(*p.cache));
    p.tile_rows = k->tile_rows;
    p.tile_columns = k->tile_columns;
    p.is_flat = can_flatten(&p);
    if (p.is_flat) {
        p.tile_rows = k->tile_rows * k->tile_columns;
        p.tile_columns = 1;
    }
    find_reductions(&p);
    emit_all(&p);
}
