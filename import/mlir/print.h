/* Printing a tree as MLIR text: what the files print*.c share. */
#ifndef IMPORT_MLIR_PRINT_H
#define IMPORT_MLIR_PRINT_H
#include "import/mlir/forms.h"
#include "import/mlir/mlir.h"

/* what a value is called */
struct mlir_printed {
    char letter;                        /* 'a': %argN, 'i': %iterArgN, 0: %N, '-': nothing yet */
    int number, part;                   /* part -1: the only one of its operation */
};

struct mlir_printer {
    FILE *to;
    const struct mlir_print_options *o;
    struct mlir_printed *name;          /* by id */
    int next, next_argument, next_iteration;    /* numbers, from 0 in each function */
    int depth;                          /* of braces */
};

/* print.c */
void mlir_print_location(FILE *to, const struct mlir_attr *a);
void mlir_print_int_list(FILE *to, const struct mlir_attr *a);          /* `[1, 2]` */
void mlir_print_params(FILE *to, const struct mlir_attr *a);            /* `a = 1, b = [2]` */
void mlir_print_conv_dims(FILE *to, const struct mlir_attr *a);
void mlir_print_key(FILE *to, const char *name);        /* in quotes where it must be */

/* print_op.c */
void mlir_print_use(struct mlir_printer *p, const struct mlir_value *v);
void mlir_print_uses(struct mlir_printer *p, int count, const struct mlir_value *const *v);
void mlir_name_arguments(struct mlir_printer *p, const struct mlir_block *b, char letter);
/* `{`, operations a line each, `}`; with the head of a block if it has arguments and is asked for */
void mlir_print_region(struct mlir_printer *p, const struct mlir_region *g, bool has_head);
/* `%arg0: t loc(..)` with commas between */
void mlir_print_arguments(struct mlir_printer *p, const struct mlir_block *b);
void mlir_print_types(struct mlir_printer *p, const struct mlir_op *op, enum mlir_results results);
/* attributes in braces, but those that the form prints; `keyword` in front, or "" */
void mlir_print_rest(struct mlir_printer *p, const struct mlir_op *op, const char *printed,
                     const char *keyword);
void mlir_print_end(struct mlir_printer *p, const struct mlir_op *op);  /* location */

/* print_forms.c: false where the operation has not what its form needs; nothing is printed then */
bool mlir_print_pretty(struct mlir_printer *p, const struct mlir_op *op);

/* print_hooks.c, print_blocks.c: has the operation what its hook prints? And printing it. */
#define HOOK(name, attributes) \
    bool mlir_can_##name(const struct mlir_op *op); \
    void mlir_print_##name(struct mlir_printer *p, const struct mlir_op *op);
#include "import/mlir/forms_hooks.def"
#endif
