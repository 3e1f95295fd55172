/* Makes the rows of Keras's table out of layers: a model inside the model is one of them. */
#include "keras/model/summary_impl.h"

#include <string.h>

/* the row that a layer is in, and its class */
static const char *title_of(const struct model *m, const struct layer *l, const char **class,
                            struct arena *a)
{
    int part = model_part_of(m, l->name);

    *class = part < 0 ? layer_whole_class(l) : m->part[part].class;
    return part < 0 ? l->name
                    : arena_printf(a, "%.*s", (int)strlen(m->part[part].prefix) - 1, l->name);
}

static const struct layer *layer_of(const struct model *m, int node)
{
    return m->layer[m->node[node].layer];
}

static int calls_before(const struct model *m, int node)
{
    int count = 0;

    for (int i = 0; i < node; i++)
        count += m->node[i].layer == m->node[node].layer;
    return count;
}

/* Do two calls of layers belong to one call of a model inside the model? */
static bool is_same_call(const struct model *m, int a, int b)
{
    int part = model_part_of(m, layer_of(m, a)->name);

    return part >= 0 && part == model_part_of(m, layer_of(m, b)->name) &&
           calls_before(m, a) == calls_before(m, b);
}

/* does a call give what somebody outside takes? */
static bool leaves(const struct model *m, int node)
{
    for (int i = 0; i < m->output_count; i++)
        if (m->output[i] == node)
            return true;
    for (int i = node + 1; i < m->node_count; i++)
        for (int k = 0; k < m->node[i].input_count; k++)
            if (m->node[i].input[k] == node && !is_same_call(m, node, i))
                return true;
    return false;
}

/* the how many-th output of its row it is: a layer has one, a part those that leave it */
static int output_before(const struct model *m, int node)
{
    int count = 0;

    for (int i = 0; i < node; i++)
        count += is_same_call(m, i, node) && leaves(m, i);
    return count;
}

/* a part takes what it is called on once, however many of its layers do */
static bool is_taken_before(const struct model *m, int node, int input)
{
    int from = m->node[node].input[input];

    for (int i = 0; i <= node; i++)
        for (int k = 0; k < (i < node ? m->node[i].input_count : input); k++)
            if (m->node[i].input[k] == from && is_same_call(m, i, node))
                return true;
    return false;
}

static void add_sources(const struct model *m, int node, struct summary_shown *row,
                        struct arena *a)
{
    const struct model_node *n = &m->node[node];
    const char *class;

    for (int i = 0; i < n->input_count; i++)
        if (!is_same_call(m, node, n->input[i]) && !is_taken_before(m, node, i))
            row->from = arena_printf(a, "%s%s%s[%d][%d]", row->from, *row->from ? ", " : "",
                                     title_of(m, layer_of(m, n->input[i]), &class, a),
                                     calls_before(m, n->input[i]), output_before(m, n->input[i]));
}

static void add_up(struct summary_row *to, const struct summary_row *from)
{
    to->parameters += from->parameters;
    to->trainable += from->trainable;
    to->flops += from->flops;
    to->forward_cycles += from->forward_cycles;
    to->backward_cycles += from->backward_cycles;
    for (int c = 0; c < 4; c++)
        to->cost[c] += from->cost[c];
}

static struct summary_shown *row_of(struct summary_shown *row, int *count, const char *name,
                                    const char *class)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(row[i].name, name) == 0)
            return &row[i];
    row[*count] = (struct summary_shown){.name = name, .class = class, .from = ""};
    return &row[(*count)++];
}

int summary_show(const struct summary *s, struct arena *a, struct summary_shown **list)
{
    const struct model *m = s->model;
    struct summary_shown *row = arena_array(a, (size_t)s->row_count + 1, sizeof(*row));
    const char *name, *class;
    int count = 0;

    for (int i = 0; i < s->row_count; i++) {
        const struct summary_row *r = &s->row[i];

        if (!r->layer || (m->is_chain && r->layer->kind == LAYER_INPUT))
            continue;
        name = title_of(m, r->layer, &class, a);
        add_up(&row_of(row, &count, name, class)->sum, r);
    }
    for (int i = 0; i < m->node_count; i++) {
        const struct layer *l = layer_of(m, i);
        struct summary_shown *to;

        if (m->is_chain && l->kind == LAYER_INPUT)
            continue;
        name = title_of(m, l, &class, a);
        to = row_of(row, &count, name, class);
        if (to->sum.output.rank == 0 && leaves(m, i))
            to->sum.output = m->node[i].shape;
        add_sources(m, i, to, a);
    }
    for (int i = 0; i < count; i++)
        row[i].from = *row[i].from ? row[i].from : "-";
    row[count].from = "";
    add_up(&row[count].sum, &s->row[s->row_count - 1]);
    *list = row;
    return count + (row[count].sum.forward_cycles || row[count].sum.backward_cycles);
}

bool summary_is_chain(const struct model *m)
{
    int *uses = mem_alloc((size_t)m->node_count * sizeof(*uses) + 1);
    bool is_chain = true;

    for (int i = 0; i < m->node_count; i++) {
        is_chain = is_chain && m->node[i].input_count <= 1 && calls_before(m, i) == 0;
        if (m->node[i].input_count > 0)
            uses[m->node[i].input[0]]++;
    }
    for (int i = 0; i < m->node_count; i++)
        is_chain = is_chain && uses[i] <= 1;
    mem_free(uses);
    return m->is_chain || (is_chain && m->input_count == 1);
}
