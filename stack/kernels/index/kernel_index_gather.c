/*
 * Gathers of whole rows: embedding look-ups, dynamic slices of rows.
 *
 * Each row is a copy of its own, in runs of 512 bytes, one per tile column,
 * straight to where it lies in the result's tiles; a block of up to 128 rows
 * is under way while the one before leaves. Rows of packed types share their
 * words with neighbours: whole words come, to a place for each part of a word,
 * and the right parts are shifted together.
 */
#include "stack/kernels/index/index_double_buffer.h"

#include "base/units.h"

#define BLOCK_ROWS 128
#define SPILL_ROWS 256                  /* kept free at the end of VMEM */
#define COLUMNS_MAX 8                   /* tile columns worked on together */
#define TILE_SUBLANES 8

struct row_gather {
    struct index_work *w;
    struct index_double_buffer buffers;
    int64_t block_tile_rows, across;
    int tile_rows;
    int64_t stage_granules;             /* of one part of the words; 0: not packed */
    int64_t shift_smem;                 /* shifts of the rows of a block, two blocks */
    struct isa_operand row, to, shift_at;
    int64_t out_smem;                   /* word: where the next block goes, granules */
};

static int64_t buffer_granules(const struct row_gather *g, int64_t tile_rows)
{
    int64_t tiles = tile_rows * g->across;

    return tiles * INDEX_GRANULES * (g->w->pack > 1 ? 1 + g->w->pack : 1);
}

static int choose_block(struct row_gather *g, struct err *e)
{
    struct index_work *w = g->w;
    int64_t room = (w->job->vmem_row + w->job->vmem_rows - w->vmem_next - SPILL_ROWS)
                   * INDEX_ROW_GRANULES;
    int64_t most = BLOCK_ROWS / g->tile_rows;

    while (most > 1 && (2 * buffer_granules(g, most) > room || most > w->rows->tiles_down))
        most--;
    if (2 * buffer_granules(g, most) > room)
        return err_set(e, "%s: two tile rows of %lld KiB do not fit the VMEM it has",
                       w->node->name, (long long)buffer_granules(g, most) / 32);
    g->block_tile_rows = most;
    g->stage_granules = w->pack > 1 ? most * g->across * INDEX_GRANULES : 0;
    return 0;
}

/* the granule of the table at which row `u` begins, in register `to` */
static void row_address(struct row_gather *g, int u, const struct isa_operand *word,
                        struct isa_operand to, struct isa_operand *part)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    struct index_spot s;
    struct isa_operand a;

    index_spot(w, w->rows->row_dim, u, word, 0, &s);
    struct isa_operand third = builder_shift(m, s.sublane, 4);
    a = builder_add(m, builder_shift(m, s.tile, 7), third);
    emit_sadd(&w->code, to.value, a, I(w->table->address / ARRAY_GRANULE_BYTES));
    *part = s.part;
}

static void copy_row(struct row_gather *g, struct isa_operand from, struct isa_operand flag,
                     int64_t offset)
{
    struct index_work *w = g->w;
    int kept = w->m.next_sreg;
    struct isa_operand to = builder_add(&w->m, g->to, I(offset));
    enum isa_opcode code = index_copy_code(w->table->space, SPACE_VMEM);
    struct isa_operand granules = I(g->across * INDEX_ROW_GRANULES);

    if (g->across > 1)
        emit_dma_strided(&w->code, code, from, granules, to, flag, I(INDEX_GRANULES),
                         I(INDEX_GRANULES), I(INDEX_ROW_GRANULES));
    else
        emit_dma(&w->code, code, from, granules, to, flag);
    w->m.next_sreg = w->m.next_sreg + 1 < w->m.sreg_end ? w->m.next_sreg : kept;
}

/* only the row of the table is indexed, by one number: the usual embedding */
static bool is_plain(const struct index_work *w)
{
    for (int d = 0; d < w->table->shape.rank; d++)
        if (d != w->table->lane_dim &&
            (w->axis[d].rows_dim >= 0 || (w->axis[d].component >= 0) != (d == w->table->row_dim)))
            return false;
    return w->indices && w->indices->shape.dtype == DTYPE_S32;
}

static void shift_word(struct row_gather *g, int row, struct isa_operand r,
                       struct isa_operand temp)
{
    struct index_work *w = g->w;
    int log2 = w->element_bits == 8 ? 3 : 4;

    emit_sand(&w->code, temp.value, r, I(w->pack - 1));
    emit_sshll(&w->code, temp.value, temp, I(log2));
    emit_sst(&w->code, g->shift_at, I(4 * row), temp);
}

/* indices to granules in the registers where they are, all of the batch side by side */
static void plain_addresses(struct row_gather *g, int first, int count,
                            const struct isa_operand *r)
{
    struct index_work *w = g->w;
    const struct index_axis *x = &w->axis[w->table->row_dim];
    int64_t base = w->table->address / ARRAY_GRANULE_BYTES;
    struct isa_operand temp[INDEX_BATCH];

    for (int u = 0; u < count; u++)
        temp[u] = builder_reg(&w->m);
    for (int u = 0; u < count; u++) {
        emit_smin_max(&w->code, r[u].value, r[u], I(0), SMIN_MAX_MAX, SMIN_MAX_S32);
        emit_smin_max(&w->code, r[u].value, r[u], I(x->last), SMIN_MAX_MIN, SMIN_MAX_S32);
        if (w->pack > 1)
            shift_word(g, first + u, r[u], temp[u]);
        emit_sshrl(&w->code, temp[u].value, r[u], I(3 + w->pack_log2));
        emit_smul(&w->code, temp[u].value, temp[u], I(g->across * INDEX_GRANULES));
        emit_sshll(&w->code, r[u].value, r[u], I(4 - w->pack_log2));
        emit_sand(&w->code, r[u].value, r[u], I(7 << 4));
        if (base)
            emit_sadd(&w->code, temp[u].value, temp[u], I(base));
        emit_sadd(&w->code, r[u].value, r[u], temp[u]);
    }
}

static void addresses(struct row_gather *g, int first, int count,
                      struct isa_operand word[][INDEX_BATCH], const struct isa_operand *from)
{
    struct index_work *w = g->w;
    int temps = w->m.next_sreg;
    struct isa_operand part, one[GRAPH_RANK_MAX];

    for (int u = 0; u < count; u++) {
        w->m.next_sreg = temps;
        for (int k = 0; k < w->components; k++)
            one[k] = word[k][u];
        row_address(g, u, one, from[u], &part);
        if (w->pack > 1)
            emit_sst(&w->code, g->shift_at, I(4 * (first + u)),
                     builder_mul(&w->m, part, w->element_bits));
    }
    w->m.next_sreg = temps;
}

/* `count` rows from number `first` of their tile row on */
static void copy_batch(struct row_gather *g, int first, int count)
{
    struct index_work *w = g->w;
    struct isa_operand word[GRAPH_RANK_MAX][INDEX_BATCH], from[INDEX_BATCH], flag;
    int kept = w->m.next_sreg, temps;

    index_batch_registers(w, count, word, from);
    index_load_batch(w, w->rows->row_dim, count, word);
    temps = w->m.next_sreg;
    if (is_plain(w))
        plain_addresses(g, first, count, from);
    else
        addresses(g, first, count, word, from);
    w->m.next_sreg = temps;
    flag = builder_add(&w->m, g->buffers.parity, I(g->buffers.fetch_flag));
    for (int u = 0; u < count; u++) {
        int row = first + u, stage = w->pack > 1 ? 1 + row % w->pack : 0;

        copy_row(g, from[u], flag, stage * g->stage_granules
                                   + row / w->pack * INDEX_ROW_GRANULES);
    }
    w->m.next_sreg = kept;
}

static void copy_tile_row(struct row_gather *g, int rows)
{
    struct index_work *w = g->w;
    int batch = index_batch(w);

    for (int first = 0; first < rows; first += batch) {
        vcode_begin_block(&w->code);
        copy_batch(g, first, rows - first < batch ? rows - first : batch);
        builder_advance(&w->m, g->row, batch);
    }
    builder_advance(&w->m, g->to, g->across * INDEX_GRANULES);
    if (w->pack > 1)
        builder_advance(&w->m, g->shift_at, 4 * g->tile_rows);
}

/* shifts of the part `q` of the rows of a tile, by sublane */
static int shift_vector(struct row_gather *g, struct isa_operand at, int q, const int *mask)
{
    struct index_work *w = g->w;
    int v = -1;

    for (int i = 0; i < TILE_SUBLANES; i++) {
        struct isa_operand s = R(w->m.next_sreg + i % 4);
        int one;

        emit_sld(&w->code, s.value, at, I(4 * (i * w->pack + q)));
        one = builder_splat(&w->m, s);
        v = i ? emit_vsel(w->m.code, mask[i], R(one), R(v)) : one;
    }
    return v;
}

/* `count` tiles from VMEM row `at` on: the right parts of the staged words, together */
static void join_tiles(struct row_gather *g, struct isa_operand at, int count, const int *shift)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    int64_t stage_rows = g->stage_granules / INDEX_ROW_GRANULES;
    int32_t all = (int32_t)((1u << w->element_bits) - 1);

    for (int c = 0; c < count; c++) {
        int sum = -1;

        for (int q = 0; q < w->pack; q++) {
            int v = emit_vld(m->code, isa_rows_at(at, (1 + q) * stage_rows + c * TILE_SUBLANES),
                             VCODE_REGION_ANY);

            v = emit_vshrl_u32(m->code, R(v), R(shift[q]));
            v = emit_vand_u32(m->code, R(v), I(all));
            v = q ? emit_vshll_u32(m->code, R(v), I(q * w->element_bits)) : v;
            sum = q ? emit_vor_u32(m->code, R(sum), R(v)) : v;
        }
        emit_vst(m->code, isa_rows_at(at, c * TILE_SUBLANES), sum, VCODE_REGION_ANY);
    }
}

static int sublane_mask(struct index_work *w, int i)
{
    int mask = vcode_mask(&w->code);

    vcode_put(&w->code, isa_vcmask(mask, i | i << 10 | (ARRAY_LANES - 1) << 13));
    return mask;
}

static void join_columns(struct row_gather *g, struct isa_operand at, struct isa_operand shifts,
                         int count)
{
    struct index_work *w = g->w;
    int mask[TILE_SUBLANES], shift[4];

    vcode_begin_block(&w->code);
    for (int i = 0; i < TILE_SUBLANES; i++)
        mask[i] = sublane_mask(w, i);
    for (int q = 0; q < w->pack; q++)
        shift[q] = shift_vector(g, shifts, q, mask);
    join_tiles(g, at, count, shift);
    builder_advance(&w->m, at, (int64_t)count * TILE_SUBLANES);
}

static void join_block(struct index_work *w, struct isa_operand parity, void *user)
{
    struct row_gather *g = user;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand at = builder_reg(m), shifts = builder_reg(m), rounds, columns;
    int64_t whole = g->across / COLUMNS_MAX;
    int64_t block_rows = g->block_tile_rows * g->tile_rows;

    builder_set(m, at,
                builder_add(m, builder_mul(m, parity, g->buffers.stride / INDEX_ROW_GRANULES),
                            I(g->buffers.granule / INDEX_ROW_GRANULES)));
    builder_set(m, shifts,
                builder_add(m, builder_mul(m, parity, 4 * block_rows), I(g->shift_smem)));
    rounds = builder_loop_begin(m, g->block_tile_rows);
    if (whole) {
        columns = builder_loop_begin(m, whole);
        join_columns(g, at, shifts, COLUMNS_MAX);
        builder_loop_end(m, columns);
    }
    if (g->across % COLUMNS_MAX)
        join_columns(g, at, shifts, (int)(g->across % COLUMNS_MAX));
    builder_advance(&w->m, shifts, 4 * g->tile_rows);
    builder_loop_end(m, rounds);
    m->next_sreg = kept;
}

/* whole tile rows, then `rest` rows of one more */
static void gather_block(struct row_gather *g, int64_t tile_rows, int rest)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    int64_t rows = tile_rows * g->tile_rows + rest;
    int64_t out = (tile_rows + (rest > 0)) * g->across * INDEX_GRANULES;
    int kept = m->next_sreg;

    index_double_buffer_open(&g->buffers);
    builder_set(m, g->to, index_double_buffer_at_hand(&g->buffers));
    if (w->pack > 1)
        builder_set(
            m, g->shift_at,
            builder_add(m, builder_mul(m, g->buffers.parity, 4 * g->block_tile_rows * g->tile_rows),
                        I(g->shift_smem)));
    m->next_sreg = kept;
    if (tile_rows) {
        struct isa_operand counter = builder_loop_begin(m, tile_rows);

        copy_tile_row(g, g->tile_rows);
        builder_loop_end(m, counter);
    }
    if (rest)
        copy_tile_row(g, rest);
    m->next_sreg = kept;
    index_send(&g->buffers, rows * g->across * INDEX_ROW_GRANULES, g->out_smem, out);
}

static void gather_blocks(struct row_gather *g)
{
    struct index_work *w = g->w;
    struct index_nest nest;
    int64_t tile_rows = w->rows->rows / g->tile_rows;
    int rest = (int)(w->rows->rows % g->tile_rows);
    int64_t blocks = tile_rows / g->block_tile_rows, left = tile_rows % g->block_tile_rows;
    bool is_joined = rest && left + 1 <= g->block_tile_rows;

    index_nest_begin(w, w->rows, &nest);
    w->coordinate[w->rows->row_dim] = g->row;
    builder_set(&w->m, g->row, I(0));
    if (blocks) {
        int kept = w->m.next_sreg;
        struct isa_operand counter = builder_loop_begin(&w->m, blocks);

        gather_block(g, g->block_tile_rows, 0);
        builder_loop_end(&w->m, counter);
        w->m.next_sreg = kept;
    }
    if (left || is_joined)
        gather_block(g, left, is_joined ? rest : 0);
    index_nest_end(w, &nest);
}

int index_gather_rows(struct index_work *w, struct err *e)
{
    struct row_gather g = {.w = w, .across = w->rows->tiles_across,
                           .tile_rows = w->rows->tile_rows};

    if (choose_block(&g, e))
        return -1;
    if (w->pack > 1) {
        g.shift_smem = w->smem_next;
        w->smem_next += 2 * 4 * g.block_tile_rows * g.tile_rows;
    }
    if (!index_fits_smem(w))
        return index_no_smem(w, e);
    index_begin(w);
    index_double_buffer_begin(&g.buffers, w, buffer_granules(&g, g.block_tile_rows));
    g.buffers.work = w->pack > 1 ? join_block : NULL;
    g.buffers.user = &g;
    g.row = builder_reg(&w->m);
    g.to = builder_reg(&w->m);
    g.shift_at = w->pack > 1 ? builder_reg(&w->m) : NONE;
    g.out_smem = index_word(w, w->result->address / ARRAY_GRANULE_BYTES);
    gather_blocks(&g);
    index_double_buffer_end(&g.buffers);
    return 0;
}
