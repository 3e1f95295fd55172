/*
 * Constants whose elements the file leaves out ("{...}"), for timing alone: nobody sees what is
 * computed, so noughts and ones in no order stand for them. They are constants still, in a loop's
 * body as well as in the entry, and no pass may find them all alike.
 */
#include "exec/program_graph.h"

static bool is_elided(const struct hlo_instruction *i)
{
    return i->op == OPCODE_CONSTANT && !hlo_type_is_tuple(i->type) && i->literal &&
           !i->literal->data;
}

static void assume(struct hlo_instruction *i, struct arena *a)
{
    struct hlo_literal *l = arena_copy(a, i->literal, 1, sizeof(*l));
    int64_t count = hlo_type_elements(i->type);
    size_t bytes = hlo_element_bytes(i->type->element);
    char *data = arena_array(a, (size_t)count, bytes);
    uint32_t state = 1;

    for (int64_t k = 0; k < count; k++) {
        state = state * 1664525u + 1013904223u;         /* the usual congruence; its high bit */
        hlo_element_store_int(i->type->element, state >> 31, data + (size_t)k * bytes);
    }
    l->data = data;
    l->is_splat = false;
    i->literal = l;
}

void program_graph_assume(struct program_graph *p, struct arena *a)
{
    for (int c = 0; c < p->module->computation_count; c++)
        for (int k = 0; k < p->module->computation[c].count; k++) {
            struct hlo_instruction *i = &p->module->computation[c].instruction[k];

            if (!is_elided(i))
                continue;
            assume(i, a);
            p->assumed++;
            if (!p->first_assumed)
                p->first_assumed = hlo_name_in(a, i);
        }
}
