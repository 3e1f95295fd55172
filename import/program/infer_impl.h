/* What the rules of types share: the instruction that is looked at, its operands, failing. */
#ifndef IMPORT_PROGRAM_INFER_IMPL_H
#define IMPORT_PROGRAM_INFER_IMPL_H
#include "import/program/infer.h"

#define INFER_RANK_MAX 64               /* of arrays; a file cannot bring more */

/* sets of elements that an operation takes */
enum {
    INFER_PRED = 1, INFER_INT = 2, INFER_FLOAT = 4, INFER_COMPLEX = 8, INFER_OTHER = 16,
    INFER_BITS = INFER_PRED | INFER_INT, INFER_REAL = INFER_INT | INFER_FLOAT,
    INFER_ORDERED = INFER_PRED | INFER_REAL, INFER_NUMBER = INFER_REAL | INFER_COMPLEX,
    INFER_CONTINUOUS = INFER_FLOAT | INFER_COMPLEX, INFER_ARRAY = INFER_PRED | INFER_NUMBER,
    INFER_ANY = INFER_ARRAY | INFER_OTHER
};

struct infer {
    const struct hlo_module *m;
    const struct hlo_computation *c;
    const struct hlo_instruction *i;
    struct arena *arena;
    struct hlo_type *t;                 /* the result, empty at first */
    struct err *err;
};

/* The rules by name (infer.def): each fills x->t. */
#define INFER(op, rule, elements) int infer_##rule(struct infer *x);
#include "import/program/infer.def"

int infer_fail(struct infer *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const struct hlo_type *infer_operand(const struct infer *x, int n);
bool infer_has_type(const struct infer *x);
int infer_want_type(struct infer *x);                   /* -1: the type must be written */
int infer_given(struct infer *x);                       /* the type is what is written */

bool infer_dim_agrees(int64_t a, int64_t b);
bool infer_dims_agree(const struct hlo_type *a, const struct hlo_type *b);
/* equal elements, or two types of floats: operations that accumulate mix them */
bool infer_elements_mix(const struct hlo_type *a, const struct hlo_type *b);
/* equal, or as hlo_types_agree mixes them */
bool infer_elements_agree(const struct infer *x, const struct hlo_type *a,
                          const struct hlo_type *b);
int infer_check_operands(struct infer *x, int low, int high);   /* how many; high -1: any number */
int infer_check_rank(struct infer *x, int operand, int rank);
int infer_check_scalar(struct infer *x, int operand);
/* each is below `rank` and stands once */
int infer_check_dims(struct infer *x, const char *what, struct hlo_ints dims, int rank);

/* A type that is built dimension by dimension; sizes keep whether they are bounds. */
struct infer_dims {
    int rank;
    int64_t dim[INFER_RANK_MAX];
    bool is_bounded[INFER_RANK_MAX];
};
int infer_add_dim(struct infer *x, struct infer_dims *d, int64_t size, bool is_bounded);
int infer_copy_dim(struct infer *x, struct infer_dims *d, const struct hlo_type *t, int dim);
struct hlo_type infer_make(struct infer *x, const struct infer_dims *d, enum hlo_element e);

/* The computation that is called in a role; its parameters and result have these types. */
const struct hlo_computation *infer_callee(const struct infer *x, int role);
const struct hlo_type *infer_callee_parameter(const struct infer *x, int role, int n);
const struct hlo_type *infer_callee_result(const struct infer *x, int role);
int infer_check_parameters(struct infer *x, int role, int count);
/* parameter n of the callee takes this */
int infer_check_parameter(struct infer *x, int role, int n, const struct hlo_type *t);
/* result of one operation for each of several: the one, or a tuple of them */
struct hlo_type infer_join(struct infer *x, const struct hlo_type *part, int count);
/* number n of a type that is one array or a tuple of them, NULL: it has fewer */
const struct hlo_type *infer_part(const struct hlo_type *t, int n);
/* a reducing computation over `count` scalars: 2 * count parameters, as many results */
int infer_check_reducer(struct infer *x, int role, int count);
/* what a window makes of each dimension of an array */
int infer_window(struct infer *x, const struct hlo_type *t, struct infer_dims *d);
int infer_window_size(struct infer *x, const struct hlo_window *w, int64_t size, int64_t *made);
#endif
