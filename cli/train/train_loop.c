/* Runs the epochs of a training, and prints how each went. */
#include "cli/train/train.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "train/fit/callbacks.h"
#include "train/fit/fit_checkpoint.h"

/* ----- an interrupt ends the training behind the step under way; another one ends the program */

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
    static const char words[] =
        "\nthe training ends with this step, and tells what it did; once more ends it now\n";

    signal(number, SIG_DFL);
    is_interrupted = 1;
    if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
        return;                         /* nobody reads it: it ends all the same */
}

static void heed_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction heed = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, before;

    is_interrupted = 0;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)      /* what a shell had it ignore stays so */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &heed, NULL);
}

bool train_was_interrupted(void) { return is_interrupted; }

static void print_interrupted(const struct train_run *t)
{
    const char *folder = train_value(t, OPT_CHECKPOINT)->text;

    printf("interrupted after step %lld of %lld", (long long)fit_step(t->fit),
           (long long)t->step_limit);
    printf(*folder ? "; --resume goes on from there\n" : "; with --checkpoint it could go on\n");
}

/* ----- what is told on the way */

/* one launch: in the trace, where there is one of all steps */
static void on_launch(void *context, struct fit *f, int64_t epoch, bool is_before)
{
    struct train_run *t = context;
    char name[48];

    if (!is_before) {
        trace_recording_pause(&t->trace);
        return;
    }
    snprintf(name, sizeof(name), "epoch %lld step %lld", (long long)epoch,
             (long long)fit_step(f) + 1);
    trace_recording_resume(&t->trace, name);
}

static int on_epoch_begin(void *context, struct fit *f, int64_t epoch, struct err *e)
{
    struct train_run *t = context;

    double *so_far = arena_array(&t->arena, (size_t)t->metric_count + 1, sizeof(*so_far));

    (void)epoch;
    t->correct = 0;
    t->counted = fit_samples_before(f);
    if (t->counted > 0 && t->metric_count > 0) {
        if (fit_metrics(f, so_far, e))
            return -1;
        t->correct = llround(so_far[0] * (double)t->counted);
    }
    t->epoch_began_s = progress_seconds();
    return 0;
}

/* of this execution alone, where the first metric is a share of samples */
static int own_accuracy(struct train_run *t, const struct fit_log *log, double *accuracy,
                        struct err *e)
{
    double *so_far = arena_array(&t->arena, (size_t)t->metric_count + 1, sizeof(*so_far));
    int64_t before = t->correct;

    if (fit_metrics(t->fit, so_far, e))
        return -1;
    t->counted += log->samples;
    *accuracy = t->metric_count ? so_far[0] : 0;
    if (!train_counts_samples(t))
        return 0;
    t->correct = llround(so_far[0] * (double)t->counted);
    *accuracy = (double)(t->correct - before) / (double)log->samples;
    return 0;
}

static int on_step(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct train_run *t = context;
    struct report_step_row *row;

    (void)f;
    t->row = mem_grow(t->row, &t->row_capacity, t->row_count + 1, sizeof(*t->row));
    row = &t->row[t->row_count++];
    *row = (struct report_step_row){
        .step = log->step, .step_count = log->steps, .epoch = (int)log->epoch, .loss = log->loss,
        .launch_cycles = log->launch_cycles};
    if (own_accuracy(t, log, &row->accuracy, e))
        return -1;
    progress_show(&t->progress, log->step, (int)log->epoch, log->loss);
    return is_interrupted ? FIT_STOP_NOW : 0;
}

static void print_epoch_header(const struct train_run *t)
{
    char name[24], test[24];

    snprintf(name, sizeof(name), "%.16s", t->metric_count ? t->metric[0].name : "-");
    snprintf(test, sizeof(test), "test %.16s", t->metric_count ? t->metric[0].name : "-");
    if (train_counts_samples(t))
        printf("epoch      loss  train acc   test acc");
    else
        printf("epoch      loss  %16s  %21s", name, test);
    if (train_is_timed(t))
        printf("  cycles/step    us/step     samples/s");
    printf("     host s\n");
    fflush(stdout);
}

static void print_epoch(const struct train_run *t, const struct report_epoch *done)
{
    if (train_counts_samples(t))
        printf("%5d  %8.4f  %8.2f %%  ", done->epoch, done->loss, 100.0 * done->train_accuracy);
    else
        printf("%5d  %8.4f  %16.6g  ", done->epoch, done->loss, done->train_accuracy);
    if (isnan(done->test_accuracy))     /* interrupted before */
        printf("%*s", train_counts_samples(t) ? 10 : 21, "-");
    else if (train_counts_samples(t))
        printf("%8.2f %%", 100.0 * done->test_accuracy);
    else
        printf("%21.6g", done->test_accuracy);
    if (train_is_timed(t))
        printf("  %11s  %9.2f  %12s", text_thousands(done->step_cycles).text,
               done->step_us, text_thousands((int64_t)(done->samples_per_second + 0.5)).text);
    printf("  %9.2f\n", done->host_seconds);
    fflush(stdout);
}

static int on_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct train_run *t = context;
    struct report_epoch *done = &t->epoch[t->epoch_count++];

    (void)f;
    (void)e;
    *done = (struct report_epoch){
        .epoch = (int)log->epoch, .loss = log->loss, .steps = log->steps,
        .launch_cycles = log->launch_cycles, .step_cycles = log->cycles,
        .host_seconds = progress_seconds() - t->epoch_began_s};
    if (t->metric_count) {
        done->train_accuracy = log->metric[0];
        done->test_accuracy = log->has_validation ? log->validation_metric[0] : NAN;
    }
    if (train_is_timed(t)) {
        done->step_us = (double)done->step_cycles / (double)t->chip.chip_clock_mhz;
        done->samples_per_second = (double)t->batch / done->step_us * 1e6;
    }
    progress_wipe(&t->progress);
    print_epoch(t, done);
    return 0;
}

/* what the host around the slice makes of it */
static void print_host_loop(const struct train_run *t)
{
    const struct host_loop *h = fit_host_loop(t->fit);

    if (h && train_is_timed(t))
        host_loop_print(h, stdout);
}

static size_t list_callbacks(struct train_run *t, struct fit_callback *list, struct err *e)
{
    const char *log = train_value(t, OPT_CSV_LOG)->text;
    const char *folder = train_value(t, OPT_CHECKPOINT)->text;
    struct early_stopping stop = {.patience = train_value(t, OPT_PATIENCE)->integer,
                                  .restores_best = true};
    size_t count = 0;

    list[count++] = (struct fit_callback){.epoch_begin = on_epoch_begin, .step = on_step,
                                          .epoch = on_epoch, .launch = on_launch, .context = t};
    if (stop.patience > 0)
        callback_early_stopping(&list[count++], &stop, &t->arena);
    if (*folder)
        callback_checkpoint(&list[count++], &(struct checkpoint_options){
            .folder = folder, .keep = 3,
            .steps = train_value(t, OPT_CHECKPOINT_STEPS)->integer,
            .overwrites = train_value(t, OPT_OVERWRITE)->integer}, &t->arena);
    if (*log && callback_csv(&list[count++], log, t->epochs_before > 0, &t->arena, e))
        return 0;
    return count;
}

int train_loop(struct train_run *t, struct err *e)
{
    struct fit_callback *list = arena_array(&t->arena, (size_t)t->callbacks.count + 5,
                                            sizeof(*list));
    struct fit_run run = {.train = &t->train_batches, .validation = &t->test_batches,
                          .epochs = train_value(t, OPT_EPOCHS)->integer,
                          .initial_epoch = t->epochs_before,
                          .validation_steps = train_value(t, OPT_VALIDATION_STEPS)->integer,
                          .steps_per_epoch = train_value(t, OPT_STEPS_PER_EPOCH)->integer,
                          .step_limit = t->step_limit, .callback = list,
                          .ends_on_nan = t->callbacks.ends_on_nan};
    int status;

    run.callback_count = (int)list_callbacks(t, list, e);
    if (run.callback_count == 0)
        return -1;
    for (int i = 0; i < t->callbacks.count; i++)        /* of --callbacks */
        list[run.callback_count++] = t->callbacks.callback[i];
    progress_begin(&t->progress, t->step_limit);
    t->progress.first = fit_step(t->fit);
    progress_watch(&t->progress);
    heed_interrupts();
    print_epoch_header(t);
    status = fit_train(t->fit, &run, e);
    progress_end(&t->progress);
    if (status == 0 && t->epoch_count == 0)
        return err_at(e, train_value(t, OPT_CHECKPOINT)->text, 0, 0, "--early-stopping has ended "
                      "this training after %lld epochs", (long long)t->epochs_before);
    if (status == 0 && is_interrupted)
        print_interrupted(t);
    if (status == 0)
        print_host_loop(t);
    return status;
}
