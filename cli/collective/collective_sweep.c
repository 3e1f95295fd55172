/*
 * systole collective --sweep: lists and ranges of an option's values, every
 * value of one with every value of the others, a line each.
 */
#include "cli/collective/collective.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

#define AXIS_MAX 6
#define VALUES_MAX 256
#define POINTS_MAX 4096

struct axis {
    const char *key, *value[VALUES_MAX];
    int count;
};

struct grid {
    struct axis axis[AXIS_MAX];
    int axis_count, point_count;
};

static int add_value(struct axis *x, const char *value, struct err *e)
{
    if (x->count == VALUES_MAX)
        return err_set(e, "--sweep %s: more than %d values", x->key, VALUES_MAX);
    if (!*value)
        return err_set(e, "--sweep %s: an empty value", x->key);
    x->value[x->count++] = value;
    return 0;
}

static int add_all_algorithms(struct axis *x, struct err *e)
{
    for (int i = COLLECTIVE_AUTO + 1; i < COLLECTIVE_ALGO_COUNT; i++)
        if (add_value(x, collective_algo_name((enum collective_algo)i), e))
            return -1;
    return 0;
}

/* "4K:1G:x4" or "0:64:+8" */
static int add_range(struct axis *x, char *text, struct arena *a, struct err *e)
{
    char *last = strchr(text, ':'), *by = last ? strchr(last + 1, ':') : NULL;
    int64_t from, to, step;

    if (!by)
        return err_set(e, "--sweep %s=%s is no range; write FIRST:LAST:xFACTOR or "
                       "FIRST:LAST:+STEP, as in bytes=4K:1G:x4", x->key, text);
    *last++ = *by++ = '\0';
    if (text_parse_bytes(text, 1, INT64_MAX / 4096, &from) ||
        text_parse_bytes(last, 1, INT64_MAX / 4096, &to) || (*by != 'x' && *by != '+') ||
        text_parse_bytes(by + 1, *by == 'x' ? 2 : 1, *by == 'x' ? 4096 : INT64_MAX / 4096, &step))
        return err_set(e, "--sweep %s=%s:%s:%s is no range; write FIRST:LAST:xFACTOR or "
                       "FIRST:LAST:+STEP, as in bytes=4K:1G:x4", x->key, text, last, by);
    if (to < from)
        return err_set(e, "--sweep %s=%s:%s:%s goes down; the smaller end comes first", x->key,
                       text, last, by);
    for (; from <= to; from = *by == 'x' ? from * step : from + step)
        if (add_value(x, arena_printf(a, "%lld", (long long)from), e))
            return -1;
    return 0;
}

static int parse_axis(struct grid *g, const char *text, struct arena *a, struct err *e)
{
    struct axis *x = &g->axis[g->axis_count];
    const char *equals = strchr(text, '=');
    char *list, *item, *rest;

    if (!equals || equals == text)
        return err_set(e, "--sweep is \"%s\"; write KEY=VALUES, as in bytes=4K:1G:x4 or algo=all",
                       text);
    if (g->axis_count == AXIS_MAX)
        return err_set(e, "--sweep may be given at most %d times", AXIS_MAX);
    *x = (struct axis){.key = arena_printf(a, "%.*s", (int)(equals - text), text)};
    for (int i = 0; i < g->axis_count; i++)
        if (strcmp(g->axis[i].key, x->key) == 0)
            return err_set(e, "--sweep %s is given twice; put all values into one list", x->key);
    g->axis_count++;
    list = arena_strdup(a, equals + 1);
    if (strcmp(x->key, "algo") == 0 && strcmp(list, "all") == 0)
        return add_all_algorithms(x, e);
    if (strchr(list, ':'))
        return add_range(x, list, a, e);
    for (item = list; item; item = rest) {
        rest = strchr(item, ',');
        if (rest)
            *rest++ = '\0';
        if (add_value(x, item, e))
            return -1;
    }
    return 0;
}

/* Every value is one that its option takes, before anything runs. */
static int check_values(const struct grid *g, const struct collective_options *o, struct err *e)
{
    for (int i = 0; i < g->axis_count; i++) {
        for (int j = 0; j < g->axis[i].count; j++) {
            struct collective_options point = *o;

            if (collective_set_option(&point, g->axis[i].key, g->axis[i].value[j], e))
                return -1;
        }
    }
    return 0;
}

static int make_grid(struct grid *g, const struct collective_options *o,
                     const struct cli_list *sweeps, struct arena *a, struct err *e)
{
    *g = (struct grid){.point_count = 1};
    for (int i = 0; i < sweeps->count; i++)
        if (parse_axis(g, sweeps->item[i], a, e))
            return -1;
    for (int i = 0; i < g->axis_count; i++) {
        g->point_count *= g->axis[i].count;
        if (g->point_count > POINTS_MAX)
            return err_set(e, "the grid has more than %d points", POINTS_MAX);
    }
    return check_values(g, o, e);
}

static void set_point(const struct grid *g, int point, struct collective_options *o)
{
    struct err e;

    for (int i = g->axis_count - 1; i >= 0; i--) {
        const struct axis *x = &g->axis[i];

        collective_set_option(o, x->key, x->value[point % x->count], &e);
        point /= x->count;
    }
}

static void print_head(FILE *to)
{
    fprintf(to, "%-14s %-10s %10s %-8s %-6s %12s %10s %10s %12s %8s %7s\n", "kind", "slice",
            "bytes", "algo", "engine", "time", "algorithm", "bus", "bound", "of bound", "links");
    fprintf(to, "%-14s %-10s %10s %-8s %-6s %12s %10s %10s %12s %8s %7s\n", "", "", "", "", "",
            "us", "GB/s", "GB/s", "us", "%", "% busy");
}

static void print_point(const struct collective_answer *w, FILE *to)
{
    char bytes[32];

    fprintf(to, "%-14s %-10s %10s %-8s %-6s %12.3f %10.2f %10.2f %12.3f %8.1f %7.1f\n",
            collective_kind_name(w->request.kind), w->slice.name,
            text_bytes(w->options.bytes, bytes, sizeof(bytes)),
            collective_algo_name(w->request.algo), collective_engine_name(w->engine),
            1e-6 * (double)w->result.time_ps, 1e-9 * collective_algorithm_bandwidth(w),
            1e-9 * collective_bus_bandwidth(w), 1e6 * w->bound.seconds,
            100 * collective_efficiency(w), 100 * w->result.link_use_mean);
}

static void print_missing(const struct collective_options *o, const struct err *e, FILE *to)
{
    char bytes[32];

    fprintf(to, "%-14s %-10s %10s %-8s left out: %s\n", collective_kind_name(o->kind),
            o->target.tpu, text_bytes(o->bytes, bytes, sizeof(bytes)),
            collective_algo_name(o->algo), e->msg);
}

/* Points that cannot be are told and left out; all of them: an error. */
static int run_grid(const struct grid *g, const struct collective_options *o, FILE *csv,
                    FILE *table, struct err *e)
{
    int done = 0;

    if (csv)
        collective_print_csv_head(csv);
    if (table)
        print_head(table);
    for (int i = 0; i < g->point_count; i++) {
        struct collective_options point = *o;
        struct collective_answer answer;
        struct arena a;

        set_point(g, i, &point);
        arena_init(&a);
        if (collective_answer(&point, &a, &answer, e)) {
            print_missing(&point, e, table ? table : stderr);
        } else {
            done++;
            if (csv)
                collective_print_csv(&answer, csv);
            if (table)
                print_point(&answer, table);
        }
        if (table)
            fflush(table);
        arena_fini(&a);
    }
    return done ? 0 : err_set(e, "no point of the sweep can be run");
}

int collective_sweep(const struct collective_options *o, const struct cli_list *sweeps,
                     const char *csv, struct arena *a, struct err *e)
{
    struct grid *g = arena_alloc(a, sizeof(*g));
    bool to_stdout = csv && strcmp(csv, "-") == 0;
    struct outfile f;

    if (make_grid(g, o, sweeps, a, e))
        return -1;
    if (!csv || to_stdout)
        return run_grid(g, o, to_stdout ? stdout : NULL, to_stdout ? NULL : stdout, e);
    if (outfile_begin(&f, csv, e))
        return -1;
    if (run_grid(g, o, f.to, stdout, e)) {
        outfile_abandon(&f);
        return -1;
    }
    return outfile_commit(&f, e);
}
