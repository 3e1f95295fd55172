/*
 * Inside `systole exec`: a program of JAX, TensorFlow or PyTorch/XLA carried out with its values.
 *
 * exec_load.c reads the program and makes its inputs, exec_cores.c runs it on simulated cores,
 * exec_checks.c what test programs check themselves, exec_host.c evaluates it on the host,
 * exec_queue.c is the host's end of infeeds and outfeeds, exec_parts.c cuts arrays for devices, exec_carry.c feeds results back, exec_results.c
 * tells, writes and compares results.
 */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H
#include "cli/exec/tensor.h"
#include "exec/program_graph.h"
#include "cli/operation/op_run.h"
#include "import/eval/eval.h"

enum exec_backend { EXEC_ON_CORES, EXEC_ON_HOST };
enum exec_precision { EXEC_AS_PROGRAM, EXEC_HIGHEST, EXEC_EXACT };

struct exec_options {
    struct op_options run;              /* first: chip, engine, trace, folder */
    const char *file;
    struct cli_list input, infeed;      /* "3=zeros", "0=x.npy" */
    const char *inputs, *expect, *carry;
    double tolerance;
    int64_t steps, seed;
    int64_t queue_entries;              /* of queues whose uses the program does not tell */
    enum exec_backend backend;
    enum exec_precision precision;
    bool compare;                       /* on cores and on the host */
    bool is_kept;                       /* --as-is */
    bool is_quiet;                      /* nothing is printed */
    bool assumes_constants;             /* timing mode: program_graph_assume */
    struct mosaic_watch *kernels;       /* finds what kernels of Pallas do wrong, on the host; NULL */
};

/* results number `result` on .. go to parameters number `parameter` on .. after each step */
struct exec_carry { int result, parameter, count; };

struct exec_checks;
struct exec_queues;

struct exec_program {
    struct arena arena;                 /* of all here */
    struct program_graph graph;         /* the program, cut for its devices */
    int parameter_count, result_count;  /* leaves */
    struct exec_tensor *parameter, *result;     /* behind results: pairs of checks */
    struct exec_queues *queues;
    int infeed_count, outfeed_count;    /* leaves of entries; what goes out, of each device */
    struct exec_tensor *infeed, *outfeed;       /* entries behind each other */
    int made_up;                        /* parameters that nobody gave */
    struct exec_carry *carry;
    int carry_count;
    struct exec_checks *checks;         /* of exec_take_out_checks; NULL: none */
};

/* Reads and verifies the program; names and types of its arrays. */
int exec_load(const struct exec_options *o, struct exec_program *p, struct err *e);
/* leaf `i` of a parameter as device `number` has it: all of it, or its part; an array of arena `a` */
void *exec_part_of(const struct exec_program *p, int i, int number, struct arena *a);
/* what device `number` has of result i goes to its place in the whole */
void exec_join_part(const struct exec_program *p, int i, int number, const void *part);
void exec_unload(struct exec_program *p);
/* values for parameters from files and as asked for; the others are counted */
int exec_make_inputs(const struct exec_options *o, struct exec_program *p, struct err *e);
/*
 * Random values for those others. Backends do it as they begin, cores not before the program is
 * compiled: inputs that no chip holds are refused with what is alive, not made first.
 */
int exec_make_up(const struct exec_options *o, struct exec_program *p, struct err *e);
/* which of them nobody has given */
void exec_tell_inputs(const struct exec_options *o, const struct exec_program *p);
int exec_parse_carry(const char *text, struct exec_program *p, struct err *e);
/* results to parameters as `carry` says; copies */
void exec_feed_back(struct exec_program *p);

/*
 * For cores: operands of the entry's check.* custom calls become results number result_count on,
 * in pairs. exec_hold_checks, behind the run, is -1 with the first that does not hold.
 */
int exec_take_out_checks(struct exec_program *p, struct err *e);
int exec_hold_checks(const struct exec_options *o, struct exec_program *p, struct err *e);
int exec_pair_count(const struct exec_program *p);
const struct hlo_type *exec_pair_type(const struct exec_program *p, int n);

/*
 * Queues between the program and its host. What goes in is numbered from 0 in `infeed`, receives
 * behind infeeds or before them as the program has them; what goes out likewise.
 */
void exec_find_queues(const struct exec_options *o, struct exec_program *p);
void exec_free_queues(struct exec_program *p);
/* of queues whose uses are not known: what files bring, where that is more than was said */
int64_t exec_queue_entries(const struct exec_options *o, const struct exec_program *p);
int exec_check_queues(const struct exec_program *p, struct err *e);     /* once they are filled */
void exec_rewind_queues(struct exec_program *p);        /* before a run from the beginning */
/* of struct eval_settings, whose user is the struct exec_program */
int exec_evaluator_takes(void *user, const struct eval_queue *from, const struct eval_array *to);
int exec_evaluator_gives(void *user, const struct eval_queue *to, const struct eval_array *from);
/* around a step on a device */
int exec_write_queues(const struct exec_program *p, const struct loaded_device *d, struct arena *a,
                      struct err *e);
int exec_read_queues(struct exec_program *p, const struct loaded_device *d, struct arena *a,
                     struct err *e);

/* All steps; results of the last one in result[]. On cores with the command's own printing. */
int exec_on_cores(struct exec_options *o, struct exec_program *p, struct err *e);
int exec_on_host(const struct exec_options *o, struct exec_program *p, struct err *e);

/* A table of results: types, ranges. */
void exec_print_results(const struct exec_program *p);
int exec_write_results(const char *folder, const struct exec_program *p, struct err *e);
/*
 * Holds results against tensors of a file. `failed` counts those further off than the tolerance,
 * relative to the largest magnitude of each; integers must be equal.
 */
int exec_check_expected(const struct exec_options *o, struct exec_program *p, int *failed,
                        struct err *e);
/*
 * Both backends on the same inputs. What is allowed follows from the program: 20 times what its
 * results move on the host when each float of its inputs moves by a millionth of itself, and at
 * least a bound of the type.
 */
int exec_compare_backends(struct exec_options *o, struct exec_program *p, int *failed,
                          struct err *e);
#endif
