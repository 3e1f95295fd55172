/*
 * Sums per feature, over all pixels and images: a batch norm's statistics and the sums of its
 * gradient. The epilogue adds each group of rows to a tile for each 128 features (conv_epilogue.c);
 * here the tiles begin at zero, and behind the last step their rows are added, and results are
 * computed of the sums.
 */
#include <string.h>

#include "stack/backend/emitters.h"
#include "stack/kernels/conv/conv_emit.h"
#include "stack/kernels/loop/fused.h"

#define TILE_ROWS 8
#define REGION_TOTALS 1
#define REGION_WINDOW 2                 /* and up, by window */
#define SPILL_TILES 16

/* scalar registers: the loop's counter, pointers to totals and, by window, vectors */
enum { S_COUNTER, S_TOTALS, S_VECTOR };

struct finish {
    struct conv_gen *g;
    struct vcode code;
    struct fused fused;
};

int conv_load_vector(struct vcode *c, int pointer, int region, bool is_scalar)
{
    int v = emit_vld(c, isa_rows_apart(R(pointer), 0, 0), region);

    return is_scalar ? emit_vbcast_lane(c, 0, v, 0) : v;
}

static int append(struct conv_gen *g, struct vcode *code, struct err *e)
{
    struct isa_program program;

    if (vcode_compile_segment(code, g->chip, g->p->spill_row, SPILL_TILES, g->a, &program,
                              &g->stats, e))
        return -1;
    bundler_append(&g->b, &program);
    return 0;
}

int conv_clear_totals(struct conv_gen *g, struct err *e)
{
    struct vcode code;
    int failed;

    if (g->p->total_count == 0)
        return 0;
    vcode_init(&code, g->a);
    emit_smov(&code, S_TOTALS, I(g->p->totals_row));
    vcode_loop_begin(&code, S_COUNTER, g->p->total_count * conv_total_tiles(g->p));
    emit_vst(&code, isa_rows_at(R(S_TOTALS), 0), emit_vmov(&code, I(0)), REGION_TOTALS);
    vcode_loop_step(&code, S_TOTALS, TILE_ROWS);
    vcode_loop_end(&code, S_COUNTER);
    failed = append(g, &code, e);
    vcode_fini(&code);
    return failed;
}

/* the number of a total; -1: the node is none */
static int total_of(const struct conv_body *b, int node)
{
    for (int i = 0; i < b->total_count; i++)
        if (b->total[i] == node)
            return i;
    return -1;
}

/* all rows of the tile, in each of them */
static int sum_rows(struct finish *x, int total)
{
    int64_t offset = total * conv_total_tiles(x->g->p) * TILE_ROWS;
    int v = emit_vld(&x->code, isa_rows_at(R(S_TOTALS), offset), REGION_TOTALS);

    for (int by = TILE_ROWS / 2; by > 0; by /= 2)
        v = emit_vadd_f32(&x->code, R(v), R(emit_vrot_slane(&x->code, v, I(by))));
    return v;
}

static int leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    struct finish *x = user;
    const struct conv_body *b = x->g->body;
    const struct graph_node *n = &b->graph->node[node];
    int total = total_of(b, node);

    memset(out, 0, sizeof(*out));
    if (total >= 0) {
        out->part[0] = R(sum_rows(x, total));
        return 0;
    }
    if (n->op == HLO_BROADCAST) {
        if (fused_emit(f, n->operand[0], e))
            return -1;
        *out = f->value[n->operand[0]];
        return 0;
    }
    if (n->op == HLO_CONSTANT && !n->literal) {
        out->part[0] = fused_constant(n->shape.dtype, n->value);
        return 0;
    }
    for (int i = 0; i < b->extra_count; i++)
        if (b->extra[i].node == node) {
            int window = WINDOW_EXTRA + i;

            out->part[0] = R(conv_load_vector(&x->code, S_VECTOR + window, REGION_WINDOW + window,
                                              b->extra[i].kind == EXTRA_SCALAR));
            return 0;
        }
    return err_set(e, "%s: %s behind sums per feature", n->name, graph_op_name(n->op));
}

/* windows of vectors, operands and results, stay where they are */
static bool is_vector(const struct finish *x, int window)
{
    const struct conv_plan *p = x->g->p;

    if (!p->is_used[window] || window < WINDOW_OUT || window >= WINDOW_MAKER)
        return false;
    return window < WINDOW_EXTRA ? p->is_of_features[window - WINDOW_OUT]
                                 : x->g->body->extra[window - WINDOW_EXTRA].kind != EXTRA_FULL;
}

static bool moves(const struct finish *x, int window)
{
    return window < WINDOW_EXTRA ||
           x->g->body->extra[window - WINDOW_EXTRA].kind == EXTRA_FEATURES;
}

static int store_results(struct finish *x, struct err *e)
{
    const struct conv_plan *p = x->g->p;

    fused_restart(&x->fused);
    for (int i = 0; i < p->out_count; i++) {
        int node = x->g->body->graph->output[i].node, window = WINDOW_OUT + i, v;

        if (!p->is_of_features[i])
            continue;
        if (fused_emit(&x->fused, node, e))
            return -1;
        v = vcode_in_register(&x->code, x->fused.value[node].part[0]);
        emit_vst(&x->code, isa_rows_some(R(S_VECTOR + window), 0, 1), v, REGION_WINDOW + window);
    }
    return 0;
}

int conv_finish_totals(struct conv_gen *g, struct err *e)
{
    struct finish *x;
    int64_t tiles = (g->p->shape.out_features + ARRAY_LANES - 1) / ARRAY_LANES;
    int failed;

    if (g->p->total_count == 0)
        return 0;
    x = arena_alloc(g->a, sizeof(*x));
    x->g = g;
    vcode_init(&x->code, g->a);
    fused_init(&x->fused, &x->code, g->chip, g->body->graph, 1, g->a);
    x->fused.leaf = leaf;
    x->fused.user = x;
    emit_smov(&x->code, S_TOTALS, I(g->p->totals_row));
    for (int i = 0; i < WINDOW_COUNT; i++)
        if (is_vector(x, i))
            emit_smov(&x->code, S_VECTOR + i, I(g->p->vector_row[i]));
    vcode_loop_begin(&x->code, S_COUNTER, tiles);
    failed = store_results(x, e);
    vcode_loop_step(&x->code, S_TOTALS, TILE_ROWS);
    for (int i = 0; i < WINDOW_COUNT; i++)
        if (is_vector(x, i) && moves(x, i))
            vcode_loop_step(&x->code, S_VECTOR + i, 1);
    vcode_loop_end(&x->code, S_COUNTER);
    failed = failed || append(g, &x->code, e);
    vcode_fini(&x->code);
    return failed;
}
