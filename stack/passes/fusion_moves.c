/*
 * Says what joins a move that reads its array: another move, where that array would be mostly
 * padding, as halves that are interleaved are, [rows, 64, 2] on the way to [rows, 128]; work on a
 * single array, as the scale of an attention's queries before heads and positions change places.
 */
#include "stack/passes/fusion.h"

#include "stack/passes/moves/move_steps.h"

#define PADDED_TIMES 4                  /* the memory of an array over that of its elements */
#define WORK_OPERANDS 3                 /* of an elementwise operation */

static bool is_move(const struct graph_node *n)
{
    return graph_op_kind(n->op) == KIND_SHAPE && fusion_is_hero(n);
}

static bool is_mostly_padding(const struct shape *s)
{
    struct array a;

    array_init(&a, "", s, NULL);
    return a.bytes >= PADDED_TIMES * shape_elems(s) * array_element_bytes(s->dtype);
}

/* one pass over the operands makes the whole group, at the speed of the memory */
static bool is_streamed(const struct fusion *f, const struct fusion_group *p)
{
    const struct pass_context *c = f->context;
    struct move_machine machine = {c->chip, c->codegen, c->vmem_rows};
    struct fusion_body body;
    struct arena a;
    bool is_made;

    arena_init(&a);
    is_made = fusion_make_body(f, p, &a, &body) && body.root_count == 1 &&
              move_streamed_cycles(body.graph, &machine) < INT64_MAX;
    arena_fini(&a);
    return is_made;
}

bool fusion_skips_padding(struct fusion *f, struct fusion_group *p, int node)
{
    const struct graph_node *n = &f->g->node[node];

    if (f->context->heroes_alone || f->is_free[node] || f->is_output[node] ||
        f->node[node].user_count != 1 || !is_move(n) || !is_mostly_padding(&n->shape))
        return false;
    for (int i = 0; i < p->member_count; i++)
        if (!is_move(&f->g->node[p->member[i]]))
            return false;
    fusion_insert(f, p, node);
    if (is_streamed(f, p))
        return true;
    fusion_remove(f, p, node);
    return false;
}

static bool is_number(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    return n->op == HLO_BROADCAST && f->g->node[n->operand[0]].op == HLO_CONSTANT &&
           !f->g->node[n->operand[0]].literal;
}

/* made of one array and of numbers, which are `number` then */
static bool is_work(const struct fusion *f, int node, int number[WORK_OPERANDS], int *numbers)
{
    const struct graph_node *n = &f->g->node[node];
    int arrays = 0;

    *numbers = 0;
    if (!graph_op_is_elementwise(n->op) || n->operand_count > WORK_OPERANDS)
        return false;
    for (int k = 0; k < n->operand_count; k++)
        if (is_number(f, n->operand[k]))
            number[(*numbers)++] = n->operand[k];
        else
            arrays++;
    return arrays == 1;
}

/* rounds what is computed behind a product: its kernel stores the narrow array */
static bool narrows_results(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node], *from = &f->g->node[n->operand[0]];

    return n->op == HLO_CONVERT &&
           array_element_bytes(n->shape.dtype) < array_element_bytes(from->shape.dtype) &&
           f->behind_hero[n->operand[0]];
}

bool fusion_works_before_move(struct fusion *f, struct fusion_group *p, int node)
{
    int number[WORK_OPERANDS], inserted[2 * WORK_OPERANDS + 1], numbers, count = 0;

    if (f->context->heroes_alone || f->is_free[node] || f->is_output[node] ||
        f->node[node].user_count != 1 || narrows_results(f, node) ||
        !is_work(f, node, number, &numbers))
        return false;
    for (int i = 0; i < p->member_count; i++) {
        const struct graph_node *m = &f->g->node[p->member[i]];

        if (fusion_is_hero(m) && !is_move(m))
            return false;
    }
    inserted[count++] = node;
    for (int i = 0; i < numbers; i++) {
        inserted[count++] = number[i];
        inserted[count++] = f->g->node[number[i]].operand[0];
    }
    for (int i = 0; i < count; i++)
        if (!fusion_has(p, inserted[i]))
            fusion_insert(f, p, inserted[i]);
        else
            inserted[i] = NODE_NONE;
    if (p->has_hero && is_streamed(f, p))
        return true;
    for (int i = 0; i < count; i++)
        if (inserted[i] != NODE_NONE)
            fusion_remove(f, p, inserted[i]);
    return false;
}

bool fusion_works_before_reshape(struct fusion *f, int node)
{
    int reshape = f->node[node].user_count == 1 ? f->node[node].user[0] : NODE_NONE, group;

    if (reshape == NODE_NONE || f->is_output[node] || f->g->node[reshape].op != HLO_RESHAPE ||
        !f->is_free[reshape] || f->is_output[reshape] || f->node[reshape].user_count != 1 ||
        f->node[f->node[reshape].user[0]].in_count != 1)
        return false;
    group = f->node[f->node[reshape].user[0]].in[0];
    fusion_insert(f, &f->group[group], reshape);
    f->is_free[reshape] = false;
    if (fusion_works_before_move(f, &f->group[group], node)) {
        f->node[node].owner = f->node[reshape].owner = group;
        return true;
    }
    fusion_remove(f, &f->group[group], reshape);
    f->is_free[reshape] = true;
    return false;
}
