/*
 * What is left of the operations in timing mode: the scalar side as it is,
 * address checks of the vector side, and faults where a lane would reach the
 * scalar side. Everything else is not executed at all.
 */
#include "sim/core/decode.h"
#include "sim/core/known.h"
#include "sim/core/timing.h"

#include <string.h>

static exec_fn check_load, check_store, check_cld, check_indexed, forget_iar, refuse_spop;

static exec_fn *const timing_table[OP_COUNT] = {
    [OP_VLD] = check_load, [OP_VLD_SSHFL] = check_load, [OP_VLD_IAR] = check_indexed,
    [OP_VST] = check_store, [OP_VST_SSHFL] = check_store, [OP_VST_MSK] = check_store,
    [OP_VST_IAR] = check_indexed, [OP_CLD] = check_cld, [OP_VSETIAR] = forget_iar,
    [OP_SPOP] = refuse_spop,
};

/* beside the scalar unit, copies, and stand-ins, which note where they were met */
static bool is_scalar_side(enum isa_opcode code)
{
    switch (code) {
    case OP_VSYNCADD: case OP_VSYNCADD_R: case OP_VSYNCSET_R: case OP_VSYNCMOV:
    case OP_VSYNCMOV_R: case OP_VTRACE: case OP_VSETTM:
        return true;
    default:
        return isa_info(code)->unit == UNIT_SCALAR || isa_info(code)->unit == UNIT_DMA
               || (code >= OP_STAND_IN_SCALAR && code <= OP_STAND_IN_DMA);
    }
}

exec_fn *decode_timing_exec(enum isa_opcode code, exec_fn *exec)
{
    if (timing_table[code])
        return timing_table[code];
    return is_scalar_side(code) ? exec : NULL;
}

static void check_load(struct core *c, const struct decoded_op *o)
{
    core_check_rows(c, o, 1);
}

static void check_store(struct core *c, const struct decoded_op *o)
{
    core_check_rows(c, o, 0);
}

static void check_cld(struct core *c, const struct decoded_op *o)
{
    core_check_cmem_rows(c, o);
}

/* sim/core/timing.c has refused a register that is not known */
static void check_indexed(struct core *c, const struct decoded_op *o)
{
    core_check_indexed_rows(c, o);
}

static void forget_iar(struct core *c, const struct decoded_op *o)
{
    c->iar_is_unknown[o->o[1]] = true;
}

static void refuse_spop(struct core *c, const struct decoded_op *o)
{
    core_fault_unknown(c, timing_name(o).text, "an element of a vector");
}
