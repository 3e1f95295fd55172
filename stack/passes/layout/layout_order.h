/*
 * Orders of dimensions: private to pass_layout.c, layout_product.c and pass_heads.c.
 *
 * An order says of an array of the old graph which of its dimensions is which
 * of the new one; the new one is row-major.
 */
#ifndef STACK_LAYOUT_ORDER_H
#define STACK_LAYOUT_ORDER_H
#include "stack/hlo/rewrite.h"
#include "sim/chip/chip.h"
#include "stack/kernels/pipeline/kernel.h"

/* dimension i of the new array is dimension dim[i] of the old */
struct layout_order {
    bool is_set;
    int dim[GRAPH_RANK_MAX];
};

struct layout_assignment {
    struct rewrite w;
    const struct chip *chip;
    enum codegen codegen;
    struct layout_order *order;         /* by node of the old graph */
    bool *is_transposed;                /* products, and what has its order from one */
};

struct layout_order layout_order_identity(int rank);
bool layout_order_is_same(const struct layout_order *a, const struct layout_order *b, int rank);
/* where dimension `dim` of the old array is in the new one */
int layout_order_place(const struct layout_order *o, int dim, int rank);
/* the operations whose result and operands have one order, whichever */
bool layout_keeps_order(const struct graph_node *n);
/* slices and updates that begin anywhere: in an order that is set for them, else row-major */
bool layout_is_dynamic(const struct graph_node *n);
/* those that are made in any order: broadcasts, numbers in rising order, constants */
bool layout_has_any_order(const struct graph_node *n);
/* of what is left of a reduced array */
struct layout_order layout_reduced(const struct layout_order *from, uint32_t mask, int rank);
/* that of the first operand of its rank that has another than the usual one; else not set */
struct layout_order layout_of_operands(const struct layout_assignment *l,
                                       const struct graph_node *n);
/* that an array has in memory when its dimensions are in this order */
int64_t layout_padded_bytes(const struct shape *s, const struct layout_order *o);
struct shape layout_shape(const struct shape *s, const struct layout_order *o);
/* the new node of old node `node` in this order */
int layout_in_order(struct layout_assignment *l, int node, const struct layout_order *wanted);
/* the same row-major */
int layout_in_usual_order(struct layout_assignment *l, int node);
/* The new node of any operation but transposes, products and convolutions, by the orders. */
int layout_rebuild(struct layout_assignment *l, int node);
/* layout_islands.c: orders of elementwise work that would be mostly padding, before any other */
void layout_islands(struct layout_assignment *l);
struct kept_program;
/* layout_kept.c: orders of a program that is kept, before any other; an edge with such an order */
void layout_keep_edges(struct layout_assignment *l, struct kept_program *kept);
int layout_rebuild_edge(struct layout_assignment *l, int node);
/* outputs leave as the program says */
void layout_restore_outputs(struct layout_assignment *l);

/*
 * layout_product.c. A product may have its result's rows and columns exchanged; what only renames
 * then passes the order on. Sets order[] and is_transposed[] of the products for which less is
 * copied so.
 */
void layout_transpose_products(struct layout_assignment *l);
/* the order of a transpose or reshape that moves nothing, given its operand's; false: it does */
bool layout_pass_on(const struct graph *g, int node, const struct layout_order *from,
                    struct layout_order *to);
/* whether the product's result may lie in this order */
bool layout_product_takes(const struct graph *g, int node, const struct layout_order *o);
/* it or an operand is, and its kernel may take that so */
bool layout_is_transposed_product(const struct layout_assignment *l, int node);
int layout_rebuild_product(struct layout_assignment *l, int node);
#endif
