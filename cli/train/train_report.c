/* Writes what a training leaves behind: the table of one step, the trace, the folder. */
#include "cli/train/train.h"

#include "base/text.h"
#include "report/tables/host_table.h"

/* What the option came to; NULL where it took no part in the run. */
static const char *resolved(struct train_run *t, enum train_option o)
{
    bool has_slice = t->slice.core_count > 0;
    enum hyper h = train_option_hyper(o);

    if (!train_option_applies(t->options, o) || (o == OPT_TPU && !has_slice))
        return NULL;
    if (o == OPT_DATA && !*train_value(t, o)->text)
        return "drawn digits";
    if (o == OPT_THREADS)
        return arena_printf(&t->arena, "%d", t->thread_count);
    if (o == OPT_POLICY)
        return keras_policy_name(t->model.policy);
    if (h != HYPER_NONE && !train_value(t, o)->is_given)
        return arena_printf(&t->arena, "%.9g", t->optimizer.hyper[h]);
    return train_value(t, o)->text;
}

static size_t list_options(struct train_run *t, struct report_option *list)
{
    const struct trace_options *trace = &t->options->trace;
    size_t count = 0;

    list[count++] = (struct report_option){"model", "file", t->options->model_path,
                                           "command line"};
    list[count++] = (struct report_option){"model", "name", t->model.name, "model file"};
    for (int i = 0; i < OPT_COUNT; i++) {
        enum train_option o = (enum train_option)i;
        const char *text = resolved(t, o);

        if (text)
            list[count++] = (struct report_option){
                train_option_section(o), train_option_name(o), text,
                train_value(t, o)->is_given ? "command line" : "default"};
    }
    if (trace->path)
        list[count++] = (struct report_option){
            "output", "trace", trace->path,
            trace->path == trace->folder_path ? "default" : "command line"};
    return count;
}

/* Evaluation came last on the machine: one more step makes its counters a step's again. */
static int describe_step(struct train_run *t, struct report_step *step, struct err *e)
{
    bool is_traced = !t->trace.machine && t->options->trace.path;
    struct strategy_program *p;
    const struct module *m;
    struct strategy_run r;
    int parts;

    if (!t->machine)
        return 0;
    p = fit_last_program(t->fit);
    parts = strategy_program_part_count(p);
    m = strategy_program_module(p);
    if (is_traced && train_begin_trace(t, e))
        return -1;
    if (is_traced)
        trace_recording_resume(&t->trace, "one step");
    if (fit_replay(t->fit, false, &r, e))
        return -1;
    *step = (struct report_step){
        /* of core 0's program; of stages and devices the mean */
        .title = t->steps_per_execution > 1 ? "one execution" : "one step",
        .machine = t->machine, .program = &m->linked[0].program,
        .model_flops = strategy_program_flops(fit_strategy(t->fit), p),
        .parameter_bytes = train_replicas(t) > 1
                               ? model_parameter_count(&t->model, true) * (int64_t)sizeof(float)
                                     / parts
                               : 0,
        .input_bytes = strategy_program_input_bytes(p) * t->slice.core_count};
    train_fill_tables(t, p, step);
    printf("\n");
    report_print_step(step, stdout);
    train_print_stages(t, p);
    fflush(stdout);
    return trace_recording_end(&t->trace, step, stdout, e);
}

/* of the training so far */
static int print_host_times(const struct host_times *times, const char *out, struct err *e)
{
    printf("\n");
    host_table_print(times, stdout);
    return *out ? host_table_write(times, out, e) : 0;
}

int train_report(struct train_run *t, struct err *e)
{
    const char *out = train_value(t, OPT_OUT)->text;
    struct report_option list[OPT_COUNT + 3];
    struct report_run run = {
        .command = t->options->command,
        .chip_origins = t->chip_origins, .option = list, .option_count = list_options(t, list),
        .epoch = t->epoch, .epoch_count = t->epoch_count, .row = t->row,
        .row_count = t->row_count};

    struct host_times times;

    if (*out && report_make_folder(out, e))
        return -1;
    if (*out)
        report_clear_folder(out);
    if (t->machine)
        machine_host_times(t->machine, &times);
    if (describe_step(t, &run.step, e))
        return -1;
    run.host_seconds = progress_seconds() - t->began_s;     /* the step and its trace included */
    if (*out && report_write_folder(&run, out, e))
        return -1;
    if (t->machine && train_value(t, OPT_HOST_PROFILE)->integer
        && print_host_times(&times, out, e))
        return -1;
    if (*out)
        printf("results in %s\n", out);
    return 0;
}
