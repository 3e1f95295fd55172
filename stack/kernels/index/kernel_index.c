/*
 * Kernels of kind "index": dynamic slice, dynamic update slice, gather, scatter.
 * Here the node is read and the way chosen.
 */
#include "stack/kernels/index/kernel_index.h"

#include "base/units.h"
#include "stack/hlo/graph_shape.h"

#include <string.h>

#define SPILL_TILES 32
#define TILE_ROWS (ARRAY_TILE_BYTES / ARRAY_ROW_BYTES)
#define COPY_CYCLES 6                   /* the scalar side's of one that is asked for */

static const struct graph_node *only_node(const struct graph *body)
{
    const struct graph_node *found = NULL;

    for (int i = 0; i < body->node_count; i++) {
        if (graph_op_kind(body->node[i].op) == KIND_INDEX) {
            if (found)
                return NULL;
            found = &body->node[i];
        }
    }
    return found;
}

/* the number that every element of a node is, if it is a constant of one value */
static bool is_splat(const struct graph *body, int node, double *value)
{
    const struct graph_node *n = &body->node[node];

    if (n->op == HLO_BROADCAST)
        n = &body->node[n->operand[0]];
    *value = n->value;
    return n->op == HLO_CONSTANT && !n->literal;
}

static bool is_scatter(enum graph_op op)
{
    return op == HLO_SCATTER || op == HLO_DYNAMIC_UPDATE_SLICE;
}

static int index_check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    const struct graph_node *n = only_node(body);
    double value;

    (void)chip;
    if (!n)
        return err_set(e, "more than one gather, scatter or dynamic slice in a fusion");
    if (body->output_count != 1 || &body->node[body->output[0].node] != n)
        return err_set(e, "%s: something comes after it in its fusion", n->name);
    for (int i = 0; i < n->operand_count; i++) {
        bool is_start = i == 0 && n->op == HLO_SCATTER && is_splat(body, n->operand[0], &value);

        if (body->node[n->operand[i]].op != HLO_PARAMETER && !is_start)
            return err_set(e, "%s: operand %d is computed in its fusion", n->name, i);
    }
    if (n->op == HLO_SCATTER && n->shape.dtype == DTYPE_PRED &&
        (n->reduce_kind == REDUCE_ADD || n->reduce_kind == REDUCE_MUL))
        return err_set(e, "%s: sums and products of pred", n->name);
    return 0;
}

static const struct array *operand_array(const struct index_work *w, int k)
{
    const struct graph_node *n = &w->job->body->node[w->node->operand[k]];

    return n->op == HLO_PARAMETER ? w->job->operand[n->parameter_index] : NULL;
}

static void read_slice(struct index_work *w)
{
    int first = w->is_scatter ? 2 : 1, rank = w->result->shape.rank;

    w->is_clamped = true;
    w->components = w->rows->shape.rank;
    w->vector_dim = -1;
    w->trips = w->node->trips;
    rank = w->components;
    for (int d = 0; d < rank; d++) {
        int64_t size = (w->is_scatter ? w->result : w->table)->shape.dim[d];

        w->start[d] = operand_array(w, first + d);
        w->axis[d] = (struct index_axis){.component = d, .rows_dim = d,
                                         .last = size - w->rows->shape.dim[d]};
        if (!w->axis[d].last)
            w->axis[d].component = -1;
    }
}

/* the k-th dimension of rows that is no offset, for the k-th of indices that is no vector */
static void read_batch_dims(struct index_work *w, const struct graph_gather *g)
{
    int to = 0;

    w->vector_dim = g->index_vector_dim < w->indices->shape.rank ? g->index_vector_dim : -1;
    for (int d = 0; d < w->indices->shape.rank; d++) {
        w->rows_dim_of[d] = -1;
        if (d == w->vector_dim)
            continue;
        while (graph_dims_have(g->offset_dims, g->offset_count, to))
            to++;
        w->rows_dim_of[d] = to++;
    }
}

static void read_gather(struct index_work *w)
{
    const struct graph_gather *g = w->node->gather;
    const struct array *table = w->is_scatter ? w->result : w->table;
    int offset = 0;

    w->indices = operand_array(w, 1);
    w->components = g->map_count;
    w->is_clamped = !w->is_scatter;
    read_batch_dims(w, g);
    for (int d = 0; d < table->shape.rank; d++) {
        struct index_axis *x = &w->axis[d];
        int64_t size = 1;

        *x = (struct index_axis){.component = -1, .rows_dim = -1};
        for (int k = 0; k < g->map_count; k++)
            if (g->start_index_map[k] == d)
                x->component = k;
        for (int k = 0; k < g->batching_count; k++)
            if (g->operand_batching[k] == d) {
                x->rows_dim = w->rows_dim_of[g->indices_batching[k]];
                x->is_batch = true;
            }
        if (!graph_dims_have(g->collapsed_dims, g->collapsed_count, d) && x->rows_dim < 0) {
            x->rows_dim = g->offset_dims[offset++];
            size = w->rows->shape.dim[x->rows_dim];
        }
        x->last = table->shape.dim[d] - size;
        if (w->is_clamped && !x->last)
            x->component = -1;
    }
}

/* one row of the table, all of its lanes, is one row of `rows` */
static bool whole_rows(const struct index_work *w)
{
    const struct array *t = w->is_scatter ? w->result : w->table;
    const struct index_axis *lanes;

    if (t->is_linear || w->rows->is_linear)
        return false;
    lanes = &w->axis[t->lane_dim];
    return lanes->component < 0 && !lanes->is_batch &&
           lanes->rows_dim == w->rows->lane_dim && w->rows->lanes == t->lanes;
}

int index_read(struct index_work *w, const struct kernel_job *job, struct err *e)
{
    bool is_slice;

    memset(w, 0, sizeof(*w));
    w->job = job;
    w->node = only_node(job->body);
    w->is_scatter = is_scatter(w->node->op);
    is_slice = w->node->op == HLO_DYNAMIC_SLICE || w->node->op == HLO_DYNAMIC_UPDATE_SLICE;
    w->table = operand_array(w, 0);
    if (!w->table)
        is_splat(job->body, w->node->operand[0], &w->splat);
    w->result = job->result[0];
    w->rows = w->is_scatter ? operand_array(w, is_slice ? 1 : 2) : w->result;
    w->combine = is_slice ? REDUCE_REPLACE : w->node->reduce_kind;
    if (w->is_scatter && w->table && memcmp(w->table->order, w->result->order,
                                            sizeof(w->table->order)) != 0)
        return err_set(e, "%s: operand and result have different layouts", w->node->name);
    if (is_slice)
        read_slice(w);
    else
        read_gather(w);
    w->has_whole_rows = whole_rows(w);
    w->pack = 4 / w->result->element_bytes;
    w->pack_log2 = w->pack == 4 ? 2 : w->pack - 1;
    w->element_bits = 32 / w->pack;
    return 0;
}

enum isa_opcode index_copy_code(enum array_space from, enum array_space to)
{
    static const enum isa_opcode code[2][2] = {
        [SPACE_HBM] = {[SPACE_HBM] = OP_DMA_HBM_HBM, [SPACE_VMEM] = OP_DMA_HBM_VMEM},
        [SPACE_VMEM] = {[SPACE_HBM] = OP_DMA_VMEM_HBM, [SPACE_VMEM] = OP_DMA_VMEM_VMEM}};

    return code[from][to];
}

static int index_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    bool is_enough = job->vmem_rows > SPILL_TILES * TILE_ROWS;

    if (max > 0 && is_enough)
        list[0] = (struct tiling){.count = 0};
    return max > 0 && is_enough;
}

/* a dynamic update whose operand lies where its result does moves what it changes */
static bool is_in_place(const struct index_work *w)
{
    return !w->indices && w->table && w->table->space == w->result->space &&
           w->table->address == w->result->address;
}

static int64_t compute_cycles(struct index_work *w)
{
    int64_t rows = shape_elems(&w->rows->shape);

    if (index_is_direct(w))
        return index_direct_cycles(w);
    if (index_is_whole(w))
        return index_whole_cycles(w);
    if (index_shifts(w))
        return index_shift_cycles(w);
    return w->is_scatter ? index_scatter_cycles(w)
                         : COPY_CYCLES * (w->has_whole_rows ? rows / w->rows->lanes : rows);
}

/*
 * A gather's rows: a copy each, which takes the scalar side some cycles per run; elements likewise,
 * a granule each. A scatter brings in the result, changes it and brings it back, one after the
 * other.
 */
static int index_cost(const struct kernel_job *job, const struct tiling *t,
                      struct kernel_cost *out)
{
    struct index_work w;
    struct err e;
    int64_t bytes_per_us;

    (void)t;
    *out = (struct kernel_cost){0};
    if (index_read(&w, job, &e))
        return -1;
    bytes_per_us = (int64_t)(job->chip->dma_core_gbps * 1000);
    out->hbm_bytes = index_is_direct(&w) ? 0 : 2 * w.rows->bytes;
    if (w.is_scatter && !is_in_place(&w) && !index_by_windows(&w))
        out->hbm_bytes += 2 * w.result->bytes;
    out->compute_cycles = compute_cycles(&w);
    out->copy_cycles = out->hbm_bytes * job->chip->chip_clock_mhz / bytes_per_us;
    if (!index_is_direct(&w))
        out->fixed_cycles = 3 * job->chip->dma_read_ns * job->chip->chip_clock_mhz / 1000;
    out->total_cycles = out->fixed_cycles;
    if (w.is_scatter || out->compute_cycles > out->copy_cycles)
        out->total_cycles += out->compute_cycles;
    if (w.is_scatter || out->copy_cycles >= out->compute_cycles)
        out->total_cycles += out->copy_cycles;
    out->vmem_rows = job->vmem_rows;
    out->steps = 1;
    return 0;
}

static int make_code(struct index_work *w, struct err *e)
{
    if (index_is_direct(w))
        return index_direct(w, e);
    if (index_whole_tiles(w))
        return 0;
    if (index_shifts(w))
        return index_shift(w, e);
    if (w->is_scatter)
        return index_scatter(w, e);
    return w->has_whole_rows ? index_gather_rows(w, e) : index_gather_elements(w, e);
}

static int index_emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                      struct segment *out, struct err *e)
{
    struct index_work w;
    int64_t spill_row = job->vmem_row + job->vmem_rows - SPILL_TILES * TILE_ROWS;
    int status;

    *out = (struct segment){.tiling = *t};
    if (index_read(&w, job, e))
        return -1;
    vcode_init(&w.code, a);
    w.code.note = job->name;
    builder_init(&w.m, &w.code, job->chip);
    w.vmem_next = job->vmem_row;
    w.smem_next = job->smem;
    w.flag_index = job->first_flag;
    status = make_code(&w, e);
    if (!status && w.m.is_exhausted)
        status = err_set(e, "%s: its code takes more scalar registers than there are", w.node->name);
    if (!status)
        status = kernel_finish(job, &w.code, spill_row, SPILL_TILES, a, out, e);
    vcode_fini(&w.code);
    return status ? status : index_cost(job, t, &out->cost);
}

const struct kernel_kind kernel_index = {
    .name = "index", .category = "custom fusion", .check_supported = index_check_supported,
    .tilings = index_tilings, .cost = index_cost, .emit = index_emit, .is_for_one_core = true,
};
