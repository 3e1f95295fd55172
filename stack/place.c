/*
 * Placement: a VMEM address for every buffer, by lifetime in kernel numbers.
 *
 * At first all inputs are loaded before the first kernel and all outputs stay
 * to the end, so that every copy has the most time. If that does not fit, the
 * lean plan keeps an input from the kernel before its first use and an output
 * until the kernel after it was made.
 */
#include "base/text.h"
#include "base/units.h"
#include "stack/plan.h"
#include "stack/precision.h"

#include <stdlib.h>
#include <string.h>

/* VMEM kept free for spilled registers */
#define SPILL_ROWS (64 * TILE_ROWS)

static int add_buffer(struct plan *p, const char *name, int64_t tile_count)
{
    struct buffer *b;

    p->buffer = mem_grow(p->buffer, &p->buffer_capacity, (size_t)p->buffer_count + 1,
                         sizeof(*p->buffer));
    b = &p->buffer[p->buffer_count];
    memset(b, 0, sizeof(*b));
    b->name = name;
    b->tile_count = tile_count;
    b->first_kernel = INT32_MAX;
    b->last_kernel = -2;
    b->parent = -1;
    b->input_parameter = -1;
    return p->buffer_count++;
}

static void touch(struct plan *p, int buffer, int kernel)
{
    for (; buffer >= 0; buffer = p->buffer[buffer].parent) {
        struct buffer *b = &p->buffer[buffer];

        b->first_kernel = kernel < b->first_kernel ? kernel : b->first_kernel;
        b->last_kernel = kernel > b->last_kernel ? kernel : b->last_kernel;
    }
}

static int64_t value_tiles(const struct value *v)
{
    return v->tile_rows * v->tile_columns;
}

static int last_use(const struct plan *p, int node);

static int last_use_through(const struct plan *p, int user, int node)
{
    const struct graph_node *n = &p->graph->node[user];

    for (int k = 0; k < n->operand_count; k++)
        if (n->operand[k] == node)
            return p->value[user].is_inline ? last_use(p, user) : p->value[user].kernel;
    return -1;
}

/* the last kernel that reads `node`, through inline values */
static int last_use(const struct plan *p, int node)
{
    int last = -1;

    for (int user = node + 1; user < p->graph->node_count; user++) {
        int kernel = last_use_through(p, user, node);

        last = kernel > last ? kernel : last;
    }
    return last;
}

int plan_first_reader(const struct plan *p, int parameter_node)
{
    int first = p->kernel_count;

    for (int i = parameter_node + 1; i < p->graph->node_count; i++) {
        const struct graph_node *n = &p->graph->node[i];

        for (int k = 0; k < n->operand_count; k++) {
            int reader = n->operand[k] != parameter_node ? p->kernel_count
                         : p->value[i].is_inline         ? plan_first_reader(p, i)
                                                         : p->value[i].kernel;

            first = reader >= 0 && reader < first ? reader : first;
        }
    }
    return first;
}

int plan_output_leaves(const struct plan *p, int output)
{
    const struct graph_output *o = &p->graph->output[output];
    int kernel = p->value[o->node].kernel, parameter, reader;

    if (o->alias_parameter < 0)
        return kernel;
    parameter = p->graph->parameter[o->alias_parameter];
    reader = p->value[parameter].is_stored ? plan_first_reader(p, parameter) : kernel;
    return reader > kernel ? reader : kernel;
}

/*
 * An updated variable may overwrite its parameter tile by tile when the kernel
 * that makes it is the parameter's last reader and touches tiles one to one.
 */
static bool may_overwrite(const struct plan *p, const struct graph_output *o)
{
    int parameter = p->graph->parameter[o->alias_parameter];
    const struct value *from = &p->value[parameter], *to = &p->value[o->node];

    return to->kernel >= 0 && p->kernel[to->kernel].kind == KERNEL_LOOP && !to->is_late &&
           from->is_stored && from->form == to->form && value_tiles(from) == value_tiles(to) &&
           last_use(p, parameter) <= to->kernel &&
           (from->form != FORM_ROW || from->tile_columns == 1);
}

static void add_value_buffers(struct plan *p)
{
    const struct graph *g = p->graph;

    for (int i = 0; i < g->node_count; i++) {
        struct value *v = &p->value[i];

        if (!v->is_stored || v->buffer >= 0 || g->node[i].op == HLO_ALL_REDUCE)
            continue;
        v->buffer = add_buffer(p, g->node[i].name, value_tiles(v));
        if (g->node[i].op == HLO_PARAMETER)
            p->buffer[v->buffer].input_parameter = g->node[i].parameter_index;
    }
    for (int i = 0; i < g->output_count; i++) {
        const struct graph_output *o = &g->output[i];

        if (o->alias_parameter >= 0 && may_overwrite(p, o))
            p->value[o->node].buffer = p->value[g->parameter[o->alias_parameter]].buffer;
    }
}

/* the gradients of one exchange stand side by side in a bucket; results replace them */
static void add_bucket(struct plan *p, int kernel)
{
    struct kernel *k = &p->kernel[kernel];
    int64_t tiles = 0, chunk_tiles;
    int64_t replicas = p->options->replica_count;
    int bucket = add_buffer(p, "all-reduce bucket", 0);

    for (int i = 0; i < k->node_count; i++) {
        int operand = p->graph->node[k->node[i]].operand[0];
        struct buffer *b = &p->buffer[p->value[operand].buffer];

        b->parent = bucket;
        b->parent_tile = tiles;
        tiles += b->tile_count;
        p->value[k->node[i]].buffer = p->value[operand].buffer;
    }
    chunk_tiles = div_up(tiles, replicas);
    p->buffer[bucket].tile_count = chunk_tiles * replicas;
    k->tile_rows = chunk_tiles;
    k->tile_columns = replicas;
    k->scratch_buffer[0] = bucket;
    if (replicas > 1)
        k->scratch_buffer[1] = add_buffer(p, "all-reduce arrivals", chunk_tiles * (replicas - 1));
}

static int split_parts(const struct plan *p, const struct graph_node *dot, int operand)
{
    if (p->graph->node[dot->operand[operand]].shape.dtype == DTYPE_BF16)
        return 0;
    return precision_passes(dot->precision)->part_count - 1;
}

static void add_dot_scratch(struct plan *p, struct kernel *k)
{
    const struct graph_node *n = &p->graph->node[k->node[0]];
    const struct value *lhs = &p->value[n->operand[0]], *rhs = &p->value[n->operand[1]];
    int lhs_parts = split_parts(p, n, 0), rhs_parts = split_parts(p, n, 1);
    int64_t lhs_tiles = value_tiles(lhs);

    if (n->dot.lhs_contract[0] == 0) {
        lhs_tiles = div_up(lhs->columns, TILE_ROWS) * div_up(lhs->rows, TILE_COLUMNS);
        k->scratch_buffer[0] = add_buffer(p, "transposed operand", lhs_tiles);
    }
    if (lhs_parts)
        k->scratch_buffer[1] = add_buffer(p, "lhs remainders", lhs_parts * lhs_tiles);
    if (rhs_parts)
        k->scratch_buffer[2] = add_buffer(p, "rhs remainders", rhs_parts * value_tiles(rhs));
}

/* one tile per running sum: a row of them for reductions over rows, else one */
static void add_loop_scratch(struct plan *p, struct kernel *k)
{
    int64_t tiles = 0;

    for (int i = 0; i < k->node_count; i++) {
        const struct value *v = &p->value[k->node[i]];

        if (v->is_late)
            tiles += v->form == FORM_ROW ? v->tile_columns : 1;
    }
    if (tiles)
        k->scratch_buffer[0] = add_buffer(p, "running sums", tiles);
}

static void add_scratch_buffers(struct plan *p)
{
    for (int i = 0; i < p->kernel_count; i++) {
        struct kernel *k = &p->kernel[i];

        if (k->kind == KERNEL_ALL_REDUCE)
            add_bucket(p, i);
        else if (k->kind == KERNEL_DOT)
            add_dot_scratch(p, k);
        else if (k->kind == KERNEL_LOOP)
            add_loop_scratch(p, k);
    }
}

static void find_lifetimes(struct plan *p)
{
    const struct graph *g = p->graph;

    for (int i = 0; i < p->buffer_count; i++) {
        p->buffer[i].first_kernel = INT32_MAX;
        p->buffer[i].last_kernel = -2;
    }
    for (int i = 0; i < g->node_count; i++) {
        const struct value *v = &p->value[i];

        if (v->buffer < 0)
            continue;
        touch(p, v->buffer, v->kernel >= 0 ? v->kernel : plan_first_reader(p, i));
        if (last_use(p, i) >= 0)
            touch(p, v->buffer, last_use(p, i));
    }
    for (int i = 0; i < p->kernel_count; i++)
        for (size_t s = 0; s < COUNT_OF(p->kernel[i].scratch_buffer); s++)
            touch(p, p->kernel[i].scratch_buffer[s], i);
    for (int i = 0; i < g->output_count; i++) {
        const struct value *v = &p->value[g->output[i].node];

        touch(p, v->buffer, p->is_lean ? plan_output_leaves(p, i) + 1 : p->kernel_count);
    }
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffer[i].input_parameter >= 0)
            touch(p, i, p->is_lean ? p->buffer[i].first_kernel - p->fetch_ahead : -1);
}

static bool lifetimes_meet(const struct buffer *a, const struct buffer *b)
{
    return a->first_kernel <= b->last_kernel && b->first_kernel <= a->last_kernel;
}

struct by_size {
    int buffer;
    int64_t tile_count;
};

static int compare_size(const void *a, const void *b)
{
    const struct by_size *x = a, *y = b;

    if (x->tile_count != y->tile_count)
        return x->tile_count < y->tile_count ? 1 : -1;
    return x->buffer - y->buffer;
}

/* the lowest row from `row` on at which `b` meets nothing placed before it */
static int64_t first_fit(const struct plan *p, const struct by_size *order, int placed,
                         const struct buffer *b)
{
    int64_t row = 0, end;
    bool moved = true;

    while (moved) {
        moved = false;
        end = row + b->tile_count * TILE_ROWS;
        for (int i = 0; i < placed; i++) {
            const struct buffer *other = &p->buffer[order[i].buffer];
            int64_t other_end = other->row + other->tile_count * TILE_ROWS;

            if (lifetimes_meet(b, other) && row < other_end && other->row < end) {
                row = other_end;
                end = row + b->tile_count * TILE_ROWS;
                moved = true;
            }
        }
    }
    return row;
}

/* rows used in all */
static int64_t place_buffers(struct plan *p)
{
    struct by_size *order =
        arena_array(p->arena, (size_t)p->buffer_count + 1, sizeof(*order));
    int count = 0;
    int64_t peak = 0;

    find_lifetimes(p);
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffer[i].parent < 0 && p->buffer[i].last_kernel >= p->buffer[i].first_kernel)
            order[count++] = (struct by_size){i, p->buffer[i].tile_count};
    qsort(order, (size_t)count, sizeof(*order), compare_size);
    for (int i = 0; i < count; i++) {
        struct buffer *b = &p->buffer[order[i].buffer];
        int64_t end;

        b->row = first_fit(p, order, i, b);
        end = b->row + b->tile_count * TILE_ROWS;
        peak = end > peak ? end : peak;
    }
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffer[i].parent >= 0)
            p->buffer[i].row =
                plan_tile_row(p, p->buffer[i].parent, p->buffer[i].parent_tile);
    return peak;
}

int pass_place(struct plan *p, struct err *e)
{
    int64_t rows = p->options->chip->vmem_bytes / VMEM_ROW_BYTES;
    char asked[32], there[32];

    add_value_buffers(p);
    add_scratch_buffers(p);
    p->is_lean = false;
    p->vmem_peak_rows = place_buffers(p);
    for (int ahead = 1; ahead >= 0 && p->vmem_peak_rows + SPILL_ROWS > rows; ahead--) {
        p->is_lean = true;
        p->fetch_ahead = ahead;
        p->vmem_peak_rows = place_buffers(p);
    }
    if (p->vmem_peak_rows + SPILL_ROWS > rows)
        return err_set(e,
                       "out of simulated VMEM: %s needs %s per core, %s has %s "
                       "(a smaller batch or layer, or --set vmem.bytes=...)",
                       p->graph->name,
                       text_bytes((p->vmem_peak_rows + SPILL_ROWS) * VMEM_ROW_BYTES, asked,
                                  sizeof(asked)),
                       p->options->chip->chip_name,
                       text_bytes(p->options->chip->vmem_bytes, there, sizeof(there)));
    return 0;
}

static const struct compiled_buffer *find_shared(const struct compiled *share,
                                                 const char *name, const struct shape *shape)
{
    for (int i = 0; share && i < share->parameter_count; i++)
        if (strcmp(share->parameter[i].name, name) == 0 &&
            shape_equal(&share->parameter[i].shape, shape))
            return &share->parameter[i];
    return NULL;
}

static void add_hbm_buffer(struct compiled_buffer *b, const char *name,
                           const struct shape *shape, int64_t *next)
{
    b->name = name;
    b->shape = *shape;
    b->layout = layout_of(shape);
    b->hbm_address = *next;
    *next += b->layout.bytes;
}

int place_hbm(const struct plan *p, struct compiled *out, struct err *e)
{
    const struct graph *g = p->graph;
    const struct chip *chip = p->options->chip;
    const struct compiled *share = p->options->share;
    int64_t have = (int64_t)(chip->hbm_gib * (double)GIB) / chip->chip_cores;
    int64_t next = share ? share->hbm_bytes : 0;
    char asked[32], there[32];

    out->parameter_count = g->parameter_count;
    out->output_count = g->output_count;
    out->parameter = arena_array(p->arena, (size_t)g->parameter_count + 1,
                                 sizeof(*out->parameter));
    out->output = arena_array(p->arena, (size_t)g->output_count + 1, sizeof(*out->output));
    for (int i = 0; i < g->parameter_count; i++) {
        const struct graph_node *n = &g->node[g->parameter[i]];
        const struct compiled_buffer *shared = find_shared(share, n->name, &n->shape);

        if (shared)
            out->parameter[i] = *shared;
        else
            add_hbm_buffer(&out->parameter[i], n->name, &n->shape, &next);
    }
    for (int i = 0; i < g->output_count; i++) {
        const struct graph_output *o = &g->output[i];

        if (o->alias_parameter >= 0)
            out->output[i] = out->parameter[o->alias_parameter];
        else
            add_hbm_buffer(&out->output[i], o->name, &g->node[o->node].shape, &next);
    }
    out->hbm_bytes = next;
    if (next > have)
        return err_set(e, "out of simulated HBM: %s needs %s per core, %s has %s", g->name,
                       text_bytes(next, asked, sizeof(asked)), chip->chip_name,
                       text_bytes(have, there, sizeof(there)));
    return 0;
}
