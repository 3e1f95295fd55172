/*
 * Scatters and dynamic updates, in VMEM.
 *
 * A *panel*, a run of the result's tiles, is brought in (or filled, where the
 * operand is one number), all updates that fall into it are applied one after
 * the other in the order in which they lie, and it leaves. A scatter takes as
 * many panels as the result has; each goes through all updates, which is cheap
 * beside moving the result. A dynamic update takes the tiles that a block of
 * its rows falls into.
 *
 * Rows of 512 bytes are the unit: one per tile column of a whole row, eight
 * columns at once, or the one that holds an element. What may not be stored is
 * left out by a guard, not by a branch. A load right behind a store of the same
 * row waits as long as the machine makes it, so that equal indices need no care.
 */
#include "stack/kernels/index/index_scatter.h"
#include "stack/kernels/index/index_update.h"

#include "base/floats.h"
#include "base/units.h"

#define SPILL_ROWS 256
#define COLUMNS_AT_ONCE 8
#define CHUNKS_UNROLLED 4               /* more column groups are a loop */
#define BLOCK_SCALAR_CYCLES 100         /* to await a block and ask for the next one */
#define UPDATE_SCALAR_CYCLES 20         /* an update's place, guards and addresses, one by one */
#define TAIL_TILE_ROWS_MAX 16

/* ----- panels */

/* tiles from s->panel on that exist, as granules */
static struct isa_operand panel_granules(struct scatter *s)
{
    struct builder *m = &s->w->m;
    struct isa_operand left = builder_sub(m, I(s->w->result->tile_count), s->panel);

    return builder_mul(m, builder_min(m, left, I(s->panel_tiles)), INDEX_GRANULES);
}

static void move_panel(struct scatter *s, const struct array *a, bool is_in)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand granules = panel_granules(s), there, here, flag;
    enum isa_opcode code = is_in ? index_copy_code(a->space, SPACE_VMEM)
                                 : index_copy_code(SPACE_VMEM, a->space);

    there = builder_add(m, builder_mul(m, s->panel, INDEX_GRANULES),
                        I(a->address / ARRAY_GRANULE_BYTES));
    here = I(s->panel_row * INDEX_ROW_GRANULES);
    flag = I(s->flag_panel);
    emit_dma(&w->code, code, is_in ? there : here, granules, is_in ? here : there, flag);
    builder_await(&w->m, flag, granules);
    m->next_sreg = kept;
    vcode_begin_block(&w->code);
}

/* the word that holds a value as often as it goes into it */
static int32_t splat_word(const struct index_work *w)
{
    bool is_float = w->result->shape.dtype == DTYPE_F32 || w->result->shape.dtype == DTYPE_BF16;
    uint32_t bits = is_float ? f32_bits((float)w->splat) : (uint32_t)(int64_t)w->splat;

    if (w->pack == 2)
        bits = (uint32_t)bf16_from_f32_bits(bits) * 0x10001u;
    if (w->pack == 4)
        bits = (bits & 255) * 0x1010101u;
    return (int32_t)bits;
}

static void fill_panel(struct scatter *s)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg, v;
    struct isa_operand row = builder_reg(m), counter;

    builder_set(m, row, I(s->panel_row));
    counter = builder_loop_begin(m, s->panel_tiles);
    v = emit_vmov(m->code, I(splat_word(w)));
    emit_vst(m->code, isa_rows_at(row, 0), v, VCODE_REGION_ANY);
    builder_advance(&w->m, row, SCATTER_SUBLANES);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

static void panel_in(struct scatter *s)
{
    if (s->w->table)
        move_panel(s, s->w->table, true);
    else
        fill_panel(s);
}

/* ----- updates, a block ahead */

static void fetch_block(struct scatter *s, struct isa_operand parity, int pred)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand to, flag, next = index_word_get(w, s->next_smem);

    to = builder_add(m, builder_mul(m, parity, s->block_tiles * INDEX_GRANULES),
                     I(s->update_row * INDEX_ROW_GRANULES));
    flag = builder_add(m, parity, I(s->flag_update));
    vcode_put(&w->code,
              isa_if(pred, isa_make_dma(index_copy_code(s->updates->space, SPACE_VMEM), next,
                                        I(s->block_tiles * INDEX_GRANULES), to, flag)));
    builder_advance(&w->m, next, s->block_tiles * INDEX_GRANULES);
    index_word_set(w, s->next_smem, next);
    m->next_sreg = kept;
}

static void updates_begin(struct scatter *s)
{
    struct index_work *w = s->w;

    index_word_set(w, s->next_smem, I(s->updates->address / ARRAY_GRANULE_BYTES));
    index_word_set(w, s->left_smem, I(s->updates->tile_count / s->block_tiles - 1));
    index_word_set(w, s->parity_smem, I(0));
    fetch_block(s, I(0), ISA_PRED_ALWAYS);
}

/* the block at hand has come; the next one is on its way */
static void block_begin(struct scatter *s)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand parity = index_word_get(w, s->parity_smem), flag, left, other;

    flag = builder_add(m, parity, I(s->flag_update));
    builder_await(&w->m, flag, I(s->block_tiles * INDEX_GRANULES));
    left = index_word_get(w, s->left_smem);
    emit_scmp_gt(&w->code, SCATTER_PRED, left, I(0));
    builder_advance(&w->m, left, -1);
    index_word_set(w, s->left_smem, left);
    other = builder_reg(m);
    emit_sxor(&w->code, other.value, parity, I(1));
    fetch_block(s, other, SCATTER_PRED);
    emit_sadd(&w->code, s->at.value, builder_mul(m, parity, s->block_tiles * SCATTER_SUBLANES),
              I(s->update_row));
    index_word_set(w, s->parity_smem, other);
    m->next_sreg = kept;
}

/* ----- one update */

struct isa_operand scatter_target_row(struct scatter *s, const struct index_spot *spot,
                                      struct isa_operand tile, int pred, bool has_pred)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    struct isa_operand at = builder_reg(m), local;
    int to = has_pred ? pred + 1 : pred, kept = m->next_sreg;

    local = builder_sub(m, tile, s->panel);

    emit_scmp_u32(&w->code, to, local, I(s->panel_tiles), SCMP_U32_LT);
    if (has_pred)
        emit_pand(&w->code, pred, pred, to);
    emit_sadd(&w->code, at.value,
              builder_add(m, builder_mul(m, local, SCATTER_SUBLANES), spot->sublane),
              I(s->panel_row));
    emit_select(&w->code, at.value, pred, at, I(s->panel_row));
    m->next_sreg = kept;
    return at;
}

bool scatter_check_end(struct scatter *s, struct isa_operand x, int u, int64_t end, int pred,
                       bool has_pred)
{
    struct index_work *w = s->w;
    int to = has_pred ? pred + 1 : pred;

    emit_scmp_lt(&w->code, to, x, I(end - u));
    if (has_pred)
        emit_pand(&w->code, pred, pred, to);
    return true;
}

void scatter_store_rows(struct index_work *w, struct isa_rows rows, int v, int pred)
{
    vcode_put(&w->code, isa_if(pred, isa_vst(rows, v)))->region = SCATTER_REGION_PANEL;
}

/* tile columns [first, first + count) of a row: panel row `at`, update row `from` */
static void update_columns(struct scatter *s, struct isa_operand at, struct isa_operand from,
                           int64_t offset, int64_t from_offset, int count,
                           const struct index_part *part, int pred)
{
    struct index_work *w = s->w;
    int mask = (1 << count) - 1;
    struct isa_rows to = isa_rows_of(at, offset, SCATTER_SUBLANES, mask);
    int old = emit_vld(&w->code, to, SCATTER_REGION_PANEL);
    int new = emit_vld(&w->code, isa_rows_of(from, from_offset, SCATTER_SUBLANES, mask),
                       SCATTER_REGION_UPDATES);

    scatter_store_rows(w, to, index_update(w, old, new, part, -1), pred);
}

static void update_row(struct scatter *s, struct isa_operand at, int row,
                       const struct index_part *part, int pred)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int64_t whole = s->across / COLUMNS_AT_ONCE, from = row / w->pack;
    int rest = (int)(s->across % COLUMNS_AT_ONCE), step = COLUMNS_AT_ONCE * SCATTER_SUBLANES;

    if (whole > CHUNKS_UNROLLED) {
        int kept = m->next_sreg;
        struct isa_operand to = builder_reg(m), of = builder_reg(m), counter;

        builder_set(m, to, at);
        builder_set(m, of, s->at);
        counter = builder_loop_begin(m, whole);
        update_columns(s, to, of, 0, from, COLUMNS_AT_ONCE, part, pred);
        builder_advance(&w->m, to, step);
        builder_advance(&w->m, of, step);
        builder_loop_end(m, counter);
        if (rest)
            update_columns(s, to, of, 0, from, rest, part, pred);
        m->next_sreg = kept;
        return;
    }
    for (int64_t c = 0; c < whole; c++)
        update_columns(s, at, s->at, c * step, from + c * step, COLUMNS_AT_ONCE, part, pred);
    if (rest)
        update_columns(s, at, s->at, whole * step, from + whole * step, rest, part, pred);
}

void scatter_load_batch(struct scatter *s, int d, struct isa_operand x, int64_t last, int count,
                        struct isa_operand word[][INDEX_BATCH])
{
    struct index_work *w = s->w;
    int kept = w->m.next_sreg;

    w->coordinate[d] = builder_min(&w->m, x, I(last));
    index_load_batch(w, s->fast_dim, count, word);
    w->coordinate[d] = x;
    w->m.next_sreg = kept;
}

/* rows `first` and on of a tile row */
static void update_batch(struct scatter *s, int first, int count)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    struct isa_operand word[GRAPH_RANK_MAX][INDEX_BATCH], unused[INDEX_BATCH];
    int kept = m->next_sreg, temps;

    index_batch_registers(w, count, word, unused);
    if (s->updates->rows % s->tile_rows)
        scatter_load_batch(s, s->fast_dim, s->row, (s->updates->rows - 1) / count * count, count,
                           word);
    else
        index_load_batch(w, s->fast_dim, count, word);
    temps = m->next_sreg;
    for (int u = 0; u < count; u++) {
        struct isa_operand one[GRAPH_RANK_MAX], at;
        int pred = SCATTER_PRED + 2 * (u & 1);
        struct index_part part = {.new_shift = I((first + u) % w->pack * w->element_bits)};
        struct index_spot spot;
        bool has_pred;

        m->next_sreg = temps;
        for (int k = 0; k < w->components; k++)
            one[k] = word[k][u];
        index_spot(w, s->fast_dim, u, one, pred, &spot);
        has_pred = spot.is_inside.kind == OPERAND_REG;
        if (s->updates->rows % s->tile_rows)
            has_pred = scatter_check_end(s, s->row, u, s->updates->rows, pred, has_pred);
        at = scatter_target_row(s, &spot, spot.tile, pred, has_pred);
        part.old_shift = builder_mul(m, spot.part, w->element_bits);
        update_row(s, at, first + u, &part, pred);
    }
    m->next_sreg = kept;
}

static void update_tile_row(struct scatter *s, int rows)
{
    struct index_work *w = s->w;
    int batch = index_batch(w);

    for (int first = 0; first < rows; first += batch) {
        vcode_begin_block(&w->code);
        update_batch(s, first, batch);
        builder_advance(&w->m, s->row, batch);
    }
    vcode_begin_block(&w->code);
    builder_advance(&w->m, s->at, s->across * SCATTER_SUBLANES);
}

struct extent scatter_extent(const struct scatter *s, bool is_last)
{
    const struct array *u = s->updates;
    int64_t before = (u->tiles_down - 1) * s->tile_rows, left;

    if (!is_last)
        return (struct extent){s->tile_rows, 0};
    if (!u->is_linear)
        return (struct extent){(int)(u->rows - before), 0};
    left = shape_elems(&u->shape) - before * ARRAY_LANES;
    return (struct extent){(int)(left / ARRAY_LANES), (int)(left % ARRAY_LANES)};
}

/* ----- the whole */

static void update_block(struct scatter *s, int64_t tile_rows, struct extent e)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand counter = builder_loop_begin(m, tile_rows);

    if (s->w->has_whole_rows)
        update_tile_row(s, e.rows);
    else
        scatter_elements(s, e);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

/* the panel begins where the block's first row goes; where the table does, if that goes nowhere */
static void open_block_panel(struct scatter *s)
{
    struct index_work *w = s->w;
    struct isa_operand word[GRAPH_RANK_MAX][INDEX_BATCH], one[GRAPH_RANK_MAX];
    struct isa_operand unused[INDEX_BATCH], lane = w->coordinate[s->fast_dim];
    int kept = w->m.next_sreg;
    struct index_spot spot;

    vcode_begin_block(&w->code);
    if (!w->has_whole_rows && !s->updates->is_linear)
        w->coordinate[s->fast_dim] = I(0);
    index_batch_registers(w, 1, word, unused);
    index_load_batch(w, s->fast_dim, 1, word);
    for (int k = 0; k < w->components; k++)
        one[k] = word[k][0];
    index_spot(w, s->fast_dim, 0, one, SCATTER_PRED, &spot);
    if (spot.is_inside.kind == OPERAND_REG)
        emit_select(&w->code, s->panel.value, SCATTER_PRED, spot.tile, I(0));
    else
        builder_set(&w->m, s->panel, spot.tile);
    w->coordinate[s->fast_dim] = lane;
    w->m.next_sreg = kept;
    move_panel(s, w->result, true);     /* which has the operand, and what blocks before changed */
}

/* so many blocks of updates, each of so many tile rows of that extent */
static void apply_blocks(struct scatter *s, bool has_panels, int64_t blocks, struct extent e)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand counter;

    if (!blocks)
        return;
    counter = builder_loop_begin(m, blocks);
    block_begin(s);
    if (has_panels)
        open_block_panel(s);
    update_block(s, s->block_tile_rows, e);
    if (has_panels)
        move_panel(s, s->w->result, false);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

static void apply_updates(struct scatter *s, bool has_panels)
{
    struct index_work *w = s->w;
    int64_t blocks = s->updates->tiles_down / s->block_tile_rows;
    struct index_nest nest;
    int kept = w->m.next_sreg;

    updates_begin(s);
    index_nest_begin(w, s->updates, &nest);
    builder_set(&w->m, s->row, I(0));
    builder_set(&w->m, s->lane, I(0));
    apply_blocks(s, has_panels, blocks - s->has_tail, scatter_extent(s, false));
    if (s->has_tail)
        apply_blocks(s, has_panels, 1, scatter_extent(s, true));
    index_nest_end(w, &nest);
    w->m.next_sreg = kept;
}

static void apply_panels(struct scatter *s)
{
    struct index_work *w = s->w;
    int kept = w->m.next_sreg;
    struct isa_operand counter;

    builder_set(&w->m, s->panel, I(0));
    counter = builder_loop_begin(&w->m, div_up(w->result->tile_count, s->panel_tiles));
    panel_in(s);
    apply_updates(s, false);
    move_panel(s, w->result, false);
    builder_advance(&w->m, s->panel, s->panel_tiles);
    builder_loop_end(&w->m, counter);
    w->m.next_sreg = kept;
}

/* all of the operand to the result, where that is another place */
void index_copy_operand(struct index_work *w, int flag)
{
    const struct array *from = w->table, *to = w->result;
    int64_t granules = to->bytes / ARRAY_GRANULE_BYTES;

    if (from->space == to->space && from->address == to->address)
        return;
    emit_dma(w->m.code, index_copy_code(from->space, to->space),
             I(from->address / ARRAY_GRANULE_BYTES), I(granules),
             I(to->address / ARRAY_GRANULE_BYTES), I(flag));
    vcode_await(w->m.code, I(flag), granules, -1);
}

/*
 * Padding of the last of few tile rows is worth code of its own, which leaves it out. Whole rows are
 * gone through in less time than smaller blocks would wait for.
 */
static bool has_tail(const struct scatter *s)
{
    struct extent whole = scatter_extent(s, false), last = scatter_extent(s, true);

    return last.rows < whole.rows &&
           s->updates->tiles_down <= (s->w->has_whole_rows ? 1 : TAIL_TILE_ROWS_MAX);
}

/* a block of updates is a sixteenth of the room at most; it divides the tile rows */
static int plan(struct scatter *s, bool is_dynamic, struct err *e)
{
    struct index_work *w = s->w;
    const struct array *t = w->result;
    int64_t tiles = (w->job->vmem_rows - SPILL_ROWS) / SCATTER_SUBLANES, most = tiles / 16;
    int64_t columns = t->is_linear ? 1 : t->tiles_across;

    s->block_tile_rows = 1;
    s->has_tail = has_tail(s);
    for (int64_t k = 2; !s->has_tail && k * s->across <= most && k <= 64; k++)
        if (s->updates->tiles_down % k == 0)
            s->block_tile_rows = k;
    s->block_tiles = s->block_tile_rows * s->across;
    s->update_row = w->vmem_next;
    s->spread_row = s->update_row + 2 * s->block_tiles * SCATTER_SUBLANES;
    s->panel_row = s->spread_row + scatter_spread_rows(w);
    s->panel_tiles = tiles - 2 * s->block_tiles - scatter_spread_rows(w) / SCATTER_SUBLANES;
    if (is_dynamic && s->panel_tiles > (s->block_tile_rows + 1) * columns)
        s->panel_tiles = (s->block_tile_rows + 1) * columns;
    else if (is_dynamic)
        s->panel_tiles = 0;
    if (s->panel_tiles > t->tile_count)
        s->panel_tiles = t->tile_count;
    s->panel_tiles -= s->panel_tiles > 0 ? s->panel_tiles % columns : 0;
    if (s->panel_tiles <= 0)
        return err_set(e, "%s: a row of %lld tiles and two of the updates do not fit %lld tiles "
                       "of VMEM", w->node->name, (long long)columns, (long long)tiles);
    return 0;
}

static struct scatter scatter_of(struct index_work *w)
{
    return (struct scatter){.w = w, .updates = w->rows, .tile_rows = w->rows->tile_rows,
                            .across = w->rows->is_linear ? 1 : w->rows->tiles_across};
}

/*
 * Windows whose rows lie together, each at a place of its own: a scatter of few into a large table
 * in its place brings in what a window covers, as a dynamic update does, and not the table.
 */
bool index_by_windows(const struct index_work *w)
{
    const struct array *t = w->result, *u = w->rows;
    const struct chip *chip = w->job->chip;
    int64_t fetch = 3 * (int64_t)chip->dma_read_ns * chip->chip_clock_mhz / 1000, windows;
    double table;

    if (!w->indices || !w->has_whole_rows || !w->table || w->table->space != t->space ||
        w->table->address != t->address || w->axis[t->row_dim].is_batch ||
        w->axis[t->row_dim].rows_dim != u->row_dim)
        return false;
    for (int d = 0; d < w->indices->shape.rank; d++)
        if (d != w->vector_dim && (w->rows_dim_of[d] == u->row_dim || w->rows_dim_of[d] == u->lane_dim))
            return false;
    windows = u->tile_count / u->tiles_across;
    table = 2.0 * (double)t->bytes * (double)chip->chip_clock_mhz / (chip->dma_core_gbps * 1e3);
    return (double)(windows * (fetch + BLOCK_SCALAR_CYCLES)) < table;
}

static int64_t tile_row_cycles(const struct scatter *s, struct extent e)
{
    if (s->w->has_whole_rows && !s->updates->is_linear)
        return e.rows * (UPDATE_SCALAR_CYCLES + 2 * (s->across / COLUMNS_AT_ONCE));
    return scatter_elements_cycles(s, e);
}

/* of so many blocks, each of which comes while the one before is gone through */
static int64_t blocks_cycles(const struct scatter *s, int64_t blocks, struct extent e)
{
    const struct chip *chip = s->w->job->chip;
    int64_t fetch = (int64_t)chip->dma_read_ns * chip->chip_clock_mhz / 1000;
    int64_t block = s->block_tile_rows * tile_row_cycles(s, e);

    return blocks * (BLOCK_SCALAR_CYCLES + (block > fetch ? block : fetch));
}

int64_t index_scatter_cycles(struct index_work *w)
{
    bool is_dynamic = !w->indices || index_by_windows(w);
    struct scatter s = scatter_of(w);
    int64_t blocks, panels;
    struct err e;

    if (plan(&s, is_dynamic, &e))
        return INT64_MAX / 2;
    panels = is_dynamic ? 1 : div_up(w->result->tile_count, s.panel_tiles);
    blocks = s.updates->tiles_down / s.block_tile_rows;
    return panels * (s.updates->tile_count / s.across / s.updates->tiles_down)
           * (blocks_cycles(&s, blocks - s.has_tail, scatter_extent(&s, false)) +
              blocks_cycles(&s, s.has_tail, scatter_extent(&s, true)));
}

int index_scatter(struct index_work *w, struct err *e)
{
    bool is_dynamic = !w->indices || index_by_windows(w);
    struct scatter s = scatter_of(w);

    if (plan(&s, is_dynamic, e))
        return -1;
    s.fast_dim = w->rows->is_linear ? 0 : w->has_whole_rows ? w->rows->row_dim
                                                            : w->rows->lane_dim;
    s.parity_smem = index_word(w, 0);
    s.next_smem = index_word(w, 0);
    s.left_smem = index_word(w, 0);
    if (!index_fits_smem(w))
        return index_no_smem(w, e);
    s.flag_panel = w->flag_index + 1;
    s.flag_update = w->flag_index + 2;
    if (is_dynamic)
        index_copy_operand(w, s.flag_panel);
    index_begin(w);
    s.panel = builder_reg(&w->m);
    s.row = builder_reg(&w->m);
    s.lane = builder_reg(&w->m);
    s.at = builder_reg(&w->m);
    if (w->rows->is_linear) {
        w->coordinate[0] = s.lane;
    } else {
        w->coordinate[w->rows->row_dim] = s.row;
        w->coordinate[w->rows->lane_dim] = s.lane;
    }
    if (is_dynamic)
        apply_updates(&s, true);
    else
        apply_panels(&s);
    return 0;
}
