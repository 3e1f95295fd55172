/* Epochs of steps, and what is told about them. */
#include "cli/train.h"

#include <assert.h>

#include "base/text.h"

#ifdef SYSTOLE_DEBUG
static const bool is_debug_build = true;
#else
static const bool is_debug_build = false;
#endif

/* one launch: in the trace, where there is one of all steps */
static int launch_step(struct train_run *t, int epoch, struct dense_result *r, struct err *e)
{
    char name[48];
    int status;

    snprintf(name, sizeof(name), "epoch %d step %lld", epoch, (long long)t->step + 1);
    trace_recording_resume(&t->trace, name);
    status = dense_train_step(t->strategy, t->x, t->labels, r, e);
    trace_recording_pause(&t->trace);
    return status;
}

static int train_step(struct train_run *t, int epoch, int64_t index, struct dense_result *r,
                      struct err *e)
{
    struct report_step_row *row;

    data_batch(&t->train, t->order, index * t->batch, t->batch, t->x, t->labels);
    if (launch_step(t, epoch, r, e))
        return -1;
    if (train_value(t, OPT_CHECK_REPLICAS)->integer || is_debug_build)
        if (dense_check_replicas(t->strategy, e))
            return -1;
    t->step++;
    t->row = mem_grow(t->row, &t->row_capacity, t->row_count + 1, sizeof(*t->row));
    row = &t->row[t->row_count++];
    *row = (struct report_step_row){
        .step = t->step, .epoch = epoch, .loss = r->loss_sum / (double)r->samples,
        .accuracy = (double)r->correct / (double)r->samples, .cycles = r->cycles};
    return 0;
}

static int evaluate(struct train_run *t, double *accuracy, struct err *e)
{
    int64_t counted = 0, correct = 0;

    for (int64_t first = 0; first < t->test.count; first += t->batch) {
        int64_t left = t->test.count - first;
        struct dense_result r;

        data_batch(&t->test, t->test_order, first, t->batch, t->x, t->labels);
        if (dense_eval_step(t->strategy, t->x, t->labels, left < t->batch ? left : t->batch, &r,
                               e))
            return -1;
        counted += r.samples;
        correct += r.correct;
    }
    assert(counted == t->test.count);
    *accuracy = (double)correct / (double)counted;
    return 0;
}

static int run_epoch(struct train_run *t, struct report_epoch *done, struct err *e)
{
    double began_s = progress_seconds(), loss_sum = 0.0;
    int64_t correct = 0, samples = 0;
    uint64_t seed = (uint64_t)train_value(t, OPT_SEED)->integer;

    data_shuffle(t->order, t->train.count, seed, done->epoch - 1);
    for (int64_t i = 0; i < t->steps_per_epoch && t->step < t->step_limit; i++) {
        struct dense_result r;

        if (train_step(t, done->epoch, i, &r, e))
            return -1;
        loss_sum += r.loss_sum;
        correct += r.correct;
        samples += r.samples;
        done->steps++;
        done->step_cycles = r.cycles;
        progress_show(&t->progress, t->step, done->epoch, loss_sum / (double)samples);
    }
    done->loss = loss_sum / (double)samples;
    done->train_accuracy = (double)correct / (double)samples;
    if (evaluate(t, &done->test_accuracy, e))
        return -1;
    if (train_is_timed(t)) {
        done->step_us = (double)done->step_cycles / (double)t->chip.chip_clock_mhz;
        done->samples_per_second = (double)t->batch / done->step_us * 1e6;
    }
    done->host_seconds = progress_seconds() - began_s;
    return 0;
}

static void print_epoch_header(const struct train_run *t)
{
    printf("epoch      loss  train acc   test acc");
    if (train_is_timed(t))
        printf("  cycles/step    us/step     samples/s");
    printf("     host s\n");
}

static void print_epoch(const struct train_run *t, const struct report_epoch *done)
{
    char cycles[32], rate[32];

    printf("%5d  %8.4f  %8.2f %%  %8.2f %%", done->epoch, done->loss, 100.0 * done->train_accuracy,
           100.0 * done->test_accuracy);
    if (train_is_timed(t))
        printf("  %11s  %9.2f  %12s", text_thousands(done->step_cycles, cycles, sizeof(cycles)),
               done->step_us,
               text_thousands((int64_t)(done->samples_per_second + 0.5), rate, sizeof(rate)));
    printf("  %9.2f\n", done->host_seconds);
    fflush(stdout);
}

int train_loop(struct train_run *t, struct err *e)
{
    progress_begin(&t->progress, t->step_limit);
    print_epoch_header(t);
    fflush(stdout);
    while (t->step < t->step_limit) {
        struct report_epoch *done = &t->epoch[t->epoch_count++];
        int status;

        done->epoch = (int)t->epoch_count;
        status = run_epoch(t, done, e);
        progress_wipe(&t->progress);
        if (status)
            return -1;
        print_epoch(t, done);
    }
    return 0;
}
