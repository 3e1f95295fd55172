/*
 * The grid of a kernel: its steps one after the other, blocks of its windows in two buffers each, as
 * Pallas documents it.
 *
 *   before the steps: prefetched arrays into SMEM; blocks of the first step on their way
 *   each step: blocks of the next step on their way where their index changes; wait for this step's;
 *   the body; blocks of results on their way where the next step has others
 *   behind the steps: wait for the last results
 *
 * Where a block begins is one number, the row of HBM behind its array's first: blocks are the same
 * where it is. Flags of results start as if all buffers had been sent.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/product.h"

#define EDGES_MAX 3                     /* dimensions whose last block overhangs */

struct window {
    const struct mosaic_window *w;
    struct place array, buffer;         /* the array; the first buffer */
    bool is_output, is_fixed;           /* its block never changes */
    int64_t rows;                       /* of a buffer */
    int64_t granules;                   /* of a block */
    int flag;                           /* of the first buffer, the other's behind it */
    struct scalar at, next;             /* row where the block begins, now and in the next step */
    struct scalar index[MOSAIC_RANK_MAX], next_index[MOSAIC_RANK_MAX];
    struct scalar parity, row, is_new;  /* the buffer, its row, and whether the block has changed */
    int64_t multiple[MOSAIC_RANK_MAX];  /* that an index surely is of */
    int edge[EDGES_MAX], edge_count;
};

struct grid {
    struct lower *l;
    struct window window[32];
    int count;
    bool is_single;                     /* one step */
    struct scalar is_last;
    int words[32], words_count;         /* operands that are whole arrays in SMEM */
};

static const struct mosaic_value *argument_of(const struct lower *l, int operand)
{
    return l->k->main->body->argument[l->k->grid_rank + l->k->prefetch_count + operand];
}

static struct place array_place(struct lower *l, int array)
{
    const struct array *a = l->operand[array];
    struct place p = {.is_there = true, .space = a->space == SPACE_VMEM ? MOSAIC_VMEM : MOSAIC_HBM,
                      .buffer = l->k->main->body->argument[l->k->grid_rank + array]->id,
                      .region = l->next_region++, .covers_rows = true, .covers_lanes = true};

    tiles_of(&p.t, &l->k->array[array]);
    tiles_linear(&p.t);
    p.base = a->address / ARRAY_ROW_BYTES;
    return p;
}

/* ----- where blocks begin */

/* The index map's results for the steps in `step`. */
static int map_index(struct grid *g, struct window *w, const struct scalar *step,
                     struct scalar *index)
{
    struct lower *l = g->l;
    const struct mosaic_block *map = w->w->transform->body;
    const struct mosaic_op *end = map->op_count ? map->op[map->op_count - 1] : NULL;
    int at = l->at;

    for (int i = 0; i < l->k->grid_rank; i++)
        l->scalar[map->argument[i]->id] = step[i];
    for (int i = 0; i < l->k->prefetch_count; i++)
        l->place[map->argument[l->k->grid_rank + i]->id] =
            l->place[l->k->main->body->argument[l->k->grid_rank + i]->id];
    if (pallas_block(l, map) || !end)
        return -1;
    l->at = at;
    for (int d = 0; d < w->array.t.rank; d++) {
        index[d] = l->scalar[end->operand[d]->id];
        w->multiple[d] = scalar_multiple(l, end->operand[d]);
    }
    return 0;
}

/* rows of HBM before a block that begins at this element of a dimension, where a tile does */
static int row_of_element(struct lower *l, const struct window *w, int d, struct scalar index,
                          struct scalar *row)
{
    const struct tiles *t = &w->array.t;
    int64_t unit = d == t->row_dim ? t->rows : d == t->lane_dim ? TILE_LANES : 1;
    int64_t step = d == t->row_dim ? t->row_step : d == t->lane_dim ? t->lane_step
                                                                    : t->outer_step[d];
    struct isa_operand x;
    int to;

    if (w->w->pad_low[d] || w->w->pad_high[d])
        return pallas_fail(l, NULL, "a window by elements with padding");
    if (index.is_known && (index.value < 0 || index.value + w->w->bound[d] > t->dim[d]))
        return pallas_fail(l, NULL, "elements %d to %lld of dimension %d, which has %lld",
                           index.value, (long long)(index.value + w->w->bound[d] - 1), d,
                           (long long)t->dim[d]);
    if (t->is_linear)
        unit *= t->rows / TILE_ROWS;
    if (d == t->row_dim && t->rows == TILE_ROWS && step == TILE_ROWS)
        unit = step = 1;                /* rows follow each other */
    if (index.is_known ? index.value % unit : w->multiple[d] % unit)
        return pallas_fail(l, NULL, "a window that begins at elements of dimension %d that are no "
                           "multiple of %lld for certain", d, (long long)unit);
    if (index.is_known) {
        *row = scalar_known(index.value / unit * step);
        return 0;
    }
    x = scalar_use(l, index);
    to = scalar_register(l);
    emit_sshrl(&l->code, to, x, I(__builtin_ctz((unsigned)unit)));
    *row = scalar_mul(l, scalar_keep(l, R(to)), step);
    return 0;
}

/* rows of HBM before a block, by its indices */
static int row_of(struct grid *g, const struct window *w, const struct scalar *index,
                  struct scalar *row)
{
    struct lower *l = g->l;
    const struct tiles *t = &w->array.t;

    *row = scalar_known(0);
    for (int d = 0; d < t->rank; d++) {
        int64_t bound = w->w->bound[d], unit = t->outer_step[d] * bound;

        struct scalar by;

        if (w->w->is_element[d]) {
            if (row_of_element(l, w, d, index[d], &by))
                return -1;
            *row = scalar_add(l, *row, by);
            continue;
        }
        if (index[d].is_known && (index[d].value < 0 || index[d].value * bound >= t->dim[d]))
            return pallas_fail(l, NULL, "block %d of dimension %d, which has %lld blocks",
                              index[d].value, d, (long long)div_up(t->dim[d], bound));
        if (d == t->row_dim) {
            if (bound % t->rows && bound < t->dim[d] && !(index[d].is_known && !index[d].value))
                return pallas_fail(l, NULL, "blocks of %lld rows; multiples of %d are made",
                                  (long long)bound, t->rows);
            unit = bound / t->rows * t->row_step;
        } else if (d == t->lane_dim) {
            int64_t lanes = t->is_linear ? TILE_LANES * t->rows / TILE_ROWS : TILE_LANES;

            if (bound % lanes && bound < t->dim[d] && !(index[d].is_known && !index[d].value))
                return pallas_fail(l, NULL, "blocks of %lld lanes; multiples of %lld are made",
                                  (long long)bound, (long long)lanes);
            unit = bound / lanes * t->lane_step;
        }
        *row = scalar_add(l, *row, scalar_mul(l, index[d], unit));
    }
    return 0;
}

/* ----- copies of blocks */

/* The block at `row`, to or from the buffer `parity`, of these edges' lesser sizes. */
static int copy_variant(struct grid *g, struct window *w, struct scalar row, struct scalar parity,
                        unsigned edges)
{
    struct lower *l = g->l;
    struct place array = w->array, buffer = w->buffer;
    struct scalar flag = scalar_add(l, parity, scalar_known(w->flag));
    int64_t granules;

    array.has_offset = true;
    array.offset = row;
    buffer.has_offset = true;
    buffer.offset = scalar_mul(l, parity, w->rows);
    for (int d = 0; d < array.t.rank; d++)
        array.t.dim[d] = w->w->bound[d] < array.t.dim[d] ? w->w->bound[d] : array.t.dim[d];
    for (int i = 0; i < w->edge_count; i++)
        if (edges >> i & 1)
            array.t.dim[w->edge[i]] = w->array.t.dim[w->edge[i]] % w->w->bound[w->edge[i]];
    memcpy(buffer.t.dim, array.t.dim, sizeof(buffer.t.dim));
    if (w->is_output ? pallas_copy(l, NULL, &buffer, &array, flag, &granules)
                     : pallas_copy(l, NULL, &array, &buffer, flag, &granules))
        return -1;
    if (granules < w->granules)         /* all blocks are waited for alike */
        emit_vsyncadd(&l->code, scalar_use(l, flag), I(w->granules - granules));
    return 0;
}

static int copy_block(struct grid *g, struct window *w, const struct scalar *index,
                      struct scalar row, struct scalar parity)
{
    struct lower *l = g->l;

    for (unsigned edges = 0; edges < 1u << w->edge_count; edges++) {
        struct scalar is_it = scalar_known(1);
        size_t skip[EDGES_MAX];
        int skips = 0;

        for (int i = 0; i < w->edge_count && !(is_it.is_known && !is_it.value); i++) {
            int64_t last = w->array.t.dim[w->edge[i]] / w->w->bound[w->edge[i]];
            struct scalar off = scalar_sub(l, index[w->edge[i]], scalar_known(last));
            bool is_edge = edges >> i & 1;

            if (off.is_known) {
                is_it = scalar_known((off.value == 0) == is_edge);
                continue;
            }
            skip[skips++] = vcode_skip_begin(&l->code, scalar_test(l, off, !is_edge));
            scalar_forget(l);
            scalar_scope_begin(l);
        }
        if (!is_it.is_known || is_it.value)
            if (copy_variant(g, w, row, parity, edges))
                return -1;
        while (skips) {
            vcode_skip_end(&l->code, skip[--skips]);
            scalar_forget(l);
            scalar_scope_end(l);
        }
    }
    return 0;
}

static void await_block(struct grid *g, const struct window *w, struct scalar parity)
{
    struct lower *l = g->l;
    struct scalar flag = scalar_add(l, parity, scalar_known(w->flag));

    vcode_await(&l->code, scalar_use(l, flag), w->granules, -1);
}

/* ----- words in SMEM */

#define KNOWN_WORDS_MAX 16              /* that are written rather than copied */

/* a short table whose words the program says */
static bool put_known(struct lower *l, int number, const struct place *to)
{
    int64_t words = 1, index[MOSAIC_RANK_MAX] = {0}, i = 0;

    for (int d = 0; d < to->t.rank; d++)
        words *= to->t.dim[d];
    if (!l->k->known || !l->k->known[number] || words > KNOWN_WORDS_MAX)
        return false;
    for (; i < words; i++) {
        int64_t at = 0;

        for (int d = 0; d < to->t.rank; d++)
            at += index[d] * to->t.outer_step[d];
        emit_sst(&l->code, NONE, I(to->base + 4 * at), I(l->k->known[number][i]));
        for (int d = to->t.rank - 1; d >= 0 && ++index[d] == to->t.dim[d]; d--)
            index[d] = 0;
    }
    return true;
}

static int prefetch(struct lower *l, int array, int flag)
{
    const struct mosaic_value *v = l->k->main->body->argument[l->k->grid_rank + array];
    struct place from = array_place(l, array), to;
    int64_t granules;

    if (place_open(l, NULL, v, "a prefetched array"))
        return -1;
    to = l->place[v->id];
    if (put_known(l, l->k->dynamic_count + array, &to))
        return 0;
    if (pallas_copy(l, NULL, &from, &to, scalar_known(flag), &granules))
        return -1;
    vcode_await(&l->code, I(flag), granules, -1);
    return 0;
}

/* a result in SMEM, which the kernel writes */
static int open_words(struct lower *l, int operand)
{
    return place_open(l, NULL, argument_of(l, operand), "a result in SMEM");
}

static int put_words(struct grid *g)
{
    struct lower *l = g->l;

    for (int i = 0; i < g->words_count; i++) {
        int operand = g->words[i];
        struct place array, cell, *from = &l->place[argument_of(l, operand)->id];
        int64_t granules;

        if (operand < l->k->operand_count - l->k->output_count)
            continue;
        array = array_place(l, l->k->prefetch_count + operand);
        if (from->space == MOSAIC_VMEM) {       /* lower_cells.c: a float in all of a tile */
            cell = array;
            cell.space = MOSAIC_VMEM;
            cell.base = from->base;
            from = &cell;
        }
        if (pallas_copy(l, NULL, from, &array,
                        scalar_known(l->job->first_flag), &granules))
            return -1;
        vcode_await(&l->code, I(l->job->first_flag), granules, -1);
    }
    return 0;
}

/* the window's block is all of the array */
static bool is_whole(const struct lower *l, int operand)
{
    const struct mosaic_type *t = &l->k->array[l->k->prefetch_count + operand];

    for (int d = 0; d < t->rank; d++)
        if (l->k->window[operand].bound[d] < t->dim[d])
            return false;
    return true;
}

/* ----- windows */

static int64_t block_granules(const struct tiles *t)
{
    return tiles_rows(t) * GRANULES_PER_ROW;
}

static int open_window(struct grid *g, int operand)
{
    struct lower *l = g->l;
    struct window *w = &g->window[g->count++];
    const struct mosaic_value *v = argument_of(l, operand);

    *w = (struct window){.w = &l->k->window[operand],
                         .array = array_place(l, l->k->prefetch_count + operand)};
    w->is_output = operand >= l->k->operand_count - l->k->output_count;
    if (!w->w->is_windowed && v->type.space != MOSAIC_VMEM && v->type.space != MOSAIC_SMEM) {
        l->place[v->id] = w->array;
        g->count--;
        return 0;
    }
    if (v->type.space == MOSAIC_SMEM && (!w->w->is_windowed || is_whole(l, operand))) {
        g->words[g->words_count++] = operand;
        g->count--;
        return w->is_output ? open_words(l, operand) : prefetch(l, l->k->prefetch_count + operand,
                                                                l->job->first_flag);
    }
    if (v->type.space != MOSAIC_VMEM)
        return pallas_fail(l, NULL, "a window of operand %d in %s; VMEM is made, and whole arrays "
                           "in SMEM", operand, mosaic_space_name(v->type.space));
    if (w->array.space != MOSAIC_HBM)
        return pallas_fail(l, NULL, "operand %d stands in VMEM already", operand);
    w->buffer = (struct place){.is_there = true, .space = MOSAIC_VMEM, .buffer = v->id,
                               .region = l->next_region++, .covers_rows = true,
                               .covers_lanes = true};
    tiles_of(&w->buffer.t, &v->type);
    tiles_linear(&w->buffer.t);
    w->rows = tiles_rows(&w->buffer.t);
    w->flag = l->next_flag;
    l->next_flag += 2;
    if (l->next_flag > l->job->first_flag + l->job->flag_count)
        return pallas_fail(l, NULL, "its windows need more sync flags than the chip has");
    return 0;
}

/* as its author calls it, or by its number */
static const char *window_name(struct lower *l, int operand)
{
    const struct mosaic_value *v = argument_of(l, operand);
    int inputs = l->k->operand_count - l->k->output_count;

    if (v->name)
        return v->name;
    return operand < inputs ? arena_printf(l->a, "operand %d", l->k->prefetch_count + operand)
                            : arena_printf(l->a, "result %d", operand - inputs);
}

/* Where the windows' blocks begin in the first step, and whether they ever change. */
static int place_window(struct grid *g, int i, int operand)
{
    struct lower *l = g->l;
    struct window *w = &g->window[i];
    struct scalar row;
    struct tiles t;
    const char *name;
    bool is_known = true;

    if (!w->w->is_windowed) {           /* a kernel without a grid: the whole array */
        struct mosaic_window *whole = arena_copy(l->a, w->w, 1, sizeof(*whole));

        for (int d = 0; d < w->array.t.rank; d++)
            whole->bound[d] = w->array.t.dim[d];
        w->w = whole;
        for (int d = 0; d < w->array.t.rank; d++)
            w->index[d] = scalar_known(0);
        w->at = scalar_known(0);
        w->is_fixed = true;
    } else {
        if (map_index(g, w, l->step, w->index))
            return -1;
        for (int d = 0; d < w->array.t.rank; d++)
            is_known &= w->index[d].is_known;
        w->is_fixed = is_known || g->is_single;
        if (row_of(g, w, w->index, &row))
            return -1;
        w->at = row;
    }
    for (int d = 0; d < w->array.t.rank; d++)
        if (w->array.t.dim[d] % w->w->bound[d] && w->w->bound[d] < w->array.t.dim[d] &&
            !w->w->is_element[d]) {
            if (w->edge_count == EDGES_MAX)
                return pallas_fail(l, NULL, "blocks of operand %d overhang in more than %d "
                                  "dimensions", operand, EDGES_MAX);
            w->edge[w->edge_count++] = d;
        }
    t = w->buffer.t;
    for (int d = 0; d < t.rank; d++)
        t.dim[d] = w->w->bound[d] < w->array.t.dim[d] ? w->w->bound[d] : w->array.t.dim[d];
    w->granules = block_granules(&t);
    name = window_name(l, operand);
    w->buffer.base = pallas_rows(l, w->rows * (w->is_fixed ? 1 : 2), NULL, name);
    pallas_buffer_is(l, BUFFER_WINDOW, name, w->is_fixed ? 1 : 2);
    w->parity = scalar_known(0);
    l->place[argument_of(l, operand)->id] = w->buffer;
    if (w->is_fixed)
        return 0;
    w->parity = scalar_word(l);
    w->row = scalar_word(l);
    w->is_new = scalar_word(l);
    scalar_write(l, w->parity, scalar_known(0));
    scalar_write(l, w->row, scalar_known(0));
    scalar_write(l, w->is_new, scalar_known(1));
    if (w->at.is_known) {
        row = w->at;
        w->at = scalar_word(l);
        scalar_write(l, w->at, row);
    } else {                            /* a word of its own, that the steps write */
        row = scalar_word(l);
        scalar_write(l, row, w->at);
        w->at = row;
    }
    for (int d = 0; d < w->array.t.rank; d++) {
        row = scalar_word(l);
        scalar_write(l, row, w->index[d]);
        w->index[d] = row;
    }
    l->place[argument_of(l, operand)->id].has_offset = true;
    l->place[argument_of(l, operand)->id].offset = w->row;
    return 0;
}

static int start_first(struct grid *g)
{
    struct lower *l = g->l;

    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];

        if (w->is_output && !w->is_fixed) {
            emit_vsyncset(&l->code, I(w->flag), I(w->granules));
            emit_vsyncset(&l->code, I(w->flag + 1), I(w->granules));
        }
        if (!w->is_output && copy_block(g, w, w->index, w->at, scalar_known(0)))
            return -1;
    }
    for (int i = 0; i < g->count; i++)
        if (g->window[i].is_fixed && !g->window[i].is_output)
            await_block(g, &g->window[i], scalar_known(0));
    pallas_begin_block(l);
    return 0;
}

/* ----- a step */

/* the step after this one, of no meaning after the last; and whether this is the last */
static void next_step(struct grid *g, struct scalar *next)
{
    struct lower *l = g->l;
    struct scalar carry = scalar_known(1);

    for (int d = l->k->grid_rank - 1; d >= 0; d--) {
        struct scalar sum = scalar_add(l, l->step[d], carry);
        struct isa_operand x = scalar_use(l, sum);
        struct isa_operand end = l->end_step[d] ? I(l->end_step[d]) : scalar_use(l, l->bound[d]);

        int wraps = scalar_register(l), to = scalar_register(l);

        emit_scmp_eq(&l->code, 1, x, end);
        emit_select(&l->code, wraps, 1, I(1), I(0));
        emit_select(&l->code, to, 1, I(l->first_step[d]), x);
        carry = scalar_keep(l, R(wraps));
        next[d] = scalar_keep(l, R(to));
    }
    g->is_last = carry;
}

/* 1 where the block changes with the next step: not behind the last one, unless it is a result's */
static struct scalar changes(struct grid *g, const struct window *w)
{
    struct lower *l = g->l;
    struct isa_operand a = scalar_use(l, w->at), b = scalar_use(l, w->next);
    struct isa_operand last = scalar_use(l, g->is_last);
    int to = scalar_register(l);

    emit_scmp_ne(&l->code, 1, a, b);
    emit_select(&l->code, to, 1, I(1), I(0));
    if (w->is_output) {
        emit_sor(&l->code, to, R(to), last);
    } else {
        emit_scmp_eq(&l->code, 1, last, I(1));
        emit_select(&l->code, to, 1, I(0), R(to));
    }
    return scalar_keep(l, R(to));
}

static int step_begin(struct grid *g, struct scalar *next, struct scalar *change)
{
    struct lower *l = g->l;

    next_step(g, next);
    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];

        if (w->is_fixed)
            continue;
        if (map_index(g, w, next, w->next_index) || row_of(g, w, w->next_index, &w->next))
            return -1;
        change[i] = changes(g, w);
        if (w->is_output)
            continue;
        {
            size_t skip = pallas_if_begin(l, change[i]);
            struct scalar other = scalar_sub(l, scalar_known(1), w->parity);

            if (copy_block(g, w, w->next_index, w->next, other))
                return -1;
            pallas_if_end(l, skip);
        }
    }
    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];
        size_t skip;

        if (w->is_fixed)
            continue;
        skip = pallas_if_begin(l, w->is_new);
        await_block(g, w, w->parity);
        pallas_if_end(l, skip);
    }
    pallas_begin_block(l);
    return 0;
}

static int step_end(struct grid *g, const struct scalar *next, const struct scalar *change)
{
    struct lower *l = g->l;

    pallas_begin_block(l);
    emit_sfence(&l->code);
    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];
        struct scalar parity;
        struct isa_operand a, b;
        int to;

        if (w->is_fixed)
            continue;
        if (w->is_output) {
            size_t skip = pallas_if_begin(l, change[i]);

            if (copy_block(g, w, w->index, w->at, w->parity))
                return -1;
            pallas_if_end(l, skip);
        }
        a = scalar_use(l, w->parity);
        b = scalar_use(l, change[i]);
        to = scalar_register(l);
        emit_sxor(&l->code, to, a, b);
        parity = scalar_keep(l, R(to));
        scalar_write(l, w->parity, parity);
        scalar_write(l, w->row, scalar_mul(l, parity, w->rows));
        scalar_write(l, w->is_new, change[i]);
        scalar_write(l, w->at, w->next);
        for (int d = 0; d < w->array.t.rank && w->edge_count; d++)
            scalar_write(l, w->index[d], w->next_index[d]);
    }
    for (int d = 0; d < l->k->grid_rank; d++)
        scalar_write(l, l->step[d], next[d]);
    return 0;
}

static int body(struct lower *l)
{
    for (int i = 0; i < l->k->grid_rank; i++)
        l->scalar[l->k->main->body->argument[i]->id] = l->step[i];
    pallas_begin_block(l);
    return pallas_block(l, l->k->main->body);
}

static int put_steps(struct grid *g)
{
    struct lower *l = g->l;
    struct scalar next[MOSAIC_RANK_MAX], change[32];
    int counter;

    if (g->is_single)
        return body(l);
    counter = pallas_loop_begin(l);
    if (step_begin(g, next, change) || body(l) || step_end(g, next, change))
        return -1;
    pallas_loop_end(l, counter, g->is_last, scalar_known(1));
    return 0;
}

static int put_results(struct grid *g)
{
    struct lower *l = g->l;

    pallas_begin_block(l);
    emit_sfence(&l->code);
    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];

        if (w->is_output && w->is_fixed &&
            copy_block(g, w, w->index, w->at, scalar_known(0)))
            return -1;
    }
    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];

        if (!w->is_output)
            continue;
        await_block(g, w, scalar_known(0));
        if (!w->is_fixed)
            await_block(g, w, scalar_known(1));
    }
    if (put_words(g))
        return -1;
    pallas_begin_block(l);
    return 0;
}

/* ----- prefetched arrays and bounds */

static int prefetch_bounds(struct lower *l, int flag)
{
    int next = 0;

    for (int d = 0; d < l->k->grid_rank; d++) {
        const struct array *a;

        l->bound[d] = scalar_known(l->k->grid[d]);
        if (l->k->grid[d] != MOSAIC_DYNAMIC)
            continue;
        if (l->k->known && l->k->known[next]) {
            l->bound[d] = scalar_known(l->k->known[next++][0]);
            continue;
        }
        a = l->bounds[next++];
        l->next_smem = (int)round_up(l->next_smem, 32);
        l->bound[d] = (struct scalar){.smem = l->next_smem};
        l->next_smem += 32;
        vcode_put(&l->code, isa_make_dma(OP_DMA_HBM_SMEM, I(a->address / 32), I(1),
                                         I(l->bound[d].smem / 32), I(flag)));
        vcode_await(&l->code, I(flag), 1, -1);
        pallas_begin_block(l);
    }
    return 0;
}

int grid_shared(const struct mosaic_kernel *k)
{
    if (mosaic_reaches_devices(k))
        return -1;                      /* a device is one to the others: its first core */
    for (int i = 0; i < k->grid_rank; i++)
        if (k->semantics[i] != MOSAIC_ARBITRARY && k->grid[i] != MOSAIC_DYNAMIC &&
            k->grid[i] % 2 == 0)
            return i;
    return -1;
}

int64_t grid_steps(const struct mosaic_kernel *k)
{
    int64_t steps = 1;

    for (int i = 0; i < k->grid_rank; i++)
        steps *= k->grid[i] == MOSAIC_DYNAMIC ? 1 : k->grid[i];
    return steps;
}

static bool is_single(const struct mosaic_kernel *k)
{
    for (int i = 0; i < k->grid_rank; i++)
        if (k->grid[i] != 1)
            return false;
    return true;
}

int grid_emit(struct lower *l)
{
    struct grid g = {.l = l, .is_single = is_single(l->k)};
    int flag = l->next_flag++;

    if (grid_steps(l->k) == 0)
        return 0;
    if (l->k->operand_count > 32)
        return pallas_fail(l, NULL, "%d operands; 32 are the most", l->k->operand_count);
    if (l->job->core_count > 1 && grid_shared(l->k) >= 0) {
        int d = grid_shared(l->k);

        l->first_step[d] = l->job->core * (l->k->grid[d] / 2);
        l->end_step[d] = l->first_step[d] + l->k->grid[d] / 2;
    }
    peers_meet(l);
    if (prefetch_bounds(l, flag))
        return -1;
    for (int i = 0; i < l->k->prefetch_count; i++)
        if (prefetch(l, i, flag))
            return -1;
    pallas_begin_block(l);
    for (int i = 0; i < l->k->grid_rank; i++) {
        l->step[i] = g.is_single ? scalar_known(0) : scalar_word(l);
        if (!g.is_single)
            scalar_write(l, l->step[i], scalar_known(l->first_step[i]));
    }
    for (int i = 0; i < l->k->operand_count; i++) {
        int before = g.count;

        if (open_window(&g, i) || (g.count > before && place_window(&g, before, i)))
            return -1;
    }
    for (int i = 0; i < l->k->scratch_count; i++) {
        const struct mosaic_value *v =
            l->k->main->body->argument[l->k->main->body->argument_count - l->k->scratch_count + i];

        if (place_open(l, NULL, v, v->name ? v->name : "a scratch buffer"))
            return -1;
        if (accumulates(l->k, v)) {     /* as sums of products lie */
            struct tiles *t = &l->place[v->id].t;

            t->row_step = TILE_ROWS;
            t->lane_step = round_up(t->dim[0], TILE_ROWS);
        }
    }
    if (start_first(&g) || put_steps(&g) || put_results(&g))
        return -1;
    return l->is_failed ? -1 : 0;
}
