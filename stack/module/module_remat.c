/*
 * Rematerialisation: what does not fit HBM is computed again.
 *
 * At the fullest moment, of the values that lie there unused the largest is
 * taken whose kernel is no product, window or sort and whose operands are still
 * in memory when it is next read. Its first life ends with the last reader
 * before that moment; a second step, just before the next reader, makes it again.
 */
#include "stack/module/module_impl.h"

#include "stack/hlo/rewrite.h"
#include "stack/kernels/registry.h"

#include <string.h>

static bool reads(const struct module_plan *p, const struct module_step *s,
                  const struct module_buffer *b)
{
    for (int k = 0; k < s->operand_count; k++)
        if (module_plan_buffer(p, s->operand[k]) == b)
            return true;
    return false;
}

static bool writes(const struct module_plan *p, const struct module_step *s,
                   const struct module_buffer *b)
{
    for (int k = 0; k < s->result_count; k++)
        if (module_plan_buffer(p, s->result[k]) == b)
            return true;
    return false;
}

static int next_reader(const struct module_plan *p, const struct module_buffer *b, int behind)
{
    for (int i = behind + 1; i < p->step_count; i++)
        if (reads(p, &p->step[i], b))
            return i;
    return -1;
}

static bool has_loop_between(const struct module_plan *p, int first, int last)
{
    for (int i = first; i <= last; i++)
        if (p->step[i].kind != STEP_KERNEL)
            return true;
    return false;
}

/* what the step reads holds the same when step `at` begins */
static bool operands_remain(const struct module_plan *p, int maker, int at)
{
    const struct module_step *s = &p->step[maker];

    for (int k = 0; k < s->operand_count; k++) {
        const struct module_buffer *b = module_plan_buffer(p, s->operand[k]);

        if (b->last < at)
            return false;
        for (int i = maker; i < at; i++)
            if (writes(p, &p->step[i], b))
                return false;
    }
    return true;
}

/* the step that alone makes it and can be done again at `at`; -1: none */
static int maker_of(const struct module_plan *p, const struct module_buffer *b, int at)
{
    int maker = b->first;
    const struct module_step *s = &p->step[maker];
    const struct kernel_kind *kind;

    if (s->kind != STEP_KERNEL || !writes(p, s, b) || has_loop_between(p, maker, at))
        return -1;
    for (int i = maker + 1; i <= b->last && i < p->step_count; i++)
        if (writes(p, &p->step[i], b))
            return -1;
    kind = kernel_kind_of(s->body);
    if (!kind || (strcmp(kind->name, "loop") != 0 && strcmp(kind->name, "move") != 0))
        return -1;
    return operands_remain(p, maker, at) ? maker : -1;
}

/* a kernel with this result alone: what else the step makes, and reads for it, is left out */
static void keep_one_result(struct module_plan *p, struct module_step *s, int result)
{
    const struct graph *from = s->body;
    struct graph *body = arena_alloc(p->arena, sizeof(*body));
    bool *is_needed = mem_alloc((size_t)from->node_count);
    int *moved = mem_alloc((size_t)from->node_count * sizeof(*moved)), count = 0;
    struct module_value **operand =
        arena_array(p->arena, (size_t)s->operand_count + 1, sizeof(*operand));

    is_needed[from->output[result].node] = true;
    for (int i = from->node_count - 1; i >= 0; i--)
        for (int k = 0; is_needed[i] && k < from->node[i].operand_count; k++)
            is_needed[from->node[i].operand[k]] = true;
    graph_init(body, p->arena, from->name);
    for (int i = 0; i < from->node_count; i++) {
        const struct graph_node *n = &from->node[i];
        int *list = arena_array(p->arena, (size_t)n->operand_count + 1, sizeof(*list));

        if (!is_needed[i])
            continue;
        graph_stand_for(body, n);
        for (int k = 0; k < n->operand_count; k++)
            list[k] = moved[n->operand[k]];
        if (n->op == HLO_PARAMETER) {
            moved[i] = graph_parameter(body, n->shape, n->name);
            operand[count++] = s->operand[n->parameter_index];
        } else {
            moved[i] = graph_add(body, n, list, n->operand_count);
        }
    }
    graph_output(body, moved[from->output[result].node], from->output[result].name, -1);
    graph_freeze(body);
    mem_free(moved);
    mem_free(is_needed);
    s->body = body;
    s->operand = operand;
    s->operand_count = count;
    s->result_count = 1;
    s->is_fusion = false;
}

/* the same kernel before step `at`, into a buffer of its own that later readers have */
static void insert_again(struct module_plan *p, int maker, const struct module_buffer *b, int at)
{
    struct module_value *old = NULL, *v = arena_alloc(p->arena, sizeof(*v));
    struct module_step again = p->step[maker];

    for (int k = 0; k < again.result_count && !old; k++)
        if (module_plan_buffer(p, again.result[k]) == b) {
            old = again.result[k];
            keep_one_result(p, &again, k);
        }
    again.result = arena_array(p->arena, 1, sizeof(*again.result));
    again.result[0] = v;
    again.name = arena_printf(p->arena, "%s.remat", again.name);
    for (int i = at; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++) {
            struct module_value **operand = &p->step[i].operand[k];

            if (module_plan_buffer(p, *operand) != b)
                continue;
            if (*operand != old) {              /* the same under another shape */
                struct module_value *other = arena_alloc(p->arena, sizeof(*other));

                *other = **operand;
                other->buffer = p->buffer_count;
                module_plan_keep_value(p, other);
                *operand = other;
            } else {
                *operand = v;
            }
        }
    *v = *old;
    v->buffer = p->buffer_count;
    module_plan_keep_value(p, v);
    module_plan_insert_step(p, at, again);
    module_plan_add_buffer(p, BUFFER_TEMPORARY, old->array.bytes);
}

bool module_plan_rematerialise(struct module_plan *p)
{
    int full = module_plan_fullest_step(p, NULL), maker = -1, at = -1;
    const struct module_buffer *best = NULL;
    int64_t most = 0;

    for (int k = 0; k < p->buffer_count; k++) {
        const struct module_buffer *b = &p->buffer[k];
        int reader, candidate;

        if (!module_buffer_lives(b) || b->role != BUFFER_TEMPORARY || b->space != SPACE_HBM ||
            b->first >= full || b->last <= full || reads(p, &p->step[full], b) ||
            b->bytes <= most)
            continue;
        reader = next_reader(p, b, full);
        candidate = reader < 0 ? -1 : maker_of(p, b, reader);
        if (candidate >= 0) {
            most = b->bytes;
            best = b;
            maker = candidate;
            at = reader;
        }
    }
    if (maker < 0)
        return false;
    insert_again(p, maker, best, at);
    return true;
}
