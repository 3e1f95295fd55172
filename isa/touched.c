/* Reads and writes of one operation: the table's columns, narrowed by what its choices say. */
#include "isa/touched.h"

#include "isa/matrix.h"

static void reads(struct isa_touched *t, enum isa_state state, int index)
{
    t->read[t->read_count++] = (struct isa_touch){(uint8_t)state, (uint8_t)index};
}

static void writes(struct isa_touched *t, enum isa_state state, int index)
{
    t->write[t->write_count++] = (struct isa_touch){(uint8_t)state, (uint8_t)index};
}

static void touch_registers(const struct isa_op *op, const struct isa_info *info,
                            struct isa_touched *t)
{
    for (int i = 0; i < info->choice_first; i++) {
        if (op->operand[i].kind != OPERAND_REG)
            continue;
        if (isa_role_is_written(info->role[i]))
            writes(t, isa_role_file(info->role[i]), op->operand[i].value);
        else
            reads(t, isa_role_file(info->role[i]), op->operand[i].value);
    }
}

/* of a staging or gain register which of both, of index address registers which: a choice */
static int index_of(const struct isa_op *op, enum isa_state state, const struct matrix_op *m)
{
    switch (state) {
    case STATE_IAR: return op->operand[isa_info(op->code)->choice_first].value;
    case STATE_STAGING: return op->unit_index + ISA_UNIT_MAX * m->staging;
    case STATE_GAIN: return op->unit_index + ISA_UNIT_MAX * m->gain;
    default: return op->unit_index;
    }
}

/* what a multiplication without vlgmr, or one without prep, leaves alone */
static void narrow(const struct matrix_op *m, uint32_t *read, uint32_t *written)
{
    if (!m->uses_prep)
        *read &= ~(uint32_t)(ISA_WEIGHTS_PREP | ISA_ROWS_PREP);
    if (m->kind != MATRIX_MULTIPLY)
        return;
    *read &= ~(uint32_t)(m->staging >= 0 ? ISA_GAIN : ISA_STAGING);
    if (m->staging < 0)
        *written &= ~(uint32_t)ISA_GAIN;
}

void isa_touched(const struct isa_op *op, struct isa_touched *t)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    uint32_t read = info->reads, written = info->writes;
    struct matrix_op m = {0};

    t->read_count = t->write_count = 0;
    touch_registers(op, info, t);
    if (info->slot == SLOT_DMA) {
        written = 0;
        read = info->format == ISA_FMT_DMA ? 0 : read;
    }
    if (info->unit == UNIT_MXU) {
        m = matrix_op_of_isa(op);
        narrow(&m, &read, &written);
    }
    if (m.kind == MATRIX_GIVE_UP)
        writes(t, STATE_GAIN, op->unit_index + ISA_UNIT_MAX);
    for (; read; read &= read - 1) {
        enum isa_state state = (enum isa_state)__builtin_ctz(read);

        reads(t, state, index_of(op, state, &m));
    }
    for (; written; written &= written - 1) {
        enum isa_state state = (enum isa_state)__builtin_ctz(written);

        writes(t, state, index_of(op, state, &m));
    }
}
