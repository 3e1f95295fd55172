/* The program of systole exec evaluated on the host, device by device in lock step. */
#include "cli/exec/exec.h"

#include "base/progress.h"
#include "import/eval/eval.h"

#include <stdio.h>
#include <string.h>

/* a result smaller than its bound has the size that it turned out to have */
static void take_result(struct exec_program *p, int i, int device, const struct eval_array *from)
{
    struct exec_tensor *to = &p->result[i];

    if (from->type.element == ELEMENT_TOKEN)
        return;
    if (from->size) {
        to->type = hlo_array_type(&p->arena, from->type.element, from->type.rank, from->size);
        to->data = exec_pack(from->data, &from->type, from->size, &p->arena);
        return;
    }
    if (device == 0)
        to->data = arena_alloc(&p->arena, hlo_type_bytes(&to->type) + 1);
    exec_join_part(p, i, device, from->data);
}

static struct eval_array *make_inputs(struct exec_program *p, int device, struct arena *a)
{
    struct eval_array *array = arena_array(a, (size_t)p->parameter_count + 1, sizeof(*array));

    for (int i = 0; i < p->parameter_count; i++) {
        array[i].type = p->graph.is_cut ? p->graph.boundary.parameter[i].part
                                        : p->parameter[i].type;
        if (p->parameter[i].data)
            array[i].data = exec_part_of(p, i, device, a);
    }
    return array;
}

static struct eval_program *open_program(const struct exec_options *o, struct exec_program *p,
                                         struct err *e)
{
    struct eval_settings settings = {
        .precision = o->precision != EXEC_AS_PROGRAM ? EVAL_EXACT : EVAL_BF16_DEFAULT,
        .replica_count = p->graph.module->replica_count,
        .partition_count = p->graph.module->partition_count, .seed = (uint64_t)o->seed,
        .kernels = o->kernels, .user = p, .infeed = exec_evaluator_takes, .outfeed = exec_evaluator_gives};

    return eval_open(p->graph.device, &settings, e);
}

static int evaluate(const struct exec_options *o, struct exec_program *p,
                    struct eval_program *program, struct arena *a, struct err *e)
{
    size_t devices = (size_t)p->graph.devices;
    const struct eval_array **input = arena_array(a, devices, sizeof(*input));
    struct eval_array **output = arena_array(a, devices, sizeof(*output));
    struct eval_report report;

    for (int d = 0; d < p->graph.devices; d++) {
        input[d] = make_inputs(p, d, a);
        output[d] = arena_array(a, (size_t)p->result_count + 1, sizeof(**output));
    }
    if (eval_step(program, input, output, a, &report, e))
        return -1;
    for (int d = 0; d < p->graph.devices; d++) {
        for (int i = 0; i < p->result_count; i++)
            take_result(p, i, d, &output[d][i]);
    }
    if (report.checks && !o->is_quiet)
        printf("%d of the program's own %d checks hold\n", report.checks - report.failures,
               report.checks);
    if (report.failures)
        *e = report.first_failure;
    return report.failures ? -1 : 0;
}

int exec_on_host(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    double began_s = progress_seconds();
    struct eval_program *program;
    struct arena a;
    int status = 0;

    if (exec_make_up(o, p, e))
        return -1;
    exec_rewind_queues(p);
    program = open_program(o, p, e);
    if (!program)
        return -1;
    for (int64_t step = 0; step < o->steps && !status; step++) {
        if (step)
            exec_feed_back(p);
        arena_init(&a);
        status = evaluate(o, p, program, &a, e);
        arena_fini(&a);
    }
    eval_close(program);
    if (status)
        return -1;
    if (!o->is_quiet)
        printf("evaluated on the host in %.3f s\n", progress_seconds() - began_s);
    return 0;
}
