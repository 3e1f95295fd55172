/* Carries a computation into a graph, instruction by instruction, by the table of rules. */
#include "import/lower/lower_impl.h"

#include "stack/hlo/graph_shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    lower_rule *run;
    int op;
} rules[OPCODE_COUNT] = {
#define RULE(opcode, function, op) [OPCODE_##opcode] = {lower_##function, HLO_##op},
#include "import/lower/rules.def"
};

bool lower_dtype(enum hlo_element e, enum graph_dtype *dtype)
{
    static const struct { enum hlo_element element; enum graph_dtype dtype; } known[] = {
        {ELEMENT_F32, DTYPE_F32}, {ELEMENT_BF16, DTYPE_BF16}, {ELEMENT_S32, DTYPE_S32},
        {ELEMENT_U32, DTYPE_U32}, {ELEMENT_S8, DTYPE_S8}, {ELEMENT_U8, DTYPE_U8},
        {ELEMENT_PRED, DTYPE_PRED}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].element == e) {
            *dtype = known[i].dtype;
            return true;
        }
    return false;
}

bool lower_is_empty(const struct hlo_type *t)
{
    return t->element == ELEMENT_TOKEN || t->element == ELEMENT_OPAQUE ||
           hlo_type_elements(t) == 0;
}

/* the graph counts elements of arrays up to a limit */
static bool is_counted(const struct hlo_type *t)
{
    int64_t room = SHAPE_ELEMS_MAX;

    for (int d = 0; d < t->rank; d++)
        room /= t->dim[d] > 0 ? t->dim[d] : 1;
    return room > 0;
}

/* types and dimensions a graph can have; the others as if they were f32 scalars */
static bool shape_of(const struct hlo_type *t, struct shape *out)
{
    *out = shape_scalar(DTYPE_F32);
    if (!lower_dtype(t->element, &out->dtype) || t->rank > GRAPH_RANK_MAX ||
        hlo_type_is_dynamic(t) || !is_counted(t))
        return false;
    *out = shape_make(out->dtype, t->rank, t->dim);
    return true;
}

static int placeholder(struct graph *g, const struct hlo_type *t)
{
    struct shape shape;

    shape_of(t, &shape);
    return graph_constant(g, shape, 0.0);
}

static void set_placeholders(struct lower_scope *s)
{
    const struct hlo_type *t = s->now->type;
    struct lower_value *v = &s->value[s->now - s->c->instruction];

    v->count = hlo_type_leaves(t);
    v->node = arena_array(s->l->arena, (size_t)v->count + 1, sizeof(*v->node));
    for (int i = 0; i < v->count; i++) {
        const struct hlo_type *leaf = hlo_type_leaf(t, i);

        v->node[i] = lower_is_empty(leaf) ? NODE_NONE : placeholder(s->g, leaf);
    }
}

/* one for each place in the file: computations are lowered once for each of their callers */
static bool is_noted(const struct lower *l, const struct hlo_instruction *i)
{
    for (int k = l->refusal_count - 1; k >= 0; k--)
        if (l->refusal[k].line == i->line && strcmp(l->refusal[k].instruction, hlo_name(i)) == 0)
            return true;
    return false;
}

int lower_refuse(struct lower_scope *s, const char *format, ...)
{
    struct lower *l = s->l;
    char reason[400];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    if (!is_noted(l, s->now))
        MEM_ADD(l->refusal, l->refusal_count, l->refusal_capacity) = (struct lower_refusal){
            .instruction = hlo_name_in(l->arena, s->now), .opcode = hlo_opcode_name(s->now->op),
            .file = l->module->file ? l->module->file : "", .line = s->now->line,
            .col = s->now->col, .source = s->g->source,
            .reason = arena_strdup(l->arena, reason)};
    set_placeholders(s);
    return placeholder(s->g, s->now->type);
}

struct shape lower_shape(struct lower_scope *s, const struct hlo_type *t)
{
    struct shape shape;
    char text[200];

    if (!shape_of(t, &shape))
        lower_refuse(s, "the cores have no arrays of type %s",
                     hlo_type_print(t, text, sizeof(text)));
    return shape;
}

int lower_add(struct lower_scope *s, const struct graph_node *n, const int *operand, int count)
{
    struct graph_node tried = *n;
    struct shape shape;
    struct err e;

    for (int i = 0; i < count; i++)
        if (operand[i] == NODE_NONE)
            return lower_refuse(s, "operand %d has no elements", i);
    if (graph_op_arity(n->op) >= 0 && graph_op_arity(n->op) != count)
        return lower_refuse(s, "%d operands", count);
    tried.operand = arena_copy(s->l->arena, operand, (size_t)count, sizeof(*operand));
    tried.operand_count = count;
    tried.name = hlo_name(s->now);
    if (graph_infer(s->g, &tried, &shape, &e) != 0)
        return lower_refuse(s, "%s", e.msg);
    return graph_add(s->g, n, operand, count);
}

int lower_add_operands(struct lower_scope *s, const struct graph_node *n)
{
    int count = s->now->operand_count, node;
    int *operand = mem_alloc(((size_t)count + 1) * sizeof(*operand));

    for (int i = 0; i < count; i++)
        operand[i] = lower_operand(s, i);
    node = lower_add(s, n, operand, count);
    mem_free(operand);
    return node;
}

const struct lower_value *lower_leaves(const struct lower_scope *s, int operand)
{
    return &s->value[s->now->operand[operand]];
}

int lower_operand(const struct lower_scope *s, int operand)
{
    const struct lower_value *v = lower_leaves(s, operand);

    return v->count > 0 ? v->node[0] : NODE_NONE;
}

void lower_set_leaves(struct lower_scope *s, int count, const int *node)
{
    struct lower_value *v = &s->value[s->now - s->c->instruction];

    v->count = count;
    v->node = arena_array(s->l->arena, (size_t)count + 1, sizeof(*v->node));
    for (int i = 0; i < count; i++)
        v->node[i] = node[i];
}

void lower_set(struct lower_scope *s, int node)
{
    lower_set_leaves(s, 1, &node);
}

/* what the program's author called it, and where: "jit(f)/dot_general (model.py:12)" */
static const char *source_of(struct lower_scope *s, const struct hlo_instruction *i)
{
    const struct hlo_place *p = hlo_place_of(i);
    const char *name = p->op_name && p->op_name[0] ? p->op_name : hlo_name_in(s->l->arena, i);
    const char *file = p->file, *slash = file ? strrchr(file, '/') : NULL;

    if (!file || !file[0])
        return name;
    return arena_printf(s->l->arena, "%s (%s:%d)", name, slash ? slash + 1 : file, p->line);
}

/* the program says what each result is: another one is our mistake, and told rather than used */
static void check_result(struct lower_scope *s)
{
    const struct lower_value *v = &s->value[s->now - s->c->instruction];
    char is[128], should[128];

    if (v->count != hlo_type_leaves(s->now->type)) {
        lower_refuse(s, "%d arrays, where %d should be", v->count,
                     hlo_type_leaves(s->now->type));
        return;
    }
    for (int i = 0; i < v->count; i++) {
        const struct hlo_type *leaf = hlo_type_leaf(s->now->type, i);
        struct shape shape;

        if (lower_is_empty(leaf)) {
            v->node[i] = NODE_NONE;
            continue;
        }
        shape = lower_shape(s, leaf);
        if (v->node[i] == NODE_NONE || !shape_equal(&shape, &s->g->node[v->node[i]].shape)) {
            lower_refuse(s, "the result is %s, but should be %s",
                         v->node[i] == NODE_NONE ? "nothing" :
                         shape_print(&s->g->node[v->node[i]].shape, is, sizeof(is)),
                         shape_print(&shape, should, sizeof(should)));
            return;
        }
    }
}

/* what else a program may say; "": nothing that is known */
static const char *advice(enum hlo_opcode op)
{
    switch (op) {
    case OPCODE_SEND:
    case OPCODE_SEND_DONE:
    case OPCODE_RECV:
    case OPCODE_RECV_DONE:
        return ": devices send to each other by collective-permute (lax.ppermute), or by a send and "
               "a recv of one channel in one computation, with source_target_pairs; to and from "
               "the host with is_host_transfer=true";
    default:
        return "";
    }
}

static void lower_instruction(struct lower_scope *s, const struct hlo_instruction *i)
{
    s->now = i;
    s->g->source = source_of(s, i);
    s->g->unit = hlo_place_more(hlo_place_of(i))->unit;
    if (!hlo_type_is_tuple(i->type) && lower_is_empty(i->type) && i->op != OPCODE_PARAMETER) {
        lower_set(s, NODE_NONE);
        return;
    }
    if (!rules[i->op].run) {
        lower_refuse(s, "the cores have no operation for it%s", advice(i->op));
        return;
    }
    rules[i->op].run(s, i, rules[i->op].op);
    check_result(s);
}

void lower_computation(struct lower_scope *s, int computation, const struct lower_value *parameter,
                       int parameter_count)
{
    const struct hlo_computation *c = &s->l->module->computation[computation];

    s->c = c;
    s->value = arena_array(s->l->arena, (size_t)c->count + 1, sizeof(*s->value));
    for (int i = 0; i < parameter_count && i < c->parameter_count; i++)
        if (c->parameter[i] >= 0)
            s->value[c->parameter[i]] = parameter[i];
    for (int i = 0; i < c->count; i++)
        lower_instruction(s, &c->instruction[i]);
}

void lower_parameter(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    (void)s;                            /* lower_computation has set it */
    (void)i;
    (void)op;
}
