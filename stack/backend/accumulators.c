/* Accumulators of matrix units that take turns, as backend.h tells. */
#include "stack/backend/backend.h"

#include "isa/matrix.h"
#include "sim/chip/chip.h"

static bool is_push(enum isa_opcode code)
{
    return code == OP_VMATMUL || code == OP_VMATMUL_MSK;
}

static bool adds(enum isa_opcode code)
{
    return code == OP_VMATMUL_ACC || code == OP_VMATMUL_ACC_MSK;
}

static void name(struct isa_op *op, enum isa_opcode code, int accumulator)
{
    op->code = (uint16_t)code;
    op->operand[op->operand_count++] =
        (struct isa_operand){.kind = OPERAND_IMM, .value = accumulator};
}

/* Results of a unit in their order: the accumulator of each. */
struct results { int *accumulator, pushed, popped, next; };

static void push(struct results *r, int groups, int halves, int all)
{
    if (r->next + groups > all)         /* groups of one push follow each other */
        r->next = 0;
    for (int i = 0; i < groups * halves; i++)
        r->accumulator[r->pushed++] = r->next + i / halves;
    r->next = (r->next + groups) % all;
}

static void take(struct code_block *b, const struct chip *chip, int unit, struct results *r)
{
    int all = (int)chip->mxu_accumulators;

    for (int i = 0; i < b->op_count; i++) {
        struct isa_op *op = &b->op[i].op;

        if (op->unit_index != unit)
            continue;
        if (is_push(op->code)) {
            int groups = matrix_rows(matrix_op_of_isa(op).type) / 8;

            push(r, groups, chip_mxu_halves(chip), all);
            b->accumulators[unit] += groups;
            name(op, op->code == OP_VMATMUL ? OP_VMATMUL_ACC : OP_VMATMUL_ACC_MSK,
                 r->accumulator[r->pushed - 1] - groups + 1);
        } else if (op->code == OP_VPOP_MRF && r->popped < r->pushed) {
            name(op, OP_VPOP_MRB, r->accumulator[r->popped++]);
        }
    }
}

void accumulators_take(struct code_block *b, const struct chip *chip)
{
    for (int unit = 0; chip->mxu_accumulators && unit < chip->mxu_count; unit++) {
        struct results r = {.accumulator = arena_array(b->arena, (size_t)b->op_count * 8 + 1,
                                                       sizeof(int))};

        take(b, chip, unit, &r);
    }
}

bool accumulators_turn(const struct code_block *b, struct isa_op *op, int turn)
{
    if ((!adds(op->code) && op->code != OP_VPOP_MRB) || !b->accumulators[op->unit_index])
        return false;
    op->operand[op->operand_count - 1].value += turn * b->accumulators[op->unit_index];
    return true;
}

int accumulators_push(const struct code_block *b, int i)
{
    const struct isa_op *pop = &b->op[i].op;
    int number = pop->operand[pop->operand_count - 1].value;

    if (pop->code != OP_VPOP_MRB || !b->accumulators[pop->unit_index])
        return -1;
    for (int k = 0; k < b->op_count; k++) {
        const struct isa_op *op = &b->op[k].op;
        struct matrix_op m;

        if (!adds(op->code) || op->unit_index != pop->unit_index)
            continue;
        m = matrix_op_of_isa(op);
        if (m.accumulator <= number && number < m.accumulator + matrix_rows(m.type) / 8)
            return k;
    }
    return -1;
}
