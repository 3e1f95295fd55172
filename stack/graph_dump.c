#include "stack/graph.h"

static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
static const char *const reductions[] = {"add", "maximum", "minimum"};
static const char *const precisions[] = {"default", "high", "highest"};

/* HLO identifiers hold no slashes */
static void print_name(const char *name, FILE *to)
{
    fputc('%', to);
    for (; *name; name++)
        fputc(*name == '/' ? '.' : *name, to);
}

static void print_operands(const struct graph *g, const struct graph_node *n, FILE *to)
{
    for (int i = 0; i < n->operand_count; i++) {
        fputs(i ? ", " : "", to);
        print_name(g->node[n->operand[i]].name, to);
    }
}

static void print_dims(const char *label, const int *dims, int count, FILE *to)
{
    fprintf(to, ", %s={", label);
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%d", i ? "," : "", dims[i]);
    fputc('}', to);
}

static void print_reduced(const struct graph_node *n, FILE *to)
{
    int dims[GRAPH_RANK_MAX], count = 0;

    for (int i = 0; i < GRAPH_RANK_MAX; i++)
        if (n->reduce_mask & (1u << i))
            dims[count++] = i;
    print_dims("dimensions", dims, count, to);
    fprintf(to, ", to_apply=%s", reductions[n->reduce_kind]);
}

static void print_attributes(const struct graph *g, const struct graph_node *n, FILE *to)
{
    switch (n->op) {
    case HLO_IOTA:
        fprintf(to, ", iota_dimension=%d", n->dim);
        break;
    case HLO_BROADCAST:
    case HLO_TRANSPOSE:
        print_dims("dimensions", n->dims, g->node[n->operand[0]].shape.rank, to);
        break;
    case HLO_DOT:
        print_dims("lhs_contracting_dims", n->dot.lhs_contract, n->dot.contract_count, to);
        print_dims("rhs_contracting_dims", n->dot.rhs_contract, n->dot.contract_count, to);
        if (n->precision != PRECISION_DEFAULT)
            fprintf(to, ", operand_precision={%s,%s}", precisions[n->precision],
                    precisions[n->precision]);
        break;
    case HLO_COMPARE:
        fprintf(to, ", direction=%s", directions[n->direction]);
        break;
    case HLO_REDUCE:
        print_reduced(n, to);
        break;
    case HLO_ALL_REDUCE:
        fprintf(to, ", to_apply=add");
        break;
    default:
        break;
    }
}

static void print_node(const struct graph *g, const struct graph_node *n, FILE *to)
{
    char shape[128];

    fputs("  ", to);
    print_name(n->name, to);
    fprintf(to, " = %s %s(", shape_print(&n->shape, shape, sizeof(shape)),
            graph_op_name(n->op));
    if (n->op == HLO_PARAMETER)
        fprintf(to, "%d", n->parameter_index);
    else if (n->op == HLO_CONSTANT)
        fprintf(to, "%.9g", n->value);
    print_operands(g, n, to);
    fputc(')', to);
    print_attributes(g, n, to);
    if (n->source[0] != '\0')
        fprintf(to, ", metadata={op_name=\"%s\"}", n->source);
    fputc('\n', to);
}

static void print_aliases(const struct graph *g, FILE *to)
{
    int count = 0;

    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].alias_parameter >= 0)
            fprintf(to, "%s{%d}: (%d, {}, may-alias)",
                    count++ ? ", " : ", input_output_alias={ ", i, g->output[i].alias_parameter);
    fputs(count ? " }\n\n" : "\n\n", to);
}

static void print_root(const struct graph *g, FILE *to)
{
    char shape[128];

    fputs("  ROOT %results = (", to);
    for (int i = 0; i < g->output_count; i++)
        fprintf(to, "%s%s", i ? ", " : "",
                shape_print(&g->node[g->output[i].node].shape, shape, sizeof(shape)));
    fputs(") tuple(", to);
    for (int i = 0; i < g->output_count; i++) {
        fputs(i ? ", " : "", to);
        print_name(g->node[g->output[i].node].name, to);
    }
    fputs(")\n", to);
}

void graph_dump(const struct graph *g, FILE *to)
{
    fprintf(to, "HloModule %s", g->name);
    print_aliases(g, to);
    fputs("ENTRY ", to);
    print_name(g->name, to);
    fputs(" {\n", to);
    for (int i = 0; i < g->node_count; i++)
        print_node(g, &g->node[i], to);
    print_root(g, to);
    fputs("}\n", to);
}
