/*
 * Programs made by our own code: readers add what they have read, import/expand and import/shard
 * write new instructions. Types of results are worked out from the operands; a wrong use is an
 * assertion. Each function returns the index of the new instruction in its computation.
 */
#ifndef IMPORT_BUILD_H
#define IMPORT_BUILD_H
#include "import/program/program.h"

/* A new empty computation; its index. Names are made unique by a suffix. */
int hlo_add_computation(struct hlo_module *m, const char *name);
/* the same without a look at other names, for readers that have looked; `name` is not copied */
int hlo_add_named_computation(struct hlo_module *m, const char *name);
/* A computation to which nothing more will be added gives back what it has too much: programs have
 * hundreds of small ones. Instructions move. */
void hlo_computation_trim(struct hlo_computation *c);
/* place for so many instructions, for who knows about how many there will be */
void hlo_computation_reserve(struct hlo_computation *c, int count);

/*
 * A copy of `i`, with lists copied into the arena. Its name NULL: made of the opcode. Sets root to
 * it, as the last one is the root unless somebody says otherwise; keeps parameter[].
 */
int hlo_add(struct hlo_module *m, int computation, const struct hlo_instruction *i);

#define HLO_GIVEN_MAX 64

/*
 * Where one writes: a computation, and the place and sharding that new instructions are given, so
 * that what an operation is expanded into is still told under its name.
 */
struct hlo_builder {
    struct hlo_module *module;
    int computation;
    const struct hlo_place *place;
    int line, col;
    int given[HLO_GIVEN_MAX];           /* operands of formulas that are being made (expand/arith.h) */
    int given_count;
};

const struct hlo_type *hlo_type_of(const struct hlo_builder *b, int instruction);

int hlo_parameter(struct hlo_builder *b, int number, const struct hlo_type *t);
int hlo_constant(struct hlo_builder *b, const struct hlo_type *t, double value);       /* splat */
int hlo_constant_int(struct hlo_builder *b, const struct hlo_type *t, int64_t value);
int hlo_constant_literal(struct hlo_builder *b, const struct hlo_literal *l);
int hlo_iota(struct hlo_builder *b, const struct hlo_type *t, int dim);
int hlo_unary(struct hlo_builder *b, enum hlo_opcode op, int x);        /* type as x */
int hlo_binary(struct hlo_builder *b, enum hlo_opcode op, int x, int y);        /* type as x */
int hlo_compare(struct hlo_builder *b, enum hlo_direction d, int x, int y);
int hlo_select(struct hlo_builder *b, int pred, int x, int y);
int hlo_clamp(struct hlo_builder *b, int low, int x, int high);
int hlo_convert(struct hlo_builder *b, int x, enum hlo_element e);      /* x itself if already so */
int hlo_bitcast_convert(struct hlo_builder *b, int x, enum hlo_element e);      /* equal widths */
int hlo_complex(struct hlo_builder *b, int real, int imaginary);
int hlo_real(struct hlo_builder *b, int x);
int hlo_imaginary(struct hlo_builder *b, int x);
/* operand dimension i becomes dims[i] of an array of these dimensions */
int hlo_broadcast(struct hlo_builder *b, int x, int rank, const int64_t *dim, const int64_t *dims);
int hlo_splat(struct hlo_builder *b, int scalar, const struct hlo_type *like);  /* its dimensions */
int hlo_reshape(struct hlo_builder *b, int x, int rank, const int64_t *dim);
int hlo_transpose(struct hlo_builder *b, int x, const int64_t *permutation);
int hlo_reverse(struct hlo_builder *b, int x, int count, const int64_t *dims);
int hlo_slice(struct hlo_builder *b, int x, const int64_t *start, const int64_t *limit,
              const int64_t *stride);                                   /* stride NULL: 1 */
/* of dimension `dim` only */
int hlo_slice_dim(struct hlo_builder *b, int x, int dim, int64_t start, int64_t limit);
int hlo_pad(struct hlo_builder *b, int x, int value, const int64_t *low, const int64_t *high,
            const int64_t *interior);                                   /* interior NULL: 0 */
int hlo_concatenate(struct hlo_builder *b, int count, const int *x, int dim);
int hlo_dynamic_slice(struct hlo_builder *b, int x, const int *start, const int64_t *sizes);
int hlo_dynamic_update_slice(struct hlo_builder *b, int x, int update, const int *start);
int hlo_gather(struct hlo_builder *b, int x, int indices, const struct hlo_gather *g,
               const int64_t *slice_sizes);
int hlo_dot(struct hlo_builder *b, int x, int y, const struct hlo_dot *d, enum hlo_element e,
            enum hlo_precision p);
/* one operand, with the computation of two scalars */
int hlo_reduce(struct hlo_builder *b, int x, int init, int count, const int64_t *dims, int body);
int hlo_tuple(struct hlo_builder *b, int count, const int *x);
int hlo_tuple_element(struct hlo_builder *b, int tuple, int index);
int hlo_call(struct hlo_builder *b, int computation, int count, const int *x);
/* state: a tuple; computations with one parameter of its type */
int hlo_while(struct hlo_builder *b, int state, int body, int condition);

/* a computation of two scalars by one operation: for reductions; made once a module */
int hlo_scalar_computation(struct hlo_module *m, enum hlo_opcode op, enum hlo_element e);

/*
 * A module with each instruction passed through `visit`, which may write other instructions in its
 * place and returns the index that stands for it in the new computation; -1: copied as it is
 * (hlo_copy_instruction). operand[] are the indices of its operands in the new computation.
 * Computations keep their indices; new ones are added behind; those that a computation calls are
 * rewritten before it. The old module's arena must outlive the new module, which shares with it
 * whatever did not change. -1: a visit has met a mistake of the user, or a computation calls itself.
 */
struct hlo_rewrite {
    void *user;
    /* `from` is the old module's instruction, `operand` its operands' new indices */
    int (*visit)(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand);
    const struct hlo_module *old;
    struct err *err;
    int status;                         /* set to -1 by a visit that has met a user's mistake */
};
int hlo_rewrite_module(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                       struct hlo_rewrite *r, struct err *e);
/* `from` with these operands, but without its control-predecessors */
int hlo_copy_instruction(struct hlo_builder *b, const struct hlo_instruction *from,
                         const int *operand);
/* all of a computation of the same module in the place of a call: its parameters are `operand`;
 * the index that is its result */
int hlo_inline(struct hlo_builder *b, int computation, const int *operand);

/* removes instructions that no root needs and that do nothing else, and computations nobody calls */
void hlo_eliminate_dead(struct hlo_module *m);
#endif
