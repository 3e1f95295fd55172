/*
 * The measured rows as a table for people, CSV and JSON.
 */
#include "report/check.h"

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

static void print_row(const struct check_row *r, FILE *to)
{
    char max[16], p999[16], mean[16], relative[16], blas_max[16], blas_mean[16];
    char count[32], shape[48];

    snprintf(shape, sizeof(shape), "%s", r->shape);
    if (r->passes > 1)
        snprintf(shape, sizeof(shape), "%s x%d", r->shape, r->passes);
    fprintf(to, "%-13s %-13s %-18s %-7s %9s %9s %9s %9s %9s %9s %9s %11s %7.1f %%  %s\n", r->name,
            r->dtype, shape, r->inputs, text_thousands(r->count, count, sizeof(count)),
            number(r->max_ulp, max, sizeof(max)), number(r->p999_ulp, p999, sizeof(p999)),
            number(r->mean_ulp, mean, sizeof(mean)),
            number(r->max_relative, relative, sizeof(relative)),
            number(r->blas_max_ulp, blas_max, sizeof(blas_max)),
            number(r->blas_mean_ulp, blas_mean, sizeof(blas_mean)), r->bound,
            100 * r->worst_share, r->has_passed ? "PASS" : "FAIL");
    if (!r->has_passed)
        fprintf(to, "    %" PRId64 " of another kind or off by more than the bound; %s\n",
                r->wrong_count, r->example);
}

void check_print_rows(const struct check *c, FILE *to)
{
    fprintf(to, "%-13s %-13s %-18s %-7s %9s %9s %9s %9s %9s %9s %9s %11s %9s\n", "operation",
            "type", "shape", "inputs", "results", "max ulp", "p99.9", "mean", "relative",
            "BLAS max", "BLAS mean", "bound", "of bound");
    for (size_t i = 0; i < c->row_count; i++)
        print_row(&c->row[i], to);
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
        const char *separator = "";

        if (is_reason_known(c, i))
            continue;
        fprintf(to, "left out, %s: ", c->left_out[i].why);
        for (size_t j = i; j < c->left_out_count; j++)
            if (strcmp(c->left_out[j].why, c->left_out[i].why) == 0) {
                fprintf(to, "%s%s", separator, c->left_out[j].what);
                separator = "; ";
            }
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
