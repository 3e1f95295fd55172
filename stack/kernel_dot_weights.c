/*
 * Weights into the staging registers of all units: the last rows of an array
 * first. A tile holds 8, 16 or 32 rows of the contraction or, pushed
 * transposed, as many columns of the result.
 */
#include "base/units.h"
#include "sim/limits.h"
#include "stack/kernel_dot_impl.h"

#define TILE 128

static int tile_rows(const struct dot_code *d)
{
    return matrix_rows(d->s->rhs_type);
}

/* tiles that go one after the other into a unit: rows of the array, or columns in use */
static int64_t unit_items(const struct dot_code *d)
{
    const struct dot_step *s = d->s;
    int tiles = s->by_rows ? s->width : (s->width + s->units - 1) / s->units;

    return (s->is_rhs_transposed ? tiles : d->halves) * (TILE / tile_rows(d));
}

int64_t dot_weight_items(const struct dot_code *d)
{
    return unit_items(d) * d->s->units;
}

static void put_on_unit(struct dot_code *d, enum isa_opcode code, int unit, int count,
                        const struct isa_operand *operand)
{
    struct isa_op op = bundler_op(code, unit, count, operand);

    bundler_put(&d->b, &op, 0);
}

static void load(struct dot_code *d, int to, int base, int64_t row)
{
    PUT(d, OP_VLD, REG(to), REG(base), IMM(row), IMM(1), IMM(0xff));
}

/* a tile into a unit, the one in `upper` (-1: none) beside it in the array */
static void push(struct dot_code *d, int unit, int from, int upper, enum matrix_type type)
{
    const struct isa_operand operand[1 + PUSH_CHOICES] = {
        operand_reg(from), [1 + PUSH_MODE] = operand_imm(upper >= 0),
        [1 + PUSH_TYPE] = operand_imm((int32_t)type),
        [1 + PUSH_XPOSE] = operand_imm(d->s->is_rhs_transposed),
        [1 + PUSH_STAGING] = operand_imm(0)};
    const struct isa_operand prep[] = {operand_reg(upper), operand_imm((int32_t)type)};

    if (upper >= 0)
        put_on_unit(d, OP_VMATPREP_SUBR, unit, 2, prep);
    put_on_unit(d, OP_VMATPUSH, unit, 1 + PUSH_CHOICES, operand);
}

struct item {                           /* a tile of weights and the one beside it */
    int64_t row, upper_row;
    bool has_upper, is_zero;
};

/* tile `group` of a unit from the first on */
static struct item item_of(const struct dot_code *d, int unit, int64_t group, bool is_half)
{
    const struct dot_step *s = d->s;
    int64_t per = TILE / tile_rows(d), tile = s->by_rows ? 0 : d->unit_first[unit];

    if (s->is_rhs_transposed)
        return (struct item){
            .row = (tile * per + group) * s->rhs.side_step, .has_upper = d->halves > 1 && !is_half,
            .upper_row = (tile * per + group) * s->rhs.side_step + s->rhs.depth_step};
    return (struct item){
        .row = tile * s->rhs.side_step + group * s->rhs.depth_step,
        .upper_row = (tile + 1) * s->rhs.side_step + group * s->rhs.depth_step,
        .has_upper = d->unit_tiles[unit] > 1, .is_zero = is_half && group >= per};
}

static int next_set(struct dot_code *d)
{
    int set = d->v_weights + d->turn_weights * d->weight_set;

    d->turn_weights = (d->turn_weights + 1) % d->weights_count;
    return set;
}

static void put_item(struct dot_code *d, int unit, const struct item *it, int base,
                     int64_t offset)
{
    int v = next_set(d);

    if (it->is_zero) {
        PUT(d, OP_VMOV, REG(v), IMM(0));
        push(d, unit, v, -1, d->s->rhs_type);
        return;
    }
    load(d, v, base, offset + it->row);
    if (it->has_upper)
        load(d, v + 1, base, offset + it->upper_row);
    if (!d->unpacks_weights) {
        push(d, unit, v, it->has_upper ? v + 1 : -1, d->s->rhs_type);
        return;
    }
    PUT(d, OP_VUNPACK_C_L, REG(v + 1), REG(v));
    PUT(d, OP_VUNPACK_C_H, REG(v + 2), REG(v));
    push(d, unit, v + 2, -1, MATRIX_F32);
    push(d, unit, v + 1, -1, MATRIX_F32);
}

void dot_put_weights(struct dot_code *d, int base, int64_t offset, bool is_half, int64_t first,
                     int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        int unit = (int)(i % d->s->units);
        int64_t group = unit_items(d) - 1 - i / d->s->units;
        struct item it;

        if (d->unit_tiles[unit] == 0)
            continue;
        if (d->s->is_rhs_transposed
            && group >= d->unit_tiles[unit] * (TILE / tile_rows(d)))
            continue;
        it = item_of(d, unit, group, is_half);
        put_item(d, unit, &it, base, offset);
    }
}
