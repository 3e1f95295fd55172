/* Instructions that no result needs, and computations that nobody calls, go. */
#include "import/program/build.h"
#include "import/program/shared.h"

#include <string.h>

/* what does more than compute its result stays, used or not */
static bool has_effect(const struct hlo_instruction *i)
{
    switch (i->op) {
    case OPCODE_PARAMETER: case OPCODE_INFEED: case OPCODE_OUTFEED: case OPCODE_SEND:
    case OPCODE_SEND_DONE: case OPCODE_RECV: case OPCODE_RECV_DONE:
    case OPCODE_RNG_GET_AND_UPDATE_STATE:
        return true;
    case OPCODE_CUSTOM_CALL:
        for (int k = 0; k < hlo_detail(i)->other.count; k++) {
            if (strcmp(hlo_detail(i)->other.item[k].key, "custom_call_has_side_effect") == 0)
                return strcmp(hlo_detail(i)->other.item[k].value, "true") == 0;
        }
        return false;
    default:
        return false;
    }
}

/* calls with effects inside stay, too: effect[] by computation, of those below it in a first pass */
static bool calls_effect(const struct hlo_instruction *i, const bool *effect)
{
    for (int k = 0; k < hlo_detail(i)->computation_count; k++) {
        if (effect[hlo_detail(i)->computation[k]])
            return true;
    }
    return false;
}

static void find_effects(const struct hlo_module *m, bool *effect)
{
    bool is_changed = true;

    while (is_changed) {
        is_changed = false;
        for (int c = 0; c < m->computation_count; c++) {
            for (int i = 0; i < m->computation[c].count && !effect[c]; i++) {
                const struct hlo_instruction *n = &m->computation[c].instruction[i];

                if ((n->op != OPCODE_PARAMETER && has_effect(n)) || calls_effect(n, effect))
                    effect[c] = is_changed = true;
            }
        }
    }
}

/* what goes before it, by its new number */
static struct hlo_detail *with_order(struct hlo_module *m, const struct hlo_instruction *n,
                                     const int *index)
{
    struct hlo_detail d = *hlo_detail(n);
    int64_t *before;
    struct hlo_detail *made;

    if (d.control.count == 0)
        return n->detail;
    before = mem_alloc((size_t)d.control.count * sizeof(*before));
    for (int k = 0; k < d.control.count; k++)
        before[k] = index[d.control.item[k]];
    d.control.item = before;
    made = hlo_keep_detail(m, &d);
    mem_free(before);
    return made;
}

static void eliminate_in(struct hlo_module *m, struct hlo_computation *c, const bool *effect)
{
    int *index = mem_alloc((size_t)(c->count + 1) * sizeof(*index)), kept = 0;

    for (int i = c->count - 1; i >= 0; i--) {   /* first as flags: 1 is needed */
        const struct hlo_instruction *n = &c->instruction[i];

        if (i == c->root || has_effect(n) || calls_effect(n, effect))
            index[i] = 1;
        for (int k = 0; index[i] && k < n->operand_count; k++)
            index[n->operand[k]] = 1;
        for (int k = 0; index[i] && k < hlo_detail(n)->control.count; k++)
            index[hlo_detail(n)->control.item[k]] = 1;
    }
    for (int i = 0; i < c->count; i++) {
        struct hlo_instruction n = c->instruction[i];
        int *operand;

        if (!index[i])
            continue;
        operand = arena_array(m->arena, (size_t)n.operand_count, sizeof(*operand));
        for (int k = 0; k < n.operand_count; k++)
            operand[k] = index[n.operand[k]];
        n.operand = operand;
        n.detail = with_order(m, &n, index);
        if (n.op == OPCODE_PARAMETER)
            c->parameter[n.index] = kept;
        if (i == c->root)
            c->root = kept;
        c->instruction[kept] = n;
        index[i] = kept++;
    }
    c->count = kept;
    mem_free(index);
}

static void mark_called(const struct hlo_module *m, int computation, bool *is_called)
{
    const struct hlo_computation *c = &m->computation[computation];

    if (is_called[computation])
        return;
    is_called[computation] = true;
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < hlo_detail(&c->instruction[i])->computation_count; k++)
            mark_called(m, hlo_detail(&c->instruction[i])->computation[k], is_called);
    }
}

static struct hlo_detail *renumbered(struct hlo_module *m, const struct hlo_instruction *n,
                                     const int *called)
{
    struct hlo_detail d = *hlo_detail(n);

    d.computation = called;
    return hlo_keep_detail(m, &d);
}

static void drop_uncalled(struct hlo_module *m, const bool *is_called)
{
    int *index = mem_alloc((size_t)(m->computation_count + 1) * sizeof(*index)), kept = 0;

    for (int c = 0; c < m->computation_count; c++) {
        if (is_called[c]) {
            index[c] = kept;
            m->computation[kept++] = m->computation[c];
        } else {
            mem_free(m->computation[c].instruction);
            mem_free(m->computation[c].parameter);
        }
    }
    m->computation_count = kept;
    m->entry = index[m->entry];
    for (int c = 0; c < kept; c++) {
        for (int i = 0; i < m->computation[c].count; i++) {
            struct hlo_instruction *n = &m->computation[c].instruction[i];
            int count = hlo_detail(n)->computation_count;
            int *called;

            if (count == 0)
                continue;
            called = mem_alloc((size_t)count * sizeof(*called));
            for (int k = 0; k < count; k++)
                called[k] = index[hlo_detail(n)->computation[k]];
            n->detail = renumbered(m, n, called);
            mem_free(called);
        }
    }
    mem_free(index);
}

void hlo_eliminate_dead(struct hlo_module *m)
{
    bool *flags = mem_alloc((size_t)m->computation_count + 1);
    bool was_packed = arena_pack(m->arena, true);

    find_effects(m, flags);
    for (int c = 0; c < m->computation_count; c++)
        eliminate_in(m, &m->computation[c], flags);
    memset(flags, 0, (size_t)m->computation_count);
    if (m->entry >= 0) {
        mark_called(m, m->entry, flags);
        drop_uncalled(m, flags);
    }
    arena_pack(m->arena, was_packed);
    mem_free(flags);
}
