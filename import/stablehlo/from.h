/*
 * From the tree of MLIR to a program: what the files from_*.c share. A value stands for an
 * instruction of the computation that it was made in; regions that may use values from around them
 * take them as operands (from_control.c).
 */
#ifndef IMPORT_STABLEHLO_FROM_H
#define IMPORT_STABLEHLO_FROM_H
#include "base/sha256.h"
#include "import/program/build.h"
#include "import/stablehlo/stablehlo.h"

struct from_function {
    const char *name;
    const struct mlir_op *op;
    int computation;                    /* -1: not made yet */
    bool is_open;                       /* being made: who calls it now calls itself */
    bool is_called;
};

/* where a value is: instruction `index` of a computation; computation -1: nowhere yet */
struct from_value {
    int computation, index;
};

/* Instructions that the same line of a program makes share their location, and so their place. */
#define FROM_PLACES 1024

struct from_place {
    const struct mlir_attr *location;
    const struct hlo_place *place;
};

/* what a region says (from_signature.c), and the computation that it is; -1: not made yet */
struct from_signature {
    unsigned char digest[SHA256_BYTES];
    bool is_there;
    int computation;
};
struct from_signatures {
    struct from_signature *entry;
    size_t count, capacity;             /* capacity: a power of two */
};

struct from {
    const struct mlir_tree *tree;
    struct hlo_module *m;
    struct arena *arena;
    struct err *err;
    struct hlo_builder b;               /* where instructions go */
    struct from_value *value;           /* by id */
    int value_count;
    size_t value_capacity;
    struct from_place *places;          /* of texts, by a hash of the location: the last ones */
    struct arena *scratch;              /* what only the operation at hand needs */
    int function_depth;                 /* of the function that it stands in */
    struct from_signatures same;        /* regions of the module */
    struct from_function *function;
    int function_count;
    int depth;                          /* of functions that call each other, and of regions */
};

#define FROM_DEPTH_MAX 512

/* a mistake in an operation, with its name in front; -1 */
int from_fail(struct from *f, const struct mlir_op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* from_type.c: 0, or -1 where a program has no such type */
int from_type(struct from *f, const struct mlir_op *op, const struct mlir_type *t,
              struct hlo_type *to);
/* one result: its type; none or several: the tuple of them */
int from_result_type(struct from *f, const struct mlir_op *op, const struct hlo_type **to);
int from_literal(struct from *f, const struct mlir_op *op, const struct mlir_attr *value,
                 const struct hlo_literal **l);
/* the integers of a constant that is an operand, for shapes; NULL: it is not known */
const struct mlir_attr *from_constant_of(const struct mlir_value *v);

/* from_attr.c: attributes as numbers. `a` NULL: count 0, or `absent`. */
int from_ints(struct from *f, const struct mlir_op *op, const char *name,
              const struct mlir_attr *a, struct hlo_ints *to);
int from_int(struct from *f, const struct mlir_op *op, const char *name,
             const struct mlir_attr *a, int64_t absent, int64_t *to);
bool from_bool(const struct mlir_attr *a, bool absent);
/* within `outer`, or else directly of the operation, as VHLO has them */
const struct mlir_attr *from_nested(const struct mlir_op *op, const char *outer, const char *name);
/* the fields of attributes.def, and those that take more (from_groups.c) */
int from_fields(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
int from_attributes(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);

/* from_groups.c */
int from_gather(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
int from_dot(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
int from_precision(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
int from_devices(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
/* of a custom call, in its configuration; NULL: none */
int from_devices_told(struct from *f, const struct mlir_op *op, const struct mlir_attr *config,
                      struct hlo_instruction *i);
/* from_window.c */
int from_window(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
int from_conv(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);

/* from_extra.c: what the fields do not hold: frontend attributes, shardings, all others */
int from_extra(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
int from_sharding(struct from *f, const struct mlir_op *op, const struct mlir_attr *a,
                  struct hlo_instruction *i);
/* a pair more, in a new list */
void from_add_pair(struct from *f, struct hlo_pairs *to, const char *key, const char *value);
const char *from_quoted(struct from *f, struct mlir_text t);   /* with quotes and escapes */
/* of a function's argument or result */
int from_extra_of(struct from *f, const struct mlir_op *op, const struct mlir_attr *dict,
                  struct hlo_instruction *i);

/* from_op.c */
void from_place(struct from *f, const struct mlir_op *op);
void from_location(struct from *f, const struct mlir_attr *location);   /* the same of a block's */
/* the instruction that stands for an operand here; -1 after a mistake */
int from_operand(struct from *f, const struct mlir_op *op, const struct mlir_value *v);
/* between operations of a function: nobody needs what was made for the last ones */
void from_clear_scratch(struct from *f);
/* all operands; NULL after a mistake */
int *from_operands(struct from *f, const struct mlir_op *op);
/* adds an instruction with the operation's extras, and defines its results as it or its elements */
int from_finish(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
void from_define(struct from *f, const struct mlir_value *v, int index);
/* result number n is element n of a tuple */
void from_define_elements(struct from *f, const struct mlir_op *op, int tuple);
int from_op(struct from *f, const struct mlir_op *op);
/* an operation whose opcode and attributes are all there is to it */
int from_plain(struct from *f, const struct mlir_op *op, enum hlo_opcode opcode);

/* from_control.c */
/* a computation of a region that uses nothing from around it; -1 */
int from_region(struct from *f, const struct mlir_op *op, const struct mlir_region *g,
                const char *name);
/*
 * from_signature.c: where the computation of a region that says the same is to be found, or put;
 * NULL: it may not be shared. Until the next call.
 */
int *from_same_region(struct from *f, const struct mlir_region *g, const char *name);
void from_forget_regions(struct from *f);
/* the operations of a block, and its return: one value, or a tuple; NULL after a mistake */
const struct mlir_op *from_block(struct from *f, const struct mlir_block *b);
/* no value that the tree has by now is defined yet */
void from_know_values(struct from *f);
const struct mlir_op *from_terminator(const struct mlir_block *b);

/* from_module.c: an attribute of a function, for as long as what the operation at hand needs */
const struct mlir_attr *from_function_attr(struct from *f, const struct mlir_op *op,
                                           const char *name);
/* the computation of a function, made when it is first asked for; -1 */
int from_function_of(struct from *f, const struct mlir_op *op, struct mlir_text name);

/* from_header.c */
int from_module_attributes(struct from *f, const struct mlir_op *op);
int from_aliases(struct from *f, const struct mlir_op *entry);
int from_mesh(struct from *f, const struct mlir_op *op);

/* from_call.c */
int from_check(struct from *f, const struct mlir_op *op);

/* operations by name: special.def */
#define SPECIAL(name, function) int from_##function(struct from *f, const struct mlir_op *op);
#include "import/stablehlo/special.def"
#endif
