/* Tells what things cost: a model by layer, the last launch, the host around it. */
#include <string.h>

#include "api/model.h"
#include "keras/model/summary.h"
#include "report/folder/report.h"
#include "report/tables/communication.h"
#include "train/strategy/stage_times.h"

/* ----- a launch */

static sy_status has_run(const sy_strategy *s)
{
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (s->cluster->cluster.is_host)
        return api_fail_text("costs of a launch: on the host nothing is simulated; name a slice, "
                             "such as \"v3-8\"");
    return strategy_last_program(s->strategy)
               ? SY_OK : api_fail_text("costs of a launch: the strategy has not run anything yet");
}

static int devices_of(const sy_strategy *s)
{
    return strategy_device_count(s->strategy);
}

static struct report_step describe(const sy_strategy *s)
{
    const struct strategy_program *p = strategy_last_program(s->strategy);

    return (struct report_step){
        .title = "last launch", .machine = s->cluster->cluster.machine,
        .program = &strategy_program_module(p)->linked[0].program,
        .model_flops = strategy_program_flops(s->strategy, p),
        .input_bytes = strategy_program_input_bytes(p) * devices_of(s)};
}

sy_status sy_strategy_costs(const sy_strategy *s, sy_costs *out)
{
    struct communication all;
    struct report_step step;
    struct report_view v;
    struct arena a;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (has_run(s))
        return SY_ERROR;
    step = describe(s);
    arena_init(&a);
    view_of_step(&step, &a, &v);
    communication_of_launch(&v, &a, &all);
    *out = (sy_costs){
        .cycles = v.mode == MODE_FUNCTIONAL ? 0 : v.cycles,
        .us = v.mode == MODE_FUNCTIONAL ? 0 : view_device_us(&v),
        .communication_cycles = all.total, .exposed_communication_cycles = all.exposed,
        .flops = step.model_flops * devices_of(s), .cores = devices_of(s),
        .input_bytes = step.input_bytes,
        .variable_bytes = strategy_variable_bytes(s->strategy),
        .launch_bytes = strategy_program_module(strategy_last_program(s->strategy))->hbm_bytes};
    arena_fini(&a);
    return SY_OK;
}

sy_status sy_strategy_pipeline(const sy_strategy *s, sy_pipeline *out)
{
    const struct strategy_program *p;
    struct stage_times t;
    struct arena a;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (has_run(s))
        return SY_ERROR;
    p = strategy_last_program(s->strategy);
    if (strategy_stage_count(s->strategy) == 1 || strategy_program_part(s->strategy, p, 0).kept_most
                                                      == 0)
        return api_fail_text("the last launch was no training step in stages");
    if (machine_mode(s->cluster->cluster.machine) == MODE_FUNCTIONAL)
        return api_fail_text("in mode functional a step in stages has no cycles");
    arena_init(&a);
    stage_times_of(s->strategy, p, &a, &t);
    *out = (sy_pipeline){.stages = t.stage_count, .micro_batches = t.micro_batches,
                         .cycles = t.cycles, .ideal_cycles = t.ideal, .theory = t.theory,
                         .bubble = t.bubble, .waiting = t.measured};
    arena_fini(&a);
    return SY_OK;
}

sy_status sy_strategy_print_costs(const sy_strategy *s, FILE *to)
{
    struct report_step step;

    if (API_GIVEN(to))
        return SY_ERROR;
    if (has_run(s))
        return SY_ERROR;
    step = describe(s);
    report_print_step(&step, to);
    return SY_OK;
}

/* ----- a model */

sy_status sy_model_time_step(sy_model *m, sy_costs *out)
{
    struct strategy_run run;
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_model_compiled(m))
        return SY_ERROR;
    if (m->strategy->cluster->cluster.is_host)
        return api_fail_text("a step's time: on the host nothing is simulated; name a slice, such "
                             "as \"v3-8\"");
    if (fit_time_step(m->fit, &run, &e))
        return api_fail(&e);
    m->strategy->cycles = run.cycles;
    return sy_strategy_costs(m->strategy, out);
}

sy_status sy_model_summary(const sy_model *m, FILE *to)
{
    const struct machine *machine;
    struct summary_options o = {.has_backward = true};
    struct summary s;
    struct arena a;
    struct err e;
    int status;

    if (API_GIVEN(to))
        return SY_ERROR;
    if (api_model_compiled(m))
        return SY_ERROR;
    machine = m->strategy->cluster->cluster.machine;
    o.chip = machine ? machine_chip(machine) : NULL;
    o.batch = fit_options(m->fit)->batch / sy_strategy_replicas(m->strategy);
    arena_init(&a);
    status = summary_make(&m->model, &o, &a, &s, &e);
    if (!status)
        summary_print(&s, to);
    arena_fini(&a);
    return status ? api_fail(&e) : SY_OK;
}

/* ----- the host around it */

static sy_status find_loop(const sy_model *m, const struct host_loop **h)
{
    if (api_model_compiled(m))
        return SY_ERROR;
    *h = fit_host_loop(m->fit);
    if (!*h)
        return api_fail_text("host time of model %s: on the host nothing is simulated",
                             m->model.name);
    return (*h)->steps ? SY_OK : api_fail_text("host time of model %s: it has not been trained "
                                               "yet", m->model.name);
}

sy_status sy_model_host_time(const sy_model *m, sy_host_time *out)
{
    const struct host_loop *h;

    if (API_GIVEN(m, out))
        return SY_ERROR;
    if (find_loop(m, &h))
        return SY_ERROR;
    *out = (sy_host_time){
        .executions = h->executions, .steps = h->steps, .wall_us = h->wall_us,
        .device_us = h->device_us, .batches_us = h->infeed_us,
        .loop_us = h->wall_us - h->device_us - h->infeed_us, .prepare_us = h->prepare_us,
        .link_us = h->link_us};
    return SY_OK;
}

sy_status sy_model_print_host_time(const sy_model *m, FILE *to)
{
    const struct host_loop *h;

    if (API_GIVEN(m, to))
        return SY_ERROR;
    if (find_loop(m, &h))
        return SY_ERROR;
    host_loop_print(h, to);
    return SY_OK;
}
