/*
 * stats.json. Whatever differs between two runs of the same job is under keys
 * that start with "host".
 */
#include "report/folder/files.h"
#include "report/tables/breakdown.h"
#include "report/tables/communication.h"
#include "report/tables/energy_table.h"
#include "report/view/bound.h"
#include "report/view/counters.h"
#include "report/view/run_folder.h"

#include <jansson.h>
#include <math.h>

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();    /* JSON has no NaN */
}

/* takes over `value`, which may be NULL after a failed allocation */
static void put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value ? value : json_null());
}

static json_t *make_epochs(const struct report_run *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->epoch_count; i++) {
        const struct report_epoch *p = &r->epoch[i];
        json_t *o = json_object();

        put(o, "epoch", json_integer(p->epoch));
        put(o, "loss", number(p->loss));
        put(o, "train_accuracy", number(p->train_accuracy));
        put(o, "test_accuracy", number(p->test_accuracy));
        put(o, "steps", json_integer(p->steps));
        put(o, "step_cycles", json_integer(p->step_cycles));
        put(o, "step_us", number(p->step_us));
        put(o, "samples_per_second", number(p->samples_per_second));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *make_host(const struct report_run *r)
{
    json_t *host = json_object(), *epochs = json_array();

    put(host, "seconds", number(r->host_seconds));
    for (size_t i = 0; i < r->epoch_count; i++)
        json_array_append_new(epochs, number(r->epoch[i].host_seconds));
    put(host, "epoch_seconds", epochs);
    return host;
}

static void put_counters(json_t *object, enum counter_owner owner, const void *counters,
                         bool is_timed)
{
    for (const struct counter *c = NULL; (c = counter_next(owner, c)) != NULL;)
        if (is_timed || !c->is_timed)
            put(object, c->key, json_integer(counter_value(c, counters)));
}

static json_t *make_units(const struct core_counters *c, bool is_timed)
{
    json_t *units = json_object();

    for (int i = 0; i < c->unit_count; i++) {
        json_t *o = json_object();

        put_counters(o, COUNTER_UNIT, &c->unit[i], is_timed);
        put(units, c->unit[i].name, o);
    }
    return units;
}

static json_t *make_ops(const struct core_counters *c)
{
    json_t *ops = json_object();

    for (int i = 0; i < OP_COUNT; i++) {
        char name[ISA_PATTERN_MAX];

        if (c->op_count[i] > 0)
            put(ops, isa_print_pattern((enum isa_opcode)i, "", name, sizeof(name)),
                json_integer(c->op_count[i]));
    }
    return ops;
}

static json_t *make_stalls(const struct core_counters *c)
{
    json_t *stalls = json_object();

    for (int r = 0; r < STALL_COUNT; r++)
        put(stalls, stall_name((enum stall_reason)r), json_integer(c->stall_cycles[r]));
    return stalls;
}

static json_t *make_core(const struct core_counters *c, int index, bool is_timed)
{
    json_t *o = json_object();

    put(o, "core", json_integer(index));
    put_counters(o, COUNTER_CORE, c, is_timed);
    if (is_timed)
        put(o, "stalls", make_stalls(c));
    put(o, "units", make_units(c, is_timed));
    put(o, "ops", make_ops(c));
    put_counters(o, COUNTER_TRAFFIC, c, is_timed);
    return o;
}

static json_t *make_hbm(const struct hbm_stats *h, int chip)
{
    json_t *o = json_object();

    put(o, "chip", json_integer(chip));
    put_counters(o, COUNTER_HBM, h, true);
    return o;
}

static json_t *make_link(const struct net_link_stats *l)
{
    json_t *o = json_object();

    put(o, "from", json_integer(l->from));
    put(o, "to", json_integer(l->to));
    put_counters(o, COUNTER_LINK, l, true);
    return o;
}

static json_t *make_chip(const struct chip *c)
{
    json_t *o = json_object();

    put(o, "name", json_string(c->chip_name));
    put(o, "clock_mhz", json_integer(c->chip_clock_mhz));
    put(o, "cores", json_integer(c->chip_cores));
    put(o, "peak_bf16_tflops", number(chip_peak_bf16_tflops(c)));
    put(o, "hbm_peak_bytes_per_second", number(chip_hbm_peak_bytes_per_second(c)));
    return o;
}

static json_t *make_slice(const struct slice *s)
{
    json_t *o = json_object(), *dims = json_array(), *rings = json_array();

    put(o, "name", json_string(s->name));
    put(o, "chips", json_integer(s->chip_count));
    put(o, "cores", json_integer(s->core_count));
    for (int i = 0; i < 3; i++) {
        json_array_append_new(dims, json_integer(s->dim[i]));
        json_array_append_new(rings, json_boolean(s->is_ring[i]));
    }
    put(o, "dims", dims);
    put(o, "rings", rings);
    put(o, "twisted", json_boolean(s->is_twisted));
    return o;
}

static json_t *make_bound(const struct report_view *v)
{
    json_t *o = json_object(), *use = json_object();
    struct bound b;

    bound_find(v, &b);
    put(o, "by", json_string(bound_name(b.by)));
    put(o, "why", json_string(b.sentence));
    for (int r = 0; r < BOUND_RESOURCE_COUNT; r++)
        put(use, bound_name((enum bound_resource)r), number(b.use[r]));
    put(o, "use", use);
    return o;
}

static json_t *make_breakdown(const struct breakdown *b)
{
    json_t *o = json_object();

    for (int p = 0; p < BREAKDOWN_PART_COUNT; p++)
        put(o, breakdown_text((enum breakdown_part)p)->key, json_integer(b->part[p]));
    return o;
}

static json_t *make_launch_breakdown(const struct report_view *v)
{
    struct breakdown b;

    breakdown_of_launch(v, &b);
    return make_breakdown(&b);
}

static json_t *make_energy(const struct report_view *v)
{
    const struct energy_costs *c = v->energy_costs;
    json_t *o = json_object();
    int64_t fj = energy_total_fj(v->energy);

    put(o, "total_uj", number((double)fj * 1e-9));
    put(o, "average_w", number(energy_average_w(v, fj)));
    put(o, "node_nm", number(c->node_nm));
    put(o, "is_node_assumed", json_boolean(c->is_node_assumed));
    put(o, "tdp_w", c->tdp_w > 0.0 ? number(c->tdp_w) : json_null());
    return o;
}

static json_t *make_communication(const struct report_view *v)
{
    struct communication c;
    json_t *o = json_object();
    struct arena a;

    arena_init(&a);
    communication_of_launch(v, &a, &c);
    put(o, "core", json_integer(v->ops_core));
    put(o, "collectives", json_integer(c.count));
    put(o, "total_cycles", json_integer(c.total));
    put(o, "hidden_cycles", json_integer(c.hidden));
    put(o, "exposed_cycles", json_integer(c.exposed));
    put(o, "exposed_pct", number(view_percent((double)c.exposed, (double)c.total)));
    arena_fini(&a);
    return o;
}

static void put_machine(json_t *root, const struct report_view *v)
{
    static const char *const modes[] = {"both", "timing", "functional"};
    json_t *cores = json_array(), *hbm = json_array(), *links = json_array();
    bool is_timed = v && v->mode != MODE_FUNCTIONAL;

    put(root, "title", v ? json_string(v->title) : json_null());
    put(root, "mode", v ? json_string(modes[v->mode]) : json_null());
    for (int i = 0; v && i < v->core_count; i++)
        json_array_append_new(cores, make_core(v->core[i], i, is_timed));
    for (int i = 0; is_timed && i < v->chip_count; i++)
        json_array_append_new(hbm, make_hbm(v->hbm[i], i));
    for (int i = 0; is_timed && i < v->link_count; i++)
        json_array_append_new(links, make_link(v->link[i]));
    put(root, "chip", v ? make_chip(v->chip) : json_null());
    put(root, "slice", v ? make_slice(v->slice) : json_null());
    put(root, "bound", is_timed ? make_bound(v) : json_null());
    put(root, "breakdown", is_timed ? make_launch_breakdown(v) : json_null());
    put(root, "energy", v && v->energy ? make_energy(v) : json_null());
    put(root, "model_flops_per_core", json_integer(v ? v->model_flops : 0));
    put(root, "communication", is_timed ? make_communication(v) : json_null());
    put(root, "parameter_bytes", json_integer(v ? v->parameter_bytes : 0));
    put(root, "input_bytes", json_integer(v ? v->input_bytes : 0));
    put(root, "cores", cores);
    put(root, "hbm", hbm);
    put(root, "links", links);
}

static json_t *make_tables(const struct table *t)
{
    json_t *tables = json_object();

    for (int i = 0; i < TABLE_COUNT; i++)
        put(tables, table_info((enum table_id)i)->name, table_make_json(&t[i]));
    return tables;
}

int json_print_stats(const struct report_run *r, const struct report_view *v,
                     const struct table *t, FILE *to)
{
    const struct report_epoch *last = r->epoch_count ? &r->epoch[r->epoch_count - 1] : NULL;
    bool is_timed = v && v->mode != MODE_FUNCTIONAL;
    json_t *root = json_object();
    int status;

    put(root, "format", json_string(STATS_FORMAT));
    put(root, "version", json_integer(STATS_VERSION));
    put(root, "test_accuracy", last ? number(last->test_accuracy) : json_null());
    put(root, "step_cycles", json_integer(is_timed ? v->cycles : 0));
    put(root, "step_us", number(is_timed ? view_seconds(v) * 1e6 : 0.0));
    put(root, "device_us", number(is_timed ? view_device_us(v) : 0.0));
    put(root, "host_us", number(is_timed ? view_host_us(v) : 0.0));
    put(root, "host_seconds", number(r->host_seconds));
    put(root, "host", make_host(r));
    put(root, "epochs", make_epochs(r));
    put_machine(root, v);
    put(root, "tables", make_tables(t));
    status = json_dumpf(root, to, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(root);
    fputc('\n', to);
    return status;
}
