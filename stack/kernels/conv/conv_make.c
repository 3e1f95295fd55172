/*
 * The input of a convolution, or its kernel, which is an image of gradients in a gradient by kernel,
 * made in its own window of what has been copied there and beside it: batch norm, its gradient,
 * relu, whatever is elementwise, once for each box that comes. All tiles of the box are made, and
 * what lies outside of the array becomes zero again; where the input is a result, it is copied from
 * the window, in which the passes read it.
 */
#include <string.h>

#include "base/units.h"
#include "stack/backend/emitters.h"
#include "stack/kernels/conv/conv_emit.h"
#include "stack/kernels/loop/fused.h"
#include "stack/kernels/pipeline/vector_rows.h"

#define TILE_ROWS 8
#define SPILL_TILES 16
#define TILES_MAX 8                     /* of a round, which share what runs along lanes */

/* scalar registers: counters, a pointer for the own window and each operand's, their bases */
enum { S_INNER, S_OUTER, S_OWN, S_MAKER, S_OWN_BASE = 16, S_MAKER_BASE };
/* loads of the own window precede its stores in a round, and no two rounds meet */
enum { REGION_IN = 1, REGION_OUT, REGION_MAKER };

/* ----- the plan */

int conv_check_makers(const struct conv_plan *p, const struct conv_body *b, struct err *e)
{
    const struct array *lhs = p->job->operand[b->lhs];

    for (int i = 0; i < p->maker_count; i++) {
        const struct conv_maker *m = &b->maker[i];
        const struct array *a = p->job->operand[m->operand];
        const struct array *like = p->job->operand[m->role == CONV_LHS ? b->lhs : b->rhs];

        if (m->kind == EXTRA_FULL && (a->tile_rows != like->tile_rows || a->is_linear ||
                                      memcmp(a->order, like->order, sizeof(a->order)) != 0))
            return err_set(e, "%s: what input or kernel is made of must lie alike", a->name);
        if (m->kind == EXTRA_FEATURES && (m->dim != like->lane_dim ||
                                          a->shape.dim[0] != like->shape.dim[like->lane_dim]))
            return err_set(e, "%s: a vector before a convolution runs along lanes", a->name);
    }
    if (p->made_out >= 0 && memcmp(p->job->result[p->made_out]->order, lhs->order,
                                   sizeof(lhs->order)) != 0)
        return err_set(e, "the input as a result must lie as what it is made of");
    return conv_check_made_shape(&p->shape, b, e);
}

int conv_check_made_shape(const struct conv_shape *s, const struct conv_body *b, struct err *e)
{
    for (int i = 0; i < CONV_SPATIAL && b->made_out >= 0; i++) {
        const struct conv_dim *d = &s->dim[i];

        if (d->in != div_up(d->out, d->phases) * d->step || d->lowest > 0)
            return err_set(e, "the input as a result takes a window that moves over all of it");
    }
    return b->maker_count > 0 && s->is_depthwise
               ? err_set(e, "input and kernel of a depthwise convolution are parameters") : 0;
}

static bool moves_along(const struct conv_plan *p, const struct conv_window *w, int grid)
{
    for (int i = 0; i < BOX_DIMS; i++)
        if (w->move[i][grid] && p->count[grid] > 1)
            return true;
    return false;
}

/* The input leaves once and whole: a step's box holds what the window moves by, and comes once. */
int conv_check_made(const struct conv_plan *p, struct err *e)
{
    const struct conv_window *w = &p->window[WINDOW_LHS];
    bool is_repeated = false;

    if (p->made_out < 0)
        return 0;
    for (int i = 0; i < CONV_SPATIAL; i++)
        if (p->q[i] * p->shape.dim[i].step - w->origin[i] > w->box[i] ||
            p->count[GRID_T0 + i] > 1)
            return err_set(e, "the input as a result takes boxes that hold what a step moves by");
    for (int i = 0; i < GRID_DIMS; i++) {
        bool moves = moves_along(p, w, p->order[i]);

        if (moves && is_repeated)
            return err_set(e, "the input as a result takes boxes that come once");
        is_repeated |= !moves && p->count[p->order[i]] > 1;
    }
    return 0;
}

/* ----- code */

struct make {
    struct conv_gen *g;
    enum conv_role role;
    int window, array;                  /* its own; the operand that is copied there */
    struct vcode code;
    struct fused fused;
    int64_t tile, tile_step;            /* of a round: the one in hand; VMEM rows to the next */
};

static bool is_own(const struct make *x, int maker)
{
    return x->g->body->maker[maker].operand == x->array;
}

/* what another array is made of */
static bool is_other(const struct make *x, int maker)
{
    return x->g->body->maker[maker].role != x->role;
}

static int leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    struct make *x = user;
    const struct conv_body *b = x->g->body;
    const struct graph_node *n = &b->graph->node[node];

    memset(out, 0, sizeof(*out));
    if (n->op == HLO_BROADCAST) {
        if (fused_emit(f, n->operand[0], e))
            return -1;
        *out = f->value[n->operand[0]];
        return 0;
    }
    if (n->op == HLO_CONSTANT && !n->literal) {
        for (int part = 0; part < f->parts; part++)
            out->part[part] = fused_constant(n->shape.dtype, n->value);
        return 0;
    }
    for (int i = 0; i < b->maker_count; i++) {
        struct isa_rows rows = isa_rows_at(R(is_own(x, i) ? S_OWN : S_MAKER + i),
                                           x->tile * x->tile_step);
        int region = is_own(x, i) ? REGION_IN : REGION_MAKER + i, v;

        if (b->maker[i].node != node || is_other(x, i))
            continue;
        if (b->maker[i].kind != EXTRA_FULL) {
            v = conv_load_vector(&x->code, S_MAKER + i, region,
                                 b->maker[i].kind == EXTRA_SCALAR);
            for (int part = 0; part < f->parts; part++)
                out->part[part] = R(v);
        } else if (f->parts == 1) {
            out->part[0] = R(emit_vld(&x->code, rows, region));
        } else {
            fused_unpack(&x->code, x->g->chip, n->shape.dtype, emit_vld(&x->code, rows, region),
                         out);
        }
        return 0;
    }
    return err_set(e, "%s: %s before a convolution", n->name, graph_op_name(n->op));
}

/* what has been made of a tile; what runs along lanes stays for the next one */
static void forget_tile(struct make *x)
{
    const struct graph *g = x->g->body->graph;

    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].shape.rank > 1 && g->node[i].op != HLO_BROADCAST)
            x->fused.is_made[i] = false;
}

static int make_tile(struct make *x, struct err *e)
{
    const struct conv_body *b = x->g->body;
    int made = b->made[x->role];
    enum graph_dtype dtype = b->graph->node[made].shape.dtype;
    struct fused_value value;
    int v;

    if (fused_emit(&x->fused, made, e))
        return -1;
    value = x->fused.value[made];
    for (int part = 0; part < x->fused.parts; part++)
        value.part[part] = R(vcode_in_register(&x->code, value.part[part]));
    v = x->fused.parts == 1 ? value.part[0].value
                            : fused_pack(&x->code, x->g->chip, dtype, &value);
    emit_vst(&x->code, isa_rows_at(R(S_OWN), x->tile * x->tile_step), v, REGION_OUT);
    return 0;
}

/* a divisor of the tiles of a column */
static int64_t tiles_of_round(int64_t tiles)
{
    int64_t count = TILES_MAX;

    while (tiles % count)
        count--;
    return count;
}

/* a loop over columns of tiles, or over rounds of the tiles of one; VMEM rows to the next */
struct level { int64_t count, rows, vector; };

/* `below`: the loop inside, which has gone around */
static void step_level(struct make *x, const struct level *l, const struct level *below)
{
    const struct conv_body *b = x->g->body;
    int64_t rows = l->rows - (below ? below->count * below->rows : 0);
    int64_t vector = l->vector - (below ? below->count * below->vector : 0);

    if (rows)
        vcode_loop_step(&x->code, S_OWN, rows);
    for (int i = 0; i < b->maker_count; i++) {
        int64_t step = b->maker[i].kind == EXTRA_FULL       ? rows
                       : b->maker[i].kind == EXTRA_FEATURES ? vector
                                                            : 0;

        if (!is_own(x, i) && !is_other(x, i) && step)
            vcode_loop_step(&x->code, S_MAKER + i, step);
    }
}

static int make_round(struct make *x, int64_t tiles, struct err *e)
{
    fused_restart(&x->fused);
    for (x->tile = 0; x->tile < tiles; x->tile++) {
        forget_tile(x);
        if (make_tile(x, e))
            return -1;
    }
    return 0;
}

/* rounds of several tiles of a column; the longer loop is inside, where rounds overlap */
static int make_box(struct make *x, struct err *e)
{
    const struct conv_window *w = &x->g->p->window[x->window];
    int64_t columns = w->box[BOX_LANES], tiles = w->tiles / columns;
    int64_t round = tiles_of_round(tiles);
    struct level along = {columns, TILE_ROWS, 1}, down = {tiles / round, 0, 0};
    struct level *inner, *outer;

    x->tile_step = columns * TILE_ROWS;
    down.rows = round * x->tile_step;
    inner = down.count >= along.count ? &down : &along;
    outer = inner == &down ? &along : &down;
    vcode_begin_block(&x->code);
    emit_smov(&x->code, S_OWN, R(S_OWN_BASE));
    for (int i = 0; i < x->g->body->maker_count; i++)
        if (!is_own(x, i) && !is_other(x, i))
            emit_smov(&x->code, S_MAKER + i, R(S_MAKER_BASE + i));
    if (outer->count > 1)
        vcode_loop_begin(&x->code, S_OUTER, outer->count);
    vcode_loop_begin(&x->code, S_INNER, inner->count);
    if (make_round(x, round, e))
        return -1;
    step_level(x, inner, NULL);
    vcode_loop_end(&x->code, S_INNER);
    if (outer->count > 1) {
        step_level(x, outer, inner);
        vcode_loop_end(&x->code, S_OUTER);
    }
    return 0;
}

/* the first column of the step's box, of a vector: along the dimensions that its window moves in */
static struct conv_value first_column(struct conv_gen *g, int window)
{
    const struct conv_window *w = &g->p->window[window];
    struct conv_value at = conv_known(w->origin[BOX_LANES]);

    for (int grid = 0; grid < GRID_DIMS; grid++)
        if (w->move[BOX_LANES][grid] && g->p->count[grid] > 1)
            at = conv_add(g, at, conv_mul(g, conv_load_word(g, conv_index_word(g, false, grid)),
                                          conv_known(w->move[BOX_LANES][grid])));
    return at;
}

static void set_bases(struct make *x)
{
    struct conv_gen *g = x->g;
    const struct conv_body *b = g->body;

    conv_begin(g, x->role == CONV_LHS ? "input" : "kernel");
    bundler_add(&g->b, isa_smov(S_OWN_BASE, conv_operand(conv_buffer_row(g, x->window))));
    conv_end(g);
    for (int i = 0; i < b->maker_count; i++) {
        struct conv_value row;

        if (is_own(x, i) || is_other(x, i))
            continue;
        conv_begin(g, NULL);
        row = b->maker[i].kind == EXTRA_FULL ? conv_buffer_row(g, WINDOW_MAKER + i)
                                             : conv_known(g->p->vector_row[WINDOW_MAKER + i]);
        if (b->maker[i].kind == EXTRA_FEATURES)
            row = conv_add(g, row, first_column(g, x->window));
        bundler_add(&g->b, isa_smov(S_MAKER_BASE + i, conv_operand(row)));
        conv_end(g);
    }
}

static void unpack_vectors(struct make *x)
{
    const struct conv_plan *p = x->g->p;

    for (int i = 0; i < p->maker_count; i++) {
        int w = WINDOW_MAKER + i;

        if (p->is_used[w] && !is_other(x, i) && p->vector_row[w] != p->window[w].row)
            vector_rows_unpack(p->window[w].array, p->window[w].row, p->vector_row[w], &x->code);
    }
}

static int make_in_window(struct make *x, struct err *e)
{
    struct conv_gen *g = x->g;
    const struct array *own = g->p->window[x->window].array;
    struct isa_program program;
    int failed;

    set_bases(x);
    vcode_init(&x->code, g->a);
    fused_init(&x->fused, &x->code, g->chip, g->body->graph, own->tile_rows / TILE_ROWS, g->a);
    x->fused.leaf = leaf;
    x->fused.user = x;
    unpack_vectors(x);
    failed = make_box(x, e) ||
             vcode_compile_segment(&x->code, g->chip, g->p->spill_row, SPILL_TILES, g->a, &program,
                                   &g->stats, e);
    vcode_fini(&x->code);
    if (failed)
        return -1;
    bundler_append(&g->b, &program);
    return 0;
}

int conv_make(struct conv_gen *g, enum conv_role role, struct err *e)
{
    const struct conv_plan *p = g->p;
    struct make *x = arena_alloc(g->a, sizeof(*x));

    memset(x, 0, sizeof(*x));
    x->g = g;
    x->role = role;
    x->window = role == CONV_LHS ? WINDOW_LHS : WINDOW_RHS;
    x->array = role == CONV_LHS ? g->body->lhs : g->body->rhs;
    for (int i = 0; i < p->maker_count; i++)
        if (p->is_used[WINDOW_MAKER + i] && !is_other(x, i))
            conv_room(g, WINDOW_MAKER + i);     /* what has been copied in: as it is waited for */
    if (make_in_window(x, e))
        return -1;
    conv_clear_window(g, x->window);
    if (role == CONV_LHS && p->made_out >= 0) {
        conv_room(g, WINDOW_OUT + p->made_out);
        conv_send(g, WINDOW_OUT + p->made_out);
    }
    return 0;
}
