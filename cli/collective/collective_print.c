/* Prints what a collective took, as a page, a line of CSV or JSON. */
#include "cli/collective/collective.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"

#include <jansson.h>

static const char *const kinds_of_bound[] = {"the bandwidth of the links",
                                             "the latency of steps in a row"};

/* "2.345 ms", "17.2 us", "830 ns" */
static struct short_text print_seconds(double seconds)
{
    static const struct { double least; const char *unit; } units[] = {
        {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    struct short_text to;
    size_t i = 0;

    while (i + 1 < COUNT_OF(units) && seconds < units[i].least)
        i++;
    snprintf(to.text, sizeof(to.text), "%.4g %s", seconds / units[i].least, units[i].unit);
    return to;
}

static double seconds_of(const struct collective_answer *w)
{
    return 1e-12 * (double)w->result.time_ps;
}

static const char *device_name(const struct collective_answer *w)
{
    return w->request.over_chips ? "chip" : "core";
}

static void print_ranks(const struct collective_answer *w, FILE *to)
{
    int devices = w->request.over_chips ? w->slice.chip_count : w->slice.core_count;
    int groups = devices / w->rank_count;

    fprintf(to, "  ranks         %d %s%s", w->rank_count, device_name(w),
            w->rank_count == 1 ? "" : "s");
    if (w->request.kind != COLLECTIVE_BARRIER)
        fprintf(to, ", each with %s of %s",
                text_bytes(w->options.bytes).text, collective_type_name(w->request.type));
    if (w->arrays > 1)
        fprintf(to, w->request.kind == COLLECTIVE_BARRIER
                    ? "; each of their %d cores waits for the same core of the others"
                    : ", 1/%d of it on each of its cores", w->arrays);
    if (groups > 1)
        fprintf(to, "; %d such groups side by side", groups);
    fputc('\n', to);
}

static int algo_count(enum collective_kind kind)
{
    int count = 0;

    for (int i = COLLECTIVE_AUTO + 1; i < COLLECTIVE_ALGO_COUNT; i++)
        count += collective_does(kind, (enum collective_algo)i);
    return count;
}

/* "ring 17.49 ms, torus 2.08 ms (taken); not for this size: exchange": what auto chose by */
static void print_predictions(const struct collective_answer *w, FILE *to)
{
    const char *before = w->options.costs ? "\n  predicted     of the chip's links: "
                                          : "\n  predicted     ";

    for (int i = COLLECTIVE_AUTO + 1; i < COLLECTIVE_ALGO_COUNT; i++)
        if (w->predicted_s[i] > 0) {
            fprintf(to, "%s%s %s%s", before, collective_algo_name((enum collective_algo)i),
                    print_seconds(w->predicted_s[i]).text,
                    w->request.algo == (enum collective_algo)i ? " (taken)" : "");
            before = ", ";
        }
    before = w->request.chunk_bytes > 0 && (w->options.chunk_bytes || w->options.costs)
                 ? "; not for this size and chunk: " : "; not for this size: ";
    for (int i = COLLECTIVE_AUTO + 1; i < COLLECTIVE_ALGO_COUNT; i++)
        if (!(w->predicted_s[i] > 0) &&
            collective_does(w->request.kind, (enum collective_algo)i)) {
            fprintf(to, "%s%s", before, collective_algo_name((enum collective_algo)i));
            before = ", ";
        }
}

static void print_algo(const struct collective_answer *w, FILE *to)
{
    bool is_auto = w->options.algo == COLLECTIVE_AUTO;

    fprintf(to, "  algorithm     %s", collective_algo_name(w->request.algo));
    if (w->request.chunk_bytes > 0)
        fprintf(to, ", steps in chunks of %s", text_bytes(w->request.chunk_bytes).text);
    if (w->rank_count == 1) {
        fprintf(to, " (alone: there is nothing to send)");
        return;
    }
    if (is_auto && algo_count(w->request.kind) == 1)
        fprintf(to, " (the only one for %s)", collective_kind_name(w->request.kind));
    else if (is_auto)
        fprintf(to, " (chosen: the least time predicted)");
    if (is_auto && algo_count(w->request.kind) > 1)
        print_predictions(w, to);
}

static void print_how(const struct collective_answer *w, FILE *to)
{
    print_algo(w, to);
    fprintf(to, "\n  engine        %s: %s; %s operations", collective_engine_name(w->engine),
            w->reason, text_thousands(w->result.op_count).text);
    if (w->result.used_symmetry)
        fprintf(to, ", one chip for all %s", text_thousands(w->slice.chip_count).text);
    fputs("\n\n", to);
}

static void print_bandwidth(const struct collective_answer *w, FILE *to)
{
    fprintf(to, "  algorithm bandwidth   %10.2f GB/s  bytes of a %s / time\n",
            1e-9 * collective_algorithm_bandwidth(w), device_name(w));
    fprintf(to, "  bus bandwidth         %10.2f GB/s  x %.4g, as nccl-tests count\n",
            1e-9 * collective_bus_bandwidth(w), w->bound.bus_factor);
}

static void print_bound(const struct collective_answer *w, FILE *to)
{
    const struct collective_bound *b = &w->bound;

    fprintf(to, "  closed-form bound     %15s  %s (bandwidth %s, latency %s)\n",
            print_seconds(b->seconds).text,
            kinds_of_bound[b->latency_seconds > b->bandwidth_seconds],
            print_seconds(b->bandwidth_seconds).text, print_seconds(b->latency_seconds).text);
    fprintf(to, "  efficiency            %13.1f %%  of the bound\n",
            100 * collective_efficiency(w));
    if (b->book_seconds > 0)
        fprintf(to, "  published equation    %15s  of the scaling book, at 1 us per hop\n",
                print_seconds(b->book_seconds).text);
}

static void print_verdict(const struct collective_answer *w, FILE *to)
{
    const struct collective_verdict *v = &w->verdict;

    if (v->wrong > 0)
        fprintf(to, "  values                WRONG: %lld of %s elements, %s\n", (long long)v->wrong,
                text_thousands(v->elements).text, v->first);
    else
        fprintf(to, "  values                right: %s elements, the worst sum off by %.2g of its "
                "bound\n", text_thousands(v->elements).text, v->worst);
}

void collective_print(const struct collective_answer *w, FILE *to)
{
    fprintf(to, "%s", collective_kind_name(w->request.kind));
    if (w->request.kind != COLLECTIVE_BARRIER)
        fprintf(to, " of %s", text_bytes(w->options.bytes).text);
    fprintf(to, " on %s\n", slice_print(&w->slice).text);
    print_ranks(w, to);
    print_how(w, to);
    fprintf(to, "  simulated time        %15s\n", print_seconds(seconds_of(w)).text);
    if (w->request.kind != COLLECTIVE_BARRIER)
        print_bandwidth(w, to);
    print_bound(w, to);
    if (w->slice.chip_count > 1)
        fprintf(to, "  links busy            %13.1f %%  of the time on average; least %.1f %%, "
                "most %.1f %%\n", 100 * w->result.link_use_mean, 100 * w->result.link_use_min,
                100 * w->result.link_use_max);
    if (w->options.checks)
        print_verdict(w, to);
    fprintf(to, "\nhost time %.3f s\n", w->host_seconds);
}

#define SECONDS(name, above_) \
    {TABLE_SHOWN(REAL, name, "us"), .above = above_, .decimals = 3, .width = 12}
#define RATE(name, above_) \
    {TABLE_SHOWN(REAL, name, "GB/s"), .above = above_, .decimals = 2, .width = 10}
#define PERCENT(above_, heading) \
    {TABLE_SHOWN(REAL, NULL, heading), .above = above_, .decimals = 1}

static const struct table_field fields[] = {
    {TABLE_SHOWN(TEXT, "kind", NULL), .width = 14},
    {TABLE_SHOWN(TEXT, "tpu", "slice"), .width = 10},
    {TABLE_HIDDEN(INT, "chips")}, {TABLE_HIDDEN(INT, "ranks")}, {TABLE_HIDDEN(INT, "bytes")},
    {TABLE_SHOWN(TEXT, NULL, "bytes"), .is_right = true, .width = 10}, {TABLE_HIDDEN(TEXT, "type")},
    {TABLE_SHOWN(TEXT, "algo", NULL), .width = 8}, {TABLE_HIDDEN(INT, "chunk_bytes")},
    {TABLE_SHOWN(TEXT, "engine", NULL)}, SECONDS("time_us", "time"),
    RATE("algorithm_gbps", "algorithm"), RATE("bus_gbps", "bus"), SECONDS("bound_us", "bound"),
    {TABLE_HIDDEN(REAL, "bandwidth_bound_us")}, {TABLE_HIDDEN(REAL, "latency_bound_us")},
    {TABLE_HIDDEN(REAL, "efficiency")}, PERCENT("of bound", "%"), {TABLE_HIDDEN(REAL, "book_us")},
    {TABLE_HIDDEN(REAL, "link_use_min")}, {TABLE_HIDDEN(REAL, "link_use_mean")},
    PERCENT("links", "% busy"), {TABLE_HIDDEN(REAL, "link_use_max")},
    {TABLE_HIDDEN(INT, "sent_bytes")}, {TABLE_HIDDEN(REAL, "host_seconds")}, {0}};

void collective_begin_table(struct table *t)
{
    table_begin(t, fields, NULL);
    t->indent = "";
}

static const char *bytes_of(const struct collective_options *o, struct arena *a)
{
    return arena_strdup(a, text_bytes(o->bytes).text);
}

void collective_add_row(struct table *t, const struct collective_answer *w)
{
    const struct collective_result *r = &w->result;
    const struct collective_bound *b = &w->bound;

    TABLE_ROW(t, cell_text(collective_kind_name(w->request.kind)), cell_text(w->slice.name),
              cell_int(w->slice.chip_count), cell_int(w->rank_count), cell_int(w->options.bytes),
              cell_text(bytes_of(&w->options, t->arena)),
              cell_text(collective_type_name(w->request.type)),
              cell_text(collective_algo_name(w->request.algo)), cell_int(w->request.chunk_bytes),
              cell_text(collective_engine_name(w->engine)), cell_real(1e6 * seconds_of(w)),
              cell_real(1e-9 * collective_algorithm_bandwidth(w)),
              cell_real(1e-9 * collective_bus_bandwidth(w)), cell_real(1e6 * b->seconds),
              cell_real(1e6 * b->bandwidth_seconds), cell_real(1e6 * b->latency_seconds),
              cell_real(collective_efficiency(w)), cell_real(100 * collective_efficiency(w)),
              cell_real(1e6 * b->book_seconds), cell_real(r->link_use_min),
              cell_real(r->link_use_mean), cell_real(100 * r->link_use_mean),
              cell_real(r->link_use_max), cell_int(r->sent_bytes), cell_real(w->host_seconds));
}

void collective_add_missing(struct table *t, const struct collective_options *o,
                            const struct err *e)
{
    TABLE_ROW(t, cell_text(collective_kind_name(o->kind)), cell_text(o->target.tpu), cell_none(),
              cell_none(), cell_none(), cell_text(bytes_of(o, t->arena)), cell_none(),
              cell_text(collective_algo_name(o->algo)), cell_none(),
              cell_remark(arena_printf(t->arena, "left out: %s", e->msg)));
}

void collective_print_csv(const struct collective_answer *w, FILE *to)
{
    struct table t;

    collective_begin_table(&t);
    collective_add_row(&t, w);
    table_print_csv(&t, to);
    table_end(&t);
}

static json_t *json_of(const struct collective_answer *w)
{
    const struct collective_result *r = &w->result;

    return json_pack(
        "{s:s s:s s:[iii] s:i s:i s:I s:s s:s s:I s:s s:s s:b s:f s:f s:f s:f s:f s:f s:f s:f "
        "s:{s:f s:f s:f} s:I s:I s:f}",
        "kind", collective_kind_name(w->request.kind), "tpu", w->slice.name, "chip_grid",
        w->slice.dim[0], w->slice.dim[1], w->slice.dim[2], "cores", w->slice.core_count,
        "ranks", w->rank_count, "bytes", (json_int_t)w->options.bytes,
        "type", collective_type_name(w->request.type),
        "algo", collective_algo_name(w->request.algo),
        "chunk_bytes", (json_int_t)w->request.chunk_bytes,
        "engine", collective_engine_name(w->engine), "engine_reason", w->reason,
        "one_chip_for_all", r->used_symmetry, "time_us", 1e6 * seconds_of(w),
        "algorithm_gbps", 1e-9 * collective_algorithm_bandwidth(w),
        "bus_gbps", 1e-9 * collective_bus_bandwidth(w), "bound_us", 1e6 * w->bound.seconds,
        "bandwidth_bound_us", 1e6 * w->bound.bandwidth_seconds,
        "latency_bound_us", 1e6 * w->bound.latency_seconds,
        "efficiency", collective_efficiency(w), "book_us", 1e6 * w->bound.book_seconds,
        "link_use", "min", r->link_use_min, "mean", r->link_use_mean, "max", r->link_use_max,
        "operations", (json_int_t)r->op_count, "sent_bytes", (json_int_t)r->sent_bytes,
        "host_seconds", w->host_seconds);
}

/* by name of the algorithm; empty where none was chosen */
static json_t *json_of_predictions(const struct collective_answer *w)
{
    json_t *out = json_object();

    for (int i = COLLECTIVE_AUTO + 1; i < COLLECTIVE_ALGO_COUNT; i++)
        if (w->predicted_s[i] > 0)
            json_object_set_new(out, collective_algo_name((enum collective_algo)i),
                                json_real(1e6 * w->predicted_s[i]));
    return out;
}

int collective_write_json(const struct collective_answer *w, const char *path, struct err *e)
{
    struct outfile f;
    json_t *json;

    if (outfile_begin(&f, path, e))
        return -1;
    json = json_of(w);
    json_object_set_new(json, "predicted_us", json_of_predictions(w));
    json_dumpf(json, f.to, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', f.to);
    json_decref(json);
    return outfile_commit(&f, e);
}
