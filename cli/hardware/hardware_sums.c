/* Sums up the errors of measured rows by group. */
#include "cli/hardware/hardware_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_error(struct hardware_errors *x, double percent)
{
    if (isnan(percent))
        return;
    MEM_ADD(x->value, x->count, x->capacity) = fabs(percent);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double sum(const struct hardware_errors *x)
{
    double total = 0;

    for (int i = 0; i < x->count; i++)
        total += x->value[i];
    return total;
}

double hardware_mean(const struct hardware_errors *x)
{
    return x->count ? sum(x) / x->count : NAN;
}

double hardware_median(struct hardware_errors *x)
{
    if (x->count == 0)
        return NAN;
    qsort(x->value, (size_t)x->count, sizeof(*x->value), compare);
    return (x->value[(x->count - 1) / 2] + x->value[x->count / 2]) / 2;
}

double hardware_second_mean(const struct hardware_group *g)
{
    int count = g->ours.count + g->failed;

    return count ? (sum(&g->ours) + 100.0 * g->failed) / count : NAN;
}

double hardware_weighted(const struct hardware_group *g)
{
    return g->ours.count ? 100 * g->off_us / g->measured_us : NAN;
}

double hardware_ratio(const struct hardware_group *g)
{
    return g->ours.count ? g->simulated_us / g->measured_us : NAN;
}

double hardware_covered(const struct hardware_group *g)
{
    return g->all_us > 0 ? 100 * g->measured_us / g->all_us : NAN;
}

double hardware_error_percent(double simulated_us, double measured_us)
{
    return 100 * (simulated_us / measured_us - 1);
}

static bool is_wanted(const struct hardware_row *r)
{
    return r->work != WORK_NONE && !r->why_not;
}

bool hardware_is_scored(const struct hardware_row *r)
{
    return is_wanted(r) && !r->error && !isnan(r->simulated_us[CODEGEN_XLA]);
}

bool hardware_is_failed(const struct hardware_row *r)
{
    return is_wanted(r) && r->error;
}

static struct hardware_group *group_of(struct hardware_groups *groups, const char *name)
{
    for (int i = 1; i < groups->count; i++)
        if (strcmp(groups->item[i].name, name) == 0)
            return &groups->item[i];
    if (groups->count == HARDWARE_GROUPS_MAX + 1)
        return &groups->item[HARDWARE_GROUPS_MAX];
    groups->item[groups->count] = (struct hardware_group){.name = name};
    return &groups->item[groups->count++];
}

static void add_row(struct hardware_group *g, const struct hardware_row *r)
{
    double us = r->simulated_us[CODEGEN_XLA];

    g->row_count++;
    if (!isnan(r->measured_us))
        g->all_us += r->occurrences * r->measured_us;
    g->failed += hardware_is_failed(r);
    if (!hardware_is_scored(r))
        return;
    add_error(&g->ours, hardware_error_percent(us, r->measured_us));
    add_error(&g->baseline, hardware_error_percent(r->baseline_us, r->measured_us));
    add_error(&g->peer, r->peer_error_percent);
    add_error(&g->best, 100 * r->simulated_us[CODEGEN_BEST] / us);
    add_error(&g->memory, 100 * (r->simulated_memory_bytes / r->measured_memory_bytes - 1));
    g->measured_us += r->occurrences * r->measured_us;
    g->simulated_us += r->occurrences * us;
    g->off_us += r->occurrences * fabs(us - r->measured_us);
}

void hardware_groups_sum(struct hardware_groups *groups, const struct hardware_file *f,
                         bool only_part)
{
    groups->count = 1;
    groups->item[0] = (struct hardware_group){.name = HARDWARE_ALL_ROWS};
    for (int i = 0; i < f->row_count; i++) {
        const struct hardware_row *r = &f->row[i];

        if (only_part && !r->is_in_part)
            continue;
        add_row(&groups->item[0], r);
        add_row(group_of(groups, r->group ? r->group : ""), r);
    }
}

void hardware_groups_free(struct hardware_groups *groups)
{
    for (int i = 0; i < groups->count; i++) {
        struct hardware_group *g = &groups->item[i];

        mem_free(g->ours.value);
        mem_free(g->baseline.value);
        mem_free(g->peer.value);
        mem_free(g->best.value);
        mem_free(g->memory.value);
    }
}
