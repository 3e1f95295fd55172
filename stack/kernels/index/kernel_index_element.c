/*
 * Gathers element by element: every form that is not one of whole rows.
 *
 * A result tile at a time. Of each element the granule that holds it (8 lanes)
 * is copied; 16 of them make a row of VMEM, 8 rows what 128 elements of the
 * result come from. The scalar side leaves a word for each: where the element
 * lies among the lanes of its row, and by how many bits in its word. With
 * these, one permutation of lanes picks 16 elements in each of 8 sublanes, and
 * adding sublanes up makes a row of the result.
 */
#include "stack/kernels/index/index_double_buffer.h"

#include "base/units.h"

#define SPILL_ROWS 256
#define SUBLANES 8
#define CONTROL_SHIFT 8                 /* bits of a control word below the shift */
#define REGION_IN 1
#define REGION_OUT 2

struct element_gather {
    struct index_work *w;
    struct index_double_buffer buffers;
    const struct array *to_array;
    int tile_rows, fast_dim;
    int64_t values, control, stage;     /* in a buffer, granules; the result tile is at 0 */
    int64_t control_smem;               /* two rows of words */
    int control_flag;
    struct isa_operand row, lane, to;   /* coordinates; granule */
    struct isa_operand word_at, control_to;
    int64_t out_smem, control_wait;     /* words: granule of the next tile; granules to wait for */
};

/* the granule of element `u` to register `to`, its control word to SMEM */
static void element_address(struct element_gather *g, int u, const struct isa_operand *word,
                            struct isa_operand group, int at, struct isa_operand to)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    struct index_spot s;
    struct isa_operand a, c;
    int kept;

    index_spot(w, g->fast_dim, u, word, 0, &s);
    kept = m->next_sreg;
    a = builder_add(m, s.tile, builder_shift(m, s.lane, -7));
    struct isa_operand third = builder_shift(m, s.sublane, 4);
    a = builder_add(m, builder_shift(m, a, 7), third);
    a = builder_add(m, a, builder_and(m, builder_shift(m, s.lane, -3), 15));
    emit_sadd(&w->code, to.value, a, I(w->table->address / ARRAY_GRANULE_BYTES));
    m->next_sreg = kept;
    c = builder_add(m, group, builder_and(m, s.lane, 7));
    c = builder_add(m, c, builder_mul(m, s.part, w->element_bits << CONTROL_SHIFT));
    c = builder_add(m, c, I(8 * at));
    emit_sst(&w->code, g->word_at, I(4 * at), c);
}

/* `count` elements, the first of them number `at` of its group of 8 */
static void copy_batch(struct element_gather *g, int at, int count, struct isa_operand group)
{
    struct index_work *w = g->w;
    struct isa_operand word[GRAPH_RANK_MAX][INDEX_BATCH], from[INDEX_BATCH], flag;
    enum isa_opcode code = index_copy_code(w->table->space, SPACE_VMEM);
    int kept = w->m.next_sreg, temps;

    index_batch_registers(w, count, word, from);
    index_load_batch(w, g->fast_dim, count, word);
    temps = w->m.next_sreg;
    for (int u = 0; u < count; u++) {
        struct isa_operand one[GRAPH_RANK_MAX];

        w->m.next_sreg = temps;
        for (int k = 0; k < w->components; k++)
            one[k] = word[k][u];
        element_address(g, u, one, group, at + u, from[u]);
    }
    w->m.next_sreg = temps;
    flag = builder_add(&w->m, g->buffers.parity, I(g->buffers.fetch_flag));
    for (int u = 0; u < count; u++) {
        int mark = w->m.next_sreg;

        emit_dma(&w->code, code, from[u], I(1), builder_add(&w->m, g->to, I(at + u)), flag);
        w->m.next_sreg = mark;
    }
    w->m.next_sreg = kept;
}

/* up to 8 elements that follow each other along lanes */
static void copy_group(struct element_gather *g, int count)
{
    struct index_work *w = g->w;
    int batch = index_batch(w), kept = w->m.next_sreg;
    struct isa_operand group = builder_reg(&w->m);

    builder_set(&w->m, group, builder_mul(&w->m, builder_and(&w->m, g->lane, 8), 8));
    w->m.next_sreg = group.value + 1;
    for (int at = 0; at < count; at += batch) {
        int some = count - at < batch ? count - at : batch;

        copy_batch(g, at, some, group);
        builder_advance(&w->m, g->lane, some);
        vcode_begin_block(&w->code);
    }
    builder_advance(&w->m, g->to, INDEX_BATCH);
    builder_advance(&w->m, g->word_at, 4 * INDEX_BATCH);
    w->m.next_sreg = kept;
}

/* for the control words sent last; then so many are */
static void wait_control(struct element_gather *g, int64_t next)
{
    struct index_work *w = g->w;
    int kept = w->m.next_sreg;
    struct isa_operand count = index_word_get(w, g->control_wait);

    builder_await(&w->m, I(g->control_flag), count);
    index_word_set(w, g->control_wait, I(next));
    w->m.next_sreg = kept;
}

/* the row's control words to VMEM; the other row of SMEM is next */
static void send_control(struct element_gather *g)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand from;

    wait_control(g, INDEX_ROW_GRANULES);
    from = builder_sub(m, g->word_at, I(g->control_smem));
    from = builder_add(m, builder_and(m, from, 512), I(g->control_smem));
    emit_sfence(&w->code);
    emit_dma_smem_vmem(&w->code, builder_shift(m, from, -5), I(INDEX_ROW_GRANULES), g->control_to,
                       I(g->control_flag));
    builder_advance(&w->m, g->control_to, INDEX_ROW_GRANULES);
    m->next_sreg = kept;
}

static void copy_row(struct element_gather *g, int lanes)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    int groups = lanes / INDEX_BATCH, rest = lanes % INDEX_BATCH, kept = m->next_sreg;
    int64_t taken = round_up(lanes, INDEX_BATCH);

    if (groups) {
        int mark = m->next_sreg;
        struct isa_operand counter = builder_loop_begin(m, groups);

        copy_group(g, INDEX_BATCH);
        builder_loop_end(m, counter);
        m->next_sreg = mark;
    }
    if (rest)
        copy_group(g, rest);
    builder_advance(&w->m, g->to, INDEX_GRANULES - taken);
    builder_advance(&w->m, g->word_at, -4 * taken);
    send_control(g);
    /* the other row of words */
    emit_ssub(&w->code, g->word_at.value, I(2 * g->control_smem + ARRAY_ROW_BYTES), g->word_at);
    if (!g->to_array->is_linear)
        builder_advance(&w->m, g->lane, -lanes);
    builder_advance(&w->m, g->row, 1);
    m->next_sreg = kept;
}

/* a tile of the result: so many rows of so many lanes, and one of `last` lanes */
static void gather_tile(struct element_gather *g, int rows, int lanes, int last)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand buffer;

    index_double_buffer_open(&g->buffers);
    buffer = index_double_buffer_at_hand(&g->buffers);
    emit_sadd(&w->code, g->to.value, buffer, I(g->stage));
    emit_sadd(&w->code, g->control_to.value, buffer, I(g->control));
    m->next_sreg = kept;
    if (rows) {
        struct isa_operand counter = builder_loop_begin(m, rows);

        copy_row(g, lanes);
        builder_loop_end(m, counter);
        m->next_sreg = kept;
    }
    if (last)
        copy_row(g, last);
    wait_control(g, 0);
    index_send(&g->buffers, (int64_t)rows * lanes + last, g->out_smem, INDEX_GRANULES);
    builder_advance(&w->m, g->row, -(rows + (last > 0)));
}

/* where sublane i holds elements of its own: lanes 16 i to 16 i + 15 */
static int own_lanes(struct index_work *w)
{
    struct builder *m = &w->m;
    int lane = emit_vshrl_u32(
        m->code, R(emit_vand_u32(m->code, R(emit_vlaneseq(m->code)), I(ARRAY_LANES - 1))), I(4));

    return emit_vcmp_eq_s32(m->code, R(lane),
                            R(emit_vshrl_u32(m->code, R(emit_vlaneseq(m->code)), I(7))));
}

static int pick_row(struct element_gather *g, struct isa_operand at, int row, int own)
{
    struct index_work *w = g->w;
    struct builder *m = &w->m;
    int control =
        emit_vld(m->code, isa_rows_apart(at, g->control / INDEX_ROW_GRANULES + row, 0), REGION_IN);
    int from = emit_vld(
        m->code, isa_rows_apart(at, g->stage / INDEX_ROW_GRANULES + row * SUBLANES, 1), REGION_IN);
    int lane = emit_vand_u32(m->code, R(control), I(ARRAY_LANES - 1));
    int v = emit_vperm(m->code, row % (int)w->job->chip->xlu_count, from, lane);

    v = emit_vsel(m->code, own, R(v), I(0));
    for (int by = SUBLANES / 2; by > 0; by /= 2) {
        int other = emit_vrot_slane(m->code, v, I(by));

        v = emit_vor_u32(m->code, R(v), R(other));
    }
    if (w->pack == 1)
        return v;
    v = emit_vshrl_u32(m->code, R(v), R(emit_vshrl_u32(m->code, R(control), I(CONTROL_SHIFT))));
    return emit_vand_u32(m->code, R(v), I((int32_t)((1u << w->element_bits) - 1)));
}

/* the words of a tile's rows, one in each 32 bits, into the packed tile */
static void pack_tile(struct element_gather *g, struct isa_operand at)
{
    struct index_work *w = g->w;
    int64_t from = g->values / INDEX_ROW_GRANULES;
    int v[4];

    vcode_begin_block(&w->code);
    for (int q = 0; q < w->pack; q++)
        v[q] = emit_vld(w->m.code, isa_rows_at(at, from + q * SUBLANES), VCODE_REGION_ANY);
    v[0] = emit_vpack_b16(&w->code, R(v[1]), R(v[0]), VPACK_B16_C);
    if (w->pack == 4)
        v[0] = emit_vpack_c_b8(&w->code, R(emit_vpack_b16(&w->code, R(v[3]), R(v[2]), VPACK_B16_C)),
                               R(v[0]), VPACK_C_B8_B8);
    emit_vst(w->m.code, isa_rows_at(at, 0), v[0], VCODE_REGION_ANY);
}

static void pick_tile(struct index_work *w, struct isa_operand parity, void *user)
{
    struct element_gather *g = user;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand at = builder_reg(m);
    int64_t to = w->pack > 1 ? g->values / INDEX_ROW_GRANULES : 0;

    builder_set(m, at,
                builder_add(m, builder_mul(m, parity, g->buffers.stride / INDEX_ROW_GRANULES),
                            I(g->buffers.granule / INDEX_ROW_GRANULES)));
    m->next_sreg = at.value + 1;
    for (int first = 0; first < g->tile_rows; first += SUBLANES) {
        int own;

        vcode_begin_block(&w->code);
        own = own_lanes(w);
        for (int i = first; i < first + SUBLANES; i++)
            emit_vst(&w->code, isa_rows_some(at, to + i, 1), pick_row(g, at, i, own), REGION_OUT);
    }
    if (w->pack > 1)
        pack_tile(g, at);
    m->next_sreg = kept;
}

/* tiles side by side: a tile row of the result */
static void gather_tile_row(struct element_gather *g, int rows)
{
    struct index_work *w = g->w;
    int64_t whole = g->to_array->lanes / ARRAY_LANES;
    int rest = (int)(g->to_array->lanes % ARRAY_LANES), kept = w->m.next_sreg;

    builder_set(&w->m, g->lane, I(0));
    if (whole) {
        struct isa_operand counter = builder_loop_begin(&w->m, whole);

        gather_tile(g, rows, ARRAY_LANES, 0);
        builder_advance(&w->m, g->lane, ARRAY_LANES);
        builder_loop_end(&w->m, counter);
        w->m.next_sreg = kept;
    }
    if (rest)
        gather_tile(g, rows, rest, 0);
    builder_advance(&w->m, g->row, rows);
}

static void gather_tiled(struct element_gather *g)
{
    struct index_work *w = g->w;
    const struct array *a = g->to_array;
    int64_t whole = a->rows / g->tile_rows;
    int rest = (int)(a->rows % g->tile_rows);
    struct index_nest nest;

    index_nest_begin(w, a, &nest);
    w->coordinate[a->row_dim] = g->row;
    w->coordinate[a->lane_dim] = g->lane;
    builder_set(&w->m, g->row, I(0));
    if (whole) {
        int kept = w->m.next_sreg;
        struct isa_operand counter = builder_loop_begin(&w->m, whole);

        gather_tile_row(g, g->tile_rows);
        builder_loop_end(&w->m, counter);
        w->m.next_sreg = kept;
    }
    if (rest)
        gather_tile_row(g, rest);
    index_nest_end(w, &nest);
}

static void gather_linear(struct element_gather *g)
{
    struct index_work *w = g->w;
    int64_t count = shape_elems(&g->to_array->shape), tile = (int64_t)g->tile_rows * ARRAY_LANES;
    int rest = (int)(count % tile);

    w->coordinate[0] = g->lane;
    builder_set(&w->m, g->lane, I(0));
    if (count / tile) {
        int kept = w->m.next_sreg;
        struct isa_operand counter = builder_loop_begin(&w->m, count / tile);

        gather_tile(g, g->tile_rows, ARRAY_LANES, 0);
        builder_loop_end(&w->m, counter);
        w->m.next_sreg = kept;
    }
    if (rest)
        gather_tile(g, rest / ARRAY_LANES, ARRAY_LANES, rest % ARRAY_LANES);
}

int index_gather_elements(struct index_work *w, struct err *e)
{
    struct element_gather g = {.w = w, .to_array = w->rows, .tile_rows = w->rows->tile_rows};
    int64_t buffer;

    g.fast_dim = w->rows->is_linear ? 0 : w->rows->lane_dim;
    g.values = INDEX_GRANULES;
    g.control = g.values + (w->pack > 1 ? w->pack * INDEX_GRANULES : 0);
    g.stage = g.control + g.tile_rows * INDEX_ROW_GRANULES;
    buffer = g.stage + (int64_t)g.tile_rows * INDEX_GRANULES;
    if (2 * buffer / INDEX_ROW_GRANULES + SPILL_ROWS > w->job->vmem_rows)
        return err_set(e, "%s: %lld VMEM rows are too few for a gather of elements",
                       w->node->name, (long long)w->job->vmem_rows);
    g.control_smem = w->smem_next = round_up(w->smem_next, 2 * ARRAY_ROW_BYTES);
    w->smem_next += 2 * ARRAY_ROW_BYTES;
    if (!index_fits_smem(w))
        return index_no_smem(w, e);
    index_begin(w);
    index_double_buffer_begin(&g.buffers, w, buffer);
    g.buffers.work = pick_tile;
    g.buffers.user = &g;
    g.control_flag = w->flag_index + 5;
    g.row = builder_reg(&w->m);
    g.lane = builder_reg(&w->m);
    g.to = builder_reg(&w->m);
    g.word_at = builder_reg(&w->m);
    g.control_to = builder_reg(&w->m);
    g.control_wait = index_word(w, 0);
    builder_set(&w->m, g.row, I(0));
    builder_set(&w->m, g.word_at, I(g.control_smem));
    g.out_smem = index_word(w, w->result->address / ARRAY_GRANULE_BYTES);
    if (w->rows->is_linear)
        gather_linear(&g);
    else
        gather_tiled(&g);
    index_double_buffer_end(&g.buffers);
    return 0;
}
