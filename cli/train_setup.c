/* What comes before the first step: checks, data, machine, programs. */
#include "cli/train.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "report/host_table.h"

#define THREAD_MAX 8                    /* when the user names no number */
#define TRAIN_DIGITS 12000
#define TEST_DIGITS 2000
#define DIGITS_SEED 1                   /* the same set for every --seed, as with files */

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
    return cli_load_slice(tpu, &t->options->set, &t->slice, &t->chip, t->chip_origins, &t->arena,
                          e);
}

static int load_data(struct train_run *t, struct err *e)
{
    const char *folder = train_value(t, OPT_DATA)->text;
    const struct model_layer *last = &t->model.layer[t->model.layer_count - 1];

    if (*folder) {
        if (data_load_idx(&t->train, &t->test, folder, &t->arena, e))
            return -1;
    } else {
        data_make_digits(&t->train, &t->test, TRAIN_DIGITS, TEST_DIGITS, DIGITS_SEED, &t->arena);
        folder = "drawn digits";
    }
    if (t->train.elems != t->model.input_elems)
        return err_at(e, folder, 0, 0, "images are %dx%d = %" PRId64 " pixels, model %s expects %"
                      PRId64 " inputs", t->train.rows, t->train.columns, t->train.elems,
                      t->model.name, t->model.input_elems);
    if (last->units < t->train.classes)
        return err_at(e, folder, 0, 0, "labels are 0..%d, but the last layer of model %s has only %"
                      PRId64 " units", t->train.classes - 1, t->model.name, last->units);
    if (t->train.count < t->batch)
        return err_at(e, folder, 0, 0, "%" PRId64 " training images are less than a batch of %"
                      PRId64, t->train.count, t->batch);
    return 0;
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

static int create_strategy(struct train_run *t, struct err *e)
{
    struct dense_options o = {
        .model = &t->model,
        .model_options = {
            .policy = (enum model_policy)train_value(t, OPT_POLICY)->integer,
            .precision = (enum graph_precision)train_value(t, OPT_PRECISION)->integer,
            .optimizer = (enum model_optimizer)train_value(t, OPT_OPTIMIZER)->integer,
            .learning_rate = train_value(t, OPT_LR)->real,
            .beta_1 = train_value(t, OPT_BETA_1)->real,
            .beta_2 = train_value(t, OPT_BETA_2)->real,
            .epsilon = train_value(t, OPT_EPSILON)->real,
            .momentum = train_value(t, OPT_MOMENTUM)->real,
        },
        .global_batch = t->batch,
        .seed = (uint64_t)train_value(t, OPT_SEED)->integer,
        .machine = t->machine,
        .reference_dot = (enum interp_dot)train_value(t, OPT_REFERENCE_DOT)->integer,
    };

    t->strategy = dense_create(&o, &t->arena, e);
    return t->strategy ? 0 : -1;
}

/* The test images in their order, filled up with the first one to whole batches. */
static void allocate_batches(struct train_run *t)
{
    size_t padded = (size_t)round_up(t->test.count, t->batch);
    int64_t epochs = train_value(t, OPT_EPOCHS)->integer;

    t->steps_per_epoch = t->train.count / t->batch;
    t->step_limit = epochs * t->steps_per_epoch;
    if (train_value(t, OPT_STEPS)->integer && train_value(t, OPT_STEPS)->integer < t->step_limit)
        t->step_limit = train_value(t, OPT_STEPS)->integer;
    t->order = arena_array(&t->arena, (size_t)t->train.count, sizeof(*t->order));
    t->test_order = arena_array(&t->arena, padded, sizeof(*t->test_order));
    for (int64_t i = 0; i < t->test.count; i++)
        t->test_order[i] = (uint32_t)i;
    t->x = arena_array(&t->arena, (size_t)(t->batch * t->train.elems), sizeof(*t->x));
    t->labels = arena_array(&t->arena, (size_t)t->batch, sizeof(*t->labels));
    t->epoch = arena_array(&t->arena, (size_t)div_up(t->step_limit, t->steps_per_epoch),
                           sizeof(*t->epoch));
}

int train_begin_trace(struct train_run *t, struct err *e)
{
    if (trace_recording_begin(&t->trace, &t->options->trace, path_or_null(t, OPT_OUT), t->machine,
                              t->model.name, &t->options->command, e))
        return -1;
    trace_recording_pause(&t->trace);   /* only training steps are in it */
    return 0;
}

int train_setup(struct train_run *t, struct err *e)
{
    t->batch = train_value(t, OPT_BATCH)->integer;
    if (report_check_outputs(path_or_null(t, OPT_OUT), t->options->trace.path, e) ||
        load_chip(t, e))
        return -1;
    if (t->slice.core_count && dense_check_batch(t->batch, t->slice.core_count, e))
        return -1;
    if (model_load(&t->model, t->options->model_path, &t->arena, e) || load_data(t, e))
        return -1;
    if (!runs_on_host(t) && create_machine(t, e))
        return -1;
    allocate_batches(t);
    if (create_strategy(t, e))
        return -1;
    return train_value(t, OPT_STEPS)->integer ? train_begin_trace(t, e) : 0;
}

void train_fini(struct train_run *t)
{
    trace_recording_abandon(&t->trace);
    dense_destroy(t->strategy);
    if (t->machine)
        machine_destroy(t->machine);
    mem_free(t->row);
    arena_fini(&t->arena);
}

static void print_layers(const struct model *m)
{
    printf("model      %s: %" PRId64, m->name, m->input_elems);
    for (int i = 0; i < m->layer_count; i++)
        printf(" -> %" PRId64 " %s", m->layer[i].units, activation_name(m->layer[i].activation));
}

static void print_machine(const struct train_run *t)
{
    const struct module *m = dense_train_program(t->strategy);
    char slice[128], bundles[32], vmem[32], hbm[32];

    if (!m) {
        printf("machine    reference interpreter on the host, products of %s operands\n",
               train_value(t, OPT_REFERENCE_DOT)->text);
        return;
    }
    printf("slice      %s, %" PRId64 " MHz\n", slice_print(&t->slice, slice, sizeof(slice)),
           t->chip.chip_clock_mhz);
    if (!train_is_timed(t))
        printf("mode       functional: cycles are not simulated\n");
    printf("program    %d kernels, %s bundles per step; HBM %s, VMEM %s per core\n",
           m->kernel_count,
           text_thousands(m->linked[0].program.bundle_count, bundles, sizeof(bundles)),
           text_bytes(m->hbm_bytes, hbm, sizeof(hbm)),
           text_bytes(train_vmem_bytes(m), vmem, sizeof(vmem)));
}

static void print_optimizer(const struct train_run *t)
{
    printf("optimizer  %s, lr %s", train_value(t, OPT_OPTIMIZER)->text,
           train_value(t, OPT_LR)->text);
    if (train_value(t, OPT_OPTIMIZER)->integer == OPTIMIZER_ADAM)
        printf(", beta-1 %s, beta-2 %s, epsilon %s\n", train_value(t, OPT_BETA_1)->text,
               train_value(t, OPT_BETA_2)->text, train_value(t, OPT_EPSILON)->text);
    else
        printf(", momentum %s\n", train_value(t, OPT_MOMENTUM)->text);
}

void train_print_header(const struct train_run *t)
{
    const char *folder = train_value(t, OPT_DATA)->text;
    int replicas = t->slice.core_count ? t->slice.core_count : 1;
    int64_t dropped = t->train.count % t->batch;
    char elems[32], train[32], test[32];

    print_layers(&t->model);
    printf(", %s parameters\n", text_thousands(t->model.parameter_elems, elems, sizeof(elems)));
    print_machine(t);
    printf("numerics   policy %s, precision %s\n", train_value(t, OPT_POLICY)->text,
           train_value(t, OPT_PRECISION)->text);
    print_optimizer(t);
    printf("data       %s: %s training and %s test images of %dx%d\n",
           *folder ? folder : "drawn digits", text_thousands(t->train.count, train, sizeof(train)),
           text_thousands(t->test.count, test, sizeof(test)), t->train.rows, t->train.columns);
    printf("batch      %" PRId64 " = %d x %" PRId64 ", %" PRId64 " steps per epoch, seed %s\n",
           t->batch, replicas, t->batch / replicas, t->steps_per_epoch,
           train_value(t, OPT_SEED)->text);
    if (dropped)
        printf("dropping the last %" PRId64 " of %" PRId64
               " training images: not a whole batch of %" PRId64 "\n", dropped, t->train.count,
               t->batch);
    printf("\n");
    fflush(stdout);
}
