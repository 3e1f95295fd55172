/* What the operations of a launch took: the dearest for the summary, all of them for a profile. */
#include "pjrt/account/account_impl.h"

#include "report/tables/op_stats.h"
#include "report/view/view.h"

#include <stdlib.h>
#include <string.h>

static int by_cycles(const void *x, const void *y)
{
    const struct op_stat *a = x, *b = y;

    if (a->cycles != b->cycles)
        return a->cycles > b->cycles ? -1 : 1;
    return a->note < b->note ? -1 : a->note > b->note;
}

/* of the launch that was the last one to be simulated, in the order of the program */
static struct op_stat *gather(const struct account_program *p, const struct executable *x,
                              struct arena *a, size_t *count)
{
    const struct module *m = &x->loaded.module;
    struct report_step step = {.title = p->name, .machine = x->loaded.machine,
                               .program = &m->linked[0].program, .model_flops = m->flops};
    struct report_view view;

    *count = 0;
    view_of_step(&step, a, &view);
    return view.ops_core >= 0 ? op_stats_gather(&view, a, count) : NULL;
}

static bool has_cycles(const struct executable *x)
{
    return !x->settings.is_host && x->settings.engine.mode != MODE_FUNCTIONAL;
}

/* the first `most` of them that took any */
static struct account_op *copy_ops(const struct op_stat *stat, size_t count, size_t most, int *kept)
{
    struct account_op *op = mem_alloc((count < most ? count : most) * sizeof(*op) + 1);
    size_t n = 0;

    for (size_t i = 0; i < count && n < most; i++) {
        size_t bytes = strlen(stat[i].name) + 1;

        if (stat[i].cycles == 0)
            continue;
        op[n++] = (struct account_op){memcpy(mem_alloc_unset(bytes), stat[i].name, bytes),
                                      stat[i].cycles};
    }
    *kept = (int)n;
    return op;
}

void account_keep_ops(struct account_program *p, const struct executable *x)
{
    struct op_stat *stat;
    struct arena a;
    size_t count;

    if (p->account->is_quiet || !has_cycles(x) || p->op)
        return;
    arena_init(&a);
    stat = gather(p, x, &a, &count);
    if (count > 0)
        qsort(stat, count, sizeof(*stat), by_cycles);
    p->op = copy_ops(stat, count, ACCOUNT_OPS_MAX, &p->op_count);
    arena_fini(&a);
}

void account_keep_order(struct account_program *p, const struct executable *x)
{
    struct op_stat *stat;
    struct arena a;
    size_t count;

    if (!has_cycles(x) || p->in_order)
        return;
    arena_init(&a);
    stat = gather(p, x, &a, &count);
    p->in_order = copy_ops(stat, count, SIZE_MAX, &p->in_order_count);
    arena_fini(&a);
}

static void free_ops(struct account_op *op, int count)
{
    for (int i = 0; i < count; i++)
        mem_free(op[i].name);
    mem_free(op);
}

void account_free_ops(struct account_program *p)
{
    free_ops(p->op, p->op_count);
    free_ops(p->in_order, p->in_order_count);
}
