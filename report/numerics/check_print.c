/* Prints the measured rows as a table for people, CSV and JSON. */
#include "report/numerics/check.h"

#include "base/table.h"

#include <inttypes.h>
#include <string.h>

#define JSON_FORMAT "systole-check-numerics"
#define JSON_VERSION 1

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

static const char *shape_of(const struct check_row *r, struct arena *a)
{
    return r->passes > 1 ? arena_printf(a, "%s x%d", r->shape, r->passes) : r->shape;
}

#define NUMBER(name_, heading_) \
    {TABLE_SHOWN(REAL, name_, heading_), .decimals = TABLE_NARROW, .width = 8}
#define SHARE(heading_) \
    {TABLE_SHOWN(REAL, NULL, heading_), .decimals = 1, .suffix = " %"}
#define WORD(heading_) {TABLE_SHOWN(TEXT, NULL, heading_)}
#define COUNT(heading_) {TABLE_SHOWN(INT, NULL, heading_)}

static const struct table_field row_fields[] = {
    {TABLE_SHOWN(TEXT, "operation", NULL)}, {TABLE_SHOWN(TEXT, "type", NULL)},
    {TABLE_HIDDEN(TEXT, "shape")}, WORD("shape"), {TABLE_HIDDEN(INT, "passes")},
    {TABLE_SHOWN(TEXT, "inputs", NULL)}, {TABLE_SHOWN(INT, "results", NULL)},
    {TABLE_HIDDEN(INT, "wrong")}, NUMBER("max_ulp", "max ulp"), NUMBER("p999_ulp", "p99.9"),
    NUMBER("mean_ulp", "mean"), NUMBER("max_relative", "relative"),
    NUMBER("blas_max_ulp", "BLAS max"), NUMBER("blas_mean_ulp", "BLAS mean"),
    {TABLE_SHOWN(TEXT, "bound", NULL), .is_right = true}, {TABLE_HIDDEN(REAL, "share_of_bound")},
    SHARE("of bound"), {TABLE_HIDDEN(BOOL, "passed")}, WORD(""), {0}};

static void add_row(struct table *t, const struct check_row *r)
{
    TABLE_ROW(t, cell_text(r->name), cell_text(r->dtype), cell_text(r->shape),
              cell_text(shape_of(r, t->arena)), cell_int(r->passes), cell_text(r->inputs),
              cell_int(r->count), cell_int(r->wrong_count), cell_real(r->max_ulp),
              cell_real(r->p999_ulp), cell_real(r->mean_ulp), cell_real(r->max_relative),
              cell_real(r->blas_max_ulp), cell_real(r->blas_mean_ulp), cell_text(r->bound),
              cell_real(r->worst_share), cell_real(100 * r->worst_share),
              cell_bool(r->has_passed), cell_text(r->has_passed ? "PASS" : "FAIL"));
}

static void add_fault(struct table *t, const struct check_row *r)
{
    if (!r->has_passed)
        TABLE_ROW(t, cell_remark(arena_printf(
            t->arena, "    %s inputs: %" PRId64 " of another kind or off by more than the bound; "
            "%s", r->inputs, r->wrong_count, r->example)));
}

static void begin(struct table *t, const struct table_field *fields)
{
    table_begin(t, fields, NULL);
    t->indent = "";
    t->empty = "-";
}

void check_print_rows(const struct check *c, FILE *to)
{
    struct table t;

    begin(&t, row_fields);
    for (size_t i = 0; i < c->row_count; i++) {
        add_row(&t, &c->row[i]);
        add_fault(&t, &c->row[i]);
    }
    table_print_text(&t, to);
    table_end(&t);
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

static const struct table_field group_fields[] = {
    WORD("operation"), WORD("type"), WORD("shape"), COUNT("results"), NUMBER(NULL, "mean ulp"),
    NUMBER(NULL, "BLAS mean"), NUMBER(NULL, "max ulp"), WORD("with"),
    {TABLE_SHOWN(TEXT, NULL, "bound"), .is_right = true},
    SHARE("of bound"), WORD(""), {0}};

static void add_group(struct table *t, const struct group *g)
{
    const struct check_row *r = g->row;

    TABLE_ROW(t, cell_text(r->name), cell_text(r->dtype), cell_text(shape_of(r, t->arena)),
              cell_int(g->count), cell_real(r->mean_ulp), cell_real(r->blas_mean_ulp),
              cell_real(g->worst->max_ulp), cell_text(g->worst->inputs), cell_text(r->bound),
              cell_real(100 * g->share), cell_text(g->has_passed ? "PASS" : "FAIL"));
    for (size_t i = 0; i < g->row_count; i++)
        add_fault(t, &r[i]);
}

static void print_inexact(const struct check *c, FILE *to)
{
    struct table t;
    struct group g;

    begin(&t, group_fields);
    for (size_t i = 0; i < c->row_count; i += g.row_count)
        if (g = group_at(c, i), !is_exact(&g))
            add_group(&t, &g);
    if (t.row_count) {
        table_print_text(&t, to);
        fputs("mean ulp and BLAS mean: on ordinary inputs; max ulp: the largest on any inputs, and "
              "on which; of bound: the largest\nerror as a share of what that result is allowed, "
              "where S is the sum of |a||b|; docs/accuracy.md tells how to read it\n\n", to);
    }
    table_end(&t);
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

static const struct table_field order_fields[] = {
    {TABLE_SHOWN(TEXT, "order", NULL)}, {TABLE_SHOWN(INT, "length", "K")},
    {TABLE_SHOWN(TEXT, "inputs", NULL)}, {TABLE_SHOWN(INT, "results", NULL)},
    {TABLE_HIDDEN(REAL, "same_bits_share")}, SHARE("same bits"),
    NUMBER("max_difference_ulp", "differ, max"), NUMBER("mean_difference_ulp", "differ, mean"),
    NUMBER("max_ulp", "max ulp"), NUMBER("mean_ulp", "mean ulp"), {0}};

static void fill_orders(const struct check *c, struct table *t)
{
    for (size_t i = 0; i < c->order_count; i++) {
        const struct check_order *o = &c->order[i];

        TABLE_ROW(t, cell_text(o->name), cell_int(o->length), cell_text(o->inputs),
                  cell_int(o->count), cell_real(o->same_share), cell_real(100 * o->same_share),
                  cell_real(o->max_difference_ulp), cell_real(o->mean_difference_ulp),
                  cell_real(o->max_ulp), cell_real(o->mean_ulp));
    }
}

void check_print_orders(const struct check *c, FILE *to)
{
    struct table t;

    if (c->order_count == 0)
        return;
    fputs("\nWhat rounding order changes: the same dots of bf16 values, summed in f32\n", to);
    begin(&t, order_fields);
    fill_orders(c, &t);
    table_print_text(&t, to);
    table_end(&t);
}

/* ----- files */

static void fill_rows(const struct check *c, struct table *t)
{
    for (size_t i = 0; i < c->row_count; i++)
        add_row(t, &c->row[i]);
}

void check_print_csv(const struct check *c, FILE *to)
{
    struct table t;

    begin(&t, row_fields);
    fill_rows(c, &t);
    table_print_csv(&t, to);
    table_end(&t);
}

int check_print_json(const struct check *c, FILE *to)
{
    json_t *root = json_object(), *left_out = json_array();
    struct table rows, orders;
    int status;

    begin(&rows, row_fields);
    fill_rows(c, &rows);
    begin(&orders, order_fields);
    fill_orders(c, &orders);
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
    json_object_set_new(root, "rows", table_make_json(&rows));
    json_object_set_new(root, "orders", table_make_json(&orders));
    json_object_set_new(root, "left_out", left_out);
    status = json_dumpf(root, to, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', to);
    json_decref(root);
    table_end(&rows);
    table_end(&orders);
    return status;
}
