/*
 * tpu.matmul: a step of the kernel of products (stack/kernels/dot/kernel_dot_code.h) on operands that
 * stand in VMEM. Its sums stay there in columns of 128, row tile behind row tile; what the product is
 * added to is added when the result is pulled.
 */
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/mosaic/product.h"

#define PRED_FIRST_PASS 8               /* behind those that a step uses: false, sums stand there */
#define REG_LHS 16                      /* behind those that a step of products uses */
#define REG_RHS 17

static int matrix_type_of(enum mosaic_element e, enum matrix_type *type)
{
    switch (e) {
    case MOSAIC_F32: *type = MATRIX_F32; return 0;
    case MOSAIC_BF16: *type = MATRIX_BF16; return 0;
    case MOSAIC_I8: *type = MATRIX_S8; return 0;
    case MOSAIC_F8E5M2: *type = MATRIX_F8E5M2; return 0;
    case MOSAIC_F8E4M3FN: *type = MATRIX_F8E4M3FN; return 0;
    case MOSAIC_F8E4M3B11FNUZ: *type = MATRIX_F8E4M3B11FNUZ; return 0;
    default: return -1;
    }
}

static int64_t free_size(const struct mosaic_type *t, const int *dims, int count)
{
    int64_t n = 1;

    for (int i = 0; i < count; i++)
        n *= t->dim[dims[i]];
    return n;
}

static int check(struct lower *l, struct product *p)
{
    const struct mosaic_type *a = &p->op->operand[0]->type, *b = &p->op->operand[1]->type;
    const struct mosaic_dot *d = &p->dot;

    if (mosaic_dot_of(p->op, &p->dot, l->err))
        return pallas_fail(l, p->op, "%s", l->err->msg);
    if (d->is_exact && (a->element == MOSAIC_F32 || b->element == MOSAIC_F32))
        return pallas_fail(l, p->op, "products of precision fp32 are not made");
    if (matrix_type_of(a->element, &p->lhs_type) || matrix_type_of(b->element, &p->rhs_type))
        return pallas_fail(l, p->op, "products of %s and %s", mosaic_element_name(a->element),
                          mosaic_element_name(b->element));
    if (!mosaic_is_float(a) && (!chip_matmul_cycles(l->chip, p->lhs_type) ||
                                !chip_push_cycles(l->chip, p->rhs_type)))
        return pallas_fail(l, p->op, "products of integers, which the matrix units of %s do not "
                           "make", l->chip->chip_name);
    p->turns_lhs = d->lhs_contract != a->rank - 1;
    if (p->turns_lhs && (d->lhs_contract != a->rank - 2 || d->batch_count))
        return pallas_fail(l, p->op, "a left operand that is contracted along dimension %d of %d",
                          d->lhs_contract, a->rank);
    if (d->lhs_free_count != 1 || d->rhs_free_count != 1)
        return pallas_fail(l, p->op, "operands of %d and %d free dimensions", d->lhs_free_count,
                          d->rhs_free_count);
    p->is_rhs_transposed = d->rhs_contract == b->rank - 1;
    p->m = free_size(a, d->lhs_free, 1);
    p->n = free_size(b, d->rhs_free, 1);
    p->k = a->dim[d->lhs_contract];
    p->batches = free_size(a, d->lhs_batch, d->batch_count);
    if (p->k != b->dim[d->rhs_contract] || d->batch_count > 1)
        return pallas_fail(l, p->op, "%d batch dimensions, %lld and %lld elements contracted",
                          d->batch_count, (long long)p->k,
                          (long long)b->dim[d->rhs_contract]);
    return 0;
}

/* the box of an operand: its base in a register, or known */
static struct dot_box box_of(const struct place *p, int reg, bool depth_is_lanes, int64_t more)
{
    return (struct dot_box){.base = p->has_offset ? reg : -1, .row = p->base + p->sublane + more,
                            .depth_step = depth_is_lanes ? p->t.lane_step : p->t.row_step,
                            .side_step = depth_is_lanes ? p->t.row_step : p->t.lane_step};
}

/* rows from batch to batch */
static int64_t batch_step(const struct place *p, const int *batch, int count)
{
    return count ? p->t.outer_step[batch[0]] : 0;
}

static struct dot_step step_of(struct lower *l, const struct product *p, int64_t batch,
                               int64_t first_row, int64_t rows)
{
    int64_t packed = p->lhs.t.rows;
    struct dot_step s = {
        .chip = l->chip, .lhs_type = p->lhs_type, .rhs_type = p->rhs_type,
        .is_rhs_transposed = p->is_rhs_transposed, .depth_tiles = div_up(p->k, ARRAY_LANES),
        .first_step = p->is_in_place && !p->is_first ? PRED_FIRST_PASS : -1, .adds_up = true, .transpose = {.is_new = -1}};

    s.lhs = box_of(&p->lhs, REG_LHS, true,
                   batch * batch_step(&p->lhs, p->dot.lhs_batch, p->dot.batch_count) +
                       first_row / packed * p->lhs.t.row_step);
    s.rhs = box_of(&p->rhs, REG_RHS, p->is_rhs_transposed,
                   batch * batch_step(&p->rhs, p->dot.rhs_batch, p->dot.batch_count));
    if (p->k % ARRAY_LANES)
        s.lhs_depth = s.rhs_depth = p->k;
    if (p->parts > 1) {
        s.depth_tiles /= p->parts;
        s.lhs_unit_step = s.depth_tiles * s.lhs.depth_step;
        s.rhs_unit_step = s.depth_tiles * s.rhs.depth_step *
                          (p->is_rhs_transposed ? 1 : ARRAY_LANES / matrix_rows(p->rhs_type));
    }
    s.sum_tile_step = p->sum.t.lane_step;
    s.sum_row = p->sum.base + batch * p->sum.t.lane_step * div_up(p->n, ARRAY_LANES) + first_row;
    (void)rows;
    return s;
}

/*
 * One way of cutting a step: `units` share columns of `width` tiles, and `splits` parts of them the
 * passes; or they have rows of their own, or, by_rows as well, parts of the contraction.
 */
static bool cut(struct dot_step *s, const struct product *p, int64_t rows, int group, int width,
                bool by_rows, int splits)
{
    int64_t tiles = div_up(p->n, ARRAY_LANES), each = rows, type_rows = matrix_rows(s->rhs_type);
    struct err ignored;

    s->units = (int)s->chip->mxu_count;
    s->by_rows = by_rows;
    s->splits = splits;
    s->group_rows = group;
    s->width = width;
    s->columns = tiles / width;
    if (by_rows && p->parts <= 1 && rows % (s->units * group))
        return false;
    each = by_rows && p->parts <= 1 ? rows / s->units : rows;
    s->rounds = div_up(each, group);
    if (tiles % width || each % group || (by_rows && s->units == 1))
        return false;
    s->sum_column_step = width * s->sum_tile_step;
    s->rhs_column_step = width * s->rhs.side_step *
                         (s->is_rhs_transposed ? ARRAY_LANES / type_rows : 1);
    if (p->parts <= 1)
        s->lhs_unit_step =
            by_rows ? s->rounds * (group / matrix_rows(s->lhs_type)) * s->lhs.side_step : 0;
    return dot_step_check(s, &ignored) == 0;
}

/* the cut that takes the fewest cycles, which they are; INT64_MAX: there is none */
static int64_t choose_cut(struct dot_step *s, const struct product *p, int64_t rows)
{
    struct dot_step best = *s;
    int64_t least = INT64_MAX;

    for (int by_rows = p->parts > 1; by_rows < 2; by_rows++)
        for (int group = 8; group <= 32; group *= 2)
            for (int width = 1; width <= DOT_WIDTH_MAX; width++)
                for (int splits = 1; splits <= (by_rows ? 1 : DOT_SPLITS); splits *= DOT_SPLITS) {
                    struct dot_step one = *s;
                    int64_t cycles;

                    if (!cut(&one, p, rows, group, width, by_rows, splits))
                        continue;
                    cycles = dot_step_cycles(&one);
                    if (cycles < least) {
                        least = cycles;
                        best = one;
                    }
                }
    *s = best;
    return least;
}

/* rows that one step may have: a whole operand's, or as many as accumulators hold */
static int64_t rows_of_step(const struct lower *l, int64_t rows)
{
    int64_t most = l->chip->mxu_accumulators ? l->chip->mxu_accumulators * TILE_ROWS
                                             : DOT_ROUNDS_MAX * 8;
    int64_t count = div_up(rows, most);

    return round_up(div_up(rows, count), 32) < rows ? round_up(div_up(rows, count), 32) : rows;
}

static int put_step(struct lower *l, const struct product *p, int64_t batch, int64_t first,
                    int64_t rows)
{
    struct dot_step s = step_of(l, p, batch, first, rows);
    struct isa_program *code = arena_alloc(l->a, sizeof(*code));
    struct err e = {.msg = ""};

    if (choose_cut(&s, p, rows) == INT64_MAX)
        return pallas_fail(l, p->op, "%lld rows by %lld columns are not made by the units",
                          (long long)rows, (long long)p->n);
    if (dot_step_code(&s, -1, l->a, code, &e))
        return pallas_fail(l, p->op, "%s", e.msg);
    vcode_bundles(&l->code, code);
    return 0;
}

/*
 * Of few columns each unit gets a part of the contraction, and sums of its own: else some would idle,
 * or have so few rows each that putting in weights takes longer than using them.
 */
static int parts_of(struct lower *l, const struct product *p, int64_t rows)
{
    int units = (int)l->chip->mxu_count;
    struct product whole = *p, cut = *p;
    struct dot_step s;
    int64_t least;

    whole.parts = 1;
    cut.parts = units;
    if (units < 2 || p->k % ((int64_t)units * chip_mxu_halves(l->chip) * ARRAY_LANES) ||
        rows_of_step(l, rows) < rows)
        return 1;
    whole.sum.t.lane_step = rows;
    cut.sum.t.lane_step = units * rows;
    s = step_of(l, &whole, 0, 0, rows);
    least = choose_cut(&s, &whole, rows);
    s = step_of(l, &cut, 0, 0, rows);
    return choose_cut(&s, &cut, rows) < least ? units : 1;
}

/* sums of a product: columns of 128, in each all row tiles, whole tiles of the operand's type */
static struct place place_for_sums(struct lower *l, const struct product *p)
{
    const struct mosaic_type *t = &p->op->result[0]->type;
    int64_t rows = round_up(p->m, p->lhs.t.rows > 8 ? p->lhs.t.rows : 8) * p->parts;
    int64_t across = div_up(p->n, ARRAY_LANES);
    struct place s = {.is_there = true, .space = MOSAIC_VMEM, .buffer = -1,
                      .region = l->next_region++, .covers_rows = true, .covers_lanes = true};

    tiles_of(&s.t, t);
    s.t.row_step = TILE_ROWS;
    s.t.lane_step = rows;
    for (int d = t->rank - 3; d >= 0; d--)
        s.t.outer_step[d] = rows * across;
    pallas_take_for(l, p->op->result[0]);
    s.base = pallas_rows_of(l, s.region, p->batches * rows * across, p->op,
                            "the result of a product");
    pallas_take_for(l, NULL);
    return s;
}

/* Straight out of its word: the registers that the block's scalars take turns in are these, too. */
static void set_base(struct lower *l, const struct place *p, int reg)
{
    if (p->has_offset && p->offset.is_known)
        emit_smov(&l->code, reg, I(p->offset.value));
    else if (p->has_offset)
        emit_sld(&l->code, reg, NONE, I(p->offset.smem));
}

/* the left operand with rows and columns exchanged, in memory as long as `until` says */
static int turn_left(struct lower *l, struct product *p)
{
    const struct mosaic_type *from = &p->op->operand[0]->type;
    struct mosaic_type t = *from;
    struct place turned;

    t.element = p->lhs.t.element;
    t.dim[t.rank - 2] = from->dim[t.rank - 1];
    t.dim[t.rank - 1] = from->dim[t.rank - 2];
    if (transpose_place(l, p->op, &p->lhs, &t, &turned))
        return -1;
    pallas_take_for(l, NULL);
    p->lhs = turned;
    return 0;
}

static bool lies_in_rows(const struct lower *l, const struct mosaic_value *v)
{
    struct tile_layout layout = tile_layout_of(l, v);

    return layout.row_dim == v->type.rank - 2 && layout.lane_dim == v->type.rank - 1;
}

/* 1: the product is left to the loops that pull it; 0: it cannot be */
static int leave_to_loops(struct lower *l, const struct product *made)
{
    const struct mosaic_op *op = made->op;
    struct pulled *p;

    if (!pulled_can(l->chip, made) || !lies_in_rows(l, op->operand[0]))
        return 0;
    p = arena_alloc(l->a, sizeof(*p));
    *p = (struct pulled){.p = *made, .has_lhs = made->turns_lhs};
    if (p->has_lhs) {
        if (!same_turned(l, op->operand[0], &p->p.lhs)) {
            if (root_materialize(l, op->operand[0], &p->p.lhs))
                return -1;
            same_take_turned(l, op->result[0]);
            if (turn_left(l, &p->p))
                return -1;
            same_keep_turned(l, op->operand[0], &p->p.lhs);
        }
    } else {
        struct place ignored;

        if (root_units(l, op->operand[0], false) + pulled_units(l->chip, made) >
                l->chip->mxu_count &&
            root_materialize(l, op->operand[0], &ignored))
            return -1;
    }
    /* a sum that it adds to, of other products */
    if (root_units(l, op->operand[2], false) + pulled_units(l->chip, made) > l->chip->mxu_count) {
        struct place ignored;

        if (root_materialize(l, op->operand[2], &ignored))
            return -1;
    }
    if (!root_is_settled(l, op->operand[1], &p->p.rhs) &&
        root_materialize(l, op->operand[1], &p->p.rhs))
        return -1;
    if (p->p.rhs.sublane || matrix_type_of(p->p.rhs.t.element, &p->p.rhs_type))
        return pallas_fail(l, op, "weights that begin within a tile, or of another type");
    if (!pulled_can(l->chip, &p->p))
        return 0;
    l->pulled[op->result[0]->id] = p;
    return 1;
}

int pallas_matmul(struct lower *l, const struct mosaic_op *op)
{
    struct product p = {.op = op};
    const struct mosaic_value *to, *sum = NULL;
    struct root zeros;
    int64_t padded, each;
    int left;

    if (check(l, &p))
        return -1;
    left = leave_to_loops(l, &p);
    if (left)
        return left > 0 ? 0 : -1;
    to = accumulated(l->k, op, &sum);
    p.is_first = to && l->place[to->id].is_there && root_take_zeros(l, &l->place[to->id], &zeros);
    if (root_materialize(l, op->operand[0], &p.lhs) ||
        root_materialize(l, op->operand[1], &p.rhs))
        return -1;
    if (p.turns_lhs) {
        l->until = l->at;
        if (turn_left(l, &p))
            return -1;
    }
    if (matrix_type_of(p.lhs.t.element, &p.lhs_type) ||
        matrix_type_of(p.rhs.t.element, &p.rhs_type))
        return pallas_fail(l, op, "operands in memory of another type");
    if (p.lhs.sublane || p.rhs.sublane)
        return pallas_fail(l, op, "operands that begin within a tile");
    padded = round_up(p.m, p.lhs.t.rows);
    p.parts = parts_of(l, &p, padded);
    p.is_in_place = to && p.parts == 1 && p.batches == 1 && padded == p.m &&
                    l->place[to->id].t.row_step == TILE_ROWS &&
                    l->place[to->id].t.lane_step == p.m && !l->place[to->id].has_offset;
    if (p.is_first && !p.is_in_place && (root_add(l, &zeros) || root_flush(l)))
        return -1;
    if (p.is_in_place && (root_save(l, to->id) || root_flush(l)))
        return -1;
    if (p.is_in_place) {
        p.sum = l->place[to->id];
        same_note_write(l, p.sum.region);
    } else {
        p.sum = place_for_sums(l, &p);
    }
    each = rows_of_step(l, padded);
    pallas_begin_block(l);
    if (p.is_in_place)
        emit_scmp_ne(&l->code, PRED_FIRST_PASS, I(0), I(0));
    set_base(l, &p.lhs, REG_LHS);
    set_base(l, &p.rhs, REG_RHS);
    for (int64_t b = 0; b < p.batches && !l->is_failed; b++)
        for (int64_t first = 0; first < padded && !l->is_failed; first += each)
            put_step(l, &p, b, first, padded - first < each ? padded - first : each);
    pallas_begin_block(l);
    l->sum_parts[op->result[0]->id] = (uint8_t)p.parts;
    if (p.is_in_place) {
        l->place[sum->id] = p.sum;
        return l->is_failed ? -1 : 0;
    }
    if (mosaic_is_zero(op->operand[2]) && p.parts == 1)
        l->place[op->result[0]->id] = p.sum;
    else
        l->sum[op->result[0]->id] = p.sum;
    return l->is_failed ? -1 : 0;
}

/* what the units have summed up each by itself */
static opnd sum_of_parts(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at)
{
    int id = op->result[0]->id;
    struct place part = t->l->sum[id];
    int64_t rows = part.t.lane_step / t->l->sum_parts[id];
    opnd sum = tile_load(t, &part, at);

    for (int i = 1; i < t->l->sum_parts[id]; i++) {
        part.base += rows;
        sum = mosaic_is_float(&op->result[0]->type) ? add(t->c, sum, tile_load(t, &part, at))
                                                    : iadd(t->c, sum, tile_load(t, &part, at));
    }
    return sum;
}

/* what the product is added to, and the product */
bool tile_matmul(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    const struct pulled *p = t->l->pulled[op->result[0]->id];
    opnd before, product;

    if (p && !pulled_tile(t, p, at, &product))
        return false;
    if (!p)
        product = sum_of_parts(t, op, at);
    if (mosaic_is_zero(op->operand[2])) {
        *out = product;
        return true;
    }
    if (!tile_pull(t, op->operand[2], at, &before))
        return false;
    tile_meet(t, at, &before, &product);
    *out = mosaic_is_float(&op->result[0]->type) ? add(t->c, before, product)
                                                 : iadd(t->c, before, product);
    return !t->is_failed;
}
