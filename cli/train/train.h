/*
 * systole train, evaluate, predict: what their files share. train_options.c reads the command line,
 * train_data.c loads samples, train_setup.c compiles, train_loop.c trains, train_report.c leaves
 * the results, train_weights.c reads and leaves weights, train_apply.c evaluates and
 * predicts, train_tables.c gathers what the compiler knows for reports.
 */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H
#include "cli/common/options.h"
#include "base/progress.h"
#include "cli/common/trace_options.h"
#include "files/model_file.h"
#include "report/folder/report.h"
#include "sim/machine/machine.h"
#include "train/fit/fit.h"

enum train_option {
#define OPT(id, section, name, kind, standard, lo, hi, arg, use, meaning) OPT_##id,
#include "cli/train/train_options.def"
    OPT_COUNT
};

struct train_value {
    const char *text;                   /* as given or standard */
    bool is_given;
    int64_t integer;                    /* INT; CHOICE: which word; FLAG: 0 or 1 */
    double real;                        /* REAL */
};

/* what a run does: three commands, which share most of their options */
enum train_task { TASK_TRAIN, TASK_EVALUATE, TASK_PREDICT };

struct train_options {
    enum train_task task;
    const char *model_path;
    const char *json, *out_npy;         /* of an evaluation or a prediction: where it goes */
    struct train_value value[OPT_COUNT];
    struct optimizer optimizer;         /* of --optimizer and its numbers */
    struct arena *texts;
    struct cli_list set;
    struct trace_options trace;
    struct command command;
};

/* Everything of one run; the arena holds it but for the growing rows. */
struct train_run {
    const struct train_options *options;
    struct arena arena;
    struct model model;
    struct model_file file;             /* what its file says */
    /* as the file has them, or NULL */
    const char *compiled_loss, *compiled_weights, *compiled_metrics;
    const char *data_noun, *data_shape; /* "images", "28x28" */
    struct chip chip;
    struct chip_origin *chip_origins;   /* NULL when no chip takes part */
    struct slice slice;                 /* core_count 0 when no slice takes part */
    struct machine *machine;            /* NULL on the host */
    int thread_count;                   /* of the machine */
    struct mesh mesh;                   /* of the logical devices; one axis: there are none */
    int device_count;                   /* of a replica, for its layers or by the mesh */
    struct variable_set variables;
    struct optimizer optimizer;
    struct fit_output output[FIT_OUTPUTS_MAX];  /* of the model's outputs: loss and weight */
    struct metric *metric;
    int *metric_output;
    int metric_count;
    struct host_loop_options host_loop;
    struct fit *fit;
    struct batches train_batches, test_batches;
    const void *sample[DATA_TUPLE_MAX]; /* to be predicted, by input */
    int64_t sample_count;
    int64_t batch, steps_per_epoch, step_limit;
    int steps_per_execution;
    int64_t epochs_before;              /* of a training that goes on */

    struct trace_recording trace;       /* of all steps with --steps, else of one more */
    struct progress progress;
    int64_t correct, counted;           /* of this epoch, as the accuracy has it */
    double epoch_began_s;
    struct report_epoch *epoch;
    size_t epoch_count;
    struct report_step_row *row;
    size_t row_count, row_capacity;
    double began_s;
};

/*
 * Reads the command line into *o, whose texts are `texts`'s or the command line's; ends the
 * program on a wrong use of it. 0 or -1 with *e.
 */
int train_options_read(struct train_options *o, enum train_task task, struct arena *texts,
                       int argc, char **argv, struct err *e);
/* an option as config.ini and --help show it; whether it has a meaning beside the others */
const char *train_option_name(enum train_option o);
const char *train_option_section(enum train_option o);
const char *train_option_arg(enum train_option o);      /* "N", "DIR"; NULL of a flag */
/* the optimizer's number that it is; HYPER_NONE */
enum hyper train_option_hyper(enum train_option o);
bool train_option_applies(const struct train_options *options, enum train_option o);

/* false: the first metric is no share of samples, and tables show it as it is */
bool train_counts_samples(const struct train_run *t);

static inline const struct train_value *train_value(const struct train_run *t, enum train_option o)
{
    return &t->options->value[o];
}

/* false on the host and in functional mode: there are no cycles to show */
static inline bool train_is_timed(const struct train_run *t)
{
    return t->machine && machine_mode(t->machine) != MODE_FUNCTIONAL;
}

/* each on one core, or on one for each of its stages or devices; 0: there are more than cores */
static inline int train_replicas(const struct train_run *t)
{
    int64_t stages = train_value(t, OPT_PIPELINE)->integer;
    int64_t each = (stages > 1 ? stages : 1) * t->device_count;

    if (t->slice.core_count == 0)
        return 1;
    return (int)(t->slice.core_count / each);
}

/* the name of the layer that makes it */
const char *train_output_name(const struct train_run *t, int output);
/* what --data names, held against model and loss: train_batches and test_batches, or samples */
int train_load_data(struct train_run *t, struct err *e);
int train_setup(struct train_run *t, struct err *e);    /* checks first, works later */
/* how Keras compiled the model, where its file tells: loss and metrics as --loss takes them */
void train_read_compiled(struct train_run *t);
int train_load_weights(struct train_run *t, struct err *e);     /* what --weights names */
/* of the host, for all cores' variables and arrays */
int train_check_memory(struct train_run *t, struct err *e);
int train_begin_trace(struct train_run *t, struct err *e);
void train_print_header(const struct train_run *t);
/* runs one of the commands to its end; the exit status */
int train_run(int argc, char **argv, enum train_task task);
int train_evaluate(struct train_run *t, struct err *e);
int train_predict(struct train_run *t, struct err *e);
int train_loop(struct train_run *t, struct err *e);
bool train_was_interrupted(void);       /* by a signal: the loop has ended before its time */
int train_save(struct train_run *t, struct err *e);     /* what --save names */
int train_report(struct train_run *t, struct err *e);   /* table of one step, trace, folder */
/* of `step`, which is a launch of this program: sources, layers, buffers */
void train_fill_tables(struct train_run *t, const struct strategy_program *p,
                       struct report_step *step);
/* of the last launch, one of a step in stages: what each did; nothing without stages or cycles */
void train_print_stages(struct train_run *t, const struct strategy_program *p);
/* the most of VMEM that a kernel's windows take, and arrays beside them */
int64_t train_vmem_bytes(const struct module *m);
void train_fini(struct train_run *t);
#endif
