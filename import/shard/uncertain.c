/*
 * Branches, and bodies of loops that a computed condition ends, exchange nothing that the program
 * does not say itself: devices follow each other through collectives by their order, which is known
 * before only where it is known what runs. What such computations take is brought whole to every
 * device, which computes all of it.
 */
#include "import/structure/structure.h"
#include "import/shard/shard_impl.h"

static bool is_control(enum hlo_opcode op)
{
    return op == OPCODE_WHILE || op == OPCODE_CONDITIONAL;
}

static bool has_exchange(const struct hlo_module *m, int computation)
{
    const struct hlo_computation *c = &m->computation[computation];

    for (int i = 0; i < c->count; i++) {
        const struct hlo_instruction *n = &c->instruction[i];

        if (hlo_detail(n)->groups)
            return true;
        for (int k = 0; is_control(n->op) && k < hlo_detail(n)->computation_count; k++)
            if (has_exchange(m, hlo_detail(n)->computation[k]))
                return true;
    }
    return false;
}

static bool make_whole(struct shard_state *s, int computation)
{
    const struct hlo_computation *c = &s->module->computation[computation];
    bool is_new = !s->is_whole[computation];

    s->is_whole[computation] = true;
    for (int i = 0; i < c->count; i++)
        for (int k = 0; is_control(c->instruction[i].op) &&
                        k < hlo_detail(&c->instruction[i])->computation_count; k++)
            is_new |= make_whole(s, hlo_detail(&c->instruction[i])->computation[k]);
    return is_new;
}

static bool is_certain(const struct shard_state *s, int computation,
                       const struct hlo_instruction *n)
{
    return !is_control(n->op) ||
           (n->op == OPCODE_WHILE && structure_find_trips(s->module, computation, n) >= 0);
}

bool shard_find_uncertain(struct shard_state *s, const struct hlo_module *made)
{
    bool is_new = false;

    for (int c = 0; c < s->module->computation_count; c++)
        for (int i = 0; s->computation[c].is_cut && i < s->module->computation[c].count; i++) {
            const struct hlo_instruction *n = &s->module->computation[c].instruction[i];

            if (is_certain(s, c, n))
                continue;
            for (int k = 0; k < hlo_detail(n)->computation_count; k++)
                if (has_exchange(made, hlo_detail(n)->computation[k]))
                    is_new |= make_whole(s, hlo_detail(n)->computation[k]);
        }
    return is_new;
}
