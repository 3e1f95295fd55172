/*
 * The training loop: epochs of launches, metrics, validation and callbacks; evaluation and
 * prediction by the same programs.
 */
#include "train/fit/fit.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "train/fit/fit_impl.h"

struct strategy *fit_strategy(const struct fit *f) { return f->strategy; }
const struct fit_options *fit_options(const struct fit *f) { return &f->options; }
int64_t fit_step(const struct fit *f) { return f->step; }
void fit_resume(struct fit *f, int64_t step) { f->step = step; }

const struct model_stages *fit_stages(const struct fit *f)
{
    return f->options.stages ? &f->stages : NULL;
}

const struct host_loop *fit_host_loop(const struct fit *f)
{
    return f->options.host ? &f->host : NULL;
}

struct strategy_program *fit_program(struct fit *f, int steps, struct err *e)
{
    struct fit_training *t = fit_training_of(f, steps, e);

    return t ? t->feed.program : NULL;
}

int fit_compile(struct fit *f, struct err *e)
{
    int steps = f->options.steps_per_execution > 1 ? f->options.steps_per_execution : 1;

    return fit_training_of(f, steps, e) && fit_prepare_evaluation(f, e) == 0 ? 0 : -1;
}

struct strategy_program *fit_last_program(const struct fit *f)
{
    return f->last ? f->last->feed.program : NULL;
}

int fit_time_step(struct fit *f, struct strategy_run *run, struct err *e)
{
    int steps = f->options.steps_per_execution > 1 ? f->options.steps_per_execution : 1;

    f->last = fit_training_of(f, steps, e);
    return f->last ? fit_replay(f, true, run, e) : -1;
}

int fit_replay(struct fit *f, bool keeps_variables, struct strategy_run *run, struct err *e)
{
    assert(f->last);
    return strategy_replay(f->strategy, f->last->feed.program, f->last->feed.input,
                           f->last->feed.result, keeps_variables, run, e);
}

/* ----- numbers */

static int read_states(struct fit *f, const struct metric *m, float **state, struct err *e)
{
    for (int k = 0; k < m->variable_count; k++) {
        const struct shape *s = &f->set->variable[m->variable[k]].shape;

        state[k] = mem_alloc((size_t)shape_elems(s) * sizeof(float));
        if (strategy_read(f->strategy, m->variable[k], state[k], e))
            return -1;
    }
    return 0;
}

int fit_metrics(struct fit *f, double *out, struct err *e)
{
    int status = 0;

    for (int i = 0; i < f->options.metric_count && status == 0; i++) {
        const struct metric *m = &f->options.metric[i];
        float *state[METRIC_STATES_MAX] = {NULL};

        status = read_states(f, m, state, e);
        if (status == 0)
            out[i] = metric_result(m, f->set, (const float *const *)state);
        for (int k = 0; k < METRIC_STATES_MAX; k++)
            mem_free(state[k]);
    }
    return status;
}

static int reset_metrics(struct fit *f, struct err *e)
{
    for (int i = 0; i < f->options.metric_count; i++)
        for (int k = 0; k < f->options.metric[i].variable_count; k++)
            if (strategy_reset(f->strategy, f->options.metric[i].variable[k], e))
                return -1;
    return 0;
}

int fit_set_learning_rate(struct fit *f, double rate, struct err *e)
{
    const struct optimizer *o = f->options.optimizer;
    float value = (float)rate;

    if (!(rate >= 0) || !isfinite(rate))
        return err_set(e, "learning rate is %g; it must be a number from 0 up", rate);
    if (o->learning_rate < 0)
        return err_set(e, "learning rate %g: the optimizer's is %s, which makes it of its steps",
                       rate, schedule_name(o->schedule.kind));
    return strategy_write(f->strategy, o->learning_rate, &value, e);
}

int fit_learning_rate(struct fit *f, double *rate, struct err *e)
{
    const struct optimizer *o = f->options.optimizer;
    int32_t steps = 0;
    float value = 0;
    int status;

    if (o->learning_rate < 0) {
        status = strategy_read(f->strategy, o->iterations, &steps, e);
        *rate = schedule_value(&o->schedule, steps);
        return status;
    }
    status = strategy_read(f->strategy, o->learning_rate, &value, e);
    *rate = (double)value;
    return status;
}

/* ----- callbacks */

enum event {
    EVENT_BEGIN, EVENT_EPOCH_BEGIN, EVENT_STEP_BEGIN, EVENT_STEP, EVENT_CUT, EVENT_EPOCH,
    EVENT_END
};

static int call(struct fit *f, const struct fit_callback *c, enum event event,
                const struct fit_log *log, struct err *e)
{
    switch (event) {
    case EVENT_BEGIN:
        return c->begin ? c->begin(c->context, f, e) : 0;
    case EVENT_EPOCH_BEGIN:
        return c->epoch_begin ? c->epoch_begin(c->context, f, log->epoch, e) : 0;
    case EVENT_STEP_BEGIN:
        return c->step_begin ? c->step_begin(c->context, f, log, e) : 0;
    case EVENT_STEP:
        return c->step ? c->step(c->context, f, log, e) : 0;
    case EVENT_CUT:
        return c->cut ? c->cut(c->context, f, log, e) : 0;
    case EVENT_EPOCH:
        return c->epoch ? c->epoch(c->context, f, log, e) : 0;
    case EVENT_END:
        return c->end ? c->end(c->context, f, e) : 0;
    }
    return 0;
}

/* 1, FIT_STOP_NOW: one of them wants to stop; all are told all the same */
static int tell(struct fit *f, const struct fit_run *run, enum event event,
                const struct fit_log *log, struct err *e)
{
    int stop = 0;

    for (int i = 0; i < 2 * run->callback_count; i++) {
        const struct fit_callback *c = &run->callback[i % run->callback_count];
        bool is_later = i >= run->callback_count;
        int status;

        if ((c->is_last && event == EVENT_EPOCH) != is_later)
            continue;
        status = call(f, c, event, log, e);
        if (status < 0)
            return -1;
        stop |= status;
    }
    return stop;
}

bool fit_keep(struct fit *f, const char *name, void *data, int64_t bytes)
{
    size_t length = strlen(name);
    int same = 0;

    for (int i = 0; i < f->kept_count; i++)
        same += strncmp(f->kept[i].name, name, length) == 0 &&
                (!f->kept[i].name[length] || f->kept[i].name[length] == '#');
    if (same > 0)
        name = arena_printf(&f->arena, "%s#%d", name, same + 1);
    f->kept = mem_grow(f->kept, &f->kept_capacity, (size_t)f->kept_count + 1, sizeof(*f->kept));
    f->kept[f->kept_count++] = (struct fit_kept){arena_strdup(&f->arena, name), data, bytes};
    for (int i = 0; i < f->restored_count; i++)
        if (strcmp(f->restored[i].name, name) == 0 && f->restored[i].bytes == bytes) {
            memcpy(data, f->restored[i].data, (size_t)bytes);
            return true;
        }
    return false;
}

static void tell_launch(struct fit *f, const struct fit_run *run, int64_t epoch, bool is_before)
{
    for (int i = 0; i < run->callback_count; i++)
        if (run->callback[i].launch)
            run->callback[i].launch(run->callback[i].context, f, epoch, is_before);
}

/* ----- training */

struct epoch {
    const struct fit_run *run;
    struct fit_log log;
    int64_t limit;                      /* steps of this epoch; INT64_MAX: as long as there are */
    double loss_sum;                    /* over its steps */
};

/*
 * What all replicas say of each step; -1 at the first that is not finite, but for a training that
 * then ends: 1
 */
static int add_losses(struct fit *f, const struct fit_feed *feed, bool ends_on_nan, double *sum,
                      struct err *e)
{
    int status = 0;

    *sum = 0;
    for (int k = 0; k < feed->rounds; k++) {
        double loss = 0;

        for (int r = 0; r < f->replicas; r++)
            loss += (double)((const float *)feed->result[r])[k];
        if (!isfinite(loss) && !ends_on_nan)
            return fit_explain_loss(f, feed, f->step + k + 1, loss, e);
        status |= !isfinite(loss);
        *sum += loss;
    }
    return status;
}

static double device_us(const struct fit *f, cycle_t cycles)
{
    const struct machine *m = f->options.strategy.machine;

    return m ? (double)cycles / (double)machine_chip(m)->chip_clock_mhz : 0;
}

static void count_host_time(struct fit *f, int64_t steps, const struct strategy_run *run,
                            struct fit_log *log)
{
    double before = f->host.wall_us;

    if (!f->options.host)
        return;
    host_loop_execute(&f->host, steps, device_us(f, run->cycles), run->input_bytes);
    log->wall_us = f->host.wall_us - before;
}

/* how far an epoch has come */
static struct fit_part part_of(const struct epoch *ep)
{
    return (struct fit_part){ep->log.epoch, ep->log.steps, ep->log.samples,
                             ep->log.launch_cycles, ep->loss_sum, ep->log.wall_us};
}

/* one launch; 1: a callback wants to stop */
static int execute(struct fit *f, struct epoch *ep, struct fit_training *t, struct err *e)
{
    struct fit_log log = {.epoch = ep->log.epoch, .steps = t->rounds,
                          .samples = t->rounds * f->batch};
    struct strategy_run run;
    int status, stop, told;
    double sum;

    log.step = f->step;
    status = tell(f, ep->run, EVENT_STEP_BEGIN, &log, e);
    if (status || (f->keeps && fit_keep_values(f, e)))
        return status ? status : -1;
    f->last = t;
    tell_launch(f, ep->run, ep->log.epoch, true);
    status = fit_execute(f, &t->feed, &run, e);
    tell_launch(f, ep->run, ep->log.epoch, false);
    stop = status ? -1 : add_losses(f, &t->feed, ep->run->ends_on_nan, &sum, e);
    if (stop < 0)
        return -1;
    f->step += t->rounds;
    count_host_time(f, t->rounds, &run, &log);
    log.step = f->step;
    log.loss = sum / t->rounds;
    log.launch_cycles = run.cycles;
    log.cycles = run.cycles / t->rounds;
    ep->loss_sum += sum;
    ep->log.steps += t->rounds;
    ep->log.samples += log.samples;
    ep->log.launch_cycles += run.cycles;
    ep->log.cycles = ep->log.launch_cycles / ep->log.steps;
    ep->log.wall_us += log.wall_us;
    ep->log.step = f->step;
    f->part = part_of(ep);              /* a checkpoint that is saved now goes on from here */
    told = tell(f, ep->run, EVENT_STEP, &log, e);
    f->part = (struct fit_part){.epoch = 0};
    return told < 0 ? -1 : stop | told;
}

static int64_t steps_left(const struct fit *f, const struct epoch *ep)
{
    int64_t left = ep->limit - ep->log.steps;

    if (ep->run->step_limit && ep->run->step_limit - f->step < left)
        left = ep->run->step_limit - f->step;
    return left;
}

/*
 * Executions of several steps as long as there are enough batches; what is left at the end of an
 * epoch is one execution of fewer steps. 1: stop after this epoch.
 */
static int run_steps(struct fit *f, struct epoch *ep, struct err *e)
{
    int most = f->options.steps_per_execution > 1 ? f->options.steps_per_execution : 1, stop = 0;

    while (stop == 0 && steps_left(f, ep) > 0) {
        int64_t left = steps_left(f, ep), got;
        struct fit_training *t = fit_training_of(f, (int)(left < most ? left : most), e), *part;

        if (!t)
            return -1;
        got = fit_fill(f, &t->feed, ep->run->train, t->rounds, e);
        if (got <= 0)
            return got < 0 ? -1 : 0;
        if (got < t->rounds) {          /* the epoch is over: its batches go to another program */
            part = fit_training_of(f, (int)got, e);
            if (!part)
                return -1;
            fit_move_batches(f, &t->feed, &part->feed);
            t = part;
        }
        stop = execute(f, ep, t, e);
    }
    return stop;
}

static int validate(struct fit *f, struct epoch *ep, struct err *e)
{
    const struct fit_run *run = ep->run;
    int64_t every = run->validation_frequency ? run->validation_frequency : 1;
    struct fit_log log;

    if (!run->validation || ep->log.epoch % every)
        return 0;
    if (fit_evaluate(f, run->validation, run->validation_steps, &log, e))
        return -1;
    memcpy(f->validation, log.metric, (size_t)f->options.metric_count * sizeof(*f->validation));
    ep->log.has_validation = true;
    ep->log.validation_loss = log.loss;
    ep->log.validation_metric = f->validation;
    return 0;
}

int64_t fit_samples_before(const struct fit *f) { return f->part.samples; }

/* the epoch goes on where it was cut: its batches until there are passed over */
static int take_up(struct fit *f, struct epoch *ep, struct err *e)
{
    struct fit_training *t = fit_training_of(f, 1, e);

    for (int64_t i = 0; t && i < f->part.steps; i++)
        if (fit_fill(f, &t->feed, ep->run->train, 1, e) < 1)
            return err_set(e, "the data ends before step %" PRId64 " of epoch %" PRId64
                           ", which the checkpoint has", i + 1, ep->log.epoch);
    ep->log.steps = f->part.steps;
    ep->log.samples = f->part.samples;
    ep->log.launch_cycles = f->part.cycles;
    ep->log.wall_us = f->part.wall_us;
    ep->loss_sum = f->part.loss_sum;
    return t ? 0 : -1;
}

/* a training that goes on from here goes on within the epoch */
static int leave_cut(struct fit *f, const struct epoch *ep, struct err *e)
{
    int status;

    f->part = part_of(ep);
    status = tell(f, ep->run, EVENT_CUT, &ep->log, e);
    f->part = (struct fit_part){.epoch = 0};
    return status < 0 ? -1 : 0;
}

static int begin_epoch(struct fit *f, struct epoch *ep, struct err *e)
{
    bool goes_on = f->part.epoch == ep->log.epoch && f->part.steps > 0;
    int status;

    if (ep->run->train->begin(ep->run->train->context, ep->log.epoch - 1, e))
        return -1;
    status = goes_on ? take_up(f, ep, e) : reset_metrics(f, e);
    f->part = (struct fit_part){.epoch = 0};
    return status;
}

static int run_epoch(struct fit *f, struct epoch *ep, struct err *e)
{
    double *metric = arena_array(&f->arena, (size_t)f->options.metric_count + 1, sizeof(*metric));
    int stop = tell(f, ep->run, EVENT_EPOCH_BEGIN, &ep->log, e), more;

    if (stop || begin_epoch(f, ep, e))
        return stop ? stop : -1;
    stop = run_steps(f, ep, e);
    if (stop < 0 || (stop && ep->log.steps == 0))
        return stop;
    if (ep->log.steps == 0)
        return err_set(e, "there is not one whole batch of %" PRId64 " samples in epoch %" PRId64,
                       f->batch, ep->log.epoch);
    ep->log.loss = ep->loss_sum / (double)ep->log.steps;
    if (fit_metrics(f, metric, e) || fit_learning_rate(f, &ep->log.learning_rate, e))
        return -1;
    ep->log.metric = metric;
    ep->log.is_cut = ep->log.steps < ep->limit &&
                     (stop || (ep->run->step_limit && f->step >= ep->run->step_limit));
    if (ep->log.is_cut && leave_cut(f, ep, e))
        return -1;
    if (!(ep->log.is_cut && stop & FIT_STOP_NOW) && validate(f, ep, e))
        return -1;
    more = tell(f, ep->run, EVENT_EPOCH, &ep->log, e);
    return more < 0 ? -1 : stop | more;
}

/* in mode timing there are no values: batches have no room and a loss is not known */
static int must_have_values(const struct fit *f, const char *what, struct err *e)
{
    const struct machine *m = strategy_machine(f->strategy);

    if (!m || machine_mode(m) != MODE_TIMING)
        return 0;
    return err_set(e, "%s needs values, and mode timing works out none: take mode both or "
                   "functional, or ask for the cycles of a step alone", what);
}

/* with use_ema the variables become their moving averages, as Keras's do when fit ends */
static int take_averages(struct fit *f, struct err *e)
{
    const struct optimizer *o = f->options.optimizer;
    int status = 0;

    for (int i = 0; i < o->count && status == 0; i++) {
        const struct optimizer_variable *v = &o->of[i];
        void *value;

        if (v->average < 0)
            continue;
        value = mem_alloc((size_t)shape_elems(&f->set->variable[v->variable].shape) * 4);
        status = strategy_read(f->strategy, v->average, value, e)
                 || strategy_write(f->strategy, v->variable, value, e) ? -1 : 0;
        mem_free(value);
    }
    return status;
}

/* what callbacks hold is let go, however the training has ended */
static int leave(struct fit *f, const struct fit_run *run, int status)
{
    for (int i = 0; i < run->callback_count; i++)
        if (run->callback[i].close)
            run->callback[i].close(run->callback[i].context);
    f->kept_count = 0;                  /* their memory may go now */
    return status;
}

/* the epoch behind which training goes on: the run's, or one that a callback has found */
static int find_start(struct fit *f, const struct fit_run *run, int64_t *first, struct err *e)
{
    *first = run->initial_epoch;
    for (int i = 0; i < run->callback_count; i++) {
        const struct fit_callback *c = &run->callback[i];
        int64_t epoch = 0;

        if (c->restore && c->restore(c->context, f, &epoch, e) < 0)
            return -1;
        *first = epoch > *first ? epoch : *first;
    }
    return 0;
}

int fit_train(struct fit *f, const struct fit_run *run, struct err *e)
{
    int64_t first = 0;
    int status = must_have_values(f, "training", e) || find_start(f, run, &first, e) ? -1 : 0;

    f->kept_count = 0;
    f->part = (struct fit_part){.epoch = 0};
    fit_keep(f, "epoch", &f->part, sizeof(f->part));
    if (status == 0)
        status = tell(f, run, EVENT_BEGIN, NULL, e);
    f->restored_count = 0;              /* it was of this training alone */

    for (int64_t i = first; i < run->epochs && status == 0; i++) {
        struct epoch ep = {.run = run, .log = {.epoch = i + 1}, .limit = INT64_MAX};

        if (run->steps_per_epoch)
            ep.limit = run->steps_per_epoch;
        if (run->train->samples >= 0 && run->train->samples / f->batch < ep.limit)
            ep.limit = run->train->samples / f->batch;
        if (run->step_limit && f->step >= run->step_limit)
            break;
        status = run_epoch(f, &ep, e);
    }
    if (status >= 0 && take_averages(f, e))
        status = -1;
    if (status >= 0)
        status = tell(f, run, EVENT_END, NULL, e);
    return leave(f, run, status < 0 ? -1 : 0);
}

/* ----- evaluation and prediction */

/* samples of the next batch; the others weigh nothing */
static int64_t fill_masked(struct fit *f, const struct batches *b, struct err *e)
{
    struct fit_feed *feed = &f->evaluation;
    int last = feed->tensor_count - 1;
    float *mask = feed->tensor[last], *weight = feed->tensor[last - f->options.has_weights];
    int64_t got = b->next(b->context, f->batch, feed->tensor, feed->elems, e);

    for (int64_t i = 0; i < f->batch && got >= 0; i++) {
        weight[i] = i >= got ? 0 : b->has_weights ? weight[i] : 1;
        if (mask != weight)
            mask[i] = i < got;
    }
    for (int i = 0; i < last && got > 0; i++)
        memset((char *)feed->tensor[i] + got * feed->elems[i] * 4, 0,
               (size_t)((f->batch - got) * feed->elems[i]) * 4);
    return got;
}

/* what the replicas' samples of a batch lose: in all, by output where there are several, penalty */
static void add_evaluated(struct fit *f, int64_t samples, double *sum, double *penalty)
{
    int results = strategy_program_result_count(f->evaluation.program);
    int parts = f->output_count > 1 ? f->output_count : 0;
    double each = loss_is_sum(&f->output[0].loss) ? (double)samples : 1.0;

    *penalty = 0;
    for (int r = 0; r < f->replicas; r++) {
        void **result = f->evaluation.result + r * results;

        *sum += (double)*(float *)result[0] * each;
        for (int k = 0; k < parts; k++)
            f->output_loss[k] += (double)*(float *)result[1 + k] * each;
        *penalty += results > 1 + parts ? (double)*(float *)result[1 + parts] : 0;
    }
}

static int evaluate_batches(struct fit *f, const struct batches *data, int64_t steps,
                            struct fit_log *log, struct err *e)
{
    double sum = 0, penalty = 0;
    struct strategy_run run;

    memset(f->output_loss, 0, sizeof(f->output_loss));
    while (steps == 0 || log->steps < steps) {
        int64_t got = fill_masked(f, data, e);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        if (fit_execute(f, &f->evaluation, &run, e))
            return -1;
        add_evaluated(f, got, &sum, &penalty);
        log->steps++;
        log->samples += got;
        log->launch_cycles += run.cycles;
        log->cycles = run.cycles;
    }
    if (log->samples == 0)
        return err_set(e, "there are no samples to evaluate");
    log->loss = sum / (double)log->samples + penalty;
    for (int k = 0; k < f->output_count; k++)
        f->output_loss[k] /= (double)log->samples;
    log->output_loss = f->output_count > 1 ? f->output_loss : NULL;
    return 0;
}

int fit_evaluate(struct fit *f, const struct batches *data, int64_t steps, struct fit_log *log,
                 struct err *e)
{
    memset(log, 0, sizeof(*log));
    log->step = f->step;
    if (must_have_values(f, "evaluation", e) || fit_prepare_evaluation(f, e) ||
        data->begin(data->context, 0, e) || reset_metrics(f, e) ||
        evaluate_batches(f, data, steps, log, e) || fit_metrics(f, f->metric, e))
        return -1;
    log->metric = f->metric;
    return 0;
}

/* what the replicas made of a batch of which `count` samples are real, to sample `first` on */
static void take_predictions(const struct fit *f, int64_t first, int64_t count, float *const *to)
{
    for (int k = 0; k < f->output_count; k++) {
        int64_t row = shape_elems(&f->prediction[k]);

        for (int64_t i = 0; i < count; i++) {
            int64_t at = i / f->local_batch * f->output_count + k;

            memcpy(to[k] + (first + i) * row,
                   (const float *)f->prediction_feed.result[at] + i % f->local_batch * row,
                   (size_t)row * sizeof(float));
        }
    }
}

int fit_predict(struct fit *f, const void *const *x, int64_t samples, float *const *to,
                struct fit_log *log, struct err *e)
{
    struct fit_feed *feed = &f->prediction_feed;
    struct fit_log unasked;

    log = log ? log : &unasked;
    *log = (struct fit_log){.step = f->step, .samples = samples};
    if (must_have_values(f, "prediction", e) || fit_prepare_prediction(f, e))
        return -1;
    for (int64_t first = 0; first < samples; first += f->batch) {
        int64_t count = samples - first < f->batch ? samples - first : f->batch;
        struct strategy_run run;

        for (int i = 0; i < feed->tensor_count; i++) {
            size_t bytes = (size_t)feed->elems[i] * 4;

            memset(feed->tensor[i], 0, (size_t)f->batch * bytes);
            memcpy(feed->tensor[i], (const char *)x[i] + (size_t)first * bytes,
                   (size_t)count * bytes);
        }
        if (fit_execute(f, feed, &run, e))
            return -1;
        log->steps++;
        log->launch_cycles += run.cycles;
        log->cycles = run.cycles;
        take_predictions(f, first, count, to);
    }
    return 0;
}
