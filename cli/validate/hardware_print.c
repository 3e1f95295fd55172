/* Prints the tables of `systole check hardware`. */
#include "cli/validate/hardware.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 32, NAME_WIDTH = 34 };

struct errors {                         /* absolute, in % of the measured value */
    double *value;
    int count;
    size_t capacity;
};

static void add_error(struct errors *x, double percent)
{
    if (isnan(percent))
        return;
    x->value = mem_grow(x->value, &x->capacity, (size_t)x->count + 1, sizeof(*x->value));
    x->value[x->count++] = fabs(percent);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double mean(const struct errors *x)
{
    double sum = 0;

    for (int i = 0; i < x->count; i++)
        sum += x->value[i];
    return x->count ? sum / x->count : NAN;
}

static double median(struct errors *x)
{
    if (x->count == 0)
        return NAN;
    qsort(x->value, (size_t)x->count, sizeof(*x->value), compare);
    return (x->value[(x->count - 1) / 2] + x->value[x->count / 2]) / 2;
}

static double error_percent(double simulated_us, double measured_us)
{
    return 100 * (simulated_us / measured_us - 1);
}

static bool is_scored(const struct hardware_row *r)
{
    return r->work != WORK_NONE && !r->why_not && !r->error && !isnan(r->simulated_us[CODEGEN_XLA]);
}

/* "fusion.9167" of an HLO operation's text, other names as they are */
static const char *short_name(const char *workload, char *buf, size_t buf_bytes)
{
    const char *from = workload + (workload[0] == '%');
    size_t length = workload[0] == '%' ? strcspn(from, " ") : strlen(from);

    snprintf(buf, buf_bytes, "%.*s", (int)(length < buf_bytes ? length : buf_bytes - 1), from);
    return buf;
}

static void print_percent(double percent, FILE *to)
{
    if (isnan(percent))
        fprintf(to, " %8s", "-");
    else
        fprintf(to, " %+7.1f%%", percent);
}

static void print_row(const struct hardware_row *r, bool with_best, FILE *to)
{
    char name[NAME_WIDTH + 1];

    fprintf(to, "  %-*s %11.2f", NAME_WIDTH, short_name(r->workload, name, sizeof(name)),
            r->measured_us);
    if (isnan(r->simulated_us[CODEGEN_XLA])) {
        fprintf(to, "  %s\n", r->error ? r->error : r->why_not ? r->why_not : "not simulated");
        return;
    }
    fprintf(to, " %11.2f", r->simulated_us[CODEGEN_XLA]);
    print_percent(error_percent(r->simulated_us[CODEGEN_XLA], r->measured_us), to);
    print_percent(error_percent(r->baseline_us, r->measured_us), to);
    if (with_best)
        fprintf(to, " %11.2f", r->simulated_us[CODEGEN_BEST]);
    fprintf(to, "%s%s\n", r->why_not ? "  not scored: " : "", r->why_not ? r->why_not : "");
}

void hardware_print_rows(const struct hardware_file *f, bool with_best, FILE *to)
{
    fprintf(to, "%s: TPU %s, %s\n", f->name, f->chip, f->about);
    fprintf(to, "  %-*s %11s %11s %8s %8s%s\n", NAME_WIDTH, "workload", "measured us",
            "simulated", "error", "baseline", with_best ? "  best codegen" : "");
    for (int i = 0; i < f->row_count; i++)
        print_row(&f->row[i], with_best, to);
    fputc('\n', to);
}

/* ----- sums */

struct group {
    const char *name;
    int row_count;
    struct errors ours, baseline, peer, best;   /* best: time in % of that with xla */
};

static struct group *group_of(struct group *groups, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(groups[i].name, name) == 0)
            return &groups[i];
    if (*count == GROUPS_MAX)
        return &groups[GROUPS_MAX - 1];
    groups[*count] = (struct group){.name = name};
    return &groups[(*count)++];
}

static void add_row(struct group *g, const struct hardware_row *r)
{
    g->row_count++;
    if (!is_scored(r))
        return;
    add_error(&g->ours, error_percent(r->simulated_us[CODEGEN_XLA], r->measured_us));
    add_error(&g->baseline, error_percent(r->baseline_us, r->measured_us));
    add_error(&g->peer, r->peer_error_percent);
    add_error(&g->best, 100 * r->simulated_us[CODEGEN_BEST] / r->simulated_us[CODEGEN_XLA]);
}

static void print_figure(double percent, FILE *to)
{
    if (isnan(percent))
        fprintf(to, " %8s", "-");
    else
        fprintf(to, " %7.1f%%", percent);
}

static void print_group(struct group *g, const char *indent, bool with_best, FILE *to)
{
    fprintf(to, "%s%-*s %5d %6d", indent, 40 - (int)strlen(indent), g->name, g->row_count,
            g->ours.count);
    print_figure(mean(&g->ours), to);
    print_figure(median(&g->ours), to);
    print_figure(mean(&g->baseline), to);
    print_figure(median(&g->baseline), to);
    print_figure(mean(&g->peer), to);
    if (with_best)
        print_figure(mean(&g->best), to);
    fputc('\n', to);
}

static void free_group(struct group *g)
{
    mem_free(g->ours.value);
    mem_free(g->baseline.value);
    mem_free(g->peer.value);
    mem_free(g->best.value);
}

static void print_file(const struct hardware_file *f, bool with_best, FILE *to)
{
    struct group all = {.name = f->name}, groups[GROUPS_MAX];
    int count = 0;

    for (int i = 0; i < f->row_count; i++) {
        add_row(&all, &f->row[i]);
        add_row(group_of(groups, &count, f->row[i].group ? f->row[i].group : ""), &f->row[i]);
    }
    print_group(&all, "", with_best, to);
    for (int i = 0; i < count; i++) {
        if (count > 1 && groups[i].ours.count)
            print_group(&groups[i], "  ", with_best, to);
        free_group(&groups[i]);
    }
    free_group(&all);
}

void hardware_print_summary(const struct hardware_file *files, int count, bool with_best,
                            FILE *to)
{
    fprintf(to, "absolute error in %% of the measured time\n%-40s %5s %6s %17s %17s %8s%s\n",
            "", "", "", "simulated", "baseline", "peer", with_best ? " best, %" : "");
    fprintf(to, "%-40s %5s %6s %8s %8s %8s %8s %8s", "file", "rows", "scored", "mean", "median",
            "mean", "median", "mean");
    fprintf(to, with_best ? "   of xla\n" : "\n");
    for (int i = 0; i < count; i++)
        if (files[i].row_count)
            print_file(&files[i], with_best, to);
}

void hardware_print_csv(const struct hardware_file *files, int count, FILE *to)
{
    fprintf(to, "file,line,chip,group,workload,dtype,measured_us,simulated_us,error_percent,"
            "baseline_us,peer_error_percent,best_us,kernels,left_out\n");
    for (int i = 0; i < count; i++)
        for (int k = 0; k < files[i].row_count; k++) {
            const struct hardware_row *r = &files[i].row[k];
            const char *out = r->error ? r->error : r->why_not ? r->why_not : "";

            fprintf(to, "%s,%d,%s,", files[i].name, r->line, files[i].chip);
            text_print_csv(r->group ? r->group : "", to);
            fputc(',', to);
            text_print_csv(r->workload, to);
            fprintf(to, ",%s,%.4f,%.4f,%.2f,%.4f,%.2f,%.4f,%d,", r->dtype, r->measured_us,
                    r->simulated_us[CODEGEN_XLA],
                    error_percent(r->simulated_us[CODEGEN_XLA], r->measured_us), r->baseline_us,
                    r->peer_error_percent, r->simulated_us[CODEGEN_BEST], r->kernel_count);
            text_print_csv(out, to);
            fputc('\n', to);
        }
}
