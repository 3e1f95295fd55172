/* Orders computations by their calls, without recursion: chains of calls may be long. */
#include "import/program/order.h"

/* A computation on the way from a caller to its callees, and which of its calls comes next. */
struct visit {
    int computation, instruction, callee;
};

enum { UNSEEN, OPEN, DONE };

/* the next computation that the visited one calls, -1: no more */
static int next_callee(const struct hlo_module *m, struct visit *v)
{
    const struct hlo_computation *c = &m->computation[v->computation];

    for (; v->instruction < c->count; v->instruction++, v->callee = 0) {
        const struct hlo_instruction *i = &c->instruction[v->instruction];

        if (v->callee < hlo_detail(i)->computation_count)
            return hlo_detail(i)->computation[v->callee++];
    }
    return -1;
}

static int visit_from(const struct hlo_module *m, int first, unsigned char *state, struct visit *way,
                      int *order, int count)
{
    int depth = 0;

    way[depth++] = (struct visit){first, 0, 0};
    state[first] = OPEN;
    while (depth > 0) {
        int callee = next_callee(m, &way[depth - 1]);

        if (callee < 0) {
            state[way[--depth].computation] = DONE;
            order[count++] = way[depth].computation;
        } else if (state[callee] == OPEN) {
            order[0] = way[depth - 1].computation;
            order[m->computation_count > 1] = callee;
            return -1;
        } else if (state[callee] == UNSEEN) {
            state[callee] = OPEN;
            way[depth++] = (struct visit){callee, 0, 0};
        }
    }
    return count;
}

int hlo_call_order(const struct hlo_module *m, int *order)
{
    size_t all = (size_t)m->computation_count;
    unsigned char *state = mem_alloc(all);
    struct visit *way = mem_alloc(all * sizeof(*way));
    int count = 0;

    for (int c = 0; c < m->computation_count && count >= 0; c++) {
        if (state[c] == UNSEEN)
            count = visit_from(m, c, state, way, order, count);
    }
    mem_free(state);
    mem_free(way);
    return count < 0 ? -1 : 0;
}
