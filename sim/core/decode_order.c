/*
 * Orders a bundle's operations so that each reads before others write: a topological sort with one
 * temporary per cycle.
 */
#include "sim/core/core.h"
#include "sim/core/decode.h"

#include "isa/touched.h"

#include <assert.h>

/* the first of its things, by state */
static const uint16_t first_thing[STATE_COUNT] = {
    [STATE_V] = REG_V, [STATE_M] = REG_M, [STATE_S] = REG_S, [STATE_P] = REG_P,
    [STATE_VMEM] = THING_VMEM, [STATE_SMEM] = THING_SMEM, [STATE_IAR] = THING_IAR,
    [STATE_MARKS] = THING_TRACE_MASK, [STATE_RNG] = THING_RNG, [STATE_EUP] = THING_EUP,
    [STATE_V2S] = THING_V2S, [STATE_DRF] = THING_DRF, [STATE_CRF] = THING_CRF,
    [STATE_XLANE] = THING_XLU, [STATE_PERMUTE] = THING_XLU, [STATE_TRANSPOSE] = THING_XLU,
    [STATE_RESULTS] = THING_RESULT, [STATE_STAGING] = THING_STAGING, [STATE_GAIN] = THING_GAIN,
    [STATE_WEIGHTS_PREP] = THING_WEIGHTS_PREP, [STATE_ROWS_PREP] = THING_ROWS_PREP,
};

/* registers begin at 0: what is no thing of a core is told by its state */
static bool is_thing(const struct isa_touch *t)
{
    return first_thing[t->state] > 0 || t->state == STATE_S;
}

void decode_touched(const struct isa_op *op, struct touched *t)
{
    struct isa_touched by_state;

    isa_touched(op, &by_state);
    t->read_count = t->write_count = 0;
    for (int i = 0; i < by_state.read_count; i++)
        if (is_thing(&by_state.read[i]))
            t->read[t->read_count++] = (uint16_t)(first_thing[by_state.read[i].state]
                                                  + by_state.read[i].index);
    for (int i = 0; i < by_state.write_count; i++)
        if (is_thing(&by_state.write[i]))
            t->write[t->write_count++] = (uint16_t)(first_thing[by_state.write[i].state]
                                                    + by_state.write[i].index);
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
