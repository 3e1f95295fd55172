/*
 * Prepares a training, an evaluation or a prediction: checks the options, and makes data, machine
 * and programs.
 */
#include "cli/train/train.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/host_memory.h"
#include "keras/loss/loss_from_text.h"
#include "train/fit/fit_checkpoint.h"
#include "train/strategy/layer_devices.h"
#include "train/strategy/model_layouts.h"
#include "report/tables/host_table.h"

#define THREAD_MAX 8                    /* when the user names no number */

static bool runs_on_host(const struct train_run *t)
{
    return train_value(t, OPT_BACKEND)->integer == 1;
}

static const char *path_or_null(const struct train_run *t, enum train_option o)
{
    const char *path = train_value(t, o)->text;

    return *path ? path : NULL;
}

static int load_chip(struct train_run *t, struct err *e)
{
    const char *tpu = train_value(t, OPT_TPU)->text;

    if (runs_on_host(t))
        return train_value(t, OPT_TPU)->is_given ? slice_parse(&t->slice, tpu, e) : 0;
    t->chip_origins = arena_array(&t->arena, chip_param_count, sizeof(*t->chip_origins));
    return cli_load_slice(&(struct cli_target){tpu, t->options->set}, &t->slice, &t->chip,
                          t->chip_origins, &t->arena, e);
}

static int create_machine(struct train_run *t, struct err *e)
{
    int64_t threads = train_value(t, OPT_THREADS)->integer;
    struct machine_options options = {.simd = train_value(t, OPT_SIMD)->text,
                                      .mode = (enum run_mode)train_value(t, OPT_MODE)->integer,
                                      .check_races = train_value(t, OPT_CHECK_RACES)->integer};

    if (threads == 0) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);

        threads = cpus < 1 ? 1 : cpus > THREAD_MAX ? THREAD_MAX : cpus;
    }
    t->thread_count = (int)threads;
    options.thread_count = t->thread_count;
    if (options.mode == MODE_TIMING)
        return err_set(e, "--mode timing works out no values, and training needs the loss; "
                       "use --mode both or functional");
    t->machine = machine_create(&t->slice, &t->chip, &options, e);
    if (t->machine && train_value(t, OPT_HOST_PROFILE)->integer)
        machine_watch_host(t->machine, host_table_is_collective);
    return t->machine ? 0 : -1;
}

static bool is_call(const char *text) { return strchr(text, '('); }

/* what the command says or, where it does not, what the model's file was compiled with */
static const char *metrics_of(const struct train_run *t, enum train_option o)
{
    const struct train_value *v = train_value(t, o);

    return o == OPT_METRICS && t->compiled_metrics && !v->is_given ? t->compiled_metrics : v->text;
}

static bool is_loss_compiled(const struct train_run *t)
{
    return t->compiled_loss && !train_value(t, OPT_LOSS)->is_given;
}

/* a name alone takes logits where the model ends in them; a call says so itself, as in Keras */
static int read_loss(struct train_run *t, int output, const char *text, struct err *e)
{
    struct loss *loss = &t->output[output].loss;
    enum loss_kind kind;
    struct err why;

    if (is_loss_compiled(t) && loss_from_text(loss, text, &t->arena, &why))
        return err_at(e, t->options->model_path, 0, 0, "was compiled with loss %s: %s; --loss "
                      "takes another", text, why.msg);
    if (is_loss_compiled(t))
        return 0;
    if (is_call(text))
        return loss_from_text(loss, text, &t->arena, &why)
               ? err_set(e, "--loss %s: %s", text, why.msg) : 0;
    if (loss_find(text, &kind, e))
        return -1;
    *loss = fit_loss(&t->model, output, kind);
    return 0;
}

const char *train_output_name(const struct train_run *t, int output)
{
    const struct model *m = &t->model;

    return m->layer[m->node[m->output[output]].layer]->name;
}

/* "age=mse": the output whose name stands there, *text then behind the sign; -1: it has no name */
static int take_output(struct train_run *t, const char *option, char **text, int *output,
                       struct err *e)
{
    size_t length = strcspn(*text, "=(");

    *output = -1;
    if ((*text)[length] != '=')
        return 0;
    for (int i = 0; i < t->model.output_count; i++)
        if (strlen(train_output_name(t, i)) == length &&
            strncmp(train_output_name(t, i), *text, length) == 0)
            *output = i;
    if (*output < 0)
        return err_set(e, "%s: the model has no output \"%.*s\"; its outputs are named after their "
                       "layers", option, (int)length, *text);
    *text += length + 1;
    return 0;
}

static int read_weight(struct train_run *t, int output, const char *text, struct err *e)
{
    char *end;
    double weight = text_to_double(text, &end);

    if (end == text || *end || !(weight >= 0.0 && weight <= 1e30))
        return err_set(e, "--loss-weights: \"%s\" is no number from 0 up", text);
    t->output[output].weight = weight;
    return 0;
}

struct by_output {
    const char *name;                   /* of the option */
    int (*read)(struct train_run *t, int output, const char *text, struct err *e);
    bool takes_several;                 /* of one output */
};

/* each text of a list for the output that it names, or for all if it names none */
static int read_outputs(struct train_run *t, const struct by_output *o, const char *list,
                        struct err *e)
{
    char *text = arena_strdup(&t->arena, list), *rest;
    unsigned said = 0;                  /* a bit by output, the last one for all */

    for (int output; (rest = train_cut_text(&text)) != NULL; text = rest) {
        unsigned bit;

        if (take_output(t, o->name, &text, &output, e))
            return -1;
        bit = 1u << (output < 0 ? FIT_OUTPUTS_MAX : output);
        if ((said & bit) && !o->takes_several)
            return err_set(e, "%s: \"%s\" is one too many; each output takes one", o->name, text);
        said |= bit;
        for (int i = 0; i < t->model.output_count; i++)
            if ((output < 0 || output == i) && o->read(t, i, text, e))
                return -1;
    }
    return 0;
}

/* "mse" goes with any output of a prediction, and nobody asks for it */
static int choose_loss(struct train_run *t, struct err *e)
{
    static const struct by_output losses = {"--loss", read_loss, false};
    static const struct by_output loss_weights = {"--loss-weights", read_weight, false};
    bool is_prediction = t->options->task == TASK_PREDICT;
    const char *weights = train_value(t, OPT_LOSS_WEIGHTS)->text;
    enum loss_kind kind = is_prediction ? LOSS_MEAN_SQUARED_ERROR
                                        : LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;

    if (t->model.output_count > FIT_OUTPUTS_MAX)
        return err_set(e, "model %s has %d outputs; there may be up to %d", t->model.name,
                       t->model.output_count, FIT_OUTPUTS_MAX);
    for (int i = 0; i < t->model.output_count; i++)
        t->output[i] = (struct fit_output){fit_loss(&t->model, i, kind), 1.0};
    if (is_prediction)
        return 0;
    if (t->compiled_weights && !train_value(t, OPT_LOSS_WEIGHTS)->is_given)
        weights = t->compiled_weights;
    return read_outputs(t, &losses, is_loss_compiled(t) ? t->compiled_loss
                                                        : train_value(t, OPT_LOSS)->text, e) ||
                   read_outputs(t, &loss_weights, weights, e) ? -1 : 0;
}

/* "accuracy" is what Keras takes it for, by the shapes of labels and predictions */
static int find_metric(struct train_run *t, const char *text, int output, struct metric *m,
                       struct err *e)
{
    const struct shape *out = &t->model.node[t->model.output[output]].shape;
    const struct loss *loss = &t->output[output].loss;
    struct shape label = loss_label_shape(loss, out);
    struct err why;

    if (metric_from_text(m, text, &label, out, &t->arena, &why))
        return is_call(text) ? err_set(e, "--metrics %s: %s", text, why.msg)
                             : err_set(e, "%s", why.msg);
    if (!is_call(text))
        m->with.from_logits = loss->with.from_logits;
    return 0;
}

static int add_metric(struct train_run *t, int output, const char *text, struct err *e)
{
    struct metric *m = &t->metric[t->metric_count];

    t->metric_output[t->metric_count++] = output;
    if (find_metric(t, text, output, m, e))
        return -1;
    if (t->model.output_count > 1)      /* as Keras names them: "age_accuracy" */
        m->name = arena_printf(&t->arena, "%s_%s", train_output_name(t, output), m->name);
    return 0;
}

static int add_weighted_metric(struct train_run *t, int output, const char *text, struct err *e)
{
    if (add_metric(t, output, text, e))
        return -1;
    metric_set_weighted(t->metric, t->metric_count - 1, &t->arena);
    return 0;
}

static int choose_metrics(struct train_run *t, struct err *e)
{
    static const struct by_output metrics = {"--metrics", add_metric, true};
    static const struct by_output weighted = {"--weighted-metrics", add_weighted_metric, true};
    const char *text = metrics_of(t, OPT_METRICS);
    const char *weighted_text = metrics_of(t, OPT_WEIGHTED_METRICS);
    size_t room = (strlen(text) + strlen(weighted_text) + 2) * (size_t)t->model.output_count;

    t->metric = arena_array(&t->arena, room, sizeof(*t->metric));
    t->metric_output = arena_array(&t->arena, room, sizeof(*t->metric_output));
    return read_outputs(t, &metrics, text, e) || read_outputs(t, &weighted, weighted_text, e)
               ? -1 : 0;
}

bool train_counts_samples(const struct train_run *t)
{
    const struct metric *m = t->metric;

    return t->metric_count && (m->kind == METRIC_SPARSE_CATEGORICAL_ACCURACY ||
                               m->kind == METRIC_CATEGORICAL_ACCURACY ||
                               m->kind == METRIC_BINARY_ACCURACY);
}

static struct fit_options options_of(struct train_run *t)
{
    struct fit_options o = {
        .model = &t->model, .loss = t->output[0].loss, .output = t->output,
        .output_count = t->model.output_count, .metric = t->metric,
        .metric_output = t->metric_output, .metric_count = t->metric_count, .optimizer = &t->optimizer,
        .strategy = {.machine = t->machine, .set = &t->variables,
                     .seed = (uint64_t)train_value(t, OPT_SEED)->integer,
                     .reference_dot = (enum interp_dot)train_value(t, OPT_REFERENCE_DOT)->integer,
                     .checks_replicas = train_value(t, OPT_CHECK_REPLICAS)->integer},
        .batch = t->batch, .steps_per_execution = t->steps_per_execution,
        .has_weights = t->has_weights, .class_weight = t->class_weight,
        .class_count = t->class_count,
        .micro_batches = (int)train_value(t, OPT_MICRO_BATCHES)->integer,
        .stages = (int)train_value(t, OPT_PIPELINE)->integer,
        .stage_cuts = path_or_null(t, OPT_PIPELINE_CUTS),
        .layer_devices = path_or_null(t, OPT_DEVICES),
        .layouts = path_or_null(t, OPT_LAYOUTS),
        .shards_state = train_value(t, OPT_SHARD_STATE)->integer,
        .checks_numerics = train_value(t, OPT_CHECK_NUMERICS)->integer};

    if (t->mesh.axis_count > 1)
        o.strategy.mesh = &t->mesh;
    if (t->machine) {
        t->host_loop = host_loop_standard(&t->chip, t->slice.chip_count);
        o.host = &t->host_loop;
    }
    return o;
}

static int create_fit(struct train_run *t, struct err *e)
{
    struct fit_options o;

    if (t->options->task != TASK_PREDICT && choose_metrics(t, e))
        return -1;
    t->optimizer = t->options->optimizer;
    if (train_value(t, OPT_POLICY)->is_given)
        t->model.policy = (enum keras_policy)train_value(t, OPT_POLICY)->integer;
    t->model.precision = (enum graph_precision)train_value(t, OPT_PRECISION)->integer;
    t->model.seed = (uint64_t)train_value(t, OPT_SEED)->integer;
    o = options_of(t);
    t->fit = fit_create(&o, e);
    if (!t->fit || train_load_weights(t, e) != 0)
        return -1;
    return t->options->task == TASK_TRAIN ? fit_compile(t->fit, e) : 0;
}

static void plan_steps(struct train_run *t)
{
    int64_t epochs = train_value(t, OPT_EPOCHS)->integer;
    int64_t limit = train_value(t, OPT_STEPS_PER_EPOCH)->integer, least;

    t->steps_per_epoch = t->train_batches.samples / t->batch;
    if (limit && limit < t->steps_per_epoch)
        t->steps_per_epoch = limit;
    t->step_limit = epochs * t->steps_per_epoch;
    if (train_value(t, OPT_STEPS)->integer && train_value(t, OPT_STEPS)->integer < t->step_limit)
        t->step_limit = train_value(t, OPT_STEPS)->integer;
    least = t->step_limit < t->steps_per_epoch ? t->step_limit : t->steps_per_epoch;
    t->steps_per_execution = (int)train_value(t, OPT_STEPS_PER_EXECUTION)->integer;
    if (t->steps_per_execution > least)
        t->steps_per_execution = (int)least;
    t->epoch = arena_array(&t->arena, (size_t)div_up(t->step_limit, t->steps_per_epoch),
                           sizeof(*t->epoch));
}

/* the command line's, if it says one; else the checkpoint's, which the header then shows */
static int resume_rate(struct train_run *t, struct err *e)
{
    double *rate = &t->optimizer.hyper[HYPER_LEARNING_RATE];
    struct optimizer standard;

    if (t->optimizer.schedule.kind != SCHEDULE_NONE)
        return 0;
    optimizer_init(&standard, t->optimizer.rule);
    if (train_value(t, OPT_LR)->is_given || *rate != standard.hyper[HYPER_LEARNING_RATE])
        return fit_set_learning_rate(t->fit, *rate, e);
    return fit_learning_rate(t->fit, rate, e);
}

/* a fresh training's checkpoints go where no other's are */
static int check_folder(const struct train_run *t, struct err *e)
{
    const char *folder = train_value(t, OPT_CHECKPOINT)->text;
    struct err why;

    if (!*folder || train_value(t, OPT_RESUME)->integer ||
        train_value(t, OPT_OVERWRITE)->integer || checkpoint_check_own(folder, 0, &why) == 0)
        return 0;
    return err_at(e, folder, 0, 0, "%s; --resume goes on from them, --overwrite removes them",
                  why.msg);
}

/* to where the newest checkpoint is */
static int resume(struct train_run *t, struct err *e)
{
    const char *folder = train_value(t, OPT_CHECKPOINT)->text;
    struct err skipped;
    int status;

    if (!train_value(t, OPT_RESUME)->integer)
        return 0;
    if (!*folder)
        return err_set(e, "--resume goes on from the folder that --checkpoint names");
    status = fit_restore(t->fit, folder, &t->epochs_before, &skipped, e);
    if (status == 0)
        return err_at(e, folder, 0, 0, "no checkpoint to resume from");
    if (status > 0 && *skipped.msg)
        fprintf(stderr, "systole: %s: passed over\n", skipped.msg);
    if (status > 0 && t->epochs_before >= train_value(t, OPT_EPOCHS)->integer)
        return err_at(e, folder, 0, 0, "%" PRId64 " epochs are done already; --epochs says how "
                      "many there are to be in all", t->epochs_before);
    if (status > 0 && fit_step(t->fit) >= t->step_limit)
        return err_at(e, folder, 0, 0, "%" PRId64 " steps are done already, and there are to be "
                      "%" PRId64 " in all, by --epochs, --steps-per-epoch and --steps",
                      fit_step(t->fit), t->step_limit);
    return status < 0 ? -1 : resume_rate(t, e);
}

int train_begin_trace(struct train_run *t, struct err *e)
{
    if (trace_recording_begin(&t->trace, &t->options->trace, path_or_null(t, OPT_OUT), t->machine,
                              t->model.name, &t->options->command, e))
        return -1;
    trace_recording_pause(&t->trace);   /* only training steps are in it */
    return 0;
}

/* before any work is done: can all of it be left where it is to go? */
static int check_outputs(const struct train_run *t, struct err *e)
{
    const char *const path[] = {path_or_null(t, OPT_CSV_LOG), path_or_null(t, OPT_SAVE),
                                t->options->json, t->options->out_npy};

    for (size_t i = 0; i < COUNT_OF(path); i++)
        if (path[i] && outfile_check(path[i], e))
            return -1;
    return report_check_outputs(path_or_null(t, OPT_OUT), t->options->trace.path, e);
}

/* logical devices, of which each replica has as many cores */
static int choose_devices(struct train_run *t, struct err *e)
{
    const char *mesh = train_value(t, OPT_MESH)->text, *layouts = train_value(t, OPT_LAYOUTS)->text;
    int cores = t->slice.core_count, stages = (int)train_value(t, OPT_PIPELINE)->integer, each;

    if (layer_devices_count(train_value(t, OPT_DEVICES)->text, &t->device_count, e) ||
        model_mesh_read(mesh, &t->arena, &t->mesh, e))
        return -1;
    if (t->mesh.axis_count == 1)
        return 0;
    if (!*layouts)
        return err_set(e, "--mesh %s cuts nothing by itself; --layouts says what it cuts", mesh);
    if (t->device_count > 1)
        return err_set(e, "--mesh %s does not go with --devices; a replica is cut one way only",
                       mesh);
    t->device_count = mesh_device_count(&t->mesh);
    each = t->device_count * (stages > 1 ? stages : 1);
    if (cores % each)
        return err_set(e, "--mesh %s: %d logical devices of each replica on %d cores; they must "
                       "divide the cores", mesh, each, cores);
    t->mesh.axis[0].size = cores ? cores / each : 1;
    return 0;
}

int train_setup(struct train_run *t, struct err *e)
{
    variable_set_init(&t->variables, &t->arena);
    if (train_read_callbacks(t, e))
        return -1;
    t->batch = train_value(t, OPT_BATCH)->integer;
    if (check_outputs(t, e) || check_folder(t, e) || load_chip(t, e) || choose_devices(t, e))
        return -1;
    if (train_replicas(t) > 0 && strategy_check_batch(t->batch, train_replicas(t), e))
        return -1;
    if (model_file_read(&t->model, &t->arena, t->options->model_path,
                        train_value(t, OPT_INPUT_SHAPE)->text, &t->file, e))
        return -1;
    if (t->model.output_count == 0)
        model_output(&t->model, model_last_call(&t->model));
    if (t->options->task == TASK_EVALUATE)
        train_read_compiled(t);
    if (choose_loss(t, e) || train_read_class_weights(t, e) || train_load_data(t, e))
        return -1;
    if (!runs_on_host(t) && create_machine(t, e))
        return -1;
    if (t->options->task == TASK_TRAIN)
        plan_steps(t);
    if (create_fit(t, e) || resume(t, e))
        return -1;
    return train_value(t, OPT_STEPS)->integer ? train_begin_trace(t, e) : 0;
}

int train_check_memory(struct train_run *t, struct err *e)
{
    struct strategy_program *p = NULL;
    double bytes;

    if (!t->machine)
        return 0;
    if (t->options->task == TASK_TRAIN) {
        p = fit_program(t->fit, t->steps_per_execution, e);
        if (!p)
            return -1;
    }
    bytes = (double)(strategy_variable_bytes(fit_strategy(t->fit)) + t->chip.vmem_bytes
                     + (p ? strategy_program_module(p)->hbm_bytes : 0));
    return host_memory_check(bytes * t->slice.core_count, "a smaller slice or --batch, or "
                             "--shard-state", e);
}

void train_fini(struct train_run *t)
{
    trace_recording_abandon(&t->trace);
    fit_destroy(t->fit);
    if (t->machine)
        machine_destroy(t->machine);
    model_fini(&t->model);
    variable_set_fini(&t->variables);
    mem_free(t->row);
    arena_fini(&t->arena);
}

/* "784 -> 512 relu -> 10 softmax"; layers that are not dense by their class and shape */
static void print_layers(const struct model *m)
{
    char shape[96];

    printf("model      %s:", m->name);
    for (int i = 0; i < m->node_count; i++) {
        const struct layer *l = m->layer[m->node[i].layer];

        if (m->node[i].part > 0)
            continue;
        printf("%s ", i ? " ->" : "");
        if (l->kind == LAYER_DENSE)
            printf("%" PRId64, l->c.units);
        else if (l->kind == LAYER_INPUT)
            printf("%s", shape_print(&m->node[i].shape, shape, sizeof(shape)));
        else
            printf("%s %s", layer_class(l->kind),
                   shape_print(&m->node[i].shape, shape, sizeof(shape)));
        if (l->c.activation.kind != ACTIVATION_LINEAR)
            printf(" %s", activation_title(l->c.activation.kind));
    }
}

static void print_machine(const struct train_run *t)
{
    const struct module *m;
    char layers[400];
    struct err e;

    if (!t->machine) {
        printf("machine    reference interpreter on the host, products of %s operands\n",
               train_value(t, OPT_REFERENCE_DOT)->text);
        return;
    }
    m = strategy_program_module(fit_program(t->fit, t->steps_per_execution, &e));
    printf("slice      %s, %" PRId64 " MHz\n", slice_print(&t->slice).text, t->chip.chip_clock_mhz);
    if (!train_is_timed(t))
        printf("mode       functional: cycles are not simulated\n");
    printf("program    %d kernels, %s bundles; per core HBM %s for variables and %s for a launch, "
           "VMEM %s\n", m->kernel_count, text_thousands(m->linked[0].program.bundle_count).text,
           text_bytes(strategy_variable_bytes(fit_strategy(t->fit))).text,
           text_bytes(m->hbm_bytes).text, text_bytes(train_vmem_bytes(m)).text);
    if (t->mesh.axis_count > 1)
        printf("devices    %d of each %s, %s: %s\n", t->device_count,
               train_value(t, OPT_PIPELINE)->integer > 1 ? "stage" : "replica",
               train_value(t, OPT_MESH)->text, train_value(t, OPT_LAYOUTS)->text);
    else if (t->device_count > 1)
        printf("devices    %d of each replica: %s\n", t->device_count,
               layer_devices_print(&t->model, t->device_count, layers, sizeof(layers)));
    if (t->steps_per_execution > 1)
        printf("launches   %d steps each, as a loop on the device\n", t->steps_per_execution);
}

static void print_optimizer(const struct train_run *t)
{
    const struct optimizer *o = &t->optimizer;
    const char *name = train_value(t, OPT_OPTIMIZER)->text;

    printf("optimizer  %s", strchr(name, '(') ? name : optimizer_name(o->rule));
    for (int i = 0; i < OPT_COUNT; i++) {
        enum hyper h = train_option_hyper((enum train_option)i);
        bool is_schedule = h == HYPER_LEARNING_RATE && o->schedule.kind != SCHEDULE_NONE;

        if (h != HYPER_NONE && optimizer_takes(o->rule, h) && !is_schedule)
            printf(", %s %g", train_option_name((enum train_option)i), o->hyper[h]);
    }
    if (train_value(t, OPT_SHARD_STATE)->integer)
        printf("; its state in parts over the cores");
    printf("\n");
}

void train_print_header(const struct train_run *t)
{
    const char *folder = train_value(t, OPT_DATA)->text;
    int replicas = train_replicas(t);
    int64_t count = t->train_batches.samples, dropped = count % t->batch;

    print_layers(&t->model);
    printf(", %s parameters\n", text_thousands(model_parameter_count(&t->model, true)).text);
    print_machine(t);
    printf("numerics   policy %s, precision %s\n", keras_policy_name(t->model.policy),
           train_value(t, OPT_PRECISION)->text);
    print_optimizer(t);
    printf("data       %s: %s training and %s test %s of %s\n",
           *folder ? folder : "drawn digits", text_thousands(count).text,
           text_thousands(t->test_batches.samples).text, t->data_noun, t->data_shape);
    printf("batch      %" PRId64 " = %d x %" PRId64 ", %" PRId64 " steps per epoch, seed %s\n",
           t->batch, replicas, t->batch / replicas, t->steps_per_epoch,
           train_value(t, OPT_SEED)->text);
    if (fit_step(t->fit) > 0)
        printf("resuming   after %" PRId64 " epochs, %" PRId64 " steps\n", t->epochs_before,
               fit_step(t->fit));
    if (dropped)
        printf("dropping the last %" PRId64 " of %" PRId64
               " training %s: not a whole batch of %" PRId64 "\n", dropped, count,
               t->data_noun, t->batch);
    printf("\n");
    fflush(stdout);
}
