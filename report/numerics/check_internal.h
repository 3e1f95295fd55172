/* Declares what the files that measure numerics share (report/numerics/check.h). */
#ifndef REPORT_CHECK_INTERNAL_H
#define REPORT_CHECK_INTERNAL_H
#include "report/numerics/check.h"

#define CHECK_LANE_COUNT 128
#define CHECK_TILE_WORDS 1024
#define CHECK_ROW_BYTES 512             /* of VMEM */

/*
 * check_program.c: text that grows. check_loop_end closes a loop over a scalar
 * register: s[n] += step while below end, with the branch's delay bundles.
 */
struct check_text {
    char *text;
    size_t bytes;
    FILE *to;
    int delay_bundles, label_count;
};
void check_text_open(struct check_text *t, const struct check *c);
int check_loop_begin(struct check_text *t, int sreg, int64_t first);
void check_loop_end(struct check_text *t, int label, int sreg, int64_t step, int64_t end);
/* assemble, load, run; closes the text in any case; CHECK_REFUSED: the chip has no such thing */
#define CHECK_REFUSED 1
int check_text_run(struct check_text *t, struct check *c, struct err *e);

int check_vmem_write(struct check *c, int64_t row, const uint32_t *words, int64_t count,
                     struct err *e);
int check_vmem_read(struct check *c, int64_t row, uint32_t *words, int64_t count, struct err *e);
int64_t check_vmem_rows(const struct check *c);

/* check_inputs.c: for EDGES, value i of the cross product of the boundary values */
float check_heavy(struct rng *r);
float check_exponents(struct rng *r, int first, int last);      /* 2^first..2^(last+1), any sign */
void check_fill(enum check_inputs inputs, const struct check_op *op, struct rng *r, uint32_t *a,
                uint32_t *b, int64_t count);

/* check_measure.c */
double check_round(double x, int digits);       /* to nearest even, by the contract's edges */
double check_ulp(double exact, int digits);

struct check_sample {
    double ulp, relative, share;
    bool is_wrong;
};
struct check_sample check_compare(uint32_t got, double exact, int digits, double bound_ulp);

/* fills in the figures of a row from its samples, whose order changes */
void check_summarise(struct check_row *row, struct check_sample *sample, int64_t count);
struct check_row *check_add_row(struct check *c);
void check_leave_out(struct check *c, const char *why, const char *what, ...)
    __attribute__((format(printf, 3, 4)));

/* check_types.c */
struct check_type {
    const char *name;
    int per_word;                       /* values in 32 bits */
    bool is_integer;                    /* results are s32 */
    double (*value)(uint32_t code);     /* NAN for a code that is no number */
    size_t cycles_offset;               /* of the chip's parameter; 0 cycles = not taken */
    const char *fp8_e4m3;               /* the chip's word for it, where it must have one */
};
extern const struct check_type check_types[];
extern const size_t check_type_count;
const struct check_type *check_find_type(const char *name);
bool check_takes_type(const struct chip *chip, const struct check_type *t);

/*
 * check_matmul.c: operands as codes of the type, as they stand in memory, and
 * as the reference takes them; all row-major, m x k and k x n.
 */
struct check_matrices {
    int64_t m, n, k;
    uint32_t *a, *b;
    float *exact_a, *exact_b;
    uint32_t *out;                      /* m x n, f32 or s32 bits */
};
/* into VMEM, with m a multiple of the rows of a tile */
bool check_fits(const struct check *c, const struct check_product *p,
                const struct check_matrices *x);
int check_multiply(struct check *c, const struct check_product *p, struct check_matrices *x,
                   struct err *e);

/* check_product.c: sizes are set */
void check_fill_matrices(struct check_matrices *x, struct check *c, const struct check_product *p,
                         enum check_inputs inputs);
/* one element to about 100 bits, rounded to double; and the sum of |a||b| */
double check_exact_dot(const struct check_matrices *x, int64_t at, double *size);
void check_blas(const struct check_matrices *x, float *out);
#endif
