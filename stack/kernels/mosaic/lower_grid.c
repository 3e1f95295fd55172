/*
 * The grid of a kernel: its steps one after the other, blocks of its windows in two buffers each, as
 * Pallas documents it.
 *
 *   before the steps: prefetched arrays into SMEM; blocks of the first step on their way
 *   each step: blocks of the next step on their way where their index changes; wait for this step's;
 *   the body; blocks of results on their way where the next step has others
 *   behind the steps: wait for the last results
 *
 * Flags of results start as if all buffers had been sent.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/grid.h"

/* ----- results in SMEM */

static int put_words(struct grid *g)
{
    struct lower *l = g->l;

    for (int i = 0; i < g->words_count; i++) {
        int operand = g->words[i].operand;
        struct place array, cell, *from = &g->words[i].whole;
        int64_t granules;

        if (operand < l->k->operand_count - l->k->output_count)
            continue;
        array = grid_array(l, l->k->prefetch_count + operand);
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

/* ----- the first blocks */

static int start_first(struct grid *g)
{
    struct lower *l = g->l;

    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];

        if (w->is_output && !w->is_fixed) {
            emit_vsyncset(&l->code, I(w->flag), I(w->granules));
            emit_vsyncset(&l->code, I(w->flag + 1), I(w->granules));
        }
        if (!w->is_output && grid_window_copy(g, w, w->index, w->at, scalar_known(0)))
            return -1;
    }
    for (int i = 0; i < g->count; i++)
        if (g->window[i].is_fixed && !g->window[i].is_output)
            grid_window_await(g, &g->window[i], scalar_known(0));
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
        if (grid_window_index(g, w, next, w->next_index) ||
            grid_window_row(g, w, w->next_index, &w->next))
            return -1;
        change[i] = changes(g, w);
        if (w->is_output)
            continue;
        {
            size_t skip = pallas_if_begin(l, change[i]);
            struct scalar other = scalar_sub(l, scalar_known(1), w->parity);

            if (grid_window_copy(g, w, w->next_index, w->next, other))
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
        grid_window_await(g, w, w->parity);
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

            if (grid_window_copy(g, w, w->index, w->at, w->parity))
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
        for (int d = 0; d < w->array.t.rank && (w->edge_count || w->words); d++)
            scalar_write(l, w->index[d], w->next_index[d]);
    }
    for (int d = 0; d < l->k->grid_rank; d++)
        scalar_write(l, l->step[d], next[d]);
    return 0;
}

static int body(struct grid *g)
{
    struct lower *l = g->l;

    for (int i = 0; i < l->k->grid_rank; i++)
        l->scalar[l->k->main->body->argument[i]->id] = l->step[i];
    pallas_begin_block(l);
    if (grid_window_words(g))
        return -1;
    return pallas_block(l, l->k->main->body);
}

static int put_steps(struct grid *g)
{
    struct lower *l = g->l;
    struct scalar next[MOSAIC_RANK_MAX], change[WINDOWS_MAX];
    int counter;

    if (g->is_single)
        return body(g);
    counter = pallas_loop_begin(l);
    if (step_begin(g, next, change) || body(g) || step_end(g, next, change))
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
            grid_window_copy(g, w, w->index, w->at, scalar_known(0)))
            return -1;
    }
    for (int i = 0; i < g->count; i++) {
        struct window *w = &g->window[i];

        if (!w->is_output)
            continue;
        grid_window_await(g, w, scalar_known(0));
        if (!w->is_fixed)
            grid_window_await(g, w, scalar_known(1));
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

/* a result stands in SMEM, which each core has for itself */
static bool has_result_in_words(const struct mosaic_kernel *k)
{
    const struct mosaic_block *b = k->main->body;

    for (int i = k->array_count - k->output_count; i < k->array_count; i++)
        if (b->argument[k->grid_rank + i]->type.space == MOSAIC_SMEM)
            return true;
    return false;
}

int grid_shared(const struct mosaic_kernel *k)
{
    if (mosaic_reaches_devices(k) || has_result_in_words(k))
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
    if (l->k->operand_count > WINDOWS_MAX)
        return pallas_fail(l, NULL, "%d operands; %d are the most", l->k->operand_count,
                           WINDOWS_MAX);
    if (l->job->core_count > 1 && grid_shared(l->k) >= 0) {
        int d = grid_shared(l->k);

        l->first_step[d] = l->job->core * (l->k->grid[d] / 2);
        l->end_step[d] = l->first_step[d] + l->k->grid[d] / 2;
    }
    peers_meet(l);
    if (prefetch_bounds(l, flag))
        return -1;
    for (int i = 0; i < l->k->prefetch_count; i++)
        if (grid_prefetch(l, i, flag))
            return -1;
    pallas_begin_block(l);
    for (int i = 0; i < l->k->grid_rank; i++) {
        l->step[i] = g.is_single ? scalar_known(0) : scalar_word(l);
        if (!g.is_single)
            scalar_write(l, l->step[i], scalar_known(l->first_step[i]));
    }
    for (int i = 0; i < l->k->operand_count; i++) {
        int before = g.count;

        if (grid_window_open(&g, i) || (g.count > before && grid_window_place(&g, before, i)))
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
