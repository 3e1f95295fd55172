/*
 * Checks a whole graph: operands come before users, shapes are what their rules give, names
 * differ.
 */
#include "stack/hlo/graph.h"

#include "stack/hlo/graph_attributes.h"
#include "stack/hlo/graph_shape.h"

#include <stdlib.h>
#include <string.h>

static int check_operands(const struct graph *g, const struct graph_node *n, int index,
                          struct err *e)
{
    int arity = graph_op_arity(n->op);

    if (arity >= 0 && n->operand_count != arity)
        return err_set(e, "%s: %d operands, but %s takes %d", n->name, n->operand_count,
                       graph_op_name(n->op), arity);
    for (int i = 0; i < n->operand_count; i++) {
        if (n->operand[i] < 0 || n->operand[i] >= index)
            return err_set(e, "%s: operand %d is node %d, which does not come before node %d",
                           n->name, i, n->operand[i], index);
        if (g->node[n->operand[i]].tuple_count > 0 && n->op != HLO_GET_TUPLE_ELEMENT)
            return err_set(e, "%s: operand %d, %s, has several results; get-tuple-element takes "
                           "one", n->name, i, g->node[n->operand[i]].name);
    }
    return 0;
}

static int check_results(const struct graph *g, const struct graph_node *n, struct err *e)
{
    int count = graph_result_count(n);

    if (n->tuple_count != count)
        return err_set(e, "%s: a tuple of %d results, but it has %d", n->name, n->tuple_count,
                       count);
    for (int i = 0; i < count; i++) {
        struct shape shape = graph_result_shape(g, n, i);
        char is[128], should[128];

        if (!shape_equal(&shape, &n->tuple[i]))
            return err_set(e, "%s: result %d is %s, but its operands make it %s", n->name, i,
                           shape_print(&n->tuple[i], is, sizeof(is)),
                           shape_print(&shape, should, sizeof(should)));
    }
    return 0;
}

static int check_called(const struct graph_node *n, struct err *e)
{
    for (int i = 0; i < GRAPH_CALLED_MAX; i++) {
        struct err inner;

        if (n->called[i] && graph_verify(n->called[i], &inner) != 0)
            return err_set(e, "%s: in %s: %.300s", n->name, n->called[i]->name, inner.msg);
    }
    return 0;
}

static int check_node(const struct graph *g, int index, struct err *e)
{
    const struct graph_node *n = &g->node[index];
    char is[128], should[128];
    struct shape shape;

    if (!n->name)
        return err_set(e, "node %d has no name", index);
    if (!n->source)
        return err_set(e, "%s: no source", n->name);
    if ((unsigned)n->op >= HLO_COUNT)
        return err_set(e, "%s: unknown operation %d", n->name, (int)n->op);
    if (check_operands(g, n, index, e) != 0)
        return -1;
    if ((unsigned)n->shape.dtype >= DTYPE_COUNT)
        return err_set(e, "%s: unknown element type %d", n->name, (int)n->shape.dtype);
    if (graph_infer(g, n, &shape, e) != 0)
        return -1;
    if (!shape_equal(&shape, &n->shape))
        return err_set(e, "%s: shape is %s, but its operands make it %s", n->name,
                       shape_print(&n->shape, is, sizeof(is)),
                       shape_print(&shape, should, sizeof(should)));
    if (graph_stray_attribute(n))
        return err_set(e, "%s: has a value for %s, which is no attribute of %s", n->name,
                       graph_stray_attribute(n), graph_op_name(n->op));
    if (check_results(g, n, e) != 0 || check_called(n, e) != 0)
        return -1;
    if (n->op == HLO_PARAMETER && (n->parameter_index < 0 ||
                                   n->parameter_index >= g->parameter_count ||
                                   g->parameter[n->parameter_index] != index))
        return err_set(e, "%s: is not parameter %d of the graph", n->name, n->parameter_index);
    return 0;
}

static int check_parameters(const struct graph *g, struct err *e)
{
    for (int i = 0; i < g->parameter_count; i++) {
        int node = g->parameter[i];

        if (node < 0 || node >= g->node_count || g->node[node].op != HLO_PARAMETER ||
            g->node[node].parameter_index != i)
            return err_set(e, "parameter %d is node %d, which says otherwise", i, node);
    }
    return 0;
}

static int check_output(const struct graph *g, int index, struct err *e)
{
    const struct graph_output *o = &g->output[index];
    char is[128], should[128];
    const struct shape *target;

    if (!o->name)
        return err_set(e, "output %d has no name", index);
    if (o->node < 0 || o->node >= g->node_count)
        return err_set(e, "output %s: node %d does not exist", o->name, o->node);
    if (g->node[o->node].tuple_count > 0)
        return err_set(e, "output %s: %s has several results; get-tuple-element takes one",
                       o->name, g->node[o->node].name);
    if (o->alias_parameter == -1)
        return 0;
    if (o->alias_parameter < -1 || o->alias_parameter >= g->parameter_count)
        return err_set(e, "output %s: parameter %d does not exist", o->name, o->alias_parameter);
    target = &g->node[g->parameter[o->alias_parameter]].shape;
    if (!shape_equal(target, &g->node[o->node].shape))
        return err_set(e, "output %s: shape %s overwrites a parameter of shape %s", o->name,
                       shape_print(&g->node[o->node].shape, is, sizeof(is)),
                       shape_print(target, should, sizeof(should)));
    for (int i = 0; i < index; i++)
        if (g->output[i].alias_parameter == o->alias_parameter)
            return err_set(e, "outputs %s and %s overwrite the same parameter",
                           g->output[i].name, o->name);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names_differ(const struct graph *g, struct err *e)
{
    size_t count = (size_t)g->node_count;
    const char **name = mem_alloc(count * sizeof(*name));
    int result = 0;

    for (size_t i = 0; i < count; i++)
        name[i] = g->node[i].name;
    qsort(name, count, sizeof(*name), compare_names);
    for (size_t i = 1; i < count && result == 0; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            result = err_set(e, "two nodes are named %s", name[i]);
    mem_free(name);
    return result;
}

int graph_verify(const struct graph *g, struct err *e)
{
    for (int i = 0; i < g->node_count; i++)
        if (check_node(g, i, e) != 0)
            return -1;
    if (check_parameters(g, e) != 0)
        return -1;
    for (int i = 0; i < g->output_count; i++)
        if (check_output(g, i, e) != 0)
            return -1;
    return check_names_differ(g, e);
}
