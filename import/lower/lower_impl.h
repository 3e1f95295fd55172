/* What the files of import/lower share: an instruction of a computation becomes nodes of a graph. */
#ifndef IMPORT_LOWER_IMPL_H
#define IMPORT_LOWER_IMPL_H
#include "import/exact/exact.h"
#include "import/structure/structure.h"
#include "import/lower/lower.h"

struct lower_value {                    /* of an instruction: its leaves, */
    int count;
    int *node;                          /* NODE_NONE: a token, or without elements */
};

struct lower {
    const struct hlo_module *module;    /* expanded */
    const struct lower_settings *settings;
    struct arena *arena;
    struct lower_refusal *refusal;
    int refusal_count;
    size_t refusal_capacity;
    int64_t random_streams;
};

struct lower_scope {                    /* a computation on its way into a graph */
    struct lower *l;
    const struct hlo_computation *c;
    struct graph *g;
    struct lower_value *value;          /* by instruction */
    const struct hlo_instruction *now;
};

/* parameters of the computation are `parameter`; afterwards value[c->root] is its result */
void lower_computation(struct lower_scope *s, int computation, const struct lower_value *parameter,
                       int parameter_count);

/* a graph of its own, whose parameters are the leaves and whose outputs are the root's leaves */
struct graph *lower_called(struct lower_scope *s, int computation);

/* Operands of the instruction: all leaves, or the only one. */
const struct lower_value *lower_leaves(const struct lower_scope *s, int operand);
int lower_operand(const struct lower_scope *s, int operand);

bool lower_dtype(enum hlo_element e, enum graph_dtype *dtype);
/* of an array that graphs know; another one is refused, and f32 stands for it */
struct shape lower_shape(struct lower_scope *s, const struct hlo_type *t);
bool lower_is_empty(const struct hlo_type *t);          /* or a token */

/* Checks and adds; what the graph does not take is refused, and its result a placeholder. */
int lower_add(struct lower_scope *s, const struct graph_node *n, const int *operand, int count);
int lower_add_operands(struct lower_scope *s, const struct graph_node *n);     /* all of now's */

/* Notes that `now` cannot be lowered and gives a constant in its place, so that all is found. */
int lower_refuse(struct lower_scope *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void lower_set(struct lower_scope *s, int node);        /* the value of now, one array */
void lower_set_leaves(struct lower_scope *s, int count, const int *node);

/* Of a node with several results each, else the node. */
void lower_set_results(struct lower_scope *s, int node, int count);
/* A kind of the graph from an operation of two scalars (structure_combines); false: none. */
bool lower_reduce_kind(enum hlo_opcode op, bool is_pred, enum graph_reduce *kind);

/* A parameter of the entry, or a result, as it had better lie in HBM; *o says how. The node that
 * stands for the parameter, in the program's order; the node that is the output. */
int lower_parameter_in_order(const struct lower *l, struct graph *g, struct shape shape,
                             const struct hlo_type *t, const char *name, struct lowered_order *o);
int lower_result_in_order(const struct lower *l, struct graph *g, int node,
                          const struct hlo_type *t, struct lowered_order *o);

const struct graph_window *lower_windows(struct lower_scope *s, const struct hlo_instruction *i);

/* what kernels of Pallas prefetch, where it is made of constants, becomes constants */
int lower_tables(struct graph *g, const struct lower_known *known, struct err *e);

/* What each opcode becomes: rules.def. Sets the value of now. */
typedef void lower_rule(struct lower_scope *s, const struct hlo_instruction *i, int op);
lower_rule lower_same;                  /* its operand, as it is */
#define RULE(opcode, function, op) lower_rule lower_##function;
#include "import/lower/rules.def"
#endif
