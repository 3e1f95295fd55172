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

static void put(struct index_work *w, enum isa_opcode code, int count,
                const struct isa_operand *operand)
{
    vcode_emit(&w->code, code, count, operand);
}

static void advance(struct index_work *w, struct isa_operand x, int64_t by)
{
    if (x.kind == OPERAND_REG && by)
        put(w, OP_SADD, 3, (struct isa_operand[]){x, x, move_imm(by)});
}

/* the granule of element `u` to register `to`, its control word to SMEM */
static void element_address(struct element_gather *g, int u, const struct isa_operand *word,
                            struct isa_operand group, int at, struct isa_operand to)
{
    struct index_work *w = g->w;
    struct move_code *m = &w->m;
    struct index_spot s;
    struct isa_operand a, c;
    int kept;

    index_spot(w, g->fast_dim, u, word, 0, &s);
    kept = m->next_sreg;
    a = move_add(m, s.tile, move_shift(m, s.lane, -7));
    a = move_add(m, move_shift(m, a, 7), move_shift(m, s.sublane, 4));
    a = move_add(m, a, move_and(m, move_shift(m, s.lane, -3), 15));
    put(w, OP_SADD, 3, (struct isa_operand[]){
        to, a, move_imm(w->table->address / ARRAY_GRANULE_BYTES)});
    m->next_sreg = kept;
    c = move_add(m, group, move_and(m, s.lane, 7));
    c = move_add(m, c, move_mul(m, s.part, w->element_bits << CONTROL_SHIFT));
    c = move_add(m, c, move_imm(8 * at));
    put(w, OP_SST, 3, (struct isa_operand[]){g->word_at, move_imm(4 * at), c});
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
    flag = move_add(&w->m, g->buffers.turn, move_imm(g->buffers.fetch_flag));
    for (int u = 0; u < count; u++) {
        int mark = w->m.next_sreg;

        put(w, code, 4, (struct isa_operand[]){from[u], operand_imm(1),
                                               move_add(&w->m, g->to, move_imm(at + u)), flag});
        w->m.next_sreg = mark;
    }
    w->m.next_sreg = kept;
}

/* up to 8 elements that follow each other along lanes */
static void copy_group(struct element_gather *g, int count)
{
    struct index_work *w = g->w;
    int batch = index_batch(w), kept = w->m.next_sreg;
    struct isa_operand group = move_reg(&w->m);

    move_set(&w->m, group, move_mul(&w->m, move_and(&w->m, g->lane, 8), 8));
    w->m.next_sreg = group.value + 1;
    for (int at = 0; at < count; at += batch) {
        int some = count - at < batch ? count - at : batch;

        copy_batch(g, at, some, group);
        advance(w, g->lane, some);
        vcode_begin_block(&w->code);
    }
    advance(w, g->to, INDEX_BATCH);
    advance(w, g->word_at, 4 * INDEX_BATCH);
    w->m.next_sreg = kept;
}

/* for the control words sent last; then so many are */
static void wait_control(struct element_gather *g, int64_t next)
{
    struct index_work *w = g->w;
    int kept = w->m.next_sreg;
    struct isa_operand count = index_word_get(w, g->control_wait);
    struct isa_operand minus = move_sub(&w->m, move_imm(0), count);

    put(w, OP_DMA_DONE, 2, (struct isa_operand[]){operand_imm(g->control_flag), count});
    put(w, OP_VSYNCADD, 2, (struct isa_operand[]){operand_imm(g->control_flag), minus});
    index_word_set(w, g->control_wait, move_imm(next));
    w->m.next_sreg = kept;
}

/* the row's control words to VMEM; the other row of SMEM is next */
static void send_control(struct element_gather *g)
{
    struct index_work *w = g->w;
    struct move_code *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand from;

    wait_control(g, INDEX_ROW_GRANULES);
    from = move_sub(m, g->word_at, move_imm(g->control_smem));
    from = move_add(m, move_and(m, from, 512), move_imm(g->control_smem));
    put(w, OP_SFENCE, 0, NULL);
    put(w, OP_DMA_SMEM_VMEM, 4, (struct isa_operand[]){
        move_shift(m, from, -5), move_imm(INDEX_ROW_GRANULES), g->control_to,
        operand_imm(g->control_flag)});
    advance(w, g->control_to, INDEX_ROW_GRANULES);
    m->next_sreg = kept;
}

static void copy_row(struct element_gather *g, int lanes)
{
    struct index_work *w = g->w;
    struct move_code *m = &w->m;
    int groups = lanes / INDEX_BATCH, rest = lanes % INDEX_BATCH, kept = m->next_sreg;
    int64_t taken = round_up(lanes, INDEX_BATCH);

    if (groups) {
        int mark = m->next_sreg;
        struct isa_operand counter = move_loop_begin(m, groups);

        copy_group(g, INDEX_BATCH);
        move_loop_end(m, counter);
        m->next_sreg = mark;
    }
    if (rest)
        copy_group(g, rest);
    advance(w, g->to, INDEX_GRANULES - taken);
    advance(w, g->word_at, -4 * taken);
    send_control(g);
    /* the other row of words */
    put(w, OP_SSUB, 3, (struct isa_operand[]){
        g->word_at, move_imm(2 * g->control_smem + ARRAY_ROW_BYTES), g->word_at});
    if (!g->to_array->is_linear)
        advance(w, g->lane, -lanes);
    advance(w, g->row, 1);
    m->next_sreg = kept;
}

/* a tile of the result: so many rows of so many lanes, and one of `last` lanes */
static void gather_tile(struct element_gather *g, int rows, int lanes, int last)
{
    struct index_work *w = g->w;
    struct move_code *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand buffer;

    index_double_buffer_open(&g->buffers);
    buffer = index_double_buffer_at_hand(&g->buffers);
    put(w, OP_SADD, 3, (struct isa_operand[]){g->to, buffer, move_imm(g->stage)});
    put(w, OP_SADD, 3, (struct isa_operand[]){g->control_to, buffer, move_imm(g->control)});
    m->next_sreg = kept;
    if (rows) {
        struct isa_operand counter = move_loop_begin(m, rows);

        copy_row(g, lanes);
        move_loop_end(m, counter);
        m->next_sreg = kept;
    }
    if (last)
        copy_row(g, last);
    wait_control(g, 0);
    index_send(&g->buffers, (int64_t)rows * lanes + last, g->out_smem, INDEX_GRANULES);
    advance(w, g->row, -(rows + (last > 0)));
}

static int load(struct index_work *w, struct isa_operand base, int64_t row, int stride)
{
    int v = vcode_vreg(&w->code);

    vcode_emit(&w->code, OP_VLD, 5, (struct isa_operand[]){
        operand_reg(v), base, move_imm(row), operand_imm(stride),
        operand_imm(0xff)})->region = REGION_IN;
    return v;
}

static int permute(struct index_work *w, int v, int by, int unit)
{
    int to = vcode_vreg(&w->code);

    vcode_emit(&w->code, OP_VPERM, 2, (struct isa_operand[]){
        operand_reg(v), operand_reg(by)})->op.unit_index = (uint8_t)unit;
    vcode_emit(&w->code, OP_VPOP_PERMUTE, 1,
               (struct isa_operand[]){operand_reg(to)})->op.unit_index = (uint8_t)unit;
    return to;
}

/* where sublane i holds elements of its own: lanes 16 i to 16 i + 15 */
static int own_lanes(struct index_work *w)
{
    struct move_code *m = &w->m;
    int lane = move_v2(m, OP_VSHRL_U32, move_lane_index(m), operand_imm(4));

    return move_compare(m, OP_VCMP_EQ_S32, lane, operand_reg(move_sublane_index(m)));
}

static int pick_row(struct element_gather *g, struct isa_operand at, int row, int own)
{
    struct index_work *w = g->w;
    struct move_code *m = &w->m;
    int control = load(w, at, g->control / INDEX_ROW_GRANULES + row, 0);
    int from = load(w, at, g->stage / INDEX_ROW_GRANULES + row * SUBLANES, 1);
    int lane = move_v2(m, OP_VAND_U32, control, operand_imm(ARRAY_LANES - 1));
    int v = permute(w, from, lane, row % (int)w->job->chip->xlu_count);

    v = move_select(m, own, operand_reg(v), operand_imm(0));
    for (int by = SUBLANES / 2; by > 0; by /= 2) {
        int other = move_v2(m, OP_VROT_SLANE, v, operand_imm(by));

        v = move_v2(m, OP_VOR_U32, v, operand_reg(other));
    }
    if (w->pack == 1)
        return v;
    v = move_v2(m, OP_VSHRL_U32, v,
                operand_reg(move_v2(m, OP_VSHRL_U32, control, operand_imm(CONTROL_SHIFT))));
    return move_v2(m, OP_VAND_U32, v, operand_imm((int32_t)((1u << w->element_bits) - 1)));
}

static void store_row(struct index_work *w, struct isa_operand at, int64_t row, int v)
{
    vcode_emit(&w->code, OP_VST, 5, (struct isa_operand[]){
        at, move_imm(row), operand_imm(1), operand_imm(1),
        operand_reg(v)})->region = REGION_OUT;
}

static int pack_two(struct index_work *w, enum isa_opcode code, int low, int high)
{
    int to = vcode_vreg(&w->code);

    put(w, code, 4, (struct isa_operand[]){operand_reg(to), operand_reg(high),
                                           operand_reg(low), operand_imm(0)});
    return to;
}

/* the words of a tile's rows, one in each 32 bits, into the packed tile */
static void pack_tile(struct element_gather *g, struct isa_operand at)
{
    struct index_work *w = g->w;
    int64_t from = g->values / INDEX_ROW_GRANULES;
    int v[4];

    vcode_begin_block(&w->code);
    for (int q = 0; q < w->pack; q++)
        v[q] = move_load(&w->m, at, from + q * SUBLANES, 1);
    v[0] = pack_two(w, OP_VPACK_B16, v[0], v[1]);
    if (w->pack == 4)
        v[0] = pack_two(w, OP_VPACK_C_B8, v[0], pack_two(w, OP_VPACK_B16, v[2], v[3]));
    move_store(&w->m, at, 0, 1, v[0]);
}

static void pick_tile(struct index_work *w, struct isa_operand turn, void *user)
{
    struct element_gather *g = user;
    struct move_code *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand at = move_reg(m);
    int64_t to = w->pack > 1 ? g->values / INDEX_ROW_GRANULES : 0;

    move_set(m, at, move_add(m, move_mul(m, turn, g->buffers.stride / INDEX_ROW_GRANULES),
                             move_imm(g->buffers.granule / INDEX_ROW_GRANULES)));
    m->next_sreg = at.value + 1;
    for (int first = 0; first < g->tile_rows; first += SUBLANES) {
        int own;

        vcode_begin_block(&w->code);
        own = own_lanes(w);
        for (int i = first; i < first + SUBLANES; i++)
            store_row(w, at, to + i, pick_row(g, at, i, own));
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

    move_set(&w->m, g->lane, move_imm(0));
    if (whole) {
        struct isa_operand counter = move_loop_begin(&w->m, whole);

        gather_tile(g, rows, ARRAY_LANES, 0);
        advance(w, g->lane, ARRAY_LANES);
        move_loop_end(&w->m, counter);
        w->m.next_sreg = kept;
    }
    if (rest)
        gather_tile(g, rows, rest, 0);
    advance(w, g->row, rows);
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
    move_set(&w->m, g->row, move_imm(0));
    if (whole) {
        int kept = w->m.next_sreg;
        struct isa_operand counter = move_loop_begin(&w->m, whole);

        gather_tile_row(g, g->tile_rows);
        move_loop_end(&w->m, counter);
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
    move_set(&w->m, g->lane, move_imm(0));
    if (count / tile) {
        int kept = w->m.next_sreg;
        struct isa_operand counter = move_loop_begin(&w->m, count / tile);

        gather_tile(g, g->tile_rows, ARRAY_LANES, 0);
        move_loop_end(&w->m, counter);
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
    g.row = move_reg(&w->m);
    g.lane = move_reg(&w->m);
    g.to = move_reg(&w->m);
    g.word_at = move_reg(&w->m);
    g.control_to = move_reg(&w->m);
    g.control_wait = index_word(w, 0);
    move_set(&w->m, g.row, move_imm(0));
    move_set(&w->m, g.word_at, move_imm(g.control_smem));
    g.out_smem = index_word(w, w->result->address / ARRAY_GRANULE_BYTES);
    if (w->rows->is_linear)
        gather_linear(&g);
    else
        gather_tiled(&g);
    index_double_buffer_end(&g.buffers);
    return 0;
}
