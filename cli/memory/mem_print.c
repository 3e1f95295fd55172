/* Prints what `systole mem` has measured: tables, histograms of latency, CSV and JSON. */
#include "cli/memory/mem.h"

#include "base/table.h"
#include "base/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

enum { LINES = 14 };                    /* of a latency histogram */

static double ns(double ps)
{
    return ps / PS_PER_NS;
}

static double host_gbps(const struct mem_run *r)
{
    const struct hbm_driven *d = r->driven;

    return (double)(d->read_bytes + d->write_bytes) / 1e9 /
           (r->host_seconds > 1e-9 ? r->host_seconds : 1e-9);
}

void mem_print_setup(const struct mem_setup *s, FILE *to)
{
    const struct hbm_config *c = &s->config;
    char flight[64] = "as many in flight as the memory takes";

    if (s->injection.in_flight)
        snprintf(flight, sizeof(flight), "at most %d in flight", s->injection.in_flight);
    fprintf(to, "%s: %s, %d pseudo-channels of %d banks, rows of %s; peak %.1f GB/s\n", s->name,
            text_bytes(c->size_bytes).text, c->channel_count, c->bank_count,
            text_bytes(c->row_bytes).text, hbm_peak_bytes_per_second(c) / 1e9);
    fprintf(to, "accesses of %s in order, up to %d every %.3f ns, %s\n\n",
            text_bytes(s->access_bytes).text, s->injection.per_cycle,
            ns((double)s->injection.cycle_ps), flight);
}

static void print_idle_case(const char *name, double ps, FILE *to)
{
    fprintf(to, "  %-44s", name);
    if (ps < 0)
        fprintf(to, "%10s\n", "none");
    else
        fprintf(to, "%10.1f ns\n", ns(ps));
}

void mem_print_idle(const struct hbm_idle *idle, FILE *to)
{
    fprintf(to, "latency of one read while the memory is idle\n");
    print_idle_case("row hit: its row is open", (double)idle->hit_ps, to);
    print_idle_case("closed: its bank has no row open", (double)idle->closed_ps, to);
    print_idle_case("conflict: its bank has another row open", (double)idle->conflict_ps, to);
    print_idle_case("random addresses, one after the other, mean", idle->random_ps, to);
}

static void print_latency(const char *name, const struct histogram *h, FILE *to)
{
    if (h->count)
        fprintf(to, "%-14s%9.1f ns on average, median %.1f, 95 %% within %.1f, 99 %% within %.1f, "
                "at most %.1f\n", name, ns(histogram_mean(h)),
                ns((double)histogram_quantile(h, 0.5)), ns((double)histogram_quantile(h, 0.95)),
                ns((double)histogram_quantile(h, 0.99)), ns((double)h->most));
}

static void print_histogram(const char *name, const struct histogram *h, FILE *to)
{
    if (h->count == 0)
        return;
    fprintf(to, "\n%s\n", name);
    histogram_print(h, PS_PER_NS, LINES, "ns", "accesses", to);
}

void mem_print_one(const struct mem_run *r, const struct mem_setup *s, FILE *to)
{
    const struct hbm_driven *d = r->driven;
    struct mem_rows rows = mem_rows_of(r, s);

    fprintf(to, "%s: %s in %s accesses\n", r->name,
            text_bytes(d->read_bytes + d->write_bytes).text, text_thousands(d->access_count).text);
    fprintf(to, "bandwidth     %9.1f GB/s, %.1f %% of the peak, for %.1f us\n", mem_gbps(r),
            100 * mem_peak_share(r, s), (double)d->end_ps / 1e6);
    if (d->read_bytes && d->write_bytes)
        fprintf(to, "reads         %9.1f %% of the bytes\n",
                100 * (double)d->read_bytes / (double)(d->read_bytes + d->write_bytes));
    fprintf(to, "row hits      %9.1f %% of %s bursts; closed %.1f %%, conflicts %.1f %%\n",
            100 * rows.hit, text_thousands(d->stats.busy_ps / s->config.burst_ps).text,
            100 * rows.closed, 100 * rows.conflict);
    fprintf(to, "refresh       %9.1f %% of the runs in one row were held up\n",
            100 * (double)d->stats.refresh_waits / (double)d->stats.run_count);
    print_latency("read latency", &d->read, to);
    print_latency("write latency", &d->write, to);
    fprintf(to, "host          %9.2f GB simulated per second of processor time\n", host_gbps(r));
    print_histogram("read latency", &d->read, to);
    print_histogram("write latency", &d->write, to);
}

/* what a table has room for: of reads where there are any */
static const struct histogram *latency_of(const struct mem_run *r)
{
    return r->driven->read.count ? &r->driven->read : &r->driven->write;
}

#define FILE_INT(name) {TABLE_HIDDEN(INT, name)}
#define FILE_REAL(name) {TABLE_HIDDEN(REAL, name)}
#define FILE_LATENCY(kind) \
    FILE_REAL(kind "_mean_ns"), FILE_REAL(kind "_median_ns"), FILE_REAL(kind "_95_ns"), \
    FILE_REAL(kind "_99_ns"), FILE_REAL(kind "_max_ns")
#define SHOWN(above_, heading_, decimals_) \
    {TABLE_SHOWN(REAL, NULL, heading_), .above = above_, .decimals = decimals_}
#define LATENCY "latency in ns (of reads if any)"

/* no time of the host in files */
static const struct table_field fields[] = {
    {TABLE_HIDDEN(TEXT, "memory")}, {TABLE_SHOWN(TEXT, "pattern", NULL)}, FILE_INT("access_bytes"),
    FILE_INT("accesses"), FILE_INT("read_bytes"), FILE_INT("write_bytes"), FILE_REAL("time_ns"),
    {TABLE_SHOWN(REAL, "gbps", "GB/s"), .decimals = 1},
    {TABLE_SHOWN(REAL, "peak_percent", "peak"), .above = "% of", .decimals = 1},
    {TABLE_SHOWN(REAL, "row_hit_percent", "hit"), .above = "% of bursts", .decimals = 1},
    {TABLE_SHOWN(REAL, "row_closed_percent", "closed"), .above = "% of bursts",
     .decimals = 1},
    {TABLE_SHOWN(REAL, "row_conflict_percent", "confl"), .above = "% of bursts",
     .decimals = 1},
    SHOWN(LATENCY, "mean", TABLE_WHOLE), SHOWN(LATENCY, "median", TABLE_WHOLE),
    SHOWN(LATENCY, "95 %", TABLE_WHOLE), SHOWN(LATENCY, "99 %", TABLE_WHOLE),
    SHOWN(LATENCY, "max", TABLE_WHOLE), FILE_LATENCY("read"), FILE_LATENCY("write"),
    SHOWN("GB per", "host s", 2), {0}};

static struct table_cell ns_cell(double ps)
{
    return cell_real(ns(ps));
}

#define LATENCY_CELLS(h) \
    ns_cell(histogram_mean(h)), ns_cell((double)histogram_quantile(h, 0.5)), \
    ns_cell((double)histogram_quantile(h, 0.95)), ns_cell((double)histogram_quantile(h, 0.99)), \
    ns_cell((double)(h)->most)

static void fill(const struct mem_run *r, int count, const struct mem_setup *s, struct table *t)
{
    table_begin(t, fields, NULL);
    t->indent = "";
    t->digits = 10;
    for (int i = 0; i < count; i++) {
        const struct hbm_driven *d = r[i].driven;
        struct mem_rows rows = mem_rows_of(&r[i], s);

        TABLE_ROW(t, cell_text(s->name), cell_text(r[i].name),
                  cell_int(r[i].pattern.access_bytes), cell_int(d->access_count),
                  cell_int(d->read_bytes), cell_int(d->write_bytes), ns_cell((double)d->end_ps),
                  cell_real(mem_gbps(&r[i])), cell_real(100 * mem_peak_share(&r[i], s)),
                  cell_real(100 * rows.hit), cell_real(100 * rows.closed),
                  cell_real(100 * rows.conflict), LATENCY_CELLS(latency_of(&r[i])),
                  LATENCY_CELLS(&d->read), LATENCY_CELLS(&d->write), cell_real(host_gbps(&r[i])));
    }
}

void mem_print_table(const struct mem_run *r, int count, const struct mem_setup *s, FILE *to)
{
    struct table t;

    fill(r, count, s, &t);
    table_print_text(&t, to);
    table_end(&t);
}

void mem_print_csv(const struct mem_run *r, int count, const struct mem_setup *s, FILE *to)
{
    struct table t;

    fill(r, count, s, &t);
    table_print_csv(&t, to);
    table_end(&t);
}

static json_t *histogram_json(const struct histogram *h)
{
    json_t *list = json_array();

    for (int i = 0; i < HISTOGRAM_BINS; i++)
        if (h->bin[i])
            json_array_append_new(list, json_pack("[fI]", ns((double)histogram_bin_end(i)),
                                                  (json_int_t)h->bin[i]));
    return list;
}

void mem_print_json(const struct mem_run *r, int count, const struct mem_setup *s,
                    const struct hbm_idle *idle, FILE *to)
{
    json_t *top, *patterns, *o;
    struct table t;
    size_t i;

    fill(r, count, s, &t);
    patterns = table_make_json(&t);
    json_array_foreach(patterns, i, o) {
        json_object_set_new(o, "read_latency_up_to_ns", histogram_json(&r[i].driven->read));
        json_object_set_new(o, "write_latency_up_to_ns", histogram_json(&r[i].driven->write));
    }
    top = json_pack("{s:s, s:f, s:{s:f, s:f, s:f, s:f}, s:o}", "memory", s->name, "peak_gbps",
                    hbm_peak_bytes_per_second(&s->config) / 1e9, "idle_ns", "hit",
                    ns((double)idle->hit_ps), "closed", ns((double)idle->closed_ps), "conflict",
                    ns((double)idle->conflict_ps), "random", ns(idle->random_ps), "patterns",
                    patterns);
    json_dumpf(top, to, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    fputc('\n', to);
    json_decref(top);
    table_end(&t);
}
