/*
 * Orders a bundle's operations so that each reads before others write: a topological sort with one
 * temporary per cycle.
 */
#include "sim/core/core.h"
#include "sim/core/decode.h"

#include "isa/touched.h"

#include <assert.h>

/*
 * Flags have no order within a bundle. A cross-lane unit has one thing for its three FIFOs.
 */
static bool is_thing(const struct isa_touch *t)
{
    return t->state != STATE_FLAGS && t->state != STATE_REMOTE;
}

static uint16_t thing_of(const struct isa_touch *t)
{
    static const uint8_t first_register[] = {
        [STATE_V] = REG_V, [STATE_M] = REG_M, [STATE_S] = REG_S, [STATE_P] = REG_P};
    int state = t->state == STATE_PERMUTE || t->state == STATE_TRANSPOSE ? STATE_XLANE : t->state;

    return (uint16_t)(state <= STATE_P ? first_register[state] + t->index
                                       : THING(state) + t->index);
}

void decode_touched(const struct isa_op *op, struct touched *t)
{
    struct isa_touched by_state;

    isa_touched(op, &by_state);
    t->read_count = t->write_count = 0;
    for (int i = 0; i < by_state.read_count; i++)
        if (is_thing(&by_state.read[i]))
            t->read[t->read_count++] = thing_of(&by_state.read[i]);
    for (int i = 0; i < by_state.write_count; i++)
        if (is_thing(&by_state.write[i]))
            t->write[t->write_count++] = thing_of(&by_state.write[i]);
}

static bool is_fifo(int thing)
{
    return thing >= REG_COUNT && (ISA_FIFOS | ISA_RNG) >> STATE_OF(thing) & 1;
}

static bool has_read(const struct touched *t, int thing)
{
    for (int i = 0; i < t->read_count; i++)
        if (t->read[i] == thing)
            return true;
    return false;
}

/* reads of a FIFO take from it: two pops of a bundle keep the order they are written in */
static bool follows_a_pop(const struct touched *touched, uint32_t placed, int i)
{
    for (int j = 0; j < i; j++)
        for (int k = 0; !(placed >> j & 1u) && k < touched[i].read_count; k++)
            if (is_fifo(touched[i].read[k]) && has_read(&touched[j], touched[i].read[k]))
                return true;
    return false;
}

/* another operation that is still to come reads what operation i writes */
static bool is_blocked(const struct touched *touched, int count, uint32_t placed, int i)
{
    for (int j = 0; j < count; j++) {
        if (j == i || (placed >> j & 1u))
            continue;
        for (int k = 0; k < touched[i].write_count; k++)
            if (has_read(&touched[j], touched[i].write[k]))
                return true;
    }
    return false;
}

static int next_unblocked(const struct touched *touched, int count, uint32_t placed)
{
    for (int i = 0; i < count; i++)
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
    for (int i = 0; i < count; i++)
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
