/* Sums, products, largest and smallest of many rows: what reductions by one known operation share. */
#ifndef IMPORT_EVAL_FOLD_H
#define IMPORT_EVAL_FOLD_H
#include "import/lanes/kernel.h"

/* rows of elements of a type, folded in a lane that is wider for sums */
struct fold {
    enum hlo_element element;
    enum lane wide;
    kernel k;
    bool is_rounded;                    /* to the type after each row */
};

/* how a fold keeps its results: sums in f64 and rounded at the end, or as the type alone would */
enum fold_kind { FOLD_WIDE, FOLD_STEPS };
/* false where that operation has no such element */
bool fold_init(struct fold *f, enum fold_kind kind, enum hlo_opcode op, enum hlo_element e);
/* n elements to n of the lane, and back */
void fold_load(const struct fold *f, void *wide, const void *from, int64_t n);
void fold_store(const struct fold *f, void *to, const void *wide, int64_t n);
/* wide[i] becomes wide[i] op from[i] */
void fold_row(const struct fold *f, void *wide, const void *from, int64_t n);
/* element *wide becomes itself op all n of from */
void fold_line(const struct fold *f, void *wide, const void *from, int64_t n);
#endif
