/*
 * Matrix products on the MXUs, in all three roles.
 *
 * The array holds a 128x128 tile of the right operand (pushed transposed where
 * its columns are contracted); rows of the left operand stream through it. A
 * left operand whose rows are contracted is transposed first by the cross-lane
 * unit. Products of successive contraction tiles are added in VMEM by the
 * vector unit, in ascending order of k. Weight tiles take the MXUs and their
 * two staging registers in turn, so that the next is pushed while one streams.
 *
 * Higher precision runs the same loops on remainders, the passes of
 * stack/precision.c one after the other; the MXU rounds a remainder to its part.
 */
#include "base/units.h"
#include "isa/matrix.h"
#include "stack/lower.h"
#include "stack/precision.h"

#define ARRAY 128                       /* rows and columns of the array that are used */
#define GROUPS (ARRAY / TILE_ROWS)      /* weight pushes per array */
#define BLOCK_OPS 3000
#define MXU_MAX 8

struct part {                           /* an operand or one of its remainders */
    int64_t row;
    int region;
};

/* what shortens a program, by plan.code_level */
struct dot_loops {
    int64_t min_ops;                    /* shorter dots stay straight */
    bool columns, contraction;          /* loop over column tiles, over k */
    int64_t round_rows;                 /* tile rows per round, 0 = no loop over rows */
};

static const struct dot_loops dot_loops[CODE_LEVELS] = {
    {.min_ops = INT64_MAX},
    {.min_ops = 1500, .columns = true},
    {.min_ops = 1500, .columns = true, .contraction = true, .round_rows = 32},
    {.min_ops = 400, .columns = true, .contraction = true, .round_rows = 8},
};

struct dot {
    struct lower *l;
    int64_t m_tiles, n, k;              /* 8-row tiles of the result; columns; contraction length */
    int64_t m_columns;                  /* tile columns of the left operand as streamed */
    int64_t rhs_columns;                /* tile columns of the right operand as stored */
    bool is_rhs_transposed;
    struct part lhs[PART_COUNT], rhs[PART_COUNT], out;
    int turn;                           /* MXU and staging register of the next weight tile */
    int multiplies[MXU_MAX];            /* of each unit so far; its accumulators take turns */
    int block_ops;
    int zero;                           /* register of this block that holds zeros, -1 = none yet */
    int64_t first_row, end_row;         /* tile rows of the left operand at work */
    struct dot_loops loops;             /* all off for a short dot */
    int lhs_base, rhs_base, out_base;   /* scalar registers of the loops, -1 = none */
};

static void count_ops(struct dot *d, int ops)
{
    d->block_ops += ops;
}

/* a new block has begun: nothing is in registers */
static void forget_block(struct dot *d)
{
    d->block_ops = 0;
    d->zero = -1;
}

static void begin_block(struct dot *d)
{
    vcode_begin_block(d->l->code);
    forget_block(d);
}

/* between weight tiles all FIFOs are empty: a good place to end a block */
static void end_block_if_long(struct dot *d)
{
    if (d->block_ops >= BLOCK_OPS)
        begin_block(d);
}

static int zeros(struct dot *d)
{
    if (d->zero < 0)
        d->zero = lower_op1(d->l, OP_VMOV, operand_imm(0));
    return d->zero;
}

static void emit_on_unit(struct dot *d, enum isa_opcode code, int count,
                         const struct isa_operand *operand, int unit)
{
    vcode_emit(d->l->code, code, count, operand)->op.unit_index = (uint8_t)unit;
}

/*
 * f32 weights of a vreg into staging register A (0) or B (1). A 256-wide array is used as a
 * 128-wide one: zeros go into its other half, lest stale weights there are not finite.
 */
static void emit_push(struct dot *d, int vreg, int unit, int staging)
{
    bool is_wide = d->l->chip->mxu_size > ARRAY;
    const struct isa_operand operand[1 + PUSH_CHOICES] = {
        operand_reg(vreg), [1 + PUSH_MODE] = operand_imm(is_wide ? 3 : 0),
        [1 + PUSH_TYPE] = operand_imm(MATRIX_F32),
        [1 + PUSH_XPOSE] = operand_imm(d->is_rhs_transposed),
        [1 + PUSH_STAGING] = operand_imm(staging),
    };

    if (is_wide)
        emit_on_unit(d, OP_VMATPREP_SUBR, 2,
                     (struct isa_operand[]){operand_reg(zeros(d)), operand_imm(MATRIX_F32)},
                     unit);
    emit_on_unit(d, OP_VMATPUSH, COUNT_OF(operand), operand, unit);
}

/* f32 rows through the array, out of which their product comes; `latch`: 0, or 1 + staging */
static void emit_multiply(struct dot *d, int vreg, int product, int unit, int latch)
{
    int accumulators = (int)d->l->chip->mxu_accumulators;
    int number = accumulators ? d->multiplies[unit]++ % accumulators : 0;
    const struct isa_operand operand[1 + MULTIPLY_CHOICES + 1] = {
        operand_reg(vreg), [1 + MULTIPLY_PREP] = operand_imm(0),
        [1 + MULTIPLY_TYPE] = operand_imm(MATRIX_F32),
        [1 + MULTIPLY_LATCH] = operand_imm(latch), [1 + MULTIPLY_GAIN] = operand_imm(0),
        [1 + MULTIPLY_CHOICES] = operand_imm(number),
    };
    int count = (int)COUNT_OF(operand) - !accumulators;

    emit_on_unit(d, accumulators ? OP_VMATMUL_ACC : OP_VMATMUL, count, operand, unit);
    for (int column = 0; column < d->l->chip->mxu_size; column += TILE_COLUMNS) {
        /* columns beyond the first tile are zeros that nobody reads */
        int to = column ? vcode_vreg(d->l->code) : product;
        const struct isa_operand pop[] = {operand_reg(to), operand_imm(0), operand_imm(number)};

        emit_on_unit(d, accumulators ? OP_VPOP_MRB : OP_VPOP_MRF,
                     (int)COUNT_OF(pop) - !accumulators, pop, unit);
    }
}

/* group g of weight tile (k_tile, n_tile): 8 rows along k, or 8 columns given as rows */
static int load_weights(struct dot *d, const struct part *rhs, int64_t k_tile, int64_t n_tile,
                        int64_t group)
{
    int64_t last = d->is_rhs_transposed ? d->n : d->k;
    int64_t first = (d->is_rhs_transposed ? n_tile : k_tile) * ARRAY + group * TILE_ROWS;
    int64_t tile_row = first / TILE_ROWS;
    int64_t tile_column = d->is_rhs_transposed ? k_tile : n_tile;

    /* stale rows times the zero padding of the other operand could still be NaN */
    if (first >= last)
        return zeros(d);
    return lower_load(d->l,
                      (struct address){d->rhs_base,
                                       rhs->row + (tile_row * d->rhs_columns + tile_column) *
                                                      TILE_ROWS,
                                       rhs->region},
                      1);
}

static void push_weights(struct dot *d, const struct part *rhs, int64_t k_tile, int64_t n_tile,
                         int unit, int staging)
{
    for (int64_t group = GROUPS - 1; group >= 0; group--)
        emit_push(d, load_weights(d, rhs, k_tile, n_tile, group), unit, staging);
    count_ops(d, 2 * GROUPS);
}

static struct address result_address(const struct dot *d, int64_t m, int64_t n_tile)
{
    int64_t tile = m * div_up(d->n, TILE_COLUMNS) + n_tile;

    return (struct address){d->out_base, d->out.row + tile * TILE_ROWS, d->out.region};
}

static void stream_row(struct dot *d, const struct part *lhs, int64_t m, int64_t k_tile,
                       int64_t n_tile, int latch, int unit, bool is_first)
{
    struct lower *l = d->l;
    struct address from = {d->lhs_base, lhs->row + (m * d->m_columns + k_tile) * TILE_ROWS,
                           lhs->region};
    struct address to = result_address(d, m, n_tile);
    int product = vcode_vreg(l->code);

    emit_multiply(d, lower_load(l, from, 1), product, unit, latch);
    if (!is_first)
        product = lower_op2(l, OP_VADD_F32, lower_load(l, to, 1), operand_reg(product));
    lower_store(l, to, product);
    count_ops(d, 6);
}

/* one weight tile and rows first..end-1 (in tiles) of the left operand, on the next MXU */
static void emit_rows(struct dot *d, const struct part *lhs, const struct part *rhs,
                      int64_t k_tile, int64_t n_tile, int64_t first, int64_t end, bool is_first)
{
    int units = (int)d->l->chip->mxu_count;
    int unit = d->turn % units;
    int staging = d->turn / units % 2;

    d->turn++;
    push_weights(d, rhs, k_tile, n_tile, unit, staging);
    for (int64_t m = first; m < end; m++)
        stream_row(d, lhs, m, k_tile, n_tile, m == first ? 1 + staging : 0, unit, is_first);
}

/* a product with a single weight tile shares its rows among the MXUs, if worth the pushes */
static void emit_weight_tile(struct dot *d, const struct part *lhs, const struct part *rhs,
                             int64_t k_tile, int64_t n_tile, bool is_first)
{
    int64_t rows = d->end_row - d->first_row;
    bool is_single = d->k <= ARRAY && d->n <= ARRAY && rows >= 4 * GROUPS;
    int64_t shares = is_single ? d->l->chip->mxu_count : 1;

    for (int64_t share = 0; share < shares; share++)
        emit_rows(d, lhs, rhs, k_tile, n_tile, d->first_row + rows * share / shares,
                  d->first_row + rows * (share + 1) / shares, is_first);
    end_block_if_long(d);
}

static void advance(struct dot *d, int sreg, int64_t rows)
{
    lower_scalar(d->l, OP_SADD, sreg, sreg, operand_imm((int32_t)rows));
}

/* one weight tile per MXU and round; the result so far is in memory */
static void emit_contraction_loop(struct dot *d, const struct part *lhs, const struct part *rhs,
                                  int64_t n_tile)
{
    int64_t tiles = div_up(d->k, ARRAY), per_round = d->l->chip->mxu_count;
    int64_t rounds = d->k / ARRAY / per_round, done = 0;
    int64_t rhs_step = (d->is_rhs_transposed ? 1 : GROUPS * d->rhs_columns) * TILE_ROWS;

    if (rounds > 1) {
        done = rounds * per_round;
        vcode_loop_begin(d->l->code, SREG_COUNTER, rounds);
        forget_block(d);
        d->turn = 0;
        for (int64_t k_tile = 0; k_tile < per_round; k_tile++)
            emit_weight_tile(d, lhs, rhs, k_tile, n_tile, false);
        advance(d, SREG_LHS, per_round * TILE_ROWS);
        advance(d, SREG_RHS, per_round * rhs_step);
        vcode_loop_end(d->l->code, SREG_COUNTER);
        begin_block(d);
        advance(d, SREG_LHS, -done * TILE_ROWS);
        advance(d, SREG_RHS, -done * rhs_step);
    }
    for (int64_t k_tile = done; k_tile < tiles; k_tile++)
        emit_weight_tile(d, lhs, rhs, k_tile, n_tile, false);
}

static void clear_column_tile(struct dot *d, int64_t n_tile)
{
    for (int64_t m = d->first_row; m < d->end_row; m++)
        lower_store(d->l, result_address(d, m, n_tile), zeros(d));
    count_ops(d, (int)(d->end_row - d->first_row));
}

static void emit_column_tile(struct dot *d, enum graph_precision precision, int64_t n_tile)
{
    const struct precision_passes *passes = precision_passes(precision);
    bool is_first = true;

    if (d->loops.contraction)
        clear_column_tile(d, n_tile);
    for (int pass = 0; pass < passes->pass_count; pass++) {
        const struct part *lhs = &d->lhs[passes->pass[pass].lhs];
        const struct part *rhs = &d->rhs[passes->pass[pass].rhs];

        if (lhs->region < 0 || rhs->region < 0)
            continue;
        if (d->loops.contraction) {
            emit_contraction_loop(d, lhs, rhs, n_tile);
            continue;
        }
        for (int64_t k_tile = 0; k_tile * ARRAY < d->k; k_tile++) {
            emit_weight_tile(d, lhs, rhs, k_tile, n_tile, is_first);
            is_first = false;
        }
    }
}

/* all column tiles of the rows at work, the full ones by a loop if there are several */
static void emit_columns(struct dot *d, enum graph_precision precision)
{
    struct lower *l = d->l;
    int64_t full = d->loops.columns && d->n >= 2 * ARRAY ? d->n / ARRAY : 0;
    int64_t rhs_step = d->is_rhs_transposed ? GROUPS * d->rhs_columns * TILE_ROWS : TILE_ROWS;

    if (full) {
        vcode_loop_begin(l->code, SREG_OUTER_COUNTER, full);
        forget_block(d);
        d->turn = 0;
        emit_column_tile(d, precision, 0);
        advance(d, SREG_RHS, rhs_step);
        advance(d, SREG_OUT, TILE_ROWS);
        vcode_loop_end(l->code, SREG_OUTER_COUNTER);
        begin_block(d);
        advance(d, SREG_RHS, -full * rhs_step);
        advance(d, SREG_OUT, -full * TILE_ROWS);
    }
    for (int64_t n_tile = full; n_tile * ARRAY < d->n; n_tile++)
        emit_column_tile(d, precision, n_tile);
}

/* rows in rounds if there are many, the rest straight */
static void emit_looped(struct dot *d, enum graph_precision precision)
{
    struct lower *l = d->l;
    int64_t per_round = d->loops.round_rows;
    int64_t rounds = per_round ? d->m_tiles / per_round : 0;

    lower_scalar_set(l, SREG_LHS, 0);
    lower_scalar_set(l, SREG_RHS, 0);
    lower_scalar_set(l, SREG_OUT, 0);
    d->lhs_base = SREG_LHS;
    d->rhs_base = SREG_RHS;
    d->out_base = SREG_OUT;
    if (rounds > 1) {
        d->end_row = per_round;
        vcode_loop_begin(l->code, SREG_ROWS_COUNTER, rounds);
        forget_block(d);
        emit_columns(d, precision);
        advance(d, SREG_LHS, per_round * d->m_columns * TILE_ROWS);
        advance(d, SREG_OUT, per_round * div_up(d->n, TILE_COLUMNS) * TILE_ROWS);
        vcode_loop_end(l->code, SREG_ROWS_COUNTER);
        begin_block(d);
        d->first_row = 0;
        d->end_row = d->m_tiles - rounds * per_round;
    }
    if (d->end_row > 0)
        emit_columns(d, precision);
}

/* about how many operations a dot takes without a loop */
static int64_t dot_ops(const struct plan *p, const struct kernel *k)
{
    const struct graph_node *n = &p->graph->node[k->node[0]];
    const struct graph_node *lhs = &p->graph->node[n->operand[0]];
    const struct value *out = &p->value[k->node[0]];
    int64_t length = lhs->shape.dim[n->dot.lhs_contract[0]];
    int64_t passes =
        lhs->shape.dtype == DTYPE_BF16 ? 1 : precision_passes(n->precision)->pass_count;

    return passes * out->tile_columns * div_up(length, ARRAY) *
           (2 * GROUPS + 6 * out->tile_rows);
}

/* remainders of bf16 rounding: mid = x - bf16(x), lo = mid - bf16(mid) */
static void split(struct lower *l, const struct part *whole, int64_t tiles, int scratch,
                  int parts, struct part *part)
{
    int64_t scratch_row = plan_tile_row(l->plan, scratch, 0);
    int64_t per_round = 16, round_count;

    for (int i = 0; i < parts; i++)
        part[1 + i] = (struct part){scratch_row + i * tiles * TILE_ROWS, scratch};
    round_count = tiles / per_round;
    for (int64_t done = 0; done < tiles;) {
        bool in_loop = done == 0 && round_count > 1;
        int64_t count = in_loop ? per_round : tiles - done < 64 ? tiles - done : 64;

        if (in_loop) {
            lower_scalar_set(l, SREG_MATRIX, 0);
            vcode_loop_begin(l->code, SREG_COUNTER, round_count);
        }
        for (int64_t t = done; t < done + count; t++) {
            struct address at = {in_loop ? SREG_MATRIX : -1, whole->row + t * TILE_ROWS,
                                 whole->region};
            int rest = lower_load(l, at, 1);

            for (int i = 0; i < parts; i++) {
                rest = lower_op2(l, OP_VSUB_F32, rest, operand_reg(lower_round_bf16(l, rest)));
                at.row = part[1 + i].row + t * TILE_ROWS;
                at.region = scratch;
                lower_store(l, at, rest);
            }
        }
        if (in_loop) {
            lower_scalar(l, OP_SADD, SREG_MATRIX, SREG_MATRIX,
                         operand_imm((int32_t)(per_round * TILE_ROWS)));
            vcode_loop_end(l->code, SREG_COUNTER);
        }
        vcode_begin_block(l->code);
        done += in_loop ? per_round * round_count : count;
    }
}

/* the transposed tiles of up to 128 rows x 128 columns, pushed 8 rows at a time */
static void transpose_block(struct lower *l, int64_t rows, int64_t columns, int64_t row_tile,
                            int64_t column_tile, int64_t from_row, int from_region,
                            int64_t to_row, int to_region)
{
    int64_t from_columns = div_up(columns, TILE_COLUMNS), to_columns = div_up(rows, ARRAY);
    int64_t pushes = div_up(rows - row_tile * ARRAY, TILE_ROWS);
    int64_t pops = div_up(columns - column_tile * ARRAY, TILE_ROWS);
    int unit = l->next_xlu;

    pushes = pushes > GROUPS ? GROUPS : pushes;
    pops = pops > GROUPS ? GROUPS : pops;
    l->next_xlu = (unit + 1) % (int)l->chip->xlu_count;
    for (int64_t g = 0; g < pushes; g++) {
        int64_t tile = (row_tile * GROUPS + g) * from_columns + column_tile;
        int vreg = lower_load(
            l, (struct address){-1, from_row + tile * TILE_ROWS, from_region}, 1);
        enum isa_opcode code = pushes == 1       ? OP_VXPOSE_ONE
                               : g == 0          ? OP_VXPOSE_START
                               : g == pushes - 1 ? OP_VXPOSE_END
                                                 : OP_VXPOSE_CONT;

        vcode_emit(l->code, code, 3,
                   (struct isa_operand[]){operand_reg(vreg),
                                          operand_imm((int32_t)(pops * TILE_ROWS)),
                                          operand_imm(0)})      /* b32 */
            ->op.unit_index = (uint8_t)unit;
    }
    for (int64_t g = 0; g < pops; g++) {
        int64_t tile = (column_tile * GROUPS + g) * to_columns + row_tile;
        int vreg = vcode_vreg(l->code);

        vcode_emit(l->code, OP_VPOP_TRF, 1, (struct isa_operand[]){operand_reg(vreg)})
            ->op.unit_index = (uint8_t)unit;
        lower_store(l, (struct address){-1, to_row + tile * TILE_ROWS, to_region}, vreg);
    }
}

/*
 * Copies the transpose of the rows x columns matrix at `from_row` to `to_row`
 * (VMEM rows), in squares of 128x128 elements.
 */
static void copy_transposed(struct lower *l, int64_t rows, int64_t columns, int64_t from_row,
                            int from_region, int64_t to_row, int to_region)
{
    int ops = 0;

    for (int64_t r = 0; r * ARRAY < rows; r++)
        for (int64_t c = 0; c * ARRAY < columns; c++) {
            transpose_block(l, rows, columns, r, c, from_row, from_region, to_row, to_region);
            ops += 4 * GROUPS;
            if (ops >= BLOCK_OPS) {
                vcode_begin_block(l->code);
                ops = 0;
            }
        }
    vcode_begin_block(l->code);
}

void lower_transpose_kernel(struct lower *l, const struct kernel *k)
{
    const struct graph_node *n = &l->plan->graph->node[k->node[0]];
    const struct value *from = &l->plan->value[n->operand[0]];
    int to = l->plan->value[k->node[0]].buffer;

    copy_transposed(l, from->rows, from->columns, plan_tile_row(l->plan, from->buffer, 0),
                    from->buffer, plan_tile_row(l->plan, to, 0), to);
}

static int check_operands(const struct lower *l, const struct graph_node *n, struct err *e)
{
    for (int i = 0; i < 2; i++)
        if (l->plan->value[n->operand[i]].form != FORM_MATRIX)
            return err_set(e, "%s (from %s): operand %d of a dot is not a matrix", n->name,
                           n->source, i);
    return 0;
}

static void set_up(struct dot *d, struct lower *l, const struct kernel *k)
{
    const struct plan *p = l->plan;
    const struct graph_node *n = &p->graph->node[k->node[0]];
    const struct value *lhs = &p->value[n->operand[0]], *rhs = &p->value[n->operand[1]];
    const struct value *out = &p->value[k->node[0]];

    *d = (struct dot){.l = l, .zero = -1};
    d->lhs_base = d->rhs_base = d->out_base = -1;
    d->m_tiles = d->end_row = out->tile_rows;
    d->n = out->columns;
    d->k = n->dot.lhs_contract[0] == 1 ? lhs->columns : lhs->rows;
    d->m_columns = div_up(d->k, TILE_COLUMNS);
    d->rhs_columns = rhs->tile_columns;
    d->is_rhs_transposed = n->dot.rhs_contract[0] == 1;
    for (int i = 0; i < PART_COUNT; i++)
        d->lhs[i].region = d->rhs[i].region = -1;
    d->lhs[0] = (struct part){plan_tile_row(p, lhs->buffer, 0), lhs->buffer};
    d->rhs[0] = (struct part){plan_tile_row(p, rhs->buffer, 0), rhs->buffer};
    d->out = (struct part){plan_tile_row(p, out->buffer, 0), out->buffer};
    if (n->dot.lhs_contract[0] == 0) {
        int scratch = k->scratch_buffer[0];

        copy_transposed(l, lhs->rows, lhs->columns, d->lhs[0].row, d->lhs[0].region,
                        plan_tile_row(p, scratch, 0), scratch);
        d->lhs[0] = (struct part){plan_tile_row(p, scratch, 0), scratch};
    }
}

static void split_operands(struct dot *d, const struct kernel *k, enum graph_precision precision)
{
    const struct plan *p = d->l->plan;
    int parts = precision_passes(precision)->part_count - 1;

    if (k->scratch_buffer[1] >= 0)
        split(d->l, &d->lhs[0], p->buffer[k->scratch_buffer[1]].tile_count / parts,
              k->scratch_buffer[1], parts, d->lhs);
    if (k->scratch_buffer[2] >= 0)
        split(d->l, &d->rhs[0], p->buffer[k->scratch_buffer[2]].tile_count / parts,
              k->scratch_buffer[2], parts, d->rhs);
}

int lower_dot_kernel(struct lower *l, const struct kernel *k, struct err *e)
{
    const struct graph_node *n = &l->plan->graph->node[k->node[0]];
    struct dot d;

    if (check_operands(l, n, e))
        return -1;
    vcode_begin_block(l->code);
    set_up(&d, l, k);
    split_operands(&d, k, n->precision);
    if (dot_ops(l->plan, k) < dot_loops[l->plan->code_level].min_ops) {
        emit_columns(&d, n->precision);
    } else {
        d.loops = dot_loops[l->plan->code_level];
        emit_looped(&d, n->precision);
    }
    return 0;
}
