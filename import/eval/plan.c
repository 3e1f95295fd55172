/* What an evaluation knows of a computation beforehand: who needs what, and who is the last to. */
#include "import/eval/eval_impl.h"

/* does it do something besides making its value? */
static bool has_effect(const struct hlo_instruction *i)
{
    switch (i->op) {
    case OPCODE_CUSTOM_CALL: case OPCODE_CALL: case OPCODE_WHILE: case OPCODE_CONDITIONAL:
    case OPCODE_INFEED: case OPCODE_OUTFEED: case OPCODE_SEND: case OPCODE_SEND_DONE:
    case OPCODE_RECV: case OPCODE_RECV_DONE: case OPCODE_ASYNC_START: case OPCODE_FUSION:
        return true;
    default:
        return false;
    }
}

static void find_needed(const struct hlo_computation *c, struct eval_plan *p)
{
    p->is_needed[c->root] = true;
    for (int k = c->count; k-- > 0;) {
        const struct hlo_instruction *i = &c->instruction[k];

        p->is_needed[k] |= has_effect(i);
        for (int o = 0; p->is_needed[k] && o < i->operand_count; o++)
            p->is_needed[i->operand[o]] = true;
    }
}

static void find_last_users(const struct hlo_computation *c, struct eval_plan *p)
{
    for (int k = 0; k < c->count; k++) {
        const struct hlo_instruction *i = &c->instruction[k];

        p->last_user[k] = -1;
        for (int o = 0; p->is_needed[k] && o < i->operand_count; o++)
            p->last_user[i->operand[o]] = k;
    }
    p->last_user[c->root] = c->count;
}

/*
 * The last get-tuple-element of a part takes it out of the tuple if all that ask for the tuple are
 * of that kind: so a loop's state, whose tuple lives on until its last part is asked for, can be
 * changed in its place.
 */
static void find_moves(const struct hlo_computation *c, struct eval_plan *p)
{
    bool *is_opened = mem_alloc((size_t)c->count * sizeof(*is_opened) + 1);

    for (int k = 0; k < c->count; k++)
        is_opened[k] = k != c->root;
    for (int k = 0; k < c->count; k++)
        for (int o = 0; p->is_needed[k] && o < c->instruction[k].operand_count; o++)
            if (c->instruction[k].op != OPCODE_GET_TUPLE_ELEMENT)
                is_opened[c->instruction[k].operand[o]] = false;
    for (int k = 0; k < c->count; k++) {
        const struct hlo_instruction *i = &c->instruction[k];

        if (i->op != OPCODE_GET_TUPLE_ELEMENT || !is_opened[i->operand[0]] || !p->is_needed[k])
            continue;
        p->moves[k] = true;
        for (int l = k + 1; l <= p->last_user[i->operand[0]] && p->moves[k]; l++) {
            const struct hlo_instruction *other = &c->instruction[l];

            p->moves[k] = !(other->op == OPCODE_GET_TUPLE_ELEMENT && p->is_needed[l] &&
                            other->operand[0] == i->operand[0] && other->index == i->index);
        }
    }
    mem_free(is_opened);
}

void eval_plan_make(struct eval *ev, int computation)
{
    const struct hlo_computation *c = &ev->m->computation[computation];
    struct eval_plan *p = &ev->plan[computation];
    size_t count = (size_t)c->count;

    if (p->is_made)
        return;
    p->is_made = true;
    p->last_user = arena_array(&ev->scratch, count, sizeof(*p->last_user));
    p->is_needed = arena_array(&ev->scratch, count, sizeof(*p->is_needed));
    p->moves = arena_array(&ev->scratch, count, sizeof(*p->moves));
    find_needed(c, p);
    find_last_users(c, p);
    find_moves(c, p);
}
