/*
 * Translates what a fusion computes of a product's results into operations of a round on virtual
 * registers.
 */
#include "stack/kernels/dot/kernel_dot_epilogue.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"
#include "stack/kernels/loop/fused_impl.h"
#include "stack/backend/emitters.h"

struct writer {
    struct dot_grid *g;
    struct dot_epilogue *x;
    struct vcode code;
    struct fused fused;
    struct arena *a;
    int pointer[DOT_ARRAYS_MAX];        /* of each array of the epilogue */
    int64_t offset[DOT_ARRAYS_MAX];     /* behind it */
    int set, tile;                      /* of a round's rows and of the column, at work */
    bool *is_edge;                      /* by operation, as in dot_epilogue */
};

static const struct array *array_of(const struct writer *w, int extra)
{
    return w->g->p->extra[extra].matrix.array;
}

/* tiles of an array in the rows of a set, which are computed together, */
static int64_t tiles_of_set(const struct writer *w, int extra)
{
    return w->g->p->group_rows / array_of(w, extra)->tile_rows;
}

/* and in a round's */
static int64_t tiles_of_round(const struct writer *w, int extra)
{
    return w->x->sets * tiles_of_set(w, extra);
}

/* a vector along the columns: a row of VMEM for each tile of them */
static struct dot_pointer pointer_to_columns(const struct writer *w, int extra)
{
    const struct dot_grid *g = w->g;
    int64_t tiles = div_up(g->p->n, ARRAY_LANES), most = tiles - g->tiles;

    return (struct dot_pointer){
        .base = pipeline_index(&g->pipeline, g->dim[DIM_N]),
        .row = dot_columns_row(g, extra),
        .column_step = g->batches > 1 ? 0 : g->step.width, .base_scale = g->tiles,
        .base_max = most};
}

static struct dot_pointer pointer_to(const struct writer *w, int extra)
{
    const struct pipeline *f = &w->g->pipeline;
    int window = w->g->window[extra];
    bool by_batches = w->g->share == SHARE_BATCHES;
    int64_t round, batch;

    if (w->g->p->extra[extra].kind == EXTRA_COLUMNS)
        return pointer_to_columns(w, extra);
    round = tiles_of_round(w, extra) * pipeline_stride(f, window, 1);
    batch = dot_batch_stride(w->g, window, &w->g->p->extra[extra].matrix);
    return (struct dot_pointer){
        .base = pipeline_base(f, window), .row = pipeline_row(f, window), .round_step = round,
        .column_step = w->g->batches > 1 ? batch * (by_batches ? w->g->step.units : 1)
                                         : w->g->step.width * pipeline_stride(f, window, 0),
        .unit_step = by_batches ? batch : w->g->step.rounds * round};
}

static int give_pointer(struct writer *w, int extra, struct err *e)
{
    struct dot_pointer p = pointer_to(w, extra);

    for (int i = 0; i < w->x->pointer_count; i++) {
        const struct dot_pointer *q = &w->x->pointer[i];

        if (q->base == p.base && q->round_step == p.round_step
            && q->column_step == p.column_step && q->unit_step == p.unit_step
            && q->base_scale == p.base_scale) {
            w->pointer[extra] = i;
            w->offset[extra] = p.row - q->row;
            return 0;
        }
    }
    if (w->x->pointer_count == DOT_POINTERS_MAX)
        return err_set(e, "the arrays of a product's results lie in more than %d ways",
                       DOT_POINTERS_MAX);
    w->pointer[extra] = w->x->pointer_count;
    w->offset[extra] = 0;
    w->x->pointer[w->x->pointer_count++] = p;
    return 0;
}

/* row of tile `i` of a set, behind its pointer */
static int64_t row_of(const struct writer *w, int extra, int64_t i)
{
    const struct pipeline *f = &w->g->pipeline;
    int window = w->g->window[extra];

    return w->offset[extra] + w->tile * pipeline_stride(f, window, 0)
           + (w->set * tiles_of_set(w, extra) + i) * pipeline_stride(f, window, 1);
}

/* ----- arrays to and from registers */

/* 8 rows of each register in a tile of an array */
static int parts_of_tile(const struct array *a) { return a->tile_rows / 8; }

/*
 * The last operation touches a tile that the array does not have, of the last round's rows. Where
 * rows are cut into blocks, all of a block is there, and the last copy leaves out what is beyond
 * (pipeline.h: short_count).
 */
static void mark_edge(struct writer *w, int extra, int64_t i)
{
    const struct dot_problem *p = w->g->p;
    int64_t last = div_up(p->m, w->g->step.group_rows) - 1;
    int64_t at = last * tiles_of_round(w, extra) + w->set * tiles_of_set(w, extra) + i;
    size_t op = w->code.block[0].op_count - 1;

    if (op < DOT_ROUND_OPS_MAX)
        w->is_edge[op] = w->g->dim[DIM_M] < 0 && at >= p->extra[extra].matrix.row_tiles;
}

static void load_matrix(struct writer *w, int extra, struct fused_value *out)
{
    const struct array *a = array_of(w, extra);
    int base = S_OUT + w->pointer[extra], parts = parts_of_tile(a);

    *out = (struct fused_value){.is_mask = a->shape.dtype == DTYPE_PRED};
    for (int i = 0; i < tiles_of_set(w, extra); i++) {
        int tile = emit_vld(&w->code, isa_rows_at(operand_base(base), row_of(w, extra, i)),
                            VCODE_REGION_ANY);
        struct fused_value some;

        mark_edge(w, extra, i);
        fused_unpack(&w->code, w->g->step.chip, a->shape.dtype, tile, &some);
        for (int part = 0; part < parts; part++)
            out->part[i * parts + part] = some.part[part];
    }
}

static void load_columns(struct writer *w, int extra, struct fused_value *out)
{
    int v = emit_vld(
        &w->code,
        isa_rows_apart(operand_base(S_OUT + w->pointer[extra]), w->offset[extra] + w->tile, 0),
        VCODE_REGION_ANY);

    *out = (struct fused_value){.is_mask = false};
    for (int part = 0; part < FUSED_PARTS_MAX; part++)
        out->part[part] = R(v);
}

/* the sums; of type bf16 they are rounded before anything else is computed of them */
static void take_sums(struct writer *w, struct fused_value *out)
{
    const struct graph_node *n = &w->g->p->body->node[w->g->p->node];
    int parts = w->g->p->group_rows / 8;
    bool is_rounded = n->shape.dtype == DTYPE_BF16 && w->fused.is_read[w->g->p->node];

    *out = (struct fused_value){.is_mask = false};
    for (int part = 0; part < parts; part++)
        out->part[part] = R(w->x->input[w->tile][w->set * parts + part]);
    if (parts == 1 && is_rounded)
        out->part[0] = fused_round_bf16(&w->code, out->part[0]);
    for (int part = 0; part + 1 < parts && is_rounded; part += 2) {
        struct fused_value pair = {.part = {out->part[part], out->part[part + 1]}};
        int tile = fused_pack(&w->code, w->g->step.chip, DTYPE_BF16, &pair);

        fused_unpack(&w->code, w->g->step.chip, DTYPE_BF16, tile, &pair);
        out->part[part] = pair.part[0];
        out->part[part + 1] = pair.part[1];
    }
}

static int find_extra(const struct writer *w, int node)
{
    for (int i = 0; i < w->g->p->extra_count; i++)
        if (w->g->p->extra[i].node == node && !w->g->p->extra[i].is_result)
            return i;
    return -1;
}

static int leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    struct writer *w = user;
    const struct graph_node *n = &f->body->node[node], *from;
    int extra;

    if (node == w->g->p->node) {
        take_sums(w, out);
        return 0;
    }
    from = n->op == HLO_BROADCAST ? &f->body->node[n->operand[0]] : n;
    if (from->op == HLO_CONSTANT && !from->literal) {
        *out = (struct fused_value){.is_mask = from->shape.dtype == DTYPE_PRED};
        for (int part = 0; part < FUSED_PARTS_MAX; part++)
            out->part[part] = fused_constant(from->shape.dtype, from->value);
        return 0;
    }
    extra = find_extra(w, n->op == HLO_BROADCAST ? dot_body_vector(f->body, n) : node);
    if (extra < 0)
        return err_set(e, "%s cannot be computed with a product", n->name);
    if (w->g->p->extra[extra].kind == EXTRA_COLUMNS)
        load_columns(w, extra, out);
    else
        load_matrix(w, extra, out);
    return 0;
}

static int store_result(struct writer *w, int extra, struct err *e)
{
    const struct dot_extra *x = &w->g->p->extra[extra];
    const struct array *a = x->matrix.array;
    int parts = parts_of_tile(a), base = S_OUT + w->pointer[extra];
    const struct fused_value *value = &w->fused.value[x->node];

    if (fused_emit(&w->fused, x->node, e))
        return -1;
    for (int i = 0; i < tiles_of_set(w, extra); i++) {
        struct fused_value some = *value;
        int tile;

        for (int part = 0; part < parts; part++)
            some.part[part] = value->part[i * parts + part];
        tile = parts == 1 && a->element_bytes == 4 && !some.is_mask
                   ? vcode_in_register(&w->code, some.part[0])
                   : fused_pack(&w->code, w->g->step.chip, a->shape.dtype, &some);
        emit_vst(&w->code, isa_rows_at(operand_base(base), row_of(w, extra, i)), tile,
                 VCODE_REGION_ANY);
        mark_edge(w, extra, i);
    }
    return 0;
}

/* ----- the whole */

static int put_tile(struct writer *w, struct err *e)
{
    const struct dot_problem *p = w->g->p;
    int parts = p->group_rows / 8;

    fused_restart(&w->fused);
    w->x->first_op[w->set * w->g->step.width + w->tile] = (int)w->code.block[0].op_count;
    for (int part = 0; part < parts; part++)
        w->x->input[w->tile][w->set * parts + part] = vcode_vreg(&w->code);
    for (int i = 0; i < p->extra_count; i++) {
        if (!p->extra[i].is_result)
            continue;
        if (store_result(w, i, e))
            return -1;
        if (w->code.block[0].op_count >= DOT_ROUND_OPS_MAX)
            return err_set(e, "too much is computed of the results of a product");
    }
    return 0;
}

static int put_all(struct writer *w, struct err *e)
{
    struct dot_epilogue *x = w->x;
    struct vcode_block *b;

    x->sets = w->g->step.group_rows / w->g->p->group_rows;
    for (int i = 0; i < w->g->p->extra_count; i++)
        if (give_pointer(w, i, e))
            return -1;
    for (w->set = 0; w->set < x->sets; w->set++)
        for (w->tile = 0; w->tile < w->g->step.width; w->tile++)
            if (put_tile(w, e))
                return -1;
    b = &w->code.block[0];
    x->op_count = (int)b->op_count;
    x->op = arena_array(w->a, b->op_count + 1, sizeof(*x->op));
    for (size_t i = 0; i < b->op_count; i++)
        x->op[i] = b->op[i].op;
    x->is_edge = w->is_edge;
    x->vreg_count = w->code.vreg_count;
    x->mask_count = w->code.mask_count;
    dot_epilogue_order(x, w->is_edge, w->a);
    return 0;
}

int dot_epilogue_make(struct dot_epilogue *x, struct dot_grid *g, struct arena *a, struct err *e)
{
    struct writer w = {.g = g, .x = x, .a = a};
    int status;

    memset(x, 0, sizeof(*x));
    w.is_edge = arena_array(a, DOT_ROUND_OPS_MAX, sizeof(*w.is_edge));
    vcode_init(&w.code, a);
    fused_init(&w.fused, &w.code, g->step.chip, g->p->body, g->p->group_rows / 8, a);
    w.fused.leaf = leaf;
    w.fused.user = &w;
    status = put_all(&w, e);
    vcode_fini(&w.code);
    return status;
}
