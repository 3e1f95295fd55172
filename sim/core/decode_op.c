/*
 * An operation by itself: its handler, operands, latency, units, and what it
 * takes of them, worked out once.
 */
#include "sim/core/core.h"
#include "sim/core/decode.h"
#include "sim/chip/limits.h"
#include "sim/core/timing.h"

#include <assert.h>
#include <string.h>

static exec_fn *const exec_table[OP_COUNT] = {
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) [OP_##id] = exec_##id,
#include "isa/ops.def"
};

static int32_t decode_operand(struct decoder *d, const struct isa_op *op, int index)
{
    const struct isa_operand *from = &op->operand[index];
    char role = isa_info(op->code)->role[index];

    switch (role) {
    case 'P':                           /* a constant is the predicate that always holds */
        if (from->kind == OPERAND_IMM)
            return ISA_PRED_ALWAYS * 2 + (from->value == 0);
        return from->value * 2 + (from->is_negated ? 1 : 0);
    case 'p':
        return from->value * 2 + (from->is_negated ? 1 : 0);
    case 'N':
        return from->kind == OPERAND_REG ? from->value : from->value ? M_TRUE : M_FALSE;
    case 'V':
        return from->kind == OPERAND_REG ? from->value
                                         : decode_tile(d, decode_vector_immediate(op, index));
    case 'S': case 'B': case 'O': case 'F': case 'Z':
        return from->kind == OPERAND_REG ? from->value : decode_scalar(d, from->value);
    default:
        return from->value;
    }
}

static enum timing_kind timing_of(enum isa_opcode code)
{
    switch (isa_info(code)->latency_class) {
    case CLASS_VLD: return code == OP_VLD_IAR ? TIMING_LOAD_IAR : TIMING_LOAD;
    case CLASS_VST: return code == OP_VST_IAR ? TIMING_STORE_IAR : TIMING_STORE;
    case CLASS_CLD: return TIMING_CLD;
    case CLASS_EUP: return TIMING_EUP;
    case CLASS_XRED: return TIMING_REDUCE;
    case CLASS_XPERM: return TIMING_PERMUTE;
    case CLASS_XPOSE: return TIMING_XPOSE;
    case CLASS_XPOSE_END: return TIMING_XPOSE_END;
    case CLASS_MATPUSH: return TIMING_MATPUSH;
    case CLASS_MATMUL: return TIMING_MATMUL;
    case CLASS_VDWG: return TIMING_VDWG;
    case CLASS_VPUSH: return TIMING_VPUSH;
    case CLASS_SPOP: return code == OP_SPOP ? TIMING_SPOP : TIMING_POP_DRF;
    case CLASS_SDIV: return TIMING_DIVIDE;
    case CLASS_SST: return TIMING_SST;
    case CLASS_FENCE: return TIMING_FENCE;
    case CLASS_DELAY: return TIMING_DELAY;
    case CLASS_DMA: return TIMING_DMA;
    case CLASS_SYNC_RD: return TIMING_WAIT;
    case CLASS_SYNC:
        return code == OP_VSYNCADD || code == OP_VSYNCADD_R || code == OP_VSYNCSET_R
                       ? TIMING_NONE : TIMING_WAIT;
    case CLASS_POP: return code == OP_VPOP_MRB ? TIMING_POP_ACCUMULATOR : TIMING_POP;
    default: return TIMING_NONE;
    }
}

static int track_of(const struct decoder *d, const struct isa_op *op)
{
    switch (isa_info(op->code)->unit) {
    case UNIT_SCALAR: return TRACK_SCALAR;
    case UNIT_VALU: return TRACK_VALU;
    case UNIT_EUP: return TRACK_EUP;
    case UNIT_LOAD: return TRACK_LOAD;
    case UNIT_STORE: return TRACK_STORE;
    case UNIT_DMA: return TRACK_DMA;
    case UNIT_XLU: return TRACK_XLU + op->unit_index;
    case UNIT_MXU:
        return timing_of(op->code) == TIMING_MATPUSH ? track_mxu_push(d->chip, op->unit_index)
                                                     : track_mxu(d->chip, op->unit_index);
    default: return TRACK_MISC;
    }
}

int decode_bank_extra_cycles(const struct chip *chip, const int64_t row[8], uint32_t sublanes)
{
    int banks = (int)chip->vmem_banks, most = 0, i, j;
    int count[64] = {0};

    for (i = 0; i < 8; i++) {
        int64_t bank = row[i] % banks;

        for (j = 0; j < i && !((sublanes >> j & 1u) && row[j] == row[i]); j++)
            ;
        if (!(sublanes >> i & 1u) || j < i)
            continue;                   /* a row is read once for all its sublanes */
        bank = bank < 0 ? bank + banks : bank;
        if (++count[bank] > most)
            most = count[bank];
    }
    i = most - (int)div_up(8, banks);
    return i > 0 ? i : 0;
}

static int strided_bank_extra(const struct chip *chip, int32_t stride, uint32_t sublanes)
{
    int64_t row[8];

    for (int i = 0; i < 8; i++)
        row[i] = (int64_t)i * stride;
    return decode_bank_extra_cycles(chip, row, sublanes);
}

static int result_register(const struct touched *t)
{
    return t->write_count > 0 && t->write[0] < REG_COUNT ? t->write[0] : REG_NONE;
}

/* where the base of a load or store stands among its operands */
static int base_of(const struct decoded_op *o)
{
    return o->timing == TIMING_LOAD ? 1 : 0;
}

static void decode_access(const struct decoder *d, struct decoded_op *out)
{
    int stride = out->o[base_of(out) + 2];

    out->reach_rows = 7 * (int64_t)stride;
    out->bank_extra = (uint8_t)strided_bank_extra(d->chip, stride,
                                                  (uint32_t)out->o[base_of(out) + 3]);
}

static struct decoded_pop pop_of(const struct decoded_op *o)
{
    struct decoded_pop pop = {.key = timing_pop_key(o->code, 0)};

    switch (o->code) {
    case OP_VPOP_EUP:
        pop.fifo = RESULT_EUP;
        pop.reason = STALL_EUP;
        break;
    case OP_VPOP_CRF:
        pop.fifo = RESULT_CRF;
        pop.reason = STALL_CMEM;
        break;
    case OP_VPOP_MRF:
        pop.key = timing_pop_key(o->code, o->o[1]);
        pop.fifo = (uint8_t)(RESULT_MXU + o->unit);
        pop.reason = STALL_RESULT;
        break;
    default:
        pop.fifo = (uint8_t)(RESULT_XLU + o->unit);
        pop.reason = STALL_XLU;
        break;
    }
    return pop;
}

/* rows leave at the rate at which they enter */
static void decode_results(const struct chip *chip, struct decoded_matrix *m)
{
    int cycles = chip_matmul_cycles(chip, m->op.type);

    m->halves = chip_mxu_halves(chip);
    m->tile_count = m->halves * matrix_rows(m->op.type) / 8;
    m->result_key = timing_pop_key(OP_VPOP_MRF, m->is_integer);
    assert(m->tile_count <= RESULT_TILE_MAX);
    for (int i = 0; i < m->tile_count; i++)
        m->result_cycles[i] = (uint32_t)(chip->mxu_latency_cycles + i * cycles / m->tile_count);
}

static struct decoded_matrix *make_matrix(struct decoder *d, const struct decoded_op *o,
                                          const int32_t *choice)
{
    struct decoded_matrix *m = arena_alloc(&d->program->arena, sizeof(*m));

    m->code = o->code;
    memcpy(m->choice, choice, sizeof(m->choice));
    m->op = matrix_op_of(o->code, o->o);
    m->is_integer = matrix_is_integer(m->op.type);
    m->cycles = (uint16_t)chip_matrix_cycles(d->chip, &m->op);
    if (m->op.kind == MATRIX_MULTIPLY && m->op.staging >= 0)
        m->enter_cycles = (uint16_t)d->chip->mxu_latch_cycles;
    decode_results(d->chip, m);
    return m;
}

/* a program has few that differ */
static const struct decoded_matrix *decode_matrix(struct decoder *d, const struct decoded_op *o)
{
    int first = isa_info(o->code)->choice_first;
    int32_t choice[ISA_OPERAND_MAX] = {0};
    const struct decoded_matrix **m;
    uint32_t hash = o->code;

    for (int i = first; i < ISA_OPERAND_MAX; i++) {
        choice[i - first] = o->o[i];
        hash = hash * 31 + (uint32_t)o->o[i];
    }
    m = &d->matrix[hash % COUNT_OF(d->matrix)];
    if (!*m || (*m)->code != o->code || memcmp((*m)->choice, choice, sizeof(choice)) != 0)
        *m = make_matrix(d, o, choice);
    return *m;
}

static void decode_unit(struct decoder *d, struct decoded_op *out)
{
    switch (out->timing) {
    case TIMING_LOAD: case TIMING_STORE:
        decode_access(d, out);
        break;
    case TIMING_POP:
        out->pop = pop_of(out);
        break;
    case TIMING_MATPUSH: case TIMING_MATMUL: case TIMING_POP_ACCUMULATOR: case TIMING_VDWG:
        out->matrix = decode_matrix(d, out);
        break;
    default:
        break;
    }
}

void decode_op(struct decoder *d, const struct isa_program *p, uint32_t index,
                      struct decoded_op *out, struct touched *touched)
{
    const struct isa_op *op = &p->op[index];
    const struct isa_info *info = isa_info(op->code);

    memset(out, 0, sizeof(*out));
    decode_touched(op, touched);
    out->exec = exec_table[op->code];
    if (d->mode == MODE_TIMING)
        out->exec = decode_timing_exec(op->code, out->exec);
    out->code = op->code;
    out->latency = (uint16_t)chip_latency_cycles(d->chip, info->latency_class);
    out->timing = (uint8_t)timing_of(op->code);
    out->unit = op->unit_index;
    out->track = (uint8_t)track_of(d, op);
    out->reg = (uint8_t)result_register(touched);
    out->guard = op->pred;
    out->guard_is_negated = op->pred_is_negated != 0;
    out->is_guarded = op->pred != ISA_PRED_ALWAYS || op->pred_is_negated;
    out->source = index;
    for (int i = 0; i < op->operand_count; i++)
        out->o[i] = decode_operand(d, op, i);
    decode_unit(d, out);
}
