/*
 * From the sums of a block to its results: what is fused with the convolution,
 * group by group, in loops that the back end overlaps.
 *
 * Sums stand in the order of the rounds; results in the order of their windows.
 * Levels of loops that go on from one to the next in all of them are one loop.
 *
 * Where sums per feature are made, several groups of the innermost loop are one
 * round: they come together in registers before the total in memory is touched,
 * whose store the next round's load waits for.
 */
#include <string.h>

#include "stack/backend/emitters.h"
#include "stack/kernels/conv/conv_emit.h"
#include "stack/kernels/loop/fused.h"
#include "stack/kernels/pipeline/vector_rows.h"

#define TILE_ROWS 8
#define REGION_SUMS 1
#define REGION_WINDOW 2                 /* and up, by window or STREAM_TOTALS */
#define LEVELS_MAX (WALK_LEVELS + 3)    /* rows of units, columns, groups of them */
#define SPILL_TILES 16
#define TOTAL_GROUPS_MAX 8              /* that come together before they go to a total */

/* scalar registers: counters of the loops, sums, a pointer and a base per window */
enum { S_COUNTER = 0, S_SUMS = LEVELS_MAX, S_POINTER, S_BASE = 20 };

struct stream { int window; int pointer, base; };

struct level { int64_t count, sums, window[STREAM_COUNT]; };

struct epilogue {
    struct conv_gen *g;
    struct vcode code;
    struct fused fused;
    struct stream stream[STREAM_COUNT];
    int stream_count;
    int levels;
    struct level level[LEVELS_MAX];     /* innermost first */
    int64_t groups, at;                 /* of the innermost level in a round; the one in hand */
    int64_t sums_step, step[STREAM_COUNT];      /* from one to the next */
    int total[CONV_TOTALS_MAX];         /* registers: of the groups of this round */
    const int64_t *r;                   /* the phase; */
    bool is_dead;                       /* all its sums are zero */
};

static struct stream *stream_of(struct epilogue *x, int window)
{
    for (int i = 0; i < x->stream_count; i++)
        if (x->stream[i].window == window)
            return &x->stream[i];
    return NULL;
}

/* ----- values of a group */

/* `row` rows into the part of a window that belongs to the group in hand */
static struct isa_rows rows_at(struct epilogue *x, int window, int64_t row)
{
    return isa_rows_at(R(stream_of(x, window)->pointer), row + x->at * x->step[window]);
}

/* groups of columns in a tile */
static int64_t groups_in_tile(const struct conv_plan *p)
{
    int64_t in_tile = ARRAY_LANES / p->group_columns;

    if (p->shape.batch_groups == 1 || p->group_columns >= ARRAY_LANES)
        return 1;
    return ARRAY_LANES % p->group_columns ? p->shape.batch_groups : in_tile;
}

/* 8 rows of sums; of groups of the batch each has its columns from rows of its own */
static int load_sums(struct epilogue *x, int64_t row)
{
    const struct conv_plan *p = x->g->p;
    int sum;

    row += x->at * x->sums_step;
    sum = emit_vld(&x->code, isa_rows_at(R(S_SUMS), row), REGION_SUMS);

    for (int64_t group = 1; group < groups_in_tile(p); group++) {
        int64_t first = group * p->group_columns, end = first + p->group_columns;
        int v =
            emit_vld(&x->code, isa_rows_at(R(S_SUMS), row + group * p->group_inputs), REGION_SUMS);
        int mask = emit_vcmask(&x->code, ((end > ARRAY_LANES ? ARRAY_LANES : end) - 1) << 13 |
                                             7 << 10 | first << 3);

        sum = emit_vsel(&x->code, mask, R(v), R(sum));
    }
    return sum;
}

/* ----- a feature a group: products with the taps, a multiplication and an addition each */

/* as the matrix units read it: rounded to bf16 */
static void as_bf16(struct epilogue *x, const int *from, int count, int *to)
{
    struct fused_value value = {.part = {R(from[0]), R(from[count - 1])}}, rounded;

    fused_unpack(&x->code, x->g->chip, DTYPE_BF16,
                 fused_pack(&x->code, x->g->chip, DTYPE_BF16, &value), &rounded);
    for (int i = 0; i < count; i++)
        to[i] = rounded.part[i].value;
}

static void load_input(struct epilogue *x, int64_t row, int *part)
{
    const struct conv_plan *p = x->g->p;
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int base = stream_of(x, WINDOW_LHS)->pointer, region = REGION_WINDOW + WINDOW_LHS;
    struct fused_value value;

    for (int i = 0; i < p->parts; i++)
        part[i] = emit_vld(&x->code, isa_rows_at(R(base), row + i * w->pitch[BOX_ROWS] * TILE_ROWS),
                           region);
    if (!p->is_lhs_bf16) {
        as_bf16(x, part, p->subs, part);
        return;
    }
    fused_unpack(&x->code, x->g->chip, DTYPE_BF16, part[0], &value);
    for (int i = 0; i < p->subs; i++)
        part[i] = value.part[i].value;
}

/* the only row of a tap, in all sublanes */
static int load_tap(struct epilogue *x, int64_t row)
{
    const struct conv_window *w = &x->g->p->window[WINDOW_RHS];
    int v = emit_vld(&x->code, isa_rows_apart(R(stream_of(x, WINDOW_RHS)->pointer), row, 0),
                     REGION_WINDOW + WINDOW_RHS);

    if (w->array->element_bytes == 4) {
        as_bf16(x, &v, 1, &v);
        return v;
    }
    return emit_vunpack_i_bf16(&x->code, R(v), VUNPACK_I_BF16_L);
}

static void add_tap(struct epilogue *x, const int64_t *i, int *sum)
{
    const struct conv_plan *p = x->g->p;
    int64_t from = 0, tap = 0;
    int part[FUSED_PARTS_MAX], weight;

    for (int k = 0; k < CONV_SPATIAL; k++) {
        const struct conv_dim *d = &p->shape.dim[k];
        const struct conv_phase *f = &d->phase[x->r[k]];
        int64_t t = f->first + i[k] * d->tap_step;

        from += (f->offset - d->lowest + i[k] * d->tap_stride) * p->window[WINDOW_LHS].pitch[k];
        tap += (d->is_reversed ? d->taps - 1 - t : t) * p->window[WINDOW_RHS].pitch[k];
    }
    load_input(x, from * TILE_ROWS, part);
    weight = load_tap(x, tap * TILE_ROWS);
    for (int k = 0; k < p->subs; k++) {
        int product = emit_vmul_f32(&x->code, R(part[k]), R(weight));

        sum[k] = emit_vadd_f32(&x->code, R(product), sum[k] < 0 ? I(0) : R(sum[k]));
    }
}

static void sum_taps(struct epilogue *x, int *sum)
{
    const struct conv_plan *p = x->g->p;
    int64_t i[CONV_SPATIAL], count[CONV_SPATIAL];

    for (int k = 0; k < CONV_SPATIAL; k++)
        count[k] = conv_level_count(p, k, x->r[k]);
    for (int k = 0; k < p->subs; k++)
        sum[k] = -1;
    for (i[0] = 0; i[0] < count[0]; i[0]++)
        for (i[1] = 0; i[1] < count[1]; i[1]++)
            for (i[2] = 0; i[2] < count[2]; i[2]++)
                add_tap(x, i, sum);
}

static void conv_leaf(struct epilogue *x, int node, struct fused_value *out)
{
    const struct conv_plan *p = x->g->p;
    int sum[FUSED_PARTS_MAX];

    if (p->is_vector && !x->is_dead)
        sum_taps(x, sum);
    for (int i = 0; i < p->subs; i++)
        out->part[i] = x->is_dead     ? fused_constant(DTYPE_F32, 0)
                       : p->is_vector ? R(sum[i])
                                      : R(load_sums(x, i * TILE_ROWS));
    if (x->g->body->graph->node[node].shape.dtype == DTYPE_BF16 && !x->is_dead &&
        p->subs == 2) {
        int tile = fused_pack(&x->code, x->g->chip, DTYPE_BF16, out);

        fused_unpack(&x->code, x->g->chip, DTYPE_BF16, tile, out);
    }
}

static void full_leaf(struct epilogue *x, int window, struct fused_value *out)
{
    const struct conv_window *w = &x->g->p->window[window];
    int tiles = x->g->p->group_rows / w->array->tile_rows;

    for (int i = 0; i < tiles; i++) {
        int v = emit_vld(&x->code, rows_at(x, window, i * w->pitch[BOX_ROWS] * TILE_ROWS),
                         REGION_WINDOW + window);
        struct fused_value part;

        if (w->array->tile_rows == 8) {
            out->part[i] = R(v);
            continue;
        }
        fused_unpack(&x->code, x->g->chip, w->array->shape.dtype, v, &part);
        *out = part;
    }
}

static int leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    struct epilogue *x = user;
    const struct conv_body *b = x->g->body;
    const struct graph_node *n = &b->graph->node[node];

    memset(out, 0, sizeof(*out));
    if (node == b->conv) {
        conv_leaf(x, node, out);
        return 0;
    }
    if (n->op == HLO_BROADCAST) {
        if (fused_emit(f, n->operand[0], e))
            return -1;
        *out = f->value[n->operand[0]];
        return 0;
    }
    for (int i = 0; i < b->extra_count; i++) {
        int window = WINDOW_EXTRA + i, v;

        if (b->extra[i].node != node)
            continue;
        if (b->extra[i].kind == EXTRA_FULL) {
            full_leaf(x, window, out);
            return 0;
        }
        v = conv_load_vector(&x->code, stream_of(x, window)->pointer, REGION_WINDOW + window,
                             b->extra[i].kind == EXTRA_SCALAR);
        for (int part = 0; part < f->parts; part++)
            out->part[part] = R(v);
        return 0;
    }
    if (n->op == HLO_CONSTANT && !n->literal) {
        for (int part = 0; part < f->parts; part++)
            out->part[part] = fused_constant(n->shape.dtype, n->value);
        return 0;
    }
    return err_set(e, "%s: %s beside a convolution", n->name, graph_op_name(n->op));
}

static void store(struct epilogue *x, int window, int64_t row, int v)
{
    emit_vst(&x->code, rows_at(x, window, row), v, REGION_WINDOW + window);
}

/* 8 rows of a value that is summed, zeros where there is no image; immediate 0: none at all */
static struct isa_operand rows_of_total(struct epilogue *x, struct isa_operand value, int part)
{
    int64_t rows = x->g->p->shape.batch - part * TILE_ROWS;
    int mask;

    if (x->g->p->shape.batch > x->g->p->group_rows || rows >= TILE_ROWS)
        return value;
    if (rows <= 0)
        return I(0);
    mask = emit_vcmask(&x->code, (ARRAY_LANES - 1) << 13 | (int)(rows - 1) << 10);
    return R(emit_vsel(&x->code, mask, value, I(0)));
}

/* the rows of the group to those of the groups before it in this round; rows stay apart in 8 */
static int add_to_total(struct epilogue *x, int total, struct err *e)
{
    const struct conv_body *b = x->g->body;
    int node = b->graph->node[b->total[total]].operand[0], sum;

    if (fused_emit(&x->fused, node, e))
        return -1;
    sum = vcode_in_register(&x->code, rows_of_total(x, x->fused.value[node].part[0], 0));
    for (int part = 1; part < x->g->p->subs; part++) {
        struct isa_operand rows = rows_of_total(x, x->fused.value[node].part[part], part);

        if (rows.kind == OPERAND_REG || rows.value != 0)
            sum = emit_vadd_f32(&x->code, R(sum), rows);
    }
    x->total[total] = x->at == 0 ? sum : emit_vadd_f32(&x->code, R(x->total[total]), R(sum));
    return 0;
}

/* what the groups of a round have come to */
static void store_totals(struct epilogue *x)
{
    const struct conv_plan *p = x->g->p;
    int region = REGION_WINDOW + STREAM_TOTALS;

    for (int i = 0; i < p->total_count; i++) {
        struct isa_rows rows = isa_rows_at(R(stream_of(x, STREAM_TOTALS)->pointer),
                                           i * conv_total_tiles(p) * TILE_ROWS);
        int before = emit_vld(&x->code, rows, region);

        emit_vst(&x->code, rows, emit_vadd_f32(&x->code, R(before), R(x->total[i])), region);
    }
}

static int group(struct epilogue *x, struct err *e)
{
    const struct conv_plan *p = x->g->p;

    fused_restart(&x->fused);
    for (int i = 0; i < p->total_count; i++)
        if (add_to_total(x, i, e))
            return -1;
    for (int i = 0; i < p->out_count; i++) {
        const struct conv_window *w = &p->window[WINDOW_OUT + i];
        int node = x->g->body->graph->output[i].node;
        struct fused_value value;

        if (!conv_is_block(p, i))
            continue;
        if (fused_emit(&x->fused, node, e))
            return -1;
        value = x->fused.value[node];
        if (!value.is_mask)
            for (int part = 0; part < p->subs; part++)
                value.part[part] = R(vcode_in_register(&x->code, value.part[part]));
        if (w->array->tile_rows == 8 && !value.is_mask)
            for (int part = 0; part < p->subs; part++)
                store(x, WINDOW_OUT + i, part * w->pitch[BOX_ROWS] * TILE_ROWS,
                      value.part[part].value);
        else
            store(x, WINDOW_OUT + i, 0,
                  fused_pack(&x->code, x->g->chip, w->array->shape.dtype, &value));
    }
    return 0;
}

/* ----- loops */

static bool is_full(const struct epilogue *x, int window)
{
    return window < WINDOW_EXTRA ||
           (window != STREAM_TOTALS &&
            x->g->body->extra[window - WINDOW_EXTRA].kind == EXTRA_FULL);
}

/* VMEM rows from the features of a tile to those of the next, of a window or totals */
static int64_t column_step(const struct epilogue *x, int window)
{
    if (is_full(x, window) || window == STREAM_TOTALS)
        return TILE_ROWS;
    return x->g->body->extra[window - WINDOW_EXTRA].kind == EXTRA_FEATURES;
}

static int64_t window_step(const struct epilogue *x, int window, int walk_level)
{
    const struct conv_plan *p = x->g->p;
    const struct conv_window *w;
    int dim = CONV_SPATIAL - walk_level;

    if (window == WINDOW_LHS)
        return p->walk[walk_level].stride * TILE_ROWS;
    if (window == WINDOW_RHS || !is_full(x, window))
        return 0;
    w = &p->window[window];
    if (walk_level == 0)
        return p->group_rows / w->array->tile_rows * w->pitch[BOX_ROWS] * TILE_ROWS;
    return p->shape.dim[dim].phases * w->pitch[dim] * TILE_ROWS;
}

static bool goes_on(const struct epilogue *x, const struct level *a, const struct level *b)
{
    if (a->count * a->sums != b->sums)
        return false;
    for (int i = 0; i < x->stream_count; i++)
        if (a->count * a->window[x->stream[i].window] != b->window[x->stream[i].window])
            return false;
    return true;
}

static void add_level(struct epilogue *x, const struct level *level)
{
    struct level *last = x->levels ? &x->level[x->levels - 1] : NULL;

    if (level->count == 1)
        return;
    if (last && goes_on(x, last, level))
        last->count *= level->count;
    else
        x->level[x->levels++] = *level;
}

/* tiles of columns; of groups of the batch they also begin at other rows */
static void add_columns(struct epilogue *x, int64_t sums)
{
    const struct conv_plan *p = x->g->p;
    struct level inner = {.count = p->window[WINDOW_OUT + p->first_out].box[BOX_LANES],
                          .sums = sums}, outer;

    for (int k = 0; k < x->stream_count; k++)
        inner.window[x->stream[k].window] = column_step(x, x->stream[k].window);
    outer = (struct level){.count = 1};
    if (p->shape.batch_groups > 1 && p->group_columns > ARRAY_LANES) {
        int64_t tiles = p->group_columns / ARRAY_LANES;

        outer = inner;
        outer.count = inner.count / tiles;
        outer.sums = tiles * sums + p->group_inputs;
        for (int k = 0; k < x->stream_count; k++)
            outer.window[x->stream[k].window] *= tiles;
        inner.count = tiles;
    } else if (p->shape.batch_groups > 1) {
        inner.sums += ARRAY_LANES / p->group_columns * p->group_inputs;
    }
    add_level(x, &inner);
    add_level(x, &outer);
}

/* of dense sums the images of a pixel begin where those of the pixel before end */
static void unfold_line(struct epilogue *x, int walk_level, struct level *l)
{
    const struct conv_plan *p = x->g->p;

    if (walk_level == 0)
        l->count = p->out_groups;
    if (walk_level == 1) {
        l->count = p->q[2];
        l->sums = p->shape.batch;
    }
}

/* the longest loop innermost, where rounds overlap */
static void choose_innermost(struct epilogue *x)
{
    int longest = 0;
    struct level l;

    for (int i = 1; i < x->levels; i++)
        if (x->level[i].count > x->level[longest].count)
            longest = i;
    l = x->level[longest];
    x->level[longest] = x->level[0];
    x->level[0] = l;
}

/* groups of the same features that make a round of the innermost loop together */
static void join_groups(struct epilogue *x)
{
    struct level *l = &x->level[0];

    x->groups = 1;
    if (x->g->p->total_count > 0 && l->window[STREAM_TOTALS] == 0)
        for (int64_t groups = TOTAL_GROUPS_MAX; groups > 1 && x->groups == 1; groups--)
            if (l->count % groups == 0)
                x->groups = groups;
    x->sums_step = l->sums;
    memcpy(x->step, l->window, sizeof(x->step));
    l->count /= x->groups;
    l->sums *= x->groups;
    for (int i = 0; i < STREAM_COUNT; i++)
        l->window[i] *= x->groups;
}

static void make_levels(struct epilogue *x)
{
    const struct conv_plan *p = x->g->p;
    int64_t sums = p->subs * TILE_ROWS;
    struct level split = {.count = p->unit_rows};

    x->levels = 0;
    for (int i = 0; i < WALK_LEVELS; i++) {
        struct level l = {.count = p->walk[i].count, .sums = sums};

        for (int k = 0; k < x->stream_count; k++)
            l.window[x->stream[k].window] = window_step(x, x->stream[k].window, i);
        if (i == p->split_level)
            for (int k = 0; k < STREAM_COUNT; k++)
                split.window[k] = l.window[k] * l.count;
        if (i == 0 && p->shape.batch_groups > 1)
            l.count = p->out_groups;
        if (p->is_dense)
            unfold_line(x, i, &l);
        add_level(x, &l);
        sums *= p->walk[i].count;
    }
    split.sums = sums;
    add_level(x, &split);
    add_columns(x, sums * p->unit_rows * p->phase_count);
    if (x->levels == 0)
        x->level[x->levels++] = (struct level){.count = 1};
    choose_innermost(x);
    join_groups(x);
}

/* level `i` goes on, when all below it have gone around */
static void step_level(struct epilogue *x, int i)
{
    const struct level *l = &x->level[i], *below = i ? &x->level[i - 1] : NULL;

    vcode_loop_step(&x->code, S_SUMS, l->sums - (below ? below->count * below->sums : 0));
    for (int k = 0; k < x->stream_count; k++) {
        int w = x->stream[k].window;
        int64_t step = l->window[w] - (below ? below->count * below->window[w] : 0);

        if (step)
            vcode_loop_step(&x->code, x->stream[k].pointer, step);
    }
}

static int phase(struct epilogue *x, const int64_t *r, int64_t sums, struct err *e)
{
    const struct conv_plan *p = x->g->p;

    x->r = r;
    x->is_dead = false;
    for (int i = 0; i < CONV_SPATIAL; i++)
        x->is_dead |= conv_level_count(p, i, r[i]) == 0;
    vcode_begin_block(&x->code);
    emit_smov(&x->code, S_SUMS, I(p->sums_row + sums));
    for (int k = 0; k < x->stream_count; k++) {
        const struct stream *s = &x->stream[k];
        int64_t offset = 0;

        for (int i = 0; i < CONV_SPATIAL && is_full(x, s->window) && s->window >= WINDOW_OUT; i++)
            offset += r[i] * p->window[s->window].pitch[i] * TILE_ROWS;
        emit_sadd(&x->code, s->pointer, R(s->base), I(offset));
    }
    for (int i = x->levels - 1; i >= 0; i--)
        vcode_loop_begin(&x->code, S_COUNTER + i, x->level[i].count);
    for (x->at = 0; x->at < x->groups; x->at++)
        if (group(x, e))
            return -1;
    store_totals(x);
    for (int i = 0; i < x->levels; i++) {
        step_level(x, i);
        vcode_loop_end(&x->code, S_COUNTER + i);
    }
    return 0;
}

static int phases(struct epilogue *x, struct err *e)
{
    const struct conv_plan *p = x->g->p;
    const struct conv_dim *d = p->shape.dim;
    int64_t sums = 0;

    for (int64_t r0 = 0; r0 < d[0].phases; r0++)
        for (int64_t r1 = 0; r1 < d[1].phases; r1++)
            for (int64_t r2 = 0; r2 < d[2].phases; r2++) {
                const int64_t r[] = {r0, r1, r2};

                if (phase(x, r, sums, e))
                    return -1;
                sums += p->rounds * p->unit_rows * p->subs * TILE_ROWS;
            }
    return 0;
}

/* ----- around them */

static bool is_stream(const struct conv_plan *p, int window)
{
    if (window == STREAM_TOTALS)
        return p->total_count > 0;
    return p->is_used[window] && window < WINDOW_MAKER &&
           (window < WINDOW_OUT || window >= WINDOW_EXTRA || conv_is_block(p, window - WINDOW_OUT));
}

static void find_streams(struct epilogue *x)
{
    for (int i = x->g->p->is_vector ? WINDOW_LHS : WINDOW_OUT; i < STREAM_COUNT; i++)
        if (is_stream(x->g->p, i)) {
            int k = x->stream_count++;

            x->stream[k] = (struct stream){i, S_POINTER + k, S_BASE + k};
        }
}

/* VMEM rows of the windows' buffers; a vector's and totals begin at the columns of this step */
static void set_bases(struct conv_gen *g, const struct epilogue *x)
{
    for (int k = 0; k < x->stream_count; k++) {
        int window = x->stream[k].window;
        struct conv_value row, index;

        conv_begin(g, "epilogue");
        row = window == STREAM_TOTALS ? conv_known(g->p->totals_row)
              : is_full(x, window)    ? conv_buffer_row(g, window)
                                      : conv_known(g->p->vector_row[window]);
        if (!is_full(x, window) && g->p->count[GRID_F] > 1 && column_step(x, window) > 0) {
            int64_t rows = conv_column_tiles(g->p) * column_step(x, window);

            index = conv_load_word(g, conv_index_word(g, false, GRID_F));
            row = conv_add(g, row, conv_mul(g, index, conv_known(rows)));
        }
        bundler_add(&g->b, isa_smov(x->stream[k].base, conv_operand(row)));
        conv_end(g);
    }
}

static void unpack_vectors(struct epilogue *x)
{
    const struct conv_plan *p = x->g->p;

    for (int i = WINDOW_EXTRA; i < WINDOW_MAKER; i++)
        if (p->is_used[i] && p->vector_row[i] != p->window[i].row)
            vector_rows_unpack(p->window[i].array, p->window[i].row, p->vector_row[i], &x->code);
}

int conv_epilogue(struct conv_gen *g, struct err *e)
{
    struct epilogue *x = arena_alloc(g->a, sizeof(*x));
    struct isa_program program;
    int failed;

    x->g = g;
    find_streams(x);
    if (S_BASE + x->stream_count > ISA_SREG_COUNT)
        return err_set(e, "%d arrays beside input and kernel (at most %d)", x->stream_count,
                       ISA_SREG_COUNT - S_BASE);
    make_levels(x);
    set_bases(g, x);
    vcode_init(&x->code, g->a);
    fused_init(&x->fused, &x->code, g->chip, g->body->graph, g->p->subs, g->a);
    x->fused.leaf = leaf;
    x->fused.user = x;
    unpack_vectors(x);
    failed = phases(x, e) ||
             vcode_compile_segment(&x->code, g->chip, g->p->spill_row, SPILL_TILES, g->a, &program,
                                   &g->stats, e);
    vcode_fini(&x->code);
    if (failed)
        return -1;
    bundler_append(&g->b, &program);
    return 0;
}
