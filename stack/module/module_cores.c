/*
 * Megacore: one module on both cores of a chip, which share its HBM.
 *
 * Each kernel is compiled for both (stack/kernels/pipeline/kernel.h). Nothing orders the cores
 * but barriers: one stands before a kernel (or a predicate's reader) that
 * touches what a kernel since the last barrier has written, or writes what one
 * has read, before and after a collective, which core 0 carries out, at the start
 * of each round of a loop, and where ways part or meet.
 */
#include "stack/module/module_impl.h"

int module_cores(const struct module_settings *s)
{
    return s->megacore ? 2 : 1;
}

int module_plan_kernel_flags(const struct module_settings *s)
{
    return module_plan_copy_flags(s->chip) + (s->megacore ? 1 : 0);
}

static bool overlap(const struct array *x, const struct array *y)
{
    return x->space == SPACE_HBM && y->space == SPACE_HBM && x->address < y->address + y->bytes
           && y->address < x->address + x->bytes;
}

static bool any_overlap(struct module_value *const *x, int x_count, struct module_value *const *y,
                        int y_count)
{
    for (int i = 0; i < x_count; i++)
        for (int k = 0; k < y_count; k++)
            if (overlap(&x[i]->array, &y[k]->array))
                return true;
    return false;
}

/* a collective has rooms of its own besides its arrays, and core 0 alone knows when it is done */
static bool conflict(const struct module_step *before, const struct module_step *s)
{
    return before->sums || s->sums || before->peers || s->peers
           || any_overlap(before->result, before->result_count, s->operand, s->operand_count)
           || any_overlap(before->result, before->result_count, s->result, s->result_count)
           || any_overlap(before->operand, before->operand_count, s->result, s->result_count);
}

bool module_plan_needs_barrier(const struct module_plan *p, int step)
{
    for (int i = p->barrier_step; i < step && p->settings->megacore; i++)
        if (conflict(&p->step[i], &p->step[step]))
            return true;
    return false;
}

/* the items as core 1 has them */
static struct link_item *items_of_peer(const struct module *m, struct arena *a)
{
    struct link_item *item = arena_array(a, (size_t)m->item_count + 1, sizeof(*item));

    for (int i = 0; i < m->item_count; i++)
        item[i] = m->item[i];
    for (int i = 0; i < m->kernel_count; i++)
        item[m->kernel[i].item].segment = m->kernel[i].peer_segment;
    return item;
}

int module_link(struct module *m, const struct module_settings *s, struct arena *a,
                struct err *e)
{
    m->core_count = module_cores(s);
    m->linked = arena_array(a, (size_t)m->core_count, sizeof(*m->linked));
    for (int core = 0; core < m->core_count; core++)
        if (link_program(core ? items_of_peer(m, a) : m->item, m->item_count, s->chip,
                         m->graph.name, a, &m->linked[core], e))
            return -1;
    return 0;
}
