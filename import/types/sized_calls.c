/*
 * What computations and their callers give each other, where one bounds dimensions that the other
 * has whole: the branches of a conditional may each leave an array of their own size, of which only
 * the conditional's type says all that is bounded.
 */
#include "import/types/sized.h"

/* x of type `have` as one of type `want`: tuples part by part */
static int as_type(struct hlo_builder *b, int x, const struct hlo_type *have,
                   const struct hlo_type *want)
{
    int *part, count = have->part_count;

    if (hlo_type_equal(have, want) || count != want->part_count || have->rank != want->rank)
        return x;
    if (!hlo_type_is_tuple(have)) {
        struct sized v = sized_take(b, have, x);

        return sized_make(b, want, v);
    }
    part = arena_array(b->module->arena, (size_t)count + 1, sizeof(*part));
    for (int k = 0; k < count; k++) {
        part[k] = hlo_tuple_element(b, x, k);
        part[k] = as_type(b, part[k], &have->part[k], &want->part[k]);
    }
    return hlo_tuple(b, count, part);
}

/* the computation's parameter that takes the operand; NULL: none, or no call */
static const struct hlo_type *taker(const struct hlo_module *m, const struct hlo_instruction *i,
                                    int operand)
{
    const struct hlo_computation *c;
    int role = i->op == OPCODE_CONDITIONAL ? operand - 1 : 0;
    int parameter = i->op == OPCODE_CALL || i->op == OPCODE_FUSION ? operand : 0;

    if (i->op != OPCODE_CONDITIONAL && i->op != OPCODE_WHILE && i->op != OPCODE_CALL &&
        i->op != OPCODE_FUSION)
        return NULL;
    if (role < 0 || role >= hlo_detail(i)->computation_count)
        return NULL;
    c = &m->computation[hlo_detail(i)->computation[role]];
    if (parameter >= c->parameter_count || c->parameter[parameter] < 0)
        return NULL;
    return c->instruction[c->parameter[parameter]].type;
}

const int *sized_operands(struct expand_site *s)
{
    int *operand = arena_array(s->b->module->arena, (size_t)s->from->operand_count + 1,
                               sizeof(*operand));

    for (int k = 0; k < s->from->operand_count; k++) {
        const struct hlo_type *want = taker(s->old, s->from, k);

        operand[k] = s->operand[k];
        if (want)
            operand[k] = as_type(s->b, operand[k], expand_operand_type(s, k), want);
    }
    return operand;
}

const struct hlo_type **sized_wanted(const struct hlo_module *m, struct arena *a)
{
    const struct hlo_type **wanted = arena_array(a, (size_t)m->computation_count + 1,
                                                 sizeof(const struct hlo_type *));

    for (int c = 0; c < m->computation_count; c++)
        for (int k = 0; k < m->computation[c].count; k++) {
            const struct hlo_instruction *i = &m->computation[c].instruction[k];
            int count = hlo_detail(i)->computation_count;

            if (i->op != OPCODE_CONDITIONAL && i->op != OPCODE_WHILE && i->op != OPCODE_CALL &&
                i->op != OPCODE_FUSION)
                continue;
            for (int r = 0; r < count && (r == 0 || i->op == OPCODE_CONDITIONAL); r++)
                wanted[hlo_detail(i)->computation[r]] = i->type;
        }
    return wanted;
}

int sized_result(struct hlo_builder *b, int x, const struct hlo_type *have,
                 const struct hlo_type *want)
{
    return want ? as_type(b, x, have, want) : x;
}
