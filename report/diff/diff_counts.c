/* Compares what two runs did: resources, work, units, operations, results. */
#include "report/diff/diff_internal.h"

#include "base/units.h"

#include <string.h>

void diff_add_members(struct diff *d, enum diff_section section, const char *unit,
                      const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)a, name, value) {
        const json_t *other = json_object_get(b, name);

        diff_add(d, section, name, unit, json_number_value(value), json_number_value(other))
            ->in_b = other != NULL;
    }
    json_object_foreach((json_t *)b, name, value)
        if (!json_object_get(a, name))
            diff_add(d, section, name, unit, 0.0, json_number_value(value))->in_a = false;
}

/* of `key` over the members of the list `list` of a run */
static double sum_of(const struct run_folder *r, const char *list, const char *key)
{
    json_t *member;
    double sum = 0.0;
    size_t i;

    json_array_foreach(json_object_get(r->stats, list), i, member)
        sum += run_real(member, key);
    return sum;
}

static double *sum_at(struct diff *d, size_t first, enum diff_section section, const char *name,
                      const char *unit, int run)
{
    struct diff_row *row;

    for (size_t i = first; i < d->row_count; i++)
        if (strcmp(d->row[i].name, name) == 0) {
            row = &d->row[i];
            *(run ? &row->in_b : &row->in_a) = true;
            return run ? &row->b : &row->a;
        }
    row = diff_add(d, section, name, unit, 0.0, 0.0);
    row->in_a = !run;
    row->in_b = run != 0;
    return run ? &row->b : &row->a;
}

/* the rows of a table of stats.json: `name` and `value` are columns */
static void add_table(struct diff *d, enum diff_section section, const char *table,
                      const char *name, const char *value, const char *unit)
{
    size_t first = d->row_count, i;
    json_t *row;

    for (int run = 0; run < 2; run++) {
        const json_t *tables = json_object_get(d->run[run]->stats, "tables");

        json_array_foreach(json_object_get(tables, table), i, row)
            *sum_at(d, first, section, run_text(row, name), unit, run) += run_real(row, value);
    }
    diff_rank(d, first);
}

static void add_energy(struct diff *d)
{
    const json_t *a = json_object_get(d->run[0]->stats, "energy");
    const json_t *b = json_object_get(d->run[1]->stats, "energy");

    if (!json_is_object(a) || !json_is_object(b))
        return;
    diff_add(d, DIFF_WORK, "energy of the step", "uJ", run_real(a, "total_uj"),
             run_real(b, "total_uj"))->is_whole = false;
    diff_add(d, DIFF_WORK, "power of a chip, on average", "W", run_real(a, "average_w"),
             run_real(b, "average_w"))->is_whole = false;
}

static void add_use(struct diff *d)
{
    const json_t *a = json_object_get(json_object_get(d->run[0]->stats, "bound"), "use");
    const json_t *b = json_object_get(json_object_get(d->run[1]->stats, "bound"), "use");
    size_t first = d->row_count;

    diff_add_members(d, DIFF_USE, "%", a, b);
    for (size_t i = first; i < d->row_count; i++) {
        d->row[i].a *= 100.0;
        d->row[i].b *= 100.0;
        d->row[i].is_whole = false;
    }
}

static void add_work(struct diff *d)
{
    static const struct { const char *list, *key, *name, *unit; } rows[] = {
        {NULL, "model_flops_per_core", "FLOP of the model, per core", "FLOP"},
        {"cores", "matmul_flops", "FLOP issued to the matrix units", "FLOP"},
        {"cores", "issue", "bundles", ""},
        {"cores", "dma_count", "copies (DMA)", ""},
        {"cores", "dma_staging_cycles", "DMA ports wait for staging", "cycles"},
        {"hbm", "read_bytes", "HBM read", "bytes"},
        {"hbm", "write_bytes", "HBM written", "bytes"},
        {"hbm", "runs", "HBM runs", ""},
        {"hbm", "row_hits", "HBM row hits", ""},
        {"hbm", "row_conflicts", "HBM row conflicts", ""},
        {"hbm", "refresh_waits", "HBM waits for a refresh", ""},
        {"cores", "cmem_read_bytes", "CMEM read", "bytes"},
        {"cores", "cmem_write_bytes", "CMEM written", "bytes"},
        {"cores", "host_read_bytes", "host memory read", "bytes"},
        {"cores", "host_write_bytes", "host memory written", "bytes"},
        {"cores", "peer_sent_bytes", "sent to the other core of a chip", "bytes"},
        {"cores", "peer_busy_cycles", "links between cores of a chip", "cycles"},
        {"cores", "ici_sent_bytes", "ICI sent", "bytes"},
        {"links", "payload_bytes", "links, payload over all hops", "bytes"},
        {"links", "wire_bytes", "links, on the wire", "bytes"},
        {NULL, "parameter_bytes", "gradients to all-reduce, per core", "bytes"},
        {NULL, "input_bytes", "input from the host", "bytes"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double sum[2];

        for (int run = 0; run < 2; run++)
            sum[run] = rows[i].list ? sum_of(d->run[run], rows[i].list, rows[i].key)
                                    : run_real(d->run[run]->stats, rows[i].key);
        diff_add(d, DIFF_WORK, rows[i].name, rows[i].unit, sum[0], sum[1]);
    }
}

/* rows for the members of every core's object `key`, added up; of a unit its busy cycles */
static void add_sums(struct diff *d, enum diff_section section, const char *key,
                     const char *unit)
{
    size_t first = d->row_count, i;
    json_t *core, *member;
    const char *name;

    for (int run = 0; run < 2; run++) {
        json_array_foreach(json_object_get(d->run[run]->stats, "cores"), i, core) {
            json_object_foreach(json_object_get(core, key), name, member)
                *sum_at(d, first, section, name, unit, run) +=
                    json_is_object(member) ? run_real(member, "busy") : json_number_value(member);
        }
    }
    diff_rank(d, first);
}

static const json_t *last_epoch(const struct run_folder *r)
{
    const json_t *epochs = json_object_get(r->stats, "epochs");

    return json_array_get(epochs, json_array_size(epochs) - 1);
}

static void add_results(struct diff *d)
{
    static const struct { const char *key, *name, *unit; double scale; } rows[] = {
        {"loss", "loss of the last epoch", "", 1.0},
        {"train_accuracy", "training accuracy", "%", 100.0},
        {"test_accuracy", "test accuracy", "%", 100.0},
    };
    const json_t *a = last_epoch(d->run[0]), *b = last_epoch(d->run[1]);

    for (size_t i = 0; i < COUNT_OF(rows) && (a || b); i++) {
        struct diff_row *row = diff_add(d, DIFF_RESULTS, rows[i].name, rows[i].unit,
                                        rows[i].scale * run_real(a, rows[i].key),
                                        rows[i].scale * run_real(b, rows[i].key));

        row->in_a = json_is_number(json_object_get(a, rows[i].key));
        row->in_b = json_is_number(json_object_get(b, rows[i].key));
        row->is_whole = false;
    }
}

void diff_add_counts(struct diff *d)
{
    if (d->is_timed) {
        add_table(d, DIFF_SOURCE, "ops", "framework_op", "cycles", "cycles");
        add_use(d);
    }
    add_work(d);
    add_energy(d);
    if (d->is_timed)
        add_sums(d, DIFF_UNITS, "units", "cycles");
    add_sums(d, DIFF_OPS, "ops", "");
    add_results(d);
}
