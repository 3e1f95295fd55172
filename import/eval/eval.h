/*
 * Programs evaluated on the host: the reference for all that runs on simulated cores, and
 * `--backend host`.
 *
 * Devices run in lock step, instruction by instruction: the reference for collectives. Where a
 * condition differs among devices, the ones that it holds for go on without the others.
 *
 * Arithmetic is the program's: integers wrap, floats narrower than f32 are computed in f32 and
 * rounded after each operation (sums and products of a reduction once, at its end), f32 and f64
 * as they are; sums of f32 are kept in f64. Division by zero gives all ones of an integer.
 * RNG_DEFAULT is Philox. rng, whose bits no program may rely on, is Philox with the seed as key.
 */
#ifndef IMPORT_EVAL_H
#define IMPORT_EVAL_H
#include "import/program/program.h"

/*
 * One leaf of parameters or results: dense row-major elements of hlo_element_bytes each. size: how
 * many elements of each dimension are there, in a block as large as the bounds; NULL: all of it.
 */
struct eval_array {
    struct hlo_type type;
    void *data;
    int64_t *size;                      /* type.rank of them, or NULL */
};

enum eval_precision {
    EVAL_EXACT,                         /* dots and convolutions as the program says */
    EVAL_BF16_DEFAULT                   /* f32 operands rounded to bf16 where precision is default */
};

/* Who takes from the host or gives to it; anything but 0 stops the evaluation: no more, no room. */
struct eval_queue {
    const struct hlo_computation *computation;
    const struct hlo_instruction *instruction;
    int device, leaf;                   /* of an entry, from the left */
};

struct mosaic_watch;

struct eval_settings {
    enum eval_precision precision;
    int64_t replica_count, partition_count;     /* devices = their product; 0: 1 */
    int threads;                        /* of matrix products; 0: as the library chooses */
    uint64_t step_limit;                /* instructions of all devices; 0: no limit */
    size_t memory_limit;                /* bytes of values at once; 0: three quarters of the host's */
    uint64_t seed;                      /* of rng */
    struct mosaic_watch *kernels;       /* stack/mosaic/watch.h, of kernels of Pallas; or NULL */
    void *user;                         /* of the functions below */
    /* called now and then; anything but 0 stops the evaluation */
    int (*progress)(void *user, uint64_t steps, const struct hlo_instruction *i);
    /* fills a leaf of an infeed or of a receive from the host, takes one of an outfeed or a send */
    int (*infeed)(void *user, const struct eval_queue *q, const struct eval_array *to);
    int (*outfeed)(void *user, const struct eval_queue *q, const struct eval_array *from);
};

/* What check.* custom calls have found; the evaluation goes on after a failure. */
struct eval_report {
    uint64_t steps;
    int checks, failures;
    struct err first_failure;
};

/*
 * A program to be evaluated several times: what was found out about it is kept. The module must
 * live as long; NULL with the error set.
 */
struct eval_program;
struct eval_program *eval_open(const struct hlo_module *m, const struct eval_settings *s,
                               struct err *e);
void eval_close(struct eval_program *p);                /* NULL is nothing */
/*
 * Evaluates the entry computation. input[device][leaf]: leaves of the parameters, from the left;
 * output[device][leaf]: rows of hlo_type_leaves(result) that the caller gives, filled with arrays
 * of arena `a`; tokens have no data. 0, or -1 with file, line and the instruction's name.
 */
int eval_step(struct eval_program *p, const struct eval_array *const *input,
              struct eval_array *const *output, struct arena *a, struct eval_report *r,
              struct err *e);
/* the same of a program that is evaluated once */
int eval_run(const struct hlo_module *m, const struct eval_settings *s,
             const struct eval_array *const *input, struct eval_array *const *output,
             struct arena *a, struct eval_report *r, struct err *e);

/* leaves of all parameters of the entry; the type of leaf number n */
int eval_input_count(const struct hlo_module *m);
const struct hlo_type *eval_input_type(const struct hlo_module *m, int n);
int eval_output_count(const struct hlo_module *m);

/* replicas that interpreter.run_parallel runs a function on: rows of its table of functions */
int eval_parallel_rows(const struct hlo_instruction *i);
#endif
