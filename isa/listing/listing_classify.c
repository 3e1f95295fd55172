/* Decides which slot an operation of a listing takes, known or not. */
#include "isa/listing/listing_internal.h"

#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The first row whose prefix begins the mnemonic counts; '.' at its end stands for the end too. */
static const struct class_row {
    const char *prefix;
    uint8_t slot, unit;
    bool is_nothing;
} class_rows[] = {
    { "int_to_ptr",           SLOT_SCALAR, UNIT_SCALAR, true },
    { "ptr_to_int",           SLOT_SCALAR, UNIT_SCALAR, true },
    { "compiler-",            SLOT_SCALAR, UNIT_SCALAR, true },
    { "inlined_call_operand", SLOT_SCALAR, UNIT_SCALAR, true },
    { "sphi.",                SLOT_SCALAR, UNIT_SCALAR, true },
    { "vphi.",                SLOT_SCALAR, UNIT_SCALAR, true },
    { "pphi.",                SLOT_SCALAR, UNIT_SCALAR, true },
    { "vmphi.",               SLOT_SCALAR, UNIT_SCALAR, true },
    { "dma.done",             SLOT_MISC,   UNIT_MISC,   false },
    { "dma.",                 SLOT_DMA,    UNIT_DMA,    false },
    { "vpop.eup",             SLOT_POP,    UNIT_EUP,    false },
    { "vpop",                 SLOT_POP,    UNIT_XLU,    false },
    { "vmatpush",             SLOT_PUSH,   UNIT_MXU,    false },
    { "vmatprep",             SLOT_PUSH,   UNIT_MXU,    false },
    { "vmatmul",              SLOT_PUSH,   UNIT_MXU,    false },
    { "vsync",                SLOT_MISC,   UNIT_MISC,   false },
    { "vwait",                SLOT_MISC,   UNIT_MISC,   false },
    { "vdelay",               SLOT_MISC,   UNIT_MISC,   false },
    { "vtrace",               SLOT_MISC,   UNIT_MISC,   false },
    { "vset",                 SLOT_MISC,   UNIT_MISC,   false },
    { "vrng",                 SLOT_MISC,   UNIT_MISC,   false },
    { "vpush",                SLOT_MISC,   UNIT_MISC,   false },
    { "vmpackc",              SLOT_MISC,   UNIT_MISC,   false },
    { "vpow2.",               SLOT_EUP,    UNIT_EUP,    false },
    { "vlog2.",               SLOT_EUP,    UNIT_EUP,    false },
    { "vrcp.",                SLOT_EUP,    UNIT_EUP,    false },
    { "vrsqrt.",              SLOT_EUP,    UNIT_EUP,    false },
    { "vtanh.",               SLOT_EUP,    UNIT_EUP,    false },
    { "vsinq.",               SLOT_EUP,    UNIT_EUP,    false },
    { "vcosq.",               SLOT_EUP,    UNIT_EUP,    false },
    { "verf.",                SLOT_EUP,    UNIT_EUP,    false },
    { "vsigmoid.",            SLOT_EUP,    UNIT_EUP,    false },
    { "vld",                  SLOT_LOAD,   UNIT_LOAD,   false },
    { "vst.",                 SLOT_STORE,  UNIT_STORE,  false },
    { "v",                    SLOT_VALU,   UNIT_VALU,   false },
    { "",                     SLOT_SCALAR, UNIT_SCALAR, false },
};

static bool matches(const char *mnemonic, const char *prefix)
{
    size_t length = strlen(prefix);

    if (length && prefix[length - 1] == '.')
        return strncmp(mnemonic, prefix, length - 1) == 0 &&
               (mnemonic[length - 1] == '.' || mnemonic[length - 1] == '\0');
    return strncmp(mnemonic, prefix, length) == 0;
}

static const struct class_row *row_of(const char *mnemonic)
{
    size_t i = 0;

    while (!matches(mnemonic, class_rows[i].prefix))
        i++;
    return &class_rows[i];
}

/* ".mxu1" or ".xlu0" in the mnemonic: its unit, and its number */
static const char *unit_in(const char *mnemonic, uint8_t *index)
{
    static const char *const units[] = { ".mxu", ".xlu" };

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        const char *at = strstr(mnemonic, units[i]);

        if (at && at[4] >= '0' && at[4] < '0' + ISA_UNIT_MAX) {
            *index = (uint8_t)(at[4] - '0');
            return units[i];
        }
    }
    return NULL;
}

void listing_classify(struct listing_op *op)
{
    const struct class_row *row = row_of(op->mnemonic);
    const char *unit = unit_in(op->mnemonic, &op->unit_index);

    op->code = -1;
    op->slot = row->slot;
    op->unit = row->unit;
    op->is_nothing = row->is_nothing;
    if (!unit)
        return;
    if (op->slot != SLOT_POP)
        op->slot = SLOT_PUSH;
    op->unit = unit[1] == 'm' ? UNIT_MXU : UNIT_XLU;
}
