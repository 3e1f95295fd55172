/*
 * The order of an epilogue's operations. What waits for a result of the transcendental unit beside
 * which it is read is computed behind that unit's last push, not as early as it can be: where the
 * value that it is made of is no longer read by then, as many registers are taken, and each of them
 * for a part of the time. A register of a loop of rounds can keep no value longer than a round.
 */
#include "stack/kernels/dot/kernel_dot_epilogue.h"

#include <string.h>

struct order {
    const struct isa_op *op;
    int count;
    int *written, *writes;              /* by virtual register: the last operation that writes it, */
                                        /* and how many do */
    int *place;                         /* by operation: it goes behind this one, itself if it stays */
};

static int written_register(const struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int k = 0; k < op->operand_count; k++)
        if (info->role[k] == 'd')
            return op->operand[k].value;
    return -1;
}

/* elementwise work on one register, written once, and on immediates */
static bool may_move(const struct order *o, const struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    int registers = 0;

    if (info->slot != SLOT_VALU || op->pred != ISA_PRED_ALWAYS || written_register(op) < 0)
        return false;
    for (int k = 0; k < op->operand_count; k++) {
        char role = info->role[k];

        if (role == 'm' || role == 'n' || role == 'N' || role == 'M')
            return false;
        if (op->operand[k].kind == OPERAND_REG && o->writes[op->operand[k].value] > 1)
            return false;
        registers += op->operand[k].kind == OPERAND_REG && role != 'd';
    }
    return registers == 1;
}

static bool reads(const struct isa_op *op, int reg)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int k = 0; k < op->operand_count; k++)
        if ((info->role[k] == 'v' || info->role[k] == 'V') && op->operand[k].kind == OPERAND_REG
            && op->operand[k].value == reg)
            return true;
    return false;
}

/* the last push before the first reader of what an operation writes; itself: none */
static int push_before_reader(const struct order *o, int at)
{
    int reg = written_register(&o->op[at]), push = at;

    for (int i = at + 1; i < o->count; i++) {
        const struct isa_info *info = isa_info((enum isa_opcode)o->op[i].code);

        if (reads(&o->op[i], reg))
            return push;
        if (info->unit == UNIT_EUP && info->slot != SLOT_POP)
            push = i;
    }
    return at;
}

static void find_places(struct order *o)
{
    for (int i = 0; i < o->count; i++) {
        int reg = written_register(&o->op[i]);

        if (reg >= 0)
            o->writes[reg]++;
    }
    for (int i = 0; i < o->count; i++)
        o->place[i] = may_move(o, &o->op[i]) ? push_before_reader(o, i) : i;
}

void dot_epilogue_order(struct dot_epilogue *x, bool *is_edge, struct arena *a)
{
    struct order o = {.op = x->op, .count = x->op_count,
                      .writes = arena_array(a, (size_t)x->vreg_count + 1, sizeof(int)),
                      .place = arena_array(a, (size_t)x->op_count + 1, sizeof(int))};
    struct isa_op *to = arena_array(a, (size_t)x->op_count + 1, sizeof(*to));
    bool *edge = arena_array(a, (size_t)x->op_count + 1, sizeof(*edge));
    int count = 0;

    x->is_late = arena_array(a, (size_t)x->op_count + 1, sizeof(*x->is_late));
    find_places(&o);
    for (int i = 0; i < o.count; i++)
        for (int k = i; k >= 0; k--)    /* itself before those that go behind it */
            if (o.place[k] == i) {
                edge[count] = is_edge[k];
                x->is_late[count] = k != i;
                to[count++] = o.op[k];
            }
    memcpy(is_edge, edge, (size_t)count * sizeof(*edge));
    x->op = to;
}
