/*
 * Kernels of kind "sort": sort of several operands and top-k.
 *
 * A block of whole sorts is brought to VMEM and taken apart to words, sorted by
 * a bitonic network (sort_network.h) and packed again. Keys are made into s32
 * whose order is that of the values: zeros of both signs equal, a NaN above
 * all numbers; falling order turns all bits. docs/kernels.md.
 */
#include "stack/kernels/pipeline/kernel.h"
#include "stack/kernels/misc/sort_network.h"

#include "base/units.h"
#include "stack/kernels/index/index_double_buffer.h"

#include <string.h>

#define SPILL_TILES 32
#define TILE_ROWS 8
#define GROUPS_MAX 64                   /* of 8 rows, sorted together */
#define FIRST_SREG 8                    /* the network has those below */
#define REGION_IN 20
#define REGION_WORK 1                   /* as in sort_network.c */
#define VALU_OF_EXCHANGE 8              /* comparing two tiles, and which one belongs where */
#define DRAIN_CYCLES 50                 /* of a loop without the cross-lane unit */
#define KEYS 0
#define PLACES 1

struct sort_work {
    const struct kernel_job *job;
    const struct graph_node *node;
    const struct array *in[SORT_ARRAYS_MAX], *out[SORT_ARRAYS_MAX];
    int out_from[SORT_ARRAYS_MAX];      /* working array of each result */
    int in_count, out_count;
    enum sort_along along;
    int64_t length;
    int pack;                           /* of the narrowest array */
    int64_t groups, blocks;             /* groups of 8 rows of a block; 1 where they are sorted */
    int64_t in_row[SORT_ARRAYS_MAX], out_row[SORT_ARRAYS_MAX];  /* VMEM */
    struct vcode code;
    struct builder m;
    struct sort_network net;
};

/* ----- reading */

static const struct graph_node *sort_node(const struct graph *body)
{
    const struct graph_node *found = NULL;

    for (int i = 0; i < body->node_count; i++)
        if (graph_op_kind(body->node[i].op) == KIND_SORT) {
            if (found)
                return NULL;
            found = &body->node[i];
        }
    return found;
}

static int sort_check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    const struct graph_node *n = sort_node(body);

    (void)chip;
    if (!n)
        return err_set(e, "more than one sort in a fusion");
    if (n->operand_count + 2 > SORT_ARRAYS_MAX)
        return err_set(e, "%s: a sort of %d operands, %d are made", n->name, n->operand_count,
                       SORT_ARRAYS_MAX - 2);
    for (int i = 0; i < n->operand_count; i++)
        if (body->node[n->operand[i]].op != HLO_PARAMETER)
            return err_set(e, "%s: operand %d is computed in its fusion", n->name, i);
    for (int i = 0; i < body->output_count; i++) {
        const struct graph_node *o = &body->node[body->output[i].node];

        if (o != n && (o->op != HLO_GET_TUPLE_ELEMENT || &body->node[o->operand[0]] != n))
            return err_set(e, "%s: something comes after it in its fusion", n->name);
    }
    return 0;
}

static int pack_of(const struct array *a) { return 4 / a->element_bytes; }

static void read_arrays(struct sort_work *w)
{
    const struct graph *body = w->job->body;

    w->in_count = w->node->operand_count;
    w->out_count = w->job->result_count;
    w->pack = 1;
    for (int i = 0; i < w->in_count; i++) {
        w->in[i] = w->job->operand[body->node[w->node->operand[i]].parameter_index];
        w->pack = pack_of(w->in[i]) > w->pack ? pack_of(w->in[i]) : w->pack;
    }
    for (int i = 0; i < w->out_count; i++) {
        const struct graph_node *o = &body->node[body->output[i].node];
        int part = o == w->node ? 0 : o->dim;

        w->out[i] = w->job->result[i];
        w->out_from[i] = w->node->op == HLO_TOP_K && part == 1 ? PLACES : 2 + part;
        w->pack = pack_of(w->out[i]) > w->pack ? pack_of(w->out[i]) : w->pack;
    }
}

static int check_orders(const struct sort_work *w, struct err *e)
{
    size_t bytes = (size_t)w->in[0]->shape.rank * sizeof(int);

    for (int i = 0; i < w->in_count + w->out_count; i++) {
        const struct array *a = i < w->in_count ? w->in[i] : w->out[i - w->in_count];

        if (memcmp(a->order, w->in[0]->order, bytes) != 0)
            return err_set(e, "%s: its operands and results have different layouts",
                           w->node->name);
    }
    return 0;
}

static int64_t groups_of(const struct array *a) { return div_up(a->rows, TILE_ROWS); }

static int ceil_log2(int64_t x)
{
    int k = 0;

    while (((int64_t)1 << k) < x)
        k++;
    return k;
}

static int read_sort(struct sort_work *w, const struct kernel_job *job, struct err *e)
{
    const struct array *a;
    int dim, low;
    int64_t each;

    memset(w, 0, sizeof(*w));
    w->job = job;
    w->node = sort_node(job->body);
    read_arrays(w);
    if (check_orders(w, e))
        return -1;
    a = w->in[0];
    dim = w->node->op == HLO_TOP_K ? a->shape.rank - 1 : w->node->dim;
    w->length = a->shape.rank ? a->shape.dim[dim] : 1;
    w->along = a->is_linear ? SORT_ELEMENTS : dim == a->lane_dim ? SORT_LANES
               : dim == a->row_dim ? SORT_SUBLANES : SORT_TILES;
    low = sort_low_bits(w->along);
    w->net.along = w->along;
    w->net.bits = ceil_log2(w->length);
    each = (int64_t)1 << (w->net.bits > low ? w->net.bits - low : 0);
    w->groups = 1;
    if (w->along == SORT_LANES || w->along == SORT_TILES)
        w->groups = w->pack;
    while ((w->along == SORT_LANES) && 2 * w->groups * each <= GROUPS_MAX &&
           2 * w->groups <= round_up(groups_of(a), w->pack))
        w->groups *= 2;
    w->blocks = w->along == SORT_LANES || w->along == SORT_TILES
                ? div_up(groups_of(a), w->groups) : 1;
    w->net.tiles = w->groups * each;
    w->net.stride = w->net.tiles > w->groups * a->tiles_down * w->pack
                    ? w->net.tiles : w->groups * a->tiles_down * w->pack;
    if (w->along == SORT_LANES || w->along == SORT_TILES)
        w->net.stride = w->net.tiles;
    w->net.arrays = 2 + w->in_count;
    return 0;
}

/* ----- copies */

/* tile rows of `a` in a block, or in its last one */
static int64_t tile_rows_of(const struct sort_work *w, const struct array *a, bool is_last)
{
    int64_t whole = w->groups / pack_of(a);

    return is_last ? a->tiles_down - (w->blocks - 1) * whole : whole;
}

static int64_t staged_tiles(const struct sort_work *w, const struct array *a)
{
    switch (w->along) {
    case SORT_LANES: return w->groups / pack_of(a) * a->tiles_across;
    case SORT_TILES: return w->groups / pack_of(a) * a->shape.dim[w->node->dim];
    default: return a->tiles_down;
    }
}

/* where a block is: numbers of what lies outside */
struct block_at {
    struct isa_operand outer, after;    /* of dimensions before the sorted one, behind it */
    struct isa_operand block, column;
    bool is_last;
};

static int64_t count_after(const struct sort_work *w, const struct array *a)
{
    int64_t count = 1;

    for (int i = a->outer_count - 1; i >= 0 && w->along == SORT_TILES; i--) {
        if (a->outer_dim[i] == w->node->dim)
            return count;
        count *= a->shape.dim[a->outer_dim[i]];
    }
    return 1;
}

static int64_t count_outer(const struct sort_work *w, const struct array *a)
{
    int64_t count = 1;

    for (int i = 0; i < a->outer_count; i++)
        count *= a->shape.dim[a->outer_dim[i]];
    return w->along == SORT_TILES ? count / count_after(w, a) / a->shape.dim[w->node->dim] : count;
}

static struct isa_operand first_tile(struct sort_work *w, const struct array *a,
                                     const struct block_at *at)
{
    struct builder *m = &w->m;
    int64_t plane = a->tiles_down * a->tiles_across;
    int64_t outer = plane * (w->along == SORT_TILES
                             ? count_after(w, a) * a->shape.dim[w->node->dim] : 1);
    struct isa_operand t = builder_mul(m, at->outer, outer);

    if (w->along == SORT_TILES)
        t = builder_add(m, t, builder_mul(m, at->after, plane));
    if (w->along == SORT_LANES || w->along == SORT_TILES)
        t = builder_add(m, t, builder_mul(m, at->block, w->groups / pack_of(a) * a->tiles_across));
    return builder_add(m, t, at->column);
}

static void copy_runs(struct sort_work *w, const struct array *a, struct isa_operand there,
                      struct isa_operand here, int64_t tiles, bool is_in)
{
    enum isa_opcode code = is_in ? index_copy_code(a->space, SPACE_VMEM)
                                 : index_copy_code(SPACE_VMEM, a->space);
    int64_t apart = a->tiles_across * INDEX_GRANULES;

    emit_dma_strided(&w->code, code, is_in ? there : here, I(tiles * INDEX_GRANULES),
                     is_in ? here : there, I(w->job->first_flag), I(is_in ? apart : INDEX_GRANULES),
                     I(is_in ? INDEX_GRANULES : apart), I(INDEX_GRANULES));
}

/* SORT_TILES: a copy for each number along the sorted dimension */
static void copy_planes(struct sort_work *w, const struct array *a, struct isa_operand there,
                        int64_t row, int64_t tiles, bool is_in)
{
    struct builder *m = &w->m;
    int64_t step = count_after(w, a) * a->tiles_down * a->tiles_across * INDEX_GRANULES;
    int64_t room = w->groups / pack_of(a) * INDEX_GRANULES;
    struct isa_operand from = builder_reg(m), here = builder_reg(m), counter;

    builder_set(m, from, there);
    builder_set(m, here, I(row * INDEX_ROW_GRANULES));
    counter = builder_loop_begin(m, a->shape.dim[w->node->dim]);
    copy_runs(w, a, from, here, tiles, is_in);
    emit_sadd(&w->code, from.value, from, I(step));
    emit_sadd(&w->code, here.value, here, I(room));
    builder_loop_end(m, counter);
}

static void copy_block(struct sort_work *w, const struct array *a, const struct block_at *at,
                       int64_t row, bool is_in)
{
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    int64_t rows = tile_rows_of(w, a, at->is_last), tiles = a->tiles_down;
    struct isa_operand there = builder_add(m, builder_shift(m, first_tile(w, a, at), 7),
                                           I(a->address / ARRAY_GRANULE_BYTES));
    struct isa_operand here = I(row * INDEX_ROW_GRANULES);

    if (w->along == SORT_TILES) {
        tiles = rows * a->shape.dim[w->node->dim];
        copy_planes(w, a, there, row, rows, is_in);
    } else if (w->along == SORT_LANES) {
        tiles = rows * a->tiles_across;
        emit_dma(m->code,
                 is_in ? index_copy_code(a->space, SPACE_VMEM)
                       : index_copy_code(SPACE_VMEM, a->space),
                 is_in ? there : here, I(tiles * INDEX_GRANULES), is_in ? here : there,
                 I(w->job->first_flag));
    } else {
        copy_runs(w, a, there, here, tiles, is_in);
    }
    vcode_await(m->code, I(w->job->first_flag), tiles * INDEX_GRANULES, -1);
    m->next_sreg = kept;
    vcode_begin_block(&w->code);
}

/* ----- words */

static int unpacked(struct sort_work *w, int tile, int pack, int part)
{
    if (pack == 1)
        return tile;
    if (pack == 2)
        return emit_vunpack_c_b16(w->m.code, R(tile), (enum isa_vunpack_c_b16_x0)part);
    return emit_vunpack_c_8(w->m.code, R(tile), (enum isa_vunpack_c_8_x0)part, VUNPACK_C_8_U8);
}

/* an s32 in the order of the values */
static int key_of_float(struct sort_work *w, int v)
{
    struct builder *m = &w->m;
    int is_nan = emit_vcmp_ne_f32(m->code, R(v), R(v));
    int sign = emit_vshra_s32(m->code, R(v), I(31));
    int size = emit_vand_u32(m->code, R(v), I(INT32_MAX));
    int is_zero = emit_vcmp_eq_s32(m->code, R(size), I(0));

    sign = emit_vand_u32(m->code, R(sign), I(INT32_MAX));
    v = emit_vsel(m->code, is_zero, I(0), R(emit_vxor_u32(m->code, R(v), R(sign))));
    return emit_vsel(m->code, is_nan, I(INT32_MAX), R(v));
}

static int key_of(struct sort_work *w, int v)
{
    struct builder *m = &w->m;
    bool is_falling = w->node->op == HLO_TOP_K || w->node->direction == COMPARE_GT;

    switch (w->in[0]->shape.dtype) {
    case DTYPE_F32: v = key_of_float(w, v); break;
    case DTYPE_BF16: v = key_of_float(w, emit_vshll_u32(m->code, R(v), I(16))); break;
    case DTYPE_U32: v = emit_vxor_u32(m->code, R(v), I(INT32_MIN)); break;
    case DTYPE_S8:
        v = emit_vshra_s32(m->code, R(emit_vshll_u32(m->code, R(v), I(24))), I(24));
        break;
    default: break;
    }
    return is_falling ? emit_vxor_u32(m->code, R(v), I(-1)) : v;
}

/* keys and places of tile number S[tile] + `ahead` of its sort; v < 0: behind the end */
static void store_key(struct sort_work *w, struct isa_operand to, int64_t offset,
                      struct isa_operand tile, int64_t ahead, int v)
{
    struct builder *m = &w->m;
    int low = sort_low_bits(w->along);
    int place = emit_vshll_u32(
        m->code, R(emit_vadd_s32(m->code, R(builder_splat(m, tile)), I(ahead))), I(low));
    int key;

    place = emit_vadd_s32(m->code, R(place), R(sort_position(m, w->along)));
    if (v < 0) {
        key = emit_vmov(m->code, I(INT32_MAX));
    } else {
        int exists = emit_vcmp_lt_s32(m->code, R(place), I(w->length));

        key = emit_vsel(m->code, exists, R(key_of(w, v)), I(INT32_MAX));
    }
    emit_vst(&w->code, isa_rows_at(to, offset), key, REGION_WORK + KEYS);
    emit_vst(&w->code, isa_rows_at(to, offset + w->net.stride * TILE_ROWS), place,
             REGION_WORK + PLACES);
}

/* how the tiles of an array stand in its staging area, and the words of them among the arrays */
struct staging {
    int64_t rounds;                     /* of a loop over them */
    int64_t step;                       /* tiles from round to round */
    int64_t units;                      /* tiles of a round, */
    int64_t apart;                      /* tiles between them */
    int64_t word_step;                  /* tiles of a working array from round to round, */
    int64_t word_apart;                 /* from word to word of a round */
};

static struct staging staging_of(const struct sort_work *w, const struct array *a)
{
    int64_t each = w->net.tiles / w->groups, nt = w->groups / pack_of(a);

    switch (w->along) {
    case SORT_LANES:
        return (struct staging){a->tiles_across, 1, nt, a->tiles_across, 1, each};
    case SORT_TILES:
        return (struct staging){a->shape.dim[w->node->dim], nt, nt, 1, 1, each};
    default:
        return (struct staging){a->tiles_down, 1, 1, 0, pack_of(a), 1};
    }
}

static void unpack_array(struct sort_work *w, int i)
{
    struct builder *m = &w->m;
    const struct array *a = w->in[i];
    struct staging s = staging_of(w, a);
    int pack = pack_of(a), kept = m->next_sreg;
    bool is_sorted_tile = w->along == SORT_LANES || w->along == SORT_TILES;
    struct isa_operand at = builder_reg(m), to = builder_reg(m), tile = builder_reg(m), counter;

    builder_set(m, at, I(w->in_row[i]));
    builder_set(m, to, I(w->net.row));
    builder_set(m, tile, I(0));
    counter = builder_loop_begin(m, s.rounds);
    for (int64_t u = 0; u < s.units; u++) {
        int v = emit_vld(&w->code, isa_rows_at(at, u * s.apart * TILE_ROWS), REGION_IN);

        for (int part = 0; part < pack; part++) {
            int64_t word = (u * pack + part) * s.word_apart * TILE_ROWS;
            int x = unpacked(w, v, pack, part);

            emit_vst(&w->code, isa_rows_at(to, word + (2 + i) * w->net.stride * TILE_ROWS), x,
                     REGION_WORK + 2 + i);
            if (i == 0)
                store_key(w, to, word, tile, is_sorted_tile ? 0 : part, x);
        }
    }
    emit_sadd(&w->code, tile.value, tile, I(s.word_step));
    vcode_loop_step(&w->code, at.value, s.step * TILE_ROWS);
    vcode_loop_step(&w->code, to.value, s.word_step * TILE_ROWS);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
    vcode_begin_block(&w->code);
}

/* keys behind the last tile that was there */
static void fill_rest(struct sort_work *w)
{
    struct builder *m = &w->m;
    struct staging s = staging_of(w, w->in[0]);
    int64_t each = w->net.tiles / w->groups, done = s.rounds * s.word_step;
    int kept = m->next_sreg;
    struct isa_operand to = builder_reg(m), tile = builder_reg(m), counter;

    if (done >= each)
        return;
    builder_set(m, to, I(w->net.row + done * TILE_ROWS));
    builder_set(m, tile, I(done));
    counter = builder_loop_begin(m, each - done);
    for (int64_t q = 0; q < w->groups; q++)
        store_key(w, to, q * each * TILE_ROWS, tile, 0, -1);
    emit_sadd(&w->code, tile.value, tile, I(1));
    vcode_loop_step(&w->code, to.value, TILE_ROWS);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
    vcode_begin_block(&w->code);
}

static int packed(struct sort_work *w, const int *v, int pack)
{
    int low, high;

    if (pack == 1)
        return v[0];
    if (pack == 2)
        return emit_vpack_b16(w->m.code, R(v[1]), R(v[0]), VPACK_B16_C);
    high = emit_vpack_b16(&w->code, R(v[3]), R(v[2]), VPACK_B16_C);
    low = emit_vpack_b16(&w->code, R(v[1]), R(v[0]), VPACK_B16_C);
    return emit_vpack_c_b8(&w->code, R(high), R(low), VPACK_C_B8_B8);
}

static void pack_array(struct sort_work *w, int i)
{
    struct builder *m = &w->m;
    const struct array *a = w->out[i];
    struct staging s = staging_of(w, a);
    int pack = pack_of(a), kept = m->next_sreg, array = w->out_from[i];
    struct isa_operand at = builder_reg(m), from = builder_reg(m), counter;

    builder_set(m, at, I(w->out_row[i]));
    builder_set(m, from, I(w->net.row + array * w->net.stride * TILE_ROWS));
    counter = builder_loop_begin(m, s.rounds);
    for (int64_t u = 0; u < s.units; u++) {
        int v[4];

        for (int part = 0; part < pack; part++)
            v[part] =
                emit_vld(&w->code, isa_rows_at(from, (u * pack + part) * s.word_apart * TILE_ROWS),
                         REGION_WORK + array);
        emit_vst(&w->code, isa_rows_at(at, u * s.apart * TILE_ROWS), packed(w, v, pack), REGION_IN);
    }
    vcode_loop_step(&w->code, at.value, s.step * TILE_ROWS);
    vcode_loop_step(&w->code, from.value, s.word_step * TILE_ROWS);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
    vcode_begin_block(&w->code);
}

/* ----- blocks */

static void sort_block(struct sort_work *w, const struct block_at *at)
{
    for (int i = 0; i < w->in_count; i++)
        copy_block(w, w->in[i], at, w->in_row[i], true);
    for (int i = 0; i < w->in_count; i++)
        unpack_array(w, i);
    fill_rest(w);
    sort_network(&w->net);
    for (int i = 0; i < w->out_count; i++)
        pack_array(w, i);
    for (int i = 0; i < w->out_count; i++)
        copy_block(w, w->out[i], at, w->out_row[i], false);
}

/* a loop whose number is a register; of one round none */
static struct isa_operand begin_number(struct sort_work *w, int64_t count,
                                       struct isa_operand *counter)
{
    struct isa_operand number;

    *counter = NONE;
    if (count == 1)
        return I(0);
    number = builder_reg(&w->m);
    builder_set(&w->m, number, I(0));
    *counter = builder_loop_begin(&w->m, count);
    return number;
}

static void end_number(struct sort_work *w, struct isa_operand number,
                       struct isa_operand counter)
{
    if (counter.kind != OPERAND_REG)
        return;
    emit_sadd(&w->code, number.value, number, I(1));
    builder_loop_end(&w->m, counter);
}

static void sort_row_blocks(struct sort_work *w, struct block_at *at)
{
    struct isa_operand counter;
    int kept = w->m.next_sreg;

    if (w->blocks > 1) {
        at->is_last = false;
        at->block = begin_number(w, w->blocks - 1, &counter);
        sort_block(w, at);
        end_number(w, at->block, counter);
        w->m.next_sreg = kept;
    }
    at->is_last = w->along == SORT_LANES || w->along == SORT_TILES;
    at->block = I(w->blocks - 1);
    sort_block(w, at);
}

static void sort_blocks(struct sort_work *w)
{
    const struct array *a = w->in[0];
    int64_t columns = w->along == SORT_LANES || a->is_linear ? 1 : a->tiles_across;
    struct isa_operand c_outer, c_after, c_column;
    struct block_at at = {0};

    at.outer = begin_number(w, count_outer(w, a), &c_outer);
    at.after = begin_number(w, count_after(w, a), &c_after);
    at.column = begin_number(w, columns, &c_column);
    sort_row_blocks(w, &at);
    end_number(w, at.column, c_column);
    end_number(w, at.after, c_after);
    end_number(w, at.outer, c_outer);
}

/* places in VMEM; rows that it takes */
static int64_t place(struct sort_work *w)
{
    int64_t row = w->job->vmem_row;

    for (int i = 0; i < w->in_count; i++) {
        w->in_row[i] = row;
        row += staged_tiles(w, w->in[i]) * TILE_ROWS;
    }
    for (int i = 0; i < w->out_count; i++) {
        w->out_row[i] = row;
        row += staged_tiles(w, w->out[i]) * TILE_ROWS;
    }
    w->net.row = row;
    /* packing may read a little behind the last array */
    row += (w->net.arrays * w->net.stride + w->pack) * TILE_ROWS;
    return row - w->job->vmem_row + SPILL_TILES * TILE_ROWS;
}

static int sort_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    struct sort_work w;
    struct err e;

    if (max < 1 || read_sort(&w, job, &e) || place(&w) > job->vmem_rows)
        return 0;
    list[0] = (struct tiling){.count = 0};
    return 1;
}

/* cycles of a block's network: of the cross-lane unit, or the vector ALUs; each loop drains */
static int64_t network_cycles(const struct sort_work *w)
{
    const struct chip *chip = w->job->chip;
    const struct sort_network *n = &w->net;
    int lane_bits = n->along == SORT_LANES || n->along == SORT_ELEMENTS ? 7 : 0;
    int64_t lane_stages = 0, stages = (int64_t)n->bits * (n->bits + 1) / 2;
    int64_t by_lane = n->tiles * div_up(n->arrays, chip->xlu_count) * chip->xlu_issue_cycles;
    int64_t by_others = n->tiles * (VALU_OF_EXCHANGE + n->arrays) / chip->slots_valu;

    for (int size = 1; size <= n->bits; size++)
        lane_stages += size < lane_bits ? size : lane_bits;
    return lane_stages * (by_lane + chip->xlu_permute_cycles + DRAIN_CYCLES)
           + (stages - lane_stages) * (by_others + DRAIN_CYCLES);
}

static int sort_cost(const struct kernel_job *job, const struct tiling *t,
                     struct kernel_cost *out)
{
    struct sort_work w;
    struct err e;
    int64_t blocks;

    (void)t;
    *out = (struct kernel_cost){0};
    if (read_sort(&w, job, &e))
        return -1;
    blocks = count_outer(&w, w.in[0]) * count_after(&w, w.in[0]) * w.blocks;
    if (w.along == SORT_SUBLANES || w.along == SORT_TILES)
        blocks *= w.in[0]->tiles_across;
    for (int i = 0; i < w.in_count; i++)
        out->hbm_bytes += 2 * w.in[i]->bytes;
    out->compute_cycles = blocks * network_cycles(&w);
    out->copy_cycles = out->hbm_bytes * job->chip->chip_clock_mhz
                       / (int64_t)(job->chip->dma_core_gbps * 1000);
    out->fixed_cycles = blocks * (job->chip->dma_read_ns + job->chip->dma_write_ns)
                        * job->chip->chip_clock_mhz / 1000;
    out->total_cycles = out->compute_cycles + out->copy_cycles + out->fixed_cycles;
    out->vmem_rows = place(&w);
    out->steps = blocks;
    return 0;
}

static int sort_emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                     struct segment *out, struct err *e)
{
    struct sort_work w;
    int64_t spill = job->vmem_row + job->vmem_rows - SPILL_TILES * TILE_ROWS;
    int status;

    *out = (struct segment){.tiling = *t};
    if (read_sort(&w, job, e))
        return -1;
    if (place(&w) > job->vmem_rows)
        return err_set(e, "%s: %lld KiB of VMEM, %lld KiB are there", w.node->name,
                       (long long)(place(&w) / 2), (long long)(job->vmem_rows / 2));
    vcode_init(&w.code, a);
    w.code.note = job->name;
    builder_init(&w.m, &w.code, job->chip);
    w.m.next_sreg = FIRST_SREG;
    w.net.m = &w.m;
    sort_blocks(&w);
    status = kernel_finish(job, &w.code, spill, SPILL_TILES, a, out, e);
    vcode_fini(&w.code);
    return status ? status : sort_cost(job, t, &out->cost);
}

const struct kernel_kind kernel_sort = {
    .name = "sort", .category = "sort",
    .check_supported = sort_check_supported, .tilings = sort_tilings,
    .cost = sort_cost, .emit = sort_emit, .is_for_one_core = true,
};
