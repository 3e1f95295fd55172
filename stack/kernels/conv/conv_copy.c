/*
 * Windows in and out: boxes of tiles that move along the grid, one copy by
 * descriptor each.
 *
 * A box may reach beyond its array. What lies inside is copied; what lies
 * outside of the spatial dimensions is filled with zeros, the border of a
 * convolution: once and for all where the box never moves in that dimension,
 * else with each copy, slab by slab.
 */
#include "stack/kernels/conv/conv_emit.h"

#define TILE_GRANULES (ARRAY_TILE_BYTES / ARRAY_GRANULE_BYTES)
#define TILE_ROWS 8
#define V_ZERO 0
#define STORES_MAX 16                   /* of a round of a loop that clears */

/* ----- which step */

static bool moves_along(const struct conv_plan *p, const struct conv_window *w, int grid)
{
    for (int i = 0; i < BOX_DIMS; i++)
        if (w->move[i][grid] && p->count[grid] > 1)
            return true;
    return false;
}

/* position in the order of the innermost dimension along which the window moves; -1: none */
static int innermost(const struct conv_plan *p, const struct conv_window *w)
{
    for (int i = GRID_DIMS - 1; i >= 0; i--)
        if (moves_along(p, w, p->order[i]))
            return i;
    return -1;
}

/* The window has this step's box already: branches to `label`. Sections of its own. */
static void skip_unless_new(struct conv_gen *g, const struct conv_window *w, bool is_fetch,
                            int label)
{
    const struct conv_plan *p = g->p;

    for (int i = innermost(p, w) + 1; i < GRID_DIMS; i++) {
        struct conv_value index;

        if (p->count[p->order[i]] == 1)
            continue;
        conv_begin(g, NULL);
        index = conv_load_word(g, conv_index_word(g, is_fetch, p->order[i]));
        bundler_add(&g->b, isa_scmp_eq(P_TEMP, conv_operand(index), I(0)));
        conv_end_branch(g, label, P_TEMP, true);
    }
}

/* ----- boxes */

/* where a box begins in dimension i */
static struct conv_value origin_of(struct conv_gen *g, const struct conv_window *w, int i,
                                   bool is_fetch)
{
    struct conv_value at = conv_known(w->origin[i]);

    for (int grid = 0; grid < GRID_DIMS; grid++)
        if (w->move[i][grid] && g->p->count[grid] > 1) {
            struct conv_value index = conv_load_word(g, conv_index_word(g, is_fetch, grid));

            at = conv_add(g, at, conv_mul(g, index, conv_known(w->move[i][grid])));
        }
    return at;
}

static void range_of(const struct conv_gen *g, const struct conv_window *w, int i, int64_t *least,
                     int64_t *most)
{
    *least = *most = w->origin[i];
    for (int grid = 0; grid < GRID_DIMS; grid++) {
        int64_t way = w->move[i][grid] * (g->p->count[grid] - 1);

        *(way < 0 ? least : most) += way;
    }
}

/* of dimension i: elements before the array, of it, and where the box begins in it */
struct piece { struct conv_value low, valid, at; };

static struct piece piece_of(struct conv_gen *g, const struct conv_window *w, int i, bool is_fetch)
{
    struct piece p = {conv_known(0), conv_known(w->box[i]), origin_of(g, w, i, is_fetch)};
    struct conv_value end = p.valid;
    int64_t least, most;

    range_of(g, w, i, &least, &most);
    if (most + w->box[i] > w->size[i])
        end = conv_min(g, end, conv_sub(g, conv_known(w->size[i]), p.at));
    if (least < 0)
        p.low = conv_max(g, conv_known(0), conv_sub(g, conv_known(0), p.at));
    p.valid = conv_sub(g, end, p.low);
    if (least < 0 || most >= w->size[i])
        p.valid = conv_max(g, p.valid, conv_known(0));
    p.at = conv_add(g, p.at, p.low);
    return p;
}

/* ----- zeros */

static int64_t stores_of(int64_t tiles)
{
    int64_t stores = tiles < STORES_MAX ? tiles : STORES_MAX;

    while (tiles % stores)
        stores--;
    return stores;
}

/* registers of a slab */
enum { S_SLAB = 26, S_SLAB_OUTER, S_SLAB_ROUNDS, S_SLAB_LEFT, S_SLAB_ROW };

/* S_SLAB_ROUNDS times `stores` tiles from S_SLAB on, `outer` times `stride` tiles apart */
static void clear_slabs(struct conv_gen *g, int64_t stores, int64_t outer, int64_t stride)
{
    int again = conv_loop(g, S_SLAB_OUTER, outer), inner = conv_label(g);

    conv_begin(g, NULL);
    bundler_add(&g->b, isa_smov(S_SLAB_LEFT, R(S_SLAB_ROUNDS)));
    bundler_add(&g->b, isa_smov(S_SLAB_ROW, R(S_SLAB)));
    bundler_add(&g->b, isa_vmov(V_ZERO, I(0)));
    bundler_add(&g->b, isa_sadd(S_SLAB, R(S_SLAB), I(stride * TILE_ROWS)));
    conv_end(g);
    conv_here(g, inner);
    conv_begin(g, NULL);
    for (int64_t i = 0; i < stores; i++)
        bundler_add(&g->b, isa_vst(isa_rows_at(R(S_SLAB_ROW), i * TILE_ROWS), V_ZERO));
    bundler_add(&g->b, isa_sadd(S_SLAB_ROW, R(S_SLAB_ROW), I(stores * TILE_ROWS)));
    conv_loop_end(g, inner, S_SLAB_LEFT);
    conv_begin(g, NULL);
    conv_loop_end(g, again, S_SLAB_OUTER);
}

/*
 * What lies before (behind) the array in dimension i: of the buffer at VMEM row `fixed_row`, else
 * (-1) of the one that is fetched next, or that is in use.
 */
static void clear_side(struct conv_gen *g, const struct conv_window *w, int i, bool is_high,
                       bool is_fetch, int64_t fixed_row)
{
    int64_t stores = stores_of(w->pitch[i]), outer = 1;
    struct conv_value count, row;
    struct piece piece;
    int skip = conv_label(g);

    for (int j = 0; j < i; j++)
        outer *= w->box[j];
    conv_begin(g, "border of a window");
    piece = piece_of(g, w, i, is_fetch);
    count = is_high ? conv_sub(g, conv_known(w->box[i]), conv_add(g, piece.low, piece.valid))
                    : conv_min(g, piece.low, conv_known(w->box[i]));
    if (fixed_row < 0) {
        row = w->buffers == 1
                  ? conv_known(0)
                  : conv_load_word(g, w->smem + 4 * (is_fetch ? WORD_FETCH_BUFFER : WORD_BUFFER));
        row = conv_add(g, conv_mul(g, row, conv_known(w->tiles * TILE_ROWS)), conv_known(w->row));
    } else {
        row = conv_known(fixed_row);
    }
    if (is_high)
        row = conv_add(g, row, conv_mul(g, conv_sub(g, conv_known(w->box[i]), count),
                                        conv_known(w->pitch[i] * TILE_ROWS)));
    bundler_add(&g->b, isa_smov(S_SLAB, conv_operand(row)));
    bundler_add(&g->b,
                isa_smov(S_SLAB_ROUNDS,
                         conv_operand(conv_mul(g, count, conv_known(w->pitch[i] / stores)))));
    bundler_add(&g->b, isa_scmp_gt(P_TEMP, R(S_SLAB_ROUNDS), I(0)));
    conv_end_branch(g, skip, P_TEMP, true);
    clear_slabs(g, stores, outer, i ? w->pitch[i - 1] : 0);
    conv_here(g, skip);
}

static bool is_fixed(const struct conv_gen *g, const struct conv_window *w, int i)
{
    for (int grid = 0; grid < GRID_DIMS; grid++)
        if (w->move[i][grid] && g->p->count[grid] > 1)
            return false;
    return true;
}

/* sides where the array may end inside the box; of dimensions that move, or of the others */
static void clear_sides(struct conv_gen *g, const struct conv_window *w, bool fixed, bool is_fetch,
                        int64_t row)
{
    for (int i = 0; i < CONV_SPATIAL; i++) {
        int64_t low, high;

        range_of(g, w, i, &low, &high);
        if (is_fixed(g, w, i) != fixed)
            continue;
        if (low < 0)
            clear_side(g, w, i, false, is_fetch, row);
        if (high + w->box[i] > w->size[i])
            clear_side(g, w, i, true, is_fetch, row);
    }
}

/* what the input is made of lies, and ends, like it */
static bool has_border(const struct conv_plan *p, int window)
{
    return window >= WINDOW_MAKER && p->is_used[window] &&
           !p->is_maker_vector[window - WINDOW_MAKER];
}

void conv_clear_borders(struct conv_gen *g)
{
    for (int i = 0; i < WINDOW_COUNT; i++) {
        const struct conv_window *w = &g->p->window[i];

        if (i >= WINDOW_OUT && !has_border(g->p, i))
            continue;
        for (int buffer = 0; buffer < w->buffers; buffer++)
            clear_sides(g, w, true, true, w->row + buffer * w->tiles * TILE_ROWS);
    }
}

void conv_clear_window(struct conv_gen *g, int window)
{
    clear_sides(g, &g->p->window[window], true, false, -1);
    clear_sides(g, &g->p->window[window], false, false, -1);
}

/* ----- copies */

static void word(struct conv_gen *g, const struct conv_window *w, int number, struct conv_value v)
{
    conv_store_word(g, w->smem + 4 * (WORD_DESCRIPTOR + number), v);
}

/* registers that outlive a piece, and the section of the descriptor */
enum { S_FAR_SUM = 24, S_NEAR_SUM, S_TOTAL, S_OUTER = 28, S_FAR, S_NEAR };

/* *sum += v or *sum *= v, in a register of its own where it is not known */
static void gather(struct conv_gen *g, struct conv_value *sum, enum isa_opcode code, int reg,
                   struct conv_value v)
{
    if (sum->is_known && v.is_known) {
        *sum = conv_known(code == OP_SADD ? sum->known + v.known : sum->known * v.known);
        return;
    }
    bundler_add(&g->b, isa_make_e_ss(code, reg, conv_operand(*sum), conv_operand(v)));
    *sum = conv_in(reg);
}

/* what the descriptor says of dimension i */
static void describe_dim(struct conv_gen *g, const struct conv_window *w, int i, bool is_in,
                         const struct piece *p)
{
    static const int level[BOX_DIMS] = {[1] = 10, [2] = 7, [BOX_ROWS] = 4};

    if (i == 0) {
        bundler_add(&g->b, isa_smov(S_OUTER, conv_operand(p->valid)));
    } else if (i == BOX_LANES) {
        word(g, w, 3, conv_mul(g, p->valid, conv_known(TILE_GRANULES)));
    } else {
        word(g, w, level[i], p->valid);
        word(g, w, level[i] + (is_in ? 1 : 2), conv_known(w->stride[i] * TILE_GRANULES));
        word(g, w, level[i] + (is_in ? 2 : 1), conv_known(w->pitch[i] * TILE_GRANULES));
    }
}

/* the descriptor of a copy of the box at the indices; returns granules of all of it */
static struct conv_value describe(struct conv_gen *g, const struct conv_window *w, bool is_in,
                                  struct conv_value buffer)
{
    struct conv_value far = conv_known(w->array->address / ARRAY_GRANULE_BYTES), near, total;
    int floor;

    near = conv_add(g, conv_known(w->row * 16),
                    conv_mul(g, buffer, conv_known(w->tiles * TILE_GRANULES)));
    total = conv_known(TILE_GRANULES);
    floor = g->temp;
    for (int i = BOX_DIMS - 1; i >= 0; i--, g->temp = floor) {
        struct piece p = piece_of(g, w, i, is_in);

        gather(g, &far, OP_SADD, S_FAR_SUM,
               conv_mul(g, p.at, conv_known(w->stride[i] * TILE_GRANULES)));
        gather(g, &near, OP_SADD, S_NEAR_SUM,
               conv_mul(g, p.low, conv_known(w->pitch[i] * TILE_GRANULES)));
        gather(g, &total, OP_SMUL, S_TOTAL, p.valid);
        describe_dim(g, w, i, is_in, &p);
    }
    word(g, w, 0, conv_known(is_in ? (int)w->array->space | SPACE_VMEM << 4
                                   : SPACE_VMEM | (int)w->array->space << 4));
    word(g, w, is_in ? 1 : 2, far);
    word(g, w, is_in ? 2 : 1, near);
    word(g, w, 13, conv_add(g, buffer, conv_known(w->flag)));
    word(g, w, 14, conv_known(0));
    word(g, w, 15, conv_known(0));
    return total;
}

/* the copies of a descriptor: one per index of the outermost dimension */
static void start_copies(struct conv_gen *g, const struct conv_window *w, bool is_in)
{
    int64_t at = w->smem + 4 * WORD_DESCRIPTOR;
    int again = conv_label(g);
    struct conv_value far, near;

    conv_here(g, again);
    conv_begin(g, NULL);
    bundler_add(&g->b, isa_dma_general(NONE, I(at)));
    conv_end(g);
    if (w->box[0] == 1)
        return;
    conv_begin(g, NULL);
    far = conv_load_word(g, at + (is_in ? 4 : 8));
    near = conv_load_word(g, at + (is_in ? 8 : 4));
    conv_store_word(g, at + (is_in ? 4 : 8),
                    conv_add(g, far, conv_known(w->stride[0] * TILE_GRANULES)));
    conv_store_word(g, at + (is_in ? 8 : 4),
                    conv_add(g, near, conv_known(w->pitch[0] * TILE_GRANULES)));
    conv_loop_end(g, again, S_OUTER);
}

/* the box at the indices; granules go to the buffer's word */
static void copy(struct conv_gen *g, const struct conv_window *w, bool is_in)
{
    int skip = conv_label(g), reg;
    struct conv_value buffer, total;

    conv_begin(g, is_in ? "copy in" : "copy out");
    buffer = w->buffers == 1
                 ? conv_known(0)
                 : conv_load_word(g, w->smem + 4 * (is_in ? WORD_FETCH_BUFFER : WORD_BUFFER));
    total = describe(g, w, is_in, buffer);
    reg = conv_to_register(g, conv_mul(g, buffer, conv_known(4)));
    bundler_add(&g->b, isa_sst(R(reg), I(w->smem + 4 * WORD_GRANULES), conv_operand(total)));
    if (is_in && w->buffers == 2)
        conv_store_word(g, w->smem + 4 * WORD_FETCH_BUFFER,
                        conv_sub(g, conv_known(1), buffer));
    if (!is_in)
        bundler_add(&g->b, isa_sfence());
    if (total.is_known) {
        conv_end(g);
        if (total.known > 0)
            start_copies(g, w, is_in);
        return;
    }
    bundler_add(&g->b, isa_scmp_gt(P_TEMP, conv_operand(total), I(0)));
    conv_end_branch(g, skip, P_TEMP, true);
    start_copies(g, w, is_in);
    conv_here(g, skip);
}

void conv_send(struct conv_gen *g, int window)
{
    copy(g, &g->p->window[window], false);
}

/* ----- waiting */

/* until what is under way to or from the buffer whose number is at `at` has arrived: its word is 0 */
static void wait_buffer_at(struct conv_gen *g, const struct conv_window *w, int64_t at)
{
    struct conv_value buffer, granules, flag, none;
    int word_reg, count;

    conv_begin(g, NULL);
    buffer = w->buffers == 1 ? conv_known(0) : conv_load_word(g, at);
    word_reg = conv_to_register(g, conv_mul(g, buffer, conv_known(4)));
    count = g->temp++;
    bundler_add(&g->b, isa_sld(count, R(word_reg), I(w->smem + 4 * WORD_GRANULES)));
    granules = conv_in(count);
    flag = conv_add(g, buffer, conv_known(w->flag));
    none = conv_sub(g, conv_known(0), granules);
    bundler_add(&g->b, isa_smov(S_OUTER, conv_operand(flag)));
    bundler_add(&g->b, isa_smov(S_FAR, conv_operand(granules)));
    bundler_add(&g->b, isa_smov(S_NEAR, conv_operand(none)));
    bundler_add_after(&g->b, g->b.length,
                      isa_sst(R(word_reg), I(w->smem + 4 * WORD_GRANULES), I(0)));
    conv_end(g);
    conv_begin(g, NULL);
    bundler_add(&g->b, isa_dma_done(R(S_OUTER), R(S_FAR)));
    conv_end(g);
    conv_begin(g, NULL);
    bundler_add(&g->b, isa_vsyncadd(R(S_OUTER), R(S_NEAR)));
    conv_end(g);
}

/* the one in use */
static void wait_buffer(struct conv_gen *g, const struct conv_window *w)
{
    wait_buffer_at(g, w, w->smem + 4 * WORD_BUFFER);
}

/* the input that was made in the buffer which is to be filled anew */
static void wait_until_left(struct conv_gen *g)
{
    wait_buffer_at(g, &g->p->window[WINDOW_OUT + g->p->made_out],
                   g->p->window[WINDOW_LHS].smem + 4 * WORD_FETCH_BUFFER);
}

static void switch_buffer(struct conv_gen *g, const struct conv_window *w)
{
    struct conv_value buffer;

    if (w->buffers == 1)
        return;
    conv_begin(g, NULL);
    buffer = conv_load_word(g, w->smem + 4 * WORD_BUFFER);
    conv_store_word(g, w->smem + 4 * WORD_BUFFER, conv_sub(g, conv_known(1), buffer));
    conv_end(g);
}

void conv_fetch(struct conv_gen *g, int window)
{
    const struct conv_window *w = &g->p->window[window];
    int skip = conv_label(g);

    skip_unless_new(g, w, true, skip);
    if (window == WINDOW_LHS && g->p->made_out >= 0)
        wait_until_left(g);
    if (window < WINDOW_OUT || has_border(g->p, window))
        clear_sides(g, w, false, true, -1);
    copy(g, w, true);
    conv_here(g, skip);
}

void conv_take(struct conv_gen *g, int window, int other_label)
{
    const struct conv_window *w = &g->p->window[window];

    skip_unless_new(g, w, false, other_label);
    switch_buffer(g, w);
    wait_buffer(g, w);
}

void conv_room(struct conv_gen *g, int window)
{
    const struct conv_window *w = &g->p->window[window];

    switch_buffer(g, w);
    wait_buffer(g, w);
}

void conv_wait_sent(struct conv_gen *g, int window)
{
    for (int i = 0; i < g->p->window[window].buffers; i++)
        conv_room(g, window);
}

struct conv_value conv_buffer_row(struct conv_gen *g, int window)
{
    const struct conv_window *w = &g->p->window[window];
    struct conv_value buffer =
        w->buffers == 1 ? conv_known(0) : conv_load_word(g, w->smem + 4 * WORD_BUFFER);

    return conv_add(g, conv_mul(g, buffer, conv_known(w->tiles * TILE_ROWS)),
                    conv_known(w->row));
}
