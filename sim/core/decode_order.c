/*
 * Orders a bundle's operations so that each reads before others write: a topological sort with one
 * temporary per cycle.
 */
#include "sim/core/core.h"
#include "sim/core/decode.h"

#include <assert.h>

static void reads(struct touched *t, int thing)
{
    t->read[t->read_count++] = (uint16_t)thing;
}

static void writes(struct touched *t, int thing)
{
    t->write[t->write_count++] = (uint16_t)thing;
}

static void touch_operands(const struct isa_op *op, struct touched *t)
{
    const struct isa_info *info = isa_info(op->code);
    int i;

    for (i = 0; i < op->operand_count; i++) {
        int value = op->operand[i].value;

        if (op->operand[i].kind != OPERAND_REG)
            continue;
        switch (info->role[i]) {
        case 'd': writes(t, REG_V + value); break;
        case 'm': writes(t, REG_M + value); break;
        case 'e': writes(t, REG_S + value); break;
        case 'q': writes(t, REG_P + value); break;
        case 'v': case 'V': reads(t, REG_V + value); break;
        case 'n': case 'N': reads(t, REG_M + value); break;
        case 'p': case 'P': reads(t, REG_P + value); break;
        default: reads(t, REG_S + value); break;
        }
    }
}

/* taking a prep register out counts as reading it */
static void touch_matrix(const struct isa_op *op, struct touched *t)
{
    struct matrix_op m = matrix_op_of_isa(op);
    int unit = op->unit_index;

    switch (m.kind) {
    case MATRIX_PUSH:
        if (m.uses_prep)
            reads(t, THING_WEIGHTS_PREP + unit);
        writes(t, THING_STAGING + ISA_UNIT_MAX * m.staging + unit);
        break;
    case MATRIX_PREP_WEIGHTS: writes(t, THING_WEIGHTS_PREP + unit); break;
    case MATRIX_PREP_ROWS: writes(t, THING_ROWS_PREP + unit); break;
    case MATRIX_MULTIPLY:
        if (m.uses_prep)
            reads(t, THING_ROWS_PREP + unit);
        if (m.staging >= 0) {
            reads(t, THING_STAGING + ISA_UNIT_MAX * m.staging + unit);
            writes(t, THING_GAIN + ISA_UNIT_MAX * m.gain + unit);
        } else {
            reads(t, THING_GAIN + ISA_UNIT_MAX * m.gain + unit);
        }
        writes(t, THING_RESULT + unit);
        break;
    case MATRIX_POP: reads(t, THING_RESULT + unit); break;
    case MATRIX_GIVE_UP:
        writes(t, THING_GAIN + unit);
        writes(t, THING_GAIN + ISA_UNIT_MAX + unit);
        break;
    case MATRIX_NONE: break;
    }
}

/* a pop reads its FIFO, a push writes it */
void decode_touched(const struct isa_op *op, struct touched *t)
{
    int unit = op->unit_index;

    t->read_count = t->write_count = 0;
    touch_operands(op, t);
    switch (op->code) {
    case OP_SLD: reads(t, THING_SMEM); break;
    case OP_DMA_GENERAL:
        reads(t, THING_SMEM);
        reads(t, THING_VMEM);
        break;
    case OP_DMA_VMEM_REMOTE: case OP_DMA_VMEM_HBM_REMOTE:   /* take their bytes along */
        reads(t, THING_VMEM);
        break;
    case OP_SST: writes(t, THING_SMEM); break;
    case OP_VLD: case OP_VLD_SSHFL: reads(t, THING_VMEM); break;
    case OP_VST: case OP_VST_MSK: case OP_VST_SSHFL: writes(t, THING_VMEM); break;
    case OP_SPOP: reads(t, THING_V2S); break;
    case OP_VPUSH: writes(t, THING_V2S); break;
    case OP_CLD: writes(t, THING_CRF); break;
    case OP_VPOP_CRF: reads(t, THING_CRF); break;
    case OP_SETRNGSEED: writes(t, THING_RNG); break;
    case OP_VRNG: reads(t, THING_RNG); break;
    case OP_VTRACE: reads(t, THING_TRACE_MASK); break;
    case OP_VSETTM: writes(t, THING_TRACE_MASK); break;
    case OP_VSETIAR: writes(t, THING_IAR + op->operand[1].value); break;
    case OP_VLD_IAR:
        reads(t, THING_VMEM);
        reads(t, THING_IAR + op->operand[4].value);
        break;
    case OP_VST_IAR:
        writes(t, THING_VMEM);
        reads(t, THING_IAR + op->operand[4].value);
        break;
    case OP_SPOP_DRF: reads(t, THING_DRF); break;
    case OP_SDIVREM: writes(t, THING_DRF); break;
    case OP_VPOP_EUP: reads(t, THING_EUP); break;
    case OP_VPOP_XLANE: case OP_VPOP_PERMUTE: case OP_VPOP_TRF: reads(t, THING_XLU + unit); break;
    default:
        if (isa_info(op->code)->unit == UNIT_MXU)
            touch_matrix(op, t);
        else if (isa_info(op->code)->unit == UNIT_EUP)
            writes(t, THING_EUP);
        else if (isa_info(op->code)->unit == UNIT_XLU)
            writes(t, THING_XLU + unit);
        break;
    }
}

static bool is_fifo(int thing)
{
    return thing >= THING_RNG && thing < THING_STAGING;
}

static bool has_read(const struct touched *t, int thing)
{
    int i;

    for (i = 0; i < t->read_count; i++)
        if (t->read[i] == thing)
            return true;
    return false;
}

/* reads of a FIFO take from it: two pops of a bundle keep the order they are written in */
static bool follows_a_pop(const struct touched *touched, uint32_t placed, int i)
{
    int j, k;

    for (j = 0; j < i; j++)
        for (k = 0; !(placed >> j & 1u) && k < touched[i].read_count; k++)
            if (is_fifo(touched[i].read[k]) && has_read(&touched[j], touched[i].read[k]))
                return true;
    return false;
}

/* another operation that is still to come reads what operation i writes */
static bool is_blocked(const struct touched *touched, int count, uint32_t placed, int i)
{
    int j, k;

    for (j = 0; j < count; j++) {
        if (j == i || (placed >> j & 1u))
            continue;
        for (k = 0; k < touched[i].write_count; k++)
            if (has_read(&touched[j], touched[i].write[k]))
                return true;
    }
    return false;
}

static int next_unblocked(const struct touched *touched, int count, uint32_t placed)
{
    int i;

    for (i = 0; i < count; i++)
        if (!(placed >> i & 1u) && !is_blocked(touched, count, placed, i)
            && !follows_a_pop(touched, placed, i))
            return i;
    return -1;
}

/*
 * In a cycle there is always an operation that writes a register, and those
 * write nothing else: its result can go to a temporary. The first of them
 * never overtakes a pop, as pops write registers too.
 */
static int next_with_register(const struct decoded_op *in, int count, uint32_t placed)
{
    int i;

    for (i = 0; i < count; i++)
        if (!(placed >> i & 1u) && in[i].reg != REG_NONE)
            return i;
    return -1;
}

static void redirect(struct decoded_op *op, struct decoded_op *copy, int temp)
{
    *copy = *op;
    copy->code = OP_COUNT;
    copy->timing = TIMING_NONE;
    copy->reg = REG_NONE;
    if (op->reg >= REG_V) {
        copy->exec = op->exec ? exec_copy_v : NULL;
        op->o[0] = V_TEMP + temp;
    } else if (op->reg >= REG_M) {
        copy->exec = op->exec ? exec_copy_m : NULL;
        op->o[0] = M_TEMP + temp;
    } else if (op->reg >= REG_P) {
        copy->exec = exec_copy_p;
        op->o[0] = P_TEMP + temp;
    } else {
        copy->exec = exec_copy_s;
        op->o[0] = S_TEMP + temp;
    }
    copy->o[1] = op->o[0];
}

int decode_order(const struct decoded_op *in, const struct touched *touched, int count,
                 struct decoded_op *out)
{
    struct decoded_op copy[ISA_BUNDLE_OP_MAX];
    uint32_t placed = 0;
    int done, copies = 0, i;

    assert(count <= ISA_BUNDLE_OP_MAX);
    for (done = 0; done < count; done++) {
        i = next_unblocked(touched, count, placed);
        if (i >= 0) {
            out[done] = in[i];
        } else {
            i = next_with_register(in, count, placed);
            assert(i >= 0);
            out[done] = in[i];
            redirect(&out[done], &copy[copies], copies);
            copies++;
        }
        placed |= 1u << i;
    }
    for (i = 0; i < copies; i++)
        out[done + i] = copy[i];
    return done + copies;
}
