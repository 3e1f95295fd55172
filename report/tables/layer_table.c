/*
 * layers.csv: source operations by the layer whose name stands in their path.
 *
 * Copies into VMEM in front of a layer's operations, in program order, are its
 * prefetch; where they run under another layer's work, only the waiting for
 * them stands there.
 */
#include "report/tables/op_stats.h"

#include "base/units.h"

#include <string.h>

struct layer {
    cycle_t total, prefetch, dma_stall, issue, stall;
    cycle_t matmul_cycles;
    int64_t model_flops, issued_flops, hbm_bytes, ici_bytes, ops;
    bool has_model_flops;
};

/* "dense" is a part of "gradients/dense/MatMul", not of "dense_1/MatMul" */
static bool has_part(const char *path, const char *part)
{
    size_t length = strlen(part);

    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, part, length) == 0 && (at[length] == '/' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* the caller's layers, then one for what belongs to none of them */
static size_t layer_of(const struct report_view *v, const char *name)
{
    for (size_t i = 0; i < v->layer_count; i++)
        if (!v->layer[i].scope || has_part(name, v->layer[i].scope))
            return i;
    return v->layer_count;
}

static bool is_prefetch(const struct op_stat *s)
{
    return s->reads_hbm && strcmp(op_stat_category(s), "copy") == 0;
}

static void add_stat(struct layer *l, const struct op_stat *s)
{
    l->ops += s->bundles > 0 && s->cycles > 0;
    l->issued_flops += s->issued_flops;
    l->matmul_cycles += s->matmul_cycles;
    if (s->source && s->source->product_flops > 0) {
        l->model_flops += s->source->product_flops;
        l->has_model_flops = true;
    }
}

static void add_bundle(struct layer *l, const struct view_bundle *b, bool is_own)
{
    cycle_t cycles = b->count + b->stall_cycles;

    l->hbm_bytes += b->copies.hbm_bytes;
    l->ici_bytes += b->copies.ici_bytes;
    if (!is_own) {
        l->prefetch += cycles;
        return;
    }
    l->total += cycles;
    l->issue += b->count;
    l->stall += b->stall_cycles;
    l->dma_stall += b->copies.stall_cycles;
}

/* backwards, so that the layer behind a copy is known */
static void add_bundles(const struct report_view *v, const struct op_stat *stat,
                        const size_t *layer_of_note, struct layer *layer)
{
    const struct isa_program *p = v->ops_program;
    size_t behind = v->layer_count;

    for (uint32_t i = p->bundle_count; i-- > 0;) {
        const struct op_stat *s = &stat[p->bundle[i].note];
        size_t own = layer_of_note[s->note];

        if (own == v->layer_count && is_prefetch(s)) {
            add_bundle(&layer[behind], &v->bundle[i], behind == v->layer_count);
            continue;
        }
        behind = own;
        add_bundle(&layer[own], &v->bundle[i], true);
    }
}

/* what a layer's last rows take after its last bundle can make more than all: at most 100 */
static double percent(double part, double whole)
{
    double x = view_percent(part, whole);

    return x > 100.0 ? 100.0 : x;
}

static void add_row(const struct report_view *v, const struct layer *l, size_t index,
                    const char *name, struct table *t)
{
    double peak = op_peak_flops_per_cycle(v->chip, l->issued_flops, l->matmul_cycles);
    double model = (double)(l->has_model_flops ? l->model_flops : l->issued_flops);
    cycle_t all = l->total + l->prefetch;

    table_add_row(t);
    table_put_int(t, COL_LAYERS_ID, (int64_t)index);
    table_put_int(t, COL_LAYERS_TOTAL_PREFETCH, all);
    table_put_int(t, COL_LAYERS_TOTAL, l->total);
    table_put_int(t, COL_LAYERS_STALL, l->dma_stall);
    table_put_real(t, COL_LAYERS_OVERALL, percent(model, peak * (double)l->total));
    if (l->issued_flops > 0)
        table_put_real(t, COL_LAYERS_MAPPING, percent(model, (double)l->issued_flops));
    table_put_real(t, COL_LAYERS_COMPUTE,
                   percent(model, peak * (double)(l->total - l->dma_stall)));
    table_put_text(t, COL_LAYERS_NAME, name);
    table_put_int(t, COL_LAYERS_OPS, l->ops);
    table_put_real(t, COL_LAYERS_US, (double)all / (double)v->chip->chip_clock_mhz);
    table_put_int(t, COL_LAYERS_ISSUE, l->issue);
    table_put_int(t, COL_LAYERS_ALL_STALL, l->stall);
    table_put_int(t, COL_LAYERS_MODEL_FLOP, (int64_t)model);
    table_put_int(t, COL_LAYERS_FLOP, l->issued_flops);
    table_put_int(t, COL_LAYERS_HBM_BYTES, l->hbm_bytes);
    table_put_int(t, COL_LAYERS_ICI_BYTES, l->ici_bytes);
}

void op_stats_fill_layers(const struct report_view *v, struct table *layers)
{
    struct op_stat *stat;
    struct layer *layer;
    size_t count, i, *layer_of_note;

    if (v->ops_core < 0 || v->mode == MODE_FUNCTIONAL)
        return;
    stat = op_stats_gather(v, layers->arena, &count);
    layer = arena_array(layers->arena, v->layer_count + 1, sizeof(*layer));
    for (i = 0; i < v->layer_count; i++)
        if (v->layer[i].product_flops > 0) {
            layer[i].has_model_flops = true;
            layer[i].model_flops = v->layer[i].product_flops;
        }
    layer_of_note = arena_array(layers->arena, count, sizeof(*layer_of_note));
    for (i = 0; i < count; i++) {
        layer_of_note[i] = layer_of(v, stat[i].name);
        add_stat(&layer[layer_of_note[i]], &stat[i]);
    }
    add_bundles(v, stat, layer_of_note, layer);
    for (i = 0; i < v->layer_count; i++)
        add_row(v, &layer[i], i, v->layer[i].name, layers);
    if (layer[i].total > 0)
        add_row(v, &layer[i], i, v->layer_count ? "(other)" : v->ops_program->name, layers);
}
