/* Prints what `systole mem` has measured: tables, histograms of latency, CSV and JSON. */
#include "cli/memory/mem.h"

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
    char size[32], row[32], access[32], flight[64] = "as many in flight as the memory takes";

    if (s->injection.in_flight)
        snprintf(flight, sizeof(flight), "at most %d in flight", s->injection.in_flight);
    fprintf(to, "%s: %s, %d pseudo-channels of %d banks, rows of %s; peak %.1f GB/s\n", s->name,
            text_bytes(c->size_bytes, size, sizeof(size)), c->channel_count, c->bank_count,
            text_bytes(c->row_bytes, row, sizeof(row)), hbm_peak_bytes_per_second(c) / 1e9);
    fprintf(to, "accesses of %s in order, up to %d every %.3f ns, %s\n\n",
            text_bytes(s->access_bytes, access, sizeof(access)), s->injection.per_cycle,
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
    char size[32], count[32];

    fprintf(to, "%s: %s in %s accesses\n", r->name,
            text_bytes(d->read_bytes + d->write_bytes, size, sizeof(size)),
            text_thousands(d->access_count, count, sizeof(count)));
    fprintf(to, "bandwidth     %9.1f GB/s, %.1f %% of the peak, for %.1f us\n", mem_gbps(r),
            100 * mem_peak_share(r, s), (double)d->end_ps / 1e6);
    if (d->read_bytes && d->write_bytes)
        fprintf(to, "reads         %9.1f %% of the bytes\n",
                100 * (double)d->read_bytes / (double)(d->read_bytes + d->write_bytes));
    fprintf(to, "row hits      %9.1f %% of %s bursts; closed %.1f %%, conflicts %.1f %%\n",
            100 * rows.hit,
            text_thousands(d->stats.busy_ps / s->config.burst_ps, count, sizeof(count)),
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

void mem_print_table(const struct mem_run *r, int count, const struct mem_setup *s, FILE *to)
{
    fprintf(to, "%-18s %9s %6s %18s %40s %9s\n", "", "", "% of", "% of bursts",
            "latency in ns (of reads if any)", "GB per");
    fprintf(to, "%-18s %9s %6s %6s %6s %5s %8s %7s %7s %7s %7s %9s\n", "pattern", "GB/s", "peak",
            "hit", "closed", "confl", "mean", "median", "95 %", "99 %", "max", "host s");
    for (int i = 0; i < count; i++) {
        const struct histogram *h = latency_of(&r[i]);
        struct mem_rows rows = mem_rows_of(&r[i], s);

        fprintf(to, "%-18s %9.1f %6.1f %6.1f %6.1f %5.1f %8.0f %7.0f %7.0f %7.0f %7.0f %9.2f\n",
                r[i].name, mem_gbps(&r[i]), 100 * mem_peak_share(&r[i], s), 100 * rows.hit,
                100 * rows.closed, 100 * rows.conflict, ns(histogram_mean(h)),
                ns((double)histogram_quantile(h, 0.5)), ns((double)histogram_quantile(h, 0.95)),
                ns((double)histogram_quantile(h, 0.99)), ns((double)h->most), host_gbps(&r[i]));
    }
}

/* The figures of one pattern, for files: no time of the host among them. */
struct figures {
    const char *name[32];
    double value[32];
    int count;
};

static void put(struct figures *f, const char *name, double value)
{
    f->name[f->count] = name;
    f->value[f->count++] = value;
}

static void put_latency(struct figures *f, const char *const name[5], const struct histogram *h)
{
    const double value[5] = {histogram_mean(h), (double)histogram_quantile(h, 0.5),
                             (double)histogram_quantile(h, 0.95),
                             (double)histogram_quantile(h, 0.99), (double)h->most};

    for (int i = 0; i < 5; i++)
        put(f, name[i], ns(value[i]));
}

static struct figures figures_of(const struct mem_run *r, const struct mem_setup *s)
{
    static const char *const read[] = {"read_mean_ns", "read_median_ns", "read_95_ns",
                                       "read_99_ns", "read_max_ns"};
    static const char *const write[] = {"write_mean_ns", "write_median_ns", "write_95_ns",
                                        "write_99_ns", "write_max_ns"};
    const struct hbm_driven *d = r->driven;
    struct mem_rows rows = mem_rows_of(r, s);
    struct figures f = {.count = 0};

    put(&f, "access_bytes", (double)r->pattern.access_bytes);
    put(&f, "accesses", (double)d->access_count);
    put(&f, "read_bytes", (double)d->read_bytes);
    put(&f, "write_bytes", (double)d->write_bytes);
    put(&f, "time_ns", ns((double)d->end_ps));
    put(&f, "gbps", mem_gbps(r));
    put(&f, "peak_percent", 100 * mem_peak_share(r, s));
    put(&f, "row_hit_percent", 100 * rows.hit);
    put(&f, "row_closed_percent", 100 * rows.closed);
    put(&f, "row_conflict_percent", 100 * rows.conflict);
    put_latency(&f, read, &d->read);
    put_latency(&f, write, &d->write);
    return f;
}

void mem_print_csv(const struct mem_run *r, int count, const struct mem_setup *s, FILE *to)
{
    for (int i = 0; i < count; i++) {
        struct figures f = figures_of(&r[i], s);

        if (i == 0) {
            fputs("memory,pattern", to);
            for (int k = 0; k < f.count; k++)
                fprintf(to, ",%s", f.name[k]);
            fputc('\n', to);
        }
        text_print_csv(s->name, to);
        fputc(',', to);
        text_print_csv(r[i].name, to);
        for (int k = 0; k < f.count; k++)
            fprintf(to, ",%.10g", f.value[k]);
        fputc('\n', to);
    }
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
    json_t *patterns = json_array();
    json_t *top = json_pack("{s:s, s:f, s:{s:f, s:f, s:f, s:f}, s:o}", "memory", s->name,
                            "peak_gbps", hbm_peak_bytes_per_second(&s->config) / 1e9, "idle_ns",
                            "hit", ns((double)idle->hit_ps), "closed", ns((double)idle->closed_ps),
                            "conflict", ns((double)idle->conflict_ps), "random",
                            ns(idle->random_ps), "patterns", patterns);

    for (int i = 0; i < count; i++) {
        struct figures f = figures_of(&r[i], s);
        json_t *o = json_object();

        json_object_set_new(o, "pattern", json_string(r[i].name));
        for (int k = 0; k < f.count; k++)
            json_object_set_new(o, f.name[k], json_real(f.value[k]));
        json_object_set_new(o, "read_latency_up_to_ns", histogram_json(&r[i].driven->read));
        json_object_set_new(o, "write_latency_up_to_ns", histogram_json(&r[i].driven->write));
        json_array_append_new(patterns, o);
    }
    json_dumpf(top, to, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    fputc('\n', to);
    json_decref(top);
}
