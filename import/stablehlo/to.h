/*
 * From a program to a tree of MLIR: what the files to_*.c share. Operations with several results
 * have a tuple in HLO; here it is kept apart into its elements, and made a tuple only where
 * somebody needs it whole.
 */
#ifndef IMPORT_STABLEHLO_TO_H
#define IMPORT_STABLEHLO_TO_H
#include "import/stablehlo/stablehlo.h"

/* what an instruction stands for */
struct to_value {
    const struct mlir_value *one;       /* NULL: part, or a constant not yet written here */
    int part_count;
    struct to_value **part;             /* NULL: it is one value */
    const struct mlir_attr *constant;   /* of a value from around the region */
    const struct hlo_type *type;
};

struct to {
    const struct hlo_module *m;
    struct mlir_tree *tree;
    struct arena *arena;
    struct err *err;
    struct mlir_op **op;                /* of the block that is being written */
    size_t op_count, op_room;
    const struct hlo_computation *c;    /* that it is written of */
    struct to_value **value;            /* by instruction of c */
    int depth;
};

/* one operation as it is made; attributes are added with to_attr */
struct to_op {
    const char *name;
    const struct hlo_instruction *from;
    const struct mlir_value **operand;
    int operand_count;
    const struct mlir_type **result;
    int result_count;
    struct mlir_named attr[48];
    int attr_count;
    struct mlir_region *region;
    int region_count;
};

int to_fail(struct to *t, const struct hlo_instruction *i, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* to_type.c */
const struct mlir_type *to_type(struct to *t, const struct hlo_type *from);
const struct mlir_attr *to_i64(struct to *t, int64_t v);
const struct mlir_attr *to_ints(struct to *t, struct hlo_ints l);
const struct mlir_attr *to_literal(struct to *t, const struct hlo_literal *l);
const struct mlir_attr *to_place(struct to *t, const struct hlo_place *p);

/* to_attr.c */
void to_attr(struct to_op *o, const char *name, const struct mlir_attr *a);
void to_fields(struct to *t, const struct hlo_instruction *i, struct to_op *o);
void to_groups(struct to *t, const struct hlo_instruction *i, struct to_op *o);
void to_devices(struct to *t, const struct hlo_groups *g, struct to_op *o);
/* the same as the configuration of a custom call */
const struct mlir_attr *to_devices_told(struct to *t, const struct hlo_groups *g);
/* frontend attributes, shardings, all else; as attributes of an operation, or as a dictionary */
void to_extra(struct to *t, const struct hlo_instruction *i, struct to_op *o);
const struct mlir_attr *to_kept(struct to *t, const char *text);       /* an attribute, or a string */
const char *to_pair(const struct hlo_pairs *l, const char *key);       /* NULL: it has none */

/* to_op.c */
const struct mlir_value *to_one(struct to *t, struct to_value *v);     /* as one value */
struct to_value *to_part(struct to *t, struct to_value *v, int k);
struct to_value *to_operand(struct to *t, const struct hlo_instruction *i, int k);
/* makes the operation and its results: one value, or apart if there are several */
struct to_value *to_emit(struct to *t, struct to_op *o);
struct mlir_op *to_make(struct to *t, struct to_op *o);                 /* the operation alone */
/* the same operands, results as the type says, all attributes */
void to_begin(struct to *t, const struct hlo_instruction *i, const char *name, struct to_op *o);
int to_instruction(struct to *t, const struct hlo_instruction *i, struct to_value **v);

/* to_comm.c */
int to_infeed(struct to *t, const struct hlo_instruction *i, struct to_value **v);
int to_outfeed(struct to *t, const struct hlo_instruction *i, struct to_value **v);
int to_send(struct to *t, const struct hlo_instruction *i, struct to_value **v);
int to_recv(struct to *t, const struct hlo_instruction *i, struct to_value **v);
int to_done(struct to *t, const struct hlo_instruction *i, struct to_value **v);

/* to_region.c */
/* a block of a computation whose parameters are these; with a return of `results` at its end */
int to_region(struct to *t, int computation, struct mlir_region *g, const char *end);
int to_while(struct to *t, const struct hlo_instruction *i, struct to_value **v);
int to_conditional(struct to *t, const struct hlo_instruction *i, struct to_value **v);
int to_function(struct to *t, int computation, struct mlir_op **made);
#endif
