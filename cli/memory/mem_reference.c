/*
 * systole mem --reference: rows of other simulators' results, one by one against ours. The file
 * has a heading; the columns used are simulator, mapping, pattern, accesses_64B, achieved_gbps,
 * avg_read_latency_cycles and row_hit_rate.
 */
#include "cli/memory/mem.h"

#include "base/text.h"
#include "isa/file.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 32, ACCESS_BYTES = 64 };
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
    const char *path;
    char *text;                         /* the rest */
    int line;
    int place[COLUMN_COUNT];
    struct err *e;
};

/* the next line's words, which stay in the text; 0 at its end */
static int next_line(struct reading *r, char *word[COLUMNS_MAX])
{
    int count = 0;
    size_t length = strcspn(r->text, "\r\n");
    char *at = r->text;

    if (*at == '\0')
        return 0;
    r->line++;
    r->text += length;
    if (*r->text == '\r')
        *r->text++ = '\0';
    if (*r->text)
        *r->text++ = '\0';
    while (count < COLUMNS_MAX && at) {
        char *comma = strchr(at, ',');

        word[count++] = at;
        if (comma)
            *comma++ = '\0';
        at = comma;
    }
    return count;
}

static int read_heading(struct reading *r)
{
    char *word[COLUMNS_MAX];
    int count = next_line(r, word);

    for (int i = 0; i < COLUMN_COUNT; i++) {
        r->place[i] = -1;
        for (int k = 0; k < count; k++)
            if (strcmp(word[k], column_names[i]) == 0)
                r->place[i] = k;
        if (r->place[i] < 0)
            return err_at(r->e, r->path, 1, 0, "no column \"%s\" in the heading", column_names[i]);
    }
    return 0;
}

static int read_number(struct reading *r, char **word, enum column c, double hi, double *value)
{
    if (text_parse_double(word[r->place[c]], 0, hi, value))
        return err_at(r->e, r->path, r->line, 0, "%s: expected a number in 0..%g, found \"%s\"",
                      column_names[c], hi, word[r->place[c]]);
    return 0;
}

static int read_row(struct reading *r, char **word, int count, struct row *row)
{
    struct err e;

    for (int i = 0; i < COLUMN_COUNT; i++)
        if (r->place[i] >= count)
            return err_at(r->e, r->path, r->line, 0, "%d columns, and no %s", count,
                          column_names[i]);
    row->simulator = word[r->place[SIMULATOR]];
    row->mapping = word[r->place[MAPPING]];
    if (hbm_pattern_parse(&row->pattern, word[r->place[PATTERN]], &e))
        return err_at(r->e, r->path, r->line, 0, "%s", e.msg);
    row->pattern.access_bytes = ACCESS_BYTES;
    row->pattern.footprint_bytes = MEM_FOOTPRINT;
    if (text_parse_int(word[r->place[ACCESSES]], 1, 1LL << 32, &row->accesses))
        return err_at(r->e, r->path, r->line, 0,
                      "accesses_64B: expected a whole number from 1 on, found \"%s\"",
                      word[r->place[ACCESSES]]);
    return read_number(r, word, GBPS, 1e6, &row->gbps) ||
           read_number(r, word, LATENCY, 1e9, &row->latency_cycles) ||
           read_number(r, word, HITS, 1, &row->hits) ? -1 : 0;
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

/* whether it is met, or need not be */
static bool print_row(const struct row *row, const struct mem_run *run, const struct mem_setup *s,
                      FILE *to)
{
    double off = row->gbps > 0 ? 100 * (mem_gbps(run) / row->gbps - 1) : 0;
    double tolerance = tolerance_percent(&row->pattern);
    bool is_met = off >= -tolerance && off <= tolerance;
    char verdict[32] = "reported";
    double shown = off > -0.05 && off < 0 ? 0 : off;    /* no -0.0 */

    if (s->is_judged)
        snprintf(verdict, sizeof(verdict), "%s %.0f %%", is_met ? "within" : "MISSES", tolerance);
    fprintf(to, "%-12s %-24s %-12s %8.2f %8.2f %+7.1f %% %9.0f %6.0f %8.1f %6.1f  %s\n",
            row->simulator, row->mapping, run->name, row->gbps, mem_gbps(run), shown,
            row->latency_cycles * (double)s->injection.cycle_ps / PS_PER_NS,
            histogram_mean(&run->driven->read) / PS_PER_NS, 100 * row->hits,
            100 * mem_rows_of(run, s).hit, verdict);
    return is_met || !s->is_judged;
}

static void print_heading(FILE *to)
{
    fprintf(to, "%-12s %-24s %-12s %17s %9s %16s %15s\n", "", "", "", "bandwidth, GB/s", "",
            "read latency, ns", "row hits, %");
    fprintf(to, "%-12s %-24s %-12s %8s %8s %9s %9s %6s %8s %6s\n", "simulator", "mapping",
            "pattern", "theirs", "ours", "off by", "theirs", "ours", "theirs", "ours");
}

static int try_row(const struct row *row, const struct mem_setup *s, FILE *to, int *missed,
                   struct err *e)
{
    struct mem_run run;
    struct arena a;
    int status;

    arena_init(&a);
    status = mem_run_pattern(&run, s, &row->pattern, row->accesses * ACCESS_BYTES, &a, e);
    if (status == 0)
        *missed += !print_row(row, &run, s, to);
    arena_fini(&a);
    return status;
}

static int try_rows(struct reading *r, const struct mem_setup *setups, int count, FILE *to,
                    int *missed)
{
    char *word[COLUMNS_MAX];
    int words, tried = 0, left_out = 0;

    print_heading(to);
    while ((words = next_line(r, word)) > 0) {
        const struct mem_setup *s;
        struct row row;

        if (words == 1 && *word[0] == '\0')
            continue;
        if (read_row(r, word, words, &row))
            return -1;
        s = setup_of(&row, setups, count);
        left_out += !s;
        tried += s != NULL;
        if (s && try_row(&row, s, to, missed, r->e))
            return -1;
    }
    if (left_out)
        fprintf(to, "%d rows of other configurations left out\n", left_out);
    return tried ? 0 : err_at(r->e, r->path, 0, 0, "no row is of a configuration given; "
                              "[reference] names simulator and mapping of the rows");
}

int mem_reference(const char *path, const struct mem_setup *setups, int count, FILE *to,
                  int *missed, struct err *e)
{
    struct reading r = {.path = path, .e = e};
    struct arena a;
    uint8_t *bytes = NULL;
    size_t size;
    int status;

    arena_init(&a);
    *missed = 0;
    status = isa_file_read(path, &a, &bytes, &size, e);
    r.text = (char *)bytes;
    if (status == 0)
        status = read_heading(&r) || try_rows(&r, setups, count, to, missed) ? -1 : 0;
    arena_fini(&a);
    return status;
}
