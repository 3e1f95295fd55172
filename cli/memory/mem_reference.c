/*
 * systole mem --reference: rows of other simulators' results, one by one against ours. The file
 * has a heading; the columns used are simulator, mapping, pattern, accesses_64B, achieved_gbps,
 * avg_read_latency_cycles and row_hit_rate.
 */
#include "cli/memory/mem.h"

#include "base/csv.h"
#include "base/table.h"
#include "base/text.h"
#include "isa/file.h"

#include <math.h>
#include <string.h>

enum { ACCESS_BYTES = 64 };
enum column { SIMULATOR, MAPPING, PATTERN, ACCESSES, GBPS, LATENCY, HITS, COLUMN_COUNT };
static const char *const column_names[COLUMN_COUNT] = {
    "simulator", "mapping", "pattern", "accesses_64B", "achieved_gbps", "avg_read_latency_cycles",
    "row_hit_rate"};

struct row {
    const char *simulator, *mapping;
    struct hbm_pattern pattern;
    int64_t accesses;
    double gbps, latency_cycles, hits;
};

struct reading {
    struct csv csv;
    int place[COLUMN_COUNT];
    struct err *e;
};

static int read_heading(struct reading *r)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        r->place[i] = csv_find(&r->csv, column_names[i]);
        if (r->place[i] < 0)
            return err_at(r->e, r->csv.path, 1, 0, "no column \"%s\" in the heading",
                          column_names[i]);
    }
    return 0;
}

static int read_number(struct reading *r, int i, enum column c, double hi, double *value)
{
    const char *text = csv_text(&r->csv, i, r->place[c]);

    if (text_parse_double(text, 0, hi, value))
        return err_at(r->e, r->csv.path, r->csv.row[i].line, 0,
                      "%s: expected a number in 0..%g, found \"%s\"", column_names[c], hi, text);
    return 0;
}

static int read_row(struct reading *r, int i, struct row *row)
{
    const struct csv *csv = &r->csv;
    const char *path = csv->path, *accesses = csv_text(csv, i, r->place[ACCESSES]);
    int line = csv->row[i].line, count = csv->row[i].field_count;
    struct err e;

    for (int c = 0; c < COLUMN_COUNT; c++)
        if (r->place[c] >= count)
            return err_at(r->e, path, line, 0, "%d columns, and no %s", count, column_names[c]);
    row->simulator = csv_text(csv, i, r->place[SIMULATOR]);
    row->mapping = csv_text(csv, i, r->place[MAPPING]);
    if (hbm_pattern_parse(&row->pattern, csv_text(csv, i, r->place[PATTERN]), &e))
        return err_at(r->e, path, line, 0, "%s", e.msg);
    row->pattern.access_bytes = ACCESS_BYTES;
    row->pattern.footprint_bytes = MEM_FOOTPRINT;
    if (text_parse_int(accesses, 1, 1LL << 32, &row->accesses))
        return err_at(r->e, path, line, 0,
                      "accesses_64B: expected a whole number from 1 on, found \"%s\"", accesses);
    return read_number(r, i, GBPS, 1e6, &row->gbps) ||
           read_number(r, i, LATENCY, 1e9, &row->latency_cycles) ||
           read_number(r, i, HITS, 1, &row->hits) ? -1 : 0;
}

static const struct mem_setup *setup_of(const struct row *row, const struct mem_setup *s,
                                        int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(s[i].simulator, row->simulator) == 0 &&
            strcmp(s[i].mapping, row->mapping) == 0)
            return &s[i];
    return NULL;
}

/* streams keep the bus busy in every controller; strides and random depend on its queues */
static double tolerance_percent(const struct hbm_pattern *p)
{
    return p->kind == HBM_SEQUENTIAL || p->kind == HBM_COPY ? 5 : 10;
}

#define PAIR(above_, heading, decimals_) \
    {TABLE_SHOWN(REAL, NULL, heading), .above = above_, .decimals = decimals_, .width = 8}

static const struct table_field fields[] = {
    {TABLE_SHOWN(TEXT, NULL, "simulator"), .width = 12},
    {TABLE_SHOWN(TEXT, NULL, "mapping"), .width = 24},
    {TABLE_SHOWN(TEXT, NULL, "pattern"), .width = 12}, PAIR("bandwidth, GB/s", "theirs", 2),
    PAIR("bandwidth, GB/s", "ours", 2),
    {TABLE_SHOWN(REAL, NULL, "off by"), .decimals = 1, .suffix = " %", .is_signed = true,
     .width = 9},
    PAIR("read latency, ns", "theirs", TABLE_WHOLE), PAIR("read latency, ns", "ours", TABLE_WHOLE),
    PAIR("row hits, %", "theirs", 1), PAIR("row hits, %", "ours", 1),
    {TABLE_SHOWN(TEXT, NULL, "")}, {0}};

/* whether it is met, or need not be */
static bool add_row(struct table *t, const struct row *row, const struct mem_run *run,
                    const struct mem_setup *s)
{
    double off = row->gbps > 0 ? 100 * (mem_gbps(run) / row->gbps - 1) : 0;
    double tolerance = tolerance_percent(&row->pattern);
    bool is_met = off >= -tolerance && off <= tolerance;

    TABLE_ROW(t, cell_text(row->simulator), cell_text(row->mapping), cell_text(run->name),
              cell_real(row->gbps), cell_real(mem_gbps(run)),
              cell_real(fabs(off) < 0.05 ? 0 : off),
              cell_real(row->latency_cycles * (double)s->injection.cycle_ps / PS_PER_NS),
              cell_real(histogram_mean(&run->driven->read) / PS_PER_NS),
              cell_real(100 * row->hits), cell_real(100 * mem_rows_of(run, s).hit),
              cell_text(!s->is_judged ? "reported"
                        : arena_printf(t->arena, "%s %.0f %%", is_met ? "within" : "MISSES",
                                       tolerance)));
    return is_met || !s->is_judged;
}

static int try_row(const struct row *row, const struct mem_setup *s, struct table *t, FILE *to,
                   int *missed, struct err *e)
{
    struct mem_run run;
    struct arena a;
    int status;

    arena_init(&a);
    status = mem_run_pattern(&run, s, &row->pattern, row->accesses * ACCESS_BYTES, &a, e);
    if (status == 0)
        *missed += !add_row(t, row, &run, s);
    table_print_rows(t, to);
    arena_fini(&a);
    return status;
}

/* patterns of other programs need not be ours: the row is told, and the others go on */
static bool is_known(struct reading *r, int i, FILE *to)
{
    struct hbm_pattern pattern;
    struct err e;

    if (!hbm_pattern_parse(&pattern, csv_text(&r->csv, i, r->place[PATTERN]), &e))
        return true;
    fprintf(to, "line %d is left out: %s\n", r->csv.row[i].line, e.msg);
    return false;
}

static int try_rows(struct reading *r, const struct mem_setup *setups, int count, struct table *t,
                    FILE *to, int *missed)
{
    int tried = 0, left_out = 0;

    table_print_head(t, to);
    for (int i = 0; i < r->csv.row_count; i++) {
        const struct mem_setup *s;
        struct row row;

        if (!is_known(r, i, to))
            continue;
        if (read_row(r, i, &row))
            return -1;
        s = setup_of(&row, setups, count);
        left_out += !s;
        tried += s != NULL;
        if (s && try_row(&row, s, t, to, missed, r->e))
            return -1;
    }
    if (left_out)
        fprintf(to, "%d rows of other configurations left out\n", left_out);
    return tried ? 0 : err_at(r->e, r->csv.path, 0, 0, "no row is of a configuration given; "
                              "[reference] names simulator and mapping of the rows");
}

int mem_reference(const char *path, const struct mem_setup *setups, int count, FILE *to,
                  int *missed, struct err *e)
{
    struct reading r = {.e = e};
    struct table t;
    uint8_t *bytes;
    size_t size;
    int status;

    table_begin(&t, fields, NULL);
    t.indent = "";
    *missed = 0;
    status = isa_file_read(path, t.arena, &bytes, &size, e) ||
             csv_parse(&r.csv, path, (char *)bytes, NULL, t.arena, e) || read_heading(&r) ||
             try_rows(&r, setups, count, &t, to, missed) ? -1 : 0;
    table_end(&t);
    return status;
}
