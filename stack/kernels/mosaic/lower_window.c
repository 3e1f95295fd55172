/*
 * The windows of a kernel: where their blocks begin, the copies of blocks, whole arrays in SMEM.
 *
 * Where a block begins is one number, the row of HBM behind its array's first: blocks are the same
 * where it is.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/grid.h"

const struct mosaic_value *grid_argument(const struct lower *l, int operand)
{
    return l->k->main->body->argument[l->k->grid_rank + l->k->prefetch_count + operand];
}

struct place grid_array(struct lower *l, int array)
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
int grid_window_index(struct grid *g, struct window *w, const struct scalar *step,
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

/* elements that a block may begin at, and rows of memory between them */
static void unit_of(const struct tiles *t, int d, int64_t *unit, int64_t *step)
{
    *unit = d == t->row_dim ? t->rows : d == t->lane_dim ? TILE_LANES : 1;
    *step = d == t->row_dim ? t->row_step : d == t->lane_dim ? t->lane_step : t->outer_step[d];
}

/* does it lie in the array, with padding at least in part */
static bool is_within(const struct window *w, int d, int64_t first)
{
    int64_t end = first + w->w->bound[d];

    return w->padded == d ? first < w->array.t.dim[d] && end > 0
                          : first >= 0 && end <= w->array.t.dim[d];
}

/*
 * Rows of HBM before a block that begins at this element of a dimension, where a tile does; before
 * the array's first they are negative.
 */
static int row_of_element(struct lower *l, const struct window *w, int d, struct scalar index,
                          struct scalar *row)
{
    const struct tiles *t = &w->array.t;
    int64_t unit, step;
    struct isa_operand x;
    int to;

    unit_of(t, d, &unit, &step);
    index = scalar_sub(l, index, scalar_known(w->w->pad_low[d]));
    if (index.is_known && !is_within(w, d, index.value))
        return pallas_fail(l, NULL, "elements %d to %lld of dimension %d, which has %lld",
                           index.value, (long long)(index.value + w->w->bound[d] - 1), d,
                           (long long)t->dim[d]);
    if (t->is_linear)
        unit *= t->rows / TILE_ROWS;
    if (d == t->row_dim && t->rows == TILE_ROWS && step == TILE_ROWS)
        unit = step = 1;                /* rows follow each other */
    if (index.is_known ? index.value % unit : w->multiple[d] % unit || w->w->pad_low[d] % unit)
        return pallas_fail(l, NULL, "a window that begins at elements of dimension %d that are no "
                           "multiple of %lld for certain", d, (long long)unit);
    if (index.is_known) {
        *row = scalar_known(index.value / unit * step);
        return 0;
    }
    x = scalar_use(l, index);
    to = scalar_register(l);
    emit_sshra(&l->code, to, x, I(__builtin_ctz((unsigned)unit)));
    *row = scalar_mul(l, scalar_keep(l, R(to)), step);
    return 0;
}

/* the same of a block of so many rows of words: the tile's row, then which one in it */
static struct scalar row_of_words(struct lower *l, const struct window *w, struct scalar index,
                                  struct scalar *in_tile)
{
    struct scalar word = scalar_mul(l, index, w->words);
    struct scalar tile = place_shifted(l, word, __builtin_ctz(TILE_ROWS));

    *in_tile = place_masked(l, word, TILE_ROWS - 1);
    return scalar_add(l, scalar_mul(l, tile, w->array.t.row_step), *in_tile);
}

/* rows of HBM before a block, by its indices */
int grid_window_row(struct grid *g, const struct window *w, const struct scalar *index,
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
        if (d == t->row_dim && w->words) {
            struct scalar in_tile;

            *row = scalar_add(l, *row, row_of_words(l, w, index[d], &in_tile));
            continue;
        }
        if (d == t->row_dim) {
            if (bound % t->rows && bound < t->dim[d] && !(index[d].is_known && !index[d].value))
                return pallas_fail(l, NULL, "blocks of %lld rows; multiples of %d are made",
                                  (long long)bound, t->rows / TILE_ROWS);
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
static int copy_variant(struct grid *g, struct window *w, const struct scalar *index,
                        struct scalar row, struct scalar parity, unsigned edges)
{
    struct lower *l = g->l;
    struct place array = w->array, buffer = w->buffer;
    struct scalar flag = scalar_add(l, parity, scalar_known(w->flag));
    int64_t granules;

    array.has_offset = true;
    array.offset = row;
    if (w->words) {
        int64_t packed = array.t.rows / TILE_ROWS;
        struct scalar in_tile;

        row_of_words(l, w, index[array.t.row_dim], &in_tile);
        array.covers_rows = false;
        array.has_late_row = true;
        array.late_row = scalar_mul(l, in_tile, packed);
        array.late_multiple = packed * (w->words & -w->words);
        array.row_offset = row;
    }
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

/* slice `i` of a block that reaches out of its array, which lies in it */
static int copy_slice(struct grid *g, struct window *w, struct scalar row, struct scalar parity, int i)
{
    struct lower *l = g->l;
    struct place array = w->array, buffer = w->buffer;
    int64_t unit, step, granules, step_there;
    int d = w->padded;

    unit_of(&array.t, d, &unit, &step);
    unit_of(&buffer.t, d, &unit, &step_there);
    for (int k = 0; k < array.t.rank; k++)
        array.t.dim[k] = w->w->bound[k] < array.t.dim[k] ? w->w->bound[k] : array.t.dim[k];
    array.t.dim[d] = unit;
    memcpy(buffer.t.dim, array.t.dim, sizeof(buffer.t.dim));
    array.has_offset = buffer.has_offset = true;
    array.offset = scalar_add(l, row, scalar_known(i * step));
    buffer.offset = scalar_add(l, scalar_mul(l, parity, w->rows), scalar_known(i * step_there));
    return pallas_copy(l, NULL, &array, &buffer, scalar_add(l, parity, scalar_known(w->flag)),
                       &granules);
}

/*
 * A block that may reach out of its array comes in slices, of which those outside are left out; all
 * blocks are waited for alike.
 */
static int copy_padded(struct grid *g, struct window *w, const struct scalar *index,
                       struct scalar row, struct scalar parity)
{
    struct lower *l = g->l;
    int64_t unit, step, count;
    int d = w->padded;

    unit_of(&w->array.t, d, &unit, &step);
    count = w->w->bound[d] / unit;
    for (int i = 0; i < count; i++) {
        struct scalar first = scalar_add(l, index[d], scalar_known(i * unit - w->w->pad_low[d]));
        struct isa_operand x = scalar_use(l, first), end = scalar_use(l, scalar_known(w->array.t.dim[d]));
        struct isa_operand flag;
        int is_out = scalar_pred(l);
        size_t skip;

        emit_scmp_u32(&l->code, is_out, x, end, SCMP_U32_GE);
        skip = vcode_skip_begin(&l->code, is_out);
        scalar_forget(l);
        scalar_scope_begin(l);
        if (copy_slice(g, w, row, parity, i))
            return -1;
        vcode_skip_end(&l->code, skip);
        scalar_forget(l);
        scalar_scope_end(l);
        is_out = scalar_pred(l);
        x = scalar_use(l, first);
        end = scalar_use(l, scalar_known(w->array.t.dim[d]));
        emit_scmp_u32(&l->code, is_out, x, end, SCMP_U32_LT);
        skip = vcode_skip_begin(&l->code, is_out);
        scalar_forget(l);
        scalar_scope_begin(l);
        flag = scalar_use(l, scalar_add(l, parity, scalar_known(w->flag)));
        emit_vsyncadd(&l->code, flag, I(w->granules / count));
        vcode_skip_end(&l->code, skip);
        scalar_forget(l);
        scalar_scope_end(l);
    }
    return 0;
}

int grid_window_copy(struct grid *g, struct window *w, const struct scalar *index,
                      struct scalar row, struct scalar parity)
{
    struct lower *l = g->l;

    if (w->padded >= 0)
        return copy_padded(g, w, index, row, parity);
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
            if (copy_variant(g, w, index, row, parity, edges))
                return -1;
        while (skips) {
            vcode_skip_end(&l->code, skip[--skips]);
            scalar_forget(l);
            scalar_scope_end(l);
        }
    }
    return 0;
}

void grid_window_await(struct grid *g, const struct window *w, struct scalar parity)
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

/* array number `array` of the call goes to where it is in SMEM */
static int fetch(struct lower *l, int array, const struct place *to, int flag)
{
    struct place from = grid_array(l, array);
    int64_t granules;

    if (put_known(l, l->k->dynamic_count + array, to))
        return 0;
    if (pallas_copy(l, NULL, &from, to, scalar_known(flag), &granules))
        return -1;
    vcode_await(&l->code, I(flag), granules, -1);
    return 0;
}

int grid_prefetch(struct lower *l, int array, int flag)
{
    const struct mosaic_value *v = l->k->main->body->argument[l->k->grid_rank + array];

    if (place_open(l, NULL, v, "a prefetched array"))
        return -1;
    return fetch(l, array, &l->place[v->id], flag);
}

/* of an array whose blocks are seen step by step: all of it, and the part that a step sees */
static int open_cut(struct lower *l, int operand, struct words_window *w)
{
    const struct mosaic_value *v = grid_argument(l, operand);
    struct mosaic_type t = l->k->array[l->k->prefetch_count + operand];

    for (int d = 0; d < t.rank; d++)
        if (l->k->window[operand].pad_low[d] || l->k->window[operand].pad_high[d])
            return pallas_fail(l, NULL, "operand %d: a window by elements with padding in SMEM",
                               operand);
    t.space = MOSAIC_SMEM;
    w->is_cut = true;
    w->whole = (struct place){.is_there = true, .space = MOSAIC_SMEM, .buffer = v->id,
                              .region = l->next_region++, .covers_rows = true,
                              .covers_lanes = true};
    tiles_of(&w->whole.t, &t);
    tiles_linear(&w->whole.t);
    return words_open(l, NULL, &t, &w->whole);
}

/* an operand in SMEM; results are written there, and go to their arrays behind the steps */
static int open_words(struct grid *g, int operand, bool is_cut, bool is_output)
{
    struct lower *l = g->l;
    struct words_window *w = &g->words[g->words_count++];
    const struct mosaic_value *v = grid_argument(l, operand);
    int array = l->k->prefetch_count + operand;

    *w = (struct words_window){.operand = operand};
    if (is_cut)
        return open_cut(l, operand, w) ||
               (!is_output && fetch(l, array, &w->whole, l->job->first_flag)) ? -1 : 0;
    if (is_output ? place_open(l, NULL, v, "a result in SMEM")
                  : grid_prefetch(l, array, l->job->first_flag))
        return -1;
    w->whole = l->place[v->id];
    return 0;
}

int grid_window_words(struct grid *g)
{
    struct lower *l = g->l;

    for (int i = 0; i < g->words_count; i++) {
        const struct words_window *words = &g->words[i];
        struct window w = {.w = &l->k->window[words->operand], .array = words->whole};
        struct place *here = &l->place[grid_argument(l, words->operand)->id];
        struct scalar offset = scalar_known(0);

        if (!words->is_cut)
            continue;
        if (grid_window_index(g, &w, l->step, w.index))
            return -1;
        *here = words->whole;
        for (int d = 0; d < w.array.t.rank; d++) {
            int64_t step = (w.w->is_element[d] ? 1 : w.w->bound[d]) * w.array.t.outer_step[d] * 4;

            offset = scalar_add(l, offset, scalar_mul(l, w.index[d], step));
            here->t.dim[d] = w.w->bound[d];
        }
        here->has_offset = true;
        here->offset = offset;
        if (offset.is_known) {
            here->has_offset = false;
            here->base += offset.value;
        }
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

/* rows of words of a block that is no whole tiles; 0: it is, or it is not even that */
static int64_t block_words(const struct tiles *t, const struct mosaic_window *w)
{
    int d = t->row_dim, packed = t->rows / TILE_ROWS;

    if (!w->is_windowed || d < 0 || t->is_linear || w->is_element[d] || w->bound[d] >= t->dim[d] ||
        w->bound[d] % t->rows == 0 || w->bound[d] % packed)
        return 0;
    return w->bound[d] / packed;
}

/* the dimension along which blocks reach out of the array, where they do */
static int find_padding(struct lower *l, struct window *w, int operand)
{
    int64_t unit, step;

    w->padded = -1;
    for (int d = 0; d < w->array.t.rank && w->w->is_windowed; d++) {
        if (!w->w->is_element[d] || (!w->w->pad_low[d] && !w->w->pad_high[d]))
            continue;
        if (w->padded >= 0 || w->is_output || w->array.t.is_linear)
            return pallas_fail(l, NULL, "operand %d: a window by elements with padding %s", operand,
                               w->is_output ? "of a result" : w->padded >= 0
                               ? "along several dimensions" : "of an array of one dimension");
        w->padded = d;
        unit_of(&w->array.t, d, &unit, &step);
        if (w->w->bound[d] % unit || w->w->bound[d] / unit > SLICES_MAX)
            return pallas_fail(l, NULL, "operand %d: a window by elements with padding, of %lld "
                               "along dimension %d; multiples of %lld, %d of them at most, are made",
                               operand, (long long)w->w->bound[d], d, (long long)unit, SLICES_MAX);
    }
    return 0;
}

int grid_window_open(struct grid *g, int operand)
{
    struct lower *l = g->l;
    struct window *w = &g->window[g->count++];
    const struct mosaic_value *v = grid_argument(l, operand);

    *w = (struct window){.w = &l->k->window[operand],
                         .array = grid_array(l, l->k->prefetch_count + operand)};
    w->is_output = operand >= l->k->operand_count - l->k->output_count;
    if (!w->w->is_windowed && v->type.space != MOSAIC_VMEM && v->type.space != MOSAIC_SMEM) {
        l->place[v->id] = w->array;
        g->count--;
        return 0;
    }
    if (v->type.space == MOSAIC_SMEM) {
        g->count--;
        return open_words(g, operand, w->w->is_windowed && !is_whole(l, operand), w->is_output);
    }
    if (v->type.space != MOSAIC_VMEM)
        return pallas_fail(l, NULL, "a window of operand %d in %s; VMEM and SMEM are made", operand,
                           mosaic_space_name(v->type.space));
    if (w->array.space != MOSAIC_HBM)
        return pallas_fail(l, NULL, "operand %d stands in VMEM already", operand);
    w->buffer = (struct place){.is_there = true, .space = MOSAIC_VMEM, .buffer = v->id,
                               .region = l->next_region++, .covers_rows = true,
                               .covers_lanes = true};
    tiles_of(&w->buffer.t, &v->type);
    tiles_linear(&w->buffer.t);
    w->rows = tiles_rows(&w->buffer.t);
    w->words = block_words(&w->array.t, w->w);
    if (find_padding(l, w, operand))
        return -1;
    w->flag = l->next_flag;
    l->next_flag += 2;
    if (l->next_flag > l->job->first_flag + l->job->flag_count)
        return pallas_fail(l, NULL, "its windows need more sync flags than the chip has");
    return 0;
}

/* as its author calls it, or by its number */
static const char *window_name(struct lower *l, int operand)
{
    const struct mosaic_value *v = grid_argument(l, operand);
    int inputs = l->k->operand_count - l->k->output_count;

    if (v->name)
        return v->name;
    return operand < inputs ? arena_printf(l->a, "operand %d", l->k->prefetch_count + operand)
                            : arena_printf(l->a, "result %d", operand - inputs);
}

/* Where the windows' blocks begin in the first step, and whether they ever change. */
int grid_window_place(struct grid *g, int i, int operand)
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
        if (grid_window_index(g, w, l->step, w->index))
            return -1;
        for (int d = 0; d < w->array.t.rank; d++)
            is_known &= w->index[d].is_known;
        w->is_fixed = is_known || g->is_single;
        if (grid_window_row(g, w, w->index, &row))
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
        t.dim[d] = w->w->bound[d] < w->array.t.dim[d] || d == w->padded ? w->w->bound[d]
                                                                       : w->array.t.dim[d];
    w->granules = block_granules(&t);
    name = window_name(l, operand);
    w->buffer.base = pallas_rows(l, w->rows * (w->is_fixed ? 1 : 2), NULL, name);
    pallas_buffer_is(l, BUFFER_WINDOW, name, w->is_fixed ? 1 : 2);
    w->parity = scalar_known(0);
    l->place[grid_argument(l, operand)->id] = w->buffer;
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
    l->place[grid_argument(l, operand)->id].has_offset = true;
    l->place[grid_argument(l, operand)->id].offset = w->row;
    return 0;
}
