/*
 * Says when a move joins the move that reads its array: where that array would be mostly padding,
 * as halves that are interleaved are, [rows, 64, 2] on the way to [rows, 128].
 */
#include "stack/passes/fusion.h"

#include "stack/passes/move_steps.h"

#define PADDED_TIMES 4                  /* the memory of an array over that of its elements */

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
    struct fusion_body body;
    struct arena a;
    bool is_made;

    arena_init(&a);
    is_made = fusion_make_body(f, p, &a, &body) && body.root_count == 1 &&
              move_streamed_cycles(body.graph, f->context) < INT64_MAX;
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
