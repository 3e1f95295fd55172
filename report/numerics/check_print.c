/* Prints the measured rows as a table for people, CSV and JSON. */
#include "report/numerics/check.h"

#include "base/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#define JSON_FORMAT "systole-check-numerics"
#define JSON_VERSION 1

/* 0.5, 12.25, 1.3e+09: what fits a narrow column; "-" for none */
static const char *number(double x, char *buf, size_t buf_bytes)
{
    if (isnan(x))
        snprintf(buf, buf_bytes, "-");
    else if (x == 0)
        snprintf(buf, buf_bytes, "0");
    else if (x < 0.001 || x >= 100000)
        snprintf(buf, buf_bytes, "%.2e", x);
    else
        snprintf(buf, buf_bytes, x < 10 ? "%.3f" : "%.1f", x);
    return buf;
}

#define LINE_CHARS 100

/* one more of a list in lines of its own; *column is 0 before the first */
static void print_item(const char *item, int *column, FILE *to)
{
    bool is_first = *column == 0;

    if (is_first || *column + (int)strlen(item) + 2 > LINE_CHARS) {
        fprintf(to, "%s\n  ", is_first ? "" : ";");
        *column = 2;
    } else {
        *column += fprintf(to, "; ");
    }
    *column += fprintf(to, "%s", item);
}

/* of the columns whose texts differ much in length */
struct widths { int name, dtype, shape, count; };

static const char *shape_of(const struct check_row *r, char *buf, size_t buf_bytes)
{
    if (r->passes > 1)
        snprintf(buf, buf_bytes, "%s x%d", r->shape, r->passes);
    else
        snprintf(buf, buf_bytes, "%s", r->shape);
    return buf;
}

static int longer(int width, const char *text)
{
    int length = (int)strlen(text);

    return length > width ? length : width;
}

static void widen(struct widths *w, const struct check_row *r, int64_t count)
{
    char text[48];

    w->name = longer(w->name, r->name);
    w->dtype = longer(w->dtype, r->dtype);
    w->shape = longer(w->shape, shape_of(r, text, sizeof(text)));
    w->count = longer(w->count, text_thousands(count, text, sizeof(text)));
}

#define NARROWEST ((struct widths){9, 4, 5, 7})         /* the heads of the columns */

static void print_fault(const struct check_row *r, FILE *to)
{
    if (!r->has_passed)
        fprintf(to, "    %s inputs: %" PRId64 " of another kind or off by more than the bound; "
                "%s\n", r->inputs, r->wrong_count, r->example);
}

static void print_row(const struct check_row *r, const struct widths *w, FILE *to)
{
    char max[16], p999[16], mean[16], relative[16], blas_max[16], blas_mean[16];
    char count[32], shape[48];

    fprintf(to, "%-*s %-*s %-*s %-6s %*s %8s %8s %8s %8s %8s %9s %12s %7.1f %%  %s\n", w->name,
            r->name, w->dtype, r->dtype, w->shape, shape_of(r, shape, sizeof(shape)), r->inputs,
            w->count, text_thousands(r->count, count, sizeof(count)),
            number(r->max_ulp, max, sizeof(max)), number(r->p999_ulp, p999, sizeof(p999)),
            number(r->mean_ulp, mean, sizeof(mean)),
            number(r->max_relative, relative, sizeof(relative)),
            number(r->blas_max_ulp, blas_max, sizeof(blas_max)),
            number(r->blas_mean_ulp, blas_mean, sizeof(blas_mean)), r->bound,
            100 * r->worst_share, r->has_passed ? "PASS" : "FAIL");
    print_fault(r, to);
}

void check_print_rows(const struct check *c, FILE *to)
{
    struct widths w = NARROWEST;

    for (size_t i = 0; i < c->row_count; i++)
        widen(&w, &c->row[i], c->row[i].count);
    fprintf(to, "%-*s %-*s %-*s %-6s %*s %8s %8s %8s %8s %8s %9s %12s %9s\n", w.name, "operation",
            w.dtype, "type", w.shape, "shape", "inputs", w.count, "results", "max ulp", "p99.9",
            "mean", "relative", "BLAS max", "BLAS mean", "bound", "of bound");
    for (size_t i = 0; i < c->row_count; i++)
        print_row(&c->row[i], &w, to);
}

/* ----- the short table: an operation, its type and shape together, over all kinds of inputs */

struct group {
    const struct check_row *row;
    size_t row_count;
    const struct check_row *worst;      /* of the largest error */
    int64_t count;
    double share;
    bool has_passed;
};

static bool is_same_group(const struct check_row *a, const struct check_row *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
           strcmp(a->shape, b->shape) == 0 && a->passes == b->passes;
}

static struct group group_at(const struct check *c, size_t at)
{
    struct group g = {.row = &c->row[at], .worst = &c->row[at], .has_passed = true};

    for (; at < c->row_count && is_same_group(g.row, &c->row[at]); at++) {
        const struct check_row *r = &c->row[at];

        g.row_count++;
        g.count += r->count;
        g.has_passed = g.has_passed && r->has_passed;
        if (r->worst_share > g.share)
            g.share = r->worst_share;
        if (r->max_ulp > g.worst->max_ulp)
            g.worst = r;
    }
    return g;
}

static bool is_exact(const struct group *g)
{
    return g->has_passed && g->worst->max_ulp == 0;
}

static void print_group(const struct group *g, const struct widths *w, FILE *to)
{
    char count[32], shape[48], mean[16], blas[16], max[16];

    fprintf(to, "%-*s %-*s %-*s %*s %9s %9s %9s %-6s %12s %7.1f %%  %s\n", w->name, g->row->name,
            w->dtype, g->row->dtype, w->shape, shape_of(g->row, shape, sizeof(shape)), w->count,
            text_thousands(g->count, count, sizeof(count)),
            number(g->row->mean_ulp, mean, sizeof(mean)),
            number(g->row->blas_mean_ulp, blas, sizeof(blas)),
            number(g->worst->max_ulp, max, sizeof(max)), g->worst->inputs, g->row->bound,
            100 * g->share, g->has_passed ? "PASS" : "FAIL");
    for (size_t i = 0; i < g->row_count; i++)
        print_fault(&g->row[i], to);
}

static void print_inexact(const struct check *c, FILE *to)
{
    struct widths w = NARROWEST;
    struct group g;
    bool has_any = false;

    for (size_t i = 0; i < c->row_count; i += g.row_count)
        if (g = group_at(c, i), !is_exact(&g)) {
            widen(&w, g.row, g.count);
            has_any = true;
        }
    if (!has_any)
        return;
    fprintf(to, "%-*s %-*s %-*s %*s %9s %9s %9s %-6s %12s %9s\n", w.name, "operation", w.dtype,
            "type", w.shape, "shape", w.count, "results", "mean ulp", "BLAS mean", "max ulp",
            "with", "bound", "of bound");
    for (size_t i = 0; i < c->row_count; i += g.row_count)
        if (g = group_at(c, i), !is_exact(&g))
            print_group(&g, &w, to);
    fputs("mean ulp and BLAS mean: on ordinary inputs; max ulp: the largest on any inputs, and on "
          "which; of bound: the largest\nerror as a share of what that result is allowed, where S "
          "is the sum of |a||b|; docs/accuracy.md tells how to read it\n\n", to);
}

static void print_exact(const struct check *c, FILE *to)
{
    const struct check_row *last = NULL;
    struct group g;
    int column = 0;

    for (size_t i = 0; i < c->row_count; i += g.row_count) {
        char item[64];

        if (g = group_at(c, i), !is_exact(&g))
            continue;
        snprintf(item, sizeof(item), "%s %s", g.row->name, g.row->dtype);
        if (!last)
            fputs("exact to the last bit in all results:", to);
        if (!last || strcmp(last->name, g.row->name) || strcmp(last->dtype, g.row->dtype))
            print_item(item, &column, to);
        last = g.row;
    }
    if (last)
        fputs("\n\n", to);
}

void check_print_summary(const struct check *c, FILE *to)
{
    print_inexact(c, to);
    print_exact(c, to);
}

static bool is_reason_known(const struct check *c, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(c->left_out[i].why, c->left_out[at].why) == 0)
            return true;
    return false;
}

/* by reason, in the order of their first */
void check_print_left_out(const struct check *c, FILE *to)
{
    for (size_t i = 0; i < c->left_out_count; i++) {
        int column = 0;

        if (is_reason_known(c, i))
            continue;
        fprintf(to, "left out, %s:", c->left_out[i].why);
        for (size_t j = i; j < c->left_out_count; j++)
            if (strcmp(c->left_out[j].why, c->left_out[i].why) == 0)
                print_item(c->left_out[j].what, &column, to);
        fprintf(to, "\n");
    }
}

void check_print_orders(const struct check *c, FILE *to)
{
    if (c->order_count == 0)
        return;
    fputs("\nWhat rounding order changes: the same dots of bf16 values, summed in f32\n", to);
    fprintf(to, "%-20s %6s %-7s %9s %9s %12s %12s %9s %9s\n", "order", "K", "inputs",
            "results", "same bits", "differ, max", "differ, mean", "max ulp", "mean ulp");
    for (size_t i = 0; i < c->order_count; i++) {
        const struct check_order *o = &c->order[i];
        char text[5][32];

        fprintf(to, "%-20s %6" PRId64 " %-7s %9s %7.1f %% %12s %12s %9s %9s\n", o->name, o->length,
                o->inputs, text_thousands(o->count, text[0], sizeof(text[0])),
                100 * o->same_share,
                number(o->max_difference_ulp, text[1], sizeof(text[1])),
                number(o->mean_difference_ulp, text[2], sizeof(text[2])),
                number(o->max_ulp, text[3], sizeof(text[3])),
                number(o->mean_ulp, text[4], sizeof(text[4])));
    }
}

static void csv_number(double x, FILE *to)
{
    if (isnan(x))
        fprintf(to, ",");
    else
        fprintf(to, ",%.9g", x);
}

void check_print_csv(const struct check *c, FILE *to)
{
    fprintf(to, "operation,type,shape,passes,inputs,results,wrong,max_ulp,p999_ulp,mean_ulp,"
            "max_relative,blas_max_ulp,blas_mean_ulp,bound,share_of_bound,passed\n");
    for (size_t i = 0; i < c->row_count; i++) {
        const struct check_row *r = &c->row[i];

        fprintf(to, "%s,%s,\"%s\",%d,%s,%" PRId64 ",%" PRId64, r->name, r->dtype, r->shape,
                r->passes, r->inputs, r->count, r->wrong_count);
        csv_number(r->max_ulp, to);
        csv_number(r->p999_ulp, to);
        csv_number(r->mean_ulp, to);
        csv_number(r->max_relative, to);
        csv_number(r->blas_max_ulp, to);
        csv_number(r->blas_mean_ulp, to);
        fprintf(to, ",%s", r->bound);
        csv_number(r->worst_share, to);
        fprintf(to, ",%d\n", r->has_passed);
    }
}

static json_t *real_or_null(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *make_row(const struct check_row *r)
{
    json_t *o = json_object();

    json_object_set_new(o, "operation", json_string(r->name));
    json_object_set_new(o, "type", json_string(r->dtype));
    json_object_set_new(o, "shape", json_string(r->shape));
    json_object_set_new(o, "passes", json_integer(r->passes));
    json_object_set_new(o, "inputs", json_string(r->inputs));
    json_object_set_new(o, "results", json_integer(r->count));
    json_object_set_new(o, "wrong", json_integer(r->wrong_count));
    json_object_set_new(o, "max_ulp", real_or_null(r->max_ulp));
    json_object_set_new(o, "p999_ulp", real_or_null(r->p999_ulp));
    json_object_set_new(o, "mean_ulp", real_or_null(r->mean_ulp));
    json_object_set_new(o, "max_relative", real_or_null(r->max_relative));
    json_object_set_new(o, "blas_max_ulp", real_or_null(r->blas_max_ulp));
    json_object_set_new(o, "blas_mean_ulp", real_or_null(r->blas_mean_ulp));
    json_object_set_new(o, "bound", json_string(r->bound));
    json_object_set_new(o, "share_of_bound", real_or_null(r->worst_share));
    json_object_set_new(o, "passed", json_boolean(r->has_passed));
    return o;
}

static json_t *make_order(const struct check_order *o)
{
    json_t *j = json_object();

    json_object_set_new(j, "order", json_string(o->name));
    json_object_set_new(j, "inputs", json_string(o->inputs));
    json_object_set_new(j, "length", json_integer(o->length));
    json_object_set_new(j, "results", json_integer(o->count));
    json_object_set_new(j, "same_bits_share", real_or_null(o->same_share));
    json_object_set_new(j, "max_difference_ulp", real_or_null(o->max_difference_ulp));
    json_object_set_new(j, "mean_difference_ulp", real_or_null(o->mean_difference_ulp));
    json_object_set_new(j, "max_ulp", real_or_null(o->max_ulp));
    json_object_set_new(j, "mean_ulp", real_or_null(o->mean_ulp));
    return j;
}

int check_print_json(const struct check *c, FILE *to)
{
    json_t *root = json_object(), *rows = json_array(), *orders = json_array();
    json_t *left_out = json_array();
    int status;

    for (size_t i = 0; i < c->row_count; i++)
        json_array_append_new(rows, make_row(&c->row[i]));
    for (size_t i = 0; i < c->order_count; i++)
        json_array_append_new(orders, make_order(&c->order[i]));
    for (size_t i = 0; i < c->left_out_count; i++)
        json_array_append_new(left_out, json_pack("{s:s, s:s}", "what", c->left_out[i].what, "why",
                                                  c->left_out[i].why));
    json_object_set_new(root, "format", json_string(JSON_FORMAT));
    json_object_set_new(root, "version", json_integer(JSON_VERSION));
    json_object_set_new(root, "chip", json_string(c->chip.chip_name));
    json_object_set_new(root, "simd", json_string(c->simd));
    json_object_set_new(root, "seed", json_integer((json_int_t)c->seed));
    json_object_set_new(root, "samples", json_integer(c->sample_count));
    json_object_set_new(root, "failed", json_integer((json_int_t)check_failed_count(c)));
    json_object_set_new(root, "rows", rows);
    json_object_set_new(root, "orders", orders);
    json_object_set_new(root, "left_out", left_out);
    status = json_dumpf(root, to, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', to);
    json_decref(root);
    return status;
}
