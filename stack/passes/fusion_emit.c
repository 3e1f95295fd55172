/* Makes fusion nodes of groups, each behind what it reads. */
#include "stack/passes/fusion.h"
#include "stack/hlo/rewrite.h"

struct emission {
    struct fusion *f;
    struct rewrite w;
    bool *is_done;                      /* by group */
};

static void emit_node(struct emission *m, int node);

static void emit_operands(struct emission *m, int node, const struct fusion_group *p)
{
    const struct graph_node *n = &m->f->g->node[node];

    for (int k = 0; k < n->operand_count; k++)
        if (!p || !fusion_has(p, n->operand[k]))
            emit_node(m, n->operand[k]);
}

/* the source of a fusion: of its most particular member */
static const char *source_of(const struct fusion *f, const struct fusion_group *p)
{
    const char *source = f->g->node[p->member[p->member_count - 1]].source;

    for (int i = 0; i < p->member_count; i++)
        if (fusion_is_hero(&f->g->node[p->member[i]]))
            source = f->g->node[p->member[i]].source;
    return source;
}

static void emit_fusion(struct emission *m, const struct fusion_group *p)
{
    struct graph *to = &m->w.to;
    int operand[FUSION_ARRAYS_MAX], node;
    struct fusion_body body;

    fusion_make_body(m->f, p, to->arena, &body);
    for (int i = 0; i < body.operand_count; i++)
        operand[i] = m->w.moved[body.operand[i]];
    to->source = source_of(m->f, p);
    to->unit = p->unit;
    node = graph_fusion(to, operand, body.operand_count, body.graph);
    for (int i = 0; i < body.root_count; i++)
        m->w.moved[body.root[i]] = body.root_count == 1 ? node : graph_tuple_element(to, node, i);
}

static void emit_group(struct emission *m, int group)
{
    const struct fusion_group *p = &m->f->group[group];

    if (m->is_done[group])
        return;
    m->is_done[group] = true;
    for (int i = 0; i < p->member_count; i++)
        emit_operands(m, p->member[i], p);
    if (p->member_count == 1)
        rewrite_copy(&m->w, p->member[0]);
    else
        emit_fusion(m, p);
}

static void emit_node(struct emission *m, int node)
{
    if (m->w.moved[node] != NODE_NONE)
        return;
    if (m->f->node[node].owner >= 0) {
        emit_group(m, m->f->node[node].owner);
    } else {
        emit_operands(m, node, NULL);
        rewrite_copy(&m->w, node);
    }
}

void fusion_emit(struct fusion *f)
{
    struct emission m = {.f = f, .is_done = mem_alloc((size_t)f->group_count + 1)};

    rewrite_begin(&m.w, f->g);
    for (int i = 0; i < f->g->node_count; i++)
        if (f->is_free[i] || f->node[i].owner >= 0)
            emit_node(&m, i);
    rewrite_end(&m.w);
    mem_free(m.is_done);
}
